"""A key that leads to people leads to one of them, in data that is imported.

Rows of a table with an owner belong to whoever has the key that they refer to. A key of 300 people, often one that
stands for nothing, makes a row that refers to it a row of all of them: what it moves is 300 times what noise for one
person hides. Tables of a server and frames are not looked at: they may change after any look.
"""

from __future__ import annotations

from pathlib import Path

from dither.curator.adding import Draft
from dither.data.importing.references import Filed, shared_keys
from dither.data.schema import DataSet, Table
from dither.errors import InvalidParameter


def refuse_shared_keys(dataset: DataSet, draft: Draft) -> None:
    """Refuse rows that refer to a key of several people, with how many such keys there are. For those who add them.

    Args:
        dataset: as it is declared.
        draft: what was read of it.

    """
    for table in dataset.tables:
        chain = [_filed(draft, one) for one in (table, *dataset.owners(table))]
        if table.owner is None or not all(files for _, files in chain):
            continue
        found = shared_keys(chain)
        if found.keys:
            keys = "1 key" if found.keys == 1 else f"{found.keys:,} keys"
            rule = (
                f"a reference to keys of one person each ({table.owner}): empty the cells of a key that means "
                f"nothing, such as 0 or 'none', in {table.owner.table}, or refer by all columns of a whole key"
            )
            raise InvalidParameter(f"owner of {table.name}", f"{keys} of up to {found.people:,} people", rule)


def _filed(draft: Draft, table: Table) -> Filed:
    """Return a table with the files that queries read of it, none where they are not files of this machine."""
    edition = draft.edition.tables[table.name]
    if edition.places:
        return table, ()
    if edition.is_copy:
        return table.as_copied, [str(draft.folder / Path(file.path).name) for file in edition.files]
    return table, [file.path for file in edition.files]

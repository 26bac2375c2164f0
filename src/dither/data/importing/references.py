# ruff: noqa: S608 - every name and path in a statement is quoted or made up here
"""How well the references of a table fit the keys that they refer to. For owners only.

**Not private.** Like ``fit``: counts without noise, for the screen of the person who owns the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dither.data.engines.spill import SpillFolder
from dither.data.expressions import Kind
from dither.data.importing.conversion import importing_connection, printed_cells
from dither.data.importing.fit import asked, opened
from dither.data.schema import Owner, Table

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


@dataclass(frozen=True)
class ReferenceFit:
    """How the references of one table fit.

    Args:
        owner: what is declared.
        dangling: how many rows refer to a key that does not exist: they do not exist for any answer.
        repeated: how many keys occur in more than one row: in a join one of a person's rows counts, and a key of two
            people gives both of them the rows that refer to it.
        beyond: how many rows are more than may refer to one key.

    """

    owner: Owner
    dangling: int
    repeated: int
    beyond: int

    @property
    def is_whole(self) -> bool:
        """Whether every row refers to a key that occurs once, and no more do than are declared."""
        return not (self.dangling or self.repeated or self.beyond)


def reference_of(table: Table, files: Sequence[str], parent: Table, its_files: Sequence[str]) -> ReferenceFit | None:
    """Return how the references of a table fit the table that they refer to; None for a table without owner.

    Args:
        table: what is declared.
        files: its CSV or Parquet files, resolved.
        parent: what is declared of the table that is referred to.
        its_files: the files of that one.

    Raises:
        EngineUnavailable: a file cannot be read to its end, or lacks a column.

    """
    owner = table.owner
    if owner is None:
        return None
    with closing(SpillFolder()) as folder, importing_connection(folder.path) as connection:
        mine = _cells(connection, table, files, owner.columns, folder.path)
        theirs = _cells(connection, parent, its_files, owner.keys, folder.path)
        names = ", ".join(f"k{place}" for place in range(len(owner.keys)))
        keys = f"SELECT {names}, count(*) AS n FROM ({theirs}) GROUP BY {names}"
        # A key without a value equals nothing, and does not repeat.
        whole = " AND ".join(f"k{place} IS NOT NULL" for place in range(len(owner.keys)))
        refers = f"SELECT {names}, count(*) AS n FROM ({mine}) WHERE {whole} GROUP BY {names}"
        beyond = "0" if owner.rows is None else f"sum(greatest(m.n - {owner.rows}, 0))"
        told = f"sum(m.n) FILTER (t.n IS NULL), {beyond} FROM ({refers}) AS m LEFT JOIN ({keys}) AS t USING ({names})"
        dangling, more = asked(connection, f"SELECT {told}", table)[0]
        (repeated,) = asked(connection, f"SELECT count(*) FROM ({keys}) WHERE n > 1 AND {whole}", parent)[0]
    return ReferenceFit(owner, int(dangling or 0), int(repeated or 0), int(more or 0))


def _cells(
    connection: DuckDBPyConnection, table: Table, files: Sequence[str], names: Sequence[str], folder: Path
) -> str:
    """Return a SELECT of some columns of a table's files, as k0, k1, ..."""
    parts = []
    for place, file in enumerate(files):
        source = opened(connection, table, file, folder / f"{table.name}-{place}.parquet")
        cells = printed_cells(table, source)
        # As in every answer, a key or reference that is longer than declared is none.
        longest = {one.name: one.longest for one in table.columns if one.kind is Kind.TEXT}
        whole = [
            f"(CASE WHEN length({cells[name]}) <= {longest[name]} THEN {cells[name]} END)"
            if name in longest
            else cells[name]
            for name in names
        ]
        listed = ", ".join(f"{cell} AS k{number}" for number, cell in enumerate(whole))
        parts.append(f"SELECT {listed} FROM {source[0]} AS s")
    return " UNION ALL ".join(parts)

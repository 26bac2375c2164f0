"""Rows that are named from elsewhere: files below folders that the owner opened for it, and databases with a name.

A schema from elsewhere says which rows it is about and never brings them. What it can name is decided where the rows
are: a path leads nowhere but below the roots, also through links, and an address of a server is never taken from it.
"""

from __future__ import annotations

import glob
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any, Final

from dither.curator.editions import Edition
from dither.data.files import schema_from
from dither.data.importing.sources import FRAMES, is_data, one_line
from dither.data.schema import DataSet, Table
from dither.errors import InvalidParameter

_FILES: Final = "duckdb"


@dataclass(frozen=True)
class NamedRows:
    """What a schema from elsewhere can name.

    Args:
        roots: folders below which files can be named.
        databases: addresses of databases whose tables can be named, by the name that a schema gives as its engine.

    """

    roots: tuple[Path, ...] = ()
    databases: Mapping[str, str] = field(default_factory=dict)

    def declared(self, schema: Any) -> DataSet:
        """Return the data set that a schema from elsewhere declares, with the rows that it names found.

        Args:
            schema: the content of a schema file, as plain data; sources are paths below the roots, or tables.

        Raises:
            InvalidSchema: it is none.
            InvalidParameter: it names rows that cannot be named from elsewhere.

        """
        said = schema.get("engine", _FILES) if isinstance(schema, Mapping) else _FILES
        if not isinstance(said, str) or said not in (_FILES, *self.databases):
            known = " or ".join((_FILES, *self.databases))
            raise InvalidParameter("schema.engine", said, f"{known}: databases are named in the settings of a service")
        if said == _FILES:
            _check_relative(schema)
            # Nothing is opened here: sources are texts until they are found below.
            dataset = schema_from(schema)
            return replace(dataset, tables=tuple(self._found(table) for table in dataset.tables))
        return replace(schema_from({**schema, "engine": _FILES}), engine=self.databases[said])

    def _found(self, table: Table) -> Table:
        for root in self.roots:
            # What a system cannot look up is not there: names that are too long, and links that lead to themselves.
            with suppress(OSError, RuntimeError, ValueError):
                found = [_source_below(root.resolve(), one) for one in table.sources]
                if all(one is not None for one in found):
                    return replace(table, source="\n".join(one for one in found if one is not None))
        raise _refused(table.name, table.source)


def refuse_beyond(edition: Edition, roots: Iterable[Path]) -> None:
    """Refuse rows that were read off other files than those below the roots: one may be a link since it was found.

    Args:
        edition: what was read.
        roots: folders below which the files must be, also through links.

    Raises:
        InvalidParameter: a file is not below them, or another one is in its place.

    """
    bases = [root.resolve() for root in roots]
    for name, table in edition.tables.items():
        for file in table.origins:
            is_below = any(Path(file.path).is_relative_to(base) for base in bases)
            # The path was resolved beside what was opened: that both are the same file is seen from its inode.
            if not (is_below and file.is_unchanged() and Path(file.path).resolve() == Path(file.path)):
                raise _refused(name, "a file that was replaced meanwhile")


def refuse_other_people(before: DataSet, now: DataSet) -> None:
    """Refuse a declaration from elsewhere that reads who the people are off other columns of the sources than before.

    The unit names the privacy id as it is declared, and stays what it was where another column is stored under it.

    Args:
        before: the data set as it is declared.
        now: the same with other rows, from elsewhere.

    Raises:
        InvalidParameter: a table that was there says otherwise whose its rows are, or the privacy id of a new one is
            stored under a name that no table had.

    """
    earlier = {table.name: table for table in before.tables if not table.is_public}
    known = {_stored_id(table) for table in earlier.values()} - {None}
    for table in now.tables:
        if table.is_public:
            continue
        if table.name in earlier:
            is_same = _whose(now, table) == _whose(before, earlier[table.name])
        else:
            is_same = table.person is None or _stored_id(table) in known
        if not is_same:
            rule = (
                "of the people that it was before: 'dither add', where the rows are, can declare other columns for them"
            )
            raise InvalidParameter(f"schema.tables.{table.name[:64]}", ", ".join(table.identifying)[:200], rule)


def _stored_id(table: Table) -> str | None:
    return None if table.person is None else table.column(table.person).stored_name


def _whose(dataset: DataSet, table: Table) -> tuple[object, ...]:
    """Return what says whose the rows of a table are, by the names that the sources have for it."""
    if table.owner is None:
        return ("id", _stored_id(table))
    owner = dataset.table(table.owner.table)
    mine = tuple(table.column(name).stored_name for name in table.owner.columns)
    return ("owner", owner.name, mine, tuple(owner.column(name).stored_name for name in table.owner.keys))


def _source_below(base: Path, said: str) -> str | None:
    """Return the source by which an import finds files below a folder, and no others; None where there are none.

    Where the folder or a link leads to a name that reads like a pattern, the source says it so that it is none.
    """
    is_pattern = glob.has_magic(said)
    pattern = str(Path(glob.escape(str(base))) / said)
    real = [Path(file).resolve() for file in (sorted(glob.glob(pattern)) if is_pattern else [str(base / said)])]
    if not real or not all(file.is_file() and one_line(str(file)) for file in real) or not one_line(pattern):
        return None
    if not all(file.is_relative_to(base) and (is_data(file)) for file in real):
        return None
    return pattern if is_pattern else glob.escape(str(real[0]))


def _check_relative(schema: Any) -> None:
    """Refuse sources that are no plain paths from a root, before anything is made of them."""
    tables = schema.get("tables") if isinstance(schema, Mapping) else None
    for name, table in tables.items() if isinstance(tables, Mapping) else ():
        said = table.get("source") if isinstance(table, Mapping) else None
        for source in said if isinstance(said, list) else [said]:
            if isinstance(source, str) and not _is_relative(source):
                raise _refused(str(name), source)


def _is_relative(source: str) -> bool:
    path = PurePosixPath(source)
    is_plain = source.isprintable() and not any(sign in source for sign in ("\\", ":", "~", "$"))
    return is_plain and source != FRAMES and not path.is_absolute() and ".." not in path.parts


def _refused(table: str, source: str) -> InvalidParameter:
    rule = "the path of a .csv or .parquet file below a root of the service, such as visits/2026.csv; none is there"
    return InvalidParameter(f"schema.tables.{table[:64]}.source", source[:200], rule)

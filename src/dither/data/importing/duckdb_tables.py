"""Parquet files and frames in DuckDB: the types of the declared columns, compared with their kinds."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from dither.data.engines.emit_duckdb import family
from dither.data.engines.protocol import can_hold
from dither.data.importing.sources import absent_column, folder_values
from dither.data.schema import Table
from dither.errors import EngineUnavailable, InvalidParameter

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: How the columns begin whose values are names of folders.
FOLDER: Final = "dither_folder_"
#: What stands after FROM, and for each declared column its name there and its type.
Source = tuple[str, dict[str, tuple[str, str]]]


def parquet_source(connection: DuckDBPyConnection, table: Table, files: Sequence[str]) -> Source:
    """Return Parquet files as a source, its columns found by the names that the files have.

    DuckDB gives names of its own to columns that have none, or whose names differ in case alone. They are found by
    place, as the file has them; where several files have such names DuckDB does not keep them apart. Of several files
    it casts all to the types of the first, which fails for some cells: so declared columns must be alike in all.
    """
    if len(files) == 1:
        return _one_file(connection, table, files[0])
    first, *others = (_one_file(connection, table, file)[1] for file in files)
    for columns in (first, *others):
        for column in table.columns:
            found, stored = columns[column.name]
            reason = "" if found == column.stored_name else "is one of those that differ in case alone"
            if reason and found.startswith(FOLDER):
                reason = "comes from the names of folders"
            if not reason and stored != first[column.name][1]:
                reason = f"is {_brief(first[column.name][1])} in one file and {_brief(stored)} in another"
            if reason:
                fix = "write the files alike, or add the table without reading it in place"
                raise EngineUnavailable(f"table {table.name}: column {column.name} of {table.source} {reason}; {fix}")
    return parquet_reader(files), first


def _one_file(connection: DuckDBPyConnection, table: Table, file: str) -> Source:
    names: list[str] | None = None
    with contextlib.suppress(Exception):
        names = parquet_names(connection, file)
    source = parquet_reader([file])
    if names is not None:
        values = {
            name: value
            for name, value in folder_values(table, file).items()
            if any(name == column.stored_name for column in table.columns)
        }
        for name in names:
            if name in values:
                raise EngineUnavailable(in_both(table, file, name))
        source = with_folders(source, values)
        names = [*names, *values]
    # Of several files, the one that differs is named.
    return typed_source(connection, table, source, "the file", names, None if file in table.sources else file)


def with_folders(source: str, values: Mapping[str, str | None]) -> str:
    """Return a source with a column of text for each value that the names of folders give to all rows of a file.

    Args:
        source: the FROM clause.
        values: by the names of the columns.

    """
    if not values:
        return source
    told = ", ".join(
        f"CAST({'NULL' if value is None else text_constant(value)} AS VARCHAR) AS {FOLDER}{place}"
        for place, value in enumerate(values.values())
    )
    return f"(SELECT *, {told} FROM {source})"  # noqa: S608 - quoted or made up


def in_both(table: Table, file: str, name: str) -> str:
    """Return the message for a column that a file has, and the name of its folder too."""
    return f"table {table.name}: {file} has column {name}, and so has the name of its folder; rename one of them"


def _brief(stored: str) -> str:
    return stored if len(stored) <= 40 else f"{stored[:39]}…"


def parquet_names(connection: DuckDBPyConnection, file: str) -> list[str]:
    """Return the names of the columns of a Parquet file, in order; raises duckdb.Error."""
    listed = connection.execute("SELECT name, num_children FROM parquet_schema(?)", [file]).fetchall()
    return _top_names([(str(name), int(children or 0)) for name, children in listed])


def _top_names(listed: Sequence[tuple[str, int]]) -> list[str]:
    """Return the names of the columns of a Parquet file, from its tree in order: each node, and how many follow it.

    >>> _top_names([("schema", 2), ("home", 2), ("x", 0), ("y", 0), ("age", 0)])
    ['home', 'age']
    """
    names, inside = [], 0
    for name, children in listed[1:]:
        if inside:
            inside -= 1
        else:
            names.append(name)
        inside += children
    return names


def typed_source(
    connection: DuckDBPyConnection,
    table: Table,
    source: str,
    what: str,
    names: Sequence[str] | None = None,
    file: str | None = None,
) -> Source:
    """Return a source with typed columns, after comparing their types with the declared kinds.

    Args:
        connection: where it can be read.
        table: what is declared.
        source: the FROM clause.
        what: its name in messages.
        names: the names of its columns, in order, where DuckDB may use others.
        file: the file that is read, where messages should name it instead of what the schema does.

    """
    place = "the frame" if what == "the frame" else file
    described: list[tuple[Any, ...]] | None = None
    # Only the footer of a file is read here.
    with contextlib.suppress(Exception):
        described = connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()  # noqa: S608 - quoted or made up
    if described is None:
        fix = "it is damaged or of another kind: write it again"
        raise EngineUnavailable(f"table {table.name}: {place or table.source} cannot be read; {fix}")
    types = [(str(name), str(stored)) for name, stored, *_ in described]
    present = list(names) if names is not None and len(names) == len(types) else [name for name, _ in types]
    columns = {}
    for column in table.columns:
        if present.count(column.stored_name) != 1:
            raise EngineUnavailable(absent_column(table, column, present, place))
        found, stored = types[present.index(column.stored_name)]
        # The name of a folder is text, which is read as the column is declared.
        if not found.startswith(FOLDER) and not can_hold(family(stored), column.kind):
            fix = "change its kind in the schema, or omit it"
            declared = f"column {column.name} of table {table.name} is declared {column.kind.value}"
            raise EngineUnavailable(f"{declared}, but {what} stores {stored.split('(')[0]}; {fix}")
        columns[column.name] = (found, stored)
    return source, columns


def parquet_reader(files: Sequence[str]) -> str:
    """Return the FROM clause that reads Parquet files; folders named like columns do not count as columns."""
    return f"read_parquet([{', '.join(map(text_constant, files))}], hive_partitioning = false)"


def text_constant(value: str) -> str:
    """Return a text constant of SQL."""
    if "\x00" in value:
        raise InvalidParameter("source", value, "without the character U+0000")
    return "'" + value.replace("'", "''") + "'"

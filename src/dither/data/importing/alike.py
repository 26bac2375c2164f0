"""Several Parquet files are one table only where their declared columns are alike.

A reader of many files takes the columns of one of them for those of all: where another file lacks a column its cells
become NULL, and where it has another type they are cast, or the query fails when it comes to that file. So whoever
opens them compares the columns of every file first, from its footer alone, and the file that differs is named.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from dither.data.importing.csv_reader import CsvReader
from dither.data.importing.duckdb_tables import parquet_names, parquet_reader
from dither.data.importing.sources import is_csv
from dither.data.schema import Table
from dither.errors import EngineUnavailable

#: The columns of a file in their order: names and types.
Columns = Sequence[tuple[str, str]]


def check_alike(table: Table, files: Iterable[tuple[str, Columns | None]], below: str = "") -> None:
    """Refuse files of which one has other declared columns than the first, or columns of other types.

    A column that all of them lack may come from the names of folders; one that a folder and a file have is refused,
    because readers differ in which of the two they take.

    Args:
        table: what is declared.
        files: each file, with its columns; None for one that cannot be read.
        below: the folder that is read, if it is one; folders in it may be named like columns.

    """
    # As files are listed: links followed.
    root = below if "://" in below or not below else str(Path(below).resolve())
    first: dict[str, str | None] | None = None
    for file, columns in files:
        if columns is None:
            raise _refusal(table, file, "cannot be read: it is damaged or of another kind", "write it again")
        inside = file.partition(root)[2].split("/")[:-1] if root else []
        folders = {part.partition("=")[0] for part in inside if "=" in part}
        found: dict[str, str | None] = {}
        for column in table.columns:
            types = [stored for name, stored in columns if name == column.stored_name]
            if len(types) > 1:
                raise _refusal(table, file, f"has column {column.stored_name} twice")
            if types and column.stored_name in folders:
                raise _refusal(table, file, f"has column {column.stored_name}, and so has the name of its folder")
            found[column.stored_name] = types[0] if types else None
        first = found if first is None else first
        for name, stored in found.items():
            if stored != first[name]:
                raise _refusal(table, file, f"{_said(name, stored)}, where another file {_said(name, first[name])}")


def check_headers(table: Table, files: Sequence[str]) -> None:
    """Refuse CSV files of one table of which one names other columns than the first, declared or not.

    Their order may differ, and so may the delimiter.

    Args:
        table: what is declared.
        files: resolved, of any kind; only those that are CSV are compared.

    """
    first: tuple[str, ...] | None = None
    listed = [file for file in files if is_csv(file)]
    for file in listed if len(listed) > 1 else ():
        with CsvReader(file, [column.stored_name for column in table.columns], table.delimiter) as reader:
            names = reader.header.names
        first = names if first is None else first
        if sorted(names) == sorted(first):
            continue
        lacking, more = (
            [one for one in these if one not in those] for these, those in ((first, names), (names, first))
        )
        said = [f"has no column {name!r}, which {listed[0]} has" for name in lacking[:1]]
        said += [f"has a column {name!r}, which {listed[0]} lacks" for name in more[:1]]
        raise _refusal(table, f"{file}, line 1:", f"it {' and '.join(said) or 'names a column more often'}")


def parquet_columns(files: Iterable[str]) -> Iterator[tuple[str, Columns | None]]:
    """Return the columns of each Parquet file of this machine, from its footer."""
    import duckdb

    with duckdb.connect() as connection:
        for file in files:
            columns: Columns | None = None
            with contextlib.suppress(Exception):
                described = connection.execute(f"DESCRIBE SELECT * FROM {parquet_reader([file])}").fetchall()  # noqa: S608 - quoted
                # DuckDB gives other names to columns whose names differ in case alone.
                columns = [
                    (name, str(row[1])) for name, row in zip(parquet_names(connection, file), described, strict=True)
                ]
            yield file, columns


def _said(name: str, stored: str | None) -> str:
    return f"lacks column {name}" if stored is None else f"has column {name} as {stored[:40]}"


def _refusal(table: Table, file: str, reason: str, fix: str = "write the files alike") -> EngineUnavailable:
    return EngineUnavailable(f"table {table.name}: {file} {reason}; {fix}")

# ruff: noqa: S608 - every name and path in a statement is quoted or made up here
"""A table's files become one Parquet file of the declared columns: every cell of its declared kind, or NULL.

CSV is read by the one strict reader of the project; Parquet is read whole. Cells are made by the same forms that an
engine prints for a query, so that a copy means what the file means. What cannot be read to the end is refused, with
file and line, or file and column. The copy is readable by its owner alone and is on disk when its name appears.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dither.data.engines.emit_duckdb import MIXED, DuckDBEmitter, typed_name
from dither.data.importing.alike import check_headers
from dither.data.importing.cell_writer import TYPED, write_cells
from dither.data.importing.csv_reader import CsvReader
from dither.data.importing.duckdb_tables import (
    FOLDER,
    Source,
    in_both,
    parquet_reader,
    parquet_source,
    text_constant,
    with_folders,
)
from dither.data.importing.excel_reader import excel_rows
from dither.data.importing.json_reader import JsonLinesReader
from dither.data.importing.raw_parquet import TextWriter
from dither.data.importing.sources import KnownFile, absent_column, folder_values, is_csv, is_json, is_text, known
from dither.data.schema import Table
from dither.errors import EngineUnavailable

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_SETTINGS: Final[dict[str, Any]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
    "ieee_floating_point_ops": "true",
    "default_collation": "",
    "preserve_insertion_order": "false",
}


def convert(table: Table, files: Sequence[str], goal: Path) -> tuple[KnownFile, ...]:
    """Write the declared columns of a table's files to one Parquet file, and return the files as they were read.

    Args:
        table: what is declared.
        files: CSV or Parquet files, resolved.
        goal: a new file, in a private folder. Temporary texts are kept beside it meanwhile.

    """
    check_headers(table, files)
    handed: list[Path] = []
    try:
        with importing_connection(goal.parent) as connection:
            origins, sources = [], []
            for place, file in enumerate(files):
                if is_text(file):
                    handed.append(goal.with_name(f"{goal.name}.{place}"))
                    origin, source = texts_of(table, file, handed[-1])
                else:
                    origin, source = known(file), parquet_source(connection, table, [file])
                origins.append(origin)
                sources.append(source)
            rows = " UNION ALL ".join(_cells(table, source) for source in sources)
            statement = f"COPY ({rows}) TO {text_constant(str(goal))} (FORMAT parquet)"
            _run(connection, table, statement, list(zip(files, sources, strict=True)))
        goal.chmod(0o600)
        keep_on_disk(goal)
    except OSError as error:
        raise EngineUnavailable(f"{goal.parent} cannot be written to ({error.strerror})") from None
    finally:
        for text in handed:
            text.unlink(missing_ok=True)
    _refuse_changed(origins)
    return tuple(origins)


def check_parquet(table: Table, files: Sequence[str], workshop: Path) -> tuple[KnownFile, ...]:
    """Read every declared cell of Parquet files, and return the files as they were read; refuse what raises.

    Args:
        table: what is declared.
        files: Parquet files, resolved.
        workshop: an own folder for intermediate results.

    """
    with importing_connection(workshop) as connection:
        origins = [known(file) for file in files]
        for file in files:
            source = parquet_source(connection, table, [file])
            # A hash cannot be taken from a file's statistics: every page is read.
            hashed = ", ".join(f"max(hash({sql}))" for sql in printed_cells(table, source).values())
            _run(connection, table, f"SELECT {hashed} FROM {source[0]}", [(file, source)])
        # Together, as queries read them.
        parquet_source(connection, table, files)
    _refuse_changed(origins)
    return tuple(origins)


def keep_on_disk(path: Path) -> None:
    """Make written data survive a loss of power; raises OSError."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def importing_connection(workshop: Path) -> Iterator[DuckDBPyConnection]:
    """Open a database in memory that reads files strictly.

    Args:
        workshop: an own folder for intermediate results.

    """
    import duckdb

    with duckdb.connect(":memory:", config={**_SETTINGS, "temp_directory": str(workshop)}) as connection:
        connection.execute("SET enable_progress_bar = false")
        # What a file says of itself is not believed while it is being read.
        connection.execute("SET disabled_optimizers = 'statistics_propagation'")
        yield connection


def texts_of(table: Table, file: str, goal: Path) -> tuple[KnownFile, Source]:
    """Hand over the declared columns of a CSV file, JSON lines or a workbook as strings."""
    return _texts_of_csv(table, file, goal) if is_csv(file) else _texts_of_typed(table, file, goal)


def _texts_of_typed(table: Table, file: str, goal: Path) -> tuple[KnownFile, Source]:
    """Hand over columns of strings and typed cells, which a mark distinguishes."""
    names = [f"x{place}" for place in range(len(table.columns))]
    with open(os.open(goal, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
        writer = TextWriter(stream, names)
        if is_json(file):
            with JsonLinesReader(file) as reader:
                write_cells(writer, reader.rows(table), len(names))
                origin = reader.finish()
        else:
            origin = known(file)
            write_cells(writer, excel_rows(file, table), len(names))
            _refuse_changed([origin])
        writer.finish()
    quote = DuckDBEmitter({}, _no_list).quote
    told = ", ".join(
        f"(CASE WHEN {name} <> '' THEN substring({name}, 2) END) AS {name}, "
        f"starts_with({name}, '{TYPED}') AS {quote(typed_name(name))}"
        for name in names
    )
    source = f"(SELECT {told} FROM {parquet_reader([str(goal)])})"
    return origin, (source, {name: (place, MIXED) for name, place in zip(table.kinds, names, strict=True)})


def _texts_of_csv(table: Table, file: str, goal: Path) -> tuple[KnownFile, Source]:
    """Hand over the declared columns of a CSV file as strings, each with the quote before it if it had one."""
    with CsvReader(file, [column.stored_name for column in table.columns], table.delimiter) as reader:
        names = reader.header.names
        values = folder_values(table, file)
        for column in table.columns:
            if names.count(column.stored_name) != (0 if column.stored_name in values else 1):
                if column.stored_name in values:
                    raise EngineUnavailable(in_both(table, file, column.stored_name))
                raise EngineUnavailable(absent_column(table, column, names, file))
        read = {column.name: names.index(column.stored_name) for column in table.columns if column.stored_name in names}
        places = list(read.values())
        if not places:
            raise EngineUnavailable(f"table {table.name}: none of its columns is in {file}; declare one that is")
        with open(os.open(goal, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
            writer = TextWriter(stream, [f"x{place}" for place in places])
            for rows in reader:
                writer.write([rows.column(place) for place in places], len(rows.starts))
            writer.finish()
        origin = reader.finish()
    # An empty field is NULL, a quoted one a text, perhaps an empty one.
    told = ", ".join(
        f"(CASE WHEN starts_with(x{place}, '\"') THEN substring(x{place}, 2) WHEN x{place} <> '' THEN x{place} END)"
        f" AS x{place}"
        for place in places
    )
    outside = [column for column in table.columns if column.name not in read]
    source = f"(SELECT {told} FROM {parquet_reader([str(goal)])})"
    source = with_folders(source, {column.name: values[column.stored_name] for column in outside})
    columns = {name: (f"x{place}", "VARCHAR") for name, place in read.items()}
    columns |= {column.name: (f"{FOLDER}{place}", "VARCHAR") for place, column in enumerate(outside)}
    return origin, (source, {name: columns[name] for name in table.kinds})


def printed_cells(table: Table, source: Source) -> dict[str, str]:
    """Return each declared column as a clean value of its kind."""
    emitter = DuckDBEmitter({table.name: source}, _no_list)
    return {name: emitter.cell(table, name, kind) for name, kind in table.kinds.items()}


def _cells(table: Table, source: Source) -> str:
    quote = DuckDBEmitter({}, _no_list).quote
    cells = ", ".join(f"{sql} AS {quote(name)}" for name, sql in printed_cells(table, source).items())
    return f"SELECT {cells} FROM {source[0]} AS s"


def _run(connection: DuckDBPyConnection, table: Table, statement: str, parts: Sequence[tuple[str, Source]]) -> None:
    """Run a statement over all cells; where it fails, name the file and the column that cannot be read."""
    if _succeeds(connection, statement):
        return
    for file, source in parts:
        for name, sql in printed_cells(table, source).items():
            if not _succeeds(connection, f"SELECT max(hash({sql})) FROM {source[0]}"):
                fix = "nothing was taken from it; write it again"
                raise EngineUnavailable(f"table {table.name}: column {name} of {file} cannot be read to its end; {fix}")
    raise EngineUnavailable(f"table {table.name} could not be read: is the disk or the memory full?")


def _succeeds(connection: DuckDBPyConnection, statement: str) -> bool:
    try:
        connection.execute(statement).fetchall()
    except Exception:
        return False  # what DuckDB says may quote a cell
    return True


def _refuse_changed(origins: Sequence[KnownFile]) -> None:
    for origin in origins:
        if not origin.is_unchanged():
            raise EngineUnavailable(f"{origin.path} was written to while it was being read; add it again")


def _no_list(*_: object) -> str:
    raise AssertionError  # cells name no list

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

from dither.data.engines.emit_duckdb import DuckDBEmitter, read_at_once
from dither.data.importing.alike import check_headers
from dither.data.importing.duckdb_tables import Source, parquet_source, text_constant
from dither.data.importing.handing import forget_texts, texts_of
from dither.data.importing.sources import KnownFile, is_text, known
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
            origins, sources, expected = [], [], 0
            for place, file in enumerate(files):
                if is_text(file):
                    handed.append(goal.with_name(f"{goal.name}.{place}"))
                    texts = texts_of(table, file, handed[-1])
                    origins.append(texts.origin)
                    sources.append(texts.source)
                    expected += texts.rows
                else:
                    origins.append(known(file))
                    sources.append(parquet_source(connection, table, [file]))
            rows = " UNION ALL ".join(_cells(table, source) for source in sources)
            statement = f"COPY ({rows}) TO {text_constant(str(goal))} (FORMAT parquet)"
            made = _run(connection, table, statement, list(zip(files, sources, strict=True)))
            if all(map(is_text, files)) and made != [(expected,)]:
                raise EngineUnavailable(f"table {table.name} could not be read: {expected} rows were handed over")
        goal.chmod(0o600)
        keep_on_disk(goal)
    except OSError as error:
        raise EngineUnavailable(f"{goal.parent} cannot be written to ({error.strerror})") from None
    finally:
        for text in handed:
            forget_texts(text)
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


def printed_cells(table: Table, source: Source) -> dict[str, str]:
    """Return each declared column as a clean value of its kind."""
    emitter = DuckDBEmitter({table.name: source}, _no_list)
    return {name: emitter.cell(table, name, kind) for name, kind in table.kinds.items()}


def cells_once(table: Table, source: Source) -> tuple[dict[str, str], dict[str, str]]:
    """Return what to select of a source, by name, and each declared column as a clean value made of that.

    A real is asked whether it is finite: it is made once, and not for the question and for the answer.
    """
    inner, outer = {}, {}
    quote = DuckDBEmitter({}, _no_list).quote
    for name, sql in printed_cells(table, source).items():
        head, middle, end = "(CASE WHEN isfinite(", ") THEN ", " END)"
        size = (len(sql) - len(head) - len(middle) - len(end)) // 2
        bare = sql[len(head) : len(head) + size]
        is_checked = sql == f"{head}{bare}{middle}{bare}{end}"
        inner[name] = read_at_once(bare) if is_checked else sql
        outer[name] = f"{head}{quote(name)}{middle}{quote(name)}{end}" if is_checked else quote(name)
    return inner, outer


def _cells(table: Table, source: Source) -> str:
    quote = DuckDBEmitter({}, _no_list).quote
    inner, outer = cells_once(table, source)
    made = ", ".join(f"{sql} AS {quote(name)}" for name, sql in inner.items())
    cells = ", ".join(f"{sql} AS {quote(name)}" for name, sql in outer.items())
    return f"SELECT {cells} FROM (SELECT {made} FROM {source[0]} AS s)"


def _run(
    connection: DuckDBPyConnection, table: Table, statement: str, parts: Sequence[tuple[str, Source]]
) -> list[tuple[Any, ...]]:
    """Run a statement over all cells; where it fails, name the file and the column that cannot be read."""
    made = _rows_of(connection, statement)
    if made is not None:
        return made
    for file, source in parts:
        for name, sql in printed_cells(table, source).items():
            if _rows_of(connection, f"SELECT max(hash({sql})) FROM {source[0]}") is None:
                fix = "nothing was taken from it; write it again"
                raise EngineUnavailable(f"table {table.name}: column {name} of {file} cannot be read to its end; {fix}")
    raise EngineUnavailable(f"table {table.name} could not be read: is the disk or the memory full?")


def _rows_of(connection: DuckDBPyConnection, statement: str) -> list[tuple[Any, ...]] | None:
    try:
        return connection.execute(statement).fetchall()
    except Exception:
        return None  # what DuckDB says may quote a cell


def _refuse_changed(origins: Sequence[KnownFile]) -> None:
    for origin in origins:
        if not origin.is_unchanged():
            raise EngineUnavailable(f"{origin.path} was written to while it was being read; add it again")


def _no_list(*_: object) -> str:
    raise AssertionError  # cells name no list

# ruff: noqa: S608 - every name and path in a statement is quoted or made up here
"""Text files handed over to the engine as columns of strings, once they were read to the end by the strict readers.

Blocks of CSV without a quote, which most are, are handed over as the bytes that were read: there a line is a row and a
delimiter parts two fields, whoever reads it. All other cells are written as Parquet, so that no parser reads them
again. Inside ``reading_once`` a file is read and handed over only once, for all that is done with it.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from dither.data.engines.emit_duckdb import MIXED, DuckDBEmitter, typed_name
from dither.data.engines.spill import SpillFolder
from dither.data.importing.cell_writer import TYPED, write_cells
from dither.data.importing.csv_grammar import Dialect, Rows
from dither.data.importing.csv_reader import CsvReader
from dither.data.importing.duckdb_tables import FOLDER, Source, in_both, parquet_reader, text_constant, with_folders
from dither.data.importing.excel_reader import excel_rows
from dither.data.importing.json_reader import JsonLinesReader
from dither.data.importing.raw_parquet import TextWriter
from dither.data.importing.sources import KnownFile, absent_column, folder_values, is_csv, is_json, known
from dither.data.schema import Table
from dither.errors import EngineUnavailable

#: A line with more bytes is written as Parquet: DuckDB takes none of two million.
_LONGEST_LINE: Final = 2**20
#: What a file is known by while it is handed over: how it is read, and which of its columns are.
_Key = tuple[object, ...]


@dataclass(frozen=True)
class Handed:
    """What the engine reads of a file.

    Args:
        origin: the file as it was read.
        source: its declared columns.
        rows: how many rows the strict reader found.

    """

    origin: KnownFile
    source: Source
    rows: int


_once: ContextVar[tuple[Path, dict[_Key, Handed]] | None] = ContextVar("once", default=None)


@contextmanager
def reading_once() -> Iterator[None]:
    """Read each text file once for all that is done with it inside the block, unless it changes meanwhile."""
    with closing(SpillFolder()) as folder:
        token = _once.set((folder.path, {}))
        try:
            yield
        finally:
            _once.reset(token)


def texts_of(table: Table, file: str, goal: Path) -> Handed:
    """Hand over the declared columns of a CSV file, JSON lines or a workbook as strings.

    Args:
        table: what is declared.
        file: resolved.
        goal: a new file; a second one with ``.csv`` behind its name may be made beside it.

    """
    scope = _once.get()
    if scope is None:
        return _handed(table, file, goal)
    folder, known_ones = scope
    columns = tuple((column.name, column.stored_name) for column in table.columns)
    key = (columns, table.source, table.delimiter, table.sheet, file)
    found = known_ones.get(key)
    if found is None or not found.origin.is_unchanged():
        found = known_ones[key] = _handed(table, file, folder / uuid.uuid4().hex)
    return found


def forget_texts(goal: Path) -> None:
    """Remove what was handed over into a file and beside it."""
    for path in (goal, _plain_text(goal)):
        path.unlink(missing_ok=True)


def _handed(table: Table, file: str, goal: Path) -> Handed:
    return _texts_of_csv(table, file, goal) if is_csv(file) else _texts_of_typed(table, file, goal)


def _plain_text(goal: Path) -> Path:
    return goal.with_name(f"{goal.name}.csv")


def _new_file(path: Path) -> BinaryIO:
    return open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


def _texts_of_typed(table: Table, file: str, goal: Path) -> Handed:
    """Hand over columns of strings and typed cells, which a mark distinguishes."""
    names = [f"x{place}" for place in range(len(table.columns))]
    with _new_file(goal) as stream:
        writer = TextWriter(stream, names)
        if is_json(file):
            with JsonLinesReader(file) as reader:
                write_cells(writer, reader.rows(table), len(names))
                origin = reader.finish()
        else:
            origin = known(file)
            write_cells(writer, excel_rows(file, table), len(names))
            if not origin.is_unchanged():
                raise EngineUnavailable(f"{origin.path} was written to while it was being read; add it again")
        writer.finish()
    quote = DuckDBEmitter({}, _no_list).quote
    told = ", ".join(
        f"(CASE WHEN {name} <> '' THEN substring({name}, 2) END) AS {name}, "
        f"starts_with({name}, '{TYPED}') AS {quote(typed_name(name))}"
        for name in names
    )
    source = f"(SELECT {told} FROM {parquet_reader([str(goal)])})"
    columns = {name: (place, MIXED) for name, place in zip(table.kinds, names, strict=True)}
    return Handed(origin, (source, columns), writer.rows)


def _texts_of_csv(table: Table, file: str, goal: Path) -> Handed:
    """Hand over the declared columns of a CSV file as strings."""
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
        with _new_file(goal) as stream, _new_file(_plain_text(goal)) as plain:
            writer, plain_rows = TextWriter(stream, [f"x{place}" for place in places]), 0
            # A line of names, so that no mark of encoding is sought in the first cell.
            plain.write(",".join(f"x{place}" for place in range(len(names))).encode() + b"\n")
            for rows in reader:
                lines = _lines(rows, reader.header.dialect)
                if lines is None:
                    writer.write([rows.column(place) for place in places], len(rows.starts))
                else:
                    plain.write(lines)
                    plain_rows += len(rows.starts)
            writer.finish()
        origin = reader.finish()
    parts = [] if writer.rows == 0 and plain_rows else [_from_parquet(goal, places)]
    if plain_rows:
        parts.append(_from_text(_plain_text(goal), reader.header.dialect.delimiter, len(names), places))
    outside = [column for column in table.columns if column.name not in read]
    source = with_folders(
        parts[0] if len(parts) == 1 else f"({' UNION ALL '.join(f'SELECT * FROM {part}' for part in parts)})",
        {column.name: values[column.stored_name] for column in outside},
    )
    columns = {name: (f"x{place}", "VARCHAR") for name, place in read.items()}
    columns |= {column.name: (f"{FOLDER}{place}", "VARCHAR") for place, column in enumerate(outside)}
    return Handed(origin, (source, {name: columns[name] for name in table.kinds}), writer.rows + plain_rows)


def _lines(rows: Rows, dialect: Dialect) -> bytes | memoryview | None:
    """Return whole rows as lines that end in LF; None where a line could be read as anything but its fields.

    Rows were checked to have the same number of fields as the first one, in UTF-8, without NUL, with line ends of one
    kind. Without a quote, and without a carriage return but in line ends, only delimiters and line ends part fields. A
    row of one empty field would be a blank line, which readers skip.
    """
    data = rows.block[: rows.size].tobytes()
    returns = data.count(b"\r")
    if b'"' in data or returns != (rows.lines if dialect.is_crlf else 0) or rows.starts.shape[1] == 1:
        return None
    if int((rows.ends[:, -1] - rows.starts[:, 0]).max()) > _LONGEST_LINE:
        return None
    return data.replace(b"\r\n", b"\n") if dialect.is_crlf else data


def _from_parquet(goal: Path, places: Sequence[int]) -> str:
    # An empty field is NULL, a quoted one a text, perhaps an empty one.
    told = ", ".join(
        f"(CASE WHEN starts_with(x{place}, '\"') THEN substring(x{place}, 2) WHEN x{place} <> '' THEN x{place} END)"
        f" AS x{place}"
        for place in places
    )
    return f"(SELECT {told} FROM {parquet_reader([str(goal)])})"


def _from_text(text: Path, delimiter: str, width: int, places: Sequence[int]) -> str:
    """Return the FROM clause that reads lines; nothing of how they are written is left to be guessed."""
    columns = ", ".join(f"'x{place}': 'VARCHAR'" for place in range(width))
    options = {
        "auto_detect": "false",
        "header": "true",
        "delim": text_constant(delimiter),
        "quote": "''",
        "escape": "''",
        "comment": "''",
        "nullstr": "''",
        "new_line": "'\\n'",
        "encoding": "'utf-8'",
        "compression": "'none'",
        "null_padding": "false",
        "ignore_errors": "false",
        "hive_partitioning": "false",
        "columns": f"{{{columns}}}",
    }
    said = ", ".join(f"{name} = {value}" for name, value in options.items())
    return f"(SELECT {', '.join(f'x{place}' for place in places)} FROM read_csv({text_constant(str(text))}, {said}))"


def _no_list(*_: object) -> str:
    raise AssertionError  # cells name no list

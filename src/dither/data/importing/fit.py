# ruff: noqa: S608 - every name and path in a statement is quoted or made up here
"""How well files fit what is declared of them: which cells become NULL, which values lie outside. For owners only.

**Not private.** Counts and examples come from rows without noise: they are for the screen of the person who owns the
rows, and are kept nowhere. Nothing that an analyst sees is made of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dither.data.cell_forms import likely_form
from dither.data.engines.emit_duckdb import MIXED, DuckDBEmitter, typed_name
from dither.data.engines.frames import lost_cells
from dither.data.engines.spill import SpillFolder
from dither.data.expressions import Kind
from dither.data.files import scalar
from dither.data.importing.alike import check_headers
from dither.data.importing.conversion import cells_once, importing_connection
from dither.data.importing.duckdb_tables import Source, parquet_source
from dither.data.importing.handing import texts_of
from dither.data.importing.sources import is_text
from dither.data.place_tables import DEGREES, Places
from dither.data.schema import Column, Table
from dither.errors import EngineUnavailable

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_EUROPEAN: Final = re.compile(r"-?[0-9]{1,3}(\.[0-9]{3})*,[0-9]+|-?[0-9]+,[0-9]+")
_WORDS: Final = frozenset(["yes", "no", "y", "n", "ja", "nein", "oui", "non", "on", "off"])
#: Words that files write where a cell stands for nothing.
NOTHING: Final = frozenset(
    ["n/a", "#n/a", "na", "n.a.", "k.a.", "nan", "null", "none", "nil", "missing", "unknown", "-", "--", "?", "."]
)
_WITH_ZONE: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9:.,]+ ?(Z|UTC|[+-][0-9]{2}(:?[0-9]{2})?)", re.IGNORECASE
)
_LONGEST: Final = 60
#: The share of filled cells that may become NULL before somebody is asked.
MOST_LOST: Final = 0.01
_PLACED: Final = ("outside", "swapped", "unknown")


@dataclass(frozen=True)
class ColumnFit:
    """How the cells of one column fit.

    Args:
        column: what is declared.
        filled: how many cells hold something.
        kept: how many of them are of the declared kind; the others become NULL.
        example: one of the others; empty where there is none.
        outside: how many kept cells lie outside bounds or categories.
        outside_example: one of those.
        decimal: what stands before the decimals of numbers, where it is not a point.

    """

    column: Column
    filled: int
    kept: int
    example: str = ""
    outside: int = 0
    outside_example: str = ""
    decimal: str | None = None

    @property
    def lost(self) -> int:
        """How many cells become NULL although they hold something."""
        return self.filled - self.kept

    @property
    def is_losing(self) -> bool:
        """Whether more than 1 % of the filled cells become NULL."""
        return self.lost > MOST_LOST * self.filled

    @property
    def reason(self) -> str:
        """Why the example becomes NULL, and what would help; shows the example."""
        if not self.lost:
            return ""
        kind, declared = self.column.kind, self.column.form
        if declared is None:
            return why_lost(kind, self.example, self.decimal)
        said = f"{self.example[:_LONGEST]!r} is not written as {' or '.join(declared)}"
        other = "" if kind.is_number else likely_form(self.example[:_LONGEST], kind)
        return f"{said}: declare 'form: [{', '.join(map(scalar, (*declared, other)))}]'" if other else said


@dataclass(frozen=True)
class PlaceFit:
    """How the positions of two columns fit the declared box.

    Args:
        columns: the two.
        outside: how many positions lie outside the box.
        swapped: how many of those would lie inside it with their coordinates swapped.
        unknown: how many are latitude 0 and longitude 0, which stands for no position.

    """

    columns: tuple[str, ...]
    outside: int
    swapped: int
    unknown: int


@dataclass(frozen=True)
class TableFit:
    """How the rows of one table fit.

    Args:
        table: what is declared.
        rows: how many there are.
        without_id: how many have no privacy id, or refer to no owner: they do not exist for any answer.
        columns: cell by cell.
        places: position by position, where some are declared.
        undeclared: of a table of edges, how many rows name an end that is not a declared node.

    """

    table: Table
    rows: int
    without_id: int
    columns: tuple[ColumnFit, ...]
    places: tuple[PlaceFit, ...] = ()
    undeclared: int = 0

    @property
    def kept_rows(self) -> int:
        """How many rows can count."""
        return self.rows - self.without_id

    @property
    def losing(self) -> tuple[ColumnFit, ...]:
        """The columns of which more than 1 % of the filled cells become NULL."""
        return tuple(one for one in self.columns if one.is_losing)

    @property
    def is_mostly_undeclared(self) -> bool:
        """Whether more than half of the edges have an end that is not a declared node."""
        return 2 * self.undeclared > self.rows

    @property
    def is_whole(self) -> bool:
        """Whether there are rows, and every cell is what it is declared to be."""
        is_placed = not any(one.outside or one.unknown for one in self.places)
        is_clean = not any(one.lost or one.outside for one in self.columns)
        return self.kept_rows > 0 and not self.without_id and is_clean and is_placed


def why_lost(kind: Kind, example: str, decimal: str | None = None) -> str:
    """Return why a cell is not of a kind, and what would help.

    Args:
        kind: that is declared.
        example: the cell.
        decimal: "," where that is declared to stand before decimals.

    >>> print(why_lost(Kind.REAL, "1.234,5"))
    '1.234,5' is not a real: if cells are written so, declare 'form: "1.234,5"' for the column
    >>> print(why_lost(Kind.INTEGER, "n/a"))
    'n/a' is not an integer: NULL is right if it means nothing, else declare it as text
    >>> print(why_lost(Kind.REAL, "2,5"))
    '2,5' is not a real: decimals are written with a point, unless 'decimal: ","' is set beside the source

    """
    form = likely_form(example[:_LONGEST], kind)
    said = f"{example[:_LONGEST]!r} is not {'an' if kind is Kind.INTEGER else 'a'} {kind.value}"
    if kind.is_number and decimal is not None and "." in example:
        return f"{said}: with decimal '{decimal}' no number has a point, not even between thousands"
    if kind.is_number and "." not in example and _EUROPEAN.fullmatch(example.strip()):
        return f"{said}: decimals are written with a point, unless 'decimal: \",\"' is set beside the source"
    if form:
        return f"{said}: if cells are written so, declare 'form: {scalar(form)}' for the column"
    if kind.is_number and _EUROPEAN.fullmatch(example.strip()):
        return f"{said}: decimals are written with a point, and without marks between thousands"
    if kind is Kind.BOOLEAN and example.strip().lower() in _WORDS:
        return f"{said}: declare it as text with such categories"
    if kind is not Kind.TEXT and example.strip().lower() in NOTHING:
        return f"{said}: NULL is right if it means nothing, else declare it as text"
    if kind is Kind.INTEGER and re.search("[A-Za-z]", example):
        return f"{said}: declare it as text"
    if kind is Kind.TIMESTAMP and _WITH_ZONE.fullmatch(example.strip()):
        return f"{said}: moments are written in UTC and without a zone, as 2024-12-31 23:59:59"
    hints = {
        Kind.DATE: "days are written as 2024-12-31",
        Kind.TIMESTAMP: "moments are written as 2024-12-31 23:59:59",
        Kind.BOOLEAN: "write true or false, or declare it as text",
    }
    return f"{said}: {hints[kind]}" if kind in hints else said


def losses_of(table: Table, files: Sequence[str]) -> list[str]:
    """Return a line for each column of which more than 1 % of the filled cells become NULL. NOT PRIVATE.

    Args:
        table: what is declared.
        files: resolved.

    """
    return [loss_words(one.column, one.lost, one.filled, one.reason) for one in fit_of(table, files).losing]


def losses_of_frame(table: Table, frame: Any) -> list[str]:
    """Return the same lines for a frame. NOT PRIVATE.

    Args:
        table: what is declared.
        frame: the rows.

    """
    return [
        loss_words(one, lost, filled, ColumnFit(one, filled, filled - lost, example).reason)
        for one, lost, filled, example in lost_cells(table, frame)
        if lost > MOST_LOST * filled
    ]


def loss_words(column: Column, lost: int, filled: int, reason: str) -> str:
    """Return one line: how many cells of a column become NULL, and why.

    >>> loss_words(Column("price", Kind.REAL), 2, 8, "'n/a' is not a real")
    "price: 2 of 8 filled cells (25 %) become NULL: 'n/a' is not a real"
    """
    share = 100 * lost / filled
    return f"{column.name}: {lost:,} of {filled:,} filled cells ({share:.3g} %) become NULL: {reason}"


def fit_of(table: Table, files: Sequence[str]) -> TableFit:
    """Return how files fit what is declared of a table. NOT PRIVATE: for the eyes of their owner alone.

    Args:
        table: what is declared.
        files: CSV or Parquet files, resolved.

    Raises:
        EngineUnavailable: a file cannot be read to its end, or lacks a column.

    """
    check_headers(table, files)
    parts: list[TableFit] = []
    with closing(SpillFolder()) as folder, importing_connection(folder.path) as connection:
        for file in files:
            source = opened(connection, table, file, folder.path / f"{len(parts)}.parquet")
            parts.append(_fit(connection, table, source))
    return _together(table, parts)


def opened(connection: DuckDBPyConnection, table: Table, file: str, texts: Path) -> Source:
    """Return a file as a source.

    Args:
        connection: where it is to be read.
        table: what is declared.
        file: CSV or Parquet.
        texts: a new file, for the texts of a CSV file.

    """
    return texts_of(table, file, texts).source if is_text(file) else parquet_source(connection, table, [file])


def all_opened(connection: DuckDBPyConnection, table: Table, files: Sequence[str], folder: Path) -> Source:
    """Return several files as one source; refuse those whose columns are stored as different types.

    Args:
        connection: where they are to be read.
        table: what is declared.
        files: resolved.
        folder: for the texts of CSV files.

    """
    check_headers(table, files)
    sources = [opened(connection, table, file, folder / f"{place}.parquet") for place, file in enumerate(files)]
    if len(sources) == 1:
        return sources[0]
    quote = DuckDBEmitter({}, _no_list).quote
    first = sources[0][1]
    parts = []
    for file, (source, columns) in zip(files, sources, strict=True):
        for name, (_, stored) in columns.items():
            if stored != first[name][1]:
                what = f"has column {name} as {stored[:40]}, where {files[0]} has it as {first[name][1][:40]}"
                raise EngineUnavailable(f"table {table.name}: {file} {what}; write the files alike")
        read = [f"{quote(found)} AS c{place}" for place, (found, _) in enumerate(columns.values())]
        read += [
            f"{quote(typed_name(found))} AS {quote(typed_name(f'c{place}'))}"
            for place, (found, stored) in enumerate(columns.values())
            if stored == MIXED
        ]
        parts.append(f"SELECT {', '.join(read)} FROM {source}")
    return f"({' UNION ALL '.join(parts)})", {
        name: (f"c{place}", stored) for place, (name, (_, stored)) in enumerate(first.items())
    }


def has_rows(table: Table, file: str) -> bool:
    """Return whether a file holds a row, whatever its cells are. NOT PRIVATE: for those who add it.

    Args:
        table: what is declared.
        file: CSV or Parquet, resolved.

    Raises:
        EngineUnavailable: the file cannot be read to its end, or lacks a column.

    """
    with closing(SpillFolder()) as folder, importing_connection(folder.path) as connection:
        source = opened(connection, table, file, folder.path / "0.parquet")
        return bool(asked(connection, f"SELECT count(*) FROM {source[0]} AS s", table)[0][0])


def asked(connection: DuckDBPyConnection, statement: str, table: Table) -> list[tuple[Any, ...]]:
    """Return the rows of a statement, or say that the table cannot be read: what DuckDB says may quote a cell."""
    import duckdb

    is_read = True
    try:
        return connection.execute(statement).fetchall()
    except duckdb.Error:
        is_read = False
    if not is_read:
        raise EngineUnavailable(f"table {table.name}: {table.source} cannot be read to its end; write it again")
    return []


def _fit(connection: DuckDBPyConnection, table: Table, source: Source) -> TableFit:
    emitter = DuckDBEmitter({table.name: source}, _no_list)
    made, clean = cells_once(table, source)
    # Each cell is made once, and counted and compared as often as need be.
    inner = [f"{emitter.quote(stored)} AS r{place}" for place, (stored, _) in enumerate(source[1].values())]
    inner += [f"{sql} AS {emitter.quote(name)}" for name, sql in made.items()]
    outer = [f"r{place}" for place in range(len(source[1]))]
    outer += [f"{sql} AS c{place}" for place, sql in enumerate(clean.values())]
    rows_of_cells = f"(SELECT {', '.join(outer)} FROM (SELECT {', '.join(inner)} FROM {source[0]} AS s) AS m)"
    raw = {name: f"r{place}" for place, name in enumerate(source[1])}
    cells = {name: f"c{place}" for place, name in enumerate(clean)}
    known = " AND ".join(f"{cells[name]} IS NOT NULL" for name in table.identifying)
    told = ["count(*)", f"count(*) FILTER ({known or 'true'})"]
    for column in table.columns:
        cell, stored = cells[column.name], raw[column.name]
        outside = _outside(emitter, column, cell)
        told += [f"count({stored})", f"count({cell})"]
        # Only examples become text, and not every cell.
        told.append(f"min(CASE WHEN {stored} IS NOT NULL AND {cell} IS NULL THEN CAST({stored} AS VARCHAR) END)")
        told.append(f"count(*) FILTER ({outside})" if outside != "false" else "0")
        told.append(f"min(CASE WHEN {outside} THEN CAST({cell} AS VARCHAR) END)" if outside != "false" else "NULL")
    pairs = _pairs(table.places)
    for places, pair in pairs:
        told += [f"count(*) FILTER ({rule})" for rule in _misplaced(emitter, places, [cells[name] for name in pair])]
    told.append(f"count(*) FILTER ({_undeclared(emitter, table, cells, raw)})")
    rows, with_id, *figures = asked(connection, f"SELECT {', '.join(told)} FROM {rows_of_cells} AS s", table)[0]
    fits = []
    for place, column in enumerate(table.columns):
        filled, kept, example, count, other = figures[5 * place : 5 * place + 5]
        fits.append(ColumnFit(column, filled, kept, example or "", count, other or "", table.decimal))
    *after, undeclared = figures[5 * len(table.columns) :]
    placed = tuple(PlaceFit(pair, *after[3 * place : 3 * place + 3]) for place, (_, pair) in enumerate(pairs))
    return TableFit(table, rows, rows - with_id, tuple(fits), placed, undeclared)


def _pairs(places: Places | None) -> list[tuple[Places, tuple[str, ...]]]:
    """Return the pairs of columns that are positions, each with what is declared of it."""
    return [] if places is None else [(places, pair) for pair in (places.at, places.to) if pair]


def _misplaced(emitter: DuckDBEmitter, places: Places, pair: Sequence[str]) -> tuple[str, str, str]:
    """Return when a position lies outside the box, when swapping would put it inside, and when it is none."""
    first, other = (f"CAST({cell} AS DOUBLE)" for cell in pair)
    ends = [tuple(emitter.literal(end, Kind.REAL) for end in side) for side in places.sides]
    inside, turned = (
        " AND ".join(f"{cell} BETWEEN {low} AND {high}" for cell, (low, high) in zip(cells, ends, strict=True))
        for cells in ((first, other), (other, first))
    )
    unknown = f"({first} = 0 AND {other} = 0)" if places.coordinates == DEGREES else "false"
    outside = f"{first} IS NOT NULL AND {other} IS NOT NULL AND NOT {unknown} AND NOT ({inside})"
    return outside, f"{outside} AND {turned}", unknown


def _undeclared(emitter: DuckDBEmitter, table: Table, cells: Mapping[str, str], raw: Mapping[str, str]) -> str:
    """Return when a row is an edge of which an end is not a declared node."""
    ends = [table.column(name) for one in table.declared for name in one.naming]
    if not ends:
        return "false"
    filled = " AND ".join(f"{raw[end.name]} IS NOT NULL" for end in ends)
    unknown = [f"{cells[end.name]} IS NULL OR ({_outside(emitter, end, cells[end.name])})" for end in ends]
    return f"{filled} AND ({' OR '.join(unknown)})"


def _outside(emitter: DuckDBEmitter, column: Column, cell: str) -> str:
    rules = []
    if column.lower is not None:
        low, high = (emitter.literal(bound, column.kind) for bound in (column.lower, column.upper))
        rules.append(f"({cell} < {low} OR {cell} > {high})")
    if column.categories is not None:
        listed = ", ".join(emitter.literal(one, column.kind) for one in column.categories)
        rules.append(f"{cell} NOT IN ({listed})")
    return f"{cell} IS NOT NULL AND ({' OR '.join(rules)})" if rules else "false"


def _together(table: Table, parts: Sequence[TableFit]) -> TableFit:
    columns = []
    for place, column in enumerate(table.columns):
        ones = [part.columns[place] for part in parts]
        columns.append(
            ColumnFit(
                column,
                sum(one.filled for one in ones),
                sum(one.kept for one in ones),
                next((one.example for one in ones if one.lost), ""),
                sum(one.outside for one in ones),
                next((one.outside_example for one in ones if one.outside), ""),
                table.decimal,
            )
        )
    places = tuple(
        PlaceFit(pair, *(sum(getattr(part.places[place], name) for part in parts) for name in _PLACED))
        for place, (_, pair) in enumerate(_pairs(table.places))
    )
    rows, without, others = (
        sum(getattr(part, name) for part in parts) for name in ("rows", "without_id", "undeclared")
    )
    return TableFit(table, rows, without, tuple(columns), places, others)


def _no_list(*_: object) -> str:
    raise AssertionError  # cells name no list

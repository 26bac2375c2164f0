# ruff: noqa: S608 - every name and path in a statement is quoted or made up here
"""What a file's rows show to the person who owns them: kinds, ranges, distinct values, missing cells, rows a person.

**Not private.** An owner who declares a table may look at it; whoever else sees these figures learns about people
without paying. They are for a screen, and are kept nowhere. What of them enters a schema was confirmed by the owner as
public, one by one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from dither.data.cell_forms import likely_forms
from dither.data.closing import Closing
from dither.data.engines.emit_duckdb import DuckDBEmitter
from dither.data.engines.spill import SpillFolder
from dither.data.expressions import Kind
from dither.data.hints import hint, plain_names
from dither.data.importing.conversion import importing_connection, printed_cells
from dither.data.importing.duckdb_tables import Source
from dither.data.importing.excel_reader import chosen_sheet
from dither.data.importing.fit import NOTHING, all_opened, asked, why_lost
from dither.data.importing.named_files import NamedFiles
from dither.data.importing.sources import is_excel, is_text
from dither.data.schema import Column, Table
from dither.data.suggest import Found, described, unfit
from dither.errors import InvalidParameter

#: Kinds that cells are tried as where no type is declared; the first that all of them have counts.
_TRIED: Final = (Kind.INTEGER, Kind.BOOLEAN, Kind.REAL, Kind.DATE, Kind.TIMESTAMP)
#: More values than this are not listed.
MOST_VALUES: Final = 20
#: How many of the first rows decide which kinds are tried on all.
_FIRST_ROWS: Final = 1000
#: Texts are said to be of another kind where more than this share of the first cells are.
_MOST_OF: Final = 0.75
#: Days and moments as people write them, whatever their order.
_LIKE_DAY: Final = re.compile(
    r"([0-9]{1,2}[./-][0-9]{1,2}[./-]([0-9]{2}|[0-9]{4})|[0-9]{4}[./-][0-9]{1,2}[./-][0-9]{1,2})([ T,].*)?"
)
#: Where a proposal comes from.
FROM_TYPE, FROM_NAME, FROM_DATA = "the declared type", "the name", "the data"


@dataclass(frozen=True)
class ColumnFacts:
    """What one column shows.

    Args:
        name: what it would be called in a schema.
        stored_name: what the file calls it.
        kind: what it would be declared as.
        origin: where that comes from: the declared type, the name, or the data.
        rows: of the file.
        filled: cells that hold something.
        kept: cells of that kind.
        distinct: how many values there are.
        least: the least of them, of numbers, days and moments.
        largest: the largest.
        values: all of them, of texts that have few.
        note: what the owner should know: cells that another kind would lose.
        form: how cells write numbers or days, where that is not the one grammar of all tables.

    """

    name: str
    stored_name: str
    kind: Kind
    origin: str
    rows: int
    filled: int
    kept: int = 0
    distinct: int = 0
    least: Any = None
    largest: Any = None
    values: tuple[str, ...] = ()
    note: str = ""
    form: tuple[str, ...] = ()

    @property
    def missing(self) -> float:
        """The share of rows without a value."""
        return 1 - self.kept / self.rows if self.rows else 0.0


class Facts(Closing):
    """A file that its owner looks at: read once, into a private folder that goes with this.

    Args:
        path: a CSV file, JSON lines, a workbook or Parquet; or several that are one table.
        sheet: of a workbook with several.
        delimiter: of a CSV file, where it is declared.
        decimal: "," or ".", where it is declared; None to look at the cells.

    """

    def __init__(
        self,
        path: str | Path | NamedFiles,
        *,
        sheet: str | None = None,
        delimiter: str | None = None,
        decimal: str | None = None,
    ) -> None:
        self._stack = ExitStack()
        named = path if isinstance(path, NamedFiles) else NamedFiles.one(path)
        self.path = named.source
        self.read = read_as(str(named.first), sheet, delimiter, decimal)
        found = described(named, sheet=sheet, delimiter=delimiter)
        listed = [name for name, *_ in found]
        #: Columns that no schema can name, with the reason.
        self.left_out = [
            f"{name!r} {why}" for name, kind, stored in found if (why := unfit(name, kind, stored, listed))
        ]
        usable = [
            (plain, one)
            for plain, one in zip(plain_names(listed), found, strict=True)
            if not unfit(one[0], one[1], one[2], listed)
        ]
        try:
            folder = self._stack.enter_context(closing(SpillFolder()))
            self._connection = self._stack.enter_context(importing_connection(folder.path))
            plain = tuple(_column(name, one, one[1] or Kind.TEXT) for name, one in usable)
            self._table = Table("t", plain, self.path, **self.read)  # type: ignore[arg-type]
            self._source: Source = all_opened(self._connection, self._table, named.files, folder.path)
            self._found = [one for _, one in usable]
            self.columns = self._columns(self._found)
            if is_text(named.first) and decimal is None and self._has_decimal_commas():
                self.read_with(",")
        except BaseException:
            self.close()
            raise

    @property
    def decimal(self) -> str | None:
        """The sign before decimals that the cells show; None for a point, and where it is declared."""
        return None if "decimal" in self.read else self._table.decimal

    def read_with(self, decimal: str | None) -> None:
        """Look at all columns again, with another sign before the decimals of numbers.

        Args:
            decimal: "," or None, for a point.

        """
        self._table = replace(self._table, decimal=decimal)
        self.columns = self._columns(self._found)

    def close(self) -> None:
        """Forget everything."""
        self._stack.close()

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self.columns[0].rows if self.columns else 0

    def column(self, name: str) -> ColumnFacts:
        """Return what a column shows, by its declared name."""
        return next(one for one in self.columns if one.name == name)

    def rows_a_person(self, name: str) -> dict[int, int]:
        """Return how many people have how many rows, by the number of rows.

        Args:
            name: the column that says whose a row is.

        """
        cell = self._cell(name, self.column(name).kind)
        counted = f"SELECT count(*) AS n FROM {self._source[0]} AS s WHERE {cell} IS NOT NULL GROUP BY {cell}"
        found = asked(self._connection, f"SELECT n, count(*) FROM ({counted}) GROUP BY n ORDER BY n", self._table)
        return {int(rows): int(people) for rows, people in found}

    def kept_as(self, name: str, kind: Kind) -> tuple[int, str]:
        """Return how many cells of a column are of a kind, and why one of the others is not.

        Args:
            name: the column.
            kind: what it would be declared as.

        """
        cell, raw = self._cell(name, kind), self._raw(name)
        other = f"min(CAST({raw} AS VARCHAR)) FILTER ({raw} IS NOT NULL AND {cell} IS NULL)"
        statement = f"SELECT count({cell}), {other} FROM {self._source[0]} AS s"
        kept, example = asked(self._connection, statement, self._table)[0]
        return int(kept), why_lost(kind, example, self._table.decimal) if example is not None else ""

    def _has_decimal_commas(self) -> bool:
        """Return whether texts of some column are all numbers with a comma, and no column has numbers with a point."""
        plain, self._table = self._table, replace(self._table, decimal=",")
        try:
            texts = [one for one in self.columns if one.kind is Kind.TEXT and one.filled]
            told = [f"count({self._cell(one.name, Kind.REAL)})" for one in texts]
            told += [f"count(*) FILTER (contains({self._raw(one.name)}, ','))" for one in texts]
            reals = [one for one in self.columns if one.kind is Kind.REAL]
            points = [f"count(*) FILTER (contains({self._raw(one.name)}, '.'))" for one in reals]
            _, *counts = self._counted([*told, *points])
        finally:
            self._table = plain
        kept, commas, others = counts[: len(texts)], counts[len(texts) : len(told)], counts[len(told) :]
        found = any(
            many == one.filled and with_comma for one, many, with_comma in zip(texts, kept, commas, strict=True)
        )
        return found and not any(others)

    def _raw(self, name: str) -> str:
        return DuckDBEmitter({}, _no_list).quote(self._source[1][name][0])

    def _cell(self, name: str, kind: Kind) -> str:
        """Return a column as a clean value of a kind."""
        form = self._forms.get(name) if kind not in (Kind.TEXT, Kind.BOOLEAN) else None
        with suppress(InvalidParameter):  # a form of days says nothing of numbers
            table = replace(self._table, columns=(replace(self._table.column(name), kind=kind, form=form),))
            return printed_cells(table, self._source)[name]
        table = replace(self._table, columns=(replace(self._table.column(name), kind=kind),))
        return printed_cells(table, self._source)[name]

    def _columns(self, found: Sequence[Found]) -> tuple[ColumnFacts, ...]:
        self._forms: dict[str, tuple[str, ...]] = {}
        names = [column.name for column in self._table.columns]
        rows, *filled = self._counted([f"count({self._raw(name)})" for name in names])
        declared = {name: kind for name, (_, kind, _) in zip(names, found, strict=True)}
        chosen = self._chosen({name: many for name, many in zip(names, filled, strict=True) if declared[name] is None})
        columns = []
        for name, many, (stored, _, _) in zip(names, filled, found, strict=True):
            known = declared[name]
            kind, origin = chosen[name] if known is None else (known, FROM_TYPE)
            form = self._form(name, many) if (kind, origin) == (Kind.TEXT, FROM_DATA) else None
            if form is not None:
                kind, self._forms[name] = form
            written = () if form is None else form[1]
            columns.append(self._looked_at(ColumnFacts(name, stored, kind, origin, rows, many, form=written)))
        return tuple(columns)

    def _form(self, name: str, filled: int) -> tuple[Kind, tuple[str, ...]] | None:
        """Return the kind of a column of strings and the form in which all of them are written, if there is one.

        Words for nothing, such as n/a, do not count.
        """
        if not filled:
            return None
        raw = f"trim(CAST({self._raw(name)} AS VARCHAR))"
        words = ", ".join(f"'{word}'" for word in sorted(NOTHING))
        is_something = f"{self._raw(name)} IS NOT NULL AND lower({raw}) NOT IN ({words})"
        listed = f"SELECT DISTINCT {raw} FROM {self._first_rows} AS s WHERE {is_something} ORDER BY 1"
        cells = [str(row[0]) for row in asked(self._connection, listed, self._table)]
        for kind, forms in likely_forms(cells):
            self._forms[name] = forms
            something, kept = self._counted([f"count(*) FILTER ({is_something})", self._count(name, kind)])[1:]
            del self._forms[name]
            if kept == something:
                return kind, forms
        return None

    def _chosen(self, filled: Mapping[str, int]) -> dict[str, tuple[Kind, str]]:
        """Return the kind to propose for each column, and where it comes from; of texts with these numbers of cells.

        A kind that some of the first rows do not have is not tried on all: most columns are read once. Every cell is
        a text, so a name that hints at one says nothing against cells that are all numbers, days or moments.
        """
        hinted = {name: hint(name).kind for name in filled}
        tried = {name: [kind for kind in (hinted[name], *_TRIED) if kind not in (None, Kind.TEXT)] for name in filled}
        first = self._first_rows
        for name, kinds in tried.items():
            held = self._counted([f"count({self._raw(name)})", *(self._count(name, kind) for kind in kinds)], first)
            fitting = [kind for kind, kept in zip(kinds, held[2:], strict=True) if kept == held[1]]
            tried[name] = fitting if filled[name] else fitting[:1] if hinted[name] not in (None, Kind.TEXT) else []
        found: dict[str, tuple[Kind, str]] = {}
        while open_ones := [name for name in filled if name not in found]:
            now = [name for name in open_ones if tried[name]]
            for name in (name for name in open_ones if not tried[name]):
                found[name] = Kind.TEXT, FROM_NAME if hinted[name] is Kind.TEXT else FROM_DATA
            kept = self._counted([self._count(name, tried[name][0]) for name in now])[1:] if now else []
            for name, many in zip(now, kept, strict=True):
                kind = tried[name].pop(0)
                if many == filled[name]:
                    found[name] = kind, FROM_NAME if kind is hinted[name] else FROM_DATA
        for name in self._coded([name for name, how in found.items() if how == (Kind.INTEGER, FROM_DATA)]):
            found[name] = Kind.TEXT, FROM_NAME if hinted[name] is Kind.TEXT else FROM_DATA
        return found

    def _coded(self, names: Sequence[str]) -> list[str]:
        """Return the columns with codes, such as 01067: their first digit would be lost in an integer."""
        counts = self._counted([f"count(*) FILTER ({self._is_code(name)})" for name in names])[1:]
        return [name for name, many in zip(names, counts, strict=True) if many]

    def _is_code(self, name: str) -> str:
        return f"regexp_full_match(trim(CAST({self._raw(name)} AS VARCHAR)), '0[0-9]+')"

    @property
    def _first_rows(self) -> str:
        return f"(SELECT * FROM {self._source[0]} LIMIT {_FIRST_ROWS})"

    def _count(self, name: str, kind: Kind) -> str:
        return f"count({self._cell(name, kind)})"

    def _counted(self, told: Sequence[str], source: str | None = None) -> tuple[int, ...]:
        """Return how many rows there are, and further counts."""
        statement = f"SELECT {', '.join(['count(*)', *told])} FROM {source or self._source[0]} AS s"
        return asked(self._connection, statement, self._table)[0]

    def _looked_at(self, one: ColumnFacts) -> ColumnFacts:
        cell = self._cell(one.name, one.kind)
        has_range = one.kind not in (Kind.TEXT, Kind.BOOLEAN)
        ends = f"min({cell}), max({cell})" if has_range else "NULL, NULL"
        statement = f"SELECT count({cell}), count(DISTINCT {cell}), {ends} FROM {self._source[0]} AS s"
        kept, distinct, least, largest = asked(self._connection, statement, self._table)[0]
        values: tuple[str, ...] = ()
        if one.kind is Kind.TEXT and 0 < distinct <= MOST_VALUES:
            listed = f"SELECT DISTINCT {cell} AS v FROM {self._source[0]} AS s WHERE {cell} IS NOT NULL ORDER BY v"
            values = tuple(str(row[0]) for row in asked(self._connection, listed, self._table))
        seen = replace(one, kept=kept, distinct=distinct, least=least, largest=largest, values=values)
        return replace(seen, note=self._note(seen))

    def _note(self, one: ColumnFacts) -> str:
        """Return what the owner should know of a column: what its name promises, or what most of its cells are."""
        expected = hint(one.name).kind
        if one.kind is not Kind.TEXT:
            if expected in (None, one.kind) or one.origin != FROM_DATA:
                return ""
            return f"its name looks like that of {_a(expected)}, but every cell is {_a(one.kind)}: the data counts"
        if not one.filled or one.origin == FROM_TYPE:
            return ""
        if expected not in (None, Kind.TEXT):
            return self._mostly(one, expected)
        kinds = (Kind.INTEGER, Kind.REAL, Kind.DATE, Kind.TIMESTAMP)
        least = f"min({self._cell(one.name, Kind.TEXT)})"
        told = ", ".join([least, f"count({self._raw(one.name)})", *(self._count(one.name, kind) for kind in kinds)])
        (first, filled, *kept), *_ = asked(self._connection, f"SELECT {told} FROM {self._first_rows} AS s", self._table)
        likely = next((kind for kind, many in zip(kinds, kept, strict=True) if many > _MOST_OF * filled), None)
        if likely in (Kind.INTEGER, Kind.REAL) and self._coded([one.name]):
            statement = f"SELECT {least} FROM {self._source[0]} AS s WHERE {self._is_code(one.name)}"
            code = asked(self._connection, statement, self._table)[0][0]
            return f"cells such as {code!r} begin with a 0 that numbers lose: set 'kind integer' if they are numbers"
        if likely is not None:
            return self._mostly(one, likely)
        if _LIKE_DAY.fullmatch(str(first)):
            return why_lost(Kind.TIMESTAMP if ":" in str(first) else Kind.DATE, str(first))
        why = why_lost(Kind.REAL, str(first), self._table.decimal)
        return why if "decimals are written" in why else ""

    def _mostly(self, one: ColumnFacts, kind: Kind) -> str:
        """Return how many cells are of a kind, and why one of the others is not."""
        kept, why = self.kept_as(one.name, kind)
        return f"{kept:,} of {one.filled:,} cells could be {_a(kind)}; {why}" if kept else why


def read_as(path: str, sheet: str | None, delimiter: str | None, decimal: str | None) -> dict[str, str]:
    """Return what a schema declares of how a file is read, by key.

    Args:
        path: the file.
        sheet: of a workbook; the only one where it is not stated.
        delimiter: of a CSV file.
        decimal: "," or ".".

    """
    if is_excel(path):
        sheet = chosen_sheet(path, sheet)
    declared = {"sheet": sheet, "delimiter": delimiter, "decimal": None if decimal == "." else decimal}
    return {key: value for key, value in declared.items() if value is not None}


def _a(kind: Kind) -> str:
    return f"an {kind.value}" if kind is Kind.INTEGER else f"a {kind.value}"


def _column(name: str, found: Found, kind: Kind) -> Column:
    return Column(name, kind, source=None if name == found[0] else found[0])


def round_range(least: Any, largest: Any) -> tuple[int, int] | None:
    """Return round numbers around a range: one digit, and 0 where all are on one side of it. None where none are near.

    >>> round_range(3, 87), round_range(-12.5, 1234), round_range(0.2, 0.7), round_range(1990, 2024)
    ((0, 90), (-20, 2000), (0, 1), (0, 3000))
    """
    if not isinstance(least, int | float) or not isinstance(largest, int | float):
        return None
    if not (abs(least) < 1e15 and abs(largest) < 1e15):
        return None
    return min(0, _round(least)), max(0, _round(largest))


def _round(value: float) -> int:
    """Return the next number away from 0 that has one digit that is not 0."""
    size = max(1, -int(-abs(value) // 1))
    unit = 10 ** (len(str(size)) - 1)
    rounded = -(-size // unit) * unit if value else 0
    return int(rounded if value >= 0 else -rounded)


def _no_list(*_: object) -> str:
    raise AssertionError  # cells name no list

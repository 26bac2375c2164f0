"""The answer to a query as a table: a value and an interval for every number, and what the interval covers.

A ``QueryResult`` is made of released numbers and public facts alone, so everything here is free: expressions over
aggregates, HAVING, ORDER BY and LIMIT, other confidences. Its stored form is what a ledger keeps and a retry returns:
JSON, of rows where they are few (version 1) and of columns where they are many (version 2). Both are read.
"""

from __future__ import annotations

import datetime
import importlib
import itertools
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from dither.data.columns import ColumnRows, as_columns, same_rows, same_values
from dither.data.expressions import Value
from dither.errors import InvalidParameter, MissingExtra
from dither.mechanisms.notebook import MOST_ROWS, html
from dither.privacy import Loss
from dither.publish.queries.printed_columns import printed_columns, shown, text_table
from dither.publish.queries.stored_columns import from_plain, read_column, to_plain, write_column

if TYPE_CHECKING:
    from dither.pages.frame import Chart

#: Of results that are written as rows, and as columns.
VERSION: Final = 1
IN_COLUMNS: Final = 2
#: Results of at least this many rows are stored as columns.
MANY_ROWS: Final = 1024
#: The receipt of what no durable ledger was debited for.
UNLEDGERED: Final = "unledgered"
Cell = Value | tuple[Value, ...]
#: Stands for a column of values as drawn that is the one that is shown.
_SAME: Final = "shown"
End = bool | int | float | datetime.date | None


@dataclass(frozen=True)
class ResultColumn:
    """A column of a result.

    Args:
        name: as the query calls it.
        kind: what its values are: 'boolean', 'integer', 'real', 'text', 'date', 'timestamp', or 'list'.
        is_key: whether it says which group a row is, and is exact.
        estimand: what the interval is about, in words.
        bias: what separates that from the plain statistic, in words; no interval covers it.
        limit: how much of one person counts in it, in words for its head, such as "at most 32 rows a person".

    """

    name: str
    kind: str
    is_key: bool
    estimand: str = ""
    bias: str = ""
    limit: str = ""


@dataclass(frozen=True)
class QueryResult:
    """Rows of released values with an interval for each number.

    Guarantee: each interval covers its estimand with probability ``confidence``, given that its group is shown; where
    ``is_simultaneous``, all intervals of all groups do so at once, so that it also holds for rows that were chosen by
    what they show.

    Args:
        columns: what the columns are.
        rows: the values, in the requested order.
        low: the lower ends, of the same shape; None for keys and for values that are not numbers.
        high: the upper ends.
        confidence: of the intervals.
        is_simultaneous: whether it holds for all at once.
        loss: what the answer cost.
        unit: what is protected, in words.
        notes: what else must be known to read it.
        receipt: where the charge is written down: ledger, entry and its hash.
        raw: the values of the numbers as they were drawn, of the same shape as ``rows``. ``rows`` has the nearest ones
            that are possible: a count is at least 0 there, and may be below 0 here. Each raw count is right on average,
            so that sums over groups are made of these.

    """

    columns: tuple[ResultColumn, ...]
    rows: Sequence[tuple[Cell, ...]]
    low: Sequence[tuple[End, ...]]
    high: Sequence[tuple[End, ...]]
    confidence: Fraction
    is_simultaneous: bool
    loss: Loss
    unit: str
    notes: tuple[str, ...] = ()
    receipt: str = UNLEDGERED
    raw: Sequence[tuple[Cell, ...]] = ()

    def __post_init__(self) -> None:
        """Take the rows as the values as drawn, if none are given."""
        if not self.raw:
            object.__setattr__(self, "raw", self.rows)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def uncovered(self) -> str:
        """What no interval covers, of all columns; empty where that is nothing."""
        biases = dict.fromkeys(part for column in self.columns if column.bias for part in column.bias.split("; "))
        return "; ".join(biases)

    def column(self, name: str, *, raw: bool = False) -> tuple[Cell, ...]:
        """Return a column's values, or its values as drawn."""
        return tuple(_listed(self.raw if raw else self.rows, self._place(name)))

    def interval(self, name: str) -> tuple[tuple[End, End], ...]:
        """Return a column's intervals, one per row."""
        place = self._place(name)
        return tuple(zip(_listed(self.low, place), _listed(self.high, place), strict=True))

    def to_rows(self, *, intervals: bool = True, raw: bool = False) -> list[dict[str, Any]]:
        """Return a dictionary for each row; numbers are followed by ``name_low`` and ``name_high``, or by ``name_raw``.

        Args:
            intervals: whether the ends of intervals are there.
            raw: whether the values as drawn are there, which sums over groups are to be made of.

        """
        found = []
        for row, low, high, drawn in zip(self.rows, self.low, self.high, self.raw, strict=True):
            record: dict[str, Any] = {}
            for column, value, least, most, plain in zip(self.columns, row, low, high, drawn, strict=True):
                record[column.name] = list(value) if isinstance(value, tuple) else value
                if intervals and self.has_interval(column):
                    record[f"{column.name}_low"], record[f"{column.name}_high"] = least, most
                if raw and self.has_interval(column):
                    record[f"{column.name}_raw"] = plain
            found.append(record)
        return found

    def to_pandas(self, *, intervals: bool = True, raw: bool = False) -> Any:
        """Return a pandas frame; needs the extra 'frames'."""
        return _extra("pandas", "pandas frames").DataFrame(self._columns(intervals, raw))

    def to_polars(self, *, intervals: bool = True, raw: bool = False) -> Any:
        """Return a Polars frame; needs the extra 'frames'."""
        return _extra("polars", "Polars frames").DataFrame(self._columns(intervals, raw), strict=False)

    def to_arrow(self, *, intervals: bool = True, raw: bool = False) -> Any:
        """Return an Arrow table; needs the extra 'frames'."""
        return _extra("pyarrow", "Arrow tables").table(self._columns(intervals, raw))

    def number_named(self, column: str | None = None) -> str:
        """Return the name of a numeric column, by default the first; reject other columns."""
        numbers = [found for found in self.columns if self.has_interval(found)]
        if not numbers:
            raise InvalidParameter("column", column, "a number: this result has no number")
        chosen = numbers[0].name if column is None else self.columns[self._place(column)].name
        if not self.has_interval(self.columns[self._place(chosen)]):
            raise InvalidParameter("column", column, f"a number: {', '.join(found.name for found in numbers)}")
        return chosen

    def groups(self, otherwise: str = "") -> list[str]:
        """Return each row's keys in words, or ``otherwise`` if there are none."""
        keys = [place for place, found in enumerate(self.columns) if found.is_key]
        return [", ".join(shown(row[place]) for place in keys) or otherwise for row in self.rows]

    def picture(self, column: str | None = None, *, title: str = "", unit: str = "") -> Chart:
        """Return a column with its intervals as a picture, with what it cost below it; needs no extra.

        Args:
            column: a number; by default the first.
            title: what is shown.
            unit: in which the column counts.

        """
        from dither.publish.queries.pictures import picture

        named = self.number_named(column)
        said = next(found.estimand for found in self.columns if found.name == named)
        caption = "; ".join(part for part in (said, str(self.loss), self.unit) if part)
        return picture(self, named, title=title, unit=unit).captioned(caption)

    def plot(self, column: str | None = None, *, title: str = "") -> Any:
        """Return an Altair chart of a column with its intervals (by default the first number); needs 'plots'."""
        chosen = self.number_named(column)
        altair = _extra("altair", "plotting", "plots")
        names = self.groups(chosen)
        bars = [
            {"group": name, "value": _finite(value), "low": _finite(low), "high": _finite(high)}
            for name, value, (low, high) in zip(names, self.column(chosen), self.interval(chosen), strict=True)
        ]
        base = altair.Chart(altair.Data(values=bars)).encode(x=altair.X("group:N", sort=names, title=None))
        heights = base.mark_bar(color="#4c78a8").encode(y=altair.Y("value:Q", title=chosen))
        whiskers = base.mark_errorbar(color="#222", ticks=True).encode(y=altair.Y("low:Q", title=""), y2="high:Q")
        return (heights + whiskers).properties(title=title, width=max(240, min(1200, 48 * len(bars))), height=260)

    def to_json(self) -> str:
        """Return the result as JSON of rows, the same text for the same result."""
        record = self._head(VERSION) | {
            name: [[to_plain(value) for value in row] for row in part] for name, part in self._written()
        }
        return _dumped(record)

    def _head(self, version: int) -> dict[str, Any]:
        """Return everything but the cells, as JSON data."""
        return {
            "result": version,
            "columns": [
                {
                    "name": column.name,
                    "kind": column.kind,
                    "is_key": column.is_key,
                    "estimand": column.estimand,
                    "bias": column.bias,
                    # Absent where nothing is limited, so that results of rows stay the same text.
                    **({"limit": column.limit} if column.limit else {}),
                }
                for column in self.columns
            ],
            "confidence": str(self.confidence),
            "is_simultaneous": self.is_simultaneous,
            "loss": self.loss.to_dict(),
            "unit": self.unit,
            "notes": list(self.notes),
        }

    def _written(self) -> list[tuple[str, Sequence[tuple[Any, ...]]]]:
        """Return the parts that are written down: values as drawn only where they differ from those that are shown."""
        parts = [("rows", self.rows), ("low", self.low), ("high", self.high)]
        return parts if same_rows(self.raw, self.rows) else [*parts, ("raw", self.raw)]

    def to_stored(self) -> str:
        """Return what a ledger stores: the JSON of rows, or of columns where the rows are many."""
        if len(self.rows) < MANY_ROWS:
            return self.to_json()
        shown = as_columns(self.rows)
        parts: dict[str, Any] = {}
        for name, part in self._written():
            columns = zip(as_columns(part).columns, shown.columns, strict=True)
            parts[name] = [
                _SAME if name == "raw" and same_values(column, beside) else write_column(column)
                for column, beside in columns
            ]
        return _dumped(self._head(IN_COLUMNS) | {"length": len(self.rows), "parts": parts})

    def within(self, most: int) -> QueryResult:
        """Return the first rows whose stored form fits into ``most`` bytes: for results of unknown length."""
        return self.stored_within(most)[0]

    def stored_within(self, most: int) -> tuple[QueryResult, str]:
        """Return the first rows that fit, and their stored form."""
        text = self.to_stored()
        if len(text) <= most:
            return self, text
        note = "the answer is longer than can be stored: only the first rows are shown"
        head = replace(self, rows=(), low=(), high=(), raw=(), notes=(*self.notes, note))
        count = len(self.rows)
        while count >= MANY_ROWS and len(text) > most:
            # Rows are about equally long; where the first ones are longer than the others, it is tried again.
            count = min(count - 1, count * most // len(text))
            shown = head._with_rows(self, count)
            text = shown.to_stored()
        if len(text) > most:
            shown = head._with_rows(self, self._number_within(most, head))
            text = shown.to_json()
        return shown, text

    def _with_rows(self, other: QueryResult, count: int) -> QueryResult:
        """Return this result with the first rows of another."""
        return replace(self, **{name: getattr(other, name)[:count] for name in ("rows", "low", "high", "raw")})

    def _number_within(self, most: int, head: QueryResult) -> int:
        """Return how many rows fit into ``most`` bytes of JSON of rows; fewer than are stored as columns."""
        has_raw = not same_rows(self.raw, self.rows)
        left, count = most - len(head.to_json()) - (len('"raw":[],') if has_raw else 0), 0
        for parts in itertools.islice(zip(*(part for _, part in self._written()), strict=True), MANY_ROWS - 1):
            left -= sum(
                len(json.dumps([to_plain(value) for value in part], separators=(",", ":"))) + 1 for part in parts
            )
            if left < 0:
                break
            count += 1
        return count

    @staticmethod
    def stored(text: bytes | str, receipt: str) -> QueryResult:
        """Return a stored result, with the ledger entry of its charge."""
        return replace(QueryResult.from_json(text.decode() if isinstance(text, bytes) else text), receipt=receipt)

    @staticmethod
    def from_json(text: str) -> QueryResult:
        """Return the result that ``to_json`` or ``to_stored`` wrote."""
        try:
            record = json.loads(text)
            if record["result"] not in (VERSION, IN_COLUMNS):
                raise InvalidParameter("result", record["result"], f"a result of version {VERSION} or {IN_COLUMNS}")
            columns = tuple(ResultColumn(**column) for column in record["columns"])
            read = _rows_of if record["result"] == VERSION else _columns_of
            rows, low, high, raw = read(record, [column.kind for column in columns])
            return QueryResult(
                columns,
                rows,
                low,
                high,
                Fraction(record["confidence"]),
                bool(record["is_simultaneous"]),
                Loss.from_dict(record["loss"]),
                str(record["unit"]),
                tuple(map(str, record["notes"])),
                raw=raw,
            )
        except (KeyError, TypeError, ValueError, AttributeError) as failure:
            if isinstance(failure, InvalidParameter):
                raise
            raise InvalidParameter("result", "a string", "the JSON of a result") from None

    def __repr__(self) -> str:
        shown = ", ".join(self.names)
        return f"<QueryResult: {len(self.rows)} {'row' if len(self.rows) == 1 else 'rows'} of {shown}; {self.loss}>"

    def _repr_html_(self) -> str:
        printed = printed_columns(self, MOST_ROWS)
        is_drawn = len(self.rows) > 1 and any(map(self.has_interval, self.columns))
        return html(
            "Private answer",
            head=[column.title for column in printed],
            rows=list(zip(*(column.cells for column in printed), strict=True)),
            of_rows=len(self.rows),
            numbers=[place for place, column in enumerate(printed) if column.is_number],
            notes=self._remarks(),
            picture=self.picture() if is_drawn else None,
        )

    def __str__(self) -> str:
        return "\n".join([*self._table(most=40), *self._remarks()])

    def _remarks(self) -> list[str]:
        """Return what a reader must know to read the table."""
        share = f"{float(self.confidence) * 100:g} %"
        together = ", all simultaneously" if self.is_simultaneous else ""
        rows = f"{len(self.rows)} {'row' if len(self.rows) == 1 else 'rows'}"
        has_ends = not self.rows or any(end is not None for row in self.low for end in row)
        intervals = f"; {share} intervals{together}" if has_ends else ""
        lines = [f"{rows}{intervals}; {self.loss}; {self.unit}"]
        for column in self.columns:
            if column.estimand:
                lines.append(f"{column.name}: {column.estimand}")
        lines += self.notes
        if self.receipt == UNLEDGERED:
            lines.append("unledgered: its budget lives as long as the process that asked")
        if self.uncovered:
            lines.append(f"no interval covers this: {self.uncovered}")
        return lines

    def _table(self, most: int) -> list[str]:
        """Return the first rows as aligned text."""
        lines = text_table(printed_columns(self, most))
        return lines if len(self.rows) <= most else [*lines, f"... and {len(self.rows) - most} more"]

    def has_interval(self, column: ResultColumn) -> bool:
        """Whether a column holds released numbers, which have intervals."""
        return not column.is_key and column.kind in ("integer", "real")

    def _columns(self, intervals: bool, raw: bool) -> dict[str, list[Any]]:
        records = self.to_rows(intervals=intervals, raw=raw)
        endings = ("", *(("_low", "_high") if intervals else ()), *(("_raw",) if raw else ()))
        names = [
            f"{column.name}{ending}"
            for column in self.columns
            for ending in (endings if self.has_interval(column) else ("",))
        ]
        return {name: [record[name] for record in records] for name in names}

    def _place(self, name: str) -> int:
        if name not in self.names:
            raise InvalidParameter("column", name, f"one of {', '.join(self.names)}")
        return self.names.index(name)


def _extra(module: str, feature: str, extra: str = "frames") -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtra(feature, extra) from None


def _finite(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def _listed(rows: Sequence[tuple[Any, ...]], place: int) -> list[Any]:
    """Return a column of rows as a list."""
    return rows.listed(place) if isinstance(rows, ColumnRows) else [row[place] for row in rows]


def _dumped(record: dict[str, Any]) -> str:
    return json.dumps(record, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _rows_of(record: Any, kinds: list[str]) -> Iterator[Sequence[tuple[Any, ...]]]:
    """Yield rows, lower and upper ends, and values as drawn, of a record of rows."""
    for part in ("rows", "low", "high", "raw" if "raw" in record else "rows"):
        yield tuple(
            tuple(from_plain(value, kind) for value, kind in zip(row, kinds, strict=True)) for row in record[part]
        )


def _columns_of(record: Any, kinds: list[str]) -> Iterator[Sequence[tuple[Any, ...]]]:
    """Yield the same of a record of columns."""
    length, parts = int(record["length"]), record["parts"]
    shown = [read_column(one, kind, length) for one, kind in zip(parts["rows"], kinds, strict=True)]
    for part in ("rows", "low", "high", "raw"):
        written = parts.get(part, [_SAME] * len(kinds)) if part == "raw" else parts[part]
        yield ColumnRows(
            [
                beside if part == "rows" or one == _SAME else read_column(one, kind, length)
                for one, beside, kind in zip(written, shown, kinds, strict=True)
            ],
            length,
        )

"""The answer to a query as a table: a value and an interval for every number, and what the interval covers.

A ``QueryResult`` is made of released numbers and public facts alone, so everything here is free: expressions over
aggregates, HAVING, ORDER BY and LIMIT, other confidences. Its JSON is what a ledger stores and a retry returns.
"""

from __future__ import annotations

import datetime
import importlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from dither.data.expressions import Value
from dither.errors import InvalidParameter, MissingExtra
from dither.mechanisms.notebook import MOST_ROWS, html
from dither.privacy import Loss

if TYPE_CHECKING:
    from dither.pages.frame import Chart

VERSION: Final = 1
#: The receipt of what no durable ledger was debited for.
UNLEDGERED: Final = "unledgered"
Cell = Value | tuple[Value, ...]
_PLAIN = frozenset((int, str, bool, type(None)))
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

    """

    name: str
    kind: str
    is_key: bool
    estimand: str = ""
    bias: str = ""


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
    rows: tuple[tuple[Cell, ...], ...]
    low: tuple[tuple[End, ...], ...]
    high: tuple[tuple[End, ...], ...]
    confidence: Fraction
    is_simultaneous: bool
    loss: Loss
    unit: str
    notes: tuple[str, ...] = ()
    receipt: str = UNLEDGERED
    raw: tuple[tuple[Cell, ...], ...] = ()

    def __post_init__(self) -> None:
        """Take the rows as the values as drawn, if none are given."""
        if not self.raw:
            object.__setattr__(self, "raw", self.rows)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    def column(self, name: str, *, raw: bool = False) -> tuple[Cell, ...]:
        """Return a column's values, or its values as drawn."""
        place = self._place(name)
        return tuple(row[place] for row in (self.raw if raw else self.rows))

    def interval(self, name: str) -> tuple[tuple[End, End], ...]:
        """Return a column's intervals, one per row."""
        place = self._place(name)
        return tuple((low[place], high[place]) for low, high in zip(self.low, self.high, strict=True))

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
            raise InvalidParameter("column", column, "a number: this result has none")
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
        """Return the result as JSON, the same text for the same result."""
        record: dict[str, Any] = {
            "result": VERSION,
            "columns": [
                {
                    "name": column.name,
                    "kind": column.kind,
                    "is_key": column.is_key,
                    "estimand": column.estimand,
                    "bias": column.bias,
                }
                for column in self.columns
            ],
            "rows": [[to_plain(value) for value in row] for row in self.rows],
            "low": [[to_plain(value) for value in row] for row in self.low],
            "high": [[to_plain(value) for value in row] for row in self.high],
            "confidence": str(self.confidence),
            "is_simultaneous": self.is_simultaneous,
            "loss": self.loss.to_dict(),
            "unit": self.unit,
            "notes": list(self.notes),
        }
        if self.raw != self.rows:
            record["raw"] = [[to_plain(value) for value in row] for row in self.raw]
        return json.dumps(record, sort_keys=True, separators=(",", ":"), allow_nan=False)

    def within(self, most: int) -> QueryResult:
        """Return the first rows that fit into ``most`` bytes of JSON: for results of unknown length."""
        if len(self.to_json()) <= most:
            return self
        note = "the answer is longer than can be stored: only the first rows are shown"
        head = replace(self, rows=(), low=(), high=(), raw=(), notes=(*self.notes, note))
        # Values as drawn are written down only where they differ from those that are shown.
        has_raw = self.raw != self.rows
        written = (self.rows, self.low, self.high, *((self.raw,) if has_raw else ()))
        left, count = most - len(head.to_json()) - (len('"raw":[],') if has_raw else 0), 0
        for parts in zip(*written, strict=True):
            left -= sum(
                len(json.dumps([to_plain(value) for value in part], separators=(",", ":"))) + 1 for part in parts
            )
            if left < 0:
                break
            count += 1
        first = {name: getattr(self, name)[:count] for name in ("rows", "low", "high", "raw")}
        return replace(head, **first)

    @staticmethod
    def stored(text: bytes | str, receipt: str) -> QueryResult:
        """Return a stored result, with the ledger entry of its charge."""
        return replace(QueryResult.from_json(text.decode() if isinstance(text, bytes) else text), receipt=receipt)

    @staticmethod
    def from_json(text: str) -> QueryResult:
        """Return the result that ``to_json`` wrote."""
        try:
            record = json.loads(text)
            if record["result"] != VERSION:
                raise InvalidParameter("result", record["result"], f"a result of version {VERSION}")
            columns = tuple(ResultColumn(**column) for column in record["columns"])
            kinds = [column.kind for column in columns]
            rows, low, high, raw = (
                tuple(
                    tuple(_from_plain(value, kind) for value, kind in zip(row, kinds, strict=True))
                    for row in record[part]
                )
                for part in ("rows", "low", "high", "raw" if "raw" in record else "rows")
            )
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
        except (KeyError, TypeError, ValueError) as failure:
            if isinstance(failure, InvalidParameter):
                raise
            raise InvalidParameter("result", "a text", "the JSON of a result") from None

    def __repr__(self) -> str:
        shown = ", ".join(self.names)
        return f"<QueryResult: {len(self.rows)} {'row' if len(self.rows) == 1 else 'rows'} of {shown}; {self.loss}>"

    def _repr_html_(self) -> str:
        rows = self._cells(MOST_ROWS)
        is_drawn = len(self.rows) > 1 and any(map(self.has_interval, self.columns))
        return html(
            "Private answer",
            head=self.names,
            rows=rows,
            of_rows=len(self.rows),
            notes=self._remarks(),
            picture=self.picture() if is_drawn else None,
        )

    def __str__(self) -> str:
        return "\n".join([*self._table(most=40), *self._remarks()])

    def _remarks(self) -> list[str]:
        """Return what a reader must know to read the table."""
        share = f"{float(self.confidence) * 100:g} %"
        together = ", all at once" if self.is_simultaneous else ""
        rows = f"{len(self.rows)} {'row' if len(self.rows) == 1 else 'rows'}"
        lines = [f"{rows}; {share} intervals{together}; {self.loss}; {self.unit}"]
        for column in self.columns:
            if column.estimand:
                lines.append(f"{column.name}: {column.estimand}{'; ' if column.bias else ''}{column.bias}")
        lines += self.notes
        if self.receipt == UNLEDGERED:
            lines.append("unledgered: its budget lives as long as the process that asked")
        return lines

    def _cells(self, most: int) -> list[list[str]]:
        """Return the first rows as texts."""
        return [
            [self._entry(value, *ends) for value, *ends in zip(row, low, high, strict=True)]
            for row, low, high in list(zip(self.rows, self.low, self.high, strict=True))[:most]
        ]

    def _table(self, most: int) -> list[str]:
        """Return the first rows as aligned text."""
        body = self._cells(most)
        widths = [max(map(len, texts)) for texts in zip(self.names, *body, strict=True)]
        are_keys = [column.is_key for column in self.columns]

        def line(texts: Sequence[str]) -> str:
            cells = zip(texts, widths, are_keys, strict=True)
            return "  ".join(text.ljust(width) if key else text.rjust(width) for text, width, key in cells).rstrip()

        lines = [line(self.names), "  ".join("-" * width for width in widths), *map(line, body)]
        return lines if len(self.rows) <= most else [*lines, f"... and {len(self.rows) - most} more"]

    def _entry(self, value: Any, low: Any, high: Any) -> str:
        if low is None or high is None:
            return shown(value)
        return f"{shown(value)} [{shown(low)}, {shown(high)}]"

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


def shown(value: Any) -> str:
    """Return a cell as shown to people."""
    if value is None:
        return "NULL"
    if isinstance(value, tuple):
        return ", ".join(map(shown, value))
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)


def to_plain(value: Any) -> Any:
    """Return JSON data: infinities and moments as texts, lists as lists."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, tuple):
        return [to_plain(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "inf" if value > 0 else "-inf"
    if isinstance(value, datetime.date):
        return {"time": value.isoformat()}
    return value


def _from_plain(value: Any, kind: str) -> Any:
    if isinstance(value, list):
        return tuple(_from_plain(entry, "") for entry in value)
    if value in ("inf", "-inf") and kind in ("integer", "real"):
        return float(value)
    if isinstance(value, Mapping):
        text = str(value["time"])
        return datetime.date.fromisoformat(text) if len(text) == 10 else datetime.datetime.fromisoformat(text)
    return value

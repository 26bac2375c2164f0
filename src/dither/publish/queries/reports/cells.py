"""Columns of released and computed values: what is shown, what was drawn, and the ends of intervals.

An *exact* column (a key, a public value, a constant) has neither noise nor intervals. A *noisy* one is made of released
numbers: its values as shown, as drawn, and, where an interval is known, its ends. A column of numbers without known
ends says so as a whole, so that nothing computed from it gets an interval either.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from dither.data import Expression, Kind, Name
from dither.data.evaluation import evaluator
from dither.data.expressions import LARGEST_INTEGER, names_in
from dither.publish.queries.intervals import Range, enclose
from dither.publish.queries.statistics import describe

NO_INTERVAL: Final = "no interval: it is not made of released numbers by arithmetic alone"


@dataclass
class Cells:
    """One column: values as shown and as drawn, and ends of intervals, one a row.

    Args:
        shown: the values.
        raw: the values as drawn; the same list where nothing was drawn.
        low: the lower ends, None where there is none.
        high: the upper ends.
        is_noisy: whether released numbers decide it.
        has_ends: whether its numbers have intervals.
        estimand: what the intervals are about.
        bias: what no interval covers.
        variance: that of the noise in a released column, in any unit that columns of the same name share.
        limit: how much of one person counts in it, for the head of the column.

    """

    shown: list[Any]
    raw: list[Any] = field(default_factory=list)
    low: list[Any] = field(default_factory=list)
    high: list[Any] = field(default_factory=list)
    is_noisy: bool = False
    has_ends: bool = False
    estimand: str = ""
    bias: str = ""
    variance: float = 1.0
    limit: str = ""

    def __post_init__(self) -> None:
        """Fill in what an exact column has not."""
        if not self.is_noisy or not self.raw:
            self.raw = self.shown
        if not self.has_ends or not self.low:
            self.low = self.high = [None] * len(self.shown)

    def taken(self, places: Sequence[int | None]) -> Cells:
        """Return the column with the rows at some places; None is a row of NULL."""

        def chosen(values: list[Any]) -> list[Any]:
            return [None if place is None else values[place] for place in places]

        shown = chosen(self.shown)
        raw = shown if self.raw is self.shown else chosen(self.raw)
        low, high = (chosen(self.low), chosen(self.high)) if self.has_ends else ([], [])
        return Cells(shown, raw, low, high, self.is_noisy, self.has_ends, self.estimand, self.bias, limit=self.limit)


def exact(values: Iterable[Any]) -> Cells:
    """Return a column that nothing was drawn for."""
    return Cells(list(values))


def computed(expression: Expression, columns: Mapping[str, Cells], kinds: Mapping[str, Kind], rows: int) -> Cells:
    """Return a column computed row by row: of values as shown, of values as drawn, and of their intervals."""
    if isinstance(expression, Name):
        return columns[expression.name]
    used = {name: columns[name] for name in sorted(names_in(expression))}
    value_of = evaluator(expression, kinds)
    shown = mapped(value_of, {name: cells.shown for name, cells in used.items()}, rows)
    noisy = {name: cells for name, cells in used.items() if cells.is_noisy}
    if not noisy:
        return Cells(shown)
    is_drawn = any(cells.raw is not cells.shown for cells in noisy.values())
    raw = mapped(value_of, {name: cells.raw for name, cells in used.items()}, rows) if is_drawn else shown
    estimand, bias = _said(expression, noisy)
    found = Cells(shown, raw, is_noisy=True, estimand=estimand, bias=bias)
    if all(cells.has_ends or not kinds[name].is_number for name, cells in noisy.items()):
        found.low, found.high = _ends(expression, used, rows)
        found.has_ends = True
    return found


def mapped(value_of: Callable[[Mapping[str, Any]], Any], columns: Mapping[str, Sequence[Any]], rows: int) -> list[Any]:
    """Return a function of every row."""
    names = list(columns)
    if not names:
        return [value_of({})] * rows
    return [value_of(dict(zip(names, row, strict=True))) for row in zip(*columns.values(), strict=True)]


def _ends(expression: Expression, used: Mapping[str, Cells], rows: int) -> tuple[list[Any], list[Any]]:
    lows, highs = [], []
    for place in range(rows):
        known: dict[str, Any] = {}
        ranges: dict[str, Range] = {}
        for name, cells in used.items():
            if cells.low[place] is None or cells.high[place] is None:
                known[name] = cells.shown[place]
            else:
                ranges[name] = Range(cells.low[place], cells.high[place])
        found: Any = enclose(expression, known, ranges)
        if isinstance(found, frozenset):
            truths = sorted(truth for truth in found if truth is not None)
            low, high = (truths[0], truths[-1]) if truths else (None, None)
        else:
            low, high = (found.low, found.high) if isinstance(found, Range) else (None, None)
        lows.append(low)
        highs.append(high)
    return lows, highs


def _said(expression: Expression, noisy: Mapping[str, Cells]) -> tuple[str, str]:
    parts = [f"{name} is the {cells.estimand}" for name, cells in noisy.items() if cells.estimand]
    bias = "; ".join(dict.fromkeys(cells.bias for cells in noisy.values() if cells.bias))
    text = describe(expression) + (f", where {'; '.join(parts)}" if parts else "")
    return text.replace("__", ""), bias  # columns that no text names begin so


def tidy(value: Any) -> Any:
    """Return a number that a cell can hold: NULL for what is not finite or beyond 64 bits."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int) and not -LARGEST_INTEGER - 1 <= value <= LARGEST_INTEGER:
        return None
    return value


def within(value: Any, low: Any, high: Any) -> Any:
    """Return the number of an interval that is nearest to a value."""
    if value is None or low is None or high is None:
        return value
    if low <= value <= high:
        return value
    return low if value < low else high

"""Aggregates and windows over released rows: values, values as drawn, and intervals.

**Which values.** Sums and means are made of the values as drawn, which are right on average, and then moved into their
interval: a sum of counts that noise brought below 0 is shown as 0. Everything else is made of the values as shown.

**Which intervals.** All intervals of a report hold at once. So the ends of a sum are the sums of the ends, those of a
mean the means, those of a smallest value, a largest value or a quantile the same statistic of the ends, because all of
these grow with each of their values. Counts of rows, spreads and ranks have none: they depend on which rows there are.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Final, NamedTuple

from dither.data.evaluation import sort_key
from dither.publish.queries.reports.cells import Cells, tidy, within

#: Aggregates that grow with every value.
_MONOTONE: Final = ("sum", "mean", "minimum", "maximum", "quantile")
_OF_DRAWN: Final = ("sum", "mean")


class Summary(NamedTuple):
    """One aggregate of some rows: as shown, as drawn, and its ends."""

    shown: Any
    raw: Any
    low: Any
    high: Any


def has_ends(function: str, cells: Cells | None) -> bool:
    """Return whether an aggregate of a column has intervals."""
    return cells is not None and cells.has_ends and function in _MONOTONE


def summary(function: str, cells: Cells | None, places: Sequence[int], share: Fraction | None) -> Summary:
    """Return an aggregate of the rows at some places; never raises, whatever was released."""
    if cells is None:
        return Summary(len(places), len(places), None, None)
    known = [place for place in places if cells.shown[place] is not None]
    if function == "count_of":
        return Summary(len(known), len(known), None, None)
    if function == "count_different":
        many = len({cells.shown[place] for place in known})
        return Summary(many, many, None, None)
    of = _FUNCTIONS[function]

    def value(column: list[Any]) -> Any:
        given = [column[place] for place in known]
        return None if None in given or not given else tidy(of(given, share))

    shown = value(cells.shown)
    raw = shown if cells.raw is cells.shown else value(cells.raw)
    if not has_ends(function, cells):
        return Summary(raw if function in _OF_DRAWN else shown, raw, None, None)
    low, high = _end(cells.low, known, of, share, -math.inf), _end(cells.high, known, of, share, math.inf)
    if function in _OF_DRAWN:
        shown = within(raw, low, high)
    return Summary(shown, raw, low, high)


def _end(
    column: list[Any], known: Sequence[int], of: Callable[[list[Any], Fraction | None], Any], share: Any, least: float
) -> Any:
    """Return an end of an aggregate: of the same ends of its values, one step wider for rounding."""
    given = [column[place] for place in known]
    if not given or None in given:
        return None
    if any(isinstance(end, float) and not math.isfinite(end) for end in given):
        return least
    found = of(given, share)
    return math.nextafter(found, least) if isinstance(found, float) else found


def _sum(values: list[Any], share: Fraction | None) -> Any:
    if all(isinstance(value, int) for value in values):
        return sum(values)
    try:
        return math.fsum(values)
    except OverflowError:
        return None


def _mean(values: list[Any], share: Fraction | None) -> Any:
    total = _sum(values, None)
    return None if total is None else _ratio(total, len(values))


def _ratio(total: Any, many: int) -> Any:
    try:
        return total / many
    except OverflowError:
        return None


def _quantile(values: list[Any], share: Fraction | None) -> Any:
    """Return the quantile between the two nearest values, as MEDIAN and QUANTILE_CONT have it."""
    ordered = sorted(values)
    place = float(share or 0) * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    try:
        return float(ordered[below] + (ordered[above] - ordered[below]) * (place - below))
    except OverflowError:
        return None


def _variance(less: int) -> Callable[[list[Any], Fraction | None], Any]:
    def of(values: list[Any], share: Fraction | None) -> Any:
        if len(values) <= less:
            return None
        try:
            middle = math.fsum(values) / len(values)
            return math.fsum((value - middle) ** 2 for value in values) / (len(values) - less)
        except OverflowError:
            return None

    return of


def _root(of: Callable[[list[Any], Fraction | None], Any]) -> Callable[[list[Any], Fraction | None], Any]:
    def rooted(values: list[Any], share: Fraction | None) -> Any:
        found = of(values, share)
        return None if found is None else math.sqrt(found)

    return rooted


_FUNCTIONS: Final[dict[str, Callable[[list[Any], Fraction | None], Any]]] = {
    "sum": _sum,
    "mean": _mean,
    "minimum": lambda values, share: min(values),
    "maximum": lambda values, share: max(values),
    "quantile": _quantile,
    "variance": _variance(0),
    "sample_variance": _variance(1),
    "deviation": _root(_variance(0)),
    "sample_deviation": _root(_variance(1)),
}


def sorted_places(places: Sequence[int], order: Sequence[tuple[Sequence[Any], bool, bool]]) -> list[int]:
    """Return places sorted by columns as shown; what is equal stays as it was."""
    found = list(places)
    for column, is_descending, nulls_first in reversed(order):
        found.sort(key=lambda place: sort_key(column[place]), reverse=is_descending)
        found.sort(key=lambda place: (column[place] is None) != nulls_first)
    return found


def ranks(function: str, equals: Sequence[int], number: int) -> list[Any]:
    """Return ranks of the sorted rows of a partition; ``equals`` numbers the rows that are equal in the order."""
    many = len(equals)
    first = [bisect.bisect_left(equals, group) for group in equals]
    if function == "row_number":
        return list(range(1, many + 1))
    if function == "rank":
        return [place + 1 for place in first]
    if function == "dense_rank":
        return [group + 1 for group in equals]
    if function == "percent_rank":
        return [place / (many - 1) if many > 1 else 0.0 for place in first]
    if function == "cume_dist":
        return [bisect.bisect_right(equals, group) / many for group in equals]
    size, larger = divmod(many, number)
    edge = larger * (size + 1)
    return [
        place // (size + 1) + 1 if place < edge else larger + (place - edge) // max(size, 1) + 1
        for place in range(many)
    ]


def frames(
    equals: Sequence[int], is_ordered: bool, rows: tuple[int | None, int | None] | None
) -> list[tuple[int, int]]:
    """Return for every sorted row of a partition where its frame begins and ends."""
    many = len(equals)
    if rows is not None:
        before, after = rows
        return [
            (
                0 if before is None else min(many, max(0, place - before)),
                many if after is None else max(0, min(many, place + after + 1)),
            )
            for place in range(many)
        ]
    if not is_ordered:
        return [(0, many)] * many
    return [(0, bisect.bisect_right(equals, group)) for group in equals]

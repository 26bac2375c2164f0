"""Axes: from a declared column to the cells of one dimension of a table of counts.

An ``Axis`` says into which cell a row falls, by public facts alone: declared categories, declared bounds, bins that the
request names. Every value of a column falls into exactly one cell or is dropped, and the request says which: bins
neither overlap nor leave gaps, and values beyond the bins count in the end bins (``outside="ends"``) or not at all
(``"drop"``).
"""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from dither.data import Call, Case, Column, Expression, Kind, Literal, Name
from dither.data.expressions import Value
from dither.data.wire import register_records
from dither.errors import InvalidParameter
from dither.exact import typed, whole
from dither.lift.planned_size import check_cells

ENDS, DROP = "ends", "drop"
#: Cells of a histogram that is held as an array; beyond, ask for marginals, or for keys that are discovered.
MOST_CELLS: Final = 2**24
#: Bins with given edges; evenly spaced ones have no such limit.
_MOST_EDGES: Final = 4096
_NOTHING: Final = Literal(None, Kind.INTEGER)
TOO_MANY: Final = (
    f"at most {MOST_CELLS} cells together, since they are held as one table; for more ask for marginals of the columns "
    "(session.marginals), which are never written out together, for a histogram by the method 'sparse-histogram', or "
    "for groups in SQL that are discovered"
)


#: Types without a value that differs from itself, as NaN does.
_EQUAL_TO_THEMSELVES: Final = {int, bool, str, datetime.date, datetime.datetime}


@dataclass(frozen=True)
@typed
class Axis:
    """One dimension of a table of counts.

    Args:
        name: of the column.
        value: what decides the cell of a row: its number, from 0, or else the label itself.
        labels: the values, one for each cell, where cells are single values.
        edges: the ends of the bins, in ascending order, where they are ranges. A bin holds its lower end and not its
            upper one; the last bin holds both.
        is_numbered: whether ``value`` is the number of the cell.
        is_ordered: whether neighbouring cells are close: whether ranges of cells mean anything.

    """

    name: str
    value: Expression
    labels: tuple[Value, ...] | None
    edges: tuple[Value, ...] | None
    is_numbered: bool
    is_ordered: bool

    def __post_init__(self) -> None:
        if (self.labels is None) == (self.edges is None):
            raise InvalidParameter("labels", self.labels, "set, or edges instead: one of the two")
        for name, values in (("labels", self.labels), ("edges", self.edges)):
            types = set(map(type, values or ())) - {type(None)}
            kinds = {float if one is int else one for one in types}
            is_odd = not types <= _EQUAL_TO_THEMSELVES and any(value != value for value in values or ())
            if len(kinds) > 1 or is_odd:
                raise InvalidParameter(name, values, "values of one kind, each equal to itself")
        if self.labels is not None and len(set(self.labels)) != len(self.labels):
            raise InvalidParameter("labels", self.labels, "different: a row is in one cell")
        if self.edges is not None and not _is_ascending(self.edges):
            raise InvalidParameter("edges", self.edges, "in ascending order: a row is in one bin")

    @property
    def size(self) -> int:
        """The number of cells."""
        return len(self.labels) if self.labels is not None else len(self.edges or ()) - 1


def _is_ascending(edges: Sequence[Any]) -> bool:
    return None not in edges and all(low < high for low, high in itertools.pairwise(edges))


def axis_of(column: Column, bins: Any = None, outside: str | None = None) -> Axis:
    """Return the axis of a declared column; see ``cells_of``.

    >>> axis_of(Column("age", Kind.INTEGER, lower=0, upper=99), 10).edges
    (0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 99)
    """
    is_listed = column.kind in (Kind.TEXT, Kind.BOOLEAN) or (bins is None and column.categories is not None)
    if is_listed:
        return _listed(column, bins, outside)
    if bins is None or (isinstance(bins, int) and not isinstance(bins, bool)):
        return _even(column, bins, outside)
    return _between(column, _edges(column, bins), outside)


def _listed(column: Column, bins: Any, outside: str | None) -> Axis:
    """Cells of single values."""
    labels = column.public_values
    if bins is not None:
        if isinstance(bins, str | int) or not isinstance(bins, Sequence) or not bins:
            raise InvalidParameter(f"bins of {column.name}", bins, "a list of values, at least one")
        wanted = tuple(bins)
        if len(set(wanted)) != len(wanted):
            raise InvalidParameter(f"bins of {column.name}", bins, "different values: bins must not overlap")
        for value in wanted:
            Literal(value, column.kind)
        missed = [label for label in labels or () if label not in wanted]
        if (missed or labels is None) and outside is None:
            what = f"without {missed[0]!r}" if missed else bins
            rule = f"all declared values, or outside='{DROP}' not to count the others"
            raise InvalidParameter(f"bins of {column.name}", what, rule)
        labels = wanted
    if labels is None:
        rule = "a column with declared categories, or bins: a list of the values to count"
        raise InvalidParameter("column", column.name, rule)
    if outside == ENDS:
        raise InvalidParameter("outside", outside, f"'{DROP}' for {column.name}: single values have no first and last")
    return Axis(column.name, Name(column.name), labels, None, is_numbered=False, is_ordered=False)


def _even(column: Column, bins: int | None, outside: str | None) -> Axis:
    """Bins of equal width over the declared bounds; by default one for each integer or day."""
    low, high = _bounds(column)
    many = None if bins is None else whole(f"bins of {column.name}", bins, least=1)
    if many is not None and many > MOST_CELLS:
        raise InvalidParameter(f"bins of {column.name}", bins, TOO_MANY)
    check_cells(many or 1)
    value, lowest, highest = _as_number(column, low, high)
    if column.kind is Kind.REAL:
        if many is None:
            rule = "a number of bins, or edges: its values cannot be listed"
            raise InvalidParameter(f"bins of {column.name}", None, rule)
        if not lowest < highest or not math.isfinite(float(highest) - float(lowest)):
            raise InvalidParameter(f"bounds of {column.name}", (low, high), "different, with a finite difference")
        edges = (low, *(lowest + (highest - lowest) * k / many for k in range(1, many)), high)
        share = Call("divide", (Call("subtract", (value, _real(lowest))), _real(highest - lowest)))
        number = Call("floor", (Call("multiply", (share, _real(many))),))
        inside: Expression = Call("greatest", (Call("least", (number, _whole(many - 1))), _whole(0)))
        return Axis(column.name, _held(value, low, high, inside, many, outside, column.kind), None, edges, True, True)
    span = int(highest) - int(lowest) + 1
    each = span if many is None else many
    if each > MOST_CELLS:
        raise InvalidParameter(f"bins of {column.name}", f"{each} values", TOO_MANY)
    check_cells(each)
    if each > span:
        rule = f"at most {span}: more bins than values leave some that nothing can fall into"
        raise InvalidParameter(f"bins of {column.name}", bins, rule)
    offset = Call("subtract", (value, _whole(int(lowest))))
    inside = offset if each == span else Call("quotient", (Call("multiply", (offset, _whole(each))), _whole(span)))
    # In integers: the number of a bin is floor(offset * bins / values), and begins where that first reaches it.
    starts = (-(-k * span // each) for k in range(each))
    ends = low if isinstance(low, datetime.date) else int(lowest)
    shown = tuple(_later(ends, start) for start in starts) if each < span else _in_a_row(ends, each)
    decided = _held(Name(column.name), low, high, inside, each, outside, column.kind)
    if each == span:
        return Axis(column.name, decided, shown, None, is_numbered=True, is_ordered=True)
    return Axis(column.name, decided, None, (*shown, high), is_numbered=True, is_ordered=True)


def even_runs(column: Column, runs: Sequence[tuple[int, int]], outside: str | None) -> Axis:
    """Return bins of equal width within each of some runs of integers or days.

    Args:
        column: with declared bounds.
        runs: where each run begins, counted from the lower end, and its number of bins; the first begins at 0.
        outside: as for ``axis_of``.

    >>> even_runs(Column("gain", Kind.INTEGER, lower=-1, upper=9), [(0, 1), (1, 2), (9, 1)], ENDS).edges
    (-1, 0, 4, 8, 9)

    """
    low, high = _bounds(column)
    value, lowest, highest = _as_number(column, low, high)
    offset = Call("subtract", (value, _whole(int(lowest))))
    stops = [*(start for start, _ in runs[1:]), int(highest) - int(lowest) + 1]
    shown: list[int] = []
    numbers: list[Expression] = []
    for (start, bins), stop in zip(runs, stops, strict=True):
        span = stop - start
        if not 1 <= bins <= span:
            raise InvalidParameter(f"bins of {column.name}", bins, f"1 to {span} in a run of {span} values")
        within = Call("subtract", (offset, _whole(start)))
        each = Call("quotient", (Call("multiply", (within, _whole(bins))), _whole(span)))
        numbers.append(_whole(len(shown)) if bins == 1 else Call("add", (_whole(len(shown)), each)))
        shown += [start - (-k * span // bins) for k in range(bins)]
    branches = zip((Call("less", (offset, _whole(stop))) for stop in stops), numbers[:-1], strict=False)
    inside = Case(tuple(branches), numbers[-1]) if len(numbers) > 1 else numbers[0]
    decided = _held(Name(column.name), low, high, inside, len(shown), outside, column.kind)
    first = low if isinstance(low, datetime.date) else int(lowest)
    edges = (*(_later(first, start) for start in shown), high)
    return Axis(column.name, decided, None, edges, is_numbered=True, is_ordered=True)


def _between(column: Column, edges: tuple[Any, ...], outside: str | None) -> Axis:
    """Bins with these edges."""
    first, last = edges[0], edges[-1]
    is_covered = column.lower is not None and first <= column.lower and column.upper <= last
    if not is_covered and outside is None:
        declared = "unbounded" if column.lower is None else f"{column.lower} to {column.upper}"
        rule = (
            f"over all values that are declared ({declared}); or say outside='{ENDS}' to count the others in the first "
            f"and last bin, outside='{DROP}' not to count them"
        )
        raise InvalidParameter(f"bins of {column.name}", f"from {first} to {last}", rule)
    inside = _search(Name(column.name), edges, 0, len(edges) - 1, column.kind)
    value = _held(Name(column.name), first, last, inside, len(edges) - 1, outside, column.kind)
    return Axis(column.name, value, None, edges, is_numbered=True, is_ordered=True)


def _edges(column: Column, bins: Any) -> tuple[Any, ...]:
    """Return the edges of bins given as edges or as pairs of ends, or reject them."""
    name = f"bins of {column.name}"
    if isinstance(bins, str) or not isinstance(bins, Sequence) or not 1 <= len(bins) <= _MOST_EDGES:
        raise InvalidParameter(name, bins, f"a number of bins, or at most {_MOST_EDGES} edges or pairs of ends")
    if all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in bins):
        pairs = [(_of_kind(name, low, column.kind), _of_kind(name, high, column.kind)) for low, high in bins]
        for (_, end), (start, _) in itertools.pairwise(pairs):
            if start < end:
                raise InvalidParameter(name, (start, end), "bins that do not overlap, in ascending order")
            if start > end:
                raise InvalidParameter(name, (end, start), "bins without gaps: a value there would have no bin")
        edges = (pairs[0][0], *(end for _, end in pairs))
    else:
        edges = tuple(_of_kind(name, edge, column.kind) for edge in bins)
    if len(edges) < 2 or any(not low < high for low, high in itertools.pairwise(edges)):
        raise InvalidParameter(name, bins, "at least two edges, in ascending order, so that bins do not overlap")
    return edges


def _of_kind(name: str, value: Any, kind: Kind) -> Any:
    if value is None or isinstance(value, bool):
        raise InvalidParameter(name, value, f"edges of the kind {kind.value}")
    if isinstance(value, str) and kind is Kind.DATE:
        try:
            value = datetime.date.fromisoformat(value)
        except ValueError:
            raise InvalidParameter(name, value, "dates as YYYY-MM-DD") from None
    Literal(value, kind)
    return value


def _search(value: Expression, edges: tuple[Any, ...], low: int, high: int, kind: Kind) -> Expression:
    """Return the number of the bin among those from ``low`` to ``high`` - 1, by bisection."""
    if high - low == 1:
        return _whole(low)
    middle = (low + high) // 2
    below = Call("less", (value, Literal(edges[middle], kind)))
    return Case(((below, _search(value, edges, low, middle, kind)),), _search(value, edges, middle, high, kind))


def _held(
    value: Expression, low: Any, high: Any, inside: Expression, bins: int, outside: str | None, kind: Kind
) -> Expression:
    """Return ``inside`` between the ends, and beyond them an end bin or NULL; NULL for NULL."""
    below, above = (_NOTHING, _NOTHING) if outside == DROP else (_whole(0), _whole(bins - 1))
    branches: tuple[tuple[Expression, Expression], ...] = (
        (Call("is_null", (value,)), _NOTHING),
        (Call("less", (value, Literal(low, kind))), below),
        (Call("more", (value, Literal(high, kind))), above),
    )
    return Case(branches, inside)


def _bounds(column: Column) -> tuple[Any, Any]:
    if column.lower is None or column.kind is Kind.TIMESTAMP:
        rule = "edges, unless the column has declared bounds" if column.lower is None else "edges for a timestamp"
        raise InvalidParameter(f"bins of {column.name}", None, rule)
    return column.lower, column.upper


def _as_number(column: Column, low: Any, high: Any) -> tuple[Expression, Any, Any]:
    """Return the column as a number, and its bounds: dates become days since the first."""
    value = Name(column.name)
    if column.kind is Kind.DATE:
        return Call("days_between", (Literal(low, Kind.DATE), value)), 0, (high - low).days
    return value, low, high


def _later(start: Any, steps: int) -> Any:
    return start + datetime.timedelta(days=steps) if isinstance(start, datetime.date) else start + steps


def _in_a_row(first: Any, values: int) -> tuple[Any, ...]:
    """Return integers or days one after another."""
    is_day = isinstance(first, datetime.date)
    return tuple(_later(first, step) for step in range(values)) if is_day else tuple(range(first, first + values))


def _whole(value: int) -> Literal:
    return Literal(value, Kind.INTEGER)


def _real(value: float) -> Literal:
    return Literal(float(value), Kind.REAL)


register_records(Axis)

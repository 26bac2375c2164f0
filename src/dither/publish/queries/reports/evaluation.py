"""Views evaluated: tables of cells from released tables and public rows, in plain Python, the same everywhere.

Deterministic given what was released, and total: nothing that was released makes it raise. Rows keep the order of the
tables they come from; groups stand in the order of their first row. A join stops at a public number of rows, and says
so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from dither.data import Call, Expression, Name
from dither.data.evaluation import evaluator
from dither.data.expressions import names_in
from dither.publish.queries.assemble import conjuncts
from dither.publish.queries.reports.cells import Cells, computed, exact, mapped
from dither.publish.queries.reports.measures import frames, has_ends, ranks, sorted_places, summary
from dither.publish.queries.reports.totals import with_totals
from dither.publish.queries.reports.views import (
    MEASURES,
    View,
    ViewAmong,
    ViewDistinct,
    ViewGroup,
    ViewJoin,
    ViewOne,
    ViewPublic,
    ViewRelease,
    ViewScalar,
    ViewSelect,
    ViewSet,
    ViewSlice,
    ViewSort,
    ViewTotals,
    ViewWhere,
    ViewWindow,
)

#: A join makes no more rows, and compares no more pairs.
MOST_ROWS: Final = 1_000_000
#: Aggregates of moving frames are computed for partitions of at most this many rows.
MOST_MOVING: Final = 4_000
#: What a sum over discovered groups leaves out.
_HIDDEN: Final = "groups that are not shown are not in it"


@dataclass
class Rows:
    """A table of cells: its columns by name, how many rows they have, and whether groups may be missing."""

    columns: dict[str, Cells]
    size: int
    is_partial: bool = False

    def taken(self, places: Sequence[int | None]) -> Rows:
        """Return the rows at some places; None is a row of NULL."""
        columns = {name: cells.taken(places) for name, cells in self.columns.items()}
        return Rows(columns, len(places), self.is_partial)


@dataclass
class Evaluation:
    """Evaluates one view.

    Args:
        releases: the released tables, by name.
        public: the rows of public tables, by name, each a tuple in the order of the declared columns.
        notes: what a reader must know of how it went; filled in.

    """

    releases: Mapping[str, Rows]
    public: Mapping[str, Sequence[tuple[Any, ...]]]
    notes: dict[str, None] = field(default_factory=dict)
    _known: dict[int, Rows] = field(default_factory=dict)

    def rows(self, view: View) -> Rows:
        """Return the table of a view; one that occurs twice as the same object is computed once."""
        if id(view) not in self._known:
            self._known[id(view)] = _READERS[type(view)](self, view)
        return self._known[id(view)]

    # Leaves.

    def _release(self, view: ViewRelease) -> Rows:
        return self.releases[view.release]

    def _public(self, view: ViewPublic) -> Rows:
        rows = self.public[view.table.name]
        columns = zip(*rows, strict=True) if rows else ((),) * len(view.columns)
        return Rows({name: exact(cells) for name, cells in zip(view.columns, columns, strict=True)}, len(rows))

    def _one(self, view: ViewOne) -> Rows:
        return Rows({}, 1)

    def _totals(self, view: ViewTotals) -> Rows:
        tables = [self.rows(table) for table, _ in view.sets]
        columns = with_totals(view, [table.columns for table in tables])
        return Rows(columns, sum(table.size for table in tables))

    # Row by row.

    def _where(self, view: ViewWhere) -> Rows:
        below = self.rows(view.view)
        is_met = self._shown(view.condition, below, view.view)
        return below.taken([place for place, met in enumerate(is_met) if met is True])

    def _select(self, view: ViewSelect) -> Rows:
        below, kinds = self.rows(view.view), view.view.columns
        return Rows(
            {name: computed(value, below.columns, kinds, below.size) for name, value in view.outputs},
            below.size,
            below.is_partial,
        )

    def _scalar(self, view: ViewScalar) -> Rows:
        below, (value,) = self.rows(view.view), self.rows(view.scalar).columns.values()
        column = value.taken([0 if value.shown else None] * below.size)
        return Rows({**below.columns, view.name: column}, below.size)

    def _among(self, view: ViewAmong) -> Rows:
        below, (other,) = self.rows(view.view), self.rows(view.among).columns.values()
        given = self._shown(view.value, below, view.view)
        known = {_plain(value) for value in other.shown if value is not None}
        # SQL: NULL where the value is NULL, or is none of them and one of them is NULL; nothing is within nothing.
        absent = None if len(known) < len(other.shown) and None in other.shown else False
        found = [
            (None if value is None else True if _plain(value) in known else absent) if other.shown else False
            for value in given
        ]
        noisy = other.is_noisy or self._is_noisy(view.value, below)
        return Rows({**below.columns, view.name: Cells(found, is_noisy=noisy)}, below.size)

    # Several rows.

    def _group(self, view: ViewGroup) -> Rows:
        below, kinds = self.rows(view.view), view.view.columns
        keys = [computed(value, below.columns, kinds, below.size) for _, value in view.keys]
        groups = self._partitioned(keys, below.size)
        if not view.keys:
            groups = [list(range(below.size))]
        columns = {
            name: cells.taken([group[0] for group in groups]) for (name, _), cells in zip(view.keys, keys, strict=True)
        }
        for measure in view.measures:
            given = None if measure.argument is None else computed(measure.argument, below.columns, kinds, below.size)
            noisy = self._rows_are_noisy(below) if given is None else given.is_noisy
            found = [summary(measure.function, given, group, measure.share) for group in groups]
            made = _summed(measure.function, given, found, noisy or any(k.is_noisy for k in keys))
            columns[measure.name] = replace(made, bias=_with(made.bias, _HIDDEN)) if below.is_partial else made
        return Rows(columns, len(groups))

    def _partitioned(self, keys: Sequence[Cells], size: int) -> list[list[int]]:
        groups: dict[tuple[Any, ...], list[int]] = {}
        for place in range(size):
            groups.setdefault(tuple(_plain(cells.shown[place]) for cells in keys), []).append(place)
        return list(groups.values())

    def _window(self, view: ViewWindow) -> Rows:
        below, kinds = self.rows(view.view), view.view.columns

        def column(value: Expression) -> Cells:
            return computed(value, below.columns, kinds, below.size)

        keys, orders = [column(value) for value in view.partition], [column(value) for value, *_ in view.order]
        order = [
            (cells.shown, descending, nulls) for cells, (_, descending, nulls) in zip(orders, view.order, strict=True)
        ]
        given = None if view.argument is None else column(view.argument)
        noisy = any(cells.is_noisy for cells in (*keys, *orders, *(() if given is None else (given,))))
        found: list[Any] = [None] * below.size
        for part in self._partitioned(keys, below.size):
            places = sorted_places(part, order)
            equals = _equals(places, [values for values, *_ in order])
            if view.function in MEASURES:
                self._aggregated(view, given, places, equals, found)
            elif given is None:
                for place, value in zip(places, ranks(view.function, equals, view.number), strict=True):
                    found[place] = value
            else:
                for place, source in zip(places, _neighbours(view, places, equals), strict=True):
                    found[place] = source
        if view.function == "count":
            noisy = noisy or self._rows_are_noisy(below)
        made = self._made(view, given, found, noisy)
        return Rows({**below.columns, view.name: made}, below.size)

    def _aggregated(
        self, view: ViewWindow, given: Cells | None, places: list[int], equals: list[int], found: list[Any]
    ) -> None:
        spans = frames(equals, bool(view.order), view.rows)
        is_moving = len(set(spans)) > 1
        if is_moving and len(places) > MOST_MOVING:
            self.notes[f"a moving frame over more than {MOST_MOVING:,} rows is not computed: {view.name}"] = None
            spans = [(0, 0)] * len(places)
        known: dict[tuple[int, int], Any] = {}
        for place, span in zip(places, spans, strict=True):
            if span not in known:
                known[span] = summary(view.function, given, places[slice(*span)], view.share)
            found[place] = known[span]

    def _made(self, view: ViewWindow, given: Cells | None, found: list[Any], noisy: bool) -> Cells:
        if view.function in MEASURES:
            return _summed(view.function, given, found, noisy)
        if given is None:
            return Cells(found, is_noisy=noisy)
        made = given.taken(found)
        made.is_noisy = noisy
        return made

    # Two tables.

    def _join(self, view: ViewJoin) -> Rows:
        left, right = self.rows(view.left), self.rows(view.right)
        pairs = self._pairs(view, left, right)
        if view.how in ("left", "full"):
            met = {mine for mine, _ in pairs}
            alone = [(mine, None) for mine in range(left.size) if mine not in met]
            pairs = sorted((*pairs, *alone), key=lambda pair: pair[0])
        if view.how == "full":
            met = {theirs for _, theirs in pairs}
            pairs += [(None, theirs) for theirs in range(right.size) if theirs not in met]
        mine, theirs = left.taken([pair[0] for pair in pairs]), right.taken([pair[1] for pair in pairs])
        return Rows({**mine.columns, **theirs.columns}, len(pairs))

    def _pairs(self, view: ViewJoin, left: Rows, right: Rows) -> list[tuple[Any, Any]]:
        """Return the places of rows that meet, at most ``MOST_ROWS``."""
        keys, rest = _equated(view)
        mine = self._tuples([one for one, _ in keys], left, view.left)
        theirs: dict[tuple[Any, ...], list[int]] = {}
        for place, key in enumerate(self._tuples([other for _, other in keys], right, view.right)):
            if None not in key:
                theirs.setdefault(key, []).append(place)
        names = sorted(frozenset[str]().union(*(names_in(part) for part in rest)))
        checks = [evaluator(part, view.columns) for part in rest]
        pairs: list[tuple[Any, Any]] = []
        tried = 0
        for place, key in enumerate(mine):
            for other in theirs.get(key, ()):
                tried += 1
                if tried > MOST_ROWS:
                    self.notes[f"a join that makes more than {MOST_ROWS:,} pairs of rows ends there"] = None
                    return pairs
                row = {
                    name: left.columns[name].shown[place] if name in left.columns else right.columns[name].shown[other]
                    for name in names
                }
                if all(check(row) is True for check in checks):
                    pairs.append((place, other))
        return pairs

    def _tuples(self, keys: Sequence[Expression], rows: Rows, view: View) -> list[tuple[Any, ...]]:
        if not keys:
            return [()] * rows.size
        columns = [self._shown(key, rows, view) for key in keys]
        return [tuple(map(_plain, row)) for row in zip(*columns, strict=True)]

    def _set(self, view: ViewSet) -> Rows:
        left, right = self.rows(view.left), self.rows(view.right)
        names = list(view.columns)
        both = Rows(
            {
                name: _below(mine, theirs, view.how == "union")
                for name, mine, theirs in zip(names, left.columns.values(), right.columns.values(), strict=True)
            },
            left.size + right.size,
        )
        if view.how == "union":
            return both if view.keeps_all else self._different(both)
        others: dict[tuple[Any, ...], int] = {}
        for place in range(left.size, both.size):
            key = _key(both, place)
            others[key] = others.get(key, 0) + 1
        if not view.keeps_all:
            chosen = [place for place in range(left.size) if (_key(both, place) in others) == (view.how == "intersect")]
            return self._different(both.taken(chosen))
        chosen = []
        for place in range(left.size):
            key = _key(both, place)
            is_met = others.get(key, 0) > 0
            others[key] = others.get(key, 0) - 1
            if is_met == (view.how == "intersect"):
                chosen.append(place)
        return both.taken(chosen)

    def _distinct(self, view: ViewDistinct) -> Rows:
        return self._different(self.rows(view.view))

    def _different(self, rows: Rows) -> Rows:
        first: dict[tuple[Any, ...], int] = {}
        for place in range(rows.size):
            first.setdefault(_key(rows, place), place)
        return rows.taken(list(first.values()))

    def _sort(self, view: ViewSort) -> Rows:
        below = self.rows(view.view)
        order = [(self._shown(value, below, view.view), *how) for value, *how in view.order]
        return below.taken(sorted_places(range(below.size), order))  # type: ignore[arg-type]

    def _slice(self, view: ViewSlice) -> Rows:
        below = self.rows(view.view)
        last = below.size if view.limit is None else min(below.size, view.offset + view.limit)
        return below.taken(list(range(min(view.offset, below.size), last)))

    def _shown(self, value: Expression, rows: Rows, view: View) -> list[Any]:
        """Return an expression's values as shown."""
        if isinstance(value, Name):
            return rows.columns[value.name].shown
        names = sorted(names_in(value))
        return mapped(evaluator(value, view.columns), {name: rows.columns[name].shown for name in names}, rows.size)

    def _is_noisy(self, value: Expression, rows: Rows) -> bool:
        return any(rows.columns[name].is_noisy for name in names_in(value))

    def _rows_are_noisy(self, rows: Rows) -> bool:
        """Whether released numbers may decide how many rows there are."""
        return any(cells.is_noisy for cells in rows.columns.values())


def _with(bias: str, more: str) -> str:
    return "; ".join(part for part in (bias, more) if part)


def _summed(function: str, given: Cells | None, found: Sequence[Any], noisy: bool) -> Cells:
    shown = [one.shown for one in found]
    if not noisy:
        return Cells(shown)
    text = "rows" if given is None else given.estimand or "released values"
    words = f"{function.replace('_', ' ')} over released rows of: {text}"
    bias = "" if given is None else given.bias
    if not has_ends(function, given):
        return Cells(shown, [one.raw for one in found], is_noisy=True, estimand=words, bias=bias)
    low, high = [one.low for one in found], [one.high for one in found]
    return Cells(shown, [one.raw for one in found], low, high, True, True, words, bias)


def _neighbours(view: ViewWindow, places: list[int], equals: list[int]) -> list[int | None]:
    """Return for each sorted row the place of the row that its value comes from."""
    if view.function in ("lag", "lead"):
        far = -view.number if view.function == "lag" else view.number
        return [places[number + far] if 0 <= number + far < len(places) else None for number in range(len(places))]
    spans = frames(equals, bool(view.order), view.rows)
    is_first = view.function == "first_value"
    return [places[first if is_first else last - 1] if first < last else None for first, last in spans]


def _equals(places: Sequence[int], columns: Sequence[Sequence[Any]]) -> list[int]:
    """Return a number for each sorted row, the same for rows that are equal in the order."""
    numbers: list[int] = []
    before: tuple[Any, ...] | None = None
    for place in places:
        key = tuple(_plain(column[place]) for column in columns)
        numbers.append(numbers[-1] + (key != before) if numbers else 0)
        before = key
    return numbers


def _equated(view: ViewJoin) -> tuple[list[tuple[Expression, Expression]], list[Expression]]:
    """Return the pairs of expressions, one of each side, that a join's condition equates, and what else it says."""
    keys: list[tuple[Expression, Expression]] = []
    rest: list[Expression] = []
    left, right = view.left.columns.keys(), view.right.columns.keys()
    for part in () if view.condition is None else conjuncts(view.condition):
        pair = part.arguments if isinstance(part, Call) and part.function == "equal" else ()
        for one, other in (pair, pair[::-1]) if len(pair) == 2 else ():
            if names_in(one) and names_in(other) and names_in(one) <= left and names_in(other) <= right:
                keys.append((one, other))
                break
        else:
            rest.append(part)
    return keys, rest


def _below(first: Cells, second: Cells, takes_both: bool) -> Cells:
    """Return one column under another."""
    noisy = first.is_noisy or second.is_noisy
    ends = noisy and all(cells.has_ends or not cells.is_noisy for cells in (first, second))
    low, high = (
        [end for cells in (first, second) for end in _ends(cells, which)] if ends else [] for which in ("low", "high")
    )
    texts = dict.fromkeys(
        cells.estimand for cells in (first, second) if cells.estimand and (takes_both or cells is first)
    )
    biases = dict.fromkeys(cells.bias for cells in (first, second) if cells.bias)
    return Cells(
        [*first.shown, *second.shown],
        [*first.raw, *second.raw] if noisy else [],
        low,
        high,
        noisy,
        ends,
        "; or: ".join(texts),
        "; ".join(biases),
    )


def _ends(cells: Cells, which: str) -> list[Any]:
    """Return the ends of a column's intervals; exact numbers beside noisy ones are their own."""
    if cells.is_noisy:
        return list(getattr(cells, which))
    return [value if isinstance(value, int | float) and not isinstance(value, bool) else None for value in cells.shown]


def _key(rows: Rows, place: int) -> tuple[Any, ...]:
    return tuple(_plain(cells.shown[place]) for cells in rows.columns.values())


def _plain(value: Any) -> Any:
    """Return a value to compare by: numbers are equal as numbers, and 1 is not true."""
    return (value,) if isinstance(value, bool) else value


_READERS: Final[dict[type[View], Callable[[Any, Any], Rows]]] = {
    ViewRelease: Evaluation._release,
    ViewPublic: Evaluation._public,
    ViewOne: Evaluation._one,
    ViewTotals: Evaluation._totals,
    ViewWhere: Evaluation._where,
    ViewSelect: Evaluation._select,
    ViewScalar: Evaluation._scalar,
    ViewAmong: Evaluation._among,
    ViewGroup: Evaluation._group,
    ViewWindow: Evaluation._window,
    ViewJoin: Evaluation._join,
    ViewSet: Evaluation._set,
    ViewDistinct: Evaluation._distinct,
    ViewSort: Evaluation._sort,
    ViewSlice: Evaluation._slice,
}

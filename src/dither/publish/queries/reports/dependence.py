"""How many released numbers one cell of a view is made of, by the form of the view alone.

Where rows are computed one by one, and neither chosen nor sorted nor put together by what was released, a cell is made
of a few numbers, and its interval need not hold together with those of all other cells. Anything else looks at many
rows: its intervals hold at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from dither.data import Expression
from dither.data.expressions import names_in
from dither.publish.queries.query import Query
from dither.publish.queries.reports.report import Report
from dither.publish.queries.reports.views import (
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

#: For every column, how many released numbers a cell of it is made of.
Counts = Mapping[str, int]


def numbers_in_cells(report: Report) -> int | None:
    """Return the largest number of released numbers in a cell, None where a cell may depend on all of them."""
    found = _counts(report.view, dict(report.queries))
    return None if found is None else max(found.values(), default=0)


def _counts(view: View, queries: Mapping[str, Query]) -> Counts | None:
    below = [_counts(part, queries) for part in view.below()]
    known = [part for part in below if part is not None]
    if len(known) < len(below):
        return None
    return _RULES[type(view)](view, known, queries)


def _of(expression: Expression, counts: Counts) -> int:
    return sum(counts[name] for name in names_in(expression))


def _released(view: ViewRelease, below: list[Counts], queries: Mapping[str, Query]) -> Counts:
    query = queries[view.release]
    measured = {aggregate.name for aggregate in query.aggregates}
    return {name: int(bool(names_in(value) & measured)) for name, value in query.outputs}


def _exact(view: View, below: list[Counts], queries: Mapping[str, Query]) -> Counts | None:
    """Return that nothing is made of released numbers, where nothing below is."""
    return None if any(any(part.values()) for part in below) else dict.fromkeys(view.columns, 0)


def _selected(view: ViewSelect, below: list[Counts], queries: Mapping[str, Query]) -> Counts:
    return {name: _of(value, below[0]) for name, value in view.outputs}


def _beside(view: ViewScalar, below: list[Counts], queries: Mapping[str, Query]) -> Counts:
    return {**below[0], view.name: max(below[1].values())}


def _together(view: ViewSet, below: list[Counts], queries: Mapping[str, Query]) -> Counts | None:
    if not (view.how == "union" and view.keeps_all):
        return _exact(view, below, queries)
    pairs = zip(below[0].values(), below[1].values(), strict=True)
    return dict(zip(view.columns, (max(pair) for pair in pairs), strict=True))


def _totals(view: ViewTotals, below: list[Counts], queries: Mapping[str, Query]) -> Counts:
    measures = {name for name, _ in view.measures}
    return {name: int(name in measures) for name in view.columns}


def _chosen(view: Any, below: list[Counts], queries: Mapping[str, Query]) -> Counts | None:
    """Return the columns below, where exact values alone choose, sort or join."""
    counts = {name: many for part in below for name, many in part.items()}
    used = [value for value, *_ in view.order] if isinstance(view, ViewSort) else [view.condition]
    return None if any(value is not None and _of(value, counts) for value in used) else counts


_RULES: Final[Mapping[type[View], Callable[[Any, list[Counts], Mapping[str, Query]], Counts | None]]] = {
    ViewRelease: _released,
    ViewTotals: _totals,
    ViewSelect: _selected,
    ViewScalar: _beside,
    ViewSet: _together,
    ViewSlice: lambda view, below, queries: below[0],
    **dict.fromkeys((ViewWhere, ViewSort, ViewJoin), _chosen),
    **dict.fromkeys((ViewOne, ViewPublic, ViewAmong, ViewGroup, ViewWindow, ViewDistinct), _exact),
}

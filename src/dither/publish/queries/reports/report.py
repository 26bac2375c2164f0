"""A report: private queries by name, and a view of what they release and of public tables, as one public record."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from dither.data import Call, DataSet, Kind
from dither.data.expressions import kind_of, names_in
from dither.data.own_tables import is_own
from dither.data.wire import register_records
from dither.errors import InvalidParameter
from dither.exact import typed
from dither.privacy import PureDP
from dither.publish.queries.assemble import conjuncts
from dither.publish.queries.design import LAPLACE, Design
from dither.publish.queries.present import kind_of_aggregate
from dither.publish.queries.query import Query
from dither.publish.queries.reports.views import (
    CLOSED,
    View,
    ViewDistinct,
    ViewGroup,
    ViewJoin,
    ViewMeasure,
    ViewOne,
    ViewPublic,
    ViewRelease,
    ViewSet,
    ViewSlice,
    ViewTotals,
    ViewWhere,
    views_in,
)
from dither.publish.queries.work import step

#: A report of more private queries is refused.
MOST_QUERIES: Final = 32
#: A view of more nodes is refused.
MOST_VIEWS: Final = 1_000

register_records(*CLOSED, ViewMeasure)


@dataclass(frozen=True)
@typed
class Report:
    """Private queries, each released once, and what is made of their tables and of public ones at no further cost.

    Args:
        dataset: the schema.
        queries: what is released, each under a name of its own; none where only public tables are read.
        view: what is shown.

    """

    dataset: DataSet
    queries: tuple[tuple[str, Query], ...]
    view: View

    def __post_init__(self) -> None:
        """Reject queries of other data, and a view of tables that the report does not release."""
        names = [name for name, _ in self.queries]
        if len(set(names)) != len(names) or len(names) > MOST_QUERIES:
            raise InvalidParameter("queries", names, f"at most {MOST_QUERIES}, under different names")
        for name, query in self.queries:
            if query.dataset != self.dataset:
                raise InvalidParameter(f"query {name}", query.dataset.name, f"about {self.dataset.name}")
        released = {name: release_of(name, query) for name, query in self.queries}
        for many, view in enumerate(views_in(self.view), 1):
            if many > MOST_VIEWS:
                raise InvalidParameter("view", "more", f"of at most {MOST_VIEWS} steps")
            if isinstance(view, ViewRelease) and released.get(view.release) != view:
                raise InvalidParameter("view", view.release, f"of what is released: {', '.join(names) or 'nothing'}")
            if isinstance(view, ViewPublic) and not is_own(view.table, self.dataset):
                raise InvalidParameter("view", view.table.name, f"of public tables of {self.dataset.name}")
        if not self.view.columns:
            raise InvalidParameter("view", "no column", "of at least one column")

    @property
    def is_free(self) -> bool:
        """Whether it reads public tables alone, and costs nothing."""
        return not self.queries

    @property
    def public_tables(self) -> tuple[ViewPublic, ...]:
        """The public tables that are read, each once."""
        found = {view.table.name: view for view in views_in(self.view) if isinstance(view, ViewPublic)}
        return tuple(found[name] for name in sorted(found))


def check_work(report: Report) -> None:
    """Reject a report whose table would take long to make: it is made after the charge, from released numbers.

    Counted in cells, from the public numbers of groups; groups that are discovered count as one.
    """
    known: dict[int, int] = {}
    sizes = _sizes(report)
    for view in reversed(list(views_in(report.view))):
        known[id(view)] = many = _rows(view, known, sizes)
        step(many * (len(view.columns) + 1) // 64)


def _sizes(report: Report) -> dict[str, int]:
    """Return the number of groups of every query; those that are discovered count as one."""
    sizes = {}
    for name, query in report.queries:
        values = [key.values for key in query.keys] if query.key_values is None else [query.key_values]
        sizes[name] = math.prod(1 if part is None else len(part) for part in values)
    return sizes


def _rows(view: View, known: Mapping[int, int], sizes: Mapping[str, int]) -> int:
    """Return about how many rows a view has, or tries, from those of the views below it."""
    below = [known[id(part)] for part in view.below()]
    if isinstance(view, ViewRelease):
        return sizes[view.release]
    if isinstance(view, ViewTotals | ViewSet):
        return sum(below)
    if isinstance(view, ViewJoin):
        # Rows that meet by equal values are tried alone, others all with all.
        return max(below) if is_equated(view) else math.prod(below)
    return below[0] if below else 1


def shown_rows(report: Report) -> int | None:
    """Return how many rows a report shows, None where that depends on what is released or on public tables."""

    def many(view: View) -> int | None:
        if isinstance(view, ViewRelease):
            query = dict(report.queries)[view.release]
            known = not query.is_discovered and query.having is None
            return _rows(view, {}, _sizes(report)) if known and query.limit is None else None
        if isinstance(view, ViewOne) or (isinstance(view, ViewGroup) and not view.keys):
            return 1
        below = [many(part) for part in view.below()]
        if None in below or isinstance(view, ViewWhere | ViewJoin | ViewDistinct | ViewGroup | ViewPublic):
            return None
        if isinstance(view, ViewSet) and not (view.how == "union" and view.keeps_all):
            return None
        sizes = [size for size in below if size is not None]
        whole = sum(sizes) if isinstance(view, ViewSet | ViewTotals) else sizes[0]
        if isinstance(view, ViewSlice):
            whole = max(0, whole - view.offset)
            return whole if view.limit is None else min(whole, view.limit)
        return whole

    return many(report.view)


def is_equated(view: ViewJoin) -> bool:
    """Return whether a join's condition equates a value of one side with a value of the other."""
    left, right = view.left.columns.keys(), view.right.columns.keys()
    for part in () if view.condition is None else conjuncts(view.condition):
        if isinstance(part, Call) and part.function == "equal":
            names = [names_in(argument) for argument in part.arguments]
            if all(names) and any(one <= left and other <= right for one, other in (names, names[::-1])):
                return True
    return False


def output_kinds(query: Query) -> Mapping[str, Kind]:
    """Return the outputs of a query and the kinds of their values; lists have no place in a view."""
    design = Design(query, PureDP(1), LAPLACE, None)  # the loss changes no kind
    kinds = {key.name: kind for key, kind in zip(query.keys, design.key_kinds, strict=True)}
    for aggregate in query.aggregates:
        kind = kind_of_aggregate(design, aggregate)
        if kind is None:
            rule = "one value a row: a list of commonest values needs a separate query"
            raise InvalidParameter("outputs", aggregate.name, rule)
        kinds[aggregate.name] = kind
    return {name: kind_of(value, kinds) for name, value in query.outputs}


def release_of(name: str, query: Query) -> ViewRelease:
    """Return the released table of a query, under its name in a report."""
    is_single = not query.keys or (query.limit is not None and query.limit <= 1)
    return ViewRelease(name, tuple(output_kinds(query).items()), is_single)

"""Limits on a query: the number of aggregates, the width of its rows, the cost of one person's rows.

All of it is public, a function of query and schema. It is checked when a query is read and when it is planned, so that
what is refused is refused before anything is charged, and before it is priced.
"""

from __future__ import annotations

from typing import Final

from dither.data import Aggregation, Bounded, CountOf, Limits
from dither.data.expressions import names_in
from dither.data.widths import check_widths
from dither.errors import InvalidParameter
from dither.publish.queries.query import Query
from dither.publish.queries.work import once, step

#: A query that measures more is refused.
MOST_AGGREGATES: Final = 256


def check_number(aggregates: int, parameter: str) -> None:
    """Reject too many aggregates, as soon as there are too many."""
    if aggregates > MOST_AGGREGATES:
        rule = f"of at most {MOST_AGGREGATES} different aggregates; request the others in a separate query"
        raise InvalidParameter(parameter, aggregates, rule)


def check_query(query: Query, parameter: str) -> None:
    """Reject a query with too many aggregates, with rows that are too wide, or where one person's rows cost too much.

    Args:
        query: what is asked.
        parameter: what the caller calls it.

    """
    once("size", "", query, lambda: _check(query, parameter))


def _check(query: Query, parameter: str) -> None:
    check_number(len(query.aggregates), parameter)
    keys = tuple(key.value for key in query.keys)
    values = tuple(argument for aggregate in query.aggregates for argument in aggregate.arguments)
    step(sum(value.size for value in (*keys, *values)))
    relation = query.relation
    if query.dataset.protects_persons:
        used = frozenset[str]().union(*(names_in(value) for value in (*keys, *values)))
        order = tuple(name for name in relation.columns if name in used)
        relation = Bounded(relation, keys, Limits(rows=1), order)
    check_widths(Aggregation(relation, keys, tuple(map(CountOf, values))), parameter=parameter)

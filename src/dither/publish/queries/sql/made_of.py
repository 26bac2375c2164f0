"""Aggregates that are made of others, or of nothing private: regressions, extremes of dates, values of group keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from dither.data import Call, Cast, Expression, Kind, Literal, Name, Relation
from dither.data.expressions import kind_of
from dither.publish.queries.assemble import conjunction, only_where
from dither.publish.queries.bounds import date_bounds_of
from dither.publish.queries.keys import may_be_null
from dither.publish.queries.sql.aggregates import Asked, read_aggregate
from dither.publish.queries.sql.expressions import Scalars, Typed
from dither.publish.queries.sql.refused_aggregates import REGRESSIONS

if TYPE_CHECKING:
    from sqlglot import exp

_OF_ONE_VALUE: Final = ("min", "max", "anyvalue", "first", "last", "mode", "median")
Add = Callable[[Asked], Name]


def made_of(
    scalars: Scalars, node: exp.Expression, relation: Relation, keys: Mapping[Expression, str], add: Add
) -> Typed | None:
    """Return an aggregate as an expression over group keys and over others, which ``add`` measures; None if it is one.

    All rows of a group have the same value of its keys, so that MIN(k), MAX(k) and ANY_VALUE(k) are the key.
    """
    if node.key in ("ignorenulls", "respectnulls"):
        node = node.this
    if node.key in _OF_ONE_VALUE and node.args.get("this") is not None and node.this.key not in ("distinct", "star"):
        value = scalars.value(node.this).expression
        if value in keys:
            return Typed(Name(keys[value]), kind_of(value, relation.columns))
    if node.key in REGRESSIONS:
        return _regression(scalars, node, relation, add)
    if (node.this.key if node.key == "filter" else node.key) in ("min", "max"):
        return _of_dates(scalars, node, relation, add)
    return None


def _regression(scalars: Scalars, node: exp.Expression, relation: Relation, add: Add) -> Typed:
    """Return a regression of the first value on the second, over the rows that have both."""
    scalars.only(node, "this", "expression")
    y, x = (scalars.value(part).expression for part in (node.this, node.expression))
    known = [Call("not", (Call("is_null", (value,)),)) for value in (y, x) if may_be_null(value, relation)]

    def both(value: Expression) -> Expression:
        return only_where(conjunction(known), value, relation.columns) if known else value

    if node.key == "regrcount":
        return Typed(add(Asked("count_of", (both(y),))), Kind.INTEGER)
    if node.key in ("regravgx", "regravgy"):
        return Typed(add(Asked("mean", (both(x if node.key == "regravgx" else y),))), Kind.REAL)
    if node.key == "regrr2":
        correlation = add(Asked("correlation", (y, x)))
        return Typed(Call("multiply", (correlation, correlation)), Kind.REAL)
    slope = Call("divide", (add(Asked("covariance", (y, x))), add(Asked("variance", (both(x),)))))
    if node.key == "regrslope":
        return Typed(slope, Kind.REAL)
    means = [add(Asked("mean", (both(value),))) for value in (y, x)]
    return Typed(Call("subtract", (means[0], Call("multiply", (slope, means[1])))), Kind.REAL)


def _of_dates(scalars: Scalars, node: exp.Expression, relation: Relation, add: Add) -> Typed | None:
    """Return the first or the last of some dates, as the number of days from the first that is possible."""
    asked = read_aggregate(scalars, node, relation)
    if kind_of(asked.arguments[0], relation.columns) is not Kind.DATE:
        return None
    value = asked.arguments[0]
    bounds = date_bounds_of(value, relation)
    if bounds is None:
        scalars.refuse(
            node,
            "a first or last day is sought between public ones, and none are known",
            "declare the bounds of the column, or add WHERE day BETWEEN DATE '2024-01-01' AND DATE '2024-12-31'",
        )
    first = Literal(bounds[0], Kind.DATE)
    days = add(Asked(asked.function, (Call("days_between", (first, value)),), asked.where))
    return Typed(Call("add_days", (first, Cast(days, Kind.INTEGER))), Kind.DATE)

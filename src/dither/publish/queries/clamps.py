"""The range to which an aggregate clamps its values, or the one bound that is missing for it to have one."""

from __future__ import annotations

from dither.data import Expression, Relation
from dither.publish.queries.bounds import bounds_of, interval_of
from dither.publish.queries.person_bounds import clamping, missing
from dither.publish.queries.work import planning


def clamp_bounds_of(expression: Expression, relation: Relation) -> tuple[float, float] | None:
    """Return the bounds to clamp a number to: those of ``bounds_of``, with totals of as many rows as count."""
    with clamping():
        return bounds_of(expression, relation)


def missing_bound(expression: Expression, relation: Relation) -> str | None:
    """Return the one column whose bounds would bound an expression that has none, or None."""
    with planning(), clamping():
        return missing(expression, relation, lambda part: interval_of(part, relation))

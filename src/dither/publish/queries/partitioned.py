"""Partitions: queries of public, disjoint parts of the same rows, and how many of them one unit can touch.

The record refuses parts that overlap and queries of other rows than their own, so that parallel composition holds for
it however it was made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dither.data import (
    Bounded,
    Call,
    Case,
    DataSet,
    Expression,
    Filter,
    JoinPersons,
    Kind,
    Literal,
    OneOf,
    Relation,
)
from dither.data.expressions import Value, kind_of
from dither.data.joins import check_relation
from dither.data.relations import rows_per_person
from dither.errors import InvalidParameter
from dither.exact import typed
from dither.publish.queries.query import Query


@dataclass(frozen=True)
@typed
class Part:
    """One part of a partition: its label, its values, and the query of its rows."""

    label: str
    values: tuple[Value, ...]
    query: Query


@dataclass(frozen=True)
@typed
class Partitioned:
    """Queries of public, disjoint parts of the same rows: a unit in one part costs nothing in the others.

    Args:
        dataset: the schema.
        relation: the rows that are split; each person may be bounded to a number of parts.
        by: what decides the part of a row.
        parts: which values belong to which part, and the query of each.

    """

    dataset: DataSet
    relation: Relation
    by: Expression
    parts: tuple[Part, ...]

    def __post_init__(self) -> None:
        """Reject parts that overlap, and queries of anything but their own part."""
        check_parts(self.dataset, self.relation, self.by, [part.values for part in self.parts])
        for part in self.parts:
            check_part(self.dataset, self.relation, self.by, part)

    @property
    def touched(self) -> int:
        """In how many parts one unit of data can change anything."""
        return touched_parts(self.dataset, self.relation, self.by, [part.values for part in self.parts])


def check_parts(dataset: DataSet, relation: Relation, by: Expression, parts: Sequence[Sequence[Value]]) -> None:
    """Reject parts that overlap or are empty."""
    check_relation(relation, dataset)
    kind = kind_of(by, relation.columns)
    values = [Literal(value, kind).value for part in parts for value in part]
    # Two integers may be one real to an engine, and a row with it would lie in both parts.
    meant = [float(value) if kind is Kind.REAL and isinstance(value, int) else value for value in values]
    if not values or len(set(meant)) != len(meant) or any(not part for part in parts):
        raise InvalidParameter("parts", values, "disjoint, with at least one value each")


def check_part(dataset: DataSet, relation: Relation, by: Expression, part: Part) -> None:
    """Reject a query of anything but the rows of its part."""
    kind = kind_of(by, relation.columns)
    mine = OneOf(by, tuple(Literal(value, kind) for value in part.values))
    if part.query.dataset != dataset or not _stays_within(part.query.relation, relation, mine):
        raise InvalidParameter(f"query of part {part.label}", "other rows", "a query of the rows of its part")


def touched_parts(dataset: DataSet, relation: Relation, by: Expression, parts: Sequence[Sequence[Value]]) -> int:
    """Return in how many parts one unit of data can change anything."""
    most, each = len(parts), 1
    if dataset.protects_persons:
        number = number_of_part(by, parts, kind_of(by, relation.columns))
        is_bounded = isinstance(relation, Bounded) and relation.keys == (number,)
        own = relation.limits.groups if isinstance(relation, Bounded) and is_bounded else None
        # Whoever has few rows is in as few parts.
        each = min(size for size in (most, own, rows_per_person(relation)) if size is not None)
    return min(most, 2 * each if dataset.is_replaced else each)


def number_of_part(by: Expression, parts: Sequence[Sequence[Value]], kind: Kind) -> Expression:
    """Return the expression that numbers the parts by their values."""
    branches = (
        (OneOf(by, tuple(Literal(value, kind) for value in values)), Literal(index, Kind.INTEGER))
        for index, values in enumerate(parts)
    )
    return Case(tuple(branches), Literal(None, Kind.INTEGER))


def _stays_within(relation: Relation, source: Relation, condition: Expression) -> bool:
    """Return whether a relation has rows only of units that have rows in the part.

    Every step keeps a row only if the part has a row of that unit: filters and whatever stands over one relation do,
    and a join of private rows does on its left side.
    """
    while True:
        if isinstance(relation, Filter) and relation.relation == source:
            given = relation.condition
            parts = given.arguments if isinstance(given, Call) and given.function == "and" else (given,)
            return condition in parts
        below = relation.left if isinstance(relation, JoinPersons) else getattr(relation, "relation", None)
        if below is None:
            return False
        relation = below

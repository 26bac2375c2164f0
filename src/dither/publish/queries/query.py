"""A query: what an analyst asks of a data set, as a public record. SQL and the Python builder both make it.

``relation`` says which private rows count, ``keys`` how they are grouped, ``aggregates`` what is measured privately;
``outputs``, ``having``, ``order`` and ``limit`` only touch what has been released, and cost nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import Final

from dither.data import (
    Bounded,
    Call,
    Case,
    DataSet,
    Expression,
    Filter,
    JoinPersons,
    Kind,
    Limits,
    Literal,
    OneOf,
    Relation,
)
from dither.data.expressions import Value, kind_of
from dither.data.joins import check_relation
from dither.errors import InvalidParameter
from dither.exact import typed

#: What can be measured, with the number of arguments.
AGGREGATES: Final = {
    "count": 0,  # rows
    "count_of": 1,  # rows where the argument is not NULL (for true or false: where it is true)
    "persons": 0,  # different persons
    "sum": 1,
    "mean": 1,
    "variance": 1,  # divided by the number of values
    "deviation": 1,
    "sample_variance": 1,  # divided by one less
    "sample_deviation": 1,
    "quantile": 1,  # and the share, see ``Aggregate.share``
    "minimum": 1,
    "maximum": 1,
    "covariance": 2,
    "correlation": 2,
    "mode": 1,  # the commonest of the public values
    "top": 1,  # the commonest public values, see ``Aggregate.many``
}


@dataclass(frozen=True)
@typed
class Key:
    """One thing rows are grouped by.

    Args:
        name: how outputs call it.
        value: what it is of each row.
        values: all values that may be published, each of which gets a row; None when they are to be discovered.

    """

    name: str
    value: Expression
    values: tuple[Value, ...] | None


@dataclass(frozen=True)
@typed
class Aggregate:
    """One thing to measure in every group.

    Args:
        name: how outputs call it.
        function: one of ``AGGREGATES``.
        arguments: expressions over the columns of the relation.
        bounds: for every numeric argument the public range to which its values are clamped.
        share: for a quantile, which one.
        many: for the commonest values, how many.
        values: for the commonest values, the public candidates.
        granularity: for numbers, the step of the grid on which values are added up or searched; None chooses one.

    """

    name: str
    function: str
    arguments: tuple[Expression, ...] = ()
    bounds: tuple[tuple[float, float], ...] = ()
    share: Fraction | None = None
    many: int | None = None
    values: tuple[Value, ...] | None = None
    granularity: float | None = None

    def __post_init__(self) -> None:
        """Refuse what is no aggregate."""
        if AGGREGATES.get(self.function) != len(self.arguments):
            raise InvalidParameter("aggregate", self.function, f"one of {', '.join(AGGREGATES)}, with its arguments")

    def kind(self, columns: Mapping[str, Kind]) -> Kind:
        """Return what the aggregate gives: an integer for counts, a value for the commonest, else a real."""
        if self.function in ("count", "count_of", "persons"):
            return Kind.INTEGER
        if self.function in ("mode", "top"):
            return kind_of(self.arguments[0], columns)
        return Kind.REAL


@dataclass(frozen=True)
@typed
class Query:
    """What is asked: private rows, groups, aggregates, and what is then shown of them.

    Args:
        dataset: the schema, which has the unit and the tables.
        relation: the private rows.
        keys: how they are grouped; none for one row.
        aggregates: what is measured.
        outputs: what is shown: names and expressions over the names of keys and aggregates.
        limits: how much of one person counts; the data set's own limits unless the query says less.
        key_values: the groups to publish, as tuples of values of all keys; None means all combinations of the keys'
            public values, or, if any key has none, the groups that are discovered.
        having: which released rows are shown; over the names of keys and aggregates.
        order: by what they are sorted, over the same names, and whether the largest come first; by default by the keys.
        limit: how many of them are shown.

    """

    dataset: DataSet
    relation: Relation
    keys: tuple[Key, ...]
    aggregates: tuple[Aggregate, ...]
    outputs: tuple[tuple[str, Expression], ...]
    limits: Limits
    key_values: tuple[tuple[Value, ...], ...] | None = None
    having: Expression | None = None
    order: tuple[tuple[Expression, bool], ...] = field(default=())
    limit: int | None = None

    def __post_init__(self) -> None:
        """Refuse names that occur twice and expressions that do not fit."""
        names = [key.name for key in self.keys] + [aggregate.name for aggregate in self.aggregates]
        if len(set(names)) != len(names):
            raise InvalidParameter("names", names, "different")
        shown = [name for name, _ in self.outputs]
        if len(set(shown)) != len(shown) or not shown:
            raise InvalidParameter("outputs", shown, "different names, at least one")
        check_relation(self.relation, self.dataset)
        below = self.relation.columns
        for expression in (*(key.value for key in self.keys), *(a for agg in self.aggregates for a in agg.arguments)):
            kind_of(expression, below)

    @property
    def released(self) -> Mapping[str, Kind]:
        """What outputs, ``having`` and ``order`` are about: keys and aggregates by name, and what they hold."""
        below = self.relation.columns
        kinds = {key.name: kind_of(key.value, below) for key in self.keys}
        for aggregate in self.aggregates:
            kinds[aggregate.name] = aggregate.kind(below)
        return MappingProxyType(kinds)

    @property
    def is_discovered(self) -> bool:
        """Whether the groups are not known beforehand: then a threshold decides, and delta is paid."""
        return self.key_values is None and any(key.values is None for key in self.keys)


@dataclass(frozen=True)
@typed
class Part:
    """One part of a partition: its label, the values that belong to it, and what is asked of its rows."""

    label: str
    values: tuple[Value, ...]
    query: Query


@dataclass(frozen=True)
@typed
class Partitioned:
    """Queries of public, disjoint parts of the same rows: a unit that lies in one part costs nothing in the others.

    Args:
        dataset: the schema.
        relation: the rows that are split; for persons they may be bounded to a number of parts each.
        by: what decides the part of a row.
        parts: which values belong to which part, and the query of each.

    """

    dataset: DataSet
    relation: Relation
    by: Expression
    parts: tuple[Part, ...]

    def __post_init__(self) -> None:
        """Refuse parts that overlap, and queries of anything but their own part."""
        values = [value for part in self.parts for value in part.values]
        if not values or len(set(values)) != len(values) or any(not part.values for part in self.parts):
            raise InvalidParameter("parts", values, "disjoint, with at least one value each")
        check_relation(self.relation, self.dataset)
        kind = kind_of(self.by, self.relation.columns)
        for part in self.parts:
            mine = OneOf(self.by, tuple(Literal(value, kind) for value in part.values))
            if part.query.dataset != self.dataset or not _stays_within(part.query.relation, self.relation, mine):
                raise InvalidParameter(f"query of part {part.label}", "other rows", "a query of the rows of its part")

    @property
    def part_of_row(self) -> Expression:
        """The number of the part in which a row lies: a bound on these bounds how many parts a person touches."""
        values = [part.values for part in self.parts]
        return number_of_part(self.by, values, kind_of(self.by, self.relation.columns))

    @property
    def touched(self) -> int:
        """In how many parts one unit of data can change anything."""
        most = len(self.parts)
        if self.dataset.protects_persons:
            source = self.relation
            is_bounded = isinstance(source, Bounded) and source.keys == (self.part_of_row,)
            own = source.limits.groups if isinstance(source, Bounded) and is_bounded else None
            each = most if own is None else own
        else:
            each = 1
        return min(most, 2 * each if self.dataset.is_replaced else each)


def number_of_part(by: Expression, parts: Sequence[Sequence[Value]], kind: Kind) -> Expression:
    """Return the expression that numbers the parts by the values that belong to them."""
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

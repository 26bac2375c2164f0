"""A query: an analyst's request to a data set, as a public record. SQL and the Python builder both make it.

``relation`` says which private rows count, ``keys`` how they are grouped, ``aggregates`` what is measured privately;
``outputs``, ``having``, ``order`` and ``limit`` only touch what has been released, and cost nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final

from dither.data import (
    DataSet,
    Expression,
    Kind,
    Limits,
    Relation,
)
from dither.data.expressions import IntervalEnd, Value, kind_of, names_in, walk
from dither.data.joins import check_relation
from dither.data.returned import canonical
from dither.errors import InvalidParameter
from dither.exact import typed

_TOO_LARGE: Final = 2**1000
#: What can be measured, with the number of arguments.
AGGREGATES: Final = {
    "count": 0,  # rows
    "count_of": 1,  # rows where the argument is not NULL (for true or false: where it is true)
    "persons": 0,  # different people
    "distinct": 1,  # different values
    "sum": 1,
    "mean": 1,
    "variance": 1,  # divided by the number of values
    "deviation": 1,
    "sample_variance": 1,  # divided by one less
    "sample_deviation": 1,
    "quantile": 1,  # and the share, see ``Aggregate.share``
    "minimum": 1,
    "maximum": 1,
    "covariance": 2,  # divided by the number of pairs
    "sample_covariance": 2,  # divided by one less
    "correlation": 2,
    "mode": 1,  # the commonest of the public values
    "top": 1,  # the commonest public values, see ``Aggregate.many``
}


@dataclass(frozen=True)
@typed
class Key:
    """One grouping key.

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
    """One measure of every group.

    Args:
        name: how outputs call it.
        function: one of ``AGGREGATES``.
        arguments: expressions over the columns of the relation.
        bounds: for every numeric argument the public range to which its values are clamped.
        share: for a quantile, which one.
        many: for the commonest values, how many.
        values: for the commonest and for different values, the public candidates.
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
        """Reject anything that is not an aggregate."""
        if AGGREGATES.get(self.function) != len(self.arguments):
            raise InvalidParameter("aggregate", self.function, f"one of {', '.join(AGGREGATES)}, with its arguments")
        if self.many is not None and self.many < 1:
            raise InvalidParameter(f"many of {self.name}", self.many, "at least 1")
        # An integer or a fraction may stand where a float is expected, and be none.
        numbers: list[Any] = [*(end for ends in self.bounds for end in ends), self.granularity]
        if any(isinstance(number, int | Fraction) and not -_TOO_LARGE < number < _TOO_LARGE for number in numbers):
            raise InvalidParameter(f"bounds and granularity of {self.name}", "a larger number", "below 2^1000")

    def kind(self, columns: Mapping[str, Kind]) -> Kind:
        """Return the aggregate's kind: an integer for counts, a value for the most common, else a real."""
        if self.function in ("count", "count_of", "persons", "distinct"):
            return Kind.INTEGER
        if self.function in ("mode", "top"):
            return kind_of(self.arguments[0], columns)
        return Kind.REAL


@dataclass(frozen=True)
@typed
class Query:
    """A request: private rows, groups, aggregates, and which of them are shown.

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
        """Reject duplicate names and expressions that do not fit."""
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
        for aggregate in self.aggregates:
            if aggregate.values is not None:
                _check_candidates(aggregate, kind_of(aggregate.arguments[0], below) if aggregate.arguments else None)
        if self.limit is not None and self.limit < 0:
            raise InvalidParameter("limit", self.limit, "0 or more rows")
        _check_ends(self)
        released = self.released
        kinds = {name: _kind_of_shown("outputs", value, released) for name, value in self.outputs} | dict(released)
        for expression, _ in self.order:
            _kind_of_shown("order", expression, kinds)
        if self.having is not None and _kind_of_shown("having", self.having, kinds) is not Kind.BOOLEAN:
            raise InvalidParameter("having", self.having, "true or false")

    @property
    def released(self) -> Mapping[str, Kind]:
        """What outputs, ``having`` and ``order`` refer to: keys and aggregates by name, and their kinds."""
        below = self.relation.columns
        kinds = {key.name: kind_of(key.value, below) for key in self.keys}
        for aggregate in self.aggregates:
            kinds[aggregate.name] = aggregate.kind(below)
        return MappingProxyType(kinds)

    @property
    def is_discovered(self) -> bool:
        """Whether the groups are not known in advance: then a threshold decides, and delta is paid."""
        return self.key_values is None and any(key.values is None for key in self.keys)


def _check_ends(query: Query) -> None:
    """Reject an end of an interval that is not an output by itself."""
    parts = [value.value if isinstance(value, IntervalEnd) else value for _, value in query.outputs]
    parts += [value for value, _ in query.order]
    parts += [] if query.having is None else [query.having]
    if any(isinstance(node, IntervalEnd) for part in parts for node in walk(part)):
        rule = "a separate output: nothing is computed from it, and nothing is sorted or chosen by it"
        raise InvalidParameter("an end of an interval", "DP_INTERVAL_LOW or DP_INTERVAL_HIGH", rule)


def _kind_of_shown(parameter: str, expression: Expression, columns: Mapping[str, Kind]) -> Kind:
    """Return the kind of an expression over released columns; reject columns that are not released."""
    unknown = sorted(names_in(expression) - columns.keys())
    if unknown:
        some = ", ".join(list(columns)[:8]) + (", ..." if len(columns) > 8 else "")
        raise InvalidParameter(parameter, ", ".join(unknown[:8]), f"made of what is released: {some}")
    return kind_of(expression, columns)


def _check_candidates(aggregate: Aggregate, kind: Kind | None) -> None:
    """Reject candidates that are not values of the argument, and two that an engine takes for the same value."""
    different = set(aggregate.values or ())
    meant = {None if kind is None else canonical((value,), (kind,)) for value in different}
    if None in meant or (None,) in meant or len(meant) != len(different):
        rule = f"different values of the kind {'' if kind is None else kind.value}, without NULL"
        raise InvalidParameter(f"values of {aggregate.name}", aggregate.values, rule)

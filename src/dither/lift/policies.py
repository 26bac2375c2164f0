"""Sources under a policy: integer sums of the cells of its columns, and by how much one move of a value changes them.

A move takes a row from one cell to another that an edge of the policy joins to it. So a vector ``W x`` of sums of the
counts ``x`` moves by a difference of two columns of ``W``: by the largest one over all edges. Sums of consecutive cells
of one column are measured without writing ``W``: of two cells within reach it matters only which sums part them, and
the cell that is farthest away is parted by all that part nearer ones.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from dither.data import Aggregation, Call, CountRows, DataSet, Filter, Relation, Scan
from dither.data.column_values import counted_columns, integer_column, place_column
from dither.data.engines.protocol import Engine
from dither.data.expressions import Value, kind_of
from dither.data.policies import Policy, policy_of, public_cells
from dither.data.schema import Table
from dither.data.wire import register_records
from dither.errors import InvalidParameter
from dither.exact import sqrt_up, typed, whole
from dither.lift.axes import Axis, axis_of
from dither.lift.source import Source
from dither.mechanisms.core.mechanism import Mechanism
from dither.mechanisms.core.values import LARGEST_VALUE
from dither.privacy import L1, L2, VALUE, Distance

Counts = NDArray[np.int64]
#: How many differences of columns are looked through at most.
_MOST_WORK: Final = 2**27
#: Entries of a query, and all queries together.
LARGEST_ENTRY: Final = 2**32
MOST_QUERIES: Final = 256
_LARGEST_WEIGHT: Final = 2**16
_MOST_LEVELS: Final = 20

T = TypeVar("T")


class UnderPolicy(Source[Counts]):
    """The counts of the cells of a policy, in the order of its columns, as an integer vector of sums of them."""

    dataset: DataSet

    @property
    def _declared(self) -> tuple[Table, Policy]:
        return policy_of(self.dataset)

    @property
    def policy(self) -> Policy:
        """The declared policy."""
        return self._declared[1]

    @cached_property
    def labels(self) -> tuple[tuple[Value, ...], ...]:
        """The public values of each column, which are its cells."""
        table, policy = self._declared
        return tuple(public_cells(table.column(name)) or () for name in policy.columns)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of cells of each column."""
        return tuple(map(len, self.labels))

    @property
    def cells(self) -> int:
        """The number of cells."""
        return math.prod(self.shape)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Of a partition, where blocks begin."""
        table, policy = self._declared
        return tuple(policy.block_starts(table))

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """What an engine groups rows by."""
        table, policy = self._declared
        return tuple(axis_of(table.column(name)) for name in policy.columns)

    @cached_property
    def asked(self) -> Aggregation:
        """The engine's aggregation: how many rows have each combination of declared values."""
        relation: Relation = Scan(self._declared[0])
        for axis in self.axes:
            relation = Filter(relation, Call("not", (Call("is_null", (axis.value,)),)))
        return Aggregation(relation, tuple(axis.value for axis in self.axes), (CountRows(),))

    def aggregations(self) -> tuple[Aggregation, ...]:
        """Return the statement that counts."""
        return (self.asked,)

    def counts(self, engine: Engine) -> Counts:
        """Return the counts of all cells, flat; what is not a declared value is in no cell."""
        columns, counts = counted_columns(engine.aggregate(self.asked), len(self.axes))
        kinds = self.asked.relation.columns
        places = np.empty((len(counts), len(self.axes)), dtype=np.int64)
        for number, (axis, labels, found) in enumerate(zip(self.axes, self.labels, columns, strict=True)):
            places[:, number] = (
                integer_column(found, len(counts), axis.size)
                if axis.is_numbered
                else place_column(found, len(counts), labels, kind_of(axis.value, kinds))
            )
        is_cell = (places >= 0).all(axis=1)
        table = np.zeros(self.shape, dtype=np.int64)
        np.add.at(table, tuple(places[is_cell].T), counts[is_cell])
        return table.reshape(-1)

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of sums."""

    def check(self, method: Mechanism[Any, Any]) -> None:
        """Reject a method for another number of sums."""
        super().check(method)
        if getattr(method, "shape", (self.size,)) != (self.size,):
            raise InvalidParameter("method", method.name, f"a method for {self.size} sums")

    def read(self, engine: Engine) -> Counts:
        """Return the sums."""
        return self.of_counts(self.counts(engine))

    @abstractmethod
    def of_counts(self, counts: Counts) -> Counts:
        """Return the sums of counts: a linear map, saturated."""

    @abstractmethod
    def _squares(self) -> tuple[int, int]:
        """Return the largest L1 norm, and squared L2 norm, of a difference of two columns that an edge joins."""

    @cached_property
    def moved_by_edge(self) -> tuple[int, int]:
        """The same, and 1 where no edge moves anything: what is read is never released without noise."""
        one, two = self._squares()
        return max(one, 1), max(two, 1)

    def moves(self) -> dict[Distance, Fraction]:
        """Return by how much one allowed move of one value changes the sums."""
        one, two = self.moved_by_edge
        return {L1: Fraction(one), L2: sqrt_up(Fraction(two))}


def _check_unit(dataset: DataSet) -> None:
    """Reject a data set whose unit is not a value."""
    if dataset.unit != VALUE:
        raise InvalidParameter("dataset", dataset.name, "one whose schema declares a policy, with the unit value")
    policy_of(dataset)


@dataclass(frozen=True)
@typed
class PolicySums(UnderPolicy):
    """Sums of consecutive cells of one column: blocks on several levels, and sums up to the end of each large block.

    Level l has the blocks of ``branching^l`` cells, each times ``weights[l]``. With ``ordered`` there are also the sums
    of the first ``k`` blocks of ``branching^len(weights)`` cells, each times ``ordered``. Blocks of several columns
    are single cells: then there is one level and no ``ordered``.

    Args:
        dataset: the schema, whose unit is a value.
        weights: of the levels, from single cells up; integers from 1.
        branching: how many blocks make up one of the next level.
        ordered: the weight of the sums from the first cell; 0 for none.

    """

    dataset: DataSet
    weights: tuple[int, ...]
    branching: int = 2
    ordered: int = 0

    def __post_init__(self) -> None:
        """Reject levels that the cells do not have."""
        _check_unit(self.dataset)
        for weight in self.weights:
            whole("weights", weight, least=1, most=_LARGEST_WEIGHT)
        whole("ordered", self.ordered, least=0, most=_LARGEST_WEIGHT)
        whole("branching", self.branching, least=2, most=2**16)
        if not self.weights and not self.ordered:
            raise InvalidParameter("weights", self.weights, "at least one level, or sums from the first cell")
        if len(self.weights) > _MOST_LEVELS or (self.ordered and self.width > self.cells):
            raise InvalidParameter("weights", len(self.weights), f"levels of at most {self.cells} cells")
        if len(self.shape) > 1 and (len(self.weights) != 1 or self.ordered):
            raise InvalidParameter("weights", self.weights, "one level where the policy has several columns")

    @property
    def width(self) -> int:
        """The number of cells of a block whose end is measured from the first cell."""
        return int(self.branching ** len(self.weights))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of sums on each level, and behind them the number of sums from the first cell."""
        levels = [-(-self.cells // self.branching**level) for level in range(len(self.weights))]
        return (*levels, -(-self.cells // self.width) if self.ordered else 0)

    @property
    def size(self) -> int:
        """The number of all sums."""
        return sum(self.sizes)

    def of_counts(self, counts: Counts) -> Counts:
        """Return the weighted sums, level by level."""
        most = LARGEST_VALUE // (_LARGEST_WEIGHT * 2)
        parts, blocks = [], counts
        for weight in self.weights:
            parts.append(np.clip(blocks, -most, most) * weight)
            blocks = np.add.reduceat(blocks, np.arange(0, len(blocks), self.branching))
        if self.ordered:
            parts.append(np.clip(np.cumsum(blocks), -most, most) * self.ordered)
        return np.concatenate(parts)

    def _squares(self) -> tuple[int, int]:
        policy = self.policy
        if len(self.shape) > 1:
            return 2 * self.weights[0], 2 * self.weights[0] ** 2
        if policy.graph in ("full", "attribute"):
            place, far = np.zeros(1, dtype=np.int64), np.array([self.cells - 1])
        else:
            place, far = np.arange(self.cells), policy.far(self.cells, self.starts)
        one, two = np.zeros(len(place), dtype=np.int64), np.zeros(len(place), dtype=np.int64)
        for level, weight in enumerate(self.weights):
            is_parted = place // self.branching**level != far // self.branching**level
            one += 2 * weight * is_parted
            two += 2 * weight**2 * is_parted
        if self.ordered:
            ends = far // self.width - place // self.width
            one += self.ordered * ends
            two += self.ordered**2 * ends
        return int(one.max()), int(two.max())


@dataclass(frozen=True)
@typed
class PolicyQueries(UnderPolicy):
    """Any linear queries with integer weights, whose sensitivity is the largest difference over all edges.

    Args:
        dataset: the schema, whose unit is a value.
        queries: a row of weights for each query, one for every cell.

    """

    dataset: DataSet
    queries: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        """Reject weights of other cells, and more edges than can be compared."""
        _check_unit(self.dataset)
        whole("queries", len(self.queries), least=1, most=MOST_QUERIES)
        for row in self.queries:
            if len(row) != self.cells or max(map(abs, row), default=0) > LARGEST_ENTRY:
                rule = f"{self.cells} weights of at most 2^32 for each query, one for every cell of the policy"
                raise InvalidParameter("queries", f"{len(row)} weights", rule)
        edges = self.policy.count(self.shape, self.starts)
        if edges * len(self.queries) > _MOST_WORK:
            rule = f"at most {_MOST_WORK // edges:,} for a policy with {edges:,} pairs: ask for a histogram instead"
            raise InvalidParameter("queries", len(self.queries), rule)

    @property
    def size(self) -> int:
        """The number of queries."""
        return len(self.queries)

    @cached_property
    def _matrix(self) -> Counts:
        return np.array(self.queries, dtype=np.int64)

    def of_counts(self, counts: Counts) -> Counts:
        """Return the answers, exact where they fit."""
        limit = LARGEST_VALUE // 2
        exact: Any = self._matrix.astype(object) @ counts.astype(object)
        return np.array([max(-limit, min(limit, int(answer))) for answer in exact], dtype=np.int64)

    def _squares(self) -> tuple[int, int]:
        one = two = 0
        columns = np.ascontiguousarray(self._matrix.T)
        for here, there in self.policy.edges(self.shape, self.starts):
            if here.size:
                changes = np.abs(columns[here] - columns[there])
                one = max(one, int(changes.sum(axis=1).max()))
                # Squares of differences of large entries do not fit 64 bits.
                largest = int(changes.max())
                squared = changes.astype(object) ** 2 if largest > 2**27 else changes**2
                two = max(two, int(squared.sum(axis=1).max()))
        return one, two


register_records(PolicySums, PolicyQueries)

"""Sources of rows with personal budgets: integer queries in which each row weighs in proportion to its budget.

A query is *stretched*, and a row counts in proportion to its level, or *plain*, and all rows count alike, as much as a
row of the least level. A row of level l is at the distance l / highest from a data set without it; what is read moves
by at most a public constant times that distance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.data import Aggregation, Call, CountRows, DataSet, Filter, Relation, Scan
from dither.data.column_values import counted_columns, integer_column, place_column
from dither.data.engines.protocol import Engine
from dither.data.expressions import Value, kind_of
from dither.data.personal import Personal, personal_of
from dither.data.policies import public_cells
from dither.data.schema import Table
from dither.data.wire import register_records
from dither.errors import InvalidParameter
from dither.exact import typed, whole
from dither.lift.axes import Axis, axis_of
from dither.lift.source import Source
from dither.mechanisms.core.values import LARGEST_VALUE
from dither.privacy import L1, PERSONAL, Distance

Counts = NDArray[np.int64]
#: Entries of a query, cells times levels, and queries.
LARGEST_ENTRY: Final = 2**32
MOST_CELLS: Final = 2**20
MOST_QUERIES: Final = 256
_MOST_WORK: Final = 2**26


@dataclass(frozen=True)
@typed
class PersonalQueries(Source[Counts]):
    """Linear queries on the cells of some columns, in which rows weigh by their levels.

    Args:
        dataset: the schema, whose unit is personal.
        columns: with declared values; none of them for a query about all rows.
        queries: a row of integer weights for each query, one for every cell.
        stretched: for each query, whether rows count in proportion to their levels; else all count as the least one.

    """

    dataset: DataSet
    columns: tuple[str, ...]
    queries: tuple[tuple[int, ...], ...]
    stretched: tuple[bool, ...]

    def __post_init__(self) -> None:
        """Reject columns without declared values, and weights of other cells."""
        if self.dataset.unit != PERSONAL:
            raise InvalidParameter("dataset", self.dataset.name, "one whose schema declares personal budgets")
        for name, labels in zip(self.columns, self.labels, strict=True):
            if not labels or name == self._declared[1].budget:
                rule = "a column with categories, an integer with bounds, a date with bounds or a boolean"
                raise InvalidParameter("columns", name, f"{rule}, and not that of the budgets")
        if self.cells * len(self._declared[1].levels) > MOST_CELLS:
            raise InvalidParameter("columns", f"{self.cells:,} cells", f"at most {MOST_CELLS:,} cells and levels")
        whole("queries", len(self.queries), least=1, most=MOST_QUERIES)
        if len(self.stretched) != len(self.queries):
            raise InvalidParameter("stretched", len(self.stretched), f"one for each of {len(self.queries)} queries")
        for row in self.queries:
            if len(row) != self.cells or max(map(abs, row), default=0) > LARGEST_ENTRY:
                rule = f"{self.cells} weights of at most 2^32 for each query, one for every cell"
                raise InvalidParameter("queries", f"{len(row)} weights", rule)
        if self.cells * len(self.queries) > _MOST_WORK:
            raise InvalidParameter("queries", len(self.queries), f"at most {_MOST_WORK // self.cells:,} on these cells")

    @property
    def _declared(self) -> tuple[Table, Personal]:
        return personal_of(self.dataset)

    @cached_property
    def labels(self) -> tuple[tuple[Value, ...], ...]:
        """The declared values of each column, which are its cells."""
        table, _ = self._declared
        return tuple(public_cells(table.column(name)) or () for name in self.columns)

    @property
    def cells(self) -> int:
        """The number of cells."""
        return math.prod(map(len, self.labels))

    @property
    def size(self) -> int:
        """The number of queries."""
        return len(self.queries)

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """What an engine groups rows by, beside their levels."""
        table, _ = self._declared
        return tuple(axis_of(table.column(name)) for name in self.columns)

    @cached_property
    def asked(self) -> Aggregation:
        """The engine's aggregation: how many rows of each level have each combination of values."""
        table, personal = self._declared
        level = personal.level_of(table)
        keys = (*(axis.value for axis in self.axes), level)
        relation: Relation = Scan(table)
        for key in keys:
            relation = Filter(relation, Call("not", (Call("is_null", (key,)),)))
        return Aggregation(relation, keys, (CountRows(),))

    def aggregations(self) -> tuple[Aggregation, ...]:
        """Return the statement that counts."""
        return (self.asked,)

    def counts(self, engine: Engine) -> Counts:
        """Return the number of rows in each cell, one column for each level; what is in no cell does not count."""
        columns, counts = counted_columns(engine.aggregate(self.asked), len(self.axes) + 1)
        kinds, levels = self.asked.relation.columns, len(self._declared[1].levels)
        places = np.empty((len(counts), len(self.axes) + 1), dtype=np.int64)
        for number, (axis, labels, found) in enumerate(zip(self.axes, self.labels, columns, strict=False)):
            places[:, number] = (
                integer_column(found, len(counts), axis.size)
                if axis.is_numbered
                else place_column(found, len(counts), labels, kind_of(axis.value, kinds))
            )
        places[:, -1] = integer_column(columns[-1], len(counts), levels)
        is_cell = (places >= 0).all(axis=1)
        table = np.zeros((*map(len, self.labels), levels), dtype=np.int64)
        np.add.at(table, tuple(places[is_cell].T), counts[is_cell])
        return table.reshape(-1, levels)

    def read(self, engine: Engine) -> Counts:
        """Return the answers."""
        return self.of_counts(self.counts(engine))

    @cached_property
    def weights(self) -> Counts:
        """How much a row of each level counts in each query."""
        own = np.array(self._declared[1].weights, dtype=np.int64)
        return np.stack([own if is_stretched else np.full_like(own, own[0]) for is_stretched in self.stretched])

    def of_counts(self, counts: Counts) -> Counts:
        """Return the answers on counts of cells by levels, saturated."""
        limit = LARGEST_VALUE // 2
        found = []
        for row, weights in zip(self.queries, self.weights, strict=True):
            weighed: Any = counts.astype(object) @ weights.astype(object)
            answer = sum(weight * int(many) for weight, many in zip(row, weighed, strict=True) if weight)
            found.append(max(-limit, min(limit, answer)))
        return np.array(found, dtype=np.int64)

    @cached_property
    def moved_by_share(self) -> int:
        """The largest change of all answers together for a row of any level, divided by its share of the highest."""
        personal = self._declared[1]
        sums: Any = np.abs(np.array(self.queries, dtype=object)).T @ self.weights.astype(object)
        highest = personal.weights[-1]
        each = (-(-int(most) * highest // own) for most, own in zip(sums.max(axis=0), personal.weights, strict=True))
        return max(1, *each)

    def moves(self) -> dict[Distance, Fraction]:
        """Return by how much a row of the highest level moves the answers; others move them in proportion at most."""
        return {L1: Fraction(self.moved_by_share)}


register_records(PersonalQueries)

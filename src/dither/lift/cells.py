"""Cells: the counts of a histogram or a contingency table of private rows.

``Cells`` is one or more axes over private rows. It knows its shape and how far its counts move when one unit of the
data set comes, goes or is replaced, and it has an engine count them. Nothing here adds noise.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.data import (
    Aggregated,
    Aggregation,
    Bounded,
    Call,
    CountRows,
    DataSet,
    Expression,
    Filter,
    Keep,
    Kind,
    Limits,
    Literal,
    OneOf,
    Relation,
    Scan,
)
from dither.data.column_values import counted_columns, integer_column, place_column
from dither.data.contribution import (
    Contribution,
    Sensitivity,
    contribution,
    effective_limits,
    of_rows,
    within_structure,
)
from dither.data.engines.protocol import Engine
from dither.data.expressions import kind_of, names_in
from dither.data.joins import check_relation
from dither.data.owners import scan_of
from dither.data.wire import register_records
from dither.errors import InvalidParameter
from dither.exact import typed
from dither.lift.attributes import Attributes
from dither.lift.axes import DROP, ENDS, MOST_CELLS, TOO_MANY, Axis, axis_of
from dither.lift.source import Source
from dither.mechanisms.core.mechanism import Mechanism
from dither.privacy import L1, L2, RECORDS, ROW, Distance

#: Lists of values that one statement joins to; engines keep few of them at hand.
_MOST_LISTS: Final = 4


@dataclass(frozen=True)
@typed
class Cells(Source[NDArray[np.int64]]):
    """A table of counts of private rows, to which methods on counts are lifted.

    Args:
        dataset: the schema, with the unit and the limits.
        relation: the private rows.
        axes: into which cell a row falls, along each dimension.

    """

    dataset: DataSet
    relation: Relation
    axes: tuple[Axis, ...]

    def __post_init__(self) -> None:
        """Reject a table without cells, with too many, or with one column twice."""
        names = [axis.name for axis in self.axes]
        if not names or len(set(names)) != len(names) or any(axis.size < 1 for axis in self.axes):
            raise InvalidParameter("columns", names, "different columns, at least one, each with at least one cell")
        check_relation(self.relation, self.dataset)
        for axis in self.axes:
            kind_of(axis.value, self.relation.columns)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of cells along each axis."""
        return tuple(axis.size for axis in self.axes)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return tuple(axis.name for axis in self.axes)

    @cached_property
    def attributes(self) -> Attributes:
        """The columns and their numbers of cells, in the form that methods on coded tables use."""
        return Attributes(self.names, self.shape)

    def check_dense(self) -> None:
        """Reject more cells than can be stored at once, and suggest an alternative."""
        if math.prod(self.shape) > MOST_CELLS:
            raise InvalidParameter("columns", f"{math.prod(self.shape)} cells", TOO_MANY)

    @cached_property
    def limits(self) -> Limits:
        """How much of one person counts."""
        return effective_limits(self.dataset, within_structure(Limits(), self.relation))

    @cached_property
    def contribution(self) -> Contribution:
        """How much of one unit counts."""
        return contribution(self.dataset, self.limits, math.prod(self.shape))

    @cached_property
    def sensitivity(self) -> Sensitivity:
        """How far all counts move together when one unit is added, removed or replaced."""
        return of_rows(self.contribution, 0, 1, math.prod(self.shape))

    @cached_property
    def asked(self) -> Aggregation:
        """The engine's aggregation: how many of the counted rows fall into each non-empty cell."""
        relation = self.relation
        for axis in self.axes:
            if axis.is_numbered:
                relation = Filter(relation, Call("not", (Call("is_null", (axis.value,)),)))
            else:
                relation = listed_rows(relation, axis, len(self.axes))
        keys = tuple(axis.value for axis in self.axes)
        if self.dataset.protects_persons:
            used = frozenset().union(*map(names_in, keys))
            order = tuple(name for name in relation.columns if name in used)
            relation = Bounded(relation, keys, self.limits, order)
        return Aggregation(relation, keys, (CountRows(),))

    def aggregations(self) -> tuple[Aggregation, ...]:
        """Return the statement that counts rows by cells; reject a table that cannot be stored."""
        self.check_dense()
        return (self.asked,)

    def read(self, engine: Engine) -> NDArray[np.int64]:
        """Return the counts of all cells."""
        return self.table(engine.aggregate(self.asked))

    def moves(self) -> dict[Distance, Fraction]:
        """Return how far one unit moves all counts together."""
        return {L1: self.sensitivity.l1, L2: self.sensitivity.l2}

    def check(self, method: Mechanism[Any, Any]) -> None:
        """Reject a method on anything but counts, and a table that cannot be stored."""
        super().check(method)
        self.check_dense()
        shape, size = getattr(method, "shape", self.shape), getattr(method, "cells", math.prod(self.shape))
        if shape != self.shape or size != math.prod(self.shape):
            raise InvalidParameter("method", f"{method.name} for {shape or size} cells", f"for the shape {self.shape}")

    def filled(self, answer: Aggregated) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the places and counts of the non-empty cells in an engine's answer; odd rows are ignored."""
        columns, counts = counted_columns(answer, len(self.axes))
        length, kinds = len(counts), self.relation.columns
        places = np.empty((length, len(self.axes)), dtype=np.int64)
        for place, (axis, cells) in enumerate(zip(self.axes, columns, strict=True)):
            places[:, place] = (
                integer_column(cells, length, axis.size)
                if axis.is_numbered
                else place_column(cells, length, axis.labels or (), kind_of(axis.value, kinds))
            )
        is_cell = (places >= 0).all(axis=1)
        return places[is_cell], counts[is_cell]

    def table(self, answer: Aggregated) -> NDArray[np.int64]:
        """Return the counts of all cells, of this shape."""
        places, counts = self.filled(answer)
        table = np.zeros(self.shape, dtype=np.int64)
        table[tuple(places.T)] = counts
        return table


def cells_of(
    dataset: DataSet,
    table: str | Relation,
    columns: str | Sequence[str],
    bins: Any = None,
    *,
    outside: str | None = None,
) -> Cells:
    """Return the cells of one or more declared columns.

    Args:
        dataset: the schema.
        table: the name of a private table, or rows of private tables.
        columns: a name, or several: one axis each.
        bins: for one column a number of bins of equal width, the edges of bins, pairs of ends, or a list of values; for
            several a mapping of names to these. What is left out has its declared values as cells.
        outside: what becomes of values beyond the bins: "ends" counts them in the first and the last bin, "drop" does
            not count them. May be left out where bins hold all that is declared possible: then it is "ends" for bounds
            and "drop" for categories. NULL is a cell of its own where single values of a nullable column are the cells,
            and otherwise not counted.

    """
    names = (columns,) if isinstance(columns, str) else tuple(columns)
    given = bins if isinstance(bins, dict) else ({names[0]: bins} if len(names) == 1 else {})
    if not isinstance(bins, dict) and bins is not None and len(names) != 1:
        raise InvalidParameter("bins", bins, "a mapping of column names where there is more than one column")
    if unknown := [name for name in given if name not in names]:
        raise InvalidParameter("bins", unknown, f"set for columns of the request only: {', '.join(names)}")
    if outside not in (None, ENDS, DROP):
        raise InvalidParameter("outside", outside, f"'{ENDS}' or '{DROP}'")
    relation, declared = source_of(dataset, table)
    return Cells(dataset, relation, tuple(axis_of(declared(name), given.get(name), outside) for name in names))


def all_rows(dataset: DataSet, table: str | Relation) -> Cells:
    """Return the one cell that all rows fall into.

    Args:
        dataset: the schema.
        table: the name of a private table, or rows of private tables.

    """
    everything = Axis("rows", Literal(0, Kind.INTEGER), (0,), None, is_numbered=True, is_ordered=False)
    return Cells(dataset, source_of(dataset, table)[0], (everything,))


def listed_rows(relation: Relation, axis: Axis, lists: int) -> Relation:
    """Return the rows whose value is one of an axis's labels, NULL included; ``lists``: the number of such axes."""
    labels = axis.labels or ()
    if lists <= _MOST_LISTS:
        return Keep(relation, (axis.value,), tuple((label,) for label in labels))
    kind = kind_of(axis.value, relation.columns)
    known = tuple(Literal(label, kind) for label in labels if label is not None)
    is_listed: Expression = OneOf(axis.value, known)
    if len(known) < len(labels):
        is_listed = Call("or", (Call("is_null", (axis.value,)), is_listed))
    return Filter(relation, is_listed)


def source_of(dataset: DataSet, table: str | Relation) -> tuple[Relation, Any]:
    """Return the private rows, and a function that finds the declaration of a column."""
    if isinstance(table, Relation):
        check_relation(table, dataset)
        below = table
        while not isinstance(below, Scan):
            inner = getattr(below, "relation", None)
            if inner is None:
                raise InvalidParameter("table", type(below).__name__, "the rows of one table, filtered if need be")
            below = inner
        return table, below.table.column
    found = dataset.table(table)
    if found.is_public:
        raise InvalidParameter("table", table, "a private table: a public one needs no privacy")
    return scan_of(dataset, found), found.column


@dataclass(frozen=True)
@typed
class SparseCells(Source["Counter[int]"]):
    """The non-empty cells, by number, of a table that may be too large to write out.

    Args:
        cells: which rows, and into which cell each falls; public.

    """

    cells: Cells

    @property
    def dataset(self) -> DataSet:
        """The schema."""
        return self.cells.dataset

    def aggregations(self) -> tuple[Aggregation, ...]:
        """Return the statement that counts rows by cells."""
        return (self.cells.asked,)

    def read(self, engine: Engine) -> Counter[int]:
        """Return how many rows each non-empty cell has."""
        places, counts = self.cells.filled(engine.aggregate(self.cells.asked))
        numbers = np.ravel_multi_index(tuple(places.T), self.cells.shape)
        return Counter(dict(zip(numbers.tolist(), counts.tolist(), strict=True)))

    def moves(self) -> dict[Distance, Fraction]:
        """Return how many rows one unit adds and removes together."""
        return {ROW: self.cells.sensitivity.l1, RECORDS: self.cells.sensitivity.l1}

    def check(self, method: Mechanism[Any, Any]) -> None:
        """Reject a method for another number of cells."""
        super().check(method)
        size = math.prod(self.cells.shape)
        if getattr(method, "cells", size) != size:
            raise InvalidParameter("method", getattr(method, "cells", None), f"a method for {size} cells")


register_records(Cells, SparseCells)

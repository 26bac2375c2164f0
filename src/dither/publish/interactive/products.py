"""Products: questions that are conditions on single columns, all of which hold, and what noisy pairs say about them.

A table of all cells is never written out. Of a question about some columns only the marginal on these columns matters,
and of each column only which values are asked for: so the model of a question is a small table on its own columns,
fitted to what was measured of them. Where that marginal is small it has all values; where it is not, the values of a
column that no question tells apart are one. Either way it is the table of largest entropy that has the measured pairs
of these columns, and the answers that were measured of such questions.

Post-processing only: what is handed over has been released.
"""

from __future__ import annotations

import hashlib
import math
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, Final, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter, InvalidValue
from dither.estimate.fitting import proportional_fit
from dither.lift.attributes import Attributes, Axes
from dither.lift.records import Records
from dither.publish.histograms.common import Floats
from dither.publish.interactive.first_model import Estimate, FirstModel
from dither.publish.interactive.updates import Mask, TableLearner

#: Columns that one question has conditions on: two values of each are a table of its own.
MOST_ASKED: Final = 12
#: Cells of the table on the columns of a question; beyond, values that nobody tells apart are one.
_MOST_LOCAL: Final = 2**16
_MOST_COARSE: Final = 2**14
#: Tables that are kept at hand.
_KEPT: Final = 64
_TOLERANCE: Final = 1e-5
_PASSES: Final = 20
_WORK: Final = 2**25
#: A cell counts at most this number of rows, so that no sum of cells in memory overflows.
_MOST_IN_CELL: Final = 2**32


class Product:
    """A question: which values of some columns; a row counts if it has one of them in each of these columns.

    Args:
        sides: for each column with a condition, by number, whether each of its values is asked for.

    """

    def __init__(self, sides: Mapping[int, Mask]) -> None:
        none = [axis for axis in sorted(sides) if not sides[axis].any()]
        # One column without a value says it all; columns of which all values are asked for say nothing.
        told = none[:1] or [axis for axis in sorted(sides) if not sides[axis].all()]
        self.sides = {axis: np.ascontiguousarray(sides[axis]) for axis in told}
        self.axes: Axes = tuple(self.sides)

    @property
    def key(self) -> bytes:
        """What tells it from other questions."""
        told = hashlib.sha256()
        for axis, side in self.sides.items():
            told.update(axis.to_bytes(4, "big") + np.packbits(side).tobytes())
        return told.digest()

    def cells(self, axes: Axes) -> Mask:
        """Return the cells of a marginal that has all its columns, as an array of bools; for few columns only."""
        sizes = [len(self.sides[axis]) if axis in self.sides else 1 for axis in axes]
        shapes = [[size if one == place else 1 for one in range(len(axes))] for place, size in enumerate(sizes)]
        asked = [self.sides[axis].reshape(shapes[place]) for place, axis in enumerate(axes) if axis in self.sides]
        return reduce(np.logical_and, asked, np.ones([1] * len(axes), dtype=np.bool_))


def product_of(attributes: Attributes, question: Any) -> Product:
    """Return a question as a product, or reject what is none.

    Args:
        attributes: names and sizes.
        question: a product, or a mapping of names of columns to arrays of bools, one for each value.

    >>> people = Attributes.of({"sex": 2, "age": 3})
    >>> product_of(people, {"age": np.array([True, False, False]), "sex": np.array([True, True])}).axes
    (1,)

    """
    if isinstance(question, Product):
        given: dict[Any, Any] = {attributes.names[axis]: side for axis, side in question.sides.items()}
    elif isinstance(question, Mapping):
        given = dict(question)
    else:
        rule = "a mapping of names of columns to arrays of bools, one for each value"
        raise InvalidParameter("question", type(question).__name__, rule)
    places = {name: axis for axis, name in enumerate(attributes.names)}
    sides: dict[int, Mask] = {}
    for name, side in given.items():
        if name not in places:
            raise InvalidParameter("question", name, f"about known columns, such as {', '.join(attributes.names[:5])}")
        size = attributes.sizes[places[name]]
        if not isinstance(side, np.ndarray) or side.dtype != np.bool_ or side.shape != (size,):
            raise InvalidParameter("question", type(side).__name__, f"an array of {size} bools for {name}")
        sides[places[name]] = side
    product = Product(sides)
    if len(product.axes) > MOST_ASKED:
        raise InvalidParameter("question", f"{len(product.axes)} columns", f"conditions on at most {MOST_ASKED}")
    return product


@runtime_checkable
class AskedRecords(Records, Protocol):
    """Private records of which products are counted."""

    def within(self, question: Product) -> int:
        """Return the number of records that a question is about."""


class WeightedRecords:
    """Records in memory: the cells that are not empty, and how many records each holds.

    Args:
        attributes: names and sizes.
        places: a row for each cell, a column for each attribute; different cells, in range.
        counts: of each cell; beyond 2^32 it counts as that.

    """

    def __init__(self, attributes: Attributes, places: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
        self._attributes = attributes
        # By columns, as questions read them.
        self._places = np.ascontiguousarray(places.T)
        self._counts = np.clip(counts, 0, _MOST_IN_CELL)

    @classmethod
    def of_codes(cls, attributes: Attributes, data: Any) -> WeightedRecords:
        """Return the records of an array of codes; a number out of range means the nearest in range."""
        codes = attributes.codes(data)
        return cls(attributes, codes.T, np.ones(codes.shape[1], dtype=np.int64))

    @property
    def attributes(self) -> Attributes:
        """Names and sizes."""
        return self._attributes

    @property
    def filled(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The cells, a row for each attribute, and the records of each; private."""
        return self._places, self._counts

    def count(self, axes: Axes) -> NDArray[np.int64]:
        """Return a marginal."""
        shape = self._attributes.shape_of(axes)
        numbers = np.zeros(len(self._counts), dtype=np.int64)
        for axis, size in zip(axes, shape, strict=True):
            numbers = numbers * size + self._places[axis]
        summed = np.zeros(math.prod(shape), dtype=np.int64)
        np.add.at(summed, numbers, self._counts)
        return summed.reshape(shape)

    def within(self, question: Product) -> int:
        """Return the number of records that a question is about."""
        found = np.ones(len(self._counts), dtype=np.bool_)
        for axis, side in question.sides.items():
            found &= side[self._places[axis]]
        return int(self._counts[found].sum())


def asked_records(attributes: Attributes, data: Any) -> AskedRecords:
    """Return data as records of which products are counted: an array of codes, or such records."""
    if isinstance(data, np.ndarray):
        return WeightedRecords.of_codes(attributes, data)
    if isinstance(data, AskedRecords) and data.attributes == attributes:
        return data
    raise InvalidValue("data", data, "an array of integers, or records, of the declared attributes")


class LocalModel:
    """Noisy marginals of one and two columns, and a table for the columns of each question, fitted to them.

    Args:
        attributes: names and sizes.
        first: what was measured, made to agree.

    """

    def __init__(self, attributes: Attributes, first: FirstModel) -> None:
        self._attributes, self._first = attributes, first
        self._told: list[tuple[Product, float]] = []
        self._tables: OrderedDict[Axes, Floats] = OrderedDict()

    def estimate(self, question: Product) -> Estimate | None:
        """Return the answer by least squares; None where the columns were not measured together."""
        axes = self._first.around(question.axes)
        if axes is None:
            return None
        cells = np.broadcast_to(question.cells(axes), self._attributes.shape_of(axes))
        return self._first.combined(axes, cells.astype(np.float64))

    def answer(self, question: Product) -> float:
        """Return the answer of the table on the columns of the question."""
        axes = question.axes
        if not axes:
            return self._first.total
        told = [(asked, answer) for asked, answer in self._told if set(asked.axes) <= set(axes)]
        if self._attributes.cells_of(axes) <= _MOST_LOCAL:
            if axes not in self._tables:
                groups = [np.arange(self._attributes.sizes[axis]) for axis in axes]
                self._tables[axes] = _learned(self._fitted(axes, groups), axes, groups, told)
                while len(self._tables) > _KEPT:
                    self._tables.popitem(last=False)
            self._tables.move_to_end(axes)
            return float(np.sum(self._tables[axes], where=question.cells(axes)))
        groups, told = self._grouped(question, told)
        table = _learned(self._fitted(axes, groups), axes, groups, told)
        return float(np.sum(table, where=_coarse(question, axes, groups).cells(axes)))

    def learn(self, question: Product, measured: float) -> None:
        """Learn a measured answer: tables on its columns, and on more, will have it."""
        self._told.append((question, measured))
        for axes in [axes for axes in self._tables if set(question.axes) <= set(axes)]:
            del self._tables[axes]

    def _grouped(
        self, question: Product, told: Sequence[tuple[Product, float]]
    ) -> tuple[list[NDArray[np.int64]], list[tuple[Product, float]]]:
        """Return for each column which of its values are alike to the question and to the latest that were told."""
        kept = list(told)
        while True:
            groups = []
            for axis in question.axes:
                sides = [asked.sides[axis] for asked in (question, *(one for one, _ in kept)) if axis in asked.sides]
                groups.append(np.unique(np.stack(sides), axis=1, return_inverse=True)[1].reshape(-1))
            if math.prod(int(group.max()) + 1 for group in groups) <= _MOST_COARSE or not kept:
                return groups, kept
            kept.pop(0)

    def _fitted(self, axes: Axes, groups: Sequence[NDArray[np.int64]]) -> Floats:
        """Return the table of largest entropy on some columns, whose values are grouped, that has what was measured."""
        shares = [np.bincount(group) / len(group) for group in groups]
        sums = {
            axis: np.equal.outer(np.arange(len(share)), group).astype(np.float64)
            for axis, group, share in zip(axes, groups, shares, strict=True)
        }
        start = reduce(np.multiply.outer, shares, np.array(self._first.total))
        held: dict[Axes, Floats] = {}
        for measured, table in self._first.margins.items():
            if set(measured) <= set(axes):
                summed = table
                for place, axis in enumerate(measured):
                    summed = np.moveaxis(np.tensordot(sums[axis], summed, axes=(1, place)), 0, place)
                held[tuple(axes.index(axis) for axis in measured)] = summed
        if not held:
            return np.asarray(start)
        passes = max(3, min(_PASSES, _WORK // (start.size * len(held))))
        return proportional_fit(start, held, tolerance=_TOLERANCE, most_rounds=passes)


def _coarse(question: Product, axes: Axes, groups: Sequence[NDArray[np.int64]]) -> Product:
    """Return a question about grouped values: it is the same for all values of a group."""
    sides = {}
    for axis, group in zip(axes, groups, strict=True):
        if axis in question.sides:
            side = np.zeros(int(group.max()) + 1, dtype=np.bool_)
            side[group] = question.sides[axis]
            sides[axis] = side
    return Product(sides)


def _learned(
    table: Floats, axes: Axes, groups: Sequence[NDArray[np.int64]], told: Sequence[tuple[Product, float]]
) -> Floats:
    """Return a table after it was told measured answers."""
    learner = TableLearner(table, "proportional")
    for asked, answer in told:
        cells = np.broadcast_to(_coarse(asked, axes, groups).cells(axes), table.shape)
        learner.learn(np.ascontiguousarray(cells), answer)
    return learner.table

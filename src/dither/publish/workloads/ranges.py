"""Ranges of consecutive cells: all of them, those that start at the first cell, or a list of them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import typed
from dither.mechanisms.core.public import PublicArray
from dither.publish.workloads.matrices import (
    MOST_ENTRIES,
    MOST_SQUARE,
    Array,
    ColumnNorms,
    Floats,
    Matrix,
    _OneAxis,
    cell_count,
    refuse_dense,
)
from dither.publish.workloads.symmetric import Symmetric


class _Intervals(Matrix):
    """Shared by sets of ranges: prefix sums answer them, and prefix sums of their ends give the transpose."""

    def _ends(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the first cell of every range, and the last."""
        raise NotImplementedError

    @property
    def row_bound(self) -> Fraction:
        """The number of cells: no range holds more."""
        return Fraction(self.cells)

    def times(self, x: Array) -> Array:
        """Return differences of prefix sums."""
        refuse_dense(self.queries * x.shape[1], "the product")
        first, last = self._ends()
        sums = np.concatenate([np.zeros_like(x[:1]), np.cumsum(x, axis=0)])
        return np.asarray(sums[last + 1] - sums[first])

    def transposed_times(self, y: Array) -> Array:
        """Return, for every cell, the sum over the ranges that contain it."""
        refuse_dense((self.cells + self.queries) * y.shape[1], "the product")
        first, last = self._ends()
        steps = np.zeros((self.cells + 1, y.shape[1]), dtype=y.dtype)
        np.add.at(steps, first, y)
        np.subtract.at(steps, last + 1, y)
        return np.cumsum(steps[:-1], axis=0)

    def rows(self, index: NDArray[np.int64]) -> Floats:
        """Return these rows, written out."""
        refuse_dense(len(index) * self.cells, "rows")
        first, last = self._ends()
        place = np.arange(self.cells)
        return ((first[index, None] <= place) & (place <= last[index, None])).astype(np.float64)

    def variances(self, covariance: Symmetric) -> Floats:
        """Return the sums over squares of the covariance, from its two-dimensional prefix sums."""
        refuse_dense(self.queries, "the variance of every query")
        known = covariance.range_variances(*self._ends())
        if known is not None:
            return known
        if self.cells > MOST_SQUARE:
            return super().variances(covariance)
        sums = np.zeros((self.cells + 1, self.cells + 1))
        sums[1:, 1:] = covariance.dense().cumsum(axis=0).cumsum(axis=1)
        first, last = self._ends()
        end = last + 1
        return np.maximum(sums[end, end] - sums[first, end] - sums[end, first] + sums[first, first], 0.0)


@dataclass(frozen=True)
class AllRanges(_Intervals, _OneAxis):
    """All N (N + 1) / 2 ranges of consecutive cells, ordered by first and then by last cell.

    >>> AllRanges(4).norm(1), AllRanges(10**9).norm(1)
    (Fraction(6, 1), Fraction(250000000500000000, 1))
    """

    kind: ClassVar[str] = "all ranges"

    @property
    def queries(self) -> int:
        """N (N + 1) / 2."""
        return self.size * (self.size + 1) // 2

    def _ends(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        refuse_dense(self.queries, "the list of all ranges")
        first, last = np.triu_indices(self.size)
        return first, last

    def column_norms(self, power: int) -> ColumnNorms | None:
        """Return (c + 1) (N - c), the number of ranges that contain cell c."""
        if self.size > MOST_ENTRIES:
            return None
        place = np.arange(self.size, dtype=np.int64)
        return ColumnNorms((place + 1) * (self.size - place), Fraction(1))

    def _norm_bound(self, power: int) -> Fraction:
        # The middle cell; exact.
        return Fraction((self.size + 1) // 2 * (self.size // 2 + 1))

    def gram(self) -> Floats:
        """Return how many ranges contain both cells."""
        self.check_square()
        place = np.arange(self.size, dtype=np.float64)
        return np.asarray((np.minimum.outer(place, place) + 1) * (self.size - np.maximum.outer(place, place)))


@dataclass(frozen=True)
class Prefixes(_Intervals, _OneAxis):
    """All ranges that start at the first cell: cumulative counts.

    >>> Prefixes(3).dense().tolist()
    [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 1.0, 1.0]]
    """

    kind: ClassVar[str] = "prefixes"

    @property
    def queries(self) -> int:
        """One per cell."""
        return self.size

    def _ends(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        refuse_dense(self.queries, "the list of prefixes")
        return np.zeros(self.size, dtype=np.int64), np.arange(self.size)

    def column_norms(self, power: int) -> ColumnNorms | None:
        """Return N - c, the number of prefixes that contain cell c."""
        if self.size > MOST_ENTRIES:
            return None
        return ColumnNorms(np.arange(self.size, 0, -1, dtype=np.int64), Fraction(1))

    def _norm_bound(self, power: int) -> Fraction:
        # The first cell; exact.
        return Fraction(self.size)

    def gram(self) -> Floats:
        """Return how many prefixes contain both cells."""
        self.check_square()
        place = np.arange(self.size, dtype=np.float64)
        return self.size - np.maximum.outer(place, place)


@dataclass(frozen=True)
@typed
class Ranges(_Intervals):
    """Listed ranges, each by its first and last cell.

    >>> Ranges(5, PublicArray([0, 2]), PublicArray([1, 4])).dense().tolist()
    [[1.0, 1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0, 1.0]]
    """

    kind: ClassVar[str] = "ranges"
    size: int
    first: PublicArray
    last: PublicArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", cell_count("cells", self.size))
        for name in ("first", "last"):
            values = getattr(self, name).values
            if values.dtype.str != "<i8" or values.ndim != 1:
                raise InvalidParameter(name, f"{values.dtype} of shape {values.shape}", "a list of integers")
        first, last = self.first.values, self.last.values
        if first.shape != last.shape or not bool(((first >= 0) & (first <= last) & (last < self.size)).all()):
            raise InvalidParameter(
                "ranges", "a range that ends before it starts or leaves the domain", f"within 0 to {self.size - 1}"
            )

    @property
    def domain(self) -> tuple[int, ...]:
        """The one axis."""
        return (self.size,)

    @property
    def queries(self) -> int:
        """The number of ranges."""
        return int(self.first.values.size)

    def _ends(self) -> tuple[NDArray[Any], NDArray[Any]]:
        return self.first.values, self.last.values

    def _depths(self) -> Array:
        """Return how many ranges contain a cell, at every cell where a range starts."""
        starts, ends = np.sort(self.first.values), np.sort(self.last.values)
        return np.searchsorted(starts, starts, side="right") - np.searchsorted(ends, starts, side="left")

    def column_norms(self, power: int) -> ColumnNorms | None:
        """Return how many ranges contain each cell."""
        if self.size > MOST_ENTRIES:
            return None
        steps = np.bincount(self.first.values, minlength=self.size + 1)
        steps -= np.bincount(self.last.values + 1, minlength=self.size + 1)
        return ColumnNorms(np.cumsum(steps[:-1]), Fraction(1))

    def _norm_bound(self, power: int) -> Fraction:
        # The number of ranges that hold a cell rises only where one starts; exact.
        return Fraction(int(self._depths().max()))

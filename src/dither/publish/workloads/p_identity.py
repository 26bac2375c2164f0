"""The p-identity form: every cell with its own weight, and p more rows."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dither.errors import InvalidParameter
from dither.exact import typed
from dither.mechanisms.core.public import PublicArray
from dither.publish.workloads.matrices import Array, ColumnNorms, Floats, Matrix
from dither.publish.workloads.symmetric import DenseSymmetric, Symmetric

_LARGEST_ENTRY = 2**26


@dataclass(frozen=True)
@typed
class PIdentity(Matrix):
    """A diagonal of positive integers above p rows of non-negative integers.

    >>> PIdentity(PublicArray([3, 4]), PublicArray([[1, 1]])).dense().astype(int).tolist()
    [[3, 0], [0, 4], [1, 1]]
    """

    kind: ClassVar[str] = "p-identity"
    diagonal: PublicArray
    more: PublicArray

    def __post_init__(self) -> None:
        diagonal, more = self.diagonal.values, self.more.values
        is_whole = diagonal.dtype.str == "<i8" and more.dtype.str == "<i8"
        if not is_whole or diagonal.ndim != 1 or more.ndim != 2 or more.shape[1] != diagonal.size:
            raise InvalidParameter(
                "more", f"shapes {diagonal.shape} and {more.shape}", "rows of int64 as long as the diagonal"
            )
        if not (diagonal.min() >= 1 and more.min() >= 0 and max(diagonal.max(), more.max()) <= _LARGEST_ENTRY):
            raise InvalidParameter("diagonal", "entries out of range", "integers up to 2^26, above 0 on the diagonal")

    @property
    def domain(self) -> tuple[int, ...]:
        """One axis."""
        return (int(self.diagonal.values.size),)

    @property
    def queries(self) -> int:
        """One per cell, and p more."""
        return int(self.diagonal.values.size + len(self.more.values))

    @property
    def row_bound(self) -> Fraction:
        """The largest row sum."""
        return Fraction(max(int(self.diagonal.values.max()), int(self.more.values.sum(axis=1).max())))

    def times(self, x: Array) -> Array:
        """Return the product."""
        return np.concatenate([self.diagonal.values[:, None] * x, self.more.values @ x])

    def transposed_times(self, y: Array) -> Array:
        """Return the product with the transpose."""
        cells = self.diagonal.values.size
        return np.asarray(self.diagonal.values[:, None] * y[:cells] + self.more.values.T @ y[cells:])

    def column_norms(self, power: int) -> ColumnNorms:
        """Return the sums."""
        total = self.diagonal.values.astype(object) ** power + (self.more.values.astype(object) ** power).sum(axis=0)
        return ColumnNorms(np.asarray(total), Fraction(1))

    def gram(self) -> Floats:
        """Return the Gram matrix."""
        self.check_square()
        more = self.more.values.astype(np.float64)
        return np.asarray(np.diag(self.diagonal.values.astype(np.float64) ** 2) + more.T @ more)

    def covariance(self) -> Symmetric:
        """Return the inverse of the Gram matrix, from the inverse of a matrix of p rows (Woodbury)."""
        self.check_square()
        inverse = 1 / self.diagonal.values.astype(np.float64)
        spread = self.more.values * inverse
        inner = np.linalg.solve(np.eye(len(spread)) + spread @ spread.T, spread * inverse)
        return DenseSymmetric(np.diag(inverse**2) - (spread * inverse).T @ inner)

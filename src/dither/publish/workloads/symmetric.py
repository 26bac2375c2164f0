"""Covariances of estimated counts: symmetric matrices over cells, written out or in structured form."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Symmetric(ABC):
    """A symmetric matrix over ``size`` cells."""

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of cells."""

    @abstractmethod
    def apply(self, x: Floats) -> Floats:
        """Return the product with columns ``x``, an array of shape (size, k)."""

    def diagonal(self) -> Floats:
        """Return the variance of every cell."""
        return np.diagonal(self.dense()).copy()

    def dense(self) -> Floats:
        """Return all entries; the caller has checked that there are few enough."""
        return self.apply(np.eye(self.size))

    def as_product(self, sizes: tuple[int, ...]) -> tuple[Symmetric, ...] | None:
        """Return factors over axes of these sizes whose Kronecker product this is, if known."""
        return (self,) if sizes == (self.size,) else None

    def range_variances(self, first: NDArray[np.int64], last: NDArray[np.int64]) -> Floats | None:
        """Return the variances of sums over ranges of cells, if that does not need the dense form; else None."""
        return None

    def scaled(self, factor: float) -> Symmetric:
        """Return this times a factor."""
        return ScaledSymmetric(self, factor)


@dataclass(frozen=True, eq=False)
class Multiple(Symmetric):
    """A multiple of the identity."""

    cells: int
    factor: float

    @property
    def size(self) -> int:
        """The number of cells."""
        return self.cells

    def apply(self, x: Floats) -> Floats:
        """Return the multiple."""
        return x * self.factor

    def diagonal(self) -> Floats:
        """Return the factor for every cell."""
        return np.full(self.cells, self.factor)

    def range_variances(self, first: NDArray[np.int64], last: NDArray[np.int64]) -> Floats | None:
        """Return the lengths times the factor."""
        return np.asarray((last - first + 1) * self.factor, dtype=np.float64)

    def as_product(self, sizes: tuple[int, ...]) -> tuple[Symmetric, ...] | None:
        """Return the identity on every axis except the first, which takes the factor."""
        factors = [self.factor, *([1.0] * (len(sizes) - 1))]
        return tuple(Multiple(size, factor) for size, factor in zip(sizes, factors, strict=True))

    def scaled(self, factor: float) -> Symmetric:
        """Return another multiple."""
        return Multiple(self.cells, self.factor * factor)


@dataclass(frozen=True, eq=False)
class DenseSymmetric(Symmetric):
    """Entries written out."""

    values: Floats

    @property
    def size(self) -> int:
        """The number of cells."""
        return len(self.values)

    def apply(self, x: Floats) -> Floats:
        """Return the product."""
        return np.asarray(self.values @ x)

    def diagonal(self) -> Floats:
        """Return the diagonal."""
        return np.diagonal(self.values).copy()

    def dense(self) -> Floats:
        """Return the entries."""
        return self.values

    def scaled(self, factor: float) -> Symmetric:
        """Return the entries times the factor."""
        return DenseSymmetric(self.values * factor)


@dataclass(frozen=True, eq=False)
class KronSymmetric(Symmetric):
    """A Kronecker product, axis by axis."""

    parts: tuple[Symmetric, ...]

    @property
    def size(self) -> int:
        """The product of the sizes."""
        return math.prod(part.size for part in self.parts)

    def apply(self, x: Floats) -> Floats:
        """Return the product, one axis after the other."""
        return along_axes([(part.size, part.size, part.apply) for part in self.parts], x)

    def diagonal(self) -> Floats:
        """Return the products of the diagonals."""
        return kron_of([part.diagonal() for part in self.parts])

    def as_product(self, sizes: tuple[int, ...]) -> tuple[Symmetric, ...] | None:
        """Return the parts, if they have these sizes."""
        return self.parts if tuple(part.size for part in self.parts) == sizes else None

    def scaled(self, factor: float) -> Symmetric:
        """Return the product with one part scaled."""
        return KronSymmetric((self.parts[0].scaled(factor), *self.parts[1:]))


@dataclass(frozen=True, eq=False)
class ScaledSymmetric(Symmetric):
    """Another symmetric matrix times a factor."""

    inner: Symmetric
    factor: float

    @property
    def size(self) -> int:
        """The number of cells."""
        return self.inner.size

    def apply(self, x: Floats) -> Floats:
        """Return the product times the factor."""
        return self.inner.apply(x) * self.factor

    def diagonal(self) -> Floats:
        """Return the diagonal times the factor."""
        return self.inner.diagonal() * self.factor

    def range_variances(self, first: NDArray[np.int64], last: NDArray[np.int64]) -> Floats | None:
        """Return the inner variances times the factor."""
        inner = self.inner.range_variances(first, last)
        return None if inner is None else inner * self.factor


def kron_of(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return the Kronecker product of all arrays."""
    result: NDArray[Any] = arrays[0]
    for array in arrays[1:]:
        result = np.asarray(np.kron(result, array))
    return result


def along_axes(factors: list[tuple[int, int, Any]], x: NDArray[Any]) -> NDArray[Any]:
    """Return the columns ``x`` with each factor applied to its own axis.

    Args:
        factors: size before, size after, and the map of columns, for each axis.
        x: an array of shape (product of the sizes before, k).

    """
    columns = x.shape[1]
    value = x.reshape(*(before for before, _, _ in factors), columns)
    for axis, (before, after, apply) in enumerate(factors):
        moved = np.moveaxis(value, axis, 0)
        rest = moved.shape[1:]
        done = np.asarray(apply(moved.reshape(before, -1))).reshape(after, *rest)
        value = np.moveaxis(done, 0, axis)
    return value.reshape(-1, columns)

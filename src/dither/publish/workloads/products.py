"""Matrices built from matrices: Kronecker products over several axes, unions of rows, and weights."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import exact, typed
from dither.publish.workloads.matrices import (
    MOST_CELLS,
    MOST_ENTRIES,
    Array,
    ColumnNorms,
    Floats,
    Matrix,
    refuse_dense,
)
from dither.publish.workloads.symmetric import KronSymmetric, Symmetric, along_axes, kron_of


@dataclass(frozen=True)
@typed
class Kron(Matrix):
    """All products of one query from each factor: multiplied axis by axis, never written out.

    >>> from dither.publish.workloads.matrices import Identity, Total
    >>> product = Kron((Identity(2), Total(3)))
    >>> product.domain, product.queries, product.dense().tolist()[0]
    ((2, 3), 2, [1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    """

    kind: ClassVar[str] = "kron"
    factors: tuple[Matrix, ...]

    def __post_init__(self) -> None:
        _check_matrices("factors", self.factors)
        if self.cells > MOST_CELLS:
            raise InvalidParameter("factors", f"{self.cells} cells", "of at most 2^60 cells together")

    @property
    def domain(self) -> tuple[int, ...]:
        """The axes of all factors."""
        return tuple(axis for factor in self.factors for axis in factor.domain)

    @property
    def queries(self) -> int:
        """The product."""
        return math.prod(factor.queries for factor in self.factors)

    @property
    def is_integer(self) -> bool:
        """Whether all factors have integer entries."""
        return all(factor.is_integer for factor in self.factors)

    @property
    def is_exact(self) -> bool:
        """Exact: the largest norm of a product is the product of the largest norms."""
        return all(factor.is_exact for factor in self.factors)

    @property
    def row_bound(self) -> Fraction:
        """The product."""
        return math.prod((factor.row_bound for factor in self.factors), start=Fraction(1))

    def times(self, x: Array) -> Array:
        """Return the product, axis by axis."""
        refuse_dense(max(self.cells, self.queries) * x.shape[1], "the product")
        return along_axes([(factor.cells, factor.queries, factor.times) for factor in self.factors], x)

    def transposed_times(self, y: Array) -> Array:
        """Return the product with the transpose, axis by axis."""
        refuse_dense(max(self.cells, self.queries) * y.shape[1], "the product")
        return along_axes([(factor.queries, factor.cells, factor.transposed_times) for factor in self.factors], y)

    def column_norms(self, power: int) -> ColumnNorms | None:
        """Return the products of the factors' norms."""
        parts = [factor.column_norms(power) for factor in self.factors]
        if any(part is None for part in parts):
            return None
        known = [part for part in parts if part is not None]
        scale = math.prod((part.scale for part in known), start=Fraction(1))
        if all(len(part.whole) == 1 for part in known):
            return ColumnNorms(np.array([math.prod(int(part.whole[0]) for part in known)], dtype=object), scale)
        if self.cells > MOST_ENTRIES:
            return None
        spread = [
            np.broadcast_to(part.whole.astype(object), factor.cells)
            for part, factor in zip(known, self.factors, strict=True)
        ]
        return ColumnNorms(kron_of(spread), scale)

    def norm(self, power: int) -> Fraction:
        """Return the product of the largest norms; each is attained regardless of the other axes."""
        return math.prod((factor.norm(power) for factor in self.factors), start=Fraction(1))

    def rows(self, index: NDArray[np.int64]) -> Floats:
        """Return these rows, written out."""
        refuse_dense(len(index) * self.cells, "rows")
        result = np.ones((len(index), 1))
        places = np.unravel_index(index, tuple(factor.queries for factor in self.factors))
        for factor, place in zip(self.factors, places, strict=True):
            result = (result[:, :, None] * factor.rows(place)[:, None, :]).reshape(len(index), -1)
        return result

    def gram(self) -> Floats:
        """Return the product of the factors' Gram matrices."""
        self.check_square()
        return kron_of([factor.gram() for factor in self.factors])

    def variances(self, covariance: Symmetric) -> Floats:
        """Return the products of the factors' variances if the covariance is a product too."""
        parts = self._parts_of(covariance)
        if parts is None:
            return super().variances(covariance)
        refuse_dense(self.queries, "the variance of every query")
        return kron_of([factor.variances(part) for factor, part in zip(self.factors, parts, strict=True)])

    def total_variance(self, covariance: Symmetric) -> float:
        """Return the product of the factors' totals if the covariance is a product too."""
        parts = self._parts_of(covariance)
        if parts is None:
            return super().total_variance(covariance)
        return math.prod(factor.total_variance(part) for factor, part in zip(self.factors, parts, strict=True))

    def _parts_of(self, covariance: Symmetric) -> tuple[Symmetric, ...] | None:
        return covariance.as_product(tuple(factor.cells for factor in self.factors))

    def covariance(self) -> Symmetric:
        """Return the product of the factors' Gram matrices."""
        return KronSymmetric(tuple(factor.covariance() for factor in self.factors))

    def solve(self, y: Floats) -> Floats:
        """Return the estimate, solved axis by axis."""
        return along_axes([(factor.queries, factor.cells, factor.solve) for factor in self.factors], y)


@dataclass(frozen=True)
@typed
class Union(Matrix):
    """The rows of several matrices over the same cells, one matrix after another."""

    kind: ClassVar[str] = "union"
    parts: tuple[Matrix, ...]

    def __post_init__(self) -> None:
        _check_matrices("parts", self.parts)
        domains = {part.domain for part in self.parts}
        if len({math.prod(domain) for domain in domains}) != 1:
            raise InvalidParameter("parts", sorted(domains), "over the same cells")

    @property
    def domain(self) -> tuple[int, ...]:
        """The domain of the part with the most axes."""
        return max((part.domain for part in self.parts), key=len)

    @property
    def queries(self) -> int:
        """The sum."""
        return sum(part.queries for part in self.parts)

    @property
    def is_integer(self) -> bool:
        """Whether all parts have integer entries."""
        return all(part.is_integer for part in self.parts)

    @property
    def is_exact(self) -> bool:
        """Whether the norms of all columns could be added up."""
        return all(part.is_exact for part in self.parts) and self.column_norms(1) is not None

    @property
    def row_bound(self) -> Fraction:
        """The largest."""
        return max(part.row_bound for part in self.parts)

    def times(self, x: Array) -> Array:
        """Return the products, one after another."""
        refuse_dense(self.queries * x.shape[1], "the product")
        return np.concatenate([part.times(x) for part in self.parts])

    def transposed_times(self, y: Array) -> Array:
        """Return the sum of the products with the transposes."""
        ends = np.cumsum([part.queries for part in self.parts])[:-1]
        pieces = np.split(y, ends)
        return np.asarray(sum(part.transposed_times(piece) for part, piece in zip(self.parts, pieces, strict=True)))

    def column_norms(self, power: int) -> ColumnNorms | None:
        """Return the sums over the parts."""
        parts = [part.column_norms(power) for part in self.parts]
        if any(part is None for part in parts):
            return None
        known = [part for part in parts if part is not None]
        step = Fraction(1, math.lcm(*(part.scale.denominator for part in known)))
        total: Array = np.zeros(1, dtype=object)
        for part in known:
            total = total + part.whole.astype(object) * int(part.scale / step)
        return ColumnNorms(total, step)

    def _norm_bound(self, power: int) -> Fraction:
        return sum((part.norm(power) for part in self.parts), start=Fraction(0))

    def rows(self, index: NDArray[np.int64]) -> Floats:
        """Return these rows, written out."""
        refuse_dense(len(index) * self.cells, "rows")
        result = np.zeros((len(index), self.cells))
        start = 0
        for part in self.parts:
            mine = (index >= start) & (index < start + part.queries)
            if mine.any():
                result[mine] = part.rows(index[mine] - start)
            start += part.queries
        return result

    def gram(self) -> Floats:
        """Return the sum."""
        self.check_square()
        return np.asarray(sum(part.gram() for part in self.parts))

    def variances(self, covariance: Symmetric) -> Floats:
        """Return the parts' variances."""
        return np.concatenate([part.variances(covariance) for part in self.parts])

    def total_variance(self, covariance: Symmetric) -> float:
        """Return the sum over the parts."""
        return sum(part.total_variance(covariance) for part in self.parts)


@dataclass(frozen=True)
class Weighted(Matrix):
    """A matrix times one exact number: how much its queries matter, or how precisely they are measured."""

    kind: ClassVar[str] = "weighted"
    matrix: Matrix
    weight: Fraction

    def __post_init__(self) -> None:
        _check_matrices("matrix", (self.matrix,))
        weight = exact("weight", self.weight)
        if weight == 0:
            raise InvalidParameter("weight", self.weight, "a number other than 0")
        object.__setattr__(self, "weight", weight)

    @property
    def domain(self) -> tuple[int, ...]:
        """The matrix's domain."""
        return self.matrix.domain

    @property
    def queries(self) -> int:
        """The matrix's queries."""
        return self.matrix.queries

    @property
    def is_integer(self) -> bool:
        """Whether both are integers."""
        return self.matrix.is_integer and self.weight.denominator == 1

    @property
    def is_exact(self) -> bool:
        """The weight is exact."""
        return self.matrix.is_exact

    @property
    def row_bound(self) -> Fraction:
        """The matrix's bound times the weight."""
        return abs(self.weight) * self.matrix.row_bound

    def _factor(self, values: Array) -> Any:
        """Return the weight in a type that multiplies integers or floats."""
        is_whole = self.weight.denominator == 1 and values.dtype.kind in "iu"
        return int(self.weight) if is_whole else float(self.weight)

    def times(self, x: Array) -> Array:
        """Return the product times the weight."""
        product = self.matrix.times(x)
        return np.asarray(product * self._factor(product))

    def transposed_times(self, y: Array) -> Array:
        """Return the product times the weight."""
        product = self.matrix.transposed_times(y)
        return np.asarray(product * self._factor(product))

    def column_norms(self, power: int) -> ColumnNorms | None:
        """Return the matrix's norms times the weight's power."""
        norms = self.matrix.column_norms(power)
        return None if norms is None else ColumnNorms(norms.whole, norms.scale * abs(self.weight) ** power)

    def _norm_bound(self, power: int) -> Fraction:
        return self.matrix.norm(power) * abs(self.weight) ** power

    def rows(self, index: NDArray[np.int64]) -> Floats:
        """Return rows times the weight."""
        return self.matrix.rows(index) * float(self.weight)

    def gram(self) -> Floats:
        """Return the matrix's Gram matrix times the squared weight."""
        return self.matrix.gram() * float(self.weight) ** 2

    def variances(self, covariance: Symmetric) -> Floats:
        """Return the matrix's variances times the squared weight."""
        return self.matrix.variances(covariance) * float(self.weight) ** 2

    def total_variance(self, covariance: Symmetric) -> float:
        """Return the matrix's Gram matrix times the squared weight."""
        return self.matrix.total_variance(covariance) * float(self.weight) ** 2

    def covariance(self) -> Symmetric:
        """Return the matrix's covariance over the squared weight."""
        return self.matrix.covariance().scaled(1 / float(self.weight) ** 2)

    def solve(self, y: Floats) -> Floats:
        """Return the estimate from the products over the weight."""
        return self.matrix.solve(y / float(self.weight))


def _check_matrices(name: str, matrices: Any) -> None:
    if not isinstance(matrices, tuple) or not matrices or not all(isinstance(each, Matrix) for each in matrices):
        raise InvalidParameter(name, matrices, "a tuple of at least one matrix of queries")

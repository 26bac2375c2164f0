"""Weighted marginals of a table with several axes, and the algebra that turns their properties into sums over subsets.

The marginal on a set S of axes sums over all other axes. Counts split into orthogonal parts, one for every set T of
axes: what varies with the axes of T and averages to 0 along each of them. The marginal on S sees the parts T within S,
each stretched by the root of the number of cells that are summed. So Gram matrices, inverses, errors and least squares
are sums over subsets (McKenna, Miklau, Hay and Machanavajjhala 2018, section 7), and the table is never written out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import exact
from dither.publish.workloads.matrices import (
    MOST_CELLS,
    Array,
    ColumnNorms,
    Floats,
    Matrix,
    cell_count,
    refuse_dense,
)
from dither.publish.workloads.symmetric import Symmetric

_MOST_AXES = 16
Axes = tuple[int, ...]


@dataclass(frozen=True)
class Marginals(Matrix):
    """The marginals on some sets of axes, each times a weight.

    Args:
        shape: how many values each axis has.
        sets: the axes that each marginal keeps; ``()`` is the total.
        weights: one exact number above 0 for each; empty means 1 for all.

    >>> pairs = Marginals((10,) * 9, ((0, 1), (1, 2)))
    >>> pairs.cells, pairs.queries, pairs.norm(1)
    (1000000000, 200, Fraction(2, 1))

    """

    kind: ClassVar[str] = "marginals"
    shape: tuple[int, ...]
    sets: tuple[Axes, ...]
    weights: tuple[Fraction, ...] = ()

    def __post_init__(self) -> None:
        for name in ("shape", "sets", "weights"):
            if not isinstance(getattr(self, name), tuple | list):
                raise InvalidParameter(name, getattr(self, name), "a tuple")
        for axes in self.sets:
            if not isinstance(axes, tuple | list) or not all(type(axis) is int for axis in axes):
                raise InvalidParameter("sets", self.sets, "sets of numbers of axes")
        shape = tuple(cell_count("shape", axis) for axis in self.shape)
        if not 1 <= len(shape) <= _MOST_AXES or math.prod(shape) > MOST_CELLS:
            raise InvalidParameter("shape", self.shape, f"1 to {_MOST_AXES} axes with at most 2^60 cells together")
        sets = tuple(tuple(sorted(axes)) for axes in self.sets)
        known = all(set(axes) <= set(range(len(shape))) and len(set(axes)) == len(axes) for axes in sets)
        if not sets or not known or len(set(sets)) != len(sets):
            raise InvalidParameter(
                "sets", self.sets, f"at least one set of axes below {len(shape)}, none of them twice"
            )
        weights = tuple(exact("weights", weight) for weight in self.weights) or (Fraction(1),) * len(sets)
        if len(weights) != len(sets) or not all(weight > 0 for weight in weights):
            raise InvalidParameter("weights", self.weights, "one number above 0 for each set")
        for name, value in (("shape", shape), ("sets", sets), ("weights", weights)):
            object.__setattr__(self, name, value)

    @property
    def domain(self) -> tuple[int, ...]:
        """The shape."""
        return self.shape

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of cells of each marginal."""
        return tuple(math.prod(self.shape[axis] for axis in axes) for axes in self.sets)

    @property
    def queries(self) -> int:
        """The cells of all marginals."""
        return sum(self.sizes)

    @property
    def is_integer(self) -> bool:
        """Whether the weights are integers."""
        return all(weight.denominator == 1 for weight in self.weights)

    @property
    def row_bound(self) -> Fraction:
        """The number of cells that one marginal cell sums, times its weight."""
        return max(weight * (self.cells // size) for weight, size in zip(self.weights, self.sizes, strict=True))

    def column_norms(self, power: int) -> ColumnNorms:
        """Return the same number for all: a cell lies in one cell of each marginal."""
        total = sum((weight**power for weight in self.weights), start=Fraction(0))
        return ColumnNorms(np.array([total.numerator], dtype=object), Fraction(1, total.denominator))

    def times(self, x: Array) -> Array:
        """Return the marginals, one after another, each in the order of its axes."""
        refuse_dense(max(self.cells, self.queries) * x.shape[1], "the product")
        table = x.reshape(*self.shape, x.shape[1])
        parts = []
        for axes, weight in zip(self.sets, self.weights, strict=True):
            dropped = tuple(axis for axis in range(len(self.shape)) if axis not in axes)
            summed = table.sum(axis=dropped).reshape(-1, x.shape[1])
            parts.append(summed * (int(weight) if _stays_whole(weight, summed) else float(weight)))
        return np.concatenate(parts)

    def transposed_times(self, y: Array) -> Array:
        """Return, for every cell, the sum over the marginal cells that contain it."""
        refuse_dense(self.cells * y.shape[1], "the product")
        columns = y.shape[1]
        whole = _stays_whole(math.lcm(*(weight.denominator for weight in self.weights)), y) and self.is_integer
        total = np.zeros((*self.shape, columns), dtype=y.dtype if whole else np.float64)
        for axes, weight, piece in zip(self.sets, self.weights, self.split(y), strict=True):
            shape = tuple(size if axis in axes else 1 for axis, size in enumerate(self.shape))
            total += piece.reshape(*shape, columns) * (int(weight) if whole else float(weight))
        return total.reshape(-1, columns)

    def split(self, y: Array) -> list[Array]:
        """Return the slices of a vector of all answers that belong to each marginal."""
        return np.split(y, np.cumsum(self.sizes)[:-1])

    def rows(self, index: NDArray[np.int64]) -> Floats:
        """Return these rows, written out."""
        refuse_dense(len(index) * self.cells, "rows")
        unit = np.zeros((self.queries, len(index)))
        unit[index, np.arange(len(index))] = 1.0
        return np.ascontiguousarray(self.transposed_times(unit).T)

    @cached_property
    def algebra(self) -> Algebra:
        """The subsets of the axes."""
        return Algebra(self.shape)

    @cached_property
    def spectrum(self) -> Floats:
        """The Gram matrix's eigenvalue for every part of the counts."""
        squares = np.zeros(2 ** len(self.shape))
        for axes, weight in zip(self.sets, self.weights, strict=True):
            squares[subset(axes)] += float(weight) ** 2
        return self.algebra.spectrum(squares)

    def gram(self) -> Floats:
        """Return the Gram matrix, written out."""
        self.check_square()
        return self.transposed_times(self.times(np.eye(self.cells)))

    def variances(self, covariance: Symmetric) -> Floats:
        """Return the variance of every cell of every marginal: one number per marginal if all axes are alike."""
        refuse_dense(self.queries, "the variance of every query")
        if isinstance(covariance, MarginalCovariance) and covariance.algebra.shape == self.shape:
            return np.repeat(self.marginal_variances(covariance), self.sizes)
        factors = covariance.as_product(self.shape)
        if factors is None:
            return super().variances(covariance)
        diagonals = [factor.diagonal() for factor in factors]
        totals = [float(factor.apply(np.ones((factor.size, 1))).sum()) for factor in factors]
        parts = []
        for axes, weight in zip(self.sets, self.weights, strict=True):
            product = np.array([math.prod(totals[axis] for axis in range(len(self.shape)) if axis not in axes)])
            for axis in axes:
                product = np.kron(product, diagonals[axis])
            parts.append(product * float(weight) ** 2)
        return np.concatenate(parts)

    def marginal_variances(self, covariance: MarginalCovariance) -> Floats:
        """Return the variance of a cell of each marginal."""
        algebra = self.algebra
        sums = algebra.below(algebra.dimensions * covariance.inverse)
        places = np.array([subset(axes) for axes in self.sets])
        sizes = np.array(self.sizes, dtype=np.float64)
        weights = np.array([float(weight) for weight in self.weights])
        # The part T of an answer on S is stretched by the cells that S adds up, and spread over the cells of S.
        return np.asarray(weights**2 * (self.cells / sizes) * sums[places] / sizes)

    def total_variance(self, covariance: Symmetric) -> float:
        """Return the sum over all parts of the counts."""
        if isinstance(covariance, MarginalCovariance) and covariance.algebra.shape == self.shape:
            return float(self.spectrum @ (self.algebra.dimensions * covariance.inverse))
        return float(self.variances(covariance).sum())

    def covariance(self) -> MarginalCovariance:
        """Return the inverse on every part that some marginal measures."""
        seen = self.spectrum > 0
        inverse = np.zeros_like(self.spectrum)
        inverse[seen] = 1 / self.spectrum[seen]
        return MarginalCovariance(self.algebra, inverse)


def _stays_whole(weight: Fraction | int, values: Array) -> bool:
    return weight.denominator == 1 and values.dtype.kind in "iu"


def subset(axes: Sequence[int]) -> int:
    """Return the number of a set of axes: bit a stands for axis a."""
    return sum(1 << axis for axis in axes)


@dataclass(frozen=True)
class Algebra:
    """Sums over the subsets of the axes of a table."""

    shape: tuple[int, ...]

    @cached_property
    def dimensions(self) -> Floats:
        """The dimension of each part of the counts: the product of (size - 1) over its axes."""
        return self._products([(1.0, axis - 1.0) for axis in self.shape])

    @cached_property
    def summed(self) -> Floats:
        """The number of cells that the marginal on each set sums."""
        return self._products([(float(axis), 1.0) for axis in self.shape])

    def _products(self, factors: list[tuple[float, float]]) -> Floats:
        result = np.ones(1)
        for without, with_ in factors:
            result = np.concatenate([result * without, result * with_])
        return result

    def above(self, values: Floats) -> Floats:
        """Return the sum over all supersets of every set."""
        table = values.reshape((2,) * len(self.shape)).copy()
        for axis in range(table.ndim):
            low, high = self._halves(table, axis)
            low += high
        return table.reshape(-1)

    def below(self, values: Floats) -> Floats:
        """Return the sum over all subsets of every set."""
        table = values.reshape((2,) * len(self.shape)).copy()
        for axis in range(table.ndim):
            low, high = self._halves(table, axis)
            high += low
        return table.reshape(-1)

    def _halves(self, table: Floats, axis: int) -> tuple[Floats, Floats]:
        moved = np.moveaxis(table, axis, 0)
        return moved[0], moved[1]

    def spectrum(self, squares: Floats) -> Floats:
        """Return the eigenvalues of the Gram matrix of marginals, given the squared weight of every set."""
        return self.above(squares * self.summed)


@dataclass(frozen=True, eq=False)
class MarginalCovariance(Symmetric):
    """A covariance that is a multiple of the identity on every part of the counts."""

    algebra: Algebra
    inverse: Floats

    @property
    def size(self) -> int:
        """The number of cells."""
        return math.prod(self.algebra.shape)

    def apply(self, x: Floats) -> Floats:
        """Return every part times its factor: axis by axis, the means and the remainder."""
        refuse_dense(self.size * x.shape[1], "the product")
        return self._apply(x.reshape(*self.algebra.shape, -1), len(self.algebra.shape) - 1, 0).reshape(x.shape)

    def _apply(self, table: Floats, axis: int, chosen: int) -> Floats:
        if axis < 0:
            return np.asarray(table * self.inverse[chosen])
        mean = table.mean(axis=axis, keepdims=True)
        below = self._apply(np.broadcast_to(mean, table.shape), axis - 1, chosen)
        if self.algebra.shape[axis] == 1:
            return below
        return below + self._apply(table - mean, axis - 1, chosen | 1 << axis)

    def diagonal(self) -> Floats:
        """Return the same variance for every cell."""
        refuse_dense(self.size, "the variance of every cell")
        return np.full(self.size, float(self.algebra.dimensions @ self.inverse) / self.size)

    def scaled(self, factor: float) -> Symmetric:
        """Return the numbers times the factor."""
        return MarginalCovariance(self.algebra, self.inverse * factor)


def reconstruct(measured: Marginals, y: Floats, asked: Marginals) -> Floats:
    """Return the least-squares answers to ``asked`` from noisy ``measured`` marginals, table by table.

    Part T of the counts is the average over the measured sets above T of what they say about it, each with its weight:
    no table larger than a measured or an asked marginal is ever made.
    """
    inverse = measured.covariance().inverse
    parts: dict[int, Floats] = {}
    pieces = zip(measured.sets, measured.weights, measured.split(y), strict=True)
    for axes, weight, piece in pieces:
        table = piece.reshape(tuple(measured.shape[axis] for axis in axes))
        for chosen, part in _parts(table, axes):
            kept = part.reshape(tuple(measured.shape[axis] for axis in axes if chosen >> axis & 1))
            parts[chosen] = parts.get(chosen, 0.0) + float(weight) * kept
    answers = []
    for axes, weight in zip(asked.sets, asked.weights, strict=True):
        shape = tuple(asked.shape[axis] for axis in axes)
        total = np.zeros(shape)
        left_out = math.prod(size for axis, size in enumerate(asked.shape) if axis not in axes)
        for chosen, part in parts.items():
            if not chosen & ~subset(axes):
                spread = tuple(asked.shape[axis] if chosen >> axis & 1 else 1 for axis in axes)
                total = total + part.reshape(spread) * (inverse[chosen] * left_out)
        answers.append(total.reshape(-1) * float(weight))
    return np.concatenate(answers)


def _parts(table: Floats, axes: Axes) -> list[tuple[int, Floats]]:
    """Return the parts of a table over ``axes``: for every subset what varies with it alone, scaled to one cell."""
    found = [(0, table)]
    for place, axis in enumerate(axes):
        split = []
        for chosen, part in found:
            mean = part.mean(axis=place, keepdims=True)
            split.append((chosen, mean))
            if table.shape[place] > 1:
                split.append((chosen | 1 << axis, part - mean))
        found = split
    return found


def all_marginals(shape: Sequence[int], order: int) -> Marginals:
    """Return all marginals on exactly ``order`` axes.

    >>> all_marginals((2, 3, 4), 2).sets
    ((0, 1), (0, 2), (1, 2))
    """
    from itertools import combinations

    if not 0 <= order <= len(shape):
        raise InvalidParameter("order", order, f"a number of axes from 0 to {len(shape)}")
    return Marginals(tuple(shape), tuple(combinations(range(len(shape)), order)))


__all__ = ["Algebra", "MarginalCovariance", "Marginals", "all_marginals", "reconstruct", "subset"]

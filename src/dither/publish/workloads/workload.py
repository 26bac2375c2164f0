"""Workloads: linear queries on a table of counts, and the error of a strategy for them, computed without data.

``Workload`` wraps a matrix of queries with the questions people have about it: answers, exact sensitivity, the error
that any strategy will have, the least error that any strategy could have. ``Strategy`` wraps a matrix of integers
that is measured in its place. Workload and strategy are kept apart: one is what is wanted, the other what is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dither.errors import InvalidParameter
from dither.exact import Number, exact, sqrt_up, typed, whole
from dither.mechanisms.core.public import PublicArray
from dither.mechanisms.core.spec import Codec, register_codec
from dither.privacy import L1, L2, Metric
from dither.publish.workloads.grouped import Grouped
from dither.publish.workloads.marginals import Marginals, all_marginals, reconstruct
from dither.publish.workloads.matrices import (
    MOST_SQUARE,
    Dense,
    Floats,
    Identity,
    Matrix,
    Sparse,
    Total,
    refuse_dense,
)
from dither.publish.workloads.products import Kron, Union, Weighted
from dither.publish.workloads.ranges import AllRanges, Prefixes, Ranges
from dither.publish.workloads.record import from_plain, to_plain
from dither.publish.workloads.symmetric import Symmetric

#: A query of which a strategy misses more than this share is not answered by it.
_MISSED = 1e-6


@dataclass(frozen=True)
@typed
class _Wrapped:
    """Shared by workloads and strategies: a matrix, and its sensitivity."""

    matrix: Matrix

    def __post_init__(self) -> None:
        if not isinstance(self.matrix, Matrix):
            raise InvalidParameter("matrix", self.matrix, "a matrix of queries")

    @property
    def domain(self) -> tuple[int, ...]:
        """The shape of the table of counts."""
        return self.matrix.domain

    @property
    def cells(self) -> int:
        """The number of counts."""
        return self.matrix.cells

    @property
    def queries(self) -> int:
        """The number of answers."""
        return self.matrix.queries

    def sensitivity(self, metric: Metric) -> Fraction:
        """Return how far all answers move together, in ``metric``, when one count moves by 1.

        Guarantee: exact for whole and rational entries, the root of L2 rounded up; for others never too little.
        """
        if metric is L1:
            return self.matrix.norm(1)
        if metric is L2:
            return sqrt_up(self.matrix.norm(2))
        raise InvalidParameter("metric", metric, "L1 or L2")

    def answer(self, counts: ArrayLike) -> NDArray[Any]:
        """Return the answers on a table of counts, exact for integers; for public or estimated counts."""
        table = np.asarray(counts)
        if table.size != self.cells or table.dtype.kind not in "biuf":
            raise InvalidParameter("counts", f"{table.dtype} of shape {table.shape}", f"numbers of shape {self.domain}")
        refuse_dense(self.queries, "every answer")
        return np.asarray(self.matrix.times(table.reshape(-1, 1))[:, 0])

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters as plain JSON data."""
        return to_plain(self.matrix)


@dataclass(frozen=True)
class Strategy(_Wrapped):
    """Queries that are measured with noise: integers, so that the answers and their sensitivity are exact.

    >>> from dither.publish.workloads.trees import Haar
    >>> Strategy(Haar(4)).sensitivity(L1)
    Fraction(3, 1)
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.matrix.is_integer:
            raise InvalidParameter("strategy", self.matrix.kind, "a matrix of integers; see on_grid")
        if self.matrix.norm(1) == 0:
            raise InvalidParameter("strategy", "zeros", "a matrix with an entry other than 0")

    @classmethod
    def from_dict(cls, plain: Any) -> Strategy:
        """Return the strategy that ``to_dict`` wrote."""
        return cls(from_plain(plain))

    @cached_property
    def covariance(self) -> Symmetric:
        """The covariance of the estimated counts for measurements with noise of variance 1."""
        return self.matrix.covariance()

    def estimate(self, measured: NDArray[Any]) -> Floats:
        """Return the least-squares estimate of the counts from noisy measurements, flat."""
        return np.asarray(self.matrix.solve(np.asarray(measured, dtype=np.float64).reshape(-1, 1))[:, 0])


@dataclass(frozen=True)
class Workload(_Wrapped):
    """Linear queries on a table of counts.

    >>> ranges = Workload.all_ranges(4)
    >>> ranges.queries, ranges.sensitivity(L1), ranges.answer([12, 24, 6, 7])[:4].tolist()
    (10, Fraction(6, 1), [12, 36, 42, 49])
    >>> Workload.marginals((10,) * 9, [(0, 1), (2,)]).sensitivity(L1)
    Fraction(2, 1)

    """

    @classmethod
    def cells_of(cls, cells: int) -> Workload:
        """Return all single cells: a histogram."""
        return cls(Identity(cells))

    @classmethod
    def total(cls, cells: int) -> Workload:
        """Return the total only."""
        return cls(Total(cells))

    @classmethod
    def prefixes(cls, cells: int) -> Workload:
        """Return all cumulative counts."""
        return cls(Prefixes(cells))

    @classmethod
    def all_ranges(cls, cells: int) -> Workload:
        """Return all ranges of consecutive cells."""
        return cls(AllRanges(cells))

    @classmethod
    def ranges(cls, cells: int, ranges: Sequence[tuple[int, int]]) -> Workload:
        """Return these ranges, each given by its first and its last cell."""
        if len(ranges) == 0:
            raise InvalidParameter("ranges", ranges, "at least one range")
        ends = np.array(ranges)
        if ends.ndim != 2 or ends.shape[1] != 2 or ends.dtype.kind not in "iu":
            raise InvalidParameter("ranges", ranges, "pairs of integers, first and last cell")
        return cls(Ranges(cells, PublicArray(ends[:, 0].astype(np.int64)), PublicArray(ends[:, 1].astype(np.int64))))

    @classmethod
    def marginals(
        cls, shape: Sequence[int], sets: Sequence[Sequence[int]] | int, weights: Sequence[Number] = ()
    ) -> Workload:
        """Return the marginals on these sets of axes, or on all sets of that many axes."""
        if isinstance(sets, int):
            return cls(all_marginals(shape, whole("sets", sets)))
        exact_weights = tuple(exact("weights", weight) for weight in weights)
        return cls(Marginals(tuple(shape), tuple(map(tuple, sets)), exact_weights))

    @classmethod
    def matrix_of(cls, entries: Any) -> Workload:
        """Return queries written out: an array with one row per query, or a SciPy sparse matrix."""
        if hasattr(entries, "tocoo"):
            return cls(_sparse(entries))
        array = np.asarray(entries)
        if array.ndim != 2 or array.size == 0:
            raise InvalidParameter("matrix", f"an array of shape {array.shape}", "at least one row and one column")
        return cls(Dense(PublicArray(array)))

    @classmethod
    def kron(cls, *workloads: Workload) -> Workload:
        """Return all products of one query from each workload, over the product of their domains."""
        return cls(Kron(tuple(workload.matrix for workload in workloads)))

    @classmethod
    def union(cls, *workloads: Workload) -> Workload:
        """Return the queries of all workloads, which share one domain."""
        return cls(Union(tuple(workload.matrix for workload in workloads)))

    @classmethod
    def from_dict(cls, plain: Any) -> Workload:
        """Return the workload that ``to_dict`` wrote."""
        return cls(from_plain(plain))

    def weighted(self, weight: Number) -> Workload:
        """Return the queries times a weight: heavier queries count for more in the choice of a strategy."""
        return Workload(Weighted(self.matrix, exact("weight", weight)))

    def supported_by(self, strategy: Strategy) -> bool:
        """Return whether least squares on ``strategy`` answers every query without bias."""
        if isinstance(strategy.matrix, Marginals) and isinstance(self.matrix, Marginals):
            needed = self.matrix.spectrum > 0
            return strategy.domain == self.domain and bool((strategy.matrix.spectrum[needed] > 0).all())
        if self.cells != strategy.cells:
            return False
        if isinstance(strategy.matrix, Grouped):
            parts = strategy.matrix.check(self.matrix).parts
            pairs = [(part, strategy.matrix.group_of(number)) for number, part in enumerate(parts)]
            return all(Workload(part).supported_by(Strategy(group)) for part, group in pairs)
        if isinstance(self.matrix, Kron) and isinstance(strategy.matrix, Kron):
            pairs = list(zip(self.matrix.factors, strategy.matrix.factors, strict=False))
            if [a.cells for a, _ in pairs] == [b.cells for _, b in pairs]:
                return all(Workload(a).supported_by(Strategy(b)) for a, b in pairs)
        if isinstance(self.matrix, Weighted):
            return Workload(self.matrix.matrix).supported_by(strategy)
        if isinstance(self.matrix, Union):
            return all(Workload(part).supported_by(strategy) for part in self.matrix.parts)
        return _spans(strategy, self.matrix)

    def variance_factors(self, strategy: Strategy) -> Floats:
        """Return the variance of every answer, for measurements of ``strategy`` with noise of variance 1."""
        self._check(strategy)
        if isinstance(strategy.matrix, Grouped):
            return strategy.matrix.variances_of(self.matrix)
        return self.matrix.variances(strategy.covariance)

    def total_variance_factor(self, strategy: Strategy) -> float:
        """Return the sum of the variances of all answers, for noise of variance 1."""
        self._check(strategy)
        if isinstance(strategy.matrix, Grouped):
            return strategy.matrix.total_variance_of(self.matrix)
        return self.matrix.total_variance(strategy.covariance)

    def root_mean_square(self, strategy: Strategy, metric: Metric = L1) -> float:
        """Return the root of sensitivity^2 times the mean variance factor: the error for noise of one unit.

        Times sqrt(2) / epsilon it is the root mean square error under Laplace noise, times 1 / sqrt(2 rho) under
        Gaussian noise (metric L2).
        """
        reach = float(strategy.sensitivity(metric))
        return reach * math.sqrt(self.total_variance_factor(strategy) / self.queries)

    def svd_bound(self) -> float:
        """Return a lower bound on ``root_mean_square`` for every strategy and either metric.

        The sum of the singular values over sqrt(cells * queries) (Li and Miklau 2013): the L2 sensitivity is at most
        that of L1, so that the bound holds for both.
        """
        matrix = self.matrix
        if isinstance(matrix, Marginals):
            values = float(matrix.algebra.dimensions @ np.sqrt(matrix.spectrum))
        elif isinstance(matrix, Kron):
            values = math.prod(_singular_sum(factor) for factor in matrix.factors)
        else:
            values = _singular_sum(matrix)
        return values / math.sqrt(self.cells * self.queries)

    def reconstruct(self, strategy: Strategy, measured: NDArray[Any]) -> Floats:
        """Return the least-squares answers from noisy measurements of ``strategy``."""
        self._check(strategy)
        values = np.asarray(measured, dtype=np.float64).reshape(-1)
        if isinstance(self.matrix, Marginals) and isinstance(strategy.matrix, Marginals):
            return reconstruct(strategy.matrix, values, self.matrix)
        if isinstance(strategy.matrix, Grouped):
            return strategy.matrix.answers_to(self.matrix, values)
        return np.asarray(self.answer(strategy.estimate(values)), dtype=np.float64)

    def _check(self, strategy: Strategy) -> None:
        if not isinstance(strategy, Strategy):
            raise InvalidParameter("strategy", strategy, "a Strategy")
        if strategy.cells != self.cells:
            raise InvalidParameter("strategy", strategy.domain, f"over the domain {self.domain} of the workload")


def _spans(strategy: Strategy, matrix: Matrix) -> bool:
    """Return whether the rows of ``matrix`` are combinations of the strategy's rows, up to rounding."""
    if isinstance(matrix, Identity) and strategy.matrix.kind in ("identity", "haar", "hierarchy", "p-identity"):
        return True
    if strategy.cells > MOST_SQUARE:
        # Answers from what such counts give, beside their true answers, show a missed direction for almost all counts.
        counts = np.sin(np.arange(1.0, strategy.cells + 1.0))[:, None]
        found = matrix.times(strategy.matrix.solve(np.asarray(strategy.matrix.times(counts), dtype=np.float64)))
        truth = matrix.times(counts)
        return bool(np.abs(found - truth).max() <= _MISSED * max(1.0, float(np.abs(truth).max())))
    if strategy.matrix.kind in ("identity", "haar", "hierarchy", "p-identity"):
        return strategy.matrix.kind != "hierarchy" or strategy.matrix.weights[0] > 0 or _projects(strategy, matrix)  # type: ignore[attr-defined]
    return _projects(strategy, matrix)


def _projects(strategy: Strategy, matrix: Matrix) -> bool:
    gram = matrix.gram()
    kept = strategy.covariance.apply(strategy.matrix.gram())
    missed = gram - gram @ kept
    return bool(np.abs(missed).max() <= _MISSED * max(float(np.abs(gram).max()), 1e-300))


def _singular_sum(matrix: Matrix) -> float:
    values = np.linalg.eigvalsh(matrix.gram())
    return float(np.sqrt(np.maximum(values, 0.0)).sum())


def _sparse(entries: Any) -> Sparse:
    table = entries.tocoo()
    if table.ndim != 2 or table.nnz == 0:
        raise InvalidParameter("matrix", f"a sparse matrix of shape {table.shape}", "a table with at least one entry")
    row, column = (np.asarray(place, dtype=np.int64) for place in table.coords)
    values = np.asarray(table.data, dtype=np.float64 if table.dtype.kind == "f" else np.int64)
    queries, cells = (int(size) for size in table.shape)
    return Sparse((queries, cells), PublicArray(row), PublicArray(column), PublicArray(values))


register_codec("workload", Codec(Workload, Workload.to_dict, Workload.from_dict))
register_codec("strategy", Codec(Strategy, Strategy.to_dict, Strategy.from_dict))

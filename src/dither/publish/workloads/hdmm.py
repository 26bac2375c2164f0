"""HDMM: the high-dimensional matrix mechanism, the best of several searches for a strategy.

For workloads of ranges, prefixes, products and marginals, and unions of them, on one axis up to 4,096 cells or on
products far too large to be written out. Cost: the search, once for each workload and without data (seconds), then one
draw and least squares in closed form. Correction: the source leaves the strategy in floats; here it is put on a public
grid, so that what is measured and how far it moves are exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from dither.errors import InvalidParameter
from dither.estimate.one_thread import one_thread
from dither.exact import Number
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.registry import Example, register
from dither.privacy import L1, L2, Loss, Metric, PureDP
from dither.publish.workloads.factorisation import optimal_factorisation
from dither.publish.workloads.grouped import Grouped
from dither.publish.workloads.marginals import Marginals
from dither.publish.workloads.matrices import MOST_ENTRIES, MOST_SQUARE, Identity, Matrix
from dither.publish.workloads.mechanism import Measured, neighbours_of
from dither.publish.workloads.optimise import opt_kron, opt_marginals, terms_of
from dither.publish.workloads.products import Kron, Union, Weighted
from dither.publish.workloads.workload import Strategy, Workload

#: Up to this many cells, the best Gaussian strategy over an axis is found as a convex problem.
_MOST_CONVEX = 512
#: Groups of a union are weighted by integers up to this one.
_FINEST_SHARE = 256
#: How many workloads are remembered with their strategies: both may be large.
_MOST_KNOWN = 8


class Found(NamedTuple):
    """A strategy, its root mean square error in units of the noise, and the search that found it."""

    strategy: Strategy
    root_mean_square: float
    method: str


def _examples() -> Iterator[Example]:
    pure = Hdmm.calibrated(PureDP(1), sensitivity=1, workload=Workload.all_ranges(3))
    yield Example(pure, np.array([4, 0, 7]), neighbours_of((3,)))


def find_strategy(workload: Workload, metric: Metric, *, iterations: int | None = None) -> Found:
    """Return the best strategy that the searches find for a workload, without data.

    Args:
        workload: the queries.
        metric: L1 for geometric noise, L2 for Gaussian noise.
        iterations: the number of steps of each descent; by default each search decides.

    >>> from dither.privacy import L1
    >>> find_strategy(Workload.all_ranges(64), L1).root_mean_square < 4  # the identity has 4.69
    True

    """
    if metric not in (L1, L2):
        raise InvalidParameter("metric", metric, "L1 or L2")
    return _searched(workload, metric, iterations)


@lru_cache(maxsize=_MOST_KNOWN)
@one_thread()
def _searched(workload: Workload, metric: Metric, iterations: int | None) -> Found:
    """Return the best strategy; the latest result is cached, because a request for answers follows its quote."""
    found = [
        Found(strategy, workload.root_mean_square(strategy, metric), method)
        for method, strategy in _candidates(workload, metric, iterations)
    ]
    if not found:
        raise InvalidParameter(
            "workload", workload.matrix.kind, "a union of products whose axes have at most 4,096 cells"
        )
    return min(found, key=lambda each: each.root_mean_square)


def _candidates(workload: Workload, metric: Metric, iterations: int | None) -> Iterator[tuple[str, Strategy]]:
    matrix = workload.matrix
    is_small = workload.cells <= MOST_ENTRIES
    if is_small:
        yield "identity", Strategy(_identity(workload.domain))
    if isinstance(matrix, Marginals):
        yield (
            "OPT_M",
            opt_marginals(matrix, metric, largest=None if is_small else MOST_ENTRIES, iterations=iterations or 500),
        )
    if metric is L2 and all(axis <= _MOST_CONVEX for axis in workload.domain):
        if isinstance(matrix, Kron) and all(len(factor.domain) == 1 for factor in matrix.factors):
            parts = tuple(optimal_factorisation(Workload(factor)).strategy.matrix for factor in matrix.factors)
            yield "convex, axis by axis", Strategy(Kron(parts))
        elif workload.cells <= _MOST_CONVEX:
            yield "convex", optimal_factorisation(workload).strategy
    if is_small and max(workload.domain) <= MOST_SQUARE and not _has_product_of_unions(matrix):
        yield "OPT_Kron" if len(workload.domain) > 1 else "OPT_0", opt_kron(terms_of(matrix), iterations=iterations)
        if isinstance(matrix, Union) and len(matrix.parts) > 1:
            yield "OPT_Union", opt_union(matrix, metric, iterations=iterations)


def opt_union(workload: Union, metric: Metric, *, iterations: int | None = None) -> Strategy:
    """Return a strategy for every part of a union, each with its share of the noise.

    With errors F at full budget, shares a that add up to 1 (L1) have total error sum F / a^2, least for a in proportion
    to F^(1/3); shares whose squares add up to 1 (L2) for a^2 in proportion to F^(1/2).
    """
    parts = [opt_kron(terms_of(part), iterations=iterations) for part in workload.parts]
    reaches = np.array([float(part.sensitivity(metric)) for part in parts])
    pairs = zip(workload.parts, parts, strict=True)
    errors = np.array([Workload(asked).total_variance_factor(part) for asked, part in pairs]) * reaches**2
    shares = errors ** (1 / 3) if metric is L1 else errors ** (1 / 4)
    scales = shares / reaches
    whole = np.maximum(np.rint(scales * (_FINEST_SHARE / scales.max())), 1).astype(int)
    weighted: tuple[Matrix, ...] = tuple(
        Weighted(part.matrix, Fraction(int(scale))) for part, scale in zip(parts, whole, strict=True)
    )
    return Strategy(Grouped(weighted, tuple((number,) for number in range(len(parts)))))


def _identity(domain: tuple[int, ...]) -> Matrix:
    return Identity(domain[0]) if len(domain) == 1 else Kron(tuple(Identity(axis) for axis in domain))


def _has_product_of_unions(matrix: Matrix) -> bool:
    if isinstance(matrix, Kron):
        return any(len(factor.domain) > 1 or isinstance(factor, Union) for factor in matrix.factors)
    return isinstance(matrix, Union) and any(map(_has_product_of_unions, matrix.parts))


@register(
    examples=_examples,
    source="Optimizing Error of High-Dimensional Statistical Queries under Differential Privacy (McKenna et al. 2018)",
)
@dataclass(frozen=True, kw_only=True)
class Hdmm(Measured):
    """Answer a workload from the best strategy found by a search over several families, by least squares.

    Guarantee: tables of counts ``d_in`` apart in L1 lose what ``noise`` loses at ``d_in`` times the strategy's exact
    sensitivity.

    >>> hdmm = Hdmm.calibrated(PureDP(1), sensitivity=1, workload=Workload.all_ranges(8))
    >>> hdmm.loss(1) <= PureDP(1), hdmm.root_mean_square_error < 2.59
    (True, True)

    """

    name: ClassVar[str] = "hdmm"
    version: ClassVar[int] = 1

    @classmethod
    def calibrated(
        cls, within: Loss, *, sensitivity: Number, workload: Workload, iterations: int | None = None, **parameters: Any
    ) -> Self:
        """Search for a strategy for the workload, and return the mechanism whose loss is within ``within``.

        Args:
            within: the loss not to exceed; a pure one gives geometric noise, any other Gaussian noise.
            sensitivity: how far the table of counts moves in L1 per unit of data.
            workload: the queries.
            iterations: of each descent of the search.
            parameters: the other fields: ``of_cells``, ``non_negative``.

        """
        found = find_strategy(workload, Purse.within(within).metric, iterations=iterations)
        return cls._calibrated(within, sensitivity, workload, found.strategy, **parameters)

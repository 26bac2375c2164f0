"""The hierarchical histogram: noisy counts of cells and of blocks of cells, made consistent by least squares.

For range queries on one ordered attribute of more than about fifty cells: a range is a few blocks. Cost: linear in the
cells. The branching, the number of levels and the share of the budget of each are chosen by the exact mean variance of
all ranges, which depends on public numbers only. Corrections: a cell lies in exactly one block of each level, so the
losses of the levels add up (much of the literature counts one level too few); levels are not given equal shares.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.estimate.trees import TreeVariances, block_sums, fit_tree, mean_range_variance, range_coefficients
from dither.exact import Number, Whole, probability, whole
from dither.lift.axes import MOST_CELLS
from dither.mechanisms.core.accuracy import share_of_failure
from dither.mechanisms.core.mechanism import Bound, Composed, Interval, Numerics
from dither.mechanisms.core.purse import CountNoise, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.privacy import L1, InOrder, Loss, Metric, Plan, Use
from dither.publish.histograms.common import (
    LevelNoise,
    combination_reach,
    counts_of,
    neighbours,
    variance_of,
    whole_shares,
)

_BRANCHINGS = (2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 32, 48, 64)
_POWERS = (2, 4, 8, 16, 32, 64)
_ROUNDS = 150
_FINALISTS = 8


def _examples() -> Iterator[Example]:
    small = HierarchicalHistogram(cells=3, branching=2, levels=(Geometric(scale=2), Geometric(scale=1)))
    yield Example(small, np.array([4, 0, 7]), neighbours((3,)))
    gaussian = HierarchicalHistogram(cells=4, branching=2, levels=(DiscreteGaussian(sigma=2),) * 3)
    yield Example(gaussian, np.array([1, 0, 2, 5]), neighbours((4,)))


@register(
    examples=_examples,
    source="Understanding Hierarchical Methods for Differentially Private Histograms (Qardaji, Yang, Li 2013); "
    "Boosting the Accuracy of Histograms (Hay et al. 2010), section 4; Differential Privacy and Applications (Zhu "
    "et al. 2017), sections 4.2.2 and 4.2.3",
)
@dataclass(frozen=True, kw_only=True)
class HierarchicalHistogram(Composed[Any, NDArray[np.float64]]):
    """Release the counts of ordered cells by least squares on noisy counts of blocks of 1, b, b^2, ... cells.

    Guarantee: counts ``d_in`` apart in L1 lose the sum of what the levels lose at ``d_in``.

    Args:
        cells: the number of cells; public.
        branching: the number of blocks in one block of the next level.
        levels: the noise of one block on each level, cells first. There is no level for the total of all.

    >>> tree = HierarchicalHistogram(cells=100, branching=10, levels=(Geometric(scale=4), Geometric(scale=4)))
    >>> tree.loss(1).epsilon, tree.sizes
    (Fraction(1, 2), (100, 10))

    """

    name: ClassVar[str] = "hierarchical-histogram"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    cells: Whole = Whole(least=1, most=MOST_CELLS)
    branching: Whole = Whole(least=2, most=2**16)
    levels: LevelNoise = LevelNoise()

    def __post_init__(self) -> None:
        if len(self.levels) > 1 and self.branching ** (len(self.levels) - 2) >= self.cells:
            raise InvalidParameter("levels", len(self.levels), f"levels that differ, over {self.cells} cells")

    @classmethod
    def calibrated(
        cls, within: Loss, *, cells: int, branching: int | None = None, even: bool = False, halving: bool = False
    ) -> Self:
        """Return the tree with the least mean variance over all ranges whose loss for counts 1 apart is within target.

        Args:
            within: the loss not to exceed; a pure one gives geometric noise, any other Gaussian noise.
            cells: how many there are.
            branching: how many blocks make up one of the next level; None for the best.
            even: whether all levels get equal shares; otherwise those of the least error.
            halving: whether the best branching is searched among powers of 2 alone, so that blocks can be halved.

        """
        size = whole("cells", cells, least=1, most=MOST_CELLS)
        chosen = None if branching is None else whole("branching", branching, least=2, most=2**16)
        purse = Purse.within(within)
        fan, shares = best_tree(size, purse.is_pure, chosen, bool(even), _POWERS if halving else _BRANCHINGS)
        levels = tuple(purse.share(part).noise() for part in whole_shares(shares))
        return cls(cells=size, branching=fan, levels=levels)

    @property
    def distance(self) -> Metric:
        """L1: the block of a cell moves as far as the cell does."""
        return L1

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of blocks on each level, cells first."""
        return tuple(-(-self.cells // self.branching**level) for level in range(len(self.levels)))

    @property
    def parts(self) -> tuple[CountNoise, ...]:
        """The noise for all blocks of each level."""
        return tuple(replace(node, shape=(size,)) for node, size in zip(self.levels, self.sizes, strict=True))

    def plan(self) -> Plan:
        """One draw for each level."""
        return InOrder(tuple(Use(part) for part in self.parts))

    @cached_property
    def variances(self) -> TreeVariances:
        """The variances of the estimates of all blocks, and of any query."""
        branchings = [(self.branching,)] * (len(self.levels) - 1)
        return TreeVariances.of((self.cells,), branchings, [variance_of(node) for node in self.levels])

    def range_variance(self, start: int, stop: int) -> float:
        """Return the variance of the sum of the cells from ``start`` to ``stop`` - 1."""
        return self.variances.of_range(start, stop)

    @property
    def mean_range_variance(self) -> float:
        """The mean variance over all ranges; exact if the largest block divides the cells."""
        return mean_range_variance(self.cells, self.branching, [variance_of(node) for node in self.levels])

    def error(self, confidence: Number) -> Bound:
        """Return a bound on the error of every cell."""
        wanted = probability("confidence", confidence, open_below=True)
        worst = float(self.variances.cells.max())
        reach = combination_reach(self.levels, worst, share_of_failure(wanted, self.cells))
        return Bound(reach, wanted, "the largest absolute error of any cell")

    def interval(self, out: Any, confidence: Number) -> Interval:
        """Return the error on both sides of every cell, all at once."""
        bound = self.error(confidence)
        return Interval(out - bound.value, out + bound.value, bound.confidence)

    def release(self, data: Any, run: Runner) -> NDArray[np.float64]:
        """Return the least-squares estimates of the cells."""
        blocks, noisy = counts_of(data, (self.cells,)), []
        for level, part in enumerate(self.parts):
            blocks = block_sums(blocks, (self.branching,)) if level else blocks
            noisy.append(np.asarray(run(part, blocks), dtype=np.float64))
        branchings = [(self.branching,)] * (len(self.levels) - 1)
        return fit_tree(noisy, [variance_of(node) for node in self.levels], branchings).cells


@lru_cache(maxsize=256)
def best_tree(
    cells: int,
    is_pure: bool,
    branching: int | None = None,
    even: bool = False,
    among: tuple[int, ...] = _BRANCHINGS,
) -> tuple[int, tuple[float, ...]]:
    """Return the branching and the level shares with the least mean variance over all ranges.

    The variance of a level is 2 / share^2 (pure) or 1 / (2 share), for a budget of 1; the trees are compared by the
    closed form of ``estimate.trees``, exact where the branching divides the cells evenly.
    """
    found = []
    for fan in among if branching is None else (branching,):
        levels = 1
        while levels == 1 or fan ** (levels - 1) < cells:
            # At a given branching the levels go up to where the next block would hold all cells.
            if branching is None or fan**levels >= cells:
                coefficients = range_coefficients(cells, fan, levels)
                found.append((*_best_shares(coefficients, fan, is_pure, 1), fan, levels))
            levels += 1
    found.sort()
    if not even:
        # The best shares move no tree far: those that come close with equal shares are tried.
        near = found[:_FINALISTS]
        found = sorted(
            (*_best_shares(range_coefficients(cells, fan, levels), fan, is_pure, _ROUNDS), fan, levels)
            for *_, fan, levels in near
        )
    return found[0][2], found[0][1]


def _best_shares(
    coefficients: NDArray[np.float64], branching: int, is_pure: bool, rounds: int
) -> tuple[float, tuple[float, ...]]:
    """Return the least sum of coefficient / precision over the levels' shares, and these shares."""
    levels = coefficients.size
    widths = float(branching) ** np.arange(levels)
    shares = np.full(levels, 1 / levels)
    least, found = np.inf, shares
    power = 2 if is_pure else 1
    for _ in range(1 if levels == 1 else rounds):
        precisions = np.cumsum(widths * (shares**2 / 2 if is_pure else 2 * shares))
        error = float((coefficients / precisions).sum())
        if error < least:
            least, found = error, shares
        # How much a little more of each share would help; at the optimum it helps alike everywhere.
        gains = np.cumsum((coefficients / precisions**2)[::-1])[::-1] * widths * shares ** (power - 1)
        shares = shares * np.cbrt(gains)
        shares = np.maximum(shares / shares.sum(), 1e-4)
        shares = shares / shares.sum()
    return least, tuple(found.tolist())

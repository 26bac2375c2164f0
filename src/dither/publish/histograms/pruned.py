"""The pruned histogram: a tree of noisy counts with its total, simplified as far as its noise allows.

For ordered cells when neither the number of rows nor their places are known: with many it errs as a tree does, with
few as a method that describes the counts by a few numbers. All of the budget buys a tree and its total; which
description is shown is decided from released numbers and public variances, so that deciding is free, and the plain
estimates of the tree still bound the error of every cell. Cost: a sort of the nodes of each level.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.estimate.isotonic import isotonic
from dither.estimate.trees import TreeVariances, block_sums, fit_tree, mean_range_variance, spread
from dither.exact import FAR, NonNegative, Number, Whole, probability, whole
from dither.lift.axes import MOST_CELLS
from dither.mechanisms.core.accuracy import share_of_failure
from dither.mechanisms.core.mechanism import Bound, Composed, Interval, Numerics
from dither.mechanisms.core.purse import CountNoise, OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.privacy import L1, InOrder, Loss, Metric, Plan, Use
from dither.publish.histograms.common import (
    LevelNoise,
    combination_reach,
    counts_of,
    mean_prefix_variance,
    neighbours,
    variance_of,
    whole_shares,
)
from dither.publish.histograms.hierarchical import best_tree
from dither.publish.histograms.pruning import pruned_cells

Floats = NDArray[np.float64]

# Found on made-up histograms of 28 shapes with a thousand to a hundred thousand rows; see the page.
#: The share of the total, and how much more than in a plain tree the largest blocks get, compared with the cells.
_TOTAL: Final = 0.25
_TOPMOST: Final = 2.0
#: How far even counts and pruned ones may lie from the plain estimates, in standard errors of a prefix.
_EVEN_WITHIN: Final = 0.8
_PRUNED_WITHIN: Final = 1.0
#: Simpler counts lie within what the plain estimates reach with this probability, and are multiples of the grain.
_NEAR: Final = 0.95
_GRAIN: Final = 2.0**-10


def _examples() -> Iterator[Example]:
    # Narrow noise and no penalty: so little is simplified that an audit has something to see.
    small = PrunedHistogram(
        cells=3, branching=2, levels=(Geometric(scale=1), Geometric(scale=2)), total=Geometric(scale=2), penalty=0
    )
    yield Example(small, np.array([4, 0, 7]), neighbours((3,)))
    gaussian = PrunedHistogram(
        cells=4, branching=2, levels=(DiscreteGaussian(sigma=2),) * 2, total=DiscreteGaussian(sigma=2)
    )
    yield Example(gaussian, np.array([1, 0, 2, 5]), neighbours((4,)))


@register(
    examples=_examples,
    source="Understanding Hierarchical Methods for Differentially Private Histograms (Qardaji, Yang, Li 2013), for the "
    "tree; Lepskii (1991), on adaptive estimation, for the choice among estimates",
)
@dataclass(frozen=True, kw_only=True)
class PrunedHistogram(Composed[Any, Floats]):
    """Release the counts of ordered cells from a noisy tree and its total, made even where the noise hides differences.

    Guarantee: counts ``d_in`` apart in L1 lose the sum of what the levels and the total lose at ``d_in``.

    Shown are even counts if these lie within 0.8 standard errors of the plain estimates, on average over all prefixes;
    else pruned ones (``pruning``) if these lie within 1; else the plain estimates of least squares.

    Args:
        cells: the number of cells; public.
        branching: the number of blocks in one block of the next level.
        levels: the noise of one block on each level, cells first, without the total.
        total: the noise of the total.
        penalty: what a block that stands out among its siblings has to explain, in squared standard errors.

    >>> from dither.privacy import PureDP
    >>> tree = PrunedHistogram.calibrated(PureDP("1/2"), cells=4096)
    >>> tree.loss(1).epsilon, tree.sizes
    (Fraction(1, 2), (4096, 256, 16, 1))

    """

    name: ClassVar[str] = "pruned-histogram"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    cells: Whole = Whole(least=1, most=MOST_CELLS)
    branching: Whole = Whole(least=2, most=2**16)
    levels: LevelNoise = LevelNoise()
    total: OneCount = OneCount()
    penalty: NonNegative = NonNegative(11, most=FAR)

    def __post_init__(self) -> None:
        if len(self.levels) > 1 and self.branching ** (len(self.levels) - 1) >= self.cells:
            raise InvalidParameter(
                "levels", len(self.levels), f"levels of more than one block, over {self.cells} cells"
            )
        if type(self.total) is not type(self.levels[0]):
            raise InvalidParameter("total", self.total, "noise of the same kind as that of the levels")

    @classmethod
    def calibrated(cls, within: Loss, *, cells: int) -> Self:
        """Return the method whose loss for counts 1 apart is within ``within``; a pure target gives geometric noise."""
        size = whole("cells", cells, least=1, most=MOST_CELLS)
        purse = Purse.within(within)
        fan, shares = best_tree(size, purse.is_pure, None, False)
        step = _TOPMOST ** (1 / max(len(shares) - 1, 1))
        wanted = [share * step**level for level, share in enumerate(shares)]
        rest = sum(wanted) * _TOTAL / (1 - _TOTAL)
        *levels, total = (purse.share(part).noise() for part in whole_shares([*wanted, rest]))
        return cls(cells=size, branching=fan, levels=tuple(levels), total=total)

    @property
    def distance(self) -> Metric:
        """L1: a cell's block, and the total, move as far as the cell does."""
        return L1

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of blocks on each level, cells first, and 1 for the total."""
        return (*(-(-self.cells // self.branching**level) for level in range(len(self.levels))), 1)

    @property
    def nodes(self) -> tuple[CountNoise, ...]:
        """The noise for one block on each level, and for the total."""
        return (*self.levels, self.total)

    @property
    def parts(self) -> tuple[CountNoise, ...]:
        """The noise for all blocks of each level, and for the total."""
        return tuple(replace(node, shape=(size,)) for node, size in zip(self.nodes, self.sizes, strict=True))

    @property
    def branchings(self) -> list[tuple[int]]:
        """For each level, the number of its blocks in one block of the next."""
        return [(self.branching,)] * (len(self.levels) - 1) + [(self.sizes[-2],)]

    def plan(self) -> Plan:
        """One draw for each level, and one for the total."""
        return InOrder(tuple(Use(part) for part in self.parts))

    @cached_property
    def variances(self) -> TreeVariances:
        """The variances of the plain estimates of all blocks, and of any query."""
        return TreeVariances.of((self.cells,), self.branchings, [variance_of(node) for node in self.nodes])

    def range_variance(self, start: int, stop: int) -> float:
        """Return the variance of the sum of the plain estimates from ``start`` to ``stop`` - 1."""
        return self.variances.of_range(start, stop)

    @property
    def mean_range_variance(self) -> float:
        """The mean variance of plain estimates over all ranges; exact if the largest block divides the cells.

        That of the tree alone, less what the total takes away: its own term of the covariance (``estimate.trees``).
        """
        alone = mean_range_variance(self.cells, self.branching, [variance_of(node) for node in self.levels])
        known, mass = self.variances, np.ones(1)
        for level in range(len(self.levels) - 1, -1, -1):
            own = known.own[level]
            mass = own * spread(mass / known.below[level + 1], known.branchings[level], own.shape)
        sums = np.concatenate([[0.0], np.cumsum(mass)])
        squares = float(sums.size * (sums**2).sum() - sums.sum() ** 2) / (self.cells * (self.cells + 1) / 2)
        return alone + float(known.own[-1][0] - known.below[-1][0]) * squares

    @cached_property
    def prefix_error(self) -> float:
        """The root mean square error of a prefix of the plain estimates, over all prefixes."""
        return float(np.sqrt(mean_prefix_variance(self.variances)))

    def reach(self, confidence: Number) -> float:
        """Return a bound on the error of every cell's plain estimate."""
        wanted = probability("confidence", confidence, open_below=True)
        worst = float(self.variances.cells.max())
        return combination_reach(self.nodes, worst, share_of_failure(wanted, self.cells))

    @cached_property
    def leeway(self) -> float:
        """How far a published count may lie from the plain estimate."""
        return self.reach(_NEAR) + _GRAIN

    def error(self, confidence: Number) -> Bound:
        """Return a bound on the error of every cell, whichever counts are shown."""
        wanted = probability("confidence", confidence, open_below=True)
        return Bound(self.reach(wanted) + self.leeway, wanted, "the largest absolute error of any cell")

    def interval(self, out: Any, confidence: Number) -> Interval:
        """Return the error on both sides of every cell, all at once; smaller where plain estimates are shown."""
        wanted = probability("confidence", confidence, open_below=True)
        # Simpler counts are multiples of the grain. Should plain ones be so by chance, the interval is too wide.
        is_simpler = bool((np.asarray(out) / _GRAIN % 1 == 0).all())
        half = self.reach(wanted) + (self.leeway if is_simpler else 0.0)
        return Interval(out - half, out + half, wanted)

    def release(self, data: Any, run: Runner) -> Floats:
        """Return the simplest counts that the tree's noise does not distinguish from the plain estimates."""
        blocks, noisy = counts_of(data, (self.cells,)), []
        for part, branching in zip(self.parts, [(1,), *self.branchings], strict=True):
            blocks = block_sums(blocks, branching)
            noisy.append(np.asarray(run(part, blocks), dtype=np.float64))
        fit = fit_tree(noisy, [variance_of(node) for node in self.nodes], self.branchings)
        even = np.full(self.cells, max(float(fit.levels[-1][0]), 0.0) / self.cells)
        simpler = [(even, _EVEN_WITHIN), (pruned_cells(fit, float(self.penalty)), _PRUNED_WITHIN)]
        return self._shown(fit.cells, simpler)

    def _shown(self, plain: Floats, simpler: Sequence[tuple[Floats, float]]) -> Floats:
        """Return the first of the simpler counts that is near enough, clipped to the leeway; else the plain ones."""
        sums = np.maximum(isotonic(np.cumsum(plain)), 0.0)
        room = self.leeway - _GRAIN
        for counts, within in simpler:
            off = np.cumsum(counts) - sums
            if np.sqrt(np.mean(off**2)) <= within * self.prefix_error:
                held = np.cumsum(np.clip(counts, plain - room, plain + room))
                # Rounded sums move no count by more than one grain.
                return np.diff(np.round(held / _GRAIN) * _GRAIN, prepend=0.0)
        return plain

"""The pruned plane: noisy counts of squares of 1, 4, 16, ... cells a side, simplified as far as their noise allows.

For maps and other tables of two axes, when neither the number of points nor their places are known: rectangles are
answered as a tree answers them where points are many, and empty or even regions are shown as such; so is a plane that
is blank but for a few lines (``blank``). All of the budget
buys the squares and the total; what is simplified is decided from released numbers and public variances, so that
deciding is free, and the plain estimates still bound the error of every cell. Cost: a sort of the squares of each
level. It takes the place of a uniform, an adaptive or a data-dependent grid where nothing is known: see the page.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.estimate.trees import TreeVariances, block_sums, fit_tree, level_shapes
from dither.exact import FAR, NonNegative, Number, Shape, Whole, probability
from dither.mechanisms.core.accuracy import share_of_failure
from dither.mechanisms.core.mechanism import Bound, Composed, Interval, Numerics
from dither.mechanisms.core.purse import CountNoise, OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.privacy import L1, InOrder, Loss, Metric, Plan, Use
from dither.publish.histograms.blank import blank_but_for_few, cells_as_expected
from dither.publish.histograms.common import (
    LevelNoise,
    check_cells,
    combination_reach,
    counts_of,
    neighbours,
    variance_of,
    whole_shares,
)
from dither.publish.histograms.pruning import pruned_cells

Floats = NDArray[np.float64]

# Found on ten histograms of DPBench, of which the page says which, at two losses.
#: How many squares of one level lie along a side of one of the next.
_SIDE: Final = 4
#: The share of the total, and how the shares of levels fall from the cells to the largest squares.
_TOTAL: Final = 0.05
_FALL: Final = 1.25 / 16 ** (1 / 6)
#: Shown counts lie within what the plain estimates reach with this probability.
_NEAR: Final = 0.95
_DUST: Final = 1e-6


def _examples() -> Iterator[Example]:
    small = PrunedPlane(
        shape=(2, 3), side=2, levels=(Geometric(scale=1), Geometric(scale=2)), total=Geometric(scale=2), penalty=0
    )
    yield Example(small, np.array([[4, 0, 7], [1, 0, 0]]), neighbours((2, 3)))
    gaussian = PrunedPlane(shape=(3, 3), side=4, levels=(DiscreteGaussian(sigma=2),), total=DiscreteGaussian(sigma=2))
    yield Example(gaussian, np.arange(9).reshape(3, 3), neighbours((3, 3)))


@register(
    examples=_examples,
    source="Differentially Private Spatial Decompositions (Cormode et al. 2012), for the tree; the simplification is "
    "this project's own",
)
@dataclass(frozen=True, kw_only=True)
class PrunedPlane(Composed[Any, Floats]):
    """Release the counts of a plane from noisy squares and their total, made even where the noise hides differences.

    Guarantee: counts ``d_in`` apart in L1 lose the sum of what the levels and the total lose at ``d_in``.

    Args:
        shape: the cells along both axes; public.
        side: how many squares of one level lie along a side of one of the next.
        levels: the noise of one square on each level, cells first, without the total.
        total: the noise of the total.
        penalty: what a square that stands out among its siblings has to explain, in squared standard errors, where the
            plane is not found to be blank but for a few cells.

    >>> from dither.privacy import PureDP
    >>> plane = PrunedPlane.calibrated(PureDP("1/2"), shape=(256, 200))
    >>> plane.loss(1).epsilon, plane.shapes
    (Fraction(1, 2), [(256, 200), (64, 50), (16, 13), (4, 4), (1, 1)])

    """

    name: ClassVar[str] = "pruned-plane"
    version: ClassVar[int] = 2
    numerics: ClassVar[Numerics] = Numerics.EXACT

    shape: Shape = Shape()
    side: Whole = Whole(_SIDE, least=2, most=2**8)
    levels: LevelNoise = LevelNoise()
    total: OneCount = OneCount()
    penalty: NonNegative = NonNegative(4, most=FAR)

    def __post_init__(self) -> None:
        check_cells(self.shape)
        if len(self.shape) != 2:
            raise InvalidParameter("shape", self.shape, "the cells along two axes")
        if len(self.levels) > 1 and self.side ** (len(self.levels) - 1) >= max(self.shape):
            raise InvalidParameter("levels", len(self.levels), f"levels of more than one square, on {self.shape} cells")
        if type(self.total) is not type(self.levels[0]):
            raise InvalidParameter("total", self.total, "noise of the same kind as that of the levels")

    @classmethod
    def calibrated(cls, within: Loss, *, shape: tuple[int, int]) -> Self:
        """Return the method whose loss for counts 1 apart is within ``within``; a pure target gives geometric noise."""
        height = 1
        while _SIDE**height < max(shape):
            height += 1
        wanted = [_FALL**level for level in range(height)]
        rest = sum(wanted) * _TOTAL / (1 - _TOTAL)
        purse = Purse.within(within)
        *levels, total = (purse.share(part).noise() for part in whole_shares([*wanted, rest]))
        return cls(shape=shape, levels=tuple(levels), total=total)

    @property
    def distance(self) -> Metric:
        """L1: a cell's squares, and the total, move as far as the cell does."""
        return L1

    @property
    def branchings(self) -> list[tuple[int, int]]:
        """For each level, how many of its squares along each axis make one of the next."""
        inner = [(self.side, self.side)] * (len(self.levels) - 1)
        top = level_shapes(self.shape, inner)[-1]
        return [*inner, (top[0], top[1])]

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """The squares along both axes on each level, cells first, and (1, 1) for the total."""
        return level_shapes(self.shape, self.branchings)

    @property
    def nodes(self) -> tuple[CountNoise, ...]:
        """The noise for one square on each level, and for the total."""
        return (*self.levels, self.total)

    @property
    def parts(self) -> tuple[CountNoise, ...]:
        """The noise for all squares of each level, and for the total."""
        return tuple(replace(node, shape=size) for node, size in zip(self.nodes, self.shapes, strict=True))

    def plan(self) -> Plan:
        """One draw for each level, and one for the total."""
        return InOrder(tuple(Use(part) for part in self.parts))

    @cached_property
    def variances(self) -> TreeVariances:
        """The variances of the plain estimates of all squares, and of any query."""
        return TreeVariances.of(self.shape, self.branchings, [variance_of(node) for node in self.nodes])

    def reach(self, confidence: Number) -> float:
        """Return a bound on the error of every cell's plain estimate."""
        wanted = probability("confidence", confidence, open_below=True)
        worst = float(self.variances.cells.max())
        return combination_reach(self.nodes, worst, share_of_failure(wanted, self.variances.cells.size))

    @cached_property
    def leeway(self) -> float:
        """How far a shown count may lie from the plain estimate."""
        return self.reach(_NEAR)

    def error(self, confidence: Number) -> Bound:
        """Return a bound on the error of every cell."""
        wanted = probability("confidence", confidence, open_below=True)
        return Bound(self.reach(wanted) + self.leeway, wanted, "the largest absolute error of any cell")

    def interval(self, out: Any, confidence: Number) -> Interval:
        """Return the error on both sides of every cell, all at once."""
        wanted = probability("confidence", confidence, open_below=True)
        half = self.error(wanted).value
        return Interval(out - half, out + half, wanted)

    def release(self, data: Any, run: Runner) -> Floats:
        """Return the pruned estimates, none of which lies farther from its plain one than the leeway."""
        squares, noisy = counts_of(data, self.shape), []
        for part, branching in zip(self.parts, [(1, 1), *self.branchings], strict=True):
            squares = block_sums(squares, branching)
            noisy.append(np.asarray(run(part, squares), dtype=np.float64))
        fit = fit_tree(noisy, [variance_of(node) for node in self.nodes], self.branchings)
        blank = blank_but_for_few(fit)
        shown = pruned_cells(fit, float(self.penalty)) if blank is None else cells_as_expected(fit, blank)
        shown[shown < _DUST] = 0.0  # what rounding left of an empty square
        return np.clip(shown, fit.cells - self.leeway, fit.cells + self.leeway)

"""PrivTree: divide a plane into quarters repeatedly where there are points, without a limit on the depth.

For two-dimensional counts that are dense in few places: the tree goes deep there and stays shallow elsewhere. The noise
of a decision does not grow with the depth, because counts are lowered by a fixed amount at every level. Cost: one pass
over the cells a level. Corrections: the scale is (2 b - 1) / (b - 1) / epsilon for fan-out b, proven here for discrete
noise and whole amounts; lowered counts are raised to threshold - decay at least and counts below 0 to 0, without which
the proof fails; the survey's remark that the height is limited is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.estimate.trees import block_sums, spread
from dither.exact import Number, Of, Whole, exp_up, non_negative, round_up
from dither.lift.axes import MOST_CELLS
from dither.mechanisms.core.additive import DiscreteScale
from dither.mechanisms.core.mechanism import Composed, Interval, Numerics, Primitive
from dither.mechanisms.core.purse import one_number
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.core.values import LARGEST_VALUE, IntegerArray, saturating_sum
from dither.mechanisms.geometric import Geometric
from dither.privacy import L1, InOrder, Loss, Metric, Plan, PureDP, Use
from dither.publish.histograms.buckets import interval_of_buckets
from dither.publish.histograms.common import Share, counts_of, measured, neighbours, with_largest_epsilon

if TYPE_CHECKING:
    from dither.noise import Noise

# A little more than ln 4.
_LOG_4 = Fraction(1386294362, 10**9)


def _examples() -> Iterator[Example]:
    yield Example(QuarteringTree(side=2, scale=2, decay=3, threshold=0), np.array([[2, 0], [1, 0]]), neighbours((2, 2)))
    below = np.array([[9, -9], [0, 0]])
    hidden = ((below, below + np.array([[1, 0], [0, 0]]), 1),)
    yield Example(QuarteringTree(side=2, scale=1, decay=2), np.full((2, 2), 1), (*hidden, *neighbours((2, 2))))


def _composed_examples() -> Iterator[Example]:
    tree = QuarteringTree(side=2, scale=2, decay=3)
    yield Example(PrivTree(tree=tree, node=Geometric(scale=2)), np.array([[2, 0], [1, 0]]), neighbours((2, 2)))


@register(
    examples=_examples,
    source="PrivTree: A Differentially Private Algorithm for Hierarchical Decompositions (Zhang, Xiao, Xie 2016), "
    "section 3",
)
@dataclass(frozen=True, kw_only=True)
class QuarteringTree(Primitive[Any, Any]):
    """Decide for a square and its quarters, repeatedly, whether a noisy, lowered count calls for a division.

    Guarantee: counts ``d_in`` apart in L1 lose epsilon = ``d_in * (1 + 1 / (1 - e^(-decay / scale))) / scale``.

    A square at depth i with c points is divided if max(c - i * decay, threshold - decay) + X > threshold, X being
    discrete Laplace noise; counts below 0 count as 0. Releases for every cell how often the squares around it were
    divided.

    Args:
        side: the cells along both axes, a power of 2; public.
        scale: the scale of the noise of a decision.
        decay: by how much a count is lowered with each depth; scale * ln 4 makes a tree of few empty squares.
        threshold: how large a lowered count must be.

    >>> QuarteringTree(side=8, scale=7, decay=10).loss(1) <= PureDP("0.34")
    True

    """

    name: ClassVar[str] = "quartering-tree"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "a tree is no number"
    no_interval_because: ClassVar[str] = "a tree is no number"

    side: Whole = Whole(least=1, most=2**12)
    scale: DiscreteScale = DiscreteScale()
    decay: Whole = Whole(least=1, most=2**50)
    threshold: Whole = Whole(0, least=0, most=2**50)

    def __post_init__(self) -> None:
        if self.side & (self.side - 1):
            raise InvalidParameter("side", self.side, "a power of 2")
        if self.scale > 2**50:
            raise InvalidParameter("scale", str(self.scale), "at most 2^50")

    @property
    def distance(self) -> Metric:
        """L1 on the counts."""
        return L1

    @property
    def domain(self) -> IntegerArray:
        """One count for each cell."""
        return IntegerArray((self.side, self.side))

    @property
    def draw_shape(self) -> tuple[int, ...]:
        """One depth for each cell."""
        return (self.side, self.side)

    def loss(self, d_in: Number = 1) -> Loss:
        """Return epsilon = d_in * (1 + 1 / (1 - e^(-decay / scale))) / scale, rounded up."""
        kept = 1 - min(exp_up(-self.decay / self.scale), Fraction(2**30 - 1, 2**30))
        return PureDP(round_up(non_negative("d_in", d_in) * (1 + 1 / kept) / self.scale))

    def draw_many(self, value: Any, count: int, noise: Noise) -> NDArray[np.int8]:
        """Return the depths of independent trees."""
        # No count below 0: the proof needs a quarter to hold no more points than its square.
        levels = [np.clip(self.domain.admit(value), 0, LARGEST_VALUE // MOST_CELLS).reshape(self.side, self.side)]
        while levels[-1].size > 1:
            levels.append(block_sums(levels[-1], (2, 2)))
        trees = np.empty((count, self.side, self.side), dtype=np.int8)
        for number in range(count):
            trees[number] = self._grown(levels[:0:-1], noise)
        return trees

    def _grown(self, levels: list[NDArray[np.int64]], noise: Noise) -> NDArray[np.int8]:
        """Return the depths of one tree, from the counts of all divisible squares, largest first."""
        depths = np.zeros((1, 1), dtype=np.int8)
        is_open = np.ones((1, 1), dtype=bool)
        for depth, squares in enumerate(levels):
            lowered = np.maximum(squares[is_open] - depth * self.decay, self.threshold - self.decay)
            noisy = saturating_sum(lowered, noise.discrete_laplace(self.scale, lowered.size))
            is_open[is_open] = noisy > self.threshold
            depths[is_open] += 1
            shape = (2 * squares.shape[0], 2 * squares.shape[1])
            depths, is_open = spread(depths, (2, 2), shape), spread(is_open, (2, 2), shape)
        return depths


@register(
    examples=_composed_examples,
    source="PrivTree: A Differentially Private Algorithm for Hierarchical Decompositions (Zhang, Xiao, Xie 2016); A "
    "Survey on Differential Privacy and Applications, section 3.2.3",
    made_for={"side": 4},
)
@dataclass(frozen=True, kw_only=True)
class PrivTree(Composed[Any, NDArray[np.float64]]):
    """Divide a plane where there are points, measure the undivided squares, and spread them evenly.

    Guarantee: counts ``d_in`` apart in L1 lose what ``tree`` and ``node`` lose at ``d_in``, added up.

    Args:
        tree: the decisions about squares, and the cells along both axes.
        node: the noise of the count of a square that was not divided.

    >>> PrivTree.calibrated(PureDP(1), side=64).loss(1) <= PureDP(1)
    True

    """

    name: ClassVar[str] = "priv-tree"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "counts inside a square have an error that depends on the data"

    tree: Of[QuarteringTree] = Of(QuarteringTree)
    node: Of[Geometric] = Of(Geometric, **one_number(Geometric))

    @classmethod
    def calibrated(cls, within: Loss, *, side: int, share: Any = Fraction(1, 2)) -> Self:
        """Return the method whose loss for counts 1 apart is within ``within``; ``share`` of it pays for the tree."""
        part = Share().convert("share", share)

        def built(epsilon: Fraction, kind: type[Self] = cls) -> Self:
            scale = Fraction(7, 3) / (part * epsilon)
            # An integer above scale * ln 4, so that one point costs at most 7/3 / scale.
            tree = QuarteringTree(side=side, scale=scale, decay=int(scale * _LOG_4) + 1)
            return kind(tree=tree, node=Geometric(scale=1 / ((1 - part) * epsilon)))

        return with_largest_epsilon(within, built)

    @property
    def distance(self) -> Metric:
        """L1 on the counts."""
        return L1

    def plan(self) -> Plan:
        """Draw the tree, then one square per cell."""
        return InOrder.of(Use(self.tree), Use(replace(self.node, shape=(self.tree.side**2,))))

    def interval(self, out: Any, confidence: Number) -> Interval:
        """Return intervals of all cells at once, for non-negative counts; see ``buckets``."""
        return interval_of_buckets(out, confidence, self.node, draws=self.tree.side**2)

    def release(self, data: Any, run: Runner) -> NDArray[np.float64]:
        """Return, for every cell, its square's noisy count divided by the number of cells in the square."""
        counts = counts_of(data, self.tree.draw_shape)
        labels = squares_of(np.asarray(run(self.tree, counts)))
        sums, sizes = measured(run, self.node, counts, labels)
        return (sums / sizes)[labels]


def squares_of(depths: NDArray[Any]) -> NDArray[np.int64]:
    """Return the number of each cell's undivided square, from how often the squares around it were divided.

    >>> squares_of(np.array([[1, 1], [1, 1]])).tolist(), squares_of(np.array([[0, 0], [0, 0]])).tolist()
    ([[0, 1], [2, 3]], [[0, 0], [0, 0]])
    """
    side = depths.shape[0]
    width = side >> depths.astype(np.int64)
    down, across = np.indices(depths.shape)
    corners = (down - down % width) * side + (across - across % width)
    _, labels = np.unique(corners.ravel(), return_inverse=True)
    return np.asarray(labels, dtype=np.int64).reshape(depths.shape)

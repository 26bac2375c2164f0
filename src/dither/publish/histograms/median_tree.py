"""The median tree: cut a plane at private medians, alternately down and across, and measure the boxes with a tree.

For points that are dense in some places: boxes hold about equally many points each, so that dense places get small
boxes. Cost: one pass over the cells a level. Corrections: the medians are chosen by the exponential mechanism with the
difference of both sides as score, whose sensitivity is 1 on every data set; noisy versions of the true median, whose
sensitivity is the whole axis, or of its smooth bound are not needed. All boxes of a level share one price.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Number, Positive, Shape, TupleOf, Whole, non_negative
from dither.mechanisms.core.mechanism import Composed, Interval, Numerics, Primitive
from dither.mechanisms.core.purse import Epsilon
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.core.values import IntegerArray
from dither.privacy import L1, InOrder, Loss, Metric, Plan, PureDP, Use, Within
from dither.publish.histograms.buckets import interval_within
from dither.publish.histograms.common import Share, check_cells, counts_of, neighbours, with_largest_epsilon
from dither.publish.histograms.hierarchical import HierarchicalHistogram

if TYPE_CHECKING:
    from dither.noise import Noise

#: Rows from the first to the second, columns from the third to the fourth, the second and fourth left out.
Box = tuple[int, int, int, int]
_DEEPEST = 14


def _cut_examples() -> Iterator[Example]:
    whole_plane = MedianCuts(shape=(2, 3), boxes=((0, 2, 0, 3),), axis=1, scale=2)
    yield Example(whole_plane, np.array([[4, 0, 1], [2, 0, 1]]), neighbours((2, 3)))


def _examples() -> Iterator[Example]:
    yield Example(MedianTree(shape=(2, 2), epsilon=1, depth=1), np.array([[4, 0], [2, 0]]), neighbours((2, 2)))


def _ends_after_it_begins(box: tuple[int, ...]) -> bool:
    up, down, left, right = box
    return up <= down and left <= right


_BOX = TupleOf(
    Whole(most=2**24),
    least=4,
    most=4,
    where=_ends_after_it_begins,
    rule="rows from and to, columns from and to, neither of which end before they begin",
)


@register(
    examples=_cut_examples,
    source="Differentially Private Spatial Decompositions (Cormode et al. 2012), section 6",
)
@dataclass(frozen=True, kw_only=True)
class MedianCuts(Primitive[Any, Any]):
    """Choose a cut of every box with probability proportional to e^(-|points before - points after| / scale).

    Guarantee: counts ``d_in`` apart in L1 lose epsilon = ``2 d_in / scale``.

    Releases for every box the row or column at which its second part begins; a box that cannot be cut releases its end.

    Args:
        shape: the cells along both axes; public.
        boxes: disjoint boxes; public, or released before.
        axis: 0 to cut between rows, 1 between columns.
        scale: the scale of the choice, in points.

    >>> MedianCuts(shape=(4, 4), boxes=((0, 4, 0, 4),), axis=0, scale=4).loss(1)
    PureDP('1/2')

    """

    name: ClassVar[str] = "median-cuts"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "the distance of a cut from the median depends on how many points are between"
    no_interval_because: ClassVar[str] = "a cut is no estimate of a number with a known distance from it"

    shape: Shape = Shape()
    boxes: TupleOf = TupleOf(_BOX, rule="a tuple of boxes")
    axis: Whole = Whole(least=0, most=1)
    scale: Positive = Positive()

    def __post_init__(self) -> None:
        check_cells(self.shape)
        if len(self.shape) != 2:
            raise InvalidParameter("shape", self.shape, "the cells along two axes")
        seen = np.zeros(self.shape, dtype=np.int8)
        for up, down, left, right in self.boxes:
            seen[up:down, left:right] += 1
            if down > self.shape[0] or right > self.shape[1] or seen[up:down, left:right].max(initial=0) > 1:
                raise InvalidParameter("boxes", (up, down, left, right), "disjoint, and inside the plane")

    @property
    def distance(self) -> Metric:
        """L1 on the counts."""
        return L1

    @property
    def domain(self) -> IntegerArray:
        """One count for each cell."""
        return IntegerArray(self.shape)

    @property
    def draw_shape(self) -> tuple[int, ...]:
        """One cut for each box."""
        return (len(self.boxes),)

    def loss(self, d_in: Number = 1) -> Loss:
        """Return epsilon = 2 d_in / scale."""
        return PureDP(2 * non_negative("d_in", d_in) / self.scale)

    def draw_many(self, value: Any, count: int, noise: Noise) -> NDArray[np.int64]:
        """Return the cuts of independent choices."""
        counts = counts_of(value, self.shape)
        drawn = np.empty((count, len(self.boxes)), dtype=np.int64)
        for number, (up, down, left, right) in enumerate(self.boxes):
            first, last = (up, down) if self.axis == 0 else (left, right)
            if last - first < 2 or up == down or left == right:
                drawn[:, number] = last
                continue
            before = np.cumsum(counts[up:down, left:right].sum(axis=1 - self.axis))
            scores = -np.abs(2 * before[:-1] - before[-1])
            drawn[:, number] = first + 1 + noise.select(scores, 1 / self.scale, count)
        return drawn


@register(
    examples=_examples,
    source="Differentially Private Spatial Decompositions (Cormode et al. 2012), sections 5 and 6; Differential "
    "Privacy and Applications (Zhu et al. 2017), section 12.2",
    reference=True,
)
@dataclass(frozen=True, kw_only=True)
class MedianTree(Composed[Any, NDArray[np.float64]]):
    """Cut a plane at private medians ``depth`` times, measure the boxes with a tree, and spread them evenly.

    Guarantee: counts ``d_in`` apart in L1, an integer, lose epsilon = ``epsilon * d_in``.

    Args:
        shape: the cells along both axes; public.
        epsilon: the total cost of one unit.
        depth: how often every box is cut, rows and columns in turn: at most 2^depth boxes; public.
        share: the share of epsilon that pays for the cuts.

    >>> MedianTree(shape=(64, 64), epsilon="1/2", depth=6).loss(1).epsilon
    Fraction(1, 2)

    """

    name: ClassVar[str] = "median-tree"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "counts inside a box have an error that depends on the data"

    shape: Shape = Shape()
    epsilon: Epsilon = Epsilon()
    depth: Whole = Whole(least=1, most=_DEEPEST)
    share: Share = Share(Fraction(3, 10))

    def __post_init__(self) -> None:
        check_cells(self.shape)
        if len(self.shape) != 2:
            raise InvalidParameter("shape", self.shape, "the cells along two axes")

    @classmethod
    def calibrated(cls, within: Loss, *, shape: tuple[int, int], depth: int = 8, share: Any = Fraction(3, 10)) -> Self:
        """Return the method whose loss for counts 1 apart is within ``within``."""
        return with_largest_epsilon(within, lambda epsilon: cls(shape=shape, epsilon=epsilon, depth=depth, share=share))

    @property
    def distance(self) -> Metric:
        """L1 on the counts."""
        return L1

    @property
    def measuring(self) -> HierarchicalHistogram:
        """The tree over the boxes, in the order of the cuts."""
        target = PureDP((1 - self.share) * self.epsilon)
        return HierarchicalHistogram.calibrated(target, cells=2**self.depth)

    def plan(self) -> Plan:
        """Choose the cuts level by level, then draw the tree."""
        cutting = Within(PureDP(self.share * self.epsilon), (MedianCuts,))
        return InOrder((cutting, Use(self.measuring)))

    def interval(self, out: Any, confidence: Number) -> Interval:
        """Return intervals of all cells at once, for non-negative counts; see ``buckets``."""
        bound = self.measuring.error(confidence)
        return interval_within(out, bound.confidence, lambda _: bound.value)

    def release(self, data: Any, run: Runner) -> NDArray[np.float64]:
        """Return, for every cell, its box's estimate divided by the number of cells in the box."""
        counts, cutting = counts_of(data, self.shape), run.within()
        boxes: list[Box] = [(0, self.shape[0], 0, self.shape[1])]
        scale = 2 * self.depth / (self.share * self.epsilon)
        for level in range(self.depth):
            part = MedianCuts(shape=self.shape, boxes=tuple(boxes), axis=level % 2, scale=scale)
            boxes = _halves(boxes, np.asarray(cutting(part, counts)).tolist(), level % 2)
        sums = np.array([counts[up:down, left:right].sum() for up, down, left, right in boxes], dtype=np.int64)
        estimates, out = run(self.measuring, sums), np.zeros(self.shape)
        for (up, down, left, right), estimate in zip(boxes, estimates.tolist(), strict=True):
            if up < down and left < right:
                out[up:down, left:right] = estimate / ((down - up) * (right - left))
        return out


def _halves(boxes: list[Box], cuts: list[int], axis: int) -> list[Box]:
    """Return both parts of every box, in order; a box that could not be cut has an empty second part."""
    found: list[Box] = []
    for (up, down, left, right), cut in zip(boxes, cuts, strict=True):
        if axis == 0:
            found += [(up, cut, left, right), (cut, down, left, right)]
        else:
            found += [(up, down, left, cut), (up, down, cut, right)]
    return found

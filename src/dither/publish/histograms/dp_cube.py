"""DPCube: a k-d tree on noisy cells finds even boxes, which are measured afresh and combined with the noisy cells.

For histograms of one to four dimensions with large even regions. Cost: a pass over the cells for each depth of the
tree. Corrections: the printed threshold, which may come from the data, is replaced by an estimate of the error from
noisy cells and public variances: a box is divided where that is expected to help by more than the best of all
cuts would seem to by chance. Both measurements of a box are combined by their variances.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Number, Shape, Whole, probability
from dither.mechanisms.core.accuracy import share_of_failure
from dither.mechanisms.core.mechanism import Composed, Interval, Numerics
from dither.mechanisms.core.purse import OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.geometric import Geometric
from dither.privacy import L1, InOrder, Loss, Metric, Plan, Use
from dither.publish.histograms.buckets import interval_within
from dither.publish.histograms.common import (
    check_cells,
    counts_of,
    measured,
    neighbours,
    variance_of,
    whole_shares,
)

_MOST_AXES = 4


def _examples() -> Iterator[Example]:
    cube = DpCube(shape=(2, 2), rough=Geometric(scale=2), node=Geometric(scale=2))
    yield Example(cube, np.array([[30, 0], [31, 1]]), neighbours((2, 2)))


@register(
    examples=_examples,
    source="DPCube: Releasing Differentially Private Data Cubes for Health Information (Xiao, Xiong, Fan, Goryczka "
    "2012); Differential Privacy and Applications (Zhu et al. 2017), section 4.2.2",
)
@dataclass(frozen=True, kw_only=True)
class DpCube(Composed[Any, NDArray[np.float64]]):
    """Find even boxes of cells with a k-d tree on noisy counts, measure each box again, and spread it evenly.

    Guarantee: counts ``d_in`` apart in L1 lose what ``rough`` and ``node`` lose at ``d_in``, added up.

    Args:
        shape: the cells along each of one to four axes; public.
        rough: the noise of a cell that the boxes are formed from.
        node: the noise of the count of a box.
        depth: how often a box is divided at most; public.

    >>> DpCube(shape=(8, 8), rough=Geometric(scale=4), node=Geometric(scale=4)).loss(1).epsilon
    Fraction(1, 2)

    """

    name: ClassVar[str] = "dp-cube"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "counts inside a box have an error that depends on the data"

    shape: Shape = Shape()
    rough: OneCount = OneCount()
    node: OneCount = OneCount()
    depth: Whole = Whole(24, least=0, most=64)

    def __post_init__(self) -> None:
        check_cells(self.shape)
        if len(self.shape) > _MOST_AXES:
            raise InvalidParameter("shape", self.shape, f"one to {_MOST_AXES} axes")

    @classmethod
    def calibrated(cls, within: Loss, *, shape: int | tuple[int, ...], share: float = 0.5) -> Self:
        """Return the method whose loss for counts 1 apart is within ``within``; ``share`` of it forms the boxes."""
        purse = Purse.within(within)
        rough, node = (purse.share(part).noise() for part in whole_shares([share, 1 - share]))
        return cls(shape=shape, rough=rough, node=node)

    @property
    def distance(self) -> Metric:
        """L1 on the counts."""
        return L1

    def plan(self) -> Plan:
        """Draw all cells, then one box per cell, most of them unused."""
        size = (math.prod(self.shape),)
        return InOrder.of(Use(replace(self.rough, shape=size)), Use(replace(self.node, shape=size)))

    def interval(self, out: Any, confidence: Number) -> Interval:
        """Return intervals of all cells at once, for non-negative counts; see ``buckets``."""
        wanted = probability("confidence", confidence, open_below=True)
        failure = share_of_failure(wanted, 2 * math.prod(self.shape))
        rough, fresh = float(self.rough.reach(failure)), float(self.node.reach(failure))
        first, second = variance_of(self.rough), variance_of(self.node)

        def reach(size: int) -> float:
            # All noise at once: of the cells of a box, whichever box was made of them, and of its own count.
            trust = size * first / (size * first + second)
            return (1 - trust) * size * rough + trust * fresh

        return interval_within(out, wanted, reach)

    def release(self, data: Any, run: Runner) -> NDArray[np.float64]:
        """Return, for every cell, the combined count of its box divided by the number of cells in the box."""
        counts = counts_of(data, self.shape)
        drawn = run(replace(self.rough, shape=(counts.size,)), counts.ravel())
        noisy = np.asarray(drawn, dtype=np.float64).reshape(self.shape)
        first, second = variance_of(self.rough), variance_of(self.node)
        labels = _even_boxes(noisy, first, second, self.depth)
        fresh, sizes = measured(run, self.node, counts, labels)
        before = np.bincount(labels.ravel(), weights=noisy.ravel())
        trust = sizes * first / (sizes * first + second)
        return ((before + trust * (fresh - before)) / sizes)[labels]


def _even_boxes(noisy: NDArray[np.float64], first: float, second: float, depth: int) -> NDArray[np.int64]:
    """Return each cell's box number.

    A box of s cells is expected to have the squared error SSE - (s - 1) first + 1 / (1 / first + s / second): its true
    spread, estimated from noisy cells, and s times the variance of its fused mean.
    """
    labels = np.zeros(noisy.shape, dtype=np.int64)
    boxes = [(tuple(slice(0, size) for size in noisy.shape), 0)]
    found = 0
    while boxes:
        box, deep = boxes.pop()
        cut = _best_cut(noisy[box], first, second) if deep < depth else None
        if cut is None:
            labels[box] = found
            found += 1
            continue
        axis, place = cut
        edge = box[axis].start + place
        for part in (slice(box[axis].start, edge), slice(edge, box[axis].stop)):
            boxes.append(((*box[:axis], part, *box[axis + 1 :]), deep + 1))
    return labels


def _best_cut(cells: NDArray[np.float64], first: float, second: float) -> tuple[int, int] | None:
    """Return the axis and place of the most helpful cut, or None if no cut is expected to help."""
    total, size = float(cells.sum()), cells.size
    cuts = sum(length - 1 for length in cells.shape)
    best, found = 2 * first * math.log1p(cuts), None
    fused = 1 / (1 / first + size / second)
    for axis, length in enumerate(cells.shape):
        if length == 1:
            continue
        others = tuple(other for other in range(cells.ndim) if other != axis)
        left = np.cumsum(cells.sum(axis=others))[:-1]
        width = np.arange(1, length) * (size // length)
        spread_less = left**2 / width + (total - left) ** 2 / (size - width) - total**2 / size
        costs_more = 1 / (1 / first + width / second) + 1 / (1 / first + (size - width) / second) - fused
        gain = spread_less - first - costs_more
        place = int(np.argmax(gain))
        if gain[place] > best:
            best, found = float(gain[place]), (axis, place + 1)
    return found

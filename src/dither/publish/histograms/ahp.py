"""AHP: cells with similar noisy counts share one measurement, wherever they lie.

For skewed histograms of which many cells are empty or alike, in any order and of any shape. Cost: one sort.
Corrections: groups are formed from noisy counts alone, with a public threshold, and counts of groups are drawn afresh.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dither.exact import Number, Shape
from dither.mechanisms.core.mechanism import Composed, Interval, Numerics
from dither.mechanisms.core.purse import OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.geometric import Geometric
from dither.privacy import L1, InOrder, Loss, Metric, Plan, Use
from dither.publish.histograms.buckets import interval_of_buckets
from dither.publish.histograms.common import (
    check_cells,
    counts_of,
    measured,
    neighbours,
    variance_of,
    whole_shares,
)

# As a share of scale * ln(cells), about the largest of as many draws as cells: the figure of the published experiments.
_THRESHOLD = 0.35


def _examples() -> Iterator[Example]:
    pair = ClusteredHistogram(shape=3, rough=Geometric(scale=2), node=Geometric(scale=2))
    yield Example(pair, np.array([4, 0, 4]), neighbours((3,)))


@register(
    examples=_examples,
    source="Towards Accurate Histogram Publication under Differential Privacy (Zhang, Chen, Xu, Meng, Xie 2014)",
)
@dataclass(frozen=True, kw_only=True)
class ClusteredHistogram(Composed[Any, NDArray[np.float64]]):
    """Group cells by their noisy counts, measure every group with fresh noise, and spread its count evenly.

    Guarantee: counts ``d_in`` apart in L1 lose what ``rough`` and ``node`` lose at ``d_in``, added up.

    Args:
        shape: the cells along each axis; public. Where a cell lies plays no part.
        rough: the noise of a cell that the groups are formed from.
        node: the noise of the count of a group.

    >>> ClusteredHistogram(shape=9, rough=Geometric(scale=4), node=Geometric(scale=4)).loss(1).epsilon
    Fraction(1, 2)

    """

    name: ClassVar[str] = "ahp"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "counts inside a group have an error that depends on the data"

    shape: Shape = Shape()
    rough: OneCount = OneCount()
    node: OneCount = OneCount()

    def __post_init__(self) -> None:
        check_cells(self.shape)

    @classmethod
    def calibrated(cls, within: Loss, *, shape: int | tuple[int, ...], share: float = 0.5) -> Self:
        """Return the method whose loss for counts 1 apart is within ``within``; ``share`` of it forms the groups."""
        purse = Purse.within(within)
        rough, node = (purse.share(part).noise() for part in whole_shares([share, 1 - share]))
        return cls(shape=shape, rough=rough, node=node)

    @property
    def distance(self) -> Metric:
        """L1 on the counts."""
        return L1

    def plan(self) -> Plan:
        """Draw all cells, then one group count per cell, most of them unused."""
        size = (math.prod(self.shape),)
        return InOrder.of(Use(replace(self.rough, shape=size)), Use(replace(self.node, shape=size)))

    def interval(self, out: Any, confidence: Number) -> Interval:
        """Return intervals of all cells at once, for non-negative counts; see ``buckets``."""
        return interval_of_buckets(out, confidence, self.node, draws=math.prod(self.shape))

    def release(self, data: Any, run: Runner) -> NDArray[np.float64]:
        """Return, for every cell, its group's noisy count divided by the number of cells in the group."""
        counts = counts_of(data, self.shape).ravel()
        noisy = np.asarray(run(replace(self.rough, shape=counts.shape), counts), dtype=np.float64)
        labels = group_by_value(noisy, variance_of(self.rough), variance_of(self.node))
        sums, sizes = measured(run, self.node, counts, labels)
        return (sums / sizes)[labels].reshape(self.shape)


def group_by_value(noisy: NDArray[np.float64], variance: float, fresh: float) -> NDArray[np.int64]:
    """Return each cell's group number: cells sorted by value, cut where a cell is better off alone.

    Counts below about a third of the largest noise expected in all cells count as 0. A cell
    joins the group before it while the growth of the squared error is below what a measurement of its own would cost.
    """
    threshold = _THRESHOLD * math.sqrt(variance / 2) * math.log(max(2, noisy.size))
    cut = np.where(noisy < threshold, 0.0, noisy)
    order = np.argsort(-cut, kind="stable")
    labels = np.zeros(noisy.size, dtype=np.int64)
    group, members, mean = 0, 0, 0.0
    found = np.empty(noisy.size, dtype=np.int64)
    for place, value in enumerate(cut[order].tolist()):
        if members and (value - mean) ** 2 * members / (members + 1) <= fresh * (1 + 1 / members - 1 / (members + 1)):
            members += 1
            mean += (value - mean) / members
        else:
            group += 1 if members else 0
            members, mean = 1, value
        found[place] = group
    labels[order] = found
    return labels

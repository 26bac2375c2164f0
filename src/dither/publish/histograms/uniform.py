"""The uniform histogram: the noisy total, spread evenly over all cells.

The other yardstick: it ignores the data but for one number, and wins where there is hardly any data. Cost: one pass.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dither.exact import Number, Shape
from dither.mechanisms.core.mechanism import Composed, Interval, Numerics
from dither.mechanisms.core.purse import OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.geometric import Geometric
from dither.privacy import L1, Loss, Metric, Plan, Use
from dither.publish.histograms.buckets import interval_of_buckets
from dither.publish.histograms.common import check_cells, counts_of, neighbours


def _examples() -> Iterator[Example]:
    yield Example(UniformHistogram(shape=3, node=Geometric(scale=1)), np.array([4, 0, 7]), neighbours((3,)))


@register(
    examples=_examples,
    source="Principled Evaluation of Differentially Private Algorithms using DPBench (Hay et al. 2016), section 3",
)
@dataclass(frozen=True, kw_only=True)
class UniformHistogram(Composed[Any, NDArray[np.float64]]):
    """Release the noisy total of a histogram of public shape, spread evenly over the cells.

    Guarantee: counts ``d_in`` apart in L1 lose what ``node`` loses at ``d_in``.

    Args:
        shape: the cells along each axis; public.
        node: the noise of the total.

    >>> UniformHistogram(shape=(3, 4), node=Geometric(scale=2)).loss(1)
    PureDP('1/2')

    """

    name: ClassVar[str] = "uniform-histogram"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "the error is that of taking all counts as even, which depends on the data"

    shape: Shape = Shape()
    node: OneCount = OneCount()

    def __post_init__(self) -> None:
        check_cells(self.shape)

    @classmethod
    def calibrated(cls, within: Loss, *, shape: int | tuple[int, ...]) -> Self:
        """Return the least noise within ``within`` for counts 1 apart; a pure target gives geometric noise."""
        return cls(shape=shape, node=Purse.within(within).noise())

    @property
    def distance(self) -> Metric:
        """L1: the total moves as far as all cells together."""
        return L1

    def plan(self) -> Plan:
        """One draw."""
        return Use(self.node)

    def interval(self, out: Any, confidence: Number) -> Interval:
        """Return intervals of all cells at once, for non-negative counts; see ``buckets``."""
        sizes = np.full(self.shape, math.prod(self.shape))
        return interval_of_buckets(out, confidence, self.node, draws=1, sizes=sizes)

    def release(self, data: Any, run: Runner) -> NDArray[np.float64]:
        """Return equal counts."""
        total = run(self.node, int(counts_of(data, self.shape).sum()))
        return np.full(self.shape, float(total) / math.prod(self.shape))

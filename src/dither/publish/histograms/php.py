"""PHP: bisect ordered cells repeatedly where both halves are most even, then measure the parts.

For ordered cells with few sharp steps. Cost: a pass over the cells for each of 64 cuts a level. Corrections: one choice
a level pays for all its segments, because a unit lies in one of them; how deep to go is public, and cuts that did not
help are undone afterwards from the noisy counts alone, which is free.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dither.estimate.merging import merge_runs
from dither.exact import Number, Whole
from dither.mechanisms.core.mechanism import Composed, Interval, Numerics
from dither.mechanisms.core.purse import Epsilon
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.geometric import Geometric
from dither.privacy import L1, InOrder, Loss, Metric, Plan, PureDP, Use, Within
from dither.publish.histograms.bisection import Bisection
from dither.publish.histograms.buckets import interval_of_merged
from dither.publish.histograms.common import (
    Share,
    counts_of,
    labels_of_runs,
    measured,
    neighbours,
    variance_of,
    with_largest_epsilon,
)

_MOST_CELLS = 2**20
_DEEPEST = 12


def _examples() -> Iterator[Example]:
    yield Example(BisectedHistogram(cells=3, epsilon=1, depth=1, share="1/2"), np.array([4, 4, 0]), neighbours((3,)))


@register(
    examples=_examples,
    source="Differentially Private Histogram Publishing through Lossy Compression (Acs, Castelluccia, Chen 2012), "
    "section 5",
    reference=True,
)
@dataclass(frozen=True, kw_only=True)
class BisectedHistogram(Composed[Any, NDArray[np.float64]]):
    """Bisect ordered cells privately ``depth`` times, measure the parts, and merge those that are better merged.

    Guarantee: counts ``d_in`` apart in L1, an integer, lose epsilon = ``epsilon * d_in``.

    Args:
        cells: the number of ordered cells; public.
        epsilon: the total cost of one unit.
        depth: how often every segment is cut: at most 2^depth parts; public.
        share: the share of epsilon that pays for the cuts.

    >>> BisectedHistogram(cells=100, epsilon="1/2", depth=3).loss(1).epsilon
    Fraction(1, 2)

    """

    name: ClassVar[str] = "php"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "counts inside a part have an error that depends on the data"

    cells: Whole = Whole(least=1, most=_MOST_CELLS)
    epsilon: Epsilon = Epsilon()
    depth: Whole = Whole(least=1, most=_DEEPEST)
    share: Share = Share(Fraction(1, 2))

    @classmethod
    def calibrated(cls, within: Loss, *, cells: int, depth: int | None = None, share: Any = Fraction(1, 2)) -> Self:
        """Return the method whose loss for counts 1 apart is within ``within``; half the cells' binary digits deep."""
        deep = max(1, min(_DEEPEST, int(cells).bit_length() // 2)) if depth is None else depth
        return with_largest_epsilon(within, lambda epsilon: cls(cells=cells, epsilon=epsilon, depth=deep, share=share))

    @property
    def distance(self) -> Metric:
        """L1 on the counts."""
        return L1

    @property
    def node(self) -> Geometric:
        """The noise for the count of a part."""
        return Geometric(scale=1 / ((1 - self.share) * self.epsilon))

    def plan(self) -> Plan:
        """Choose on each level, in the segments released by the previous level, then draw for every cell."""
        cutting = Within(PureDP(self.share * self.epsilon), (Bisection,))
        return InOrder.of(cutting, Use(replace(self.node, shape=(self.cells,))))

    def interval(self, out: Any, confidence: Number) -> Interval:
        """Return intervals of all cells at once, for non-negative counts; see ``buckets``."""
        most = min(self.cells, 2**self.depth)
        return interval_of_merged(out, confidence, self.node, cells=self.cells, most_draws=most)

    def release(self, data: Any, run: Runner) -> NDArray[np.float64]:
        """Return, for every cell, the mean of its merged part."""
        counts = counts_of(data, (self.cells,))
        starts, cutting = [0], run.within()
        for _ in range(self.depth):
            scale = 4 * self.depth / (self.share * self.epsilon)
            cuts = cutting(Bisection(cells=self.cells, starts=tuple(starts), scale=scale), counts)
            starts = sorted({*starts, *np.asarray(cuts).tolist()})
        labels = labels_of_runs(np.array(starts), self.cells)
        sums, sizes = measured(run, self.node, counts, labels)
        merged = labels_of_runs(merge_runs(sums, variance_of(self.node), sizes), sums.size)
        means: NDArray[np.float64] = np.bincount(merged, weights=sums) / np.bincount(merged, weights=sizes)
        return means[merged][labels]

"""StructureFirst: choose the boundaries of buckets privately, then measure the buckets.

For few ordered cells and few buckets, where most of the budget should go into the counts. Cost: O(cells^2 * buckets) in
vector steps. Corrections: counts are cut off at a *public* bound, on which the sensitivity of the squared error rests;
the printed method takes the largest count from the data. The sensitivity is 2 bound - 1, not 2 bound + 1, as both
neighbours lie within the bound, and scores are integers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Number, Of, Positive, Whole, whole
from dither.mechanisms.core.mechanism import Composed, Interval, Numerics
from dither.mechanisms.core.purse import one_number
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.exponential import Exponential
from dither.mechanisms.geometric import Geometric
from dither.privacy import L1, InOrder, Loss, Metric, Plan, Repeat, Use
from dither.publish.histograms.buckets import interval_of_buckets
from dither.publish.histograms.common import (
    Share,
    counts_of,
    labels_of_runs,
    measured,
    neighbours,
    with_largest_epsilon,
)

_MOST_CELLS = 2**13


def _examples() -> Iterator[Example]:
    small = StructureFirst(cells=3, buckets=2, bound=5, choice=18, node=Geometric(scale=2))
    inside = ((np.array([5, 0, 0]), np.array([4, 0, 0]), 1), (np.array([0, 5, 5]), np.array([0, 5, 4]), 1))
    yield Example(small, np.array([4, 4, 0]), (*inside, *neighbours((3,))))


@register(
    examples=_examples,
    source="Differentially Private Histogram Publication (Xu et al. 2013), section 5; Differential Privacy and "
    "Applications (Zhu et al. 2017), section 4.2.2",
)
@dataclass(frozen=True, kw_only=True)
class StructureFirst(Composed[Any, NDArray[np.float64]]):
    """Choose the boundaries of buckets from right to left by their squared error, then measure the buckets.

    Guarantee: counts ``d_in`` apart in L1 lose epsilon = ``(buckets - 1) * 2 (2 bound - 1) d_in / choice`` and what
    ``node`` loses at ``d_in``.

    Args:
        cells: the number of ordered cells; public.
        buckets: how many buckets there will be; public.
        bound: counts outside 0 to ``bound`` are cut off for the choice of boundaries; public.
        choice: the scale of the exponential mechanism that chooses one boundary, in units of squared error.
        node: the noise of the count of a bucket.

    >>> StructureFirst(cells=9, buckets=2, bound=5, choice=36, node=Geometric(scale=2)).loss(1).epsilon
    Fraction(1, 1)

    """

    name: ClassVar[str] = "structure-first"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "counts inside a bucket have an error that depends on the data"

    cells: Whole = Whole(least=1, most=_MOST_CELLS)
    buckets: Whole = Whole(least=1, most=_MOST_CELLS)
    bound: Whole = Whole(least=1, most=2**30)
    choice: Positive = Positive()
    node: Of[Geometric] = Of(Geometric, **one_number(Geometric))

    def __post_init__(self) -> None:
        if self.buckets > self.cells:
            raise InvalidParameter("buckets", self.buckets, f"at most {self.cells}, the number of cells")
        if self.bound * self.cells >= 2**31:
            raise InvalidParameter("bound", self.bound, f"below 2^31 / {self.cells}, so that squares fit")

    @classmethod
    def calibrated(cls, within: Loss, *, cells: int, buckets: int, bound: int, share: Any = Fraction(1, 4)) -> Self:
        """Return the method whose loss for counts 1 apart is within ``within``; ``share`` is for any boundaries."""
        several = whole("buckets", buckets, least=1) > 1
        part = Share().convert("share", share) if several else Fraction(0)
        boundaries = 2 * (2 * whole("bound", bound, least=1) - 1) * (buckets - 1)

        def built(epsilon: Fraction, kind: type[Self] = cls) -> Self:
            choice = boundaries / (part * epsilon) if several else Fraction(1)
            node = Geometric(scale=1 / ((1 - part) * epsilon))
            return kind(cells=cells, buckets=buckets, bound=bound, choice=choice, node=node)

        return with_largest_epsilon(within, built)

    @property
    def distance(self) -> Metric:
        """L1 on the counts."""
        return L1

    @property
    def chooser(self) -> Exponential:
        """The choice of one boundary among the cells."""
        return Exponential(candidates=self.cells, scale=self.choice)

    @property
    def stability(self) -> int:
        """How far a partition's squared error moves when one count within the bound moves by 1."""
        return 2 * self.bound - 1

    def plan(self) -> Plan:
        """Choose each boundary, then draw one bucket per cell."""
        boundary, counts = Use(self.chooser, self.stability), Use(replace(self.node, shape=(self.cells,)))
        return InOrder.of(Repeat(boundary, self.buckets - 1), counts)

    def interval(self, out: Any, confidence: Number) -> Interval:
        """Return intervals of all cells at once, for non-negative counts; see ``buckets``."""
        return interval_of_buckets(out, confidence, self.node, draws=self.buckets, are_runs=True)

    def release(self, data: Any, run: Runner) -> NDArray[np.float64]:
        """Return, for every cell, the noisy mean of its bucket."""
        counts = counts_of(data, (self.cells,))
        errors = SquaredErrors(np.clip(counts, 0, self.bound))
        table = errors.best_prefixes(self.buckets)
        end, starts = self.cells, []
        for left in range(self.buckets - 1, 0, -1):
            # The last of the remaining buckets begins at any place that leaves a cell for each of the others.
            feasible = np.arange(left, end)
            scores = np.full(self.cells, -(2**60), dtype=np.int64)
            scores[feasible] = -(table[left][feasible] + errors.between(feasible, end))
            end = int(np.clip(run(self.chooser, scores, stability=self.stability), left, end - 1))
            starts.append(end)
        labels = labels_of_runs(np.array([0, *reversed(starts)]), self.cells)
        sums, sizes = measured(run, self.node, counts, labels)
        return (sums / sizes)[labels]


class SquaredErrors:
    """The squared errors of buckets of integer counts, each rounded down to an integer.

    A unit change moves one bucket's error by at most (1 - 1/L)(2 bound - 1); rounding down makes that a whole number of
    at most 2 bound - 1. A partition has that bucket once, and the least of many partitions moves no farther.
    """

    def __init__(self, counts: NDArray[np.int64]) -> None:
        self.cells = counts.size
        self._sums = np.concatenate([[0], np.cumsum(counts)])
        self._squares = np.concatenate([[0], np.cumsum(counts * counts)])

    def between(self, starts: NDArray[np.int64], end: int) -> NDArray[np.int64]:
        """Return the errors of the buckets from each start to ``end`` - 1."""
        lengths, sums = end - starts, self._sums[end] - self._sums[starts]
        found: NDArray[np.int64] = self._squares[end] - self._squares[starts] - -(-(sums * sums) // lengths)
        return found

    def best_prefixes(self, buckets: int) -> list[NDArray[np.int64]]:
        """Return, for 0, 1, ... buckets, the least error of every prefix that has at least that many cells."""
        none = np.zeros(self.cells + 1, dtype=np.int64)
        tables = [none]
        if buckets < 2:
            return tables
        ends = np.arange(1, self.cells + 1)
        first = none.copy()
        first[1:] = self._squares[1:] - -(-(self._sums[1:] ** 2) // ends)
        tables.append(first)
        for already in range(1, buckets - 1):
            best = none.copy()
            for end in range(already + 1, self.cells + 1):
                starts = np.arange(already, end)
                best[end] = (tables[already][starts] + self.between(starts, end)).min()
            tables.append(best)
        return tables

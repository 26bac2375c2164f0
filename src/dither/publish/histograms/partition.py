"""The least-cost partition: ordered cells in runs of similar counts, chosen privately among all partitions.

For methods that measure a few buckets instead of many cells (DAWA). Cost: every length costs one pass over the cells
times the number of starts it has in its own length, and the dynamic programme one vector step a cell.
Corrections: costs are whole numbers of a public unit and noise is discrete; the sensitivity of the deviation of L cells
is 2 - 2/L, so short intervals need less noise; where an interval may begin is public and thinned out for long ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import NonNegative, Number, Whole, non_negative
from dither.mechanisms.core.additive import DiscreteScale
from dither.mechanisms.core.mechanism import Numerics, Primitive
from dither.mechanisms.core.purse import SMALLEST_SCALE
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.values import LARGEST_VALUE, IntegerArray
from dither.privacy import L1, Loss, Metric, PureDP
from dither.publish.histograms.common import neighbours

if TYPE_CHECKING:
    from dither.noise import Noise

_MOST_CELLS = 2**17
_ENTRIES_AT_A_TIME = 1 << 21
_LARGEST_SCALE = 2**36
_MOST_CAUTION = 8
# Sums of 2^17 costs and draws within this stay below 2^61; a draw beyond it is added up in Python integers.
_LARGEST_DRAW = 2**43
_NO_INTERVAL = 2**62


def _examples() -> Iterator[Example]:
    yield Example(LeastCostPartition(cells=3, scale=4, price=2), np.array([4, 4, 7]), neighbours((3,)))


@register(
    examples=_examples,
    source="A Data- and Workload-Aware Algorithm for Range Queries Under Differential Privacy (Li, Hay, Miklau 2014), "
    "section 3",
)
@dataclass(frozen=True, kw_only=True)
class LeastCostPartition(Primitive[Any, Any]):
    """Choose the partition of ordered cells into intervals with the least sum of noisy costs.

    Guarantee: counts ``d_in`` apart in L1 lose epsilon = ``4 d_in / scale``.

    The cost of an interval is the sum of the absolute deviations of its counts from their mean, plus its price. Each
    cost gets its own discrete Laplace noise, of scale ``scale * (1 - 1 / (2 L) - 1 / (2 M))`` for L cells, M being the
    longest. Releases for every cell whether an interval begins there: a 0 or a 1.

    Args:
        cells: the number of cells; public.
        scale: the scale of the noise of one cost, in counts, up to the factor above.
        price: what an interval costs in addition: the expected error of measuring it, in counts.
        caution: a further cost, as a multiple of the scale of its noise, growing by a sixth with every halving of
            the longest interval: short ones are many, and the luckiest of their noise is lucky indeed.
        starts: an interval of L cells, L a power of 2, begins at every multiple of L / starts, or at every cell if that
            is less than one cell.

    >>> LeastCostPartition(cells=100, scale=8, price=10).loss(1)
    PureDP('1/2')

    """

    name: ClassVar[str] = "least-cost-partition"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "what a partition costs more than the best one depends on the counts"
    no_interval_because: ClassVar[str] = "a partition is no number"

    cells: Whole = Whole(least=1, most=_MOST_CELLS)
    scale: DiscreteScale = DiscreteScale()
    price: NonNegative = NonNegative()
    caution: NonNegative = NonNegative(0)
    starts: Whole = Whole(1, least=1, most=2**17)

    def __post_init__(self) -> None:
        if not self.scale * self.unit <= _LARGEST_SCALE:
            raise InvalidParameter("scale", str(self.scale), f"at most 2^36 / {self.unit}")
        if self.cells > 1 and self.scale_of(1) < SMALLEST_SCALE:
            # The noise of the shortest intervals is the narrowest.
            raise InvalidParameter("scale", str(self.scale), "at least 2^-39")
        if not self.price * self.unit * self.cells <= LARGEST_VALUE // 4:
            raise InvalidParameter("price", str(self.price), f"at most 2^58 / {self.unit * self.cells}")
        if not self.caution <= _MOST_CAUTION:
            raise InvalidParameter("caution", str(self.caution), f"at most {_MOST_CAUTION}")

    @property
    def distance(self) -> Metric:
        """L1 on the counts."""
        return L1

    @property
    def domain(self) -> IntegerArray:
        """One count for each cell."""
        return IntegerArray((self.cells,))

    @property
    def draw_shape(self) -> tuple[int, ...]:
        """One mark for each cell."""
        return (self.cells,)

    @property
    def unit(self) -> int:
        """The longest interval; costs are integer multiples of 1 / unit."""
        return int(self.lengths[-1])

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The possible lengths of intervals: the powers of 2 up to the number of cells."""
        return 2 ** np.arange(self.cells.bit_length(), dtype=np.int64)

    @cached_property
    def _ends(self) -> list[NDArray[np.int64]]:
        """For each length, where its intervals end."""
        steps = [max(1, int(length) // self.starts) for length in self.lengths]
        return [
            np.arange(0, self.cells - length + 1, step) + length
            for length, step in zip(self.lengths, steps, strict=True)
        ]

    def loss(self, d_in: Number = 1) -> Loss:
        """Return epsilon = 4 d_in / scale."""
        return PureDP(4 * non_negative("d_in", d_in) / self.scale)

    def costs(self, counts: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Return, for each length, the deviations of its intervals in units of 1 / unit.

        They are whole: L times the deviation of L integers from their mean is one, and L divides the unit.
        """
        limit = LARGEST_VALUE // (8 * self.unit * self.cells)
        counts = np.clip(counts, -limit, limit)
        running = np.concatenate([[0], np.cumsum(counts)])
        found = []
        for length, ends in zip(self.lengths.tolist(), self._ends, strict=True):
            windows = np.lib.stride_tricks.sliding_window_view(counts, length)
            sums, cost = running[ends] - running[ends - length], np.empty(ends.size, dtype=np.int64)
            block = max(1, _ENTRIES_AT_A_TIME // length)
            for first in range(0, ends.size, block):
                part = slice(first, first + block)
                scaled = windows[ends[part] - length] * length - sums[part, None]
                cost[part] = np.abs(scaled, out=scaled).sum(axis=1)
            found.append(cost * (self.unit // length))
        return found

    def scale_of(self, length: int) -> Fraction:
        """Return the noise scale for an interval of that length, in units: from its sensitivity and the largest."""
        return self.scale * (self.unit - Fraction(self.unit, 2 * length) - Fraction(1, 2))

    def price_of(self, length: int) -> int:
        """Return the public cost, in units, of an interval of that length in addition to its deviation."""
        halvings = self.unit.bit_length() - length.bit_length()
        return round(self.price * self.unit + self.caution * self.scale_of(length) * (1 + Fraction(halvings, 6)))

    def draw_many(self, value: Any, count: int, noise: Noise) -> NDArray[np.int8]:
        """Return the marks of independent choices."""
        if self.cells == 1:
            # There is one partition.
            return np.ones((count, 1), dtype=np.int8)
        costs = self.costs(self.domain.admit(value))
        costs = [cost + self.price_of(length) for length, cost in zip(self.lengths.tolist(), costs, strict=True)]
        drawn = np.empty((count, self.cells), dtype=np.int8)
        block = max(1, _ENTRIES_AT_A_TIME // (self.cells * len(costs)))
        for start in range(0, count, block):
            size = min(block, count - start)
            noisy = []
            for length, cost in zip(self.lengths.tolist(), costs, strict=True):
                fresh = noise.discrete_laplace(self.scale_of(length), size * cost.size).reshape(size, cost.size)
                noisy.append(cost + (fresh.astype(object) if np.abs(fresh).max() > _LARGEST_DRAW else fresh))
            drawn[start : start + size] = self._best(noisy, size)
        return drawn

    def _best(self, noisy: list[NDArray[Any]], count: int) -> NDArray[np.int8]:
        """Return where the intervals of the cheapest partition begin, by dynamic programming over the ends.

        In integers, so that of two partitions the cheaper one is always told; among equal ones the first wins, in
        one public order.
        """
        kind = np.result_type(*noisy)
        # By end: the costs of the intervals that end there, and a price no sum reaches where there is none.
        table = np.full((self.cells + 1, count, len(noisy)), _NO_INTERVAL if kind.kind == "i" else 2**200, dtype=kind)
        for level, (ends, cost) in enumerate(zip(self._ends, noisy, strict=True)):
            table[ends, :, level] = cost.T
        best = np.zeros((self.cells + 1, count), dtype=kind)
        chosen = np.zeros((self.cells + 1, count), dtype=np.int64)
        for end in range(1, self.cells + 1):
            levels = end.bit_length()
            totals = table[end, :, :levels] + best[end - self.lengths[:levels]].T
            chosen[end] = totals.argmin(axis=1)
            best[end] = totals.min(axis=1)
        marks = np.zeros((count, self.cells), dtype=np.int8)
        ends, rows = np.full(count, self.cells), np.arange(count)
        while rows.size:
            ends = ends - self.lengths[chosen[ends, rows]]
            marks[rows, ends] = 1
            ends, rows = ends[ends > 0], rows[ends > 0]
        return marks

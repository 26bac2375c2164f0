"""Filtered counts: noise on every cell of a domain too large to list, and a filter that few cells pass.

For tables of which only the full cells are held. The empty cells that pass are found by skipping from one to the next,
so the cost is that of the full cells and of what is released. ``publish.histograms.sparse_filter`` has the method;
here is the primitive. Corrections: see there.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter, InvalidValue
from dither.exact import Flag, Number, Whole, non_negative
from dither.exact.enclosure import exp_decimals, round_up
from dither.mechanisms.core.additive import DiscreteScale
from dither.mechanisms.core.mechanism import Numerics, Primitive
from dither.mechanisms.core.values import LARGEST_SUM, LARGEST_VALUE, Domain, saturating_sum
from dither.noise import Noise
from dither.noise.chances import Chance, IrrationalChance
from dither.privacy import Loss, Metric, PureDP

MOST_CELLS: Final = 2**50
MOST_THRESHOLD: Final = 2**60
_DIGITS: Final = 40
#: Skips drawn at a time: this many times the largest domain still fits an int64.
_BATCH: Final = 2**12
#: The largest chance of an empty cell to pass: beyond, skipping would find more cells than it leaves out.
LARGEST_CHANCE: Final = Fraction(1, 2)
_SMALLEST_RATE: Final = Fraction(1, 2**900)


class SparseCounts(Domain):
    """A ``Counter`` of cell numbers. Entries that are not cells, or whose count is not above 0, are ignored."""

    def __init__(self, cells: int) -> None:
        self.cells = cells

    def admit(self, value: Any) -> tuple[tuple[int, int], ...]:
        """Return the numbers of the non-empty cells in order, with their counts."""
        if not isinstance(value, Counter):
            raise InvalidValue("value", value, "a Counter of the numbers of cells")
        full = (
            (cell, min(count, LARGEST_VALUE))
            for cell, count in value.items()
            if type(cell) is int and 0 <= cell < self.cells and type(count) is int and count > 0
        )
        return tuple(sorted(full))

    def __str__(self) -> str:
        return "a Counter of the numbers of cells"


class _SparseL1(Metric):
    """The sum of the changes of all counts."""

    def measure(self, first: Any, second: Any) -> Fraction:
        here, there = dict(first), dict(second)
        return Fraction(sum(abs(here.get(cell, 0) - there.get(cell, 0)) for cell in here.keys() | there.keys()))


_COUNTS_MOVED: Final = _SparseL1("SPARSE_L1", "the sum of the changes of all counts")


@dataclass(frozen=True, kw_only=True)
class FilteredCounts(Primitive[Any, dict[int, int]]):
    """Add discrete Laplace noise to every cell of a domain, and keep the cells that pass a filter.

    Guarantee: tables of counts ``d_in`` apart in L1 lose epsilon = ``d_in / scale``.

    >>> FilteredCounts(cells=10**9, scale=2, threshold=40).loss(1)
    PureDP('1/2')
    """

    name: ClassVar[str] = "filtered-counts"
    version: ClassVar[int] = 2
    numerics: ClassVar[Numerics] = Numerics.EXACT

    cells: Whole = Whole(least=1, most=MOST_CELLS)
    scale: DiscreteScale = DiscreteScale()
    threshold: Whole = Whole(least=1, most=MOST_THRESHOLD)
    sampled: Flag = Flag(False)

    def __post_init__(self) -> None:
        if chance_of_passing(self.scale, self.threshold, self.sampled)[1] > LARGEST_CHANCE:
            raise InvalidParameter(
                "threshold", self.threshold, "large enough that at most half of all empty cells pass"
            )

    @property
    def distance(self) -> Metric:
        """L1 on counts."""
        return _COUNTS_MOVED

    @property
    def domain(self) -> SparseCounts:
        """The counts of the non-empty cells."""
        return SparseCounts(self.cells)

    def loss(self, d_in: Number = 1) -> Loss:
        """Return epsilon = d_in / scale, the noise's: the filter only sees noisy counts."""
        return PureDP(non_negative("d_in", d_in) / self.scale)

    def draw_many(self, value: Any, count: int, noise: Noise) -> NDArray[Any]:
        """Return dictionaries of the kept cells and their noisy counts, in the order of the cells."""
        table = np.array(self.domain.admit(value), dtype=np.int64).reshape(-1, 2)
        places, exact = table[:, 0], table[:, 1]
        drawn = np.empty(count, dtype=object)
        for index in range(count):
            full = self._filtered(saturating_sum(exact, noise.discrete_laplace(self.scale, exact.size)), noise)
            kept = {int(place): int(number) for place, number in zip(places, full, strict=True) if number}
            empty = self._passing(places, noise)
            kept.update(zip(empty.tolist(), self._values(empty.size, noise), strict=True))
            drawn[index] = dict(sorted(kept.items()))
        return drawn

    def _filtered(self, noisy: NDArray[Any], noise: Noise) -> NDArray[Any]:
        """Return the noisy counts that pass, and 0 for the others."""
        if not self.sampled:
            return np.where(noisy >= self.threshold, noisy, 0)
        shown = np.where(np.abs(noisy) >= self.threshold, noisy, 0)
        for size in np.unique(np.abs(noisy[np.abs(noisy) < self.threshold])).tolist():
            same = np.flatnonzero(np.abs(noisy) == size)
            kept = noise.bernoulli(Fraction(int(size), self.threshold), same.size)
            shown[same] = np.where(kept, np.sign(noisy[same]) * self.threshold, 0)
        return shown

    def _passing(self, full: NDArray[np.int64], noise: Noise) -> NDArray[np.int64]:
        """Return the empty cells that pass; each does, independently, with the probability that noise on 0 passes."""
        rate, thinning = _skipping(self.scale, self.threshold, self.sampled)
        often = self.cells * float(rate)
        batch = max(1, min(_BATCH, math.ceil(often + 3 * math.sqrt(often))))
        found, last = [], -1
        while last < self.cells:
            # A skip of g cells has a chance in proportion to e^(-rate g): the next heads of coins of 1 - e^-rate.
            skips = np.minimum(noise.geometric(1 / rate, batch), self.cells).astype(np.int64)
            reached = last + np.cumsum(skips + 1)
            found.append(reached[reached < self.cells])
            last = int(reached[-1])
        candidates = np.concatenate(found)
        candidates = candidates[noise.flip(thinning, candidates.size)]
        return candidates[~np.isin(candidates, full)]

    def _values(self, count: int, noise: Noise) -> list[int]:
        """Return the noisy counts of the empty cells that pass, as the filter shows them.

        It saturates where the noisy counts of full cells do: a larger number would tell that its cell is empty.
        """
        if not self.sampled:
            # Noise beyond a threshold is the threshold and geometric noise more: the law has no memory.
            return [min(int(more) + self.threshold, LARGEST_SUM) for more in noise.geometric(self.scale, count)]
        # min(v, t) e^(-v / scale) is the sum over j from 1 to t of what is geometric from j on.
        starts: list[int] = []
        while len(starts) < count:
            drawn = noise.geometric(self.scale, count - len(starts)).tolist()
            starts += [1 + int(start) for start in drawn if start < self.threshold]
        more = noise.geometric(self.scale, count).tolist()
        signs = noise.bernoulli(Fraction(1, 2), count).tolist()
        return [
            min(max(start + int(above), self.threshold), LARGEST_SUM) * (1 if sign else -1)
            for start, above, sign in zip(starts, more, signs, strict=True)
        ]


def chance_of_passing(
    scale: Fraction, threshold: int, sampled: bool, digits: int = _DIGITS
) -> tuple[Fraction, Fraction]:
    """Return rational bounds on the probability that noise on 0 passes.

    With q = e^(-1 / scale) and the threshold t: q^t / (1 + q), or sampled 2 q (1 - q^t) / (t (1 - q^2)).
    """
    # 1 - q may have few digits.
    more = digits + 2 * len(str(math.ceil(scale)))
    low, high = _power(1 / scale, more)
    tail_low, tail_high = _power(threshold / scale, more)
    if not sampled:
        return tail_low / (1 + high), tail_high / (1 + low)
    return (
        2 * low * (1 - tail_high) / (threshold * (1 - low**2)),
        2 * high * (1 - tail_low) / (threshold * (1 - high**2)),
    )


def _power(x: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """Return rational bounds on e^-x."""
    if x > 4 * digits:
        return Fraction(0), Fraction(1, 10**digits)
    low, high = exp_decimals(-x, digits)
    return Fraction(low), Fraction(high)


@lru_cache(maxsize=64)
def _skipping(scale: Fraction, threshold: int, sampled: bool) -> tuple[Fraction, Chance]:
    """Return a rate x such that 1 - e^-x is at least the probability p of an empty cell, and the coin p / (1 - e^-x).

    With p of at most 1/2 and x = p + 2 p^2: 1 - e^-x >= x - x^2 / 2 = p + p^2 (3/2 - 2 p - 2 p^2) >= p, and 1 - e^-x
    grows with x. The coin's chance is irrational: as a rational a it would make e^(-t / scale) = a (1 + q) (1 - e^-x),
    or 2 q - 2 q^(t + 1) = a t (1 - q^2) (1 - e^-x), where the exponential of 0 has the coefficient a or a t alone; by
    the theorem of Lindemann and Weierstrass exponentials of different rationals are linearly independent, so a = 0.
    """
    above = round_up(chance_of_passing(scale, threshold, sampled)[1])
    rate = max(round_up(above + 2 * above * above), _SMALLEST_RATE)

    def enclose(digits: int) -> tuple[Fraction, Fraction]:
        # The chance and the rate may both be tiny; their ratio needs the digits.
        extra = digits + len(str(math.ceil(1 / rate))) * 2
        low, high = chance_of_passing(scale, threshold, sampled, extra)
        end_low, end_high = _power(rate, extra)
        return low / (1 - end_low), min(high / (1 - end_high), Fraction(1))

    return rate, IrrationalChance(enclose)

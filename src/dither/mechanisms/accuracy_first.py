"""Accuracy first: reduce the noise until the answer is accurate enough, and lose only what that takes.

For counts of unknown size that are wanted to a relative accuracy: a large count is known to one part in a hundred with
much noise, a small one needs little. The noise is reduced level by level, coupled, and the first level is released
whose noisy total shows that the noise is a small enough share of it. The answer says which level that was, and so what
was lost: an account of pure epsilons pays that, and any other account the finest level. Cost: one draw for each cell
and level. The source checks a model's loss on private data, which costs a sparse vector; here the check reads released
numbers alone and costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Number, Positive, Probability, Shape, non_negative, positive, probability, whole
from dither.mechanisms.core.accuracy import discrete_laplace_reach, share_of_failure
from dither.mechanisms.core.additive import FallingScales
from dither.mechanisms.core.coupled import coupled_levels
from dither.mechanisms.core.mechanism import Bound, Interval, Numerics, Primitive
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.values import LARGEST_SUM, IntegerArray, saturating_sum
from dither.noise import Noise
from dither.privacy import L1, Loss, Metric, PureDP, laplace_scale

_MOST_LEVELS = 64
_HALF_WORD = 31


def _examples() -> Iterator[Example]:
    yield Example(AccuracyFirst(shape=1, scales=(2, 1), share="1/2", confidence="1/2"), np.array([9]))
    yield Example(AccuracyFirst(shape=2, scales=(4, 1), share=1, confidence="1/2"), np.array([5, 3]))
    yield Example(AccuracyFirst(shape=(2, 3), scales=(8, 4, 2), share="1/4"), np.arange(6).reshape(2, 3))


@register(
    examples=_examples,
    source="Accuracy First: Selecting a Differential Privacy Level for Accuracy-Constrained ERM (Ligett, Neel, Roth, "
    "Waggoner, Wu 2017), sections 2 and 3",
)
@dataclass(frozen=True, kw_only=True)
class AccuracyFirst(Primitive[Any, Any]):
    """Release counts with the most noise that leaves every error a small enough share of the total.

    Guarantee: counts ``d_in`` apart in L1 lose ``d_in / scales[-1]``; and an answer of level j is at most
    e^(``d_in / scales[j]``) times as likely for one of them as for the other.

    The level that was reached, from 0, and then all counts in one row.

    Args:
        shape: of the table of counts; public.
        scales: the levels of noise, coarse to fine.
        share: each count may err by this share of the true total; for a single count that is its relative error.
        confidence: with which that holds, where a level was found that shows it.

    >>> counts = AccuracyFirst(shape=1, scales=(16, 4, 1), share="1/10")
    >>> counts.loss(1), counts.loss_of(np.array([0, 1200]))
    (PureDP('1'), PureDP('1/16'))
    >>> counts.is_reached(np.array([0, 1200])), counts.is_reached(np.array([2, 7]))
    (True, False)

    """

    name: ClassVar[str] = "accuracy-first"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    shape: Shape = Shape()
    scales: FallingScales = FallingScales(most=_MOST_LEVELS)
    share: Positive = Positive(most=1)
    confidence: Probability = Probability("19/20")

    def __post_init__(self) -> None:
        """Reject a certainty that no noise has."""
        self._reach(0, self.confidence)

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        sensitivity: Number,
        shape: Any,
        share: Number = "1/20",
        levels: int = 8,
        factor: Number = 2,
        confidence: Number = "19/20",
    ) -> Self:
        """Return levels of which the finest is within a loss, each with 1 / ``factor`` of the previous noise.

        Args:
            within: a pure loss not to exceed, whatever level is reached.
            sensitivity: how far the counts move in L1 per unit of data.
            shape: of the table of counts.
            share: each count may err by this share of the true total.
            levels: how many levels there are.
            factor: what one level has more of noise than the next.
            confidence: with which the share holds.

        """
        ratio, finest = positive("factor", factor), laplace_scale(within, sensitivity)
        if not ratio > 1:
            raise InvalidParameter("factor", factor, "a number above 1")
        powers = range(whole("levels", levels, least=1, most=_MOST_LEVELS))
        scales = tuple(finest * ratio**power for power in reversed(powers))
        return cls(shape=shape, scales=scales, share=share, confidence=confidence)

    @property
    def domain(self) -> IntegerArray:
        """A table of counts."""
        return IntegerArray(self.shape)

    @property
    def cells(self) -> int:
        """The number of counts."""
        return prod(self.shape)

    @property
    def distance(self) -> Metric:
        """L1 on counts."""
        return L1

    @property
    def draw_shape(self) -> tuple[int, ...]:
        """The level and the counts."""
        return (1 + self.cells,)

    def loss(self, d_in: Number = 1) -> Loss:
        """Return the loss of the finest level, which may be reached."""
        return PureDP(non_negative("d_in", d_in) / self.scales[-1])

    def loss_of(self, out: Any, d_in: Number = 1) -> Loss:
        """Return the loss of the level that an answer has reached."""
        return PureDP(non_negative("d_in", d_in) / self.scales[self.level(out)])

    def level(self, out: Any) -> int:
        """Return the level of an answer, from 0."""
        return whole("level", int(out[0]), most=len(self.scales) - 1)

    def is_reached(self, out: Any) -> bool:
        """Whether an answer shows that every count errs by at most the share; else the finest level was too coarse."""
        return bool(self._is_enough(self.level(out), np.asarray(out)[None, 1:])[0])

    def error(self, confidence: Number) -> Bound:
        """Return the reach of the coarsest noise: no level has more."""
        wanted = probability("confidence", confidence, open_below=True)
        return Bound(self._reach(0, wanted), wanted, "the largest absolute error of any count")

    def interval(self, out: Any, confidence: Number) -> Interval:
        """Return the reach of the noise of the level that was reached; it allows for the choice of the level."""
        wanted = probability("confidence", confidence, open_below=True)
        reach, counts = self._reach(self.level(out), wanted), np.asarray(out)[1:].reshape(self.shape)
        # Counts are at most 2^62 either way; with a longer reach the ends do not fit into 64 bits.
        whole_numbers = counts if reach < LARGEST_SUM else counts.astype(object)
        return Interval(whole_numbers - reach, whole_numbers + reach, wanted)

    def draw_many(self, value: Any, count: int, noise: Noise) -> NDArray[Any]:
        """Return draws: all levels of noise, fine to coarse, then the first level that the check passes."""
        exact = self.domain.admit(value).reshape(-1)
        found = np.full((count, 1 + self.cells), len(self.scales) - 1, dtype=np.int64)
        is_open = np.full(count, True)
        for level, each in enumerate(coupled_levels(self.scales, count * self.cells, noise)):
            shown = saturating_sum(exact, each.reshape(count, -1))
            stops = is_open & (self._is_enough(level, shown) | (level == len(self.scales) - 1))
            found[stops, 0], found[stops, 1:] = level, shown[stops]
            is_open &= ~stops
        return found

    def _is_enough(self, level: int, shown: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which rows show that a level's noise is a small enough share: a function of released counts alone."""
        reach, share = self._reaches[level], self.share
        # Sums of 64-bit counts, in two parts that cannot overflow.
        high = (shown >> _HALF_WORD).sum(axis=1).tolist()
        low = (shown & (2**_HALF_WORD - 1)).sum(axis=1).tolist()
        totals = [abs((one << _HALF_WORD) + other) for one, other in zip(high, low, strict=True)]
        least = [share.numerator * (total - self.cells * reach) for total in totals]
        return np.array([reach * share.denominator <= each for each in least], dtype=bool)

    @cached_property
    def _reaches(self) -> list[int]:
        return [self._reach(level, self.confidence) for level in range(len(self.scales))]

    def _reach(self, level: int, confidence: Fraction) -> int:
        """Return what no noise of a level exceeds, when all levels and counts keep to theirs with a confidence."""
        return discrete_laplace_reach(self.scales[level], share_of_failure(confidence, self.cells * len(self.scales)))

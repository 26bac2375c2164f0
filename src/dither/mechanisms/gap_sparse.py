"""Sparse vector with gap: which values exceed a threshold and by how much, at the price of knowing which.

For questions that arrive one after another and mostly have the answer no. The gap between a noisy value and the noisy
threshold comes free with every yes. The adaptive form asks first with twice the noise whether a value lies far above;
such a yes costs half, so more of them are answered. Cost: one or two draws a question. What is free is the gap, a
difference of two secrets; neither the noisy value nor the noisy threshold alone is released.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from dither.errors import InvalidParameter
from dither.exact import Flag, Maybe, Number, Whole, non_negative, probability
from dither.mechanisms.above_threshold import AboveThreshold
from dither.mechanisms.core.accuracy import discrete_laplace_reach, share_of_failure
from dither.mechanisms.core.additive import DiscreteScale
from dither.mechanisms.core.mechanism import Bound, InteractivePrimitive, Interval, Numerics
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.values import ONE_INTEGER, IntegerArray
from dither.noise import Noise
from dither.noise.source import LARGEST_SCALE
from dither.privacy import LARGEST, ONE_WAY, Loss, Metric, PureDP


def _examples() -> Iterator[Example]:
    yield Example(GapSparse(threshold=2, threshold_scale=2, query_scale=4), [0, 1, 2, 3, 1])
    yield Example(GapSparse(threshold=0, threshold_scale="1/4", query_scale="1/3", margin=1), [0, 0])
    yield Example(
        GapSparse(threshold=0, threshold_scale=2, query_scale=4, margin=6, positives=2, one_way=True), [1, -1, 9, 2, 5]
    )


# What a yes costs, in halves of the price of a yes near the threshold.
_NEAR, _FAR = 2, 1


@dataclass(frozen=True)
class Gap:
    """A positive answer: the noisy value's gap above the noisy threshold, and which of the two comparisons found it."""

    above: int
    is_far: bool = False


@dataclass
class _State:
    """The noisy threshold, which is secret, and the half-charges left, which are public (a near positive takes two)."""

    noisy_threshold: int
    left: int


@register(
    examples=_examples,
    source="Free Gap Information from the Sparse Vector and Noisy Max Mechanisms (Ding et al. 2019), Algorithm 2",
)
@dataclass(frozen=True, kw_only=True)
class GapSparse(InteractivePrimitive[int, Gap | None]):
    """Report whether and by how much each integer's noisy value exceeds a noisy threshold, until the budget is spent.

    Guarantee: sequences of values, each moving by at most ``d_in``, lose epsilon =
    ``d_in / threshold_scale + 2 * positives * d_in / query_scale``; without the factor 2 when all move the same way
    (``one_way``).

    An answer is None below the threshold and a ``Gap`` above it.

    Args:
        threshold: the public threshold.
        threshold_scale: the scale of its discrete Laplace noise.
        query_scale: the scale of the noise of each value.
        positives: how many answers near the threshold are paid for.
        margin: a value this far above, seen through noise of twice ``query_scale``, is far above and its answer costs
            half. The conversation ends when less than one near answer is left. None: no such look, and it ends after
            ``positives`` answers.
        one_way: whether all values move in the same direction between neighbours.

    >>> GapSparse(threshold=100, threshold_scale=2, query_scale=4, margin=12).loss(1)
    PureDP('1')

    """

    name: ClassVar[str] = "gap-sparse"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_interval_because: ClassVar[str] = "a value below the threshold is not measured"

    threshold: Whole = Whole(least=-(2**60), most=2**60)
    threshold_scale: DiscreteScale = DiscreteScale()
    query_scale: DiscreteScale = DiscreteScale()
    positives: Whole = Whole(1, least=1, most=2**32)
    margin: Maybe = Maybe(Whole(most=2**60))
    one_way: Flag = Flag(False)

    def __post_init__(self) -> None:
        if self.margin is not None and self.wide_scale > LARGEST_SCALE:
            raise InvalidParameter("query_scale", str(self.query_scale), "at most 2^999 beside a margin")

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        threshold: int,
        sensitivity: Number,
        positives: int = 1,
        one_way: bool = False,
        adaptive: bool = True,
    ) -> GapSparse:
        """Return above-threshold's split of ``within``; the margin is two standard deviations of the wide noise.

        Args:
            within: the loss not to exceed.
            threshold: the public threshold.
            sensitivity: how far a value moves per unit of data.
            positives: how many answers near the threshold are paid for.
            one_way: whether all values move in the same direction.
            adaptive: whether answers far above cost half.

        """
        plain = AboveThreshold.calibrated(
            within, threshold=threshold, sensitivity=sensitivity, positives=positives, one_way=one_way
        )
        # Two standard deviations of scale 2 b: 2 * sqrt(2) * 2 b, and 17 / 3 is 4 sqrt(2) to three digits.
        margin = min(math.ceil(plain.query_scale * Fraction(17, 3)), 2**60) if adaptive else None
        return cls(
            threshold=plain.threshold,
            threshold_scale=plain.threshold_scale,
            query_scale=plain.query_scale,
            positives=plain.positives,
            margin=margin,
            one_way=plain.one_way,
        )

    @property
    def distance(self) -> Metric:
        """The largest change of any value; with ``one_way``, all changes have the same sign."""
        return ONE_WAY if self.one_way else LARGEST

    @property
    def domain(self) -> IntegerArray:
        """One integer at a time."""
        return ONE_INTEGER

    @cached_property
    def wide_scale(self) -> Fraction:
        """The scale of the noise in the first comparison: twice that of the second."""
        return 2 * self.query_scale

    def loss(self, d_in: Number = 1) -> Loss:
        """Return the loss of the whole conversation, with the whole budget spent."""
        change = non_negative("d_in", d_in)
        factor = (1 if self.one_way else 2) * self.positives
        return PureDP(change / self.threshold_scale + factor * change / self.query_scale)

    def error(self, confidence: Number) -> Bound:
        """Return how far from the threshold a value can lie and still get the wrong answer, for one question."""
        wanted = probability("confidence", confidence, open_below=True)
        at_threshold, near, far = self._reaches(wanted)
        reach = at_threshold + max(near, far - (self.margin or 0))
        return Bound(reach, wanted, "the distance from the threshold of a value that is answered wrongly")

    def interval(self, out: Gap | None, confidence: Number) -> Interval | None:
        """Return an interval for the value of one question, given its gap; None for a value below the threshold.

        Before a question is asked, the probability that it gets a gap whose interval misses is at most 1 - confidence.
        """
        wanted = probability("confidence", confidence, open_below=True)
        if out is None:
            return None
        at_threshold, near, far = self._reaches(wanted)
        reach, middle = at_threshold + (far if out.is_far else near), self.threshold + out.above
        return Interval(middle - reach, middle + reach, wanted)

    def _reaches(self, confidence: Fraction) -> tuple[int, int, int]:
        """Return the reach of the threshold's noise, the near noise and the wide noise, all three at once."""
        failure = share_of_failure(confidence, 2 if self.margin is None else 3)
        near = discrete_laplace_reach(self.query_scale, failure)
        far = near if self.margin is None else discrete_laplace_reach(self.wide_scale, failure)
        return discrete_laplace_reach(self.threshold_scale, failure), near, far

    def begin(self, noise: Noise) -> _State:
        """Return the noisy threshold and the whole budget."""
        shift = int(noise.discrete_laplace(self.threshold_scale, 1)[0])
        return _State(self.threshold + shift, _NEAR * self.positives)

    def reply(self, state: Any, value: int, noise: Noise) -> tuple[Gap | None, bool]:
        """Return the gap if the value is far above, or else if it is above; and whether the budget is spent."""
        lead = int(self.domain.admit(value)[0]) - state.noisy_threshold
        answer = None
        if self.margin is not None:
            wide = lead + int(noise.discrete_laplace(self.wide_scale, 1)[0])
            answer = Gap(wide, is_far=True) if wide >= self.margin else None
        if answer is None:
            near = lead + int(noise.discrete_laplace(self.query_scale, 1)[0])
            answer = Gap(near) if near >= 0 else None
        if answer is not None:
            state.left -= _FAR if answer.is_far else _NEAR
        return answer, state.left < _NEAR

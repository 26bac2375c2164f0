"""Numeric sparse vector: report which values of a stream exceed a threshold, and how large those are.

For questions that arrive one after another, mostly answered no, whose yes-answers need a number. Cost: one draw a
question and one more for a yes. Correction: the number carries noise of its own, and pays for it; releasing the noisy
value that was compared, as printed variants do, is not private at that price.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from dither.exact import Flag, Number, Whole, non_negative, positive, probability
from dither.mechanisms.above_threshold import AboveThreshold
from dither.mechanisms.core.accuracy import discrete_laplace_reach, share_of_failure
from dither.mechanisms.core.additive import DiscreteScale
from dither.mechanisms.core.mechanism import Bound, InteractivePrimitive, Interval, Numerics
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.values import ONE_INTEGER, IntegerArray, saturating_sum
from dither.noise import Noise
from dither.privacy import Loss, Metric, PureDP, laplace_scale


def _examples() -> Iterator[Example]:
    yield Example(NumericSparse(threshold=2, threshold_scale=2, query_scale=4, value_scale=2), [0, 1, 2, 3, 1])
    yield Example(NumericSparse(threshold=0, threshold_scale="1/4", query_scale="1/3", value_scale="1/2"), [0, 0])
    yield Example(
        NumericSparse(threshold=0, threshold_scale=2, query_scale=6, value_scale=3, positives=2, one_way=True),
        [1, -1, 0, 2, 5],
    )


@dataclass(frozen=True)
class Reading:
    """A positive answer: the value, with fresh noise."""

    value: int


@register(
    examples=_examples,
    source="The Algorithmic Foundations of Differential Privacy (Dwork, Roth 2014), NumericSparse, section 3.6",
)
@dataclass(frozen=True, kw_only=True)
class NumericSparse(InteractivePrimitive[int, Reading | None]):
    """Report whether each integer's noisy value exceeds a noisy threshold, and release those that do with fresh noise.

    Guarantee: sequences of values, each moving by at most ``d_in``, lose epsilon =
    ``d_in / threshold_scale + 2 * positives * d_in / query_scale + positives * d_in / value_scale``; without the
    factor 2 when all move the same way (``one_way``).

    An answer is None below the threshold, and a ``Reading`` of the value with fresh noise above it.

    Args:
        threshold: the public threshold.
        threshold_scale: the scale of its discrete Laplace noise.
        query_scale: the scale of the noise with which each value is compared.
        value_scale: the scale of the noise with which a value above the threshold is released.
        positives: the number of positive answers after which the conversation ends.
        one_way: whether all values move in the same direction between neighbours.

    >>> NumericSparse(threshold=100, threshold_scale=4, query_scale=8, value_scale=2).loss(1)
    PureDP('1')
    >>> print(NumericSparse(threshold=100, threshold_scale=4, query_scale=8, value_scale=2).error(0.95))
    the largest absolute error of the released values is at most 6 with probability 0.95

    """

    name: ClassVar[str] = "numeric-sparse"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_interval_because: ClassVar[str] = "a value below the threshold is not measured"

    threshold: Whole = Whole(least=-(2**60), most=2**60)
    threshold_scale: DiscreteScale = DiscreteScale()
    query_scale: DiscreteScale = DiscreteScale()
    value_scale: DiscreteScale = DiscreteScale()
    positives: Whole = Whole(1, least=1, most=2**32)
    one_way: Flag = Flag(False)

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        threshold: int,
        sensitivity: Number,
        positives: int = 1,
        one_way: bool = False,
        value_share: Number = "1/2",
    ) -> NumericSparse:
        """Return the mechanism that spends ``value_share`` of ``within`` on the values, and the rest on comparisons."""
        distance, epsilon = positive("sensitivity", sensitivity), 1 / laplace_scale(within, 1)
        share = probability("value_share", value_share, open_below=True)
        comparison = AboveThreshold.calibrated(
            PureDP(epsilon * (1 - share)),
            threshold=threshold,
            sensitivity=distance,
            positives=positives,
            one_way=one_way,
        )
        return cls(
            threshold=comparison.threshold,
            threshold_scale=comparison.threshold_scale,
            query_scale=comparison.query_scale,
            value_scale=comparison.positives * distance / (epsilon * share),
            positives=comparison.positives,
            one_way=comparison.one_way,
        )

    @cached_property
    def comparison(self) -> AboveThreshold:
        """The part that answers yes or no; its ``error`` bounds a wrongly answered value's distance from it."""
        return AboveThreshold(
            threshold=self.threshold,
            threshold_scale=self.threshold_scale,
            query_scale=self.query_scale,
            positives=self.positives,
            one_way=self.one_way,
        )

    @property
    def distance(self) -> Metric:
        """The largest change of any value; with ``one_way``, all changes have the same sign."""
        return self.comparison.distance

    @property
    def domain(self) -> IntegerArray:
        """One integer at a time."""
        return ONE_INTEGER

    def loss(self, d_in: Number = 1) -> Loss:
        """Return the loss of the whole conversation: threshold, comparisons and values."""
        change = non_negative("d_in", d_in)
        factor = (1 if self.one_way else 2) * self.positives
        compared = change / self.threshold_scale + factor * change / self.query_scale
        return PureDP(compared + self.positives * change / self.value_scale)

    def error(self, confidence: Number) -> Bound:
        """Return a bound on the error of all released values; ``comparison.error`` covers the comparisons."""
        wanted = probability("confidence", confidence, open_below=True)
        reach = discrete_laplace_reach(self.value_scale, share_of_failure(wanted, self.positives))
        return Bound(reach, wanted, "the largest absolute error of the released values")

    def interval(self, out: Reading | None, confidence: Number) -> Interval | None:
        """Return the reach of the fresh noise around one released value; None if the value was not released."""
        wanted = probability("confidence", confidence, open_below=True)
        if out is None:
            return None
        reach = discrete_laplace_reach(self.value_scale, share_of_failure(wanted))
        return Interval(out.value - reach, out.value + reach, wanted)

    def begin(self, noise: Noise) -> Any:
        """Return the noisy threshold and the number of positive answers left."""
        return self.comparison.begin(noise)

    def reply(self, state: Any, value: int, noise: Noise) -> tuple[Reading | None, bool]:
        """Return the value with fresh noise if it is above, else None; and whether this was the last positive."""
        is_above, is_over = self.comparison.reply(state, value, noise)
        if not is_above:
            return None, is_over
        # Never the noise of the comparison: that one is known to be large.
        fresh = noise.discrete_laplace(self.value_scale, 1)
        return Reading(int(saturating_sum(self.domain.admit(value), fresh)[0])), is_over

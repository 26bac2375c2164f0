"""Above-threshold, the sparse vector technique: report which values of a stream exceed a threshold.

For questions that arrive one after another and mostly have the answer no: only the ``positives`` yes-answers cost.
Cost: one draw a question. Corrections: of the printed variants only those with a noisy threshold, query noise that
grows with the number of positives, a stop after the last of them and no release of the noisy value are private (Lyu,
Su and Li 2017); this is that one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from dither.exact import Flag, Number, Whole, non_negative, positive, probability, whole
from dither.mechanisms.core.accuracy import discrete_laplace_reach, share_of_failure
from dither.mechanisms.core.additive import DiscreteScale
from dither.mechanisms.core.mechanism import Bound, InteractivePrimitive, Numerics
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.values import ONE_INTEGER, IntegerArray
from dither.noise import Noise
from dither.privacy import LARGEST, ONE_WAY, Loss, Metric, PureDP, laplace_scale


def _examples() -> Iterator[Example]:
    yield Example(AboveThreshold(threshold=2, threshold_scale=2, query_scale=4), [0, 1, 2, 3, 1])
    yield Example(AboveThreshold(threshold=0, threshold_scale="1/4", query_scale="1/3"), [0, 0])
    yield Example(
        AboveThreshold(threshold=0, threshold_scale=2, query_scale=6, positives=2, one_way=True), [1, -1, 0, 2, 5]
    )


_MOST_POSITIVES = 2**32


@dataclass
class _State:
    """The secret state: the noisy threshold, and the number of positive answers left."""

    noisy_threshold: int
    left: int


@register(examples=_examples, source="Understanding the Sparse Vector Technique (Lyu, Su, Li 2017), Algorithm 1")
@dataclass(frozen=True, kw_only=True)
class AboveThreshold(InteractivePrimitive[int, bool]):
    """Report whether each integer's noisy value exceeds a noisy threshold; stop after ``positives`` positive answers.

    Guarantee: sequences of values, each moving by at most ``d_in``, lose epsilon =
    ``d_in / threshold_scale + 2 * positives * d_in / query_scale``; without the factor 2 when all move the same way
    (``one_way``).

    Args:
        threshold: the public threshold.
        threshold_scale: the scale of its discrete Laplace noise.
        query_scale: the scale of the noise of each value.
        positives: the number of positive answers after which the conversation ends.
        one_way: whether all values move in the same direction between neighbours.

    >>> AboveThreshold(threshold=100, threshold_scale=2, query_scale=4).loss(1)
    PureDP('1')

    """

    name: ClassVar[str] = "above-threshold"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_interval_because: ClassVar[str] = "an answer is yes or no; it bounds the value on one side only (see error)"

    threshold: Whole = Whole(least=-(2**60), most=2**60)
    threshold_scale: DiscreteScale = DiscreteScale()
    query_scale: DiscreteScale = DiscreteScale()
    positives: Whole = Whole(1, least=1, most=_MOST_POSITIVES)
    one_way: Flag = Flag(False)

    @classmethod
    def calibrated(
        cls, within: Loss, *, threshold: int, sensitivity: Number, positives: int = 1, one_way: bool = False
    ) -> AboveThreshold:
        """Return the best split of ``within`` between threshold and queries: 1 to (2 c)^(2/3) for c positives."""
        distance = positive("sensitivity", sensitivity)
        epsilon = 1 / laplace_scale(within, 1)
        factor = (1 if one_way else 2) * whole("positives", positives, least=1, most=_MOST_POSITIVES)
        share = Fraction(1) / (1 + Fraction(factor ** (2 / 3)).limit_denominator(1000))
        return cls(
            threshold=threshold,
            threshold_scale=distance / (epsilon * share),
            query_scale=factor * distance / (epsilon * (1 - share)),
            positives=positives,
            one_way=one_way,
        )

    @property
    def distance(self) -> Metric:
        """The largest change of any value; with ``one_way``, all changes have the same sign."""
        return ONE_WAY if self.one_way else LARGEST

    @property
    def domain(self) -> IntegerArray:
        """One integer at a time."""
        return ONE_INTEGER

    def loss(self, d_in: Number = 1) -> Loss:
        """Return the loss of the whole conversation."""
        change = non_negative("d_in", d_in)
        factor = (1 if self.one_way else 2) * self.positives
        return PureDP(change / self.threshold_scale + factor * change / self.query_scale)

    def error(self, confidence: Number) -> Bound:
        """Return how far from the threshold a value can lie and still get the wrong answer, for one question."""
        wanted = probability("confidence", confidence, open_below=True)
        failure = share_of_failure(wanted, 2)
        reach = discrete_laplace_reach(self.threshold_scale, failure) + discrete_laplace_reach(
            self.query_scale, failure
        )
        return Bound(reach, wanted, "the distance from the threshold of a value that is answered wrongly")

    def begin(self, noise: Noise) -> _State:
        """Return the noisy threshold."""
        shift = int(noise.discrete_laplace(self.threshold_scale, 1)[0])
        return _State(self.threshold + shift, self.positives)

    def reply(self, state: Any, value: int, noise: Noise) -> tuple[bool, bool]:
        """Return whether the noisy value reaches the noisy threshold, and whether this was the last positive answer."""
        admitted = int(self.domain.admit(value)[0])
        is_above = admitted + int(noise.discrete_laplace(self.query_scale, 1)[0]) >= state.noisy_threshold
        state.left -= is_above
        return is_above, state.left == 0

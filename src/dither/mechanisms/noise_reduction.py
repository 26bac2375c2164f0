"""Coupled noise reduction: release one value repeatedly with less and less noise, for the price of the last release.

For asking how accurate an answer has to be only after seeing a coarse one. Independent releases would cost the sum of
their losses; here each finer answer takes noise away from the one before, and all of them together tell no more than
the finest. Cost: one draw a level. The price of a conversation is that of the finest level whether or not it is asked
for: a conversation has no last answer. ``AccuracyFirst`` stops by itself and is charged where it stopped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar

from dither.errors import InvalidParameter
from dither.exact import Number, non_negative, positive, probability, whole
from dither.mechanisms.core.accuracy import discrete_laplace_reach, share_of_failure
from dither.mechanisms.core.additive import FallingScales
from dither.mechanisms.core.mechanism import Bound, InteractivePrimitive, Interval, Numerics
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.values import LARGEST_SUM, IntegerArray
from dither.noise import Noise
from dither.privacy import LARGEST, Loss, Metric, PureDP, laplace_scale

_MOST_LEVELS = 1000


def _examples() -> Iterator[Example]:
    yield Example(NoiseReduction(scales=(2, 1)), [3, 3, 3])
    yield Example(NoiseReduction(scales=("1/2",)), [0, 0])
    yield Example(NoiseReduction(scales=(40, 20, 10)), [7, 7, 7, 7])


@dataclass
class _State:
    """The secret state: the noise of every level, coarse to fine, and the value once it is known."""

    noises: list[int]
    value: int | None = None
    given: int = 0


@register(
    examples=_examples,
    source="Gradual Release of Sensitive Data under Differential Privacy (Koufogiannis, Han, Pappas 2016)",
    made_for={"levels": 2},
)
@dataclass(frozen=True, kw_only=True)
class NoiseReduction(InteractivePrimitive[int, int]):
    """Release one integer repeatedly with less and less discrete Laplace noise.

    Guarantee: values ``d_in`` apart lose epsilon = ``d_in / scales[-1]``, the loss of the last and finest answer alone,
    over the whole conversation.

    The value of the first call is kept; the values of later calls are ignored.

    Args:
        scales: the scales of the noise, coarse to fine.

    >>> NoiseReduction(scales=(8, 4, 2)).loss(1)
    PureDP('1/2')
    >>> print(NoiseReduction(scales=(8, 4, 2)).error_at(0, 0.95))
    the absolute error of that answer is at most 24 with probability 0.95

    """

    name: ClassVar[str] = "noise-reduction"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_interval_because: ClassVar[str] = "an answer alone does not say which call it answered: see interval_at"

    scales: FallingScales = FallingScales(most=_MOST_LEVELS)

    @classmethod
    def calibrated(cls, within: Loss, *, sensitivity: Number, levels: int, factor: Number = 2) -> NoiseReduction:
        """Return ``levels`` answers, each with 1 / ``factor`` of the previous noise, all together within ``within``."""
        ratio, finest = positive("factor", factor), laplace_scale(within, sensitivity)
        if not ratio > 1:
            raise InvalidParameter("factor", factor, "a number above 1")
        powers = range(whole("levels", levels, least=1, most=_MOST_LEVELS))
        return cls(scales=tuple(finest * ratio**power for power in reversed(powers)))

    @property
    def distance(self) -> Metric:
        """The largest change of any value; only the first value counts."""
        return LARGEST

    @property
    def domain(self) -> IntegerArray:
        """One integer."""
        return IntegerArray(())

    def loss(self, d_in: Number = 1) -> Loss:
        """Return the loss of all answers, which is that of the finest."""
        return self.loss_after(len(self.scales), d_in)

    def loss_after(self, calls: int, d_in: Number = 1) -> Loss:
        """Return the loss of the first ``calls`` answers: ex post, of a conversation that went no farther.

        To be shown, not to be charged: an open conversation may go on.
        """
        change = non_negative("d_in", d_in)
        asked = whole("calls", calls, most=len(self.scales))
        return PureDP(change / self.scales[asked - 1] if asked else 0)

    def error(self, confidence: Number) -> Bound:
        """Return a bound on the error of the last answer."""
        return self.error_at(len(self.scales) - 1, confidence)

    def error_at(self, call: int, confidence: Number) -> Bound:
        """Return a bound on the error of the answer to ``call``, counted from 0."""
        wanted = probability("confidence", confidence, open_below=True)
        reach = discrete_laplace_reach(self._scale(call), share_of_failure(wanted))
        return Bound(reach, wanted, "the absolute error of that answer")

    def interval_at(self, call: int, out: int, confidence: Number) -> Interval:
        """Return the reach of the noise around the answer to ``call``, counted from 0."""
        reach = int(self.error_at(call, confidence).value)
        return Interval(out - reach, out + reach, probability("confidence", confidence))

    def _scale(self, call: int) -> Fraction:
        scale: Fraction = self.scales[whole("call", call, most=len(self.scales) - 1)]
        return scale

    def begin(self, noise: Noise) -> _State:
        """Return the noise of every level: the finest, and the increments that make it coarser step by step."""
        finest = int(noise.discrete_laplace(self.scales[-1], 1)[0])
        noises = [finest]
        for fine, coarse in pairwise(reversed(self.scales)):
            noises.append(noises[-1] + int(noise.coarsening(fine, coarse, 1)[0]))
        return _State(noises[::-1])

    def reply(self, state: Any, value: int, noise: Noise) -> tuple[int, bool]:
        """Return the first call's value with the noise of the next level, and whether this was the last level."""
        admitted = int(self.domain.admit(value)[0])
        if state.value is None:
            # A second value beside correlated noise would be told apart from the first one.
            state.value = admitted
        total = state.value + state.noises[state.given]
        state.given += 1
        return min(max(total, -LARGEST_SUM), LARGEST_SUM), state.given == len(state.noises)

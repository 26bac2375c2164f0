"""A pan-private counter: a running sum whose memory is as private as its reports, for streams that may be seized.

Noise stands in the memory before the first value arrives, so whoever breaks in reads a noisy sum; fresh noise goes into
every report, so that who broke in learns no more from the next one. One unannounced intrusion between any two reports,
any number of announced ones, and all reports together cost what one report costs. Cost: two draws a report. Correction:
the printed definition speaks of the memory alone; here memory and reports are promised together, as who breaks in sees
both.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dither.errors import HandleMisuse, InvalidParameter
from dither.exact import Number, Shape, Whole, non_negative, probability
from dither.mechanisms.core.accuracy import share_of_failure
from dither.mechanisms.core.additive import DiscreteScale
from dither.mechanisms.core.mechanism import Bound, InteractivePrimitive, Interval, Numerics
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.values import LARGEST_SUM, IntegerArray
from dither.mechanisms.prefix_sums import _laplace_sum_reach
from dither.noise import Noise
from dither.privacy import L1, Loss, Metric, PureDP, laplace_scale


class Intrusion(Enum):
    """Somebody reads the counter's memory; fed to the counter in place of a value."""

    #: The counter does not know: the memory as it stands. For tests and audits; a real intruder does not ask.
    UNANNOUNCED = "unannounced"
    #: The counter is told in advance, as of a seizure: it protects its memory with fresh noise before and after.
    ANNOUNCED = "announced"


@dataclass(frozen=True)
class ValueOrIntrusion(IntegerArray):
    """Integers to add, or an intrusion, which adds nothing."""

    def admit(self, value: Any) -> NDArray[np.int64]:
        """Return the integers; zeros for an intrusion."""
        if isinstance(value, Intrusion):
            return np.zeros(math.prod(self.shape), dtype=np.int64)
        return super().admit(value)


class _Fed(Metric):
    """The sum of absolute changes of the values; both streams have the same intrusions."""

    def measure(self, first: Any, second: Any) -> Fraction | None:
        here, there = list(first), list(second)
        pairs = list(zip(here, there, strict=False))
        if len(here) != len(there) or any((a is not b) for a, b in pairs if Intrusion in (type(a), type(b))):
            return None
        values = [(np.array(a).ravel(), np.array(b).ravel()) for a, b in pairs if not isinstance(a, Intrusion)]
        if any(a.shape != b.shape for a, b in values):
            return None
        flat: list[Any] = [np.concatenate([one[side] for one in values]) if values else [] for side in (0, 1)]
        return L1.measure(list(flat[0]), list(flat[1]))


FED = _Fed("FED", "the sum of absolute changes of what is fed, with the same intrusions")


@dataclass
class _Memory:
    """Everything kept between two values; all of it is public except the sum."""

    noisy_sum: Any
    report: Any = 0
    fed: int = 0
    announced: int = 0
    is_seen: bool = False


def _examples() -> Iterator[Example]:
    unknown, announced = Intrusion.UNANNOUNCED, Intrusion.ANNOUNCED
    # The memory before and after the report that holds the event, the event before and after the intrusion.
    pairs: tuple[tuple[Any, Any, int], ...] = (
        ([0, unknown, 0], [1, unknown, 0], 1),
        ([unknown, 0, 0], [unknown, 1, 0], 1),
        ([0, unknown, 0, unknown, 0], [0, unknown, 1, unknown, 0], 1),
        ([0, unknown, announced, unknown, 0, 0], [1, unknown, announced, unknown, 0, 0], 1),
        ([unknown, 0, announced, 0, 0], [unknown, 1, announced, -1, 0], 2),
    )
    yield Example(PanPrivateCounter(scale=1, steps=3, every=2, announced=1), [1, 0, 2], pairs)
    yield Example(PanPrivateCounter(scale="5/2", steps=2, every=2), [7, -3], pairs[:2])
    two = np.array([1, 0])
    vectors = (([two, unknown, two], [two * 2, unknown, two], 1), ([unknown, two, two], [unknown, two, two * 0], 1))
    yield Example(PanPrivateCounter(scale=1, steps=2, every=1, shape=2), [two, two], vectors)


@register(
    examples=_examples,
    source="Pan-Private Streaming Algorithms (Dwork, Naor, Pitassi, Rothblum, Yekhanin 2010); Differential Privacy "
    "under Continual Observation (Dwork, Naor, Pitassi, Rothblum 2010)",
)
@dataclass(frozen=True, kw_only=True)
class PanPrivateCounter(InteractivePrimitive[Any, Any]):
    """Add up a stream in a memory that is itself noisy, and report the sum every ``every`` values.

    Guarantee: streams that differ by ``d_in`` in L1 lose epsilon = ``d_in / scale``, from all reports, the memory shown
    to all announced intrusions, and the memory at one moment of anyone's choice between any two of these, together. The
    memory is what is kept from one value to the next; the generator of the noise is no part of it.

    Args:
        scale: the scale of the discrete Laplace noise; the memory holds it once, every report once more.
        steps: how many values the stream has; public.
        every: the number of values between two reports; the last value is reported, too.
        announced: how many announced intrusions there may be; they cost accuracy and no privacy.
        shape: the shape of a value; ``()`` is one integer.

    >>> PanPrivateCounter(scale=2, steps=100, every=10).loss(1)
    PureDP('1/2')

    """

    name: ClassVar[str] = "pan-private-counter"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    scale: DiscreteScale = DiscreteScale()
    steps: Whole = Whole(least=1, most=2**40)
    every: Whole = Whole(least=1, most=2**40)
    announced: Whole = Whole(0, most=2**40)
    shape: Shape = Shape(())

    def __post_init__(self) -> None:
        if not self.every <= self.steps:
            raise InvalidParameter("every", self.every, f"at most the {self.steps} steps of the stream")
        if math.prod(self.shape) > 2**20:
            raise InvalidParameter("shape", self.shape, "of at most 2^20 entries")

    @classmethod
    def calibrated(
        cls, within: Loss, *, sensitivity: Number, steps: int, every: int, announced: int = 0, shape: Any = ()
    ) -> PanPrivateCounter:
        """Return the counter with the least noise whose loss at ``sensitivity`` is within ``within``."""
        return cls(scale=laplace_scale(within, sensitivity), steps=steps, every=every, announced=announced, shape=shape)

    @property
    def distance(self) -> Metric:
        """L1 over all values: an event moves the value of its step only."""
        return FED

    @property
    def domain(self) -> ValueOrIntrusion:
        """Integers of the declared shape at a time, or an intrusion."""
        return ValueOrIntrusion(self.shape)

    def loss(self, d_in: Number = 1) -> Loss:
        """Return epsilon = d_in / scale."""
        return PureDP(non_negative("d_in", d_in) / self.scale)

    def error(self, confidence: Number) -> Bound:
        """Return a bound on the error of every report of the sum so far."""
        wanted, reach = self._reach(confidence)
        return Bound(reach, wanted, "the largest absolute error of any report")

    def interval(self, out: Any, confidence: Number) -> Interval:
        """Return an interval for the sum at the latest report, valid for all reports at once."""
        wanted, reach = self._reach(confidence)
        return Interval(out - reach, out + reach, wanted)

    def begin(self, noise: Noise) -> _Memory:
        """Return a memory that holds only noise."""
        return _Memory(self._fresh(noise), self._shaped(np.zeros(math.prod(self.shape), dtype=np.int64)))

    def reply(self, state: Any, value: Any, noise: Noise) -> tuple[Any, bool]:
        """Return the latest report with the value added, or what an intruder sees; and whether the stream is over."""
        if value is Intrusion.UNANNOUNCED:
            if state.is_seen:
                raise HandleMisuse("the price covers one unannounced intrusion between two reports, and one has been")
            state.is_seen = True
            return self._saturated(state.noisy_sum), False
        if value is Intrusion.ANNOUNCED:
            if state.announced == self.announced:
                raise HandleMisuse(f"{self.announced} announced intrusions are covered, and all have been")
            state.announced += 1
            return self._shown(state, noise), False
        state.noisy_sum = state.noisy_sum + self._shaped(self.domain.admit(value))
        state.fed += 1
        is_last = state.fed == self.steps
        if is_last or state.fed % self.every == 0:
            state.report = self._shown(state, noise)
        return state.report, is_last

    def _shown(self, state: _Memory, noise: Noise) -> Any:
        """Return the sum with fresh noise, and continue from that value with further noise that has not been shown."""
        shown = state.noisy_sum + self._fresh(noise)
        state.noisy_sum, state.is_seen = shown + self._fresh(noise), False
        return self._saturated(shown)

    def _fresh(self, noise: Noise) -> Any:
        return self._shaped(noise.discrete_laplace(self.scale, math.prod(self.shape)))

    def _shaped(self, flat: NDArray[Any]) -> Any:
        """Return Python's integers, which do not overflow: one of them, or an array of the declared shape."""
        return flat.astype(object).reshape(self.shape) if self.shape else int(flat[0])

    def _saturated(self, numbers: Any) -> Any:
        if not self.shape:
            return min(max(numbers, -LARGEST_SUM), LARGEST_SUM)
        return np.minimum(np.maximum(numbers, -LARGEST_SUM), LARGEST_SUM).astype(np.int64)

    def _reach(self, confidence: Number) -> tuple[Fraction, float]:
        wanted = probability("confidence", confidence, open_below=True)
        shown = -(-self.steps // self.every) + self.announced
        # For symmetric terms no partial sum reaches farther than the whole with more than twice its chance (Levy).
        failure = share_of_failure(wanted, 2 * math.prod(self.shape))
        return wanted, _laplace_sum_reach(self.scale, 2 * shown, failure)

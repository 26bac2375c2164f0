"""The buffered counter: running sums on a stream with correlated Gaussian noise from a few decaying buffers.

For counts, sums and vectors that are published tick by tick under zCDP, over a known number of ticks or without an end,
for events or for people who come several times. Six buffers are within 0.2 % of the square-root counter over a million
ticks, in constant memory. Cost: a Gaussian number an entry and tick. Correction: the literature adds floats; here
answers are integers whose law is exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from dither.errors import InvalidParameter, NoGuarantee
from dither.exact import Flag, Maybe, Number, Positive, TupleOf, Whole, non_negative, positive, probability, whole
from dither.mechanisms.core.accuracy import gaussian_reach, share_of_failure
from dither.mechanisms.core.additive import DiscreteScale
from dither.mechanisms.core.mechanism import Bound, Interval, Numerics
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.running import MOST_TICKS, NoiseProcess, RunningCounter, TickLengths
from dither.mechanisms.decaying_factors import MOST_BUFFERS, DecayingFactor, best_factor, endless_factor, smooth_factor
from dither.noise.buffered import PLAIN, BufferedNoise
from dither.noise.tapes import Tapes
from dither.privacy import ZCDP, Loss, Metric, gaussian_sigma

#: Noise much wider than the integers would need digits that floats do not have, tick after tick.
_LARGEST_SIGMA = 2**20
_TURNS = f"a tuple of 1 to {MOST_BUFFERS} numbers below 1; rates and zeros take turns"


def _examples() -> Iterator[Example]:
    half: dict[str, Any] = {"rates": ("3/4",), "zeros": ("3/8",)}
    pairs: tuple[tuple[Any, Any, int], ...] = (
        ([0, 0, 0], [1, 0, 0], 1),
        ([2, 5, 0], [2, 5, -1], 1),
        ([0, 3, 0], [1, 3, 1], 2),
    )
    yield Example(BufferedCounter(sigma=2, steps=3, **half), [1, 0, 2], pairs)
    twice = (([0, 0, 0, 0], [1, 0, 1, 0], 1), ([0, 0, 0, 0], [1, 1, 0, 0], 2))
    yield Example(BufferedCounter(sigma=3, steps=4, **half, ticks=2, apart=2), [1, 0, 2, 1], twice)
    two = np.array([1, 0])
    vectors = (([two, two], [two * 2, two], 1), ([two, two], [two, two * 0], 1))
    yield Example(BufferedCounter(sigma=2, **half, shape=2), [two, two], vectors)
    yield Example(BufferedCounter(sigma=1, steps=3, **half, even=True), [1, 0, 2], pairs)


@register(
    examples=_examples,
    source="Efficient and Near-Optimal Noise Generation for Streaming Differential Privacy (Dvijotham, McMahan, "
    "Pillutla, Steinke, Thakurta 2024); Private Continual Counting of Unbounded Streams (Jacobsen, Fawaz 2025) for "
    "streams without an end; Multi-Epoch Matrix Factorization Mechanisms (Choquette-Choo et al. 2023) for people",
)
@dataclass(frozen=True, kw_only=True)
class BufferedCounter(RunningCounter):
    """Add up a stream, and answer each tick with the sum so far and Gaussian noise from a few decaying buffers.

    Guarantee: streams that differ in ``d_in`` people, each of whom moves up to ``ticks`` ticks, at least ``apart``
    apart, by at most 1 in Euclidean length, lose rho = ``(d_in * length / sigma)^2 / 2`` over all ticks, where length
    is how far one of them moves what the noise is added to; also if values are chosen by who has seen earlier answers.

    Args:
        sigma: the standard deviation of the noise that is mixed.
        rates: by which what the noise is added to decays, from the slowest to the fastest; see ``calibrated``.
        zeros: by which the noise decays, each between a rate and the next one.
        steps: how many ticks the stream has; None for any number.
        shape: the shape of a tick; ``()`` is one integer.
        ticks: how many ticks one person touches at most; 1 protects events.
        apart: how far apart these ticks are at least.
        even: whether all columns are made equally long, which takes a twentieth off the error; for events, in streams
            with a known end.

    >>> from dither.privacy import ZCDP
    >>> counter = BufferedCounter.calibrated(ZCDP("1/2"), sensitivity=1, steps=2**20)
    >>> round(counter.standard_error(2**20 - 1), 2)
    5.49
    >>> endless = BufferedCounter.calibrated(ZCDP("1/2"), sensitivity=1)
    >>> round(endless.standard_error(999), 2)
    4.09

    """

    name: ClassVar[str] = "buffered-counter"
    version: ClassVar[int] = 2
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "a stream without a known end has no largest error: see interval_at"

    sigma: DiscreteScale = DiscreteScale()
    rates: TupleOf = TupleOf(Positive(most=1), most=MOST_BUFFERS, rule=_TURNS)
    zeros: TupleOf = TupleOf(Positive(most=1), most=MOST_BUFFERS, rule=_TURNS)
    steps: Maybe = Maybe(Whole(least=1, most=MOST_TICKS))
    ticks: Whole = Whole(1, least=1, most=2**16)
    apart: Whole = Whole(1, least=1, most=MOST_TICKS)
    even: Flag = Flag(False)

    def __post_init__(self) -> None:
        if self.sigma > _LARGEST_SIGMA:
            raise InvalidParameter("sigma", self.sigma, f"at most {_LARGEST_SIGMA}; add up values in larger units")
        if self.entries > 2**24:
            raise InvalidParameter("shape", self.shape, "of at most 2^24 entries")
        if self.even and (self.steps is None or self.ticks > 1):
            raise InvalidParameter("even", self.even, "not allowed for people, or without a known end")
        # Rates and zeros that do not take turns are refused here, and not when a stream begins.
        _ = self.factor

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        sensitivity: Number,
        steps: int | None = None,
        shape: Any = (),
        ticks: int = 1,
        apart: int = 1,
        buffers: int | None = None,
        even: bool = False,
        smooth: bool = False,
    ) -> Self:
        """Return the counter with the least noise whose loss at ``sensitivity`` is within ``within``.

        Args:
            within: the loss not to exceed, for the whole stream.
            sensitivity: how far one tick of a person moves in Euclidean length.
            steps: how many ticks the stream has; None for any number.
            shape: the shape of a tick.
            ticks: how many ticks one person touches at most.
            apart: how far apart these are at least.
            buffers: how many buffers the noise has; by default 8, or 10 for a stream without a known end.
            even: whether all columns are made equally long.
            smooth: without a known end, whether to take the factor of Jacobsen and Fawaz, which errs less from about
                65,000 ticks on, and more before; it has 16 buffers by default.

        """
        length = None if steps is None else whole("steps", steps, least=1, most=MOST_TICKS)
        if smooth and length is not None:
            raise InvalidParameter("smooth", smooth, "not allowed where the number of ticks is known")
        if length is None:
            factor = smooth_factor(buffers or MOST_BUFFERS) if smooth else endless_factor(buffers or 10)
        else:
            factor = best_factor(length, buffers or 8)
        public: dict[str, Any] = {"rates": factor.rates, "zeros": factor.zeros, "steps": length}
        public |= {"shape": shape, "ticks": ticks, "apart": apart, "even": even}
        moved = positive("sensitivity", sensitivity) * cls(sigma=1, **public).length
        found = cls(sigma=gaussian_sigma(within, moved), **public)
        if not found.loss(sensitivity) <= within:
            raise NoGuarantee(f"nothing in rho alone is within {within!r}: state it as ZCDP")
        return found

    @cached_property
    def factor(self) -> DecayingFactor:
        """The factor of running sums to which noise is added."""
        return DecayingFactor(self.rates, self.zeros)

    @cached_property
    def length(self) -> Fraction:
        """How far one person moves what the noise is added to, in L2, rounded up."""
        return Fraction(1) if self.even else self.factor.length(self.steps, self.ticks, self.apart)

    @property
    def length_of_stream(self) -> int | None:
        """The number of ticks, where it is known."""
        steps: int | None = self.steps
        return steps

    @property
    def distance(self) -> Metric:
        """People, each at a few ticks, times how far one of their ticks moves."""
        return TickLengths(self.ticks, self.apart, self.domain.shape)

    def loss(self, d_in: Number = 1) -> Loss:
        """Return the loss of all ticks together."""
        return ZCDP((non_negative("d_in", d_in) * self.length / self.sigma) ** 2 / 2)

    def standard_error(self, tick: int) -> float:
        """Return the standard deviation of the noise at a tick, counted from 0, rounding to integers included."""
        place = whole("tick", tick, most=(self.steps or MOST_TICKS) - 1)
        return math.hypot(float(self.sigma) * self._spread(place), math.sqrt(1 / 12))

    def _spread(self, tick: int) -> float:
        if self.even:
            return self.factor.even_error(self.steps, tick)
        return self.factor.standard_error(tick)

    @cached_property
    def largest_standard_error(self) -> float:
        """The largest standard deviation of any tick; with even columns, of ticks a 16th of the stream apart."""
        if self.steps is None:
            raise InvalidParameter("steps", self.steps, "known: without an end there is no largest error")
        if not self.even:
            return self.standard_error(self.steps - 1)
        places = {self.steps * part // 16 for part in range(16)} | {self.steps - 1}
        return max(self.standard_error(place) for place in places)

    def error(self, confidence: Number) -> Bound | None:
        """Return a bound on the error of every answer, where the stream has an end."""
        wanted = probability("confidence", confidence, open_below=True)
        if self.steps is None:
            return None
        failure = share_of_failure(wanted, self.steps * self.entries)
        # The mixture alone errs most at the end; even columns at most as much as the first of them is long.
        last = self.steps - 1
        factor = self.factor.length(self.steps) if self.even else Fraction(1)
        reach = gaussian_reach(self.sigma * factor * Fraction(self.factor.standard_error(last)), failure) + 0.5
        return Bound(reach, wanted, "the largest absolute error of any running sum")

    def interval_at(self, tick: int, out: Any, confidence: Number) -> Interval:
        """Return an interval for the sums at one tick, counted from 0, for all entries at once."""
        wanted = probability("confidence", confidence, open_below=True)
        whole("tick", tick, most=(self.steps or MOST_TICKS) - 1)
        reach = math.floor(self._reach(tick, share_of_failure(wanted, self.entries)))
        return Interval(out - reach, out + reach, wanted)

    def _reach(self, tick: int, failure: float) -> float:
        return gaussian_reach(self.sigma * Fraction(self._spread(tick)), failure) + 0.5

    def process(self, tapes: Tapes) -> NoiseProcess:
        """Return the noise of a conversation, from its beginning."""
        falls = self.factor.heights(self.steps) if self.even else PLAIN
        return BufferedNoise(tapes, self.factor.mixing, self.sigma, self.entries, self.block, falls)

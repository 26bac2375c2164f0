"""The mean of a long stream of bits, from a sample of noisy bits: few bits are read.

For streams that are dear to read, whose share of ones is published at public times. A reservoir holds a uniform sample
of all bits so far, each of which was randomised when it was read, once. How many bits to skip until the next one that
enters is drawn at once (Algorithm L), so bits that do not enter are never read. Cost: about n (1 + ln(t / n)) reads for
a reservoir of n. Corrections: printed noise is one-sided, which is biased; the printed number of reads, O(1), is wrong;
publications before the reservoir is full were lost.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter, InvalidValue
from dither.exact import Number, OneOf, Positive, TupleOf, Whole, non_negative, probability
from dither.mechanisms.core.accuracy import share_of_failure
from dither.mechanisms.core.mechanism import Bound, Interval, Numerics, Primitive
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.values import IntegerArray, raw_number
from dither.mechanisms.sampled_share import (
    LEAST_CHANCE,
    ends_of_ones,
    noise_tail,
    response_tail,
    sampled_response_ends,
)
from dither.noise import Noise
from dither.privacy import L1, Loss, Metric, PureDP

_MOST_STEPS = 2**40
_MOST_KEPT = 2**24
# Widens bounds by far more than the error of the float functions that compute them.
_OUTWARDS = 1 + 1e-9


@dataclass(frozen=True)
class Bits(IntegerArray):
    """A public number of bits: an array, a list, or anything with that length that gives a bit for its place."""

    @property
    def count(self) -> int:
        """How many bits there are."""
        return self.shape[0]

    def admit(self, value: Any) -> Any:
        """Return what bits are read from, refused by its type and length alone."""
        is_array = isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "iub"
        is_reader = not isinstance(value, np.ndarray | str | bytes | dict) and hasattr(value, "__getitem__")
        if not (is_array or is_reader) or len(value) != self.count:
            raise InvalidValue("value", value, f"{self.count} bits, as an array of integers or a sequence")
        return value

    def __str__(self) -> str:
        return f"{self.count} bits"


def bit(value: Any, place: int) -> int:
    """Return one bit: any number of at least 1 is 1, anything else is 0."""
    number = raw_number(value[place])
    return int(number is not None and number >= 1)


def _examples() -> Iterator[Example]:
    some = np.array([1, 0, 1, 1])
    pairs: tuple[tuple[Any, Any, int], ...] = (
        (some, np.array([0, 0, 1, 1]), 1),
        (some, np.array([1, 0, 1, 0]), 1),
        (some, np.array([1, 1, 0, 1]), 2),
    )
    yield Example(StreamMean(kept=2, times=(2, 4), epsilon=1), some, pairs)
    yield Example(StreamMean(kept=4, times=(1, 3), epsilon=2, kind="noise"), some[:3], ((some[:3], some[1:], 3),))


@register(
    examples=_examples,
    source="Privacy Preserving Data Mining for Numerical Matrices, Social Networks, and Big Data (Liu 2015), chapter "
    "8; Reservoir-Sampling Algorithms of Time Complexity O(n(1 + log(N / n))) (Li 1994), Algorithm L",
)
@dataclass(frozen=True, kw_only=True)
class StreamMean(Primitive[Any, Any]):
    """Publish the share of ones among the first bits of a stream at public times, from a reservoir of noisy bits.

    Guarantee: streams that differ in ``d_in`` bits lose ``d_in * epsilon``, from all published shares and from which
    bits were read, together.

    Args:
        kept: how many bits the reservoir holds.
        times: after how many bits the share is published, in rising order.
        epsilon: what one bit loses.
        kind: "response" keeps a bit with probability e^epsilon / (1 + e^epsilon), else its opposite; "noise" adds
            two-sided geometric noise.

    >>> mean = StreamMean.sized(half_width="0.1", failure="0.1", epsilon=2, times=(10**4, 10**6))
    >>> mean.kept, round(mean.expected_reads)
    (259, 2397)

    """

    name: ClassVar[str] = "stream-mean"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    kept: Whole = Whole(least=1, most=_MOST_KEPT)
    times: TupleOf = TupleOf(
        Whole(least=1, most=_MOST_STEPS),
        most=2**16,
        where=lambda times: all(early < late for early, late in pairwise(times)),
        rule="a tuple of integers from 1 to 2^40, in rising order",
    )
    epsilon: Positive = Positive(least=Fraction(1, 2**30), most=1000)
    kind: OneOf = OneOf("response", "noise", default="response")

    @classmethod
    def sized(cls, *, half_width: Number, failure: Number, epsilon: Number, times: Any, kind: str = "response") -> Self:
        """Return the mean whose half-width is at most that, but with probability ``failure``, at each time.

        Args:
            half_width: how far off a share may be, by sampling and noise together.
            failure: how often it may be farther off.
            epsilon: what one bit loses.
            times: after how many bits the share is published.
            kind: how bits are randomised.

        """
        width, confidence = probability("half_width", half_width, open_below=True), 1 - probability("failure", failure)
        low, high = 1, _MOST_KEPT
        while low < high:
            middle = (low + high) // 2
            found = cls(kept=middle, times=times, epsilon=epsilon, kind=kind)
            # Far above the reservoir's size all of the sampling error is there.
            low, high = (low, middle) if found.half_width(_MOST_STEPS, confidence) <= width else (middle + 1, high)
        if low == _MOST_KEPT:
            raise InvalidParameter("half_width", half_width, f"one that {_MOST_KEPT} bits reach")
        return cls(kept=low, times=times, epsilon=epsilon, kind=kind)

    @property
    def distance(self) -> Metric:
        """The number of bits that differ."""
        return L1

    @property
    def domain(self) -> Bits:
        """As many bits as the last publication needs."""
        return Bits((self.times[-1],))

    @property
    def draw_shape(self) -> tuple[int, ...]:
        """A share for each time."""
        return (len(self.times),)

    def loss(self, d_in: Number = 1) -> Loss:
        """Return the loss of all publications together."""
        return PureDP(non_negative("d_in", d_in) * self.epsilon)

    @property
    def expected_reads(self) -> float:
        """How many bits are read on average: n + n (H_t - H_n) for t bits and a reservoir of n."""
        size, last = self.kept, self.times[-1]
        if last <= size:
            return float(last)
        return size * (1 + _harmonic(last) - _harmonic(size))

    def half_width(self, time: int, confidence: Number) -> float:
        """Return how far the share at one time is off at most, with that probability: by sampling and by noise."""
        wanted = probability("confidence", confidence, open_below=True)
        size, rate = min(self.kept, time), float(self.epsilon)
        tail = math.log(2 / float(1 - wanted))
        if self.kind == "response":
            # What is added up has the law of independent bits: Hoeffding's bound, for sampling and noise together.
            found = math.sqrt(tail / (2 * size)) / math.tanh(rate / 2)
        else:
            sampled = 0.0 if time <= self.kept else 1 / 8
            found = min(_mean_tail(rate, size, tail, part / 64, sampled) for part in range(1, 64))
        return found * _OUTWARDS

    def error(self, confidence: Number) -> Bound:
        """Return a bound on the error of every published share."""
        wanted = probability("confidence", confidence, open_below=True)
        each = 1 - (1 - wanted) / len(self.times)
        reach = max(self.half_width(time, each) for time in self.times)
        return Bound(reach, wanted, "the largest absolute error of any share")

    def interval(self, out: Any, confidence: Number) -> Interval:
        """Return an interval for each share, all at once; shares lie between 0 and 1."""
        wanted = probability("confidence", confidence, open_below=True)
        failure = share_of_failure(wanted, len(self.times))
        pairs = zip(np.asarray(out, dtype=np.float64).ravel().tolist(), self.times, strict=True)
        ends = np.array([self._ends(share, time, failure) for share, time in pairs])
        low, high = np.clip(ends.T, 0, 1)
        return Interval(low, high, wanted)

    def _ends(self, share: float, time: int, failure: float) -> tuple[float, float]:
        """Return the ends of one share, by the law of what was added up, or by a bound where that is out of reach."""
        size, is_response = min(self.kept, time), self.kind == "response"
        half = self.half_width(time, 1 - Fraction(failure))
        ends = share - half, share + half
        truth = math.tanh(float(self.epsilon) / 2) if is_response else 1.0
        # A share that was cut off at 0 or 1 may come from any total beyond that.
        total = round(size * (share * truth + (1 - truth) / 2))
        tail = None
        if failure >= LEAST_CHANCE and is_response and time > self.kept:
            ends = sampled_response_ends(min(max(total, 0), size), size, truth, failure)
        elif failure >= LEAST_CHANCE:
            tail = response_tail(size, (1 + truth) / 2) if is_response else noise_tail(size, float(self.epsilon), time)
        if tail is not None:
            least, largest = ends_of_ones(total, tail, time, failure)
            ends = least / time, largest / time
        return (0.0 if share <= 0 else ends[0]), (1.0 if share >= 1 else ends[1])

    def draw_many(self, value: Any, count: int, noise: Noise) -> NDArray[Any]:
        """Return independent draws of the shares."""
        bits = self.domain.admit(value)
        return np.array([self._shares(bits, noise) for _ in range(count)]).reshape(count, len(self.times))

    def _shares(self, bits: Any, noise: Noise) -> list[float]:
        """Return the shares at all times. Which bits are read depends on coins alone."""
        first = min(self.kept, self.times[-1])
        held = self._randomised([bit(bits, place) for place in range(first)], noise)
        early = np.cumsum(held)
        total, shares, log_weight, next_place = int(early[-1]), [], 0.0, first - 1
        coins = _coins(self, noise)
        for time in self.times:
            if time <= self.kept:
                shares.append(self._share(int(early[time - 1]), time))
                continue
            while next_place < time:
                fall, skip, slot, kept = next(coins)
                if next_place >= self.kept:
                    read = bit(bits, next_place)
                    fresh = read + kept if self.kind == "noise" else read if kept else 1 - read
                    total += fresh - int(held[slot])
                    held[slot] = fresh
                # The largest of the sample's uniform keys falls by a power of a uniform number; what is skipped are the
                # keys in a row that lie above it.
                log_weight += math.log(fall) / self.kept
                below = -math.expm1(log_weight)
                skipped = math.log(skip) / math.log(below) if 0 < below < 1 else 0.0
                next_place += 1 + int(min(skipped, float(_MOST_STEPS)))
            shares.append(self._share(total, self.kept))
        return shares

    def _randomised(self, read: list[int], noise: Noise) -> NDArray[np.int64]:
        """Return bits as they are kept: each is randomised once, with exactly its law."""
        plain, drawn = np.array(read, dtype=np.int64), self.own_noise(len(read), noise)
        return plain + drawn if self.kind == "noise" else np.where(drawn == 1, plain, 1 - plain)

    def own_noise(self, size: int, noise: Noise) -> NDArray[np.int64]:
        """Return the noise of that many bits, or ones for those that stay as they are."""
        if self.kind == "noise":
            # Sums that wrap around are a function of the noisy bits all the same.
            return noise.discrete_laplace(1 / self.epsilon, size).astype(np.int64)
        return noise.bernoulli_truth(self.epsilon, size, others=1).astype(np.int64)

    def _share(self, total: int, size: int) -> float:
        """Return an estimate of the share of ones from the sum of kept bits, between 0 and 1."""
        found = total / size
        if self.kind == "response":
            truth = math.tanh(float(self.epsilon) / 2)
            found = (found - (1 - truth) / 2) / truth
        return min(max(found, 0.0), 1.0)


def _coins(mean: StreamMean, noise: Noise) -> Iterator[tuple[float, float, int, int]]:
    """Return, for each bit that enters, two uniform numbers, its place in the reservoir, and its own noise.

    Only accuracy depends on the law of the first three.
    """
    size = max(1, min(1024, math.ceil(mean.expected_reads - mean.kept)))
    while True:
        falls, skips = ((noise.uniform_below(2**32, size).astype(np.float64) + 0.5) / 2**32 for _ in range(2))
        slots, own = noise.uniform_below(mean.kept, size), mean.own_noise(size, noise)
        yield from zip(falls.tolist(), skips.tolist(), slots.tolist(), own.tolist(), strict=True)


def _harmonic(count: int) -> float:
    if count < 64:
        return sum(1 / place for place in range(1, count + 1))
    return math.log(count) + 0.5772156649015329 + 1 / (2 * count) - 1 / (12 * count**2)


def _mean_tail(rate: float, size: int, tail: float, part: float, sampled: float) -> float:
    """Return Chernoff's bound of the mean of that many geometric noises and sampled bits, at one tilt."""
    tilt = rate * part
    growth = 2 * math.log(-math.expm1(-rate))
    growth -= math.log(-math.expm1(tilt - rate)) + math.log(-math.expm1(-tilt - rate))
    # Hoeffding's lemma for a bit that is drawn.
    return (size * (growth + sampled * tilt**2) + tail) / (tilt * size)

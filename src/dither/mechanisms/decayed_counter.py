"""The decayed counter: sums on a stream in which a tick counts less with every further tick.

For "lately" without a window's edge: the noise depends on how fast ticks fade, and not on how long the stream is, which
needs no known end. Under zCDP the matrix of decayed sums is factored by itself; a pure epsilon gets noise on each tick,
which fades with it. Cost: a product of as many numbers as there are ticks that have not faded, an entry and tick.
Correction: weights are rounded down to a 65,536th, so that sums are exact; what that moves is in the noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter, NoGuarantee
from dither.exact import Maybe, Number, Positive, TupleOf, Whole, non_negative, positive, probability, sqrt_up, whole
from dither.mechanisms.core.accuracy import gaussian_reach, share_of_failure
from dither.mechanisms.core.additive import DiscreteScale
from dither.mechanisms.core.mechanism import Interval, Numerics
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.running import MOST_TICKS, NoiseProcess, RunningCounter, RunningState, TickLengths
from dither.mechanisms.core.values import LARGEST_VALUE
from dither.mechanisms.decaying_factors import MOST_BUFFERS, DecayingFactor, _sum_of_squares, best_factor
from dither.noise import Noise
from dither.noise.buffered import BufferedNoise, Mixing
from dither.noise.frozen import Freezable
from dither.noise.laplace import Integers
from dither.noise.tapes import Tapes
from dither.privacy import L1, ZCDP, Loss, Metric, PureDP, gaussian_sigma, laplace_scale

#: Binary places of the weights, in which sums and noise are made.
_PLACES: Final = 16
_SHARES: Final = 1 << _PLACES
_LARGEST_NOISE: Final = 2**14
#: How many numbers of the past are kept at most.
_MOST_KEPT: Final = 2**24
_SLOWEST: Final = Fraction(9999, 10_000)
_BITS: Final = 56
_TURNS = f"a tuple of at most {MOST_BUFFERS} numbers below the decay; rates and zeros take turns"


def _examples() -> Iterator[Example]:
    pairs: tuple[tuple[Any, Any, int], ...] = (
        ([0, 0, 0], [1, 0, 0], 1),
        ([2, 5, 0], [2, 5, -1], 1),
        ([0, 3, 0], [1, 3, 1], 2),
    )
    turns: dict[str, Any] = {"rates": ("3/8",), "zeros": ("1/4",)}
    yield Example(DecayedCounter(decay="1/2", sigma=2, steps=3, **turns), [1, 0, 2], pairs)
    twice = (([0, 0, 0, 0], [1, 0, 1, 0], 1), ([0, 0, 0, 0], [1, 1, 0, 0], 2))
    yield Example(DecayedCounter(decay="3/4", sigma=3, ticks=2, apart=2, **turns), [1, 0, 2, 1], twice)
    two = np.array([1, 0])
    yield Example(DecayedCounter(decay="1/2", scale=3, shape=2), [two, two], (([two, two], [two * 2, two], 1),))


@register(
    examples=_examples,
    source="Constant Matters: Fine-Grained Complexity of Differentially Private Continual Observation (Fichtenberger, "
    "Henzinger, Upadhyay 2023) and Efficient and Near-Optimal Noise Generation for Streaming Differential Privacy "
    "(Dvijotham et al. 2024), whose factors of running sums become those of decayed ones",
)
@dataclass(frozen=True, kw_only=True)
class DecayedCounter(RunningCounter):
    """Answer each tick with the decayed sum so far and noise: of a tick ``decay`` is left after one more.

    Guarantee: with ``sigma``, streams that differ in ``d_in`` people, each of whom moves up to ``ticks`` ticks, at
    least ``apart`` apart, by at most 1 in Euclidean length, lose rho = ``(d_in * length / sigma)^2 / 2`` over all
    ticks. With ``scale``, streams that differ by ``d_in`` in L1 lose epsilon = ``d_in / scale``. Both hold also if
    values are chosen by who has seen earlier answers.

    Args:
        decay: how much of a tick is left after one more.
        sigma: the standard deviation of the noise that is mixed; or
        scale: that of discrete Laplace noise on every tick, in place of it.
        rates: by which what the noise is added to decays, the slowest first; with ``sigma``. See ``calibrated``.
        zeros: by which the noise decays, each between a rate and the next one.
        steps: how many ticks the stream has; None for any number.
        shape: the shape of a tick; ``()`` is one integer.
        ticks: how many ticks one person touches at most; 1 protects events. With ``scale`` it is 1.
        apart: how far apart these ticks are at least.

    >>> lately = DecayedCounter.calibrated(ZCDP("1/2"), sensitivity=1, decay="0.99")
    >>> round(lately.standard_error(10**6), 2)
    2.16

    """

    name: ClassVar[str] = "decayed-counter"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "a stream without a known end has no largest error: see interval_at"

    decay: Positive = Positive(most=_SLOWEST)
    sigma: Maybe = Maybe(DiscreteScale())
    scale: Maybe = Maybe(DiscreteScale())
    rates: TupleOf = TupleOf(Positive(most=1), default=(), least=0, most=MOST_BUFFERS, rule=_TURNS)
    zeros: TupleOf = TupleOf(Positive(most=1), default=(), least=0, most=MOST_BUFFERS, rule=_TURNS)
    steps: Maybe = Maybe(Whole(least=1, most=MOST_TICKS))
    ticks: Whole = Whole(1, least=1, most=2**16)
    apart: Whole = Whole(1, least=1, most=MOST_TICKS)

    def __post_init__(self) -> None:
        """Refuse two kinds of noise or none, and factors that are none."""
        if (self.sigma is None) == (self.scale is None):
            raise InvalidParameter("sigma", self.sigma, "set, or scale instead: exactly one of the two")
        if (self.sigma or self.scale) > _LARGEST_NOISE:
            raise InvalidParameter("sigma", self.sigma or self.scale, f"at most {_LARGEST_NOISE}; add up larger units")
        if self.entries * len(self.lags) > _MOST_KEPT:
            rule = (
                f"small enough that {len(self.lags)} ticks of it, which have not faded, are at most {_MOST_KEPT} "
                "numbers"
            )
            raise InvalidParameter("shape", self.shape, rule)
        if self.scale is not None and (self.rates or self.zeros or self.ticks > 1):
            raise InvalidParameter("scale", self.scale, "not allowed with rates, zeros or people: it is for L1")
        if self.sigma is not None and not self.factor.rates[0] < self.decay:
            raise InvalidParameter("rates", "rates", f"below the decay {self.decay}")

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        sensitivity: Number,
        decay: Number,
        steps: int | None = None,
        shape: Any = (),
        ticks: int = 1,
        apart: int = 1,
        buffers: int = 8,
    ) -> Self:
        """Return the counter of least noise whose loss at ``sensitivity`` is within ``within``.

        Args:
            within: the loss not to exceed, for the whole stream.
            sensitivity: how far one unit moves the stream in L1 under a pure loss; else one of its ticks, in L2.
            decay: how much of a tick is left after one more.
            steps: how many ticks the stream has; None for any number.
            shape: the shape of a tick.
            ticks: how many ticks one person touches at most; under a pure loss they are in the sensitivity.
            apart: how far apart these are at least.
            buffers: how many buffers the noise has.

        """
        rate, moved = positive("decay", decay), positive("sensitivity", sensitivity)
        if Purse.within(within).is_pure:
            return cls(decay=rate, scale=laplace_scale(within, moved), steps=steps, shape=shape)
        if not 0 < rate <= _SLOWEST:
            raise InvalidParameter("decay", decay, f"above 0 and at most {_SLOWEST}")
        factor = _best(rate, whole("buffers", buffers, least=1, most=MOST_BUFFERS))
        public: dict[str, Any] = {"decay": rate, "rates": factor.rates, "zeros": factor.zeros, "steps": steps}
        public |= {"shape": shape, "ticks": ticks, "apart": apart}
        found = cls(sigma=gaussian_sigma(within, moved * cls(sigma=1, **public).length), **public)
        if not found.loss(moved) <= within:
            raise NoGuarantee(f"nothing in rho alone is within {within!r}: state it as ZCDP")
        return found

    @cached_property
    def lags(self) -> tuple[int, ...]:
        """How much a tick counts after 0, 1, 2, ... further ones, in 65,536ths, until nothing of it is left."""
        return _lags(self.decay)

    @cached_property
    def factor(self) -> DecayingFactor:
        """The factor of decayed sums to which noise is added."""
        return DecayingFactor(self.rates, self.zeros)

    @cached_property
    def mixing(self) -> Mixing:
        """The coefficients by which the noise of the factor becomes that of decayed sums."""
        poles = (self.decay, *self.zeros)
        weights = tuple(
            math.prod((1 - rate / pole for rate in self.rates), start=Fraction(1))
            / math.prod((1 - other / pole for other in poles if other != pole), start=Fraction(1))
            for pole in poles
        )
        return Mixing(poles, weights, Fraction(0))

    @cached_property
    def length(self) -> Fraction:
        """How far one person moves what the noise is added to, in L2, rounded up, rounded weights included."""
        squares = len(self.lags) + 1 / (1 - self.decay**2)
        # The weights themselves are known to 128 places, which the last factor covers.
        rounding = 2 * sqrt_up(squares) / _SHARES * (1 + Fraction(1, 2**32))
        return self.factor.length(self.steps, self.ticks, self.apart) + self.ticks * rounding

    @property
    def length_of_stream(self) -> int | None:
        """The number of ticks, where it is known."""
        steps: int | None = self.steps
        return steps

    @property
    def distance(self) -> Metric:
        """People, each at a few ticks, times how far one of their ticks moves; or L1 over all ticks."""
        return L1 if self.sigma is None else TickLengths(self.ticks, self.apart, self.domain.shape)

    @property
    def shares(self) -> int:
        """65,536: weights are multiples of this part of 1."""
        return _SHARES

    def limits(self, first: int, ticks: int) -> NDArray[np.int64]:
        """Return the largest absolute value of an entry of any tick: sums of faded ones stay below 2^60 shares."""
        return np.array([[LARGEST_VALUE // sum(self.lags)]])

    @property
    def kept(self) -> tuple[int, ...]:
        """The ticks that have not faded, but for the present one."""
        return len(self.lags) - 1, self.entries

    def summed(self, state: RunningState, ticks: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the decayed sums of some ticks, in shares, exactly."""
        past = np.concatenate([state.totals, ticks])
        state.totals = past[len(ticks) :]
        return _faded(past, self.lags)

    def loss(self, d_in: Number = 1) -> Loss:
        """Return the loss of all ticks together."""
        moved = non_negative("d_in", d_in)
        return PureDP(moved / self.scale) if self.sigma is None else ZCDP((moved * self.length / self.sigma) ** 2 / 2)

    def standard_error(self, tick: int) -> float:
        """Return the standard deviation of the noise at a tick, counted from 0, rounding to integers included."""
        place = whole("tick", tick, most=(self.steps or MOST_TICKS) - 1)
        return math.hypot(self._spread(place), math.sqrt(1 / 12))

    def _spread(self, tick: int) -> float:
        if self.sigma is None:
            rate = float(1 / self.scale)
            weights = np.array(self.lags[: tick + 1], dtype=np.float64) / _SHARES
            return math.sqrt(2 * math.exp(-rate) / math.expm1(-rate) ** 2 * float(weights @ weights))
        mixing = self.mixing
        return float(self.sigma) * math.sqrt(_sum_of_squares(mixing.rates, mixing.weights, tick + 1))

    def interval_at(self, tick: int, out: Any, confidence: Number) -> Interval:
        """Return an interval for the sums at one tick, counted from 0, for all entries at once."""
        wanted = probability("confidence", confidence, open_below=True)
        whole("tick", tick, most=(self.steps or MOST_TICKS) - 1)
        failure = share_of_failure(wanted, self.entries)
        if self.sigma is None:
            reach = _laplace_reach(self.scale, self.lags[: tick + 1], failure)
        else:
            reach = gaussian_reach(Fraction(self._spread(tick)), failure)
        return Interval(out - math.floor(reach + 0.5), out + math.floor(reach + 0.5), wanted)

    def process(self, tapes: Tapes) -> NoiseProcess:
        """Return the noise of a conversation, from its beginning."""
        if self.sigma is None:
            return FadingNoise(self, tapes)
        return BufferedNoise(tapes, self.mixing, self.sigma * _SHARES, self.entries, self.block)


class FadingNoise(Freezable):
    """Discrete Laplace noise on every tick, which fades as the ticks do."""

    remembered = ("_past", "_blocks")

    def __init__(self, counter: DecayedCounter, tapes: Tapes) -> None:
        self._counter, self._tapes, self._blocks = counter, tapes, 0
        self._past = np.zeros(counter.kept, dtype=np.int64)

    def more(self) -> Integers:
        """Return the noise of the next block of ticks, in shares."""
        counter = self._counter
        drawn = Noise(self._tapes.tape(self._blocks)).discrete_laplace(counter.scale, counter.block * counter.entries)
        past = np.concatenate([self._past, drawn.reshape(counter.block, counter.entries)])
        self._past, self._blocks = past[counter.block :], self._blocks + 1
        return _faded(past, counter.lags)


def _faded(past: NDArray[np.int64], lags: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the decayed sums at all ticks but the first ones, of which the past is not there."""
    weights = np.array(lags[::-1], dtype=np.int64)
    windows = np.lib.stride_tricks.sliding_window_view(past, len(lags), axis=0)
    return np.asarray(windows @ weights)


@lru_cache(maxsize=64)
def _lags(decay: Fraction) -> tuple[int, ...]:
    found, power = [], Fraction(_SHARES)
    # Rounded down at 128 places, and then at 16: below the power by at most one share, which is all that is used.
    while power >= 1:
        found.append(math.floor(power))
        power = Fraction(math.floor(power * decay * 2**128), 2**128)
    return tuple(found)


def _laplace_reach(scale: Fraction, lags: tuple[int, ...], failure: float) -> float:
    """Return how far a weighted sum of discrete Laplace noise errs at most, but for a chance of ``failure``.

    By Chernoff's bound: the moments of the discrete law are at most those of the continuous one, 1 / (1 - (s w)^2).
    """
    weights = np.array(lags, dtype=np.float64) * float(scale) / _SHARES
    best, largest = math.inf, float(weights.max())
    for part in range(1, 64):
        rate = part / 64 / largest
        logarithm = -float(np.log1p(-((rate * weights) ** 2)).sum())
        best = min(best, (logarithm + math.log(2 / failure)) / rate)
    return best * (1 + 1e-9)


@lru_cache(maxsize=64)
def _best(decay: Fraction, buffers: int) -> DecayingFactor:
    """Return the factor of least error among those of running sums over about as many ticks as last."""
    lasting = math.ceil(1 / (1 - decay))
    candidates = []
    for part in (Fraction(1, 2), 1, 2, 4, 8):
        plain = best_factor(max(1, math.ceil(lasting * part)), buffers)
        rates, zeros = ([_dyadic(decay * number) for number in numbers] for numbers in (plain.rates, plain.zeros))
        try:
            factor = DecayingFactor(tuple(rates), tuple(zeros))
        except InvalidParameter:
            continue
        counter = DecayedCounter(decay=decay, sigma=1, rates=factor.rates, zeros=factor.zeros)
        candidates.append((float(counter.length) * counter.standard_error(MOST_TICKS - 1), factor))
    return min(candidates, key=lambda one: one[0])[1]


def _dyadic(number: Fraction) -> Fraction:
    return Fraction(math.floor(number * 2**_BITS), 2**_BITS)

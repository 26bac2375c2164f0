"""Factors of running sums whose columns are a few decaying powers: their lengths, and the best of them.

The matrix A of running sums is a product B C of two lower triangular Toeplitz matrices. Noise is added to C x, and B
makes running sums of it. With the series C(x) = prod (1 - z_p x) / (1 - r_p x), both C and B = A / C have coefficients
that are sums of powers, so a buffer for each of them is all the state there is. Everything here is public.

The zeros and rates are rationals. How far one person moves C x is bounded upwards in integers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import exact, round_up, sqrt_up, typed, whole
from dither.noise.buffered import Falls, Mixing

#: Binary places of rates and zeros.
_BITS = 56
#: Binary places in which lengths are bounded.
_PLACES = 192
_ONE = 1 << _PLACES
MOST_BUFFERS = 16
#: The factor without a known end keeps its promise of accuracy up to 2^28 ticks, and its promise of privacy for ever.
_FAR = 28
#: The powers of the logarithm and of its logarithm in the smooth factor; 6/5 of one keeps the first coefficients.
_FALL, _BEND = 0.51, 0.612


@dataclass(frozen=True)
@typed
class DecayingFactor:
    """The factor C(x) = prod (1 - zeros[p] x) / (1 - rates[p] x); rates and zeros take turns, falling from below 1.

    Args:
        rates: by which the columns of C decay, the slowest first.
        zeros: by which the noise of running sums decays; each between a rate and the next one.

    >>> factor = DecayingFactor((Fraction(1, 2),), (Fraction(1, 4),))
    >>> [str(factor.coefficient(place)) for place in range(3)]
    ['1', '1/4', '1/8']

    """

    rates: tuple[Fraction, ...]
    zeros: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        order = [number for pair in zip(self.rates, self.zeros, strict=False) for number in pair]
        falls = all(low < high for high, low in zip([Fraction(1), *order], [*order, Fraction(0)], strict=True) if low)
        if not (0 < len(self.rates) == len(self.zeros) <= MOST_BUFFERS and falls and order[-1] > 0):
            rule = f"1 to {MOST_BUFFERS} rates and the same number of zeros, in turns, falling from below 1 to above 0"
            raise InvalidParameter("rates", "rates and zeros", rule)
        if any(number.denominator > 2**_BITS for number in order):
            raise InvalidParameter("rates", "rates and zeros", f"fractions of at most {_BITS} binary digits")

    @cached_property
    def weights(self) -> tuple[Fraction, ...]:
        """The w_p of c_k = w_0 [k = 0] + sum w_p rates[p]^k; all above 0, as rates and zeros take turns."""
        return tuple(
            _product(1 - zero / rate for zero in self.zeros) / self._others(self.rates, rate) for rate in self.rates
        )

    @cached_property
    def at_once(self) -> Fraction:
        """The w_0: what a value adds to its own tick alone."""
        return _product(zero / rate for zero, rate in zip(self.zeros, self.rates, strict=True))

    @cached_property
    def mixing(self) -> Mixing:
        """The coefficients of B = A / C, by which the noise of C x becomes that of running sums."""
        weights = (
            _product(1 - rate / zero for rate in self.rates) / self._others(self.zeros, zero) / (1 - 1 / zero)
            for zero in self.zeros
        )
        lasting = _product((1 - rate) / (1 - zero) for zero, rate in zip(self.zeros, self.rates, strict=True))
        return Mixing(self.zeros, tuple(weights), lasting)

    @staticmethod
    def _others(numbers: tuple[Fraction, ...], one: Fraction) -> Fraction:
        return _product(1 - number / one for number in numbers if number != one)

    def coefficient(self, place: int) -> Fraction:
        """Return c_k exactly."""
        decayed = sum((w * rate**place for w, rate in zip(self.weights, self.rates, strict=True)), Fraction(0))
        return decayed + (self.at_once if place == 0 else 0)

    def length(self, steps: int | None, ticks: int = 1, apart: int = 1) -> Fraction:
        """Return an upper bound of how far C x moves in L2 if x moves by 1 at up to ``ticks`` ticks ``apart`` apart.

        Args:
            steps: how many ticks the stream has, or None for any number.
            ticks: how often a person comes at most.
            apart: how far apart these ticks are at least.

        """
        return _length(self, steps, ticks, apart)

    def standard_error(self, tick: int) -> float:
        """Return the standard deviation of the noise of the sum at a tick, from 0, for noise of deviation 1 on C x."""
        mixing = self.mixing
        rates, weights = (*mixing.rates, Fraction(1)), (*mixing.weights, mixing.lasting)
        return math.sqrt(_sum_of_squares(rates, weights, tick + 1))

    def heights(self, steps: int) -> Falls:
        """Return how long columns are at most, from tick to tick: a later column is cut off earlier, and shorter.

        Eight heights for every doubling of what is left of the stream.
        """
        return _heights(self, steps)

    def even_error(self, steps: int, tick: int) -> float:
        """Return the standard deviation of the noise of the sum at a tick where all columns are made equally long."""
        falls = [fall for fall in self.heights(steps) if fall[0] <= tick]
        places = np.array([begins - 1 for begins, _ in falls[1:]] + [tick])
        weights = np.array([float(one[1] - two[1]) for one, two in pairwise(falls)] + [float(falls[-1][1])])
        square = 0.0
        early, late = np.minimum.outer(places, places), np.maximum.outer(places, places)
        both = np.outer(weights, weights)
        for slower, pairs in self._pairs:
            faded = both * slower ** (late - early)
            for weight, decay, fall in pairs:
                sums = -np.expm1((early + 1) * fall) / decay if decay else early + 1.0
                square += weight * float(np.vdot(faded, sums))
        return math.sqrt(square)

    @cached_property
    def _pairs(self) -> list[tuple[float, list[tuple[float, float, float]]]]:
        """For each rate with each other: the product of weights, 1 less that of rates, and its logarithm."""
        mixing = self.mixing
        terms = list(zip((*mixing.weights, mixing.lasting), (*mixing.rates, Fraction(1)), strict=True))
        return [
            (
                float(slower),
                [(float(a * b), float(1 - r * slower), math.log(r) + math.log(slower)) for a, r in terms],
            )
            for b, slower in terms
        ]


def _sum_of_squares(rates: tuple[Fraction, ...], weights: tuple[Fraction, ...], count: int) -> float:
    """Return the sum over k below ``count`` of the square of sum weights[p] * rates[p]^k, to float precision."""
    terms = [(float(w), math.log(rate), float(1 - rate)) for w, rate in zip(weights, rates, strict=True)]
    square = 0.0
    for one, slow, rest in terms:
        for other, slower, left in terms:
            decay = rest + left - rest * left  # 1 minus the product of two rates, without cancellation
            square += one * other * (-math.expm1(count * (slow + slower)) / decay if decay else count)
    return square


def _product(numbers: object) -> Fraction:
    found = Fraction(1)
    for number in numbers:  # type: ignore[attr-defined]
        found *= number
    return found


@lru_cache(maxsize=64)
def _length(factor: DecayingFactor, steps: int | None, ticks: int, apart: int) -> Fraction:
    # Visits that do not fit into the stream do not happen.
    visits = ticks if steps is None else min(ticks, -(-steps // apart))
    rest = None if steps is None else steps - (visits - 1) * apart
    weights = [_up(weight) for weight in factor.weights]
    at_once, pairs = _up(factor.at_once), range(len(weights))
    returns = [_power(rate, apart, up=True) for rate in factor.rates]
    inner = [[_geometric(one * other, apart) for other in factor.rates] for one in factor.rates]
    last = [[_geometric(one * other, rest) for other in factor.rates] for one in factor.rates]
    square, seen = 0, [0] * len(weights)
    for visit in range(visits):
        # Just after a visit the powers of all visits so far add up to these.
        seen = [_ONE + _times_up(back, before) for back, before in zip(returns, seen, strict=True)]
        now = [_times_up(weight, sums) for weight, sums in zip(weights, seen, strict=True)]
        spans = last if visit == visits - 1 else inner
        square += _times_up(at_once, at_once + 2 * sum(now))
        square += sum(_times_up(_times_up(now[p], now[q]), spans[p][q]) for p in pairs for q in pairs)
    return sqrt_up(Fraction(square, _ONE))


@lru_cache(maxsize=16)
def _heights(factor: DecayingFactor, steps: int) -> Falls:
    lefts = sorted({min(math.ceil(2 ** (step / 8)), steps) for step in range(8 * steps.bit_length() + 1)})
    # From the tick on at which that many are left; until the next one fewer are, and columns are shorter.
    lengths = accumulate((round_up(factor.length(left), bits=64) for left in lefts), max)
    return tuple((steps - left, length) for left, length in zip(lefts, lengths, strict=True))[::-1]


def _up(number: Fraction) -> int:
    return -(-number.numerator * _ONE // number.denominator)


def _times_up(one: int, other: int) -> int:
    return -(-one * other >> _PLACES)


def _power(base: Fraction, exponent: int, *, up: bool) -> int:
    """Return a power in units of 2^-192, rounded up or down at every step."""
    found, square = _ONE, _up(base) if up else base.numerator * _ONE // base.denominator
    while exponent:
        if exponent & 1:
            found = _times_up(found, square) if up else found * square >> _PLACES
        square, exponent = _times_up(square, square) if up else square * square >> _PLACES, exponent >> 1
    return found


def _geometric(rate: Fraction, terms: int | None) -> int:
    """Return the sum of rate^0, rate^1, ... rounded up."""
    whole_sum = 0 if terms is None else _power(rate, terms, up=False)
    return _up(Fraction(_ONE - whole_sum, _ONE) / (1 - rate))


@lru_cache(maxsize=64)
def best_factor(steps: int, buffers: int = 6) -> DecayingFactor:
    """Return the factor of least largest error among those by Zolotarev's approximation of the square root.

    Args:
        steps: how many ticks the stream has.
        buffers: how many buffers the noise may have.

    >>> factor = best_factor(2**16)
    >>> round(float(factor.length(2**16)) * factor.standard_error(2**16 - 1), 3)
    4.598

    """
    ticks, count = whole("steps", steps, least=1), whole("buffers", buffers, least=1, most=MOST_BUFFERS)
    candidates = (_zolotarev(min(2.0 ** (step / 8) / ticks, 1.0), count) for step in range(-24, 33))
    return _factor(*min(candidates, key=lambda places: _quick_error(places[0], places[1], ticks)))


@lru_cache(maxsize=8)
def endless_factor(buffers: int = 10) -> DecayingFactor:
    """Return a factor for streams without a known end: its columns are short for any number of ticks.

    Up to a few dozen ticks zeros lie half-way between rates, as for the square root. From there on they come nearer
    to the rates before them, so that the squares of a column have a finite sum, while noise grows hardly faster.

    Args:
        buffers: how many buffers the noise may have.

    """
    count = whole("buffers", buffers, least=1, most=MOST_BUFFERS)
    rates, zeros = _zolotarev(2.0**-_FAR, count)
    for place, (rate, zero) in enumerate(zip(rates, zeros, strict=True)):
        age = 3.35 - math.log(rate)  # the logarithm of the ticks that a buffer lasts, and what one tick counts
        if age >= 6:
            zeros[place] = rate * (zero / rate) ** (1 - 1.3 / age)
    return _factor(rates, zeros)


@lru_cache(maxsize=8)
def smooth_factor(buffers: int = MOST_BUFFERS) -> DecayingFactor:
    """Return a factor near the smooth one of Jacobsen and Fawaz, for streams without a known end.

    C(x) = (1 - x)^(-1/2) l^(-0.51) (2 / x ln l)^0.612, where l = ln(1 / (1 - x)) / x. At x = 1 + s its angle in the
    complex plane says where zeros lie: the share of the gap between two rates is the angle over pi. Rates slower than
    one tick in 2^30 are left out: the columns of the closed form have an end so far away that it would cost 30 times
    the noise.

    Args:
        buffers: how many buffers the noise may have; with 16 errors are within 0.2 % of those of the closed form.

    """
    count = whole("buffers", buffers, least=1, most=MOST_BUFFERS)
    ends = np.geomspace(2.0**-30, 2.0**9, count + 1)
    middles = np.sqrt(ends[1:] * ends[:-1])
    logarithms = (-np.log(middles) + 1j * math.pi) / (1 + middles)
    angles = math.pi / 2 - _FALL * np.angle(logarithms) + _BEND * np.angle(np.log(logarithms))
    return _factor(ends[:-1].tolist(), (ends[:-1] * (ends[1:] / ends[:-1]) ** (angles / math.pi)).tolist())


def _zolotarev(least: float, buffers: int) -> tuple[list[float], list[float]]:
    """Return places s of rates 1 / (1 + s), and of zeros, that approximate s^(-1/2) best from ``least`` to 2."""
    from scipy.special import ellipj, ellipkm1

    ratio = least / 2
    quarter = float(ellipkm1(ratio))
    places = []
    for turn in range(1, 2 * buffers + 1):
        sine, cosine, _, _ = ellipj(turn * quarter / (2 * buffers + 1), 1 - ratio)
        places.append(least * (float(sine) / float(cosine)) ** 2)
    return places[::2], places[1::2]


def _factor(rates: list[float], zeros: list[float]) -> DecayingFactor:
    return DecayingFactor(tuple(map(_dyadic, rates)), tuple(map(_dyadic, zeros)))


def _quick_error(rates: list[float], zeros: list[float], steps: int) -> float:
    """Return the square of the largest error in floats, from places s: differences of these lose no digits."""
    slow, zero = np.array(rates), np.array(zeros)
    weights = _ratios(zero[None, :] - slow[:, None], 1 + zero) / _ratios(_others(slow), 1 + slow)
    inner = _ratios(slow[None, :] - zero[:, None], 1 + slow) / _ratios(_others(zero), 1 + zero) / -zero
    lasting = float(np.prod(slow * (1 + zero) / (zero * (1 + slow))))
    once = float(np.prod((1 + slow) / (1 + zero)))
    column = _squares(slow, weights, steps) + once * (once + 2 * float(weights.sum()))
    return column * _squares(np.append(zero, 0.0), np.append(inner, lasting), steps)


def _others(places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return differences of places; where they are none, such that the ratio below is 1."""
    apart = places[None, :] - places[:, None]
    np.fill_diagonal(apart, 1 + places)
    return apart


def _ratios(above: NDArray[np.float64], below: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.prod(above / below, axis=1))


def _squares(places: NDArray[np.float64], weights: NDArray[np.float64], count: int) -> float:
    """Return the sum over k below ``count`` of the square of sum weights[p] / (1 + places[p])^k."""
    fall = np.log1p(places)
    both = np.add.outer(fall, fall)
    with np.errstate(all="ignore"):
        sums = np.where(both > 0, np.expm1(-count * both) / np.expm1(-both), count)
    return float(weights @ sums @ weights)


def _dyadic(place: float) -> Fraction:
    return Fraction(round(2**_BITS / (1 + exact("place", place))), 2**_BITS)

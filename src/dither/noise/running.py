"""Correlated Gaussian noise for running sums, rounded to integers: each tick sees a mixture of all noise so far.

At tick t the noise is sigma times the sum over k of c_k Z_(t-k), with independent standard Gaussian Z and c_k =
C(2k, k) / 4^k, the coefficients of (1 - x)^(-1/2). Their convolution with themselves is 1, 1, 1, ..., so that adding
this noise to running sums is adding fresh noise to another, shorter sum of the same values (see
``mechanisms.square_root_counter``).

The law is exact. Floats give each mixture up to a proven error; where that does not decide the rounding, integers do,
with more digits of every Z until it is decided.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from dither.noise.chances import RationalChance
from dither.noise.coins import Floats, flip
from dither.noise.entropy import Entropy
from dither.noise.laplace import Integers
from dither.noise.lazy import ROUNDING, AbsoluteGaussians, Enclosure, Points, floors, signed

#: The longest stream: its coefficients take about two seconds once.
MOST_TICKS = 2**22
_HALF = Fraction(1, 2)
#: Binary places of the coefficients; each of up to 2^22 roundings loses less than one unit in the last.
_PLACES = 192


class Coefficients(NamedTuple):
    """Floats within a few roundings of c_0, c_1, ...; and the sum of their squares, rounded up."""

    floats: Floats
    square: Fraction


@lru_cache(maxsize=8)
def coefficients(count: int) -> Coefficients:
    """Return the first ``count`` coefficients.

    >>> coefficients(4).floats.tolist(), coefficients(2).square == Fraction(5, 4)
    ([1.0, 0.5, 0.375, 0.3125], True)
    """
    floats, squares = np.empty(count), 0
    for place, units in enumerate(_fixed(count)):
        # The true coefficient is at most ``place`` units larger.
        floats[place] = units / 2**_PLACES
        squares += (units + place) ** 2 if place > 1 else units**2
    return Coefficients(floats, Fraction(squares, 2 ** (2 * _PLACES)))


def _fixed(count: int) -> Iterator[int]:
    """Return c_k = c_(k-1) (2k - 1) / (2k) in units of 2^-192, rounded down at every step: too small by at most k."""
    units = 1 << _PLACES
    for place in range(count):
        if place:
            units = units * (2 * place - 1) // (2 * place)
        yield units


class RunningMixtures(Points):
    """The mixtures of one stream, a row for each tick."""

    def __init__(self, entropy: Entropy, sigma: Fraction, count: int) -> None:
        self._sigma, self._count = sigma, count
        self._sizes = AbsoluteGaussians(entropy, count)
        self._negative = flip(entropy, RationalChance(_HALF), count)

    def bounds(self) -> tuple[Floats, Floats]:
        """Return floats below and above all mixtures."""
        low, high = signed(self._sizes.low, self._sizes.high, self._negative)
        middle, known = low / 2 + high / 2, coefficients(self._count)
        places = (2 * self._count - 1).bit_length()
        found = np.fft.irfft(np.fft.rfft(known.floats, 2**places) * np.fft.rfft(middle, 2**places), 2**places)
        # By the transforms (Brent, Percival and Zimmermann 2007, with eight times their constants), by the digits of Z
        # that are not drawn yet, and by the rounding of coefficients.
        lengths = math.sqrt(float(known.square) * (float(middle @ middle) + 1.0))
        widest = float((high - low).max()) / 2 + 4 * ROUNDING * float(np.abs(middle).max() + 1)
        error = 128 * (places + 4) * ROUNDING * lengths + 2 * widest * float(known.floats.sum() + 1)
        scale = float(self._sigma)
        shown = found[: self._count, None] * scale
        around = scale * error + np.abs(shown) * (8 * ROUNDING)
        return shown - around, shown + around

    def enclosures(self, row: int) -> list[Enclosure]:
        """Return rationals around the mixture of one tick."""
        low = high = Fraction(0)
        for place, units in enumerate(_fixed(row + 1)):
            least, most = self._sizes.enclosure(row - place)
            small, large = Fraction(units, 2**_PLACES) * least, Fraction(units + place, 2**_PLACES) * most
            low, high = (low - large, high - small) if self._negative[row - place] else (low + small, high + large)
        return [(self._sigma * low, self._sigma * high)]

    def refine(self, row: int) -> None:
        """Draw more digits of all that the mixture is made of."""
        for index in range(row + 1):
            self._sizes.refine(index)


def rounded_running_gaussian(entropy: Entropy, sigma: Fraction, count: int) -> Integers:
    """Return floor(1/2 + sigma * mixture) for the first ``count`` ticks."""
    mixtures = RunningMixtures(entropy, sigma, count)
    rounded: Integers = floors(mixtures, np.full((1, 1), 0.5), lambda row, column: _HALF)[:, 0]
    return rounded

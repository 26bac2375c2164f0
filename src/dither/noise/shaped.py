"""Exact integer noise of other shapes: truncated at a bound, in stairs, and the coin that makes noise coarser.

They stand on the geometric variable of ``laplace`` and one coin whose chance is a rational function of powers of
e^(-1 / scale). Such a chance is irrational unless it is constant, so ``IrrationalChance`` always decides. Nothing is
rejected but words that are too large for a uniform integer, and the work does not depend on what is drawn.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.noise.chances import Chance, IrrationalChance, RationalChance, _exp_of_minus
from dither.noise.coins import flip
from dither.noise.entropy import Entropy
from dither.noise.laplace import Integers, geometric
from dither.noise.selection import uniform_below

_HALF = RationalChance(Fraction(1, 2))
_LARGEST_INT64 = 2**63 - 1


def truncated_laplace(entropy: Entropy, scale: Fraction, bound: int, count: int) -> Integers:
    """Return integers x with |x| <= bound and probability proportional to e^(-|x| / scale).

    A geometric variable is m * H + K with K below m, H and K independent: so G mod m is the geometric law cut off at m.
    """
    if bound == 0:
        return np.zeros(count, dtype=np.int64)
    negative = flip(entropy, _negative(scale, bound), count)
    drawn = geometric(entropy, scale, count)
    cut: Integers = np.where(negative, -1 - drawn % bound, drawn % (bound + 1)).astype(np.int64)
    return cut


def staircase(entropy: Entropy, epsilon: Fraction, width: int, period: int, count: int) -> NDArray[Any]:
    """Return integers x with probability proportional to e^(-epsilon * floor((|x| + period - width) / period)).

    The centre |x| < width is flat. Beyond it |x| = width + period * K + U, with K geometric and U uniform below period.
    """
    outside = flip(entropy, _outside(epsilon, width, period), count)
    centre = uniform_below(entropy, 2 * width - 1, count) - (width - 1)
    stairs = geometric(entropy, 1 / epsilon, count)
    if count and (int(stairs.max()) + 1) * period + width > _LARGEST_INT64:
        stairs = stairs.astype(object)
    far = stairs * period + (uniform_below(entropy, period, count) + width)
    return np.where(outside, np.where(flip(entropy, _HALF, count), -far, far), centre)


@lru_cache(maxsize=256)
def _negative(scale: Fraction, bound: int) -> Chance:
    """Return the probability of x < 0 under the truncated distribution: q (1 - q^bound) / (1 + q - 2 q^(bound + 1))."""

    def enclose(digits: int) -> tuple[Fraction, Fraction]:
        extra = digits + _lost_digits(scale)
        low, high = _exp_of_minus(1 / scale, extra)
        end_low, end_high = _exp_of_minus(bound / scale, extra)
        above, below = 1 + high - 2 * low * end_low, 1 + low - 2 * high * end_high
        return _within_one(low * (1 - end_high), above, high * (1 - end_low), below)

    return IrrationalChance(enclose)


@lru_cache(maxsize=256)
def _outside(epsilon: Fraction, width: int, period: int) -> Chance:
    """Return the probability of |x| >= width: 2 p b / ((2 w - 1) (1 - b) + 2 p b), with b = e^-epsilon."""
    centre, stair = 2 * width - 1, 2 * period

    def share(b: Fraction) -> Fraction:
        return stair * b / (centre * (1 - b) + stair * b)

    def enclose(digits: int) -> tuple[Fraction, Fraction]:
        low, high = _exp_of_minus(epsilon, digits + (width * period).bit_length())
        return share(low), share(min(high, Fraction(1)))

    return IrrationalChance(enclose)


@lru_cache(maxsize=256)
def unchanged(fine: Fraction, coarse: Fraction) -> Chance:
    """Return the probability that coarser noise equals the finer: the ratio of their variances.

    q (1 - p)^2 / (p (1 - q)^2) with q = e^(-1 / fine) and p = e^(-1 / coarse): discrete Laplace noise of scale
    ``coarse`` is that of scale ``fine`` plus 0 with this chance, and else plus discrete Laplace noise of scale
    ``coarse``.
    """
    if fine == coarse:
        return RationalChance(Fraction(1))

    def enclose(digits: int) -> tuple[Fraction, Fraction]:
        extra = digits + _lost_digits(coarse)
        ratio_low, ratio_high = _exp_of_minus(1 / fine - 1 / coarse, extra)
        fine_low, fine_high = _exp_of_minus(1 / fine, extra)
        coarse_low, coarse_high = _exp_of_minus(1 / coarse, extra)
        top_low, top_high = ratio_low * max(1 - coarse_high, Fraction(0)) ** 2, ratio_high * (1 - coarse_low) ** 2
        return _within_one(top_low, (1 - fine_low) ** 2, top_high, max(1 - fine_high, Fraction(0)) ** 2)

    return IrrationalChance(enclose)


def _lost_digits(scale: Fraction) -> int:
    """Return how many digits differences such as 1 - e^(-1/scale), and their squares, lose."""
    return 2 * max(0, math.ceil(scale).bit_length())


def _within_one(low: Fraction, above: Fraction, high: Fraction, below: Fraction) -> tuple[Fraction, Fraction]:
    """Return low / above and high / below within [0, 1]; the caller requests more digits if these are too loose."""
    return max(Fraction(0), low / above), min(Fraction(1), high / below) if below > 0 else Fraction(1)

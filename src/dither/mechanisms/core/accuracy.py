"""How far noise reaches: quantiles of the noise that mechanisms add, rounded outwards.

Used for errors and intervals only; no guarantee depends on these numbers.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import to_float

# Quantiles are widened by this share, far above the error of the float functions that compute them.
_OUTWARDS = 1 + 1e-9
_LEAST_FAILURE = 1e-300
#: Up to this scale two discrete Laplace variables are added up term by term; what lies beyond has a chance of e^-45.
_ADDED_UP, _FAR = 64, 45
#: Scales nearer to each other than this are taken as equal, the larger one.
_ALIKE = 1e-4
#: Smaller chances are not added up.
_LEAST_ADDED = 1e-15


def share_of_failure(confidence: Fraction, among: int = 1) -> float:
    """Return each of ``among`` events' failure probability so that all hold with that confidence (union bound)."""
    share = float((1 - confidence) / among)
    if share < _LEAST_FAILURE:
        raise InvalidParameter("confidence", str(confidence), "farther from 1: nothing is known with such certainty")
    return share


def laplace_reach(scale: Fraction, failure: float) -> float:
    """Return x with P[|Z| > x] <= failure for continuous Laplace noise."""
    return to_float(scale, "up") * math.log(1 / failure) * _OUTWARDS


def discrete_laplace_reach(scale: Fraction, failure: float) -> int:
    """Return the least integer x with P[|X| > x] <= failure for discrete Laplace noise: 2 q^(x+1) / (1 + q)."""
    rate = float(1 / scale)
    needed = (math.log(2 / failure) - math.log1p(math.exp(-rate))) / rate
    return max(0, math.ceil(needed * _OUTWARDS) - 1)


def gaussian_reach(sigma: Fraction, failure: float) -> float:
    """Return x with P[|Z| > x] <= failure for continuous Gaussian noise."""
    return -float(sigma) * NormalDist().inv_cdf(failure / 2) * (1 + 1e-6)


def discrete_gaussian_reach(sigma: Fraction, failure: float) -> int:
    """Return an integer x with P[|X| > x] <= failure for discrete Gaussian noise.

    P[X >= m] <= P[N(0, sigma^2) >= m - 1] (Canonne, Kamath and Steinke 2020, Proposition 25).
    """
    return math.ceil(gaussian_reach(sigma, failure))


def pair_tail(first: Fraction, second: Fraction, beyond: int) -> float:
    """Return a bound of P[X + Y > beyond] for two independent discrete Laplace variables; their law is symmetric.

    Up to a scale of 64 the terms are added up. A wider variable is X = L - R with L continuous and |R| < 1, so that
    X + Y > x only where the continuous sum is above x - 2, whose law is known.

    >>> round(pair_tail(Fraction(1), Fraction(2), 0), 4)
    0.4109
    """
    if beyond < 0:
        return 1.0
    wide, narrow = float(max(first, second)), float(min(first, second))
    if wide <= _ADDED_UP:
        steps = np.arange(-math.ceil(_FAR * narrow) - 1, math.ceil(_FAR * narrow) + 2)
        ratio = math.exp(-1 / narrow)
        chances = (1 - ratio) / (1 + ratio) * ratio ** np.abs(steps)
        found = float(chances @ _above(math.exp(-1 / wide), beyond - steps)) + 2 * math.exp(-_FAR)
        return min(found * _OUTWARDS, 1.0)
    far = max(beyond - 2.0, 0.0)
    if wide - narrow <= _ALIKE * wide:
        return min((2 + far / wide) * math.exp(-far / wide) / 4 * _OUTWARDS, 1.0)
    part = (narrow / wide) ** 2
    found = math.exp(-far / wide) - part * math.exp(-far / narrow)
    return min(found / (2 * (1 - part)) * (1 + 1e-6), 1.0)


def _above(ratio: float, beyond: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return P[X > beyond] for a discrete Laplace variable with that ratio of neighbouring chances."""
    return np.where(
        beyond >= 0, ratio ** (np.maximum(beyond, 0) + 1.0), 1 + ratio - ratio ** np.maximum(-beyond, 0.0)
    ) / (1 + ratio)


@lru_cache(maxsize=256)
def pair_reach(first: Fraction, second: Fraction, failure: float) -> int:
    """Return the least integer x at which ``pair_tail`` is at most ``failure``: on one side alone."""
    if failure < _LEAST_ADDED:
        # On one side each passes its own reach in half of that.
        return discrete_laplace_reach(first, failure) + discrete_laplace_reach(second, failure)
    low, high = -1, 1
    while pair_tail(first, second, high) > failure:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if pair_tail(first, second, middle) <= failure else (middle, high)
    return high

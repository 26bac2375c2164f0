"""How far noise reaches: quantiles of the noise that mechanisms add, rounded outwards.

Used for errors and intervals only; no guarantee depends on these numbers.
"""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist

from dither.errors import InvalidParameter
from dither.exact import to_float

# Quantiles are widened by this share, far above the error of the float functions that compute them.
_OUTWARDS = 1 + 1e-9
_LEAST_FAILURE = 1e-300


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

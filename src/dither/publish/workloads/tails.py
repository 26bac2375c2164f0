"""The reach of weighted sums of noise, from the sum of the squared weights.

Let S be a sum of independent draws, each times a weight, and V the sum of the squared weights.

- Discrete Gaussian draws are sub-Gaussian: P[|S| > x] <= 2 exp(-x^2 / (2 sigma^2 V)) (Canonne, Kamath and Steinke
  2020, section 2).
- The logarithm of E[exp(t X)] for a discrete Laplace draw is g(t^2) = -log(1 - a (cosh t - 1)), a being its variance:
  a power series in t^2 without negative terms, so convex with g(0) = 0. Hence the sum of g(t^2 w^2) over the weights
  is at most g(t^2 V), and S has no heavier Chernoff bound than one draw times sqrt(V).

Used for errors and intervals only; no guarantee of privacy depends on these numbers.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric

# Far above the error of the float functions that compute the bounds.
_OUTWARDS = 1 + 1e-9


def reach_of_unit(noise: Geometric | DiscreteGaussian, failure: float) -> float:
    """Return x such that P[|S| > x sqrt(V)] <= failure for every weighted sum S of such noise.

    For Gaussian noise x is sigma sqrt(2 ln(2 / failure)). For geometric noise it holds where all weights are at most
    1 in size or x is taken in their unit: the bound scales with the weights.
    """
    if isinstance(noise, DiscreteGaussian):
        return float(noise.sigma) * math.sqrt(2 * math.log(2 / failure)) * _OUTWARDS
    rate = min(float(1 / noise.scale), 700.0)
    # cosh t < 1 + 1 / a holds exactly for t below 1 / scale; every such t gives a bound.
    shares = 1 - np.exp2(-np.linspace(0.05, 40, 2000))
    t = shares * rate
    variance = variance_of_noise(noise)
    inside = 1 - variance * (np.cosh(t) - 1)
    usable = inside > 1e-12
    bounds = (math.log(2 / failure) - np.log(inside[usable])) / t[usable]
    return float(bounds.min()) * (1 + 1e-6)


def variance_of_noise(noise: Geometric | DiscreteGaussian) -> float:
    """Return the exact variance of one draw, to float precision."""
    if isinstance(noise, Geometric):
        # 2 q / (1 - q)^2 with q = e^-rate.
        rate = min(float(1 / noise.scale), 700.0)
        return 2 * math.exp(-rate) / math.expm1(-rate) ** 2
    if noise.sigma < Fraction(1, 32):
        return 0.0
    from dither.estimate.accuracy import law_of

    return float(law_of(noise).law.variance)

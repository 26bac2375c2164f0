"""Noise for counts that are drawn several times, for a pure loss or any other."""

from __future__ import annotations

import math

from dither.mechanisms.core.accuracy import discrete_gaussian_reach, discrete_laplace_reach
from dither.mechanisms.core.purse import CountNoise
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric


def count_reach(noise: CountNoise, failure: float) -> int:
    """Return a number that noise exceeds with a probability of at most ``failure``."""
    if isinstance(noise, Geometric):
        return discrete_laplace_reach(noise.scale, failure)
    return discrete_gaussian_reach(noise.sigma, failure)


def adverse_reach(noise: CountNoise, draws: int, failure: float) -> float:
    """Return a number that the sum over draws of max(0, noise) exceeds with a probability of at most ``failure``.

    Chernoff's bound: P[sum > x] is at most e^(-s x) times the mean of e^(s max(0, X)) to the power of the draws. The
    direction in which noise is adverse may depend on earlier draws, as each is symmetric given earlier ones.

    >>> adverse_reach(Geometric(scale=10), 1, 0.05) <= adverse_reach(Geometric(scale=10), 2, 0.05)
    True
    """
    bounds = [float(draws * count_reach(noise, failure / draws))]
    width = float(noise.scale if isinstance(noise, Geometric) else noise.sigma)
    for part in range(1, 128):
        tilt = part / (64 * width) if isinstance(noise, DiscreteGaussian) else part / (128 * width)
        bounds.append((draws * math.log(_adverse_mean(noise, tilt)) + math.log(1 / failure)) / tilt)
    return min(bounds) * (1 + 1e-9)


def _adverse_mean(noise: CountNoise, tilt: float) -> float:
    """Return an upper bound on the mean of e^(tilt max(0, X))."""
    if isinstance(noise, Geometric):
        # 1 - e^-x by expm1: for wide noise e^-x itself is 1 in floats.
        rate = 1 / float(noise.scale)
        share = math.expm1(-rate) / math.expm1(tilt - rate)
        return (1 + share * math.exp(tilt - rate)) / (1 + math.exp(-rate))
    # e^(s |X|) is below e^(s X) + e^(-s X), of mean 2 e^(s^2 sigma^2 / 2) at most, and half of it is not adverse.
    return math.exp((tilt * float(noise.sigma)) ** 2 / 2) + 0.5

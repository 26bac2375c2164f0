"""The reach of a sum of independent noise whose weights are known, from its characteristic function.

Bounds from the variance alone (``tails``) hold for all weights, and are a third too long for most. Where the weights
are known, the law of T = sum a_i X_i can be computed. A little normal noise N is added in thought, so that the
transform of T + N falls to nothing:

- |T| > x and |N| <= d together give |T + N| > x - d, and N is independent: P[|T| > x] P[|N| <= d] is at most
  P[|T + N| > x - d].
- The Fourier series of period L gives the law of T + N modulo L. What lies within y of 0 modulo L and not within y lies
  beyond L - y: P[|T + N| > y] <= 1 - F(y) + P[|T + N| > L - y], of which ``tails`` bounds the last.

Post-processing only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dither.estimate.tails import laplace_combination_reach

Floats = NDArray[np.float64]
#: The deviation of the added noise, as a share of that of the sum, how far it is let reach, and how often it does not.
_ADDED: Final = 1 / 64
_LET: Final = 3.0
#: The period, and where the transform of the added noise is below 1e-15, in deviations.
_PERIOD: Final = 36.0
_FADED: Final = 8.4
#: Transforms with more terms are not computed.
_MOST: Final = 2**26
_LEAST_CHANCE: Final = 1e-9


def known_reach(
    weights: Floats, transform: Callable[[Floats], Floats], variance: float, failure: float
) -> float | None:
    """Return x with P[|T| > x] <= failure for a weighted sum T of equal and symmetric noise; None where it takes long.

    Args:
        weights: of each draw; public or released.
        transform: the characteristic function of one draw, a real one.
        variance: of the continuous noise that bounds one draw, as ``tails`` has it: Laplace or normal.
        failure: the probability to stay below.

    """
    sizes, many = np.unique(np.abs(np.asarray(weights, dtype=np.float64)), return_counts=True)
    deviation = math.sqrt(variance * float(many @ sizes**2))
    if not deviation:
        return 0.0
    terms = math.ceil(_FADED / _ADDED * _PERIOD / (2 * math.pi))
    if failure < _LEAST_CHANCE or sizes.size * terms > _MOST:
        return None
    orders = np.arange(1, terms + 1)
    angles = 2 * math.pi * orders / (_PERIOD * deviation)
    found = np.exp(-((angles * deviation * _ADDED) ** 2) / 2)
    for size, times in zip(sizes.tolist(), many.tolist(), strict=True):
        found *= transform(size * angles) ** times
    factors = found * 2 / (math.pi * orders)
    # Half of the period holds all but this.
    beyond = _beyond(_PERIOD / 2)
    near = 1 - math.erfc(_LET / math.sqrt(2))

    def tail(reach: float) -> float:
        y = max(reach - _LET * _ADDED, 0.0)
        inside = 2 * y / _PERIOD + float(factors @ np.sin(2 * math.pi * orders * y / _PERIOD))
        return (1 - inside + beyond + 1e-12) / near

    low, high = 0.0, _PERIOD / 2
    if tail(high) > failure:
        return None
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (low, middle) if tail(middle) <= failure else (middle, high)
    return high * deviation


def _beyond(reach: float) -> float:
    """Return a bound of the chance that a sum of variance 1 and the added noise lies beyond a reach: by Chernoff."""
    low, high = 1e-300, 1.0
    while high > 2 * low:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if laplace_combination_reach(1.0, middle) <= reach - 1 else (middle, high)
    return high + math.erfc(1 / (_ADDED * math.sqrt(2)))


def geometric_transform(scale: float) -> Callable[[Floats], Floats]:
    """Return the characteristic function of discrete Laplace noise."""
    ratio = math.exp(-1 / scale)
    half = (1 - ratio) ** 2 / (4 * ratio) if ratio > 0 else math.inf

    def transform(angles: Floats) -> Floats:
        return 1 / (1 + np.sin(angles / 2) ** 2 / half) if half < math.inf else np.ones_like(angles)

    return transform


def gaussian_transform(sigma: float) -> Callable[[Floats], Floats]:
    """Return the characteristic function of discrete Gaussian noise: by its law, or by Poisson's summation."""

    def transform(angles: Floats) -> Floats:
        if sigma < 1:
            steps = np.arange(1, 12)
            law = np.exp(-(steps**2) / (2 * max(sigma, 1e-3) ** 2))
            return np.asarray((1 + 2 * np.cos(np.multiply.outer(angles, steps)) @ law) / (1 + 2 * law.sum()))
        near = np.remainder(angles + math.pi, 2 * math.pi) - math.pi
        turns = 2 * math.pi * np.arange(-3, 4)
        waves = np.exp(-(sigma**2) * np.add.outer(near, turns) ** 2 / 2).sum(axis=-1)
        return np.asarray(waves / np.exp(-(sigma**2) * turns**2 / 2).sum())

    return transform

"""How far a weighted sum of independent noises goes: the reach of ``w_1 X_1 + ... + w_k X_k`` at a failure probability.

A statistic of several noisy integers is wrong by such a sum, at the true value of what its weights depend on. Bounds on
each noise by itself add up to far more than the sum reaches. All bounds here are proved in
``docs/algorithms/query.md``, *Sums of noise*; they hold for every weight, and only lengths of intervals rest on them.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.mechanisms import DiscreteGaussian, Geometric

Floats = NDArray[np.float64]
Additive = Geometric | DiscreteGaussian

#: What makes continuous noise of discrete noise takes away more than ``_BACK`` roots of the sum of squared weights with
#: at most this probability.
_UNLUCKY: Final = 0.05
_BACK_LAPLACE: Final = math.sqrt(math.log(1 / _UNLUCKY))
#: Discrete Gaussian noise of at least this sigma, with a normal variable of this variance added, has at most a normal
#: density times the excess.
_LEAST_SIGMA: Final = 2
_ADDED: Final = 0.55
_EXCESS: Final = 1 + 2e-4
_BACK_GAUSS: Final = 1.6449 * math.sqrt(_ADDED)
#: Scales are moved apart by this factor, so that their partial fractions do not cancel.
_APART: Final = 1.02
_LEAST_SHARE: Final = 1e-3
#: Halvings: ends are found within a part in ten thousand, and within one in five thousand where each step is long.
_STEPS: Final = 16
_LONG_STEPS: Final = 12
#: Failure probabilities below this are left to bounds that need no differences of floats.
LEAST_FAILURE: Final = 1e-7
#: Half of the period of a sum whose standard deviation is 1: no reach comes near it, and beyond it is next to nothing.
_PERIOD: Final = 30.0
#: The most points of its transform, the fewest, and what may be left out beyond the last of them, of a failure.
_MOST_POINTS: Final = 512
_FEWEST_POINTS: Final = 64
_LEFT_OUT: Final = 1e-5
_ROWS_AT_ONCE: Final = 512


def is_smooth(parts: list[Additive]) -> bool:
    """Whether noises are wide enough for sums of them to be treated as continuous; a public fact."""
    return all(part.sigma >= _LEAST_SIGMA if isinstance(part, DiscreteGaussian) else part.scale >= 1 for part in parts)


def few_reach(parts: list[Additive], weights: Floats, failure: float) -> Floats:
    """Return for each row of weights how far the sum of few noises goes, beyond which it is at most that often.

    >>> one = Geometric(scale=10)
    >>> float(few_reach([one, one], np.array([[3.0, 4.0]]), 0.05)[0]) < 7 * one.reach(0.025)
    True
    """
    sizes = np.abs(weights)
    back = np.sqrt(np.square(sizes).sum(axis=1))
    if isinstance(parts[0], DiscreteGaussian):
        sigmas = np.array([float(part.sigma) for part in parts if isinstance(part, DiscreteGaussian)])
        return _gaussian(np.square(sizes) @ (np.square(sigmas) + _ADDED), back, len(parts), failure)
    scales = sizes * np.array([float(part.scale) for part in parts if isinstance(part, Geometric)])
    return np.asarray(_laplace(scales, failure * (1 - _UNLUCKY)) + _BACK_LAPLACE * back)


def many_reach(noise: Additive, weights: Floats, many: Floats, failure: float) -> Floats:
    """Return for each row how far a sum goes that has ``many`` terms of each of its weights, all of one noise.

    The smaller of Chernoff's bound and of the tail of the continuous law.
    """
    squares = (np.square(weights) * many).sum(axis=1)
    plain = _chernoff(noise, weights, many, failure)
    if failure < LEAST_FAILURE or not is_smooth([noise]):
        return plain
    if isinstance(noise, DiscreteGaussian):
        terms = float(many.sum(axis=1).max(initial=1.0))
        sharp = _gaussian(squares * (float(noise.sigma) ** 2 + _ADDED), np.sqrt(squares), terms, failure)
    else:
        sharp = np.full(len(weights), np.inf)
        for start in range(0, len(weights), _ROWS_AT_ONCE):
            rows = slice(start, start + _ROWS_AT_ONCE)
            sharp[rows] = _transformed(
                weights[rows], many[rows], failure * (1 - _UNLUCKY), plain[rows] / float(noise.scale)
            )
        sharp = sharp * float(noise.scale) + _BACK_LAPLACE * np.sqrt(squares)
    return np.minimum(plain, sharp)


def _gaussian(variance: Floats, back: Floats, terms: float, failure: float) -> Floats:
    """Return the reach of a normal sum with the given variance, and what its discrete twin goes further."""
    from scipy.special import ndtri

    tail = failure / 2 * (1 - _UNLUCKY) / _EXCESS**terms
    return np.asarray(-float(ndtri(tail)) * np.sqrt(variance) + _BACK_GAUSS * back)


def _laplace(scales: Floats, failure: float) -> Floats:
    """Return the reach of a sum of independent Laplace variables of these scales, a row for each sum."""
    largest = scales.max(axis=1, keepdims=True)
    ordered = np.sort(np.maximum(scales, largest * _LEAST_SHARE) / np.where(largest > 0, largest, 1.0), axis=1)
    ordered = np.maximum(ordered, _LEAST_SHARE)
    for place in range(1, ordered.shape[1]):
        ordered[:, place] = np.maximum(ordered[:, place], _APART * ordered[:, place - 1])
    # The tail is half the sum of c_i e^(-x / s_i), with partial fractions c_i.
    squares = np.square(ordered)
    factors = np.ones_like(squares)
    for other in range(squares.shape[1]):
        for place in range(squares.shape[1]):
            if place != other:
                factors[:, place] *= squares[:, place] / (squares[:, place] - squares[:, other])
    low = np.zeros(len(ordered))
    high = ordered.sum(axis=1) * math.log(max(ordered.shape[1] / failure, math.e))
    rates = -1 / ordered
    for _ in range(_STEPS):
        middle = (low + high) / 2
        tail = np.vecdot(factors, np.exp(middle[:, None] * rates))
        is_beyond = tail > failure - 1e-9
        low, high = np.where(is_beyond, middle, low), np.where(is_beyond, high, middle)
    return np.asarray(high * largest[:, 0])


def _chernoff(noise: Additive, weights: Floats, many: Floats, failure: float) -> Floats:
    """Return the least bound of the form (K(rate) + ln(2 / failure)) / rate."""
    heaviest = np.maximum(np.abs(weights).max(axis=1), 1e-300)
    shares = np.abs(weights) / heaviest[:, None]
    rates, cumulant = _cumulants(noise)
    exponents = np.zeros((len(weights), len(rates)))
    for column, terms in zip(shares.T, many.T, strict=True):
        exponents += terms[:, None] * cumulant(column[:, None] * rates[None, :])
    bounds = (exponents + math.log(2 / failure)) / rates
    return np.asarray(np.where(many.sum(axis=1) > 0, bounds.min(axis=1) * heaviest, 0.0) * (1 + 1e-9))


def _cumulants(noise: Additive) -> tuple[Floats, Any]:
    """Return rates, and a bound on ln E[e^(rate X)] for rates up to those."""
    if isinstance(noise, DiscreteGaussian):
        sigma = float(noise.sigma)
        # The sum of e^(-(x - a)^2 / (2 sigma^2)) over whole x is largest at a = 0, by Poisson's formula; so the moment
        # generating function is at most that of continuous noise.
        return np.geomspace(1e-4, 1e2, 241) / sigma, lambda rate: np.square(sigma * rate) / 2
    scale = float(noise.scale)

    def of_laplace(rate: Floats) -> Floats:
        # sinh(rate / 2) / sinh(1 / (2 scale)), for small scales by way of exponentials that cannot overflow.
        half = 1 / (2 * scale)
        ratio = np.exp(rate / 2 - half) * -np.expm1(-rate) / -math.expm1(-2 * half)
        return np.asarray(-np.log1p(-np.minimum(ratio * ratio, 1 - 1e-15)))

    return np.geomspace(1e-4, 0.999, 241) / scale, of_laplace


def _transformed(weights: Floats, many: Floats, failure: float, enough: Floats) -> Floats:
    """Return the reach of sums of Laplace variables of scale 1 from their characteristic functions.

    The midpoint rule for the inversion integral is wrong by at most the tail beyond one period, and by what it leaves
    out beyond its last point; both are added to the tail. ``enough`` is a reach that is known to be large enough.
    """
    deviation = np.sqrt(2 * (np.square(weights) * many).sum(axis=1))
    unit = np.where(deviation > 0, deviation, 1.0)
    scales = np.abs(weights) / unit[:, None]
    width = 2 * math.pi / (2 * _PERIOD)

    def transform(at: Floats) -> Floats:
        logs = (many[:, :, None] * np.log1p(np.square(scales[:, :, None] * at[None, None, :]))).sum(axis=1)
        return np.asarray(np.exp(-logs))

    points = _MOST_POINTS
    while points > _FEWEST_POINTS:
        if float(transform(np.array([points / 2 * width])).max(initial=0.0)) > _LEFT_OUT * failure:
            break
        points //= 2
    at = (np.arange(points, dtype=np.float64) + 0.5) * width
    heights = transform(at) / at * width
    last = points * width
    square = np.square(np.where(many > 0, scales, 0.0)).max(axis=1) * last * last
    left_out = transform(np.array([last]))[:, 0] * (1 + 1 / np.maximum(square, 1e-9)) / (2 * math.pi)
    slack = left_out + 1e-9
    low, high = 0.3 * enough / unit, enough / unit
    for _ in range(_LONG_STEPS):
        middle = (low + high) / 2
        tail = 0.5 - np.vecdot(heights, np.sin(at * middle[:, None])) / math.pi + slack
        is_beyond = 2 * tail > failure
        low, high = np.where(is_beyond, middle, low), np.where(is_beyond, high, middle)
    return np.asarray(high * unit)

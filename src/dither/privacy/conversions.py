"""Conversions between notions of loss, always towards more loss.

The theorems and their proofs are on the page ``docs/theory/losses.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from dither.exact import exp_up, log_up, round_up, tanh_up, to_float

#: Above this, e^epsilon is not worth computing: every bound that uses it falls back to its limit.
_LARGE_EPSILON = 1000


@lru_cache(maxsize=4096)
def pure_to_zcdp(epsilon: Fraction) -> Fraction:
    """Return rho such that every epsilon-DP mechanism is rho-zCDP.

    The least such rho is epsilon * tanh(epsilon / 2), reached by randomised response; it is below the usual
    epsilon^2 / 2.

    >>> float(pure_to_zcdp(Fraction(1)))
    0.462117...
    """
    return min(epsilon, round_up(epsilon * tanh_up(epsilon / 2)))


@lru_cache(maxsize=4096)
def zcdp_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    """Return epsilon such that every rho-zCDP mechanism is (epsilon, delta)-DP, for delta in (0, 1).

    The least over alpha of alpha * rho + ln(1 / (alpha * delta)) / (alpha - 1) + ln(1 - 1 / alpha) (Canonne, Kamath
    and Steinke 2020, Proposition 12). Each alpha gives a valid bound, so a float may choose it: the bound is then
    evaluated rigorously there.

    >>> float(zcdp_epsilon(Fraction(1, 8), Fraction(1, 10**5)))
    2.165...
    """
    if rho == 0:
        return Fraction(0)
    alpha = _best_order(to_float(rho, "up"), to_float(delta, "up"))
    bound = alpha * rho + log_up(1 / (alpha * delta)) / (alpha - 1) + log_up(1 - 1 / alpha)
    return max(Fraction(0), round_up(bound))


@lru_cache(maxsize=4096)
def zcdp_delta(rho: Fraction, epsilon: Fraction) -> Fraction:
    """Return delta such that every rho-zCDP mechanism is (epsilon, delta)-DP.

    >>> float(zcdp_delta(Fraction(1, 8), Fraction(3)))
    2.00...e-09
    """
    if rho == 0:
        return Fraction(0)

    def log_delta(order: float) -> float:
        return (order - 1) * (order * rate - target) - math.log(order) + (order - 1) * math.log1p(-1 / order)

    rate, target = to_float(rho, "up"), to_float(epsilon, "down")
    alpha = _rational_order(_minimise(log_delta))
    exponent = (alpha - 1) * (alpha * rho - epsilon + log_up(1 - 1 / alpha))
    return min(Fraction(1), round_up(exp_up(exponent) / alpha)) if exponent < _LARGE_EPSILON else Fraction(1)


@lru_cache(maxsize=4096)
def zcdp_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest rho found whose conversion stays within (epsilon, delta): a budget, rounded down."""
    if delta == 0:
        return Fraction(0)
    # (sqrt(L + epsilon) - sqrt(L))^2 with L = ln(1 / delta) always converts, and so, nearly, does delta^2; both are
    # within a small factor of the best, so a few doublings bracket it. A float may propose: the conversion decides.
    spread = math.sqrt(-math.log(to_float(delta, "up")))
    target = to_float(epsilon, "down")
    root = target / (math.sqrt(spread * spread + target) + spread) if target else 0.0
    low = max(Fraction(min(root * root, 1e300)), delta * delta)
    for _ in range(16):
        if zcdp_epsilon(low, delta) <= epsilon:
            break
        low /= 2
    else:
        return Fraction(0)
    high = 2 * low
    while zcdp_epsilon(high, delta) <= epsilon:
        low, high = high, 2 * high
    for _ in range(60):
        middle = round_up((low + high) / 2, bits=64)
        if zcdp_epsilon(middle, delta) <= epsilon:
            low = middle
        else:
            high = middle
    return low


def amplified_epsilon(epsilon: Fraction, rate: Fraction) -> Fraction:
    """Return the epsilon of an epsilon-DP mechanism run on a secret Poisson sample: ln(1 + rate * (e^epsilon - 1))."""
    if rate == 1 or epsilon > _LARGE_EPSILON:
        return epsilon
    return min(epsilon, round_up(log_up(1 + rate * (exp_up(epsilon) - 1))))


def group_delta(epsilon: Fraction, delta: Fraction, size: int) -> Fraction:
    """Return the delta of an (epsilon, delta)-DP mechanism for a group: delta * (1 + e^eps + ... + e^((k-1) eps))."""
    if delta == 0 or size <= 1:
        return delta * size
    if epsilon * size > _LARGE_EPSILON:
        return Fraction(1)
    growth = exp_up(epsilon)
    if size <= 64:
        total = sum((growth**power for power in range(size)), Fraction(0))
    else:
        total = size * exp_up(epsilon * (size - 1))
    return min(Fraction(1), round_up(delta * total))


def _best_order(rho: float, delta: float) -> Fraction:
    def bound(order: float) -> float:
        return order * rho - (math.log(order) + log_delta) / (order - 1) + math.log1p(-1 / order)

    log_delta = math.log(delta)
    return _rational_order(_minimise(bound))


def _minimise(bound: Callable[[float], float]) -> float:
    """Return an order near the minimum: golden-section search over ln(order - 1)."""
    low, high = -30.0, 80.0
    ratio = (math.sqrt(5) - 1) / 2

    def value(position: float) -> float:
        try:
            return bound(1 + math.exp(position))
        except (OverflowError, ValueError):
            return math.inf

    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = value(left), value(right)
    for _ in range(80):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = value(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = value(right)
    return 1 + math.exp((low + high) / 2)


def _rational_order(order: float) -> Fraction:
    """Return a nearby rational order above one, with a small denominator."""
    above_one = round_up(Fraction(order - 1), bits=20) if order > 1 else Fraction(1, 2**20)
    return 1 + above_one

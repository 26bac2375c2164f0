"""Where the tail of a Gamma distribution falls below a delta, as a rational that is never too small.

The length of a noise vector of d coordinates has such a tail: the sum of their absolute values for Laplace noise, half
the sum of their squares for Gaussian noise. Floats only propose where to look; rationals decide.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from dither.exact import log_up, round_up
from dither.exact.enclosure import round_down

_HALVINGS = 64
_FIRST_MARGIN = Fraction(1, 2**30)


def gamma_edge(weights: Sequence[Fraction], delta: Fraction) -> Fraction:
    """Return y >= 0 with e^-y * (w_0 + w_1 y + w_2 y^2 / 2! + ...) <= delta, and not much larger than needed.

    With d weights of 1 that is the chance of a Gamma variable of shape d to exceed y. The weights must not grow, and
    lie in (0, 1]; the left side then falls with y, and every larger y will do as well.

    >>> float(gamma_edge([Fraction(1)], Fraction(1, 1000))), float(gamma_edge([Fraction(1)] * 3, Fraction(1, 1000)))
    (6.907755..., 11.228872...)
    """
    near = _estimate(weights, delta)
    for doublings in itertools.count():
        start = near + _FIRST_MARGIN * 2**doublings * (1 + near)
        # The sum grows with y: where ln(sum(start) / delta) is at most start, it is itself a y that will do.
        found = log_up(_sum_up(weights, start) / delta)
        if found <= start:
            return max(found, Fraction(0))
    raise AssertionError("the tail falls to 0, so some start is far enough out")  # pragma: no cover


def _sum_up(weights: Sequence[Fraction], y: Fraction) -> Fraction:
    """Return w_0 + w_1 y + w_2 y^2 / 2! + ..., or a little more."""
    total, term = weights[0], Fraction(1)
    for power, weight in enumerate(weights[1:], start=1):
        term = round_up(term * y / power)
        total = round_up(total + weight * term)
    return total


def _estimate(weights: Sequence[Fraction], delta: Fraction) -> Fraction:
    """Return approximately the least y, by bisection in floats."""
    powers = np.arange(len(weights))
    factors = np.log(np.array([float(weight) for weight in weights]))
    factors -= np.concatenate([[0.0], np.cumsum(np.log(powers[1:]))])
    goal = -float(log_up(1 / delta))

    def is_inside(y: float) -> bool:
        return bool(np.logaddexp.reduce(factors + powers * np.log(y)) - y > goal)

    low, high = 0.0, 1.0
    while is_inside(high):
        low, high = high, 2 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if is_inside(middle) else (low, middle)
    return round_down(Fraction(high), bits=64)

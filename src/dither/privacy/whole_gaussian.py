"""The distance between discrete Gaussian noise and Gaussian noise that was rounded to integers, around an integer.

The law of the loss of Gaussian noise is known, also on secret samples. Discrete noise is cheaper to draw exactly, and
so close to rounded noise that what is proved of one holds of the other at a delta that is larger by next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Final

from dither.errors import InvalidParameter, NoGuarantee
from dither.exact import Number, exact, positive, round_up
from dither.exact.enclosure import exp_up

#: The density of the normal law at 1, over 12, rounded up.
_LEADING: Final = Fraction(2017, 100_000)
#: Twice the largest value of (3 t - t^3) times the normal density, over 384, rounded up.
_NEXT: Final = Fraction(29, 10_000)
#: What epsilon may grow by when a part of delta is set aside; tried in this order.
_GROWTH: Final = (Fraction(1, 16), Fraction(1), Fraction(16))


def total_variation(sigma: Number) -> Fraction:
    """Return at least the total variation distance of an integer's discrete and its rounded Gaussian noise.

    Args:
        sigma: the deviation of both, in steps of the grid; at least 1.

    >>> [round(float(total_variation(sigma) * sigma**2), 5) for sigma in (1, 2, 2**32)]
    [0.02307, 0.0209, 0.02017]

    """
    steps = positive("sigma", sigma)
    if not steps >= 1:
        raise InvalidParameter("sigma", str(steps), "at least 1, one step of the grid")
    return round_up((_LEADING + _NEXT / steps**2) / steps**2, bits=64)


def epsilon_within(curve: Callable[[Fraction], Fraction], delta: Number, apart: Number) -> Fraction:
    """Return epsilon at ``delta`` for outputs that are ``apart`` in total variation from those of a known curve.

    Args:
        curve: returns an epsilon for a delta; of the mechanism that was proved.
        delta: the delta at which epsilon is stated.
        apart: how far the other mechanism's outputs are from it, for every data set.

    """
    whole, far = exact("delta", delta), exact("apart", apart)
    if not far:
        return curve(whole)
    least = curve(whole)
    for growth in _GROWTH:
        ceiling = least + growth
        aside = (1 + exp_up(round_up(ceiling, bits=64))) * far
        if aside < whole:
            found = curve(whole - aside)
            if found <= ceiling:
                return found
    raise NoGuarantee("the noise is too coarse for this delta: a larger sigma, in steps of the grid, is required")

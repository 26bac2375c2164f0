"""The least noise whose price is within a loss: a search over multiples, for plans that have no closed form."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Final

from dither.exact import round_up

#: A multiple of noise is searched for to this precision.
_PRECISION: Final = Fraction(3, 1000)


def least_multiple(excess: Callable[[Fraction], float], low: Fraction, high: Fraction) -> Fraction:
    """Return a multiple at which the excess is at most 0, and little more than the least one.

    Args:
        excess: the logarithm of price over target; it falls with the multiple.
        low: where the search begins, and where the price is too high.
        high: a guess at what is enough; it is doubled until it is.

    """
    over = math.inf
    while not (under := excess(high)) <= 0:
        low, high, over = high, 2 * high, under
    # Epsilon falls about in proportion to the noise; the guess is moved a little to the safe side.
    while high > low * (1 + _PRECISION):
        share = min(max(-under / (over - under), 0.03), 0.97) if math.isfinite(over) and math.isfinite(under) else 0.5
        middle = round_up(high * Fraction((float(low) / float(high)) ** share), bits=16)
        if not low < middle < high:
            break
        found = excess(middle)
        if found <= 0:
            high, under = middle, found
            over /= 2 if math.isfinite(over) else 1
        else:
            low, over = middle, found
            under /= 2 if math.isfinite(under) else 1
    return high

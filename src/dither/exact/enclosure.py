"""Rigorous rational bounds on the irrational functions that a guarantee needs.

``decimal`` computes exp and ln correctly rounded, so one step outwards in the last place encloses the true value.
Arguments that are not decimals are first rounded outwards; all functions here are monotone. Each bound is within a
relative 1e-38 or so of the truth, and on the stated side of it.
"""

from __future__ import annotations

import math
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from dither.errors import InvalidParameter

DIGITS = 40
#: Results keep this many significant bits, so that sums of many losses stay small numbers.
SIGNIFICANT_BITS = 96
#: Below this, e^x is bounded by e^-5000: closer bounds would be numbers of millions of digits.
_LEAST_EXPONENT = Fraction(-5000)
_NEAR_ONE = Fraction(1, 1000)
_VERY_NEAR_ONE = Fraction(1, 10**35)


@lru_cache(maxsize=64)
def _context(rounding: str, digits: int) -> Context:
    # Shared: nothing but the flags of a context ever changes, and nobody reads those.
    return Context(prec=digits, rounding=rounding, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])


def decimal_down(x: Fraction, digits: int = DIGITS) -> Decimal:
    """Return the largest decimal of that many digits that is at most ``x``."""
    return _context(ROUND_FLOOR, digits).divide(Decimal(x.numerator), Decimal(x.denominator))


def decimal_up(x: Fraction, digits: int = DIGITS) -> Decimal:
    """Return the smallest decimal of that many digits that is at least ``x``."""
    return _context(ROUND_CEILING, digits).divide(Decimal(x.numerator), Decimal(x.denominator))


def exp_decimals(x: Fraction, digits: int = DIGITS) -> tuple[Decimal, Decimal]:
    """Return decimals below and above e^x."""
    nearest = _context(ROUND_HALF_EVEN, digits)
    below, above = decimal_down(x, digits), decimal_up(x, digits)
    low = nearest.exp(below)
    high = low if below == above else nearest.exp(above)
    return nearest.next_minus(low), nearest.next_plus(high)


def exp_up(x: Fraction) -> Fraction:
    """Return a rational at least e^x; for x below -5000 that is e^-5000.

    >>> 2.718281828 < exp_up(Fraction(1)) < 2.718281829
    True
    """
    if x == 0:
        return Fraction(1)
    nearest = _context(ROUND_HALF_EVEN, DIGITS)
    return round_up(Fraction(nearest.next_plus(nearest.exp(decimal_up(max(x, _LEAST_EXPONENT))))))


def exp_down(x: Fraction) -> Fraction:
    """Return a rational at most e^x; for x below -5000 that is zero."""
    if x < _LEAST_EXPONENT:
        return Fraction(0)
    if x == 0:
        return Fraction(1)
    nearest = _context(ROUND_HALF_EVEN, DIGITS)
    return round_down(Fraction(nearest.next_minus(nearest.exp(decimal_down(x)))))


def log_up(x: Fraction) -> Fraction:
    """Return a rational at least ln x, for x above 0."""
    if not x > 0:
        raise InvalidParameter("x", x, "above 0")
    # ln x is at most x - 1, and very near 1 that is as good as equal; a little further away more digits are needed.
    linear = x - 1
    if abs(linear) < _VERY_NEAR_ONE:
        return round_up(linear)
    digits = 2 * DIGITS if abs(linear) < _NEAR_ONE else DIGITS
    nearest = _context(ROUND_HALF_EVEN, digits)
    return round_up(Fraction(nearest.next_plus(nearest.ln(decimal_up(x, digits)))))


def log_down(x: Fraction) -> Fraction:
    """Return a rational at most ln x, for x above 0."""
    return -log_up(1 / x)


def tanh_up(x: Fraction) -> Fraction:
    """Return a rational at least tanh x, for x of at least 0."""
    if x > 64:
        return Fraction(1)
    doubled = Fraction(exp_decimals(2 * x)[1])
    # For small x the difference e^2x - 1 loses digits; x itself is then the better bound.
    return min(x, round_up((doubled - 1) / (doubled + 1)))


def sqrt_up(x: Fraction) -> Fraction:
    """Return a rational at least the square root of x; exact when x is a square.

    >>> sqrt_up(Fraction(9, 4))
    Fraction(3, 2)
    """
    root = sqrt_down(x)
    return root if root * root == x else round_up(root + root / 2**SIGNIFICANT_BITS)


def sqrt_down(x: Fraction) -> Fraction:
    """Return a rational at most the square root of x; exact when x is a square."""
    if x == 0:
        return Fraction(0)
    top, bottom = math.isqrt(x.numerator), math.isqrt(x.denominator)
    if top * top == x.numerator and bottom * bottom == x.denominator:
        return Fraction(top, bottom)
    shift = SIGNIFICANT_BITS + 2 + max(0, (x.denominator.bit_length() - x.numerator.bit_length()) // 2 + 1)
    return Fraction(math.isqrt((x.numerator << (2 * shift)) // x.denominator), 1 << shift)


def round_up(x: Fraction, bits: int = SIGNIFICANT_BITS) -> Fraction:
    """Return a binary fraction of that many significant bits, or one more, that is at least x and next to it.

    A rational that is itself small enough is kept as it is.

    >>> round_up(Fraction(1001, 3000), bits=4), round_up(Fraction(1, 3), bits=4)
    (Fraction(11, 32), Fraction(1, 3))
    """
    if x.denominator.bit_length() + x.numerator.bit_length() <= bits:
        return x
    shift = bits - (abs(x.numerator).bit_length() - x.denominator.bit_length())
    if shift >= 0:
        return Fraction(-((-x.numerator << shift) // x.denominator), 1 << shift)
    return Fraction(-(-x.numerator // (x.denominator << -shift)) << -shift)


def round_down(x: Fraction, bits: int = SIGNIFICANT_BITS) -> Fraction:
    """Return a binary fraction of that many significant bits, or one more, that is at most x and next to it."""
    return -round_up(-x, bits)


def to_float(x: Fraction, towards: Literal["up", "down"]) -> float:
    """Return the nearest float on the stated side of x: for people, never for a decision.

    >>> to_float(Fraction(1, 10), "up") >= Fraction(1, 10) >= to_float(Fraction(1, 10), "down")
    True
    """
    try:
        nearest = float(x)
    except OverflowError:
        nearest = math.inf if x > 0 else -math.inf
    if towards == "up":
        return nearest if nearest >= x else math.nextafter(nearest, math.inf)
    return nearest if nearest <= x else math.nextafter(nearest, -math.inf)

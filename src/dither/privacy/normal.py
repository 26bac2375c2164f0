"""Rigorous bounds on the normal tail, and hence on the loss curve of Gaussian noise.

The tail is one half minus a series of positive terms; the digits lost in that difference are known in advance and
added. Every result is a pair of decimals, one below and one above the truth.
"""

from __future__ import annotations

import math
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import lru_cache

from dither.exact.enclosure import exp_decimals

#: Beyond this many standard deviations the tail is said to be between zero and e^-1800.
FAR = 60
_DIGITS = 40
#: What the roundings of a few thousand operations cannot exceed, in units of the last digit.
_GUARD = 12


def tail(x: Fraction, digits: int = _DIGITS) -> tuple[Decimal, Decimal]:
    """Return decimals below and above the probability that a standard normal variable exceeds ``x``.

    Their relative distance is about 10^-digits up to 60 standard deviations; beyond, the lower bound is zero.

    >>> low, high = tail(Fraction(2))
    >>> round(low, 20) == round(high, 20), round(high, 6)
    (True, Decimal('0.022750'))
    """
    if x < 0:
        low, high = tail(-x, digits)
        down, up = _context(2 * digits, ROUND_FLOOR), _context(2 * digits, ROUND_CEILING)
        return down.subtract(Decimal(1), high), up.subtract(Decimal(1), low)
    if x > FAR:
        return Decimal(0), exp_decimals(Fraction(-FAR * FAR, 2), digits)[1]
    # The tail is at least e^(-x^2/2) / (4 (1 + x)): that many digits vanish in the difference from one half.
    lost = math.ceil(float(x * x) / 2 * math.log10(math.e) + math.log10(4 * (1 + float(x))))
    return _series(x, digits + lost + _GUARD)


def hockey_stick(mu: Fraction, epsilon: Fraction) -> tuple[Decimal, Decimal]:
    """Return decimals below and above the delta at ``epsilon`` of two unit normals whose means are ``mu`` apart.

    Balle and Wang (2018), theorem 8: the tail at epsilon / mu - mu / 2 less e^epsilon times the tail at
    epsilon / mu + mu / 2. Holds for negative epsilon too.

    >>> low, high = hockey_stick(Fraction(1), Fraction(1))
    >>> float(low), float(high)
    (0.12693673750664394, 0.12693673750664394)
    """
    # For small mu the two terms agree in about their first log10(1 / mu) digits, and for small epsilon no more.
    small = max(0, (mu.denominator.bit_length() - mu.numerator.bit_length()) // 3 + 1)
    digits = _DIGITS + small
    near, far = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    near_low, near_high = tail(near, digits)
    far_low, far_high = tail(far, digits)
    growth_low, growth_high = exp_decimals(epsilon, digits)
    exact = _context(3 * digits)
    low = exact.subtract(near_low, exact.multiply(growth_high, far_high))
    high = exact.subtract(near_high, exact.multiply(growth_low, far_low))
    # One unit in a place far below the digits that matter covers the two roundings here.
    step = exact.scaleb(near_high, -2 * digits)
    return max(Decimal(0), exact.subtract(low, step)), min(Decimal(1), exact.add(high, step))


def _context(digits: int, rounding: str = ROUND_HALF_EVEN) -> Context:
    return Context(prec=digits, rounding=rounding, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])


@lru_cache(maxsize=64)
def _series(x: Fraction, precision: int) -> tuple[Decimal, Decimal]:
    """Return bounds on 1/2 - phi(x) * (x + x^3/3 + x^5/15 + ...), all of whose terms are positive, for x from 0 to 60.

    The terms t(0) = x, t(1) = x^3/3 and so on are summed in integers, in units of at most 10^-precision and rounded
    down. Why that is off by no more than ``error`` below:

    - x is rounded down by less than a unit, which moves the tail by less than a unit; x is meant rounded from here on.
    - At step m the two divisions lose less than one unit, and the square, which is too small by less than one unit,
      less than t(m-1) / (2 m + 1) = t(m) / x^2 units. Up to term n a loss grows by a factor of at most t(n) / t(m).
    - Below x = 1 every factor is at most a third: ``count`` steps lose at most 2 * count units of the sum S.
    - From x = 1 on, the terms rise from t(0) >= 1 and then fall. So the sum of t(n) / t(m) over all n >= m is at most S
      where t(m) belongs to the rise, and at most count where it does not. All steps together lose at most
      count * (count + S) units by the divisions and count * S by the square.
    - phi is at most 2/5 and phi * S below 1/2: in either case the product loses at most count^2 units.
    - At the end the last term is 0 units, so it was below what was lost in all; each one after it is less than half
      of the one before, since 2 n + 1 > 2 x^2. What was left out is at most what was lost.
    """
    bits = math.ceil(precision * math.log2(10)) + 1
    point = (x.numerator << bits) // x.denominator
    square = point * point >> bits
    term = total = point
    index = 1
    turn = 2 * square >> bits
    while index <= turn or term:
        index += 2
        term = (term * square >> bits) // index
        total += term
    count = index // 2 + 1
    context = _context(precision)
    half = context.divide(Decimal(-point * point), Decimal(1 << 2 * bits + 1))
    density = context.divide(context.exp(half), _root_of_two_pi(precision))
    value = context.subtract(
        Decimal("0.5"), context.multiply(density, context.divide(Decimal(total), Decimal(1 << bits)))
    )
    # The series and the rounding of x, as above; then the roundings here, each of a relative 10^(1 - precision) or
    # less: that of the exponent, which is at most 1800, and a handful more, on a product below one half.
    error = context.scaleb(Decimal(2 * count * count + 1 + 10**6), -precision)
    return max(Decimal(0), context.subtract(value, error)), context.add(value, error)


@lru_cache(maxsize=64)
def _root_of_two_pi(precision: int) -> Decimal:
    context = _context(precision)
    return context.sqrt(context.multiply(Decimal(2), _pi(precision)))


def _pi(precision: int) -> Decimal:
    """Return pi by Machin's formula in integers: 16 arctan(1/5) - 4 arctan(1/239)."""
    one: int = 10 ** (precision + 10)

    def arctan_inverse(n: int) -> int:
        power = total = one // n
        sign, index = -1, 3
        while power:
            power //= n * n
            total += sign * (power // index)
            sign, index = -sign, index + 2
        return total

    return _context(precision).divide(Decimal(16 * arctan_inverse(5) - 4 * arctan_inverse(239)), Decimal(one))

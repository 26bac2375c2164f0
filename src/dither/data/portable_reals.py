"""Portable elementary functions: e^x, ln x and x^y to the same last bit on every engine.

No standard says what the last bits of these functions are, and libraries differ. In portable mode none is asked: each
function is a fixed sequence of IEEE additions, subtractions, multiplications, divisions and comparisons, every one of
which has one right answer. This module is the one definition. Over floats a function computes; over ``Symbol`` it
writes down what it would compute, and the emitters print just that. Engines apply one operator at a time, so nothing is
contracted or reordered, and a Java machine may not do so either.

**Total.** For finite arguments no step, chosen or not, overflows, divides by zero, or gives 0 from operands that are
not 0, in each of which PostgreSQL would raise: arguments that would lead there are replaced first. What is too large
for a double is NULL, what is too small is 0. An argument of NULL gives NULL: a choice whose condition is NULL is the
second one, and the second choices lead to arithmetic with the argument.

**Accuracy.** Within one unit in the last place for e^x and ln x, within two for x^y, whose error grows with the size
of y ln x; powers of integers that have at most 53 bits, such as 10^22, are exact.

The means are the usual ones. e^x: x = k ln 2 + r, with ln 2 in two parts of which the first has trailing zeros, and
Taylor's polynomial in r. ln x: x = 2^k m with m near 1, and ln m = 2 artanh((m - 1) / (m + 1)). What a double cannot
hold is carried in a second one; splitting doubles into halves makes products of halves exact (T. J. Dekker, A
floating-point technique for extending the available precision, Numerische Mathematik 18, 1971).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final, TypeVar


@dataclass(frozen=True, eq=False)
class Symbol:
    """A value that an engine will compute: an argument, or an operation over other values, constants and NULL.

    Args:
        operation: ``+``, ``-``, ``*``, ``/``; or ``>=``, ``=``, which compare the first two operands and choose the
            third if that holds, else the fourth; or the name of an argument.
        operands: its operands; None is NULL.

    """

    operation: str
    operands: tuple[Symbol | float | None, ...] = ()

    def __add__(self, other: Symbol | float) -> Symbol:
        return Symbol("+", (self, other))

    def __radd__(self, other: float) -> Symbol:
        return Symbol("+", (other, self))

    def __sub__(self, other: Symbol | float) -> Symbol:
        return Symbol("-", (self, other))

    def __rsub__(self, other: float) -> Symbol:
        return Symbol("-", (other, self))

    def __mul__(self, other: Symbol | float) -> Symbol:
        return Symbol("*", (self, other))

    def __rmul__(self, other: float) -> Symbol:
        return Symbol("*", (other, self))

    def __truediv__(self, other: Symbol | float) -> Symbol:
        return Symbol("/", (self, other))

    def __rtruediv__(self, other: float) -> Symbol:
        return Symbol("/", (other, self))


Real = TypeVar("Real", float, Symbol)

#: ln 2, its first 32 bits, and the rest.
_LN_2: Final = float.fromhex("0x1.62e42fefa39efp-1")
_LN_2_HIGH: Final = float.fromhex("0x1.62e42feep-1")
_LN_2_LOW: Final = float.fromhex("0x1.a39ef35793c76p-33")
_TWO_THIRDS: Final = 2 / 3
_TWO_THIRDS_HIGH: Final = float.fromhex("0x1.555555p-1")
_TWO_THIRDS_LOW: Final = float(Fraction(2, 3) - Fraction(_TWO_THIRDS_HIGH))
#: Beyond these e^x is not a double, for any last bits. The lower one is a little high, so that nothing vanishes.
_MOST, _LEAST = 709.79, -745.13
#: Factors so large or small that a power with them is 1, 0 or beyond the doubles.
_LARGE, _SMALL = 2.0**70, 2.0**-70
_SPLITTER: Final = 2.0**27 + 1
_WHOLE: Final = 2.0**52
_EXPONENTIAL: Final = tuple(float(Fraction(1, math.factorial(n))) for n in range(2, 15))
_LOGARITHM: Final = tuple(float(Fraction(3, n)) for n in range(5, 29, 2))


def _at_least(value: Real, bound: float, chosen: Real | float, otherwise: Real | float) -> Real:
    """Return the first result if the value is at least the bound, otherwise the second."""
    if isinstance(value, Symbol):
        return Symbol(">=", (value, bound, chosen, otherwise))
    return chosen if value >= bound else otherwise


def _equal(value: Real, other: Real | float, chosen: Real | float, otherwise: Real | float) -> Real:
    """Return the first result if two values are equal, otherwise the second."""
    if isinstance(value, Symbol):
        return Symbol("=", (value, other, chosen, otherwise))
    return chosen if value == other else otherwise


def _unless(is_null: Real, value: Real) -> Real | None:
    """Return NULL where the first is 1, and the value where it is 0."""
    if isinstance(is_null, Symbol):
        return Symbol(">=", (is_null, 1.0, None, value))
    return None if is_null >= 1.0 else value


def exponential(x: Real) -> Real | None:
    """Return e^x, NULL where that is too large.

    >>> exponential(0.0), exponential(1.0), exponential(710.0), exponential(-1e300)
    (1.0, 2.718281828459045, None, 0.0)
    """
    # So small a number adds nothing to 1, and its square might vanish.
    is_beyond, value = _exponential(_at_least(0.0 - _size(x), -_SMALL, 0.0, x), 0.0, 1.0)
    return _unless(is_beyond, value)


def logarithm(x: Real) -> Real | None:
    """Return the natural logarithm, NULL at or below 0.

    >>> logarithm(1.0), logarithm(10.0), logarithm(5e-324), logarithm(-1.0)
    (0.0, 2.302585092994046, -744.4400719213812, None)
    """
    has_none = _at_least(0.0 - x, 0.0, 1.0, 0.0)
    high, low = _logarithm(_at_least(has_none, 1.0, 1.0, x))
    return _unless(has_none, high + low)


def power(x: Real, y: Real) -> Real | None:
    """Return x^y, NULL where that is not a real number or too large; x^0 is 1, and 0^y is 0 for y > 0.

    >>> power(10.0, 22.0), power(-3.0, 3.0), power(-8.0, 1 / 3), power(0.0, -1.0), power(2.0, 0.5)
    (1e+22, -27.0, None, None, 1.4142135623730951)
    """
    times = _size(y)
    whole = _rounded(times)
    half = whole * 0.5
    is_negative = _at_least(x, 0.0, 0.0, 1.0)
    is_odd = _equal(_rounded(half), half, 0.0, 1.0)
    is_fraction = _equal(whole, times, 0.0, 1.0)
    high, low = _logarithm(_equal(x, 0.0, 1.0, _size(x)))
    # With an exponent that large only powers of 1 are between 0 and infinity; with one that small all of them are 1.
    limited = _at_least(y, _LARGE, _LARGE, _at_least(0.0 - y, _LARGE, -_LARGE, y))
    factor = _at_least(0.0 - times, -_SMALL, 0.0, limited)
    factor_high, factor_low = _halves(factor)
    sign = 1.0 - 2.0 * (is_negative * is_odd)
    is_beyond, value = _exponential(factor_high * high, factor_low * high + factor * low, sign)
    is_zero_below = _equal(x, 0.0, _at_least(y, 0.0, 0.0, 1.0), 0.0)
    is_null = (is_beyond + is_negative * is_fraction) + is_zero_below
    # For x = 0 the value is so far 1.
    return _unless(is_null, value * _equal(x, 0.0, _equal(y, 0.0, 1.0, 0.0), 1.0))


def _exponential(high: Real, low: Real | float, sign: Real | float) -> tuple[Real, Real]:
    """Return 1 where e^(high + low) is too large and 0 elsewhere, and there the value with a sign."""
    total = high + low
    is_large, is_small = _at_least(total, _MOST, 1.0, 0.0), _at_least(total, _LEAST, 0.0, 1.0)
    is_inside = 1.0 - is_large - is_small
    first, second = high * is_inside, low * is_inside
    power_of_two = _nearest(first * (1 / _LN_2))
    reduced = first - power_of_two * _LN_2_HIGH  # exact
    further = second - power_of_two * _LN_2_LOW
    r = reduced + further
    rest = further - (r - reduced)
    # 1 + r + (r^2 / 2 + r^3 / 6 + ...) + rest e^r, added up with what every sum loses.
    bent = r * r * _series(r, _EXPONENTIAL) + (rest + rest * r)
    above_one = r + bent
    lost = bent - (above_one - r)
    near = 1.0 + above_one
    mantissa = near + ((above_one - (near - 1.0)) + lost)
    overflows = _at_least(power_of_two, 1024.0, _at_least(mantissa, 1.0, 1.0, 0.0), 0.0)
    safe = sign * _at_least(overflows, 1.0, 0.5, mantissa)
    return is_large + overflows, _scaled(safe, power_of_two) * (1.0 - is_small)


def _scaled(x: Real, exponent: Real) -> Real:
    """Return x times a power of two, rounded at most once: by two factors that are both normal doubles."""
    half = _nearest(exponent * 0.5 - 0.25)  # towards minus infinity
    size = _size(half)
    # The product of 2^(2^n) for every bit n of the size, which is what size / 2^n leaves, divided by 2.
    quotient, factor = size, _at_least(size, 512.0, 2.0**512, 1.0)
    for n in range(9):
        following = _nearest(size * 2.0 ** -(n + 1) - (0.5 - 0.5 * 2.0 ** -(n + 1)))  # towards minus infinity
        factor = factor * _at_least(quotient - 2.0 * following, 1.0, 2.0 ** (2**n), 1.0)
        quotient = following
    first = _at_least(half, 0.0, factor, 1.0 / factor)
    second = first * _at_least(exponent - 2.0 * half, 1.0, 2.0, 1.0)
    return (x * first) * second


def _logarithm(x: Real) -> tuple[Real, Real]:
    """Return two numbers whose sum is ln x for x > 0, the first of at most 26 bits."""
    # x = 2^exponent m, with m from 1 to 2 and then from sqrt(1/2) to sqrt(2); every product is exact.
    m, exponent = x * _at_least(x, 2.0**-500, 1.0, 2.0**600), _at_least(x, 2.0**-500, 0.0, -600.0)
    m, exponent = m * _at_least(m, 1.0, 1.0, 2.0**500), exponent - _at_least(m, 1.0, 0.0, 500.0)
    for step in (256.0, 64.0, 16.0, 4.0, 1.0):
        once, twice, thrice = (2.0 ** (step * times) for times in (1, 2, 3))
        smaller = _at_least(m, twice, m / twice, _at_least(m, once, m / once, m))
        fewer = _at_least(m, twice, exponent + 2.0 * step, _at_least(m, once, exponent + step, exponent))
        m, exponent = _at_least(m, thrice, m / thrice, smaller), _at_least(m, thrice, exponent + 3.0 * step, fewer)
    m, exponent = _at_least(m, 2**0.5, m * 0.5, m), _at_least(m, 2**0.5, exponent + 1.0, exponent)
    # s = (m - 1) / (m + 1), as a half and the rest.
    above, sum_ = m - 1.0, m + 1.0
    s = above / sum_
    s_high, _ = _halves(s)
    sum_high, _ = _halves(sum_)
    sum_low = m - (sum_high - 1.0)
    s_low = ((above - s_high * sum_high) - s_high * sum_low) / sum_
    # ln m = 2/3 s (3 + s^2 + 3/5 s^4 + 3/7 s^6 + ...); the bracket in halves.
    square = s_high * s_high
    z = s * s
    terms = z * z * _series(z, _LOGARITHM) + s_low * (s_high + s)
    bracket_high, _ = _halves((square + 3.0) + terms)
    bracket_low = terms - ((bracket_high - 3.0) - square)
    first, second = s_high * bracket_high, s_low * bracket_high + bracket_low * s
    high, _ = _halves(first + second)
    low = second - (high - first)
    # Times 2/3, plus exponent ln 2.
    first, second = high * _TWO_THIRDS_HIGH, high * _TWO_THIRDS_LOW + low * _TWO_THIRDS
    base = exponent * _LN_2_HIGH
    second = second + exponent * _LN_2_LOW
    high, _ = _halves((base + first) + second)
    return high, second - ((high - base) - first)


def _size(x: Real) -> Real:
    return _at_least(x, 0.0, x, 0.0 - x)


def _rounded(size: Real) -> Real:
    """Return the nearest integer to a number that is not negative."""
    return _at_least(size, _WHOLE, size, (size + _WHOLE) - _WHOLE)


def _nearest(x: Real) -> Real:
    """Return the nearest integer to a number below 2^51 in size."""
    return (x + 1.5 * _WHOLE) - 1.5 * _WHOLE


def _halves(x: Real) -> tuple[Real, Real]:
    """Return two numbers of at most 26 bits whose sum is x."""
    scaled = x * _SPLITTER
    high = scaled - (scaled - x)
    return high, x - high


def _series(x: Real, coefficients: Sequence[float]) -> Real:
    """Return the polynomial with these coefficients, that of the constant first."""
    total = x * coefficients[-1]
    for coefficient in reversed(coefficients[1:-1]):
        total = x * (total + coefficient)
    return total + coefficients[0]


#: The functions by name; over symbols each has one or two arguments.
PORTABLE: Final[Mapping[str, Callable[..., Any]]] = MappingProxyType(
    {"exponential": exponential, "logarithm": logarithm, "power": power}
)

"""Arithmetic of intervals with exact or infinite ends: every result holds all that its operands may give.

Floats that an engine computes are rounded, so that what is not exact is widened outward.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable
from fractions import Fraction

#: An end of an interval: exact, or infinite. Dates count days, timestamps microseconds.
End = Fraction | float
Interval = tuple[End, End]
ALL: Interval = (-math.inf, math.inf)


def is_finite(end: End) -> bool:
    """Return whether an end is a number."""
    return isinstance(end, Fraction) or math.isfinite(end)


def outward(interval: Interval) -> Interval:
    """Round outwards to doubles: rounding to nearest is monotone, so a computed double stays inside."""
    return rounded(interval[0], -math.inf), rounded(interval[1], math.inf)


def rounded(end: End, towards: float) -> End:
    """Return an end moved to a float beyond it."""
    if isinstance(end, float) or (end.denominator == 1 and abs(end.numerator) <= 2**53):
        return end
    try:
        near = float(end)
    except OverflowError:
        sign = 1 if end > 0 else -1
        return sign * math.inf if (end > 0) == (towards > 0) else sign * Fraction(sys.float_info.max)
    if (near < end) if towards > 0 else (near > end):
        near = math.nextafter(near, towards)
    return Fraction(near) if math.isfinite(near) else near


def meet(first: Interval, second: Interval) -> Interval:
    """Return what lies in both, or the first where nothing does."""
    low, high = max(first[0], second[0]), min(first[1], second[1])
    return (low, high) if low <= high else first  # contradictory conditions: no row is left, any bound is true


def join(intervals: Iterable[Interval | None]) -> Interval | None:
    """Return the smallest interval that holds all of them; None if there are none."""
    given = [interval for interval in intervals if interval is not None]
    return (min(low for low, _ in given), max(high for _, high in given)) if given else None


def each(interval: Interval, change: Callable[[Fraction], Fraction | int]) -> Interval:
    """Apply a non-decreasing function."""
    low, high = (Fraction(change(end)) if isinstance(end, Fraction) else end for end in interval)
    return low, high


def times(first: End, second: End) -> End:
    """Return a product in which nothing times infinity is nothing."""
    return Fraction(0) if first == 0 or second == 0 else first * second


def product(first: Interval, second: Interval) -> Interval:
    """Return the products of two intervals."""
    corners = [times(a, b) for a in first for b in second]
    return min(corners), max(corners)


def square(interval: Interval) -> Interval:
    """Return the squares of an interval."""
    low, high = interval
    ends = (times(low, low), times(high, high))
    return (Fraction(0) if low <= 0 <= high else min(ends)), max(ends)


def quotient(first: Interval, second: Interval, is_whole: bool) -> Interval:
    """Return the quotients of two intervals."""
    low, high = second
    if low > 0 or high < 0:
        inverse = reciprocal(high), reciprocal(low)
    elif low == high == 0:
        return Fraction(0), Fraction(0)  # always NULL
    elif is_whole:
        inverse = (Fraction(0) if low >= 0 else Fraction(-1)), (Fraction(0) if high <= 0 else Fraction(1))
    else:
        inverse = (Fraction(0) if low >= 0 else -math.inf), (Fraction(0) if high <= 0 else math.inf)
    return product(first, inverse)


def reciprocal(end: End) -> End:
    """Return one over an end."""
    return 1 / end if isinstance(end, Fraction) else Fraction(0)


def remainder(first: Interval, second: Interval) -> Interval:
    """Return the remainders of two intervals."""
    reach: End = absolute(first)[1]
    most: End = min(max(absolute(second)[1] - 1, Fraction(0)), reach)
    return (Fraction(0) if first[0] >= 0 else -most), (Fraction(0) if first[1] <= 0 else most)


def power(first: Interval, second: Interval) -> Interval:
    """Return the powers of two intervals."""
    low, high = first
    exponent = second[0]
    if second[0] != second[1] or not isinstance(exponent, Fraction):
        return ALL
    if exponent.denominator == 1 and 0 <= exponent <= 64:
        times = int(exponent)
        if not (isinstance(low, Fraction) and isinstance(high, Fraction)):
            return (Fraction(0) if times % 2 == 0 or low >= 0 else -math.inf), math.inf
        ends = (low**times, high**times)
        least = Fraction(0) if times % 2 == 0 and low <= 0 <= high and times else min(ends)
        return widened((least, max(ends)))
    if low >= 0 and exponent > 0:
        share = float(exponent)
        return widened(floats(first, lambda end: end**share, least=0.0))
    return ALL


def floats(interval: Interval, change: Callable[[float], float], *, least: float) -> Interval:
    """Return a rising function that floats compute."""
    ends: list[End] = []
    for end in interval:
        try:
            found = change(float(end))
        except OverflowError:
            found = math.inf
        except ValueError:  # outside the domain, where the value is NULL
            found = least
        ends.append(Fraction(found) if math.isfinite(found) else found)
    return ends[0], ends[1]


def widened(interval: Interval) -> Interval:
    """Allow for errors in the last digits of an engine's mathematical library."""
    slack = Fraction(1, 2**48)
    low, high = interval
    return (
        low - abs(low) * slack if isinstance(low, Fraction) else low,
        high + abs(high) * slack if isinstance(high, Fraction) else high,
    )


def absolute(interval: Interval) -> Interval:
    """Return the sizes of an interval."""
    low, high = interval
    if low >= 0:
        return low, high
    return (-high, -low) if high <= 0 else (Fraction(0), max(-low, high))


def square_root(interval: Interval) -> Interval:
    """Return the square roots of an interval."""
    low, high = widened(floats(interval, math.sqrt, least=0.0))
    return max(low, Fraction(0)), high


def exponential(interval: Interval) -> Interval:
    """Return the exponentials of an interval."""
    low, high = widened(floats(interval, math.exp, least=0.0))
    return max(low, Fraction(0)), high

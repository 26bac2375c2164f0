"""Searches among integers for what a monotone condition admits."""

from __future__ import annotations

from collections.abc import Callable


def least_where(holds: Callable[[int], bool]) -> int:
    """Return the least positive integer for which a monotone condition holds.

    The bound is doubled until the condition holds, and the range then halved: at most twice the logarithm of what is
    returned. Where the condition never holds, the search does not end.

    >>> least_where(lambda number: number**2 >= 50)
    8

    """
    low, high = 0, 1
    while not holds(high):
        low, high = high, 2 * high
    while high - low > 1:
        between = (low + high) // 2
        low, high = (low, between) if holds(between) else (between, high)
    return high

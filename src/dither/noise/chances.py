"""Probabilities known to any number of bits.

A coin needs its probability only as far as the random bits that it is compared with: ``bounds(k)`` returns the floor
and the ceiling of p * 2^k, exactly. Irrational probabilities are enclosed in decimals of growing length until the
floor is certain; that ends because an irrational number is not a binary fraction.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction

from dither.exact.enclosure import exp_decimals

_LN2_DIGITS = 0.30103


class Chance(ABC):
    """A probability p in [0, 1]."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[int, int]] = {}

    def bounds(self, bits: int) -> tuple[int, int]:
        """Return the floor and the ceiling of p * 2^bits."""
        known = self._known.get(bits)
        if known is None:
            known = self._known[bits] = self._bounds(bits)
        return known

    @abstractmethod
    def _bounds(self, bits: int) -> tuple[int, int]: ...


class RationalChance(Chance):
    """A rational probability."""

    def __init__(self, p: Fraction) -> None:
        super().__init__()
        self._p = p

    def _bounds(self, bits: int) -> tuple[int, int]:
        return _floor(self._p, bits), -_floor(-self._p, bits)


class IrrationalChance(Chance):
    """A probability given by enclosures: ``enclose(digits)`` returns rationals below and above it."""

    def __init__(self, enclose: Callable[[int], tuple[Fraction, Fraction]]) -> None:
        super().__init__()
        self._enclose = enclose

    def _bounds(self, bits: int) -> tuple[int, int]:
        digits = int(bits * _LN2_DIGITS) + 20
        while True:
            below, above = self._enclose(digits)
            # p is irrational and so less than the bound above it, even where that is a binary fraction, such as 1.
            low, high = _floor(below, bits), -_floor(-above, bits) - 1
            if low == high:
                return low, low + 1
            digits *= 2


def _floor(x: Fraction, bits: int) -> int:
    """Return the floor of x * 2^bits, without a fraction in between."""
    return (x.numerator << bits) // x.denominator


def _exp_of_minus(x: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """Return rationals around e^-x to about that many decimal places, for x above 0."""
    # So far down only the upper bound matters, and the true value would not fit in memory.
    if x > 4 * digits:
        return Fraction(0), Fraction(1, 10**digits)
    low, high = exp_decimals(-x, digits)
    return Fraction(low), Fraction(high)


def exponential(x: Fraction) -> Chance:
    """Return the probability e^-x, for x >= 0."""
    return RationalChance(Fraction(1)) if x == 0 else IrrationalChance(lambda digits: _exp_of_minus(x, digits))


def logistic(x: Fraction) -> Chance:
    """Return the probability 1 / (1 + e^x), for x >= 0."""
    if x == 0:
        return RationalChance(Fraction(1, 2))

    def enclose(digits: int) -> tuple[Fraction, Fraction]:
        low, high = _exp_of_minus(x, digits)
        return low / (1 + low), high / (1 + high)

    return IrrationalChance(enclose)


def truth(x: Fraction, others: int) -> Chance:
    """Return the probability 1 / (1 + others * e^-x), for x >= 0: that of the truth among ``others`` other answers."""
    if x == 0:
        return RationalChance(Fraction(1, 1 + others))

    def enclose(digits: int) -> tuple[Fraction, Fraction]:
        low, high = _exp_of_minus(x, digits + others.bit_length())
        return 1 / (1 + others * high), 1 / (1 + others * low)

    return IrrationalChance(enclose)


def remainder(x: Fraction, limit: Fraction) -> Chance:
    """Return the probability that an exponential variable exceeds x, given that it is below ``limit``.

    (e^-x - e^-limit) / (1 - e^-limit), for 0 <= x <= limit.
    """
    if x == 0 or x == limit:
        return RationalChance(Fraction(int(x == 0)))

    def enclose(digits: int) -> tuple[Fraction, Fraction]:
        # Small limits cancel; the caller asks for more digits until the answer is certain.
        extra = digits + max(0, -math.floor(math.log10(limit))) * 2
        low, high = _exp_of_minus(x, extra)
        end_low, end_high = _exp_of_minus(limit, extra)
        return max(Fraction(0), (low - end_high) / (1 - end_low)), min(Fraction(1), (high - end_low) / (1 - end_high))

    return IrrationalChance(enclose)

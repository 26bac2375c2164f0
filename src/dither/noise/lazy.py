"""Real numbers known only as far as needed, and points made of them, rounded to a grid.

A lazy number lies between two neighbouring binary fractions; ``refine`` draws more of its digits, with exactly the law
that they have given those drawn before. A point is a function of lazy numbers. Rounding it down needs an interval
around it that holds no integer: floats with a proven error give one almost always; where they do not, rationals
do, and more digits are drawn until the interval is narrow enough. A boundary is hit with probability zero, so that
ends.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.noise import gaussian
from dither.noise.chances import Chance, RationalChance, logistic
from dither.noise.coins import Bools, Floats, extend, flip, fractions_of_one
from dither.noise.entropy import Entropy
from dither.noise.laplace import BLOCK, Integers, geometric

Enclosure = tuple[Fraction, Fraction]

_HALF = RationalChance(Fraction(1, 2))
# How much of a number is drawn at first: words of a uniform one, binary places of an exponential one.
_WORDS = 3
_PLACES = 40
#: An offset given as a float may be wrong by this much.
OFFSET_ERROR = 2.0**-40
#: One rounding of a float is at most this share of it.
ROUNDING = 2.0**-53
# Points saturate here: what is added to them saturates before (``dither.mechanisms.core.values``).
_LARGEST = 3 * 2**61


class Lazy(ABC):
    """Independent non-negative reals. Each lies between ``low`` and ``high``, up to two roundings of each float."""

    low: Floats
    high: Floats

    def __init__(self, entropy: Entropy) -> None:
        self._entropy = entropy
        self._refined: dict[int, tuple[int, int]] = {}

    def enclosure(self, index: int) -> Enclosure:
        """Return the binary fractions that enclose the number at ``index``."""
        units, bits = self.known(index)
        return Fraction(units, 2**bits), Fraction(units + 1, 2**bits)

    def refine(self, index: int) -> None:
        """Draw more digits of the number at ``index``."""
        self._refined[index] = self._longer(*self.known(index))

    def known(self, index: int) -> tuple[int, int]:
        """Return n and b such that the number lies between n / 2^b and (n + 1) / 2^b."""
        return self._refined.get(index) or self._first(index)

    @abstractmethod
    def _first(self, index: int) -> tuple[int, int]: ...

    def _longer(self, units: int, bits: int) -> tuple[int, int]:
        return extend(self._entropy, units, bits)


class Uniforms(Lazy):
    """Uniform numbers in [0, 1), from their first words; those in ``longer`` have more digits already."""

    def __init__(self, entropy: Entropy, prefix: Integers, longer: dict[int, tuple[int, int]]) -> None:
        super().__init__(entropy)
        self._prefix, self._bits = prefix, _WORDS * entropy.word_bits
        self._refined |= longer
        self.low = prefix.astype(np.float64) * 2.0**-self._bits
        self.high = (prefix + 1).astype(np.float64) * 2.0**-self._bits

    @classmethod
    def drawn(cls, entropy: Entropy, count: int) -> Uniforms:
        """Return fresh ones."""
        return cls(entropy, fractions_of_one(entropy, count, _WORDS), {})

    def _first(self, index: int) -> tuple[int, int]:
        return int(self._prefix[index]), self._bits


class Exponentials(Lazy):
    """Exponential variables of mean 1.

    The density e^-x is a product over the binary digits of x, so they are independent: the whole number of units of
    2^-40 is geometric, and the digit worth 2^-i is one with probability 1 / (1 + e^(2^-i)).
    """

    def __init__(self, entropy: Entropy, count: int) -> None:
        super().__init__(entropy)
        self._units: NDArray[Any] = geometric(entropy, Fraction(2**_PLACES), count)
        self.low = self._units.astype(np.float64) * 2.0**-_PLACES
        self.high = self.low + 2.0**-_PLACES

    def _first(self, index: int) -> tuple[int, int]:
        return int(self._units[index]), _PLACES

    def _longer(self, units: int, bits: int) -> tuple[int, int]:
        for _ in range(self._entropy.word_bits):
            bits += 1
            units = 2 * units + int(flip(self._entropy, _digit(bits), 1)[0])
        return units, bits


@lru_cache(maxsize=1024)
def _digit(place: int) -> Chance:
    return logistic(Fraction(1, 2**place))


class AbsoluteGaussians(Lazy):
    """Absolute values of standard Gaussian variables."""

    def __init__(self, entropy: Entropy, count: int) -> None:
        super().__init__(entropy)
        self._bits = gaussian.FRACTION_WORDS * entropy.word_bits
        # What was accepted is an integer and a uniform part below one whose further digits are free.
        self._drawn = gaussian.absolute_gaussian(entropy, Fraction(1), count)
        self.low = self._drawn.whole + self._drawn.prefix * 2.0**-self._bits
        self.high = self.low + 2.0**-self._bits

    def _first(self, index: int) -> tuple[int, int]:
        prefix, bits = self._drawn.longer.get(index, (int(self._drawn.prefix[index]), self._bits))
        return (int(self._drawn.whole[index]) << bits) | prefix, bits


class Points(ABC):
    """Points of a space, one per row, as functions of lazy numbers."""

    @abstractmethod
    def bounds(self) -> tuple[Floats, Floats]:
        """Return floats below all points and floats above all points, entry by entry."""

    @abstractmethod
    def enclosures(self, row: int) -> list[Enclosure]:
        """Return rationals around each entry of one point."""

    @abstractmethod
    def refine(self, row: int) -> None:
        """Draw more digits of every number behind one point."""


def signed(low: Floats, high: Floats, negative: Bools) -> tuple[Floats, Floats]:
    """Return the bounds of numbers whose absolute values have these bounds, some of them negative."""
    return np.where(negative, -high, low), np.where(negative, -low, high)


def signs(entropy: Entropy, rows: int, columns: int) -> Bools:
    """Return fair coins: which entries are negative."""
    return flip(entropy, _HALF, rows * columns).reshape(rows, columns)


def floors(points: Points, offsets: Floats, exact_offset: Callable[[int, int], Fraction]) -> Integers:
    """Return floor(offset + entry) for every entry of the points.

    Args:
        points: what is rounded down.
        offsets: numbers in [0, 1], each within 2^-40 of the true offset; one for each entry, or one for each column.
        exact_offset: the true offset at a row and a column.

    """
    low, high = points.bounds()
    low, high = low + (offsets - OFFSET_ERROR), high + (offsets + OFFSET_ERROR)
    # Adding the offset rounds once more; the last term is for sums next to zero.
    low, high = (
        np.clip(bound + side * (np.abs(bound) * (2 * ROUNDING) + OFFSET_ERROR), -float(_LARGEST), float(_LARGEST))
        for bound, side in ((low, -1), (high, 1))
    )
    whole: Integers = np.floor(low).astype(np.int64)
    for row in np.flatnonzero((whole != np.floor(high)).any(axis=1)).tolist():
        whole[row] = _settled(points, row, exact_offset)
    return whole


def _settled(points: Points, row: int, exact_offset: Callable[[int, int], Fraction]) -> list[int]:
    while True:
        found = [
            _floor(exact_offset(row, column) + low, exact_offset(row, column) + high)
            for column, (low, high) in enumerate(points.enclosures(row))
        ]
        if None not in found:
            return [value for value in found if value is not None]
        points.refine(row)


def _floor(low: Fraction, high: Fraction) -> int | None:
    """Return the floor of all numbers between the bounds, saturated, or None if they differ."""
    least, most = math.floor(low), math.ceil(high) - 1
    if least == most or least >= _LARGEST or most < -_LARGEST:
        return min(max(least, -_LARGEST), _LARGEST)
    return None


def rowwise(count: int, columns: int, block: Callable[[int, int], Integers]) -> Integers:
    """Return ``count`` rows, drawn in blocks so that memory does not grow with their number."""
    drawn = np.empty((count, columns), dtype=np.int64)
    size = max(1, BLOCK // columns)
    for start in range(0, count, size):
        end = min(count, start + size)
        drawn[start:end] = block(start, end - start)
    return drawn

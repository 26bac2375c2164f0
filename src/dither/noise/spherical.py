"""Noise in d dimensions with density proportional to e^(-|z| / s), |z| the Euclidean length, rounded to a grid.

Its length is a Gamma variable of shape d and its direction uniform; d = 2 is the planar Laplace law. It is drawn as
z = s * sqrt(V) * N: N is a vector of d independent standard Gaussian variables, and V is twice a Gamma variable of
shape (d + 1) / 2, a sum of exponential variables and, for even d, the square of one more Gaussian. That needs no
rejection of its own, no division and no trigonometry, in any number of dimensions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from dither.noise.coins import Floats
from dither.noise.entropy import Entropy
from dither.noise.laplace import Integers
from dither.noise.lazy import (
    ROUNDING,
    AbsoluteGaussians,
    Enclosure,
    Exponentials,
    Points,
    floors,
    rowwise,
    signed,
    signs,
)

# More binary places than the numbers under the root have, so that the root loses nothing worth mentioning.
_ROOT_BITS = 64


def rounded_spherical(
    entropy: Entropy, scale: Fraction, offsets: Floats, exact_offset: Callable[[int], Fraction], count: int
) -> Integers:
    """Return ``count`` rows floor(offset + Z), Z of density proportional to e^(-|z| / scale), with exactly that law.

    Args:
        entropy: the source of bits.
        scale: any number above 0; above 2^30 or so most rows are decided by integers, which is slower.
        offsets: one number in [0, 1] for each column, within 2^-40 of the true offset.
        exact_offset: the true offset of a column.
        count: the number of rows.

    """

    def block(_: int, size: int) -> Integers:
        points = _Spherical(entropy, scale, size, offsets.size)
        return floors(points, offsets, lambda _, column: exact_offset(column))

    return rowwise(count, offsets.size, block)


def rounded_spherical_rows(
    entropy: Entropy, scale: Fraction, offsets: Floats, exact_offset: Callable[[int, int], Fraction]
) -> Integers:
    """Return rows floor(offset + Z), each row with a vector Z of its own, with exactly that law.

    Args:
        entropy: the source of bits.
        scale: as for ``rounded_spherical``.
        offsets: one number in [0, 1] for each row and column, within 2^-40 of the true offset.
        exact_offset: the true offset at a row and a column.

    """
    columns = offsets.shape[1]

    def block(start: int, size: int) -> Integers:
        points = _Spherical(entropy, scale, size, columns)
        own = offsets[start : start + size]
        return floors(points, own, lambda row, column: exact_offset(start + row, column))

    return rowwise(len(offsets), columns, block)


class _Spherical(Points):
    """Plus or minus scale * sqrt(2 (E_1 + ... + E_m) [+ N_0^2]) * |N_i|."""

    def __init__(self, entropy: Entropy, scale: Fraction, count: int, columns: int) -> None:
        self._scale, self._count, self._columns = scale, count, columns
        self._terms, self._has_square = (columns + 1) // 2, columns % 2 == 0
        self._exponentials = Exponentials(entropy, count * self._terms)
        self._gaussians = AbsoluteGaussians(entropy, count * columns)
        self._squares = AbsoluteGaussians(entropy, count * self._has_square)
        self._negative = signs(entropy, count, columns)

    def bounds(self) -> tuple[Floats, Floats]:
        # Each of at most m + 8 operations rounds once: the sum of m terms, square, sum, root, two products, the scale.
        margin = (self._terms + 16) * ROUNDING
        low, high = (self._sizes(*ends) for ends in zip(*self._ends(), strict=True))
        return signed(low * (1 - margin), high * (1 + margin), self._negative)

    def _ends(self) -> list[tuple[Floats, Floats]]:
        return [(numbers.low, numbers.high) for numbers in (self._exponentials, self._gaussians, self._squares)]

    def _sizes(self, exponentials: Floats, gaussians: Floats, squares: Floats) -> Floats:
        total = 2 * exponentials.reshape(self._count, self._terms).sum(axis=1)
        if self._has_square:
            total += squares * squares
        sizes: Floats = float(self._scale) * np.sqrt(total)[:, None] * gaussians.reshape(self._count, self._columns)
        return sizes

    def enclosures(self, row: int) -> list[Enclosure]:
        exponentials = [self._exponentials.enclosure(row * self._terms + term) for term in range(self._terms)]
        low, high = (2 * sum(ends) for ends in zip(*exponentials, strict=True))
        if self._has_square:
            least, most = self._squares.enclosure(row)
            low, high = low + least * least, high + most * most
        found = []
        for column in range(self._columns):
            least, most = self._gaussians.enclosure(row * self._columns + column)
            bottom = _root(self._scale**2 * low * least * least)[0]
            top = _root(self._scale**2 * high * most * most)[1]
            found.append((-top, -bottom) if self._negative[row, column] else (bottom, top))
        return found

    def refine(self, row: int) -> None:
        for term in range(self._terms):
            self._exponentials.refine(row * self._terms + term)
        for column in range(self._columns):
            self._gaussians.refine(row * self._columns + column)
        if self._has_square:
            self._squares.refine(row)


def _root(square: Fraction) -> Enclosure:
    """Return rationals around the square root, much closer together than the bounds of the square."""
    bits = square.denominator.bit_length() // 2 + _ROOT_BITS
    root = math.isqrt((square.numerator << (2 * bits)) // square.denominator)
    return Fraction(root, 1 << bits), Fraction(root + 1, 1 << bits)

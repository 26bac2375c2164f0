"""Noise with density proportional to e^(-|z|_K / s) for a norm whose ball K is a polytope, rounded to a grid.

For the largest absolute entry, K is a cube: z = s * R * u, with R a Gamma variable of shape d + 1 (a sum of exponential
variables) and u uniform in the cube. For a polytope given by the corners of its facets, one facet is chosen with
probability proportional to the volume of the cone over it, and z = s * (E_1 v_1 + ... + E_d v_d) with its corners v and
independent exponential variables E: on that cone |z|_K is the sum of the E.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from dither.noise.coins import Floats
from dither.noise.entropy import Entropy
from dither.noise.laplace import Integers
from dither.noise.lazy import ROUNDING, Enclosure, Exponentials, Points, Uniforms, floors, rowwise, signed, signs
from dither.noise.selection import uniform_below


def rounded_cubical(
    entropy: Entropy, scale: Fraction, offsets: Floats, exact_offset: Callable[[int], Fraction], count: int
) -> Integers:
    """Return ``count`` rows floor(offset + Z), Z of density proportional to e^(-max |z_i| / scale), exactly.

    Args:
        entropy: the source of bits.
        scale: any number above 0; above 2^30 or so most rows are decided by integers, which is slower.
        offsets: one number in [0, 1] for each column, within 2^-40 of the true offset.
        exact_offset: the true offset of a column.
        count: the number of rows.

    """

    def block(_: int, size: int) -> Integers:
        points = _Cubical(entropy, scale, size, offsets.size)
        return floors(points, offsets, lambda _, column: exact_offset(column))

    return rowwise(count, offsets.size, block)


def rounded_conical(
    entropy: Entropy,
    scale: Fraction,
    corners: Integers,
    weights: list[int],
    offsets: Floats,
    exact_offset: Callable[[int], Fraction],
    count: int,
) -> Integers:
    """Return ``count`` rows floor(offset + scale * (E_1 v_1 + ... + E_d v_d)), the v from a facet chosen by weight.

    Args:
        entropy: the source of bits.
        scale: any number above 0; above 2^30 or so most rows are decided by integers, which is slower.
        corners: d linearly independent corners of each facet, integers of at most 2^20: facet, corner, column.
        weights: positive integers; a facet is chosen in proportion to them.
        offsets: one number in [0, 1] for each column, within 2^-40 of the true offset.
        exact_offset: the true offset of a column.
        count: the number of rows.

    """
    ends = np.cumsum(np.array(weights, dtype=object)).astype(np.int64 if sum(weights) < 2**62 else object)

    def block(_: int, size: int) -> Integers:
        chosen = np.searchsorted(ends, uniform_below(entropy, int(ends[-1]), size), side="right")
        points = _Conical(entropy, scale, corners[chosen])
        return floors(points, offsets, lambda _, column: exact_offset(column))

    return rowwise(count, offsets.size, block)


class _Cubical(Points):
    """Plus or minus scale * (E_0 + ... + E_d) * U_i."""

    def __init__(self, entropy: Entropy, scale: Fraction, count: int, columns: int) -> None:
        self._scale, self._count, self._columns = scale, count, columns
        self._terms = columns + 1
        self._exponentials = Exponentials(entropy, count * self._terms)
        self._uniforms = Uniforms.drawn(entropy, count * columns)
        self._negative = signs(entropy, count, columns)

    def bounds(self) -> tuple[Floats, Floats]:
        margin = (self._terms + 16) * ROUNDING
        low = self._sizes(self._exponentials.low, self._uniforms.low) * (1 - margin)
        high = self._sizes(self._exponentials.high, self._uniforms.high) * (1 + margin)
        return signed(low, high, self._negative)

    def _sizes(self, exponentials: Floats, uniforms: Floats) -> Floats:
        radius = float(self._scale) * exponentials.reshape(self._count, self._terms).sum(axis=1)
        sizes: Floats = radius[:, None] * uniforms.reshape(self._count, self._columns)
        return sizes

    def enclosures(self, row: int) -> list[Enclosure]:
        exponentials = [self._exponentials.enclosure(row * self._terms + term) for term in range(self._terms)]
        low, high = (self._scale * sum(ends) for ends in zip(*exponentials, strict=True))
        found = []
        for column in range(self._columns):
            least, most = self._uniforms.enclosure(row * self._columns + column)
            bottom, top = low * least, high * most
            found.append((-top, -bottom) if self._negative[row, column] else (bottom, top))
        return found

    def refine(self, row: int) -> None:
        for term in range(self._terms):
            self._exponentials.refine(row * self._terms + term)
        for column in range(self._columns):
            self._uniforms.refine(row * self._columns + column)


class _Conical(Points):
    """scale * (E_1 v_1 + ... + E_d v_d), with separate corners v for each row."""

    def __init__(self, entropy: Entropy, scale: Fraction, corners: Integers) -> None:
        self._scale, self._corners = scale, corners
        self._count, self._terms, self._columns = corners.shape
        self._exponentials = Exponentials(entropy, self._count * self._terms)

    def bounds(self) -> tuple[Floats, Floats]:
        shape = self._count, self._terms, 1
        low, high = self._exponentials.low.reshape(shape), self._exponentials.high.reshape(shape)
        out, back = np.maximum(self._corners, 0), np.maximum(-self._corners, 0)
        # Sums of terms of one sign lose no more than their terms; the difference of two such sums rounds once more.
        ahead, behind = (low * out).sum(axis=1), (high * back).sum(axis=1)
        far, near = (high * out).sum(axis=1), (low * back).sum(axis=1)
        scale, margin = float(self._scale), (self._terms + 16) * ROUNDING
        lowest: Floats = scale * (ahead - behind - margin * (ahead + behind))
        highest: Floats = scale * (far - near + margin * (far + near))
        return lowest, highest

    def enclosures(self, row: int) -> list[Enclosure]:
        known = [self._exponentials.enclosure(row * self._terms + term) for term in range(self._terms)]
        found = []
        for column in range(self._columns):
            entries = self._corners[row, :, column].tolist()
            low = sum(entry * ends[entry < 0] for entry, ends in zip(entries, known, strict=True))
            high = sum(entry * ends[entry > 0] for entry, ends in zip(entries, known, strict=True))
            found.append((self._scale * low, self._scale * high))
        return found

    def refine(self, row: int) -> None:
        for term in range(self._terms):
            self._exponentials.refine(row * self._terms + term)

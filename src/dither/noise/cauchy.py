"""Generalised Cauchy noise, density proportional to 1 / (1 + |z|^p), rounded to a grid.

With x = |z| below one and x = 1 / |z| above it, both halves of the law live on (0, 1): the first has a density
proportional to 1 / (1 + x^p), the second to x^(p - 2) / (1 + x^p), with the same constant. So one round is a fair coin
for the half, a uniform x, and acceptance with those numbers as they stand. Everything is rational: no number here needs
more than integers to be decided. The number of rejections is independent of the value that is accepted.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from dither.noise import lazy
from dither.noise.chances import RationalChance
from dither.noise.coins import MARGIN, Bools, Floats, extend, flip, fractions_of_one
from dither.noise.entropy import Entropy
from dither.noise.laplace import BLOCK, Integers
from dither.noise.lazy import ROUNDING, Enclosure, Points, Uniforms, floors, rowwise, signed, signs

LARGEST_POWER = 64
_HALF = RationalChance(Fraction(1, 2))


class _Accepted(NamedTuple):
    """The half of the distribution, and the first words of x; some have more words already."""

    is_tail: Bools
    prefix: Integers
    longer: dict[int, tuple[int, int]]


def rounded_cauchy(
    entropy: Entropy, power: int, scale: Fraction, offsets: Floats, exact_offset: Callable[[int], Fraction]
) -> Integers:
    """Return floor(offset + scale * Z) for Z of density proportional to 1 / (1 + |z|^power), with exactly that law.

    Args:
        entropy: the source of bits.
        power: an even number from 2 to 64; 2 is the Cauchy law.
        scale: any number above 0; above 2^40 or so most draws are decided by integers, which is slower.
        offsets: numbers in [0, 1], each within 2^-40 of the true offset.
        exact_offset: the true offset at an index.

    """

    def block(start: int, size: int) -> Integers:
        points = _Cauchy(entropy, power, scale, size)
        here = offsets[start : start + size, None]
        return floors(points, here, lambda row, _: exact_offset(start + row))

    return rowwise(offsets.size, 1, block)[:, 0]


class _Cauchy(Points):
    """Points of the line: plus or minus scale * x, or scale / x."""

    def __init__(self, entropy: Entropy, power: int, scale: Fraction, count: int) -> None:
        drawn = _accepted(entropy, power, count)
        self._scale, self._is_tail = scale, drawn.is_tail
        self._x = Uniforms(entropy, drawn.prefix, drawn.longer)
        self._negative = signs(entropy, count, 1)

    def bounds(self) -> tuple[Floats, Floats]:
        # The scale, and one product or quotient, round; a quotient by zero is infinite, which is true.
        scale, margin = float(self._scale), 4 * ROUNDING
        with np.errstate(divide="ignore", over="ignore"):
            low = np.where(self._is_tail, scale / self._x.high, scale * self._x.low) * (1 - margin)
            high = np.where(self._is_tail, scale / self._x.low, scale * self._x.high) * (1 + margin)
        return signed(low[:, None], high[:, None], self._negative)

    def enclosures(self, row: int) -> list[Enclosure]:
        low, high = self._x.enclosure(row)
        if self._is_tail[row]:
            least = self._scale / high
            # While nothing bounds the quotient from above, an interval of length two says that nothing is decided.
            low, high = least, self._scale / low if low else least + 2
        else:
            low, high = self._scale * low, self._scale * high
        return [(-high, -low) if self._negative[row, 0] else (low, high)]

    def refine(self, row: int) -> None:
        self._x.refine(row)


def _accepted(entropy: Entropy, power: int, count: int) -> _Accepted:
    is_tail, prefix = np.empty(count, dtype=bool), np.empty(count, dtype=np.int64)
    longer: dict[int, tuple[int, int]] = {}
    filled = 0
    while filled < count:
        # Acceptance lies between 1/2 and 0.79.
        size = min(BLOCK, (count - filled) * 2 + (16 if count > 1 else 0)) or 1
        fresh = _one_round(entropy, power, size)
        kept = min(count - filled, fresh.prefix.size)
        is_tail[filled : filled + kept] = fresh.is_tail[:kept]
        prefix[filled : filled + kept] = fresh.prefix[:kept]
        longer |= {filled + index: more for index, more in fresh.longer.items() if index < kept}
        filled += kept
    return _Accepted(is_tail, prefix, longer)


def _one_round(entropy: Entropy, power: int, size: int) -> _Accepted:
    word_bits = entropy.word_bits
    first_bits = lazy._WORDS * word_bits
    is_tail = flip(entropy, _HALF, size)
    prefix = fractions_of_one(entropy, size, lazy._WORDS)
    x = prefix * 2.0**-first_bits
    likely = np.where(is_tail, x ** (power - 2), 1.0) / (1 + x**power)
    words = entropy.words(size)
    scaled = words - likely * 2.0**word_bits
    # Acceptance moves by at most 2 * power per unit of x; the float powers are right to far less than MARGIN.
    slack = (MARGIN + 2 * power * 2.0**-first_bits) * 2.0**word_bits
    accepted: Bools = scaled <= -1.0 - slack
    longer: dict[int, tuple[int, int]] = {}
    for index in np.flatnonzero((scaled < slack) & ~accepted).tolist():
        accepted[index], longer[index] = _settle(
            entropy,
            power,
            bool(is_tail[index]),
            (int(prefix[index]), first_bits),
            (int(words[index]), word_bits),
        )
    position = np.cumsum(accepted) - 1
    kept = {int(position[index]): more for index, more in longer.items() if accepted[index]}
    return _Accepted(is_tail[accepted], prefix[accepted], kept)


def _settle(
    entropy: Entropy, power: int, is_tail: bool, fraction: tuple[int, int], coin: tuple[int, int]
) -> tuple[bool, tuple[int, int]]:
    """Return whether x is accepted, and its prefix as far as it had to be drawn."""
    while True:
        (prefix, bits), (word, coin_bits) = fraction, coin
        # Acceptance is monotone on (0, 1), so that its values at both ends bound it.
        ends = [_acceptance(power, is_tail, Fraction(end, 2**bits)) for end in (prefix, prefix + 1)]
        if word + 1 <= min(ends) * 2**coin_bits:
            return True, fraction
        if word >= max(ends) * 2**coin_bits:
            return False, fraction
        fraction, coin = extend(entropy, prefix, bits), extend(entropy, word, coin_bits)


def _acceptance(power: int, is_tail: bool, x: Fraction) -> Fraction:
    return (x ** (power - 2) if is_tail else Fraction(1)) / (1 + x**power)

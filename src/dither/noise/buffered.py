"""Correlated Gaussian noise from a few decaying buffers, rounded to integers.

At tick t the noise is sigma times the sum over j of b_(t-j) Z_j, with independent standard Gaussian Z and b_k = w +
sum over p of w_p r_p^k, all of them public rationals. A buffer for each rate r_p, and one that does not decay, give
all ticks in constant memory (see ``mechanisms.buffered_counter``).

The law is exact. Floats give each mixture up to a proven error; where that does not decide the rounding, integers do,
with more digits of every Z until it is decided. Nothing is kept for that: the Z are read again from their tapes.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dither.noise.chances import RationalChance
from dither.noise.coins import Bools, Floats, flip
from dither.noise.frozen import Freezable
from dither.noise.laplace import Integers
from dither.noise.lazy import ROUNDING, AbsoluteGaussians, signed
from dither.noise.tapes import Tapes

_HALF = RationalChance(Fraction(1, 2))
#: Binary places of the coefficients that decide what floats do not.
_PLACES = 192
#: Ticks whose mixtures are one product of matrices.
_CHUNK = 128
#: One rounding of the wider floats; where there are none, that of floats.
_WIDE = np.longdouble
_WIDE_ROUNDING = float(np.finfo(_WIDE).eps)
#: Names of tapes: what is drawn of every Z at first, and further digits.
_FIRST, _FURTHER = 0, 1
#: Noise saturates here: what it is added to saturates before (``dither.mechanisms.core.values``).
_LARGEST = 3 * 2**61


class Mixing(NamedTuple):
    """The coefficients b_k = ``lasting`` + sum of ``weights[p] * rates[p]^k``; rates lie in [0, 1), weights above 0."""

    rates: tuple[Fraction, ...]
    weights: tuple[Fraction, ...]
    lasting: Fraction


Falls = tuple[tuple[int, Fraction], ...]
#: All steps of a mixture count as they are.
PLAIN: Falls = ((0, Fraction(1)),)


class _Tables(NamedTuple):
    """Floats, each within a few roundings: b as a triangle, powers for what comes in, weighted powers of buffers."""

    triangle: Floats
    into: NDArray[np.longdouble]
    out: Floats
    decay: NDArray[np.longdouble]
    total: float


@lru_cache(maxsize=16)
def _tables(mixing: Mixing) -> _Tables:
    rates, weights = (*mixing.rates, Fraction(1)), (*mixing.weights, mixing.lasting)
    powers = np.array([_powers(rate, _CHUNK + 1) for rate in rates], dtype=_WIDE)
    weighted = np.array([float(weight) for weight in weights])[:, None] * powers.astype(np.float64)
    coefficients = weighted[:, :_CHUNK].sum(axis=0)
    lag = np.arange(_CHUNK)[:, None] - np.arange(_CHUNK)
    triangle = np.where(lag >= 0, coefficients[np.abs(lag)], 0.0)
    return _Tables(triangle, powers[:, _CHUNK - 1 :: -1], weighted[:, 1:], powers[:, -1], float(coefficients.sum()))


def _powers(rate: Fraction, count: int) -> list[np.longdouble]:
    """Return rate^0, rate^1, ...: each the nearest wide float to a fixed-point number of 192 places."""
    found = []
    for units in _fixed_powers(rate, count):
        high = float(Fraction(units, 2**_PLACES))
        found.append(_WIDE(high) + _WIDE(float(Fraction(units, 2**_PLACES) - Fraction(high))))
    return found


def _fixed_powers(rate: Fraction, count: int) -> Iterator[int]:
    """Return powers in units of 2^-192, rounded down at every step: rate^k is too small by at most k units."""
    units = 1 << _PLACES
    for _ in range(count):
        yield units
        units = units * rate.numerator // rate.denominator


class BufferedNoise(Freezable):
    """The mixtures of several streams of equal length, tick by tick.

    With falls, the steps from one mixture to the next are multiplied by a public height before they are added up.

    Args:
        tapes: where the Z come from.
        mixing: the public coefficients.
        sigma: the standard deviation of what is mixed.
        entries: the number of streams.
        block: how many ticks are drawn together; public.
        falls: the ticks at which a height begins, from 0 on, and that height; heights fall.

    """

    remembered = ("_drawn", "_last", "_left", "_last_off", "_left_off", "_buffers", "_off")

    def __init__(
        self, tapes: Tapes, mixing: Mixing, sigma: Fraction, entries: int, block: int, falls: Falls = PLAIN
    ) -> None:
        self._tapes, self._mixing, self._sigma, self._falls = tapes, mixing, sigma, falls
        self._entries, self._block, self._drawn = entries, block, 0
        #: The last mixture before this block, what earlier heights have left, and how far each may be off.
        self._last, self._left = np.zeros(entries), np.zeros(entries)
        self._last_off = self._left_off = 0.0
        self._buffers = np.zeros((len(mixing.rates) + 1, entries), dtype=_WIDE)
        #: How far each buffer may be off.
        self._off = np.zeros(len(mixing.rates) + 1)

    def more(self) -> Integers:
        """Return floor(1/2 + sigma * mixture) for the next block of ticks, a row for each."""
        sizes, negative = self._first(self._drawn)
        low, high = (side.reshape(self._block, self._entries) for side in signed(sizes.low, sizes.high, negative))
        middle, apart = low / 2 + high / 2, float((high - low).max()) / 2
        largest = float(np.abs(middle).max()) + 1.0
        shown, around = np.empty_like(middle), np.empty((self._block, 1))
        for start in range(0, self._block, _CHUNK):
            chunk = middle[start : start + _CHUNK]
            shown[start : start + _CHUNK], around[start : start + _CHUNK] = self._mixed(chunk, apart, largest)
        if self._falls != PLAIN:
            self._weigh(shown, around)
        scale = float(self._sigma)
        shown *= scale
        # A few roundings by the product, and one by adding the half below.
        around = around * scale + (np.abs(shown) + 1.0) * (16 * ROUNDING)
        self._drawn += 1
        return self._rounded(shown, around)

    def _weigh(self, shown: Floats, around: Floats) -> None:
        """Turn mixtures into sums of their steps, each times its height: by parts, a term for every fall so far."""
        start, row = self._drawn * self._block, 0
        last, last_off = shown[-1].copy(), float(around[-1, 0])
        heights = [height for tick, height in self._falls if tick <= start][-1:]
        within = [(tick, height) for tick, height in self._falls if start < tick < start + self._block]
        # A height that begins with this block has fallen after the last mixture of the block before.
        if start and self._falls_at(start):
            before = [height for tick, height in self._falls if tick < start][-1]
            self._add(self._last, self._last_off, before - heights[0])
        for tick, height in [*within, (start + self._block, heights[0])]:
            end, now = tick - start, heights[0]
            here, here_off = shown[end - 1].copy(), float(around[end - 1, 0])
            shown[row:end] = float(now) * shown[row:end] + self._left
            around[row:end] = (
                float(now) * around[row:end] + self._left_off + np.abs(shown[row:end]).max() * 8 * ROUNDING
            )
            if tick < start + self._block:
                self._add(here, here_off, now - height)
            row, heights = end, [height]
        self._last, self._last_off = last, last_off

    def _falls_at(self, tick: int) -> bool:
        return any(begins == tick for begins, _ in self._falls)

    def _add(self, mixture: Floats, off: float, fall: Fraction) -> None:
        self._left = self._left + float(fall) * mixture
        largest = float(np.abs(self._left).max()) + float(fall) * float(np.abs(mixture).max())
        self._left_off += float(fall) * off + largest * 8 * ROUNDING

    def _mixed(self, chunk: Floats, apart: float, largest: float) -> tuple[Floats, float]:
        """Return the mixtures of a chunk, and how far they may be off; the buffers go on."""
        tables, ticks = _tables(self._mixing), len(chunk)
        held = self._buffers.astype(np.float64)
        found = tables.triangle[:ticks, :ticks] @ chunk + tables.out[:, :ticks].T @ held
        # Sums of at most n terms are off by n roundings of the sum of absolute values; all coefficients are above 0
        # and fall. Each weight, power and buffer adds a few roundings, and each Z what is not drawn of it.
        weights = tables.out[:, 0]
        steps = (ticks + len(held) + 16) * ROUNDING
        off = tables.total * (apart + steps * largest)
        off += float(weights @ (self._off + steps * np.abs(held).max(axis=1)))
        if ticks == _CHUNK:
            decay, into = tables.decay, tables.into
        else:
            decay, into = tables.into[:, _CHUNK - 1 - ticks], tables.into[:, _CHUNK - ticks :]
        before = np.abs(self._buffers).max(axis=1)
        self._buffers = decay[:, None] * self._buffers + into @ chunk.astype(_WIDE)
        lost = (ticks + 16) * _WIDE_ROUNDING * (before.astype(np.float64) + ticks * largest)
        self._off = (decay.astype(np.float64) * self._off + ticks * apart + lost) * (1 + 8 * ROUNDING)
        return found, 2 * off

    def _rounded(self, shown: Floats, around: Floats) -> Integers:
        limit = float(_LARGEST)
        low, high = (np.floor(np.clip(shown + side * around + 0.5, -limit, limit)) for side in (-1.0, 1.0))
        whole: Integers = low.astype(np.int64)
        for row, entry in zip(*(places.tolist() for places in np.nonzero(low != high)), strict=True):
            whole[row, entry] = self._settled((self._drawn - 1) * self._block + row, entry)
        return whole

    def _first(self, block: int) -> tuple[AbsoluteGaussians, Bools]:
        """Return the Z of a block: the same whenever it is asked for."""
        tape, size = self._tapes.tape(_FIRST, block), self._block * self._entries
        return AbsoluteGaussians(tape, size), flip(tape, _HALF, size)

    def _settled(self, tick: int, entry: int) -> int:
        """Return floor(1/2 + sigma * mixture) of one tick, with more digits of every Z until it is decided."""
        further = 0
        while True:
            low, high = self.weighed(tick, entry, further)
            least, most = (low + Fraction(1, 2)).__floor__(), -((-high - Fraction(1, 2)).__floor__()) - 1
            if least == most or least >= _LARGEST or most < -_LARGEST:
                return min(max(least, -_LARGEST), _LARGEST)
            further += 1

    def weighed(self, tick: int, entry: int, further: int) -> tuple[Fraction, Fraction]:
        """Return rationals around what is rounded at a tick: the mixture, or its steps times their heights."""
        low, high = self.enclosure(tick, entry, further)
        heights = [height for begins, height in self._falls if begins <= tick]
        low, high = heights[-1] * low, heights[-1] * high
        for (_, before), (begins, after) in pairwise(self._falls[: len(heights)]):
            least, most = self.enclosure(begins - 1, entry, further)
            low, high = low + (before - after) * least, high + (before - after) * most
        return low, high

    def enclosure(self, tick: int, entry: int, further: int) -> tuple[Fraction, Fraction]:
        """Return rationals around sigma times the mixture of one tick, from Z with that many further words."""
        last, row = divmod(tick, self._block)
        coefficients, low, high = self._coefficients(tick + 1), 0, 0
        # From the present backwards, as the coefficients come.
        for block in range(last, -1, -1):
            sizes, negative = self._first(block)
            digits = [self._tapes.tape(_FURTHER, block, entry, turn) for turn in range(further)]
            words = [tape.words(self._block).tolist() for tape in digits]
            width = digits[0].word_bits if digits else 0
            for place in range(row if block == last else self._block - 1, -1, -1):
                index = place * self._entries + entry
                units, bits = sizes.known(index)
                for turn in words:
                    units, bits = (units << width) | turn[place], bits + width
                small, large = next(coefficients)
                shift = 4 * _PLACES - bits
                least, most = small * (units << shift), large * ((units + 1) << shift)
                low, high = (low - most, high - least) if negative[index] else (low + least, high + most)
        return self._sigma * Fraction(low, 2 ** (5 * _PLACES)), self._sigma * Fraction(high, 2 ** (5 * _PLACES))

    def _coefficients(self, count: int) -> Iterator[tuple[int, int]]:
        """Return enclosures of b_0, b_1, ... in units of 2^-192."""
        scaled = [(weight * 2**_PLACES).__floor__() for weight in (*self._mixing.weights, self._mixing.lasting)]
        powers = [_fixed_powers(rate, count) for rate in (*self._mixing.rates, Fraction(1))]
        for place, units in enumerate(zip(*powers, strict=True)):
            low = sum(weight * power >> _PLACES for weight, power in zip(scaled, units, strict=True))
            high = sum(
                ((weight + 1) * (power + place) >> _PLACES) + 1 for weight, power in zip(scaled, units, strict=True)
            )
            yield low, high

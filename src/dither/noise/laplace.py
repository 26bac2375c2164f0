"""Exact discrete Laplace and geometric noise, and continuous Laplace noise rounded to a grid.

The binary digits of a geometric variable G with P[G = g] proportional to e^(-g/t) are independent coins: digit i is
one with probability 1 / (1 + e^(2^i / t)). What lies above the m lowest digits is 2^m times another geometric
variable, independent of them, drawn by repeating a coin of probability e^(-2^m / t). A discrete Laplace variable is G
or -1 - G, the latter with probability 1 / (1 + e^(1/t)). Nothing is rounded.

Of a large scale the k lowest digits are nearly fair coins. Together they are a number L below 2^k with P[L = l]
proportional to e^(-l/t), independent of the rest. In long draws L is a uniform number that is kept with probability
e^(-l/t), above 15/16, and drawn anew otherwise: one coin in place of k, and how often it is drawn is independent of
what is kept.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dither.noise.chances import Chance, RationalChance, exponential, logistic, remainder
from dither.noise.coins import Bools, Floats, flip, flip_each, flip_likely, flip_several, fractions_of_one
from dither.noise.entropy import Entropy

Integers = NDArray[np.int64]

#: Samples drawn at a time: small enough for the cache, so that memory does not grow with the number of samples.
BLOCK = 1 << 15
#: Up to this scale a draw fits an int64 but for one in e^64; a block with such a draw comes as Python integers, and
#: above this scale every block does.
LARGEST_INT64_SCALE = 2**56
_LARGEST_INT64 = 2**63 - 1
# Digits are drawn until a unit above them has the probability e^-14 or less; the tail coin does the rest exactly.
_TAIL = 14
#: So many coins are flipped at once; more of them are quicker one digit after the other, in the cache.
_FEW_COINS = 1 << 12
# The lowest digits are drawn together as far as 2^k is at most this part of the scale, if there are enough of them.
_FLAT = Fraction(1, 16)
_ENOUGH_DIGITS = 7
_HALF = RationalChance(Fraction(1, 2))


class _Digits(NamedTuple):
    """The coins of one geometric distribution."""

    digits: tuple[Chance, ...]
    tail: Chance
    negative: Chance
    scale: Fraction
    flat: int  # how many of the lowest digits may be drawn together


@lru_cache(maxsize=256)
def _coins(scale: Fraction) -> _Digits:
    count = 0
    while 2**count < _TAIL * scale:
        count += 1
    digits = tuple(logistic(2**digit / scale) for digit in range(count))
    flat = max(0, math.floor(_FLAT * scale).bit_length() - 1)
    negative = digits[0] if digits else logistic(1 / scale)
    return _Digits(digits, exponential(2**count / scale), negative, scale, flat if flat >= _ENOUGH_DIGITS else 0)


def geometric(entropy: Entropy, scale: Fraction, count: int) -> NDArray[Any]:
    """Return geometric variables, P[g] proportional to e^(-g / scale) for g = 0, 1, ...

    int64 up to a scale of 2^56, unless a draw does not fit; Python integers above.
    """
    if scale > LARGEST_INT64_SCALE:
        return _geometric_of_any_size(entropy, scale, count)
    return blockwise(count, lambda _, size: _geometric_block(entropy, _coins(scale), size))


def discrete_laplace(entropy: Entropy, scale: Fraction, count: int) -> NDArray[Any]:
    """Return discrete Laplace variables, P[x] proportional to e^(-|x| / scale) on the integers."""
    coins = _coins(scale)
    if scale > LARGEST_INT64_SCALE:
        drawn = _geometric_of_any_size(entropy, scale, count)
        return np.where(flip(entropy, coins.negative, count), -1 - drawn, drawn)

    def block(_: int, size: int) -> NDArray[Any]:
        drawn = _geometric_block(entropy, coins, size)
        # x ^ -1 is -1 - x and x ^ 0 is x.
        drawn ^= -flip(entropy, coins.negative, size).view(np.int8).astype(drawn.dtype)
        return drawn

    return blockwise(count, block)


def rounded_laplace(
    entropy: Entropy, scale: Fraction, offsets: Floats, exact_offset: Callable[[int], Fraction]
) -> NDArray[Any]:
    """Return floor(offset + Z) for continuous Laplace variables Z, with exactly that law.

    |Z| is a geometric whole part G and an independent part U below one; only whether U passes one boundary matters,
    and that is a coin.

    Args:
        entropy: the source of bits.
        scale: the scale of Z, between 1 and 2^56.
        offsets: numbers in [0, 1], each within 2^-40 of the true offset.
        exact_offset: the true offset at an index.

    """
    coins, rate = _coins(scale), float(1 / scale)

    def block(start: int, size: int) -> NDArray[Any]:
        whole = _geometric_block(entropy, coins, size)
        negative = flip(entropy, _HALF, size)
        # floor(r + G + U) is G + [U >= 1 - r]; floor(r - G - U) is -G - [U > r].
        here = offsets[start : start + size]
        boundary = np.where(negative, here, 1 - here)
        likely = np.exp(-boundary * rate) * np.expm1((boundary - 1) * rate) / np.expm1(-rate)

        def chance(index: int) -> Chance:
            exact = exact_offset(start + index)
            return remainder((exact if negative[index] else 1 - exact) / scale, 1 / scale)

        whole += flip_each(entropy, likely, chance).view(np.int8)
        whole[negative] *= -1
        return whole

    return blockwise(offsets.size, block)


def rounded_laplace_on_grid(entropy: Entropy, scale: Fraction, count: int) -> NDArray[Any]:
    """Return floor(1/2 + Z) for continuous Laplace variables Z: the common case of values that lie on the grid."""
    coins, carry = _coins(scale), remainder(1 / (2 * scale), 1 / scale)

    def block(_: int, size: int) -> NDArray[Any]:
        drawn = _geometric_block(entropy, coins, size)
        drawn += flip(entropy, carry, size).view(np.int8)
        negative = -flip(entropy, _HALF, size).view(np.int8).astype(drawn.dtype)
        # (x ^ -1) + 1 is -x.
        drawn ^= negative
        drawn -= negative
        return drawn

    return blockwise(count, block)


def blockwise(count: int, block: Callable[[int, int], NDArray[Any]]) -> NDArray[Any]:
    """Return ``count`` integers, drawn in blocks: ``block(start, size)`` draws those from ``start`` on."""
    if count <= BLOCK:
        return block(0, count)
    drawn: NDArray[Any] = np.empty(count, dtype=np.int64)
    for start in range(0, count, BLOCK):
        end = min(count, start + BLOCK)
        fresh = block(start, end - start)
        if fresh.dtype == object:
            drawn = drawn.astype(object)
        drawn[start:end] = fresh
    return drawn


def _geometric_block(entropy: Entropy, coins: _Digits, count: int) -> NDArray[Any]:
    low = np.zeros(count, dtype=np.int64)
    together = coins.flat if len(coins.digits) * count > _FEW_COINS else 0
    _add_digits(low, entropy, coins.digits[together:], count)
    if together:
        low <<= together
        low |= _flat_digits(entropy, coins.scale, together, count)
    drawn: NDArray[Any] = low
    for index in flip(entropy, coins.tail, count).nonzero()[0].tolist():
        total = int(drawn[index]) + (_run_of_heads(entropy, coins.tail) << len(coins.digits))
        if total > _LARGEST_INT64 // 2:
            drawn = drawn.astype(object)
        drawn[index] = total
    return drawn


def _add_digits(drawn: Integers, entropy: Entropy, digits: tuple[Chance, ...], count: int) -> None:
    """Add the binary digits, eight to a byte and then eight bytes to a word."""
    octets = drawn.view(np.uint8).reshape(count, 8)[:, :: 1 if sys.byteorder == "little" else -1]
    if 0 < len(digits) * count <= _FEW_COINS:
        packed = np.packbits(flip_several(entropy, digits, count), axis=0, bitorder="little")
        octets[:, : len(packed)] = packed.T
        return
    for first in range(0, len(digits), 8):
        *lower, octet = (flip(entropy, digit, count).view(np.uint8) for digit in digits[first : first + 8])
        for heads in reversed(lower):
            # Doubling is much quicker than shifting by a number of places.
            octet += octet
            octet |= heads
        octets[:, first // 8] = octet


def _flat_digits(entropy: Entropy, scale: Fraction, places: int, count: int) -> Integers:
    """Return numbers below 2^places, P[l] proportional to e^(-l / scale), by rejection from uniform ones."""
    least, rate, words = 1 - 2**places / scale, float(1 / scale), -(-places // entropy.word_bits)

    def proposed(size: int) -> tuple[Integers, Bools]:
        # Of more bits than an int64 has, those that are shifted out are not asked for.
        fresh = fractions_of_one(entropy, size, words)
        fresh &= (1 << places) - 1
        kept = flip_likely(
            entropy,
            size,
            least,
            # |error| < 2^-50: the exponent is below 1, and right to a few parts in 2^53.
            lambda where: np.exp(fresh[where] * -rate),
            lambda index: exponential(int(fresh[index]) / scale),
        )
        return fresh, kept

    drawn, kept = proposed(count)
    missing = np.flatnonzero(~kept)
    while missing.size:
        # An eighth more than is missing is enough in nearly all cases; of those kept the first ones are taken.
        fresh, kept = proposed(missing.size * 9 // 8 + (16 if missing.size > 8 else 0))
        fresh = fresh[kept][: missing.size]
        drawn[missing[: fresh.size]] = fresh
        missing = missing[fresh.size :]
    return drawn


def _run_of_heads(entropy: Entropy, chance: Chance) -> int:
    """Return one plus the number of further heads before the first tails."""
    units = 1
    while flip(entropy, chance, 1)[0]:
        units += 1
    return units


def _geometric_of_any_size(entropy: Entropy, scale: Fraction, count: int) -> NDArray[Any]:
    coins = _coins(scale)
    total: NDArray[Any] = np.zeros(count, dtype=object)
    for first in range(0, len(coins.digits), 56):
        part = np.zeros(count, dtype=np.int64)
        _add_digits(part, entropy, coins.digits[first : first + 56], count)
        total = total + part.astype(object) * (1 << first)
    above: Bools = flip(entropy, coins.tail, count)
    for index in np.flatnonzero(above):
        total[index] += _run_of_heads(entropy, coins.tail) << len(coins.digits)
    return total

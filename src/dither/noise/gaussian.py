"""Exact discrete Gaussian noise, and continuous Gaussian noise rounded to a grid.

Rejection from Laplace noise (Canonne, Kamath and Steinke 2020): the number of rejections is independent of the value
that is accepted. The acceptance coin is decided by a float with a proven margin, or exactly where that cannot decide.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dither.exact import sqrt_up
from dither.noise.chances import Chance, RationalChance, exponential
from dither.noise.coins import MARGIN, Bools, Floats, extend, flip, flip_each, fractions_of_one
from dither.noise.entropy import Entropy
from dither.noise.laplace import BLOCK, LARGEST_INT64_SCALE, Integers, blockwise, discrete_laplace, geometric

_HALF = RationalChance(Fraction(1, 2))
# Whole parts beyond this saturate: what is added to them saturates before (``dither.mechanisms.core.values``).
_LARGEST = 2**63 - 2
# How many words of the fractional part of a continuous variable are drawn at first.
FRACTION_WORDS = 3


class _Proposal(NamedTuple):
    """A Laplace distribution for proposals, and the exponents of their acceptance probabilities.

    These are square * (|y| - centre)^2 for integers y, and square * z^2 - linear * G + constant for others.
    """

    scale: Fraction
    centre: Fraction
    square: Fraction
    linear: Fraction
    constant: Fraction
    floats: tuple[float, float, float, float]


@lru_cache(maxsize=256)
def _proposal(variance: Fraction) -> _Proposal:
    """Return the proposal for a variance, its scale a multiple of an eighth near sigma: acceptance is about 0.76."""
    scale = Fraction(max(1, math.ceil(8 * sqrt_up(variance))), 8)
    exact = variance / scale, 1 / (2 * variance), 1 / scale, variance / (2 * scale * scale)
    centre, square, linear, constant = exact
    return _Proposal(scale, *exact, (float(centre), float(square), float(linear), float(constant)))


def discrete_gaussian(entropy: Entropy, variance: Fraction, count: int) -> NDArray[Any]:
    """Return discrete Gaussian variables, P[x] proportional to e^(-x^2 / (2 * variance)) on the integers."""
    proposal = _proposal(variance)
    if proposal.scale > LARGEST_INT64_SCALE:
        return _accepted(count, lambda size: _block_of_any_size(entropy, proposal, size), object)
    # Accept |y| with e^-((|y| - variance / scale)^2 / (2 variance)).
    centre, rate = proposal.floats[:2]

    def block(size: int) -> NDArray[Any]:
        proposed = discrete_laplace(entropy, proposal.scale, size)
        likely = np.abs(proposed).astype(np.float64)
        likely -= centre
        likely *= likely
        likely *= -rate
        # |error| < 2^-40: the exponent is right to 2^-44 where it is below 45, and e^-45 is below 2^-64.
        np.exp(likely, out=likely)
        accepted = flip_each(entropy, likely, lambda index: _acceptance(int(proposed[index]), proposal))
        kept: NDArray[Any] = proposed.compress(accepted)
        return kept

    return _accepted(count, block, np.int64)


def _acceptance(proposed: int, proposal: _Proposal) -> Chance:
    return exponential((abs(proposed) - proposal.centre) ** 2 * proposal.square)


def _block_of_any_size(entropy: Entropy, proposal: _Proposal, size: int) -> NDArray[Any]:
    proposed = discrete_laplace(entropy, proposal.scale, size)
    accepted = [bool(flip(entropy, _acceptance(int(y), proposal), 1)[0]) for y in proposed]
    kept: NDArray[Any] = proposed[np.array(accepted, dtype=bool)]
    return kept


def _accepted(count: int, block: Callable[[int], NDArray[Any]], dtype: Any) -> NDArray[Any]:
    """Return the first ``count`` accepted draws, from as many blocks as needed."""
    drawn: NDArray[Any] = np.empty(count, dtype=dtype)
    filled = 0
    while filled < count:
        # A third more than is missing: enough in most cases, and a public number.
        size = min(BLOCK, (count - filled) * 4 // 3 + (16 if count > 1 else 0)) or 1
        fresh = block(size)[: count - filled]
        if fresh.dtype == object:
            drawn = drawn.astype(object)
        drawn[filled : filled + fresh.size] = fresh
        filled += fresh.size
    return drawn


class _Continuous(NamedTuple):
    """Absolute values of continuous Gaussian variables: the integer part, and a prefix of the fractional part."""

    whole: Integers
    prefix: Integers
    longer: dict[int, tuple[int, int]]


def rounded_gaussian(
    entropy: Entropy, variance: Fraction, offsets: Floats, exact_offset: Callable[[int], Fraction]
) -> Integers:
    """Return floor(offset + Z) for continuous Gaussian variables Z, with exactly that law.

    |Z| = G + U is proposed with G geometric and U uniform, and accepted with probability
    e^-(z^2 / (2 variance) - G / t + variance / (2 t^2)). U is drawn lazily: as many bits as acceptance and rounding
    need, which are compared as intervals.

    Args:
        entropy: the source of bits.
        variance: the variance of Z, between 1 and 2^112.
        offsets: numbers in [0, 1], each within 2^-40 of the true offset.
        exact_offset: the true offset at an index.

    """
    first_bits = FRACTION_WORDS * entropy.word_bits

    def block(start: int, size: int) -> Integers:
        absolute = absolute_gaussian(entropy, variance, size)
        negative = flip(entropy, _HALF, size)
        # floor(r + G + U) is G + [U >= 1 - r]; floor(r - G - U) is -G - [U > r].
        here = offsets[start : start + size]
        boundary = np.where(negative, here, 1 - here)
        gap = absolute.prefix * 2.0**-first_bits - boundary
        carry: Bools = gap >= MARGIN
        unclear = ~carry & (gap + 2.0**-first_bits > -MARGIN)
        for index in {*np.flatnonzero(unclear).tolist(), *absolute.longer}:
            exact = exact_offset(start + index)
            prefix, bits = absolute.longer.get(index, (int(absolute.prefix[index]), first_bits))
            carry[index] = _passes(entropy, exact if negative[index] else 1 - exact, prefix, bits)
        drawn = absolute.whole + carry
        drawn[negative] *= -1
        return drawn

    return blockwise(offsets.size, block)


def _passes(entropy: Entropy, boundary: Fraction, prefix: int, bits: int) -> bool:
    """Return whether the uniform variable that begins with ``prefix`` is at least ``boundary``."""
    while True:
        if prefix >= boundary * 2**bits:
            return True
        if prefix + 1 <= boundary * 2**bits:
            return False
        prefix, bits = extend(entropy, prefix, bits)


def absolute_gaussian(entropy: Entropy, variance: Fraction, count: int) -> _Continuous:
    """Return absolute values of continuous Gaussian variables, as far as their bits are drawn."""
    whole, prefix = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    longer: dict[int, tuple[int, int]] = {}
    filled = 0
    while filled < count:
        size = min(BLOCK, (count - filled) * 4 // 3 + (16 if count > 1 else 0)) or 1
        fresh = _absolute_block(entropy, variance, size)
        kept = min(count - filled, fresh.whole.size)
        whole[filled : filled + kept] = fresh.whole[:kept]
        prefix[filled : filled + kept] = fresh.prefix[:kept]
        longer |= {filled + index: more for index, more in fresh.longer.items() if index < kept}
        filled += kept
    return _Continuous(whole, prefix, longer)


def _absolute_block(entropy: Entropy, variance: Fraction, size: int) -> _Continuous:
    proposal, word_bits = _proposal(variance), entropy.word_bits
    _, square, linear, constant = proposal.floats
    first_bits = FRACTION_WORDS * word_bits
    whole = geometric(entropy, proposal.scale, size)
    prefix = fractions_of_one(entropy, size, FRACTION_WORDS)
    units = whole.astype(np.float64)
    z = units + prefix * 2.0**-first_bits
    likely = np.exp(-(z * z * square - units * linear + constant))
    words = entropy.words(size)
    scaled = words - likely * 2.0**word_bits
    # Acceptance falls as U grows, by at most w e^(-(w - 1)^2 / 2) < 1.34 per unit of U: the variance is at least 1.
    slack = (MARGIN + 2 * 2.0**-first_bits) * 2.0**word_bits
    accepted: Bools = scaled <= -1.0 - slack
    longer: dict[int, tuple[int, int]] = {}
    for index in np.flatnonzero((scaled < slack) & ~accepted).tolist():
        accepted[index], longer[index] = _settle_acceptance(
            entropy,
            proposal,
            int(whole[index]),
            (int(prefix[index]), first_bits),
            (int(words[index]), word_bits),
        )
    position = np.cumsum(accepted) - 1
    kept = {int(position[index]): more for index, more in longer.items() if accepted[index]}
    return _Continuous(np.minimum(whole[accepted], _LARGEST).astype(np.int64), prefix[accepted], kept)


def _settle_acceptance(
    entropy: Entropy,
    proposal: _Proposal,
    whole: int,
    fraction: tuple[int, int],
    coin: tuple[int, int],
) -> tuple[bool, tuple[int, int]]:
    """Return whether z = whole + U is accepted, and the prefix of U as far as it was drawn."""
    below = proposal.constant - whole * proposal.linear

    def acceptance(prefix: int, bits: int) -> Chance:
        z = Fraction((whole << bits) + prefix, 1 << bits)
        return exponential(z * z * proposal.square + below)

    while True:
        (prefix, bits), (word, coin_bits) = fraction, coin
        low, _ = acceptance(prefix + 1, bits).bounds(coin_bits)
        _, high = acceptance(prefix, bits).bounds(coin_bits)
        if word < low:
            return True, fraction
        if word >= high:
            return False, fraction
        fraction, coin = extend(entropy, prefix, bits), extend(entropy, word, coin_bits)

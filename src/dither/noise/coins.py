"""Exact coins, many at a time.

A coin compares a uniform word with the first bits of its probability and is decided unless the two agree: with 16-bit
words once in 65,536. Only then are more bits drawn, one word after the other, and compared with more bits of the
probability. The law of every coin is exact; one in 65,536 takes longer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dither.noise.chances import Chance
from dither.noise.entropy import Entropy, Tosser

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Places = NDArray[np.intp]

#: A float probability handed to ``flip_each`` may be wrong by this much; the error then only costs a refinement.
MARGIN = 2.0**-30


def flip(entropy: Entropy, chance: Chance, count: int) -> Bools:
    """Return ``count`` independent coins that are heads with exactly the probability ``chance``."""
    if isinstance(entropy, Tosser):
        return np.array([entropy.toss(chance) for _ in range(count)], dtype=bool)
    words = entropy.words(count)
    low, high = chance.bounds(entropy.word_bits)
    heads: Bools = np.less(words, low)
    if low != high:
        # Where there is none, which is the rule, this is the quickest way to see it.
        for index in (words == low).nonzero()[0].tolist():
            heads[index] = settle(entropy, chance, int(words[index]), entropy.word_bits)
    return heads


def flip_several(entropy: Entropy, chances: Sequence[Chance], count: int) -> Bools:
    """Return ``count`` independent coins for each of several probabilities, a row for each, from one draw of words."""
    if isinstance(entropy, Tosser):
        tossed = [entropy.toss(chance) for chance in chances for _ in range(count)]
        return np.array(tossed, dtype=bool).reshape(len(chances), count)
    words = entropy.words(len(chances) * count).reshape(len(chances), count)
    bounds = _floors(tuple(chances), entropy.word_bits)
    heads: Bools = words < bounds
    for row, place in zip(*(places.tolist() for places in (words == bounds).nonzero()), strict=True):
        heads[row, place] = settle(entropy, chances[row], int(words[row, place]), entropy.word_bits)
    return heads


@lru_cache(maxsize=256)
def _floors(chances: tuple[Chance, ...], bits: int) -> NDArray[np.int64]:
    """Return the floor of each probability times 2^bits, in a column; callers must not change it."""
    return np.array([chance.bounds(bits)[0] for chance in chances], dtype=np.int64)[:, None]


def flip_each(entropy: Entropy, approximate: Floats, chance: Callable[[int], Chance]) -> Bools:
    """Return one coin for each probability.

    Args:
        entropy: the source of bits.
        approximate: float probabilities, each within MARGIN of the true one.
        chance: the true probability at an index, asked for only where the float cannot decide.

    """
    if isinstance(entropy, Tosser):
        return np.array([entropy.toss(chance(index)) for index in range(approximate.size)], dtype=bool)
    return _compare(entropy, entropy.words(approximate.size), approximate, chance)


def flip_likely(
    entropy: Entropy,
    count: int,
    least: Fraction,
    approximate: Callable[[Places], Floats],
    chance: Callable[[int], Chance],
) -> Bools:
    """Return one coin for each of ``count`` probabilities that are all at least ``least``.

    A word that lies below the least probability decides without the true one being looked at: for most coins.

    Args:
        entropy: the source of bits.
        count: how many coins.
        least: what no probability is below.
        approximate: float probabilities at some places, each within MARGIN of the true one.
        chance: the true probability at an index, asked for only where the float cannot decide.

    """
    if isinstance(entropy, Tosser):
        return np.array([entropy.toss(chance(index)) for index in range(count)], dtype=bool)
    words = entropy.words(count)
    # The whole word lies below: word + 1 <= least * 2^bits.
    heads: Bools = words < math.floor(least * 2**entropy.word_bits)
    unsure = np.flatnonzero(~heads)
    heads[unsure] = _compare(entropy, words[unsure], approximate(unsure), lambda index: chance(int(unsure[index])))
    return heads


def _compare(
    entropy: Entropy, words: NDArray[np.uint16], approximate: Floats, chance: Callable[[int], Chance]
) -> Bools:
    """Return the coins whose uniform variables begin with these words."""
    bits = entropy.word_bits
    scaled = np.subtract(words, approximate * 2.0**bits)
    slack = MARGIN * 2.0**bits
    # Heads when the whole word lies below p: word + 1 <= p * 2^bits; tails when word >= p * 2^bits.
    heads: Bools = scaled <= -1.0 - slack
    for index in ((scaled < slack) & ~heads).nonzero()[0].tolist():
        heads[index] = settle(entropy, chance(index), int(words[index]), bits)
    return heads


def settle(entropy: Entropy, chance: Chance, prefix: int, bits: int) -> bool:
    """Return the coin whose uniform variable begins with ``prefix``, drawing more words while it is undecided."""
    while True:
        low, high = chance.bounds(bits)
        if prefix < low:
            return True
        if prefix >= high:
            return False
        prefix, bits = extend(entropy, prefix, bits)


def extend(entropy: Entropy, prefix: int, bits: int) -> tuple[int, int]:
    """Return the prefix of a uniform variable made one word longer, and its new length."""
    return (prefix << entropy.word_bits) | int(entropy.words(1)[0]), bits + entropy.word_bits


def fractions_of_one(entropy: Entropy, count: int, words: int = 3) -> NDArray[np.int64]:
    """Return the first ``words`` words of ``count`` uniform variables on [0, 1), as integers."""
    drawn = entropy.words(count * words).reshape(words, count)
    prefix: NDArray[np.int64] = drawn[0].astype(np.int64)
    for word in drawn[1:]:
        prefix <<= entropy.word_bits
        prefix |= word
    return prefix

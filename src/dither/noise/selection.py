"""Exact selection: one of n candidates with probability proportional to e^(rate * score).

One uniform variable is compared with the cumulative weights, in float64 with a proven margin, and exactly where that
cannot decide. The time depends on the number n of candidates only, but for one draw in
about 2^39 / n, whose exact decision also depends on how many scores differ.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.noise.chances import Chance, exponential
from dither.noise.coins import Bools, Floats, extend, flip_each, fractions_of_one
from dither.noise.entropy import Entropy
from dither.noise.laplace import Integers

_WORDS = 3
# Float weights have a relative error of at most 2^-41: exponents below 800 are right to 2^-41.8, exp to a few 2^-53.
# Both a running sum and the total carry it.
_WEIGHT_ERROR = 2.0**-40
_NEGLIGIBLE = 800.0
_LARGE_RATE = Fraction(2**60)


def _gaps(scores: Integers) -> NDArray[np.uint64]:
    """Return each score's distance below the best; unsigned, so that no difference overflows."""
    gaps: NDArray[np.uint64] = np.subtract(scores.max(), scores, dtype=np.int64, casting="unsafe").view(np.uint64)
    return gaps


def select(entropy: Entropy, scores: Integers, rate: Fraction, count: int) -> Integers:
    """Return ``count`` independent indices, each i with probability proportional to e^(rate * scores[i])."""
    gaps = _gaps(scores)
    weights = _weights(gaps, rate)
    cumulative, sum_error = _running_sums(weights)
    total = float(cumulative[-1])
    bits = _WORDS * entropy.word_bits
    prefixes = fractions_of_one(entropy, count, _WORDS)
    margin = total * (_WEIGHT_ERROR + 2 * sum_error)
    point = prefixes * (total * 2.0**-bits)
    low = np.searchsorted(cumulative, point - margin, side="right")
    high = np.searchsorted(cumulative, point + (total * 2.0**-bits + margin), side="left")
    # Past the last boundary there is only the last candidate.
    chosen = np.minimum(high, scores.size - 1).astype(np.int64)
    for index in np.flatnonzero(low != chosen):
        chosen[index] = _select_exactly(entropy, gaps, rate, int(prefixes[index]), bits)
    return chosen


def _running_sums(weights: Floats) -> tuple[Floats, float]:
    """Return the running sums, and a bound on their error as a share of the total.

    Summed in blocks of about the square root of n, so that the error grows with the root and not with n.
    """
    width = math.isqrt(weights.size) + 1
    padded = np.zeros(-(-weights.size // width) * width)
    padded[: weights.size] = weights
    blocks = np.cumsum(padded.reshape(-1, width), axis=1)
    blocks[1:] += np.cumsum(blocks[:-1, -1])[:, None]
    return blocks.reshape(-1)[: weights.size], (width + len(blocks) + 1) * 2.0**-53


def _weights(gaps: NDArray[np.uint64], rate: Fraction) -> Floats:
    # A gap of one is negligible at any rate above 800, so a rate too large for a float changes nothing.
    exponents = np.minimum(gaps.astype(np.float64) * float(min(rate, _LARGE_RATE)), _NEGLIGIBLE)
    weights: Floats = np.exp(-exponents)
    return weights


def _select_exactly(entropy: Entropy, gaps: NDArray[np.uint64], rate: Fraction, prefix: int, bits: int) -> int:
    """Return the candidate in whose interval the uniform variable that begins with ``prefix`` falls."""
    distinct, kind = np.unique(gaps, return_inverse=True)
    chances: list[Chance] = [exponential(int(gap) * rate) for gap in distinct]
    while True:
        # Enough precision for every weight to be known much better than the prefix is.
        precision = bits + gaps.size.bit_length() + 8
        bounds = [chance.bounds(precision) for chance in chances]
        lows = np.cumsum(np.array([bounds[k][0] for k in kind], dtype=object))
        highs = np.cumsum(np.array([bounds[k][1] for k in kind], dtype=object))
        # The boundary after candidate i lies between lows[i] / highs[-1] and highs[i] / lows[-1].
        inside = np.flatnonzero(lows * 2**bits >= (prefix + 1) * highs[-1])
        chosen = int(inside[0]) if inside.size else gaps.size - 1
        if chosen == 0 or highs[chosen - 1] * 2**bits <= prefix * lows[-1]:
            return chosen
        prefix, bits = extend(entropy, prefix, bits)


def permute_and_flip(entropy: Entropy, scores: Integers, rate: Fraction, count: int) -> Integers:
    """Return ``count`` independent winners of permute-and-flip.

    Walking through a random permutation and stopping at the first heads is the same as flipping every coin and
    choosing uniformly among the heads; the latter takes the same time whatever the scores.
    """
    gaps = _gaps(scores)
    likely = _weights(gaps, rate)
    exact: dict[int, Chance] = {}

    def chance(index: int) -> Chance:
        candidate = index % scores.size
        if candidate not in exact:
            exact[candidate] = exponential(int(gaps[candidate]) * rate)
        return exact[candidate]

    heads: Bools = flip_each(entropy, np.tile(likely, count), chance).reshape(count, scores.size)
    return pick(entropy, heads)


def pick(entropy: Entropy, heads: Bools) -> Integers:
    """Return, for each row, the index of one of its heads, all equally likely; each row has at least one."""
    counts = heads.sum(axis=1)
    ranks = uniform_ranks(entropy, counts)
    # The rank-th heads of a row is where the running count passes the rank for the first time.
    running = np.cumsum(heads, axis=1)
    picked: Integers = np.argmax(running > ranks[:, None], axis=1).astype(np.int64)
    return picked


def uniform_ranks(entropy: Entropy, counts: Integers) -> Integers:
    """Return, for each count c, a uniform integer below c: floor(U * c) with U drawn as far as needed."""
    bits = _WORDS * entropy.word_bits
    prefixes = fractions_of_one(entropy, counts.size, _WORDS)
    ranks = np.empty(counts.size, dtype=np.int64)
    for index, (prefix, count) in enumerate(zip(prefixes.tolist(), counts.tolist(), strict=True)):
        length = bits
        while (prefix * count) >> length != ((prefix + 1) * count - 1) >> length:
            prefix, length = extend(entropy, prefix, length)
        ranks[index] = (prefix * count) >> length
    return ranks


def uniform_below(entropy: Entropy, limit: int, count: int) -> NDArray[Any]:
    """Return uniform integers below ``limit``: random bits of its length, redrawn while too large."""
    bits = (limit - 1).bit_length()
    words, dtype = math.ceil(bits / entropy.word_bits), np.int64 if bits < 63 else object
    drawn: NDArray[Any] = np.empty(count, dtype=dtype)
    filled = 0
    while filled < count:
        size = count - filled
        fresh: NDArray[Any] = np.zeros(size, dtype=dtype)
        for word in entropy.words(size * words).reshape(words, size) if words else ():
            fresh = (fresh << entropy.word_bits) | word.astype(dtype)
        # The low bits: the high ones may have passed through the sign of an int64.
        fresh &= (1 << bits) - 1
        fresh = fresh[fresh < limit]
        drawn[filled : filled + fresh.size] = fresh
        filled += fresh.size
    return drawn

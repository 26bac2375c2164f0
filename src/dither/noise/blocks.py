"""Exact selection among blocks of equal candidates: block i with probability proportional to m_i * e^(rate * score_i).

The same comparison of one uniform variable with the running sums of the weights as in ``selection``, with every weight
multiplied by an integer. A candidate that stands for 2^500 others costs no more than one that stands for itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dither.noise.chances import exponential
from dither.noise.coins import extend, fractions_of_one
from dither.noise.entropy import Entropy
from dither.noise.laplace import Integers
from dither.noise.selection import _WEIGHT_ERROR, _WORDS, _gaps, _running_sums, _weights

#: With more, the smallest weight that is computed, e^-800 times this, would no longer be negligible.
LARGEST_MULTIPLICITY = 2**512


def select_block(
    entropy: Entropy, scores: Integers, multiplicities: Sequence[int] | Integers, rate: Fraction, count: int
) -> Integers:
    """Return ``count`` independent indices, each i with probability proportional to m_i * e^(rate * scores[i])."""
    gaps = _gaps(scores)
    # Rounding a multiplicity and multiplying by it add two units of 2^-53 to a weight's error, which is below 2^-40.
    # An exponent cut off at 800 leaves an error of at most 2^512 e^-800 < 2^-640 in a weight; the total is at least 1.
    if isinstance(multiplicities, np.ndarray):
        members = multiplicities.astype(np.float64)
    else:
        members = np.array([float(m) for m in multiplicities])
    weights = _weights(gaps, rate) * members
    cumulative, sum_error = _running_sums(weights)
    total = float(cumulative[-1])
    bits = _WORDS * entropy.word_bits
    prefixes = fractions_of_one(entropy, count, _WORDS)
    margin = total * (_WEIGHT_ERROR + 2 * sum_error)
    point = prefixes * (total * 2.0**-bits)
    low = np.searchsorted(cumulative, point - margin, side="right")
    high = np.searchsorted(cumulative, point + (total * 2.0**-bits + margin), side="left")
    chosen = np.minimum(high, scores.size - 1).astype(np.int64)
    for index in np.flatnonzero(low != chosen):
        exactly = [int(m) for m in multiplicities]
        chosen[index] = _select_exactly(entropy, gaps, exactly, rate, int(prefixes[index]), bits)
    return chosen


def _select_exactly(
    entropy: Entropy,
    gaps: NDArray[np.uint64],
    multiplicities: Sequence[int],
    rate: Fraction,
    prefix: int,
    bits: int,
) -> int:
    """Return the block in whose interval the uniform variable that begins with ``prefix`` falls."""
    distinct, kind = np.unique(gaps, return_inverse=True)
    chances = [exponential(int(gap) * rate) for gap in distinct]
    while True:
        # Enough precision for every weight to be known much better than the prefix is.
        precision = bits + sum(multiplicities).bit_length() + 8
        bounds = [chance.bounds(precision) for chance in chances]
        each = list(zip(multiplicities, kind.tolist(), strict=True))
        lows = np.cumsum(np.array([m * bounds[k][0] for m, k in each], dtype=object))
        highs = np.cumsum(np.array([m * bounds[k][1] for m, k in each], dtype=object))
        # The boundary after block i lies between lows[i] / highs[-1] and highs[i] / lows[-1].
        inside = np.flatnonzero(lows * 2**bits >= (prefix + 1) * highs[-1])
        chosen = int(inside[0]) if inside.size else gaps.size - 1
        if chosen == 0 or highs[chosen - 1] * 2**bits <= prefix * lows[-1]:
            return chosen
        prefix, bits = extend(entropy, prefix, bits)

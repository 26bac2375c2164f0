"""Exact draws from a ladder: rungs of growing width around a centre, of which each loses weight by the same factor.

Rung t has n_t places on both sides together, and each place the weight q^t, q = e^-rate. Since the n_t never fall, the
rung is drawn in two steps: n_t is the sum of the growths d_s over s up to t, so that the weight of all rungs is the sum
of d_s q^s (1 + q + q^2 + ...). Draw s with probability proportional to d_s q^s, which are finitely many, and add a
geometric variable: no sum without an end is cut off.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.noise.blocks import select_block
from dither.noise.entropy import Entropy
from dither.noise.laplace import Integers, geometric
from dither.noise.selection import uniform_ranks


def ladder(entropy: Entropy, ends: Integers, rate: Fraction, count: int) -> NDArray[Any]:
    """Return ``count`` independent steps from the centre, as Python integers.

    Args:
        entropy: the source of bits.
        ends: how far each rung reaches, at least two of them: the first rung has the places from -ends[0] to ends[0],
            and each next one those beyond it on either side. No rung has fewer places than the one before it; after
            the last, each reaches as much farther as that did.
        rate: the logarithm of the factor between rungs.
        count: how many.

    """
    places = np.concatenate([[2 * ends[0] + 1], 2 * np.diff(ends)])
    rungs = np.arange(places.size)
    grown = np.diff(places, prepend=0)
    chosen = select_block(entropy, -rungs, grown.tolist(), rate, count)
    further = geometric(entropy, 1 / rate, count)
    last, listed = places.size - 1, ends.tolist()
    found = [start + int(more) for start, more in zip(chosen.tolist(), further.tolist(), strict=True)]
    ranks = uniform_ranks(entropy, places[np.array([min(rung, last) for rung in found], dtype=np.int64)])
    drawn = np.empty(count, dtype=object)
    for index, (rung, rank) in enumerate(zip(found, ranks.tolist(), strict=True)):
        if not rung:
            drawn[index] = rank - listed[0]
            continue
        before = listed[min(rung, last) - 1] + max(rung - last, 0) * (listed[last] - listed[last - 1])
        # Even ranks lie above the centre, odd ones below it: rank 0 and 1 are the nearest places of the rung.
        size = before + 1 + rank // 2
        drawn[index] = -size if rank % 2 else size
    return drawn

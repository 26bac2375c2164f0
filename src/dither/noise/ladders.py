"""Exact draws from a ladder: rungs of growing width around a centre, of which each loses weight by the same factor.

Rung t has w_t places on either side, and each place the weight q^t, q = e^-rate. Since widths never fall, the rung is
drawn in two steps: w_t is the sum of the growths d_s over s up to t, so that the weight of all rungs is the sum of
d_s q^s (1 + q + q^2 + ...). Draw s with probability proportional to d_s q^s, which are finitely many, and add a
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
from dither.noise.selection import uniform_below, uniform_ranks


def ladder(entropy: Entropy, widths: Integers, rate: Fraction, count: int) -> NDArray[Any]:
    """Return ``count`` independent steps from the centre, as Python integers.

    Args:
        entropy: the source of bits.
        widths: how many places each rung has on one side: at least 1, and never falling.
        rate: the logarithm of the factor between rungs.
        count: how many.

    """
    rungs = np.arange(widths.size)
    grown = np.diff(widths, prepend=0)
    chosen = select_block(entropy, -rungs, grown.tolist(), rate, count)
    further = geometric(entropy, 1 / rate, count)
    signs, shifts = uniform_below(entropy, 2, count), uniform_below(entropy, 2, count)
    below = np.concatenate([[0], np.cumsum(widths)]).tolist()
    last = widths.size - 1
    steps, wide = [], []
    for start, more in zip(chosen.tolist(), further.tolist(), strict=True):
        rung = start + int(more)
        inside = min(rung, last)
        wide.append(int(widths[inside]))
        steps.append(below[inside] + (rung - inside) * int(widths[last]))
    places = uniform_ranks(entropy, np.array(wide, dtype=np.int64))
    drawn = np.empty(count, dtype=object)
    for index, (step, place) in enumerate(zip(steps, places.tolist(), strict=True)):
        # With a fair coin a place more: half of the weight of the centre on either side of it.
        size = step + place + int(shifts[index])
        drawn[index] = size if signs[index] else -size
    return drawn

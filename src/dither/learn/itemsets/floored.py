"""Supports above a floor: how methods that choose among all sets read them.

The floor is the larger of two private numbers, the support of the last set wanted less a public margin and the support
of the first set that is not listed. Each is a rank statistic of supports, or one less a constant. A transaction more
moves every support, and so every rank statistic and their maximum, by 0 or 1 in one direction: scores raised to the
floor move one way by at most 1. At most ``listed`` sets lie above the floor, however many there are.
"""

from __future__ import annotations

import math
from fractions import Fraction

from dither.learn.itemsets.mining import Miner
from dither.learn.itemsets.universe import Universe
from dither.mechanisms.floored_choice import Floored

#: How often a set at the floor may be chosen in place of a better one, about.
_FAILURE = 0.05


def margin_of(scale: Fraction, universe: Universe, chosen: int) -> int:
    """Return how far below the last wanted set supports are told apart: sets further down are rarely chosen."""
    return math.ceil(float(scale) * (math.log(chosen / _FAILURE) + math.log(universe.size)))


def floored(miner: Miner, universe: Universe, chosen: int, margin: int, listed: int) -> Floored:
    """Return the supports of at most ``listed`` sets, by index, above a floor that all other sets share. Private."""
    most = max(listed, chosen)
    found = miner.top(most + 1, universe.longest)
    last = found[chosen - 1][1] if len(found) >= chosen else 0
    first_unlisted = found[most][1] if len(found) > most else 0
    floor = max(last - margin, first_unlisted, 0)
    return Floored(floor, {universe.rank(itemset): support for itemset, support in found if support > floor})

"""Groups of values: neighbours are joined until every group has enough records to stand out from noise.

A pair of attributes of a hundred values each has ten thousand cells, and noise on every one of them. On groups it has a
few hundred, and within a group the shares of its values come from the counts of the single attribute. The more noise,
the fewer groups: dependence within a group is lost, noise on another cell is saved.

Post-processing only: what is handed over has been released.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dither.errors import InvalidParameter
from dither.estimate.isotonic import finite_vector

#: More values than this are first joined into this many pieces of equal mass.
_LOOKED_AT: Final = 4096
#: A group is left alone by the frequent value that follows it if it has this share of the wanted mass.
_ENOUGH: Final = 0.25
_STEP: Final = 1.08


def group_values(masses: ArrayLike, most: int) -> NDArray[np.int64]:
    """Return each value's group number: at most ``most`` groups of neighbours, of about equal mass.

    Args:
        masses: a number of at least 0 for each value, in their order.
        most: the most groups; with no more values than that, each has its own.

    A value with more than the mass of a group has one to itself.

    >>> group_values([1, 1, 9, 1, 1, 1], 3).tolist()
    [0, 0, 1, 2, 2, 2]

    """
    given = finite_vector("masses", masses)
    if most < 1 or not (given >= 0).all():
        raise InvalidParameter("masses", f"{given.size} numbers into {most} groups", "numbers of at least 0, most >= 1")
    if given.size <= most:
        return np.arange(given.size, dtype=np.int64)
    # Where nothing is known to have any mass all values are alike.
    weights = given / given.sum() if given.sum() > 0 else np.full(given.size, 1 / given.size)
    pieces = np.arange(given.size)
    if given.size > _LOOKED_AT:
        middles = np.cumsum(weights) - weights / 2
        pieces = np.unique(np.floor(middles * _LOOKED_AT), return_inverse=True)[1]
    found = _joined(np.bincount(pieces, weights).astype(np.float64), most)
    return found[pieces]


def _joined(weights: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    """Return groups of neighbours whose masses are as small as their number allows."""
    wanted, listed = 1 / most, weights.tolist()
    while True:
        groups, group, held = [], -1, 2.0
        for weight in listed:
            stands_alone = weight >= wanted and held > _ENOUGH * wanted
            if group < 0 or stands_alone or held + weight / 2 > wanted:
                group, held = group + 1, 0.0
            held += weight
            groups.append(group)
        if group < most:
            return np.array(groups, dtype=np.int64)
        wanted *= _STEP

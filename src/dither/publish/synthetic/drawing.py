"""Drawing values for records in groups: each value as often as the group's distribution says, rounded down or up.

What remains after rounding down is sampled systematically, with starting points spread evenly over the groups, so that
sums over many small groups come out right as well. Independent draws would add noise of their own to every marginal.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dither.estimate.public_randomness import Generator
from dither.publish.histograms.common import Floats

#: Successive multiples of it, modulo 1, are spread as evenly as can be (Knuth, volume 3, section 6.4).
_GOLDEN: Final = (math.sqrt(5) - 1) / 2
_CELLS_AT_A_TIME: Final = 2**22


def dealt(
    groups: NDArray[np.int64],
    merged: NDArray[np.int64],
    places: NDArray[np.int64],
    shares: Floats,
    generator: Generator,
) -> NDArray[np.int64]:
    """Return a value for every record with a known merged value, spread evenly over its members, group by group.

    For too many values to write out a distribution for each merged one: points that are spread as evenly as can
    be are dealt to the records in the order of their groups, and each chooses the member that it falls on.

    Args:
        groups: the group of each record.
        merged: the merged value of each record.
        places: the merged value of each value.
        shares: the share of each value in its merged one.
        generator: public randomness.

    >>> from dither.estimate.public_randomness import public_generator
    >>> everyone = np.zeros(89, dtype=np.int64)
    >>> drawn = dealt(everyone, everyone, np.array([0, 1, 0]), np.array([0.5, 1.0, 0.5]), public_generator())
    >>> sorted(set(drawn.tolist())), 40 <= drawn.tolist().count(0) <= 49
    ([0, 2], True)

    """
    members = np.argsort(places, kind="stable")
    many = np.bincount(places)
    ends = np.cumsum(np.concatenate([[0], many]))
    # Those of one merged value fill one unit, whatever rounding did to their shares.
    sums = np.bincount(places, weights=shares, minlength=many.size)
    even = np.where(sums[places] > 0, shares / np.where(sums[places] > 0, sums[places], 1.0), 1 / many[places])
    reached = np.cumsum(even[members])
    shuffled = generator.permutation(groups.size)
    order = shuffled[np.argsort(groups[shuffled], kind="stable")]
    points = np.empty(groups.size)
    points[order] = (float(generator.random()) + _GOLDEN * np.arange(groups.size)) % 1.0
    found = np.searchsorted(reached, merged + points, side="right")
    return members[np.clip(found, ends[merged], ends[merged + 1] - 1)]


def assigned(groups: NDArray[np.int64], law: Floats, generator: Generator) -> NDArray[np.int64]:
    """Return a value for every record: in each group, each value as often as its distribution says, rounded.

    Args:
        groups: the group of each record.
        law: a row for each group with a weight for each value; the last digits of a group where there are fewer rows.
        generator: public randomness.

    >>> from dither.estimate.public_randomness import public_generator
    >>> drawn = assigned(np.zeros(8, dtype=np.int64), np.array([[0.75, 0.25]]), public_generator())
    >>> np.bincount(drawn).tolist()
    [6, 2]

    """
    # In random order within each group, so that nothing else that is known of a record decides.
    shuffled = generator.permutation(groups.size)
    order = shuffled[np.argsort(groups[shuffled], kind="stable")]
    present, sizes = np.unique(groups, return_counts=True)
    values = np.empty(groups.size, dtype=np.int64)
    start = float(generator.random())
    at_a_time = max(1, _CELLS_AT_A_TIME // law.shape[1])
    done = 0
    for first in range(0, present.size, at_a_time):
        block = slice(first, first + at_a_time)
        weights = law[present[block] % len(law)]
        totals = weights.sum(axis=1, keepdims=True)
        # A group without any mass, by rounding errors alone, gets equal shares.
        weights = np.where(totals > 0, weights, 1.0)
        ends = np.cumsum(weights, axis=1)
        ends *= (sizes[block] / ends[:, -1])[:, None]
        ends[:, -1] = sizes[block]
        turns = (start + _GOLDEN * np.arange(first, first + len(ends))) % 1.0
        whole = np.floor(ends + turns[:, None]).astype(np.int64)
        counts = whole.copy()
        counts[:, 1:] -= whole[:, :-1]
        taken = int(sizes[block].sum())
        values[order[done : done + taken]] = np.repeat(np.tile(np.arange(law.shape[1]), len(ends)), counts.reshape(-1))
        done += taken
    return values

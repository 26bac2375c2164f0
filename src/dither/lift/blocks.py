"""Blocks: few sets of axes that contain many, so that an engine counts several marginals in one statement."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dither.lift.attributes import Axes


def merged(
    sizes: Sequence[int], sets: Sequence[Axes], *, most_cells: int, most_axes: int | None = None
) -> tuple[Axes, ...]:
    """Return few sets of axes such that every given set lies within one of them.

    Greedy: begin with a set that lies in none yet, and add the axis that takes in most others, while there is room. A
    set that has more cells or axes by itself stays as it is.

    Args:
        sizes: of all axes.
        sets: what has to be held.
        most_cells: the most cells of a returned set.
        most_axes: the most axes that it may have; None for any number.

    >>> merged((2, 2, 2), [(0, 1), (1, 2), (0, 2)], most_cells=8)
    ((0, 1, 2),)
    >>> merged((2, 2, 2), [(0, 1), (1, 2), (0, 2)], most_cells=4)
    ((0, 1), (1, 2), (0, 2))

    """
    cells = [math.prod(sizes[axis] for axis in axes) for axes in sets]
    orders = np.array([len(axes) for axes in sets], dtype=np.int64)
    sums = np.array([sum(axes) for axes in sets], dtype=np.int64)
    # In which sets each axis lies.
    within: list[list[int]] = [[] for _ in sizes]
    for place, axes in enumerate(sets):
        for axis in axes:
            within[axis].append(place)
    having = [np.array(places, dtype=np.int64) for places in within]
    left = np.ones(len(sets), dtype=bool)
    found: list[Axes] = []
    # The largest first: they have the least room for others.
    for first in sorted(range(len(sets)), key=cells.__getitem__, reverse=True):
        if not left[first]:
            continue
        # How many axes of each set are missing, and their sum: where one is missing that is its number.
        missing, which = orders.copy(), sums.copy()
        gain = np.zeros(len(sizes), dtype=np.int64)
        left &= missing > 0
        chosen: list[int] = []
        fresh, room = list(sets[first]), most_cells // cells[first]
        while fresh:
            for axis in fresh:
                touched = having[axis]
                missing[touched] -= 1
                which[touched] -= axis
                left[touched[missing[touched] == 0]] = False
                short = touched[left[touched] & (missing[touched] == 1)]
                np.add.at(gain, which[short], 1)
            chosen += fresh
            gain[chosen] = 0
            usable = np.where(np.array(sizes) <= room, gain, 0)
            best = int(usable.argmax())
            fresh = [best] if usable[best] and (most_axes is None or len(chosen) < most_axes) else []
            room //= sizes[best]
        left[first] = False
        found.append(tuple(sorted(chosen)))
    return tuple(found)

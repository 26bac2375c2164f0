"""Covering designs: few sets of attributes that hold every pair, or every triple, together. Public, made without data.

Greedy: each view begins with the first group that no view holds yet, and takes the attribute that brings the most new
groups, while it is small enough. Not the fewest views there are (tables of those exist for some numbers of attributes),
but never far: the tests compare with the bound of Schönheim.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from dither.errors import InvalidParameter
from dither.exact import whole
from dither.lift.attributes import Attributes, Axes

_MOST_GROUPS = 2**20


def covering_views(
    attributes: Attributes, *, strength: int = 2, largest: int = 8, most_cells: int = 256
) -> tuple[tuple[str, ...], ...]:
    """Return views such that every ``strength`` attributes lie together in one of them.

    Args:
        attributes: names and sizes.
        strength: how many attributes lie together: 2 for pairs.
        largest: how many attributes a view has at most.
        most_cells: how many cells a view has at most, but for single groups that have more.

    >>> covering_views(Attributes(tuple("abcde"), (2,) * 5), largest=3)
    (('a', 'b', 'c'), ('a', 'd', 'e'), ('b', 'c', 'd'), ('b', 'c', 'e'))

    """
    if not isinstance(attributes, Attributes):
        raise InvalidParameter("attributes", attributes, "the attributes of the table")
    count = len(attributes.names)
    together = whole("strength", strength, least=1, most=count)
    size = whole("largest", largest, least=together, most=16)
    cells = whole("most_cells", most_cells, least=1)
    groups = list(combinations(range(count), together))
    if len(groups) > _MOST_GROUPS:
        raise InvalidParameter("strength", strength, f"one of at most {_MOST_GROUPS} groups of attributes")
    missing, views = set(groups), []
    for group in groups:
        if group in missing:
            view = _grown(attributes, group, missing, size, cells)
            missing.difference_update(combinations(view, together))
            views.append(attributes.named(view))
    return tuple(views)


def _grown(
    attributes: Attributes, view: tuple[int, ...], missing: set[tuple[int, ...]], size: int, cells: int
) -> tuple[int, ...]:
    """Return a view with the attributes that bring the most groups that are missing, one after the other."""
    together = len(view)
    while len(view) < size:
        best, found = 0, -1
        for axis in range(len(attributes.names)):
            if axis in view or attributes.cells_of((*view, axis)) > cells:
                continue
            rests = combinations(view, together - 1)
            gain = sum(tuple(sorted((*rest, axis))) in missing for rest in rests)
            if gain > best:
                best, found = gain, axis
        if found < 0:
            break
        view = tuple(sorted((*view, found)))
    return view


def merged(
    sizes: Sequence[int], sets: Sequence[Axes], *, most_cells: int, most_axes: int | None = None
) -> tuple[Axes, ...]:
    """Return few sets of axes, such that every given set lies within one of them.

    Greedy: begin with a set that lies in none yet, and add the axis that takes in most others, while there is room. A
    set that has more cells or axes by itself stays as it is.

    Args:
        sizes: of all axes.
        sets: what has to be held.
        most_cells: that one of the returned sets may have.
        most_axes: that it may have; any number where None.

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

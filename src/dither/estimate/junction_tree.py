"""Junction trees: the order in which a distribution given by small factors can be summed exactly.

Sets of attributes that are measured together make a graph; adding edges until every cycle has a chord (triangulation)
gives cliques, and the cliques can be joined into a tree in which the cliques that hold any one attribute are connected
(the running intersection property; Lauritzen and Spiegelhalter 1988, section 4). Exact inference costs as many steps
as the cliques have cells together. The least such number is hard to find (Arnborg, Corneil and Proskurowski 1987), so
attributes are eliminated greedily, twice: by the size of the clique that arises and by the number of edges that are
added; the smaller tree is taken. The same sets always give the same tree.

Guaranteed: every set lies within a clique, every attribute in at least one, and ``cells`` is what the tree holds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from dither.errors import InvalidParameter

#: The numbers of attributes, in increasing order.
Axes = tuple[int, ...]


@dataclass(frozen=True)
class JunctionTree:
    """Cliques, each after its parent, and the attributes they share.

    Args:
        sizes: the number of values of each attribute.
        cliques: sets of attributes, in increasing order; a parent comes before its children.
        parents: the place of the parent of each clique; -1 for the first one, which is the root.

    """

    sizes: tuple[int, ...]
    cliques: tuple[Axes, ...]
    parents: tuple[int, ...]

    @cached_property
    def separators(self) -> tuple[Axes, ...]:
        """The attributes that each clique shares with its parent; none for the root and between unconnected parts."""
        return tuple(
            () if parent < 0 else tuple(axis for axis in clique if axis in self.cliques[parent])
            for clique, parent in zip(self.cliques, self.parents, strict=True)
        )

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The places of the children of each clique."""
        return tuple(
            tuple(place for place, parent in enumerate(self.parents) if parent == here)
            for here in range(len(self.cliques))
        )

    @property
    def cells(self) -> int:
        """The total number of cells of all cliques."""
        return sum(math.prod(self.sizes[axis] for axis in clique) for clique in self.cliques)

    def holding(self, axes: Iterable[int]) -> int | None:
        """Return the place of the smallest clique that contains all of these attributes, or None."""
        wanted = set(axes)
        places = [place for place, clique in enumerate(self.cliques) if wanted.issubset(clique)]
        return min(places, key=lambda place: (self._cells_at(place), place), default=None)

    def joining(self, axis: int) -> list[int]:
        """Return, for every attribute, the most cells that are added if it and ``axis`` must share a clique.

        Between a clique that holds ``axis`` and one that holds the other attribute, ``axis`` is handed on through new
        cliques, each made of two neighbouring separators and it. That is a junction tree again, so the bound holds for
        the best tree, though not for every greedy one. It takes one walk over the tree.
        """
        added = [
            0 if any(axis in clique and other in clique for clique in self.cliques) else -1
            for other in range(len(self.sizes))
        ]
        around: list[list[tuple[int, Axes]]] = [[] for _ in self.cliques]
        for place, parent in enumerate(self.parents):
            if parent >= 0:
                around[place].append((parent, self.separators[place]))
                around[parent].append((place, self.separators[place]))
        # The clique, the separator by which it was entered, and the cells of the new cliques on the way to it.
        waiting: list[tuple[int, Axes | None, int]] = [
            (place, None, 0) for place, clique in enumerate(self.cliques) if axis in clique
        ]
        done = {place for place, _, _ in waiting}
        while waiting:
            place, entered, cells = waiting.pop()
            if entered is not None:
                last = self.sizes[axis] * math.prod(self.sizes[other] for other in entered)
                for other in self.cliques[place]:
                    cost = cells + last * (1 if other in entered else self.sizes[other])
                    added[other] = cost if added[other] < 0 else min(added[other], cost)
            for next_place, separator in around[place]:
                if next_place not in done:
                    done.add(next_place)
                    handed = 0
                    if entered is not None:
                        both = set(entered) | set(separator)
                        handed = self.sizes[axis] * math.prod(self.sizes[other] for other in both)
                    waiting.append((next_place, separator, cells + handed))
        return added

    def _cells_at(self, place: int) -> int:
        return math.prod(self.sizes[axis] for axis in self.cliques[place])


def junction_tree(sizes: Sequence[int], sets: Iterable[Sequence[int]]) -> JunctionTree:
    """Return a tree of cliques that contain the given sets of attributes.

    Args:
        sizes: the number of values of each attribute.
        sets: the numbers of attributes that must lie in one clique; attributes in none get separate cliques.

    >>> tree = junction_tree([2, 3, 4, 5], [(0, 1), (1, 2), (0, 2)])
    >>> tree.cliques, tree.parents, tree.cells
    (((0, 1, 2), (3,)), (-1, 0), 29)

    """
    shape = _checked_sizes(sizes)
    return _joined(shape, _cliques(shape, _checked(shape, sets)))


def model_cells(sizes: Sequence[int], sets: Iterable[Sequence[int]]) -> int:
    """Return how many cells the tree of these sets would have, without building it.

    >>> model_cells([2, 3, 4, 5], [(0, 1), (1, 2), (2, 3), (0, 3)])
    64

    """
    shape = _checked_sizes(sizes)
    return _cells(shape, _cliques(shape, _checked(shape, sets)))


def _checked_sizes(sizes: Sequence[int]) -> tuple[int, ...]:
    shape = tuple(int(size) for size in sizes)
    if not shape or min(shape) < 1:
        raise InvalidParameter("sizes", shape, "at least one attribute, each of at least one value")
    return shape


def _checked(shape: tuple[int, ...], sets: Iterable[Sequence[int]]) -> frozenset[int]:
    """Return the sets as masks, with at least one for each attribute."""
    masks = {1 << axis for axis in range(len(shape))}
    for given in sets:
        if not all(0 <= axis < len(shape) for axis in given):
            raise InvalidParameter("sets", tuple(given), f"numbers of attributes below {len(shape)}")
        mask = 0
        for axis in given:
            mask |= 1 << axis
        if mask:
            masks.add(mask)
    return frozenset(masks)


@lru_cache(maxsize=64)
def _cliques(shape: tuple[int, ...], masks: frozenset[int]) -> tuple[int, ...]:
    """Return the cliques of the better of two greedy triangulations."""
    neighbours = [0] * len(shape)
    for mask in masks:
        for axis in _members(mask):
            neighbours[axis] |= mask
    for axis in range(len(shape)):
        neighbours[axis] &= ~(1 << axis)
    logs = [math.log2(size) for size in shape]
    found = [_eliminated(neighbours, logs, by_fill) for by_fill in (False, True)]
    return tuple(min(found, key=lambda cliques: (_cells(shape, cliques), sorted(cliques))))


def _eliminated(neighbours: list[int], logs: list[float], by_fill: bool) -> list[int]:
    """Return the largest sets that arise when attributes are eliminated one by one, cheapest first."""
    around, cliques = list(neighbours), []
    left = set(range(len(around)))
    costs: dict[int, tuple[float, ...]] = {}
    while left:
        for axis in left:
            if axis not in costs:
                costs[axis] = _cost(around, logs, axis, by_fill)
        chosen = min(left, key=lambda axis: (costs[axis], axis))
        near = around[chosen]
        cliques.append(near | 1 << chosen)
        left.discard(chosen)
        changed = near
        for axis in _members(near):
            missing = near & ~around[axis] & ~(1 << axis)
            around[axis] = (around[axis] | near) & ~(1 << axis) & ~(1 << chosen)
            if missing and by_fill:
                # Whoever knows two attributes that are now joined has fewer edges left to add.
                for other in _members(around[axis]):
                    changed |= 1 << other
        for axis in _members(changed):
            costs.pop(axis, None)
    largest: list[int] = []
    for clique in sorted(cliques, key=lambda mask: (-mask.bit_count(), mask)):
        if not any(clique & ~other == 0 for other in largest):
            largest.append(clique)
    return largest


def _cost(around: list[int], logs: list[float], axis: int, by_fill: bool) -> tuple[float, ...]:
    near = around[axis]
    cells = logs[axis] + sum(logs[other] for other in _members(near))
    if not by_fill:
        return (cells,)
    added = sum((near & ~around[other]).bit_count() - 1 for other in _members(near))
    return (added / 2, cells)


def _cells(shape: tuple[int, ...], cliques: Iterable[int]) -> int:
    return sum(math.prod(shape[axis] for axis in _members(clique)) for clique in cliques)


def _members(mask: int) -> list[int]:
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found


@lru_cache(maxsize=64)
def _joined(shape: tuple[int, ...], cliques: tuple[int, ...]) -> JunctionTree:
    """Return the tree of largest separators: for the cliques of a triangulated graph, a junction tree."""
    # The largest clique is the root: it is then summed over once, not once for each of its neighbours.
    sizes = {clique: _cells(shape, [clique]) for clique in cliques}
    waiting = sorted(cliques, key=lambda clique: (-sizes[clique], clique))
    order, parents = [waiting.pop(0)], [-1]
    # For each clique that waits: its best parent so far.
    best = dict.fromkeys(waiting, 0)
    while waiting:
        chosen = max(waiting, key=lambda clique: ((clique & order[best[clique]]).bit_count(), sizes[clique], clique))
        waiting.remove(chosen)
        order.append(chosen)
        parents.append(best.pop(chosen))
        for clique in waiting:
            if (clique & chosen).bit_count() > (clique & order[best[clique]]).bit_count():
                best[clique] = len(order) - 1
    return JunctionTree(shape, tuple(tuple(_members(clique)) for clique in order), tuple(parents))

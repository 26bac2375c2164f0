"""Covering designs: few sets of attributes such that every pair, or triple, lies in one of them. Made without data.

Greedy: each view begins with the first group that no view holds yet, and takes the attribute that brings the most new
groups, while it is small enough. For pairs the lines of a finite plane, whose points are blocks of attributes, are
tried as well: 20 views of 8 for 32 attributes, which is the fewest there can be, where greed needs 28. The smallest
design found is returned; the tests compare it with the bound of Schönheim.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations

from dither.errors import InvalidParameter
from dither.exact import whole
from dither.lift.attributes import Attributes, Axes
from dither.publish.marginals.planes import ORDERS, affine_plane, projective_plane

_MOST_GROUPS = 2**20


def covering_views(
    attributes: Attributes, *, strength: int = 2, largest: int = 8, most_cells: int = 256
) -> tuple[tuple[str, ...], ...]:
    """Return views such that every ``strength`` attributes lie together in one of them.

    Args:
        attributes: names and sizes.
        strength: how many attributes lie together: 2 for pairs.
        largest: how many attributes a view has at most.
        most_cells: the most cells of a view, except for single groups that have more.

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
            views.append(view)
    designs = [_needed(views, together)]
    if together == 2:
        lined = (_needed(lines, together) for lines in _on_planes(count, size))
        designs += [found for found in lined if all(attributes.cells_of(view) <= cells for view in found)]
    fewest = min(designs, key=lambda found: (len(found), sum(map(attributes.cells_of, found))))
    return tuple(map(attributes.named, fewest))


def _on_planes(count: int, size: int) -> Iterator[list[Axes]]:
    """Return covers of all pairs: attributes in blocks of equal size, a view for every line through the blocks."""
    for block in range(1, size // 2 + 1):
        points = -(-count // block)
        for order in ORDERS:
            for plane, there, on_line in (
                (affine_plane, order**2, order),
                (projective_plane, order**2 + order + 1, order + 1),
            ):
                if points <= there and on_line * block <= size:
                    held = [
                        tuple(range(point * count // points, (point + 1) * count // points)) for point in range(points)
                    ]
                    views = (sum((held[point] for point in line if point < points), ()) for line in plane(order))
                    yield [tuple(sorted(view)) for view in views if len(view) > 1]


def _needed(views: list[Axes], together: int) -> list[Axes]:
    """Return views without those whose groups all lie in others, smallest first."""
    held = Counter(group for view in views for group in combinations(view, together))
    kept = list(views)
    for view in sorted(views, key=len):
        groups = list(combinations(view, together))
        if len(kept) > 1 and all(held[group] > 1 for group in groups):
            held.subtract(groups)
            kept.remove(view)
    return kept


def _grown(
    attributes: Attributes, view: tuple[int, ...], missing: set[tuple[int, ...]], size: int, cells: int
) -> tuple[int, ...]:
    """Return a view grown by the attributes that cover the most missing groups, one after another."""
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

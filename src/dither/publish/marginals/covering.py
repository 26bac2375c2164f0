"""Covering designs: few sets of attributes such that every pair, or triple, lies in one of them. Made without data.

Greedy: each view begins with the first group that no view holds yet, and takes the attribute that brings the most new
groups, while it is small enough. Not the fewest views there are (tables of those exist for some numbers of attributes),
but never far: the tests compare with the bound of Schönheim.
"""

from __future__ import annotations

from itertools import combinations

from dither.errors import InvalidParameter
from dither.exact import whole
from dither.lift.attributes import Attributes

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
            views.append(attributes.named(view))
    return tuple(views)


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

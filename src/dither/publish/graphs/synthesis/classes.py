"""Classes of nodes: which a released number says, and how many private edges lie between them.

``between`` and ``neighbours_in`` count private edges; their classes must be made of released numbers alone.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from dither.publish.graphs.simple_graph import Ints
from dither.publish.graphs.synthesis.settled import Floats

#: Classes of degrees; their bounds grow by about the same factor.
CLASSES: Final = 24


def by_rank(ordered: Ints, named: Floats) -> Ints:
    """Return the degrees in order, given to the nodes by the order of their own noisy degrees.

    >>> by_rank(np.array([1, 2, 5]), np.array([9.0, -1.0, 3.0])).tolist()
    [5, 1, 2]
    """
    degrees = np.empty(len(ordered), dtype=np.int64)
    degrees[np.argsort(named, kind="stable")] = ordered
    return degrees


def classes_of(degrees: Ints) -> Ints:
    """Return the class of each degree: 0 for 0, then bounds that grow by the same factor up to the largest.

    >>> classes_of(np.array([0, 1, 2, 3])).tolist()
    [0, 1, 2, 3]
    """
    top = max(int(degrees.max(initial=0)), 2)
    bounds = np.unique(np.rint(np.geomspace(1, top, CLASSES - 1)).astype(np.int64))
    return np.asarray(np.searchsorted(bounds, degrees, side="right"), dtype=np.int64)


def between(edges: Ints, classes: Ints, many: int) -> Ints:
    """Return the number of edges between each two classes, those within a class with it; an edge is in one cell.

    >>> between(np.array([(0, 1), (1, 2)]), np.array([0, 0, 1]), 2).tolist()
    [1, 1, 0]
    """
    low, high = np.sort(classes[edges], axis=1).T
    place = low * many - low * (low - 1) // 2 + high - low
    return np.bincount(place, minlength=many * (many + 1) // 2).astype(np.int64)


def square_of(cells: Any, many: int) -> Floats:
    """Return cells as a symmetric table.

    >>> square_of([1, 2, 3], 2).tolist()
    [[1.0, 2.0], [2.0, 3.0]]
    """
    table = np.zeros((many, many))
    table[np.triu_indices(many)] = cells
    return table + np.triu(table, 1).T


def neighbours_in(edges: Ints, blocks: Ints, nodes: int, many: int) -> Ints:
    """Return how many neighbours each node has in each block: an edge adds 1 in two places.

    >>> neighbours_in(np.array([(0, 1), (0, 2)]), np.array([0, 1, 1]), 3, 2).tolist()
    [[0, 2], [1, 0], [1, 0]]
    """
    one, other = edges[:, 0], edges[:, 1]
    places = np.concatenate([one * many + blocks[other], other * many + blocks[one]])
    return np.bincount(places, minlength=nodes * many).reshape(nodes, many).astype(np.int64)

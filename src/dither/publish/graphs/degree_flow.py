"""How many nodes have more edges than each degree, in a graph cut to a bound at each node by a convex programme.

Every edge gets a share between 0 and 1, the shares at one node add up to at most the bound, and among the ways to do
that the sum of the squares of what nodes fall short of the bound is least. The sums at the nodes are then unique: the
degrees, where none is above the bound. One node moves all of them by at most twice the bound together. The programme
is never solved: what nodes have up to a level, added up, is a maximum flow with whole rooms, so all is in integers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dither.publish.graphs.simple_graph import Ints, SimpleGraph


def nodes_above(graph: SimpleGraph, bound: int, degrees: Sequence[int]) -> Ints:
    """Return about how many nodes exceed each of some degrees below the bound.

    A node whose shares add up to a number between a degree and the next counts in part; what all count is whole.

    >>> from dither.publish.graphs.simple_graph import graph_of
    >>> nodes_above(graph_of([(0, 1), (0, 2), (0, 3), (0, 4)], 5), 2, [0, 1]).tolist()
    [3, 1]
    """
    levels = sorted({level for degree in degrees for level in (degree, degree + 1)})
    up_to = dict(zip(levels, added_up(graph, bound, levels), strict=True))
    return np.array([up_to[degree + 1] - up_to[degree] for degree in degrees], dtype=np.int64)


def added_up(graph: SimpleGraph, bound: int, levels: Sequence[int]) -> list[int]:
    """Return for each of some levels up to the bound what all nodes have, of each no more than the level.

    >>> from dither.publish.graphs.simple_graph import graph_of
    >>> added_up(graph_of([(0, 1), (0, 2), (0, 3), (0, 4)], 5), 2, [1, 2])
    [3, 4]
    """
    cut = _Cut(graph, bound)
    return [cut.up_to(level) for level in levels]


class _Cut:
    """A graph of which only the nodes above a bound set limits."""

    def __init__(self, graph: SimpleGraph, bound: int) -> None:
        self.bound = bound
        is_full = graph.degrees > bound
        both = np.concatenate([graph.edges, graph.edges[:, ::-1]])
        # Arcs from a node to its neighbours above the bound; those to other neighbours always have room.
        self.arcs = both[is_full[both[:, 1]]]
        self.free = graph.degrees - np.bincount(self.arcs[:, 0], minlength=graph.nodes)

    def up_to(self, level: int) -> int:
        """Return what all nodes have, of each no more than a level."""
        free = int(np.minimum(self.free, level).sum())
        wanting = self.arcs[self.free[self.arcs[:, 0]] < level]
        if not len(wanting):
            return free
        givers, left = np.unique(wanting[:, 0], return_inverse=True)
        takers, right = np.unique(wanting[:, 1], return_inverse=True)
        return free + _flow(level - self.free[givers], left, right, np.full(len(takers), self.bound))


def _flow(wants: Ints, left: Ints, right: Ints, rooms: Ints) -> int:
    """Return the largest flow through arcs of room 1 from nodes on the left to nodes on the right."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import maximum_flow

    size, source = len(wants) + len(rooms), len(wants) + len(rooms)
    start, middle = np.arange(len(wants)), np.arange(len(rooms)) + len(wants)
    rows = np.concatenate([np.full(len(wants), source), left, middle])
    columns = np.concatenate([start, right + len(wants), np.full(len(rooms), source + 1)])
    room = np.concatenate([wants, np.ones(len(left), dtype=np.int64), rooms]).astype(np.int32)
    network = csr_matrix((room, (rows, columns)), shape=(size + 2, size + 2))
    leaving = maximum_flow(network, source, source + 1).flow[source]
    # Added up in 64 bits: single arcs fit 32, their sum need not.
    return int(leaving.data.astype(np.int64).sum())

"""The states of all pairs: a path on a network, with rings removed by a public number of copies of every vertex.

The m-th visit of a vertex goes to its copy m; a path that visits a vertex more often than there are copies goes on
there without the further visits. Copies of neighbours are neighbours, copies of one vertex are not. So the vertices are
public, whatever the path does, and only the states of pairs are private. One changed edge of the network changes the
states of copies^2 pairs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import typed, whole
from dither.mechanisms.pair_response import NO_EDGE, OTHER_EDGE, PATH_EDGE


@dataclass(frozen=True)
@typed
class Network:
    """Public vertices, numbered from 0, with a public number of copies each, and the edges that its users know.

    Args:
        vertices: how many there are.
        edges: pairs of vertices, the smaller number first.
        copies: how often a path may visit one vertex.

    """

    vertices: int
    edges: frozenset[tuple[int, int]]
    copies: int = 1

    def __post_init__(self) -> None:
        """Refuse edges that are not pairs of vertices in order."""
        whole("vertices", self.vertices, least=2, most=1024)
        whole("copies", self.copies, least=1, most=16)
        for edge in self.edges:
            if not (len(edge) == 2 and 0 <= edge[0] < edge[1] < self.vertices):
                raise InvalidParameter("edges", edge, f"two vertices below {self.vertices}, the smaller first")

    @classmethod
    def of(cls, vertices: int, edges: Iterable[tuple[int, int]], copies: int = 1) -> Network:
        """Return the network with edges in any order."""
        return cls(vertices, frozenset((min(edge), max(edge)) for edge in edges), copies)

    @property
    def size(self) -> int:
        """How many vertices there are with all copies; copy m of vertex v has the number m * vertices + v."""
        return self.vertices * self.copies

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """All pairs of copies, in the order of the states."""
        return [(first, second) for first in range(self.size) for second in range(first + 1, self.size)]

    def joins(self, first: int, second: int) -> bool:
        """Return whether the vertices of two copies are neighbours."""
        one, other = first % self.vertices, second % self.vertices
        return (min(one, other), max(one, other)) in self.edges


@dataclass(frozen=True)
class PathStates:
    """A path without rings, and the state of each pair.

    Args:
        path: the copies in the order of the visits.
        states: for each pair of the network, in its order.

    """

    path: tuple[int, ...]
    states: NDArray[np.int64]


def path_states(network: Network, path: Iterable[int]) -> PathStates:
    """Return the states of all pairs of a path; steps that are no edges, and visits beyond the copies, are left out.

    >>> ring = Network.of(3, [(0, 1), (1, 2), (0, 2)], copies=2)
    >>> path_states(ring, [0, 1, 2, 0]).path
    (0, 1, 2, 3)
    """
    visits = dict.fromkeys(range(network.vertices), 0)
    kept: list[int] = []
    for vertex in path:
        known = isinstance(vertex, int | np.integer) and 0 <= int(vertex) < network.vertices
        if not known or visits[int(vertex)] == network.copies:
            continue
        copy = visits[int(vertex)] * network.vertices + int(vertex)
        if kept and not network.joins(kept[-1], copy):
            continue
        visits[int(vertex)] += 1
        kept.append(copy)
    steps = {(min(pair), max(pair)) for pair in pairwise(kept)}
    states = [PATH_EDGE if pair in steps else OTHER_EDGE if network.joins(*pair) else NO_EDGE for pair in network.pairs]
    return PathStates(tuple(kept), np.array(states, dtype=np.int64))

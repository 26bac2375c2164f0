"""Small graphs on which mechanisms are checked: lists of edges, and neighbours one edge apart where much moves."""

from __future__ import annotations

from itertools import combinations
from typing import Any

#: Seven nodes and eleven edges, with triangles, a hub and a node of its own.
SOME_EDGES = [(0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (2, 3), (3, 4), (4, 5)]
NODES = 7


def edge_neighbours() -> tuple[tuple[Any, Any, int], ...]:
    """Return pairs of graphs one edge apart: a pair with many common neighbours, a hub, a bridge, a single edge."""
    shared = [(end, other) for end in (0, 1) for other in range(2, NODES)]
    hub = [(0, other) for other in range(1, NODES)]
    cliques = [*combinations(range(3), 2), *combinations(range(3, 6), 2)]
    complete = list(combinations(range(NODES), 2))
    return (
        (shared, [*shared, (0, 1)], 1),
        ([*hub[:-1]], hub, 1),
        (cliques, [*cliques, (2, 3)], 1),
        ([], [(5, 6)], 1),
        (complete, complete[1:], 1),
        (SOME_EDGES, [*SOME_EDGES, (2, 4)], 1),
    )

"""Small graphs on which mechanisms are checked: edges, and neighbours one edge apart where much moves."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

from dither.data import Column, DataSet, Kind, Table
from dither.data.graphs import Graph
from dither.data.reference import ReferenceEngine
from dither.lift.edges import Edges
from dither.lift.lifted import Lifted
from dither.mechanisms.core.registry import Example
from dither.privacy import EDGE, NODE, PureDP

#: Seven nodes and nine edges, with triangles, a hub and a node of its own.
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


def node_neighbours() -> tuple[tuple[Any, Any, int], ...]:
    """Return pairs of graphs one node apart: a hub in and out, a bridge, all edges of one node, a single edge."""
    ring = [(node, (node + 1) % (NODES - 1)) for node in range(NODES - 1)]
    hub = [(node, NODES - 1) for node in range(NODES - 1)]
    complete = list(combinations(range(NODES), 2))
    return (
        (ring, [*ring, *hub], 1),
        ([*hub, *ring], ring, 1),
        (complete, [pair for pair in complete if 3 not in pair], 1),
        ([(0, 1), (3, 4)], [(0, 1), (3, 4), (1, 2), (2, 3)], 1),
        ([], [(5, 6)], 1),
        (SOME_EDGES, [pair for pair in SOME_EDGES if 0 not in pair], 1),
    )


def lifted_examples() -> Iterator[Example]:
    """Return a count lifted to a table of edges, with a limit of edges and without, and edges that push others out."""
    from dither.publish.graphs.ladder_count import LadderCount

    ends = tuple(Column(name, Kind.INTEGER, lower=1, upper=NODES) for name in ("one", "other"))
    for most in (None, 8):
        graph = Graph(("one", "other"), edges=most)
        dataset = DataSet("friends", (Table("friends", ends, "friends.csv", graph=graph),), EDGE)
        method = LadderCount(nodes=NODES, pattern="triangles", scale=4)
        pairs = tuple((_engine(dataset, one), _engine(dataset, other), 1) for one, other, _ in edge_neighbours())
        yield Example(Lifted(source=Edges(dataset, "friends"), method=method), _engine(dataset, SOME_EDGES), pairs)
    yield _where_nodes_are_protected(ends)


def _where_nodes_are_protected(ends: tuple[Column, ...]) -> Example:
    """Return edges with a chosen bound, lifted to a table whose nodes are protected."""
    from dither.publish.graphs.chosen_edges import ChosenEdges

    table = Table("friends", ends, "friends.csv", graph=Graph(("one", "other"), degree=4))
    dataset = DataSet("friends", (table,), NODE)
    method = ChosenEdges.calibrated(PureDP(1), nodes=NODES, bounds=(1, 2, 4))
    pairs = tuple((_engine(dataset, one), _engine(dataset, other), 1) for one, other, _ in node_neighbours())
    return Example(Lifted(source=Edges(dataset, "friends"), method=method), _engine(dataset, SOME_EDGES), pairs)


def _engine(dataset: DataSet, edges: list[tuple[int, int]]) -> ReferenceEngine:
    """Return edges as rows of a table, every other one in both directions, and a row that is no edge."""
    both = [pair for place, (one, other) in enumerate(edges) for pair in ((one, other), (other, one))[: 1 + place % 2]]
    rows = [{"one": one + 1, "other": other + 1} for one, other in both]
    return ReferenceEngine(dataset, {"friends": [*rows, {"one": 1, "other": None}]})

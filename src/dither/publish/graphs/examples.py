"""Small graphs on which mechanisms are checked: edges, and neighbours one edge apart where much moves."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

from dither.data import Column, DataSet, Kind, Table
from dither.data.graphs import Graph
from dither.data.reference import ReferenceEngine
from dither.lift.edge_groups import EdgeGroups
from dither.lift.edges import EdgeDegrees, Edges, EdgeWeights
from dither.lift.lifted import Lifted
from dither.mechanisms.core.registry import Example
from dither.mechanisms.geometric import Geometric
from dither.privacy import EDGE, NODE, WEIGHT, PureDP, Unit

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
        # A node of its own is joined; with a limit of eight edges this and the one before push out another.
        (SOME_EDGES[:8], [*SOME_EDGES[:8], (1, 6)], 1),
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


def weighted_rows() -> list[tuple[int, int, Any]]:
    """Return the edges with weights, one of them missing, one out of range, one edge twice."""
    return [(one, other, (one * 3 + other * 5) % 9) for one, other in SOME_EDGES] + [
        (6, 5, None),
        (5, 0, 99),
        (1, 0, 2),
    ]


def weight_neighbours() -> tuple[tuple[Any, Any, int], ...]:
    """Return pairs of graphs with the same edges and one other weight: of a bridge, a hub, a ring, a complete graph."""
    found = []
    complete = [(one, other, 3 + (one + other) % 2) for one, other in combinations(range(NODES), 2)]
    ring = [(node, (node + 1) % NODES, 2) for node in range(NODES)]
    hub = [(0, other, other) for other in range(1, NODES)]
    for rows in (complete, ring, hub, weighted_rows()):
        for place, weight in ((0, 8), (len(rows) // 2, 0)):
            one, other, _ = rows[place]
            found.append((rows, [*rows[:place], (one, other, weight), *rows[place + 1 :]], 1))
    return tuple(found)


def lifted_examples() -> Iterator[Example]:
    """Return methods lifted to tables of edges: with a limit of edges, where an edge pushes out others, and without."""
    from dither.publish.graphs.degree_sequence import DegreeSequence
    from dither.publish.graphs.ladder_count import LadderCount
    from dither.publish.graphs.spanning_tree import SpanningTreeCost

    ladder = LadderCount(nodes=NODES, pattern="triangles", scale=4)
    degrees = DegreeSequence(nodes=NODES, node=Geometric(scale=4))
    for most in (None, 8):
        dataset = friends_of(EDGE, most)
        pairs = tuple(
            (friends_engine(dataset, one), friends_engine(dataset, other), 1) for one, other, _ in edge_neighbours()
        )
        for source, method in (
            (Edges(dataset, "friends"), ladder),
            (EdgeDegrees(dataset, "friends"), degrees),
            (EdgeGroups(dataset, "friends", "side"), Geometric(scale=4, shape=(2, 2))),
        ):
            yield Example(Lifted(source=source, method=method), friends_engine(dataset, SOME_EDGES), pairs)
    roads = friends_of(WEIGHT, None)
    pairs = tuple((_roads(roads, one), _roads(roads, other), 1) for one, other, _ in weight_neighbours())
    tree = SpanningTreeCost(nodes=NODES, high=8, scale=2)
    yield Example(Lifted(source=EdgeWeights(roads, "friends"), method=tree), _roads(roads, weighted_rows()), pairs)
    yield _where_nodes_are_protected()


def friends_of(unit: Unit, most: int | None) -> DataSet:
    """Return a graph with weights and a public table of nodes."""
    ends = tuple(Column(name, Kind.INTEGER, lower=1, upper=NODES) for name in ("one", "other"))
    weight = Column("weight", Kind.INTEGER, lower=0, upper=8)
    graph = Graph(("one", "other"), edges=most, weight="weight", nodes="people")
    facts = (Column("node", Kind.INTEGER), Column("side", Kind.TEXT, categories=("left", "right")))
    people = Table("people", facts, "people.csv", is_public=True, key=("node",))
    return DataSet("friends", (Table("friends", (*ends, weight), "friends.csv", graph=graph), people), unit)


def _people() -> list[dict[str, Any]]:
    return [{"node": node, "side": "left" if node < 4 else "right"} for node in range(1, NODES)]


def _where_nodes_are_protected() -> Example:
    """Return edges with a chosen bound, lifted to a table whose nodes are protected."""
    from dither.publish.graphs.chosen_edges import ChosenEdges

    ends = tuple(Column(name, Kind.INTEGER, lower=1, upper=NODES) for name in ("one", "other"))
    table = Table("friends", ends, "friends.csv", graph=Graph(("one", "other"), degree=4))
    dataset = DataSet("friends", (table,), NODE)
    method = ChosenEdges.calibrated(PureDP(1), nodes=NODES, bounds=(1, 2, 4))
    pairs = tuple(
        (friends_engine(dataset, one), friends_engine(dataset, other), 1) for one, other, _ in node_neighbours()
    )
    return Example(Lifted(source=Edges(dataset, "friends"), method=method), friends_engine(dataset, SOME_EDGES), pairs)


def friends_engine(dataset: DataSet, edges: list[tuple[int, int]]) -> ReferenceEngine:
    """Return edges as rows of a table, every other one in both directions, and a row that is no edge."""
    both = [pair for place, (one, other) in enumerate(edges) for pair in ((one, other), (other, one))[: 1 + place % 2]]
    rows = [{"one": one + 1, "other": other + 1, "weight": 1} for one, other in both]
    return ReferenceEngine(dataset, {"friends": [*rows, {"one": 1, "other": None}], "people": _people()})


def _roads(dataset: DataSet, rows: list[tuple[int, int, Any]]) -> ReferenceEngine:
    """Return edges with their weights as rows of a table."""
    given = [{"one": one + 1, "other": other + 1, "weight": weight} for one, other, weight in rows]
    return ReferenceEngine(dataset, {"friends": given, "people": _people()})

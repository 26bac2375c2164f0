"""Random graphs and neighbours: four to twelve nodes of every degree, one to three edges, nodes or weights apart.

The worst change of a statistic depends on the degrees at both ends of an edge, on how many neighbours they share and on
what a node is joined to. So these are drawn: the degree first, then who the neighbours are, then everything else from
empty to complete. Where edges are taken one after the other, one that is taken decides about the next: long
paths and sparse trees carry a change farthest, so half of all graphs are sparse.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise
from typing import Any, Final, cast

from dither.data.reference import ReferenceEngine
from dither.privacy import Unit
from dither.testing.choices import Choices
from dither.testing.hostile import Pair

Edge = tuple[int, int]

LEAST_NODES: Final = 4
MOST_NODES: Final = 12
_FARTHEST: Final = 3


def is_edges(data: Any) -> bool:
    """Whether data is a graph as a list of pairs of nodes."""
    return isinstance(data, list | tuple | set | frozenset) and all(
        isinstance(edge, tuple) and len(edge) == 2 for edge in data
    )


def is_weighted(data: Any) -> bool:
    """Whether data is a graph as a list of two nodes and a weight."""
    return isinstance(data, list | tuple) and all(isinstance(edge, tuple) and len(edge) == 3 for edge in data)


def random_graph(nodes: int, choices: Choices) -> set[Edge]:
    """Return a graph of a random shape with its nodes in a random order, and sometimes with a few edges changed."""
    graph = choices.one(_SHAPES)(choices.shuffled(range(nodes)), choices)
    if choices.below(3) == 0:
        changed = {ordered(*choices.shuffled(range(nodes))[:2]) for _ in range(1 + choices.below(3))}
        graph = graph ^ changed
    return set(graph)


def _empty(order: list[int], choices: Choices) -> set[Edge]:
    return set()


def _complete(order: list[int], choices: Choices) -> set[Edge]:
    return {ordered(a, b) for a, b in combinations(order, 2)}


def _hubs(order: list[int], choices: Choices) -> set[Edge]:
    """Return one to three hubs joined to all others, or each of the others to one hub only."""
    many = 1 + choices.below(3)
    hubs, others = order[:many], order[many:]
    if choices.below(2):
        return {ordered(hub, other) for hub in hubs for other in others}
    return {ordered(choices.one(hubs), other) for other in others} | {ordered(hubs[0], hub) for hub in hubs[1:]}


def _path(order: list[int], choices: Choices) -> set[Edge]:
    """Return a path through all nodes or through some, or a ring."""
    end = len(order) if choices.below(2) else 2 + choices.below(len(order) - 1)
    ring = {ordered(order[0], order[end - 1])} if end > 2 and choices.below(3) == 0 else set()
    return {ordered(a, b) for a, b in pairwise(order[:end])} | ring


def _paths_in_order(order: list[int], choices: Choices) -> set[Edge]:
    """Return a path whose nodes have rising numbers, so that an order by numbers runs along it."""
    return _path(sorted(order), choices)


def _tree(order: list[int], choices: Choices) -> set[Edge]:
    """Return a tree: each node is joined to one of the last few before it."""
    back = choices.one((1, 2, 3, len(order)))
    return {ordered(order[place], order[place - 1 - choices.below(min(back, place))]) for place in range(1, len(order))}


def _cliques(order: list[int], choices: Choices) -> set[Edge]:
    """Return two to four cliques without an edge between them."""
    parts = 2 + choices.below(3)
    return {ordered(a, b) for part in range(parts) for a, b in combinations(order[part::parts], 2)}


def _two_sides(order: list[int], choices: Choices) -> set[Edge]:
    cut = 1 + choices.below(len(order) - 1)
    return {ordered(a, b) for a in order[:cut] for b in order[cut:]}


def _dense(order: list[int], choices: Choices) -> set[Edge]:
    return set(choices.some(sorted(_complete(order, choices)), choices.one((25, 50, 75, 90))))


def _sparse(order: list[int], choices: Choices) -> set[Edge]:
    """Return a graph in which a node has one to three edges on average."""
    return set(choices.some(sorted(_complete(order, choices)), 100 * (1 + choices.below(3)) // len(order)))


#: Sparse ones as often as all others.
_SHAPES: Final = (
    *(_empty, _complete, _hubs, _hubs, _cliques, _two_sides, _dense, _dense),
    *(_path, _path, _paths_in_order, _tree, _tree, _sparse, _sparse, _sparse),
)


def random_edge_pair(nodes: int, choices: Choices) -> tuple[set[Edge], set[Edge], int]:
    """Return two graphs one to three edges apart; the degrees at the ends of the first are drawn first."""
    graph = random_graph(nodes, choices)
    one, other = choices.shuffled(range(nodes))[:2]
    for end in (one, other) if choices.below(3) else ():
        _set_degree(graph, end, choices.below(nodes), nodes, choices)
    changed = {ordered(one, other)}
    while len(changed) < 1 + _extra(choices):
        changed.add(ordered(*choices.shuffled(range(nodes))[:2]))
    # Added in one graph and removed from another, in any mixture.
    return graph, graph ^ changed, len(changed)


def random_node_pair(nodes: int, choices: Choices) -> tuple[set[Edge], set[Edge], int]:
    """Return two graphs one to three nodes apart: all edges of such a node are in one, and none in the other."""
    graph, gone = random_graph(nodes, choices), choices.shuffled(range(nodes))[: 1 + _extra(choices)]
    _set_degree(graph, gone[0], choices.below(nodes), nodes, choices)
    if len(gone) == 1 or choices.below(2):
        return graph, {edge for edge in graph if not set(edge) & set(gone)}, len(gone)
    # One node leaves and another one comes.
    first, second = gone[0], gone[1]
    here = {edge for edge in graph if first not in edge}
    there = {edge for edge in graph if second not in edge}
    return here, there, 2


def graph_pairs(nodes: int, unit: Unit, choices: Choices, *, is_directed: bool = False) -> Iterator[Pair]:
    """Return lists of edges, in any order, with repeats and loops among them; in any direction unless that counts."""
    make = random_node_pair if unit.protects == "node" else random_edge_pair
    while True:
        here, there, apart = make(nodes, choices)
        yield (*listed_pair(here, there, choices, is_directed=is_directed), apart)


def listed_pair(
    here: set[Edge], there: set[Edge], choices: Choices, *, is_directed: bool
) -> tuple[list[Edge], list[Edge]]:
    """Return two graphs as lists; where directions count, an edge has the same one in both, and some lead back too."""
    if not is_directed:
        return _listed(here, choices), _listed(there, choices)
    turned = {edge: edge if choices.below(2) else edge[::-1] for edge in here | there}
    back = [edge[::-1] for edge in turned.values()] if choices.below(2) else []
    # Edges that lead back are the same on both sides: what differs is one direction of each edge that differs.
    kept = choices.some([edge for edge in back if ordered(*edge) in here & there], 30)
    lists = [choices.shuffled([*(turned[edge] for edge in sorted(graph)), *kept]) for graph in (here, there)]
    return lists[0], lists[1]


def weight_pairs(nodes: int, low: int, high: int, choices: Choices) -> Iterator[Pair]:
    """Return the same edges with weights of which one to three differ; some are missing, repeated or out of range."""
    odd = (None, low - 1, high + 1, 10**9, -(10**9), "x", 0.5, float("nan"))
    while True:
        edges = sorted(random_graph(nodes, choices)) or [(0, 1)]
        edges += choices.some(edges, 20)

        def weight() -> Any:
            return choices.one(odd) if choices.below(8) == 0 else low + choices.below(high - low + 1)

        here = [(*(edge if choices.below(2) else edge[::-1]), weight()) for edge in edges]
        if choices.below(3) == 0:
            here = [(*row[:2], low + choices.one((0, 0, high - low))) for row in here]
        there, changed = list(here), choices.shuffled(range(len(here)))[: 1 + _extra(choices)]
        for place in changed:
            there[place] = (*here[place][:2], choices.one((low, high, weight())))
        yield here, there, len(changed)


def edge_table_pairs(engine: ReferenceEngine, unit: Unit, choices: Choices) -> Iterator[Pair]:
    """Return tables of edges: both directions of an edge, repeats and odd cells; one to three units apart."""
    table = next(one for one in engine.dataset.tables if one.graph is not None)
    graph: Any = table.graph
    first, second = graph.ends
    column = table.column(first)
    low, high = (cast("int", end) for end in (column.lower, column.upper))
    nodes = high - low + 1
    public = {one.name: list(engine.frames[one.name]) for one in engine.dataset.tables if one is not table}
    others = [one for one in table.columns if one.name not in (first, second)]

    def built(edges: list[Any], weights: dict[Edge, Any]) -> ReferenceEngine:
        rows = []
        for one, other in edges:
            cells = {each.name: weights.get(ordered(one, other)) for each in others}
            rows.append({first: one + low, second: other + low, **cells})
        return ReferenceEngine(engine.dataset, {table.name: rows, **public})

    while True:
        make = random_node_pair if unit.protects == "node" else random_edge_pair
        here, there, apart = make(nodes, choices)
        weights = {edge: choices.one((0, 1, 8, 3, None)) for edge in here | there}
        if unit.protects == "weight":
            there, apart = here, min(apart, max(len(here), 1))
            changed = weights | {edge: choices.one((0, 8, None, 99)) for edge in choices.shuffled(sorted(here))[:apart]}
        else:
            changed = weights
        lists = listed_pair(here, there, choices, is_directed=graph.directed)
        yield built(lists[0], weights), built(lists[1], changed), apart


def ordered(one: int, other: int) -> Edge:
    """Return an edge with its smaller end first."""
    return (one, other) if one < other else (other, one)


def _set_degree(graph: set[Edge], node: int, degree: int, nodes: int, choices: Choices) -> None:
    """Give a node this many neighbours, drawn among all others."""
    graph -= {edge for edge in graph if node in edge}
    others = choices.shuffled([other for other in range(nodes) if other != node])
    graph |= {ordered(node, other) for other in others[:degree]}


def _extra(choices: Choices) -> int:
    """Return how many further units differ: mostly none."""
    return max(0, choices.below(3 + _FARTHEST) - 3)


def _listed(graph: set[Edge], choices: Choices) -> list[Edge]:
    edges = [edge if choices.below(2) else edge[::-1] for edge in choices.shuffled(sorted(graph))]
    if choices.below(4) == 0:
        edges += [edge[::-1] for edge in choices.some(edges, 30)]
    if choices.below(8) == 0:
        edges.append((0, 0))
    return edges

"""Counts and copies of graphs. A graph is a set of edges, an edge a set of two nodes."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.audit.specimens.laws import HALF, chance, claimed
from dither.audit.specimens.noise import uniform_floats
from dither.audit.specimens.record import BOOK, SASKATCHEWAN, Odds, Source, Specimen, told_apart
from dither.noise import system_noise
from dither.privacy import PureDP

Rows = NDArray[Any]
Edge = frozenset[int]
Graph = frozenset[Edge]

_DEGREE = 3
_TOLERANCE = 5.0
#: Of the graph update: the threshold and the answer of the synthetic graph.
_THRESHOLD, _SYNTHETIC = 5, 0


def edge(one: int, other: int) -> Edge:
    """Return an edge."""
    return frozenset((one, other))


def three_regular() -> Graph:
    """Return a ring of 20 nodes, each joined to its opposite as well: 30 edges, three at every node."""
    return frozenset(edge(node, (node + step) % 20) for node in range(20) for step in (1, 10))


def with_hub(graph: Graph) -> Graph:
    """Return the neighbour with one node more, joined to all others."""
    nodes = {node for pair in graph for node in pair}
    return graph | {edge(node, len(nodes)) for node in nodes}


def naive_truncation(graph: Graph, count: int) -> Rows:
    """Return the number of edges left when nodes of degree above 3 are deleted, plus Laplace noise of scale 3."""
    degrees = Counter(node for pair in graph for node in pair)
    left = sum(all(degrees[node] <= _DEGREE for node in pair) for pair in graph)
    return left + system_noise().discrete_laplace(_DEGREE, count)


def crossed_triangles() -> Graph:
    """Return twelve edges of ten nodes: the first edges of node 3 keep those of three triangles out of a projection."""
    hub = ((0, 3), (1, 3))
    triangles = ((0, 6, 8), (1, 2, 4), (5, 7, 9))
    sides = ((a, b) for one, two, three in triangles for a, b in ((one, two), (one, three), (two, three)))
    return frozenset(edge(*pair) for pair in (*hub, *sides, (4, 5)))


def without_node(graph: Graph, node: int) -> Graph:
    """Return the neighbour without the edges of one node."""
    return frozenset(pair for pair in graph if node not in pair)


def triangles_of_a_projection(graph: Graph, count: int) -> Rows:
    """Return the triangles of a projection to degree 2, plus Laplace noise of scale 1: a node is in one at most."""
    room: Counter[int] = Counter()
    kept: set[Edge] = set()
    for one, other in sorted(tuple(sorted(pair)) for pair in graph):
        if max(room[one], room[other]) < 2:
            room.update((one, other))
            kept.add(edge(one, other))
    nodes = sorted(room)
    closed = sum(
        {edge(a, b), edge(a, c), edge(b, c)} <= kept
        for a, b, c in ((a, b, c) for a in nodes for b in nodes for c in nodes if a < b < c)
    )
    return closed + system_noise().discrete_laplace(1, count)


def noise_tolerance_loop(triangles: int, count: int) -> Rows:
    """Return a count plus noise that is shrunk until it is below a share of that very count, in per cent."""
    uniform = uniform_floats(count)
    while True:
        noise = -np.sign(uniform) * np.log1p(-2 * np.abs(uniform))
        size = 100 * np.abs(noise) / triangles
        too_large = size >= _TOLERANCE
        if not too_large.any():
            return np.asarray(triangles + noise)
        uniform = np.where(too_large, uniform * (1 - _TOLERANCE / np.maximum(size, _TOLERANCE)), uniform)


def branch_on_the_truth(degree: int, other_degree: int) -> Odds:
    """Return the odds that the synthetic answer itself is released, as it is when the true one is up to a threshold."""

    def is_synthetic(given: int) -> Fraction:
        return chance(HALF, _SYNTHETIC - given) if given > _THRESHOLD else Fraction(1)

    return Odds("the synthetic answer", is_synthetic(degree), is_synthetic(other_degree))


def updated(graph: Graph, synthetic: Graph, touched: int) -> Graph:
    """Return the graph of algorithm 4: the true one, with the synthetic edges of the node that was asked for."""
    return graph | {pair for pair in synthetic if touched in pair}


def union_with_the_truth(graph: Graph, other_graph: Graph) -> Odds:
    """Return the odds that the edge between nodes 1 and 2 is in the synthetic graph after an update of node 0."""
    synthetic = frozenset({edge(0, 1), edge(0, 2)})
    found, found_there = (edge(1, 2) in updated(given, synthetic, 0) for given in (graph, other_graph))
    return told_apart(found, found_there, f"the edge 1-2 is {'there' if found else 'not there'}")


SPECIMENS = (
    Specimen(
        name="naive-degree-truncation",
        source=Source(BOOK, "9.3.1.1; also the survey, on node privacy"),
        claim=PureDP(1),
        what_is_wrong=(
            "Deleting nodes of high degree is not stable: one hub lifts every node of a regular graph over the "
            "bound, and all 30 edges go together."
        ),
        value=three_regular(),
        neighbour=with_hub(three_regular()),
        step="one node is added with its edges",
        refuted_by="sampling",
        replacement="projected-degrees",
        sample=naive_truncation,
    ),
    Specimen(
        name="triangles-of-a-projection",
        source=Source(BOOK, "9.3.1.1, the projections, with the sensitivity of triangles at a bounded degree"),
        claim=PureDP(1),
        what_is_wrong="A projection to degree t keeps degrees from moving, not triangles: the edges of one node make "
        "others fall out one after the other, and three triangles with them, where t (t - 1) / 2 = 1 was paid for.",
        value=crossed_triangles(),
        neighbour=without_node(crossed_triangles(), 3),
        step="one node loses its edges",
        refuted_by="sampling",
        replacement="chosen-triangles",
        sample=triangles_of_a_projection,
    ),
    Specimen(
        name="noise-tolerance-loop",
        source=Source(SASKATCHEWAN, "4.5, algorithm 4 (PrivGraph)"),
        claim=PureDP(1),
        what_is_wrong=(
            "Noise is shrunk until it is small beside the true count, so an outcome is always within the tolerance "
            "of the truth, for any epsilon."
        ),
        value=6,
        neighbour=5,
        step="one triangle less",
        refuted_by="sampling",
        replacement="truncated-laplace",
        sample=noise_tolerance_loop,
    ),
    Specimen(
        name="branch-on-the-true-answer",
        source=Source(BOOK, "9.4.1, algorithm 3 (Graph Update)"),
        claim=claimed(2),
        what_is_wrong="Whether the noisy or the synthetic answer is released depends on the true one.",
        value=_THRESHOLD,
        neighbour=_THRESHOLD + 1,
        step="one edge is added at the node",
        refuted_by="closed form",
        replacement="graph-update",
        weigh=branch_on_the_truth,
    ),
    Specimen(
        name="union-with-the-true-graph",
        source=Source(BOOK, "9.4.2, algorithm 4 (Graph Update)"),
        claim=claimed(2),
        what_is_wrong=(
            "The update joins new edges to the true graph instead of the synthetic one: all that it does not touch "
            "is published unchanged."
        ),
        value=frozenset({edge(0, 1), edge(1, 2)}),
        neighbour=frozenset({edge(0, 1)}),
        step="one edge is removed",
        refuted_by="exact argument",
        replacement="graph-update",
        weigh=union_with_the_truth,
    ),
)

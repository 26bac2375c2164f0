"""How far one edge can move a count in this graph and in those around it: ladders of local sensitivities.

``ladder(t)`` is a bound L_t with L_0 at least the local sensitivity and L_t(G) at most L_(t+1)(G') for graphs one edge
apart. Such numbers serve two mechanisms: a ladder's rungs, and a smooth bound. They are proved on the page of graphs
(docs/lemmas/graphs.md), and checked on all graphs with up to five nodes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dither.publish.graphs.counts import choose, descend, largest_common, supports
from dither.publish.graphs.simple_graph import Ints, SimpleGraph


def triangle_ladder(graph: SimpleGraph, rungs: int) -> Ints:
    """Return min(a + t, nodes - 2) for t below ``rungs``, where a is the largest number of common neighbours."""
    return np.minimum(largest_common(graph) + np.arange(rungs), graph.nodes - 2)


def triangle_reach(nodes: int) -> int:
    """Return how far one edge moves the number of triangles in any graph, at most."""
    return nodes - 2


def star_ladder(graph: SimpleGraph, rungs: int, k: int) -> Ints:
    """Return the largest C(x, k - 1) + C(y, k - 1) for two nodes to which t edges are added where they help most.

    x and y are the degrees of the two nodes without the edge between them.
    """
    top, best = graph.nodes - 2, np.zeros(rungs, dtype=np.int64)
    steps = np.arange(rungs)
    table = choose(np.arange(graph.nodes), k - 1)
    for larger, smaller in _top_pairs(graph):
        high = np.minimum(larger + steps, top)
        low = np.minimum(smaller + np.maximum(steps - (top - larger), 0), top)
        best = np.maximum(best, table[high] + table[low])
    return best


def star_reach(nodes: int, k: int) -> int:
    """Return how far one edge moves the number of k-stars in any graph, at most."""
    return 2 * math.comb(nodes - 2, k - 1)


def _top_pairs(graph: SimpleGraph) -> list[tuple[int, int]]:
    """Return degrees of pairs without their own edge, the larger first: every other pair is below one of these."""
    degrees, order = graph.degrees, graph.order
    if graph.nodes < 2:
        return []
    first, second = int(degrees[order[0]]), int(degrees[order[1]])
    # The two largest degrees; if the nodes are not joined the pair is listed below, and is above this one.
    pairs = [(max(first - 1, 0), max(second - 1, 0))]
    matrix = graph.matrix()
    falling = degrees[order]
    for place in range(graph.nodes):
        if falling[place] < second:
            break
        # The place of the first node that is neither this one nor joined to it.
        taken = np.append(matrix.indices[matrix.indptr[place] : matrix.indptr[place + 1]], place)
        free = np.setdiff1d(np.arange(min(len(taken) + 1, graph.nodes)), taken, assume_unique=True)
        if not free.size:
            continue
        pair = (int(falling[place]), int(falling[free[0]]))
        pairs.append((max(pair), min(pair)))
        if pairs[-1] == (first, second):
            break
    return pairs


def k_triangle_ladder(graph: SimpleGraph, rungs: int, k: int) -> Ints:
    """Return the exact local sensitivity of the number of k-triangles, and bounds on it t edges away.

    The bounds are the smaller of two: the local sensitivity plus what t edges can add to it, and its value if all pairs
    had as many common neighbours as the richest pair can have.
    """
    nodes = graph.nodes
    most = largest_common(graph)
    counted = supports(graph)
    table = choose(np.arange(nodes + 1), k - 1)
    whole = choose(np.arange(nodes + 1), k)
    matrix = graph.matrix()
    free, joined = graph.matrix(table[counted]), graph.matrix(table[np.maximum(counted - 1, 0)])

    def value(common: Any, rows: tuple[int, int]) -> Any:
        first, last = rows
        own = common.copy()
        own.data = whole[own.data]
        pairs = common.copy()
        pairs.data = np.ones_like(pairs.data)
        here = matrix[first:last]
        between = pairs.multiply(here[:, :last])
        found = pairs.multiply(free[first:last] @ matrix[:, :last] + here @ free[:, :last])
        # Of two nodes that are joined, each triangle on the edges between counts their own edge, which is taken out.
        less = between.multiply(joined[first:last] @ matrix[:, :last] + here @ joined[:, :last])
        return own + found - found.multiply(between) + less

    start = descend(graph, value, lambda degree: math.comb(degree, k) + 2 * degree * math.comb(most, k - 1))
    reached = np.minimum(most + np.arange(rungs), nodes - 2)
    fewer = choose(reached, k - 2)
    growth = np.maximum(3 * choose(reached, k - 1) + reached * fewer, np.where(reached > 0, 4 * fewer, 0))
    # What is above the public reach is cut to it below: so may be every step, and the sums stay below 2^60.
    steps = np.minimum(growth, k_triangle_reach(nodes, k))
    climbed = start + np.cumsum(steps) - steps
    full = whole[reached] + 2 * reached * table[reached]
    found: Ints = np.minimum(np.minimum(climbed, full), k_triangle_reach(nodes, k))
    return found


def k_triangle_reach(nodes: int, k: int) -> int:
    """Return how far one edge moves the number of k-triangles in any graph, at most."""
    return math.comb(nodes - 2, k) + 2 * (nodes - 2) * math.comb(max(nodes - 3, 0), k - 1)

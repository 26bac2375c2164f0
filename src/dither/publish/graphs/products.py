"""Products of degrees along edges: the part of assortativity that degrees alone do not say. Private numbers."""

from __future__ import annotations

import numpy as np

from dither.publish.graphs.simple_graph import Ints, SimpleGraph


def product_count(graph: SimpleGraph) -> int:
    """Return the sum over all edges of the product of the degrees of their ends."""
    degrees, edges = graph.degrees, graph.edges
    # A product is below 2^48 and there are at most 2^27 edges: halves of the products are added as Python integers.
    products = degrees[edges[:, 0]] * degrees[edges[:, 1]]
    return (int((products >> 24).sum()) << 24) + int((products & (2**24 - 1)).sum())


def product_ladder(graph: SimpleGraph, rungs: int) -> Ints:
    """Return the exact local sensitivity of the sum of products, and bounds on it t edges away."""
    nodes, top = graph.nodes, int(graph.degrees.max(initial=0))
    reached = top + np.arange(rungs)
    climbed = _largest_change(graph) + np.cumsum(2 * reached + 3) - (2 * reached + 3)
    near, far = np.minimum(reached, nodes - 2), np.minimum(reached, nodes - 1)
    found: Ints = np.minimum(np.minimum(climbed, (near + 1) ** 2 + 2 * near * far), product_reach(nodes))
    return found


def product_reach(nodes: int) -> int:
    """Return how far one edge moves the sum of products in any graph, at most."""
    return (nodes - 1) ** 2 + 2 * (nodes - 2) * (nodes - 1)


def _largest_change(graph: SimpleGraph) -> int:
    """Return the largest change by one edge, joined pairs without their own edge.

    A pair changes by at most what the first node has with the largest degree and the largest sum of degrees: nodes come
    by that bound, each with all others, until it is not above what was found.
    """
    degrees, edges = graph.degrees, graph.edges
    around = np.bincount(edges[:, 0], weights=degrees[edges[:, 1]], minlength=graph.nodes)
    # Floats are exact here: a sum of degrees is at most twice the number of edges.
    around = (around + np.bincount(edges[:, 1], weights=degrees[edges[:, 0]], minlength=graph.nodes)).astype(np.int64)
    bounds = (degrees + 1) * (int(degrees.max(initial=0)) + 1) + around + int(around.max(initial=0))
    matrix = graph.matrix()
    place = np.empty(graph.nodes, dtype=np.int64)
    place[graph.order] = np.arange(graph.nodes)
    best = 0
    for node in np.argsort(-bounds, kind="stable").tolist():
        if bounds[node] <= best:
            break
        changes = (degrees[node] + 1) * (degrees + 1) + around[node] + around
        row = int(place[node])
        joined = graph.order[matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]]]
        # Without their own edge both degrees are smaller by 1, and neither is among the other's neighbours.
        changes[joined] -= 2 * (degrees[node] + degrees[joined]) + 1
        changes[node] = 0
        best = max(best, int(changes.max()))
    return best

"""The number of edges of a graph, cut to a bound of edges at each node by a maximum flow.

Every edge gets a share between 0 and 1, and the shares at one node add up to at most the bound; the sum of all shares
is as large as possible. On graphs whose degrees stay within the bound that is the number of edges. One node moves it
by at most the bound, and never down by coming in. Shares of one half suffice, so twice the sum is an integer: the
maximum flow through two copies of the nodes.
"""

from __future__ import annotations

import numpy as np

from dither.publish.graphs.simple_graph import Ints, SimpleGraph


def twice_flow(graph: SimpleGraph, bound: int) -> int:
    """Return twice the largest sum of shares.

    >>> from dither.publish.graphs.simple_graph import graph_of
    >>> star, triangle = graph_of([(0, 1), (0, 2), (0, 3)], 4), graph_of([(0, 1), (0, 2), (1, 2)], 3)
    >>> twice_flow(star, 2), twice_flow(triangle, 1), twice_flow(triangle, 2)
    (4, 3, 6)
    """
    is_full = graph.degrees > bound
    at_full = is_full[graph.edges]
    # An edge between two nodes within the bound counts whole. Of others only the nodes above it set limits.
    whole = int((~at_full.any(axis=1)).sum())
    full = np.flatnonzero(is_full)
    if not len(full):
        return 2 * whole
    place = np.full(graph.nodes, -1, dtype=np.int64)
    place[full] = np.arange(len(full))
    inner = place[graph.edges[at_full.all(axis=1)]]
    outer = graph.degrees[full] - np.bincount(inner.ravel(), minlength=len(full))
    return 2 * whole + _flow(len(full), inner, outer, bound)


def _flow(size: int, inner: Ints, outer: Ints, bound: int) -> int:
    """Return the flow from the first copies of the full nodes to the second, and to and from all other nodes."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import maximum_flow

    left, right = np.arange(size), np.arange(size) + size
    source, sink = np.full(size, 2 * size), np.full(size, 2 * size + 1)
    rows = np.concatenate([source, right, inner[:, 0], inner[:, 1], left, source])
    columns = np.concatenate([left, sink, inner[:, 1] + size, inner[:, 0] + size, sink, right])
    room = np.full(size, bound)
    open_to = np.concatenate([room, room, np.ones(2 * len(inner), dtype=np.int64), outer, outer])
    kept = open_to > 0
    network = csr_matrix(
        (open_to[kept].astype(np.int32), (rows[kept], columns[kept])), shape=(2 * size + 2, 2 * size + 2)
    )
    leaving = maximum_flow(network, 2 * size, 2 * size + 1).flow[2 * size]
    # Added up in 64 bits: single arcs fit 32, their sum need not.
    return int(leaving.data.astype(np.int64).sum())

"""The projection of a graph to a bounded degree, under which one node moves degrees and edges by little.

Edges are added in the order of a fixed public hash, each as long as both of its ends have room. For degrees and edges
alone: triangles of the projected graph may move by far more than the bound suggests.
"""

from __future__ import annotations

import numpy as np

from dither.lift.edges import edge_hash
from dither.publish.graphs.simple_graph import Ints, SimpleGraph


def projected(graph: SimpleGraph, degree: int) -> Ints:
    """Return the degrees of all nodes after the projection; none is above ``degree``.

    >>> from dither.publish.graphs.simple_graph import graph_of
    >>> projected(graph_of([(0, 1), (0, 2), (0, 3)], 4), 2).tolist()[0]
    2
    """
    room = [degree] * graph.nodes
    order = np.argsort(edge_hash(graph.edges), kind="stable")
    for one, other in graph.edges[order].tolist():
        if room[one] and room[other]:
            room[one] -= 1
            room[other] -= 1
    return degree - np.array(room, dtype=np.int64)

"""Counts that degrees alone decide: the number of edges, and stars. Private numbers, computed without any edge.

The input of a method is a list of edges, or the degrees of all nodes as one row of integers, where an engine has
counted them. Neighbours are then degrees of graphs that are one edge apart.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dither.errors import InvalidValue
from dither.publish.graphs.counts import choose
from dither.publish.graphs.patterns import EDGES, STARS, count, ladder, reach
from dither.publish.graphs.simple_graph import Ints, graph_of


def is_degrees(data: Any) -> bool:
    """Whether an input is a row of degrees; an array of nothing is one of no edges, and one of objects has rows."""
    return isinstance(data, np.ndarray) and data.ndim == 1 and data.size > 0 and data.dtype.kind != "O"


def degrees_of(data: Any, nodes: int) -> Ints:
    """Return the degrees of a list of edges, or those that are given, each between 0 and nodes - 1.

    >>> degrees_of(np.array([2, 1, 1, 99]), 4).tolist(), degrees_of([(0, 1), (0, 2)], 4).tolist()
    ([2, 1, 1, 3], [2, 1, 1, 0])
    """
    if not is_degrees(data):
        return graph_of(data, nodes).degrees
    if data.shape != (nodes,) or data.dtype.kind not in "iu":
        raise InvalidValue("value", data, f"{nodes} degrees as integers, or edges")
    # Compared as they are: the largest number of another type may not fit into 64 bits with a sign.
    return np.where(data < nodes, np.maximum(data, 0), nodes - 1).astype(np.int64)


def exact_count(data: Any, nodes: int, pattern: str, k: int) -> int:
    """Return the exact count of edges, or of degrees where these decide it."""
    if not is_degrees(data):
        return count(graph_of(data, nodes), pattern, k)
    degrees = _needed(data, nodes, pattern)
    if pattern == EDGES:
        return int(degrees.sum()) // 2
    found, times = np.unique(degrees, return_counts=True)
    return sum(math.comb(one, k) * many for one, many in zip(found.tolist(), times.tolist(), strict=True))


def widths(data: Any, nodes: int, pattern: str, k: int, rungs: int) -> Ints:
    """Return bounds on the local sensitivity 0, 1, 2, ... edges away; from degrees slightly wider ones."""
    if not is_degrees(data):
        return ladder(graph_of(data, nodes), pattern, k, rungs)
    degrees = _needed(data, nodes, pattern)
    if pattern == EDGES:
        return np.ones(rungs, dtype=np.int64)
    table, steps = choose(np.arange(nodes), k - 1), np.arange(rungs)
    # As if the two largest degrees were those of nodes that are not joined, and each edge raised both.
    top = np.sort(degrees)[-2:]
    best = sum(
        (table[np.minimum(degree + steps, nodes - 2)] for degree in top.tolist()), np.zeros(rungs, dtype=np.int64)
    )
    return np.minimum(best, max(reach(nodes, pattern, k), 1))


def _needed(data: Any, nodes: int, pattern: str) -> Ints:
    """Return the degrees; refuse a pattern that they do not decide."""
    if pattern not in (EDGES, STARS):
        raise InvalidValue("value", data, f"edges: degrees do not decide the number of {pattern}")
    return degrees_of(data, nodes)

"""Weighted graphs whose edges are public and whose weights are private: lengths, and how far one weight moves them.

An edge that is listed more than once has the smallest of its weights. A weight that is missing or is no integer counts
as the largest, and one out of the declared range as the nearest in it. Private numbers, in exact integers.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from dither.data.cell_values import whole_numbers, whole_of
from dither.errors import InvalidValue
from dither.lift.edges import weighted_pairs
from dither.mechanisms.core.values import raw_entries
from dither.publish.graphs.simple_graph import Ints, ends_of, pair_of

#: Up to this many nodes, and this many changed weights, smallest cuts are computed.
MOST_CUT_NODES: Final = 128
CUT_RUNGS: Final = 8


@dataclass(frozen=True, eq=False)
class WeightedGraph:
    """Edges in order, each once, with their weights. Private: it never leaves a mechanism."""

    nodes: int
    edges: Ints
    weights: Ints


def weighted_graph(data: Any, nodes: int, low: int, high: int) -> WeightedGraph:
    """Return the graph of rows of two ends and a weight.

    Args:
        data: an array with three columns, or a list of triples; refused for another type or shape alone,
            and not if it is empty.
        nodes: their number; public.
        low: the least weight; public.
        high: the largest weight; public.

    >>> made = weighted_graph([(1, 0, 5), (0, 1, 9), (1, 2, None), (2, 2, 1), (0, 7, 1)], 3, 0, 8)
    >>> made.edges.tolist(), made.weights.tolist()
    ([[0, 1], [1, 2]], [5, 8])

    """
    if isinstance(data, np.ndarray) and data.ndim == 1 and data.dtype.kind == "O":
        # One row that is no triple makes rows of Python's out of all of them.
        data = data.tolist()
    if isinstance(data, np.ndarray) and not data.size:
        # An array that is made of no edges has one axis, and a type that says nothing.
        ends, weights = np.empty((0, 2), dtype=np.int64), np.empty(0, dtype=np.int64)
    elif isinstance(data, np.ndarray) and data.ndim == 2 and data.shape[1] == 3:
        # One odd cell makes floats or texts of all of them: each counts by its own value.
        ends, weights = ends_of(data[:, :2], nodes), whole_numbers(data[:, 2], high)
    elif isinstance(data, list | tuple):
        rows = [entries for row in data if (entries := raw_entries(row, 4)) is not None and len(entries) == 3]
        found = [whole_of(row[2]) for row in rows]
        ends = np.array([pair_of(row[:2], nodes) or (-1, -1) for row in rows], dtype=np.int64).reshape(-1, 2)
        weights = np.array([high if one is None else one for one in found], dtype=np.int64)
    else:
        raise InvalidValue("value", data, "rows of two ends and a weight: an array of shape (any, 3), or triples")
    edges, kept = weighted_pairs(ends, np.clip(weights, low, high), nodes)
    return WeightedGraph(nodes, edges, kept)


def forest(graph: WeightedGraph) -> tuple[int, Ints]:
    """Return the cost of a minimum spanning forest, and the places of its edges among all edges."""
    order = np.argsort(graph.weights, kind="stable")
    leader = list(range(graph.nodes))
    chosen = []
    for place in order.tolist():
        one, other = (_find(leader, end) for end in graph.edges[place].tolist())
        if one != other:
            leader[one] = other
            chosen.append(place)
    places = np.array(sorted(chosen), dtype=np.int64)
    return int(graph.weights[places].sum()), places


def forest_moves(graph: WeightedGraph, low: int, high: int) -> int:
    """Return how far one weight moves the cost of the forest here: the exact local sensitivity."""
    _, places = forest(graph)
    if not len(places):
        return 0
    weights = graph.weights
    replaced = _replacements(graph, places, high)
    return int(max((weights[places] - low).max(), (replaced - weights[places]).max()))


def _replacements(graph: WeightedGraph, places: Ints, high: int) -> Ints:
    """Return for each edge of the forest the least weight that would join its two sides again; ``high`` for bridges."""
    beside: list[list[tuple[int, int]]] = [[] for _ in range(graph.nodes)]
    for number, place in enumerate(places.tolist()):
        one, other = graph.edges[place].tolist()
        beside[one].append((other, number))
        beside[other].append((one, number))
    above, edge_above, depth = _rooted(beside)
    found = np.full(len(places), high, dtype=np.int64)
    is_tree = np.zeros(len(graph.edges), dtype=np.bool_)
    is_tree[places] = True
    others = np.flatnonzero(~is_tree)
    # By rising weight: the first edge that closes a cycle over an edge of the forest is the least that replaces it.
    leader = list(range(graph.nodes))
    for place in others[np.argsort(graph.weights[others], kind="stable")].tolist():
        one, other = (_find(leader, end) for end in graph.edges[place].tolist())
        while one != other:
            if depth[one] < depth[other]:
                one, other = other, one
            found[edge_above[one]] = graph.weights[place]
            leader[one] = above[one]
            one = _find(leader, one)
    return found


def _rooted(beside: list[list[tuple[int, int]]]) -> tuple[list[int], list[int], list[int]]:
    """Return for every node the one above it, the edge that leads there, and its depth."""
    above, edge_above, depth = [-1] * len(beside), [-1] * len(beside), [-1] * len(beside)
    for root in range(len(beside)):
        if depth[root] >= 0:
            continue
        depth[root], stack = 0, [root]
        while stack:
            node = stack.pop()
            for other, number in beside[node]:
                if depth[other] < 0:
                    above[other], edge_above[other], depth[other] = node, number, depth[node] + 1
                    stack.append(other)
    return above, edge_above, depth


def _find(leader: list[int], node: int) -> int:
    while leader[node] != node:
        leader[node] = leader[leader[node]]
        node = leader[node]
    return node


def forest_ladder(graph: WeightedGraph, rungs: int, low: int, high: int) -> Ints:
    """Return how far one weight moves the cost of the forest, and bounds on that after 1, 2, ... weights changed.

    After t changes some edge can be worth c if a cut has at most t + 1 edges that weigh less than c. Beyond a public
    number of nodes and of changes the bound is the whole range.
    """
    found = np.full(rungs, high - low, dtype=np.int64)
    found[0] = forest_moves(graph, low, high)
    if graph.nodes <= MOST_CUT_NODES and len(graph.edges):
        steps = np.unique(np.append(graph.weights, high))
        place = 0
        for changes in range(1, min(rungs, CUT_RUNGS + 1)):
            # The largest weight such that the edges below it leave a cut of at most ``changes`` + 1.
            first, last = place, len(steps) - 1
            while first < last:
                middle = (first + last + 1) // 2
                if _smallest_cut(graph, int(steps[middle])) <= changes + 1:
                    first = middle
                else:
                    last = middle - 1
            place = first
            found[changes] = int(steps[place]) - low
    return np.maximum.accumulate(found)


def _smallest_cut(graph: WeightedGraph, below: int) -> int:
    """Return the least number of edges lighter than ``below`` in any cut that edges of the graph cross."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    ones = np.ones(len(graph.edges))
    shape = (graph.nodes, graph.nodes)
    _, parts = connected_components(csr_matrix((ones, tuple(graph.edges.T)), shape=shape), directed=False)
    light = np.zeros(shape, dtype=np.int64)
    chosen = graph.edges[graph.weights < below]
    light[chosen[:, 0], chosen[:, 1]] = light[chosen[:, 1], chosen[:, 0]] = 1
    found = [
        _stoer_wagner(light[np.ix_(inside, inside)])
        for part in range(int(parts.max(initial=0)) + 1)
        if len(inside := np.flatnonzero(parts == part)) > 1
    ]
    return min(found, default=0)


def _stoer_wagner(capacity: Ints) -> int:
    """Return the smallest cut of a graph of at least two nodes, by merging the last two of each round."""
    left, alive, best = capacity.copy(), list(range(len(capacity))), None
    while len(alive) > 1:
        nodes = np.array(alive)
        joined = np.zeros(len(capacity), dtype=np.int64)
        waiting = np.zeros(len(capacity), dtype=np.bool_)
        waiting[nodes] = True
        before = last = alive[0]
        for _ in alive:
            nearest = int(nodes[np.argmax(np.where(waiting[nodes], joined[nodes], -1))])
            before, last = last, nearest
            waiting[nearest] = False
            reached = int(joined[nearest])
            joined += left[nearest]
        best = reached if best is None else min(best, reached)
        left[before] += left[last]
        left[:, before] += left[:, last]
        left[before, before] = 0
        alive.remove(last)
    return int(best or 0)


def path_length(graph: WeightedGraph, start: int, end: int, farthest: int) -> int:
    """Return the length of a shortest path, for weights that are not negative; ``farthest`` where there is none."""
    beside: list[list[tuple[int, int]]] = [[] for _ in range(graph.nodes)]
    for (one, other), weight in zip(graph.edges.tolist(), graph.weights.tolist(), strict=True):
        beside[one].append((other, weight))
        beside[other].append((one, weight))
    known: dict[int, int] = {}
    waiting = [(0, start)]
    while waiting:
        length, node = heapq.heappop(waiting)
        if node in known:
            continue
        known[node] = length
        if node == end:
            return length
        for other, weight in beside[node]:
            if other not in known:
                heapq.heappush(waiting, (length + weight, other))
    return farthest

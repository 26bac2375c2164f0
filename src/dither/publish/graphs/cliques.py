"""Cliques: nodes that are all joined to each other, and how far one edge moves their number. Private numbers.

The cliques of a graph are those of the neighbourhoods of its nodes: of each node those neighbours that come before it
in the order of falling degree, which are few. A neighbourhood is a small dense matrix. Numbers are Python integers and
cannot overflow.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.publish.graphs.counts import choose, descend, largest_common, onward
from dither.publish.graphs.simple_graph import Ints, SimpleGraph

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Floats = NDArray[np.float64]
#: Up to this many nodes their edges are a matrix.
_DENSE: Final = 2048


def clique_count(graph: SimpleGraph, k: int) -> int:
    """Return the number of k-cliques: k nodes that are all joined."""
    matrix = onward(graph)
    lengths = np.diff(matrix.indptr)
    inside = _Inside(matrix)
    # A clique is counted at that of its nodes which comes last: the others are all ahead of it.
    return sum(inside.cliques(inside.ahead(node), k - 1) for node in np.flatnonzero(lengths >= k - 1).tolist())


def clique_ladder(graph: SimpleGraph, rungs: int, k: int) -> Ints:
    """Return the exact local sensitivity of the number of k-cliques, and bounds on it t edges away.

    One edge is in as many k-cliques as there are (k - 2)-cliques among the common neighbours of its ends. The bounds
    are the largest over pairs of the smaller of two: that number plus what t edges can add to it, and its value if all
    common neighbours of the pair were joined. Pairs that have fewer even then matter no more than the best one.
    """
    nodes = graph.nodes
    matrix = graph.matrix()
    matrix.sort_indices()
    inside, best = _Inside(onward(graph)), 0
    # Of pairs by the number of common neighbours, and how many of them a node is joined to: the most cliques.
    pairs: dict[tuple[int, int], int] = {}

    def value(common: Any, rows: tuple[int, int]) -> Any:
        nonlocal best
        found = common.tocoo()
        for place in np.argsort(-found.data, kind="stable").tolist():
            if math.comb(int(found.data[place]), k - 2) <= best:
                break
            ends = int(found.row[place]) + rows[0], int(found.col[place])
            both = np.intersect1d(*(matrix.indices[matrix.indptr[end] : matrix.indptr[end + 1]] for end in ends))
            here = inside.cliques(both, k - 2)
            state = len(both), _joined(matrix, both, ends, here) if k == 4 else len(both)
            pairs[state] = max(pairs.get(state, 0), here)
            best = max(best, here)
        found.data = np.full(len(found.data), best, dtype=np.int64)
        return found

    descend(graph, value, lambda degree: math.comb(degree, k - 2))
    if not pairs:
        # No pair has as many common neighbours as a clique needs: the richest one has the largest bound.
        pairs[largest_common(graph), largest_common(graph)] = 0
    found = np.zeros(rungs, dtype=np.int64)
    for (common, joined), start in pairs.items():
        reached, added = (np.minimum(first + np.arange(rungs), nodes - 2) for first in (common, joined))
        # Single steps may be cut to the public reach, as all rungs are; so the sums stay below 2^60.
        steps = np.minimum(choose(added, k - 3), clique_reach(nodes, k))
        climbed = start + np.cumsum(steps) - steps
        np.maximum(found, np.minimum(climbed, choose(reached, k - 2)), out=found)
    return np.minimum(found, clique_reach(nodes, k))


def _joined(matrix: csr_matrix, common: Ints, ends: tuple[int, int], edges: int) -> int:
    """Return to how many common neighbours of two nodes another node is joined at most, or more.

    At least as many as the common neighbours that would have enough edges if all were joined, and at least 1: then one
    edge more raises it by at most 1, and adds at most as many edges among common neighbours.
    """
    near = np.bincount(np.concatenate([matrix.indices[matrix.indptr[one] : matrix.indptr[one + 1]] for one in common]))
    near[[end for end in ends if end < len(near)]] = 0
    full = (1 + math.isqrt(1 + 8 * edges)) // 2
    return max(int(near.max(initial=0)), full, 1)


def clique_reach(nodes: int, k: int) -> int:
    """Return how far one edge moves the number of k-cliques in any graph, at most."""
    return math.comb(nodes - 2, k - 2)


class _Inside:
    """The graphs among a few nodes, taken out of a large one whose edges lead to earlier places."""

    def __init__(self, matrix: csr_matrix) -> None:
        self._starts, self._ends = matrix.indptr.astype(np.int64), matrix.indices
        self._place = np.full(matrix.shape[0], -1, dtype=np.int64)

    def ahead(self, node: int) -> Ints:
        """Return the neighbours of a node that come before it."""
        found: Ints = np.sort(self._ends[self._starts[node] : self._starts[node + 1]]).astype(np.int64)
        return found

    def cliques(self, chosen: Ints, size: int) -> int:
        """Return the number of cliques of a size among some nodes."""
        many = len(chosen)
        if many < size or size < 2:
            return many if size == 1 else 0 if size else 1
        self._place[chosen] = np.arange(many)
        starts = self._starts[chosen]
        lengths = self._starts[chosen + 1] - starts
        before = np.cumsum(lengths) - lengths
        columns = self._place[self._ends[np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()))]]
        is_inside = columns >= 0
        self._place[chosen] = -1
        if size == 2:
            return int(is_inside.sum())
        rows, ends = np.repeat(np.arange(many), lengths)[is_inside], columns[is_inside]
        if many > _DENSE:
            # Too many for a matrix: the cliques of each node with those ahead of it.
            starts = np.searchsorted(rows, np.arange(many + 1))
            ahead = (chosen[np.sort(ends[starts[row] : starts[row + 1]])] for row in range(many))
            return sum(self.cliques(near, size - 1) for near in ahead if len(near) >= size - 1)
        dense = np.zeros((many, many))
        dense[rows, ends] = 1
        return _dense_cliques(dense, size)


def _dense_cliques(edges: Floats, size: int) -> int:
    """Return the number of cliques in a triangular matrix of edges; floats are exact, entries are at most its width."""
    if size == 2:
        return int(edges.sum())
    if size == 3:
        # A row at a time may sum to more than 2^53 in no matrix that fits into memory: its width cubed does not.
        return int(((edges @ edges) * edges).sum())
    ahead = (np.flatnonzero(row) for row in edges)
    return sum(_dense_cliques(edges[np.ix_(near, near)], size - 1) for near in ahead if len(near) >= size - 1)

"""Exact counts in a graph: private numbers, from which nothing is released without noise.

Triangles are found along edges that lead from the node of smaller degree to that of larger: no node has many such
edges, so that hubs cost little. Numbers of subgraphs are Python integers and cannot overflow.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.publish.graphs.simple_graph import Ints, SimpleGraph

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

#: Pairs of edges that are looked at together.
_CHUNK: Final = 2**22
_FIRST_ROWS: Final = 64


def choose(values: Ints, k: int) -> Ints:
    """Return the binomial coefficients C(value, k) of numbers that are not negative; the caller bounds them.

    >>> choose(np.array([0, 1, 2, 5]), 2).tolist()
    [0, 0, 1, 10]
    """
    result = np.ones_like(values)
    for step in range(k):
        # Exact at every step: a product of consecutive integers.
        result = result * np.maximum(values - step, 0) // (step + 1)
    return result


def edge_count(graph: SimpleGraph) -> int:
    """Return the number of edges."""
    return len(graph.edges)


def star_count(graph: SimpleGraph, k: int) -> int:
    """Return the number of k-stars: a node and k of its neighbours."""
    degrees, times = np.unique(graph.degrees, return_counts=True)
    return sum(math.comb(degree, k) * many for degree, many in zip(degrees.tolist(), times.tolist(), strict=True))


def onward(graph: SimpleGraph) -> csr_matrix:
    """Return the edges as a matrix: from the later place in the order of falling degree to the earlier one."""
    from scipy.sparse import csr_matrix

    source, target = graph.ranked[:, 1], graph.ranked[:, 0]
    # Numbers of paths are below the number of nodes.
    ones = np.ones(len(source), dtype=np.int32)
    return csr_matrix((ones, (source, target)), shape=(graph.nodes, graph.nodes))


def triangle_count(graph: SimpleGraph) -> int:
    """Return the number of triangles: paths of two such edges whose ends are joined by a third."""
    matrix = onward(graph)
    lengths = np.diff(matrix.indptr).astype(np.int64)
    total = 0
    for first, last in chunks(np.asarray(matrix @ lengths)):
        rows = matrix[first:last]
        total += int((rows @ matrix).multiply(rows).sum(dtype=np.int64))
    return total


def k_triangle_count(graph: SimpleGraph, k: int) -> int:
    """Return the number of k-triangles: an edge and k nodes that are joined to both of its ends."""
    found, times = np.unique(supports(graph), return_counts=True)
    return sum(math.comb(one, k) * many for one, many in zip(found.tolist(), times.tolist(), strict=True))


def supports(graph: SimpleGraph) -> Ints:
    """Return the number of triangles on each edge, in the order of the edges."""
    # From later places, of smaller degree, to earlier ones.
    source, target = graph.ranked[:, 1], graph.ranked[:, 0]
    keys = source * graph.nodes + target
    order = np.argsort(keys, kind="stable")
    source, target, keys = source[order], target[order], keys[order]
    starts = np.searchsorted(source, np.arange(graph.nodes + 1))
    lengths = np.diff(starts)
    found = np.zeros(len(keys), dtype=np.int64)
    # For the edge (u, v) all (x, w) with x the end that has fewer edges onwards: is (the other end, w) an edge?
    is_first = lengths[source] < lengths[target]
    near, other = np.where(is_first, source, target), np.where(is_first, target, source)
    for first, last in chunks(lengths[near]):
        many = lengths[near[first:last]]
        edge = np.repeat(np.arange(first, last), many)
        offset = np.arange(len(edge)) - np.repeat(np.cumsum(many) - many, many)
        onward = starts[near[edge]] + offset
        wanted = other[edge] * graph.nodes + target[onward]
        place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        hit = keys[place] == wanted
        for corner in (edge, onward, place):
            found += np.bincount(corner[hit], minlength=len(keys))
    result = np.empty_like(found)
    result[order] = found
    return result


def chunks(work: Ints) -> Iterator[tuple[int, int]]:
    """Return ranges with about ``_CHUNK`` pairs of edges each; a range has at least one entry."""
    done = np.cumsum(work)
    first = 0
    while first < len(work):
        before = int(done[first - 1]) if first else 0
        last = max(int(np.searchsorted(done, before + _CHUNK, side="right")), first + 1)
        yield first, last
        first = last


def largest_common(graph: SimpleGraph) -> int:
    """Return the largest number of common neighbours of two nodes, joined or not.

    Two nodes have at most as many as the smaller of their degrees. So nodes come by falling degree, each with those
    before it, until the next degree is not above what was found.
    """
    return descend(graph, lambda common, _: common, lambda degree: degree)


def descend(graph: SimpleGraph, value: Any, bound: Any) -> int:
    """Return the largest value of a pair of nodes with common neighbours, 0 if there is none.

    Args:
        graph: private.
        value: makes of a sparse block of numbers of common neighbours, and the range of its rows, the block of values;
            rows and columns are places in the order of falling degree, and all columns lie before the end of the range.
        bound: the largest value of a pair of which one node has a given degree.

    """
    matrix = graph.matrix()
    falling = graph.degrees[graph.order]
    work = np.asarray(matrix @ falling)
    best, first, rows = 0, 0, _FIRST_ROWS
    while first < graph.nodes and falling[first] and bound(int(falling[first])) > best:
        ahead = np.cumsum(work[first : first + rows])
        last = first + max(int(np.searchsorted(ahead, _CHUNK, side="right")), 1)
        last = min(last, graph.nodes)
        common = (matrix[first:last] @ matrix[:, :last]).tocoo()
        # Each pair once, and no node with itself.
        is_pair = common.col < common.row + first
        kept = type(common)(
            (common.data[is_pair], (common.row[is_pair], common.col[is_pair])), shape=common.shape
        ).tocsr()
        values: NDArray[Any] = value(kept, (first, last)).data
        best = max(best, int(values.max(initial=0)))
        first, rows = last, rows * 2
    return best

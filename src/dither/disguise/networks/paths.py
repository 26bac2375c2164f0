"""One shortest path for each chosen pair, and which edges it uses. Where several are equally short, one is fixed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from dither.disguise.networks.graph import Numbers, Places, Weighted
from dither.errors import InvalidParameter

Pairs = tuple[tuple[int, int], ...]


@dataclass(frozen=True, eq=False)
class Paths:
    """Chosen pairs with a shortest path each.

    Args:
        first: the node at which each path begins.
        last: the node at which it ends.
        steps: edges, by the paths that use them: those of edge e stand from ``starts[e]`` to ``starts[e + 1]``.
        starts: where each edge's paths begin in ``steps``.

    """

    first: Places
    last: Places
    steps: Places
    starts: Places

    def __len__(self) -> int:
        return len(self.first)

    def using(self, edge: int) -> Places:
        """Return the paths that use an edge."""
        return self.steps[self.starts[edge] : self.starts[edge + 1]]

    def uses(self) -> Places:
        """Return how many paths use each edge."""
        return np.diff(self.starts)

    def lengths_in(self, weights: Numbers) -> Numbers:
        """Return the lengths of these paths, shortest or not, under other weights."""
        edges = np.repeat(np.arange(len(weights)), self.uses())
        return np.bincount(self.steps, weights=weights[edges], minlength=len(self)).astype(np.float64)


def pairs_of(given: Iterable[tuple[int, int]]) -> Pairs:
    """Return pairs of nodes as a tuple, if they are pairs of different nodes."""
    pairs = tuple((int(first), int(last)) for first, last in given)
    for first, last in pairs:
        if first == last:
            raise InvalidParameter("pairs", (first, last), "of two different nodes")
    return pairs


def paths_of(graph: Weighted, pairs: Pairs) -> tuple[Paths, Numbers]:
    """Return a shortest path for every pair, each pair once, and the lengths of shortest paths between all nodes."""
    if graph.directed:
        once = list(dict.fromkeys(pairs))
    else:
        once = list(dict.fromkeys((min(pair), max(pair)) for pair in pairs))
    ends = np.array(once, dtype=np.int64).reshape(-1, 2)
    if len(ends) and (ends.min() < 0 or ends.max() >= graph.nodes):
        raise InvalidParameter("pairs", int(ends.max()), f"nodes from 0 to {graph.nodes - 1}")
    lengths, before = graph.shortest()
    first, last = ends[:, 0], ends[:, 1]
    apart = ~np.isfinite(lengths[first, last])
    if apart.any():
        raise InvalidParameter("pairs", once[int(np.argmax(apart))], "connected by a path")
    numbers = np.full((graph.nodes, graph.nodes), -1, dtype=np.int64)
    numbers[graph.ends[:, 0], graph.ends[:, 1]] = np.arange(len(graph.weights))
    if not graph.directed:
        numbers[graph.ends[:, 1], graph.ends[:, 0]] = np.arange(len(graph.weights))
    # All paths are walked back from their ends at once, an edge at a time.
    left, node = np.arange(len(ends)), last.copy()
    edges, walked = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    while len(left):
        previous = before[first[left], node]
        edges.append(numbers[previous, node])
        walked.append(left)
        going = previous != first[left]
        left, node = left[going], previous[going]
    every, of = np.concatenate(edges), np.concatenate(walked)
    order = np.argsort(every, kind="stable")
    starts = np.searchsorted(every[order], np.arange(len(graph.weights) + 1))
    return Paths(first, last, of[order], starts.astype(np.int64)), lengths

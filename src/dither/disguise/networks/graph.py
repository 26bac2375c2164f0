"""A network with a positive weight on every edge, and its shortest paths."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter

Numbers = NDArray[np.float64]
Places = NDArray[np.int64]
#: Weights beyond these are refused: sums of them, or their inverses, would leave the numbers of the machine.
LEAST: Final = 1e-140
LARGEST: Final = 1e140


@dataclass(frozen=True, eq=False)
class Weighted:
    """A network: nodes from 0 on, no loops or double edges, weights above zero; a smaller weight is a shorter edge.

    Args:
        nodes: how many.
        ends: the two ends of every edge, a row each.
        weights: of the edges, in their order.
        directed: an edge leads from its first end to its second only.

    >>> Weighted.of([(0, 1, 2.0), (1, 2, 3.0)]).lengths()[0].tolist()
    [0.0, 2.0, 5.0]

    """

    nodes: int
    ends: Places
    weights: Numbers
    directed: bool = False

    def __post_init__(self) -> None:
        if self.ends.ndim != 2 or self.ends.shape[1] != 2 or not len(self.ends) == len(self.weights) > 0:
            raise InvalidParameter("edges", self.ends.shape, "one or more pairs of nodes, with a weight each")
        for wrong, rule in (
            ((self.ends < 0).any(axis=1) | (self.ends >= self.nodes).any(axis=1), f"nodes from 0 to {self.nodes - 1}"),
            (self.ends[:, 0] == self.ends[:, 1], "two different nodes"),
            (~(self.weights > 0), "with a weight above zero"),
            (~((self.weights >= LEAST) & (self.weights <= LARGEST)), f"with a weight from {LEAST:g} to {LARGEST:g}"),
            (self._doubles(), "listed once"),
        ):
            if wrong.any():
                first = int(np.argmax(wrong))
                found = (*self.ends[first].tolist(), float(self.weights[first]))
                raise InvalidParameter(f"edge {first}", found, rule)

    @classmethod
    def of(
        cls, edges: Iterable[tuple[int, int, float]], *, nodes: int | None = None, directed: bool = False
    ) -> Weighted:
        """Return the network of edges, each two nodes and a weight; without a number the largest node is the last."""
        rows = list(edges)
        ends = np.array([row[:2] for row in rows], dtype=np.int64).reshape(-1, 2)
        count = int(ends.max(initial=-1)) + 1 if nodes is None else nodes
        return cls(count, ends, np.array([row[2] for row in rows], dtype=np.float64), directed)

    def reweighted(self, weights: Numbers) -> Weighted:
        """Return the same network with other weights."""
        return replace(self, weights=np.array(weights, dtype=np.float64))

    def both_ways(self) -> Weighted:
        """Return the directed network in which every edge leads both ways; a directed one is returned as it is."""
        if self.directed:
            return self
        ends = np.concatenate([self.ends, self.ends[:, ::-1]])
        return Weighted(self.nodes, ends, np.concatenate([self.weights, self.weights]), directed=True)

    def matrix(self) -> Numbers:
        """Return the weights as a matrix, infinite where there is no edge."""
        out = np.full((self.nodes, self.nodes), np.inf)
        out[self.ends[:, 0], self.ends[:, 1]] = self.weights
        if not self.directed:
            out[self.ends[:, 1], self.ends[:, 0]] = self.weights
        return out

    def lengths(self) -> Numbers:
        """Return the length of a shortest path between any two nodes, infinite where there is none."""
        return self.shortest()[0]

    def shortest(self) -> tuple[Numbers, Places]:
        """Return the lengths of shortest paths, and on one path for each pair the node before its end."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import shortest_path

        both = self.both_ways()
        sparse = csr_array((both.weights, (both.ends[:, 0], both.ends[:, 1])), shape=(self.nodes, self.nodes))
        lengths, before = shortest_path(sparse, directed=True, return_predecessors=True)
        return np.asarray(lengths), np.asarray(before, dtype=np.int64)

    def _doubles(self) -> NDArray[np.bool_]:
        ends = self.ends if self.directed else np.sort(self.ends, axis=1)
        out = np.ones(len(ends), dtype=np.bool_)
        out[np.unique(ends, axis=0, return_index=True)[1]] = False
        return out

"""How far the weight of one edge may move so that chosen shortest paths stay the shortest.

Up: a chosen path through the edge grows with it, and its rivals are the paths without the edge; the least of their
leads is the slack. Down: a chosen path past the edge stays as long as it is, and its rivals are the paths through the
edge, in either direction if the edge has none (one direction, as printed in the source, loses paths); the least of
their leads and the weight itself is the slack. Both are open ends: at the slack itself there is a tie, or a weight of
zero.

Lengths are kept current. Where an edge grows, only pairs whose shortest path uses it can change: each of them enters by
an edge from a node that the change does not reach, so no path is searched anew. Where an edge shrinks, one relaxation
of the sources that come nearer is enough.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from dither.disguise.networks.graph import Numbers, Places, Weighted
from dither.disguise.networks.paths import Pairs, paths_of
from dither.errors import InvalidParameter

#: Lengths nearer than this share of the mean weight are equal: what lies between them is rounding.
_EQUAL: Final = 1e-9
#: Slack below this share of the mean weight is none.
_NONE: Final = 1e-6
_SOURCES: Final = 32
_CELLS: Final = 4_000_000


@dataclass(frozen=True, eq=False)
class _Detours:
    """Pairs whose shortest path may use an edge, and how long their shortest path without it is."""

    first: Places
    last: Places
    lengths: Numbers


class Slack:
    """Current weights and lengths of a network, and the chosen paths that must stay the shortest."""

    def __init__(self, graph: Weighted, pairs: Pairs) -> None:
        self.paths, self.lengths = paths_of(graph, pairs)
        self._settle(graph)
        self._chosen = np.zeros((graph.nodes, graph.nodes), dtype=np.bool_)
        self._chosen[self.paths.first, self.paths.last] = True
        self._without = np.zeros((graph.nodes, graph.nodes))

    def _settle(self, graph: Weighted) -> None:
        self.graph = graph
        self._matrix = graph.matrix()
        self._weights = graph.weights.copy()
        self._equal = _EQUAL * float(graph.weights.mean())
        self.none = _NONE * float(graph.weights.mean())
        #: The edge that was asked about last: who asks for its slack moves it next.
        self._last: tuple[int, _Detours] | None = None

    def restart(self, weights: Numbers) -> None:
        """Take other weights, under which the chosen paths are still the shortest."""
        self._settle(self.graph.reweighted(weights))
        self.lengths = self.graph.lengths()

    @property
    def weights(self) -> Numbers:
        """The current weights."""
        return self._weights.copy()

    def weight(self, edge: int) -> float:
        """Return the current weight of an edge."""
        return float(self._weights[edge])

    def path_lengths(self, paths: Places | None = None) -> Numbers:
        """Return the current lengths of the chosen paths, or of some of them."""
        first, last = self.paths.first, self.paths.last
        return self.lengths[first, last] if paths is None else self.lengths[first[paths], last[paths]]

    def up(self, edge: int) -> float:
        """Return what an edge may grow by, infinite if no chosen path uses it or none can go another way."""
        using = self.paths.using(edge)
        if not len(using):
            return float("inf")
        detours = self._detours(edge)
        first, last = self.paths.first[using], self.paths.last[using]
        self._without[detours.first, detours.last] = detours.lengths
        if not self.graph.directed:
            self._without[detours.last, detours.first] = detours.lengths
        found = float(np.min(self._without[first, last] - self.lengths[first, last]))
        self._without[detours.first, detours.last] = 0.0
        self._without[detours.last, detours.first] = 0.0
        return max(found, 0.0)

    def down(self, edge: int) -> float:
        """Return what an edge may shrink by, at most its weight."""
        using = self.paths.using(edge)
        used = self.paths.first[using], self.paths.last[using]
        self._chosen[used] = False
        best = weight = self.weight(edge)
        for near, far in self._ways(edge):
            # By the triangle inequality, no pair from a source has a smaller lead than the far end itself.
            sources = np.flatnonzero(np.isfinite(self.lengths[:, near]))
            leads = self.lengths[sources, near] + weight - self.lengths[sources, far]
            order = np.argsort(leads, kind="stable")
            for begin in range(0, len(order), _SOURCES):
                part = order[begin : begin + _SOURCES]
                if leads[part[0]] >= best:
                    break
                rows = sources[part]
                mask = self._chosen[rows]
                place, target = np.nonzero(mask)
                through = self.lengths[rows, near][place] + weight + self.lengths[far, target]
                best = float(np.min(through - self.lengths[rows[place], target], initial=best))
        self._chosen[used] = True
        return max(best, 0.0)

    def range(self, edge: int) -> tuple[float, float]:
        """Return what an edge may shrink by and what it may grow by."""
        return self.down(edge), self.up(edge)

    def move(self, edge: int, change: float) -> None:
        """Change the weight of an edge, within its slack, and the lengths with it."""
        weight = self.weight(edge) + change
        if not 0 < weight < float("inf"):
            raise InvalidParameter("change", change, f"above {-self.weight(edge):g} and finite")
        lengths = self.lengths
        if change > 0:
            detours = self._detours(edge)
            longer = np.minimum(lengths[detours.first, detours.last] + change, detours.lengths)
            lengths[detours.first, detours.last] = longer
            if not self.graph.directed:
                lengths[detours.last, detours.first] = longer
        else:
            ways = list(self._ways(edge))
            ends = [(lengths[:, near].copy(), lengths[:, far].copy(), lengths[far].copy()) for near, far in ways]
            for there, beyond, onward in ends:
                nearer = np.flatnonzero(there + weight < beyond)
                lengths[nearer] = np.minimum(lengths[nearer], there[nearer, None] + weight + onward)
        self._last = None
        self._weights[edge] = weight
        for near, far in self._ways(edge):
            self._matrix[near, far] = weight

    def _ways(self, edge: int) -> Iterator[tuple[int, int]]:
        """Yield the directions in which an edge is walked."""
        near, far = self.graph.ends[edge].tolist()
        yield near, far
        if not self.graph.directed:
            yield far, near

    def _detours(self, edge: int) -> _Detours:
        """Return the pairs that may use the edge from its first end to its second, with their lengths without it."""
        if self._last is not None and self._last[0] == edge:
            return self._last[1]
        near, far = self.graph.ends[edge].tolist()
        weight, lengths = self.weight(edge), self.lengths
        there, beyond = lengths[:, near], lengths[:, far]
        sources = np.flatnonzero(np.isfinite(there) & (there + weight <= beyond + self._equal))
        rows = lengths[sources]
        tight = np.isfinite(rows) & (there[sources, None] + weight + lengths[far] <= rows + self._equal)
        # Nothing leads back to a source, even where an edge is too short to be told from rounding.
        tight[np.arange(len(sources)), sources] = False
        row, node = np.nonzero(tight)
        self._matrix[near, far] = np.inf
        if not self.graph.directed:
            self._matrix[far, near] = np.inf
        # What the edge does not reach is as near as before, and the others are entered from there.
        outside = np.where(tight, np.inf, rows)
        found = np.empty(len(row))
        size = max(1, _CELLS // self.graph.nodes)
        into = self._matrix.T
        for begin in range(0, len(row), size):
            part = slice(begin, begin + size)
            found[part] = (outside[row[part]] + into[node[part]]).min(axis=1)
        counts = tight.sum(axis=1)
        stops = np.cumsum(counts)
        for place in np.flatnonzero(counts > 1):
            part = slice(stops[place] - counts[place], stops[place])
            found[part] = self._spread(found[part], node[part])
        for one, other in self._ways(edge):
            self._matrix[one, other] = weight
        self._last = edge, _Detours(sources[row], node, found)
        return self._last[1]

    def _spread(self, entries: Numbers, nodes: Places) -> Numbers:
        """Return lengths to nodes that are entered at these lengths and reach each other."""
        inner = self._matrix[np.ix_(nodes, nodes)]
        while True:
            better = np.minimum(entries, (entries[:, None] + inner).min(axis=0))
            if np.array_equal(better, entries):
                return entries
            entries = better

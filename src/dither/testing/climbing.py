"""A search for the two graphs that move a release most: change one edge at a time, and keep what moves it as far.

Random graphs rarely use a whole allowance where a change must be carried along many edges. Each step changes an edge
that both graphs share, or what differs; the pair is kept where a draw moves by as large a share of what it may move.
After some steps without progress the search begins again.
"""

from __future__ import annotations

from typing import Any, Final

from dither.privacy import Unit
from dither.testing.choices import Choices
from dither.testing.random_graphs import Edge, is_edges, ordered, random_graph

#: Steps without progress after which a search begins again with another graph.
_PATIENCE: Final = 60


class Climb:
    """One search, for graphs of so many nodes, one unit apart.

    >>> from dither.privacy import EDGE
    >>> climb = Climb(6, EDGE, Choices())
    >>> here, there = climb.step()
    >>> len(set(here) ^ set(there))
    1

    """

    def __init__(self, nodes: int, unit: Unit, choices: Choices) -> None:
        self._nodes, self._is_node, self._choices = nodes, unit.protects == "node", choices
        self._graph: set[Edge] = set()
        self._unit: Edge = (0, 1)
        self._tried = (self._graph, self._unit)
        self._best, self._left = -1.0, _PATIENCE
        self._begin()

    def step(self) -> tuple[list[Edge], list[Edge]]:
        """Return the next two graphs to try, in either direction."""
        self._tried = self._changed() if self._best >= 0 else (self._graph, self._unit)
        graph, unit = self._tried
        without = {edge for edge in graph if unit[0] not in edge} if self._is_node else graph - {unit}
        sides = sorted(graph | (set() if self._is_node else {unit})), sorted(without)
        return sides if self._choices.below(2) else sides[::-1]

    def tell(self, share: float) -> None:
        """Take how much of an allowance the last two graphs used."""
        self._left -= 1
        if share >= self._best:
            self._left = _PATIENCE if share > self._best else self._left
            self._best, (self._graph, self._unit) = share, self._tried
        if self._left <= 0:
            self._begin()

    def _begin(self) -> None:
        self._graph, self._best, self._left = random_graph(self._nodes, self._choices), -1.0, _PATIENCE
        self._unit = self._edge()
        if self._is_node:
            others = [node for node in range(self._nodes) if node != self._unit[0]]
            self._graph |= {ordered(self._unit[0], other) for other in self._choices.some(others)}

    def _changed(self) -> tuple[set[Edge], Edge]:
        graph, unit = set(self._graph), self._unit
        for _ in range(1 + self._choices.below(3)):
            kind = self._choices.below(6)
            if kind == 0:
                unit = self._edge()
            elif kind == 1 and self._is_node:
                other = self._choices.one([node for node in range(self._nodes) if node != unit[0]])
                graph ^= {ordered(unit[0], other)}
            else:
                graph ^= {self._edge()}
        return graph, unit

    def _edge(self) -> Edge:
        one, other = self._choices.shuffled(range(self._nodes))[:2]
        return ordered(one, other)


def climb_of(mechanism: Any, data: Any, choices: Choices) -> Climb | None:
    """Return a search for an instance that takes a list of edges; None for others."""
    unit, nodes = mechanism.distance, getattr(mechanism, "nodes", None)
    if not isinstance(nodes, int) or not isinstance(unit, Unit) or unit.protects not in ("edge", "node"):
        return None
    if not is_edges(data) or getattr(mechanism, "directed", False):
        return None
    return Climb(nodes, unit, choices)

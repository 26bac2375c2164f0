"""Graphs: what is public about a table whose rows are edges.

The nodes are public: they are what the two end columns declare, a range of integers or a list. The edges are private.
A row whose ends are equal, or of which one end is not a declared node, is no edge; rows with the same two ends are one
edge. In an undirected graph the order of the ends does not matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from dither.errors import InvalidParameter
from dither.exact import typed, whole

#: How many nodes a graph may have, and how many edges are held in memory.
MOST_NODES: Final = 2**24
MOST_EDGES: Final = 2**27


@dataclass(frozen=True)
@typed
class Graph:
    """A graph in a table of edges.

    Args:
        ends: the two columns that hold the nodes which a row connects.
        directed: whether an edge leads from the first to the second; else a row says both.
        edges: the most edges that count, which are chosen by a hash of their ends. Then one edge may push out another:
            a release costs what two edges cost. None where all that the nodes allow may count.
        degree: where nodes are protected, the most edges of one node that count; a smaller bound may be chosen.
        weight: a column of integers with bounds. Where weights are the unit it is all that is protected.
        time: a column of dates or timestamps, by which edges of a period can be asked for.
        nodes: a public table with one row for each node, whose key is the node: what is known of the nodes.

    >>> Graph(("source", "target")).most_edges(5), Graph(("a", "b"), directed=True).most_edges(5)
    (10, 20)

    """

    ends: tuple[str, ...]
    directed: bool = False
    edges: int | None = None
    degree: int | None = None
    weight: str | None = None
    time: str | None = None
    nodes: str | None = None

    def __post_init__(self) -> None:
        """Refuse ends that are not two columns, and limits out of range."""
        if len(self.ends) != 2 or self.ends[0] == self.ends[1]:
            raise InvalidParameter("ends", self.ends, "two different columns")
        for name in ("weight", "time"):
            if getattr(self, name) in (*self.ends, *([self.weight] if name == "time" and self.weight else [])):
                raise InvalidParameter(name, getattr(self, name), "a separate column")
        if self.edges is not None:
            whole("edges", self.edges, least=1, most=MOST_EDGES)
        if self.degree is not None:
            whole("degree", self.degree, least=1, most=MOST_NODES - 1)
            if self.edges is not None:
                # One hub could push out the edges of strangers, any number of them.
                raise InvalidParameter("edges", self.edges, "not allowed where a degree is declared")

    def most_edges(self, nodes: int) -> int:
        """Return the largest number of edges that count among that many nodes."""
        ends = 1 if self.directed else 2
        pairs = nodes * (nodes - 1) // ends
        if self.degree is not None:
            return min(pairs, nodes * self.degree // ends)
        return pairs if self.edges is None else min(pairs, self.edges)

    def moved_edges(self, nodes: int) -> int:
        """Return how many edges of those that count one edge adds and removes: 2 where it may push out another."""
        return 2 if self.edges is not None and self.edges < nodes * (nodes - 1) // (1 if self.directed else 2) else 1

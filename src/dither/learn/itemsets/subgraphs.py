"""Subgraphs as items: which small patterns of labelled nodes occur in each of many graphs.

For data whose rows are graphs, such as molecules, each of one person. The patterns are public: all edges, paths of two
edges and triangles over public labels. A graph becomes the set of those that occur in it, read by itself; so graphs
added or removed are transactions added or removed, and every method on itemsets finds frequent subgraphs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any, Final

from dither.errors import InvalidParameter
from dither.learn.itemsets.transactions import MOST_ITEMS, Transactions
from dither.mechanisms.core.values import raw_entries, raw_number, raw_text

Pattern = tuple[str, ...]
#: Of each graph at most this number of nodes and edges is read, the first ones; the rest is left out.
_MOST_NODES: Final = 2**12
_MOST_EDGES: Final = 2**14


class Subgraphs:
    """All connected patterns of two or three nodes over public labels.

    Args:
        labels: those that nodes may have, different from each other; a node with another one is as if not there.

    >>> patterns = Subgraphs(["C", "O"])
    >>> chain = (["O", "C", "C"], [(0, 1), (1, 2)])
    >>> [patterns.names[item] for item in patterns.items_of(chain)]
    ['C-C', 'C-O', 'C-C-O']

    """

    def __init__(self, labels: Iterable[str]) -> None:
        self.labels = tuple(labels)
        count = len(self.labels)
        if not count or len(set(self.labels)) != count or not all(type(label) is str for label in self.labels):
            raise InvalidParameter("labels", count, "at least one text, each once")
        if count**3 > MOST_ITEMS:
            raise InvalidParameter("labels", count, f"so few that their cube is at most {MOST_ITEMS}")

    @cached_property
    def _items(self) -> dict[tuple[str, Pattern], int]:
        """The number of each pattern."""
        two = list(combinations_with_replacement(self.labels, 2))
        found: list[tuple[str, Pattern]] = [("edge", ends) for ends in two]
        # A path by its middle, and its ends in the order of labels.
        found += [("path", (first, middle, last)) for middle in self.labels for first, last in two]
        found += [("triangle", corners) for corners in combinations_with_replacement(self.labels, 3)]
        return {one: number for number, one in enumerate(found)}

    @property
    def items(self) -> int:
        """How many patterns there are; public."""
        return len(self._items)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The patterns in words: a path as a-b-c, a triangle as (a-b-c)."""
        return tuple("-".join(nodes) if kind != "triangle" else f"({'-'.join(nodes)})" for kind, nodes in self._items)

    def transactions(self, graphs: Sequence[Any]) -> Transactions:
        """Return which patterns occur in each graph.

        Args:
            graphs: of each its labels by node, and its edges as pairs of numbers of nodes; private.

        """
        return Transactions.of(self.items, [self.items_of(graph) for graph in graphs])

    def items_of(self, graph: Any) -> list[int]:
        """Return the patterns that occur in one graph, in order; none where it is no graph."""
        parts = raw_entries(graph, 3)
        if parts is None or len(parts) != 2:
            return []
        labels = [raw_text(label) for label in raw_entries(parts[0], _MOST_NODES) or []]
        beside: dict[int, set[int]] = {node: set() for node, label in enumerate(labels) if label in self.labels}
        for edge in raw_entries(parts[1], _MOST_EDGES) or []:
            ends = [raw_number(end) for end in raw_entries(edge, 3) or []]
            if len(ends) == 2 and ends[0] != ends[1] and all(type(end) is int and end in beside for end in ends):
                beside[ends[0]].add(ends[1])  # type: ignore[index, arg-type]
                beside[ends[1]].add(ends[0])  # type: ignore[index, arg-type]
        place = {label: number for number, label in enumerate(self.labels)}
        named = {node: place[label] for node, label in enumerate(labels) if node in beside and label is not None}
        found: set[tuple[str, tuple[int, ...]]] = set()
        for middle, around in beside.items():
            kinds: dict[int, int] = {}
            for node in around:
                kinds[named[node]] = kinds.get(named[node], 0) + 1
                found.add(("edge", tuple(sorted((named[middle], named[node])))))
                for third in around & beside[node]:
                    found.add(("triangle", tuple(sorted((named[middle], named[node], named[third])))))
            for first, last in combinations_with_replacement(sorted(kinds), 2):
                if first != last or kinds[first] > 1:
                    found.add(("path", (first, named[middle], last)))
        return sorted(self._items[kind, tuple(self.labels[one] for one in nodes)] for kind, nodes in found)

"""Copies of a pattern, block by block: how much memory they take does not depend on how many there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from dither.publish.graphs.counts import chunks
from dither.publish.graphs.simple_graph import Ints, SimpleGraph

#: Up to this many copies are kept in memory; of more, one block at a time.
KEPT: Final = 2**22


@dataclass(frozen=True, eq=False)
class Copies:
    """The copies of a pattern in a graph, which are private: one copy a row, by its nodes.

    Args:
        nodes: their number, public.
        made: gives all copies once more, in blocks.

    """

    nodes: int
    made: Callable[[], Iterable[Ints]]

    @classmethod
    def of(cls, listed: Ints, nodes: int) -> Copies:
        """Return copies that are in memory anyway."""
        return cls(nodes, lambda: [listed])

    @cached_property
    def at_node(self) -> Ints:
        """How many copies each node is in."""
        found = np.zeros(self.nodes, dtype=np.int64)
        for block in self.made():
            found += np.bincount(block.ravel(), minlength=self.nodes)
        return found

    @cached_property
    def many(self) -> int:
        """How many copies there are."""
        return sum(len(block) for block in self.made())

    @cached_property
    def _kept(self) -> list[Ints] | None:
        return list(self.made()) if self.many <= KEPT else None

    def blocks(self) -> Iterable[Ints]:
        """Return all copies, block by block."""
        return self.made() if self._kept is None else self._kept


def triangles_of(graph: SimpleGraph) -> Copies:
    """Return all triangles.

    >>> from dither.publish.graphs.simple_graph import graph_of
    >>> triangles = triangles_of(graph_of([(0, 1), (0, 2), (1, 2), (2, 3)], 4))
    >>> triangles.many, triangles.at_node.tolist()
    (1, [1, 1, 1, 0])
    """
    return Copies(graph.nodes, lambda: _triangles(graph))


def _triangles(graph: SimpleGraph) -> Iterator[Ints]:
    # From later places, of smaller degree, to earlier ones; ordered by where they start.
    keys = np.sort(graph.ranked[:, 1] * graph.nodes + graph.ranked[:, 0])
    source, target = keys // graph.nodes, keys % graph.nodes
    starts = np.searchsorted(source, np.arange(graph.nodes + 1))
    lengths = np.diff(starts)
    for first, last in chunks(lengths[target]):
        many = lengths[target[first:last]]
        edge = np.repeat(np.arange(first, last), many)
        offset = np.arange(len(edge)) - np.repeat(np.cumsum(many) - many, many)
        third = target[starts[target[edge]] + offset]
        wanted = source[edge] * graph.nodes + third
        place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        hit = keys[place] == wanted
        yield graph.order[np.column_stack([source[edge[hit]], target[edge[hit]], third[hit]])]

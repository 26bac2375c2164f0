"""Edges: the private edges of a declared graph, to which methods on graphs are lifted.

An engine returns the pairs of ends that occur, each once. What is no edge by the rules of ``data.graphs`` is left out
here, ends become the numbers of their nodes, and where the schema limits the edges those with the smallest hash stay:
the hash is a fixed function of the two nodes, so that an edge pushes out at most one other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.data import Aggregated, Aggregation, CountRows, DataSet, Name, Scan
from dither.data.cell_values import NO_CLASS, codes_of
from dither.data.engines.protocol import Engine
from dither.data.graphs import MOST_EDGES, Graph
from dither.data.schema import Table
from dither.data.wire import register_records
from dither.errors import InvalidParameter
from dither.exact import typed
from dither.lift.source import Source
from dither.mechanisms.core.mechanism import Mechanism
from dither.privacy import EDGE, NODE, Distance

#: Odd multipliers of a public mixing function (splitmix64).
_FIRST: Final = np.uint64(0xBF58476D1CE4E5B9)
_SECOND: Final = np.uint64(0x94D049BB133111EB)


@dataclass(frozen=True)
@typed
class Edges(Source[NDArray[np.int64]]):
    """The edges of a graph as pairs of numbers of nodes, each once; undirected ones from the smaller to the larger.

    Args:
        dataset: the schema, whose unit is an edge or a node.
        table: the name of the table of edges.

    """

    dataset: DataSet
    table: str

    def __post_init__(self) -> None:
        """Reject a table that is not a graph, and a graph that might not fit into memory."""
        if not self.dataset.is_graph or self._table.graph is None:
            raise InvalidParameter("table", self.table, "a table with a graph, whose unit is an edge or a node")
        most = self.graph.most_edges(self.nodes)
        if most > MOST_EDGES:
            rule = f"at most {MOST_EDGES:,}, which fit into memory: declare 'edges' below 'graph', or fewer nodes"
            raise InvalidParameter("edges", f"up to {most:,}", rule)

    @property
    def _table(self) -> Table:
        return self.dataset.table(self.table)

    @property
    def graph(self) -> Graph:
        """What is public about the edges."""
        found = self._table.graph
        return Graph(("source", "target")) if found is None else found

    @property
    def nodes(self) -> int:
        """The number of declared nodes."""
        return self._table.nodes

    @cached_property
    def asked(self) -> Aggregation:
        """The engine's aggregation: the pairs of ends that occur."""
        return Aggregation(Scan(self._table), tuple(map(Name, self.graph.ends)), (CountRows(),))

    def aggregations(self) -> tuple[Aggregation, ...]:
        """Return the statement that lists the pairs of ends."""
        return (self.asked,)

    def read(self, engine: Engine) -> NDArray[np.int64]:
        """Return the edges that count, in increasing order."""
        return self.counted(engine.aggregate(self.asked))

    def counted(self, answer: Aggregated) -> NDArray[np.int64]:
        """Return the edges of an answer; what is no edge is as if not there."""
        pairs = [key for key in answer.keys if isinstance(key, tuple | list) and len(key) == 2]
        ends = np.column_stack([self._numbers([pair[place] for pair in pairs]) for place in range(2)])
        return limited(canonical(ends, self.nodes, directed=self.graph.directed), self.graph.edges)

    def _numbers(self, cells: Sequence[Any]) -> NDArray[np.int64]:
        """Return the numbers of nodes, -1 for what is not a declared node: a function of each cell by itself."""
        column = self._table.column(self.graph.ends[0])
        if column.categories is not None:
            code = codes_of(column.categories)
            return np.array([code(cell) for cell in cells], dtype=np.int64)
        first = column.lower if isinstance(column.lower, int) else 0
        inside = (cell - first if type(cell) is int and 0 <= cell - first < self.nodes else NO_CLASS for cell in cells)
        return np.fromiter(inside, dtype=np.int64, count=len(cells))

    def moves(self) -> dict[Distance, Fraction]:
        """Return how many edges one edge of the table adds and removes: two where it may push out another.

        Where nodes are protected nothing is pushed out, and a node of the table is a node of what is read.
        """
        if self.dataset.unit == NODE:
            return {NODE: Fraction(1)}
        return {EDGE: Fraction(self.graph.moved_edges(self.nodes))}

    def check(self, method: Mechanism[Any, Any]) -> None:
        """Reject a method for another number of nodes, or for undirected graphs where this one is directed."""
        super().check(method)
        if getattr(method, "nodes", None) != self.nodes:
            raise InvalidParameter("method", method.name, f"a method for {self.nodes} nodes")
        if self.graph.directed and not getattr(method, "takes_directed", False):
            rule = "a method for directed graphs: declare the graph with 'directed: false' to leave directions out"
            raise InvalidParameter("method", method.name, rule)


def canonical(ends: NDArray[Any], nodes: int, *, directed: bool = False) -> NDArray[np.int64]:
    """Return the edges among pairs of numbers, each once and in order.

    Left out are loops, and pairs with a number that is not below ``nodes`` or is negative.

    >>> canonical(np.array([[1, 0], [0, 1], [2, 2], [2, 7], [2, 0]]), 3).tolist()
    [[0, 1], [0, 2]]
    """
    first, second = ends[:, 0].astype(np.int64), ends[:, 1].astype(np.int64)
    good = (first != second) & (first >= 0) & (second >= 0) & (first < nodes) & (second < nodes)
    first, second = first[good], second[good]
    if not directed:
        first, second = np.minimum(first, second), np.maximum(first, second)
    # Sorted and compared with the one before: numpy's own function for this takes ten times as long.
    keys = np.sort(first * nodes + second)
    is_new = np.ones(len(keys), dtype=np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=is_new[1:])
    keys = keys[is_new]
    return np.column_stack([keys // nodes, keys % nodes])


def limited(edges: NDArray[np.int64], most: int | None) -> NDArray[np.int64]:
    """Return at most that many edges: those with the smallest hash of their two nodes."""
    if most is None or len(edges) <= most:
        return edges
    order = np.argsort(edge_hash(edges), kind="stable")[:most]
    return edges[np.sort(order)]


def edge_hash(edges: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return a number for each pair of nodes below 2^31, different for different pairs: a fixed public function."""
    mixed = (edges[:, 0].astype(np.uint64) << np.uint64(32)) | edges[:, 1].astype(np.uint64)
    # Each step can be undone, so that no two pairs share a number and no order is left open.
    mixed = (mixed ^ (mixed >> np.uint64(30))) * _FIRST
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _SECOND
    return mixed ^ (mixed >> np.uint64(31))


register_records(Edges)

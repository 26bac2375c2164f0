"""Edges: the private edges of a declared graph, to which methods on graphs are lifted.

An engine returns the edges, each once: what is no edge by the rules of ``data.graphs`` is left out there, and where the
schema limits the edges those with the smallest hash stay, before anything is read. Ends become the numbers of their
nodes here. Where degrees are enough they are counted in the engine, and no edge is read at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.data import Aggregated, Aggregation, CountRows, DataSet, Name
from dither.data.cell_values import NO_CLASS, codes_of
from dither.data.columns import Values
from dither.data.engines.protocol import Engine
from dither.data.expressions import Value
from dither.data.graph_relations import DEGREE, ONE, OTHER, EndDegrees, edge_rows, weight_rows
from dither.data.graph_relations import NODE as NODE_COLUMN
from dither.data.graph_relations import WEIGHT as WEIGHT_COLUMN
from dither.data.graphs import MOST_EDGES, Graph
from dither.data.returned import key_columns
from dither.data.schema import Table
from dither.data.wire import register_records
from dither.errors import InvalidParameter
from dither.exact import typed
from dither.lift.source import Source
from dither.mechanisms.core.mechanism import Mechanism
from dither.privacy import EDGE, NODE, WEIGHT, Distance

#: Odd multipliers of a public mixing function (splitmix64).
_FIRST: Final = np.uint64(0xBF58476D1CE4E5B9)
_SECOND: Final = np.uint64(0x94D049BB133111EB)


class GraphSource(Source[NDArray[np.int64]]):
    """What is read of the private edges of a declared graph."""

    dataset: DataSet
    table: str

    def _check_table(self) -> None:
        """Reject a table that is not a graph."""
        if self._table.graph is None:
            raise InvalidParameter("table", self.table, "a table with a graph, whose unit is an edge or a node")

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

    def moves(self) -> dict[Distance, Fraction]:
        """Return how many edges one edge of the table adds and removes: two where it may push out another.

        Where nodes are protected nothing is pushed out, and a node of the table is a node of what is read. Where
        weights are, the edges are the same, and a weight of the table is a weight of what is read.
        """
        if self.dataset.unit in (NODE, WEIGHT):
            return {self.dataset.unit: Fraction(1)}
        return {EDGE: Fraction(self.graph.moved_edges(self.nodes))}

    def check(self, method: Mechanism[Any, Any]) -> None:
        """Reject a method for another number of nodes, or for undirected graphs where this one is directed."""
        super().check(method)
        if getattr(method, "nodes", None) != self.nodes:
            raise InvalidParameter("method", method.name, f"a method for {self.nodes} nodes")
        if self.graph.directed and not getattr(method, "takes_directed", False):
            rule = "a method for directed graphs: declare the graph with 'directed: false' to ignore directions"
            raise InvalidParameter("method", method.name, rule)

    def numbers(self, cells: Values, length: int) -> NDArray[np.int64]:
        """Return the numbers of nodes, -1 for what is not a declared node: a function of each cell by itself.

        Args:
            cells: a column of an answer.
            length: how many there are.

        """
        column = self._table.column(self.graph.ends[0])
        if cells is None:
            return np.full(length, NO_CLASS, dtype=np.int64)
        if column.categories is not None:
            code = codes_of(column.categories)
            return np.array([code(cell) for cell in _listed(cells)], dtype=np.int64)
        first = column.lower if isinstance(column.lower, int) else 0
        if isinstance(cells, np.ndarray) and cells.dtype == np.int64:
            known = np.ma.getdata(cells)
            # Compared before the difference is taken, which might not fit into 64 bits.
            is_node = (known >= first) & (known <= first + self.nodes - 1) & ~np.ma.getmaskarray(cells)
            return np.where(is_node, np.where(is_node, known, first) - first, np.int64(NO_CLASS))
        inside = (
            cell - first if type(cell) is int and 0 <= cell - first < self.nodes else NO_CLASS
            for cell in _listed(cells)
        )
        return np.fromiter(inside, dtype=np.int64, count=length)


def _listed(cells: NDArray[Any] | list[Any]) -> list[Any]:
    return cells if isinstance(cells, list) else cells.tolist()


@dataclass(frozen=True)
@typed
class Edges(GraphSource):
    """The edges of a graph as pairs of numbers of nodes, each once; undirected ones from the smaller to the larger.

    Args:
        dataset: the schema, whose unit is an edge or a node.
        table: the name of the table of edges.
        since: only edges of this date or time, or a later one, count.
        until: only edges of an earlier date or time count.

    """

    dataset: DataSet
    table: str
    since: Value = None
    until: Value = None

    def __post_init__(self) -> None:
        """Reject a table that is not a graph, and a graph that might not fit into memory."""
        self._check_table()
        if self.dataset.unit == WEIGHT:
            raise InvalidParameter("table", self.table, "a table whose unit is an edge or a node: here it is a weight")
        most = self.graph.most_edges(self.nodes)
        if most > MOST_EDGES:
            rule = f"at most {MOST_EDGES:,}, which fit into memory: declare 'edges' below 'graph', or fewer nodes"
            raise InvalidParameter("edges", f"up to {most:,}", rule)

    @cached_property
    def asked(self) -> Aggregation:
        """The engine's aggregation: the edges, each once and no more than declared."""
        return Aggregation(edge_rows(self._table, self.since, self.until), (Name(ONE), Name(OTHER)), (CountRows(),))

    def aggregations(self) -> tuple[Aggregation, ...]:
        """Return the statement that lists the edges."""
        return (self.asked,)

    def read(self, engine: Engine) -> NDArray[np.int64]:
        """Return the edges that count, in increasing order."""
        return self.counted(engine.aggregate(self.asked))

    def counted(self, answer: Aggregated) -> NDArray[np.int64]:
        """Return the edges of an answer; what is no edge is as if not there."""
        columns, length = key_columns(answer.keys, 2)
        ends = np.column_stack([self.numbers(column, length) for column in columns])
        return limited(canonical(ends, self.nodes, directed=self.graph.directed), self.graph.edges)


@dataclass(frozen=True)
@typed
class EdgeDegrees(GraphSource):
    """The degree of every node of an undirected graph, counted by the engine: no edge is read into memory.

    For methods that need no more than degrees. One edge more moves two of them by 1.

    Args:
        dataset: the schema, whose unit is an edge.
        table: the name of the table of edges.
        since: only edges of this date or time, or a later one, count.
        until: only edges of an earlier date or time count.

    """

    dataset: DataSet
    table: str
    since: Value = None
    until: Value = None

    def __post_init__(self) -> None:
        """Reject a table that is not an undirected graph, or whose nodes are protected."""
        self._check_table()
        if self.dataset.unit != EDGE or self.graph.directed:
            raise InvalidParameter("table", self.table, "an undirected graph whose unit is an edge")

    @cached_property
    def asked(self) -> Aggregation:
        """The engine's aggregation: the nodes that have edges, with their degrees."""
        counted = EndDegrees(edge_rows(self._table, self.since, self.until))
        return Aggregation(counted, (Name(NODE_COLUMN), Name(DEGREE)), (CountRows(),))

    def aggregations(self) -> tuple[Aggregation, ...]:
        """Return the statement that counts."""
        return (self.asked,)

    def read(self, engine: Engine) -> NDArray[np.int64]:
        """Return the degrees, by the number of the node; 0 for a node that does not occur."""
        (nodes, degrees), length = key_columns(engine.aggregate(self.asked).keys, 2)
        places = self.numbers(nodes, length)
        found = np.zeros(self.nodes, dtype=np.int64)
        is_node = places >= 0
        found[places[is_node]] = self._degrees(degrees, length)[is_node]
        return found

    def _degrees(self, cells: Values, length: int) -> NDArray[np.int64]:
        """Return degrees within their range, whatever an engine returns."""
        if cells is None:
            return np.zeros(length, dtype=np.int64)
        if isinstance(cells, np.ndarray) and cells.dtype == np.int64:
            return np.clip(np.ma.filled(cells, 0), 0, self.nodes - 1)
        inside = (min(max(each, 0), self.nodes - 1) if type(each) is int else 0 for each in _listed(cells))
        return np.fromiter(inside, dtype=np.int64, count=length)

    def check(self, method: Mechanism[Any, Any]) -> None:
        """Reject a method that needs edges."""
        super().check(method)
        if not getattr(method, "takes_degrees", False):
            raise InvalidParameter("method", method.name, "a method that needs no more than degrees")


@dataclass(frozen=True)
@typed
class EdgeWeights(GraphSource):
    """The edges of a graph with their weights: rows of two numbers of nodes and a weight, each edge once.

    Args:
        dataset: the schema, whose unit is a weight.
        table: the name of the table of edges.

    """

    dataset: DataSet
    table: str

    def __post_init__(self) -> None:
        """Reject a table whose weights are not the unit, and a graph that might not fit into memory."""
        self._check_table()
        if self.dataset.unit != WEIGHT:
            raise InvalidParameter("table", self.table, "a table whose unit is a weight")
        most = self.graph.most_edges(self.nodes)
        if most > MOST_EDGES:
            raise InvalidParameter("edges", f"up to {most:,}", f"at most {MOST_EDGES:,}: declare 'edges' below 'graph'")

    @property
    def bounds(self) -> tuple[int, int]:
        """The least and the largest weight."""
        column = self._table.column(str(self.graph.weight))
        low, high = column.lower, column.upper
        return (low, high) if isinstance(low, int) and isinstance(high, int) else (0, 1)

    @cached_property
    def asked(self) -> Aggregation:
        """The engine's aggregation: the edges and their weights that occur."""
        keys = (Name(ONE), Name(OTHER), Name(WEIGHT_COLUMN))
        return Aggregation(weight_rows(self._table), keys, (CountRows(),))

    def aggregations(self) -> tuple[Aggregation, ...]:
        """Return the statement that lists edges and weights."""
        return (self.asked,)

    def read(self, engine: Engine) -> NDArray[np.int64]:
        """Return the edges in increasing order, with the smallest of their weights; a missing one is the largest."""
        (*ends, given), length = key_columns(engine.aggregate(self.asked).keys, 3)
        low, high = self.bounds
        cells = [None] * length if given is None else _listed(given)
        inside = (min(max(each, low), high) if type(each) is int else high for each in cells)
        weights = np.fromiter(inside, dtype=np.int64, count=length)
        pairs = np.column_stack([self.numbers(column, length) for column in ends])
        edges, kept = weighted_pairs(pairs, weights, self.nodes)
        # Which edges count is decided by their ends, which are public.
        if self.graph.edges is not None and len(edges) > self.graph.edges:
            chosen = np.sort(np.argsort(edge_hash(edges), kind="stable")[: self.graph.edges])
            edges, kept = edges[chosen], kept[chosen]
        return np.column_stack([edges, kept])


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


def weighted_pairs(
    ends: NDArray[np.int64], weights: NDArray[np.int64], nodes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the undirected edges among pairs of numbers, each once and in order, with the smallest of their weights.

    >>> [each.tolist() for each in weighted_pairs(np.array([[1, 0], [0, 1], [2, 2]]), np.array([5, 3, 1]), 3)]
    [[[0, 1]], [3]]
    """
    first, second = np.minimum(ends[:, 0], ends[:, 1]), np.maximum(ends[:, 0], ends[:, 1])
    good = (first != second) & (first >= 0) & (second < nodes)
    keys, kept = first[good] * nodes + second[good], weights[good]
    order = np.lexsort((kept, keys))
    keys, kept = keys[order], kept[order]
    is_new = np.ones(len(keys), dtype=np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=is_new[1:])
    keys, kept = keys[is_new], kept[is_new]
    return np.column_stack([keys // nodes, keys % nodes]), kept


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


register_records(Edges, EdgeDegrees, EdgeWeights)

"""Edges between groups of nodes: how many lead from which group to which, by a public fact about the nodes."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.data import Aggregation, CountRows, DataSet, JoinPublic, Name
from dither.data.column_values import code_column, counted_columns
from dither.data.engines.protocol import Engine
from dither.data.expressions import Value
from dither.data.graph_relations import ONE, OTHER, edge_rows
from dither.data.graphs import Graph
from dither.data.schema import Table
from dither.data.wire import register_records
from dither.errors import InvalidParameter
from dither.exact import typed
from dither.lift.source import Source
from dither.privacy import EDGE, L1, L2, Distance

_FIRST, _SECOND = "first_", "second_"


@dataclass(frozen=True)
@typed
class EdgeGroups(Source[NDArray[np.int64]]):
    """The number of edges between any two groups of nodes, counted by the engine.

    A square table by the declared categories of the group, the row that of the first end; undirected edges stand above
    the diagonal or on it. Edges at nodes without a group, or with one that is not declared, are left out.

    Args:
        dataset: the schema, whose unit is an edge.
        table: the name of the table of edges, whose graph names a public table of nodes.
        group: a column of that table with categories.
        since: only edges of this date or time, or a later one, count.
        until: only edges of an earlier date or time count.

    """

    dataset: DataSet
    table: str
    group: str
    since: Value = None
    until: Value = None

    def __post_init__(self) -> None:
        """Reject a graph without public nodes, and a column that declares no groups."""
        if self.dataset.unit != EDGE or self.dataset.table(self.table).graph is None:
            raise InvalidParameter("table", self.table, "a table with a graph, whose unit is an edge")
        if self.graph.nodes is None:
            raise InvalidParameter("group", self.group, "not allowed: the graph names no table of nodes")
        if self.group not in self.nodes.kinds or not self.groups:
            raise InvalidParameter("group", self.group, f"a column of {self.graph.nodes} with categories")

    @property
    def graph(self) -> Graph:
        """What is public about the edges."""
        found = self.dataset.table(self.table).graph
        return Graph(("source", "target")) if found is None else found

    @property
    def nodes(self) -> Table:
        """The public table of nodes."""
        return self.dataset.table(str(self.graph.nodes))

    @property
    def groups(self) -> tuple[Any, ...]:
        """The declared groups."""
        return tuple(self.nodes.column(self.group).categories or ())

    @property
    def shape(self) -> tuple[int, int]:
        """As many rows and columns as there are groups."""
        return len(self.groups), len(self.groups)

    @cached_property
    def asked(self) -> Aggregation:
        """The engine's aggregation: edges, by the groups of their two ends."""
        edges = edge_rows(self.dataset.table(self.table), self.since, self.until)
        with_first = JoinPublic(edges, self.nodes, (Name(ONE),), keep_unmatched=False, prefix=_FIRST)
        with_both = JoinPublic(with_first, self.nodes, (Name(OTHER),), keep_unmatched=False, prefix=_SECOND)
        return Aggregation(with_both, (Name(_FIRST + self.group), Name(_SECOND + self.group)), (CountRows(),))

    def aggregations(self) -> tuple[Aggregation, ...]:
        """Return the statement that counts."""
        return (self.asked,)

    def read(self, engine: Engine) -> NDArray[np.int64]:
        """Return the numbers of edges between groups."""
        columns, counts = counted_columns(engine.aggregate(self.asked), 2)
        first, second = (code_column(cells, len(counts), self.groups) for cells in columns)
        is_known = (first >= 0) & (second >= 0)
        if not self.graph.directed:
            first, second = np.minimum(first, second), np.maximum(first, second)
        found = np.zeros(self.shape, dtype=np.int64)
        np.add.at(found, (first[is_known], second[is_known]), counts[is_known])
        return found

    def moves(self) -> dict[Distance, Fraction]:
        """Return how far one edge moves the table: by 1 in one cell, and in another where it pushes out an edge."""
        moved = Fraction(self.graph.moved_edges(self.dataset.table(self.table).nodes))
        return {L1: moved, L2: moved}


register_records(EdgeGroups)

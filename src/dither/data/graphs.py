"""Graphs: what is public about a table whose rows are edges.

The nodes are public: they are what the two end columns declare, a range of integers or a list. The edges are private.
A row whose ends are equal, or of which one end is not a declared node, is no edge; rows with the same two ends are one
edge. In an undirected graph the order of the ends does not matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final

from dither.data.expressions import Kind
from dither.data.kinds import Declaration, declares
from dither.errors import InvalidParameter
from dither.exact import typed, whole
from dither.privacy import EDGE, NODE, WEIGHT, Unit

if TYPE_CHECKING:
    from dither.data.schema import Column, DataSet, Table
    from dither.data.yaml_tree import Node

#: How many nodes a graph may have, and how many edges are held in memory.
MOST_NODES: Final = 2**24
MOST_EDGES: Final = 2**27
_LARGEST_WEIGHT: Final = 2**30


@declares
@dataclass(frozen=True)
@typed
class Graph(Declaration):
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

    kind: ClassVar[str] = "graph"
    called: ClassVar[str] = "a graph"
    units: ClassVar[Mapping[str, Unit]] = MappingProxyType({"edge": EDGE, "node": NODE, "weight": WEIGHT})
    asked_with: ClassVar[str] = (
        "a release of the graph, such as session.graph(...).triangles: edges or nodes are protected, and not rows"
    )
    hint: ClassVar[str] = (
        "If rows say who is joined to whom: edge or node, and 'graph: {ends: [COLUMN, COLUMN], nodes: [...]}' below."
    )

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

    @property
    def uncut(self) -> tuple[str, ...]:
        """The ends: two nodes must not become one."""
        return self.ends

    def size(self, table: Table) -> int:
        """Return the number of nodes that the ends of a table declare."""
        return _node_count(table.column(self.ends[0])) or 0

    @property
    def naming(self) -> tuple[str, ...]:
        """The ends: an edge between undeclared nodes does not count."""
        return self.ends

    def check(self, table: Table) -> None:
        """Refuse end columns that do not declare one and the same set of nodes."""
        here = f"graph of {table.name}"
        if table.is_public or table.person is not None or table.owner is not None:
            raise InvalidParameter(here, self.ends, "not allowed, unless the table is private and its rows are edges")
        for other in table.declared:
            if other is not self:
                raise InvalidParameter(
                    f"{other.kind} of {table.name}", other.called, "not allowed for a table of edges"
                )
        known = {column.name: column for column in table.columns}
        for name in self.ends:
            if name not in known:
                raise InvalidParameter(here, name, f"one of its columns {', '.join(known)}")
            column, first = known[name], known[self.ends[0]]
            if column.kind not in (Kind.INTEGER, Kind.TEXT) or _node_count(column) is None:
                rule = "an integer with bounds, or an integer or a string with categories: they are the public nodes"
                raise InvalidParameter(here, name, rule)
            if _node_facts(column) != _node_facts(first):
                raise InvalidParameter(here, name, f"declared with the same nodes as {first.name}")
        whole(f"nodes of {table.name}", self.size(table), least=2, most=MOST_NODES)
        for extra, kinds in ((self.weight, (Kind.INTEGER,)), (self.time, (Kind.DATE, Kind.TIMESTAMP))):
            if extra is not None and (extra not in known or known[extra].kind not in kinds):
                rule = f"one of its columns, of the kind {' or '.join(kind.value for kind in kinds)}"
                raise InvalidParameter(here, extra, rule)
        if self.weight is not None:
            low, high = known[self.weight].lower, known[self.weight].upper
            if type(low) is not int or type(high) is not int or not -_LARGEST_WEIGHT <= low < high <= _LARGEST_WEIGHT:
                raise InvalidParameter(here, self.weight, "an integer with bounds between -2^30 and 2^30")

    def check_in(self, table: Table, dataset: DataSet) -> None:
        """Refuse a graph without its unit, with a limit of another unit, or beside another private table."""
        here = f"graph of {table.name}"
        if dataset.own_kind is not Graph:
            raise InvalidParameter(here, self.ends, "not allowed, unless the unit of the data set is an edge or a node")
        if (self.degree is None) == (dataset.unit == NODE):
            rule = "declared with a degree exactly when nodes are protected: how many edges of one node count"
            raise InvalidParameter(here, self.degree, rule)
        if self.degree is not None and self.degree >= table.nodes:
            raise InvalidParameter(here, self.degree, f"of a degree below the number of nodes, {table.nodes}")
        if dataset.unit == WEIGHT and (self.weight is None or self.directed):
            rule = "declared with a weight, and without directions: the unit is weight"
            raise InvalidParameter(here, self.weight, rule)
        if self.nodes is not None:
            found = next((other for other in dataset.tables if other.name == self.nodes and other.is_public), None)
            if found is None or len(found.key) != 1:
                raise InvalidParameter(here, self.nodes, "the name of a public table with a key of one column")
            if found.column(found.key[0]).kind is not table.column(self.ends[0]).kind:
                raise InvalidParameter(here, self.nodes, f"a table whose key is of the kind of {self.ends[0]}")
        private = [other.name for other in dataset.tables if not other.is_public]
        if len(private) != 1:
            raise InvalidParameter("tables", private, "one private table where edges or nodes are protected")

    def first_command(self, dataset: DataSet, called: str) -> str:
        """Return how a graph is asked: not with SQL."""
        return f"dither graph {called} {'spanning-tree' if dataset.unit == WEIGHT else 'edges'}"

    def rows_in(self, table: Table, frame: object) -> Any:
        """Return the edges of a sparse matrix or a NetworkX graph."""
        from dither.data.graph_objects import edge_table

        return edge_table(table, self.ends, frame)

    @classmethod
    def completed(cls, tables: dict[str, Node], folder: Path | None) -> dict[str, Node]:
        """Return the tables with the nodes that are declared once at both ends."""
        from dither.data.graph_nodes import with_nodes

        return with_nodes(tables, folder)

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


def _node_facts(column: Column) -> tuple[object, ...]:
    return column.kind, column.lower, column.upper, column.categories


def _node_count(column: Column) -> int | None:
    """Return how many nodes the facts about an end column declare; None where they declare none."""
    if column.categories is not None:
        return len(column.categories)
    if isinstance(column.lower, int) and isinstance(column.upper, int):
        return column.upper - column.lower + 1
    return None

"""Relations of a graph: its edges, each once and not more than declared, and the degrees of its nodes.

They group rows of different units, which nothing else in the closed tree does: an edge is one pair of nodes with all
rows that say it, so one edge more is one pair more, and moves two degrees by 1. Where the schema limits the edges,
those with the smallest portable hash of their two ends stay, so that an edge pushes out at most one other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from dither.data.base_relations import OfKind, distinct_columns, of_kind
from dither.data.evaluation import sort_key
from dither.data.expressions import Call, Expression, Kind, Literal, Name, Value
from dither.data.portable_hash import row_hash
from dither.data.relations import Filter, Keep, Project, Relation, Scan
from dither.data.schema import Table
from dither.errors import InvalidParameter
from dither.exact import typed, whole

if TYPE_CHECKING:
    from dither.data.engines.emit_relations import Printed, RelationEmitter

ONE, OTHER, NODE, DEGREE, WEIGHT = "one", "other", "node", "degree", "weight"


@of_kind
@dataclass(frozen=True)
@typed
class FirstPairs(OfKind):
    """The different rows of a relation of two columns, at most ``most`` of them: those with the smallest row hash.

    Ties of the hash are broken by the columns themselves, in order.
    """

    relation: Relation
    most: int | None = None

    called: ClassVar[str] = "the edges of a graph"

    def __post_init__(self) -> None:
        """Refuse rows of people, and any but two columns of one kind."""
        kinds = list(self.relation.columns.values())
        if self.relation.has_persons or len(kinds) != 2 or kinds[0] is not kinds[1]:
            raise InvalidParameter("relation", [kind.value for kind in kinds], "the two ends of edges, of one kind")
        if self.most is not None:
            whole("most", self.most, least=1, most=2**31)

    def meaning(self, rows: list[dict[str, Value]]) -> list[dict[str, Value]]:
        """Return the different pairs with the smallest hashes."""
        kinds = self.columns

        def place(pair: tuple[Value, ...]) -> Any:
            return row_hash(zip(pair, kinds.values(), strict=True)), [sort_key(end) for end in pair]

        chosen = sorted({tuple(row[name] for name in kinds) for row in rows}, key=place)[: self.most]
        return [dict(zip(kinds, pair, strict=True)) for pair in chosen]

    def printed(self, emitter: RelationEmitter, below: Printed) -> Printed:
        """Return the same in SQL."""
        from dither.data.engines.emit_graphs import first_pairs

        return first_pairs(emitter, below, self)


@of_kind
@dataclass(frozen=True)
@typed
class EndDegrees(OfKind):
    """The nodes that occur in pairs, each once, and in how many."""

    relation: Relation

    called: ClassVar[str] = "the degrees of a graph"

    def __post_init__(self) -> None:
        """Refuse what is not a list of different pairs."""
        if not isinstance(self.relation, FirstPairs):
            raise InvalidParameter("relation", type(self.relation).__name__, "FirstPairs")

    @cached_property
    def columns(self) -> Mapping[str, Kind]:
        """A node and its degree."""
        first = next(iter(self.relation.columns.values()))
        return distinct_columns([(NODE, first), (DEGREE, Kind.INTEGER)])

    @property
    def held(self) -> tuple[tuple[str, ...], ...]:
        """One end at a time."""
        return ((next(iter(self.relation.columns)),),)

    @property
    def unchanged(self) -> Mapping[str, str]:
        """The node."""
        return {NODE: next(iter(self.relation.columns))}

    def meaning(self, rows: list[dict[str, Value]]) -> list[dict[str, Value]]:
        """Return every node that occurs, and in how many pairs."""
        found: dict[Value, int] = {}
        for row in rows:
            for end in row.values():
                found[end] = found.get(end, 0) + 1
        return [{NODE: node, DEGREE: many} for node, many in found.items()]

    def printed(self, emitter: RelationEmitter, below: Printed) -> Printed:
        """Return the same in SQL."""
        from dither.data.engines.emit_graphs import end_degrees

        return end_degrees(emitter, below, self)


def edge_rows(table: Table, since: Value = None, until: Value = None) -> FirstPairs:
    """Return the edges of a table that declares a graph: what is no edge is left out, and no more count than declared.

    Args:
        table: whose rows are edges.
        since: only rows of this date or time, or a later one, count.
        until: only rows of an earlier date or time count.

    """
    rows, ends = _joined_rows(table, since, until)
    graph = table.graph
    limit = graph.edges if graph is not None and graph.moved_edges(table.nodes) > 1 else None
    return FirstPairs(Project(rows, ((ONE, ends[0]), (OTHER, ends[1]))), limit)


def weight_rows(table: Table) -> Project:
    """Return the rows of edges with their weights, every row of an edge.

    Args:
        table: whose graph has a weight.

    """
    rows, ends = _joined_rows(table, None, None)
    if table.graph is None or table.graph.weight is None:
        raise InvalidParameter("table", table.name, "a table whose graph has a weight")
    return Project(rows, ((ONE, ends[0]), (OTHER, ends[1]), (WEIGHT, Name(table.graph.weight))))


def _joined_rows(table: Table, since: Value, until: Value) -> tuple[Relation, tuple[Expression, Expression]]:
    """Return the rows that say an edge, each by itself, and their two ends in order."""
    graph = table.graph
    if graph is None:
        raise InvalidParameter("table", table.name, "a table with a graph")
    first, second = map(Name, graph.ends)
    column = table.column(graph.ends[0])
    rows: Relation = Scan(table)
    if column.categories is not None:
        for end in (first, second):
            rows = Keep(rows, (end,), tuple((name,) for name in column.categories))
        rows = Filter(rows, Call("unequal", (first, second)))
    else:
        inside = [
            Call(function, (end, Literal(bound, column.kind)))
            for end in (first, second)
            for function, bound in (("at_least", column.lower), ("at_most", column.upper))
        ]
        # NULL is in no range, and is left out.
        rows = Filter(rows, Call("and", (Call("unequal", (first, second)), *inside)))
    for parameter, function, bound in (("since", "at_least", since), ("until", "less", until)):
        if bound is not None:
            if graph.time is None:
                raise InvalidParameter(parameter, bound, "not allowed: the graph declares no time")
            moment = Literal(bound, table.column(graph.time).kind)
            rows = Filter(rows, Call(function, (Name(graph.time), moment)))
    ends: tuple[Expression, Expression] = (first, second)
    if not graph.directed:
        ends = Call("least", (first, second)), Call("greatest", (first, second))
    return rows, ends

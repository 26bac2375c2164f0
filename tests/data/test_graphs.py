"""Graphs in a schema: what may be declared, and what is refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from dither.data import Column, DataSet, Kind, Table, wire
from dither.data.files import dump_schema, loads
from dither.data.graphs import MOST_EDGES, Graph
from dither.errors import InvalidParameter, InvalidSchema
from dither.privacy import EDGE, NODE, ROW, WEIGHT, Unit

SCHEMA = """
dataset: friends
unit: {unit}
tables:
  friends:
    source: friends.csv
    {graph}
    columns:
      one: {one}
      other: {other}
      since: date
"""
ENDS = "{kind: integer, bounds: [0, 9]}"


def schema(
    graph: str = "graph: {ends: [one, other]}", *, unit: str = "edge", one: str = ENDS, other: str | None = None
) -> str:
    """Return a schema with one graph."""
    return SCHEMA.format(unit=unit, graph=graph, one=one, other=one if other is None else other)


@pytest.mark.parametrize(
    ("graph", "wanted"),
    [
        ("graph: {ends: [one, other]}", Graph(("one", "other"))),
        ("graph: {ends: [other, one], directed: true}", Graph(("other", "one"), directed=True)),
        ("graph: {ends: [one, other], edges: 20}", Graph(("one", "other"), edges=20)),
        ("graph: {ends: [one, other], time: since}", Graph(("one", "other"), time="since")),
    ],
)
def test_a_graph_is_read_from_a_schema_and_written_back(graph: str, wanted: Graph) -> None:
    found = loads(schema(graph))
    assert found.unit == EDGE
    assert (found.tables[0].graph, found.tables[0].nodes) == (wanted, 10)
    assert loads(dump_schema(found)) == found
    assert wire.decode(wire.encode(found)) == found


def test_nodes_are_a_range_or_a_list() -> None:
    names = "{kind: text, categories: [ann, bob, cy]}"
    assert loads(schema(one=names)).tables[0].nodes == 3


def test_a_declared_degree_says_how_large_a_graph_may_be() -> None:
    assert Graph(("a", "b"), degree=3).most_edges(5) == 7
    assert Graph(("a", "b"), degree=4).most_edges(5) == Graph(("a", "b")).most_edges(5)
    assert Graph(("a", "b"), degree=1000).most_edges(100_000) <= MOST_EDGES < Graph(("a", "b")).most_edges(100_000)


def test_a_limit_of_edges_makes_one_edge_move_two() -> None:
    assert Graph(("a", "b")).moved_edges(5) == 1
    assert Graph(("a", "b"), edges=9).moved_edges(5) == 2
    # As many as there are pairs: nothing is ever pushed out.
    assert Graph(("a", "b"), edges=10).moved_edges(5) == 1
    assert Graph(("a", "b"), directed=True, edges=10).moved_edges(5) == 2


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (schema("graph: {directed: true}"), "tables.friends.graph.ends"),
        (schema("graph: {ends: [one]}"), "tables.friends.graph.ends"),
        (schema("graph: {ends: [one, one]}"), "tables.friends.graph.ends"),
        (schema("graph: {ends: [one, nobody]}"), "tables.friends.graph"),
        (schema("graph: {ends: [one, since]}"), "tables.friends.graph"),
        (schema("graph: {ends: [one, other], edges: 0}"), "tables.friends.graph.edges"),
        (schema(f"graph: {{ends: [one, other], edges: {MOST_EDGES + 1}}}"), "tables.friends.graph.edges"),
        (schema("graph: {ends: [one, other], weight: since}"), "tables.friends.graph"),
        (schema("graph: {ends: [one, other], weight: nothing}"), "tables.friends.graph"),
        (schema("graph: {ends: [one, other], weight: one}"), "tables.friends.graph.weight"),
        (schema("graph: {ends: [one, other], time: since, weight: since}"), "tables.friends.graph.time"),
        (schema("graph: {ends: [one, other], time: one}"), "tables.friends.graph.time"),
        (schema("graph: {ends: [one, other], nodes: people}"), "tables.friends.graph"),
        (schema("graph: {ends: [one, other], colour: since}"), "tables.friends.graph.colour"),
        (schema("graph: {ends: [one, other]}", unit="weight"), "tables.friends.graph"),
        (schema(one="integer"), "tables.friends.graph"),
        (schema(one=ENDS, other="{kind: integer, bounds: [0, 8]}"), "tables.friends.graph"),
        (schema(one="{kind: integer, bounds: [3, 3]}"), "tables.friends"),
        (schema(unit="row"), "tables.friends.graph"),
        (schema(""), "tables.friends.graph"),
    ],
)
def test_what_is_not_a_graph_is_refused_with_its_place(text: str, place: str) -> None:
    with pytest.raises(InvalidSchema) as refusal:
        loads(text)
    assert str(refusal.value).startswith(place)


def _table(name: str, **facts: Any) -> Table:
    columns = tuple(Column(end, Kind.INTEGER, lower=0, upper=9) for end in ("one", "other"))
    return Table(name, columns, f"{name}.csv", **facts)


@pytest.mark.parametrize(("unit", "degree"), [(ROW, None), (ROW, 3), (NODE, None), (NODE, 10), (EDGE, 3)])
def test_a_table_of_edges_needs_its_unit_and_a_degree_exactly_for_nodes(unit: Unit, degree: int | None) -> None:
    with pytest.raises(InvalidParameter):
        DataSet("friends", (_table("friends", graph=Graph(("one", "other"), degree=degree)),), unit)


def test_protected_nodes_have_a_degree_and_no_limit_of_edges() -> None:
    found = loads(schema("graph: {ends: [one, other], degree: 4}", unit="node"))
    assert found.unit == NODE
    assert found.tables[0].graph == Graph(("one", "other"), degree=4)
    assert loads(dump_schema(found)) == found
    with pytest.raises(InvalidSchema, match="not allowed where a degree is declared"):
        loads(schema("graph: {ends: [one, other], degree: 4, edges: 9}", unit="node"))


def test_one_budget_has_one_graph_and_no_other_private_table() -> None:
    graph = _table("friends", graph=Graph(("one", "other")))
    for tables in ((graph, _table("visits")), (graph, _table("foes", graph=Graph(("one", "other"))))):
        with pytest.raises(InvalidParameter):
            DataSet("friends", tables, EDGE)
    assert DataSet("friends", (graph, _table("places", is_public=True)), EDGE).is_graph


TWO_TABLES = """
dataset: roads
unit: weight
tables:
  roads:
    source: roads.csv
    graph: {ends: [one, other], weight: minutes, nodes: towns}
    columns:
      one: {kind: integer, bounds: [0, 9]}
      other: {kind: integer, bounds: [0, 9]}
      minutes: {kind: integer, bounds: BOUNDS}
  towns:
    source: towns.csv
    public: true
    key: KEY
    columns:
      town: integer
      region: {kind: text, categories: [north, south]}
"""


def test_weights_are_a_unit_and_nodes_a_public_table() -> None:
    found = loads(TWO_TABLES.replace("BOUNDS", "[0, 90]").replace("KEY", "town"))
    assert found.unit == WEIGHT
    assert found.is_graph
    assert found.unit.is_relaxed
    assert loads(dump_schema(found)) == found
    assert wire.decode(wire.encode(found)) == found
    wrong = (("[0, 90]", "region"), ("[0, 90]", "[town, region]"), ("[5, 5]", "town"), ("[0, 2147483648]", "town"))
    for bounds, key in wrong:
        with pytest.raises(InvalidSchema):
            loads(TWO_TABLES.replace("BOUNDS", bounds).replace("KEY", key))

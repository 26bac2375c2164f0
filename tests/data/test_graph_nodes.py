"""Nodes of a graph are written once: as a list, or as the key of a public table; never read off the edges."""

from __future__ import annotations

from pathlib import Path

import pytest

from dither.data.files import dump_schema, load_schema, loads
from dither.data.schema import DataSet
from dither.errors import InvalidSchema

EDGES = """
dataset: friends
unit: edge
tables:
  friends:
    source: friends.csv
    graph: {{ends: [one, other], nodes: {nodes}}}
    columns: {{one: {{from: "Person A", kind: {kind}}}, other: {kind}}}
"""
MEMBERS = """
  members: {{source: {source}, public: true, key: {key}, columns: {{id: {id}, town: text}}}}
"""


def edges(nodes: str, kind: str = "text") -> str:
    return EDGES.format(nodes=nodes, kind=kind)


def members(source: str = "members.csv", key: str = "id", column: str = "text") -> str:
    return MEMBERS.format(source=source, key=key, id=column)


def ends_of(found: DataSet) -> list[object]:
    table = found.table("friends")
    return [table.column(name).categories or table.column(name).lower for name in ("one", "other")]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (edges("[ann, bob, no]"), ("ann", "bob", "no")),
        (edges("[3, 5, 8]", "integer"), (3, 5, 8)),
        (edges("members") + members(column="{kind: text, categories: [ann, bob]}"), ("ann", "bob")),
        (edges("members") + members(key="[id]", column="{kind: text, categories: [ann, bob]}"), ("ann", "bob")),
        (edges("members", "integer") + members(column="{kind: integer, bounds: [1, 9]}"), 1),
    ],
)
def test_nodes_are_written_once(text: str, wanted: object) -> None:
    found = loads(text)
    assert ends_of(found) == [wanted, wanted]
    assert found.table("friends").column("one").source == "Person A"
    # Written back with the nodes at both ends, whatever happens to the list or the table.
    assert loads(dump_schema(found)) == found


def test_a_public_file_of_nodes_is_read_when_the_schema_is(tmp_path: Path) -> None:
    (tmp_path / "members.csv").write_text('town,"The id"\nx,ann\ny,"b ""o"" b"\nz,\nx,ann\nx,"eve, too"\n')
    path = tmp_path / "friends.yaml"
    path.write_text(edges("members") + members(column='{from: "The id", kind: text}'))
    # No file of edges is there: none is looked at.
    found = load_schema(path)
    assert ends_of(found) == [("ann", 'b "o" b', "eve, too")] * 2
    (tmp_path / "members.csv").unlink()
    assert loads(dump_schema(found)) == found


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (edges("members") + members("friends.csv"), "nodes read from the edges would publish who has one"),
        (edges("members") + members("./x/../friends.csv"), "nodes read from the edges would publish who has one"),
        (edges("members") + members("nowhere.csv"), "a CSV file that can be read"),
        (edges("members") + members("other.csv"), "whose column id is the list of nodes"),
        (edges("members") + members("members.parquet"), "categories declared for the key"),
        (edges("members") + members().replace("public: true, ", ""), "they are the public nodes"),
        (edges("[ann, ann]"), "ann"),
        (edges("[ann]"), "friends"),
        (edges("{ann: bob}"), "a name"),
        (edges("[ann, bob]", "{kind: text, categories: [ann, bob]}"), "the nodes are written once"),
    ],
)
def test_what_does_not_declare_public_nodes_is_refused(tmp_path: Path, text: str, words: str) -> None:
    text = text.replace("kind: {kind: text, categories: [ann, bob]}", "kind: text, categories: [ann, bob]")
    (tmp_path / "friends.csv").write_text("id,one,other\n1,ann,bob\n")
    (tmp_path / "other.csv").write_text("town\nx\n")
    path = tmp_path / "friends.yaml"
    path.write_text(text)
    with pytest.raises(InvalidSchema, match=words):
        load_schema(path)


def test_a_file_is_not_looked_for_where_the_schema_is_none() -> None:
    with pytest.raises(InvalidSchema, match="its whole path unless the schema is a file"):
        loads(edges("members") + members())


def test_two_integers_are_no_range_of_nodes(tmp_path: Path) -> None:
    with pytest.raises(InvalidSchema) as refused:
        loads(edges("[0, 26196]", "integer"))
    assert "'bounds: [0, 26196]' for one and other" in refused.value.rule
    assert "'categories: [0, 26196]'" in refused.value.rule
    for nodes, kind in (("[0, 1]", "integer"), ("[0, 3, 26196]", "integer"), ("[0, 26196]", "text")):
        assert loads(edges(nodes, kind)).table("friends").nodes == nodes.count(",") + 1

"""``dither add edges.csv``: the wizard asks for a graph, proposes nothing from the edges, and writes the schema."""

from __future__ import annotations

from pathlib import Path

import pytest

from dither.cli import curate, wizard
from dither.data.files import load_schema
from dither.data.graphs import Graph
from dither.errors import InvalidParameter
from dither.privacy import EDGE, NODE
from tests.cli.test_curate import home, record, run
from tests.cli.test_owners import typed

__all__ = ["home"]

FRIENDS = "Person A,Person B,since\nann,bob,2024-01-03\nbob,eve,2024-05-01\nann,zoe,2024-05-02\n"


@pytest.fixture(autouse=True)
def friends(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curate, "is_screen", lambda: True)
    (home / "friends.csv").write_text(FRIENDS)


def test_a_graph_is_asked_for_and_registered(home: Path) -> None:
    answers = (
        "graph",
        "",  # the ends, proposed by their names
        "person", "edge",
        "undirected",
        "", "y", "?", "ann, bob, eve, max",  # nothing is proposed: neither Enter nor y takes anything
        "since",
        "1", "y",
    )  # fmt: skip
    shown = run("add", "friends.csv", text=typed(*answers))
    for words in (
        "Person_A, Person_B (from the name)", "not 'edge' or 'node'", "nothing is proposed: type a value",
        "made of these edges it would publish who has one", "dither graph friends edges --epsilon 0.1",
    ):  # fmt: skip
        assert words in shown
    schema = load_schema(home / "friends.yaml")
    table = schema.table("friends")
    assert schema.unit == EDGE
    assert table.graph == Graph(("Person_A", "Person_B"), time="since")
    assert table.column("Person_B").categories == ("ann", "bob", "eve", "max")
    assert "zoe" not in (home / "friends.yaml").read_text()
    assert record("graph", "friends", "edges", "--epsilon", "0.5")["rows"]


def test_nodes_come_from_a_public_file_and_are_protected_with_a_degree(home: Path) -> None:
    (home / "members.csv").write_text("town,id\nx,ann\ny,bob\nx,eve\n")
    answers = (
        "graph", "person b, Person A", "node", "directed",
        "friends.csv", "nowhere.csv", "members.csv name", "members.csv id",
        "many", "3", "2",  # a degree is below the number of nodes
        "n",
    )  # fmt: skip
    shown = run("add", "friends.csv", "--budget", "1", text=typed(*answers, "y"))
    assert "nodes read from the edges would publish who has one" in shown
    assert "nowhere.csv is no file" in shown
    schema = load_schema(home / "friends.yaml")
    assert schema.unit == NODE
    wanted = Graph(("Person_B", "Person_A"), directed=True, degree=2, nodes="nodes")
    assert schema.table("friends").graph == wanted
    assert schema.table("friends").column("Person_A").categories == ("ann", "bob", "eve")


def test_many_nodes_need_a_limit_of_edges(home: Path) -> None:
    (home / "calls.csv").write_text("src,dst\n1,2\n2,3\n")
    answers = ("graph", "y", "edge", "undirected", "1, 20000", "n", "0", "1000000")
    run("add", "calls.csv", "--budget", "1", text=typed(*answers, "y"))
    table = load_schema(home / "calls.yaml").table("calls")
    assert (table.graph, table.nodes) == (Graph(("src", "dst"), edges=1_000_000), 20_000)


def test_the_most_edges_that_fit_are_proposed_and_make_the_graph_answer(home: Path) -> None:
    (home / "calls.csv").write_text("src,dst\n1,2\n2,3\n")
    answers = ("graph", "y", "edge", "undirected", "1, 20000", "n", "y")
    shown = run("add", "calls.csv", "--budget", "1", text=typed(*answers, "y"))
    assert "134217728 (from what fits into memory)" in shown
    assert load_schema(home / "calls.yaml").table("calls").graph == Graph(("src", "dst"), edges=2**27)
    assert record("graph", "calls", "triangles", "--epsilon", "0.5")["rows"]


def test_who_leaves_registers_nothing_and_nodes_that_no_row_has_are_told(home: Path) -> None:
    shown = run("add", "friends.csv", "--budget", "1", code=wizard.OPEN, text=typed("graph", "", "edge"))
    assert "nothing was registered" in shown
    assert "continue where you were: dither add friends.csv --budget 1" in shown
    assert "then type again: graph, then Enter, then edge" in shown
    answers = ("graph", "src, dst", "Person A, Person A", "Person A, since", "edge", "undirected", "x, y", "since", "n")
    (home / "friends.csv").write_text(FRIENDS.splitlines()[0] + "\n")
    with pytest.raises(InvalidParameter, match="a file with at least one valid row"):
        run("add", "friends.csv", "--budget", "1", text=typed(*answers, "y"))
    assert record("datasets") == []

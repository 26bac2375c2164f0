"""A synthetic graph from the door: priced, charged once, a table with the columns of the graph."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from dither.curator.folder import Curator
from dither.data import Column, DataSet, Kind, Table
from dither.data.graphs import Graph
from dither.errors import DitherError, InvalidParameter
from dither.lift.edges import Edges
from dither.privacy import EDGE, NODE, ApproxDP, Loss, PureDP
from dither.publish.graphs.synthesis.pictures import synthetic_page
from dither.publish.graphs.synthesis.planning import KINDS, chosen_synthesis, plan_synthesis

SCHEMA = """
dataset: friends
unit: edge
tables:
  friends:
    source: friends.csv
    graph: {ends: [one, other]}
    columns:
      one: {kind: text, categories: [ann, ben, cem, dot, eve, fay]}
      other: {kind: text, categories: [ann, ben, cem, dot, eve, fay]}
"""


def source_of(nodes: int = 1000, edges: int | None = None, **declared: Any) -> Edges:
    """Return the edges of a declared graph."""
    unit = NODE if "degree" in declared else EDGE
    ends = tuple(Column(name, Kind.INTEGER, lower=1, upper=nodes) for name in ("one", "other"))
    graph = Graph(("one", "other"), edges=edges, **declared)
    return Edges(DataSet("friends", (Table("friends", ends, "friends.csv", graph=graph),), unit), "friends")


def test_synthetic_edges_are_a_table_that_is_charged_once(tmp_path: Path) -> None:
    names = ["ann", "ben", "cem", "dot", "eve", "fay"]
    pairs = list(itertools.combinations(names[:5], 2))
    (tmp_path / "friends.csv").write_text("\n".join(["one,other", *map(",".join, pairs)]))
    (tmp_path / "friends.yaml").write_text(SCHEMA)
    with Curator.create(tmp_path / "home", anchors=tmp_path / "anchors") as made:
        made.add(tmp_path / "friends.yaml", budget=PureDP(10**6))
        with made.session("friends", analyst="ana") as session:
            offer = session.offer.graph().synthesize(epsilon=1000, method="top-edges", key="mine")
            assert session.quote(offer).loss <= PureDP(1000)
            first = session.release(offer)
            assert first.names == ("one", "other")
            assert list(first.rows) == pairs
            assert session.graph().synthesize(epsilon=1000, method="top-edges", key="mine") == first
            assert session.balance().releases == 1
            few = session.graph("friends").synthesize(epsilon=10, most=3)
            assert len(few.rows) <= 3
            assert any("clustered" in note for note in few.notes)
            page = synthetic_page(first)
            assert page.count("<svg") == 2
            assert "ann: 4 edges" in page
            for wrong in ({"method": "guess"}, {"most": 0}, {"table": "foes"}):
                with pytest.raises(InvalidParameter):
                    session.release(session.offer.named("graph.synthesize", {"epsilon": 1, **wrong}))
            assert session.balance().releases == 2


def test_auto_keeps_true_edges_only_where_most_of_what_it_keeps_is_true() -> None:
    # 499,500 pairs for 5,000 edges: the logarithm of 99.9 is 4.6. A declared limit costs twice.
    sparse = source_of(edges=5000)
    assert chosen_synthesis(sparse, PureDP(14), "auto") == "clustered"
    assert chosen_synthesis(sparse, PureDP(16), "auto") == "top-edges"
    assert chosen_synthesis(source_of(), PureDP(16), "auto") == "clustered"
    assert chosen_synthesis(sparse, PureDP(1), "top-edges") == "top-edges"


@pytest.mark.parametrize("name", KINDS)
def test_what_is_planned_is_within_the_loss_and_the_declared_edges(name: str) -> None:
    for loss in (PureDP(1), ApproxDP(1, "1e-6")):
        made = plan_synthesis(source_of(edges=700), loss, method=name)
        assert made.loss(1) <= loss
        assert made.method.most == 700
        assert plan_synthesis(source_of(50), loss, method=name, most=90).method.most == 90


def test_directed_graphs_and_protected_nodes_are_refused() -> None:
    loss: Loss = PureDP(1)
    with pytest.raises(InvalidParameter, match="unit edge"):
        plan_synthesis(source_of(degree=5), loss)
    with pytest.raises(DitherError, match="directed"):
        plan_synthesis(source_of(directed=True), loss)

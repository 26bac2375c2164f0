"""Graphs with more than edges, from files to answers: weights as the unit, times, and a public table of nodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dither.curator.folder import Curator
from dither.data import Column, DataSet, Kind, Table, wire
from dither.data.graphs import Graph
from dither.data.reference import ReferenceEngine
from dither.errors import InvalidParameter
from dither.lift.edge_groups import EdgeGroups
from dither.lift.edges import EdgeWeights
from dither.privacy import EDGE, L1, WEIGHT, PureDP

SCHEMA = """
dataset: {name}
unit: {unit}
tables:
  roads:
    source: {name}.csv
    graph: {{ends: [one, other], weight: minutes, time: opened, nodes: towns{further}}}
    columns:
      one: {{kind: text, categories: [a, b, c, d, e]}}
      other: {{kind: text, categories: [a, b, c, d, e]}}
      minutes: {{kind: integer, bounds: [0, 90]}}
      opened: date
  towns:
    source: towns.csv
    public: true
    key: town
    columns:
      town: text
      region: {{kind: text, categories: [north, south]}}
"""
ROADS = """one,other,minutes,opened
a,b,10,2001-01-01
b,a,70,2005-01-01
b,c,20,2002-01-01
c,a,90,2003-01-01
c,d,900,2004-01-01
d,d,5,2004-01-01
e,nowhere,5,2004-01-01
,b,5,2004-01-01
"""
LOSS: dict[str, Any] = {"epsilon": 10**4}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "towns.csv").write_text("town,region\na,north\nb,north\nc,south\nd,elsewhere\n")
    return tmp_path


def added(place: Path, unit: str, further: str = "") -> Curator:
    (place / "roads.csv").write_text(ROADS)
    (place / "roads.yaml").write_text(SCHEMA.format(name="roads", unit=unit, further=further))
    made = Curator.create(place / "home", anchors=place / "anchors")
    made.add(place / "roads.yaml", budget=PureDP(10**6))
    return made


def test_lengths_of_private_weights(place: Path) -> None:
    with added(place, "weight") as curator, curator.session("roads", analyst="ana") as session:
        graph = session.graph()
        tree = graph.spanning_tree(**LOSS, method="laplace")
        # a-b 10, b-c 20, and c-d, whose weight is beyond the range, 90.
        assert tree.rows == ((120,),)
        assert tree.unit == "weights replaced (which edges there are is not protected)"
        assert abs(graph.spanning_tree(**LOSS).column("cost")[0] - 120) <= 45  # type: ignore[operator]
        assert graph.path("a", "d", **LOSS).rows == ((120,),)
        assert graph.path("a", "e", **LOSS).rows == ((450,),)
        for wrong in (
            {"what": "edges"},
            {"what": "path"},
            {"what": "path", "start": "a", "end": "nowhere"},
            {"what": "path", "start": "a", "end": "b", "method": "ladder"},
            {"what": "spanning_tree", "start": "a", "end": "b"},
            {"what": "spanning_tree", "start": "a"},
            {"what": "spanning_tree", "end": "b"},
            {"what": "spanning_tree", "since": "2001-01-01"},
        ):
            with pytest.raises(InvalidParameter):
                session.release(session.offer.named(f"graph.{wrong.pop('what')}", {"epsilon": 1, **wrong}))
        assert session.balance().releases == 4


def test_periods_and_groups_of_edges(place: Path) -> None:
    with added(place, "edge") as curator, curator.session("roads", analyst="ana") as session:
        graph = session.graph()
        assert graph.edges(**LOSS).rows == ((4,),)
        # The edge between a and b has a row before and a row after.
        assert graph.edges(**LOSS, until="2002-01-01").rows == ((1,),)
        assert graph.edges(**LOSS, since="2003-01-01").rows == ((3,),)
        assert graph.triangles(**LOSS, method="laplace", since="2002-01-01").rows == ((1,),)
        between = graph.edges_between("region", **LOSS)
        assert between.rows == (("north", "north", 1), ("north", "south", 2), ("south", "south", 0))
        for wrong in (
            {"what": "edges", "since": "soon"},
            {"what": "edges", "group": "region"},
            {"what": "edges_between"},
            {"what": "edges_between", "group": "town"},
            {"what": "edges_between", "group": "region", "method": "ladder"},
            {"what": "spanning_tree"},
        ):
            with pytest.raises(InvalidParameter):
                session.release(session.offer.named(f"graph.{wrong.pop('what')}", {"epsilon": 1, **wrong}))
        assert session.balance().releases == 5


def dataset(unit: Any, edges: int | None = None) -> DataSet:
    ends = tuple(Column(name, Kind.INTEGER, lower=0, upper=3) for name in ("one", "other"))
    weight = Column("minutes", Kind.INTEGER, lower=0, upper=9)
    groups = (Column("node", Kind.INTEGER), Column("side", Kind.TEXT, categories=("left", "right")))
    graph = Graph(("one", "other"), weight="minutes", nodes="people", edges=edges)
    people = Table("people", groups, "people.csv", is_public=True, key=("node",))
    return DataSet("friends", (Table("friends", (*ends, weight), "friends.csv", graph=graph), people), unit)


PEOPLE = [{"node": node, "side": "left" if node < 2 else "right"} for node in range(3)]


def rows(*triples: tuple[Any, Any, Any]) -> list[dict[str, Any]]:
    return [{"one": one, "other": other, "minutes": minutes} for one, other, minutes in triples]


def test_one_edge_moves_the_table_of_groups_by_what_is_said() -> None:
    """The edge 0-2 comes, and where three may count it may push out another."""
    known = [(0, 1, 1), (1, 2, 1), (2, 3, 1), (1, 3, 1)]
    for edges in (None, 3):
        source = EdgeGroups(dataset(EDGE, edges), "friends", "side")
        here, there = (
            source.read(ReferenceEngine(source.dataset, {"friends": rows(*given), "people": PEOPLE}))
            for given in (known, [*known, (2, 0, 1), (0, 2, 5)])
        )
        assert abs(here - there).sum() <= source.moves()[L1] == (1 if edges is None else 2)
        if edges is None:
            # Nobody knows the side of node 3.
            assert here.tolist() == [[1, 1], [0, 0]]
            assert there.tolist() == [[1, 2], [0, 0]]
        assert wire.decode(wire.encode(source)) == source


def test_weights_are_read_with_their_edges_and_limits_go_by_ends() -> None:
    for edges, many in ((None, 3), (2, 2)):
        source = EdgeWeights(dataset(WEIGHT, edges), "friends")
        found = []
        for weight in (None, 0, 99, "x"):
            given = rows((0, 1, weight), (1, 0, 7), (1, 2, 3), (3, 2, -4), (2, 2, 1), (9, 0, 1))
            found.append(source.read(ReferenceEngine(source.dataset, {"friends": given, "people": PEOPLE})))
        assert all(len(each) == many for each in found)
        assert len({str(each[:, :2].tolist()) for each in found}) == 1
    assert source.moves() == {WEIGHT: 1}
    with pytest.raises(InvalidParameter, match="unit is a weight"):
        EdgeWeights(dataset(EDGE), "friends")

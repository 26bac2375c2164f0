"""Conversations about other questions than counts: cuts, distances, disjunctions, minimisers, from a session."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dither.curator.folder import Curator
from dither.curator.session import Session
from dither.data import Column, DataSet, Kind, Table
from dither.data.graphs import Graph
from dither.errors import InvalidParameter, StreamUnavailable
from dither.lift.cells import cells_of
from dither.mechanisms.core.public import PublicArray
from dither.privacy import EDGE, NODE, ROW, PureDP
from dither.publish.interactive import PublishedModel

#: So much that no noise is left: answers are compared with the truth.
HUGE = 10**5
EDGES = [("ann", "bob"), ("bob", "cid"), ("cid", "dan"), ("dan", "ann"), ("ann", "cid"), ("bob", "ann"), ("eve", "eve")]
PEOPLE = ("ann", "bob", "cid", "dan", "eve")
AGES = [0, 0, 1, 3, 3, 3, 7, 7]


@pytest.fixture
def curator(tmp_path: Path) -> Iterator[Curator]:
    with contextlib.closing(Curator.create(tmp_path / "home", anchors=tmp_path / "anchors")) as made:
        yield made


def graph_session(curator: Curator, path: Path, unit: Any = EDGE, **graph: Any) -> Session:
    path.write_text("one,other\n" + "".join(f"{one},{other}\n" for one, other in EDGES))
    ends = tuple(Column(name, Kind.TEXT, categories=PEOPLE) for name in ("one", "other"))
    table = Table("friends", ends, str(path), graph=Graph(("one", "other"), **graph))
    curator.add(DataSet("friends", (table,), unit), epsilon=9 * HUGE)
    return curator.session("friends", analyst="ana")


@pytest.fixture
def people(curator: Curator, tmp_path: Path) -> Session:
    path = tmp_path / "people.csv"
    rows = [f"{age},{'true' if age % 2 else 'false'},{'yes' if age > 2 else 'no'}" for age in AGES]
    path.write_text("\n".join(["age,smokes,drinks", *rows]) + "\n")
    columns = (
        Column("age", Kind.INTEGER, lower=0, upper=7),
        Column("smokes", Kind.BOOLEAN),
        Column("drinks", Kind.TEXT, categories=("no", "yes")),
    )
    curator.add(DataSet("people", (Table("people", columns, str(path)),), ROW), epsilon=9 * HUGE)
    return curator.session("people", analyst="ana")


def crossing(one: set[str], two: set[str]) -> int:
    pairs = {frozenset(pair) for pair in EDGES if len(set(pair)) == 2}
    return sum(any(a in one and b in two for a, b in (tuple(pair), tuple(pair)[::-1])) for pair in pairs)


def test_cuts_are_asked_of_a_graph_and_go_on_in_another_opening(curator: Curator, tmp_path: Path) -> None:
    session = graph_session(curator, tmp_path / "friends.csv")
    cuts = {"ann, bob | cid, dan": ({"ann", "bob"}, {"cid", "dan"}), "ann": ({"ann"}, set(PEOPLE) - {"ann"})}
    cuts["ann,bob,cid|ann,bob,cid"] = ({"ann", "bob", "cid"},) * 2
    price = session.quote(session.offer.conversation(kind="cuts", epsilon=HUGE))
    assert price.loss == PureDP(HUGE)
    assert session.balance().releases == 0
    with contextlib.closing(session.conversation("talk", kind="cuts", epsilon=HUGE)) as talk:
        found = {text: talk.ask(text) for text in cuts}
        assert {text: one.count for text, one in found.items()} == {text: crossing(*two) for text, two in cuts.items()}
        for wrong in ("ann | bob | cid", "zoe", "ann |", ""):
            with pytest.raises(InvalidParameter, match="question"):
                talk.ask(wrong)
        assert (talk.asked, talk.to_dict()["nodes"]) == (3, 5)
    # Rows that come later are not in it, and answers are those that were given.
    (tmp_path / "friends.csv").write_text("one,other\n")
    with contextlib.closing(session.conversation("talk")) as talk:
        assert [talk.ask(text) for text in cuts] == list(found.values())
        assert talk.ask("dan").count == crossing({"dan"}, set(PEOPLE) - {"dan"})
        assert talk.answers()[:3] == tuple(found.values())
    assert session.balance().releases == 1


def test_an_edge_that_may_push_out_another_costs_twice_and_nodes_are_refused(curator: Curator, tmp_path: Path) -> None:
    session = graph_session(curator, tmp_path / "friends.csv", edges=3)
    made: Any = session.offer.conversation(kind="cuts", epsilon=1).mechanism
    assert made.stability == 2
    assert made.loss(1) <= PureDP(1)
    assert made.method.loss(1) <= PureDP("1/2")
    path = tmp_path / "nodes.csv"
    path.write_text("one,other\n")
    ends = tuple(Column(name, Kind.TEXT, categories=PEOPLE) for name in ("one", "other"))
    hubs = DataSet("hubs", (Table("hubs", ends, str(path), graph=Graph(("one", "other"), degree=3)),), NODE)
    curator.add(hubs, epsilon=1)
    with pytest.raises(InvalidParameter, match="node privacy supports"):
        curator.session("hubs").offer.conversation(kind="cuts", epsilon=1)


def test_distances_of_all_rows_from_a_value(people: Session) -> None:
    for metric, apart in (("line", lambda a, b: abs(a - b)), ("circle", lambda a, b: min((a - b) % 8, (b - a) % 8))):
        words: dict[str, Any] = {"kind": "distances", "epsilon": HUGE, "metric": metric}
        with contextlib.closing(people.conversation(metric, "people", ["age"], **words)) as talk:
            assert [talk.ask(str(age)).count for age in (0, 3, 7)] == [
                sum(apart(age, other) for other in AGES) for age in (0, 3, 7)
            ]
            with pytest.raises(InvalidParameter, match="a declared value of age"):
                talk.ask("8")
    table = [[abs(one - other) * 2 for other in range(8)] for one in range(8)]
    with contextlib.closing(
        people.conversation("own", "people", ["age"], kind="distances", epsilon=HUGE, metric=table)
    ) as talk:
        assert talk.ask("0").count == 2 * sum(AGES)


def test_rows_that_have_any_of_some_attributes(people: Session) -> None:
    with contextlib.closing(
        people.conversation("any", "people", ["smokes", "drinks"], kind="disjunctions", epsilon=HUGE)
    ) as talk:
        either = sum(1 for age in AGES if age % 2 or age > 2)
        assert talk.ask("smokes, drinks").count == either
        assert talk.ask("drinks").count == sum(age > 2 for age in AGES)
        with pytest.raises(InvalidParameter, match="question"):
            talk.ask("smokes, age")
    with pytest.raises(InvalidParameter, match="columns of two values"):
        people.offer.conversation("people", ["age"], kind="disjunctions", epsilon=1)


def test_the_candidate_of_least_loss(people: Session) -> None:
    """The median of the ages is the value of least absolute distance; 3 is the only one here."""
    losses = [[abs(one - other) for other in range(8)] for one in (0, 3, 7)]
    words: dict[str, Any] = {"kind": "minimisers", "epsilon": HUGE, "candidates": 3, "top": 7}
    with contextlib.closing(people.conversation("median", "people", ["age"], **words)) as talk:
        found = talk.ask(json.dumps(losses))
        assert (found.candidate, found.excess is not None) == (1, True)
        for wrong in ("[[1]]", "no", "[[0.5]]", json.dumps([[9] * 8] * 3)):
            with pytest.raises(InvalidParameter, match="question"):
                talk.ask(wrong)
    with contextlib.closing(people.conversation("median", only_read=True)) as talk:
        assert [one.candidate for one in talk.answers()] == [1]


def test_a_model_of_queries_is_released_from_a_session(people: Session) -> None:
    """Three of eight ages are 3; a ridge that has seen every cell by itself knows it."""
    ages = cells_of(people.dataset, "people", "age", 8)
    queries = PublicArray([[int(one == other) for other in range(8)] for one in range(8)])
    method = PublishedModel.calibrated(PureDP(HUGE), sensitivity=1, shape=8, queries=queries)
    assert people.quote(people.offer.method(method, ages)).loss == PureDP(HUGE)
    model = people.release(method, ages, key="queries")
    assert model.answer([[0, 0, 0, 1, 0, 0, 0, 0]])[0] == pytest.approx(AGES.count(3), abs=0.1)


@pytest.mark.parametrize(
    ("words", "parameter"),
    [
        ({"kind": "sums"}, "kind"),
        ({"kind": "counts", "metric": "line"}, "metric"),
        ({"kind": "distances", "top": 3}, "top"),
        ({"kind": "distances", "metric": "plane"}, "metric"),
        ({"kind": "distances", "metric": [[0, 1], [1]]}, "metric"),
        ({"kind": "minimisers", "top": 3}, "candidates"),
        ({"kind": "disjunctions", "bins": {"age": 2}}, "bins"),
        ({"kind": "distances", "columns": None}, "columns"),
        ({"kind": "distances", "columns": ["age", "drinks"]}, "columns"),
        ({"kind": "cuts", "columns": None, "table": None}, "dataset"),
    ],
)
def test_refused_before_anything_is_charged(people: Session, words: dict[str, Any], parameter: str) -> None:
    given = {"table": "people", "columns": ["age"]} | words
    with pytest.raises(InvalidParameter) as caught:
        people.conversation("wrong", epsilon=1, **given)
    assert caught.value.parameter == parameter
    assert people.balance().releases == 0


def test_a_table_declared_otherwise_ends_a_conversation(curator: Curator, tmp_path: Path) -> None:
    session = graph_session(curator, tmp_path / "friends.csv")
    session.conversation("talk", kind="cuts", epsilon=1).close()
    ends = tuple(Column(name, Kind.TEXT, categories=PEOPLE) for name in ("one", "other"))
    table = Table("friends", ends, str(tmp_path / "friends.csv"), graph=Graph(("one", "other"), edges=3))
    curator.add(DataSet("friends", (table,), EDGE), epsilon=9 * HUGE)
    with pytest.raises(StreamUnavailable, match="declared otherwise"):
        curator.session("friends", analyst="ana").conversation("talk")

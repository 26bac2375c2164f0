"""A graph from a file to an answer: priced, debited, stored; every other verb refuses its rows."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dither
from dither.curator.folder import Curator
from dither.curator.session import Session
from dither.errors import InvalidParameter
from dither.learn.bayes.estimators import CategoricalNB
from dither.lift.edges import Edges
from dither.mechanisms import Geometric
from dither.privacy import ApproxDP, PureDP
from dither.publish.graphs import DegreeVector, LadderCount, LaplaceCount
from dither.publish.graphs.planning import WISHES, plan_graph

SCHEMA = """
dataset: {name}
unit: edge
tables:
  friends:
    source: {name}.csv
    graph: {graph}
    columns:
      one: {{kind: text, categories: [{names}]}}
      other: {{kind: text, categories: [{names}]}}
"""
NAMES = [f"p{number}" for number in range(12)]


@pytest.fixture
def curator(tmp_path: Path) -> Iterator[Curator]:
    """A curator with a complete graph on ten of twelve nodes, some edges twice, and rows that are no edges."""
    pairs = [*itertools.combinations(NAMES[:10], 2), ("p1", "p0"), ("p3", "p3"), ("p3", "nobody"), ("", "p3")]
    for name, graph in (("friends", "{ends: [one, other]}"), ("few", "{ends: [one, other], edges: 20}")):
        # The same rows under two names would be one budget: the second file has a loop more.
        rows = pairs if name == "friends" else [*pairs, ("p5", "p5")]
        (tmp_path / f"{name}.csv").write_text("\n".join(["one,other", *map(",".join, rows)]))
        (tmp_path / f"{name}.yaml").write_text(SCHEMA.format(name=name, graph=graph, names=", ".join(NAMES)))
    made = Curator.create(tmp_path / "home", anchors=tmp_path / "anchors")
    for name in ("friends", "few"):
        made.add(tmp_path / f"{name}.yaml", budget=ApproxDP(10**6, "0.01"))
    yield made
    made.close()


@pytest.fixture
def session(curator: Curator) -> Iterator[Session]:
    with curator.session("friends", analyst="ana") as opened:
        yield opened


def test_answers_are_those_of_the_graph_at_a_loss_that_leaves_no_noise(session: Session) -> None:
    graph = session.graph("friends")
    loss: dict[str, Any] = {"epsilon": 10**4}
    assert graph.edges(**loss).rows == ((45,),)
    assert graph.triangles(method="laplace", **loss).rows == ((120,),)
    assert graph.stars(3, method="laplace", **loss).rows == ((840,),)
    assert graph.k_triangles(2, method="laplace", **loss).rows == ((45 * 28,),)
    # A ladder stays within half of its first step at any loss: that is its grain.
    assert abs(graph.triangles(**loss).column("triangles")[0] - 120) <= 5  # type: ignore[operator]
    assert abs(graph.triangles(method="smooth", **loss).column("triangles")[0] - 120) <= 50  # type: ignore[operator]
    assert graph.cliques(4, method="laplace", **loss).rows == ((210,),)
    assert graph.triangles(method="noisy-local", delta="1e-6", **loss).rows == ((120,),)
    assert graph.edges(method="truncated", delta="1e-6", **loss).rows == ((45,),)
    assert graph.degree_histogram(**loss).rows == tuple((degree, {0: 2, 9: 10}.get(degree, 0)) for degree in range(12))
    assert graph.degrees(**loss).rows == ((0, 2), (9, 10))
    assert graph.degrees_by_node(**loss).rows == tuple(
        (name, 9 if place < 10 else 0) for place, name in enumerate(NAMES)
    )
    assert session.balance().releases == 12


def test_ratios_come_with_their_counts_and_with_an_interval_where_there_is_a_delta(session: Session) -> None:
    # Complete on ten nodes: whoever knows two people knows that they know each other.
    found = session.graph().clustering(epsilon=10**4, delta="1e-6")
    (low, high), (value,) = found.interval("clustering")[0], found.rows[0]
    assert 0.9 < low <= value <= high == 1  # type: ignore[operator]
    assert found.notes[0].startswith("made of released counts: triangles 120, 2-stars 360")
    pure = session.graph().clustering(epsilon=1)
    assert pure.interval("clustering")[0] == (None, None)
    mixed = session.graph().assortativity(epsilon=1, delta="1e-6")
    low, high = mixed.interval("assortativity")[0]
    assert -1 <= low <= high <= 1  # type: ignore[operator]


@pytest.mark.parametrize("method", ["noisy-local", "truncated"])
def test_methods_with_a_delta_ask_for_one_and_keep_it_where_one_edge_moves_two(curator: Curator, method: str) -> None:
    with curator.session("few", analyst="ana") as few:
        with pytest.raises(InvalidParameter, match="delta"):
            few.graph().triangles(epsilon=1, method=method)
        stated = ApproxDP(1, "1e-6")
        assert plan_graph(Edges(few.dataset, "friends"), stated, "triangles", method=method).loss(1) <= stated
        answer = few.graph().triangles(epsilon=1, delta="1e-6", method=method)
        low, high = answer.interval("triangles")[0]
        assert low is not None
        assert high is not None
        assert any("at this confidence" in note for note in answer.notes)


def test_edges_of_a_directed_graph_count_each_way_and_nothing_else_is_answered(tmp_path: Path) -> None:
    pairs = [("p0", "p1"), ("p1", "p0"), ("p0", "p1"), ("p2", "p3"), ("p4", "p4")]
    (tmp_path / "letters.csv").write_text("\n".join(["one,other", *map(",".join, pairs)]))
    graph = "{ends: [one, other], directed: true}"
    (tmp_path / "letters.yaml").write_text(SCHEMA.format(name="letters", graph=graph, names=", ".join(NAMES)))
    made = Curator.create(tmp_path / "home", anchors=tmp_path / "anchors")
    made.add(tmp_path / "letters.yaml", budget=PureDP(10**6))
    with made.session("letters", analyst="ana") as session:
        assert session.graph().edges(epsilon=10**4).rows == ((3,),)
        for refused, method in (("triangles", "laplace"), ("edges", "ladder"), ("degrees", "auto")):
            with pytest.raises(InvalidParameter, match="directed"):
                getattr(session.graph(), refused)(method=method, epsilon=1)
        assert session.balance().releases == 1
    made.close()


def test_prices_are_what_is_charged_and_a_key_is_charged_once(session: Session) -> None:
    offer = session.offer.graph().triangles(epsilon=1, key="mine")
    assert session.quote(offer).loss <= PureDP(1)
    first = session.release(offer)
    assert session.graph().triangles(epsilon=1, key="mine") == first
    assert session.balance().releases == 1
    assert first.notes
    assert first.unit == "edges added or removed"
    low, high = session.graph().edges(epsilon=1).interval("edges")[0]
    assert 0 <= low <= high <= 66  # type: ignore[operator]


def test_an_error_may_be_stated_in_place_of_a_loss(curator: Curator) -> None:
    for name, moved in (("friends", 1), ("few", 2)):
        with curator.session(name, analyst="ana") as session:
            offer = session.offer.graph().edges(error=10)
            # ln(20) / 10 for each edge that moves.
            price = session.quote(offer).loss
            assert price <= PureDP(moved * Fraction("0.29958"))
            assert not price <= PureDP(moved * Fraction("0.29957"))
            low, high = session.graph().edges(error=3).interval("edges")[0]
            assert high - low <= 6  # type: ignore[operator]
            for what, wrong in (("degrees", {}), ("edges", {"epsilon": 1}), ("edges", {"method": "ladder"})):
                with pytest.raises(InvalidParameter):
                    getattr(session.graph(), what)(error=10, **wrong)


def test_a_limit_of_edges_is_paid_for_twice(curator: Curator) -> None:
    with curator.session("few", analyst="ana") as few:
        assert few.graph().edges(epsilon=10**4).rows == ((20,),)
        source = Edges(few.dataset, "friends")
        made = plan_graph(source, PureDP(1), "edges")
        assert made.loss(1) == PureDP(1)
        assert made.method.loss(1) == PureDP("1/2")


def test_rows_of_a_graph_are_refused_by_every_other_verb(session: Session) -> None:
    loss: dict[str, Any] = {"epsilon": 1}
    for ask in (
        lambda: session.sql("SELECT COUNT(*) AS n FROM friends", **loss),
        lambda: session.sql("SELECT one, COUNT(*) AS n FROM friends GROUP BY one", **loss),
        lambda: session.histogram("friends", "one", **loss),
        lambda: session.marginals("friends", [["one"], ["other"]], **loss),
        lambda: session.synthesize("friends", ["one", "other"], **loss),
        lambda: session.anonymize("friends", ["one"], **loss),
        lambda: session.fit(CategoricalNB(epsilon=1), "friends", target="one", features=["other"]),
        lambda: session.bounds("friends", "one", **loss),
        lambda: session.limits("friends", **loss),
        lambda: session.ask(session.table("friends").count("n"), **loss),
        lambda: session.release(Geometric(shape=(1,), scale=1), Edges(session.dataset, "friends")),
    ):
        with pytest.raises(dither.errors.DitherError):
            ask()
    assert session.balance().releases == 0


def test_what_cannot_be_asked_is_refused_by_name_before_anything_is_paid_for(session: Session) -> None:
    for parameter, verb, arguments in (
        ("verb", "graph.squares", {}),
        ("stars", "graph.stars", {}),
        ("k", "graph.stars", {"k": 1}),
        ("triangles", "graph.triangles", {"k": 2}),
        ("degrees", "graph.degrees", {"k": 2}),
        ("method", "graph.triangles", {"method": "guess"}),
        ("method", "graph.degrees", {"method": "ladder"}),
        ("table", "graph.edges", {"table": "foes"}),
        ("k", "graph.stars", {"k": 99}),
    ):
        with pytest.raises(InvalidParameter) as refusal:
            session.release(session.offer.named(verb, {"epsilon": 1, **arguments}))
        assert refusal.value.parameter == parameter
    with pytest.raises(InvalidParameter, match="foes"):
        session.graph("foes")
    assert session.balance().releases == 0


def test_a_data_set_without_a_graph_has_none() -> None:
    from dither.data.examples import clinic
    from dither.privacy import ROW
    from dither.verbs.offers import Offers

    with pytest.raises(InvalidParameter, match="declares a graph"):
        Offers(clinic(ROW)).graph()


def test_auto_takes_less_noise_of_what_a_delta_allows(session: Session) -> None:
    source = Edges(session.dataset, "friends")
    stated = ApproxDP(1, "1e-6")
    for wish in set(WISHES) - {"degree-sum"}:
        made = plan_graph(source, stated, wish, k={"stars": 2, "k-triangles": 2, "cliques": 4}.get(wish))
        assert made.loss(1) <= stated
    ladder: Any = plan_graph(source, stated, "triangles").method
    assert isinstance(ladder, LadderCount)
    assert ladder.scale <= 2
    assert isinstance(plan_graph(source, stated, "edges").method, LaplaceCount)
    assert isinstance(plan_graph(source, stated, "degrees-by-node").method, DegreeVector)


def test_where_nodes_are_protected_a_bound_is_chosen_and_what_is_within_it_released(tmp_path: Path) -> None:
    pairs = [*itertools.combinations(NAMES[:5], 2), ("p1", "p0"), ("p3", "p3")]
    (tmp_path / "friends.csv").write_text("\n".join(["one,other", *map(",".join, pairs)]))
    graph = "{ends: [one, other], degree: 4}"
    text = SCHEMA.format(name="friends", graph=graph, names=", ".join(NAMES)).replace("unit: edge", "unit: node")
    (tmp_path / "friends.yaml").write_text(text)
    made = Curator.create(tmp_path / "home", anchors=tmp_path / "anchors")
    made.add(tmp_path / "friends.yaml", budget=PureDP(10**6))
    with made.session("friends", analyst="ana") as session:
        edges = session.graph().edges(epsilon=10**4)
        assert edges.rows == ((10,),)
        assert edges.unit == "nodes added or removed"
        assert any("at most 4 edges" in note for note in edges.notes)
        assert session.graph().edges(epsilon=10**4, method="flow").rows == ((10,),)
        assert session.graph().degrees(epsilon=10**4, method="projection").rows == ((0, 7), (4, 5))
        degrees = session.graph().degrees(epsilon=10**6 // 4)
        assert sum(degrees.column("nodes")) == 12
        # Five people who all know each other: ten triangles, six at a node.
        triangles = session.graph().triangles(epsilon=10**4)
        assert triangles.rows == ((10,),)
        assert any("at most 6 triangles" in note for note in triangles.notes)
        assert session.graph().triangles(epsilon=10**4, method="quick").rows == ((10,),)
        assert session.graph().stars(2, epsilon=10**4).rows == ((30,),)
        # Thirty 2-triangles, 4-cliques five; five people have a friend, and count by at most three of four edges.
        pairs_over_edges = session.graph().k_triangles(2, epsilon=10**4)
        assert pairs_over_edges.rows == ((30,),)
        assert any("at most 24 2-triangles count" in note for note in pairs_over_edges.notes)
        assert session.graph().cliques(4, epsilon=10**4).rows == ((5,),)
        assert session.graph().stars(2, epsilon=10**4, method="programmes").rows == ((30,),)
        assert session.graph().degree_sum((1,), epsilon=10**4).rows == ((5,),)
        capped = session.graph().degree_sum((1, 2, 3), epsilon=10**4)
        assert capped.rows == ((15,),)
        assert capped.unit == "nodes added or removed"
        assert any("at most 4 edges" in note for note in capped.notes)
        raced = session.graph().triangles(epsilon=10**5, method="race")
        assert raced.rows[0][0] in (9, 10)
        for refused, more in (
            ("k_triangles", {"k": 2, "method": "ladder"}),
            ("degrees_by_node", {}),
            ("edges", {"method": "ladder"}),
            ("stars", {"k": 2, "method": "race"}),
        ):
            with pytest.raises(InvalidParameter, match="nodes are protected"):
                getattr(session.graph(), refused)(epsilon=1, **more)
        for pattern in ("stars", "k_triangles"):
            with pytest.raises(InvalidParameter, match="declared degree"):
                getattr(session.graph(), pattern)(k=5, epsilon=1)
        for worth in (None, (), (0,), (2, 1), (1, "2"), 3, (1,) * 257):
            with pytest.raises(InvalidParameter, match="worth"):
                session.graph().degree_sum(worth, epsilon=1)  # type: ignore[arg-type]
        with pytest.raises(InvalidParameter, match="worth"):
            session.graph().edges(worth=(1,), epsilon=1)  # type: ignore[call-arg]
        offer = session.offer.graph().degree_sum(worth=[1, 2], epsilon=1)
        assert session.quote(offer).loss <= PureDP(1)
        with pytest.raises(InvalidParameter):
            session.sql("SELECT COUNT(*) AS n FROM friends", epsilon=1)
        assert session.balance().releases == 13
    made.close()


def test_edges_that_lead_there_and_back_are_two_and_the_answer_says_so(tmp_path: Path) -> None:
    (tmp_path / "calls.csv").write_text("one,other\np0,p1\np1,p0\np1,p2\np2,p2\n")
    graph = "{ends: [one, other], directed: true}"
    (tmp_path / "calls.yaml").write_text(SCHEMA.format(name="calls", graph=graph, names=", ".join(NAMES)))
    with Curator.create(tmp_path / "home", anchors=tmp_path / "anchors") as made:
        made.add(tmp_path / "calls.yaml", budget=PureDP(10**6))
        with made.session("calls", analyst="ana") as session:
            edges = session.graph("friends").edges(epsilon=10**4)
            assert edges.rows == ((3,),)
            assert any("are two" in note for note in edges.notes)
            with pytest.raises(InvalidParameter, match="directed"):
                session.graph("friends").triangles(epsilon=1)

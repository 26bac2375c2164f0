"""Random neighbours are neighbours, all that is registered tells them apart by draws alone, and plants are found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import pytest

from dither.audit.random_pairs import FIT, cases_of, random_subjects, told_apart, try_random_pairs
from dither.data.reference import ReferenceEngine
from dither.learn.linear import GradientDescent
from dither.mechanisms import Example, find
from dither.privacy import LABEL, ROW_REPLACED, PureDP, Relation
from dither.publish.graphs import LadderCount, local
from dither.publish.streams import tally
from dither.publish.streams.asked import StreamAnswer
from dither.testing.choices import Choices
from dither.testing.random_graphs import graph_pairs, random_edge_pair, random_node_pair, weight_pairs
from dither.testing.random_neighbours import random_cases
from dither.testing.random_rows import array_pairs, label_pairs, random_basket, random_journey

TENS = 10


def example(name: str, number: int = 0) -> Example:
    return list(find(name).examples())[number]


@pytest.mark.parametrize("name", [name for name in random_subjects() if name.startswith(FIT)])
def test_every_estimator_on_some_random_neighbours(name: str) -> None:
    """Classes are tried in ``test_greybox``."""
    found = try_random_pairs(name, TENS)
    assert found.leaks == ()
    assert found.pairs == TENS


def test_graphs_differ_in_as_many_edges_as_they_say() -> None:
    choices, degrees = Choices(), set()
    for _ in range(300):
        nodes = 4 + choices.below(6)
        here, there, apart = random_edge_pair(nodes, choices)
        assert len(here ^ there) == apart <= 3
        one, _ = next(iter(here ^ there))
        degrees.add((nodes, sum(one in edge for edge in here & there)))
    # All degrees of all sizes: 39 of them, of which few are rare.
    assert len(degrees) >= 30


def test_graphs_differ_in_as_many_nodes_as_they_say() -> None:
    choices = Choices()
    for _ in range(200):
        here, there, apart = random_node_pair(7, choices)
        changed = here ^ there
        covers = [{one} for one in range(7)] if apart == 1 else [{a, b} for a in range(7) for b in range(a)]
        if apart < 3:
            assert any(all(set(edge) & cover for edge in changed) for cover in covers)


def test_where_directions_count_lists_differ_in_as_many_directed_edges() -> None:
    unit: Any = example("graph-laplace").mechanism.distance
    for here, there, apart in islice(graph_pairs(6, unit, Choices(), is_directed=True), 200):
        assert len(set(here) ^ set(there)) == apart


def test_weights_differ_and_edges_do_not() -> None:
    for here, there, apart in islice(weight_pairs(6, 0, 8, Choices()), 100):
        assert [row[:2] for row in here] == [row[:2] for row in there]
        assert sum(repr(a) != repr(b) for a, b in zip(here, there, strict=True)) <= apart


@pytest.mark.parametrize("relation", [Relation.ADD_REMOVE, Relation.REPLACE])
def test_rows_differ_in_as_many_as_they_say_and_sometimes_in_their_label_alone(relation: Relation) -> None:
    rows, flipped = np.array([[1.0, 2.0, 0.0], [3.0, 4.0, 1.0], [5.0, 0.5, 1.0]]), 0
    for here, there, apart in islice(array_pairs(rows, relation, Choices()), 300):
        one, other = (Counter(repr(row.tolist()) for row in side) for side in (here, there))
        gone, come = (one - other).total(), (other - one).total()
        assert (max(gone, come) if relation is Relation.REPLACE else gone + come) <= apart
        if gone == come == 1:
            (left,), (new,) = list((one - other).elements()), list((other - one).elements())
            flipped += left.rpartition(",")[0] == new.rpartition(",")[0]
    assert flipped > 10


def test_labels_differ_and_rows_do_not() -> None:
    rows = np.array([[0, 0], [1, 1], [1, 0], [3, 1]])
    for here, there, apart in islice(label_pairs(rows, Choices()), 100):
        assert LABEL.measure(here.tolist(), there.tolist()) is not None
        assert (here[:, :-1] == there[:, :-1]).all()
        assert (here != there).any(axis=1).sum() <= apart


def test_baskets_and_journeys_are_of_all_kinds() -> None:
    choices = Choices()
    baskets = [random_basket(4, choices) for _ in range(300)]
    assert () in baskets
    assert any(len(set(one)) < len(one) for one in baskets)
    assert any(max(one, default=0) > 5 for one in baskets)
    journeys = [random_journey(9, 4, choices) for _ in range(300)]
    assert {len(one) for one in journeys} == {4}
    assert any(-1 in one for one in journeys)


@pytest.mark.parametrize("number", [1, 2], ids=["added", "replaced"])
def test_people_are_wholly_there_or_not(number: int) -> None:
    chosen = example("query", number)
    most = 0
    made = random_cases(chosen)
    assert made is not None
    for _, here, there, apart in islice(made, 60):
        sides = []
        for engine in (here, there):
            assert isinstance(engine, ReferenceEngine)
            people: dict[Any, Counter[str]] = {}
            for row in engine.frames["visits"]:
                if row["person"] is not None:
                    people.setdefault(row["person"], Counter())[repr(sorted(row.items(), key=repr))] += 1
            sides.append(people)
            most = max(most, *(rows.total() for rows in people.values()), 0)
        differ = {who for who in {*sides[0], *sides[1]} if sides[0].get(who) != sides[1].get(who)}
        assert len(differ) <= apart * number
    assert most >= 4


@pytest.mark.parametrize("name", ["ticked-answer", "ranked-answer", "leading-groups", "seizable-answer"])
def test_streams_hold_people_with_several_visits(name: str) -> None:
    for chosen in find(name).examples():
        assert isinstance(chosen.mechanism, StreamAnswer)
        moved = 0
        made = random_cases(chosen)
        assert made is not None
        for _, here, there, _ in islice(made, 40):
            moved += sum(bool((a != b).any()) for a, b in zip(here.script, there.script, strict=True)) > 1
        # Where rows are the unit one tick moves, two where they are replaced.
        assert bool(moved) == (
            chosen.mechanism.distance.protects == "person" or "replaced" in str(chosen.mechanism.distance)
        )


def leaks(chosen: Example, pairs: int) -> Iterator[str]:
    """Yield what is found on a number of pairs, each as soon as it is."""
    for number, case in enumerate(islice(cases_of(chosen), pairs)):
        yield from told_apart(case, number)


def test_a_bound_that_counts_too_little_at_high_degrees_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """From degree 7 on, which no graph of the examples has."""
    chosen = Example(LadderCount(nodes=7, pattern="stars", k=3, scale=2), [(0, 1)])
    assert list(leaks(chosen, 30)) == []
    before = local.star_ladder

    def short(graph: Any, rungs: int, k: int) -> Any:
        found = before(graph, rungs, k)
        return found // 2 if int(graph.degrees.max(initial=0)) >= 7 else found

    monkeypatch.setattr(local, "star_ladder", short)
    assert any("moved too far" in leak for leak in leaks(chosen, 400))


def test_a_flipped_label_that_moves_a_hinge_by_twice_what_is_said_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two pulls of full length in opposite directions: the row is the same."""
    rows = np.array([[0.0, 0.0, 0.0], [3.0, 3.0, 1.0], [3.0, 0.0, 0.0], [0.0, 3.0, 1.0]])
    learner = GradientDescent.calibrated(
        PureDP(1), lower=[0, 0], upper=[3, 3], classes=2, loss_name="hinge", steps=2, unit=ROW_REPLACED
    )
    assert list(leaks(Example(learner, rows), 30)) == []
    whole = GradientDescent.stability.fget  # type: ignore[attr-defined]

    def half(self: Any) -> Any:
        return whole(self) // 2 if self.loss_name == "hinge" else whole(self)

    monkeypatch.setattr(GradientDescent, "stability", property(half))
    assert any("moved too far" in leak for leak in leaks(Example(learner, rows), 300))


def test_a_person_who_counts_at_every_tick_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = example("ticked-answer", 2)
    assert list(leaks(chosen, 40)) == []
    monkeypatch.setattr(tally.Standing, "may_count", lambda self, tick, ticks: True)
    assert any("moved too far" in leak for leak in leaks(chosen, 300))


def test_a_door_that_lets_a_label_through_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sklearn", reason="estimators need the extra 'ml'")
    from dither.learn import GaussianNB

    before = GaussianNB.private_rows

    def shorter(self: Any, X: Any, y: Any, **named: Any) -> Any:  # noqa: N803
        rows = before(self, X, y, **named)
        return rows[rows[:, -1] == rows[0, -1]] if len(rows) else rows

    monkeypatch.setattr(GaussianNB, "private_rows", shorter)
    assert try_random_pairs(f"{FIT}GaussianNB", 200).leaks


def test_time_runs_out_in_the_open() -> None:
    found = try_random_pairs("graph-laplace", 10**6, seconds=0.0)
    assert found.pairs == 1
    assert not found.is_whole

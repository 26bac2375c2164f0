"""Private labels: what the unit counts, exact laws for all labels of a few points, and estimates without bias."""

from __future__ import annotations

from itertools import islice, product
from typing import Any

import numpy as np
import pytest

from dither import ROW, Budget, PureDP, release
from dither.audit.neighbours import neighbours
from dither.checks import check_mechanism
from dither.errors import IncompatibleDistance, InvalidParameter, InvalidValue
from dither.learn.theory import Concepts, LabelLearner, LabelResponse
from dither.mechanisms import Example
from dither.privacy import LABEL
from dither.testing import hostile

POINTS = [0, 1, 1, 3]


def labelled(labels: tuple[int, ...]) -> np.ndarray:
    return np.column_stack([POINTS, labels])


def test_the_unit_counts_labels_and_refuses_other_points() -> None:
    here = labelled((0, 1, 0, 1))
    assert LABEL.is_relaxed
    assert str(LABEL) == "labels replaced (the rest of every row is not protected)"
    assert LABEL.measure(here, here[::-1]) == 0
    assert LABEL.measure(here, labelled((0, 0, 1, 1))) == 0  # two rows of one point
    assert LABEL.measure(here, labelled((1, 1, 0, 1))) == 1
    assert LABEL.measure(here, labelled((1, 1, 1, 0))) == 3
    assert LABEL.measure(here, here[1:]) is None
    moved = here.copy()
    moved[0, 0] = 2
    assert LABEL.measure(here, moved) is None
    assert LABEL.measure([("a", 1), ("b", 0)], [("b", 1), ("a", 1)]) == 1
    assert LABEL.measure([("a", 1)], [("b", 1)]) is None
    assert LABEL.measure(["x"], ["y"]) == 1


def test_hostile_neighbours_differ_in_one_label() -> None:
    learner = LabelLearner(concepts=Concepts.thresholds(9), points=POINTS, scale=2)
    pairs = list(hostile.pairs(learner, labelled((0, 1, 0, 1))))
    assert len(pairs) > 10
    for here, there, apart in pairs:
        assert apart == 1
        assert LABEL.measure(here, there) in (0, 1)  # an odd label may be the one that was there


def test_drawn_neighbours_differ_in_one_label() -> None:
    learner = LabelLearner(concepts=Concepts.thresholds(9), points=POINTS, scale=2)
    pairs = list(islice(neighbours(Example(learner, labelled((0, 1, 0, 1)))), 100))
    apart = {LABEL.measure(here, there) for here, there, _ in pairs}
    assert apart == {0, 1}
    assert len({here.tobytes() for here, _, _ in pairs}) > 10


def test_labels_are_no_rows() -> None:
    learner = LabelLearner(concepts=Concepts.thresholds(9), points=POINTS, scale=2)
    with pytest.raises(IncompatibleDistance):
        release(learner, labelled((0, 1, 0, 1)), budget=Budget(epsilon=9, unit=ROW))
    for data in (labelled((0, 1, 0, 1))[1:], np.array([[0, 1], [1, 1], [2, 1], [3, 1]])):
        with pytest.raises(InvalidValue, match="declared points"):
            release(learner, data, budget=Budget(epsilon=9, unit=LABEL))
    for points in ([], [-1], [9], [0.5], [[1]]):
        with pytest.raises(InvalidParameter, match="points"):
            LabelLearner(concepts=Concepts.thresholds(9), points=points, scale=2)


@pytest.mark.parametrize("family", ["thresholds", "intervals", "points"])
def test_the_exact_law_of_a_choice_keeps_epsilon_for_every_label(tools: Any, family: str) -> None:
    concepts = getattr(Concepts, family)(2**50)
    learner = LabelLearner.calibrated(PureDP(1), concepts=concepts, points=POINTS[::-1])
    assert learner.loss(1).epsilon == 1
    laws = {}
    for labels in product((0, 1), repeat=4):
        run = tools.silent([0])
        learner.release(labelled(labels)[np.random.default_rng().permutation(4)], run)
        ((part, scores, stability),) = run.seen
        wrong = [
            sum(c.predict([x])[0] != y for x, y in zip(POINTS, labels, strict=True)) for c in learner.ways.concepts
        ]
        assert (-scores).tolist() == wrong
        assert stability == 1
        laws[labels] = tools.softmax_law(scores, part.scale)
    worst = max(
        float(np.abs(np.log(law) - np.log(laws[other])).max())
        for labels, law in laws.items()
        for other in laws
        if sum(a != b for a, b in zip(labels, other, strict=True)) == 1
    )
    assert 0.5 < worst <= 1 + 1e-9


@pytest.mark.statistical(false_alarm=1e-9)
def test_a_class_of_any_size_has_few_ways_of_labelling() -> None:
    points = list(range(0, 2000, 7))
    learner = LabelLearner.calibrated(PureDP(1), concepts=Concepts.thresholds(2**60), points=points)
    assert len(learner.ways.concepts) == len(points) + 1
    rows = np.array([[x, int(x >= 700)] for x in points])
    # Another way of labelling is as likely as e^(-errors / 2); 60 errors off has probability below 300 e^-30.
    found = release(learner, rows, budget=Budget(epsilon=1, unit=LABEL)).value
    assert abs(int((found.predict(rows[:, 0]) != rows[:, 1]).sum())) <= 60
    with pytest.raises(InvalidParameter, match="concepts"):
        LabelLearner(concepts=Concepts.conjunctions(12), points=[1], scale=1)
    with pytest.raises(InvalidParameter, match="so few"):
        LabelLearner(concepts=Concepts.intervals(2**60), points=range(2000), scale=1)


def test_reports_keep_epsilon_exactly_and_their_estimates_have_no_bias(tools: Any) -> None:
    learner = LabelResponse(concepts=Concepts.thresholds(4), points=POINTS, epsilon=1)
    laws = {labels: tools.law_of(learner, labelled(labels), runs=200) for labels in product((0, 1), repeat=4)}
    for labels, law in laws.items():
        assert law.undecided < 1e-9
        right = sum(float(mass) * learner.errors(np.array(out)) for out, mass in law.mass.items())
        truth = [
            sum(c.predict([x])[0] != y for x, y in zip(POINTS, labels, strict=True)) for c in learner.ways.concepts
        ]
        np.testing.assert_allclose(right, truth, atol=1e-6)
        flipped = (1 - labels[0], *labels[1:])
        assert tools.needed_delta(law, laws[flipped], learner.epsilon) < 1e-15
        assert tools.needed_delta(law, laws[flipped], learner.epsilon * 99 / 100) > 1e-3  # the price is exact
    # Labels at one point have no order.
    same = tools.law_of(learner, labelled((0, 0, 1, 1)), runs=200)
    assert same.mass == laws[(0, 1, 0, 1)].mass


@pytest.mark.statistical(false_alarm=1e-9)
def test_the_best_concept_is_the_one_of_fewest_reports_against_it() -> None:
    points = list(range(100)) * 40
    learner = LabelResponse.calibrated(PureDP(3), concepts=Concepts.thresholds(100), points=points)
    rows = np.array([[x, int(x >= 30)] for x in points])
    out = release(learner, rows, budget=Budget(epsilon=3, unit=LABEL)).value
    found = learner.best(out)
    assert learner.errors(out).min() == learner.errors(out)[learner.ways.concepts.index(found)]
    # A report is false with probability 0.0474. To prefer a threshold 10 points away, 200 of 400 reports must be false:
    # below 2^400 * 0.0474^200 < 1e-140 for each.
    assert abs(found.first - 30) < 10


def test_odd_labels_mean_the_nearest() -> None:
    learner = LabelLearner(concepts=Concepts.thresholds(9), points=POINTS, scale=2)
    odd = np.column_stack([POINTS, [-5, 9, -(2**60), 2**62]])
    assert learner.labels_of(odd).tolist() == learner.labels_of(labelled((0, 1, 0, 1))).tolist() == [0, 0, 1, 1]
    check_mechanism("label-learner")

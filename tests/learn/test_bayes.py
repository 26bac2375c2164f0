"""Naive Bayes: counts and sums against slow twins, and what is learned with an ample budget."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from dither.errors import InvalidParameter
from dither.learn.bayes import CategoricalModel, CategoricalNaiveBayes, GaussianModel, GaussianNaiveBayes
from dither.learn.bayes.gaussian import STABILITY
from dither.learn.models import Model
from dither.mechanisms import perform
from dither.privacy import ROW, ROW_REPLACED, ZCDP, ApproxDP, Loss, PureDP
from dither.testing.replay import record

TARGETS: list[Loss] = [PureDP("1/3"), ApproxDP(1, "1e-6"), ZCDP("1/7")]


@pytest.mark.parametrize("target", TARGETS, ids=str)
@pytest.mark.parametrize("unit", [ROW, ROW_REPLACED], ids=str)
def test_a_calibrated_learner_loses_no_more_than_its_target(target: Loss, unit: Any) -> None:
    assert GaussianNaiveBayes.calibrated(target, lower=[0, 1], upper=[2, 5], classes=3, unit=unit).loss(1) <= target
    assert CategoricalNaiveBayes.calibrated(target, sizes=(2, 3, 4), classes=3, unit=unit).loss(1) <= target


def test_counts_are_those_of_a_dictionary() -> None:
    generator = np.random.default_rng()
    rows = generator.integers(-1, 4, size=(200, 4)).astype(float)
    rows[::17, 0] = float("nan")
    learner = CategoricalNaiveBayes.calibrated(ZCDP(1), sizes=(2, 3, 3), classes=3)
    _, tape, _ = record(learner, rows)
    found = np.asarray(tape.events[0].value).reshape(3, 9)
    truth: Counter[tuple[int, int]] = Counter()
    for *values, label in rows.tolist():
        if label in (0, 1, 2):
            truth[int(label), 0] += 1
            for start, size, value in zip((1, 3, 6), (2, 3, 3), values, strict=True):
                if value in range(size):
                    truth[int(label), start + int(value)] += 1
    assert {(k, j): int(found[k, j]) for k in range(3) for j in range(9) if found[k, j]} == dict(truth)


def test_an_ample_budget_gives_the_chances_of_smoothed_counts() -> None:
    rows = np.array([[0.0, 0.0]] * 30 + [[1.0, 0.0]] * 10 + [[1.0, 1.0]] * 20)
    model = perform(CategoricalNaiveBayes.calibrated(ZCDP(10**8), sizes=(2,), classes=2), rows)
    assert model.chances.values == pytest.approx(np.array([[31 / 42, 11 / 42], [1 / 22, 21 / 22]]))
    assert model.shares.values == pytest.approx([40 / 60, 20 / 60])
    # What is no category tells nothing: the shares decide.
    assert model.scores(np.array([[7.0], [float("nan")]])).argmax(axis=1).tolist() == [0, 0]
    assert model.scores(np.array([[0.0], [1.0]])).argmax(axis=1).tolist() == [0, 1]


def test_one_record_moves_the_sums_of_classes_by_no_more_than_their_stability() -> None:
    generator = np.random.default_rng()
    learner = GaussianNaiveBayes.calibrated(ZCDP(1), lower=[-1] * 3, upper=[1] * 3, classes=2)
    for _ in range(20):
        rows = np.column_stack([generator.choice([-9.0, -1.0, -0.3, 0.0, 1.0, 9.0], size=(1, 3)), [1.0]])
        _, tape, _ = record(learner, rows)
        own = [int(entry) for entry in np.asarray(tape.events[-1].value).ravel()]
        assert 0 < sum(entry**2 for entry in own) <= STABILITY**2
        # The other class is not touched.
        assert not any(own[:7])


def test_an_ample_budget_gives_the_means_and_variances_of_classes() -> None:
    generator = np.random.default_rng()
    labels = np.arange(4000) % 2
    rows = np.where(labels, 0.3, -0.3)[:, None] + generator.normal(size=(4000, 2)) * [0.1, 0.2]
    learner = GaussianNaiveBayes.calibrated(ZCDP(10**8), lower=[-1, -1], upper=[1, 1], classes=2)
    model = perform(learner, np.column_stack([rows, labels]))
    # The slow twin: shorten, divide, and take moments of each class.
    centred = rows - model.shift.values
    units = centred / np.maximum(np.linalg.norm(centred, axis=1, keepdims=True), model.radius)
    for label in (0, 1):
        own = units[labels == label]
        assert model.means.values[label] == pytest.approx(own.mean(axis=0), abs=0.02)
        assert model.variances.values[label] == pytest.approx(own.var(axis=0), rel=0.25)
    assert (model.scores(rows).argmax(axis=1) == labels).mean() > 0.95


def test_no_rows_and_odd_rows_are_learned_from() -> None:
    odd = np.array([[float("nan"), 1e308, 0.0], [float("inf"), -float("inf"), 0.0], [1.0, 1.0, float("nan")]])
    for rows in (np.zeros((0, 3)), odd, np.ones((5, 3)), np.zeros((4, 3))):
        for target in (PureDP("1/10"), ZCDP(10**4)):
            gaussian = perform(GaussianNaiveBayes.calibrated(target, lower=[0, 0], upper=[1, 1], classes=2), rows)
            assert np.isfinite(gaussian.scores(odd[:, :-1])).all()
            categorical = perform(CategoricalNaiveBayes.calibrated(target, sizes=(2, 2), classes=2), rows)
            assert np.isfinite(categorical.scores(odd[:, :-1])).all()


def test_models_survive_json_and_others_are_refused() -> None:
    rows = np.array([[0.0, 1.0], [1.0, 0.0]])
    categorical = perform(CategoricalNaiveBayes.calibrated(ZCDP(1), sizes=(2,), classes=2), rows)
    gaussian = perform(GaussianNaiveBayes.calibrated(ZCDP(1), lower=[0], upper=[1], classes=2), rows)
    assert isinstance(categorical, CategoricalModel)
    assert isinstance(gaussian, GaussianModel)
    for model in (categorical, gaussian):
        good = model.to_dict()
        assert Model.from_dict(good) == model
        for bad in (None, [], {}, {**good, "version": 2}, {**good, "model": "x"}, {**good, "more": 1}):
            with pytest.raises(InvalidParameter):
                Model.from_dict(bad)
        with pytest.raises(InvalidParameter):
            Model.from_dict({**good, "shares": {"array": [1.0], "dtype": "<f8"}})

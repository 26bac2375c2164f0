"""Guarded classifiers: what one row moves, what takes the place of a poor model, and that estimators are guarded."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn")

from dither import learn
from dither.errors import InvalidParameter
from dither.learn.linear import GradientDescent, KernelMachine
from dither.learn.models import Model
from dither.learn.selection import GuardedClassifier
from dither.learn.selection.errors_of import scores_of
from dither.learn.selection.guarded import constant_like, guard_share, is_small
from dither.learn.trees import CountedTree
from dither.mechanisms import Geometric, PublicArray, perform
from dither.privacy import ROW, ROW_REPLACED, ZCDP, ApproxDP, Loss, PureDP

BOX: dict[str, Any] = {"lower": [-1, -1], "upper": [1, 1]}
CLASSIFIERS: dict[str, dict[str, Any]] = {
    "BernoulliNB": {},
    "CategoricalNB": {"categories": 3},
    "CompressedLogisticRegression": {"bounds": (-1, 1), "n_components": 1},
    "DecisionTreeClassifier": {"bounds": (-1, 1)},
    "GaussianNB": {"bounds": (-1, 1)},
    "GradientBoostingClassifier": {"bounds": (-1, 1), "n_estimators": 2},
    "KernelLogisticRegression": {"bounds": (-1, 1), "n_components": 6},
    "KernelSVC": {"bounds": (-1, 1), "n_components": 6},
    "LinearSVC": {"bounds": (-1, 1)},
    "LogisticRegression": {"bounds": (-1, 1)},
    "RandomForestClassifier": {"bounds": (-1, 1), "n_estimators": 3, "max_depth": 2},
    "SparseLogisticRegression": {"bounds": (-1, 1)},
}


def rows_of(count: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng()
    return draw.integers(-1, 3, (count, 2)) / 2, draw.integers(0, classes, count)


def test_every_classifier_is_tried() -> None:
    """Classifiers of images have no guard: they are for thousands of images, of ten classes and more."""
    kinds = [getattr(learn, name) for name in learn.ESTIMATORS]
    classifiers = [kind for kind in kinds if hasattr(kind, "declared_classes") and "classes" in kind().get_params()]
    assert {kind.__name__ for kind in classifiers if "images" not in kind.__module__} == {*CLASSIFIERS}
    assert {kind.__name__ for kind in classifiers if "images" in kind.__module__} == {
        "FeatureClassifier",
        "ImageClassifier",
    }


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("classes", [2, 3])
def test_a_model_is_told_row_by_row_and_can_be_constant(name: str, classes: int) -> None:
    if name == "SparseLogisticRegression" and classes == 3:
        pytest.skip("it is for two classes")
    values, labels = rows_of(60, classes)
    made = getattr(learn, name)(rho=100, classes=list(range(classes)), **CLASSIFIERS[name])
    fitted = made.fit(values, labels)
    coded = fitted._values(values, reset=False)
    together, model = scores_of(fitted.model_, coded), fitted.model_
    assert together.tolist() == [scores_of(model, coded[place : place + 1])[0].tolist() for place in range(60)]
    assert together == pytest.approx(model.scores(coded), abs=1e-9)
    counts = np.array([40.0, 8.0, -3.0][:classes])
    constant = constant_like(model, counts)
    assert type(constant) is type(model)
    assert Model.from_dict(json.loads(json.dumps(constant.to_dict()))) == constant
    fitted.adopt(constant, made.mechanism(2), "")
    assert (fitted.predict(values) == 0).all()
    if hasattr(fitted, "predict_proba"):
        shares = (np.maximum(counts, 0) + 1) / (np.maximum(counts, 0) + 1).sum()
        assert fitted.predict_proba(values) == pytest.approx(np.tile(shares, (60, 1)), abs=1e-6)


@pytest.mark.parametrize(("unit", "target"), [(ROW, PureDP("1/10")), (ROW_REPLACED, ApproxDP("1/2", "1e-6"))])
def test_one_row_moves_one_count_and_the_better_of_two_is_released(unit: Any, target: Loss) -> None:
    def build(loss: Loss) -> GradientDescent:
        return GradientDescent.calibrated(loss, **BOX, classes=2, unit=unit)

    guarded = GuardedClassifier.calibrated(target, build=build, classes=2)
    assert guarded.loss(1) <= target
    assert guarded.distance == unit
    model = perform(guarded.learner, np.zeros((0, 3)))

    class Silent:
        """Adds no noise, and lets the learner find the weights it is told to."""

        def __init__(self, weight: float) -> None:
            self.found = replace(
                model, weights=PublicArray(np.array([[weight, 0.0]])), intercepts=PublicArray(np.zeros(1))
            )

        def __call__(self, part: Any, value: Any, *, stability: Any = 1) -> Any:
            if part is guarded.learner:
                return self.found
            assert stability == guarded.stability == (1 if unit is ROW else 2)
            self.counts = np.array(value)
            return self.counts

    values, labels = rows_of(40, 2)
    rows = np.column_stack([values, np.where(np.arange(40) % 9 == 0, np.nan, labels)])
    known = rows[~np.isnan(rows[:, -1])]
    largest = max(np.bincount(known[:, -1].astype(int)))
    for weight in (1.0, -1.0):
        run: Any = Silent(weight)
        found = guarded.release(rows, run)
        slow = [[0, 0], [0, 0]]
        for row in known:
            told = int(run.found.scores(row[None, :-1])[0, 0] > 0)
            slow[int(told != row[-1])][int(row[-1])] += 1
        assert run.counts.tolist() == slow
        assert (found is run.found) == (sum(slow[0]) > largest)
        for gone in range(40):
            other: Any = Silent(weight)
            guarded.release(np.delete(rows, gone, axis=0), other)
            assert np.abs(other.counts - run.counts).sum() == (not np.isnan(rows[gone, -1]))


def test_a_useless_model_is_replaced_and_a_good_one_kept() -> None:
    """Noise has a scale of 40 records; a good model tells 8000 more than the larger class, a useless one none."""
    draw = np.random.default_rng()
    values = draw.uniform(-1, 1, (20_000, 1))
    for labels, is_kept in ((values[:, 0] > 0, True), (draw.random(20_000) < 0.2, False)):
        made = learn.GaussianNB(epsilon="1/10", bounds=(-1, 1), classes=[False, True])
        fitted = made.fit(values, labels)
        assert fitted.privacy_.mechanism == "guarded-classifier"
        told = fitted.predict(values)
        assert (told.any()) == is_kept
        assert (told == labels).mean() > 0.78


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_estimators_are_guarded_where_little_may_be_lost(name: str) -> None:
    for loss, is_guarded in (
        ({"epsilon": "9/10"}, True),
        ({"epsilon": 1}, False),
        ({"epsilon": "1/10", "delta": "1e-6"}, True),
        ({"epsilon": 1, "delta": "1e-6"}, False),
        ({"rho": "1/100"}, True),
        ({"rho": "1/10"}, False),
    ):
        made = getattr(learn, name)(classes=[0, 1], **CLASSIFIERS[name], **loss)
        mechanism = made.mechanism(2)
        assert isinstance(mechanism, GuardedClassifier) == is_guarded == is_small(made._target())
        assert mechanism.loss(1) <= made._target()
        if name != "SparseLogisticRegression":
            many = getattr(learn, name)(classes=[0, 1, 2], **CLASSIFIERS[name], **loss)
            assert not isinstance(many.mechanism(2), GuardedClassifier)


def test_what_the_guard_takes() -> None:
    assert guard_share(PureDP("1/100")) == Fraction(1, 4)
    assert guard_share(PureDP("1/4")) == Fraction(1, 5)
    assert guard_share(PureDP("9/10")) == Fraction(1, 10)
    assert guard_share(ZCDP("1/10000")) == Fraction(1, 3)


def test_learners_that_cannot_keep_a_share_are_not_guarded_and_refusals_stay() -> None:
    made = learn.LogisticRegression(epsilon="1/10", delta="1e-6", bounds=(-1, 1), classes=[0, 1], solver="minibatch")
    assert made.mechanism(2).name == "minibatch-descent"
    with pytest.raises(InvalidParameter, match="solver"):
        learn.LogisticRegression(epsilon="1/10", bounds=(-1, 1), classes=[0, 1], solver="simplex").mechanism(2)
    with pytest.raises(InvalidParameter, match="learner"):
        GuardedClassifier(learner=perform, classes=2, part=None)  # type: ignore[arg-type]
    stepping = learn.KernelSVC(epsilon="1/10", bounds=(-1, 1), classes=[0, 1], max_iter=3, n_components=4)
    assert stepping.fit(*rows_of(9, 2)).n_iter_ == 3


@pytest.mark.parametrize(("learned", "guarded"), [(3, 2), (2, 3)])
def test_a_learner_of_another_number_of_classes_is_refused_before_anything_is_learned(
    learned: int, guarded: int
) -> None:
    tree: dict[str, Any] = {"bins": [3, 3], "unordered": [0, 0], "depth": 2}
    kernel = KernelMachine.calibrated(PureDP(1), **BOX, classes=learned, features=4)
    learners = (
        GradientDescent.calibrated(PureDP(1), **BOX, classes=learned),
        CountedTree.calibrated(PureDP(1), **BOX, **tree, classes=learned),
        kernel,
    )
    for learner in learners:
        with pytest.raises(InvalidParameter, match="classes"):
            GuardedClassifier(learner=learner, classes=guarded, part=Geometric(scale=2))
        assert GuardedClassifier(learner=learner, classes=learned, part=Geometric(scale=2)).learner == learner


def test_a_learner_of_models_that_cannot_be_constant_is_refused_before_anything_is_learned() -> None:
    inner = GuardedClassifier(
        learner=GradientDescent.calibrated(PureDP(1), **BOX, classes=2), classes=2, part=Geometric(scale=2)
    )
    with pytest.raises(InvalidParameter, match="learner"):
        GuardedClassifier(learner=inner, classes=2, part=Geometric(scale=2))

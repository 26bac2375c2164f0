"""Learners of linear models: each sum against a slow twin, each record's pull against its bound."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither.errors import InvalidParameter
from dither.learn import centred as centred_module
from dither.learn.centred import LENGTH
from dither.learn.linear import (
    GradientDescent,
    MomentClassifier,
    MomentRegression,
    OutputPerturbation,
    classifier,
)
from dither.learn.linear.gradients import PULL, WEIGHT_STEPS, pulls
from dither.learn.linear.moments import STABILITY, counted, moment_entries, uncounted
from dither.learn.rows import exact_products
from dither.learn.survey import survey_stability
from dither.mechanisms import perform
from dither.privacy import ROW, ROW_REPLACED, ZCDP, ApproxDP, Loss, PureDP
from dither.testing.replay import record, replay

TARGETS: list[Loss] = [PureDP("1/3"), ApproxDP(1, "1e-6"), ZCDP("1/7")]


def whole_records(count: int, columns: int) -> np.ndarray:
    """Random whole records of length at most LENGTH, a few of them that long."""
    generator = np.random.default_rng()
    rows = generator.normal(size=(count, columns))
    rows *= LENGTH * generator.choice([0.1, 0.9, 1.0], size=(count, 1)) / np.linalg.norm(rows, axis=1, keepdims=True)
    return np.trunc(rows)


def slow_pull(loss: str, scores: list[int], class_of: int) -> list[float]:
    """The derivative of one record's loss in its scores, in floats, without tables; not shortened."""
    real = [score / (LENGTH * WEIGHT_STEPS) for score in scores]
    if loss == "hinge":
        high = [1] if len(real) == 1 else range(len(real))
        sides = [1 if class_of == wanted else -1 for wanted in high]
        return [-side * min(max(1.5 - side * score, 0.0), 1.0) for side, score in zip(sides, real, strict=True)]
    if len(real) == 1:
        return [1 / (1 + math.exp(-real[0])) - class_of]
    top = max(real)
    raised = [math.exp(score - top) for score in real]
    return [share / sum(raised) - (k == class_of) for k, share in enumerate(raised)]


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("scores", [1, 3])
def test_pulls_are_the_derivatives_within_a_hundredth(loss: str, scores: int) -> None:
    generator = np.random.default_rng()
    given = np.rint(generator.normal(size=(200, scores)) * 3 * LENGTH * WEIGHT_STEPS)
    classes = generator.integers(0, max(scores, 2), size=200)
    found = pulls(loss, given, classes)
    for row, class_of, pull in zip(given.tolist(), classes.tolist(), found.tolist(), strict=True):
        assert all(entry == int(entry) for entry in pull)
        assert sum(int(entry) ** 2 for entry in pull) <= PULL**2
        expected = slow_pull(loss, [int(entry) for entry in row], class_of)
        length = max(1.0, math.hypot(*expected))
        assert all(abs(entry / PULL - true / length) < 0.015 for entry, true in zip(pull, expected, strict=True))


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("scores", [1, 4])
def test_one_record_moves_a_gradient_by_its_own_term_and_no_farther(loss: str, scores: int) -> None:
    generator = np.random.default_rng()
    records, classes = whole_records(40, 5), generator.integers(0, max(scores, 2), size=40)
    weights = np.rint(generator.normal(size=(scores, 5)) * 5 * WEIGHT_STEPS)

    def gradient(rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
        return exact_products(pulls(loss, rows @ weights.T, labels), rows)

    everything = gradient(records, classes)
    for gone in range(40):
        kept = np.arange(40) != gone
        moved = (everything - gradient(records[kept], classes[kept])).ravel().tolist()
        own = gradient(records[gone : gone + 1], classes[gone : gone + 1]).ravel().tolist()
        assert moved == own
        assert sum(entry**2 for entry in moved) <= (LENGTH * PULL) ** 2


def test_a_far_record_reaches_the_bound() -> None:
    """The bound is not slack: a record of full length that is fully wrong moves the gradient by nearly all of it."""
    record_row = np.array([[float(LENGTH), 0.0]])
    pull = pulls("logistic", np.array([[30.0 * LENGTH * WEIGHT_STEPS]]), np.array([0]))
    assert abs(exact_products(pull, record_row)[0, 0]) >= 0.99 * LENGTH * PULL


@pytest.mark.parametrize("target", TARGETS, ids=str)
@pytest.mark.parametrize("unit", [ROW, ROW_REPLACED], ids=str)
def test_a_calibrated_learner_loses_no_more_than_its_target_and_hardly_less(target: Loss, unit: Any) -> None:
    box: dict[str, Any] = {"lower": [0, 1], "upper": [2, 5], "unit": unit}
    learners = [
        GradientDescent.calibrated(target, classes=3, **box),
        MomentClassifier.calibrated(target, classes=2, **box),
        MomentRegression.calibrated(target, target_lower=0, target_upper=1, **box),
        OutputPerturbation.calibrated(target, classes=2, **box),
    ]
    for learner in learners:
        loss = learner.loss(1)
        assert loss <= target
        if isinstance(target, PureDP):
            assert loss.pure is not None
            assert loss.pure > target.epsilon * Fraction(999, 1000)
        elif isinstance(target, ZCDP):
            assert loss.rho > target.rho * Fraction(99, 100)


def blobs(count: int, columns: int = 3) -> np.ndarray:
    """Two classes apart along the first column, and their label."""
    generator = np.random.default_rng()
    labels = np.arange(count) % 2
    rows = generator.normal(size=(count, columns)) * 0.15  # of 600 rows 0.3 on average are on the wrong side
    rows[:, 0] += np.where(labels, 0.5, -0.5)
    return np.column_stack([rows, labels])


AMPLE = ZCDP(10**6)


@pytest.mark.parametrize("solver", ["gradient", "output", "moments"])
def test_with_a_large_budget_every_solver_separates_what_is_separate(solver: str) -> None:
    rows = blobs(600)
    learner = classifier(AMPLE, solver=solver, lower=[-1] * 3, upper=[1] * 3, classes=2, unit=ROW)
    scores = perform(learner, rows).scores(rows[:, :-1])[:, 0]
    assert ((scores > 0) == rows[:, -1]).mean() > 0.97


@pytest.mark.parametrize("kind", [GradientDescent, MomentClassifier, OutputPerturbation])
def test_many_classes_are_told_apart(kind: Any) -> None:
    generator = np.random.default_rng()
    labels = np.arange(900) % 3
    centres = np.array([[0.8, 0.0], [-0.4, 0.7], [-0.4, -0.7]])
    rows = centres[labels] + generator.normal(size=(900, 2)) * 0.1
    model = perform(kind.calibrated(AMPLE, lower=[-1, -1], upper=[1, 1], classes=3), np.column_stack([rows, labels]))
    assert (model.scores(rows).argmax(axis=1) == labels).mean() > 0.97


def test_an_ample_budget_gives_the_weights_of_least_squares() -> None:
    generator = np.random.default_rng()
    rows = generator.uniform(-1, 1, size=(2000, 2))
    target = 0.5 + 1.5 * rows[:, 0] - 0.75 * rows[:, 1]
    learner = MomentRegression.calibrated(ZCDP(10**8), lower=[-1, -1], upper=[1, 1], target_lower=-4, target_upper=4)
    model = perform(learner, np.column_stack([rows, target]))
    assert model.coefficients[0] == pytest.approx([1.5, -0.75], abs=0.01)
    assert model.constants[0] == pytest.approx(0.5, abs=0.01)


def test_a_penalty_makes_weights_shorter() -> None:
    rows = np.column_stack([np.linspace(-1, 1, 400), np.linspace(-1, 1, 400)])
    found = []
    for penalty in (0, 100, 10**6):
        learner = MomentRegression.calibrated(
            ZCDP(10**8), lower=[-1], upper=[1], target_lower=-1, target_upper=1, penalty=penalty
        )
        found.append(abs(float(perform(learner, rows).coefficients[0, 0])))
    assert found[0] > 0.95
    # Ridge in one column: the sum of squares over itself and the penalty.
    energy = float((rows[:, 0] ** 2).sum())
    assert found[1] == pytest.approx(energy / (energy + 100), abs=0.02)
    assert found[2] < 0.01


def test_moments_are_those_of_python_integers() -> None:
    rows = np.array([[0.5, 3.0, 1.0], [-1.0, 8.0, 0.0], [0.25, 0.0, 1.0]])
    learner = MomentClassifier.calibrated(AMPLE, lower=[-1, 0], upper=[1, 8], classes=2)
    _, tape, _ = record(learner, rows)
    drawn = tape.events[-1].value
    assert drawn.size == moment_entries(2, 2) == 12
    # The constant part is the same for each record: its square is counted three times, and per class once and twice.
    constant = 4706
    assert int(drawn[5]) == 5 * 3 * constant**2
    assert int(drawn[8]) == 5 * 1 * LENGTH * constant
    assert int(drawn[11]) == 5 * 2 * LENGTH * constant


def test_one_record_moves_moments_by_no_more_than_their_stability() -> None:
    records = whole_records(30, 4)
    targets = np.zeros((30, 3))
    targets[np.arange(30), np.arange(30) % 3] = LENGTH
    total = np.zeros(moment_entries(3, 3), dtype=np.int64)
    for place in range(30):
        row, target = records[place].astype(int).tolist(), targets[place].astype(int).tolist()
        products = [(5 if i == j else 7) * row[i] * row[j] for i in range(4) for j in range(i, 4)]
        own = products + [5 * t * x for t in target for x in row]
        assert sum(entry**2 for entry in own) <= STABILITY**2
        total += own
    assert counted(records, targets).tolist() == total.tolist()
    square, products = uncounted(total.astype(float), 4)
    assert square == pytest.approx(records.T @ records / LENGTH**2)
    assert products == pytest.approx(targets.T @ records / LENGTH**2)


def test_regression_with_positive_bounds_has_a_sensitivity() -> None:
    """Bounds such as (0, 100) once made another library's noise vanish; here a row at the far corner is paid for."""
    learner = MomentRegression.calibrated(ZCDP(1), lower=[0, 0], upper=[100, 100], target_lower=0, target_upper=100)
    assert float(learner.part.sigma) > LENGTH**2  # type: ignore[union-attr]
    rows = np.array([[1.0, 2.0, 3.0], [50.0, 20.0, 10.0]])
    assert replay(learner, rows, np.vstack([rows, [100.0, 100.0, 100.0]])) == []


def test_no_rows_and_one_class_and_odd_rows_are_learned_from() -> None:
    odd = np.array([[float("nan"), 1e308, 0.0], [float("inf"), -float("inf"), 0.0], [1.0, 1.0, float("nan")]])
    for rows in (np.zeros((0, 3)), odd, np.ones((5, 3)), np.zeros((4, 3))):
        for solver in ("gradient", "output", "moments"):
            learner = classifier(ZCDP(1), solver=solver, lower=[0, 0], upper=[1, 1], classes=2, unit=ROW)
            assert np.isfinite(perform(learner, rows).weights.values).all()


def test_options_of_another_solver_are_refused() -> None:
    box: dict[str, Any] = {"lower": [0], "upper": [1], "classes": 2, "unit": ROW}
    with pytest.raises(InvalidParameter, match="max_iter"):
        classifier(ZCDP(1), solver="output", max_iter=3, **box)
    with pytest.raises(InvalidParameter, match="C"):
        classifier(ZCDP(1), solver="gradient", C=1, **box)


def test_one_record_moves_the_survey_by_no_more_than_its_stability() -> None:
    generator = np.random.default_rng()
    for columns in (1, 2, 7):
        rows = generator.choice([-9.0, -1.0, -0.4, 0.0, 0.7, 1.0, 9.0], size=(12, columns + 1))
        rows[:, -1] = 1.0
        learner = GradientDescent.calibrated(ZCDP(1), lower=[-1] * columns, upper=[1] * columns, classes=2, steps=1)
        everything = surveyed(learner, rows)
        for gone in range(12):
            moved = everything - surveyed(learner, np.delete(rows, gone, axis=0))
            assert (moved == surveyed(learner, rows[gone : gone + 1])).all()
            assert sum(int(entry) ** 2 for entry in moved) <= survey_stability(columns) ** 2


def surveyed(learner: GradientDescent, rows: np.ndarray) -> np.ndarray:
    """What the survey was given before its noise."""
    _, tape, _ = record(learner, rows)
    return np.asarray(tape.events[0].value)


@pytest.mark.parametrize(
    ("learner", "options"), [(GradientDescent, {}), (MomentClassifier, {}), (OutputPerturbation, {"penalty": 20})]
)
def test_records_that_are_not_shortened_are_caught(
    learner: Any, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin that must be refused: records four times as long as they may be."""
    alone = np.array([[9.0, 9.0, 0.0]])
    sound = learner.calibrated(AMPLE, lower=[-1, -1], upper=[1, 1], classes=2, **options)
    assert replay(sound, alone, alone[:0]) == []
    honest = centred_module.into_ball
    monkeypatch.setattr(centred_module, "into_ball", lambda *given: 4 * honest(*given))
    assert replay(sound, alone, alone[:0]) != []

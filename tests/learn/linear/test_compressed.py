"""Compressed learning: projections against Python integers, what is lifted back, and rows along the matrix itself."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dither.errors import InvalidParameter
from dither.learn import centred as centred_module
from dither.learn.linear.compressed import CompressedClassifier
from dither.learn.linear.descent import GradientDescent
from dither.learn.models import LinearModel
from dither.learn.rows import STEPS
from dither.mechanisms import PublicArray, perform
from dither.privacy import ROW, ROW_REPLACED, ZCDP, ApproxDP, Loss, PureDP
from dither.testing.replay import replay

TARGETS: list[Loss] = [PureDP("1/3"), ApproxDP(1, "1e-6"), ZCDP("1/7")]
BOX: dict[str, Any] = {"lower": [-1] * 12, "upper": [1] * 12, "classes": 2, "dimensions": 3}


@pytest.mark.parametrize("target", TARGETS, ids=str)
@pytest.mark.parametrize("unit", [ROW, ROW_REPLACED], ids=str)
def test_a_calibrated_learner_loses_no_more_than_its_target(target: Loss, unit: Any) -> None:
    learner = CompressedClassifier.calibrated(target, unit=unit, **BOX)
    assert learner.distance == unit
    assert learner.loss(1) <= target
    assert learner.learner.name == ("objective-perturbation" if isinstance(target, PureDP) else "gradient-descent")


def test_projected_rows_are_those_of_python_integers() -> None:
    learner = CompressedClassifier.calibrated(ZCDP(1), **BOX)
    values = np.random.default_rng().uniform(-1.5, 1.5, size=(15, 12))
    found = learner._projected(values)
    for row, projected in zip(values.tolist(), found.tolist(), strict=True):
        steps = [round(min(max(number, -1.0), 1.0) * STEPS) for number in row]
        for signs, number in zip(learner.matrix.values.tolist(), projected, strict=True):
            total = sum(sign * step for sign, step in zip(signs, steps, strict=True))
            assert number == total / (STEPS * math.sqrt(12))


def test_what_is_lifted_back_scores_like_what_was_learned() -> None:
    """Where nothing is cut off, the lifted weights of all columns and the learned ones of sums say the same."""
    learner = CompressedClassifier.calibrated(ZCDP(1), **BOX)
    generator = np.random.default_rng()
    ends = PublicArray(np.full(3, 2.0))
    inner = LinearModel(
        PublicArray(-ends.values),
        ends,
        PublicArray(generator.uniform(-0.2, 0.2, 3)),
        5.0,
        PublicArray(generator.normal(size=(2, 3))),
        PublicArray(generator.normal(size=2)),
    )
    values = generator.uniform(-0.4, 0.4, size=(30, 12))
    lifted = learner._lifted(inner)
    assert lifted.scores(values) == pytest.approx(inner.scores(learner._projected(values)), abs=1e-3)
    assert values @ lifted.coefficients.T + lifted.constants == pytest.approx(lifted.scores(values))


def test_with_a_large_budget_what_is_separate_is_separated() -> None:
    """All rows were told right in each of 40 runs."""
    generator = np.random.default_rng()
    labels = np.arange(800) % 2
    rows = generator.normal(size=(800, 12)) * 0.1 + np.where(labels, 0.4, -0.4)[:, None] * np.sign(np.arange(12) - 4.5)
    model = perform(CompressedClassifier.calibrated(ZCDP(1000), **BOX), np.column_stack([rows, labels]))
    assert ((model.scores(rows)[:, 0] > 0) == labels).mean() > 0.9


def test_a_row_along_the_matrix_moves_no_more_than_any(monkeypatch: pytest.MonkeyPatch) -> None:
    """No projection keeps the length of a row made to grow by it; a learner that believed so is caught."""
    learner = CompressedClassifier.calibrated(ZCDP(10**6), **BOX)
    hostile = np.append(learner.matrix.values[0].astype(float), 1.0)[None, :]
    assert learner._projected(hostile[:, :-1])[0, 0] == pytest.approx(math.sqrt(12))
    assert replay(learner, hostile, hostile[:0]) == []
    honest = centred_module.into_ball
    monkeypatch.setattr(centred_module, "into_ball", lambda *given: 4 * honest(*given))
    assert replay(learner, hostile, hostile[:0]) != []


def test_odd_rows_are_learned_from() -> None:
    nan, inf = float("nan"), float("inf")
    odd = np.array([[nan, inf, -inf, 1e308] * 3 + [0.0], [1.0] * 12 + [nan]])
    for target in (PureDP(1), ZCDP(1)):
        learner = CompressedClassifier.calibrated(target, **BOX)
        for rows in (np.zeros((0, 13)), odd):
            assert np.isfinite(perform(learner, rows).weights.values).all()


def test_parameters_are_refused_by_name() -> None:
    good = CompressedClassifier.calibrated(ZCDP(1), **BOX)
    parts = {name: getattr(good, name) for name in ("lower", "upper", "matrix", "learner")}
    narrow = GradientDescent.calibrated(ZCDP(1), lower=[-1] * 3, upper=[1] * 3, classes=2)
    bad: list[tuple[str, Any]] = [
        ("matrix", [[1] * 11] * 3),
        ("matrix", [[1] * 12] * 4),
        ("learner", narrow),
    ]
    for name, value in bad:
        with pytest.raises(InvalidParameter, match=name if name != "matrix" else "matrix|learner"):
            CompressedClassifier(**(parts | {name: value}))
    for dimensions in (0, 13, 1.5):
        with pytest.raises(InvalidParameter, match="dimensions"):
            CompressedClassifier.calibrated(ZCDP(1), **(BOX | {"dimensions": dimensions}))

"""Newton steps: the curvature against the loss it lies above, one record's part in it, and where steps arrive."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dither.errors import InvalidParameter
from dither.learn import centred as centred_module
from dither.learn.centred import LENGTH
from dither.learn.linear.gradients import WEIGHT_STEPS
from dither.learn.linear.newton import BEND, NewtonDescent, _bends
from dither.learn.rows import exact_products
from dither.mechanisms import perform
from dither.privacy import ROW, ROW_REPLACED, ZCDP, ApproxDP, Loss, PureDP
from dither.testing.replay import record, replay

TARGETS: list[Loss] = [PureDP("1/3"), ApproxDP(1, "1e-6"), ZCDP("1/7")]
BOX: dict[str, Any] = {"lower": [-1, -1], "upper": [1, 1], "classes": 2}
AMPLE = ZCDP(10**6)


def softplus(score: float) -> float:
    return math.log1p(math.exp(-abs(score))) + max(score, 0.0)


def test_the_parabola_lies_above_the_loss() -> None:
    """At every score the table's curvature makes a parabola that touches the loss there and is above it elsewhere."""
    grid = np.arange(-20, 20, 0.37)
    bends = _bends(np.rint(grid * LENGTH * WEIGHT_STEPS)[:, None])[:, 0] / (4 * BEND)
    for score, bend in zip(grid.tolist(), bends.tolist(), strict=True):
        assert 0 < bend <= 0.25
        slope = 1 / (1 + math.exp(-score))
        for other in grid.tolist():
            # Cells of a sixteenth and steps of a 256th: the curvature is off by that much at most.
            above = softplus(score) + slope * (other - score) + (bend + 0.008) * (other - score) ** 2 / 2
            assert softplus(other) <= above + 1e-9


def test_one_record_moves_the_curvature_by_no_more_than_its_stability() -> None:
    generator = np.random.default_rng()
    rows = generator.normal(size=(30, 4))
    rows *= LENGTH * generator.choice([0.1, 1.0], size=(30, 1)) / np.linalg.norm(rows, axis=1, keepdims=True)
    records, upper = np.vstack([np.trunc(rows), [[float(LENGTH), 0.0, 0.0, 0.0]]]), np.triu_indices(4)
    scores = np.rint(generator.normal(size=(31, 1)) * 3 * LENGTH * WEIGHT_STEPS)
    scores[-1] = 0.0
    bends = _bends(scores)
    everything = exact_products(records * bends, records)[upper]
    longest = 0
    for gone in range(31):
        kept = np.arange(31) != gone
        moved = (everything - exact_products((records * bends)[kept], records[kept])[upper]).tolist()
        longest = max(longest, sum(entry**2 for entry in moved))
    # A record of one column at equal scores reaches the bound.
    assert longest == (BEND * LENGTH**2) ** 2


@pytest.mark.parametrize("target", TARGETS, ids=str)
@pytest.mark.parametrize("unit", [ROW, ROW_REPLACED], ids=str)
def test_a_calibrated_learner_loses_no_more_than_its_target_and_hardly_less(target: Loss, unit: Any) -> None:
    loss = NewtonDescent.calibrated(target, curvatures=1, unit=unit, **BOX).loss(1)
    assert loss <= target
    if isinstance(target, ZCDP):
        assert loss.rho > target.rho * 99 / 100
    elif isinstance(target, PureDP):
        assert loss.pure is not None
        assert loss.pure > target.epsilon * 999 / 1000


# The length of the mean gradient was at most 0.0001 in each of 40 runs, with one curvature and with four.
@pytest.mark.parametrize("curvatures", [1, 4])
def test_with_a_large_budget_steps_arrive_where_the_gradient_vanishes(curvatures: int) -> None:
    generator = np.random.default_rng()
    rows = generator.uniform(-1, 1, size=(3000, 2))
    chances = 1 / (1 + np.exp(-(1.5 * rows[:, 0] - 0.5 * rows[:, 1] + 0.3)))
    labels = (generator.uniform(size=3000) < chances).astype(float)
    learner = NewtonDescent.calibrated(AMPLE, steps=8, curvatures=curvatures, **BOX)
    model = perform(learner, np.column_stack([rows, labels]))
    # The model shortens records, and so does the gradient that must vanish there.
    centred = rows - model.shift.values
    short = centred / np.maximum(np.linalg.norm(centred, axis=1), model.radius)[:, None]
    pulls = 1 / (1 + np.exp(-model.scores(rows)[:, 0])) - labels
    assert np.linalg.norm(np.column_stack([short, np.ones(3000)]).T @ pulls / 3000) < 0.005


def test_many_classes_are_told_apart() -> None:
    """All rows were told right in each of 40 runs."""
    generator = np.random.default_rng()
    labels = np.arange(900) % 3
    rows = np.array([[0.8, 0.0], [-0.4, 0.7], [-0.4, -0.7]])[labels] + generator.normal(size=(900, 2)) * 0.1
    model = perform(NewtonDescent.calibrated(AMPLE, **(BOX | {"classes": 3})), np.column_stack([rows, labels]))
    assert (model.scores(rows).argmax(axis=1) == labels).mean() > 0.9


def test_no_rows_and_odd_rows_are_learned_from() -> None:
    odd = np.array([[float("nan"), 1e308, 0.0], [float("inf"), -float("inf"), 0.0], [1.0, 1.0, float("nan")]])
    for target in (ZCDP("1/100"), PureDP(1)):
        learner = NewtonDescent.calibrated(target, **BOX)
        for rows in (np.zeros((0, 3)), odd, np.ones((5, 3))):
            assert np.isfinite(perform(learner, rows).weights.values).all()


def test_more_curvatures_than_steps_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="curvatures"):
        replace(NewtonDescent.calibrated(ZCDP(1), **BOX), curvatures=99)


def test_curvature_is_drawn_once_for_many_classes_and_shares_add_up() -> None:
    with pytest.raises(InvalidParameter, match="curvatures"):
        NewtonDescent.calibrated(ZCDP(1), curvatures=2, **(BOX | {"classes": 3}))
    with pytest.raises(InvalidParameter, match="share"):
        NewtonDescent.calibrated(ZCDP(1), share=1, **BOX)
    _, tape, _ = record(NewtonDescent.calibrated(ZCDP(1), steps=3, curvatures=2, **BOX), np.zeros((4, 3)))
    assert [np.size(event.value) for event in tape.events] == [4, 6, 3, 6, 3, 3]


def test_records_that_are_not_shortened_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = np.array([[9.0, 9.0, 0.0]])
    sound = NewtonDescent.calibrated(AMPLE, **BOX)
    assert replay(sound, alone, alone[:0]) == []
    honest = centred_module.into_ball
    monkeypatch.setattr(centred_module, "into_ball", lambda *given: 4 * honest(*given))
    assert replay(sound, alone, alone[:0]) != []

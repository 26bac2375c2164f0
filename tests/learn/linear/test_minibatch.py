"""Descent on samples: what a step is given, what all steps cost, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither.errors import IncompatibleDistance, InvalidParameter
from dither.learn import centred as centred_module
from dither.learn.centred import LENGTH
from dither.learn.linear.descent import GradientDescent
from dither.learn.linear.gradients import PULL
from dither.learn.linear.minibatch import MinibatchDescent
from dither.mechanisms import DiscreteGaussian, GammaNorm, Gaussian, perform
from dither.privacy import ROW, ROW_REPLACED, ZCDP, ApproxDP, Loss, PureDP
from dither.testing.replay import record, replay

TARGET = ApproxDP(1, "1e-6")
BOX: dict[str, Any] = {"lower": [-1, -1], "upper": [1, 1], "classes": 2}


def quiet(**more: Any) -> MinibatchDescent:
    """A learner of next to no noise, which nobody prices."""
    noise: dict[str, Any] = {"survey": Gaussian(sigma=50), "step": Gaussian(sigma=2**16), "delta": "1e-6"}
    return MinibatchDescent(**({**BOX, "loss_name": "logistic", "steps": 40, "rate": "1/4", **noise} | more))


@pytest.mark.parametrize(
    ("target", "unit"), [(PureDP("1/3"), ROW), (TARGET, ROW), (ApproxDP(4, "1e-4"), ROW_REPLACED)], ids=str
)
def test_a_calibrated_learner_loses_no_more_than_its_target_and_hardly_less(target: Loss, unit: Any) -> None:
    learner = MinibatchDescent.calibrated(target, unit=unit, **BOX)
    loss = learner.loss(1)
    assert loss <= target
    assert loss.pure is not None
    assert target.pure is not None
    assert loss.pure > target.pure * Fraction(99, 100)


def test_samples_and_their_law_are_worth_something() -> None:
    """Less noise than full batches would need by the sum of their rhos, and not less than the rate's share of it."""
    sampled, full = MinibatchDescent.calibrated(TARGET, **BOX), GradientDescent.calibrated(TARGET, steps=60, **BOX)
    assert isinstance(full.step, DiscreteGaussian)
    assert isinstance(sampled.step, Gaussian)
    assert full.step.sigma / 4 < sampled.step.sigma * Fraction(11, 10)
    assert sampled.step.sigma < full.step.sigma / 3


def test_what_samples_do_not_help_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="within"):
        MinibatchDescent.calibrated(ZCDP(1), **BOX)
    with pytest.raises(IncompatibleDistance):
        MinibatchDescent.calibrated(PureDP(1), unit=ROW_REPLACED, **BOX)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("rate", 2),
        ("delta", 0),
        ("step", GammaNorm(scale=2)),
    ],
    ids=str,
)
def test_parameters_are_refused_by_name(field: str, value: object) -> None:
    with pytest.raises(InvalidParameter, match=field):
        quiet(**{field: value})


def test_a_step_is_given_the_pulls_of_its_sample() -> None:
    """At the first step all weights are 0, so a record of class 1 pulls by half of PULL along itself."""
    rows = np.tile([[0.5, -0.5, 1.0]], (400, 1))
    learner = quiet(steps=1)
    _, tape, _ = record(learner, rows)
    given = np.asarray(tape.events[-1].value, dtype=float)
    each = np.abs(given) / (PULL / 2)
    # The constant part is 4706 for every record: so many were in the sample, about 100 with a deviation of 9.
    count = each[-1] / 4706
    assert count == pytest.approx(round(count), rel=0.02)
    assert 0 < count < 200
    assert np.linalg.norm(each) <= count * LENGTH


# All rows were told right in each of 40 runs, for two classes and for three.
@pytest.mark.parametrize("classes", [2, 3])
def test_with_a_large_budget_what_is_separate_is_separated(classes: int) -> None:
    generator = np.random.default_rng()
    labels = np.arange(1200) % classes
    centres = np.array([[0.8, 0.0], [-0.4, 0.7], [-0.4, -0.7]])
    rows = centres[labels] + generator.normal(size=(1200, 2)) * 0.1
    scores = perform(quiet(classes=classes), np.column_stack([rows, labels])).scores(rows)
    told = scores.argmax(axis=1) if classes > 2 else scores[:, 0] > 0
    assert (told == labels).mean() > 0.9


def test_no_rows_and_odd_rows_are_learned_from() -> None:
    odd = np.array([[float("nan"), 1e308, 0.0], [float("inf"), -float("inf"), 0.0], [1.0, 1.0, float("nan")]])
    learner = MinibatchDescent.calibrated(PureDP(1), **BOX)
    for rows in (np.zeros((0, 3)), odd, np.ones((5, 3))):
        assert np.isfinite(perform(learner, rows).weights.values).all()


def test_records_that_are_not_shortened_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin that must be refused: records four times as long as they may be; at rate 1 they are in the sample."""
    alone = np.array([[9.0, 9.0, 0.0]])
    sound = quiet(rate=1, steps=2)
    assert replay(sound, alone, alone[:0]) == []
    honest = centred_module.into_ball
    monkeypatch.setattr(centred_module, "into_ball", lambda *given: 4 * honest(*given))
    assert replay(sound, alone, alone[:0]) != []

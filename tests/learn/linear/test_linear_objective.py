"""Objective perturbation: the density that its proof speaks of, weights against exact gradients, and its price."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither.errors import InvalidParameter, InvalidValue, NoGuarantee
from dither.learn.centred import LENGTH
from dither.learn.linear import ObjectivePerturbation
from dither.learn.linear.penalised import BENDS, TOLERANCE
from dither.learn.linear.perturbed_minimum import (
    PerturbedMinimum,
    Sides,
    bend_loss,
    finish_moves,
    gaussian_epsilon,
    gaussian_sigma_within,
    linear_grid,
    normal_reach,
)
from dither.mechanisms import perform
from dither.mechanisms.gamma_norm import GammaNorm
from dither.mechanisms.gaussian import Gaussian
from dither.noise import system_noise
from dither.privacy import ROW, ROW_REPLACED, ZCDP, ApproxDP, Loss, PureDP

TARGETS: list[Loss] = [PureDP("1/3"), PureDP(40), ApproxDP(1, "1e-6"), ApproxDP("1/20", "1e-9"), ZCDP("1/7")]


def slow_pull(loss: str, score: float, side: int) -> tuple[float, float]:
    """The first and the second derivative of one record's loss, from its definition."""
    if loss == "logistic":
        chance = 1 / (1 + math.exp(-score)) if score > -700 else 0.0
        return chance - side, chance * (1 - chance)
    sign = 2 * side - 1
    ahead = sign * score
    if ahead >= 1.5:
        return 0.0, 0.0
    return (-float(sign), 0.0) if ahead <= 0.5 else (-sign * (1.5 - ahead), 1.0)


def log_density(
    loss: str, records: list[float], sides: list[int], penalty: float, noise: float, weight: float, *, is_pure: bool
) -> float:
    """The logarithm of the density of the minimiser of one weight, up to a constant: noise law times bend."""
    first, second = penalty * weight, penalty
    for record, side in zip(records, sides, strict=True):
        pull, bend = slow_pull(loss, record * weight, side)
        first, second = first + pull * record, second + bend * record * record
    law = -abs(first) / noise if is_pure else -first * first / (2 * noise * noise)
    return law + math.log(second)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_densities_of_neighbours_keep_the_ratio_and_only_with_the_bend(loss: str) -> None:
    """Both terms are needed: where a record bends the minimum, noise alone would not cover it."""
    penalty, scale = Fraction(1, 4), Fraction(2)
    allowed = float(bend_loss(loss, penalty) + 1 / scale)
    worst = 0.0
    for records, sides in (([], []), ([1.0], [1]), ([0.5, -1.0], [1, 1])):
        for record, side in ((1.0, 1), (-1.0, 1), (1.0, 0), (0.25, 0)):
            for weight in np.linspace(-8, 8, 321).tolist():
                given = (float(penalty), float(scale), weight)
                here = log_density(loss, records, sides, *given, is_pure=True)
                there = log_density(loss, [*records, record], [*sides, side], *given, is_pure=True)
                worst = max(worst, abs(here - there))
    assert worst <= allowed
    # Half of all that is allowed is used up, and more than noise alone is worth.
    assert worst > max(float(1 / scale), allowed / 2)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_gaussian_terms_keep_epsilon_but_for_delta(loss: str) -> None:
    """The excess of one density over e^epsilon times the other is integrated, both ways."""
    penalty, delta = Fraction(2), Fraction(1, 100)
    sigma = Fraction(3)
    epsilon = float(bend_loss(loss, penalty) + gaussian_epsilon(sigma, delta))
    weights = np.linspace(-25, 25, 4001)
    step = weights[1] - weights[0]
    laws = []
    for records, sides in (([0.5], [0]), ([0.5, 1.0], [0, 1])):
        logs = [
            log_density(loss, records, sides, float(penalty), float(sigma), weight, is_pure=False)
            for weight in weights.tolist()
        ]
        laws.append(np.exp(logs) / (float(sigma) * math.sqrt(2 * math.pi)))
        assert laws[-1].sum() * step == pytest.approx(1, abs=5e-3)  # the change of variables, Jacobian included
    for here, there in (laws, laws[::-1]):
        assert np.maximum(here - math.exp(epsilon) * there, 0).sum() * step <= delta
        assert np.maximum(here - math.exp(epsilon / 20) * there, 0).sum() * step > delta


@pytest.mark.parametrize("delta", ["0.3", "0.01", "1e-6", "1e-12", "1e-100"])
def test_reaches_of_the_normal_law_are_upper_bounds(delta: str) -> None:
    reach = float(normal_reach(Fraction(delta)))
    assert math.erfc(reach / math.sqrt(2)) <= float(Fraction(delta))
    # At most a fiftieth too far where deltas are small.
    assert float(Fraction(delta)) > 0.011 or math.erfc(0.97 * reach / math.sqrt(2)) > float(Fraction(delta))


@pytest.mark.parametrize("epsilon", ["1/1000", "1", "30"])
def test_the_least_sigma_is_found(epsilon: str) -> None:
    wanted, delta = Fraction(epsilon), Fraction(1, 10**6)
    sigma = gaussian_sigma_within(wanted, delta)
    assert gaussian_epsilon(sigma, delta) <= wanted < gaussian_epsilon(sigma * Fraction(999, 1000), delta)


def test_the_price_of_one_record_and_of_many() -> None:
    grid = linear_grid(3)
    pure = PerturbedMinimum(
        width=3, loss_name="logistic", penalty=5, part=GammaNorm(scale=2, grid=grid), finish=GammaNorm(scale="0.01")
    )
    one = Fraction(1, 2) + finish_moves(Fraction(5)) * 100
    assert float(pure.loss(1).pure - one) == pytest.approx(math.log1p(0.25 / 5), rel=1e-5)
    assert pure.loss(3).pure == 3 * pure.loss(1).pure
    assert pure.loss("5/2") == pure.loss(2)
    gaussian = PerturbedMinimum(
        width=3,
        loss_name="hinge",
        penalty=5,
        part=Gaussian(sigma=20, grid=grid),
        delta="1e-6",
        finish=GammaNorm(scale="0.01"),
    )
    assert float(gaussian.loss(1).pure) == pytest.approx(
        math.log1p(1 / 5) + 4.8916 / 20 + 1 / 800 + 400 * float(TOLERANCE) / 5, abs=1e-3
    )
    assert gaussian.loss(2).delta >= 1e-6 * (1 + math.exp(float(gaussian.loss(1).pure)))


@pytest.mark.parametrize("target", TARGETS, ids=str)
@pytest.mark.parametrize("unit", [ROW, ROW_REPLACED], ids=str)
@pytest.mark.parametrize("columns", [1, 60])
def test_calibrated_learners_keep_their_target(target: Loss, unit: Any, columns: int) -> None:
    for classes, loss in ((2, "logistic"), (3, "hinge")):
        learner = ObjectivePerturbation.calibrated(
            target, lower=[0] * columns, upper=[1] * columns, classes=classes, loss_name=loss, unit=unit
        )
        assert learner.loss(1) <= target


def test_a_penalty_that_epsilon_cannot_pay_for_is_raised() -> None:
    box: dict[str, Any] = {"lower": [0], "upper": [1], "classes": 2}
    for epsilon in ("0.01", "0.1", "1"):
        learner = ObjectivePerturbation.calibrated(PureDP(epsilon), penalty="1/4", **box)
        assert learner.loss(1) <= PureDP(epsilon)
        # Half of epsilon is left for the noise: it is at most about twice what no bend at all would ask for.
        assert 1 / learner.part.scale >= Fraction(epsilon) * Fraction(2, 5)
        printed = float(BENDS["logistic"]) / math.expm1(float(Fraction(epsilon)) * 0.9 * 0.98 / 2)
        assert float(learner.penalty) == pytest.approx(max(printed, 0.25), rel=1e-5)
    assert ObjectivePerturbation.calibrated(PureDP(1), penalty=50, **box).penalty == 50


def test_noise_is_gaussian_where_that_is_shorter() -> None:
    def part(columns: int) -> Any:
        box: dict[str, Any] = {"lower": [0] * columns, "upper": [1] * columns, "classes": 2}
        return ObjectivePerturbation.calibrated(ApproxDP(1, "1e-6"), **box).part

    assert isinstance(part(3), GammaNorm)
    assert isinstance(part(100), Gaussian)


def test_odd_records_have_a_meaning_and_others_are_refused() -> None:
    nan, inf = float("nan"), float("inf")
    admitted = Sides(2).admit(np.array([[nan, inf, 1.0], [1e300, -1e300, nan], [3.0, 4.0, inf]]))
    assert (np.square(admitted[:, :-1]).sum(axis=1) <= LENGTH**2).all()
    assert admitted[:, -1].tolist() == [1.0, 0.0, 1.0]
    assert admitted[2, :2].tolist() == [3.0, 4.0]
    for bad in (np.zeros((1, 2)), [[1, 2, 3]], np.zeros(3), None):
        with pytest.raises(InvalidValue, match="value"):
            Sides(2).admit(bad)


def test_weights_are_drawn_around_the_minimum() -> None:
    """With next to no noise they are the minimum; the linear term moves it by no more than |b| / penalty."""
    records = np.array([[LENGTH, 0, 1], [0, LENGTH, 0]])
    quiet = GammaNorm(scale=Fraction(1, 2**20), grid=linear_grid(2))
    part = PerturbedMinimum(width=2, loss_name="logistic", penalty=1, part=quiet, finish=quiet)
    drawn = part.draw_many(records, 3, system_noise())
    # w = 1 - 1 / (1 + e^-w) at the minimum, and its opposite; P[more than 2^-12 of noise] is below e^-250.
    assert drawn == pytest.approx(np.array([[0.4010581375, -0.4010581375]] * 3), abs=2.0**-12)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("penalty", "1/8"),
        ("penalty", 2**19),
        ("delta", "1e-6"),
        ("part", GammaNorm(scale=1, grid=1)),
        ("finish", Gaussian(sigma=1)),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, GammaNorm | Gaussian) else str(value),
)
def test_parameters_are_refused_by_name(field: str, value: object) -> None:
    good = ObjectivePerturbation.calibrated(PureDP(1), lower=[0], upper=[1], classes=2)
    names = ("lower", "upper", "classes", "loss_name", "penalty", "survey", "part", "finish", "delta")
    given = {name: getattr(good, name) for name in names}
    with pytest.raises(InvalidParameter, match=field):
        ObjectivePerturbation(**(given | {field: value}))


@pytest.mark.parametrize(("classes", "loss"), [(2, "hinge"), (2, "logistic"), (3, "logistic")])
def test_with_a_large_budget_it_separates_what_is_separate(classes: int, loss: str) -> None:
    """Epsilon 10^4 leaves noise of a ten-thousandth: 200 records of each class, half a box apart, are told apart."""
    centres = np.array([[-0.5, -0.5], [0.5, 0.5], [0.5, -0.5]])[:classes]
    labels = np.repeat(np.arange(classes), 200)
    values = centres[labels] + np.random.default_rng().uniform(-0.1, 0.1, size=(len(labels), 2))
    learner = ObjectivePerturbation.calibrated(
        PureDP(10**4), lower=[-1, -1], upper=[1, 1], classes=classes, loss_name=loss
    )
    scores = perform(learner, np.column_stack([values, labels])).scores(values)
    assert ((scores.argmax(axis=1) if classes > 2 else scores[:, 0] > 0) == labels).all()


def test_a_delta_alone_is_refused() -> None:
    with pytest.raises(NoGuarantee):
        ObjectivePerturbation.calibrated(ApproxDP(0, "1e-6"), lower=[0], upper=[1], classes=2)

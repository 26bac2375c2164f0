"""The parameter grid: losses against rationals, the chosen model against brute force, the size of a grid."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither.errors import InvalidParameter
from dither.learn.linear import ParameterGrid
from dither.learn.linear.parameter_grid import MOST_MODELS, TOP, record_losses
from dither.mechanisms import perform
from dither.privacy import ROW, ROW_REPLACED, ZCDP, ApproxDP, Loss, PureDP

TARGETS: list[Loss] = [PureDP("1/3"), ApproxDP(1, "1e-6"), ZCDP("1/7")]


def slow_loss(objective: str, score: Fraction, target: int) -> int:
    """The loss of one record in exact arithmetic; the target is a side or a number of steps."""
    if objective == "hinge":
        return math.floor(min(max(1 - target * score, Fraction(0)), Fraction(2)) * TOP / 2)
    if objective == "squared":
        off = min(abs(math.floor(score * 4096) - target), 4096)
        return off * off * TOP // 4096**2
    cell = min(max(math.floor(target * score * 64), -128), 127)
    middle = (cell + 0.5) / 64
    return round(TOP * math.log1p(math.exp(-middle)) / math.log1p(math.exp(2 - 0.5 / 64)))


@pytest.mark.parametrize("objective", ["logistic", "hinge", "squared"])
def test_losses_are_whole_bounded_and_right(objective: str) -> None:
    generator = np.random.default_rng()
    scores = np.rint(generator.normal(size=(60, 3)) * generator.choice([0.1, 1, 50], size=(60, 1)) * 2**22)
    targets = generator.choice([-1.0, 1.0], size=60)
    if objective == "squared":
        targets = np.rint(targets * generator.uniform(0, 4096, size=60))
    found = record_losses(objective, scores, targets)
    for row, losses, target in zip(scores.tolist(), found.tolist(), targets.tolist(), strict=True):
        for score, loss in zip(row, losses, strict=True):
            assert loss == slow_loss(objective, Fraction(int(score), 2**22), int(target))
            assert 0 <= loss <= TOP


def test_every_loss_up_to_the_largest_occurs() -> None:
    far = np.array([[-(2.0**40)], [2.0**40]])
    for objective in ("logistic", "hinge"):
        assert record_losses(objective, far, np.ones(2))[0, 0] == TOP
        assert record_losses(objective, far, np.ones(2))[1, 0] < TOP / 10
    assert record_losses("squared", far, np.zeros(2)).tolist() == [[TOP], [TOP]]


def test_the_sum_of_losses_is_that_of_all_models() -> None:
    rows = np.array([[0.5, -3.0, 1.0], [9.0, 2.0, 0.0], [float("nan"), 1.0, 1.0], [0.1, 0.25, 7.0]])
    levels, constants = (Fraction(-3, 2), Fraction(0), Fraction(1, 4)), (Fraction(-1), Fraction(1))
    grid = ParameterGrid(
        lower=[-1, 0], upper=[1, 8], objective="hinge", weights=levels, constants=constants, scale=1, penalty="1/2"
    )
    assert grid.models == 18
    models = {tuple(model) for model in grid._model(np.arange(18)).tolist()}
    assert models == {
        tuple(float(1024 * weight) for weight in model) for model in itertools.product(levels, levels, constants)
    }
    values, sides = rows[:3, :-1], np.array([1.0, -1.0, 1.0])
    found = grid._losses(values, sides)
    scaled = [(Fraction(1, 2), Fraction(0)), (Fraction(1), Fraction(1, 4)), (Fraction(0), Fraction(1, 8))]
    for number, (one, other, constant) in enumerate(grid._model(np.arange(18)).tolist()):
        weights = [Fraction(int(weight), 1024) for weight in (one, other, constant)]
        slow = TOP * (weights[0] ** 2 + weights[1] ** 2) / 2
        for (first, second), side in zip(scaled, sides.tolist(), strict=True):
            score = weights[0] * first + weights[1] * second + weights[2]
            slow += slow_loss("hinge", score, int(side))
        assert abs(found[number] - slow) <= Fraction(1, 2)


def test_one_record_moves_no_score_beyond_the_largest_loss() -> None:
    generator = np.random.default_rng()
    for objective in ("logistic", "hinge", "squared"):
        grid = ParameterGrid.calibrated(PureDP(1), lower=[-1, -1], upper=[1, 1], objective=objective)
        values, targets = generator.uniform(-2, 2, size=(9, 2)), generator.choice([-1.0, 1.0], size=9)
        moved = grid._losses(values, targets) - grid._losses(values[1:], targets[1:])
        assert moved.min() >= 0
        assert moved.max() <= TOP


@pytest.mark.parametrize("target", TARGETS, ids=str)
@pytest.mark.parametrize("unit", [ROW, ROW_REPLACED], ids=str)
def test_calibrated_grids_keep_their_target(target: Loss, unit: Any) -> None:
    grid = ParameterGrid.calibrated(target, lower=[0, 1], upper=[2, 5], unit=unit)
    assert grid.loss(1) <= target
    if isinstance(target, PureDP):
        assert grid.loss(1).pure == target.epsilon


@pytest.mark.parametrize("columns", range(1, 10))
def test_usual_grids_fit(columns: int) -> None:
    grid = ParameterGrid.calibrated(PureDP(1), lower=[0] * columns, upper=[1] * columns)
    assert 0 in grid.weights
    assert grid.models <= MOST_MODELS


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"lower": [0] * 10, "upper": [1] * 10}, "bounds of 10 columns"),
        ({"lower": [0] * 4, "upper": [1] * 4, "weights": range(-8, 9)}, "weights"),
        ({"lower": [0] * 4, "upper": [1] * 4, "weights": list(range(-8, 9))}, "at most 65536 models, and not of"),
        ({"weights": [0.1]}, "weights must be different multiples of 1/1024"),
        ({"constants": [2**11]}, "constants"),
        ({"target_upper": 7}, "target_upper"),
        ({"objective": "squared", "target_upper": -1}, "upper"),
    ],
    ids=str,
)
def test_grids_too_large_and_bad_parameters_are_refused_by_name(parameters: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidParameter, match=named):
        ParameterGrid.calibrated(PureDP(1), **({"lower": [0], "upper": [1]} | parameters))


def test_at_a_sharp_scale_the_best_model_is_chosen() -> None:
    """A gap of at least 500 at a scale of 1 leaves others a chance of e^-500 each."""
    values = np.array([[-0.8], [-0.6], [0.6], [0.8]] * 3)
    sides = np.where(values[:, 0] > 0, 1.0, -1.0)
    common: dict[str, Any] = {"lower": [-1], "upper": [1], "weights": (-1, 0, 1), "constants": (-1, 0, 1), "scale": 1}
    for objective in ("hinge", "logistic"):
        grid = ParameterGrid(objective=objective, **common)
        best, next_best = np.sort(grid._losses(values, sides))[:2]
        assert next_best - best > 500
        model = perform(grid, np.column_stack([values, sides > 0]))
        assert model.coefficients == pytest.approx(np.array([[1.0]]))
        assert model.constants[0] == 0
    line = np.column_stack([values, 3 + 2 * values[:, 0]])
    regression = ParameterGrid(objective="squared", target_lower=1, target_upper=5, **common)
    best, next_best = np.sort(regression._losses(values, np.rint(values[:, 0] * 4096)))[:2]
    assert next_best - best > 500
    assert perform(regression, line).scores(values)[:, 0] == pytest.approx(line[:, 1])


def test_no_rows_and_odd_rows_are_learned_from() -> None:
    nan, inf = float("nan"), float("inf")
    odd = np.array([[nan, 1e308, 0.0], [inf, -inf, 1.0], [1.0, 1.0, nan]])
    for objective in ("logistic", "hinge", "squared"):
        grid = ParameterGrid.calibrated(PureDP(1), lower=[0, 0], upper=[1, 1], objective=objective)
        for rows in (np.zeros((0, 3)), odd):
            assert np.isfinite(perform(grid, rows).weights.values).all()

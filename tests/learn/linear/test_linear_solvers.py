"""Solvers behind estimators: each by its name, options of another refused, what is chosen where none is named."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn")

from dither import Budget, learn
from dither.errors import InvalidParameter
from dither.learn.linear.choose import HINGE_SOLVERS, REGRESSION_SOLVERS, SOLVERS, classifier
from dither.privacy import ROW, ZCDP, ApproxDP, Loss, PureDP

NAMES = {
    "gradient": "gradient-descent",
    "output": "output-perturbation",
    "objective": "objective-perturbation",
    "moments": "moment-classifier",
    "functional": "functional-mechanism",
    "newton": "newton-descent",
    "minibatch": "minibatch-descent",
    "grid": "parameter-grid",
    "gene": "genetic-classifier",
}


def blobs() -> tuple[np.ndarray, np.ndarray]:
    """Two classes, each in a square of its own."""
    labels = np.arange(400) % 2
    values = np.random.default_rng().uniform(-0.15, 0.15, size=(400, 2)) + np.where(labels, 0.5, -0.5)[:, None]
    return values, labels


@pytest.mark.parametrize(
    ("estimator", "solver"),
    [*(("LogisticRegression", name) for name in SOLVERS[1:]), *(("LinearSVC", name) for name in HINGE_SOLVERS[1:])],
)
def test_every_solver_fits_and_is_read_back(estimator: str, solver: str, tmp_path: Path) -> None:
    """With an ample budget; every solver tells apart squares that are five of their half-sides from each other.

    The least decision was above 0.8 of the largest in 40 fits on samples at epsilon 30, and above 0.9 for the others.
    Grids are indifferent between models that leave no loss; one record on the wrong side makes a model e^5000 rarer.
    """
    values, labels = blobs()
    epsilon = 30 if solver == "minibatch" else 10**4
    fitted = getattr(learn, estimator)(epsilon=epsilon, delta=1e-6, bounds=(-1, 1), classes=[0, 1], solver=solver)
    fitted.fit(values, labels)
    assert fitted.privacy_.mechanism == NAMES[solver]
    assert fitted.score(values, labels) == 1
    again = learn.load_estimator(fitted.save(tmp_path / "model.json"))
    assert (again.decision_function(values) == fitted.decision_function(values)).all()
    assert again.solver == solver


@pytest.mark.parametrize("solver", REGRESSION_SOLVERS)
@pytest.mark.parametrize("estimator", ["LinearRegression", "Ridge"])
def test_every_solver_of_a_regression_fits(estimator: str, solver: str) -> None:
    """The target is a line on the usual grid of one column: weights are multiples of 2/31, of the wider scale 2."""
    values = np.linspace(-1, 1, 201)[:, None]
    targets = 2 * (12 / 31) * values[:, 0]
    fitted = getattr(learn, estimator)(epsilon=10**4, bounds=(-1, 1), target_bounds=(-2, 2), solver=solver)
    fitted.fit(values, targets)
    assert np.abs(fitted.predict(values) - targets).max() < 0.1


@pytest.mark.parametrize(
    ("target", "classes", "columns", "loss", "name"),
    [
        (PureDP(1), 2, 1, "logistic", "objective-perturbation"),
        (PureDP(1), 2, 511, "logistic", "objective-perturbation"),
        (PureDP(1), 2, 512, "logistic", "output-perturbation"),
        (PureDP(1), 2, 1, "hinge", "objective-perturbation"),
        (PureDP(1), 2, 512, "hinge", "gradient-descent"),
        (PureDP(1), 2, 2049, "logistic", "gradient-descent"),
        (PureDP(1), 3, 1, "logistic", "functional-mechanism"),
        (PureDP(1), 3, 2049, "logistic", "gradient-descent"),
        (PureDP(1), 3, 1, "hinge", "gradient-descent"),
        (ApproxDP(1, "1e-6"), 2, 1, "logistic", "gradient-descent"),
        (ZCDP(1), 2, 1, "hinge", "gradient-descent"),
    ],
    ids=str,
)
def test_what_is_chosen_where_none_is_named(target: Loss, classes: int, columns: int, loss: str, name: str) -> None:
    found = classifier(
        target,
        solver="auto",
        lower=[0] * columns,
        upper=[1] * columns,
        classes=classes,
        max_iter=None,
        C=None,
        unit=ROW,
        loss_name=loss,
    )
    assert found.name == name


@pytest.mark.parametrize(
    ("estimator", "options", "named"),
    [
        ("LogisticRegression", {"solver": "objective", "max_iter": 3}, "max_iter"),
        ("LogisticRegression", {"solver": "grid", "C": 3}, "C"),
        ("LogisticRegression", {"solver": "functional", "max_iter": 3}, "max_iter"),
        ("LogisticRegression", {"solver": "newton", "C": 3}, "C"),
        ("LogisticRegression", {"solver": "grid", "classes": [0, 1, 2]}, "solver"),
        ("LogisticRegression", {"solver": "simplex"}, "solver"),
        ("LinearSVC", {"solver": "moments"}, "solver"),
        ("LinearSVC", {"solver": "gradient", "C": 1}, "C"),
        ("LinearSVC", {"solver": "objective", "max_iter": 1}, "max_iter"),
    ],
    ids=str,
)
def test_options_of_another_solver_are_refused(estimator: str, options: dict[str, Any], named: str) -> None:
    given = {"epsilon": 1, "bounds": (-1, 1), "classes": [0, 1]} | options
    with pytest.raises(InvalidParameter, match=named):
        getattr(learn, estimator)(**given).mechanism(2)


def test_a_loss_with_a_delta_of_its_own_is_charged() -> None:
    """Gaussian noise in the objective of many columns: the budget of a fit has room for its delta."""
    values = np.random.default_rng().uniform(-1, 1, size=(50, 60))
    model = learn.LogisticRegression(epsilon=1, delta=1e-6, bounds=(-1, 1), classes=[0, 1], solver="objective")
    lost = model.fit(values, np.arange(50) % 2).privacy_.loss
    assert isinstance(lost, ApproxDP)
    assert 0 < lost.delta <= 1e-6
    assert lost.epsilon <= 1


def test_options_of_a_regression_are_refused() -> None:
    given: dict[str, Any] = {"epsilon": 1, "bounds": (-1, 1), "target_bounds": (0, 1)}
    with pytest.raises(InvalidParameter, match="solver must be one of moments, functional, grid"):
        learn.LinearRegression(solver="gradient", **given).mechanism(2)
    with pytest.raises(InvalidParameter, match="bounds of 10 columns"):
        learn.Ridge(solver="grid", **given).mechanism(10)


def test_a_penalty_reaches_its_solver() -> None:
    given: dict[str, Any] = {"epsilon": 1, "bounds": (-1, 1), "classes": [0, 1], "C": "1/33"}
    assert learn.LogisticRegression(solver="objective", **given).mechanism(2).penalty == 33
    assert learn.LinearSVC(solver="objective", **given).mechanism(2).penalty == 33
    ridge = learn.Ridge(epsilon=1, bounds=(-1, 1), target_bounds=(0, 1), alpha=5, solver="grid")
    assert ridge.mechanism(2).penalty == 5


@pytest.mark.parametrize("solver", ["output", "objective"])
def test_solvers_that_minimise_take_any_number_of_rows(solver: str) -> None:
    """A limit that data could reach would tell their number: 2^20 was one once."""
    model = learn.LogisticRegression(epsilon=1, bounds=(0, 1), classes=[0, 1], solver=solver)
    model.fit(np.broadcast_to(0.5, (2**20 + 1, 1)), np.broadcast_to(0, 2**20 + 1))
    assert model.predict([[0.5]]).tolist() == [0]


@pytest.mark.parametrize("solver", ["output", "objective", "gradient", "newton", "moments"])
@pytest.mark.parametrize("epsilon", ["1e-350", "1e-200", "1e-30", "1e30"])
def test_an_extreme_epsilon_is_refused_before_the_charge_or_learned_with(solver: str, epsilon: str) -> None:
    """Squares of very wide noise once overflowed after the charge, and e^(10^30) was once begun."""
    budget = Budget(epsilon=epsilon, unit=ROW)
    model = learn.LogisticRegression(epsilon=epsilon, bounds=(0, 1), classes=[0, 1], solver=solver)
    try:
        model.fit([[0.5], [0.1]], [0, 1], budget=budget)
    except InvalidParameter:
        assert budget.spent == PureDP(0)


@pytest.mark.parametrize("inverse", ["1e-400", 8, f"1/{2**61}", 0, -1, math.nan, "a"])
@pytest.mark.parametrize("solver", ["output", "objective"])
def test_a_penalty_out_of_reach_is_refused_by_name(solver: str, inverse: object) -> None:
    model = learn.LogisticRegression(epsilon=1, bounds=(0, 1), classes=[0, 1], solver=solver, C=inverse)
    if (solver, inverse) == ("objective", 8):  # lowered to what the bend of the minimum asks for
        assert model.mechanism(1).penalty >= 0.25
    else:
        with pytest.raises(InvalidParameter, match=r"^C must be"):
            model.mechanism(1)

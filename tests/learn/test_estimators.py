"""Estimators keep scikit-learn's contract where it can hold, take nothing public from data, and show no value."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dither.errors import BudgetExceeded, InvalidParameter, InvalidValue
from dither.mechanisms import Budget
from dither.privacy import ROW, ZCDP

sklearn = pytest.importorskip("sklearn")

import dither.learn as learn  # noqa: E402
from dither.learn.base import bounds_of  # noqa: E402

CLASSIFIERS: dict[str, dict[str, Any]] = {
    "LogisticRegression": {"bounds": (-10, 10)},
    "LinearSVC": {"bounds": (-10, 10)},
    "GaussianNB": {"bounds": (-10, 10)},
    "CategoricalNB": {"categories": 4},
    "BernoulliNB": {},
}
REGRESSORS: dict[str, dict[str, Any]] = {
    "LinearRegression": {"bounds": (-10, 10), "target_bounds": (-100, 100)},
    "Ridge": {"bounds": (-10, 10), "target_bounds": (-100, 100)},
}
EVERY = CLASSIFIERS | REGRESSORS


def made(name: str, **more: Any) -> Any:
    classes = {"classes": [0, 1]} if name in CLASSIFIERS else {}
    return getattr(learn, name)(**{"rho": 1000, **EVERY[name], **classes, **more})


def rows(count: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose class shows in their first column, as number and as category."""
    labels = np.arange(count) % 2
    return np.column_stack([3.0 * labels, np.ones(count)]), labels


@pytest.mark.parametrize("name", sorted(EVERY))
def test_fitting_says_what_it_promises(name: str) -> None:
    values, labels = rows()
    # A loss that leaves a score a thousand deviations of the noise to move: the bounds of targets are wide.
    fitted = made(name, rho=10**9).fit(values, labels)
    assert fitted.privacy_.loss <= fitted.privacy_.stated == ZCDP(10**9)
    assert fitted.privacy_.unit == str(ROW)
    assert fitted.privacy_.numerics == "exact"
    assert fitted.privacy_.receipt == "unledgered"
    assert fitted.score(values, labels) > 0.9
    assert "rho" in str(fitted.privacy_)


@pytest.mark.parametrize("name", sorted(CLASSIFIERS))
def test_decisions_chances_and_predictions_agree(name: str) -> None:
    values, labels = rows()
    fitted = made(name).fit(values, labels)
    decided = fitted.decision_function(values)
    assert decided.shape == (400,)
    assert (fitted.predict(values) == (decided > 0)).all()
    if hasattr(fitted, "predict_proba"):
        chances = fitted.predict_proba(values)
        assert chances.sum(axis=1) == pytest.approx(np.ones(400))
        assert (np.argsort(chances[:, 1], kind="stable") == np.argsort(decided, kind="stable")).all()
        assert fitted.predict_log_proba(values) == pytest.approx(np.log(chances))


@pytest.mark.parametrize("name", sorted(EVERY))
def test_saved_and_read_back_and_copied_it_predicts_the_same(name: str, tmp_path: Path) -> None:
    values, labels = rows(60)
    fitted = made(name).fit(values, labels)
    path = fitted.save(tmp_path / "model.json")
    for again in (type(fitted).load(path), learn.load_estimator(path), copy.deepcopy(fitted)):
        assert type(again) is type(fitted)
        assert (again.predict(values) == fitted.predict(values)).all()
        assert again.privacy_ == fitted.privacy_
        assert again.n_features_in_ == 2
    record = json.loads(path.read_text())
    assert record["version"] == 2
    for bad in (
        {**record, "version": 1},
        {**record, "version": 3},
        {**record, "more": 1},
        {**record, "parameters": {"seed": 1}},
        {**record, "model": {**record["model"], "version": 7}},
        {**record, "privacy": {}},
        [],
    ):
        with pytest.raises(InvalidParameter):
            type(fitted).from_json(json.dumps(bad))
    with pytest.raises(InvalidParameter):
        type(fitted).from_json("{")
    path.write_text(json.dumps({**record, "estimator": "os.system"}))
    with pytest.raises(InvalidParameter, match="estimator"):
        learn.load_estimator(path)


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("LogisticRegression", "bounds"),
        ("LogisticRegression", "classes"),
        ("LinearSVC", "bounds"),
        ("GaussianNB", "bounds"),
        ("CategoricalNB", "categories"),
        ("BernoulliNB", "classes"),
        ("Ridge", "target_bounds"),
        ("LinearRegression", "bounds"),
    ],
)
def test_what_is_public_must_be_declared(name: str, missing: str) -> None:
    with pytest.raises(InvalidParameter, match=f"{missing} must be declared.*never taken from data|{missing} must be"):
        made(name, **{missing: None}).fit(*rows())


@pytest.mark.parametrize("bad", [{"rho": None}, {"rho": -1}, {"epsilon": 1}, {"unit": "user"}, {"delta": 0.1}])
def test_a_budget_that_is_none_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        made("GaussianNB", **bad).fit(*rows())


def test_an_unknown_solver_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="solver"):
        made("LogisticRegression", solver="simplex").fit(*rows())


def test_pure_and_approximate_losses_are_kept() -> None:
    values, labels = rows()
    pure = made("LogisticRegression", rho=None, epsilon="1/2").fit(values, labels).privacy_
    assert pure.loss.pure is not None
    assert pure.loss.pure <= 0.5
    assert pure.numerics == "bounded"
    approximate = made("LogisticRegression", rho=None, epsilon=1, delta=1e-6).mechanism(2)
    assert approximate.name == "gradient-descent"


def test_a_given_budget_is_charged_first() -> None:
    values, labels = rows()
    budget = Budget(rho=3, unit=ROW)
    made("GaussianNB", rho=2).fit(values, labels, budget=budget)
    assert budget.spent.rho > 1.9
    with pytest.raises(BudgetExceeded):
        made("GaussianNB", rho=2).fit(values, labels, budget=budget)


@pytest.mark.parametrize("name", sorted(EVERY))
def test_odd_rows_are_learned_from(name: str) -> None:
    nan, inf = float("nan"), float("inf")
    values = np.array([[nan, inf], [-inf, 1e308], [0.0, 5e-324], [1.0, 1.0]])
    for labels in ([0, 1, 0, 1], [1, 1, 1, 1], [nan, inf, 7, -1]):
        fitted = made(name).fit(values, labels)
        assert len(fitted.predict(values)) == 4
    assert len(made(name).fit(np.zeros((0, 2)), []).predict(values)) == 4


def test_labels_outside_the_classes_leave_rows_out() -> None:
    values, _ = rows()
    labels = np.array(["yes", "no"] * 200, dtype=object)
    fitted = made("BernoulliNB", classes=["yes", "no"]).fit(values, labels)
    with_others = np.vstack([values, np.zeros((100, 2))]), np.array([*labels, *["maybe"] * 100], dtype=object)
    other = made("BernoulliNB", classes=["yes", "no"]).fit(*with_others)
    assert fitted.classes_.tolist() == ["no", "yes"]
    assert other.class_prior_ == pytest.approx(fitted.class_prior_, abs=0.01)


@pytest.mark.parametrize(
    "values",
    [
        [["4711", "secret"], ["a", "b"]],
        [4711.0, 815.0],
        np.array([4711.0, 815.0]),
        np.zeros((4711, 2, 1)),
        np.zeros((4711, 0)),
        {"secret": 4711},
        "secret 4711",
        (number for number in [4711]),
    ],
    ids=["rows without a width", "cells", "one axis", "three axes", "no columns", "record", "text", "generator"],
)
def test_containers_are_refused_by_type_and_shape_and_show_no_cell_and_no_number_of_rows(values: Any) -> None:
    with pytest.raises(InvalidValue, match="X must be") as refusal:
        made("LogisticRegression").fit(values, [0, 1])
    for word in ("secret", "4711", "815"):
        assert word not in str(refusal.value)
    assert refusal.value.__cause__ is None
    assert refusal.value.__suppress_context__ or refusal.value.__context__ is None


def test_refusals_of_labels_show_no_number_of_rows() -> None:
    for name in sorted(EVERY):
        for labels in (np.arange(815), list(range(815)), np.zeros((4711, 3)), None):
            with pytest.raises(ValueError, match=r"y must be|y is required") as refusal:
                made(name).fit(np.zeros((4711, 2)), labels)
            assert "4711" not in str(refusal.value)
            assert "815" not in str(refusal.value)


def test_frames_sparse_matrices_and_pipelines_are_taken() -> None:
    from scipy import sparse
    from sklearn.base import clone
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    values, labels = rows()
    fitted = made("LogisticRegression").fit(sparse.csr_matrix(values), labels)
    assert fitted.score(sparse.csr_matrix(values), labels) > 0.9
    pipeline = make_pipeline(FunctionTransformer(np.sqrt), clone(made("GaussianNB"))).fit(values, labels)
    assert pipeline.score(values, labels) > 0.9
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(values, columns=["age", "one"])
    named = made("LinearSVC").fit(frame, labels)
    assert named.feature_names_in_.tolist() == ["age", "one"]
    again = type(named).from_json(named.to_json())
    assert (again.predict(frame) == named.predict(frame)).all()
    with pytest.raises(ValueError, match="feature names"):
        named.predict(frame[["one", "age"]])


def test_coefficients_are_those_of_the_columns() -> None:
    generator = np.random.default_rng()
    values = generator.uniform(-10, 10, size=(2000, 2))
    fitted = made("LinearRegression", rho=10**8).fit(values, 3 * values[:, 0] - values[:, 1] + 5)
    assert fitted.coef_ == pytest.approx([3, -1], abs=0.05)
    assert fitted.intercept_ == pytest.approx(5, abs=0.1)
    inside = values[:20] * 0.3
    assert fitted.predict(inside) == pytest.approx(inside @ fitted.coef_ + fitted.intercept_, abs=1e-6)


@pytest.mark.parametrize(
    ("bounds", "low", "high"),
    [
        ((0, 1), [0, 0, 0], [1, 1, 1]),
        (([0, 1, 2], [3, 4, 5]), [0, 1, 2], [3, 4, 5]),
        ([(0, 3), (1, 4), (2, 5)], [0, 1, 2], [3, 4, 5]),
        (np.array([[0, 3], [1, 4], [2, 5]]), [0, 1, 2], [3, 4, 5]),
        ((0, [1, 2, 3]), [0, 0, 0], [1, 2, 3]),
    ],
)
def test_bounds_are_taken_in_every_form(bounds: Any, low: list[int], high: list[int]) -> None:
    lower, upper = bounds_of(bounds, 3)
    assert (lower.tolist(), upper.tolist()) == (low, high)


def test_two_pairs_for_two_columns_are_a_pair_for_each() -> None:
    lower, upper = bounds_of([(0, 1), (2, 3)], 2)
    assert (lower.tolist(), upper.tolist()) == ([0, 2], [1, 3])


@pytest.mark.parametrize(
    "bounds", [[(0, 1)], None, 3, (1, 0), (0, float("inf")), ("a", "b"), [(0, 1)] * 4, (0, float("nan"))]
)
def test_bounds_that_are_none_are_refused(bounds: Any) -> None:
    with pytest.raises(InvalidParameter, match="bounds"):
        bounds_of(bounds, 3)


def test_scikit_learn_is_not_imported_before_it_is_needed() -> None:
    program = (
        "import sys, dither, dither.learn, dither.learn.linear, dither.learn.bayes\n"
        "from dither.mechanisms import registered\n"
        "assert 'gradient-descent' in registered() and 'sklearn' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)

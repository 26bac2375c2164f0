"""Noisy moments: what one row moves, beside slow twins, and what follows from them."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither import ROW, ROW_REPLACED, ApproxDP, Budget, PureDP
from dither.errors import BudgetExceeded, InvalidParameter
from dither.learn.decompose import NoisyMoments

BOUNDS: dict[str, Any] = {"lower": [-1.0, 0.0, 0.0], "upper": [1.0, 4.0, 10.0]}


class Silent:
    """Answers with the value itself, and remembers it."""

    def __call__(self, part: Any, value: Any, *, stability: Any = 1) -> Any:
        self.value, self.stability = np.array(value), stability
        return np.array(value)


def rows_of(count: int) -> np.ndarray:
    draw = np.random.default_rng()
    return np.column_stack([draw.uniform(-2, 2, count), draw.uniform(-1, 5, count), draw.normal(5, 5, count)])


@pytest.mark.parametrize("unit", [ROW, ROW_REPLACED])
@pytest.mark.parametrize("target", [PureDP(1), ApproxDP(1, "1e-6")])
def test_one_row_moves_the_matrix_by_its_stability_at_most(target, unit) -> None:
    learner = NoisyMoments.calibrated(target, **BOUNDS, unit=unit)
    assert learner.loss(1) <= target
    rows, run = rows_of(40), Silent()
    rows[0], rows[1] = [9, 9, 99], np.nan  # a corner, and the middle
    learner.release(rows, run)
    pure, farthest = isinstance(target, PureDP), 0.0
    for place in range(40):
        other = Silent()
        changed = np.delete(rows, place, axis=0) if unit == ROW else rows.copy()
        if unit == ROW_REPLACED:
            changed[place] = [-9, -9, 99]
        learner.release(changed, other)
        change = [int(entry) for entry in run.value - other.value]
        moved = sum(map(abs, change)) if pure else sum(entry**2 for entry in change)
        bound = run.stability if pure else run.stability**2
        assert moved <= bound
        farthest = max(farthest, float(Fraction(moved) / bound))
    assert farthest > 0.1


@pytest.mark.parametrize("columns", [1, 2, 4, 16])
@pytest.mark.parametrize("target", [PureDP(1), ApproxDP(1, "1e-6")])
def test_a_replaced_row_moves_the_matrix_as_far_as_said(target, columns: int) -> None:
    """Rows in pairs: at the ends of a matrix of signs, opposite, and at every angle."""
    learner = NoisyMoments.calibrated(target, lower=[-1] * columns, upper=[1] * columns, unit=ROW_REPLACED)
    signs = np.ones((columns, columns))
    signs[columns // 2 :, columns // 2 :] = -1
    vectors = np.linalg.eigh(signs)[1]
    pairs = [
        (vectors[:, 0], vectors[:, -1]),
        (np.ones(columns), -np.ones(columns)),
        (np.ones(columns), np.zeros(columns)),
    ]
    alternate = np.where(np.arange(columns) % 2, -1.0, 1.0)
    pairs += [
        (np.ones(columns), -math.cos(a) * np.ones(columns) + math.sin(a) * alternate) for a in np.linspace(0, 3, 40)
    ]
    pure, farthest = isinstance(target, PureDP), 0.0
    for first, second in pairs:
        seen = []
        for row in (first, second):
            run = Silent()
            learner.release(row[None] / max(float(np.abs(row).max()), 1e-9), run)
            seen.append(run)
        change = [int(entry) for entry in seen[0].value - seen[1].value]
        moved = sum(map(abs, change)) if pure else sum(entry**2 for entry in change)
        bound = seen[0].stability if pure else seen[0].stability ** 2
        assert moved <= bound
        farthest = max(farthest, float(Fraction(moved) / bound))
    assert farthest > (0.55 if pure else 0.8)
    alone = NoisyMoments.calibrated(target, lower=[-1] * columns, upper=[1] * columns)
    assert learner.stability < 2 * alone.stability


def test_without_noise_the_moments_are_those_of_a_slow_twin() -> None:
    draw = np.random.default_rng()
    rows = draw.multivariate_normal([0, 2, 5], [[0.02, 0.01, 0.0], [0.01, 0.08, 0.1], [0.0, 0.1, 0.5]], 500)
    model = NoisyMoments.calibrated(PureDP(1), **BOUNDS, reach=1).release(rows, Silent())
    lower, upper = np.array(BOUNDS["lower"]), np.array(BOUNDS["upper"])
    scaled = 2 * (np.clip(rows, lower, upper) - lower) / (upper - lower) - 1
    assert model.rows == 500
    # A number is off by a step of 1/1024 of the longest row.
    assert np.abs(model.mean.values - scaled.mean(axis=0)).max() < 3 * math.sqrt(3) / 1024
    assert np.abs(model.covariance.values - np.cov(scaled.T, bias=True)).max() < 6 * math.sqrt(3) / 1024
    components, variances = model.components(2)
    assert np.allclose(components @ components.T, np.eye(2))
    assert np.allclose(components @ model.covariance.values @ components.T, np.diag(variances), atol=1e-12)
    assert variances[0] >= variances[1] >= 0


def test_a_noisy_covariance_is_one() -> None:
    class Loud(Silent):
        def __call__(self, part: Any, value: Any, *, stability: Any = 1) -> Any:
            return np.array(value) + np.random.default_rng().integers(-(2**24), 2**24, np.shape(value))

    model = NoisyMoments.calibrated(PureDP(1), **BOUNDS).release(rows_of(5), Loud())
    assert np.linalg.eigvalsh(model.covariance.values).min() >= -1e-9
    assert np.isfinite(model.mean.values).all()


def test_estimators_fit_transform_and_save(tmp_path) -> None:
    pytest.importorskip("sklearn", reason="estimators need the extra 'ml'")
    import sklearn.decomposition
    from sklearn.base import clone

    from dither.learn.decompose.estimators import PCA, EmpiricalCovariance

    draw = np.random.default_rng()
    # No row comes near a bound, where it would be clipped.
    rows = draw.uniform(-2, 2, (5000, 1)) * [0.2, 0.1, -0.1] + draw.uniform(-0.02, 0.02, (5000, 3)) + 0.3
    model = clone(PCA(2, epsilon=100, bounds=(-1, 1))).fit(rows)
    truth = np.linalg.eigh(np.cov(rows.T))[1][:, -1]
    assert abs(model.components_[0] @ truth) > 0.98
    assert 0.8 < model.explained_variance_ratio_[0] <= 1
    assert np.abs(model.inverse_transform(model.transform(rows)) - rows).max() < 0.2
    again = PCA.load(model.save(tmp_path / "model.json"))
    assert (again.components_ == model.components_).all()
    # In the units of the data, whatever their bounds are, as scikit-learn has it.
    wide = rows * [1, 1000, 1]
    bounds = [(-1, 1), (-1000, 1000), (-1, 1)]
    ours, theirs = PCA(2, epsilon=10**6, bounds=bounds).fit(wide), sklearn.decomposition.PCA(2).fit(wide)
    assert ours.explained_variance_[0] == pytest.approx(theirs.explained_variance_[0], rel=1e-2)
    assert ours.explained_variance_ratio_[0] == pytest.approx(theirs.explained_variance_ratio_[0], rel=1e-2)
    assert abs(ours.components_[0] @ theirs.components_[0]) == pytest.approx(1, abs=1e-6)
    assert np.abs(ours.transform(wide)[:, 0]) == pytest.approx(np.abs(theirs.transform(wide)[:, 0]), abs=10)
    scaled = PCA(2, epsilon=10**6, bounds=bounds, scaled=True).fit(wide)
    assert abs(scaled.components_[0] @ truth) > 0.98
    assert scaled.inverse_transform(scaled.transform(wide)) == pytest.approx(wide, abs=200)
    found = EmpiricalCovariance(epsilon=100, bounds=(-1, 1)).fit(rows)
    assert np.abs(found.covariance_ - np.cov(rows.T)).max() < 0.02
    assert np.abs(found.location_ - 0.3).max() < 0.05
    odd = np.array([[np.nan, np.inf, -np.inf]])
    assert np.isfinite(PCA(1, epsilon=1, bounds=(-1, 1)).fit(odd).transform(odd)).all()
    assert PCA(1, epsilon=1, bounds=(-1, 1)).fit(odd[:0]).components_.shape == (1, 3)
    with pytest.raises(InvalidParameter, match="bounds"):
        PCA(1, epsilon=1).fit(rows)
    with pytest.raises(InvalidParameter, match="n_components"):
        PCA(9, epsilon=1, bounds=(-1, 1)).fit(rows)
    with pytest.raises(BudgetExceeded):
        PCA(1, epsilon=2, bounds=(-1, 1)).fit(rows, budget=Budget(epsilon=1, unit=ROW))

"""KMeans: scikit-learn's contract, declarations, saving."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="estimators need the extra 'ml'")

from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from dither import ROW, Budget
from dither.errors import BudgetExceeded, InvalidParameter
from dither.learn.clusters.estimators import GaussianMixture, KMeans, best_algorithm
from dither.privacy import ApproxDP, PureDP


def data_of(columns: int, count: int = 1500) -> np.ndarray:
    draw = np.random.default_rng()
    return np.where(draw.random((count, 1)) < 0.5, 0.2, 0.8) + draw.normal(0, 0.02, (count, columns))


@pytest.mark.parametrize(
    ("algorithm", "columns"), [("auto", 2), ("auto", 6), ("coreset", 2), ("lloyd", 2), ("blocks", 2), ("gene", 2)]
)
def test_fits_predicts_saves_and_reads_back(algorithm: str, columns: int, tmp_path) -> None:
    rows = data_of(columns)
    model = clone(KMeans(2, epsilon=50, bounds=(0, 1), algorithm=algorithm)).fit(rows)
    labels = model.predict(rows)
    right = (labels == (rows[:, 0] > 0.5)).mean()
    assert max(right, 1 - right) > 0.95
    assert model.transform(rows).shape == (len(rows), 2)
    assert (model.transform(rows).argmin(axis=1) == labels).all()
    again = KMeans.load(model.save(tmp_path / "model.json"))
    assert (again.predict(rows) == labels).all()
    assert (again.cluster_centers_ == model.cluster_centers_).all()
    assert make_pipeline(FunctionTransformer(), clone(model)).fit(rows).predict(rows).shape == labels.shape


@pytest.mark.parametrize("algorithm", ["coreset", "refined", "grid", "lloyd", "blocks", "gene"])
def test_odd_rows_have_a_meaning(algorithm: str) -> None:
    odd = np.array([[np.nan, np.inf], [-np.inf, 1e300]])
    for rows in (odd, odd[:0], np.zeros((20, 2))):  # fewer rows than clusters, none, all the same
        model = KMeans(3, epsilon=1, bounds=(0, 1), algorithm=algorithm).fit(rows)
        assert np.isfinite(model.cluster_centers_).all()
        assert ((model.cluster_centers_ >= 0) & (model.cluster_centers_ <= 1)).all()
        assert set(model.predict(odd)) <= {0, 1, 2}


def test_what_is_public_must_be_declared() -> None:
    rows = data_of(2, 20)
    with pytest.raises(InvalidParameter, match="bounds"):
        KMeans(2, epsilon=1).fit(rows)
    with pytest.raises(InvalidParameter, match="algorithm"):
        KMeans(2, epsilon=1, bounds=(0, 1), algorithm="best").fit(rows)
    with pytest.raises(NotFittedError):
        KMeans(2, epsilon=1, bounds=(0, 1)).predict(rows)
    with pytest.raises(BudgetExceeded):
        KMeans(2, epsilon=2, bounds=(0, 1)).fit(rows, budget=Budget(epsilon=1, unit=ROW))


def test_auto_follows_public_facts_alone() -> None:
    names = {
        (2, 5, PureDP(1)): "refined",
        (2, 50, PureDP(1)): "refined",
        (5, 5, ApproxDP(1, "1e-6")): "refined",
        (6, 5, ApproxDP(1, "1e-6")): "coreset",
        (6, 10, PureDP(1)): "refined",
        (7, 10, PureDP(1)): "coreset",
        (30, 2, PureDP(1)): "lloyd",
        (30, 2, PureDP(10)): "coreset",
        (30, 2, ApproxDP("0.1", "1e-6")): "lloyd",
        (30, 3, ApproxDP("0.1", "1e-6")): "coreset",
    }
    for (columns, clusters, target), algorithm in names.items():
        assert best_algorithm(target, columns, clusters) == algorithm
        delta = target.delta if isinstance(target, ApproxDP) else None
        model = KMeans(clusters, epsilon=target.epsilon, delta=delta, bounds=(0, 1))
        assert model.mechanism(columns).name == f"{algorithm}-clusters"
    assert KMeans(2, epsilon=1, bounds=(0, 1), zone="past").mechanism(2).name == "lloyd-clusters"
    assert KMeans(2, epsilon=1, bounds=(0, 1), objective="medians").mechanism(2).objective == "medians"
    with pytest.raises(InvalidParameter, match="objective"):
        KMeans(2, epsilon=1, bounds=(0, 1), objective="medians", algorithm="grid").mechanism(2)
    with pytest.raises(InvalidParameter, match="n_clusters"):
        KMeans(0, epsilon=1, bounds=(0, 1)).mechanism(2)


@pytest.mark.parametrize("covariance_type", ["full", "diag", "spherical"])
def test_a_mixture_fits_predicts_saves_and_reads_back(covariance_type: str, tmp_path) -> None:
    rows = data_of(3)
    model = clone(GaussianMixture(2, covariance_type=covariance_type, rho=20, bounds=(0, 1))).fit(rows)
    labels = model.predict(rows)
    right = (labels == (rows[:, 0] > 0.5)).mean()
    assert max(right, 1 - right) > 0.95
    shapes = {"full": (2, 3, 3), "diag": (2, 3), "spherical": (2,)}
    assert model.covariances_.shape == shapes[covariance_type]
    assert model.weights_.sum() == pytest.approx(1)
    assert model.predict_proba(rows).sum(axis=1) == pytest.approx(np.ones(len(rows)))
    assert model.score(rows) == pytest.approx(model.score_samples(rows).mean())
    again = GaussianMixture.load(model.save(tmp_path / "model.json"))
    assert (again.predict(rows) == labels).all()
    assert (again.means_ == model.means_).all()


def test_a_mixture_gives_odd_rows_a_meaning_and_refuses_what_is_not_declared() -> None:
    odd = np.array([[np.nan, np.inf], [-np.inf, 1e300]])
    for rows in (odd, odd[:0], np.zeros((20, 2))):
        model = GaussianMixture(3, rho=1, bounds=(0, 1)).fit(rows)
        assert np.isfinite(model.means_).all()
        assert np.isfinite(model.score_samples(odd)).all()
    with pytest.raises(InvalidParameter, match="bounds"):
        GaussianMixture(2, rho=1).fit(odd)
    with pytest.raises(InvalidParameter, match="covariance_type"):
        GaussianMixture(2, rho=1, bounds=(0, 1), covariance_type="tied").fit(odd)
    with pytest.raises(InvalidParameter, match="covariance_type"):
        GaussianMixture(2, epsilon=1, bounds=(0, 1)).fit(odd)

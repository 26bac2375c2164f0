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
from dither.learn.clusters.estimators import KMeans


def data_of(columns: int, count: int = 1500) -> np.ndarray:
    draw = np.random.default_rng()
    return np.where(draw.random((count, 1)) < 0.5, 0.2, 0.8) + draw.normal(0, 0.02, (count, columns))


@pytest.mark.parametrize(("solver", "columns"), [("auto", 2), ("auto", 6), ("lloyd", 2), ("blocks", 2)])
def test_fits_predicts_saves_and_reads_back(solver: str, columns: int, tmp_path) -> None:
    rows = data_of(columns)
    model = clone(KMeans(2, epsilon=50, bounds=(0, 1), solver=solver)).fit(rows)
    labels = model.predict(rows)
    right = (labels == (rows[:, 0] > 0.5)).mean()
    assert max(right, 1 - right) > 0.95
    assert model.transform(rows).shape == (len(rows), 2)
    assert (model.transform(rows).argmin(axis=1) == labels).all()
    again = KMeans.load(model.save(tmp_path / "model.json"))
    assert (again.predict(rows) == labels).all()
    assert (again.cluster_centers_ == model.cluster_centers_).all()
    assert make_pipeline(FunctionTransformer(), clone(model)).fit(rows).predict(rows).shape == labels.shape


@pytest.mark.parametrize("solver", ["grid", "lloyd", "blocks"])
def test_odd_rows_have_a_meaning(solver: str) -> None:
    odd = np.array([[np.nan, np.inf], [-np.inf, 1e300]])
    for rows in (odd, odd[:0], np.zeros((20, 2))):  # fewer rows than clusters, none, all the same
        model = KMeans(3, epsilon=1, bounds=(0, 1), solver=solver).fit(rows)
        assert np.isfinite(model.cluster_centers_).all()
        assert ((model.cluster_centers_ >= 0) & (model.cluster_centers_ <= 1)).all()
        assert set(model.predict(odd)) <= {0, 1, 2}


def test_what_is_public_must_be_declared() -> None:
    rows = data_of(2, 20)
    with pytest.raises(InvalidParameter, match="bounds"):
        KMeans(2, epsilon=1).fit(rows)
    with pytest.raises(InvalidParameter, match="solver"):
        KMeans(2, epsilon=1, bounds=(0, 1), solver="best").fit(rows)
    with pytest.raises(NotFittedError):
        KMeans(2, epsilon=1, bounds=(0, 1)).predict(rows)
    with pytest.raises(BudgetExceeded):
        KMeans(2, epsilon=2, bounds=(0, 1)).fit(rows, budget=Budget(epsilon=1, unit=ROW))

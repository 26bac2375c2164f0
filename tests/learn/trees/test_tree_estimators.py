"""Tree estimators: scikit-learn's contract, declarations, saving."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="estimators need the extra 'ml'")

from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from dither import ROW, Budget
from dither.errors import BudgetExceeded, InvalidParameter
from dither.learn.trees.estimators import DecisionTreeClassifier, GradientBoostingClassifier, RandomForestClassifier

KINDS = (GradientBoostingClassifier, RandomForestClassifier, DecisionTreeClassifier)


def data_of(count: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng()
    rows = np.column_stack([draw.uniform(0, 1, count), draw.integers(0, 3, count)])
    return rows, np.where(rows[:, 0] > 0.5, "yes", "no")


def declared(**more):
    return {"epsilon": 20, "bounds": [(0, 1), (0, 2)], "classes": ["no", "yes"], "categorical_features": [1], **more}


@pytest.mark.parametrize("kind", KINDS)
def test_fits_predicts_saves_and_reads_back(kind, tmp_path) -> None:
    rows, labels = data_of()
    model = clone(kind(**declared())).fit(rows, labels)
    assert (model.predict(rows) == labels).mean() > 0.9
    chances = model.predict_proba(rows)
    assert np.allclose(chances.sum(axis=1), 1)
    assert (chances.argmax(axis=1) == (model.decision_function(rows) > 0)).mean() > 0.99
    assert model.privacy_.loss.epsilon <= 20
    again = kind.load(model.save(tmp_path / "model.json"))
    assert (again.predict_proba(rows) == chances).all()
    assert again.privacy_ == model.privacy_


@pytest.mark.parametrize("kind", KINDS)
def test_odd_rows_have_a_meaning(kind) -> None:
    rows, labels = data_of(50)
    odd = np.array([[np.nan, np.nan], [np.inf, -np.inf], [1e300, 7]])
    labels = np.concatenate([labels, ["yes", "no", "another"]])
    model = kind(**declared()).fit(np.vstack([rows, odd]), labels)
    assert set(model.predict(odd)) <= {"no", "yes"}
    assert set(kind(**declared()).fit(rows, ["no"] * 50).predict(rows)) <= {"no", "yes"}  # one class
    assert kind(**declared()).fit(rows[:0], labels[:0]).predict(rows).shape == (50,)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_public_must_be_declared(kind) -> None:
    rows, labels = data_of(20)
    for missing in ("bounds", "classes"):
        with pytest.raises(InvalidParameter, match=missing):
            kind(**declared(**{missing: None})).fit(rows, labels)
    with pytest.raises(InvalidParameter, match="categorical"):
        kind(**declared(bounds=[(0, 1), (0, 1e6)])).fit(rows, labels)
    with pytest.raises(InvalidParameter, match="unit"):
        kind(**declared(unit="person")).fit(rows, labels)


def test_a_budget_is_charged() -> None:
    rows, labels = data_of(20)
    with pytest.raises(BudgetExceeded):
        GradientBoostingClassifier(**declared()).fit(rows, labels, budget=Budget(epsilon=1, unit=ROW))


def test_in_a_pipeline_and_by_other_criteria() -> None:
    rows, labels = data_of()
    line = make_pipeline(FunctionTransformer(), DecisionTreeClassifier(**declared(criterion="counts", prune=True)))
    assert (line.fit(rows, labels).predict(rows) == labels).mean() > 0.9
    with pytest.raises(InvalidParameter, match="criterion"):
        DecisionTreeClassifier(**declared(criterion="gain ratio")).fit(rows, labels)

"""Columns made ready: public by declaration, or private by a release; beside what NumPy finds."""

from __future__ import annotations

import copy
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dither import ROW, ROW_REPLACED, ApproxDP, PureDP
from dither.errors import InvalidParameter, InvalidValue
from dither.learn.preparing import ColumnCounts, ColumnCountsModel
from dither.mechanisms.core.public import PublicArray

pytest.importorskip("sklearn", reason="estimators need the extra 'ml'")

import dither.learn as learn

BOUNDS: dict[str, Any] = {"lower": [-1.0, 0.0, 0.0], "upper": [1.0, 4.0, 10.0]}


class Silent:
    """Answers with the value itself, and remembers it."""

    def __call__(self, part: Any, value: Any, *, stability: Any = 1) -> Any:
        self.value, self.stability = np.array(value), Fraction(stability)
        return np.array(value)


@pytest.mark.parametrize("unit", [ROW, ROW_REPLACED])
@pytest.mark.parametrize("target", [PureDP(1), ApproxDP(1, "1e-6")])
def test_one_row_moves_counts_by_their_stability_at_most(target: Any, unit: Any) -> None:
    learner = ColumnCounts.calibrated(target, **BOUNDS, cells=5, unit=unit)
    assert learner.loss(1) <= target
    rows, first = np.random.default_rng().uniform(-2, 11, (30, 3)), Silent()
    rows[0], rows[1] = np.nan, [np.inf, -np.inf, 1e308]
    learner.release(rows, first)
    assert (first.value.sum(axis=1) == 30).all()
    farthest = Fraction(0)
    for place in range(30):
        changed, other = np.delete(rows, place, axis=0) if unit == ROW else rows.copy(), Silent()
        if unit == ROW_REPLACED:
            changed[place] = [1, 0, 10]
        learner.release(changed, other)
        change = [int(entry) for entry in np.ravel(first.value - other.value)]
        pure = isinstance(target, PureDP)
        moved = Fraction(sum(map(abs, change)) if pure else sum(entry**2 for entry in change))
        bound = first.stability if pure else first.stability**2
        assert moved <= bound
        farthest = max(farthest, moved / bound)
    assert farthest > Fraction(1, 4)


def test_edges_are_quantiles_where_counts_are_exact() -> None:
    rows = np.linspace(0, 1, 4000)[:, None] ** 2
    model = ColumnCounts.calibrated(PureDP(1), lower=[0], upper=[1], cells=1000).release(rows, Silent())
    assert model.edges(4)[0] == pytest.approx([0, 1 / 16, 1 / 4, 9 / 16, 1], abs=2e-3)
    empty = ColumnCountsModel(PublicArray([0.0]), PublicArray([8.0]), PublicArray([[-1.0, -2.0, -3.0]]))
    assert empty.edges(4).tolist() == [[0, 2, 4, 6, 8]]
    gap = ColumnCountsModel(PublicArray([0.0]), PublicArray([4.0]), PublicArray([[5.0, 0.0, 0.0, 5.0]]))
    assert np.all(np.diff(gap.edges(3)[0]) > 0)


def rows_of(count: int = 3000) -> np.ndarray:
    draw = np.random.default_rng()
    # Within the bounds that are declared below: a clipped row would not come back from a scaler as it was.
    return np.column_stack([np.clip(draw.normal(3, 1, count), -4, 9), np.minimum(draw.exponential(1, count), 19)])


def test_a_standard_scaler_finds_means_and_deviations() -> None:
    rows = rows_of()
    scaler = learn.StandardScaler(rho=10**6, bounds=[(-5, 10), (0, 20)]).fit(rows)
    # Without noise to speak of, what is left is the grid: a thousandth of the longest row.
    assert scaler.mean_ == pytest.approx(rows.mean(axis=0), abs=0.1)
    assert scaler.scale_ == pytest.approx(rows.std(axis=0), abs=0.2)
    assert scaler.inverse_transform(scaler.transform(rows)) == pytest.approx(rows)
    assert scaler.transform([[np.nan, np.nan]]).tolist() == [[0, 0]]
    assert scaler.privacy_.mechanism == "noisy-moments"


def test_bins_hold_as_many_rows_each() -> None:
    rows = rows_of()
    binner = learn.QuantileBinner(4, rho=10**6, bounds=[(-5, 10), (0, 20)], cells=4096).fit(rows)
    for column in binner.transform(rows).T:
        assert np.bincount(column.astype(int), minlength=4) / 3000 == pytest.approx([0.25] * 4, abs=0.02)
    even = learn.UniformBinner(4, bounds=(0, 8)).fit(rows)
    assert even.transform([[-3.0, 99.0], [np.nan, 2.0]]).tolist() == [[0, 3], [2, 1]]
    assert even.privacy_.loss == PureDP(0)


def test_declared_transformers_look_at_no_row() -> None:
    for made in (
        learn.MinMaxScaler(bounds=(0, 1)),
        learn.UniformBinner(bounds=(0, 1)),
        learn.OneHotEncoder(categories=[[0, 1], ["x", "y"]]),
    ):
        here, there = made.fit(np.zeros((3, 2))), copy.deepcopy(made).fit(np.full((5, 2), np.nan))
        probe = np.array([[0.5, 1.0], [1.0, 0.0]])
        assert (here.transform(probe) == there.transform(probe)).all()
        assert "nothing charged" in str(here.privacy_)


def test_categories_are_declared_and_others_are_zeros() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"kind": ["a", "b", None, "z"], "code": [1, 2, 3, 1]})
    encoder = learn.OneHotEncoder(categories=[["a", "b"], [1, 2]]).fit(frame)
    assert encoder.transform(frame).tolist() == [[1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 0, 0], [0, 0, 1, 0]]
    assert encoder.get_feature_names_out().tolist() == ["kind_a", "kind_b", "code_1", "code_2"]
    with pytest.raises(InvalidValue, match="expecting 2 features"):
        encoder.transform(np.array([["a"]]))
    for bad in (None, [["a"]], [["a", "a"], [1]], [[], [1]], "ab"):
        with pytest.raises(InvalidParameter, match="categories"):
            learn.OneHotEncoder(categories=bad).fit(frame)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("MinMaxScaler", {"bounds": (0, 8)}),
        ("StandardScaler", {"bounds": (0, 8), "epsilon": 1}),
        ("QuantileBinner", {"bounds": (0, 8), "epsilon": 1}),
        ("UniformBinner", {"bounds": (0, 8)}),
        ("OneHotEncoder", {"categories": [[0, 1], [2, 3]]}),
    ],
)
def test_saved_and_read_back_they_do_the_same(name: str, parameters: dict[str, Any], tmp_path: Path) -> None:
    rows = np.array([[0.0, 2.0], [1.0, 3.0], [7.0, 9.0]])
    fitted = getattr(learn, name)(**parameters).fit(rows)
    again = learn.load_estimator(fitted.save(tmp_path / "model.json"))
    assert (again.transform(rows) == fitted.transform(rows)).all()
    assert again.privacy_ == fitted.privacy_
    with pytest.raises(InvalidParameter):
        getattr(learn, name)().fit(rows)


def test_they_stand_before_a_model_in_a_pipeline() -> None:
    from sklearn.pipeline import make_pipeline

    labels = np.arange(600) % 2
    rows = np.column_stack([labels * 4.0 + 2, np.ones(600)])
    binner = learn.UniformBinner(4, bounds=(0, 8))
    model = make_pipeline(binner, learn.LogisticRegression(rho=100, bounds=(0, 3), classes=[0, 1])).fit(rows, labels)
    assert model.score(rows, labels) == 1

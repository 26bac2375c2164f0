"""Columns declared by name: texts become numbers by declaration, and each cell is read by itself."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="estimators need the extra 'ml'")
pandas = pytest.importorskip("pandas", reason="frames need the extra 'frames'")

import dither.learn as learn  # noqa: E402
from dither.errors import InvalidParameter, InvalidValue  # noqa: E402
from dither.learn.base import PrivateEstimator  # noqa: E402
from dither.learn.encoding import encoding_of  # noqa: E402

BOUNDS = {"age": (0, 90)}
WARDS = {"ward": ["heart", "skin"]}
CELLS: list[Any] = ["heart", "skin", "eye", None, float("nan"), 7, ("heart",), b"heart", "", object()]
AGES: list[Any] = [0, 90, "45", "x", None, float("inf"), True]


def named(kind: str = "GaussianNB", **more: Any) -> Any:
    classes = {} if kind in ("KMeans", "Ridge") else {"classes": [0, 1]}
    return getattr(learn, kind)(**{"rho": 1, "bounds": BOUNDS, "categories": WARDS, **classes, **more})


def read(X: Any, kind: str = "GaussianNB") -> list[list[float]]:  # noqa: N803
    _, rows = named(kind).prepare(X, np.zeros(len(X)))
    return [list(map(float, row)) for row in rows[:, :-1]]


def test_each_row_becomes_what_it_becomes_alone_in_every_container() -> None:
    """All pairs of an age and a ward, all at once and one by one, as lists, records, arrays and frames."""
    pairs = list(itertools.product(AGES, CELLS))
    together = read([list(pair) for pair in pairs])
    for pair, found in zip(pairs, together, strict=True):
        np.testing.assert_array_equal(read([list(pair)]), [found])
        np.testing.assert_array_equal(found[1:], [pair[1] == "heart", pair[1] == "skin"])
    records = [{"ward": ward, "age": age, "other": 1} for age, ward in pairs]
    array = np.empty((len(pairs), 2), dtype=object)
    array[:, 0], array[:, 1] = [age for age, _ in pairs], [None] * len(pairs)
    for place, (_, ward) in enumerate(pairs):
        array[place, 1] = ward
    for X in (records, array, pandas.DataFrame(records, dtype=object)):  # noqa: N806
        np.testing.assert_array_equal(read(X), together)


def test_a_frame_is_read_by_names_whatever_its_order_and_its_further_columns() -> None:
    arrow, polars = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    columns = {"ward": ["skin", None, "eye"], "note": ["a", "b", "c"], "age": [1.0, 2.0, 3.0]}
    table = arrow.table(columns)
    category = pandas.DataFrame(columns).astype({"ward": "category"})
    frames = [pandas.DataFrame(columns), category, table, table.to_batches()[0], polars.DataFrame(columns)]
    for frame in frames:
        np.testing.assert_array_equal(read(frame), [[1, 0, 1], [2, 0, 0], [3, 0, 0]])
    for lacking in (pandas.DataFrame({"age": [1.0]}), polars.DataFrame({"ward": ["skin"]})):
        with pytest.raises(InvalidValue, match="each declared column once"):
            read(lacking)
    with pytest.raises(InvalidValue, match="2 columns wide, as declared: age, ward"):
        read(np.zeros((4, 3)))


def test_types_of_categories_ask_for_a_declaration_and_types_that_readers_guess_do_not() -> None:
    """One text in a file of numbers makes a reader call the column texts: a refusal would tell of that cell."""
    polars = pytest.importorskip("polars")
    plain = learn.GaussianNB(rho=1, bounds=[(0, 1)], classes=[0, 1])
    chosen = pandas.DataFrame({"ward": ["heart", "skin"]}, dtype="category")
    for frame in (chosen, polars.DataFrame({"ward": ["heart", "skin"]}, schema={"ward": polars.Categorical})):
        with pytest.raises(InvalidValue, match=r"'ward' is of a type of categories: declare them by name, categories="):
            plain.prepare(frame, [0, 1])
    _, rows = plain.prepare(pandas.DataFrame({"dose": ["0.5", "x"]}), [0, 1])
    np.testing.assert_array_equal(rows[:, 0], [0.5, np.nan])
    numbers = pandas.DataFrame({"dose": [0, 1]}, dtype="category")
    np.testing.assert_array_equal(plain.prepare(numbers, [0, 1])[1][:, 0], [0, 1])


@pytest.mark.parametrize("kind", ["GradientBoostingClassifier", "RandomForestClassifier", "DecisionTreeClassifier"])
def test_trees_have_a_cell_for_each_category_and_one_for_all_else(kind: str) -> None:
    assert read([[3, "heart"], [3, "skin"], [3, "eye"], [3, None]], kind) == [[3, 0], [3, 1], [3, 2], [3, 2]]
    mechanism = named(kind).mechanism(2)
    assert mechanism.bins.values.tolist()[1] == 3
    assert mechanism.unordered.values.tolist() == [0, 1]
    with pytest.raises(InvalidParameter, match="categorical_features is not allowed"):
        named(kind, categorical_features=[1]).mechanism(2)


def test_naive_bayes_on_categories_takes_their_names() -> None:
    made = learn.CategoricalNB(epsilon=9, categories=WARDS, classes=["a", "b"])
    fitted = made.fit([{"ward": "heart"}] * 400 + [{"ward": "skin"}] * 400, ["a"] * 400 + ["b"] * 400)
    assert fitted.predict([["heart"], ["skin"]]).tolist() == ["a", "b"]
    chances = fitted.predict_proba([["eye"], [None]])
    np.testing.assert_allclose(chances[0], fitted.class_prior_)  # what is none of them tells nothing
    np.testing.assert_allclose(chances[0], chances[1])


TAKING = sorted(
    name
    for name in learn.ESTIMATORS
    if issubclass(getattr(learn, name), PrivateEstimator)
    and {"bounds", "categories"} <= set(getattr(learn, name)().get_params(deep=False))
)


@pytest.mark.parametrize("kind", TAKING)
def test_every_estimator_learns_from_declared_texts_and_is_read_back(kind: str) -> None:
    known = getattr(learn, kind)().get_params(deep=False)
    given: dict[str, Any] = {"rho": 20, "bounds": BOUNDS, "categories": WARDS}
    given |= {"classes": ["ill", "well"]} if "classes" in known else {}
    given |= {"target_bounds": (0, 1)} if "target_bounds" in known else {}
    rows = pandas.DataFrame({"ward": ["heart", "skin"] * 300, "age": [40.0, 41.0] * 300})
    labels = [0.0, 1.0] * 300 if "target_bounds" in known else ["ill", "well"] * 300
    fitted = getattr(learn, kind)(**given).fit(rows, labels)
    assert fitted.n_features_in_ == 2
    assert fitted.feature_names_in_.tolist() == ["age", "ward"]
    again = type(fitted).from_json(fitted.to_json())
    asked = [{"ward": "heart", "age": 40}, {"ward": "eye"}, {}, [41, "skin"]]
    assert again.predict(asked).tolist() == fitted.predict(asked).tolist()
    assert "budget" not in json.loads(fitted.to_json())["parameters"]


def test_a_declaration_that_contradicts_itself_is_refused_under_its_name() -> None:
    for bounds, categories, said in (
        ([(0, 1)], WARDS, "bounds must be by name"),
        (BOUNDS, 3, "categories must be by name"),
        ({}, {}, "bounds must be declared for one column"),
        (BOUNDS, {"age": [1]}, "categories must be columns that have no bounds"),
        ({"age": (1, 0)}, None, "bounds must be a pair"),
        ({"age": 3}, None, "bounds must be a pair"),
        ({"age": (0, float("inf"))}, None, "bounds must be a pair"),
        ({1: (0, 1)}, None, "bounds must be declared by the names"),
        (None, {"ward": "heart"}, "categories must be a list"),
        (None, {"ward": []}, "categories must be a list"),
        (None, {"ward": [1, True]}, "categories must be a list"),
        (None, {"ward": [None]}, "categories must be a list"),
    ):
        with pytest.raises(InvalidParameter, match=said):
            encoding_of(bounds, categories)
    with pytest.raises(InvalidParameter, match=r"bounds must be with categories, for each of 3 columns"):
        named().mechanism(3)


def test_bad_places_of_categories_are_refused_under_their_own_name() -> None:
    for kind in ("GradientBoostingClassifier", "RandomForestClassifier", "DecisionTreeClassifier"):
        bounds = {"rho": 1, "bounds": [(0, 3)] * 2, "classes": [0, 1], "categories": None}
        for bad in ([7], ["x"], 2.5e300):
            with pytest.raises(InvalidParameter, match="categorical_features must be places of columns"):
                getattr(learn, kind)(**bounds, categorical_features=bad).mechanism(2)
        with pytest.raises(InvalidParameter, match="n_bins must be cells"):
            getattr(learn, kind)(**bounds, n_bins=[1, 2, 3]).mechanism(2)


def test_a_search_reads_rows_as_the_estimator_that_it_tunes() -> None:
    tuned = learn.LogisticRegression(bounds=BOUNDS, categories=WARDS, classes=[0, 1])
    search = learn.PrivateSearch(tuned, {"max_iter": [1, 8]}, epsilon=20, delta="1e-6")
    rows = [{"ward": "heart", "age": 3}, {"ward": "skin", "age": 3}] * 500
    assert search.fit(rows, [0, 1] * 500).predict(rows[:2]).tolist() == [0, 1]

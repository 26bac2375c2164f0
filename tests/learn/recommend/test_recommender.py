"""The recommender from the caller's side: tables of any kind, what it says to one person, files."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dither.errors import BudgetExceeded, InvalidParameter, InvalidValue
from dither.learn import load_estimator
from dither.mechanisms.core.release import Budget
from dither.privacy import ROW

pytest.importorskip("sklearn", reason="estimators need the extra 'ml'")

from dither.learn.recommend.recommender import Recommender

FILMS = ["Alien", "Brazil", "Casablanca", "Dune"]
#: With next to no noise.
LOSS: dict[str, Any] = {"epsilon": 10**9, "delta": "1e-9"}
ROWS = [(who, FILMS[(who + n) % 3], 5 - 2 * ((who + n) % 3)) for who in range(300) for n in range(2)]


def shop(**more: Any) -> Recommender:
    return Recommender(**{**LOSS, "bounds": (1, 5), "items": FILMS, **more})


@pytest.fixture(scope="module")
def fitted() -> Recommender:
    return shop().fit(ROWS)


def test_recommendations_are_new_and_best_first(fitted: Recommender) -> None:
    assert fitted.recommend({}, 3)[0] == "Alien"
    assert fitted.recommend({"Alien": 5}, 9)[0] in ("Brazil", "Dune")
    assert "Alien" not in fitted.recommend({"Alien": 5}, 9)
    assert fitted.recommend(dict.fromkeys(FILMS, 3)) == []
    assert set(fitted.recommend({}, 3, order="popularity")) == set(FILMS[:3])
    assert fitted.predict({}, ["Alien", "Casablanca"]).tolist() == pytest.approx([5, 1], abs=0.3)


def test_a_persons_own_ratings_move_what_is_expected_and_nothing_else_does(fitted: Recommender) -> None:
    plain, kind = fitted.predict({}), fitted.predict({"Brazil": 5, "Casablanca": 3})
    assert (kind >= plain).all()
    assert kind[1] > plain[1]
    odd: dict[Any, Any] = {"Brazil": float("nan"), "Dune": "x"}
    assert fitted.predict(odd).tolist() == plain.tolist()
    assert fitted.predict({"Brazil": 1e9}).tolist() == fitted.predict({"Brazil": 5}).tolist()
    assert fitted.predict({}, ["Nosferatu"])[0] == np.median(plain)
    assert fitted.predict({}).tolist() == plain.tolist()


def test_an_own_rating_of_no_item_of_the_catalogue_is_named(fitted: Recommender) -> None:
    for odd in ("Nosferatu", None, 7, (1, 2)):
        with pytest.raises(InvalidParameter, match="items of the catalogue, which are strings") as refused:
            fitted.recommend({"Brazil": 5, odd: 5}, 3)
        assert repr(odd) in str(refused.value)


def test_a_string_is_the_integer_that_it_spells() -> None:
    numbered = Recommender(**LOSS, bounds=(1, 5), items=[10, 50]).fit([(who, 50, 5) for who in range(99)])
    assert numbered.recommend({}, 1) == [50]
    assert numbered.recommend({"50": 5}, 3) == numbered.recommend({50: 5}, 3) == [10]
    with pytest.raises(InvalidParameter, match="which are integers, got '51'"):
        numbered.recommend({"51": 5}, 3)


def test_similar_items_share_attributes() -> None:
    found = shop(attributes=[[1, 0], [0, 1], [1, 0], [0, 1]]).fit(ROWS)
    assert found.similar("Alien", 1) == ["Casablanca"]
    assert found.similar("Dune", 1) == ["Brazil"]
    assert len(found.similar("Dune", 99)) == 3
    with pytest.raises(InvalidParameter, match="an item of the catalogue"):
        found.similar("Nosferatu")


def counts_of(ratings: Any, **more: Any) -> list[float]:
    return [abs(round(one, 1)) for one in shop().fit(ratings, **more).model_.counts.values.tolist()]  # type: ignore[attr-defined]


def test_containers_of_one_content_give_one_model() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(ROWS, columns=["person", "item", "value"])
    assert counts_of(frame) == counts_of(ROWS) == counts_of(np.array(ROWS, dtype=object))
    assert counts_of(frame.rename(columns={"item": "film"}), columns=("person", "film", "value")) == counts_of(ROWS)


def test_rows_that_are_no_ratings_do_not_count() -> None:
    odd = [(None, "Alien", 5), (1.5, "Alien", 5), ("Ann", "Nosferatu", 5), ("Ann", None, 5), 7, (), ("Ann",)]
    assert counts_of([*ROWS, *odd]) == counts_of(ROWS)
    # One person and one item: one rating, the last by time.
    twice = [("Ann", "Alien", 5, 1), ("Ann", "Alien", 1, 2), ("Ann", "Alien", 3, None)]
    found = shop().fit(twice, columns=("person", "item", "value", "at")).model_
    assert found.popularity[0] == pytest.approx(1, abs=1e-3)
    assert found.sums.values[0] == pytest.approx(-1, abs=1e-3)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("items", [], "public catalogue"),
        ("items", ["a", "a"], "public catalogue"),
        ("items", 0, "items"),
        ("items", None, "public catalogue"),
        ("bounds", None, "declared"),
        ("bounds", (5, 1), "lower below the upper"),
        ("attributes", [[1]], "a row for each of 4 items"),
        ("attributes", [[float("nan")]] * 4, "finite numbers"),
        ("unit", "row", "person"),
        ("reach", 0, "reach"),
        ("epsilon", None, "epsilon is required"),
    ],
)
def test_wrong_parameters_are_refused_before_anything_is_charged(name: str, value: Any, rule: str) -> None:
    budget = Budget(epsilon=1, delta="1e-6", unit=ROW)
    with pytest.raises(Exception, match=rule):
        shop(**{name: value, **({"delta": None} if name == "epsilon" else {})}).fit(ROWS, budget=budget)
    assert not budget.spent.rho


def test_tables_that_are_no_ratings_are_refused_by_their_shape() -> None:
    for wrong in (np.zeros((3, 2)), None, "ratings", 3):
        with pytest.raises(InvalidValue):
            shop().fit(wrong)
    with pytest.raises(InvalidParameter, match="person, item and value"):
        shop().fit(ROWS, columns=("person", "item"))


def test_a_budget_is_charged_and_refuses() -> None:
    budget = Budget(epsilon=1, delta="1e-6", unit=ROW)
    small = shop(epsilon=1, delta="1e-6", budget=budget)
    told = small.fit(ROWS).privacy_
    assert "all ratings of one person" in told.unit
    with pytest.raises(BudgetExceeded):
        small.fit(ROWS)


def test_a_saved_model_says_the_same_and_holds_no_ratings(fitted: Recommender, tmp_path: Any) -> None:
    path = fitted.save(tmp_path / "model.json")
    again = load_estimator(path)
    assert isinstance(again, Recommender)
    assert again.predict({"Brazil": 2}).tolist() == fitted.predict({"Brazil": 2}).tolist()
    assert again.recommend({"Brazil": 2}) == fitted.recommend({"Brazil": 2})
    assert again.privacy_ == fitted.privacy_
    text = path.read_text()
    for broken in (
        text.replace('"Dune"', '"Alien"'),
        text.replace('"reach"', '"reech"'),
        text.replace("item-means", "x"),
    ):
        with pytest.raises(InvalidParameter):
            Recommender.from_json(broken)


def test_auto_chooses_by_public_facts() -> None:
    def chosen(**more: Any) -> str:
        return str(Recommender(**{"bounds": (-10, 10), "items": 100, "delta": "1e-5", **more}).mechanism().name)

    assert chosen(epsilon=1) == "item-means"
    assert chosen(epsilon=1, people=5000) == "item-covariance"
    assert chosen(epsilon=1, people=500) == "item-means"
    assert chosen(epsilon=20, people=943, items=1682) == "item-covariance"
    assert chosen(epsilon=5, people=943, items=1682) == "item-means"
    assert chosen(epsilon=9, people=10**9, items=4000) == "item-means"
    assert chosen(epsilon=9, people=10**9, delta=None) == "item-means"
    assert chosen(epsilon=1, method="covariance") == "item-covariance"
    for wrong in ({"method": "best"}, {"people": 0}):
        with pytest.raises(InvalidParameter):
            chosen(epsilon=1, **wrong)


def test_a_covariance_is_saved_and_tells_tastes_apart(tmp_path: Any) -> None:
    both = [(who, item, 5 if (who + item) % 2 else 1) for who in range(400) for item in range(4)]
    found = Recommender(**LOSS, bounds=(1, 5), items=5, method="covariance").fit(both)
    assert found.recommend({1: 5, 0: 1}, 1) == [3]
    assert found.recommend({1: 1, 0: 5}, 1) == [2]
    assert found.similar(0, 1) == [2]
    again = load_estimator(found.save(tmp_path / "model.json"))
    assert again.predict({1: 5}).tolist() == found.predict({1: 5}).tolist()

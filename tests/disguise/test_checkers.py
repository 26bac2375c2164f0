"""Every checker agrees with its definition, counted class by class, and with the tables of the Adelaide thesis."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither.disguise import (
    Hierarchy,
    alpha_k,
    beta_likeness,
    delta_disclosure,
    k_anonymity,
    km_anonymity,
    l_diversity,
    presence,
    risk_of,
    t_closeness,
)
from dither.disguise import classes as grouping
from dither.disguise.table import Table
from dither.errors import InvalidParameter
from tools.bench import anonymity as slow

QUASI = ("a", "b")
TREE = {value: (f"g{value // 2}", f"h{value // 4}", "*") for value in range(8)}


def drawn() -> slow.Columns:
    numbers = np.random.default_rng()
    rows = int(numbers.integers(1, 40))
    most = {"a": numbers.integers(1, 4), "b": numbers.integers(1, 4), "s": numbers.integers(1, 7)}
    return {name: numbers.integers(0, top, rows).tolist() for name, top in most.items()}


@pytest.mark.parametrize("number", range(12))
def test_checkers_agree_with_their_definitions(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # Some tables are counted a few classes at a time, as large ones are.
    monkeypatch.setattr(grouping, "_MOST_CELLS", 1 << 22 if number % 2 else 8)
    table = drawn()
    seen, whole = slow.in_classes(table, QUASI, "s"), Counter(table["s"])
    assert k_anonymity(table, QUASI) == min(one.total() for one in seen)
    assert l_diversity(table, QUASI, "s") == min(map(slow.distinct, seen))
    assert l_diversity(table, QUASI, "s", diversity="entropy") == pytest.approx(min(map(slow.entropy, seen)))
    for c in (0.5, 1, 3):
        least = min(slow.recursive(one, c) for one in seen)
        assert l_diversity(table, QUASI, "s", diversity="recursive", c=c) == least
    alpha, k = alpha_k(table, QUASI, "s")
    assert alpha == pytest.approx(max(max(one.values()) / one.total() for one in seen))
    assert k == min(one.total() for one in seen)
    gains = [gain for one in seen for gain in slow.gains(one, whole)]
    assert beta_likeness(table, QUASI, "s") == pytest.approx(max(*gains, 1) - 1)
    (guess,) = risk_of(Table.of(table), QUASI, ("s",)).guesses
    assert guess.gain == pytest.approx(max(gains))
    assert guess.right == sum(max(one.values()) for one in seen) / len(table["s"])
    assert guess.certain == sum(one.total() for one in seen if len(one) == 1) / len(table["s"])
    assert guess.distinct == min(map(slow.distinct, seen))
    assert guess.entropy == pytest.approx(min(map(slow.entropy, seen)))
    assert guess.closeness == pytest.approx(t_closeness(table, QUASI, "s"))
    logs = [abs(math.log(gain)) if gain else math.inf for gain in gains]
    assert delta_disclosure(table, QUASI, "s") == pytest.approx(max(logs))


@pytest.mark.parametrize("number", range(4))
def test_distances_are_the_least_work_of_moving_earth(number: int) -> None:
    del number
    table = drawn()
    seen, whole = slow.in_classes(table, QUASI, "s"), Counter(table["s"])
    places = {value: place for place, value in enumerate(sorted(whole))}
    tree = Hierarchy({str(value): labels for value, labels in TREE.items()})
    gaps = max(len(places) - 1, 1)
    distances: dict[Any, Any] = {
        "equal": lambda one, other: float(one != other),
        "ordered": lambda one, other: abs(places[one] - places[other]) / gaps,
        "hierarchical": slow.tree_distance(TREE),
    }
    for name, distance in distances.items():
        most = max(slow.moved(one, whole, distance) for one in seen)
        assert t_closeness(table, QUASI, "s", distance=name, tree=tree) == pytest.approx(most, abs=1e-6)


def test_presence_and_risk_are_counted_against_a_population() -> None:
    everybody = {"a": [1, 1, 1, 1, 2, 2, 3], "b": [1] * 7}
    table = {"a": [1, 1, 2], "b": [1] * 3, "s": ["x", "y", "x"]}
    found = presence(table, everybody, QUASI)
    assert (found.k, found.least, found.most) == (2, 0.0, 0.5)
    risk = risk_of(Table.of(table), QUASI, ("s",), Table.of(everybody))
    assert (risk.prosecutor, risk.journalist, risk.marketer, risk.uniques) == (1.0, 0.5, 2 / 3, 1)
    assert risk.by_size == ((1, 1), (2, 2))
    (guess,) = risk.guesses
    assert (guess.right, guess.blind, guess.certain) == (2 / 3, 2 / 3, 1 / 3)
    assert (guess.gain, guess.distinct, guess.entropy) == (pytest.approx(1.5), 1, pytest.approx(1))
    assert guess.closeness == pytest.approx(1 / 3)
    with pytest.raises(InvalidParameter, match="4"):
        presence({"a": [4], "b": [1]}, everybody, QUASI)


def test_wildcards_fit_whatever_both_have() -> None:
    numbers = np.random.default_rng()
    for _ in range(6):
        table = {name: numbers.choice(np.array([None, 1, 2], dtype=object), 15).tolist() for name in "abc"}
        rows = list(zip(*table.values(), strict=True))

        def fits(one: Any, other: Any) -> bool:
            return all(a is None or b is None or a == b for a, b in zip(one, other, strict=True))

        least = min(sum(fits(one, other) for other in rows) for one in rows)
        assert k_anonymity(table, list("abc"), missing="wildcard") == least
        assert k_anonymity(table, list("abc")) <= least
    with pytest.raises(InvalidParameter, match="own or wildcard"):
        k_anonymity(table, ["a"], missing="none")  # type: ignore[arg-type]


def test_baskets_are_counted_by_all_combinations() -> None:
    baskets = [{"a", "b", "c"}, {"a", "b"}, {"b", "c"}, {"a", "b", "c"}, {"d"}, {"d"}]
    assert [km_anonymity(baskets, m) for m in (1, 2, 3)] == [2, 2, 2]
    # A pair that one basket alone has, of items that many have.
    assert km_anonymity([*baskets, {"a", "d"}], 1) == 3
    assert km_anonymity([*baskets, {"a", "d"}], 2) == 1
    assert km_anonymity([], 2) == 0


#: Tables 2.2 b, 2.3 b and 2.4 b: the class and the disease of each row, as printed.
FOUR_ANONYMOUS = {
    "postcode": ["12**"] * 4 + ["13**"] * 4,
    "age": ["> 50"] * 4 + ["< 30"] * 4,
    "ethnicity": ["*"] * 8,
    "disease": ["Heart", "Flu", "Flu", "Heart", "HIV", "HIV", "HIV", "HIV"],
}
THREE_DIVERSE = {
    "postcode": ["1***"] * 8,
    "age": ["(20, 60)"] * 4 + ["(0, 20) or (60, 90)"] * 4,
    "ethnicity": ["Asian"] * 4 + ["Non-Asian"] * 4,
    "disease": ["Heart", "Flu", "HIV", "HIV", "HIV", "Flu", "Heart", "HIV"],
}
CLOSE = {
    "postcode": ["4767*"] * 3 + ["4790*"] * 3 + ["4760*"] * 3,
    "age": ["< 40"] * 3 + ["> 40"] * 3 + ["< 40"] * 3,
    "disease": [
        *("Gastric ulcer", "Pneumonia", "Stomach cancer"),
        *("Gastritis", "Flu", "Bronchitis"),
        *("Bronchitis", "Gastritis", "Stomach cancer"),
    ],
}
STOMACH, LUNGS = ["Gastric ulcer", "Gastritis", "Stomach cancer"], ["Flu", "Bronchitis", "Pneumonia"]


def test_the_printed_tables_are_what_they_are_said_to_be() -> None:
    three = ("postcode", "age", "ethnicity")
    assert k_anonymity(FOUR_ANONYMOUS, three) == 4
    assert l_diversity(FOUR_ANONYMOUS, three, "disease") == 1
    # At most, and not at least, 1/k; and half of the rows are certain all the same.
    risk = risk_of(Table.of(FOUR_ANONYMOUS), three, ("disease",))
    assert (risk.prosecutor, risk.guesses[0].certain) == (1 / 4, 1 / 2)
    assert k_anonymity(THREE_DIVERSE, three) == 4
    assert l_diversity(THREE_DIVERSE, three, "disease") == 3
    two = ("postcode", "age")
    assert k_anonymity(CLOSE, two) == 3
    assert l_diversity(CLOSE, two, "disease") == 3


def test_the_printed_closeness_needs_a_distance() -> None:
    """0.278 is 5/18: neither the equal distance nor a tree of three levels; one of four levels gives it."""
    two = ("postcode", "age")
    assert t_closeness(CLOSE, two, "disease") == pytest.approx(float(Fraction(5, 9)))
    three = Hierarchy.tree({"digestive": {"stomach": STOMACH}, "respiratory": {"infection": LUNGS}})
    assert t_closeness(CLOSE, two, "disease", distance="hierarchical", tree=three) == pytest.approx(8 / 27)
    four = Hierarchy.tree(
        {"digestive": {"organs": {"stomach": STOMACH}}, "respiratory": {"organs of breath": {"infection": LUNGS}}}
    )
    found = t_closeness(CLOSE, two, "disease", distance="hierarchical", tree=four)
    assert found == pytest.approx(float(Fraction(5, 18)))
    assert round(found, 3) == 0.278


def test_what_cannot_be_checked_is_refused() -> None:
    table = {"a": [1], "b": [2], "s": [3]}
    with pytest.raises(InvalidParameter, match="quasi"):
        k_anonymity(table, [])
    with pytest.raises(InvalidParameter, match="one of a, b, s"):
        k_anonymity(table, ["z"])
    with pytest.raises(InvalidParameter, match="no quasi-identifier"):
        l_diversity(table, ["a"], "a")
    with pytest.raises(InvalidParameter, match="hierarchy"):
        t_closeness(table, ["a"], "s", distance="hierarchical")
    with pytest.raises(InvalidParameter, match="one or more rows"):
        risk_of(Table.of({"a": []}), ["a"])
    with pytest.raises(InvalidParameter, match="one or more rows"):
        l_diversity({"a": [], "s": []}, ["a"], "s")

"""The attacks on a table that is there, against definitions written out, and beside a private table of its rows."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dither.attack.learned import classified, definetti, foreground, freeform
from dither.attack.registry import attacks
from dither.attack.tables import (
    View,
    attacks_on,
    background,
    homogeneity,
    intersection,
    linkage,
    minimality,
    similarity,
    skewness,
)
from dither.cli.disclosure import EPSILON, disclosed, of_disguise, of_table, refuses
from dither.disguise import Mondrian, Roles, Rules, Table
from dither.disguise.classes import classes_of
from dither.disguise.mondrian import refused_cuts
from dither.disguise.report import write_disguised, write_risk
from dither.errors import InvalidParameter

GENERATOR = np.random.default_rng()


def people(rows: int = 60, values: int = 4) -> dict[str, list[Any]]:
    return {
        "age": GENERATOR.integers(20, 40, rows).tolist(),
        "zip": [f"z{one}" for one in GENERATOR.integers(0, 4, rows)],
        "ill": [f"v{one}" for one in GENERATOR.integers(0, values, rows)],
    }


def codes(*numbers: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.array(numbers, dtype=np.int64)


def test_linkage_draws_one_of_the_rows_that_fit() -> None:
    kinds, values = GENERATOR.integers(0, 5, 30), GENERATOR.integers(0, 3, 30)
    kinds[:5] = np.arange(5)
    found = linkage(View.of_classes(kinds, values, 3), values)
    right = Fraction(0)
    for kind, value in zip(kinds.tolist(), values.tolist(), strict=True):
        fits = [other for one, other in zip(kinds.tolist(), values.tolist(), strict=True) if one == kind]
        right += Fraction(fits.count(value), len(fits))
    assert found.share == pytest.approx(float(right / 30), abs=1e-12)
    assert found.chance == pytest.approx(sum((count / 30) ** 2 for count in Counter(values.tolist()).values()))


def test_a_class_of_one_value_is_certain() -> None:
    # 20 people: a class of two with one value, and one of eighteen with two values in halves.
    kinds = codes(*[0] * 2, *[1] * 18)
    values = codes(0, 0, *[0, 1] * 9)
    found = homogeneity(View.of_classes(kinds, values, 2), values)
    assert (found.share, found.n, found.chance) == (1, 2, 11 / 20)


def test_ruled_out_values_leave_the_own_one() -> None:
    # Of three values one is struck, so that two are left: the most frequent one that the target does not have.
    kinds, values = codes(0, 0, 0, 1, 1, 1), codes(0, 1, 2, 0, 1, 1)
    found = background(View.of_classes(kinds, values, 3), values)
    # Value 1 is the most frequent: it is struck for 0 and 2, and 0 for 1. Class 0 leaves 0 or 2 to the first (0 is more
    # frequent), 0 or 2 to the third (wrong), 1 or 2 to the second; class 1 leaves the own value to all three.
    assert found.share == 5 / 6
    assert found.chance == 5 / 6
    certain = codes(0, 1, 2, 3)
    assert background(View.of_classes(certain, certain, 4), certain).share == 1


def test_a_rare_value_is_named_where_it_is_frequent() -> None:
    kinds = codes(*[0] * 4, *[1] * 96)
    values = codes(1, 1, 1, 0, *[0] * 96)
    found = skewness(View.of_classes(kinds, values, 2), values)
    # Three people have it; three of the class in which it is frequent are named, of whom two or three have it.
    assert found.n == 3
    assert found.share in (2 / 3, 1)
    assert found.chance == 3 / 100


def test_different_values_of_one_kind_tell_the_kind() -> None:
    kinds = codes(0, 0, 1, 1, 2, 2)
    values = codes(0, 1, 2, 3, 0, 2)
    found = similarity(View.of_classes(kinds, values, 4), values, codes(0, 0, 1, 1))
    assert (found.share, found.n) == (1, 1)


def test_two_classes_leave_what_both_hold() -> None:
    values = codes(0, 1, 2, 3)
    first, second = (View.of_classes(kinds, values, 4) for kinds in (codes(0, 0, 1, 1), codes(0, 1, 0, 1)))
    found = intersection(first, second, values)
    assert (found.share, found.chance) == (1, 0.5)
    with pytest.raises(InvalidParameter, match="same order"):
        intersection(first, View.of_classes(codes(0), codes(0), 4), values)


def test_nothing_said_is_told_as_chance() -> None:
    view = View(codes(0, 0, 0, 0), np.zeros((1, 2)))
    assert linkage(view, codes(0, 1, 1, 1)).share == 0.5
    with pytest.raises(InvalidParameter, match="classes"):
        View.of_classes(codes(0, 1 << 20), codes(0, 0), 1 << 10)


def test_classes_left_whole_really_refuse_every_cut() -> None:
    """What the attacker of minimality concludes from the method is true of the rows."""
    looked = 0
    for _ in range(10):
        # As many of each value, in any order: the table as one class fulfils the rules.
        ill = GENERATOR.permutation(["a", "b"] * 30).tolist()
        table, rules = Table.of({**people(), "ill": ill}), Rules(k=2, l=2, alpha=0.6)
        made = Mondrian(Roles(("age", "zip"), ("ill",)), rules).apply(table)
        trial = rules.over(table, ("ill",))
        own = classes_of(made.table, ("age", "zip"))
        for rows, cuts in refused_cuts(table, ("age", "zip"), rules.k, own.of_row):
            assert len(set(own.of_row[rows].tolist())) == 1
            for is_right in cuts:
                assert min(is_right.sum(), (~is_right).sum()) >= rules.k
                assert refuses(trial, rows[None, :], is_right).tolist() == [True]
                looked += 1
    assert looked


def test_a_cut_that_the_whole_table_refuses_is_tried_again_in_its_parts() -> None:
    """The middle age of all has one value on its left; the middle age of women has both values on either side."""
    ages = [0, 0, 60, 60, 60, 70, 70, 70, 70] + [0] * 6 + [70]
    sexes = ["f"] * 9 + ["m"] * 7
    ill = [*"aaabbabab", *"aaaaaab"]
    made = Mondrian(Roles(("age", "sex"), ("ill",)), Rules(k=2, l=2)).apply({"age": ages, "sex": sexes, "ill": ill})
    assert made.risk.classes == 3


def test_a_class_left_whole_for_its_values_is_attacked() -> None:
    """Six people, two of them ill, both of the young ones: uncut, because all old ones would have been well."""
    table = Table.of({"age": [20, 20, 20, 30, 30, 30], "ill": ["y", "y", "n", "n", "n", "n"]})
    by = Mondrian(Roles(("age",), ("ill",)), Rules(k=3, alpha=0.7))
    made = by.apply(table)
    assert made.risk.classes == 1
    found = {one.disguised.attack: one for one in of_disguise(made, table, by, {}, None).attacks}
    # With both ill people on one side, the other side is all well: a share above 0.7. One on each side would be cut.
    assert found["minimality"].disguised.n == 6
    assert found["minimality"].private is None


def test_why_a_class_is_whole_may_say_more_than_its_counts() -> None:
    values, cut = codes(1, 1, 0, 0, 0), np.array([[True, True, False, False, False]])
    view = View.of_classes(np.zeros(5, dtype=np.int64), values, 2)

    def refused(orders: Any, is_right: Any) -> Any:
        """Cut off would be who all have the value 1: one order in ten."""
        return (values[orders[:, is_right]] == 1).all(axis=1)

    found = minimality(view, values, [(np.arange(5), cut)], refused)
    assert found is not None
    assert (found.share, found.chance, found.n) == (1, 3 / 5, 5)
    assert minimality(view, values, [], refused) is None


def test_every_attack_has_its_demonstration_and_stands_in_the_report(tmp_path: Path) -> None:
    table = Table.of({**people(), "age": list(range(60)), "pay": GENERATOR.integers(0, 50, 60).tolist()})
    by = Mondrian(Roles(("age", "zip"), ("ill", "pay")), Rules(k=3, l=2))
    made = by.apply(table)
    found = of_disguise(made, table, by, {}, made.table)
    names = {one.disguised.attack for one in found.attacks}
    assert names >= {"linkage", "homogeneity", "background", "skewness", "similarity", "intersection", "foreground"}
    assert names <= set(attacks())
    assert all(0 <= one.disguised.share <= 1 and 0 <= one.disguised.chance <= 1 for one in found.attacks)
    assert {one.column for one in found.attacks if one.private is not None} == {"ill", "pay"}
    write_disguised(tmp_path / "r.json", made, found.further())
    said = json.loads((tmp_path / "r.json").read_text())
    assert (said["epsilon"], len(said["attacks"])) == (EPSILON, len(found.attacks))
    write_disguised(tmp_path / "r.html", made, found.further())
    assert "homogeneity" in (tmp_path / "r.html").read_text()
    write_risk(tmp_path / "s.html", made.risk, found.further())
    assert "with privacy" in (tmp_path / "s.html").read_text()


def test_a_table_as_it_is_answers_counts_exactly_and_tells_everything() -> None:
    table = Table.of({"age": list(range(40)), "ill": [one % 4 for one in range(40)]})
    found = of_table(table, Roles(("age",), ("ill",)), None)
    assert found.errors[0] == 0
    assert found.errors[1] is not None
    by_name = {one.disguised.attack: one for one in found.attacks}
    assert all(by_name[name].disguised.share == 1 for name in ("linkage", "homogeneity", "background", "skewness"))
    assert any("similarity" in sentence for sentence in found.left_out)


def test_what_is_too_wide_is_said() -> None:
    table = Table.of({"age": list(range(2000)), "ill": ["a", "b"] * 1000})
    found = of_table(table, Roles(("age",), ()), None)
    assert (found.attacks, found.errors[1]) == ((), None)
    assert any("more than 1,024" in sentence for sentence in found.left_out)


def test_an_earlier_release_has_the_same_rows() -> None:
    table = Table.of(people(20))
    with pytest.raises(InvalidParameter, match="same order"):
        disclosed(table, table, np.arange(20), Roles(("age",), ("ill",)), earlier=table.taken(np.arange(19)))


def test_a_private_view_says_no_more_than_its_rows() -> None:
    """Attacks take any weights: scored on the truth, and never on more than one guess for each."""
    values = GENERATOR.integers(0, 3, 50)
    view = View(GENERATOR.integers(0, 4, 50), GENERATOR.uniform(size=(4, 3)))
    for found in attacks_on(view, values, codes(0, 0, 1)):
        assert 0 <= found.share <= 1
        assert found.n <= 50


def test_definetti_learns_in_one_class_what_helps_in_another() -> None:
    """Classes of unequal counts give away which column goes with which value; even ones are then told apart."""
    of_row = np.repeat(np.arange(6), 4)
    values = np.array([0, 0, 0, 1] * 2 + [1, 1, 1, 0] * 2 + [0, 1, 0, 1] * 2)
    view = View.of_classes(of_row, values, 2)
    found = definetti(view, values, [values.copy()], [2])
    assert found is not None
    assert found.share == 1
    assert found.chance == pytest.approx((3 * 4 + 2 * 2) / 24)
    # Where the column says nothing, nothing is learned.
    blind = definetti(view, values, [np.zeros(24, dtype=np.int64)], [1])
    assert blind is not None
    assert blind.share == blind.chance


def test_rates_of_kinds_tell_the_values_of_a_class_apart() -> None:
    """Six classes, of a kind more in each: how often a value occurs follows its kind, and even classes are undone."""
    of_row = np.repeat(np.arange(6), 5)
    kinds = np.concatenate([[1] * ones + [0] * (5 - ones) for ones in range(6)])
    values = 1 - kinds
    noise = GENERATOR.integers(0, 4, 30)
    view = View.of_classes(of_row, values, 2)
    found = foreground(view, values, [noise, kinds], [4, 2])
    assert found is not None
    assert found.share == 1
    assert found.chance == pytest.approx((5 + 4 + 3 + 3 + 4 + 5) / 30)
    blind = foreground(view, values, [np.zeros(30, dtype=np.int64)], [1])
    assert blind is not None
    assert blind.share == blind.chance
    assert foreground(view, values, [], []) is None


def test_another_column_tells_rows_of_a_class_apart() -> None:
    of_row, values = np.repeat([0, 1], 4), np.array([0, 1, 0, 1, 0, 0, 1, 1])
    view = View.of_classes(of_row, values, 2)
    seen = freeform(view, values, values.copy(), "other")
    nothing = freeform(view, values, np.zeros(8, dtype=np.int64), "other")
    assert seen is not None
    assert nothing is not None
    assert (seen.share, seen.chance, nothing.share) == (1.0, 0.5, 0.5)


def test_a_classifier_is_naive_bayes() -> None:
    numbers = np.random.default_rng()
    known = [numbers.integers(0, 3, 30), numbers.integers(0, 2, 30)]
    labels = numbers.integers(0, 2, 30)
    told = classified(known, [3, 2], labels, 2, known)
    for row in range(30):
        scores = []
        for label in (0, 1):
            with_it = int(np.sum(labels == label))
            score = np.log(with_it + 1)
            for codes, width in zip(known, (3, 2), strict=True):
                both = int(np.sum((codes == codes[row]) & (labels == label)))
                score += np.log((both + 1 / width) / (with_it + 1))
            scores.append(score)
        assert scores[told[row]] == pytest.approx(max(scores))

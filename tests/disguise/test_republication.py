"""Several releases of the same people, guarding nodes and freeform attacks, by their definitions."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest

from dither.disguise import Hierarchy
from dither.disguise.personal import freeform, guarded
from dither.disguise.republication import increment, m_invariance, rho_alpha
from dither.errors import InvalidParameter

#: The releases of Xiao and Tao's example: in the second one, people left and others came.
FIRST = {"who": list("abcd"), "zip": ["1*", "1*", "2*", "2*"], "ill": ["flu", "gout", "rash", "cold"]}
SAME = {"who": list("abef"), "zip": ["1*", "1*", "2*", "2*"], "ill": ["flu", "gout", "rash", "flu"]}
OTHER = {"who": list("aebf"), "zip": ["1*", "1*", "2*", "2*"], "ill": ["flu", "rash", "gout", "cold"]}


def told(*releases: dict[str, list[Any]]) -> int:
    return m_invariance(releases, "who", ["zip"], "ill")


def test_invariance_needs_the_same_values_around_a_person() -> None:
    assert told(FIRST) == 2
    assert told(FIRST, SAME) == 2
    assert told(FIRST, OTHER) == 0
    twice = {**FIRST, "ill": ["flu", "flu", "rash", "cold"]}
    assert told(twice) == 0
    with pytest.raises(InvalidParameter, match="one or more"):
        told()
    with pytest.raises(InvalidParameter, match="one row of a release"):
        told({**FIRST, "who": list("aabc")})


def test_two_releases_tell_by_the_rule_of_bayes() -> None:
    """Over all ways in which a person's row may be one of each class, equally likely, with equal values."""
    numbers = np.random.default_rng()
    one, two = (
        {"who": list(range(9)), "zip": numbers.integers(0, 3, 9).tolist(), "ill": list("xyzxyzxyz")} for _ in range(2)
    )
    surest = []
    for row in range(9):
        ways: Counter[str] = Counter()
        for first, second in itertools.product(range(9), repeat=2):
            is_there = one["zip"][first] == one["zip"][row] and two["zip"][second] == two["zip"][row]
            if is_there and one["ill"][first] == two["ill"][second]:
                ways[one["ill"][first]] += 1
        surest.append(max(ways.values()) / ways.total())
    found = rho_alpha(one, two, "who", ["zip"], "ill", (0.4, 0.6, 1.0))
    assert (found.people, found.surest) == (9, pytest.approx(max(surest)))
    for alpha, rho in found.over:
        assert rho == pytest.approx(sum(one > alpha + 1e-9 for one in surest) / 9)
    assert found.certain == pytest.approx(sum(one > 1 - 1e-9 for one in surest) / 9)


@pytest.mark.parametrize("m", [2, 3])
def test_invariant_releases_leave_nobody_surer(m: int) -> None:
    """Where releases are m-invariant, nobody's value is surer than 1/m after two of them: rho is 0."""
    one = {"who": list(range(2 * m)), "zip": ["1"] * m + ["2"] * m, "ill": [f"x{row % m}" for row in range(2 * m)]}
    for others in itertools.permutations(range(m)):
        # Of the second class others are there, with values that its first people leave.
        who = [*range(m), *(one["who"][m + row] if row % 2 else 100 + row for row in others)]
        two = {"who": who, "zip": one["zip"], "ill": [f"x{row}" for row in (*range(m), *others)]}
        assert m_invariance([one, two], "who", ["zip"], "ill") == m
        found = rho_alpha(one, two, "who", ["zip"], "ill", (1 / m,))
        assert found.over == ((1 / m, 0.0),)


def test_two_releases_need_people_and_probabilities() -> None:
    with pytest.raises(InvalidParameter, match="people of the first"):
        rho_alpha(FIRST, {"who": ["z"], "zip": ["1*"], "ill": ["flu"]}, "who", ["zip"], "ill")
    with pytest.raises(InvalidParameter, match="probability"):
        rho_alpha(FIRST, SAME, "who", ["zip"], "ill", (2.0,))
    # A value that changed between releases: what the second one says.
    changed = {"who": ["a", "b"], "zip": ["1*", "1*"], "ill": ["cold", "rash"]}
    assert rho_alpha(FIRST, changed, "who", ["zip"], "ill").surest == 0.5


def test_what_a_class_gains_is_known_as_a_difference() -> None:
    earlier = {"who": [1, 2], "zip": ["1*", "1*"], "ill": ["flu", "gout"]}
    later = {"who": [1, 2, 3, 4], "zip": ["1*"] * 4, "ill": ["flu", "gout", "rash", "rash"]}
    found = increment(earlier, later, "who", ["zip"], "ill")
    assert (found.alone, found.added, found.common, found.l) == (3, 1, 2, 1)
    moved = {"who": [1, 2, 3, 4], "zip": ["1*", "2*", "1*", "2*"], "ill": ["flu", "gout", "rash", "flu"]}
    found = increment(earlier, moved, "who", ["zip"], "ill")
    assert (found.alone, found.added, found.common) == (2, None, 1)


ILLS = Hierarchy.tree({"lungs": ["flu", "cold"], "skin": ["rash", "gout"]})


def test_a_guard_is_broken_by_the_share_below_it() -> None:
    numbers = np.random.default_rng()
    for _ in range(5):
        ills = numbers.choice(["flu", "cold", "rash", "gout"], 14).tolist()
        zips = numbers.integers(0, 3, 14).tolist()
        guards = [numbers.choice([None, ill, ILLS.label(ill, 1), "*"]) for ill in ills]
        worst = 0.0
        for row, guard in enumerate(guards):
            around = [ills[other] for other in range(14) if zips[other] == zips[row]]
            if guard is not None:
                below = [ill for ill in around if guard in (ill, *ILLS.labels[ill])]
                worst = max(worst, len(below) / len(around))
        assert guarded({"zip": zips, "ill": ills, "hides": guards}, ["zip"], "ill", "hides", ILLS) == pytest.approx(
            worst
        )
    for guard, match in (("bones", "label of the hierarchy"), ("skin", "above 'flu'")):
        with pytest.raises(InvalidParameter, match=match):
            guarded({"zip": [1], "ill": ["flu"], "hides": [guard]}, ["zip"], "ill", "hides", ILLS)


def test_freeform_conclusions_are_looked_for_from_all_observable_values() -> None:
    numbers = np.random.default_rng()
    for _ in range(5):
        table = {name: numbers.choice(list("uvw"), 12).tolist() for name in ("one", "two", "three")}
        seen = {"one": ["u", "v"], "two": ["u"], "three": ["w"]}
        best = 0.0
        for size in (1, 2):
            for names in itertools.combinations(table, size):
                for values in itertools.product("uvw", repeat=size):
                    pairs = dict(zip(names, values, strict=True))
                    if any(value not in seen[name] for name, value in pairs.items()):
                        continue
                    rows = [row for row in range(12) if all(table[name][row] == pairs[name] for name in names)]
                    for name, value in itertools.product(table, "uvw"):
                        if rows and name not in pairs and value not in seen[name]:
                            best = max(best, sum(table[name][row] == value for row in rows) / len(rows))
        found = freeform(table, seen, most=2)
        assert found.share == pytest.approx(best)
        if found.told is not None:
            rows = [row for row in range(12) if all(table[name][row] == value for name, value in found.known)]
            assert len(rows) == found.rows
            assert sum(table[found.told[0]][row] == found.told[1] for row in rows) / len(rows) == found.share
    assert freeform(table, {}).share == 0
    # What is missing is neither seen nor told.
    holes = {"one": ["u", None], "two": [None, "v"]}
    assert freeform(holes, {"one": ["u", None]}).told is None
    for wrong, match in (({"four": ["u"]}, "observable"),):
        with pytest.raises(InvalidParameter, match=match):
            freeform(table, wrong)

"""Every registered disguise, followed by the definitions: no class breaks a rule, and no cell says what is not so."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest

from dither.disguise import (
    Datafly,
    Disguise,
    Hierarchy,
    Microaggregation,
    Mondrian,
    Optimal,
    Roles,
    Rules,
    Table,
    disguises,
    find_disguise,
)
from dither.disguise.contract import disguise
from dither.disguise.full_domain import Search
from dither.disguise.lattice import Lattice
from dither.disguise.microaggregation import mdav
from dither.errors import InvalidParameter
from tools.bench import anonymity as slow
from tools.bench.anonymity import PEOPLE as ROLES
from tools.bench.anonymity import RULES, broken, drawn, least_penalty, trees_of


@pytest.mark.parametrize("rules", RULES, ids=Rules.said)
def test_counts_without_their_values_decide_alike(rules: Rules, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = np.random.default_rng()
    trial = rules.over(Table.of(drawn(40)), ("ill",))
    of_row = np.concatenate([np.arange(9), numbers.integers(0, 9, 31)])
    rows, weights = numbers.permutation(40), numbers.integers(1, 4, 40)
    sizes = np.bincount(of_row, weights=weights).astype(np.int64)
    plain = trial.holds(of_row, sizes, rows, weights)
    monkeypatch.setattr("dither.disguise.rules._WIDE", 0)
    assert trial.holds(of_row, sizes, rows, weights).tolist() == plain.tolist()


@pytest.mark.parametrize("rules", RULES, ids=Rules.said)
@pytest.mark.parametrize("name", disguises())
def test_no_class_breaks_a_rule(name: str, rules: Rules) -> None:
    table = drawn(missing=name not in ("microaggregation", "averages"))
    if broken({**table, "all": [0] * len(table["ill"])}, ("all",), rules):
        return
    method = find_disguise(name).example(Table.of(table), ROLES, rules)
    made = method.apply(table)
    shown = made.frame()
    assert "name" not in shown
    assert broken(shown, method.roles.quasi, rules) == []
    assert made.risk.smallest >= rules.k
    assert made.blur.suppressed == len(table["ill"]) - len(shown["ill"])
    assert 0 <= (made.blur.ncp or 0) <= 1


def says(cell: object, value: object) -> bool:
    """Whether a published cell of Mondrian stands for a value."""
    if cell == value:
        return True
    words = str(cell).split(" | ")
    if isinstance(value, str) or value is None:
        return ("?" if value is None else value) in words
    ends = re.split(r" to |(?<=\d)-", words[-1])
    return float(ends[0]) <= float(str(value)) <= float(ends[-1])


@pytest.mark.parametrize("relaxed", [False, True])
def test_cells_stand_for_the_values_of_their_rows(relaxed: bool) -> None:
    table = drawn(60)
    table["age"][2] = -5
    shown = Mondrian(ROLES, Rules(k=4), relaxed=relaxed).apply(table).frame()
    for name in ROLES.quasi:
        assert all(map(says, shown[name], table[name])), (name, shown[name], table[name])
    tree = Hierarchy.masks(["aa", "ab", "ba", "c", None])
    shown = Mondrian(ROLES, Rules(k=4), relaxed=relaxed, hierarchies={"ward": tree}).apply(table).frame()
    for cell, value in zip(shown["ward"], table["ward"], strict=True):
        assert (cell or "") in ("" if value is None else value, *tree.labels["" if value is None else value])


def test_relaxed_classes_are_parts_of_strict_ones() -> None:
    for _ in range(5):
        table = drawn(60)
        strict = Mondrian(ROLES, Rules(k=3)).apply(table)
        relaxed = Mondrian(ROLES, Rules(k=3), relaxed=True).apply(table)
        assert (relaxed.blur.ncp or 0) <= (strict.blur.ncp or 0) + 1e-12
        assert relaxed.risk.classes >= strict.risk.classes or relaxed.blur.ncp == strict.blur.ncp


def test_strict_cuts_go_on_until_none_is_left() -> None:
    """In one dimension: no class could be cut next to its middle, and no value is in two classes."""
    for _ in range(5):
        ages = np.random.default_rng().integers(0, 30, 80).tolist()
        shown = Mondrian(Roles(("age",)), Rules(k=4)).apply({"age": ages}).frame()
        home = dict(zip(ages, shown["age"], strict=True))
        assert [home[age] for age in ages] == shown["age"]
        for rows in slow.classes({"age": shown["age"]}, ("age",)):
            inside = sorted(ages[row] for row in rows)
            cuts = [place for place in range(1, len(inside)) if inside[place] != inside[place - 1]]
            assert all(min(place, len(inside) - place) < 4 for place in cuts)


@pytest.mark.parametrize("number", range(8))
def test_the_best_levels_are_those_that_exhaustion_finds(number: int) -> None:
    table = drawn(16 + number)
    trees = trees_of(table)
    for k, diverse, share in ((2, 1, 0.0), (2, 2, 0.2), (3, 1, 0.1)):
        made = Optimal(ROLES, Rules(k=k, l=diverse), trees, share).apply(table)
        allowed = int(share * len(table["ill"]))
        assert made.blur.suppressed <= allowed
        assert made.blur.ncp == pytest.approx(least_penalty(table, trees, k, diverse, allowed))
        greedy = Datafly(ROLES, Rules(k=k, l=diverse), trees, share).apply(table)
        assert (greedy.blur.ncp or 0) >= (made.blur.ncp or 0) - 1e-12


def least_loss(table: slow.Columns, trees: dict[str, Hierarchy], k: int, allowed: int, loss: str) -> float:
    """The smallest loss of all choices of levels, by trying them all, row by row."""
    rows, best = len(table["ill"]), np.inf
    top = sum(tree.height for tree in trees.values())
    for node in itertools.product(*(range(tree.height + 1) for tree in trees.values())):
        levels = dict(zip(trees, node, strict=True))
        cells = {name: [trees[name].label(value, levels[name]) for value in table[name]] for name in trees}
        classes = slow.classes(cells, list(trees))
        kept = [row for some in classes if len(some) >= k for row in some]
        gone = rows - len(kept)
        if gone > allowed:
            continue
        lost = sum(node) / top
        if loss == "discernibility":
            lost = (sum(len(some) ** 2 for some in classes if len(some) >= k) + gone * rows) / rows**2
        if loss == "entropy":
            lost = gone / rows
            for name in trees:
                column, shown = texts(table[name]), cells[name]
                open_bits = [np.log2(shown.count(shown[row]) / column.count(column[row])) for row in kept]
                most = sum(np.log2(rows / column.count(value)) for value in column)
                lost += sum(open_bits) / most / len(trees) if most else 0
        best = min(best, lost)
    return float(best)


def texts(values: list[object]) -> list[str]:
    return [str(value) for value in values]


@pytest.mark.parametrize("loss", ["discernibility", "entropy", "height"])
def test_other_losses_are_as_small_as_exhaustion_finds(loss: Any) -> None:
    for share in (0.0, 0.2):
        table = drawn(18, missing=False)
        trees = trees_of(table)
        trial = Rules(k=3).over(Table.of(table), ())
        lattice = Lattice.of(Table.of(table), tuple(trees), trees, trial, loss)
        allowed = int(share * 18)
        node = Search(lattice, allowed, tagged=True).best()
        assert lattice.check(node).penalty == pytest.approx(least_loss(table, trees, 3, allowed, loss))
        made = Optimal(ROLES, Rules(k=3), trees, share, loss).apply(table)
        assert made.blur.suppressed <= allowed
    with pytest.raises(InvalidParameter, match="objective"):
        Optimal(ROLES, Rules(), {}, 0.0, "none")  # type: ignore[arg-type]


def test_values_that_are_written_alike_are_one_on_every_level() -> None:
    shown = Optimal(Roles(("a",)), Rules(k=2), {"a": Hierarchy.flat([1])}).apply({"a": [1, "1"]}).frame()
    assert shown["a"] == ["1", "1"]


def test_a_share_of_rows_is_taken_as_it_is_written() -> None:
    """0.29 of 100 rows are 29, though the float is less."""
    table = {"a": ["x"] * 71 + [f"y{row}" for row in range(29)]}
    made = Optimal(Roles(("a",)), Rules(k=2), {"a": Hierarchy.flat(table["a"])}, 0.29).apply(table)
    assert made.blur.suppressed == 29


def test_groups_of_averages_have_k_rows_and_fewer_than_twice_as_many() -> None:
    points = np.random.default_rng().normal(size=(57, 3))
    sizes = np.bincount(mdav(points, 5))
    assert sizes.min() >= 5
    assert sizes.max() < 10
    table = drawn(30, missing=False)
    method = Microaggregation(Roles(("age", "pay"), identifiers=("name",)), Rules(k=4))
    shown = method.apply(table).frame()
    for rows in slow.classes(shown, ("age", "pay")):
        mean = sum(table["age"][row] for row in rows) / len(rows)
        assert shown["age"][rows[0]] == pytest.approx(mean, abs=1e-6)


@pytest.mark.parametrize(
    ("method", "match"),
    [
        (Mondrian(ROLES, Rules(k=99)), "k must be at most the number of rows, 12"),
        (Mondrian(ROLES, Rules(l=4)), "the 3 values of ill"),
        (Mondrian(ROLES, Rules(alpha=0.1)), "the table as one class"),
        (Mondrian(Roles(("age",), others=("name",)), Rules(l=2)), "sensitive"),
        (Mondrian(Roles(("age", "town")), Rules()), "town"),
        (Mondrian(ROLES, Rules(), hierarchies={"ill": Hierarchy.flat("xyz")}), "hierarchies"),
        (Optimal(ROLES, Rules(k=2)), "set for every quasi-identifier"),
        (
            Datafly(Roles(("ward",), others=("name",)), Rules(), {"ward": Hierarchy.flat(["aa"])}),
            "its hierarchy has a line for",
        ),
        (Optimal(Roles(("ward",), others=("name",)), Rules(), {}, 1.0), "suppression"),
        (Optimal(Roles(("ward",), ("ill",), ("name",)), Rules(t=0.5), {}, 0.1), "0 with t"),
        (Microaggregation(ROLES, Rules()), "a number"),
    ],
)
def test_what_cannot_be_made_is_refused(method: Disguise, match: str) -> None:
    table = drawn(12, missing=False)
    table["ward"][:2], table["age"][:2] = ["ab", "ba"], [5, 5]
    with pytest.raises(InvalidParameter, match=match):
        method.apply(table)


def test_averages_need_a_number_in_every_row() -> None:
    with pytest.raises(InvalidParameter, match="row 2"):
        Microaggregation(Roles(("age",)), Rules()).apply({"age": [1, None]})


def test_parameters_are_checked() -> None:
    for wrong in ({"k": 0}, {"l": 0.5}, {"t": -1}, {"alpha": 2}, {"diversity": "rich"}, {"distance": "far"}):
        with pytest.raises(InvalidParameter, match=next(iter(wrong))):
            Rules(**wrong)  # type: ignore[arg-type]
    for quasi, sensitive in (((), ()), (("a",), ("a",)), ("age", ())):
        with pytest.raises(InvalidParameter):
            Roles(quasi, sensitive)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="no other disguise"):
        disguise(Mondrian)
    with pytest.raises(InvalidParameter, match="mondrian"):
        find_disguise("mondrain")


def test_a_rule_that_the_outcome_breaks_is_never_published(monkeypatch: pytest.MonkeyPatch) -> None:
    """The outcome is checked again: a maker that is wrong raises."""
    table, method = drawn(20), Mondrian(ROLES, Rules(k=5))
    unbound = Mondrian(ROLES, Rules(k=1))
    monkeypatch.setattr(Mondrian, "recode", lambda self, given, trial: recode(unbound, given, unbound._checked(given)))
    with pytest.raises(RuntimeError, match="does not fulfil"):
        method.apply(table)


recode = Mondrian.recode

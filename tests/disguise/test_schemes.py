"""The schemes of generalisation keep what their names say, and struck-out cells are as few as they can be."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest

from dither.disguise import (
    Cell,
    CMeans,
    Disguise,
    Guided,
    GuidedOrdered,
    Hierarchy,
    LocalSuppression,
    Optimal,
    Roles,
    Rules,
    Samarati,
    SetPartition,
    Sibling,
    Subtree,
    Table,
    ValueSuppression,
    disguises,
    find_disguise,
)
from dither.disguise.local_suppression import few_stars, fewest_stars
from dither.disguise.samarati import nodes_at
from dither.errors import InvalidParameter
from tools.bench import anonymity as slow
from tools.bench.disguise import violations

VALUES = [f"{first}{second}" for first in "abc" for second in "123"]
TREE = Hierarchy.masks(VALUES)


def drawn(rows: int = 40) -> slow.Columns:
    numbers = np.random.default_rng()
    return {name: numbers.choice(VALUES, rows).tolist() for name in ("one", "two")}


def written(method: Any, table: slow.Columns) -> dict[str, dict[str, Any]]:
    """What each value became, by column: one thing only."""
    shown = method.apply(table).frame()
    found: dict[str, dict[str, Any]] = {}
    for name in method.roles.quasi:
        for before, after in zip(table[name], shown[name], strict=True):
            assert found.setdefault(name, {}).setdefault(before, after) == after
    return found


def scheme(kind: type[Any], k: int = 4) -> Any:
    return kind(Roles(("one", "two")), Rules(k=k), {} if kind is SetPartition else {"one": TREE, "two": TREE})


@pytest.mark.parametrize("number", range(4))
def test_subtrees_are_whole(number: int) -> None:
    for became in written(scheme(Subtree, 2 + number), drawn()).values():
        labels = {value: [TREE.label(value, level) for level in range(3)] for value in became}
        for value, after in became.items():
            assert after in labels[value]
            # All values below the label have it.
            assert all(became[other] == after for other in became if after in labels[other])


@pytest.mark.parametrize("number", range(4))
def test_siblings_have_labels_above_them(number: int) -> None:
    for became in written(scheme(Sibling, 2 + number), drawn()).values():
        assert all(after in [TREE.label(value, level) for level in range(3)] for value, after in became.items())


def blocks(became: dict[str, Any]) -> list[set[str]]:
    return [set(str(after).split(" | ")) for after in set(became.values())]


@pytest.mark.parametrize("number", range(4))
def test_sets_are_a_partition_and_guided_ones_take_groups_with_them(number: int) -> None:
    k = 3 + number
    for kind in (SetPartition, Guided, GuidedOrdered):
        for became in written(scheme(kind, k), drawn()).values():
            sets = blocks(became)
            assert sorted(itertools.chain.from_iterable(sets)) == sorted(became)
            assert all(value in str(after).split(" | ") for value, after in became.items())
            for some in sets:
                groups = {value[0] for value in some}
                if kind is Guided and len(groups) > 1:
                    assert some == {value for value in became if value[0] in groups}
                if kind is GuidedOrdered and len(groups) > 1:
                    inside = sorted(value for value in became if value[0] in groups)
                    assert some == {value for value in became if inside[0] <= value <= inside[-1]}


def test_values_are_struck_out_everywhere_or_nowhere() -> None:
    method = ValueSuppression(Roles(("one", "two")), Rules(k=5))
    for became in written(method, drawn()).values():
        assert all(after in (value, "*") for value, after in became.items())


def test_cells_differ_between_rows() -> None:
    """A value with k rows of its own stays there, and is part of a range where another row needs it."""
    shown = Cell(Roles(("age",)), Rules(k=2)).apply({"age": [1, 1, 2, 9, 9]}).frame()["age"]
    assert shown == ["1-2", "1-2", "1-2", 9, 9]
    table = {"age": [1, 2, 2, 3, 9, 9], "ward": list("aabbcc")}
    shown = Cell(Roles(("age", "ward")), Rules(k=2)).apply(table).frame()
    assert min(Counter(zip(*shown.values(), strict=True)).values()) >= 2
    assert shown["age"][4:] == [9, 9]


def fewest(table: slow.Columns, k: int) -> int:
    """The fewest stars, by trying all choices of columns for all rows."""
    names, rows = list(table), len(table["one"])
    choices = [some for size in range(len(names) + 1) for some in itertools.combinations(names, size)]
    best = rows * len(names)
    for kept in itertools.product(choices, repeat=rows):
        shown = [(some, *(table[name][row] for name in some)) for row, some in enumerate(kept)]
        if min(Counter(shown).values()) >= k:
            best = min(best, sum(len(names) - len(some) for some in kept))
    return best


@pytest.mark.parametrize("k", [2, 3])
def test_the_fewest_stars_are_found(k: int) -> None:
    for _ in range(3):
        numbers = np.random.default_rng()
        table = {name: numbers.integers(0, 3, 6).tolist() for name in ("one", "two")}
        given = Table.of(table)
        kept = fewest_stars(given, ("one", "two"), k)
        assert kept is not None
        assert int((~kept).sum()) == fewest(table, k)
        quick = few_stars(given, ("one", "two"), Rules(k=k).over(given, ()))
        assert int((~quick).sum()) >= int((~kept).sum())
        made = LocalSuppression(Roles(("one", "two")), Rules(k=k), exact=True).apply(table)
        assert "the fewest that there are" in made.done[0]


def test_samarati_has_the_lowest_height() -> None:
    assert sorted(nodes_at((3, 2, 2), 2)) == [(0, 1, 1), (1, 0, 1), (1, 1, 0), (2, 0, 0)]
    for share in (0.0, 0.1):
        table = drawn(30)
        trees = {"one": TREE, "two": TREE}
        heights = {}
        for node in itertools.product(range(3), repeat=2):
            cells = {
                name: [TREE.label(value, level) for value in table[name]]
                for name, level in zip(trees, node, strict=True)
            }
            gone = sum(len(rows) for rows in slow.classes(cells, list(trees)) if len(rows) < 3)
            if gone <= int(share * 30):
                heights[node] = sum(node)
        made = Samarati(Roles(("one", "two")), Rules(k=3), trees, share).apply(table)
        assert f"passes: {min(heights.values())}." in made.done[1]
        best = Optimal(Roles(("one", "two")), Rules(k=3), trees, share).apply(table)
        assert (made.blur.ncp or 0) >= (best.blur.ncp or 0) - 1e-12


def test_small_clusters_join_others() -> None:
    ages = [*range(20, 30), *range(60, 70), 99]
    shown = CMeans(Roles(("age",)), Rules(k=5), centres=8).apply({"age": ages}).frame()["age"]
    assert min(Counter(shown).values()) >= 5
    one = CMeans(Roles(("age", "ward")), Rules(k=2), {"ward": 0.0}).apply({"age": [1, 2, 8, 9], "ward": list("abab")})
    assert one.risk.smallest >= 2


@pytest.mark.parametrize("name", disguises())
def test_every_maker_is_followed_by_the_definitions(name: str) -> None:
    """The small form of ``python -m tools.bench disguise``: 9 generated tables, a rule each."""
    assert violations(9, [name])[name][1] == 0


def test_schemes_have_the_names_of_print() -> None:
    assert find_disguise("full-domain") is Optimal
    assert find_disguise("multidimensional").name == "mondrian"
    names = ("subtree", "sibling", "cell", "set-partition", "guided", "guided-ordered")
    assert set(names) <= set(disguises())


@pytest.mark.parametrize(
    ("method", "match"),
    [
        (Subtree(Roles(("one",)), Rules(k=2)), "this one has no hierarchy"),
        (SetPartition(Roles(("one",)), Rules(k=2), {"one": TREE}), "not allowed with set-partition"),
        (ValueSuppression(Roles(("one",)), Rules(k=2), {"one": TREE}), "not allowed with value-suppression"),
        (Sibling(Roles(("one",)), Rules(k=2), {"one": Hierarchy.flat(["zz"])}), "has a line for"),
        (Cell(Roles(("one",)), Rules(k=2), {"two": TREE}), "of quasi-identifiers alone"),
        (LocalSuppression(Roles(("one",), ("two",)), Rules(k=2, l=2), exact=True), "not allowed with rules beyond k"),
        (LocalSuppression(Roles(("star",)), Rules(k=2)), "without stars"),
    ],
)
def test_what_cannot_be_made_is_refused(method: Disguise, match: str) -> None:
    with pytest.raises(InvalidParameter, match=match):
        method.apply({**drawn(8), "star": ["*"] * 8})


def test_parameters_are_checked() -> None:
    for wrong in ({"weights": {"age": -1.0}}, {"weights": {"town": 1.0}}, {"centres": 0}):
        with pytest.raises(InvalidParameter, match=next(iter(wrong))):
            CMeans(Roles(("age",)), Rules(), **wrong)  # type: ignore[arg-type]
    many = Roles(tuple(f"c{place}" for place in range(13)))
    with pytest.raises(InvalidParameter, match="at most 12"):
        LocalSuppression(many, Rules()).apply({name: [1] for name in many.quasi})

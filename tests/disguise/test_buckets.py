"""Anatomy and slicing, by their definitions: what an attacker makes of what is published."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dither.disguise import WARNING, Roles, Table
from dither.disguise.buckets import Anatomy, Slicing, best_columns, worst_guess
from dither.disguise.buckets.anatomy import groups
from dither.errors import InvalidParameter

ROLES = Roles(("age", "ward"), ("ill",), ("name",))


def drawn(rows: int) -> dict[str, list[Any]]:
    numbers = np.random.default_rng()
    return {
        "name": [f"p{row}" for row in range(rows)],
        "age": numbers.integers(20, 30, rows).tolist(),
        "ward": numbers.choice(["a", "b", "c"], rows).tolist(),
        "ill": [*"wxyz", *numbers.choice(list("wxyz"), rows - 4).tolist()],
        "other": list(range(rows)),
    }


def partitions(rows: list[int], l: int) -> Iterator[list[list[int]]]:  # noqa: E741
    if not rows:
        yield []
        return
    for size in range(l, len(rows) + 1):
        for rest in itertools.combinations(rows[1:], size - 1):
            for others in partitions([row for row in rows[1:] if row not in rest], l):
                yield [[rows[0], *rest], *others]


@pytest.mark.parametrize("l", [1, 2, 3])
def test_a_table_is_eligible_exactly_if_some_grouping_is_diverse(l: int) -> None:  # noqa: E741
    for codes in itertools.combinations_with_replacement(range(3), 6):
        possible = any(
            all(max(Counter(codes[row] for row in some).values()) * l <= len(some) for some in parts)
            for parts in partitions(list(range(6)), l)
        )
        table = {"age": list(range(6)), "ill": list(codes)}
        try:
            made = Anatomy(Roles(("age",), ("ill",)), l).apply(table)
        except InvalidParameter:
            assert not possible
        else:
            assert possible
            assert made.most <= 1 / l


def test_groups_have_different_values_and_both_tables_say_so() -> None:
    for l in (2, 3):  # noqa: E741
        table = drawn(40)
        table["ill"] = ["wxyz"[row % 4] for row in range(40)]
        if l == 2:
            table["ill"][:12] = ["w"] * 12
        made = Anatomy(replace(ROLES, others=("other",)), l).apply(table)
        quasi, secret = made.quasi.frame(), made.sensitive.frame()
        assert set(quasi) == {"age", "ward", "other", "group"}
        sizes, listed = Counter(quasi["group"]), Counter(secret["group"])
        assert sizes == listed
        assert min(sizes.values()) >= l
        assert set(secret["count"]) == {1}
        assert Counter(secret["ill"]) == Counter(table["ill"])
        assert made.right == pytest.approx(len(sizes) / 40)
        inside = dict(zip(zip(secret["group"], secret["ill"], strict=True), secret["count"], strict=True))
        assert all(
            (place, table["ill"][row]) in inside for place, row in zip(quasi["group"], quasi["other"], strict=True)
        )
        said = json.loads(made.to_json())
        assert (said["warning"], said["disguise"]) == (WARNING, "anatomy")


def test_left_over_rows_always_find_a_group() -> None:
    """Every eligible multiset of up to four values and eleven rows."""
    for counts in itertools.product(range(5), repeat=4):
        rows = sum(counts)
        for l in (2, 3):  # noqa: E741
            if rows >= l and max(counts) * l <= rows:
                codes = np.repeat(np.arange(4), counts)
                of_row = groups(codes, l)
                pairs = set(zip(of_row.tolist(), codes.tolist(), strict=True))
                assert len(pairs) == rows
                assert min(Counter(of_row.tolist()).values()) >= l


def guessed(table: dict[str, list[Any]], shown: dict[str, list[Any]], columns: tuple[tuple[str, ...], ...]) -> float:
    """The largest share of a value for any true row, from what is published, by the definition."""
    buckets: dict[int, list[int]] = {}
    for row, number in enumerate(shown["bucket"]):
        buckets.setdefault(number, []).append(row)
    worst = 0.0
    for row in range(len(table["ill"])):
        fits: dict[int, float] = {}
        shares: dict[int, Counter[str]] = {}
        for number, rows in buckets.items():
            fits[number] = 1.0
            for some in columns:
                quasi = [name for name in some if name != "ill"]
                alike = [other for other in rows if all(shown[name][other] == table[name][row] for name in quasi)]
                fits[number] *= len(alike) / len(rows)
                if "ill" in some:
                    shares[number] = Counter(shown["ill"][other] for other in alike)
        for value in "wxyz":
            share = sum(
                fits[number] / sum(fits.values()) * shares[number][value] / shares[number].total()
                for number in buckets
                if fits[number]
            )
            worst = max(worst, share)
    return worst


@pytest.mark.parametrize("columns", [(("age",), ("ward", "ill")), (("age", "ward"), ("ill",)), None])
def test_slices_are_diverse_by_the_definition(columns: tuple[tuple[str, ...], ...] | None) -> None:
    table = drawn(36)
    table["ill"] = ["wxyz"[row % 4] for row in range(36)]
    limit = 1.0 if columns is None else max(0.5, *(guessed(table, {**table, "bucket": [1] * 36}, columns),))
    method = Slicing(ROLES, 1 / limit, columns)
    made = method.apply(table)
    shown = made.frame()
    assert set(shown) == {"age", "ward", "ill", "bucket"}
    worst = guessed(table, shown, made.columns)
    assert worst <= limit + 1e-9
    assert made.most == pytest.approx(worst)
    assert min(Counter(shown["bucket"]).values()) >= 2
    # What stays together is there as it was, as often as it was.
    for some in made.columns:
        cells = [Counter(zip(*(rows[name] for name in some), strict=True)) for rows in (table, shown)]
        assert cells[0] == cells[1]
    said = json.loads(made.to_json())
    assert (said["warning"], said["disguise"]) == (WARNING, "slicing")
    assert "other" in made.done[1]


def test_overlapping_slices_are_guessed_from_by_all_ways_to_join_them() -> None:
    """Within a bucket every way to join rows of both slices with equal values is equally likely."""
    numbers = np.random.default_rng()
    columns = (("age", "ill"), ("ward", "ill"))
    for _ in range(3):
        table = {name: numbers.integers(0, 2, 5).tolist() for name in ("age", "ward")}
        table["ill"] = [*"xxy", *numbers.choice(list("xy"), 2).tolist()]
        ways: dict[tuple[int, int], Counter[str]] = {}
        for order in itertools.permutations(range(5)):
            if any(table["ill"][row] != table["ill"][other] for row, other in enumerate(order)):
                continue
            for row, other in enumerate(order):
                ways.setdefault((table["age"][row], table["ward"][other]), Counter())[table["ill"][row]] += 1
        asked = set(zip(table["age"], table["ward"], strict=True))
        worst = max(max(ways[one].values()) / ways[one].total() for one in asked)
        # Each slice alone, as well.
        for name in ("age", "ward"):
            alone = {
                one: Counter(ill for cell, ill in zip(table[name], table["ill"], strict=True) if cell == one)
                for one in table[name]
            }
            worst = max(worst, *(max(seen.values()) / seen.total() for seen in alone.values()))
        assert worst_guess(Table.of(table), columns, ROLES, [np.arange(5)]) == pytest.approx(worst)


def test_overlapping_slices_show_the_sensitive_column_twice() -> None:
    table = {
        "age": [row // 8 for row in range(32)],
        "ward": [row % 2 for row in range(32)],
        "ill": list("wwxxyyzz") * 4,
    }
    made = Slicing(ROLES, 2, (("age", "ill"), ("ward", "ill"))).apply(table)
    shown = made.frame()
    assert list(shown) == ["age", "ward", "ill", "ill by ward", "bucket"]
    assert made.most <= 0.5 + 1e-9
    assert Counter(shown["ill"]) == Counter(shown["ill by ward"]) == Counter(table["ill"])


def test_without_a_limit_rows_are_cut_until_buckets_are_small() -> None:
    table = {"age": list(range(32)), "ill": ["x", "y"] * 16}
    made = Slicing(Roles(("age",), ("ill",)), 1, (("age",), ("ill",))).apply(table)
    assert set(Counter(made.frame()["bucket"]).values()) == {2}
    one = worst_guess(Table.of(table), (("age",), ("ill",)), Roles(("age",), ("ill",)), [np.arange(32)])
    assert one == pytest.approx(0.5)


def test_columns_that_depend_on_each_other_come_together() -> None:
    numbers = np.random.default_rng()
    one, other = numbers.permutation(np.arange(400) % 4), numbers.permutation(np.arange(400) % 5)
    table = Table.of({"a": one.tolist(), "b": other.tolist(), "c": (3 - one).tolist(), "d": (other * 100).tolist()})
    assert set(best_columns(table, ("a", "b", "c", "d"), 2)) == {("a", "c"), ("b", "d")}
    assert best_columns(Table.of({"a": [1, 1], "b": list("xy")}), ("a", "b"), 5) == (("a",), ("b",))


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: Anatomy(Roles(("age",)), 2), "sensitive"),
        (lambda: Anatomy(ROLES, 0), "l"),
        (lambda: Anatomy(Roles(("a",), ("ill",)), 3).apply({"a": [1, 2, 3], "ill": list("xxy")}), "2 of 3 rows"),
        (lambda: Anatomy(Roles(("a",), ("ill",)), 3).apply({"a": [1, 2], "ill": list("xy")}), "number of rows"),
        (lambda: Anatomy(Roles(("group",), ("ill",)), 1).apply({"group": [1], "ill": ["x"]}), "named otherwise"),
        (lambda: Slicing(ROLES, 0.5), "l must"),
        (lambda: Slicing(Roles(("a",)), 2), "sensitive"),
        (lambda: Slicing(ROLES, 2, (("age", "ward"), ("ward", "ill"))), "quasi-identifier in one group"),
        (lambda: Slicing(ROLES, 2, (("age",), ("ward",))), "sensitive column in one or more"),
        (lambda: Slicing(Roles(("a",), ("b",)), 2).apply({"a": [1, 2], "b": ["x", "x"]}), "as one bucket"),
        (lambda: Slicing(Roles(("a",), ("b",)), 1).apply({"a": [1], "b": ["x"]}), "number of rows"),
        (lambda: Slicing(Roles(("a",), ("bucket",)), 1).apply({"a": [1, 2], "bucket": [1, 2]}), "named otherwise"),
        (lambda: best_columns(Table.of({str(n): [1] for n in range(40)}), [str(n) for n in range(40)], 8), "required"),
    ],
)
def test_what_cannot_be_done_is_refused(make: Any, match: str) -> None:
    with pytest.raises(InvalidParameter, match=match):
        make()

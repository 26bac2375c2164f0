"""Perturbations keep what they say they keep, and the optimal averages are those that exhaustion finds."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dither.attack import attacks
from dither.disguise import WARNING, OptimalAverages, Roles, Rules
from dither.disguise.averages import best_groups
from dither.disguise.buckets import Anatomy, Slicing
from dither.disguise.perturbation import (
    AddedNoise,
    Coding,
    Permutation,
    PostRandomisation,
    RankSwapping,
    Swapping,
    epsilon_of,
    invariant,
    linked,
    perturbation,
    perturbations,
    staying,
)
from dither.disguise.table import Table
from dither.errors import InvalidParameter
from dither.mechanisms import Mechanism


def drawn(rows: int = 30) -> dict[str, list[Any]]:
    numbers = np.random.default_rng()
    return {
        "pay": numbers.integers(0, 12, rows).tolist(),
        "ward": numbers.choice(["a", "b", "c"], rows).tolist(),
        "other": list(range(rows)),
    }


@pytest.mark.parametrize("name", perturbations())
def test_every_perturbation_changes_only_its_columns_and_warns(name: str) -> None:
    kind, table = perturbations()[name], drawn()
    made = kind.example("pay", "ward").apply(table)
    assert made.frame()["other"] == table["other"]
    assert len(made.frame()["pay"]) == 30
    said = json.loads(made.to_json())
    assert (said["warning"], said["disguise"], said["done"]) == (WARNING, name, list(made.done))
    assert all((made.done, kind.attacks, kind.source))
    for column, share in made.changed.items():
        shown = zip(table[column], made.frame()[column], strict=True)
        assert share == sum(one != other for one, other in shown) / 30
    assert made.linked == pytest.approx(slow_linked(table, made.frame(), tuple(made.changed)))
    assert not issubclass(kind, Mechanism)
    with pytest.raises(InvalidParameter, match="no other"):
        perturbation(kind)
    with pytest.raises(InvalidParameter, match="rows long"):
        kind.example("pay", "ward").apply({"pay": [], "ward": []})


def slow_linked(table: dict[str, list[Any]], shown: dict[str, list[Any]], columns: tuple[str, ...]) -> float:
    spread = {name: np.std(table[name]) for name in columns if name == "pay"}

    def far(row: int, other: int) -> float:
        total = 0.0
        for name in columns:
            one, two = table[name][row], shown[name][other]
            total += ((one - two) / spread[name]) ** 2 if name in spread else float(one != two)
        return total

    rows, found = range(len(table["pay"])), 0.0
    for row in rows:
        each = [far(row, other) for other in rows]
        nearest = [other for other in rows if each[other] <= min(each) + 1e-9]
        found += (row in nearest) / len(nearest)
    return found / len(rows)


def test_swaps_keep_how_often_each_value_occurs() -> None:
    table = drawn(41)
    for method in (Permutation(("pay", "ward")), Swapping(("pay", "ward"), 0.7), RankSwapping(("pay", "ward"), 0.2)):
        shown = method.apply(table).frame()
        for name in ("pay", "ward"):
            assert Counter(shown[name]) == Counter(table[name])
    both = Permutation(("pay", "ward"), together=True).apply(table).frame()
    assert Counter(zip(both["pay"], both["ward"], strict=True)) == Counter(
        zip(table["pay"], table["ward"], strict=True)
    )


def test_pairs_swap_within_their_class_and_are_as_many_as_asked_for() -> None:
    table = drawn(40)
    table["own"] = list(range(40))
    shown = Swapping(("own",), share=0.25).apply(table).frame()["own"]
    moved = [row for row in range(40) if shown[row] != row]
    assert len(moved) == 10
    assert all(shown[shown[row]] == row for row in moved)
    made = Swapping(("own",), share=1.0, within=("ward",)).apply(table)
    shown = made.frame()["own"]
    assert all(table["ward"][shown[row]] == table["ward"][row] for row in range(40))
    sizes = Counter(table["ward"]).values()
    assert sum(shown[row] != row for row in range(40)) == sum(size // 2 * 2 for size in sizes)
    assert ("no more" in made.done[-1]) == (sum(size // 2 for size in sizes) < 20)


def test_ranks_move_no_further_than_allowed_and_leave_few_alone() -> None:
    own = np.random.default_rng().permutation(50).tolist()
    shown = RankSwapping(("own",), width=0.1).apply({"own": own}).frame()["own"]
    assert max(abs(one - other) for one, other in zip(own, shown, strict=True)) <= 5
    assert all(own[shown.index(value)] == shown[own.index(value)] for value in own)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_the_invariant_form_keeps_frequencies(size: int) -> None:
    numbers = np.random.default_rng()
    shares = numbers.dirichlet(np.ones(size))
    matrix = numbers.dirichlet(np.ones(size), size)
    made = invariant(matrix, shares)
    assert np.allclose(shares @ made, shares)
    assert np.allclose(made.sum(axis=1), 1)
    # By its definition, entry by entry.
    for true, shown in itertools.product(range(size), repeat=2):
        entry = sum(
            matrix[true, middle] * matrix[shown, middle] * shares[shown] / (shares @ matrix[:, middle])
            for middle in range(size)
        )
        assert made[true, shown] == pytest.approx(entry)
    assert np.allclose(invariant(np.eye(size), shares), np.eye(size))


def test_a_value_that_nobody_has_stays_where_nothing_leads_back() -> None:
    made = invariant(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([1.0, 0.0]))
    assert made.tolist() == [[1, 0], [0, 1]]


def test_epsilon_is_the_largest_ratio_in_a_column() -> None:
    matrix = np.random.default_rng().dirichlet(np.ones(4), 4)
    slow = max(
        math.log(matrix[one, shown] / matrix[other, shown])
        for one, other, shown in itertools.product(range(4), repeat=3)
    )
    assert epsilon_of(matrix) == pytest.approx(slow)
    assert epsilon_of(staying(3, 0.5)) == pytest.approx(math.log(2))
    assert epsilon_of(np.eye(2)) == math.inf
    assert epsilon_of(np.array([[1.0, 0.0], [1.0, 0.0]])) == 0


@pytest.mark.parametrize(
    ("method", "said"),
    [
        (PostRandomisation("a", keep=0.75, values=("x", "y")), r"with epsilon 1\.099"),
        (PostRandomisation("a", keep=0.75), "read from the table"),
        (PostRandomisation("a", keep=1.0, values=("x", "y")), "not local differential privacy for any"),
        (PostRandomisation("a", values=("x", "y"), invariant=True), "computed from the true frequencies"),
    ],
)
def test_it_says_when_a_matrix_is_local_privacy(method: PostRandomisation, said: str) -> None:
    made = method.apply({"a": ["x", "y", "x"]})

    assert re.search(said, made.done[1])


def test_rows_of_the_matrix_are_those_of_their_values() -> None:
    method = PostRandomisation("a", values=("x", "y", "z"), matrix=((0, 1, 0), (0, 0, 1), (1, 0, 0)))
    assert method.apply({"a": ["x", "y", "z", "x"]}).frame()["a"] == ["y", "z", "x", "y"]


def test_draws_follow_the_matrix() -> None:
    """Counts of 40,000 draws are within 7 deviations of what the matrix says (chance below 3e-12 each)."""
    shown = PostRandomisation("a", keep=0.7, values=("x", "y", "z")).apply({"a": ["x"] * 40_000}).frame()["a"]
    counts = Counter(shown)
    for value, chance in (("x", 0.7), ("y", 0.15), ("z", 0.15)):
        assert abs(counts[value] - 40_000 * chance) < 7 * math.sqrt(40_000 * chance * (1 - chance))


def test_coding_keeps_what_is_inside_and_averages_keep_the_average() -> None:
    cells = [1, 5, None, 9, 30, 40, -7]
    assert Coding("a", 0, 10).apply({"a": cells}).frame()["a"] == [1, 5, None, 9, 10, 10, 0]
    shown = Coding("a", 0, 10, averages=True).apply({"a": cells}).frame()["a"]
    assert shown == [1, 5, None, 9, 35, 35, -7]
    assert Coding("a", high=99).apply({"a": cells}).done == ("0 cells of a are above 99, so nothing is coded.",)


@pytest.mark.parametrize("restored", [False, True])
@pytest.mark.parametrize("correlated", [False, True])
def test_noise_has_the_covariances_it_says(correlated: bool, restored: bool) -> None:
    """Each covariance of the noise, of 4,000 rows, is within 8 deviations of what it should be."""
    numbers, rows, scale = np.random.default_rng(), 4_000, 0.5
    first = numbers.integers(0, 9, rows).astype(float)
    points = np.column_stack([first, 2 * first + numbers.integers(0, 5, rows)])
    method = AddedNoise(("a", "b"), scale=scale, correlated=correlated, restored=restored)
    made = method.apply({"a": points[:, 0].tolist(), "b": points[:, 1].tolist()})
    shown = np.column_stack([made.frame()["a"], made.frame()["b"]])
    if restored:
        centre = points.mean(axis=0)
        shown = centre + (shown - centre) * math.sqrt(1 + scale**2)
    noise, true = shown - points, np.cov(points.T, bias=True)
    should = scale**2 * (true if correlated else np.diag(np.diag(true)))
    found = noise.T @ noise / rows
    spread = np.sqrt((np.outer(np.diag(should), np.diag(should)) + should**2) / rows)
    assert np.all(np.abs(found - should) < 8 * spread)


def groupings(rows: list[int], k: int) -> Iterator[list[list[int]]]:
    """All ways to put rows into groups of k or more, neighbours or not."""
    if not rows:
        yield []
        return
    for size in range(k, len(rows) + 1):
        for rest in itertools.combinations(rows[1:], size - 1):
            left = [row for row in rows[1:] if row not in rest]
            for others in groupings(left, k):
                yield [[rows[0], *rest], *others]


@pytest.mark.parametrize(("count", "k"), [(2, 2), (5, 1), (6, 2), (7, 2), (7, 3), (8, 4), (8, 3)])
def test_no_grouping_is_better_than_the_optimal_averages(count: int, k: int) -> None:
    for spread in (3, 1000):
        numbers = np.random.default_rng().integers(0, spread, count).astype(float)

        def lost(groups: list[list[int]], numbers: Any = numbers) -> float:
            return sum(float(np.sum((numbers[rows] - numbers[rows].mean()) ** 2)) for rows in groups)

        of_row = best_groups(numbers, k)
        made = [np.flatnonzero(of_row == group).tolist() for group in range(int(of_row.max()) + 1)]
        assert min(map(len, made)) >= k
        assert lost(made) == pytest.approx(min(map(lost, groupings(list(range(count)), k))))


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: Permutation(()), "columns"),
        (lambda: Permutation("pay"), "columns"),  # type: ignore[arg-type]
        (lambda: Swapping(("pay",), share=0), "share"),
        (lambda: Swapping(("pay",), within=("pay",)), "within"),
        (lambda: RankSwapping(("pay",), width=2), "width"),
        (lambda: RankSwapping(("pay",), width=0.001).apply(drawn()), "1/30"),
        (lambda: PostRandomisation("ward", keep=2), "keep"),
        (lambda: PostRandomisation("ward", values=("a", "a")), "values"),
        (lambda: PostRandomisation("ward", values=("a",)).apply({"ward": ["b"]}), "given values"),
        (lambda: PostRandomisation("ward", values=("a",), matrix=((0.5, 0.5), (0, 1))), "one for each row"),
        (lambda: PostRandomisation("ward", matrix=((0.5, 0.6), (0, 1))), "sum to 1"),
        (lambda: PostRandomisation("ward", matrix=((0.5, 0.5),)), "must be square"),
        (lambda: PostRandomisation("ward", matrix=((1.0,),)).apply({"ward": ["a", "b"]}), "2 values"),
        (lambda: Coding("pay"), "low"),
        (lambda: Coding("pay", 3, 2), "at most high"),
        (lambda: Coding("pay", math.nan), "finite"),
        (lambda: Coding("ward", 3).apply(drawn()), "numbers"),
        (lambda: AddedNoise(("pay",), scale=0), "scale"),
        (lambda: AddedNoise(("ward",)).apply(drawn()), "a number"),
        (lambda: OptimalAverages(Roles(("a", "b")), Rules()), "one column"),
    ],
)
def test_wrong_parameters_are_refused(make: Any, match: str) -> None:
    with pytest.raises(InvalidParameter, match=match):
        make()


def test_only_some_rows_of_a_large_table_are_looked_for() -> None:
    table = Table.of({"a": list(range(1100))})
    assert linked(table, table, ["a"]) == 1


def test_every_perturbation_and_bucket_is_on_the_page_with_attacks_that_are_there() -> None:
    page = (Path(__file__).parents[2] / "docs" / "disguise.md").read_text("utf-8").splitlines()
    kinds: list[Any] = [*perturbations().values(), Anatomy, Slicing]
    for kind in kinds:
        row = next(line for line in page if line.startswith(f"| `{kind.__name__}` |"))
        assert set(kind.attacks) <= set(attacks())
        assert all(f"`{attack}`" in row for attack in kind.attacks)

"""Rows that stand alone, against definitions and small populations that are gone through in full."""

from __future__ import annotations

import json
from itertools import combinations
from math import comb, exp, prod
from typing import Any

import numpy as np
import pytest

from dither.disguise import Mondrian, Roles, Rules, Table
from dither.disguise.report import map_told, uniques_told
from dither.disguise.tradeoff import tradeoff
from dither.disguise.uniques import (
    household_risk,
    pitman_fit,
    pitman_likelihood,
    pitman_uniques,
    population_uniques,
    right_matches,
    special_uniques,
    zayatz,
)
from dither.disguise.weighted import found_again, weighted_risk
from dither.errors import InvalidParameter

GENERATOR = np.random.default_rng()


def partitions(rows: int, alpha: float, theta: float) -> dict[tuple[int, ...], float]:
    """Return the probability of all sizes of classes, seating rows one by one: the definition of Pitman's model."""
    found: dict[tuple[int, ...], float] = {(1,): 1.0}
    for seated in range(1, rows):
        after: dict[tuple[int, ...], float] = {}
        for sizes, chance in found.items():
            for place, size in enumerate(sizes):
                other = tuple(sorted((*sizes[:place], size + 1, *sizes[place + 1 :])))
                after[other] = after.get(other, 0.0) + chance * (size - alpha) / (theta + seated)
            fresh = tuple(sorted((*sizes, 1)))
            after[fresh] = after.get(fresh, 0.0) + chance * (theta + len(sizes) * alpha) / (theta + seated)
        found = after
    return found


@pytest.mark.parametrize("most", [1, 2, 3])
def test_minimal_uniques_are_those_of_the_definition(most: int) -> None:
    for _ in range(5):
        columns = {name: GENERATOR.integers(0, 3, 12).tolist() for name in "abcd"}
        rows = list(zip(*columns.values(), strict=True))

        def alone(row: int, places: tuple[int, ...], rows: list[Any] = rows) -> bool:
            return sum(all(rows[row][one] == other[one] for one in places) for other in rows) == 1

        scores = []
        for row in range(12):
            score = 0
            for size in range(1, most + 1):
                for places in combinations(range(4), size):
                    subsets = [some for less in range(1, size) for some in combinations(places, less)]
                    if alone(row, places) and not any(alone(row, some) for some in subsets):
                        score += prod(4 - one for one in range(size, most + 1))
            scores.append(score)
        found = special_uniques(Table.of(columns), list("abcd"), most)
        assert found.scores.tolist() == scores
        assert found.any_row == sum(score > 0 for score in scores)


def test_too_many_sets_are_refused() -> None:
    table = Table.of({f"c{one}": [1] for one in range(40)})
    with pytest.raises(InvalidParameter, match="sets"):
        special_uniques(table, table.names, 3)
    found = special_uniques(table.taken(np.array([0, 0])), table.names)
    assert json.loads(json.dumps(found.to_dict())) == {"rows": [0, 0], "any": 0, "highest": 0}


@pytest.mark.parametrize(("alpha", "theta"), [(0.3, 1.5), (0.7, 4.0)])
def test_pitman_is_the_law_of_seating(alpha: float, theta: float) -> None:
    law = partitions(7, alpha, theta)
    assert sum(law.values()) == pytest.approx(1)
    expected = sum(chance * sizes.count(1) for sizes, chance in law.items())
    assert pitman_uniques(alpha, theta, 7) == pytest.approx(expected)
    other = partitions(7, 0.5, 2.0)
    ratios = [
        other[sizes] / law[sizes]
        - exp(pitman_likelihood(np.bincount(sizes), 0.5, 2.0) - pitman_likelihood(np.bincount(sizes), alpha, theta))
        for sizes in law
    ]
    assert max(map(abs, ratios)) < 1e-9


def test_the_fit_is_the_likeliest() -> None:
    counts = np.array([0, 30, 9, 5, 2, 1, 0, 1])
    best = pitman_likelihood(counts, *pitman_fit(counts))
    grid = [pitman_likelihood(counts, a, t) for a in np.linspace(0.01, 0.99, 40) for t in np.geomspace(0.01, 1e4, 40)]
    assert best >= max(grid) - 1e-6


def test_zayatz_is_the_rule_of_bayes() -> None:
    counts, population = np.array([0, 4, 2, 1]), 30
    rows = 4 + 2 * 2 + 3

    def one_of(size: int) -> float:
        return size * comb(population - size, rows - 1) / comb(population, rows)

    alone = 4 * one_of(1) / sum(counts[size] * one_of(size) for size in (1, 2, 3))
    assert zayatz(counts, population) == pytest.approx(4 * alone * population / rows)
    assert zayatz(np.array([0, 0, 5]), 20) == 0


def test_zayatz_counts_all_samples_of_a_population() -> None:
    """How likely a class of the population has one row in a sample, by going through all samples of five of nine."""
    classes = [1, 1, 2, 2, 3]
    people = [name for name, size in enumerate(classes) for _ in range(size)]
    samples = list(combinations(range(9), 5))
    for size in (1, 2, 3):
        home = classes.index(size)
        seen = sum(sum(people[one] == home for one in some) == 1 for some in samples) / len(samples)
        assert seen == pytest.approx(size * comb(9 - size, 4) / comb(9, 5))


@pytest.mark.parametrize("share", [0.2, 0.5])
def test_matches_are_those_of_all_samples_of_a_population(share: float) -> None:
    """Every subset of nine people: on average, f n1 + 2 (1 - f) n2 is f times the people who fit a row alone."""
    classes = [1, 1, 2, 2, 3]
    people = [name for name, size in enumerate(classes) for _ in range(size)]
    alone, fits, estimated = 0.0, 0.0, 0.0
    for number in range(1 << len(people)):
        seen = np.bincount([home for place, home in enumerate(people) if number >> place & 1], minlength=len(classes))
        chance = share ** int(seen.sum()) * (1 - share) ** (len(people) - int(seen.sum()))
        single, pairs = int(np.sum(seen == 1)), int(np.sum(seen == 2))
        alone += chance * single
        fits += chance * sum(size for size, count in zip(classes, seen, strict=True) if count == 1)
        estimated += chance * (share * single + 2 * (1 - share) * pairs)
    assert estimated == pytest.approx(share * fits)
    counts = np.array([0, 6, 3, 1])
    assert right_matches(counts, share) == pytest.approx(share * 6 / (share * 6 + 2 * (1 - share) * 3))
    assert right_matches(np.array([0, 0, 3]), share) is None
    assert right_matches(np.array([0, 3]), share) == 1


def test_scores_of_all_columns_are_factorials() -> None:
    """A row that one value of five columns sets apart scores 4!, as a set of s of A columns scores (A - s)!."""
    table = Table.of({name: [1 if name == "a" else 0, 0, 0] for name in "abcde"})
    assert special_uniques(table, list("abcde"), 5).scores.tolist() == [24, 0, 0]
    pair = Table.of({"a": [1, 1, 0, 0], "b": [1, 0, 1, 0], "c": [0] * 4, "d": [0] * 4})
    assert special_uniques(pair, list("abcd"), 4).scores.tolist() == [2, 2, 2, 2]


def test_weights_are_read_by_the_negative_binomial_law() -> None:
    for size, share in ((1, 0.1), (1, 1.0), (2, 0.3), (5, 0.02), (40, 0.5)):
        # The sum over sizes of the population's class, term by term.
        chance, total = share**size, 0.0
        for larger in range(size, 40_000):
            total += chance / larger
            chance *= larger / (larger - size + 1) * (1 - share)
        assert found_again(np.array([size]), np.array([share]))[0] == pytest.approx(total)
    table = Table.of({"age": [1, 2, 2], "w": [4, 1, 3]})
    found = weighted_risk(table, ["age"], "w")
    assert found.population == 8
    assert found.alone == pytest.approx(1 / 4)
    assert found.rows[1] == found.rows[2] == pytest.approx(found_again(np.array([2]), np.array([0.5]))[0])
    assert found.to_dict()["highest"] == found.rows.max()
    with pytest.raises(InvalidParameter, match="row 1"):
        weighted_risk(Table.of({"age": [1, 2], "w": [0.5, 2]}), ["age"], "w")
    with pytest.raises(InvalidParameter, match="one or more"):
        weighted_risk(Table.of({"age": [], "w": []}), ["age"], "w")


def test_a_whole_population_has_its_own_uniques() -> None:
    table = Table.of({"age": [1, 2, 3, 3, 4, 4]})
    found = population_uniques(table, ["age"], 1.0)
    assert (found.population, found.zayatz) == (6, 2)
    assert 0 <= found.pitman <= 6
    assert found.dis == 1
    for share, rule in ((0.0, "share"), (1e-300, "people")):
        with pytest.raises(InvalidParameter, match=rule):
            population_uniques(table, ["age"], share)
    for ages in ([1, 1, 1], [1, 2, 3]):
        assert 0 <= population_uniques(Table.of({"age": ages}), ["age"], 0.1).pitman <= 30


def test_a_household_is_found_by_any_of_its_members() -> None:
    table = Table.of({"age": [1, 1, 2, 2, 2], "home": ["x", "y", "x", "y", "z"]})
    assert household_risk(table, ["age"], "home") == pytest.approx(1 - (1 / 2) * (2 / 3))
    assert household_risk(table, ["age"], "home", np.array([0.1, 0.1, 0.2, 0.2, 0.5])) == pytest.approx(0.5)
    lone = Table.of({"age": [1, 1, 1, 1], "home": [None, None, None, "x"]})
    assert household_risk(lone, ["age"], "home") == pytest.approx(1 / 4)
    with pytest.raises(InvalidParameter, match="one or more rows"):
        household_risk(Table.of({"age": [], "home": []}), ["age"], "home")


def test_larger_classes_tell_less_and_cost_more() -> None:
    table = Table.of({"age": list(range(32)), "ill": ["a", "b"] * 16})
    points = tradeoff(Mondrian(Roles(("age",), ("ill",)), Rules()), table, [8, 2, 2, 4])
    assert [(one.rule, one.value) for one in points] == [("k", 2), ("k", 4), ("k", 8)]
    assert [one.marketer for one in points] == [1 / 2, 1 / 4, 1 / 8]
    assert [one.ncp for one in points] == pytest.approx([1 / 31, 3 / 31, 7 / 31])
    told = map_told(points) + uniques_told(special_uniques(table, ["age"]), None, 0.5)
    assert (len(told.parts), told.figures["map"][0]["value"], told.figures["household"]) == (2, 2, 0.5)
    with pytest.raises(InvalidParameter, match="one or more"):
        tradeoff(Mondrian(Roles(("age",)), Rules()), table, [])
    with pytest.raises(InvalidParameter, match="over one of k, l"):
        tradeoff(Mondrian(Roles(("age",)), Rules()), table, [1], "m")  # type: ignore[arg-type]
    closer = tradeoff(Mondrian(Roles(("age",), ("ill",)), Rules(k=2)), table, [0.25, 0.0, 0.5], "t")
    assert [one.value for one in closer] == [0.0, 0.25, 0.5]
    assert closer[0].ncp >= closer[-1].ncp
    assert "Other values of t" in str(map_told(closer).parts[0])

"""The search against a slower one, and the properties that make a smooth sensitivity smooth."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither.errors import InvalidParameter
from dither.privacy import DIFFERENT, L1, L2, LARGEST, ONE_WAY, Metric, Relation
from dither.privacy.sensitivity import (
    Listed,
    Rows,
    SensitivityMap,
    Universe,
    global_sensitivity,
    local_sensitivity,
    local_sensitivity_at_distance,
    smooth_sensitivity,
    worst_neighbours,
)
from tests.rationals import rationals

SMALL = [
    Universe((0, 1, 4), range(4), relation=Relation.ADD_REMOVE),
    Universe((0, 1, 4), 3, relation=Relation.REPLACE),
    Universe((0, 1, 4), range(1, 4), relation=Relation.REPLACE, rows=Rows.TUPLE),
    Universe((0, 1, 4, 9), range(5), relation=Relation.ADD_REMOVE, rows=Rows.SET),
]
QUERIES: dict[str, Callable[[Any], Any]] = {
    "sum": sum,
    "pair": lambda rows: [sum(rows), len(rows) - 2 * max(rows, default=0)],
    "table": lambda rows: np.array([[rows.count(0), rows.count(1)], [rows.count(4), len(rows)]]),
    "mean": lambda rows: Fraction(sum(rows), max(1, len(rows))),
    "float": lambda rows: sum(rows) / 3,
    "large": lambda rows: [sum(rows) * 2**70, -len(rows)],
    "constant": lambda _: 7,
    "nothing": lambda _: [],
}


@lru_cache
def distances(universe: Universe) -> Any:
    """Return how many changes lie between any two data sets: Floyd and Warshall's shortest paths."""
    listed = universe.graph.data_sets
    near = [set(universe.neighbours(data)) for data in listed]
    away = np.array([[0 if a == b else 1 if b in near[i] else 999 for b in listed] for i, a in enumerate(listed)])
    for k in range(len(listed)):
        away = np.minimum(away, away[:, k : k + 1] + away[k])
    return away


class Slow:
    """Global, local and smooth sensitivity straight from their definitions, over all pairs."""

    def __init__(self, query: Callable[[Any], Any], universe: Universe, metric: Metric) -> None:
        self.data, self.away = universe.graph.data_sets, distances(universe)
        answers = [query(each) for each in self.data]
        self.local = {
            data: max(
                (metric.measure(answers[i], answers[j]) for j in np.flatnonzero(self.away[i] == 1)), default=Fraction(0)
            )
            for i, data in enumerate(self.data)
        }

    def within(self, data: Any, distance: int) -> Any:
        row = self.away[self.data.index(data)]
        return max(self.local[other] for other, far in zip(self.data, row, strict=True) if far <= distance)

    def smooth(self, data: Any, beta: float) -> float:
        row = self.away[self.data.index(data)]
        return max(
            math.exp(-beta * far) * self.local[other] for other, far in zip(self.data, row, strict=True) if far < 999
        )


@pytest.mark.parametrize("universe", SMALL, ids=["added", "replaced", "ordered", "sets"])
@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES.keys())
@pytest.mark.parametrize("metric", [L1, L2, LARGEST, DIFFERENT], ids=repr)
def test_fast_and_slow_agree(universe: Universe, query: Callable[[Any], Any], metric: Metric) -> None:
    slow, fast = Slow(query, universe, metric), SensitivityMap(query, universe, metric)
    assert fast.everywhere == max(slow.local.values()) == global_sensitivity(query, universe, metric)
    for data in slow.data:
        assert fast.local(data) == slow.local[data]
        levels = fast.profile(data)
        assert levels == tuple(slow.within(data, s) for s in range(len(levels)))
        assert levels[-1] == slow.within(data, 998)
        assert fast.within(data, distance=50) == levels[-1]
        assert float(fast.smooth(data, beta="1/3")) == pytest.approx(slow.smooth(data, 1 / 3), rel=1e-12)
    data = slow.data[len(slow.data) // 2]
    assert local_sensitivity(query, data, universe, metric) == slow.local[data]
    for s in range(3):
        assert local_sensitivity_at_distance(query, data, universe, metric, distance=s) == slow.within(data, s)
    assert smooth_sensitivity(query, data, universe, metric, beta="1/3") == fast.smooth(data, beta="1/3")


@given(st.data(), st.sampled_from(SMALL), rationals("1/100", 3), st.sampled_from([L1, L2]))
@settings(max_examples=40, deadline=None)
def test_smooth_sensitivity_is_the_least_smooth_bound(
    data: st.DataObject, universe: Universe, beta: Fraction, metric: Metric
) -> None:
    """Above the local sensitivity, within e^beta between neighbours, and reached by any other such bound."""
    data_sets, starts, neighbours = universe.graph
    answer = dict(
        zip(
            data_sets,
            data.draw(st.lists(st.integers(-50, 50), min_size=len(data_sets), max_size=len(data_sets))),
            strict=True,
        )
    )
    found = SensitivityMap(answer.__getitem__, universe, metric)
    smooth = [float(found.smooth(each, beta=beta)) for each in data_sets]
    factor = math.exp(float(beta)) * (1 + 1e-12)
    for index, each in enumerate(data_sets):
        assert found.local(each) <= found.smooth(each, beta=beta) <= found.everywhere
        assert all(smooth[index] <= factor * smooth[other] for other in neighbours[starts[index] : starts[index + 1]])
    # A smooth bound is at least e^-beta times its neighbours': raising the local one step by step gives the least.
    least = [float(found.local(each)) for each in data_sets]
    for _ in data_sets:
        least = [
            max(
                [
                    least[index],
                    *(least[other] / math.exp(float(beta)) for other in neighbours[starts[index] : starts[index + 1]]),
                ]
            )
            for index in range(len(data_sets))
        ]
    assert smooth == pytest.approx(least, rel=1e-9)


def test_smooth_sensitivity_is_exact_or_rounded_up() -> None:
    universe = Universe(range(11), 3, relation=Relation.REPLACE)
    median: Callable[[Any], Any] = lambda rows: rows[1]  # noqa: E731
    # At distance 0 and 1 the median of (5, 5, 5) cannot and can move by 5: 5 / e.
    found = smooth_sensitivity(median, (5, 5, 5), universe, L1, beta=1)
    assert 0 < found - 5 * Fraction(Context(prec=60).exp(Decimal(-1))) < Fraction(1, 10**25)
    # At (0, 0, 10) one change already moves it by 10, the global sensitivity: nothing is rounded.
    assert smooth_sensitivity(median, (0, 0, 10), universe, L1, beta="1e-9") == 10


def test_worst_neighbours_are_neighbours_and_the_worst() -> None:
    universe = Universe(range(1, 11), range(1, 5), relation=Relation.ADD_REMOVE)
    pair = worst_neighbours(max, universe, L1)
    assert pair is not None
    first, second = pair
    assert second in set(universe.neighbours(first))
    assert abs(max(first) - max(second)) == 9
    assert worst_neighbours(max, Universe((1,), 1, relation=Relation.REPLACE), L1) is None
    assert global_sensitivity(max, Universe((1,), 1, relation=Relation.REPLACE), L1) == 0
    assert local_sensitivity(max, (1,), Universe((1,), 1, relation=Relation.REPLACE), L1) == 0


def test_euclidean_distances_are_rounded_up_only_at_the_end() -> None:
    universe = Universe((0, 1), range(2), relation=Relation.ADD_REMOVE)
    root = global_sensitivity(lambda rows: [len(rows), len(rows)], universe, L2)
    assert 0 < root**2 - 2 < Fraction(1, 10**25)
    assert global_sensitivity(lambda rows: [3 * len(rows), 4 * len(rows)], universe, L2) == 5


def test_only_what_is_near_is_visited() -> None:
    """A vast universe, of which the search meets a few data sets."""
    universe = Universe(range(100), range(60), relation=Relation.ADD_REMOVE)
    assert universe.count > 10**40
    assert local_sensitivity(sum, [50] * 5, universe, L1) == 99
    assert local_sensitivity_at_distance(max, [50] * 5, universe, L1, distance=1) == 49
    with pytest.raises(InvalidParameter, match="distance"):
        local_sensitivity_at_distance(max, [50] * 5, universe, L1, distance=4)


def test_tens_of_thousands_of_data_sets() -> None:
    """43,758 multisets of at most eight digits, and the sum of their squares."""
    universe = Universe(range(10), range(9), relation=Relation.ADD_REMOVE)
    assert universe.count == 43_758
    found = SensitivityMap(lambda rows: sum(row * row for row in rows), universe, L1)
    assert found.everywhere == 81
    assert found.local([]) == 81
    assert found.local([1] * 8) == 1
    assert found.within([1] * 8, distance=1) == 81


def test_other_neighbourhoods() -> None:
    """Three bits in a ring of Gray codes: the query is the number that is read."""
    codes = [0, 1, 3, 2, 6, 7, 5, 4]
    ring = Listed(codes, lambda code: [codes[codes.index(code) - 1], codes[(codes.index(code) + 1) % 8]])
    assert global_sensitivity(lambda code: code, ring, L1) == 4
    assert worst_neighbours(lambda code: code, ring, L1) in {(0, 4), (4, 0), (2, 6), (6, 2)}


@pytest.mark.parametrize(
    ("query", "metric", "parameter"),
    [
        (lambda rows: list(rows), L1, "query"),
        (lambda rows: math.nan if rows else 0, L1, "query"),
        (lambda rows: math.inf if rows else 0, L1, "query"),
        (lambda rows: "many" if rows else "none", L1, "query"),
        (lambda rows: [[1], [2, 3]] if rows else 0, L1, "query"),
        (lambda _: None, L1, "query"),
        (lambda _: 1j, L1, "query"),
        (7, L1, "query"),
        (lambda rows: [len(rows), -len(rows)], ONE_WAY, "metric"),
        (len, "L1", "metric"),
    ],
)
def test_refusals_name_the_parameter(query: Any, metric: Any, parameter: str) -> None:
    universe = Universe((0, 1), range(3), relation=Relation.ADD_REMOVE)
    for call in (
        lambda: global_sensitivity(query, universe, metric),
        lambda: local_sensitivity(query, (0,), universe, metric),
    ):
        with pytest.raises(InvalidParameter) as caught:
            call()
        assert caught.value.parameter == parameter


@pytest.mark.parametrize("beta", [0, -1, math.inf])
def test_beta_is_above_zero(beta: Any) -> None:
    with pytest.raises(InvalidParameter, match="beta"):
        smooth_sensitivity(len, (0,), SMALL[0], L1, beta=beta)


def test_numbers_of_every_kind_are_the_same_number() -> None:
    universe = Universe((0, 1), range(3), relation=Relation.ADD_REMOVE)
    for kind in (int, float, Fraction, np.int64, np.float32, np.longdouble, bool):
        assert global_sensitivity(lambda rows, kind=kind: kind(len(rows)), universe, L1) == 1
    tenth = global_sensitivity(lambda rows: len(rows) * 0.1, universe, L1)
    assert tenth == max(Fraction(0.1), Fraction(0.2) - Fraction(0.1))


def test_one_way_changes_can_be_measured() -> None:
    universe = Universe((0, 1), range(3), relation=Relation.ADD_REMOVE)
    assert global_sensitivity(lambda rows: [len(rows), sum(rows)], universe, ONE_WAY) == 1


def test_every_universe_agrees_with_products() -> None:
    """Bits in order, one flipped: the parity moves by one, and the sum of squares of prefix sums as enumerated."""
    universe = Universe((0, 1), 5, relation=Relation.REPLACE, rows=Rows.TUPLE)

    def query(bits: Any) -> int:
        return sum(sum(bits[:end]) ** 2 for end in range(6))

    largest = max(
        abs(query(bits) - query((*bits[:at], 1 - bits[at], *bits[at + 1 :])))
        for bits in product((0, 1), repeat=5)
        for at in range(5)
    )
    assert global_sensitivity(query, universe, L1) == largest

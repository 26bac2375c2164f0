"""Units of data and metrics on values."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither.errors import InvalidParameter
from dither.privacy import (
    DIFFERENT,
    EDGE,
    EVENT,
    EVENT_REPLACED,
    L1,
    L2,
    LARGEST,
    NODE,
    ONE_WAY,
    RATING,
    ROW,
    ROW_REPLACED,
    Metric,
    Relation,
    Unit,
    person,
    place,
    w_event,
)
from dither.privacy.distances import METRICS

UNITS = [ROW, ROW_REPLACED, EDGE, NODE, EVENT, EVENT_REPLACED, RATING]
NORMS = [L1, L2, LARGEST]
vectors = st.lists(st.integers(-(2**70), 2**70), min_size=1, max_size=5)


# Metrics


@pytest.mark.parametrize(
    ("metric", "first", "second", "expected"),
    [
        (L1, [1, 2, 3], [2, 0, 3], 3),
        (L2, [0, 0], [3, 4], 5),
        (L2, [0], [-7], 7),
        (LARGEST, [1, 2, 3], [2, -5, 3], 7),
        (ONE_WAY, [1, 2, 3], [2, 2, 5], 2),
        (ONE_WAY, [2, 2, 5], [1, 2, 3], 2),
        (ONE_WAY, [1, 2], [2, 1], None),
        (DIFFERENT, [1, 2], [1, 2], 0),
        (DIFFERENT, [1, 2], [1, 3], 1),
        (DIFFERENT, "yes", "no", 1),
        (DIFFERENT, "yes", "yes", 0),
        (L1, 5, 3, 2),
        (L1, [], [], 0),
        (L2, [], [], 0),
        (LARGEST, [], [], 0),
        (ONE_WAY, [], [], 0),
        (L1, [[1, 2], [3, 4]], [[0, 0], [0, 0]], 10),
        (L1, [1, 2], [1, 2, 3], None),
        (L2, [1, 2], [[1, 2]], None),
        (DIFFERENT, [1, 2], [1, 2, 3], 1),
    ],
    ids=str,
)
def test_measures(metric: Metric, first: Any, second: Any, expected: int | None) -> None:
    assert metric.measure(first, second) == expected
    assert metric.measure(second, first) == expected
    assert metric.measure(np.array(first), np.array(second)) == expected


def test_a_measure_is_exact_or_rounded_up() -> None:
    root = L2.measure([0, 0], [1, 1])
    assert root is not None
    assert 0 < root * root - 2 < Fraction(1, 10**20)
    # Floats count as what they are in memory, not as what they print.
    assert L1.measure([0.1], [0.3]) == Fraction(0.3) - Fraction(0.1)
    assert L1.measure([Fraction(1, 3)], [1]) == Fraction(2, 3)


@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.float16, np.float32, np.float64, np.longdouble])
def test_numpy_numbers_neither_overflow_nor_fail(kind: Any) -> None:
    for first, second in (([kind(1)], [kind(100)]), (kind(1), kind(100)), (np.array([1], kind), np.array([100], kind))):
        assert L1.measure(first, second) == 99
    big = np.iinfo(np.int64)
    for value in ([np.int64(big.min)], np.int64(big.min), np.array([big.min])):
        assert L1.measure(value, [np.int64(big.max)] if np.ndim(value) else np.int64(big.max)) == 2**64 - 1
    assert L2.measure([np.int64(2**62)] * 4, [np.int64(0)] * 4) == 2**63


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_at_no_distance(value: float) -> None:
    for metric in (L1, L2, LARGEST, ONE_WAY):
        assert metric.measure([value], [0.0]) is None
        assert metric.measure(np.array([value], np.float32), np.array([0], np.float32)) is None


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([1, "a"], ["1", "a"]),
        ([2**63, -1], [2**63 + 1, -1]),
        ([2**53, 0.5], [2**53 + 1, 0.5]),
        (1, "1"),
        (None, 0),
        ([1], [[1]]),
        (math.nan, 0.0),
    ],
    ids=str,
)
def test_values_are_told_apart_as_they_are(first: Any, second: Any) -> None:
    """A common array type would make some of these equal, and a change that nobody counts is one too many."""
    assert DIFFERENT.measure(first, second) == 1


@given(vectors, st.data())
@settings(deadline=None, max_examples=60)
def test_norms_are_metrics(first: list[int], data: st.DataObject) -> None:
    same_size = st.lists(st.integers(-(2**70), 2**70), min_size=len(first), max_size=len(first))
    second, third = data.draw(same_size), data.draw(same_size)
    for norm in NORMS:
        there, on, across = norm.measure(first, second), norm.measure(second, third), norm.measure(first, third)
        assert there is not None
        assert on is not None
        assert across is not None
        assert across <= (there + on) * (1 + Fraction(1, 10**20))
        assert (there == 0) == (first == second)
        assert there == norm.measure(second, first)
    one, two, most = (norm.measure(first, second) for norm in NORMS)
    assert most <= two * (1 + Fraction(1, 10**20))  # type: ignore[operator]
    assert two <= one * (1 + Fraction(1, 10**20))  # type: ignore[operator]
    assert one <= len(first) * most  # type: ignore[operator]
    # Exact against integers.
    assert one == sum(abs(a - b) for a, b in zip(first, second, strict=True))
    assert two**2 >= sum((a - b) ** 2 for a, b in zip(first, second, strict=True))  # type: ignore[operator]
    oneway = ONE_WAY.measure(first, second)
    changes = [a - b for a, b in zip(first, second, strict=True)]
    assert (oneway is None) == (min(changes) < 0 < max(changes))
    assert oneway is None or oneway == most


def test_metrics_have_names() -> None:
    assert {name: repr(metric) for name, metric in METRICS.items()} == {name: name for name in METRICS}
    assert str(L1) == "the sum of absolute changes"
    assert len({str(metric) for metric in METRICS.values()}) == len(METRICS) == 8


# Units


@pytest.mark.parametrize(
    ("first", "second", "added_or_removed", "replaced"),
    [
        ("abc", "abc", 0, 0),
        ("abc", "cab", 0, 0),
        ("abc", "abd", 2, 1),
        ("abc", "ab", 1, None),
        ("ab", "abb", 1, None),
        ("aab", "abb", 2, 1),
        ("abc", "def", 6, 3),
        ("", "", 0, 0),
        ("", "aa", 2, None),
    ],
)
def test_rows_between_data_sets(first: str, second: str, added_or_removed: int, replaced: int | None) -> None:
    for one, two in ((first, second), (second, first)):
        assert ROW.measure(one, two) == added_or_removed
        assert ROW_REPLACED.measure(one, two) == replaced
        assert place("euclidean").measure(one, two) is None


@pytest.mark.parametrize(
    ("first", "second", "apart"),
    [
        ([[1, 2], [3, 4]], [[3, 4]], 1),
        ([(1, 2)], [[1, 2]], 0),
        (np.array([[1, 2], [3, 4]]), np.array([[1, 2], [3, 5]]), 2),
        ([[1, "a"]], [["1", "a"]], 2),
        ([[1, [2, 3]]], [[1, [2, 4]]], 2),
        ([np.ones((2, 2))], [np.ones((2, 2))], 0),
        ([np.array([1, 2])], [[1, 2]], 0),
        ([None, "x"], ["x"], 1),
    ],
    ids=["lists", "tuple", "array", "types", "nested", "matrices", "mixed", "none"],
)
def test_rows_of_every_form(first: Any, second: Any, apart: int) -> None:
    assert ROW.measure(first, second) == apart


@given(st.lists(st.integers(0, 3), max_size=6), st.lists(st.integers(0, 3), max_size=6))
@settings(deadline=None, max_examples=60)
def test_the_distance_is_the_number_of_steps(first: list[int], second: list[int]) -> None:
    """By actually removing and adding."""
    steps, rest = 0, list(second)
    for row in first:
        if row in rest:
            rest.remove(row)
        else:
            steps += 1
    assert ROW.measure(first, second) == steps + len(rest)
    expected = steps if len(first) == len(second) else None
    assert ROW_REPLACED.measure(first, second) == expected


def test_what_one_change_touches() -> None:
    assert (ROW.touched, EDGE.touched, person("id", Relation.ADD_REMOVE).touched) == (1, 1, 1)
    # Out of one part and into another.
    assert (ROW_REPLACED.touched, EVENT_REPLACED.touched, person("id", Relation.REPLACE).touched) == (2, 2, 2)
    assert place("manhattan").touched == 2


def test_which_units_are_relaxed() -> None:
    assert not any(unit.is_relaxed for unit in [*UNITS, person("id", Relation.REPLACE)])
    assert all(unit.is_relaxed for unit in (w_event(3), place("euclidean"), Unit("label", Relation.REPLACE)))


def test_units_say_what_they_are() -> None:
    assert str(ROW) == "rows added or removed"
    assert str(EVENT_REPLACED) == "events replaced"
    assert str(person("patient", Relation.ADD_REMOVE)) == "people added or removed (all rows with one patient)"
    assert str(w_event(7)) == "windows added or removed (all events of one person within 7 steps)"
    assert str(place("great circle")) == "places moved (great circle)"


def test_units_are_values() -> None:
    assert person("id", Relation.REPLACE) == person("id", Relation.REPLACE)
    units = [*UNITS, person("id", Relation.REPLACE), person("name", Relation.REPLACE), w_event(1), w_event(2)]
    assert len(set(units)) == len(units)


@pytest.mark.parametrize(
    ("build", "parameter"),
    [
        (lambda: person("two words", Relation.REPLACE), "id_column"),
        (lambda: person(None, Relation.REPLACE), "id_column"),  # type: ignore[arg-type]
        (lambda: person("id", Relation.METRIC), "relation"),
        (lambda: person("id", "replaced"), "relation"),  # type: ignore[arg-type]
        (lambda: w_event(0), "width"),
        (lambda: w_event(1.0), "width"),  # type: ignore[arg-type]
        (lambda: place("furlongs"), "metric"),
    ],
)
def test_refusals_name_the_parameter(build: Any, parameter: str) -> None:
    with pytest.raises(InvalidParameter) as caught:
        build()
    assert caught.value.parameter == parameter

"""Calculators of capacity, discrepancy and hardness: closed forms, enumeration and known theorems."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dither.errors import InvalidParameter
from dither.mechanisms.core.accuracy import discrete_laplace_reach
from dither.publish.interactive.capacity import (
    MOST_QUESTIONS,
    capacity,
    determinant_bound,
    discrepancy,
    family_variances,
    half_planes,
    half_space_error,
    hereditary_discrepancy,
    is_hard,
    left_open,
    ranges,
)

TRIANGLE = [[1, 1, 0], [0, 1, 1], [1, 0, 1]]


def test_capacity_is_the_largest_number_that_fits() -> None:
    found = capacity(rows=10**6, cells=64, error=500, epsilon=1)
    assert discrete_laplace_reach(found.separate, 0.05 / found.separate) <= 500
    assert discrete_laplace_reach(found.separate + 1, 0.05 / (found.separate + 1)) > 500
    # The literature's promise: with enough rows relative to the error, a model answers any number.
    assert capacity(rows=10**8, cells=2**20, error=3 * 10**7, epsilon=1).iterative == MOST_QUESTIONS
    assert capacity(rows=10**6, cells=2**20, error=1, epsilon="1/100").separate == 0
    with pytest.raises(InvalidParameter):
        capacity(rows=10, cells=2, error=1, epsilon=1, confidence=1)


def test_discrepancy_by_hand() -> None:
    """Points of a line marked in turn keep every range within 1; of three, two have the same mark."""
    assert discrepancy(ranges(7)) == hereditary_discrepancy(ranges(7)) == 1
    assert discrepancy(TRIANGLE) == 2
    # Rows of a Hadamard matrix: at least half the root of their number, times a half.
    hadamard = np.array([[1, 1], [1, -1]])
    for _ in range(2):
        hadamard = np.kron(hadamard, [[1, 1], [1, -1]])
    sets = ((hadamard + 1) // 2).tolist()
    assert discrepancy(sets) >= math.sqrt(8) / 4


@pytest.mark.parametrize("sets", [TRIANGLE, ranges(5), [[1, 0, 1, 1], [1, 1, 0, 1], [0, 1, 1, 1]]])
def test_determinants_bound_the_hereditary_discrepancy(sets: list[list[int]]) -> None:
    assert determinant_bound(sets) <= hereditary_discrepancy(sets)


def test_accurate_answers_to_all_sets_leave_four_times_the_error_open() -> None:
    """Dinur and Nissim's first theorem, by enumeration: at most 4 E rows."""
    for rows in (3, 5, 7):
        every = [list(bits) for bits in itertools.product((0, 1), repeat=rows)]
        for error in (0, 0.5, 1, 2):
            assert left_open(every, error) <= 4 * error
        assert left_open(every, 0) == 0
    # One question about all rows leaves nearly everything open.
    assert left_open([[1] * 8], 0) == 8


def test_what_is_left_open_is_what_two_tables_can_differ_in() -> None:
    sets = [[1, 1, 0, 0], [0, 1, 1, 0], [1, 0, 1, 1]]
    table, error = np.array(sets), 0.5
    farthest = 0
    for one, other in itertools.product(itertools.product((0, 1), repeat=4), repeat=2):
        # Some answers are within the error of both tables exactly if theirs are within twice the error.
        if np.abs(table @ (np.array(one) - np.array(other))).max() <= 2 * error:
            farthest = max(farthest, sum(a != b for a, b in zip(one, other, strict=True)))
    assert left_open(sets, error) == farthest


def test_half_planes_are_all_sets_that_a_line_cuts_off() -> None:
    """Lines at random find nothing else, and in general position there are as many as Cover's theorem says."""
    points = [(0, 0), (5, 1), (2, 7), (8, 6), (3, 3)]
    found = {tuple(one) for one in half_planes(points)}
    assert len(found) == 2 * sum(math.comb(4, size) for size in range(3))
    rng = np.random.default_rng()
    for _ in range(300):
        normal, at = rng.normal(size=2), rng.normal() * 10
        assert tuple(int(one) for one in (np.array(points) @ normal > at)) in found
    on_a_line = {tuple(one) for one in half_planes([(0, 0), (1, 1), (2, 2), (4, 4)])}
    ends = {tuple(int(place < cut) for place in range(4)) for cut in range(5)}
    assert on_a_line == ends | {tuple(1 - one for one in bits) for bits in ends}
    assert hereditary_discrepancy(half_planes(points)) >= 1


def test_families_at_the_same_epsilon() -> None:
    """The textbook's example: 40 to 79 and 40 to 59, of four ages. Print compares noise at different losses."""
    found = family_variances([[1, 1, 0, 0], [0, 1, 0, 0]], epsilon=1)
    assert math.isclose(found["laplace"], 2 * 2 * 2**2)
    assert math.isclose(found["partition"], 2 * (2 + 1))
    # Of a query that is asked for twice, one measurement is enough.
    twice = family_variances([[1, 1], [1, 1]])
    assert math.isclose(twice["laplace"], 16)
    assert math.isclose(twice["separation"], 4)


def test_hardness_and_orders() -> None:
    assert is_hard(101, 10)
    assert not is_hard(100, 10)
    assert not is_hard(1000, 10, "adaptive")
    assert is_hard(1001, 10, "adaptive")
    assert half_space_error(64, 3) == pytest.approx(16)
    for wrong in (
        lambda: is_hard(1, 1, "other"),
        lambda: ranges(13),
        lambda: half_planes([]),
        lambda: discrepancy([[2]]),
    ):
        with pytest.raises(InvalidParameter):
            wrong()

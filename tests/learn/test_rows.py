"""Rows become whole numbers by a function of each row alone, and sums of them are exact."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dither.errors import InvalidParameter, InvalidValue
from dither.learn import rows
from dither.learn.rows import (
    STEPS,
    Box,
    exact_products,
    exact_sums,
    into_ball,
    labelled,
    records_of,
    unbounded_products,
)
from dither.mechanisms.core.public import PublicArray

ODD = st.floats(width=64) | st.sampled_from([0.0, -0.0, 1e308, -1e308, 5e-324, float("nan"), float("inf")])


def box(lower: list[float], upper: list[float]) -> Box:
    return Box(PublicArray(lower), PublicArray(upper))


def slow_step(value: float, lower: float, upper: float) -> int:
    """The step of one number, in exact arithmetic but for the final rounding to even."""
    centre = Fraction(0) if lower <= 0 <= upper else Fraction(lower) / 2 + Fraction(upper) / 2
    scale = max(Fraction(upper) - centre, centre - Fraction(lower))
    clipped = centre if np.isnan(value) else Fraction(min(max(value, lower), upper))
    return round((clipped - centre) / scale * STEPS)


@given(arrays(np.float64, (5, 3), elements=ODD))
def test_steps_are_those_of_exact_arithmetic_give_or_take_one(values: np.ndarray) -> None:
    lower, upper = [-1.0, 0.0, 17.5], [3.0, 1e6, 90.0]
    steps = box(lower, upper).steps(values)
    for row, found in zip(values.tolist(), steps.tolist(), strict=True):
        for value, low, high, step in zip(row, lower, upper, found, strict=True):
            assert step == int(step)
            assert abs(step - slow_step(value, low, high)) <= 1
            assert abs(step) <= STEPS


@given(arrays(np.int64, (6, 4), elements=st.integers(-(2**13), 2**13)), st.integers(1, 2**14), st.integers(1, 2**15))
def test_a_record_in_the_ball_is_never_longer_than_its_target(whole: np.ndarray, radius: int, target: int) -> None:
    short = into_ball(whole.astype(float), radius, target)
    for before, after in zip(whole.tolist(), short.tolist(), strict=True):
        length = sum(int(entry) ** 2 for entry in after)
        assert all(entry == int(entry) for entry in after)
        assert length <= target**2
        if target == radius and sum(entry**2 for entry in before) <= radius**2:
            assert all(abs(kept - entry) <= 0 for kept, entry in zip(after, before, strict=True))


def test_what_becomes_of_a_row_does_not_depend_on_where_it_stands() -> None:
    generator = np.random.default_rng()
    values = generator.normal(size=(1000, 7)) * 10
    wide = box([-20.0] * 7, [15.0] * 7)
    together = into_ball(wide.steps(values), 3000, 2**14)
    alone = np.vstack([into_ball(wide.steps(values[place : place + 1]), 3000, 2**14) for place in range(1000)])
    assert (together == alone).all()


def test_sums_are_those_of_python_integers_in_any_order() -> None:
    generator = np.random.default_rng()
    left = generator.integers(-(2**20), 2**20, size=(300, 3))
    right = generator.integers(-(2**15), 2**15, size=(300, 2))
    truth = [[sum(int(a[i]) * int(b[j]) for a, b in zip(left, right, strict=True)) for j in range(2)] for i in range(3)]
    assert exact_products(left.astype(float), right.astype(float)).tolist() == truth
    order = generator.permutation(300)
    assert exact_products(left[order].astype(float), right[order].astype(float)).tolist() == truth
    assert exact_sums(left.astype(float)).tolist() == [sum(int(a[i]) for a in left) for i in range(3)]


def test_blocks_of_rows_stay_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    left = np.full((1000, 1), float(2**20))
    right = np.full((1000, 1), float(2**15 - 1))
    monkeypatch.setattr("dither.learn.rows._ROWS_AT_ONCE", 7)
    assert exact_products(left, right).tolist() == [[1000 * 2**20 * (2**15 - 1)]]


def test_labels_that_are_no_class_leave_their_row_out() -> None:
    rows = np.array([[1.0, label] for label in (0, 1, 2, -1, 0.5, float("nan"), float("inf"), 3)])
    values, classes = labelled(rows, 3)
    assert classes.tolist() == [0, 1, 2]
    assert len(values) == 3


@pytest.mark.parametrize(
    ("lower", "upper"),
    [([0.0], [0.0]), ([1.0], [0.0]), ([-1e308], [1e308]), ([0.0, 0.0], [1.0]), ([0.0], [1e-300])],
)
def test_bounds_that_bound_nothing_are_refused(lower: list[float], upper: list[float]) -> None:
    with pytest.raises(InvalidParameter, match="upper"):
        box(lower, upper)


@pytest.mark.parametrize("data", [None, [[1.0]], np.zeros(3), np.zeros((2, 3)), np.array([["a", "b"]])])
def test_rows_of_another_type_or_width_are_refused(data: object) -> None:
    with pytest.raises(InvalidValue, match="data"):
        records_of(data, 1)


def test_sums_beyond_64_bits_saturate(monkeypatch: pytest.MonkeyPatch) -> None:
    # Would catch: a sum that wraps round. One record more would then move it by 2^64, whatever the noise.
    monkeypatch.setattr(rows, "_ROWS_AT_ONCE", 1)
    many = np.full((2**11, 1), 2.0**26)
    assert unbounded_products(many, many).tolist() == [[2**63]]
    for fewer in (many, many[1:], -many):
        signs = np.sign(fewer)
        assert exact_products(fewer, np.abs(fewer)).tolist() == [[int(signs[0, 0]) * 2**60]]
        assert exact_sums(fewer * 2**26).tolist() == [int(signs[0, 0]) * 2**60]

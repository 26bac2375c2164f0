"""Digits follow the interval: two of its half-width, and no interval becomes shorter by being shown."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.pages.digits import alone, bracketed, in_digits, two_digits

FINITE = st.floats(-1e12, 1e12, allow_nan=False)


def _number(text: str) -> Decimal:
    return Decimal(text.replace(",", ""))


@given(st.tuples(FINITE, FINITE, FINITE).map(sorted))
def test_what_is_shown_holds_what_was_computed(drawn: list[float]) -> None:
    low, value, high = drawn
    shown, first, last = map(_number, in_digits(value, low, high))
    half = (Decimal(high) - Decimal(low)) / 2
    if half > Decimal("1e-6") * max(abs(Decimal(low)), abs(Decimal(high)), Decimal(1)):
        # The slack is for what floats add, a billionth of a step.
        assert first <= Decimal(low) + half / 10**8
        assert last >= Decimal(high) - half / 10**8
        assert last - first <= 2 * half * Decimal("1.21")
        assert first <= shown <= last


@given(st.tuples(st.integers(0, 10**9), st.integers(0, 10**9), st.integers(0, 10**9)).map(sorted))
def test_a_count_has_no_decimals(drawn: list[int]) -> None:
    low, value, high = drawn
    for text in in_digits(value, low, high):
        assert "." not in text


@pytest.mark.parametrize(
    ("drawn", "shown"),
    [
        ((3165, 3098, 3232), "3165 [3098, 3232]"),
        ((17.2176, 13.7364, 20.6988), "17.2 [13.7, 20.7]"),
        ((660.758, 511.2, 810.3), "660 [510, 820]"),
        ((363460000, 18408204, 708511796), "360,000,000 [10,000,000, 710,000,000]"),
        ((0.1 + 0.2, 0.1, 0.2 + 0.3), "0.30 [0.10, 0.50]"),
        ((-0.001, -1.0, 1.0), "0.0 [-1.0, 1.0]"),
        ((3, 1.2, 4.8), "3 [1, 5]"),
        ((5, 5, 5), "5 [5, 5]"),
        ((4.0, 1.0, float("inf")), "4.0 [1.0, inf]"),
        ((1.25e30, 1e30, 1.5e30), "1.25e30 [1.00e30, 1.50e30]"),
        ((Fraction(1, 3), Fraction(1, 4), Fraction(1, 2)), "0.33 [0.25, 0.50]"),
    ],
)
def test_numbers_of_all_sizes(drawn: tuple[float, float, float], shown: str) -> None:
    value, low, high = in_digits(*drawn)
    assert f"{value} [{low}, {high}]" == shown


def test_what_has_no_interval_is_shown_alone() -> None:
    assert [alone(value) for value in (True, "ward", None, 0, 0.0, 123456.789)] == [
        "True",
        "ward",
        "NULL",
        "0",
        "0",
        "123,500",
    ]
    assert bracketed(4, 5) == "[4, 5]"
    assert [two_digits(size) for size in (0.999, 100.1, float("inf"))] == ["1", "110", "inf"]

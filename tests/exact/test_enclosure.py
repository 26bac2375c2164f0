"""The rational bounds on exp, log, tanh and square roots, against truths found another way.

Two truths, neither of them a line of ``dither.exact``: decimals of 120 digits (or more where the argument needs them),
and, for moderate arguments, the exact rational partial sums of a series with a remainder term.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from dither.exact import exp_down, exp_up, log_down, log_up, round_up, sqrt_down, sqrt_up, tanh_up, to_float
from dither.exact.enclosure import decimal_down, decimal_up, exp_decimals, round_down
from tests.rationals import rationals

#: How far from the truth a bound may be, relative to it.
TIGHT = Fraction(1, 10**20)
#: What the decimal truths below are themselves worth.
SLACK = Fraction(1, 10**90)


def sized(lowest: int, highest: int) -> st.SearchStrategy[Fraction]:
    """Positive rationals of every magnitude between 10^lowest and 10^highest."""

    def build(numerator: int, denominator: int, power: int) -> Fraction:
        return Fraction(numerator, denominator) * Fraction(10) ** power

    digits = st.integers(min_value=1, max_value=10**6)
    return st.builds(build, digits, digits, st.integers(min_value=lowest, max_value=highest))


def decimal_truth(function: Callable[[Decimal], Decimal], x: Fraction, digits: int = 120) -> Fraction:
    with localcontext() as context:
        context.prec, context.Emin, context.Emax = digits, MIN_EMIN, MAX_EMAX
        return Fraction(function(Decimal(x.numerator) / Decimal(x.denominator)))


def exp_series(x: Fraction) -> tuple[Fraction, Fraction]:
    """Return rationals around e^x for 0 <= x <= 2, by the series and a geometric bound on its remainder."""
    total, term, count = Fraction(1), Fraction(1), 0
    while term > Fraction(1, 10**45):
        count += 1
        term = term * x / count
        total += term
    # The terms left fall at least as fast as halves.
    return total, total + 2 * term


def log_series(x: Fraction) -> tuple[Fraction, Fraction]:
    """Return rationals around ln x for x in [1/2, 2]: twice the inverse hyperbolic tangent of (x - 1) / (x + 1)."""
    ratio = (x - 1) / (x + 1)
    total, power, count = Fraction(0), ratio, 0
    for count in range(100):
        total += power / (2 * count + 1)
        power *= ratio * ratio
    rest = abs(power) / (1 - ratio * ratio)
    return 2 * (total - rest), 2 * (total + rest)


def near(bound: Fraction, truth: Fraction) -> bool:
    return abs(bound - truth) <= TIGHT * abs(truth)


# exp


@given(st.one_of(sized(-60, 2), sized(-60, 2).map(lambda x: -x)))
@example(Fraction(0))
@example(Fraction(1))
@example(Fraction(1, 10**300))
@example(Fraction(-1, 10**300))
@example(Fraction(1000))
@example(Fraction(-4999))
@settings(deadline=None, max_examples=300)
def test_exp_brackets_the_truth(x: Fraction) -> None:
    assume(abs(x) < 5000)
    # Far more digits than the distance from 1, so that the truth itself does not round to 1.
    truth = decimal_truth(Decimal.exp, x, 420 if abs(x) < Fraction(1, 10**30) else 120)
    low, high = exp_down(x), exp_up(x)
    assert low <= truth * (1 + SLACK)
    assert high >= truth * (1 - SLACK)
    assert near(low, truth)
    assert near(high, truth)


@given(rationals(0, 2, 50))
@settings(deadline=None, max_examples=60)
def test_exp_brackets_its_series(x: Fraction) -> None:
    low, high = exp_series(x)
    assert exp_down(x) <= high
    assert exp_up(x) >= low
    assert exp_down(-x) <= 1 / low
    assert exp_up(-x) >= 1 / high


def test_exp_far_below_stays_a_small_number() -> None:
    """Without a floor the bound would be a fraction with millions of digits, and whoever asked would wait for it."""
    for x in (Fraction(-5001), Fraction(-(10**9)), Fraction(-(10**30))):
        assert exp_down(x) == 0
        assert 0 < exp_up(x) == exp_up(Fraction(-5000))
        assert exp_up(x).denominator.bit_length() < 8192


@given(sized(-40, 3), sized(-40, 3))
@settings(deadline=None)
def test_exp_is_monotone(a: Fraction, b: Fraction) -> None:
    assume(max(a, b) < 5000)
    low, high = sorted((a, b))
    assert exp_up(low) <= exp_up(high)
    assert exp_down(low) <= exp_down(high)
    assert exp_up(-high) <= exp_up(-low)


@given(st.one_of(sized(-20, 2), sized(-20, 2).map(lambda x: -x)), st.integers(min_value=3, max_value=60))
@settings(deadline=None)
def test_decimals_bracket_at_any_number_of_digits(x: Fraction, digits: int) -> None:
    assume(abs(x) < 10**4)
    assert decimal_down(x, digits) <= x <= decimal_up(x, digits)
    low, high = exp_decimals(x, digits)
    truth = decimal_truth(Decimal.exp, x, 160)
    assert Fraction(low) <= truth * (1 + SLACK)
    assert Fraction(high) >= truth * (1 - SLACK)


# log


@given(sized(-300, 300))
@example(Fraction(1))
@example(Fraction(2))
@example(Fraction(1, 2**8000))
@example(Fraction(2**8000))
@settings(deadline=None, max_examples=300)
def test_log_brackets_the_truth(x: Fraction) -> None:
    truth = decimal_truth(Decimal.ln, x)
    low, high = log_down(x), log_up(x)
    assert low <= high
    assert low <= truth + SLACK
    assert high >= truth - SLACK
    assert near(low, truth)
    assert near(high, truth)


@given(st.integers(min_value=1, max_value=80), st.integers(min_value=1, max_value=999), st.sampled_from([1, -1]))
@example(60, 1, 1)
@example(60, 1, -1)
@example(300, 7, -1)
@settings(deadline=None, max_examples=200)
def test_log_near_one(power: int, digits: int, sign: int) -> None:
    """Where the logarithm loses its digits, and where a bound of zero would have a neighbour nobody can write down."""
    x = 1 + sign * Fraction(digits, 10 ** (power + 3))
    truth = decimal_truth(Decimal.ln, x, 2 * power + 140)
    if power > 100:
        step = x - 1
        truth = step - step * step / 2
    assert log_down(x) <= truth + SLACK * abs(truth)
    assert log_up(x) >= truth - SLACK * abs(truth)
    assert near(log_down(x), truth)
    assert near(log_up(x), truth)


@given(rationals(Fraction(1, 2), 2, 50))
@settings(deadline=None, max_examples=60)
def test_log_brackets_its_series(x: Fraction) -> None:
    low, high = log_series(x)
    assert log_down(x) <= high
    assert log_up(x) >= low


@given(sized(-30, 30), sized(-30, 30))
@settings(deadline=None)
def test_log_is_monotone(a: Fraction, b: Fraction) -> None:
    low, high = sorted((a, b))
    assert log_up(low) <= log_up(high)
    assert log_down(low) <= log_down(high)


@given(sized(-30, 2))
@settings(deadline=None)
def test_exp_and_log_are_inverse_on_the_safe_side(x: Fraction) -> None:
    assume(x < 1000)
    assert log_up(exp_up(x)) >= x
    assert log_down(exp_down(x)) <= x
    assert exp_up(log_up(x)) >= x
    assert exp_down(log_down(x)) <= x


# tanh


@given(sized(-60, 1))
@example(Fraction(0))
@example(Fraction(64))
@example(Fraction(6401, 100))
@example(Fraction(10**9))
@settings(deadline=None, max_examples=300)
def test_tanh_is_never_below_and_close(x: Fraction) -> None:
    def tanh(value: Decimal) -> Decimal:
        grown = (2 * value).exp()
        return (grown - 1) / (grown + 1)

    found = tanh_up(x)
    if x < Fraction(1, 10**30):
        truth = x - x**3 / 3
    elif x > 200:
        truth = Fraction(1)
    else:
        truth = decimal_truth(tanh, x, 200)
    assert found >= truth * (1 - SLACK)
    assert near(found, truth)
    assert found <= min(x, Fraction(1))


@given(sized(-30, 2), sized(-30, 2))
@settings(deadline=None)
def test_tanh_is_monotone(a: Fraction, b: Fraction) -> None:
    """Up to the last of its 96 bits: a bound that happens to be a short fraction is kept, not rounded."""
    low, high = sorted((a, b))
    assert tanh_up(low) <= tanh_up(high) * (1 + Fraction(1, 2**90))


# Square roots


@given(sized(-300, 300))
@example(Fraction(2))
@example(Fraction(1, 2**4000 + 1))
@example(Fraction(2**4000 + 1))
@settings(deadline=None, max_examples=300)
def test_square_roots_bracket(x: Fraction) -> None:
    low, high = sqrt_down(x), sqrt_up(x)
    assert low * low <= x <= high * high
    assert high - low <= TIGHT * low


@given(st.fractions(min_value=0))
@settings(deadline=None)
def test_the_root_of_a_square_is_exact(root: Fraction) -> None:
    assert sqrt_up(root * root) == sqrt_down(root * root) == root


# Rounding


@given(
    st.fractions() | sized(-200, 200).map(lambda x: -x) | sized(-200, 200), st.sampled_from([4, 20, 53, 64, 96, 2048])
)
@settings(deadline=None, max_examples=300)
def test_rounding_is_outwards_and_close(x: Fraction, bits: int) -> None:
    low, high = round_down(x, bits), round_up(x, bits)
    assert low <= x <= high
    assert high - low <= abs(x) * Fraction(4, 2**bits)
    for rounded in (low, high):
        # Either left alone, or a number of few bits over a power of two.
        odd = abs(rounded.numerator) // (rounded.numerator & -rounded.numerator) if rounded else 0
        assert rounded == x or (odd.bit_length() <= bits + 1 and rounded.denominator.bit_count() == 1)


def test_short_fractions_are_kept() -> None:
    assert round_up(Fraction(1, 3)) == Fraction(1, 3)
    assert round_up(Fraction(-1, 10)) == Fraction(-1, 10)
    assert round_up(Fraction(0)) == 0


@given(st.fractions() | sized(-400, 400).map(lambda x: -x) | sized(-400, 400))
@example(Fraction(1, 10**400))
@example(Fraction(-1, 10**400))
@example(Fraction(10**400))
@example(Fraction(-(10**400)))
@example(Fraction(2**53 + 1))
@example(Fraction(0))
@settings(deadline=None, max_examples=300)
def test_a_float_lies_on_the_stated_side(x: Fraction) -> None:
    low, high = to_float(x, "down"), to_float(x, "up")
    assert low <= x <= high
    # Neighbours: nothing closer could have been given.
    assert low == high or math.nextafter(low, math.inf) == high


@pytest.mark.parametrize("offender", [Fraction(0), Fraction(-1)])
def test_no_logarithm_of_what_has_none(offender: Fraction) -> None:
    for bound in (log_up, log_down):
        with pytest.raises((ValueError, ZeroDivisionError)):
            bound(offender)

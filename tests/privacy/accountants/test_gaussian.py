"""The normal tail and the curve of Gaussian noise: enclosed, against other ways to compute them."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_ndtr, ndtr

from dither.errors import InvalidParameter
from dither.privacy.accountants import analytic_delta, analytic_epsilon, analytic_sigma, classical_sigma
from dither.privacy.normal import FAR, hockey_stick, tail
from tests.rationals import rationals

TIGHT = Fraction(1, 10**30)


def fraction_of_tail(x: Fraction) -> Decimal:
    """The tail by its continued fraction, phi(x) / (x + 1/(x + 2/(x + 3/...))): nothing in common with the series."""
    with localcontext() as context:
        context.prec = 60
        at = Decimal(x.numerator) / Decimal(x.denominator)
        value = at
        for n in range(20_000 if x < 4 else 2000, 0, -1):
            value = at + n / value
        pi = Decimal("3.14159265358979323846264338327950288419716939937510582097494")
        return (-at * at / 2).exp() / (2 * pi).sqrt() / value


@pytest.mark.parametrize("x", ["2", "7/2", "5", "9.25", "12", "20", "37.5", "59"])
def test_tail_against_its_continued_fraction(x: str) -> None:
    low, high = map(Fraction, tail(Fraction(x)))
    truth = Fraction(fraction_of_tail(Fraction(x)))
    assert low * (1 - TIGHT) <= truth <= high * (1 + TIGHT)
    assert high <= low * (1 + TIGHT)


@given(rationals(-8, 8, 1000))
@settings(max_examples=60)
def test_tail_against_scipy_and_its_mirror(x: Fraction) -> None:
    low, high = tail(x)
    assert float(high) == pytest.approx(float(ndtr(-float(x))), rel=1e-12)
    below, above = tail(-x)
    assert low + below <= 1 <= high + above


@given(rationals(0, FAR, 1000), st.sampled_from([5, 20, 40]))
@settings(max_examples=30)
def test_more_digits_lie_within_fewer(x: Fraction, digits: int) -> None:
    """The error of the integer series is bounded for every number of digits, and the bounds are as close as stated."""
    low, high = tail(x, digits)
    closer_low, closer_high = tail(x, 2 * digits + 10)
    assert low < closer_low < closer_high < high
    with localcontext() as context:
        context.prec = 3 * digits
        assert high - low < low.scaleb(-digits)


def test_tail_far_out_is_an_enclosure() -> None:
    low, high = tail(Fraction(FAR + 1))
    assert low == 0
    assert fraction_of_tail(Fraction(FAR + 1)) < high
    assert 0 < tail(Fraction(FAR))[0] < high


def test_scipy_is_as_accurate_as_the_grids_assume() -> None:
    """Loss distributions take SciPy's normal tail to be within 2^-40; measured here with a factor of eight to spare."""
    for x in np.linspace(-11.9, 12.1, 241):
        exact = tail(Fraction(float(x)))[1]
        assert abs(Decimal(float(ndtr(-x))) / exact - 1) < Decimal(2.0**-43)


def test_numpy_is_as_accurate_as_the_grids_assume() -> None:
    """exp, expm1 and log1p within four units of the last place; the bounds have room for that."""
    points = np.concatenate([np.linspace(-300, 300, 401), np.geomspace(1e-12, 1, 100), -np.geomspace(1e-12, 0.9, 100)])
    with localcontext() as context:
        context.prec = 60
        for function, exact, at in (
            (np.exp, lambda x: x.exp(), points),
            (np.expm1, lambda x: x.exp() - 1, points),
            (np.log1p, lambda x: (1 + x).ln(), points[points > -1]),
        ):
            for x, found in zip(at, function(at), strict=True):
                truth = exact(Decimal(float(x)))
                assert truth == 0 or abs(Decimal(float(found)) / truth - 1) < 8 * Decimal(2.0**-53)


def curve(mu: float, epsilon: float) -> float:
    """Balle and Wang's formula in floats, through logarithms."""
    above = float(log_ndtr(mu / 2 - epsilon / mu))
    below = epsilon + float(log_ndtr(-mu / 2 - epsilon / mu))
    return -math.exp(above) * math.expm1(min(0.0, below - above))


@given(rationals("1/100", 8, 1000), rationals(-4, 8, 100))
@settings(max_examples=100)
def test_curve_against_floats(mu: Fraction, epsilon: Fraction) -> None:
    low, high = hockey_stick(mu, epsilon)
    assert low <= high
    assert float(high) == pytest.approx(curve(float(mu), float(epsilon)), rel=1e-9, abs=1e-300)
    if high > Decimal("1e-600"):
        assert high - low < high * Decimal("1e-25")


@pytest.mark.parametrize("mu", ["1e-9", "1e-30", "1e-300"])
def test_curve_of_next_to_no_loss(mu: str) -> None:
    """At epsilon 0 it is the total variation, mu / sqrt(2 pi) to first order: no digit is lost to the difference."""
    low, high = hockey_stick(Fraction(mu), Fraction(0))
    expected = Fraction(mu) / Fraction(math.sqrt(2 * math.pi))
    assert abs(Fraction(high) / expected - 1) < Fraction(1, 10**14)
    assert high - low < high * Decimal("1e-25")


def test_known_values() -> None:
    # dp-accounting's and Balle and Wang's own figures.
    assert float(analytic_epsilon(2, sensitivity=1, delta="1e-5")) == pytest.approx(1.99309140, abs=1e-7)
    assert float(analytic_epsilon(2, sensitivity=2, delta="1e-5")) == pytest.approx(4.3771781, abs=1e-6)
    assert float(analytic_sigma(1, "1e-5", sensitivity=1)) == pytest.approx(3.7306316, abs=1e-6)


def test_the_classical_formula_fails_between_epsilon_8_and_9() -> None:
    def truth(epsilon: int) -> float:
        sigma = classical_sigma(epsilon, "1e-5", sensitivity=1)
        return float(analytic_delta(sigma, sensitivity=1, epsilon=epsilon))

    assert truth(1) < 1e-7
    assert truth(8) == pytest.approx(8.0e-6, rel=0.01)
    assert truth(9) == pytest.approx(1.36e-5, rel=0.01)
    assert truth(20) > 1e-4


figures = st.builds(lambda n, power: Fraction(n) * Fraction(10) ** power, st.integers(1, 99), st.integers(-3, 0))
deltas = st.integers(1, 18).map(lambda n: Fraction(1, 10**n))


@given(figures, deltas, rationals("1/10", 100, 10))
@settings(max_examples=25)
def test_calibration_is_within_the_target_and_wastes_nothing(
    epsilon: Fraction, delta: Fraction, sensitivity: Fraction
) -> None:
    sigma = analytic_sigma(epsilon, delta, sensitivity=sensitivity)
    assert analytic_delta(sigma, sensitivity=sensitivity, epsilon=epsilon) <= delta
    less = sigma * (1 - Fraction(1, 10**10))
    assert analytic_delta(less, sensitivity=sensitivity, epsilon=epsilon) > delta
    assert analytic_epsilon(sigma, sensitivity=sensitivity, delta=delta) <= epsilon * (1 + Fraction(1, 10**11))


@given(rationals("1/5", 20, 10), deltas)
@settings(max_examples=25)
def test_epsilon_is_within_delta_and_wastes_nothing(sigma: Fraction, delta: Fraction) -> None:
    epsilon = analytic_epsilon(sigma, sensitivity=1, delta=delta)
    assert analytic_delta(sigma, sensitivity=1, epsilon=epsilon) <= delta
    if epsilon > 0:
        assert analytic_delta(sigma, sensitivity=1, epsilon=epsilon * (1 - Fraction(1, 10**10))) > delta


def test_the_edges() -> None:
    assert analytic_epsilon(10**6, sensitivity=1, delta="0.1") == 0
    assert float(analytic_sigma(0, "1e-5", sensitivity=1)) == pytest.approx(1e5 / math.sqrt(2 * math.pi), rel=1e-9)
    assert 0 < analytic_delta(1, sensitivity=1, epsilon=1000) < Fraction(1, 10**300)
    assert analytic_delta("0.001", sensitivity=1, epsilon=0) == 1
    assert float(analytic_epsilon("0.01", sensitivity=1, delta="1e-5")) > 5000


@pytest.mark.parametrize("odd", [0, -1, math.nan, math.inf, None, "one", True])
def test_odd_parameters_are_refused_by_name(odd: Any) -> None:
    with pytest.raises(InvalidParameter, match="sigma"):
        analytic_delta(odd, sensitivity=1, epsilon=1)
    with pytest.raises(InvalidParameter, match="sensitivity"):
        analytic_sigma(1, "1e-5", sensitivity=odd)
    with pytest.raises(InvalidParameter, match="delta"):
        analytic_epsilon(1, sensitivity=1, delta=odd if odd != 0 else 1)

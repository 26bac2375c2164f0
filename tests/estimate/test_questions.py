"""Usefulness, order, sample sizes: against closed forms, enumeration and each other."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.stats import binom

from dither.errors import InvalidParameter
from dither.estimate.accuracy import (
    DiscreteGaussianLaw,
    DiscreteLaplaceLaw,
    GaussianLaw,
    LaplaceLaw,
    chernoff_count,
    difference,
    error_bound,
    failure_probability,
    gupta_roth_ullman_bound,
    hoeffding_count,
    is_useful,
    largest_scale,
    least_count,
    least_epsilon,
    mean,
    order_probability,
    small_values,
    total,
)
from tests.rationals import rationals


@given(rationals("1/20", 3), rationals(0, 20), rationals(-20, 20))
@settings(max_examples=60, deadline=None)
def test_a_guess_beside_the_noisy_value(epsilon: Fraction, sigma: Fraction, c: Fraction) -> None:
    """P[|e + c| <= sigma]: 1 - e^(-eps sigma) cosh(eps c) for |c| <= sigma, else e^(-eps |c|) sinh(eps sigma)."""
    e, s, offset = float(epsilon), float(sigma), abs(float(c))
    near, far = 1 - math.exp(-e * s) * math.cosh(e * offset), math.exp(-e * offset) * math.sinh(e * s)
    exact = near if offset <= s else far
    law = LaplaceLaw(scale=1 / epsilon)
    assert 1 - failure_probability(law, sigma, offset=c) == pytest.approx(exact, abs=1e-12)


def test_usefulness_of_many_answers() -> None:
    law = LaplaceLaw(scale=10)
    single = math.exp(-3)
    assert failure_probability(law, 30) == pytest.approx(single)
    assert failure_probability(law, 30, answers=4) == pytest.approx(1 - (1 - single) ** 4)
    assert failure_probability(law, 500, answers=10**6) == pytest.approx(10**6 * math.exp(-50), rel=1e-9)
    assert failure_probability(law, 0) == 1
    assert failure_probability(DiscreteLaplaceLaw(scale=1), 0) == pytest.approx(1 - math.tanh(0.5))
    for answers in (1, 7, 10**6):
        for beta in ("0.5", "0.05", "1e-9"):
            alpha = error_bound(law, beta, answers=answers)
            assert is_useful(law, alpha * (1 + 1e-7), beta, answers=answers)
            assert not is_useful(law, alpha * (1 - 1e-6), beta, answers=answers)


@pytest.mark.parametrize("law", [DiscreteLaplaceLaw(scale="3/2"), DiscreteGaussianLaw(sigma=2)], ids=str)
@pytest.mark.parametrize("gap", [0, 1, 2, 5, "1/2"])
def test_the_order_of_two_noisy_integers_is_enumerated(law: Any, gap: Any) -> None:
    x = np.arange(-60, 61)
    mass = np.array([law.density(int(each)) for each in x])
    right = x[:, None] + float(Fraction(gap)) > x[None, :]
    expected = float((mass[:, None] * mass[None, :] * right).sum())
    assert order_probability(difference(law, law), gap) == pytest.approx(expected, abs=1e-9)


def test_the_order_of_two_sums() -> None:
    """With equal Laplace noise on one value a side: 1 - e^-g (2 + g) / 4, g being the gap in units of the scale."""
    for gap in (0, 1, 5, 30):
        noise = LaplaceLaw(scale=10)
        expected = 1 - math.exp(-gap / 10) * (2 + gap / 10) / 4
        assert order_probability(difference(noise, noise), gap) == pytest.approx(expected, rel=1e-12)
    several = difference(total(LaplaceLaw(scale=10), 3), total(LaplaceLaw(scale=10), 4))
    assert order_probability(several, 50) == pytest.approx(1 - total(LaplaceLaw(scale=10), 7).tail(50))
    unequal = difference(LaplaceLaw(scale=1), GaussianLaw(sigma=2))
    assert order_probability(unequal, 0) == pytest.approx(0.5, abs=1e-12)


@pytest.mark.parametrize("alpha", [2, 5, 30])
@pytest.mark.parametrize("beta", ["0.2", "0.05", "0.001"])
@pytest.mark.parametrize("law", [LaplaceLaw(scale=10), GaussianLaw(sigma=10)], ids=str)
def test_the_least_number_of_values(law: Any, alpha: int, beta: str) -> None:
    count = least_count(law, alpha, beta)
    fails = [
        n
        for n in (1, count // 2, count - 1, count, count + 1, 2 * count)
        if n and not is_useful(mean(law, n), alpha, beta)
    ]
    assert fails == [n for n in (1, count // 2, count - 1) if 0 < n < count]


def test_the_least_number_of_gaussian_values_has_a_closed_form() -> None:
    for alpha in (1, 2, 7):
        needed = (-10 * GaussianLaw(sigma=1).quantile("0.025") / alpha) ** 2
        assert least_count(GaussianLaw(sigma=10), alpha, "0.05") == math.ceil(needed)


def test_the_least_number_of_integers() -> None:
    law = DiscreteLaplaceLaw(scale=5)
    count = least_count(law, "3/2", "0.05")
    assert is_useful(mean(law, count), "3/2", "0.05")
    assert not is_useful(mean(law, count - 1), "3/2", "0.05")


@pytest.mark.parametrize("beta", ["0.5", "0.05", "1e-6"])
def test_the_largest_scale_and_the_least_epsilon(beta: str) -> None:
    share = float(Fraction(beta))
    assert float(least_epsilon(LaplaceLaw, 10, beta, sensitivity=3)) == pytest.approx(
        3 * math.log(1 / share) / 10, rel=1e-6
    )
    for build, alpha in (
        (LaplaceLaw, Fraction(7)),
        (GaussianLaw, Fraction(7)),
        (DiscreteLaplaceLaw, Fraction(7)),
        (DiscreteGaussianLaw, Fraction(7)),
        (lambda scale: mean(LaplaceLaw(scale), 25), Fraction(1, 3)),
        (lambda scale: total(DiscreteLaplaceLaw(scale), 4), Fraction(50)),
    ):
        scale = largest_scale(build, alpha, beta)
        assert is_useful(build(scale), alpha, Fraction(beta) * (1 + Fraction(1, 10**7)))
        assert not is_useful(build(scale * (1 + Fraction(1, 10**6))), alpha, beta)


def test_sample_sizes() -> None:
    """Hoeffding's 150 rows, where the Chernoff bound printed in the literature asks for 630."""
    assert hoeffding_count("0.1", "0.1", width=1) == 150
    assert chernoff_count("0.1", "0.1") == math.ceil((2 + 0.1) / 0.1**2 * math.log(2 / 0.1)) == 630
    count = hoeffding_count("0.05", "0.01", width=2)
    assert 2 * math.exp(-2 * count * (0.05 / 2) ** 2) <= 0.01 < 2 * math.exp(-2 * (count - 1) * (0.05 / 2) ** 2)


def test_few_rows_are_enough_for_a_rare_property() -> None:
    """By the binomial law itself, at the largest share and below it."""
    count = chernoff_count("0.05", "0.1", largest_share="0.1")
    assert count < hoeffding_count("0.05", "0.1", width=1)
    for share in (0.1, 0.05, 0.01):
        near = binom.cdf(math.ceil((share + 0.05) * count) - 1, count, share)
        near -= binom.cdf(math.floor((share - 0.05) * count), count, share)
        assert near >= 0.9


@pytest.mark.parametrize("count", [1, 13, 14, 200])
def test_the_closed_form_of_laplace_sums_holds(count: int) -> None:
    for beta in ("0.4", "0.1", "0.001"):
        bound = gupta_roth_ullman_bound(2, count, beta)
        law = total(LaplaceLaw(scale=2), count)
        assert law.tail(bound) <= float(beta)
        assert law.exceeded(beta) <= bound
        surprise = 6 * math.log(1 / float(beta))
        assert bound == pytest.approx(2 * (surprise if count < surprise else math.sqrt(count * surprise)))


def test_small_values() -> None:
    within, beyond = small_values(DiscreteLaplaceLaw(scale=2), 3, times=2)
    law = DiscreteLaplaceLaw(scale=2)
    assert within == pytest.approx(sum(law.density(x) for x in range(-3, 4)))
    assert beyond == pytest.approx(1 - sum(law.density(x) for x in range(-6, 7)))


@pytest.mark.parametrize(
    ("call", "parameter"),
    [
        (lambda: failure_probability(LaplaceLaw(scale=1), -1), "alpha"),
        (lambda: failure_probability(LaplaceLaw(scale=1), 1, answers=0), "answers"),
        (lambda: failure_probability(LaplaceLaw(scale=1), 1, offset=math.inf), "offset"),
        (lambda: error_bound(LaplaceLaw(scale=1), 0), "beta"),
        (lambda: error_bound(LaplaceLaw(scale=1), 1), "beta"),
        (lambda: is_useful(LaplaceLaw(scale=1), 1, 2), "beta"),
        (lambda: order_probability(LaplaceLaw(scale=1), -1), "gap"),
        (lambda: small_values(LaplaceLaw(scale=1), 0), "c"),
        (lambda: small_values(LaplaceLaw(scale=1), 1, times=0), "times"),
        (lambda: least_count(LaplaceLaw(scale=1), 0, "0.1"), "alpha"),
        (lambda: least_count(GaussianLaw(sigma=10**9), 1, "0.1"), "alpha"),
        (lambda: least_count(LaplaceLaw(scale=1), 1, 0), "beta"),
        (lambda: largest_scale(LaplaceLaw, -1, "0.1"), "alpha"),
        (lambda: least_epsilon(LaplaceLaw, 1, "0.1", sensitivity=0), "sensitivity"),
        (lambda: hoeffding_count(0, "0.1", width=1), "alpha"),
        (lambda: hoeffding_count(1, "0.1", width=0), "width"),
        (lambda: hoeffding_count(1, 1, width=1), "beta"),
        (lambda: chernoff_count(0, "0.1"), "alpha"),
        (lambda: chernoff_count("0.1", "0.1", largest_share=2), "largest_share"),
        (lambda: gupta_roth_ullman_bound(0, 1, "0.1"), "scale"),
        (lambda: gupta_roth_ullman_bound(1, 0, "0.1"), "count"),
    ],
)
def test_refusals_name_the_parameter(call: Any, parameter: str) -> None:
    with pytest.raises(InvalidParameter) as caught:
        call()
    assert caught.value.parameter == parameter

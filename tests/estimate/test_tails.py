"""Reaches of combinations of noise, against their exact laws."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.estimate.tails import laplace_combination_reach, many_laplace_reach, mixture_reach


def law_of_sum(weights: list[int], scale: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the values and the exact law of a sum of discrete Laplace noise with whole weights."""
    size = math.ceil(60 * scale)
    one = np.exp(-np.abs(np.arange(-size, size + 1)) / scale)
    one /= one.sum()
    law = np.ones(1)
    for weight in weights:
        spread = np.zeros(2 * size * weight + 1)
        spread[::weight] = one
        law = np.convolve(law, spread)
    half = len(law) // 2
    return np.arange(-half, half + 1).astype(np.float64), law


@pytest.mark.parametrize(
    ("weights", "scale"), [([1], 3.0), ([1] * 12, 2.0), ([1] * 6 + [2] * 4, 0.5), ([5, 1, 1, 1], 4.0)]
)
def test_reaches_hold_for_the_exact_law(weights: list[int], scale: float) -> None:
    values, law = law_of_sum(weights, scale)
    squares = sum(weight**2 for weight in weights)
    variance, terms = 2 * scale**2 * squares, squares / max(weights) ** 2
    for failure in (0.3, 0.05, 1e-3, 1e-6):
        many = many_laplace_reach(variance, failure, terms=terms, narrowest=scale)
        some, one = (laplace_combination_reach(variance, failure, count) for count in (terms, 1.0))
        assert many <= some * (1 + 1e-8) <= one * (1 + 1e-7)
        for reach in (many, some, one):
            assert law[np.abs(values) > reach].sum() <= failure * (1 + 1e-9)


def test_many_small_terms_reach_little_farther_than_a_normal_variable() -> None:
    """At 95 %: 1.96 deviations for a normal variable, 4.13 by Chernoff's bound for one Laplace variable."""
    nearly = many_laplace_reach(1.0, 0.05, terms=2000, narrowest=50)
    assert 1.96 < nearly < 2.2
    assert laplace_combination_reach(1.0, 0.05) > 4.1
    reaches = [many_laplace_reach(1.0, 0.05, terms=terms, narrowest=50) for terms in (1, 10, 100, 1000)]
    assert reaches == sorted(reaches, reverse=True)
    with pytest.raises(InvalidParameter):
        many_laplace_reach(1.0, 0.05, terms=0, narrowest=1)


@pytest.mark.parametrize("failure", [0.3, 0.05, 1e-3, 1e-8])
def test_two_laplace_variables_of_any_scales_stay_within_the_reach_of_a_mixture(failure: float) -> None:
    """Of two scales a and b, P[|Z| > x] is (a^2 e^(-x/a) - b^2 e^(-x/b)) / (a^2 - b^2); of one, e^(-x/a)."""
    for share in (0.5001, 0.55, 0.7, 0.9, 0.999):
        one, two = math.sqrt(share / 2), math.sqrt((1 - share) / 2)
        for terms in (1.0, 1 / share):
            reach = mixture_reach(failure, terms)
            tail = (one**2 * math.exp(-reach / one) - two**2 * math.exp(-reach / two)) / (one**2 - two**2)
            assert tail <= failure
    alone = math.exp(-math.sqrt(2) * mixture_reach(failure, 1))
    assert (0.7 if failure < 0.3 else 0.4) * failure < alone <= failure


def test_a_mixture_of_many_reaches_as_far_as_a_normal_variable() -> None:
    for failure, share in ((0.3, 1.1), (0.05, 1.01), (1e-3, 1.01)):
        normal = -NormalDist().inv_cdf(failure / 2)
        assert normal <= mixture_reach(failure, 1e9) <= share * normal

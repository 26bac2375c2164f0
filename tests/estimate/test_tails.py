"""Reaches of combinations of noise, against their exact laws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.estimate.tails import laplace_combination_reach, many_laplace_reach


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

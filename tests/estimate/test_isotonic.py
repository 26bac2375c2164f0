"""Isotonic regression against the minimum of maxima of means, and the ordered posterior against all sequences."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.errors import InvalidParameter
from dither.estimate.isotonic import isotonic
from dither.estimate.ordered import posterior_of_sorted

NUMBERS = st.lists(st.integers(-50, 50), min_size=1, max_size=9)


def min_max(values: list[float], weights: list[float]) -> list[float]:
    """The slow obvious solution: x_k = min over t >= k of max over s <= k of the weighted mean of y_s..y_t."""
    size = len(values)

    def mean(first: int, last: int) -> float:
        return float(np.average(values[first : last + 1], weights=weights[first : last + 1]))

    return [min(max(mean(s, t) for s in range(k + 1)) for t in range(k, size)) for k in range(size)]


@given(NUMBERS, st.data())
def test_it_is_the_minimum_of_maxima(values: list[int], data: st.DataObject) -> None:
    weights = data.draw(st.lists(st.integers(1, 9), min_size=len(values), max_size=len(values)))
    assert isotonic(values, weights) == pytest.approx(min_max(values, weights), abs=1e-9)
    downwards = [-fitted for fitted in min_max([-value for value in values], weights)]
    assert isotonic(values, weights, increasing=False) == pytest.approx(downwards, abs=1e-9)


def test_a_million_entries_are_pooled_in_order() -> None:
    fitted = isotonic(np.arange(10**6) % 1000)
    assert (np.diff(fitted) >= -1e-9).all()
    assert fitted.sum() == pytest.approx((np.arange(10**6) % 1000).sum())


@pytest.mark.parametrize(("values", "weights"), [([[1, 2]], None), ([np.nan], None), ([1, 2], [1]), ([1], [0])])
def test_odd_input_is_refused(values: list[float], weights: list[float] | None) -> None:
    with pytest.raises(InvalidParameter):
        isotonic(values, weights)


@given(st.lists(st.integers(-3, 8), min_size=1, max_size=4), st.integers(0, 5), st.integers(1, 3))
def test_the_posterior_is_that_over_all_sequences(noisy: list[int], top: int, scale: int) -> None:
    def log_likelihood(noise: np.ndarray) -> np.ndarray:
        return -np.abs(noise) / scale

    sequences = [
        np.array(sequence) for sequence in itertools.product(range(top + 1), repeat=len(noisy)) if is_sorted(sequence)
    ]
    weights = np.array([np.exp(log_likelihood(np.array(noisy) - sequence).sum()) for sequence in sequences])
    weights /= weights.sum()
    mean = sum(weight * sequence for weight, sequence in zip(weights, sequences, strict=True))
    square = sum(weight * (sequence - mean) ** 2 for weight, sequence in zip(weights, sequences, strict=True))
    found, variance = posterior_of_sorted(noisy, log_likelihood, top)
    assert found == pytest.approx(mean, abs=1e-9)
    assert variance == pytest.approx(square, abs=1e-9)


def is_sorted(sequence: tuple[int, ...]) -> bool:
    return all(here <= there for here, there in itertools.pairwise(sequence))

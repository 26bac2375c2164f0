"""Discrete and rounded Gaussian noise: their distance against sums, and what a delta pays for it."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import ndtr

from dither.errors import InvalidParameter, NoGuarantee
from dither.privacy.whole_gaussian import epsilon_within, total_variation


def summed(sigma: float) -> float:
    """The total variation of both laws around 0, added up."""
    whole = np.arange(int(12 * sigma) + 12, dtype=float)
    weights = np.exp(-(whole**2) / (2 * sigma**2))
    # Differences of upper tails keep their digits.
    rounded = ndtr(-(whole - 0.5) / sigma) - ndtr(-(whole + 0.5) / sigma)
    apart = np.abs(weights / (weights[0] + 2 * math.fsum(weights[1:])) - rounded)
    return float(apart[0] / 2 + math.fsum(apart[1:]))


@pytest.mark.parametrize("sigma", ["1", "1.2", "1.48", "1.5", "2", "2.5", "3.5", "7", "16.5", "100"])
def test_the_bound_holds_and_is_near(sigma: str) -> None:
    truth = summed(float(sigma))
    assert truth <= total_variation(sigma) <= truth * (1.02 + 0.4 / float(sigma) ** 2)


def test_the_leading_term_alone_is_too_small_where_a_cell_ends_at_one_deviation() -> None:
    assert summed(1.5) > 0.0202 / 1.5**2


def test_noise_below_one_step_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="sigma"):
        total_variation("0.99")


def curve(delta: Fraction) -> Fraction:
    return Fraction(math.log(1 / float(delta)) / 10)


def test_what_is_set_aside_covers_both_data_sets() -> None:
    delta, apart = Fraction(1, 10**4), Fraction(1, 10**6)
    found = epsilon_within(curve, delta, apart)
    spare = delta - (1 + Fraction(math.exp(found))) * apart
    assert curve(delta) < found
    assert curve(spare) <= found
    assert epsilon_within(curve, delta, 0) == curve(delta)


def test_noise_too_coarse_for_a_delta_has_no_epsilon() -> None:
    with pytest.raises(NoGuarantee, match="sigma"):
        epsilon_within(curve, Fraction(1, 10**4), Fraction(1, 10**4))

"""The limits against binomial sums in exact fractions: they hold, and nothing larger would."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from dither.audit import lower_limit, upper_limit
from dither.audit.bounds import epsilon_shown, expected_epsilon
from dither.errors import InvalidParameter

FAILURES = (0.3, 0.05, 1e-6, 1e-12)
CLOSE = Fraction(1, 10**6)


def at_least(hits: int, trials: int, p: Fraction) -> Fraction:
    """Return P[Bin(trials, p) >= hits], exactly."""
    return sum((math.comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(hits, trials + 1)), Fraction(0))


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("trials", [1, 2, 7, 40])
def test_limits_invert_the_binomial_law(trials: int, failure: float) -> None:
    for hits in range(trials + 1):
        low, high = Fraction(lower_limit(hits, trials, failure)), Fraction(upper_limit(hits, trials, failure))
        assert 0 <= low < high <= 1
        if hits > 0:
            assert at_least(hits, trials, low) <= Fraction(failure)
            assert at_least(hits, trials, low * (1 + CLOSE)) > Fraction(failure)
        if hits < trials:
            assert 1 - at_least(hits + 1, trials, high) <= Fraction(failure)
            assert 1 - at_least(hits + 1, trials, high * (1 - CLOSE)) > Fraction(failure)


@pytest.mark.parametrize("failure", [0.05, 1e-6])
@pytest.mark.parametrize(
    "p", [Fraction(1, 1000), Fraction(1, 10), Fraction(1, 2), Fraction(9, 10), Fraction(999, 1000)]
)
def test_coverage_is_never_below_what_is_promised(p: Fraction, failure: float) -> None:
    """Sum the exact probability of every count whose limit is on the wrong side of the truth."""
    trials = 60
    mass = [math.comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(trials + 1)]
    too_high = sum(mass[k] for k in range(trials + 1) if lower_limit(k, trials, failure) > p)
    too_low = sum(mass[k] for k in range(trials + 1) if upper_limit(k, trials, failure) < p)
    assert too_high <= Fraction(failure)
    assert too_low <= Fraction(failure)


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("trials", [1, 10, 10**6])
def test_none_and_all(trials: int, failure: float) -> None:
    """At 0 and n one limit is trivial, and the other has a closed form."""
    assert lower_limit(0, trials, failure) == 0.0
    assert upper_limit(trials, trials, failure) == 1.0
    assert lower_limit(trials, trials, failure) == pytest.approx(failure ** (1 / trials), rel=1e-9)
    assert upper_limit(0, trials, failure) == pytest.approx(-math.expm1(math.log(failure) / trials), rel=1e-9)


@pytest.mark.parametrize("hits", [1, 30, 5 * 10**5, 10**6 - 3])
@pytest.mark.parametrize("failure", [1e-6, 1e-12])
def test_millions_of_trials(hits: int, failure: float) -> None:
    """Far beyond exact sums, against the binomial distribution function of SciPy."""
    from scipy.stats import binom

    trials = 10**6
    assert binom.sf(hits - 1, trials, lower_limit(hits, trials, failure)) == pytest.approx(failure, rel=1e-4)
    assert binom.cdf(hits, trials, upper_limit(hits, trials, failure)) == pytest.approx(failure, rel=1e-4)


@pytest.mark.parametrize(
    ("hits", "trials", "failure"),
    [(-1, 10, 0.1), (11, 10, 0.1), (1, 0, 0.1), (1, 10, 0.0), (1, 10, 1.0), (1, 10, float("nan")), (1.5, 10, 0.1)],
)
def test_odd_arguments_are_refused(hits: int, trials: int, failure: float) -> None:
    for limit in (lower_limit, upper_limit):
        with pytest.raises(InvalidParameter):
            limit(hits, trials, failure)


def test_epsilon_shown() -> None:
    assert epsilon_shown(0.5, 0.25, 0.0) == pytest.approx(math.log(2))
    assert epsilon_shown(0.5, 0.25, 0.25) == 0.0
    assert epsilon_shown(0.25, 0.5, 0.0) == 0.0
    assert epsilon_shown(0.1, 0.25, 0.2) == 0.0


def test_the_ranking_agrees_with_what_is_shown() -> None:
    """The guess that ranks events is within a twentieth of the bound for frequent events."""
    import numpy as np

    trials, failure = 150_000, 1e-7
    hits, others = np.array([109_500, 75_000, 15_000]), np.array([40_500, 27_500, 6_000])
    guessed = expected_epsilon(hits, others, trials, trials, 0.0)
    for guess, here, there in zip(guessed, hits.tolist(), others.tolist(), strict=True):
        shown = epsilon_shown(lower_limit(here, trials, failure), upper_limit(there, trials, failure), 0.0)
        assert guess == pytest.approx(shown, rel=0.05)

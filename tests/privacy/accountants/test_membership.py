"""What a loss means: against the best guesses on mechanisms that reach it."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri

from dither.errors import InvalidParameter
from dither.privacy import EVENT_REPLACED, ROW, ZCDP, ApproxDP, PureDP, Relation
from dither.privacy.accountants import (
    GaussianPair,
    LossDistribution,
    SampledPair,
    Sampling,
    advantage,
    explain_loss,
    gaussian_curve,
    hockey_stick_of,
    success,
    true_positive_rate,
)
from tests.rationals import rationals

priors = rationals("1/1000", "999/1000", 1000)


def response(epsilon: float, delta: float) -> tuple[Any, Any]:
    """Truth and lie, and two outcomes that give everything away."""
    truth = (1 - delta) / (1 + math.exp(-epsilon))
    p = np.array([truth, 1 - delta - truth, delta, 0.0])
    return p, p[[1, 0, 3, 2]]


def best_guess(p: Any, q: Any, prior: float) -> float:
    """Name the likelier of the two, outcome by outcome."""
    return float(np.maximum(prior * p, (1 - prior) * q).sum())


@given(rationals("1/20", 5, 20), st.sampled_from(["0", "1e-5", "0.05"]), priors)
@settings(max_examples=60)
def test_success_is_that_of_the_best_guess(epsilon: Fraction, delta: str, prior: Fraction) -> None:
    loss = ApproxDP(epsilon, delta) if Fraction(delta) else PureDP(epsilon)
    truth = best_guess(*response(float(epsilon), float(delta)), float(prior))
    found = float(success(loss, prior=prior))
    assert truth * (1 - 1e-12) <= found <= truth * (1 + 1e-9)


@given(rationals("1/20", 5, 20), st.sampled_from(["0", "1e-3", "0.05"]), priors)
@settings(max_examples=60)
def test_true_positives_are_those_of_the_best_test(epsilon: Fraction, delta: str, wrong: Fraction) -> None:
    """Neyman and Pearson: take outcomes in the order of their likelihood ratio, the last one by a coin."""
    loss = ApproxDP(epsilon, delta) if Fraction(delta) else PureDP(epsilon)
    p, q = response(float(epsilon), float(delta))
    left, truth = float(wrong), 0.0
    for index in (2, 0, 1, 3):
        share = 1.0 if q[index] <= left else left / q[index]
        truth, left = truth + share * p[index], left - share * q[index]
    found = float(true_positive_rate(loss, false_positive_rate=wrong))
    assert truth * (1 - 1e-9) <= found <= truth * (1 + 1e-6)


@pytest.mark.parametrize("sigma", ["0.5", "1", "4"])
def test_gaussian_noise_by_three_routes(sigma: str) -> None:
    mu = 1 / float(sigma)
    exact = LossDistribution.of(GaussianPair(sigma=sigma, contribution=1, relation=Relation.ADD_REMOVE))
    variation = 2 * float(ndtr(mu / 2)) - 1
    assert float(advantage(exact)) == pytest.approx(variation, rel=1e-6)
    assert float(success(exact)) == pytest.approx((1 + variation) / 2, rel=1e-6)
    for wrong in ("0.001", "0.01", "0.3"):
        truth = float(ndtr(ndtri(float(wrong)) + mu))
        found = float(true_positive_rate(exact, false_positive_rate=wrong))
        assert truth <= found <= truth * 1.02
    rho = ZCDP(1 / (2 * Fraction(sigma) ** 2))
    curve = gaussian_curve(sigma=sigma, contribution=1, relation=Relation.ADD_REMOVE)
    for known in (rho, curve):
        assert success(known) >= success(exact)
        assert true_positive_rate(known, false_positive_rate="0.01") >= float(ndtr(ndtri(0.01) + mu))


def test_known_values() -> None:
    for epsilon in (0.1, 1.0, 3.0):
        growth = math.exp(epsilon)
        assert float(success(PureDP(epsilon))) == pytest.approx(growth / (1 + growth), rel=1e-12)
        assert float(advantage(PureDP(epsilon))) == pytest.approx((growth - 1) / (growth + 1), rel=1e-12)
    assert float(success(ApproxDP(1, "0.01"))) == pytest.approx((math.e + 0.01) / (1 + math.e), rel=1e-12)


@given(rationals("1/100", 20, 100), priors)
@settings(max_examples=60)
def test_figures_stay_within_their_bounds(rho: Fraction, prior: Fraction) -> None:
    for loss in (ZCDP(rho), PureDP(rho), ZCDP(rho, "0.001")):
        assert max(prior, 1 - prior) <= success(loss, prior=prior) <= 1
        assert prior <= true_positive_rate(loss, false_positive_rate=prior) <= 1
        assert 0 <= advantage(loss) <= 1


def test_nothing_tells_nothing_and_everything_tells_all() -> None:
    assert advantage(PureDP(0)) == 0
    assert advantage(ZCDP(0)) == 0
    assert success(PureDP(0), prior="0.3") == Fraction(7, 10)
    assert true_positive_rate(PureDP(0), false_positive_rate="0.3") == Fraction(3, 10)
    assert advantage(PureDP(10**6)) == 1
    assert success(ZCDP(10**6)) == 1
    assert true_positive_rate(PureDP(10**6), false_positive_rate="0.01") == 1


def test_the_curve_is_never_below_any_route() -> None:
    """A stated rho helps, and a generic one never hurts."""
    tight = PureDP(3, rho="0.01")
    assert hockey_stick_of(tight, 1) < hockey_stick_of(PureDP(3), 1)
    assert hockey_stick_of(PureDP(1), 1) == 0
    assert hockey_stick_of(ApproxDP(1, "0.1"), 5) == Fraction(1, 10)


@pytest.mark.parametrize("odd", [0, 1, -1, math.nan, None])
def test_odd_priors(odd: Any) -> None:
    with pytest.raises(InvalidParameter, match="prior"):
        success(PureDP(1), prior=odd)


def test_odd_losses() -> None:
    with pytest.raises(InvalidParameter, match="loss"):
        advantage("epsilon = 1")  # type: ignore[arg-type]


def test_plain_sentences() -> None:
    text = explain_loss(PureDP(1), unit=ROW)
    assert "whether one row is in the data" in text
    assert "73.2 %" in text
    assert "2.8 %" in text
    assert "which of two contents one event has" in explain_loss(ZCDP("0.1"), unit=EVENT_REPLACED)
    noise = GaussianPair(sigma=1, contribution=1, relation=Relation.REPLACE)
    sampled = SampledPair(pair=noise, rate="0.01", sampling=Sampling.FIXED)
    text = explain_loss(LossDistribution.of(sampled, count=100))
    assert "which of two contents one unit has" in text
    assert all(symbol not in text for symbol in ("epsilon", "delta", "rho"))


def test_percentages_are_rounded_up() -> None:
    assert "50.1 %" in explain_loss(PureDP("0.0001"))
    assert "100 %" in explain_loss(PureDP(20))

"""Renyi curves: against integrals, against other figures, and never below."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither.errors import IncompatibleDistance, InvalidParameter, NoGuarantee
from dither.privacy import Relation, zcdp_epsilon
from dither.privacy.accountants import (
    ORDERS,
    GaussianPair,
    LossDistribution,
    RenyiCurve,
    analytic_epsilon,
    discrete_gaussian_curve,
    gaussian_curve,
    laplace_curve,
    response_curve,
    sampled_gaussian_curve,
)
from tests.rationals import rationals

ADD, REPLACE, METRIC = Relation.ADD_REMOVE, Relation.REPLACE, Relation.METRIC
POINTS = np.linspace(-60, 60, 2_400_001)
WIDTH = float(POINTS[1] - POINTS[0])
some_orders = [Fraction(text) for text in ("1.1", "1.5", "2", "3", "4.1", "7", "12", "32")]


def normal(mean: float, sigma: float) -> Any:
    return -((POINTS - mean) ** 2) / (2 * sigma**2) - math.log(sigma * math.sqrt(2 * math.pi))


@lru_cache(maxsize=1)
def sampled(rate: str, sigma: float) -> tuple[Any, Any]:
    """The logarithms of both densities without and with the unit, kept for all orders."""
    chance, base = float(rate), normal(0, sigma)
    return base, np.logaddexp(math.log(1 - chance) + base, math.log(chance) + normal(1, sigma))


def divergence(log_p: Any, log_q: Any, order: float) -> float:
    exponent = order * log_p
    exponent += (1 - order) * log_q
    top = float(exponent.max())
    # Below e^-746 floats are zero.
    exponent = exponent[exponent > top - 746]
    exponent -= top
    return (top + math.log(float(np.sum(np.exp(exponent, out=exponent))) * WIDTH)) / (order - 1)


@pytest.mark.parametrize("order", some_orders, ids=str)
def test_laplace_against_its_integral(order: Fraction) -> None:
    for shift in (0.2, 1.0, 3.0):
        log_p, log_q = -np.abs(POINTS - shift), -np.abs(POINTS)
        truth = divergence(log_p - math.log(2), log_q - math.log(2), float(order))
        curve = laplace_curve(scale=1, contribution=shift, relation=ADD, orders=[order])
        assert float(curve.values[0]) == pytest.approx(truth, rel=1e-6)


@pytest.mark.parametrize("order", some_orders, ids=str)
@pytest.mark.parametrize(("rate", "sigma"), [("0.01", 1.0), ("0.2", 2.0), ("0.5", 0.8), ("0.01", 4.0)])
def test_sampled_gaussians_against_their_integral(rate: str, sigma: float, order: Fraction) -> None:
    """In both directions, of which the removed one is the worse (theorem 7 on the page)."""
    base, mixed = sampled(rate, sigma)
    removed, added = divergence(mixed, base, float(order)), divergence(base, mixed, float(order))
    found = float(
        sampled_gaussian_curve(sigma=sigma, contribution=1, rate=rate, relation=ADD, orders=[order]).values[0]
    )
    assert added <= removed * (1 + 1e-9)
    # Fractional orders are bounded cell by cell; integer ones are exact.
    slack = 1e-7 if order.denominator == 1 else 2e-3
    assert removed * (1 - 1e-7) - 1e-9 <= found <= removed * (1 + slack) + 1e-9


@pytest.mark.parametrize("order", some_orders, ids=str)
@pytest.mark.parametrize("options", [2, 5])
def test_responses_against_their_definition(options: int, order: Fraction) -> None:
    for epsilon in (0.1, 1.0, 4.0):
        p = np.array([math.exp(epsilon)] + [1.0] * (options - 1))
        p /= p.sum()
        q, a = np.roll(p, 1), float(order)
        truth = math.log(float(np.sum(p**a * q ** (1 - a)))) / (a - 1)
        found = float(response_curve(epsilon=epsilon, options=options, orders=[order]).values[0])
        assert truth * (1 - 1e-12) <= found <= truth * (1 + 1e-9)


@pytest.mark.parametrize("order", some_orders, ids=str)
def test_discrete_gaussians_are_below_their_curve(order: Fraction) -> None:
    points = np.arange(-300, 301)
    for sigma, shift in ((0.6, 1), (1.5, 2), (4.0, 3)):
        p, q = (np.exp(-((points - c) ** 2) / (2 * sigma**2)) for c in (shift, 0))
        p, q, a = p / p.sum(), q / q.sum(), float(order)
        with np.errstate(all="ignore"):
            exponent = a * np.log(p) + (1 - a) * np.log(q)
        exponent = exponent[np.isfinite(exponent)]
        truth = (exponent.max() + math.log(float(np.sum(np.exp(exponent - exponent.max()))))) / (a - 1)
        curve = discrete_gaussian_curve(sigma=sigma, contribution=shift, relation=METRIC, orders=[order])
        assert truth <= float(curve.values[0]) * (1 + 1e-9)


def test_the_references_of_sampled_training() -> None:
    def curve(sigma: int) -> RenyiCurve:
        return sampled_gaussian_curve(sigma=sigma, contribution=1, rate="0.01", relation=ADD).times(10_000)

    # Abadi et al. (2016), and the tight conversion.
    assert float(curve(4).moments_epsilon("1e-5")) == pytest.approx(1.2586, abs=5e-5)
    assert float(curve(4).epsilon("1e-5")) == pytest.approx(1.0355, abs=5e-5)
    # dp-accounting 0.6.0 gives 6.7128, at order 4.1; at whole orders it is 6.719.
    assert float(curve(1).epsilon("1e-5")) == pytest.approx(6.7128, abs=1e-4)
    whole = sampled_gaussian_curve(sigma=1, contribution=1, rate="0.01", relation=ADD, orders=range(2, 65))
    assert float(whole.times(10_000).epsilon("1e-5")) == pytest.approx(6.719, abs=5e-4)


def test_replaced_units_cost_four_times_as_much() -> None:
    """The Renyi figure for noise multiplier 2 and a removed record is 2.17; for a replaced one it must not be."""
    added, replaced = (gaussian_curve(sigma=2, contribution=1, relation=relation) for relation in (ADD, REPLACE))
    assert all(b == 4 * a for a, b in zip(added.values, replaced.values, strict=True))
    assert float(added.epsilon("1e-5")) == pytest.approx(2.166, abs=2e-3)
    assert float(replaced.epsilon("1e-5")) > float(analytic_epsilon(2, sensitivity=2, delta="1e-5")) > 4.37


def test_a_gaussian_curve_converts_as_its_rho() -> None:
    for sigma in ("0.5", "2", "20"):
        rho = 1 / (2 * Fraction(sigma) ** 2)
        found = gaussian_curve(sigma=sigma, contribution=1, relation=ADD).epsilon("1e-6")
        best = zcdp_epsilon(rho, Fraction(1, 10**6))
        assert best * (1 - Fraction(1, 10**9)) <= found <= best * Fraction(103, 100)


def test_curves_are_above_loss_distributions() -> None:
    for sigma, count in (("1", 1), ("5", 30), ("30", 1000)):
        exact = LossDistribution.of(GaussianPair(sigma=sigma, contribution=1, relation=ADD), count=count)
        curve = gaussian_curve(sigma=sigma, contribution=1, relation=ADD).times(count)
        assert exact.epsilon("1e-6") <= curve.epsilon("1e-6") <= curve.moments_epsilon("1e-6")
        for epsilon in ("0.1", "1", "3"):
            assert exact.delta(epsilon) <= curve.delta(epsilon)


@given(rationals("1/4", 30, 8), st.integers(1, 15), rationals(0, 8, 8))
@settings(max_examples=40)
def test_the_two_questions_agree(sigma: Fraction, digits: int, epsilon: Fraction) -> None:
    curve = gaussian_curve(sigma=sigma, contribution=1, relation=ADD)
    delta = Fraction(1, 10**digits)
    found = curve.epsilon(delta)
    if found > 0:
        assert curve.delta(found) <= delta * (1 + Fraction(1, 10**9))
    assert curve.delta(epsilon + 1) <= curve.delta(epsilon)
    assert curve.delta(epsilon) <= 1


def test_curves_add_up() -> None:
    first = gaussian_curve(sigma=3, contribution=1, relation=ADD)
    both = first + response_curve(epsilon="0.1")
    assert both.relation is ADD
    assert both.orders == ORDERS
    assert (first + first).values == first.times(2).values
    assert first.times(0).epsilon("1e-9") == pytest.approx(0, abs=0.05)
    with pytest.raises(IncompatibleDistance):
        first + gaussian_curve(sigma=3, contribution=1, relation=REPLACE)
    with pytest.raises(NoGuarantee, match="order"):
        gaussian_curve(sigma=1, contribution=1, relation=ADD, orders=[2]) + gaussian_curve(
            sigma=1, contribution=1, relation=ADD, orders=[3]
        )
    with pytest.raises(TypeError):
        first + 1  # type: ignore[operator]


def test_very_large_losses_are_bounded_by_epsilon() -> None:
    for curve in (laplace_curve(scale=1, contribution=500, relation=ADD), response_curve(epsilon=500)):
        assert curve.values[-1] == 500
        assert all(value <= 500 for value in curve.values)


def test_a_tiny_rate_keeps_its_digits() -> None:
    """To first order the divergence is a rate^2 (e^(1/sigma^2) - 1) / 2, however small the rate."""
    for rate in ("1e-6", "1e-12"):
        curve = sampled_gaussian_curve(sigma=1, contribution=1, rate=rate, relation=ADD, orders=[2])
        assert float(curve.values[0]) == pytest.approx(float(rate) ** 2 * (math.e - 1), rel=1e-5)


def test_refusals() -> None:
    for relation in (REPLACE, METRIC):
        with pytest.raises(IncompatibleDistance):
            sampled_gaussian_curve(sigma=1, contribution=1, rate="0.1", relation=relation)
    for relation in ("replaced", None, 2):
        with pytest.raises(InvalidParameter, match="relation"):
            gaussian_curve(sigma=1, contribution=1, relation=relation)  # type: ignore[arg-type]
        with pytest.raises(InvalidParameter, match="relation"):
            sampled_gaussian_curve(sigma=1, contribution=1, rate="0.1", relation=relation)  # type: ignore[arg-type]
    for order in (1, 0, math.nan, 10**9):
        with pytest.raises(InvalidParameter, match="order"):
            gaussian_curve(sigma=1, contribution=1, relation=ADD, orders=[order])
    with pytest.raises(InvalidParameter, match="orders"):
        RenyiCurve((Fraction(3), Fraction(2)), (Fraction(0), Fraction(0)), ADD)
    with pytest.raises(InvalidParameter, match="orders"):
        RenyiCurve((), (), ADD)
    with pytest.raises(InvalidParameter, match="values"):
        RenyiCurve((Fraction(2),), (Fraction(-1),), ADD)
    with pytest.raises(InvalidParameter, match="delta"):
        gaussian_curve(sigma=1, contribution=1, relation=ADD).epsilon(0)

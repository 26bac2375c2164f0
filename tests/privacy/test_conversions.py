"""Conversions between notions, against the mechanisms that decide them."""

from __future__ import annotations

import math
from decimal import MAX_EMAX, Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_ndtr

from dither.privacy import pure_to_zcdp, zcdp_delta, zcdp_epsilon, zcdp_rho
from dither.privacy.conversions import amplified_epsilon, group_delta

EPSILONS = [Fraction(text) for text in ("1e-12", "1e-3", "0.1", "0.5", "1", "2", "5", "10", "40", "200")]
ORDERS = [Fraction(text) for text in ("1.000001", "1.001", "1.1", "1.5", "2", "3", "5", "10", "40", "1000", "1e6")]
#: Wide enough for a session: rho from 1e-8 to 100, delta from 0.5 to 1e-30.
RHOS = [Fraction(text) for text in ("1e-8", "1e-5", "1e-3", "0.02", "0.125", "0.5", "2", "10", "100")]
DELTAS = [Fraction(text) for text in ("0.5", "1e-2", "1e-5", "1e-9", "1e-15", "1e-30")]


def decimal(x: Fraction) -> Decimal:
    return Decimal(x.numerator) / Decimal(x.denominator)


def renyi(first: list[Decimal], second: list[Decimal], order: Decimal) -> Decimal:
    """Return the Renyi divergence of a finite pair: the definition, summed."""
    moment = sum(
        ((p.ln() * order + q.ln() * (1 - order)).exp() for p, q in zip(first, second, strict=True)), Decimal(0)
    )
    return moment.ln() / (order - 1)


def response(epsilon: Decimal) -> tuple[list[Decimal], list[Decimal]]:
    truth = 1 / (1 + (-epsilon).exp())
    lie = 1 / (1 + epsilon.exp())
    return [truth, lie], [lie, truth]


# Pure to concentrated


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_no_order_of_randomised_response_exceeds_its_rho(epsilon: Fraction) -> None:
    with localcontext() as context:
        context.prec, context.Emax = 90, MAX_EMAX
        rho = decimal(pure_to_zcdp(epsilon))
        first, second = response(decimal(epsilon))
        rates = [renyi(first, second, decimal(order)) / decimal(order) for order in ORDERS]
        assert all(rate <= rho for rate in rates)
        # The supremum is at orders near one, and is reached there.
        assert all(a >= b for a, b in pairwise(rates))
        assert rates[0] > rho * (1 - Decimal("1e-5") * (1 + decimal(epsilon)))
        nearer = renyi(first, second, Decimal("1.0000000000000001"))
        assert nearer > rho * (1 - Decimal("1e-13") * (1 + decimal(epsilon)))


def test_the_moments_of_randomised_response_are_hyperbolic() -> None:
    """The formula that the proof on the page about losses rests on."""
    with localcontext() as context:
        context.prec = 60

        def cosh(x: Decimal) -> Decimal:
            return (x.exp() + (-x).exp()) / 2

        for epsilon in (Decimal("0.3"), Decimal(2)):
            for order in (Decimal("1.5"), Decimal(7)):
                moment = ((order - 1) * renyi(*response(epsilon), order)).exp()
                assert abs(moment - cosh((order - Decimal("0.5")) * epsilon) / cosh(epsilon / 2)) < Decimal("1e-50")


@given(st.lists(st.tuples(st.floats(0.01, 1), st.floats(-1, 1)), min_size=2, max_size=6), st.floats(1.01, 60))
@settings(deadline=None, max_examples=100)
def test_every_pure_pair_is_below_randomised_response(cells: list[tuple[float, float]], order: float) -> None:
    q = np.array([weight for weight, _ in cells])
    p = q * np.exp([tilt for _, tilt in cells])
    p, q = p / p.sum(), q / q.sum()
    epsilon = Fraction(float(np.abs(np.log(p / q)).max()) + 1e-9)
    divergence = math.log(float(np.sum(p**order * q ** (1 - order)))) / (order - 1)
    assert divergence <= order * float(pure_to_zcdp(epsilon)) + 1e-9


def test_rho_of_pure_losses_is_below_the_usual_square() -> None:
    for epsilon in EPSILONS:
        assert pure_to_zcdp(epsilon) <= min(epsilon, epsilon * epsilon / 2)
    assert pure_to_zcdp(Fraction(0)) == 0
    assert pure_to_zcdp(Fraction(10**300)) == 10**300


@given(st.integers(1, 10**6), st.integers(1, 10**6))
@settings(deadline=None, max_examples=60)
def test_rho_of_pure_losses_grows_faster_than_epsilon(a: int, b: int) -> None:
    """What makes sums of small losses cheap, and keeps a sum of rhos below the rho of the sum."""
    first, second = Fraction(a, 10**5), Fraction(b, 10**5)
    assert pure_to_zcdp(first) + pure_to_zcdp(second) <= pure_to_zcdp(first + second)


# Concentrated to approximate


def gaussian_delta(rho: float, epsilon: float) -> float:
    """Return the true delta of the Gaussian mechanism of that rho (Balle and Wang 2018, Theorem 8)."""
    ratio = math.sqrt(2 * rho)
    above = float(log_ndtr(ratio / 2 - epsilon / ratio))
    below = epsilon + float(log_ndtr(-ratio / 2 - epsilon / ratio))
    return -math.exp(above) * math.expm1(min(0.0, below - above))


def renyi_optimum(rho: float, delta: float) -> float:
    """Return the least conversion over a fine grid of orders, as accountants of Renyi curves compute it."""
    order = 1 + np.exp(np.linspace(-12, 60, 20_001))
    bound = order * rho - np.log(order * delta) / (order - 1) + np.log1p(-1 / order)
    return max(0.0, float(bound.min()))


@pytest.mark.parametrize("delta", DELTAS, ids=str)
@pytest.mark.parametrize("rho", RHOS, ids=str)
def test_conversion_is_above_the_gaussian_mechanism_and_at_the_renyi_optimum(rho: Fraction, delta: Fraction) -> None:
    epsilon = zcdp_epsilon(rho, delta)
    assert gaussian_delta(float(rho), float(epsilon)) <= float(delta) * (1 + 1e-6)
    best = renyi_optimum(float(rho), float(delta))
    assert float(epsilon) <= best * (1 + 1e-5) + 1e-9
    # The grid cannot see below the true minimum by more than its own coarseness.
    assert float(epsilon) >= best * (1 - 1e-4) - 1e-9


@pytest.mark.parametrize(("rho", "delta"), [(RHOS[i], DELTAS[j]) for i in range(2, 8) for j in (2, 3, 4)])
def test_conversion_is_close_to_the_truth_of_the_gaussian(rho: Fraction, delta: Fraction) -> None:
    """Renyi conversion loses something, a known little: a tenth of epsilon would be a different formula."""
    epsilon = float(zcdp_epsilon(rho, delta))
    assert gaussian_delta(float(rho), epsilon * 0.87) > float(delta)


def test_known_values() -> None:
    # Canonne, Kamath and Steinke (2020) against the older rho + 2 sqrt(rho ln(1/delta)).
    rho, delta = Fraction(1, 8), Fraction(1, 10**6)
    older = float(rho) + 2 * math.sqrt(float(rho) * math.log(1 / float(delta)))
    assert 0.85 * older < float(zcdp_epsilon(rho, delta)) < 0.95 * older


@pytest.mark.parametrize("delta", DELTAS, ids=str)
@pytest.mark.parametrize("rho", RHOS, ids=str)
def test_the_two_directions_agree(rho: Fraction, delta: Fraction) -> None:
    epsilon = zcdp_epsilon(rho, delta)
    back = zcdp_delta(rho, epsilon)
    if epsilon > 0:
        assert float(back) == pytest.approx(float(delta), rel=1e-4)
    else:
        assert back <= delta * Fraction(1001, 1000)
    assert zcdp_delta(rho, epsilon + 1) < back


@pytest.mark.parametrize("rho", RHOS, ids=str)
@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_delta_is_above_the_gaussian_mechanism(rho: Fraction, epsilon: Fraction) -> None:
    delta = zcdp_delta(rho, epsilon)
    assert 0 < delta <= 1
    truth = gaussian_delta(float(rho), float(epsilon))
    assert truth <= float(delta) * (1 + 1e-6) + 1e-300


@given(st.integers(1, 10**6), st.integers(1, 10**6), st.integers(1, 25))
@settings(deadline=None, max_examples=60)
def test_conversion_is_monotone(a: int, b: int, digits: int) -> None:
    low, high = sorted((Fraction(a, 10**5), Fraction(b, 10**5)))
    delta = Fraction(1, 10**digits)
    # The order is found by a float search, so equal to a few parts in 10^10 only.
    assert zcdp_epsilon(low, delta) <= zcdp_epsilon(high, delta) * (1 + Fraction(1, 10**9))
    assert zcdp_epsilon(high, delta) <= zcdp_epsilon(high, delta / 10) * (1 + Fraction(1, 10**9))
    assert zcdp_delta(high, high) <= zcdp_delta(high, low) * (1 + Fraction(1, 10**6))


@pytest.mark.parametrize("delta", [*DELTAS, Fraction(1, 10**400), 1 - Fraction(1, 10**30)], ids=lambda d: str(d)[:9])
@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(1, 10**9), *EPSILONS[1:9], Fraction(10**6)], ids=str)
def test_a_rho_budget_never_converts_above_and_wastes_nothing(epsilon: Fraction, delta: Fraction) -> None:
    rho = zcdp_rho(epsilon, delta)
    assert zcdp_epsilon(rho, delta) <= epsilon
    if epsilon == 0 and delta < Fraction(1, 10**300):
        # The orders that would prove anything here are beyond floats; the route is closed, which is safe.
        return
    assert rho > 0
    assert zcdp_epsilon(rho * Fraction(10**6 + 1, 10**6), delta) > epsilon


def test_the_edges_of_conversion() -> None:
    assert zcdp_epsilon(Fraction(0), Fraction(1, 2)) == 0
    assert zcdp_delta(Fraction(0), Fraction(0)) == 0
    assert zcdp_rho(Fraction(1), Fraction(0)) == 0
    for rho in (Fraction(10**400), Fraction(1, 10**400)):
        assert zcdp_epsilon(rho, Fraction(1, 10**9)) >= rho - 40
        assert 0 < zcdp_delta(rho, Fraction(1)) <= 1
    assert zcdp_delta(Fraction(10**400), Fraction(1)) == 1
    # Far below anything that is ever asked for, but a number that can be written down.
    assert zcdp_delta(Fraction(1, 10**30), Fraction(10)).denominator.bit_length() < 8192


# Sampling


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
@pytest.mark.parametrize("rate", [Fraction(1, 1000), Fraction(1, 3), Fraction(99, 100), Fraction(1)], ids=str)
def test_amplification_is_the_loss_of_sampled_randomised_response(epsilon: Fraction, rate: Fraction) -> None:
    """One person's bit, sampled with that rate; the absent person answers like the other bit."""
    with localcontext() as context:
        context.prec = 120
        present, absent = response(decimal(epsilon))
        mixed = [decimal(rate) * p + (1 - decimal(rate)) * q for p, q in zip(present, absent, strict=True)]
        truth = max(abs((p / q).ln()) for p, q in zip(mixed, absent, strict=True))
        found = decimal(amplified_epsilon(epsilon, rate))
        assert found >= truth * (1 - Decimal("1e-60"))
        # The last digits are lost to e^epsilon - 1 where epsilon is tiny.
        assert found <= truth * (1 + Decimal("1e-12"))


def test_the_edges_of_amplification() -> None:
    assert amplified_epsilon(Fraction(5), Fraction(1)) == 5
    assert amplified_epsilon(Fraction(5), Fraction(0)) == 0
    assert amplified_epsilon(Fraction(0), Fraction(1, 2)) == 0
    assert amplified_epsilon(Fraction(10**9), Fraction(1, 2)) == 10**9


# Groups


@pytest.mark.parametrize("size", [0, 1, 2, 3, 7, 64])
@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(1, 100), Fraction(1, 2), Fraction(1)], ids=str)
def test_group_delta_is_reached_by_a_chain_of_coins(epsilon: Fraction, size: int) -> None:
    """A coin whose chance of heads goes 0, delta, delta + e^eps delta, ... keeps (epsilon, delta) at every step."""
    delta = Fraction(1, 10**40)
    with localcontext() as context:
        context.prec = 120
        growth, heads = decimal(epsilon).exp(), [Decimal(0)]
        for _ in range(size):
            heads.append(growth * heads[-1] + decimal(delta))
        for before, after in pairwise(heads):
            assert after <= growth * before + decimal(delta)
            assert 1 - before <= growth * (1 - after) + decimal(delta)
        # Heads are impossible at one end, so all of their chance at the other is delta.
        truth = heads[-1]
        found = decimal(group_delta(epsilon, delta, size))
        assert found >= truth * (1 - Decimal("1e-100"))
        assert found <= truth * (1 + Decimal("1e-20"))


def test_large_groups_cost_no_time_and_stay_above() -> None:
    epsilon, delta, size = Fraction(1, 10**6), Fraction(1, 10**60), 10**7
    truth = float(delta) * math.expm1(float(epsilon) * size) / math.expm1(float(epsilon))
    assert truth <= float(group_delta(epsilon, delta, size)) <= 11 * truth
    assert group_delta(Fraction(10), delta, 200) == 1
    assert group_delta(Fraction(10**9), Fraction(0), 200) == 0

"""Composition of epsilons and deltas, against randomised responses listed one by one."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither.errors import InvalidParameter, NoGuarantee
from dither.privacy import ZCDP, ApproxDP, PureDP
from dither.privacy.accountants import (
    advanced_epsilon,
    concentrated_epsilon,
    mixed_delta,
    mixed_epsilon,
    optimal_delta,
    optimal_epsilon,
)
from tests.rationals import rationals

epsilons = rationals("1/50", 3, 50)
leaks = st.sampled_from([Fraction(0), Fraction(1, 10**9), Fraction(1, 1000), Fraction(1, 20)])
totals = rationals(0, 6, 20)


def listed(losses: list[tuple[Fraction, Fraction]], total: Fraction) -> Decimal:
    """The delta of different leaky responses: a sum over all 2^k patterns of truth and lie (Murtagh and Vadhan)."""
    with localcontext() as context:
        context.prec = 60

        @cache  # Equal losses give the same sums again and again.
        def power(x: Fraction) -> Decimal:
            return (Decimal(x.numerator) / Decimal(x.denominator)).exp()

        excess = Decimal(0)
        for lies in itertools.product((False, True), repeat=len(losses)):
            true = sum((e for (e, _), lie in zip(losses, lies, strict=True) if not lie), Fraction(0))
            false = sum((e for (e, _), lie in zip(losses, lies, strict=True) if lie), Fraction(0))
            excess += max(Decimal(0), power(true) - power(total + false))
        kept = Decimal(1)
        for epsilon, delta in losses:
            excess /= 1 + power(epsilon)
            kept *= 1 - Decimal(delta.numerator) / Decimal(delta.denominator)
        return 1 - kept * (1 - excess)


def formula(epsilon: float, delta: float, count: int, i: int) -> tuple[float, float]:
    """Kairouz, Oh and Viswanath's theorem as printed: the epsilon and delta of its i-th corner."""
    excess = sum(
        math.comb(count, lies) * (math.exp((count - lies) * epsilon) - math.exp((count - 2 * i + lies) * epsilon))
        for lies in range(i)
    )
    excess /= (1 + math.exp(epsilon)) ** count
    return (count - 2 * i) * epsilon, 1 - (1 - delta) ** count * (1 - excess)


@given(epsilons, leaks, st.integers(1, 9), totals)
@settings(max_examples=60)
def test_equal_losses_are_exactly_those_listed(epsilon: Fraction, leak: Fraction, count: int, total: Fraction) -> None:
    truth = listed([(epsilon, leak)] * count, total)
    found = optimal_delta(epsilon, leak, count=count, total_epsilon=total)
    assert Fraction(truth) * (1 - Fraction(1, 10**40)) <= found <= Fraction(truth) + Fraction(1, 10**25)


@pytest.mark.parametrize(("epsilon", "delta", "count"), [(0.1, 0.0, 30), (0.7, 1e-3, 8), (2.0, 1e-6, 5)])
def test_the_printed_corners(epsilon: float, delta: float, count: int) -> None:
    for i in range(count // 2 + 1):
        total, expected = formula(epsilon, delta, count, i)
        found = optimal_delta(epsilon, delta, count=count, total_epsilon=Fraction(total))
        assert float(found) == pytest.approx(expected, rel=1e-9, abs=1e-14)


@given(epsilons, leaks, st.integers(1, 40), st.integers(1, 12))
@settings(max_examples=60)
def test_epsilon_is_where_the_curve_reaches_delta(epsilon: Fraction, leak: Fraction, count: int, digits: int) -> None:
    total = 1 - (1 - leak) ** count + Fraction(1, 10**digits)
    if total >= 1:
        return
    found = optimal_epsilon(epsilon, leak, count=count, total_delta=total)
    assert 0 <= found <= count * epsilon
    assert optimal_delta(epsilon, leak, count=count, total_epsilon=found) <= total * (1 + Fraction(1, 10**20))
    if found > 0:
        less = found * (1 - Fraction(1, 10**12))
        assert optimal_delta(epsilon, leak, count=count, total_epsilon=less) > total


@given(st.lists(st.tuples(epsilons, leaks), min_size=1, max_size=8), totals)
@settings(max_examples=40)
def test_different_losses_are_never_below_those_listed(
    losses: list[tuple[Fraction, Fraction]], total: Fraction
) -> None:
    truth = Fraction(listed(losses, total))
    found = mixed_delta([ApproxDP(epsilon, delta) for epsilon, delta in losses], total_epsilon=total)
    assert found >= truth * (1 - Fraction(1, 10**40))
    # The grid rounds a loss by less than a thousandth of itself, and with it the point where delta becomes zero.
    earlier = Fraction(listed(losses, total * Fraction(999, 1000)))
    assert found <= max(earlier, truth) * Fraction(1001, 1000) + Fraction(1, 10**9)


@given(st.lists(st.tuples(epsilons, leaks), min_size=1, max_size=7), st.integers(1, 10))
@settings(max_examples=30)
def test_the_epsilon_of_different_losses(losses: list[tuple[Fraction, Fraction]], digits: int) -> None:
    leak = 1 - math.prod(1 - delta for _, delta in losses)
    total = leak + Fraction(1, 10**digits)
    if total >= 1:
        return
    found = mixed_epsilon([ApproxDP(epsilon, delta) for epsilon, delta in losses], total_delta=total)
    assert Fraction(listed(losses, found)) <= total
    if found > 0:
        assert Fraction(listed(losses, found * Fraction(99, 100))) > total


def test_equal_losses_by_both_routes() -> None:
    for count, delta in ((100, "1e-5"), (1000, "1e-9")):
        exact = optimal_epsilon("0.05", "1e-12", count=count, total_delta=delta)
        grid = mixed_epsilon([ApproxDP("0.05", "1e-12")] * count, total_delta=delta)
        assert exact <= grid <= exact * Fraction(1001, 1000)


def test_the_older_bounds_are_larger_and_in_order() -> None:
    for epsilon, count in (("0.01", 10_000), ("0.1", 100), ("0.5", 30)):
        settings_ = {"count": count, "total_delta": Fraction(1, 10**6)}
        optimal = optimal_epsilon(epsilon, "1e-12", **settings_)
        concentrated = concentrated_epsilon(epsilon, "1e-12", **settings_)
        advanced = advanced_epsilon(epsilon, "1e-12", **settings_)
        assert optimal <= concentrated <= advanced <= count * Fraction(epsilon)


def test_advanced_composition_is_its_formula() -> None:
    expected = 0.1 * math.sqrt(2 * 100 * math.log(1e5)) + 100 * 0.1 * (math.exp(0.1) - 1)
    assert float(advanced_epsilon("0.1", 0, count=100, total_delta="1e-5")) == pytest.approx(expected, rel=1e-12)
    # Many deltas are paid for out of the total.
    more = advanced_epsilon("0.1", "1e-8", count=100, total_delta="1e-5")
    assert float(more) == pytest.approx(
        0.1 * math.sqrt(2 * 100 * math.log(1 / 9e-6)) + 100 * 0.1 * (math.exp(0.1) - 1), rel=1e-12
    )


def test_the_edges() -> None:
    assert optimal_delta(1, 0, count=0, total_epsilon=0) == 0
    assert optimal_epsilon(1, 0, count=0, total_delta=0) == 0
    assert optimal_epsilon(1, 0, count=5, total_delta=0) == 5
    assert optimal_epsilon(0, "0.1", count=1, total_delta="0.1") == 0
    assert optimal_delta(0, "0.1", count=2, total_epsilon=0) == Fraction(19, 100)
    assert mixed_epsilon([], total_delta=0) == 0
    assert mixed_delta([ApproxDP(0, "0.1")], total_epsilon=1) == Fraction(1, 10)
    assert mixed_epsilon([PureDP(1), PureDP(2)], total_delta=0) == 3
    assert advanced_epsilon(100, 0, count=3, total_delta="0.1") == 300


@pytest.mark.parametrize("find", [optimal_epsilon, advanced_epsilon])
def test_deltas_that_are_used_up(find: Any) -> None:
    with pytest.raises(NoGuarantee):
        find(1, "0.1", count=10, total_delta="0.1")


def test_only_losses_with_an_epsilon_are_mixed() -> None:
    for odd in (ZCDP(1), None, "1"):
        with pytest.raises(InvalidParameter, match="losses"):
            mixed_delta([odd], total_epsilon=1)  # type: ignore[list-item]
    with pytest.raises(InvalidParameter, match="count"):
        optimal_delta(1, 0, count=-1, total_epsilon=0)

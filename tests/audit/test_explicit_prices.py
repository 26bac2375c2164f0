"""Prices against laws that are written out: none is below them, and each rule is caught when it is halved."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dither.audit.explicit_prices import understated_prices
from dither.privacy import ApproxDP, Loss, PureDP, conversions, losses, plans


def test_no_price_is_below_an_explicit_law() -> None:
    assert understated_prices() == []


def test_a_group_without_its_growth_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def proportional(epsilon: Fraction, delta: Fraction, size: int) -> Fraction:
        return delta * size

    monkeypatch.setattr(losses, "group_delta", proportional)
    assert any("a group of 2 under epsilon" in text for text in understated_prices())


@pytest.mark.parametrize("what", ["epsilon", "delta"])
def test_a_sample_that_is_amplified_twice_is_found(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    def twice(inner: Loss, caught: Fraction) -> Loss:
        if inner.pure is None:
            return inner
        rate = caught**2 if what == "epsilon" else caught
        epsilon = conversions.amplified_epsilon(inner.pure, rate)
        if not inner.delta:
            return PureDP(epsilon, rho=inner.rho)
        return ApproxDP(epsilon, inner.delta * (caught if what == "epsilon" else caught**2))

    monkeypatch.setattr(plans, "_amplified", twice)
    found = understated_prices()
    assert any("each sampled with" in text for text in found)
    assert any("units replaced" in text for text in found)

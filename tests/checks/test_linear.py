"""Counters held against what a person loses, read off from outside; each check has a twin that it refuses."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from dither.checks.linear import check_linear_loss, check_spread, linear_of, run_allowances
from dither.checks.sampling import check_many_rows
from dither.checks.violation import ContractViolation
from dither.mechanisms import DecayedCounter, DiscreteGaussian, Example, Geometric, PanPrivateCounter, TreeCounter
from dither.mechanisms.core import runner


def test_a_person_in_one_interval_twice_is_found_in_the_draws() -> None:
    counter = TreeCounter(steps=9, bases=(3,), node=DiscreteGaussian(sigma=3), ticks=2, apart=2)
    linear = linear_of(counter, list(range(9)), 9, 1)
    assert linear is not None
    change: Any = linear.fed[0] * 0
    change[[0, 2]] = 1
    # One tick alone, and twice the interval of three: 1 + 4, over 2 sigma^2.
    assert linear.lost(change) == pytest.approx(5 / 18)
    check_linear_loss(Example(counter, None))


@pytest.mark.parametrize("node", [Geometric(scale=2), DiscreteGaussian(sigma=2)])
def test_visits_that_are_not_charged_are_found(node: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    counter = TreeCounter(steps=4, bases=(2,), node=node, ticks=3, apart=1)
    check_linear_loss(Example(counter, None))
    monkeypatch.setattr(TreeCounter, "stability", Fraction(2))
    with pytest.raises(ContractViolation, match="a person at ticks"):
        check_linear_loss(Example(replace(counter), None))


def test_a_memory_that_is_the_last_report_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    counter = PanPrivateCounter(scale=1, steps=4, every=2, shape=2)
    check_linear_loss(Example(counter, None))

    def shown(self: Any, state: Any, noise: Any) -> Any:
        state.noisy_sum, state.is_seen = state.noisy_sum + self._fresh(noise), False
        return self._saturated(state.noisy_sum)

    monkeypatch.setattr(PanPrivateCounter, "_shown", shown)
    with pytest.raises(ContractViolation, match="epsilon = inf"):
        check_linear_loss(Example(counter, None))


@pytest.mark.statistical(n=8192, false_alarm=1e-9, catches="visits of a person that are charged as one")
def test_the_spread_of_mixed_noise_covers_every_visit(monkeypatch: pytest.MonkeyPatch) -> None:
    counter = DecayedCounter(decay="3/4", sigma=3, rates=("3/8",), zeros=("1/4",), ticks=3, apart=1)
    check_spread(counter)
    monkeypatch.setattr(DecayedCounter, "length", counter.length / 2)
    with pytest.raises(ContractViolation, match="at least, and"):
        check_spread(replace(counter))


@pytest.mark.parametrize("name", ["tree-counter", "buffered-counter", "tick-noise", "split-counter"])
def test_people_at_every_allowed_tick_lose_no_more_than_is_charged(name: str) -> None:
    tried, found = run_allowances(name, 5)
    assert tried == 5
    assert not found


@pytest.mark.statistical(n=1000, false_alarm=1e-9, catches="samples of fixed size that drop their first rows")
def test_samples_that_drop_their_first_rows_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    check_many_rows(1000, 1e-9)

    def subset(noise: Any, kept: int, of: int) -> Any:
        mask = noise.bernoulli(Fraction(kept, of), of)
        surplus = int(mask.sum()) - kept
        among = (mask == (surplus > 0)).nonzero()[0]
        mask[among[: abs(surplus)]] = surplus < 0
        return mask

    monkeypatch.setattr(runner, "_subset", subset)
    with pytest.raises(ContractViolation, match="sample of fixed size"):
        check_many_rows(1000, 1e-9)

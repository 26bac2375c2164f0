"""Budgets watched from outside: what is registered stays within them, and each way of overspending is seen."""

from __future__ import annotations

from collections import deque
from fractions import Fraction
from typing import Any

import pytest

from dither.checks import ContractViolation
from dither.checks.spending import (
    Spent,
    check_all_parallel,
    check_filter,
    check_parallel,
    check_parallel_parts,
    check_spending,
    check_windows,
    converted,
)
from dither.mechanisms import Example, Geometric, WindowPublisher, find
from dither.privacy import ZCDP, ApproxDP, Filter, Loss, Parallel, PureDP, Repeat, Use
from dither.privacy.conversions import zcdp_delta

BUDGETS = (PureDP(1), ZCDP("1/2"), ApproxDP(1, "1e-6"), ApproxDP("1/10", "1e-9"))


def examples(name: str) -> list[Example]:
    return list(find(name).examples())


def test_the_price_of_disjoint_parts_is_that_of_the_worst_loads() -> None:
    check_all_parallel()


@pytest.mark.parametrize("most", [1, 2, 4])
def test_a_price_that_stops_at_some_touched_siblings_is_found(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    before = Parallel.loss

    def short(self: Parallel, d_in: Any = 1) -> Loss:
        return before(Parallel(self.plan, self.siblings, min(self.touched, most)), d_in)

    monkeypatch.setattr(Parallel, "loss", short)
    check_parallel(Parallel(Use(Geometric(scale=2)), 6, most))
    with pytest.raises(ContractViolation, match="loads"):
        check_all_parallel()


def test_a_price_that_forgets_units_which_meet_in_one_sibling_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Parallel, "loss", lambda self, d_in=1: self.plan.loss(1).times(self.touched * int(d_in)))
    with pytest.raises(ContractViolation, match="loads"):
        check_all_parallel()


def test_a_loop_that_pays_for_one_round_less_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    checked = [example for name in ("gradient-descent", "adaptive-parts", "mwem") for example in examples(name)]
    for example in checked:
        check_spending(example)
        check_parallel_parts(example)
    monkeypatch.setattr(Repeat, "loss", lambda self, d_in=1: self.plan.loss(d_in).times(max(1, self.times - 1)))
    with pytest.raises(ContractViolation, match="is charged"):
        check_spending(checked[0])


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_what_a_filter_admits_is_within_its_budget(budget: Loss) -> None:
    check_filter(budget)


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_a_filter_that_forgets_what_was_spent_is_found(budget: Loss, monkeypatch: pytest.MonkeyPatch) -> None:
    before = Filter.spend

    def forgetful(self: Filter, loss: Loss) -> None:
        kept = self.spent
        before(self, loss)
        if self.spent.rho > budget.rho / 100:
            self.spent = kept

    monkeypatch.setattr(Filter, "spend", forgetful)
    with pytest.raises(ContractViolation, match="admits"):
        # Only small losses in all of these releases come by chance once in far more than 1e9 times.
        check_filter(budget, releases=400)


def test_a_filter_that_admits_anything_is_seen_in_the_runs_under_it(monkeypatch: pytest.MonkeyPatch) -> None:
    (example,) = examples("kept-table")
    check_spending(example)
    monkeypatch.setattr(Filter, "_fits", lambda self, loss: True)
    with pytest.raises(ContractViolation, match="spend"):
        check_spending(example)


WINDOWS = [
    WindowPublisher(epsilon=2, window=width, scheme=scheme, share=share)
    for scheme in ("absorption", "distribution", "uniform", "sample")
    for width, share in ((1, "1/2"), (2, "1/10"), (3, "1/2"), (7, "9/10"))
]


@pytest.mark.parametrize("mechanism", WINDOWS, ids=lambda one: f"{one.scheme} {one.window}")
def test_no_window_of_ticks_spends_more_than_its_budget(mechanism: WindowPublisher) -> None:
    check_windows(Example(mechanism, [0, 1]))


@pytest.mark.parametrize("scheme", ["absorption", "distribution"])
def test_a_window_that_forgets_a_tick_is_found(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = WindowPublisher.reply

    def forgetful(self: Any, state: Any, value: Any, noise: Any) -> Any:
        found = before(self, state, value, noise)
        if scheme == "distribution":
            state.spent = deque(list(state.spent)[1:])
        else:
            # Units that were paid out are absorbed all the same.
            state.published -= 1
            state.spent = deque(list(state.spent)[1:])
        return found

    monkeypatch.setattr(WindowPublisher, "reply", forgetful)
    with pytest.raises(ContractViolation, match="budget of a window"):
        check_windows(Example(WindowPublisher(epsilon=1, window=3, scheme=scheme), [0, 1]))


def test_a_rho_is_converted_as_the_product_converts_it() -> None:
    """Two searches for one minimum: here in floats, there in rationals that are rounded up."""
    for rho in ("1/100", "1/8", "2"):
        for epsilon in ("1/2", "3", "9"):
            there = float(zcdp_delta(Fraction(rho), Fraction(epsilon)))
            assert converted(float(Fraction(rho)), float(Fraction(epsilon))) == pytest.approx(there, rel=1e-5)


def test_figures_are_added_up_plainly() -> None:
    both = Spent.on(PureDP(1)) + Spent.on(ZCDP("1/2", "1e-6"))
    assert both.epsilon is None
    assert both.delta == Fraction(1, 10**6)
    assert not both.is_within(PureDP(10))
    assert Spent.on(PureDP(1)).times(3).is_within(PureDP(3))

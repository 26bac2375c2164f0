"""Releases that cost a whole (epsilon, delta): a fresh budget of that size has room for each, whatever its kind."""

from __future__ import annotations

import pytest

from dither.curator.ledger import Account, Reservation, Stored
from dither.errors import BudgetExceeded, InvalidParameter
from dither.mechanisms import DiscreteGaussian, Gaussian
from dither.privacy import ZCDP, ApproxDP, GaussianDP, Loss, PureDP

ANA = Account("visits", "ana")
WHOLE = ApproxDP(1, "1e-5")
LEAST = Gaussian.calibrated(WHOLE, sensitivity=1).loss(1)


@pytest.mark.parametrize(
    "loss", [WHOLE, LEAST, DiscreteGaussian.calibrated(WHOLE, sensitivity=1).loss(1), ZCDP("0.02", "6e-6")], ids=str
)
def test_a_fresh_budget_has_room_for_all_of_it(home, loss: Loss) -> None:
    with home.open() as ledger:
        ledger.register("visits", budget=WHOLE, unit="rows")
        assert ledger.would_admit(ANA, loss)
        held = ledger.reserve(ANA, "k", "d", loss)
        assert isinstance(held, Reservation)
        ledger.complete(held, b"42")
        assert not ledger.would_admit(ANA, ApproxDP("0.5", "9e-6"))
        with pytest.raises(BudgetExceeded):
            ledger.reserve(ANA, "further", "d", ApproxDP("0.5", "9e-6"))
        assert ledger.verify().is_intact
    with home.open() as ledger:
        assert isinstance(ledger.reserve(ANA, "k", "d", loss), Stored)


def test_gaussian_noise_is_begun_again_at_the_charge_it_was_first_given(home) -> None:
    with home.open() as ledger:
        ledger.register("visits", budget=WHOLE, unit="rows")
        first = ledger.reserve(ANA, "k", "d", LEAST)
        assert isinstance(first, Reservation)
        assert first.loss.delta == WHOLE.delta
        assert ApproxDP(first.loss.pure, WHOLE.delta) >= LEAST
        assert first.loss.pure <= WHOLE.epsilon
        ledger.abandon(first)
        second = ledger.reserve(ANA, "k", "d", LEAST)
        assert isinstance(second, Reservation)
        assert (second.attempt, second.loss) == (2, first.loss)
        assert ledger.balance("visits").spent.delta == WHOLE.delta


def test_gaussian_noise_is_charged_by_rho_where_that_fits(home) -> None:
    with home.open() as ledger:
        ledger.register("visits", budget=WHOLE, unit="rows")
        ledger.reserve(ANA, "k", "d", GaussianDP("1/1000"))
        assert ledger.balance("visits").spent == ZCDP("1/1000")


def test_a_quota_has_a_curve_of_its_own(home) -> None:
    with home.open() as ledger:
        ledger.register("visits", budget=ApproxDP(2, "3e-5"), unit="rows")
        ledger.set_quota("visits", "ana", WHOLE)
        assert ledger.would_admit(ANA, LEAST)
        ledger.reserve(ANA, "k", "d", LEAST)
        assert not ledger.would_admit(ANA, LEAST)
        with pytest.raises(BudgetExceeded):
            ledger.reserve(ANA, "further", "d", LEAST)


def test_a_debit_that_states_its_own_rho_does_not_pay_for_another_loss(home) -> None:
    """The same key again with a dearer loss, as after an upgrade: what was debited must cover it."""
    with home.open() as ledger:
        ledger.register("visits", budget=ApproxDP(1, "1e-6"), unit="rows")
        held = ledger.reserve(ANA, "k", "d", ApproxDP("0.9", "1e-9", rho="2e-5"))
        assert isinstance(held, Reservation)
        ledger.abandon(held)
        for dearer in (ZCDP("0.0045"), GaussianDP("0.0045")):
            with pytest.raises(InvalidParameter, match="at most what key 'k' was debited"):
                ledger.reserve(ANA, "k", "d", dearer)


@pytest.mark.parametrize("first", [ApproxDP("0.1", "9e-6"), ZCDP("0.02", "6e-6"), ZCDP("0.0305")], ids=str)
def test_a_raised_budget_keeps_how_delta_was_divided(home, first: Loss) -> None:
    """The first release settled it; what is spent when a budget is raised depends on the answers, and must not."""
    larger = ApproxDP(2, "4e-5")
    with home.open() as ledger:
        ledger.register("visits", budget=WHOLE, unit="rows")
        ledger.reserve(ANA, "k", "d", first)
        ledger.raise_budget("visits", larger, reason="a second year")
        assert ledger.balance("visits").budget == larger
        converts = isinstance(first, ZCDP)
        # Under the usual division both would fit.
        assert ledger.would_admit(ANA, ApproxDP("0.1", "1e-5")) != converts
        assert ledger.would_admit(ANA, ZCDP("0.01")) == converts
        ledger.register("visits", budget=larger, unit="rows")
        assert ledger.verify().is_intact
    with home.open() as ledger:
        assert ledger.would_admit(ANA, ZCDP("0.01")) == converts
        ledger.raise_budget("visits", ApproxDP(3, "5e-5"), reason="a third")
        assert ledger.would_admit(ANA, ZCDP("0.01")) == converts
        assert ledger.verify().is_intact


def test_a_budget_divided_as_usual_is_raised_as_before(home) -> None:
    with home.open() as ledger:
        ledger.register("visits", budget=WHOLE, unit="rows")
        ledger.reserve(ANA, "k", "d", PureDP("0.1"))
        ledger.raise_budget("visits", ApproxDP(2, "2e-5"), reason="a second year")
        assert ledger.would_admit(ANA, ApproxDP("0.1", "1e-5"))
        assert ledger.would_admit(ANA, ZCDP("0.02"))


def test_a_quota_that_comes_later_is_divided_as_usual(home) -> None:
    with home.open() as ledger:
        ledger.register("visits", budget=ApproxDP(4, "1e-4"), unit="rows")
        ledger.reserve(ANA, "k", "d", PureDP("0.1"))
        ledger.set_quota("visits", "ana", WHOLE)
        assert not ledger.would_admit(ANA, ApproxDP("0.1", "9e-6"))
        assert ledger.would_admit(ANA, ApproxDP("0.1", "5e-6"))


def test_a_gaussian_loss_is_not_a_budget(home) -> None:
    with home.open() as ledger, pytest.raises(InvalidParameter, match="not every release is Gaussian"):
        ledger.register("visits", budget=GaussianDP(1), unit="rows")


def test_an_epsilon_alone_gets_a_delta_that_is_divided_as_usual(home) -> None:
    """What was spent has no delta and fits the epsilon, so the usual division holds it, whatever it was."""
    for spent in ("0.01", "1"):
        name = f"visits {spent}"
        mine = Account(name, "ana")
        with home.open() as ledger:
            ledger.register(name, budget=PureDP(1), unit="rows")
            ledger.reserve(mine, "k", "d", PureDP(spent))
            assert not ledger.would_admit(mine, ZCDP("0.001"))
            ledger.raise_budget(name, ApproxDP(3, "1e-5"), reason="models with Gaussian noise")
            assert not ledger.would_admit(mine, ApproxDP("0.1", "9e-6"))
            assert ledger.would_admit(mine, ApproxDP("0.1", "5e-6"))
            assert ledger.would_admit(mine, ZCDP("0.001")) == (spent == "0.01")
            assert ledger.verify().is_intact


def test_what_is_left_after_a_release_is_what_the_balance_says_then(home) -> None:
    loss = ZCDP("0.550974")
    with home.open() as ledger:
        ledger.register("visits", budget=ApproxDP(20, "1e-4"), unit="rows")
        after = ledger.left_after(ANA, loss)
        assert ledger.balance("visits").left == PureDP(20)
        ledger.reserve(ANA, "k", "d", loss)
        assert str(after) == str(ledger.balance("visits", "ana").left)
        assert after is not None
        assert 5 < after.epsilon < 6
        assert ledger.left_after(ANA, ZCDP(200)) is None

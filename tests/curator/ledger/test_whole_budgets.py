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


def test_a_budget_that_began_otherwise_is_raised_until_it_is_divided_as_usual(home) -> None:
    """What settled the old division was one release; a raised budget must not be divided after the answers."""
    with home.open() as ledger:
        ledger.register("visits", budget=WHOLE, unit="rows")
        ledger.reserve(ANA, "k", "d", WHOLE)
        with pytest.raises(InvalidParameter, match="large enough for what is spent"):
            ledger.raise_budget("visits", ApproxDP(2, "1.5e-5"), reason="a second year")
        ledger.raise_budget("visits", ApproxDP(2, "2e-5"), reason="a second year")
        ledger.reserve(ANA, "more", "d", PureDP(1))

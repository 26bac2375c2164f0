"""What a refusal says would fit does fit: all limits that hold for who asks, not only the one that refused."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import pytest

from dither.curator.ledger import Account
from dither.curator.ledger.memory import MemoryLedger
from dither.curator.ledger.terms import Allowance, Terms
from dither.errors import AllowanceExceeded, BudgetExceeded, DitherError, InvalidParameter, QuotaExceeded
from dither.privacy import ZCDP, ApproxDP, Loss, PureDP

ANA, BEN = Account("visits", "ana"), Account("visits", "ben")
UNIT = "rows of one person"


def made(budget: Loss, spent: Loss | None = None, quota: Loss | None = None, **terms: Any) -> MemoryLedger:
    ledger = MemoryLedger(clock=lambda: 1.8e9)
    ledger.register("visits", budget=budget, unit=UNIT)
    if spent is not None:
        ledger.reserve(BEN, "before", "d", spent)
    if quota is not None:
        ledger.set_quota("visits", "ana", quota, terms=Terms(**terms))
    return ledger


def refused(ledger: MemoryLedger, loss: Loss) -> DitherError:
    with pytest.raises(DitherError) as caught:
        ledger.reserve(ANA, "k", "d", loss)
    return caught.value


def figure(error: DitherError) -> Fraction:
    found = re.search(r"at most (?:epsilon|rho) = ([0-9./e-]+) would fit", str(error))
    assert found is not None, error
    return Fraction(found[1])


CASES: list[tuple[dict[str, Any], Loss, type[DitherError], str]] = [
    # The budget has 16 left, and who asks has a quota of 6.
    ({"budget": PureDP(20), "spent": PureDP(4), "quota": PureDP(6)}, PureDP(20), BudgetExceeded, "6"),
    ({"budget": PureDP(20), "spent": PureDP(4), "quota": PureDP(6)}, PureDP(10), QuotaExceeded, "6"),
    ({"budget": PureDP(20), "spent": PureDP(16), "quota": PureDP(6)}, PureDP(7), BudgetExceeded, "4"),
    ({"budget": PureDP(20), "quota": PureDP(6), "most": PureDP("0.5")}, PureDP(30), BudgetExceeded, "0.5"),
    ({"budget": PureDP(20), "quota": PureDP(6), "most": PureDP("0.5")}, PureDP(10), QuotaExceeded, "0.5"),
    (
        {"budget": PureDP(20), "quota": PureDP(6), "allowance": Allowance.of("0.1", 7)},
        PureDP(30),
        BudgetExceeded,
        "0.1",
    ),
    ({"budget": PureDP(20), "quota": PureDP(6), "allowance": Allowance.of("0.1", 7)}, PureDP(10), QuotaExceeded, "0.1"),
    (
        {"budget": PureDP(20), "quota": PureDP(6), "allowance": Allowance.of("0.1", 7)},
        PureDP(1),
        AllowanceExceeded,
        "0.1",
    ),
    (
        {"budget": PureDP(20), "quota": PureDP(6), "allowance": Allowance.of("0.1", 7), "most": PureDP("0.5")},
        PureDP(1),
        InvalidParameter,
        "0.1",
    ),
    ({"budget": ZCDP(20), "spent": ZCDP(4), "quota": ZCDP(6)}, ZCDP(20), BudgetExceeded, "6"),
    ({"budget": ApproxDP(20, "1e-6"), "quota": PureDP(6)}, PureDP(30), BudgetExceeded, "6"),
]


@pytest.mark.parametrize(("limits", "asked", "kind", "fits"), CASES)
def test_what_would_fit_is_the_least_that_any_limit_has(
    limits: dict[str, Any], asked: Loss, kind: type[DitherError], fits: str
) -> None:
    ledger = made(**limits)
    error = refused(ledger, asked)
    assert isinstance(error, kind)
    assert figure(error) == Fraction(fits)
    # It is admitted, and a tenth more is not.
    for size, is_admitted in ((figure(error) * Fraction(11, 10), False), (figure(error), True)):
        loss = ZCDP(size) if isinstance(asked, ZCDP) else PureDP(size)
        assert ledger.would_admit(ANA, loss) == is_admitted
    ledger.reserve(ANA, "fits", "d", loss)


def test_a_most_for_one_release_that_is_left_is_said_alone() -> None:
    ledger = made(PureDP(20), quota=PureDP(6), most=PureDP("0.5"))
    assert str(refused(ledger, PureDP(1))) == (
        "loss must be at most epsilon = 0.5 for one release, as your grant says, got 'epsilon = 1'"
    )


def test_releases_are_counted_one_by_one_within_the_most_for_each() -> None:
    from dither.curator.price import affordable

    ledger = made(PureDP(20), quota=PureDP(6), most=PureDP("0.5"))
    assert affordable(ledger, ANA, PureDP("0.5")) == 12
    assert affordable(ledger, ANA, PureDP("0.6")) == 0


def test_under_a_budget_of_rho_an_epsilon_that_would_fit_is_named() -> None:
    ledger = made(ZCDP("0.5"))
    error = refused(ledger, PureDP(3))
    assert Fraction(1) <= figure(error) <= Fraction(2)
    ledger.reserve(ANA, "fits", "d", PureDP(figure(error)))


def test_figures_of_a_delta_keep_to_the_quota_as_well() -> None:
    ledger = made(ApproxDP(20, "1e-5"), quota=ApproxDP(2, "1e-6"))
    text = str(refused(ledger, ApproxDP(30, "1e-7")))
    found = re.search(r"epsilon = (\S+) with this delta would fit", text)
    assert found is not None, text
    assert Fraction(found[1]) == 2


def test_who_states_no_loss_is_told_the_most_for_one_release_where_that_is_less() -> None:
    from dither.curator.price import loss_not_stated

    def told(**terms: Any) -> str:
        return str(loss_not_stated("epsilon", made(PureDP(20), quota=PureDP(6), **terms).balance("visits", "ana")))

    assert "; remaining budget: epsilon = 6, at most epsilon = 0.5 for one release" in told(most=PureDP("0.5"))
    for terms in ({}, {"most": PureDP(7)}):
        assert "; remaining budget: epsilon = 6" in told(**terms)
        assert "for one release" not in told(**terms)

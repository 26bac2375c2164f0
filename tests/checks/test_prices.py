"""Prices of many units: a cap on any kind of draw or plan is refused, and the law adds up what plans add up."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither.checks import ContractViolation
from dither.checks.prices import FAR, check_far_prices, check_law_far, least
from dither.mechanisms import Example, Gaussian, Geometric, find
from dither.mechanisms.core.accounted import Accounted
from dither.mechanisms.staircase import Staircase
from dither.privacy import ROW, Loss, PureDP
from dither.privacy.plans import Best, Parallel, Plan, Repeat, Repeats, Sampled, SampledExactly, Use, Within, sequence

DRAW = Use(Geometric(scale=2), stability=3)
PLANS: dict[str, Plan] = {
    "one draw": DRAW,
    "several": sequence([DRAW, Use(Gaussian(sigma=4))]),
    "again": Repeat(DRAW, times=4),
    "disjoint": Parallel(DRAW, siblings=5, touched=2),
    "sampled": Sampled(DRAW, rate="1/10"),
    "sampled exactly": SampledExactly(DRAW, kept=3, of=40),
    "best": Best(DRAW, Repeats(stop="1/4", shape=1)),
    "adaptive": Within(PureDP(1), (Geometric,)),
    "accounted": Accounted(Repeat(Sampled(Use(Gaussian(sigma=4)), rate="0.1"), times=10), ROW, "1e-5"),
}


def first(name: str) -> Example:
    return next(iter(find(name).examples()))


def test_a_price_may_begin_with_a_step_for_every_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four units move four entries by one, a stair each; from then on two units are one stair. A cap is found."""
    stairs = Example(Staircase(shape=(2, 2), epsilon="1/5", sensitivity=2, width=1), np.zeros((2, 2), dtype=np.int64))
    check_far_prices(stairs)
    before = Staircase.loss
    monkeypatch.setattr(Staircase, "loss", lambda self, d_in=1: before(self, min(Fraction(d_in), Fraction(30))))
    with pytest.raises(ContractViolation, match="50 units"):
        check_far_prices(stairs)


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("distance", [1, 2, 7, 30])
def test_no_plan_is_charged_less_than_the_law_says(name: str, distance: int) -> None:
    plan = PLANS[name]
    price, (epsilon, rho) = plan.loss(distance), least(plan, Fraction(distance))
    if price.pure is None:
        assert rho > 0
        assert float(price.rho) >= rho * (1 - 1e-9)
    else:
        assert epsilon is not None
        assert float(price.pure) * (1 + 1e-9) >= epsilon > 0


@pytest.mark.parametrize("name", [name for name in PLANS if name != "sampled exactly"])
def test_the_law_goes_on_beyond_five_units(name: str) -> None:
    """The twin: what five units cost does not pay for thirty."""
    plan = PLANS[name]
    price, (epsilon, rho) = plan.loss(5), least(plan, Fraction(30))
    assert rho > float(price.rho) if price.pure is None else (epsilon or 0) > float(price.pure)


CAPPED = ["geometric", "laplace", "discrete-gaussian", "gaussian", "staircase", "exponential", "gamma-norm"]


@pytest.mark.parametrize("name", CAPPED)
def test_a_price_of_draws_that_stops_growing_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    example = first(name)
    kind: Any = type(example.mechanism)
    before = kind.loss
    check_far_prices(example)

    def capped(self: Any, d_in: Any = 1) -> Loss:
        found: Loss = before(self, min(Fraction(d_in), Fraction(5)))
        return found

    monkeypatch.setattr(kind, "loss", capped)
    with pytest.raises(ContractViolation, match="as it began"):
        check_far_prices(example)


def test_a_flat_price_of_far_values_is_refuted_by_their_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """A price that never grows has no beginning to go on from; the law itself refutes it."""
    example = first("geometric")
    check_law_far(example)
    monkeypatch.setattr(Geometric, "loss", lambda self, d_in=1: PureDP(1 / self.scale if d_in else 0))
    check_far_prices(example)
    with pytest.raises(ContractViolation, match="laws of neighbours"):
        check_law_far(example)


def test_what_promises_nothing_far_away_is_let_through() -> None:
    check_far_prices(first("truncated-laplace"))
    check_law_far(first("truncated-laplace"))
    check_far_prices(first("randomised-response"))
    assert FAR >= 50

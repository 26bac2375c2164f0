"""Filters and odometers as ledgers see them: sums, refusals, and nothing forgotten."""

from __future__ import annotations

import itertools
import re
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from dither.errors import BudgetExceeded, InvalidParameter
from dither.exact import Number, sqrt_up
from dither.mechanisms import Gaussian
from dither.privacy import (
    NOTHING,
    ZCDP,
    ApproxDP,
    Filter,
    GaussianDP,
    Loss,
    Odometer,
    PureDP,
    compose,
    pure_to_zcdp,
    zcdp_epsilon,
    zcdp_rho,
)
from dither.privacy.accountants import analytic_delta

epsilons = st.integers(0, 600).map(lambda n: Fraction(n, 500))
deltas = st.sampled_from([Fraction(0), Fraction(1, 10**7), Fraction(1, 10**6), Fraction(1, 10**3)])
pures = epsilons.map(PureDP)
tight = st.builds(lambda epsilon, n: PureDP(epsilon, rho=pure_to_zcdp(epsilon) * n / 4), epsilons, st.integers(0, 4))
zcdps = st.builds(lambda n, delta: ZCDP(Fraction(n, 1000), delta), st.integers(0, 40), deltas)
approxes = st.builds(ApproxDP, epsilons, deltas)
losses = pures | tight | zcdps | approxes
budgets = st.sampled_from(
    [
        PureDP(1),
        PureDP(1, rho="1/10"),
        PureDP(0),
        ZCDP("1/20"),
        ZCDP("1/20", "1e-6"),
        ApproxDP(1, "1e-6"),
        ApproxDP(2, "1e-3"),
        ApproxDP(1, "1e-3", rho="1/10"),
        ApproxDP(1, 0),
    ]
)


class Reference:
    """The rules once more, on lists: every figure is added up from scratch each time."""

    def __init__(self, budget: Loss) -> None:
        self.budget, self.accepted = budget, list[Loss]()

    def fits(self, loss: Loss) -> bool:
        everything = [*self.accepted, loss]
        epsilon = None
        if all(one.pure is not None for one in everything):
            epsilon = sum((one.pure for one in everything if one.pure is not None), Fraction(0))
        rho = sum((one.rho for one in everything), Fraction(0))
        delta = sum((one.delta for one in everything), Fraction(0))
        budget = self.budget
        if isinstance(budget, ZCDP):
            return rho <= budget.rho and delta <= budget.delta
        assert budget.pure is not None
        adds_up = epsilon is not None and epsilon <= budget.pure
        if isinstance(budget, PureDP) or budget.rho != pure_to_zcdp(budget.pure):
            everything_is_nothing = all(one.is_zero for one in everything)
            return everything_is_nothing or (adds_up and delta <= budget.delta and rho <= budget.rho)
        if budget.delta == 0:
            return delta == 0 and (adds_up or rho == 0)
        return delta <= budget.delta / 2 and (adds_up or rho <= zcdp_rho(budget.pure, budget.delta / 2))


class Ledger(RuleBasedStateMachine):
    """Random spends against the reference, with refusals that must change nothing."""

    @initialize(budget=budgets)
    def open(self, budget: Loss) -> None:
        self.filter, self.reference = Filter(budget), Reference(budget)

    @rule(loss=losses)
    def spend(self, loss: Loss) -> None:
        before, expected = self.filter.spent, self.reference.fits(loss)
        assert self.filter.admits(loss) == expected
        if expected:
            self.filter.spend(loss)
            self.reference.accepted.append(loss)
        else:
            with pytest.raises(BudgetExceeded) as caught:
                self.filter.spend(loss)
            assert (caught.value.requested, caught.value.spent, caught.value.budget) == (
                loss,
                before,
                self.filter.budget,
            )
            assert self.filter.spent is before

    @rule()
    def ask_for_room(self) -> None:
        room = self.filter.room()
        assert self.filter.admits(room) or room.is_zero

    @invariant()
    def nothing_is_forgotten(self) -> None:
        if not hasattr(self, "filter"):
            return
        total = compose(self.reference.accepted)
        assert self.filter.spent == total
        assert total.rho == sum((loss.rho for loss in self.reference.accepted), Fraction(0))
        assert total.delta <= self.filter.budget.delta


Ledger.TestCase.settings = settings(deadline=None, max_examples=40, stateful_step_count=15)
TestLedger = Ledger.TestCase


# Each kind of budget


def test_a_pure_budget_is_a_sum_of_epsilons() -> None:
    budget = Filter(PureDP(1))
    for _ in range(10):
        budget.spend(PureDP(0.1))
    assert budget.spent.pure == 1
    assert not budget.admits(PureDP("1e-300"))
    assert budget.admits(NOTHING)
    for stranger in (ZCDP("1e-9"), ApproxDP(0, "1e-9")):
        assert not Filter(PureDP(1)).admits(stranger)


def test_a_concentrated_budget_is_a_sum_of_rhos() -> None:
    budget = Filter(ZCDP("1/8"))
    budget.spend(ZCDP("1/16"))
    budget.spend(PureDP("0.1"))
    assert not budget.admits(ZCDP("1/16"))
    assert budget.admits(budget.room())
    assert not Filter(ZCDP("1/8")).admits(ApproxDP("0.1", "1e-9"))
    assert Filter(ZCDP("1/8", "1e-9")).admits(ApproxDP("0.1", "1e-9"))


def test_an_approximate_budget_takes_either_route() -> None:
    few, many = Filter(ApproxDP(1, "1e-6")), Filter(ApproxDP(1, "1e-6"))
    few.spend(PureDP(1))
    assert few.spent.rho > zcdp_rho(Fraction(1), Fraction(1, 2 * 10**6))
    assert not few.admits(PureDP("1e-9"))
    spends = 0
    while many.admits(PureDP("0.01")):
        many.spend(PureDP("0.01"))
        spends += 1
    assert spends > 300
    assert many.spent.pure is not None
    assert many.spent.pure > 3
    assert zcdp_epsilon(many.spent.rho, Fraction(1, 2 * 10**6)) <= 1


def test_once_both_routes_are_closed_they_stay_closed() -> None:
    budget = Filter(ApproxDP(1, "1e-6"))
    budget.spend(PureDP("0.9"))
    # The rho is gone with the large release, so only the sum of epsilons is left.
    assert budget.spent.rho > zcdp_rho(Fraction(1), Fraction(1, 2 * 10**6))
    budget.spend(PureDP("0.1"))
    assert not budget.admits(ZCDP("1e-12"))
    assert not budget.admits(PureDP("1e-12"))


def test_a_concentrated_release_closes_the_route_of_sums() -> None:
    budget = Filter(ApproxDP(1, "1e-6"))
    budget.spend(ZCDP("1e-6"))
    assert not budget.admits(PureDP("0.9"))
    assert budget.admits(PureDP("0.1"))


def test_a_concentrated_release_of_nothing_closes_nothing() -> None:
    for limit in (PureDP(1), ApproxDP(1, "1e-6")):
        budget = Filter(limit)
        budget.spend(ZCDP(0))
        budget.spend(PureDP(1))
        assert budget.spent.pure == 1


def test_releases_spend_their_own_deltas() -> None:
    budget = Filter(ApproxDP(1, "1e-6"))
    budget.spend(ApproxDP("0.1", "4e-7"))
    assert not budget.admits(ApproxDP("0.1", "2e-7"))
    assert budget.admits(ApproxDP("0.1", "1e-7"))
    assert budget.admits(PureDP("0.1"))


@pytest.mark.parametrize(("share", "terms"), [(0, "1e-6"), ("1/2", "5e-7"), ("9/10", "1e-7"), (1, "0")])
def test_the_share_of_delta_for_conversion(share: str, terms: str) -> None:
    budget = Filter(ApproxDP(1, "1e-6"), conversion=share)
    assert budget.admits(ApproxDP(1, terms))
    assert not budget.admits(ApproxDP(1, Fraction(terms) + Fraction(1, 10**12)))
    converts = ZCDP(zcdp_rho(Fraction(1), Fraction(share) / 10**6))
    assert budget.admits(converts)
    assert not budget.admits(ZCDP(converts.rho + Fraction(1, 10**9)))


def test_a_refusal_says_that_delta_was_set_aside() -> None:
    budget = Filter(ApproxDP(1, "1e-6"))
    budget.spend(PureDP("0.01"))
    with pytest.raises(BudgetExceeded, match="5e-07 of the budget's delta converts rho"):
        budget.spend(ApproxDP("0.1", "6e-7"))
    for too_much in (ApproxDP("0.1", "2e-6"), PureDP(3)):
        with pytest.raises(BudgetExceeded, match=r"spent already; (epsilon|delta) is short"):
            budget.spend(too_much)


@pytest.mark.parametrize("share", ["11/10", -1, "nan", 2, "half"])
def test_a_share_is_between_none_and_all(share: object) -> None:
    with pytest.raises(InvalidParameter, match="conversion"):
        Filter(ApproxDP(1, "1e-6"), conversion=share)  # type: ignore[arg-type]


# The first release settles how delta is divided


@pytest.mark.parametrize("epsilon", ["0.1", 1, 3])
@pytest.mark.parametrize("delta", ["1e-9", "1e-5", "0.1"])
def test_a_release_that_costs_the_budget_fits_a_fresh_one(epsilon: Number, delta: Number) -> None:
    whole = ApproxDP(epsilon, delta)
    converted = ZCDP(zcdp_rho(whole.epsilon, whole.delta))
    least = Gaussian.calibrated(whole, sensitivity=1).loss(1)
    for loss in (whole, converted, least, ZCDP(zcdp_rho(whole.epsilon, whole.delta / 3), whole.delta * 2 / 3)):
        budget = Filter(whole)
        assert budget.admits(loss)
        budget.spend(loss)
        assert not budget.admits(ApproxDP(whole.epsilon / 100, whole.delta / 100))
    assert least.rho > converted.rho


def test_gaussian_noise_is_charged_by_its_exact_curve_where_its_rho_does_not_fit() -> None:
    budget = Filter(ApproxDP(1, "1e-5"))
    assert budget.price(GaussianDP("1/1000")) == GaussianDP("1/1000")
    least = Gaussian.calibrated(ApproxDP(1, "1e-5"), sensitivity=1).loss(1)
    assert ZCDP(least.rho).to_approx("1e-5").epsilon > 1
    priced = budget.price(least)
    assert isinstance(priced, ApproxDP)
    assert priced.delta == Fraction("1e-5")
    assert analytic_delta(1, sensitivity=sqrt_up(2 * least.rho), epsilon=priced.epsilon) <= priced.delta
    budget.spend(PureDP("0.01"))
    assert budget.price(least) is None


def test_what_settles_is_the_first_release_and_nothing_after_it() -> None:
    """Whatever comes first and next, the division that admitted the first release admits everything after it."""
    menu = [PureDP("0.3"), ApproxDP("0.1", "4e-6"), ApproxDP("0.2", "9e-6"), ZCDP("0.02"), ZCDP("0.025", "6e-6")]
    for first, *later in itertools.permutations(menu):
        budget = Filter(ApproxDP(1, "1e-5"))
        assert budget.division is None
        budget.spend(first)
        settled = budget.division
        assert settled is not None
        for loss in later:
            if budget.admits(loss):
                budget.spend(loss)
            assert settled.holds(budget.spent)
            if settled.terms in (Fraction("5e-6"), Fraction("1e-5")):
                assert budget.division == settled


def test_a_release_of_nothing_settles_nothing() -> None:
    budget = Filter(ApproxDP(1, "1e-5"))
    budget.spend(PureDP(0))
    assert budget.division is None
    budget.spend(ApproxDP(1, "1e-5"))


def test_a_gaussian_loss_is_not_a_budget() -> None:
    with pytest.raises(InvalidParameter, match="budget"):
        Filter(GaussianDP(1))


def test_a_budget_that_states_a_rho_keeps_it() -> None:
    """Ten times 0.1 has a far smaller rho than 1: a plan priced with that rho may not release the 1."""
    for limit in (PureDP("0.1").times(10), PureDP("0.1").times(10) + ApproxDP(0, "1e-6")):
        budget = Filter(limit)
        assert not budget.admits(PureDP(1))
        for _ in range(10):
            budget.spend(PureDP("0.1"))
        assert budget.spent <= limit
        assert not budget.admits(PureDP("1e-9"))
        # No conversion either: it would prove the epsilon and not the rho.
        assert not Filter(limit).admits(PureDP("0.01", rho="1e-12").times(101))


# Refusals


REFUSED = [
    (PureDP(2), PureDP("1.75"), PureDP(1), "epsilon is short: at most epsilon = 0.25 would fit"),
    (PureDP(2), PureDP(1), ApproxDP("0.1", "1e-6"), "an epsilon alone, without room for a delta: at most epsilon = 1"),
    (PureDP(2), PureDP(1), ZCDP("0.1"), "noise that is stated by rho: at most epsilon = 1 would fit"),
    (PureDP(2), PureDP(2), PureDP(1), "nothing would fit"),
    (ApproxDP(1, "1e-6"), ApproxDP("0.5", "1e-7"), ApproxDP("0.7", "1e-7"), "epsilon is short: epsilon = 0.5 with"),
    (ApproxDP(1, "1e-6"), ApproxDP("0.5", "4e-7"), ApproxDP("0.1", "5e-7"), "delta is short: delta = 1e-07 with"),
    (ApproxDP(2, "1e-6"), PureDP(1), ZCDP("0.01"), "Gaussian noise is counted by rho, and then so is all"),
    (ApproxDP(2, "1e-6"), ZCDP("0.01"), PureDP(1), "has Gaussian noise, which is counted by rho"),
    (ZCDP(1), ZCDP("0.5"), ZCDP(1), "rho is short: at most rho = 0.5 would fit"),
]


@pytest.mark.parametrize(("budget", "spent", "asked", "text"), REFUSED)
def test_a_refusal_says_which_figure_is_short_and_what_would_fit(
    budget: Loss, spent: Loss, asked: Loss, text: str
) -> None:
    held = Filter(budget)
    held.spend(spent)
    with pytest.raises(BudgetExceeded, match=re.escape(text)) as caught:
        held.spend(asked)
    # What it says would fit does: the amount is read off the message and asked for.
    said = re.search(r"(?:at most epsilon|Laplace noise at most epsilon) = (\S+) would fit", str(caught.value))
    if said is not None:
        held.spend(PureDP(said.group(1)))


def test_a_refusal_says_what_was_asked_spent_and_allowed() -> None:
    budget = Filter(PureDP(1))
    budget.spend(PureDP("0.75"))
    with pytest.raises(BudgetExceeded) as caught:
        budget.spend(PureDP("0.5"))
    assert caught.value.requested == PureDP("0.5")
    assert caught.value.spent == PureDP("0.75")
    assert caught.value.budget == PureDP(1)
    assert str(caught.value) == (
        "a release of epsilon = 0.5 does not fit: epsilon = 0.75 of epsilon = 1 is spent already; "
        "epsilon is short: at most epsilon = 0.25 would fit"
    )
    assert budget.spent == PureDP("0.75")
    budget.spend(PureDP("0.25"))


def test_deltas_beyond_one_are_refused_as_too_much() -> None:
    budget = Filter(ApproxDP(1, "0.9"))
    budget.spend(ApproxDP(0, "0.4"))
    with pytest.raises(BudgetExceeded):
        budget.spend(ApproxDP(0, "0.7"))


# Small spends


@pytest.mark.parametrize(
    ("budget", "tiny"),
    [
        (PureDP(1), PureDP("1e-30")),
        (ZCDP(1), ZCDP("1e-30")),
        (ApproxDP(1, "0.1"), ApproxDP(0, "1e-30")),
    ],
    ids=["epsilon", "rho", "delta"],
)
def test_ten_thousand_tiny_spends_are_not_absorbed(budget: Loss, tiny: Loss) -> None:
    """In floats, one plus any of these is one."""
    almost = Filter(budget)
    most = {"pure": PureDP(1 - Fraction(1, 10**26)), "zcdp": ZCDP(1 - Fraction(1, 10**26))}
    if budget.kind in most:
        almost.spend(most[budget.kind])
    else:
        almost.spend(ApproxDP(0, Fraction(1, 20) - Fraction(1, 10**26)))
    for _ in range(10_000):
        almost.spend(tiny)
    assert not almost.admits(tiny)


@given(st.permutations([PureDP("0.3"), ZCDP("0.001"), PureDP("0.2"), ApproxDP("0.1", "1e-7"), PureDP(0)]))
@settings(deadline=None, max_examples=30)
def test_the_order_of_spends_does_not_matter(order: list[Loss]) -> None:
    budget = Filter(ApproxDP(3, "1e-6"))
    for loss in order:
        budget.spend(loss)
    assert budget.spent == compose(sorted(order, key=repr))


def test_what_is_admitted_fits_the_budget_as_a_whole() -> None:
    """For all orders of a mixed bag: whatever was let in, the sum of it is within the budget."""
    bag = [PureDP("0.5"), PureDP("0.6"), ZCDP("0.004"), PureDP("0.05"), ApproxDP("0.3", "1e-7")]
    for limit in (ApproxDP(1, "1e-6"), ZCDP("0.2", "1e-6")):
        for order in itertools.permutations(bag):
            budget = Filter(limit)
            for loss in order:
                if budget.admits(loss):
                    budget.spend(loss)
            assert budget.spent <= limit


# Room


@pytest.mark.parametrize("limit", [PureDP(1), ApproxDP(1, "1e-6"), ZCDP("1/8"), PureDP(0), ApproxDP(0, "1e-6")])
def test_room_fits_and_little_more_does(limit: Loss) -> None:
    budget = Filter(limit)
    for part in (NOTHING, PureDP("0.1"), PureDP("0.05")):
        if budget.admits(part):
            budget.spend(part)
        room = budget.room()
        assert budget.admits(room)
        if isinstance(room, ZCDP):
            assert not budget.admits(ZCDP(room.rho + Fraction(1, 10**9)))
        else:
            assert room.pure is not None
            assert not budget.admits(PureDP(room.pure + Fraction(1, 10**5)))


# Odometers


def test_an_odometer_adds_up_and_climbs() -> None:
    odometer = Odometer(first_rho="0.01", rungs=3)
    assert (odometer.epsilon, odometer.rung) == (0, ZCDP("0.01"))
    odometer.record(ZCDP("0.01"))
    assert (odometer.epsilon, odometer.rung) == (None, ZCDP("0.01"))
    odometer.record(ZCDP("1e-9"))
    assert odometer.rung == ZCDP("0.02")
    odometer.record(ApproxDP("0.1", "1e-7"))
    assert odometer.rung == ZCDP("0.02", "1e-7")
    odometer.record(ZCDP(1))
    assert odometer.rung is None
    with pytest.raises(InvalidParameter, match="delta"):
        odometer.approx("1e-6")


def test_an_odometer_in_epsilon_and_delta() -> None:
    odometer = Odometer(first_rho="0.001", rungs=16)
    odometer.record(PureDP("0.01"))
    assert odometer.approx("1e-6") == ApproxDP("0.01", "1e-6")
    for _ in range(999):
        odometer.record(PureDP("0.01"))
    found = odometer.approx("1e-6")
    assert odometer.rung is not None
    assert found.delta == Fraction(1, 10**6)
    assert found.epsilon == zcdp_epsilon(odometer.rung.rho, Fraction(1, 32 * 10**6))
    assert found.epsilon < 10
    odometer.record(ApproxDP(0, "4e-7"))
    assert odometer.approx("1e-6") == found
    with pytest.raises(InvalidParameter, match="delta"):
        odometer.approx("7e-7")


@pytest.mark.parametrize("arguments", [{"first_rho": 0}, {"first_rho": 1, "rungs": 0}, {"first_rho": 1, "rungs": 257}])
def test_a_ladder_is_fixed_and_finite(arguments: dict[str, int]) -> None:
    with pytest.raises(InvalidParameter):
        Odometer(**arguments)

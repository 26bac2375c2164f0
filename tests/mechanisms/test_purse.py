"""What a purse buys costs no more than is in it, whatever loss it was made of."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.errors import InvalidParameter, NoGuarantee
from dither.exact import sqrt_up
from dither.mechanisms import DiscreteGaussian, Exponential, Geometric
from dither.mechanisms.core.purse import PureSpending, Purse, Spending
from dither.privacy import ZCDP, ApproxDP, GaussianDP, Loss, PureDP
from tests.rationals import rationals

_SMALL = rationals(Fraction(1, 1000), 50)
_LOSSES = st.one_of(
    _SMALL.map(PureDP),
    st.builds(lambda epsilon, rho: PureDP(epsilon, rho=rho), _SMALL, _SMALL),
    _SMALL.map(ZCDP),
    st.builds(lambda epsilon: ApproxDP(epsilon, "1e-6"), _SMALL),
    st.builds(lambda epsilon, rho: ApproxDP(epsilon, "1e-6", rho=rho), _SMALL, _SMALL),
    _SMALL.map(lambda epsilon: ApproxDP(epsilon, 0)),
)


@given(_LOSSES)
def test_all_of_a_purse_is_within_the_loss_it_was_made_of(loss: Loss) -> None:
    assert Purse.within(loss).loss <= loss


@given(_LOSSES)
def test_an_epsilon_alone_is_within_the_loss_it_was_made_of(loss: Loss) -> None:
    purse = Purse.pure_within(loss)
    assert purse.is_pure
    assert purse.loss <= loss


@given(_LOSSES, st.integers(1, 40))
def test_noise_and_choices_cost_at_most_what_is_in_the_purse(loss: Loss, moved: int) -> None:
    purse = Purse.within(loss)
    length = sqrt_up(Fraction(moved))
    node = purse.noise(l1=moved, l2=length)
    assert node.loss(moved if purse.is_pure else length) <= purse.loss
    assert node.distance == purse.metric
    assert purse.vector_noise(length).loss(length) <= purse.loss
    assert purse.is_pure or purse.gaussian_noise(length).loss(length) <= purse.loss
    either = Exponential(candidates=3, scale=purse.choice(moved))
    one_way = Exponential(candidates=3, scale=purse.choice(moved, one_way=True), one_way=True)
    assert either.loss(moved) <= purse.loss
    assert one_way.loss(moved) <= purse.loss


@given(_LOSSES, st.lists(st.integers(1, 40), min_size=1, max_size=4), st.booleans())
def test_several_choices_cost_at_most_what_is_in_the_purse(loss: Loss, moves: list[int], one_way: bool) -> None:
    purse = Purse.within(loss)
    scale = purse.choice(sum(moves), sqrt_up(Fraction(sum(move**2 for move in moves))), one_way=one_way)
    choice = Exponential(candidates=3, scale=scale, one_way=one_way)
    assert sum(purse.cost(choice, move) for move in moves) <= purse.amount


@given(_LOSSES, st.integers(2, 9))
def test_parts_together_cost_at_most_the_whole(loss: Loss, parts: int) -> None:
    purse = Purse.within(loss)
    one = (purse / parts).noise()
    first, rest = purse.share("1/3").noise(), purse.share("2/3").noise()
    assert one.loss(1).times(parts) <= purse.loss
    assert first.loss(1) + rest.loss(1) <= purse.loss


@given(_LOSSES, st.integers(1, 9))
def test_what_is_bought_for_one_is_enough_at_the_distance(loss: Loss, distance: int) -> None:
    purse = Purse.within(loss)
    assert purse.per(distance).noise().loss(distance) <= purse.loss


def test_what_is_left_is_of_the_same_kind() -> None:
    for loss in (PureDP("1/2"), ZCDP("1/2")):
        purse = Purse.within(loss)
        assert purse.taking(purse.amount / 3) == purse / 3
        with pytest.raises(InvalidParameter):
            purse.taking(0)


def test_scales_are_the_least_where_they_are_short() -> None:
    assert Purse.within(PureDP("1/2")).noise() == Geometric(scale=2)
    assert Purse.within(ZCDP("1/8")).noise() == DiscreteGaussian(sigma=2)
    assert Purse.within(PureDP(1)).choice(3) == 6


def test_a_stated_rho_is_kept_beside_its_epsilon_and_delta() -> None:
    stated = ApproxDP(1, "1e-6", rho="1/1000")
    assert Purse.within(stated).is_pure
    assert Purse.within(stated).loss.rho <= Fraction(1, 1000)
    assert Purse.within(ApproxDP("1/1000", "1e-6", rho=1)).loss <= ApproxDP("1/1000", "1e-6")


@pytest.mark.parametrize("loss", [PureDP(0), ZCDP(0), ApproxDP(0, 0), GaussianDP(1)])
def test_a_loss_that_buys_nothing_is_refused(loss: Loss) -> None:
    with pytest.raises((NoGuarantee, InvalidParameter)):
        Purse.within(loss)
    with pytest.raises((NoGuarantee, InvalidParameter)):
        Purse.pure_within(loss)


@pytest.mark.parametrize("field", [Spending(), PureSpending()])
def test_a_budget_whose_stated_rho_leaves_nothing_to_spend_is_refused_when_it_is_named(field: Any) -> None:
    small = PureDP(1, rho=Fraction(1, 2**200))
    assert field.convert("budget", small) == small
    Purse.of(small).noise()
    with pytest.raises(InvalidParameter, match="budget must be"):
        field.convert("budget", PureDP(1, rho=Fraction(1, 2**450)))


def test_amounts_buy_nothing_of_the_other_kind() -> None:
    with pytest.raises(NoGuarantee):
        Purse.within(PureDP(1)).gaussian_noise(1)
    with pytest.raises(NoGuarantee):
        Purse.within(ZCDP(1)).geometric_noise(1)
    with pytest.raises(NoGuarantee):
        Purse.within(PureDP(1)).cost(Purse.within(ZCDP(1)).noise())
    assert Purse.within(ZCDP(1)).cost(DiscreteGaussian(sigma=2)) == Fraction(1, 8)

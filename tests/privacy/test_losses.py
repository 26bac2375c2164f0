"""Losses: their order, their sums, and the records they become."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dither.errors import InvalidParameter, NoGuarantee
from dither.privacy import NOTHING, ZCDP, ApproxDP, GaussianDP, Loss, PureDP, compose, pure_to_zcdp
from dither.privacy.losses import largest, shown, states_rho

figures = st.integers(min_value=0, max_value=20 * 5040).map(lambda n: Fraction(n, 5040))
#: Small enough for a few of them to add up.
small = st.integers(min_value=0, max_value=10**7).map(lambda n: Fraction(n, 10**9))
share = st.integers(min_value=0, max_value=60).map(lambda n: Fraction(n, 60))

generic_pure = figures.map(PureDP)
pures = st.builds(lambda epsilon, part: PureDP(epsilon, rho=part * pure_to_zcdp(epsilon)), figures, share)
zcdps = st.builds(ZCDP, figures, small | st.just(Fraction(0)))
generic_approxes = st.builds(ApproxDP, figures, small)
approxes = st.builds(
    lambda epsilon, delta, part: ApproxDP(epsilon, delta, rho=part * pure_to_zcdp(epsilon)), figures, small, share
)
losses = pures | generic_pure | zcdps | approxes | generic_approxes
per_kind = [pures, zcdps, approxes]


def same_promise(first: Loss, second: Loss) -> bool:
    return first <= second <= first


def figures_at_most(first: Loss, second: Loss) -> bool:
    if second.pure is not None and (first.pure is None or first.pure > second.pure):
        return False
    return first.rho <= second.rho and first.delta <= second.delta


# Construction


def test_figures_are_exact() -> None:
    assert PureDP(0.1).epsilon == Fraction(1, 10)
    assert ZCDP("1/3", "1e-9").delta == Fraction(1, 10**9)
    assert ApproxDP(epsilon="0.30", delta=1e-6).delta == Fraction(1, 10**6)
    assert (PureDP(2).pure, PureDP(2).delta) == (2, 0)
    assert (ZCDP(2).pure, ZCDP(2).rho, ZCDP(2).delta) == (None, 2, 0)
    assert (ApproxDP(2, "0.1").pure, ApproxDP(2, "0.1").delta) == (2, Fraction(1, 10))


@pytest.mark.parametrize(
    ("build", "parameter"),
    [
        (lambda: PureDP(-1), "epsilon"),
        (lambda: PureDP(math.nan), "epsilon"),
        (lambda: PureDP(math.inf), "epsilon"),
        (lambda: PureDP(True), "epsilon"),
        (lambda: PureDP(1, rho=-1), "rho"),
        (lambda: PureDP(1, rho=math.nan), "rho"),
        (lambda: ZCDP("-1/2"), "rho"),
        (lambda: ZCDP(1, 1), "delta"),
        (lambda: ApproxDP(1, 1), "delta"),
        (lambda: ApproxDP(1, -1e-9), "delta"),
        (lambda: ApproxDP("nan", 0), "epsilon"),
        (lambda: PureDP(1).to_approx(1), "delta"),
        (lambda: PureDP(1).times(-1), "count"),
        (lambda: PureDP(1).times(1.5), "count"),  # type: ignore[arg-type]
        (lambda: ZCDP(1).group(True), "size"),
        (lambda: ApproxDP(1, 0).group(-1), "size"),
    ],
)
def test_a_refusal_names_the_figure(build: Callable[[], Loss], parameter: str) -> None:
    with pytest.raises(InvalidParameter) as caught:
        build()
    assert caught.value.parameter == parameter


def test_there_are_no_defaults() -> None:
    for build in (PureDP, ZCDP, ApproxDP):
        with pytest.raises(TypeError):
            build()  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        ApproxDP(1)  # type: ignore[call-arg]


@given(figures, figures)
@settings(deadline=None, max_examples=60)
def test_a_stated_rho_never_exceeds_what_epsilon_gives(epsilon: Fraction, rho: Fraction) -> None:
    generic = pure_to_zcdp(epsilon)
    for loss in (PureDP(epsilon, rho=rho), ApproxDP(epsilon, "1e-6", rho=rho)):
        assert loss.rho == min(rho, generic)
        assert states_rho(loss) == (0 < rho < generic)
        # Without any divergence there is no epsilon either.
        assert loss.epsilon == (epsilon if rho else 0)
    assert not states_rho(ZCDP(rho))


# Order


@given(losses)
@settings(deadline=None, max_examples=60)
def test_every_loss_covers_itself_and_nothing(loss: Loss) -> None:
    assert same_promise(loss, loss)
    assert not loss < loss
    assert loss >= NOTHING
    assert (loss <= NOTHING) == loss.is_zero


@pytest.mark.parametrize("kind", per_kind)
def test_within_a_kind_the_order_is_figure_by_figure_and_transitive(kind: st.SearchStrategy[Any]) -> None:
    @given(st.lists(kind, min_size=3, max_size=3))
    @settings(deadline=None, max_examples=60)
    def check(three: list[Any]) -> None:
        for a, b, c in itertools.permutations(three):
            if a <= b and b <= c:
                assert a <= c
            assert not figures_at_most(a, b) or a <= b
            assert (a < b) == (a <= b and not b <= a)
            assert (a > b) == (b < a)
            assert (a >= b) == (b <= a)

    check()


@given(figures, figures, small, small)
@settings(deadline=None, max_examples=60)
def test_weaker_promises_are_above(epsilon: Fraction, more: Fraction, delta: Fraction, extra: Fraction) -> None:
    assert PureDP(epsilon) <= ApproxDP(epsilon, delta)
    assert PureDP(epsilon) <= PureDP(epsilon + more)
    assert PureDP(epsilon) <= ZCDP(pure_to_zcdp(epsilon), delta)
    assert ApproxDP(epsilon, delta) <= ApproxDP(epsilon + more, delta + extra)
    assert ApproxDP(epsilon, delta) <= ZCDP(pure_to_zcdp(epsilon) + more, delta)
    assert ZCDP(epsilon, delta) <= ZCDP(epsilon + more, delta + extra)
    if epsilon:
        assert not ZCDP(epsilon) <= PureDP(epsilon + more)
        assert not ZCDP(epsilon) <= ApproxDP(epsilon + more, 0)
    if delta:
        assert not ApproxDP(epsilon, delta) <= PureDP(epsilon + more)
        assert not ApproxDP(epsilon, delta) <= ZCDP(epsilon + more)
        assert not ZCDP(epsilon, delta) <= ApproxDP(100, 0)


def test_concentrated_losses_convert() -> None:
    assert ZCDP("1/8") <= ApproxDP("2.2", "1e-5")
    assert not ZCDP("1/8") <= ApproxDP("2.1", "1e-5")
    # A thousand small pure releases have a small rho, and so convert below the sum of their epsilons.
    assert PureDP("0.01").times(1000) <= ApproxDP(2, "1e-6")
    assert not PureDP(10) <= ApproxDP(2, "1e-6")
    # What is spent on delta already cannot be spent on conversion.
    assert ZCDP("1/8", "0.9e-5") <= ApproxDP("2.5", "1e-5")
    assert not ZCDP("1/8", "1e-5") <= ApproxDP("2.5", "1e-5")


def test_the_order_ends_quickly_for_tiny_losses() -> None:
    """The delta of a tiny rho at a large epsilon has millions of digits; nobody may wait for them."""
    assert ZCDP("1e-9") <= ApproxDP(1, "1e-6")
    assert ZCDP("1e-30") <= ApproxDP(10, "1e-300")
    assert not ZCDP(10**300) <= ApproxDP(10, "1e-300")


def test_a_loss_with_its_own_rho_promises_that_too() -> None:
    """Otherwise something could be charged the smaller rho after being compared with the epsilon alone."""
    tight, loose = ApproxDP(1, "1e-6", rho="0.001"), ApproxDP(1, "1e-6")
    assert tight < loose
    assert not loose <= tight
    assert not PureDP(1) <= tight
    assert PureDP("0.01") <= tight
    # Conversion proves an epsilon, not a rho that was stated beyond it.
    assert not PureDP("0.01").times(200) <= tight
    assert PureDP(1, rho="0.001") < PureDP(1)


def test_two_records_of_nothing_are_equally_small() -> None:
    assert same_promise(ZCDP(0), PureDP(0))
    assert same_promise(ApproxDP(0, 0), NOTHING)
    assert not ZCDP(0) < PureDP(0)
    assert not PureDP(0) < ZCDP(0)


def test_losses_are_not_compared_with_numbers() -> None:
    for other in (1, 0.5, None, "epsilon = 1"):
        with pytest.raises(TypeError):
            _ = PureDP(1) <= other  # type: ignore[operator]
        with pytest.raises(TypeError):
            _ = PureDP(1) < other  # type: ignore[operator]
        with pytest.raises(TypeError):
            _ = PureDP(1) + other  # type: ignore[operator]
        assert PureDP(1) != other


# Composition


@given(losses, losses, losses)
@settings(deadline=None, max_examples=100)
def test_composition_is_commutative_and_associative(a: Loss, b: Loss, c: Loss) -> None:
    assert a + b == b + a
    left, right = (a + b) + c, a + (b + c)
    assert left == right
    assert compose([a, b, c]) == left
    assert (left.rho, left.delta) == (a.rho + b.rho + c.rho, a.delta + b.delta + c.delta)


@given(losses, losses)
@settings(deadline=None, max_examples=100)
def test_a_sum_is_above_its_parts(a: Loss, b: Loss) -> None:
    total = a + b
    assert a <= total or (a.pure is not None and total.pure is None and a.rho <= total.rho)
    if a.pure is not None and b.pure is not None:
        assert total.pure == a.pure + b.pure
    else:
        assert isinstance(total, ZCDP)


@pytest.mark.parametrize("kind", per_kind)
def test_adding_keeps_the_order(kind: st.SearchStrategy[Any]) -> None:
    @given(kind, kind, losses)
    @settings(deadline=None, max_examples=60)
    def check(a: Any, b: Any, c: Loss) -> None:
        low, high = (a, b) if figures_at_most(a, b) else (b, a)
        assume(figures_at_most(low, high))
        assert low + c <= high + c

    check()


@given(losses, st.integers(min_value=0, max_value=6))
@settings(deadline=None, max_examples=60)
def test_times_is_a_sum(loss: Loss, count: int) -> None:
    assert same_promise(loss.times(count), compose([loss] * count))


@given(losses)
@settings(deadline=None, max_examples=60)
def test_adding_nothing_changes_no_promise(loss: Loss) -> None:
    for nothing in (NOTHING, ZCDP(0), ApproxDP(0, 0)):
        assert same_promise(loss + nothing, loss)
        assert (loss + nothing).pure == loss.pure


def test_mixed_kinds() -> None:
    assert PureDP(1) + PureDP(2) == PureDP(3, rho=pure_to_zcdp(Fraction(1)) + pure_to_zcdp(Fraction(2)))
    assert PureDP(1) + ApproxDP(1, "1e-6") == PureDP(1).times(2) + ApproxDP(0, "1e-6")
    assert ZCDP("1/8") + PureDP(1) == ZCDP(Fraction(1, 8) + pure_to_zcdp(Fraction(1)))
    assert ZCDP("1/8", "1e-7") + ApproxDP(1, "1e-6") == ZCDP(
        Fraction(1, 8) + pure_to_zcdp(Fraction(1)), Fraction(11, 10**7)
    )


def test_ten_tenths_are_one() -> None:
    assert compose([PureDP(0.1)] * 10).pure == 1
    assert compose([PureDP(0.1)] * 10) <= PureDP(1)
    assert not compose([PureDP(0.1)] * 10 + [PureDP(1e-300)]) <= PureDP(1)


def test_sums_of_many_odd_fractions_stay_short_and_never_understate() -> None:
    """Denominators multiply; a ledger must neither refuse the thousandth release nor forget a part of it."""
    primes = [n for n in range(2, 4000) if all(n % p for p in range(2, math.isqrt(n) + 1))]
    total, truth = NOTHING, Fraction(0)
    for prime in primes:
        total, truth = total + PureDP(Fraction(1, prime)), truth + Fraction(1, prime)
    assert total.pure is not None
    assert truth <= total.pure <= truth * (1 + Fraction(1, 2**1000))
    assert Loss.from_dict(json.loads(json.dumps(total.to_dict()))) == total


@given(pures | zcdps.filter(lambda loss: loss.delta == 0), st.integers(min_value=0, max_value=5))
@settings(deadline=None, max_examples=60)
def test_groups(loss: Loss, size: int) -> None:
    found = loss.group(size)
    assert found.rho == min(size * size * loss.rho, pure_to_zcdp(size * loss.pure) if loss.pure is not None else 10**9)
    if isinstance(loss, PureDP):
        assert found.pure == size * loss.epsilon
    assert loss.times(size) <= found or isinstance(loss, PureDP)
    assert same_promise(loss.group(1), loss)
    assert loss.group(2).group(3) == loss.group(6)


@given(figures.map(lambda epsilon: epsilon / 10), st.integers(min_value=0, max_value=4))
@settings(deadline=None, max_examples=60)
def test_groups_of_approximate_losses(epsilon: Fraction, size: int) -> None:
    delta = Fraction(1, 10**9)
    found = ApproxDP(epsilon, delta).group(size)
    assert found.epsilon == size * epsilon
    growth = math.exp(epsilon)
    assert float(found.delta) == pytest.approx(float(delta) * sum(growth**power for power in range(size)), rel=1e-9)


# Where nothing can be promised


@pytest.mark.parametrize(
    "ask",
    [
        lambda: ApproxDP(1, "0.6") + ApproxDP(1, "0.4"),
        lambda: ZCDP(1, "0.6") + ApproxDP(1, "0.6"),
        lambda: ApproxDP(1, "0.2").times(5),
        lambda: ZCDP(1, "0.2").times(6),
        lambda: ApproxDP(5, "0.01").group(3),
        lambda: ApproxDP(600, "1e-100").group(2),
        lambda: ApproxDP("1e-3", "1e-12").group(10**9),
        lambda: ZCDP(1, "1e-9").group(2),
        lambda: ZCDP(1).to_approx(0),
        lambda: ZCDP(1, "1e-6").to_approx("1e-6"),
        lambda: ApproxDP(1, "1e-6").to_approx("1e-7"),
    ],
)
def test_no_guarantee(ask: Callable[[], Loss]) -> None:
    with pytest.raises(NoGuarantee):
        ask()


@given(losses, small)
@settings(deadline=None, max_examples=60)
def test_to_approx_is_a_weaker_promise(loss: Loss, delta: Fraction) -> None:
    try:
        found = loss.to_approx(delta)
    except NoGuarantee:
        assert delta < loss.delta or (delta == loss.delta and loss.pure is None)
    else:
        assert found.delta == delta
        assert loss.pure is None or found.epsilon <= loss.pure
        assert not states_rho(found)
        assert loss <= found


# Records


@given(losses)
@settings(deadline=None, max_examples=100)
def test_a_loss_survives_json(loss: Loss) -> None:
    record = json.loads(json.dumps(loss.to_dict()))
    assert all(type(value) is str for value in record.values())
    found = Loss.from_dict(record)
    assert found == loss
    assert type(found) is type(loss)
    assert hash(found) == hash(loss)
    assert eval(repr(loss), {"PureDP": PureDP, "ZCDP": ZCDP, "ApproxDP": ApproxDP}) == loss  # noqa: S307


@pytest.mark.parametrize("loss", [PureDP(5e-324), ZCDP(1e308, 5e-324), ApproxDP("1e-400", "1e-400"), PureDP(2**8000)])
def test_extreme_losses_survive_json_and_printing(loss: Loss) -> None:
    assert Loss.from_dict(json.loads(json.dumps(loss.to_dict()))) == loss
    assert str(loss)


@pytest.mark.parametrize(
    "record",
    [
        {},
        [],
        None,
        "pure",
        {"kind": "pure"},
        {"kind": "renyi", "epsilon": "1"},
        {"kind": []},
        {"kind": {}},
        {"kind": None},
        {"kind": "pure", "epsilon": "1", "delta": "0"},
        {"kind": "pure", "epsilon": "1", "self": "1"},
        {"kind": "approx", "epsilon": "1"},
        {"kind": "pure", "epsilon": "nan"},
        {"kind": "pure", "epsilon": None},
        {"kind": "pure", "epsilon": True},
        {"kind": "zcdp", "rho": "-1"},
        {"kind": "zcdp", "rho": "1", 3: "1"},
        {"kind": "approx", "epsilon": "1", "delta": "1"},
        {"kind": "pure", "epsilon": "1e999999999"},
    ],
)
def test_bad_records_are_refused(record: Any) -> None:
    with pytest.raises(InvalidParameter):
        Loss.from_dict(record)


def test_a_stated_rho_is_written_and_read() -> None:
    assert PureDP(1).to_dict() == {"kind": "pure", "epsilon": "1"}
    assert PureDP(1, rho="1/8").to_dict() == {"kind": "pure", "epsilon": "1", "rho": "1/8"}
    assert ZCDP("1/8").to_dict() == {"kind": "zcdp", "rho": "1/8"}
    assert repr(ApproxDP(1, "1e-6", rho="1/8")) == "ApproxDP('1', '1/1000000', rho='1/8')"


@given(
    st.fractions(min_value=0) | st.builds(lambda n, p: n * Fraction(10) ** p, figures, st.integers(-390, 390)),
)
@settings(deadline=None, max_examples=150)
def test_what_people_see_is_rounded_up(number: Fraction) -> None:
    text = shown(number)
    assert number <= Fraction(text) <= number * Fraction(100001, 100000)
    assert len(text) <= 14
    assert f"epsilon = {text}" == str(PureDP(number))


def test_what_people_see() -> None:
    assert str(PureDP("1.000001")) == "epsilon = 1.00001"
    assert str(PureDP("0.5")) == "epsilon = 0.5"
    assert str(ZCDP("1/3")) == "rho = 0.333334"
    assert str(ZCDP("1/8", "1e-6")) == "rho = 0.125, delta = 1e-06"
    assert str(ApproxDP(1, "1e-9")) == "epsilon = 1, delta = 1e-09"
    assert str(NOTHING) == "epsilon = 0"


# The least loss above several


@given(st.lists(losses, min_size=1, max_size=4))
@settings(deadline=None, max_examples=60)
def test_the_largest_covers_all(several: list[Loss]) -> None:
    top = largest(several)
    for loss in several:
        assert loss <= top
    assert top.rho <= max(loss.rho for loss in several)
    assert top.delta == max(loss.delta for loss in several)
    assert (top.pure is None) == any(loss.pure is None for loss in several)
    assert largest([*several, *several[::-1]]) == top


# Gaussian losses


def gaussian_excess(mu: float, epsilon: float) -> float:
    """The delta of N(0, 1) against N(mu, 1), by numerical integration of (p - e^epsilon q)+."""
    points = np.linspace(-40, 40, 400_001)
    p, q = (np.exp(-((points - centre) ** 2) / 2) / math.sqrt(2 * math.pi) for centre in (mu, 0.0))
    return float(np.trapezoid(np.maximum(p - math.exp(epsilon) * q, 0.0), points))


@pytest.mark.parametrize("mu", ["1/10", "1/2", "1", "3"])
@pytest.mark.parametrize("delta", ["1e-2", "1e-5"])
def test_gaussian_losses_follow_the_curve_of_two_normal_laws(mu: str, delta: str) -> None:
    loss = GaussianDP(Fraction(mu) ** 2 / 2)
    epsilon = loss.to_approx(delta).epsilon
    assert epsilon <= ZCDP(loss.rho).to_approx(delta).epsilon
    if epsilon:
        assert gaussian_excess(float(loss.mu), float(epsilon)) == pytest.approx(float(delta), rel=1e-4)
    assert loss <= ApproxDP(epsilon, delta)
    assert not GaussianDP(loss.rho * Fraction("1.01")) <= ApproxDP(epsilon, delta) or epsilon == 0


@given(first=figures, second=figures, count=st.integers(0, 9))
def test_gaussian_losses_add_up_to_gaussian_losses(first: Fraction, second: Fraction, count: int) -> None:
    one, other = GaussianDP(first), GaussianDP(second)
    assert (one + other).rho == first + second
    assert isinstance(one + other, GaussianDP) or first + second == 0
    assert one.times(count).rho == count * first
    assert one.group(count).rho == count**2 * first
    assert largest([one, other]).rho == max(first, second)


def test_what_is_added_to_a_gaussian_loss_decides_its_kind() -> None:
    assert type(GaussianDP(1) + ZCDP(1)) is ZCDP
    assert type(ZCDP(1) + GaussianDP(1)) is ZCDP
    assert type(GaussianDP(1) + PureDP(1)) is ZCDP
    assert compose([GaussianDP(1), GaussianDP(2)]) == GaussianDP(3)
    assert type(largest([GaussianDP(1), ZCDP(1)])) is ZCDP


def test_gaussian_losses_are_within_zcdp_and_not_the_other_way_round() -> None:
    assert GaussianDP(1) <= ZCDP(1)
    assert not ZCDP(1) <= GaussianDP(2)
    assert NOTHING <= GaussianDP(0) <= NOTHING
    assert GaussianDP(0).to_approx(0).epsilon == 0


def test_gaussian_losses_become_records_and_come_back() -> None:
    record = GaussianDP("1/3").to_dict()
    assert record == {"kind": "gaussian", "rho": "1/3"}
    assert Loss.from_dict(json.loads(json.dumps(record))) == GaussianDP("1/3")
    with pytest.raises(InvalidParameter, match="delta"):
        Loss.from_dict(record | {"delta": "1/2"})

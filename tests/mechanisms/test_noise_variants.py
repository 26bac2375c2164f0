"""Truncated, stepped and clamped noise: exact laws, losses by brute force, and variants that must fail.

The closed forms are in 60-digit decimals and use no line of ``dither``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.checks.law import check_law_by_branching
from dither.checks.violation import ContractViolation
from dither.errors import InvalidParameter, NoGuarantee
from dither.mechanisms import Geometric
from dither.mechanisms.bounded_geometric import BoundedGeometric
from dither.mechanisms.staircase import Staircase, best_width
from dither.mechanisms.truncated_laplace import TruncatedLaplace
from dither.noise import Noise, system_noise
from dither.privacy import L1, NOTHING, ZCDP, ApproxDP, PureDP
from dither.testing.branching import branch_outcomes
from dither.testing.enumeration import enumerate_outcomes

F = Fraction
TINY = F(1, 10**12)
DRAWS = 160_000
#: All fractions above 0 and up to 100 with denominators up to 100: as ``st.fractions``, but drawn faster.
rationals = st.builds(
    lambda whole, part, of: whole + F(1 + part % of, of), st.integers(0, 99), st.integers(0, 99), st.integers(1, 100)
)


@cache
def exp(x: Fraction) -> Fraction:
    with localcontext() as context:
        context.prec = 60
        return Fraction((Decimal(x.numerator) / Decimal(x.denominator)).exp())


def add(terms: Iterable[Fraction]) -> Fraction:
    """Return the exact sum, reduced once and not after every term."""
    listed = list(terms)
    unit = math.lcm(*(term.denominator for term in listed))
    return F(sum(term.numerator * (unit // term.denominator) for term in listed), unit)


def truncated(scale: Fraction, bound: int) -> dict[int, Fraction]:
    weights = {x: exp(-abs(x) / F(scale)) for x in range(-bound, bound + 1)}
    total = sum(weights.values())
    return {x: weight / total for x, weight in weights.items()}


def stairs(epsilon: Fraction, period: int, width: int, reach: int = 120) -> dict[int, Fraction]:
    """Return the law of Geng and Viswanath, stair by stair, as far as it is more than nothing."""

    def level(x: int) -> int:
        stair, place = divmod(abs(x), period)
        return stair if place < width else stair + 1

    levels = {x: level(x) for x in range(-reach, reach + 1)}
    weights = {stair: exp(-stair * F(epsilon)) for stair in set(levels.values())}
    total = add(weights[stair] for stair in levels.values())
    # Many numbers share a stair, and so a probability.
    shares = {stair: weight / total for stair, weight in weights.items()}
    return {x: shares[stair] for x, stair in levels.items()}


def clamped(scale: Fraction, low: int, high: int, value: int) -> dict[int, Fraction]:
    q = exp(-1 / F(scale))
    law = {x: (1 - q) / (1 + q) * exp(-abs(x - value) / F(scale)) for x in range(low + 1, high)}
    law[low], law[high] = exp(-(value - low) / F(scale)) / (1 + q), exp(-(high - value) / F(scale)) / (1 + q)
    return law


def brackets(found: Any, law: dict[int, Fraction]) -> bool:
    return all(found.brackets(x, mass * (1 - TINY), mass * (1 + TINY)) for x, mass in law.items())


def _name(case: Any) -> str | None:
    return case.name if hasattr(case, "name") else "" if isinstance(case, dict) else None


LAWS: list[tuple[Any, int, dict[int, Fraction], dict[int, Fraction]]] = [
    (TruncatedLaplace(scale="3/2", bound=3), 0, truncated(F(3, 2), 3), truncated(F(7, 5), 3)),
    (TruncatedLaplace(scale="1/2", bound=1), 0, truncated(F(1, 2), 1), truncated(F(1, 2), 2)),
    (TruncatedLaplace(scale=9, bound=2), 0, truncated(F(9), 2), truncated(F(4), 2)),
    (Staircase(epsilon=2, sensitivity=2, width=1), 0, stairs(F(2), 2, 1), stairs(F(2), 2, 2)),
    (Staircase(epsilon=3, sensitivity=3, width=2), 0, stairs(F(3), 3, 2), stairs(F(3), 3, 1)),
    (Staircase(epsilon=1, sensitivity=1, width=1), 0, stairs(F(1), 1, 1), stairs(F(11, 10), 1, 1)),
    (BoundedGeometric(scale=1, low=0, high=3), 1, clamped(F(1), 0, 3, 1), clamped(F(1), 0, 3, 2)),
    (BoundedGeometric(scale="1/2", low=-1, high=1), 9, clamped(F(1, 2), -1, 1, 1), clamped(F(2, 3), -1, 1, 1)),
]


@pytest.mark.parametrize(("mechanism", "value", "law", "twin"), LAWS, ids=_name)
def test_laws_are_exact(mechanism: Any, value: int, law: Any, twin: Any) -> None:
    word_by_word = enumerate_outcomes(partial(mechanism.draw, value), word_bits=1, max_words=12)
    coin_by_coin = branch_outcomes(partial(mechanism.draw, value), runs=1600)
    assert word_by_word.undecided < F(19, 20)
    assert coin_by_coin.undecided < F(1, 500)
    assert brackets(word_by_word, law)
    assert brackets(coin_by_coin, law)
    assert not brackets(coin_by_coin, twin)


@pytest.mark.statistical(n=DRAWS, false_alarm=1e-10, catches="a vectorised law that is off by a tenth somewhere")
@pytest.mark.parametrize(
    ("mechanism", "value", "law", "twin"),
    [
        (TruncatedLaplace(scale=5, bound=6), 10, truncated(F(5), 6), truncated(F(4), 6)),
        (Staircase(epsilon=1, sensitivity=5, width=2), 10, stairs(F(1), 5, 2), stairs(F(1), 5, 3)),
        (BoundedGeometric(scale=3, low=8, high=14), 10, clamped(F(3), 8, 14, 10), clamped(F(3), 8, 14, 11)),
    ],
    ids=_name,
)
def test_draws_of_many_have_the_law(
    mechanism: Any, value: int, law: Any, twin: Any, misfits: Callable[..., list[Any]], noise: Noise
) -> None:
    drawn = mechanism.draw_many(value, DRAWS, noise)
    moved = drawn if isinstance(mechanism, BoundedGeometric) else drawn - value
    near = {x: float(mass) for x, mass in law.items() if mass > F(1, 10**6)}
    assert not misfits(moved.tolist(), near)
    assert misfits(moved.tolist(), {x: float(mass) for x, mass in twin.items() if mass > F(1, 10**6)})


# Truncated Laplace.


def hockey_stick(law: dict[Any, Fraction], other: dict[Any, Fraction], growth: Fraction) -> Fraction:
    return sum((max(F(0), mass - growth * other.get(x, F(0))) for x, mass in law.items()), F(0))


def shifted(law: dict[int, Fraction], by: int) -> dict[int, Fraction]:
    return {x + by: mass for x, mass in law.items()}


@pytest.mark.parametrize(("scale", "bound"), [(F(1), 6), (F(3), 6), (F(1, 3), 2), (F(50), 3), (F(2), 30)])
def test_delta_is_the_least_there_is(scale: Fraction, bound: int) -> None:
    m, law = TruncatedLaplace(scale=scale, bound=bound), truncated(scale, bound)
    for change in range(1, 2 * bound + 1):
        loss = m.loss(change)
        assert loss.pure == change / scale
        least = hockey_stick(law, shifted(law, change), exp(change / scale))
        assert least * (1 - F(1, 10**25)) <= loss.delta <= least * (1 + F(1, 10**25)), change
    for change in (2 * bound + 1, 10 * bound):
        with pytest.raises(NoGuarantee, match="promises nothing at distance"):
            m.loss(change)
    assert m.loss(0) == NOTHING
    assert m.loss(F(1, 2)).delta == m.loss(1).delta


def test_delta_of_two_entries_is_at_most_that_of_one() -> None:
    """Whichever way an L1 change of 3 is divided, the exact delta of the pair is within the stated one."""
    scale, bound = F(2), 4
    law = truncated(scale, bound)
    stated = TruncatedLaplace(scale=scale, bound=bound, shape=2).loss(3)
    for first in range(4):
        here = {(a, b): law[a] * law[b] for a, b in itertools.product(law, law)}
        there = {(a + first, b + 3 - first): mass for (a, b), mass in here.items()}
        assert hockey_stick(here, there, exp(3 / scale)) <= stated.delta
    assert stated == TruncatedLaplace(scale=scale, bound=bound).loss(3)


def test_wide_noise_keeps_its_digits() -> None:
    """At a scale of 2^50 the difference e^x - 1 has lost fifteen digits; what is stated is still right to six."""
    m = TruncatedLaplace(scale=2**50, bound=30 * 2**50)
    assert float(m.loss(1).delta) == pytest.approx(2.0**-50 * math.exp(-30) / 2, rel=1e-6)
    huge = TruncatedLaplace(scale=2**500, bound=2**62)
    assert huge.loss(1).delta == pytest.approx(F(1, 2 * 2**62 + 1), rel=1e-15)
    assert huge.loss(2**62).delta <= F(1, 2) + TINY


@given(epsilon=rationals, sensitivity=st.integers(1, 20), digits=st.integers(1, 12))
def test_truncated_calibration_gives_the_least_bound(epsilon: Fraction, sensitivity: int, digits: int) -> None:
    target = ApproxDP(epsilon, F(1, 10**digits))
    m = TruncatedLaplace.calibrated(target, sensitivity=sensitivity)
    assert m.loss(sensitivity) <= target
    assert m.scale == sensitivity / epsilon
    if m.bound > 1:
        try:
            assert TruncatedLaplace(scale=m.scale, bound=m.bound - 1).loss(sensitivity).delta > target.delta
        except NoGuarantee:
            assert 2 * (m.bound - 1) < sensitivity


def test_truncated_noise_needs_a_delta() -> None:
    for target in (PureDP(1), ZCDP(1), ApproxDP(1, 0)):
        with pytest.raises(NoGuarantee):
            TruncatedLaplace.calibrated(target, sensitivity=1)
    with pytest.raises(NoGuarantee, match="no bound up to 2\\^62"):
        TruncatedLaplace.calibrated(ApproxDP("1e-30", "1e-30"), sensitivity=1)


class Claims(TruncatedLaplace):
    """Claims less than it loses."""

    claim: Any = PureDP(1)

    def loss(self, d_in: Any = 1) -> Any:
        return self.claim


def test_wrong_claims_of_truncated_noise_are_refuted() -> None:
    m = Claims(scale=1, bound=3)
    true = TruncatedLaplace(scale=1, bound=3).loss(1)
    for claim in (PureDP(1), PureDP(5), ApproxDP(1, true.delta * F(99, 100))):
        with pytest.raises(ContractViolation):
            check_law_by_branching(partial(m.draw, 0), partial(m.draw, 1), claim)
    check_law_by_branching(partial(m.draw, 0), partial(m.draw, 1), true)


@pytest.mark.parametrize(("scale", "bound"), [(F(1), 6), (F(9), 3), (F(2), 40)])
def test_truncated_reach_is_the_least(scale: Fraction, bound: int) -> None:
    m, law = TruncatedLaplace(scale=scale, bound=bound), truncated(scale, bound)
    for confidence in ("0.1", "0.5", "0.9", "0.999999"):
        reach = int(m.error(confidence).value)
        assert sum((mass for x, mass in law.items() if abs(x) > reach), F(0)) <= 1 - F(confidence)
        assert reach == 0 or sum((mass for x, mass in law.items() if abs(x) > reach - 1), F(0)) > 1 - F(confidence)
    assert m.error(1 - F(1, 10**200)).value == bound


# Staircase.


def largest_log_ratio(law: dict[int, Fraction], change: int) -> float:
    far = max(law) - change
    return max(abs(math.log(law[x]) - math.log(law[x + change])) for x in range(-far, far))


@pytest.mark.parametrize(("epsilon", "period", "width"), [(F(1), 3, 1), (F(1, 2), 4, 4), (F(2), 5, 2), (F(1), 1, 1)])
def test_staircase_loses_a_stair_at_a_time(epsilon: Fraction, period: int, width: int) -> None:
    m, law = Staircase(epsilon=epsilon, sensitivity=period, width=width), stairs(epsilon, period, width, 60)
    for change in range(1, 3 * period + 2):
        assert float(m.loss(change).pure) == pytest.approx(largest_log_ratio(law, change), rel=1e-9)
    assert m.loss(0) == PureDP(0)
    assert m.loss(F(1, 3)) == m.loss(1)
    assert m.gamma == F(width, period)


@pytest.mark.parametrize(("size", "change"), list(itertools.product((1, 2, 3), (1, 2, 3, 4, 7, 12))))
def test_staircase_of_arrays_pays_for_every_entry_that_moves(size: int, change: int) -> None:
    period = 4
    m = Staircase(epsilon=1, sensitivity=period, width=1, shape=size)
    ways = (way for way in itertools.product(range(change + 1), repeat=size) if sum(way) <= change)
    assert m.loss(change).pure == max(sum(math.ceil(part / period) for part in way) for way in ways)


class TooSteep(Staircase):
    """Stairs of half the sensitivity."""

    def draw_many(self, value: Any, count: int, noise: Noise) -> Any:
        return value + noise.staircase(self.epsilon, count, width=1, period=self.sensitivity // 2)


def test_wrong_stairs_are_refuted() -> None:
    wrong, right = TooSteep(epsilon=1, sensitivity=4, width=1), Staircase(epsilon=1, sensitivity=4, width=1)
    with pytest.raises(ContractViolation):
        check_law_by_branching(partial(wrong.draw, 0), partial(wrong.draw, 4), wrong.loss(4), runs=2400)
    check_law_by_branching(partial(right.draw, 0), partial(right.draw, 4), right.loss(4), runs=2400)


def mean_size(law: dict[int, Fraction]) -> Fraction:
    return add(abs(x) * mass for x, mass in law.items())


@pytest.mark.parametrize(("epsilon", "period"), list(itertools.product((F(1, 2), F(1), F(3), F(6)), (1, 2, 7))))
def test_the_best_width_is_the_best(epsilon: Fraction, period: int) -> None:
    sizes = {width: mean_size(stairs(epsilon, period, width, 600)) for width in range(1, period + 1)}
    chosen = best_width(epsilon, period)
    assert sizes[chosen] <= min(sizes.values()) * (1 + F(1, 10**9))
    q = exp(-epsilon / period)
    geometric = 2 * q / (1 - q * q)
    assert sizes[chosen] <= geometric * (1 + TINY)
    if period > 1 and epsilon >= 3:
        assert sizes[chosen] < geometric * F(19, 20)


def test_the_best_width_tends_to_that_of_the_reals() -> None:
    for epsilon in (F(1, 10), F(1), F(5)):
        found = best_width(epsilon, 10**6) / 10**6
        assert found == pytest.approx(1 / (1 + math.exp(float(epsilon) / 2)), rel=1e-3)


@given(epsilon=rationals, sensitivity=st.integers(1, 1000), size=st.integers(1, 5))
def test_staircase_calibration(epsilon: Fraction, sensitivity: int, size: int) -> None:
    m = Staircase.calibrated(PureDP(epsilon), sensitivity=sensitivity)
    assert m.loss(sensitivity) == PureDP(epsilon)
    array = Staircase.calibrated(PureDP(epsilon), sensitivity=sensitivity, shape=(size,), width=1)
    assert array.loss(sensitivity).pure == epsilon
    assert Staircase.calibrated(ZCDP(epsilon), sensitivity=sensitivity).loss(sensitivity) <= ZCDP(epsilon)


@pytest.mark.parametrize(("epsilon", "period", "width"), [(F(1), 10, 4), (F(3), 7, 7), (F(1, 2), 3, 1), (F(1), 1, 1)])
def test_staircase_reach_is_the_least(epsilon: Fraction, period: int, width: int) -> None:
    m, law = Staircase(epsilon=epsilon, sensitivity=period, width=width), stairs(epsilon, period, width, 600)
    for confidence in ("0.01", "0.3", "0.5", "0.9", "0.95", "0.9999"):
        reach = int(m.error(confidence).value)
        assert sum((mass for x, mass in law.items() if abs(x) > reach), F(0)) <= 1 - F(confidence)
        assert reach == 0 or sum((mass for x, mass in law.items() if abs(x) > reach - 1), F(0)) > 1 - F(confidence)


def test_extreme_stairs_are_drawn() -> None:
    noise = system_noise()
    for epsilon in (F(1, 2**40), F(1, 2**900), F(2**30)):
        m = Staircase(epsilon=epsilon, sensitivity=2**60, width=2**59)
        assert abs(m.draw(0, noise)) <= 2**62
        assert m.error("0.9").value > 0


# Clamped geometric noise.


@pytest.mark.parametrize("scale", [F(1), F(5, 2)])
def test_clamping_costs_nothing(scale: Fraction) -> None:
    m = BoundedGeometric(scale=scale, low=0, high=6)
    for one, other in itertools.product(range(7), range(7)):
        here, there = clamped(scale, 0, 6, one), clamped(scale, 0, 6, other)
        worst = max(abs(math.log(here[x]) - math.log(there[x])) for x in here)
        assert float(m.loss(abs(one - other)).pure) == pytest.approx(worst, abs=1e-12)
    assert m.loss(6) == m.loss(7) == m.loss(10**9)
    assert BoundedGeometric(scale=scale, low=0, high=6, shape=3).loss(100).pure == 18 / scale


class DrawsAgain(BoundedGeometric):
    """Draws noise again until the sum is within the bounds."""

    def draw_many(self, value: Any, count: int, noise: Noise) -> Any:
        start = self.domain.admit(value)[0]
        found: list[int] = []
        while len(found) < count:
            total = int(start + noise.discrete_laplace(self.scale, 1)[0])
            found += [total] if self.low <= total <= self.high else []
        return np.array(found)


def test_drawing_again_is_refuted() -> None:
    wrong, right = DrawsAgain(scale=1, low=0, high=3), BoundedGeometric(scale=1, low=0, high=3)
    with pytest.raises(ContractViolation):
        check_law_by_branching(partial(wrong.draw, 0), partial(wrong.draw, 1), wrong.loss(1))
    check_law_by_branching(partial(right.draw, 0), partial(right.draw, 1), right.loss(1))


@given(value=st.integers(-(2**61), 2**61), out=st.integers(-5, 9), confidence=st.sampled_from(["0.5", "0.99"]))
def test_intervals_stay_within_the_bounds(value: int, out: int, confidence: str) -> None:
    m = BoundedGeometric(scale=2, low=-5, high=9)
    interval = m.interval(out, confidence)
    reach = Geometric(scale=2).reach(1 - float(confidence))
    assert (interval.low, interval.high) == (max(-5, out - reach), min(9, out + reach))
    assert m.error(confidence).value == min(reach, 14)
    assert -5 <= m.draw(value, system_noise()) <= 9
    assert isinstance(interval.low, int)


@given(epsilon=rationals, sensitivity=st.integers(1, 100))
def test_bounded_calibration(epsilon: Fraction, sensitivity: int) -> None:
    m = BoundedGeometric.calibrated(PureDP(epsilon), sensitivity=sensitivity, low=0, high=10)
    assert m.loss(sensitivity) == PureDP(epsilon)
    assert m.scale == min(sensitivity, 10) / epsilon
    assert m.distance is L1


def test_bad_parameters_are_refused() -> None:
    for low, high in ((3, 3), (4, 3)):
        with pytest.raises(InvalidParameter, match="high must be above low"):
            BoundedGeometric(scale=1, low=low, high=high)
    with pytest.raises(InvalidParameter, match="width must be at most the sensitivity, 3"):
        Staircase(epsilon=1, sensitivity=3, width=4)
    with pytest.raises(InvalidParameter, match="epsilon must be between"):
        Staircase(epsilon=2**41, sensitivity=3, width=1)
    for bad in (0, -1, 1.5, True, None):
        with pytest.raises(InvalidParameter, match="bound must be"):
            TruncatedLaplace(scale=1, bound=bad)  # type: ignore[arg-type]
        with pytest.raises(InvalidParameter, match="width must be"):
            Staircase(epsilon=1, sensitivity=3, width=bad)  # type: ignore[arg-type]

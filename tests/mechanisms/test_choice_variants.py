"""Choices among unequal candidates and among blocks: exact laws, sensitivities by brute force, variants that must fail.

The closed forms are in 60-digit decimals and use no line of ``dither``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
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
from dither.mechanisms import Exponential
from dither.mechanisms.generalised_exponential import GeneralisedExponential, RelativeChange
from dither.mechanisms.grouped_exponential import GroupedExponential
from dither.noise import Noise, system_noise
from dither.privacy import LARGEST, ONE_WAY, ZCDP, PureDP
from dither.testing.branching import branch_outcomes
from dither.testing.enumeration import enumerate_outcomes
from tests.rationals import rationals

F = Fraction
TINY = F(1, 10**15)
#: All fractions above 0 and up to 100 with denominators up to 100.
POSITIVE = rationals("1/100", 100, 100)


@cache
def exp(x: Fraction) -> Fraction:
    with localcontext() as context:
        context.prec = 60
        return Fraction((Decimal(x.numerator) / Decimal(x.denominator)).exp())


def softmax(scores: Sequence[Fraction], scale: Fraction) -> list[Fraction]:
    weights = [exp(F(score) / scale) for score in scores]
    return [weight / sum(weights) for weight in weights]


# The generalised exponential mechanism.


def normalised(scores: Sequence[int], units: Sequence[Fraction], penalty: Fraction) -> list[Fraction]:
    """Return the normalised scores over the rationals, as the source writes them."""
    adjusted = [q - penalty * unit for q, unit in zip(scores, units, strict=True)]
    return [
        min((a - b) / (u + v) for b, v in zip(adjusted, units, strict=True))
        for a, u in zip(adjusted, units, strict=True)
    ]


cases = st.integers(1, 6).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(-40, 40), min_size=n, max_size=n),
        st.lists(st.sampled_from([F(1), F(1, 2), F(3), F(7, 3), F(40)]), min_size=n, max_size=n),
        st.lists(rationals(-1, 1), min_size=n, max_size=n),
    )
)

#: All fractions from 0 to 9 with denominators up to 7.
penalties = st.sampled_from(sorted({F(part, of) for of in range(1, 8) for part in range(9 * of + 1)}))


@given(case=cases, penalty=penalties, steps=st.sampled_from([1, 3, 2**20]))
def test_normalised_scores_are_those_of_the_source_rounded_down(case: Any, penalty: Fraction, steps: int) -> None:
    scores, units, _ = case
    m = GeneralisedExponential(sensitivities=units, scale=1, penalty=penalty, steps=steps)
    found = m.normalised(np.array(scores)).tolist()
    assert found == [math.floor(s * steps) for s in normalised(scores, units, penalty)]
    assert max(found) == 0


@given(
    case=cases,
    penalty=penalties,
    steps=st.sampled_from([1, 3, 2**20]),
    d_in=st.sampled_from([F(1), F(2), F(5, 2)]),
)
def test_normalised_scores_move_no_farther_than_is_paid_for(
    case: Any, penalty: Fraction, steps: int, d_in: Fraction
) -> None:
    scores, units, shares = case
    moved = [q + math.trunc(share * d_in * unit) for q, share, unit in zip(scores, shares, units, strict=True)]
    m = GeneralisedExponential(sensitivities=units, scale=1, penalty=penalty, steps=steps)
    apart = m.distance.measure(scores, moved)
    assert apart is not None
    assert apart <= d_in
    change = m.normalised(np.array(moved)) - m.normalised(np.array(scores))
    assert int(np.ptp(change)) <= m.loss(d_in).pure * steps
    # At whole distances rounding costs nothing.
    assert m.loss(1).pure == 2


def test_the_factor_two_is_needed() -> None:
    """One candidate gains and another loses a whole unit each: they are held back by different ones."""
    units, start, move = (F(2), F(1), F(40), F(40)), [0, 10, 0, 60], [2, -1, -40, 40]
    end = [a + b for a, b in zip(start, move, strict=True)]
    m = GeneralisedExponential(sensitivities=units, scale=1, penalty=0, steps=2**20)
    assert m.distance.measure(start, end) == 1
    change = (m.normalised(np.array(end)) - m.normalised(np.array(start))) / 2**20
    assert np.ptp(change) == pytest.approx(2, abs=1e-5)


@pytest.mark.parametrize(
    ("scores", "units", "penalty", "scale"),
    [((4, 2, 9), (1, 1, 3), 2, 2), ((0, 1), (1, "3/2"), 0, "1/2"), ((5, 5, 5), (1, 2, 4), 1, 1)],
)
def test_generalised_exponential_law(scores: Any, units: Any, penalty: int, scale: Any) -> None:
    m = GeneralisedExponential(sensitivities=units, scale=scale, penalty=penalty, steps=8)
    exact = softmax([F(math.floor(8 * s), 8) for s in normalised(scores, [F(u) for u in units], F(penalty))], F(scale))
    twin = softmax([F(q) for q in scores], F(scale) * 7 / 5)
    word_by_word = enumerate_outcomes(partial(m.draw, np.array(scores)), word_bits=2, max_words=8)
    coin_by_coin = branch_outcomes(partial(m.draw, np.array(scores)), runs=1600)
    for found in (word_by_word, coin_by_coin):
        assert found.undecided < F(1, 1000)
        for i in range(len(scores)):
            assert found.brackets(i, exact[i] - TINY, exact[i] + TINY)
        assert not all(found.brackets(i, twin[i]) for i in range(len(scores)))


class OwnSensitivityOnly(GeneralisedExponential):
    """Divides by the candidate's own sensitivity, and forgets that of the other."""

    def normalised(self, scores: Any) -> Any:
        units = self.sensitivities
        best = [min((int(q) - int(p)) / u for p in scores) for q, u in zip(np.asarray(scores), units, strict=True)]
        return np.floor(np.array([float(b) for b in best]) * self.steps).astype(np.int64)


class NotNormalised(GeneralisedExponential):
    """Uses the scores as they are."""

    def normalised(self, scores: Any) -> Any:
        return np.asarray(scores, dtype=np.int64) * self.steps


@pytest.mark.parametrize("wrong", [OwnSensitivityOnly, NotNormalised])
def test_wrong_normalisations_are_refuted(wrong: type[GeneralisedExponential]) -> None:
    here, there = np.array([0, 0]), np.array([-1, 6])
    for kind in (wrong, GeneralisedExponential):
        m = kind(sensitivities=(1, 6), scale=2, penalty=0, steps=2**10)
        assert m.distance.measure(here, there) == 1
        check = partial(check_law_by_branching, partial(m.draw, here), partial(m.draw, there), m.loss(1), runs=1200)
        if kind is wrong:
            with pytest.raises(ContractViolation):
                check()
        else:
            check()


@given(scale=POSITIVE, d_in=st.integers(0, 50))
def test_generalised_exponential_loss(scale: Fraction, d_in: int) -> None:
    m = GeneralisedExponential(sensitivities=(1, 2), scale=scale, penalty=1)
    epsilon = 2 * d_in / scale
    assert m.loss(d_in) == PureDP(epsilon, rho=epsilon**2 / 8)
    coarse = GeneralisedExponential(sensitivities=(1, 2), scale=scale, penalty=1, steps=4)
    assert coarse.loss(F(1, 3)).pure == 2 * F(2, 4) / scale


@given(epsilon=POSITIVE)
def test_generalised_exponential_calibration(epsilon: Fraction) -> None:
    m = GeneralisedExponential.calibrated(PureDP(epsilon), sensitivities=(1, 5, 9))
    assert m.loss(1).pure == epsilon
    assert float(m.penalty) == pytest.approx(float(m.scale) * math.log(3 / 0.05), rel=1e-2)
    concentrated = GeneralisedExponential.calibrated(ZCDP(epsilon), sensitivities=(1, 5))
    assert concentrated.loss(1) <= ZCDP(epsilon)
    assert concentrated.loss(1).rho >= epsilon * F(99, 100) or concentrated.loss(1).pure <= epsilon * 2


def test_no_choice_reaches_nothing() -> None:
    with pytest.raises(NoGuarantee):
        GeneralisedExponential.calibrated(PureDP(0), sensitivities=(1, 2))


@pytest.mark.parametrize("penalty", [0, 3, 20])
@pytest.mark.parametrize("units", [(1, 1, 1), (1, 2, 10), (5, 1, 3)])
def test_generalised_exponential_error_holds(penalty: int, units: tuple[int, ...]) -> None:
    """The exact probability of a lead beyond the bound is at most what is left of the confidence."""
    m = GeneralisedExponential(sensitivities=units, scale=2, penalty=penalty)
    for scores, confidence in itertools.product(([0, 0, 0], [9, 40, 3], [100, 0, 90], [0, 30, 60]), ("0.5", "0.95")):
        law = softmax(normalised(scores, [F(u) for u in units], F(penalty)), F(2))
        bound = m.error(confidence).value
        far = [i for i, q in enumerate(scores) if max((p - q) / u for p, u in zip(scores, units, strict=True)) > bound]
        assert sum(law[i] for i in far) <= (1 - F(confidence)) * (1 + F(1, 10**6))


def test_a_small_sensitivity_is_worth_it() -> None:
    """The best candidate moves by 1, a worse one by 1000: the exponential mechanism drowns the first."""
    scores = np.array([300, 0, 0])
    general = GeneralisedExponential.calibrated(PureDP(1), sensitivities=(1, 1, 1000))
    plain = Exponential.calibrated(PureDP(1), sensitivity=1000, candidates=3)
    chance = softmax(normalised(scores.tolist(), general.sensitivities, general.penalty), general.scale)[0]
    assert chance > F(9, 10)
    assert softmax([F(int(s)) for s in scores], plain.scale)[0] < F(2, 5)


def test_relative_changes() -> None:
    metric = RelativeChange((F(1), F(3)))
    assert metric.measure([0, 0], [1, 6]) == 2
    assert metric.measure(np.array([0, 0]), np.array([0, 0])) == 0
    assert metric.measure([0, 0, 0], [1, 6, 0]) is None
    assert metric == RelativeChange((F(1), F(3)))
    assert metric != RelativeChange((F(1), F(2)))
    assert len({metric, RelativeChange((F(1), F(3)))}) == 1


# The grouped exponential mechanism.


def grouped(scores: Sequence[Any], sizes: Sequence[int], scale: Fraction) -> dict[tuple[int, int], Fraction]:
    """Return the exponential mechanism over all members, written out."""
    members = [(block, member) for block, size in enumerate(sizes) for member in range(size)]
    return dict(zip(members, softmax([F(scores[block]) for block, _ in members], scale), strict=True))


@pytest.mark.parametrize(
    ("scores", "sizes", "scale"),
    [((4, 6, 1), (1, 1, 4), F(2)), ((0, 0), (3, 1), F(1)), ((0, -1, -1, 2), (2, 1, 2, 1), F(1, 2)), ((7,), (3,), F(1))],
)
def test_grouped_exponential_law(scores: Any, sizes: Any, scale: Fraction) -> None:
    m = GroupedExponential(candidates=len(sizes), scale=scale, multiplicities=sizes)
    exact = grouped(scores, sizes, scale)
    blocks = softmax([F(s) for s in scores], scale)
    twin = {(block, member): blocks[block] / sizes[block] for block, member in exact}
    word_by_word = enumerate_outcomes(partial(m.draw, np.array(scores)), word_bits=1, max_words=13)
    coin_by_coin = branch_outcomes(partial(m.draw, np.array(scores)), runs=2400)
    for found in (word_by_word, coin_by_coin):
        assert found.undecided < F(1, 100)
        assert set(found.mass) <= set(exact)
        for outcome, mass in exact.items():
            assert found.brackets(np.array(outcome), mass - TINY, mass + TINY)
        assert len(sizes) == 1 or not all(found.brackets(np.array(o), mass) for o, mass in twin.items())


class Unweighted(GroupedExponential):
    """Draws a block as if it were one candidate: what the prose of the textbook says."""

    def draw_many(self, value: Any, count: int, noise: Noise) -> Any:
        blocks = noise.select(self.steps(value), self.rate, count)
        sizes = np.array(self.multiplicities)[blocks]
        return np.column_stack([blocks, [int(noise.uniform_below(int(size), 1)[0]) for size in sizes]])


@pytest.mark.statistical(n=40_000, false_alarm=1e-10, catches="a block that counts as one candidate")
def test_draws_of_many_have_the_law(misfits: Callable[..., list[Any]], noise: Noise) -> None:
    """An unweighted block is private, but another mechanism: the law tells."""
    scores, sizes = np.array([3, 1, 0]), (1, 2, 6)
    law = {outcome: float(mass) for outcome, mass in grouped(scores.tolist(), sizes, F(2)).items()}
    options: dict[str, Any] = {"candidates": 3, "scale": 2, "multiplicities": sizes}
    drawn = GroupedExponential(**options).draw_many(scores, 40_000, noise)
    assert not misfits(map(tuple, drawn.tolist()), law)
    assert misfits(map(tuple, Unweighted(**options).draw_many(scores, 40_000, noise).tolist()), law)


@pytest.mark.statistical(n=40_000, false_alarm=1e-10, catches="a weight lost in a block of 10^30")
def test_very_large_blocks(misfits: Callable[..., list[Any]], noise: Noise) -> None:
    size, scale = 10**30, F(2)
    m = GroupedExponential(candidates=2, scale=scale, multiplicities=(1, size))
    lead = round(2 * math.log(size))
    drawn = m.draw_many(np.array([lead, 0]), 40_000, noise)
    assert drawn.dtype == object
    share = float(exp(F(lead, 2)) / (exp(F(lead, 2)) + size))
    assert 0.3 < share < 0.7
    assert not misfits(drawn[:, 0].tolist(), {0: share, 1: 1 - share})
    members = drawn[drawn[:, 0] == 1][:, 1]
    assert all(0 <= member < size for member in members)
    assert not misfits([2 * member // size for member in members], {0: 0.5, 1: 0.5})


def test_blocks_far_below_are_never_drawn_by_their_size_alone() -> None:
    m = GroupedExponential(candidates=2, scale=1, multiplicities=(1, 2**512))
    assert {int(block) for block, _ in m.draw_many(np.array([1000, 0]), 1000, system_noise())} == {0}


@given(scale=POSITIVE, d_in=POSITIVE, sizes=st.lists(st.integers(1, 2**512), min_size=1, max_size=5))
def test_grouped_exponential_loses_what_the_exponential_does(scale: Fraction, d_in: Fraction, sizes: list[int]) -> None:
    for options in ({}, {"one_way": True}, {"grid": F(1, 4)}, {"grid": F(1, 4), "score_error": F(1, 8)}):
        common: dict[str, Any] = {"candidates": len(sizes), "scale": scale, **options}
        m = GroupedExponential(**common, multiplicities=sizes)
        assert m.loss(d_in) == Exponential(**common).loss(d_in)
        assert m.distance is (ONE_WAY if options.get("one_way") else LARGEST)
        assert m.error("0.9").value >= Exponential(**common).error("0.9").value


@given(epsilon=POSITIVE)
def test_grouped_exponential_calibration(epsilon: Fraction) -> None:
    m = GroupedExponential.calibrated(PureDP(epsilon), sensitivity=3, candidates=2, multiplicities=(1, 10**40))
    assert m.loss(3).pure == epsilon


def test_grouped_exponential_error_holds() -> None:
    sizes, scores = (1, 2, 500), (30, 10, 0)
    law = grouped(scores, sizes, F(2))
    for scale_confidence in ("0.5", "0.9", "0.999"):
        bound = GroupedExponential(candidates=3, scale=2, multiplicities=sizes).error(scale_confidence).value
        missed = sum((mass for (block, _), mass in law.items() if 30 - scores[block] > bound), F(0))
        assert missed <= 1 - F(scale_confidence)


def test_bad_parameters_are_refused() -> None:
    for bad in ((1,), (1, 2, 3)):
        with pytest.raises(InvalidParameter, match="multiplicities must be"):
            GroupedExponential(candidates=2, scale=1, multiplicities=bad)
    with pytest.raises(InvalidParameter, match="multiplicities must be one for each of 2 scores"):
        system_noise().select_block([1, 2], [1], 1, 1)

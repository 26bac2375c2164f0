"""Coupled noise reduction: the coupling as an identity, exact laws of all answers together, variants that must fail."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache, partial
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dither.checks.law import check_law_by_branching
from dither.checks.violation import ContractViolation
from dither.errors import InvalidParameter
from dither.mechanisms.noise_reduction import NoiseReduction
from dither.noise import Noise, shaped, system_noise
from dither.privacy import LARGEST, ZCDP, PureDP
from dither.testing.branching import branch_outcomes
from dither.testing.enumeration import enumerate_outcomes

F = Fraction
TINY = F(1, 10**12)
#: All fractions above 0 and up to 100 with denominators up to 100: as ``st.fractions``, but drawn faster.
rationals = st.builds(
    lambda whole, part, of: whole + F(1 + part % of, of), st.integers(0, 99), st.integers(0, 99), st.integers(1, 100)
)
#: All fractions between 0 and 1 with denominators up to 100.
below_one = st.sampled_from(sorted({F(part, of) for of in range(1, 101) for part in range(1, of)}))


@cache
def exp(x: Fraction) -> Fraction:
    with localcontext() as context:
        context.prec = 60
        return Fraction((Decimal(x.numerator) / Decimal(x.denominator)).exp())


@cache
def discrete_laplace(q: Fraction, x: int) -> Fraction:
    return (1 - q) / (1 + q) * q ** abs(x)


@cache
def weight(q: Fraction, p: Fraction) -> Fraction:
    """Return the chance that nothing is added, for a fine q and a coarse p: the ratio of the variances."""
    return (2 * q / (1 - q) ** 2) / (2 * p / (1 - p) ** 2)


def transform(q: Fraction, z: Fraction) -> Fraction:
    """Return the sum of P[X = k] z^k over all integers, for q < z < 1 / q."""
    return (1 - q) ** 2 / ((1 - q * z) * (1 - q / z))


@given(q=below_one, p=below_one, share=below_one)
def test_the_coupling_is_an_identity(q: Fraction, p: Fraction, share: Fraction) -> None:
    """Exactly, at rational q, p and z: a law on the integers is known from its transform near z = 1."""
    assume(q < p)
    z = p + (1 - p) * share
    w = weight(q, p)
    assert 0 < w < 1
    assert transform(p, z) == transform(q, z) * (w + (1 - w) * transform(p, z))
    assert transform(q, F(1)) == 1
    # The twin: the weight of the continuous law, or independent noise, is not it.
    assert transform(p, z) != transform(q, z) * transform(p, z)


@given(fine=rationals, coarse=rationals)
def test_the_coin_has_the_stated_chance(fine: Fraction, coarse: Fraction) -> None:
    assume(fine < coarse)
    low, high = shaped.unchanged(fine, coarse).bounds(80)
    exact = weight(exp(-1 / fine), exp(-1 / coarse)) * 2**80
    assert low - F(1, 1000) <= exact <= high + F(1, 1000)
    assert high - low == 1


def test_the_coin_at_extreme_scales() -> None:
    """For wide noise the chance is the square of the ratio of scales, as for the continuous law."""
    low, _ = shaped.unchanged(F(2**900), F(2**901)).bounds(64)
    assert abs(F(low, 2**64) - F(1, 4)) < F(1, 2**60)
    assert shaped.unchanged(F(1, 2**40), F(1)).bounds(64) == (0, 1)
    assert shaped.unchanged(F(3), F(3)).bounds(64) == (2**64, 2**64)


def joint(scales: tuple[Fraction, ...], noises: tuple[int, ...]) -> Fraction:
    """Return the probability of these noises, coarse to fine, written down from the finest on."""
    qs = [exp(-1 / F(scale)) for scale in scales]
    chance = discrete_laplace(qs[-1], noises[-1])
    for level in range(len(scales) - 1, 0, -1):
        chance *= coarser(qs[level], qs[level - 1], noises[level - 1] - noises[level])
    return chance


@cache
def coarser(q: Fraction, p: Fraction, added: int) -> Fraction:
    """Return the probability that so much is added to fine noise to make it coarse."""
    w = weight(q, p)
    return (w if added == 0 else 0) + (1 - w) * discrete_laplace(p, added)


def converse(m: NoiseReduction, script: list[int], noise: Noise) -> tuple[int, ...]:
    state, answers = m.begin(noise), []
    for value in script:
        answer, is_over = m.reply(state, value, noise)
        answers.append(answer)
        if is_over:
            break
    return tuple(answers)


SCALES = ((F(1), F(1, 2)), (F(2, 3), F(1, 3)), (F(1), F(2, 3), F(1, 3)))


@pytest.mark.parametrize("scales", SCALES)
def test_all_answers_together_have_their_law(scales: tuple[Fraction, ...]) -> None:
    m = NoiseReduction(scales=scales)
    found = branch_outcomes(partial(converse, m, [5] * len(scales)), runs=1600)
    assert found.undecided < F(1, 50)
    likeliest = sorted(found.mass, key=lambda answers: -found.mass[answers])[:30]
    for answers in likeliest:
        exact = joint(scales, tuple(answer - 5 for answer in answers))
        assert found.brackets(answers, exact * (1 - TINY), exact * (1 + TINY))
    # Every answer alone is discrete Laplace of its own scale.
    for level, scale in enumerate(scales):
        for x in (-2, -1, 0, 1, 2):
            mass = sum((mass for answers, mass in found.mass.items() if answers[level] == 5 + x), F(0))
            exact = discrete_laplace(exp(-1 / scale), x)
            assert mass <= exact <= mass + found.undecided + TINY


def test_the_coarsening_word_by_word() -> None:
    fine, coarse = F(1, 8), F(1, 4)
    found = enumerate_outcomes(lambda noise: noise.coarsening(fine, coarse, 1)[0], word_bits=2, max_words=6)
    p = exp(-1 / coarse)
    w = weight(exp(-1 / fine), p)
    law = {x: (w if x == 0 else 0) + (1 - w) * discrete_laplace(p, x) for x in (-1, 0, 1)}
    assert found.undecided < F(9, 10)
    assert all(found.brackets(x, mass) for x, mass in law.items())
    assert not found.brackets(0, F(1, 20))


def test_all_answers_together_lose_no_more_than_the_last() -> None:
    scales = (F(3), F(2), F(1))
    loss = NoiseReduction(scales=scales).loss(1)
    assert loss == PureDP(1)
    reach = range(-6, 7)
    ratios = [
        joint(scales, (a, b, c)) / joint(scales, (a + 1, b + 1, c + 1)) for a in reach for b in reach for c in reach
    ]
    assert max(ratios) <= exp(F(1)) * (1 + TINY)
    assert max(ratios) >= exp(F(1)) * (1 - TINY)


class Independent(NoiseReduction):
    """Answers with noise drawn afresh, at the price of the last answer."""

    def begin(self, noise: Noise) -> Any:
        return replace(super().begin(noise), noises=[int(noise.discrete_laplace(s, 1)[0]) for s in self.scales])


class LooksAgain(NoiseReduction):
    """Adds the correlated noise to whatever value each call brings."""

    def reply(self, state: Any, value: int, noise: Noise) -> tuple[int, bool]:
        return super().reply(replace_value(state, value), value, noise)


def replace_value(state: Any, value: int) -> Any:
    state.value = value
    return state


def refute(wrong: NoiseReduction, here: list[int], there: list[int]) -> None:
    with pytest.raises(ContractViolation):
        check_law_by_branching(
            partial(converse, wrong, here), partial(converse, wrong, there), wrong.loss(1), runs=1600
        )


def test_wrong_variants_are_refuted() -> None:
    scales = ("3/5", "1/2")
    refute(Independent(scales=scales), [0, 0], [1, 1])
    refute(LooksAgain(scales=scales), [0, 0], [1, -1])
    right = NoiseReduction(scales=scales)
    for here, there in (([0, 0], [1, 1]), ([0, 0], [1, -1])):
        check_law_by_branching(
            partial(converse, right, here), partial(converse, right, there), right.loss(1), runs=1600
        )


@pytest.mark.statistical(n=20_000, false_alarm=1e-10, catches="the weight of the continuous law in place of this one")
def test_the_weight_of_the_continuous_law_is_refuted(misfits: Callable[..., list[Any]], noise: Noise) -> None:
    fine, coarse = F(1, 4), F(1, 2)
    law = {x: float(discrete_laplace(exp(-1 / coarse), x)) for x in range(-9, 10)}
    finest = noise.discrete_laplace(fine, 20_000)
    assert not misfits((finest + noise.coarsening(fine, coarse, 20_000)).tolist(), law)
    kept = noise.bernoulli((fine / coarse) ** 2, 20_000)
    wrong = finest + [0 if k else x for k, x in zip(kept, noise.discrete_laplace(coarse, 20_000), strict=True)]
    assert misfits(wrong.tolist(), law)


def test_later_values_are_not_looked_at() -> None:
    m = NoiseReduction(scales=("1/50", "1/100", "1/200"))
    assert converse(m, [7, -(10**9), 3, 5], system_noise()) == (7, 7, 7)


@given(scales=st.lists(rationals, min_size=1, max_size=5, unique=True), d_in=rationals)
def test_losses(scales: list[Fraction], d_in: Fraction) -> None:
    m = NoiseReduction(scales=sorted(scales, reverse=True))
    assert m.loss(d_in) == PureDP(d_in / min(scales)) == m.loss_after(len(scales), d_in)
    assert m.loss_after(0, d_in) == PureDP(0)
    assert m.loss_after(1, d_in) == PureDP(d_in / max(scales))
    assert m.distance is LARGEST


@given(epsilon=rationals, levels=st.integers(1, 9), factor=st.sampled_from([2, "3/2", 10]))
def test_calibration(epsilon: Fraction, levels: int, factor: Any) -> None:
    m = NoiseReduction.calibrated(PureDP(epsilon), sensitivity=3, levels=levels, factor=factor)
    assert m.loss(3) == PureDP(epsilon)
    assert len(m.scales) == levels
    assert all(coarse == fine * F(factor) for coarse, fine in zip(m.scales, m.scales[1:], strict=False))
    assert NoiseReduction.calibrated(ZCDP(epsilon), sensitivity=1, levels=2).loss(1) <= ZCDP(epsilon)


def test_errors_fall_from_answer_to_answer() -> None:
    m = NoiseReduction(scales=(40, 20, 10))
    bounds = [m.error_at(call, "0.9").value for call in range(3)]
    assert bounds == sorted(bounds, reverse=True)
    assert m.error("0.9") == m.error_at(2, "0.9")
    interval = m.interval_at(1, 100, "0.9")
    assert (interval.low, interval.high) == (100 - bounds[1], 100 + bounds[1])
    for scale, bound in zip(m.scales, bounds, strict=True):
        q = math.exp(-1 / scale)
        assert 2 * q ** (bound + 1) / (1 + q) <= 0.1 < 2 * q**bound / (1 + q)


def test_bad_parameters_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="factor must be"):
        NoiseReduction.calibrated(PureDP(1), sensitivity=1, levels=2, factor=1)
    with pytest.raises(InvalidParameter, match="levels must be"):
        NoiseReduction.calibrated(PureDP(1), sensitivity=1, levels=0)
    with pytest.raises(InvalidParameter, match="call must be"):
        NoiseReduction(scales=(2, 1)).error_at(2, "0.9")
    with pytest.raises(InvalidParameter, match="calls must be"):
        NoiseReduction(scales=(2, 1)).loss_after(3)
    with pytest.raises(InvalidParameter, match="fine must be at most the coarse scale"):
        system_noise().coarsening(2, 1, 1)

"""Sparse vector with values and with gaps: exact laws of whole transcripts, their ratios, and variants that must fail.

The closed forms sum over the noisy threshold in 60-digit decimals and use no line of ``dither``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.audit import audit
from dither.audit.samplers import BlockNoise
from dither.checks.law import check_law_by_branching
from dither.checks.violation import ContractViolation
from dither.errors import InvalidParameter
from dither.mechanisms.gap_sparse import Gap, GapSparse
from dither.mechanisms.numeric_sparse import NumericSparse, Reading
from dither.noise import Noise, SystemEntropy, system_noise
from dither.privacy import LARGEST, ONE_WAY, ZCDP, PureDP
from dither.testing.branching import branch_outcomes

F = Fraction
#: All fractions above 0 and up to 1000 with denominators up to 1000: as ``st.fractions``, but drawn faster.
rationals = st.builds(
    lambda whole, part, of: whole + F(1 + part % of, of), st.integers(0, 999), st.integers(0, 999), st.integers(1, 1000)
)
REACH = 60  # At the scales used here the mass beyond is below e^-60.


@cache
def exp(x: Fraction) -> Fraction:
    with localcontext() as context:
        context.prec = 60
        return Fraction((Decimal(x.numerator) / Decimal(x.denominator)).exp())


@cache
def point(scale: Fraction, x: int) -> Fraction:
    q = exp(-1 / scale)
    return (1 - q) / (1 + q) * exp(-abs(x) / scale)


@cache
def at_least(scale: Fraction, m: int) -> Fraction:
    q = exp(-1 / scale)
    return exp(-m / scale) / (1 + q) if m > 0 else 1 - exp((m - 1) / scale) / (1 + q)


Answer = Any
Step = Callable[[Any, Answer, int, int], Fraction]


def numeric_step(m: NumericSparse, answer: Answer, value: int, z: int) -> Fraction:
    yes = at_least(m.query_scale, m.threshold + z - value)
    return 1 - yes if answer is None else yes * point(m.value_scale, answer.value - value)


def gap_step(m: GapSparse, answer: Answer, value: int, z: int) -> Fraction:
    lead = value - m.threshold - z
    wide = 2 * m.query_scale
    if answer is not None and answer.is_far:
        return point(wide, answer.above - lead) if answer.above >= m.margin else F(0)
    not_far = F(1) if m.margin is None else 1 - at_least(wide, m.margin - lead)
    if answer is None:
        return not_far * (1 - at_least(m.query_scale, -lead))
    return not_far * point(m.query_scale, answer.above - lead) if answer.above >= 0 else F(0)


#: Sums are in integers, in units of 10^-60: those are the digits that are known, and fractions would be reduced often.
UNIT = 10**60


SHIFTS = range(-REACH, REACH + 1)


@cache
def units_of_shift(m: Any) -> list[int]:
    """Return the probability of every noise of the threshold."""
    return [round(UNIT * point(m.threshold_scale, z)) for z in SHIFTS]


@cache
def units_of_step(step: Step, m: Any, answer: Answer, value: int) -> list[int]:
    """Return the probability of one answer at every noise of the threshold."""
    return [round(UNIT * step(m, answer, value, z)) for z in SHIFTS]


def law(step: Step, m: Any, answers: Iterable[Answer], values: Iterable[int]) -> Fraction:
    pairs = list(zip(answers, values, strict=False))
    steps = [units_of_step(step, m, answer, value) for answer, value in pairs]
    total = sum(map(math.prod, zip(units_of_shift(m), *steps, strict=True)))
    return Fraction(total, UNIT ** (1 + len(pairs)))


def converse(m: Any, script: list[int], noise: Noise) -> tuple[Answer, ...]:
    state, answers = m.begin(noise), []
    for value in script:
        answer, is_over = m.reply(state, value, noise)
        answers.append(answer)
        if is_over:
            break
    return tuple(answers)


NUMERIC = NumericSparse(threshold=0, threshold_scale="1/3", query_scale="1/2", value_scale="1/3")
PLAIN_GAP = GapSparse(threshold=0, threshold_scale="1/3", query_scale="1/2")
ADAPTIVE = GapSparse(threshold=0, threshold_scale="1/3", query_scale="1/3", margin=1)


@pytest.mark.parametrize(
    ("mechanism", "step"),
    [(NUMERIC, numeric_step), (PLAIN_GAP, gap_step), (ADAPTIVE, gap_step)],
    ids=lambda part: type(part).__name__,
)
def test_transcripts_have_their_exact_law(mechanism: Any, step: Step) -> None:
    for script in ([0, 0], [1, -1]):
        found = branch_outcomes(partial(converse, mechanism, script), runs=1200)
        assert found.undecided < F(1, 50)
        likeliest = sorted(found.mass, key=lambda answers: -found.mass[answers])[:25]
        assert len(likeliest) > 5
        for answers in likeliest:
            exact = law(step, mechanism, answers, script)
            assert found.mass[answers] <= exact * (1 + F(1, 10**12)), answers
            assert exact <= found.mass[answers] + found.undecided, answers
        # The twin: the same transcripts under values one higher are another law.
        moved = [(found.mass[a], law(step, mechanism, a, [value + 1 for value in script])) for a in likeliest]
        assert any(mass > other * (1 + F(1, 10**12)) or other > mass + found.undecided for mass, other in moved)


# Whole transcripts in floats, each probability right to a relative 1e-12: how large do ratios become?

Z = np.arange(-200, 201)


def points(scale: float, x: Any) -> Any:
    return math.tanh(0.5 / scale) * np.exp(-np.abs(x) / scale)


def tails(scale: float, m: Any) -> Any:
    """Return P[X >= m]."""
    q = math.exp(-1 / scale)
    return np.where(m > 0, np.exp(-m / scale), 1 + q - np.exp((m - 1) / scale)) / (1 + q)


def chance(m: Any, answers: Iterable[Answer], values: Iterable[int]) -> float:
    """Return the probability of a transcript, summed over the noisy threshold."""
    near, total = float(m.query_scale), points(float(m.threshold_scale), Z)
    for answer, value in zip(answers, values, strict=False):
        lead, margin = value - m.threshold - Z, getattr(m, "margin", None)
        not_far = 1.0 if margin is None else tails(2 * near, lead - margin + 1)
        if answer is None:
            total = total * not_far * tails(near, lead + 1)
        elif isinstance(answer, Reading):
            total = total * tails(near, -lead) * points(float(m.value_scale), answer.value - value)
        elif answer.is_far:
            total = total * points(2 * near, answer.above - lead)
        else:
            total = total * not_far * points(near, answer.above - lead)
    return float(total.sum())


def every_transcript(m: Any, kinds: list[Answer], length: int) -> list[tuple[Answer, ...]]:
    """Return all lists of answers that a conversation can give, up to a length."""

    def is_over(answers: tuple[Answer, ...]) -> bool:
        spent = sum((1 if getattr(a, "is_far", False) else 2) for a in answers if a is not None)
        return 2 * m.positives - spent < 2

    lists = itertools.product([None, *kinds], repeat=length)
    return [answers for answers in lists if not any(is_over(answers[:end]) for end in range(1, length))]


def log_ratios(m: Any, kinds: list[Answer]) -> list[float]:
    moves = [(1, 1, 1), (0, 0, 1), (1, 0, 1)] if m.one_way else list(itertools.product((1, -1), repeat=3))
    found = []
    for start, answers in itertools.product(((0, 0, 0), (3, 3, 3), (2, -1, 6)), every_transcript(m, kinds, 3)):
        for move in moves:
            there = [a + b for a, b in zip(start, move, strict=True)]
            found.append(abs(math.log(chance(m, answers, start)) - math.log(chance(m, answers, there))))
    return found


def hardest(m: Any, yes: list[Answer]) -> float:
    """Return the log-ratio where many values far above are answered no, which puts the threshold into its tail."""
    up, down = (1, 0) if m.one_way else (1, -1)
    answers = [None] * 60 + yes
    here, there = [14] * 60 + [0] * len(yes), [14 + up] * 60 + [down] * len(yes)
    return math.log(chance(m, answers, here)) - math.log(chance(m, answers, there))


SCALES: dict[str, Any] = {"threshold": 0, "threshold_scale": 2, "query_scale": 3}


@pytest.mark.parametrize("one_way", [False, True])
@pytest.mark.parametrize("positives", [1, 2])
def test_ratios_of_readings_stay_within_the_loss(positives: int, one_way: bool) -> None:
    m = NumericSparse(**SCALES, value_scale=2, positives=positives, one_way=one_way)
    claimed = float(m.loss(1).pure)
    assert max(log_ratios(m, [Reading(-30), Reading(1), Reading(30)])) <= claimed * (1 + 1e-9)
    found = hardest(m, [Reading(30)] * positives)
    # A value that moves down costs its comparison and itself; one that does not move costs only the threshold's shift.
    reached = claimed - (positives / 2 if one_way else 0)
    assert 0.98 * reached < found <= reached * (1 + 1e-9)


@pytest.mark.parametrize("one_way", [False, True])
@pytest.mark.parametrize(("positives", "margin"), [(1, None), (2, None), (1, 3), (2, 3)])
def test_ratios_of_gaps_stay_within_the_loss_and_reach_it(positives: int, margin: int | None, one_way: bool) -> None:
    m = GapSparse(**SCALES, positives=positives, margin=margin, one_way=one_way)
    claimed = float(m.loss(1).pure)
    far = [] if margin is None else [Gap(3, is_far=True), Gap(40, is_far=True)]
    assert max(log_ratios(m, [Gap(0), Gap(30), *far])) <= claimed * (1 + 1e-9)
    assert 0.98 * claimed < hardest(m, [Gap(30)] * positives) <= claimed * (1 + 1e-9)
    if margin is not None:
        # Far answers cost half, so that one of them loses less than the conversation pays for.
        halves = [Gap(60, is_far=True)] * (2 * positives - 1)
        unused = (1 if one_way else 2) / 6
        assert 0.98 * (claimed - unused) < hardest(m, halves) <= (claimed - unused) * (1 + 1e-9)


# Variants that are not private at the price, each refuted by what it tells.


def test_releasing_the_compared_value_is_refuted() -> None:
    """The noisy value that was compared bounds the threshold, and then every no costs: no price suffices."""
    m = GapSparse(**SCALES)

    def chance_of(noes: int, value: int) -> float:
        """Return the probability of so many noes at ``value``, then the noisy value 0 for a value of 0."""
        weights = points(2.0, Z) * tails(3.0, value - Z + 1) ** noes
        return float((weights * (Z <= 0)).sum() * points(3.0, 0))

    losses = [math.log(chance_of(noes, 0)) - math.log(chance_of(noes, 1)) for noes in (1, 10, 40)]
    assert losses[0] < losses[1] < losses[2]
    assert losses[2] > 10 * float(m.loss(1).pure)


class NeverStops(NumericSparse):
    """Does not count its positives."""

    def reply(self, state: Any, value: int, noise: Noise) -> tuple[Reading | None, bool]:
        answer, _ = super().reply(state, value, noise)
        return answer, False


class FreeFarAnswers(GapSparse):
    """Charges nothing for an answer far above."""

    def reply(self, state: Any, value: int, noise: Noise) -> tuple[Gap | None, bool]:
        before = state.left
        answer, _ = super().reply(state, value, noise)
        if answer is not None and answer.is_far:
            state.left = before
        return answer, state.left < 2


class NoThresholdNoise(GapSparse):
    """Compares with the threshold itself, and lets negative answers go free."""

    def begin(self, noise: Noise) -> Any:
        return replace(super().begin(system_noise()), noisy_threshold=self.threshold)


NO = -(10**6)


def conversations(m: Any, script: list[int], count: int) -> Any:
    """Return what an analyst makes of the answers of each conversation; a question that was not asked counts as no.

    That is their sum, and every second answer less those in between, in which the noise of the threshold cancels.
    """
    noise = BlockNoise(SystemEntropy())
    rows = np.full((count, len(script)), NO)
    for row in rows:
        answers = converse(m, script, noise)
        row[: len(answers)] = [NO if a is None else getattr(a, "value", getattr(a, "above", 0)) for a in answers]
    return np.column_stack([rows.sum(axis=1), rows[:, ::2].sum(axis=1) - rows[:, 1::2].sum(axis=1)])


# Shown over 9 and 6 runs: epsilon 1.62 (deviation 0.11) where 0.65 is claimed, and 2.97 (0.09) where 2.05 is: eight and
# ten deviations.
WRONG = [
    (NeverStops(threshold=0, threshold_scale=20, query_scale=20, value_scale=2), [900] * 30, [901] * 30, 1000),
    (FreeFarAnswers(threshold=0, threshold_scale=20, query_scale=1, margin=0), [900] * 120, [899, 901] * 60, 1000),
]


@pytest.mark.statistical(n=1_000, false_alarm=1e-9, catches="a sparse vector that does not pay for what it tells")
@pytest.mark.parametrize(("wrong", "here", "there", "samples"), WRONG, ids=lambda case: type(case).__name__)
def test_wrong_variants_are_refuted(wrong: Any, here: list[int], there: list[int], samples: int) -> None:
    right = type(wrong).__mro__[1](**{field.name: getattr(wrong, field.name) for field in fields(wrong)})
    for mechanism, is_wrong in ((wrong, True), (right, False)):
        sampler = partial(conversations, mechanism)
        verdict = audit(sampler, here, there, claim=mechanism.loss(1), samples=samples, false_alarm=1e-9)
        assert verdict.is_refuted is is_wrong, str(verdict)


def test_a_threshold_without_noise_is_refuted() -> None:
    wrong = NoThresholdNoise(threshold=0, threshold_scale=40, query_scale="1/2")
    with pytest.raises(ContractViolation):
        check_law_by_branching(
            partial(converse, wrong, [-1] * 3), partial(converse, wrong, [0] * 3), wrong.loss(1), runs=1200
        )


def test_the_right_ones_are_not() -> None:
    for m in (
        NumericSparse(threshold=0, threshold_scale=2, query_scale=2, value_scale="1/2"),
        GapSparse(threshold=0, threshold_scale=2, query_scale="1/2", margin=0),
    ):
        check_law_by_branching(partial(converse, m, [3, 3]), partial(converse, m, [2, 4]), m.loss(1), runs=600)


# What is charged, and when a conversation ends.


@given(a=rationals, b=rationals, c=rationals, d_in=rationals, positives=st.integers(1, 9))
def test_losses(a: Fraction, b: Fraction, c: Fraction, d_in: Fraction, positives: int) -> None:
    common: dict[str, Any] = {"threshold": 3, "threshold_scale": a, "query_scale": b, "positives": positives}
    compared, one_way = d_in / a + 2 * positives * d_in / b, d_in / a + positives * d_in / b
    values = positives * d_in / c
    assert NumericSparse(**common, value_scale=c).loss(d_in) == PureDP(compared + values)
    assert NumericSparse(**common, value_scale=c, one_way=True).loss(d_in) == PureDP(one_way + values)
    assert GapSparse(**common).loss(d_in) == GapSparse(**common, margin=7).loss(d_in) == PureDP(compared)
    assert GapSparse(**common, one_way=True).loss(d_in) == PureDP(one_way)
    assert (GapSparse(**common).distance, GapSparse(**common, one_way=True).distance) == (LARGEST, ONE_WAY)


@given(epsilon=rationals, sensitivity=rationals, positives=st.integers(1, 99), one_way=st.booleans())
def test_calibration_spends_exactly_the_target(
    epsilon: Fraction, sensitivity: Fraction, positives: int, one_way: bool
) -> None:
    options: dict[str, Any] = {"threshold": 5, "sensitivity": sensitivity, "positives": positives, "one_way": one_way}
    target = PureDP(epsilon)
    assert NumericSparse.calibrated(target, **options).loss(sensitivity) == target
    assert NumericSparse.calibrated(target, **options, value_share="1/9").loss(sensitivity) == target
    assert GapSparse.calibrated(target, **options).loss(sensitivity) == target
    assert GapSparse.calibrated(target, **options, adaptive=False).margin is None


def test_calibration_from_rho() -> None:
    target = ZCDP("1/8")
    assert NumericSparse.calibrated(target, threshold=0, sensitivity=1).loss(1) <= target
    assert GapSparse.calibrated(target, threshold=0, sensitivity=1).loss(1) <= target


def answers_of(m: Any, script: list[int]) -> tuple[Answer, ...]:
    return converse(m, script, system_noise())


def test_far_answers_cost_half() -> None:
    """Values 10^6 scales above are far with probability 1 - e^-10^6; those a little above the threshold are near."""
    adaptive = GapSparse(threshold=0, threshold_scale="1/100", query_scale="1/100", margin=50, positives=3)
    far = answers_of(adaptive, [10**4] * 20)
    assert len(far) == 5
    assert all(answer.is_far for answer in far)
    near = answers_of(adaptive, [10] * 20)
    assert near == (Gap(10),) * 3
    # Two far answers take the place of a near one; below the threshold nothing is used.
    assert len(answers_of(adaptive, [10**4, -(10**4), 10**4, 10, 10, 10])) == 5
    plain = GapSparse(threshold=0, threshold_scale="1/100", query_scale="1/100", positives=3)
    assert answers_of(plain, [10**4] * 20) == (Gap(10**4),) * 3
    numeric = NumericSparse(threshold=0, threshold_scale="1/100", query_scale="1/100", value_scale="1/100", positives=3)
    assert answers_of(numeric, [7, -7, 7, 7, 7]) == (Reading(7), None, Reading(7), Reading(7))


# Error bars.


def test_intervals_of_readings_are_exact() -> None:
    m = NumericSparse(threshold=0, threshold_scale=2, query_scale=4, value_scale="7/3", positives=4)
    for confidence in ("0.5", "0.9", "0.99"):
        interval = m.interval(Reading(10), confidence)
        reach = interval.high - 10
        assert interval.low == 10 - reach
        assert 2 * at_least(m.value_scale, reach + 1) <= 1 - F(confidence) < 2 * at_least(m.value_scale, reach)
        joint = int(m.error(confidence).value)
        assert 2 * at_least(m.value_scale, joint + 1) * 4 <= 1 - F(confidence)
    assert m.interval(None, "0.9") is None
    assert m.comparison.error("0.9").value > 0


@pytest.mark.statistical(n=4000, false_alarm=1e-9, catches="intervals that miss a tenth more often than they say")
@pytest.mark.parametrize("margin", [None, 6])
def test_intervals_of_gaps_cover(margin: int | None) -> None:
    from scipy.special import bdtrc

    m = GapSparse(threshold=0, threshold_scale=3, query_scale=4, margin=margin)
    # Thousands of draws of three laws: made ahead, and each handed out once.
    noise, missed = BlockNoise(SystemEntropy()), 0
    for _ in range(4000):
        answer, _ = m.reply(m.begin(noise), 5, noise)
        interval = m.interval(answer, "0.9")
        missed += interval is not None and not interval.low <= 5 <= interval.high
    assert bdtrc(missed - 1, 4000, 0.1) > 1e-9 if missed else True
    assert bdtrc(int(0.2 * 4000) - 1, 4000, 0.1) < 1e-9


def test_bad_parameters_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="query_scale must be at most 2\\^999"):
        GapSparse(threshold=0, threshold_scale=1, query_scale=2**1000, margin=1)
    for bad in (0, 1, -1, "half", float("nan")):
        with pytest.raises(InvalidParameter, match="value_share must be"):
            NumericSparse.calibrated(PureDP(1), threshold=0, sensitivity=1, value_share=bad)

"""The exact law of every primitive on small inputs, against closed forms written down here once more.

The closed forms are in 60-digit decimals and use no line of ``dither``. Each law is compared twice: word by word, over
all strings of narrow words, which shows that the path from value to output is right as it runs; and coin by coin, which
leaves less than 2^-20 undecided. Every comparison has a twin that must be refuted. The Gaussians draw by rejection,
which is too deep for both: they are sampled, and so is ``draw_many`` of every primitive; n = 400,000 and a false alarm
of at most 1e-10 for each law.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache, partial
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from dither.mechanisms import (
    AboveThreshold,
    DiscreteGaussian,
    Exponential,
    Gaussian,
    Geometric,
    Laplace,
    NoisyMax,
    PermuteAndFlip,
    RandomisedResponse,
    TopK,
)
from dither.noise import Noise, chances, laplace, system_noise
from dither.privacy import PureDP
from dither.testing.branching import branch_outcomes
from dither.testing.enumeration import Enumeration, enumerate_outcomes

Law = Callable[[Any], Fraction]

TOLERANCE = Fraction(1, 10**15)
MOST_UNDECIDED = Fraction(1, 2**20)
DRAWS = 400_000
COUNTS = (24, 8, 28, 5)


# The closed forms.


@cache
def exp(x: Fraction) -> Fraction:
    with localcontext() as context:
        context.prec = 60
        return Fraction((Decimal(x.numerator) / Decimal(x.denominator)).exp())


def discrete_laplace(scale: Fraction) -> Law:
    q = exp(-1 / scale)
    return lambda x: (1 - q) / (1 + q) * exp(-abs(x) / scale)


def at_least(scale: Fraction, m: int) -> Fraction:
    """Return P[X >= m] for discrete Laplace noise X."""
    q = exp(-1 / scale)
    return exp(-m / scale) / (1 + q) if m > 0 else 1 - exp((m - 1) / scale) / (1 + q)


def rounded_laplace(scale: Fraction, grid: Fraction, value: Fraction) -> Law:
    """Return the law of value + Z, rounded to the nearest multiple of the grid."""

    def below(x: Fraction) -> Fraction:
        return exp(x / scale) / 2 if x < 0 else 1 - exp(-x / scale) / 2

    return lambda out: below(Fraction(out) + grid / 2 - value) - below(Fraction(out) - grid / 2 - value)


def softmax(scores: Iterable[Fraction | int], scale: Fraction) -> Law:
    weights = [exp(Fraction(score) / scale) for score in scores]
    return lambda i: weights[i] / sum(weights)


def peeling(scores: list[int], scale: Fraction) -> Law:
    def law(order: tuple[int, ...]) -> Fraction:
        left, total = dict(enumerate(scores)), Fraction(1)
        for index in order:
            total *= exp(left[index] / scale) / sum(exp(score / scale) for score in left.values())
            del left[index]
        return total

    return law


def permute_and_flip(scores: list[int], scale: Fraction) -> Law:
    """Return w_i times the sum over sets S of the others of (-1)^|S| / (|S| + 1) times the product of their w_j.

    In a random order the coins of those before i all show tails: integrate the product of 1 - t w_j over t in [0, 1].
    """
    weights = [exp((score - max(scores)) / scale) for score in scores]

    def law(i: int) -> Fraction:
        others = [w for j, w in enumerate(weights) if j != i]
        sets = (chosen for size in range(len(others) + 1) for chosen in itertools.combinations(others, size))
        return weights[i] * sum(Fraction((-1) ** len(s), len(s) + 1) * math.prod(s, start=Fraction(1)) for s in sets)

    return law


def noisy_max_of_two(scores: tuple[int, int], scale: Fraction) -> Law:
    """Return the law of the winner: the first wins if the second's noise exceeds its own by at most the lead.

    The difference D of two discrete Laplace variables has P[D = d] = ((1 - q) / (1 + q))^2 q^|d| (|d| + c) with
    c = (1 + q^2) / (1 - q^2).
    """
    q, lead = exp(-1 / scale), scores[0] - scores[1]
    c, unit = (1 + q * q) / (1 - q * q), ((1 - q) / (1 + q)) ** 2

    def reaches(m: int) -> Fraction:
        """P[D >= m], for m above 0."""
        return unit * q**m * ((m + c) / (1 - q) + q / (1 - q) ** 2)

    first = 1 - reaches(lead + 1) if lead >= 0 else reaches(-lead)
    return lambda i: first if i == 0 else 1 - first


def response(epsilon: Fraction, categories: int, truth: int) -> Law:
    total = exp(epsilon) + categories - 1
    return lambda report: (exp(epsilon) if report == truth else Fraction(1)) / total


def sparse_vector(mechanism: AboveThreshold, script: list[int]) -> Law:
    """Return the law of the answers by summing over the noise of the threshold."""
    shift, scale = discrete_laplace(mechanism.threshold_scale), mechanism.query_scale

    def law(answers: tuple[bool, ...]) -> Fraction:
        total = Fraction(0)
        for noise in range(-40, 41):
            term = shift(noise)
            for value, answer in zip(script, answers, strict=False):
                above = at_least(scale, mechanism.threshold + noise - value)
                term *= above if answer else 1 - above
            total += term
        return total

    return law


def converse(mechanism: AboveThreshold, script: list[int], noise: Noise) -> tuple[bool, ...]:
    state, answers = mechanism.begin(noise), []
    for value in script:
        answer, is_over = mechanism.reply(state, value, noise)
        answers.append(answer)
        if is_over:
            break
    return tuple(answers)


# The cases.


@dataclass(frozen=True)
class Case:
    """A primitive on a value, its law, and a law that is wrong.

    ``words`` are the width of a word and the longest string; with ``runs`` 0 there are no coins to be followed.
    """

    name: str
    draw: Callable[[Noise], Any]
    law: Law
    wrong: Law
    support: tuple[Any, ...]
    words: tuple[int, int]
    undecided: float
    runs: int = 600

    def __str__(self) -> str:
        return self.name


def additive() -> Iterator[Case]:
    half, near = Fraction(1, 2), Fraction(21, 20)
    reach = range(-6, 7)
    for scale, value in ((half, 0), (Fraction(1, 3), 7), (Fraction(1), -3)):
        here = discrete_laplace(scale)
        wrong = discrete_laplace(scale * near)
        yield Case(
            f"geometric {scale} at {value}",
            partial(Geometric(scale=scale).draw, value),
            lambda out, law=here, value=value: law(out - value),
            lambda out, law=wrong, value=value: law(out - value),
            tuple(value + x for x in reach),
            (1, 13),
            0.05,
        )
    pair = discrete_laplace(Fraction(1, 3))
    yield Case(
        "geometric of two entries",
        partial(Geometric(scale="1/3", shape=2).draw, np.array([4, -4])),
        lambda out: pair(out[0] - 4) * pair(out[1] + 4),
        lambda out: pair(out[0] - 4) * pair(out[1] + 3),
        tuple(itertools.product(range(2, 7), range(-6, -1))),
        (1, 14),
        0.2,
        runs=600,
    )
    for scale, grid, value in (
        (Fraction(1), Fraction(1), Fraction(0)),
        (Fraction(3, 2), half, Fraction(3, 10)),
        (Fraction(2), Fraction(8), Fraction(5, 2)),
        (Fraction(1, 3), Fraction(1, 3), Fraction(1, 7)),
    ):
        draw = partial(Laplace(scale=scale, grid=grid).draw, value)
        yield Case(
            f"Laplace {scale} on {grid} at {value}",
            lambda noise, draw=draw, grid=grid: _as_steps(draw(noise), grid),
            rounded_in_steps(scale, grid, value),
            rounded_in_steps(scale * near, grid, value),
            tuple(reach),
            (1, 14),
            0.12,
        )


def rounded_in_steps(scale: Fraction, grid: Fraction, value: Fraction) -> Law:
    law = rounded_laplace(scale, grid, value)
    return lambda steps: law(steps * grid)


def _as_steps(out: float, grid: Fraction) -> int:
    """Return an output as whole steps of its grid; a grid of thirds is released as the nearest floats."""
    return round(Fraction(out) / grid)


def choices() -> Iterator[Case]:
    for epsilon in (Fraction(1, 10), Fraction(1)):
        yield Case(
            f"exponential, book table 2.3 at {epsilon}",
            partial(Exponential(candidates=4, scale=2 / epsilon).draw, np.array(COUNTS)),
            softmax(COUNTS, 2 / epsilon),
            softmax(COUNTS, 2 / epsilon * Fraction(21, 20)),
            (0, 1, 2, 3),
            (2, 14),
            1e-6,
        )
    yield Case(
        "exponential of rounded scores",
        partial(Exponential(candidates=3, scale="1/2", grid="1/8").draw, [0.1, -0.4, 0.3]),
        softmax((Fraction(1, 8), Fraction(-3, 8), Fraction(2, 8)), Fraction(1, 2)),
        softmax((Fraction(1, 10), Fraction(-4, 10), Fraction(3, 10)), Fraction(1, 2)),
        (0, 1, 2),
        (2, 14),
        1e-6,
    )
    for scores, scale in (([0, 1], Fraction(1)), ([3, 3], Fraction(1, 2)), ([1, 2, 0], Fraction(2))):
        yield Case(
            f"permute-and-flip of {scores} at {scale}",
            partial(PermuteAndFlip(candidates=len(scores), scale=scale).draw, scores),
            permute_and_flip(scores, scale),
            softmax(scores, scale) if len(set(scores)) > 1 else permute_and_flip([3, 2], scale),
            tuple(range(len(scores))),
            (1, 14),
            0.02,
            runs=500,
        )
    for scores in ((0, 0), (0, 1), (2, 0)):
        yield Case(
            f"noisy-max of {scores}",
            partial(NoisyMax(candidates=2, scale="1/2").draw, scores),
            noisy_max_of_two(scores, Fraction(1, 2)),
            lambda i, scores=scores: noisy_max_of_two((scores[1], scores[0]), Fraction(1, 2))(1 - i),
            (0, 1),
            (1, 13),
            0.2,
            runs=1200,
        )
    for scores, chosen, scale in (([1, 0], 2, Fraction(2)), ([2, 0, 1], 2, Fraction(1))):
        yield Case(
            f"top-{chosen} of {scores}",
            partial(TopK(candidates=len(scores), chosen=chosen, scale=scale).draw, scores),
            peeling(scores, scale),
            peeling(scores, scale * Fraction(21, 20)),
            tuple(itertools.permutations(range(len(scores)), chosen)),
            (1, 20),
            1e-4,
            runs=0,
        )
    for epsilon, categories, truth in ((Fraction(1), 2, 0), (Fraction(1), 2, 1), (Fraction(1, 2), 5, 3), (2, 4, 0)):
        yield Case(
            f"randomised response of {truth} among {categories} at {epsilon}",
            partial(RandomisedResponse(epsilon=epsilon, categories=categories).draw, truth),
            response(Fraction(epsilon), categories, truth),
            response(Fraction(epsilon) * Fraction(21, 20), categories, truth),
            tuple(range(categories)),
            (1, 16),
            0.01,
        )


def conversations() -> Iterator[Case]:
    for parameters, script in (
        ({"threshold": 0, "threshold_scale": "1/4", "query_scale": "1/3"}, [0, 0]),
        ({"threshold": 2, "threshold_scale": "1/3", "query_scale": "1/4"}, [1, 2]),
        ({"threshold": 1, "threshold_scale": "1/4", "query_scale": "1/4", "positives": 2}, [1, 1]),
    ):
        mechanism = AboveThreshold(**parameters)
        law, last = sparse_vector(mechanism, script), mechanism.positives
        wrong = sparse_vector(mechanism, [value + 1 for value in script])
        possible = [
            answers[: stop + 1]
            for answers in itertools.product((False, True), repeat=len(script))
            for stop in [next((i for i in range(len(script)) if sum(answers[: i + 1]) == last), len(script) - 1)]
        ]
        yield Case(
            f"above-threshold {parameters} on {script}",
            partial(converse, mechanism, script),
            law,
            wrong,
            tuple(dict.fromkeys(possible)),
            (1, 14),
            0.25,
            runs=2400,
        )


CASES = [*additive(), *choices(), *conversations()]
every_case = pytest.mark.parametrize("case", CASES, ids=str)


@cache
def word_by_word(case: Case) -> Enumeration:
    with pytest.MonkeyPatch.context() as patch:
        # Fewer digits and a likelier coin for the rest: the same law, in fewer words.
        patch.setattr(laplace, "_TAIL", 1)
        # A draw computes its digits of e^-x anew; thousands of draws from the same few x may share them.
        patch.setattr(chances, "_exp_of_minus", cache(chances._exp_of_minus))
        laplace._coins.cache_clear()
        try:
            word_bits, longest = case.words
            return enumerate_outcomes(case.draw, word_bits=word_bits, max_words=longest)
        finally:
            laplace._coins.cache_clear()


@cache
def coin_by_coin(case: Case) -> Enumeration:
    return branch_outcomes(case.draw, runs=case.runs) if case.runs else word_by_word(case)


def misfitting(found: Enumeration, law: Law, support: tuple[Any, ...]) -> list[Any]:
    """Return the outcomes whose probability under the law is refuted with certainty."""
    return [x for x in {*found.mass, *support} if not found.brackets(x, law(x) - TOLERANCE, law(x) + TOLERANCE)]


@every_case
def test_law_word_by_word(case: Case) -> None:
    found = word_by_word(case)
    assert sum(found.mass.values()) + found.undecided == 1
    assert found.undecided < case.undecided
    assert misfitting(found, case.law, case.support) == []


@every_case
def test_law_coin_by_coin(case: Case) -> None:
    found = coin_by_coin(case)
    assert found.undecided < (MOST_UNDECIDED if case.runs else case.undecided)
    assert misfitting(found, case.law, case.support) == []


@every_case
def test_wrong_law_is_refuted(case: Case) -> None:
    assert misfitting(coin_by_coin(case), case.wrong, case.support)


@every_case
def test_closed_form_is_a_law(case: Case) -> None:
    """The probabilities of all that was seen add up to one: the closed forms are not merely in proportion."""
    outcomes = {*coin_by_coin(case).mass, *case.support}
    assert abs(1 - sum(case.law(x) for x in outcomes)) < 1e-5


# The exact test vectors of the literature.


@pytest.mark.parametrize(
    ("epsilon", "printed"),
    [("1/10", (0.327, 0.147, 0.400, 0.126)), ("1", (0.119, 4.0e-5, 0.881, 8.9e-6)), ("1e-12", (0.25,) * 4)],
)
def test_book_table_2_3(epsilon: str, printed: tuple[float, ...]) -> None:
    """Counts 24, 8, 28, 5 at epsilon 0.1 and 1 (Zhu et al. 2017, table 2.3; its first entry prints .32), and 0."""
    rate = Fraction(epsilon)
    mechanism = Exponential.calibrated(PureDP(rate), sensitivity=1, candidates=4)
    assert mechanism.loss(1).pure == rate
    found = enumerate_outcomes(lambda noise: mechanism.draw(np.array(COUNTS), noise), word_bits=2, max_words=18)
    law = softmax(COUNTS, 2 / rate)
    assert found.undecided < 1e-9
    for index, probability in enumerate(printed):
        assert abs(law(index) - Fraction(probability)) < Fraction(probability) / 100
        assert abs(found.mass[index] - law(index)) <= found.undecided


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1, 2), Fraction(1)])
@pytest.mark.parametrize("c", [1, 2])
def test_small_noise(epsilon: Fraction, c: int) -> None:
    """Noise of scale 1 / epsilon stays below c with 1 - e^(-c eps), and exceeds 5 c with e^(-5 c eps) (LIU 10.1).

    On a grid of 2 c the released 0 is |Z| < c, and what lies three steps off or more is |Z| > 5 c.
    """
    mechanism = Laplace(scale=1 / epsilon, grid=2 * c)
    found = branch_outcomes(lambda noise: mechanism.draw(0, noise), runs=800)
    assert found.undecided < MOST_UNDECIDED
    small = found.mass[0]
    large = sum(mass for out, mass in found.mass.items() if abs(out) >= 6 * c)
    assert 0 <= 1 - exp(-c * epsilon) - small <= found.undecided
    assert 0 <= exp(-5 * c * epsilon) - large <= found.undecided
    if (epsilon, c) == (Fraction(1, 10), 1):
        assert [round(100 * float(p), 1) for p in (small, large)] == [9.5, 60.7]


# Sampled: the Gaussians, and many draws at a time.

Misfits = Callable[[Iterable[Any], Mapping[Any, float]], list[Any]]


def table(law: Law, support: Iterable[Any]) -> dict[Any, float]:
    return {x: float(law(x)) for x in support}


def discrete_gaussian(sigma: float, value: int) -> dict[int, float]:
    weights = {x: math.exp(-(x * x) / (2 * sigma * sigma)) for x in range(-60, 61)}
    return {value + x: weight / sum(weights.values()) for x, weight in weights.items() if weight > 1e-6}


def rounded_gaussian(sigma: float, grid: float, value: float) -> dict[float, float]:
    below = NormalDist(value, sigma).cdf
    centre = round(value / grid)
    cells = (step * grid for step in range(centre - 12, centre + 13))
    return {out: p for out in cells if (p := below(out + grid / 2) - below(out - grid / 2)) > 1e-6}


@pytest.mark.statistical(false_alarm=1e-10)
@pytest.mark.parametrize(
    ("mechanism", "value", "law", "twin"),
    [
        (DiscreteGaussian(sigma=1), 0, discrete_gaussian(1, 0), discrete_gaussian(1.05, 0)),
        (DiscreteGaussian(sigma="1/3"), 7, discrete_gaussian(1 / 3, 7), discrete_gaussian(0.35, 7)),
        (DiscreteGaussian(sigma="5/2"), -1, discrete_gaussian(2.5, -1), discrete_gaussian(2.5, 0)),
        (Gaussian(sigma=1, grid=1), 0, rounded_gaussian(1, 1, 0), rounded_gaussian(1.05, 1, 0)),
        (Gaussian(sigma="3/2", grid="1/2"), 0.3, rounded_gaussian(1.5, 0.5, 0.3), rounded_gaussian(1.5, 0.5, 0.5)),
        (Gaussian(sigma=2, grid=8), 2.5, rounded_gaussian(2, 8, 2.5), rounded_gaussian(2.1, 8, 2.5)),
        # The discrete and the rounded law are not the same: neither stands in for the other.
        (Gaussian(sigma="1/2", grid=1), 0, rounded_gaussian(0.5, 1, 0), discrete_gaussian(0.5, 0)),
    ],
    ids=lambda argument: str(argument) if not isinstance(argument, dict) else "",
)
def test_gaussian_laws(
    mechanism: Any, value: Any, law: dict[Any, float], twin: dict[Any, float], misfits: Misfits
) -> None:
    drawn = mechanism.draw_many(value, DRAWS, system_noise()).tolist()
    assert misfits(drawn, law) == []
    assert misfits(drawn, twin)


def many() -> Iterator[Any]:
    two, wider = Fraction(2), Fraction(11, 5)
    cases: list[tuple[Any, Any, Iterable[Any], Law, Law]] = [
        (
            Geometric(scale=2),
            5,
            range(-15, 26),
            lambda out: discrete_laplace(two)(out - 5),
            lambda out: discrete_laplace(wider)(out - 5),
        ),
        (
            Laplace(scale=2, grid=1),
            0.25,
            range(-15, 16),
            rounded_laplace(two, Fraction(1), Fraction(1, 4)),
            rounded_laplace(wider, Fraction(1), Fraction(1, 4)),
        ),
        (Exponential(candidates=4, scale=20), COUNTS, range(4), softmax(COUNTS, 10 * two), softmax(COUNTS, 10 * wider)),
        (
            PermuteAndFlip(candidates=3, scale=2),
            [1, 2, 0],
            range(3),
            permute_and_flip([1, 2, 0], two),
            permute_and_flip([1, 2, 0], wider),
        ),
        (
            NoisyMax(candidates=2, scale=2),
            [1, 0],
            range(2),
            noisy_max_of_two((1, 0), two),
            noisy_max_of_two((1, 0), wider),
        ),
        # Ties go to the first; the twin breaks them evenly.
        (NoisyMax(candidates=2, scale=2), [0, 0], range(2), noisy_max_of_two((0, 0), two), lambda _: Fraction(1, 2)),
        (
            RandomisedResponse(epsilon=2, categories=5),
            3,
            range(5),
            response(two, 5, 3),
            response(wider, 5, 3),
        ),
    ]
    for mechanism, value, support, law, twin in cases:
        yield pytest.param(
            mechanism, value, table(law, support), table(twin, support), id=f"{mechanism.name} of {value}"
        )


@pytest.mark.statistical(false_alarm=1e-10)
@pytest.mark.parametrize(("mechanism", "value", "law", "twin"), [*many()])
def test_many_draws_have_the_law_of_one(
    mechanism: Any, value: Any, law: dict[Any, float], twin: dict[Any, float], misfits: Misfits
) -> None:
    drawn = mechanism.draw_many(value, DRAWS, system_noise()).tolist()
    assert misfits(drawn, law) == []
    assert misfits(drawn, twin)


@pytest.mark.statistical(false_alarm=1e-10)
def test_many_rows_of_top_k_have_the_law_of_one(misfits: Misfits) -> None:
    """n = 400,000: rows that choose alike are peeled together."""
    mechanism = TopK(candidates=3, chosen=2, scale=1)
    rows = [tuple(row) for row in mechanism.draw_many([2, 0, 1], 400_000, system_noise()).tolist()]
    orders = list(itertools.permutations(range(3), 2))
    assert misfits(rows, table(peeling([2, 0, 1], Fraction(1)), orders)) == []
    assert misfits(rows, table(peeling([2, 0, 1], Fraction(11, 10)), orders))


@pytest.mark.parametrize("block", [1, 7])
def test_blocks_of_draws_do_not_change_their_number(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Choices are drawn a block at a time; however small the blocks, every row is filled."""
    monkeypatch.setattr("dither.mechanisms.noisy_max._DRAWS_AT_A_TIME", block)
    monkeypatch.setattr("dither.mechanisms.permute_and_flip._COINS_AT_A_TIME", block)
    for kind in (NoisyMax, PermuteAndFlip):
        drawn = kind(candidates=3, scale="1/1000").draw_many([0, 9, 0], 20, system_noise())
        assert drawn.tolist() == [1] * 20

"""Amplification by shuffling, against tables of reports small enough to list every outcome."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from fractions import Fraction

import pytest

from dither.errors import InvalidParameter
from dither.privacy import ApproxDP, PureDP
from dither.privacy.accountants import (
    Mixture,
    any_randomiser,
    closed_form_epsilon,
    mixture_of,
    mixtures_of,
    shuffled,
    shuffled_delta,
    shuffled_loss,
)

Rows = list[list[int]]
Law = dict[tuple[int, ...], Fraction]

KARY = [[4 if here == there else 1 for there in range(3)] for here in range(3)]
BINARY = [[3, 1], [1, 3]]
#: Two bits, each kept with 3 of 4: four answers whose parts are not those of one truth among lies.
UNARY = [[9, 3, 3, 1], [3, 9, 1, 3], [3, 1, 9, 3]]
ODD = [[5, 1, 3, 3], [2, 4, 5, 1], [1, 2, 3, 6]]


def counts_of(rows: Rows, answers: tuple[int, ...], start: Law | None = None) -> Law:
    """Return the exact law of how often each report occurs."""
    law = start or {(0,) * len(rows[0]): Fraction(1)}
    for answer in answers:
        longer: Law = defaultdict(Fraction)
        for counts, chance in law.items():
            for report, weight in enumerate(rows[answer]):
                after = (*counts[:report], counts[report] + 1, *counts[report + 1 :])
                longer[after] += chance * Fraction(weight, sum(rows[answer]))
        law = longer
    return law


def hockey_stick(rows: Rows, people: int, factor: Fraction) -> Fraction:
    """Return the exact delta: the worst two answers among the worst answers of all others."""
    worst = Fraction(0)
    for others in itertools.combinations_with_replacement(range(len(rows)), people - 1):
        start = counts_of(rows, others)
        laws = [counts_of(rows, (answer,), start) for answer in range(len(rows))]
        for first, second in itertools.permutations(laws, 2):
            worst = max(worst, sum((max(Fraction(0), p - factor * second[at]) for at, p in first.items()), Fraction(0)))
    return worst


def bound(rows: Rows, people: int, factor: Fraction) -> Fraction:
    epsilon = Fraction(math.log(factor))
    return max(shuffled_delta(mixture, honest=people, epsilon=epsilon) for mixture in mixtures_of(rows))


@pytest.mark.parametrize(
    ("rows", "sizes"), [(BINARY, (1, 2, 5, 12)), (KARY, (1, 3, 6)), (UNARY, (2, 4)), (ODD, (2, 4))]
)
@pytest.mark.parametrize("factor", [Fraction(21, 20), Fraction(3, 2), Fraction(5, 2)])
def test_bounds_are_never_below_the_exact_value(rows: Rows, sizes: tuple[int, ...], factor: Fraction) -> None:
    alone = Fraction(max(max(column) for column in zip(*rows, strict=True)), 1)
    largest = max(Fraction(max(column), min(column)) for column in zip(*rows, strict=True))
    for people in sizes:
        exact = hockey_stick(rows, people, factor)
        assert exact <= bound(rows, people, factor) * (1 + Fraction(1, 10**12))
        any_other = shuffled_delta(
            any_randomiser(Fraction(math.log(largest)) + Fraction(1, 10**12)),
            honest=people,
            epsilon=Fraction(math.log(factor)),
        )
        assert exact <= any_other * (1 + Fraction(1, 10**12))
    assert alone > 1


def test_the_bound_of_k_ary_response_is_exact_for_few_people_and_near_for_some() -> None:
    for people, most in ((1, 1.000001), (2, 1.000001), (3, 1.000001), (6, 1.02)):
        exact = float(hockey_stick(KARY, people, Fraction(3, 2)))
        assert exact <= float(bound(KARY, people, Fraction(3, 2))) <= exact * most


def test_two_counts_alone_are_not_enough() -> None:
    # The formula as printed, which keeps the numbers of copies of both sides and drops what the others report beside
    # them: below the exact value for k-ary response, since the rest tells who is not a copy. Ours is not below.
    people, factor = 4, Fraction(3, 2)
    ratio, side = Fraction(4), Fraction(1, 6)
    assert printed(people, ratio, side, factor) < hockey_stick(KARY, people, factor) or printed(
        people, ratio, side, Fraction(5, 2)
    ) < hockey_stick(KARY, people, Fraction(5, 2))
    assert bound(KARY, people, Fraction(5, 2)) >= hockey_stick(KARY, people, Fraction(5, 2))


def printed(people: int, ratio: Fraction, side: Fraction, factor: Fraction) -> Fraction:
    copied = side

    def others(first: int, second: int) -> Fraction:
        rest = people - 1 - first - second
        if min(first, second, rest) < 0:
            return Fraction(0)
        ways = math.comb(people - 1, first) * math.comb(people - 1 - first, second)
        return ways * copied ** (first + second) * (1 - 2 * copied) ** rest

    total = Fraction(0)
    for first in range(people + 1):
        for second in range(people + 1 - first):
            mine, yours = others(first - 1, second) * side, others(first, second - 1) * side
            neither = others(first, second) * (1 - side * (1 + ratio))
            total += max(Fraction(0), ratio * mine + yours + neither - factor * (mine + ratio * yours + neither))
    return total


def test_more_people_and_more_reports_that_say_nothing_lose_less() -> None:
    losses = [shuffled_loss(any_randomiser(1), honest=people, delta="1e-6") for people in (10, 300, 3000, 10**6)]
    assert isinstance(losses[0], PureDP)
    assert isinstance(losses[1], ApproxDP)
    figures = [loss.pure for loss in losses]
    assert figures == sorted(figures, reverse=True)
    assert figures[2] > 2 * figures[3]
    wide = [mixture_of([3, 1, k - 2], [1, 3, k - 2], [1, 1, k - 2]) for k in (3, 30)]
    own = [shuffled_loss(mixture, honest=2000, delta="1e-6").pure for mixture in wide]
    assert own[1] < own[0] / 2


def test_many_reports_agree_with_a_sum_over_all_outcomes() -> None:
    # Coins, each shown with 3 of 4: every number of copies, and every number of them on one side.
    people, factor = 200, Fraction(5, 4)
    mixture = mixture_of([3, 1], [1, 3], [1, 1])
    total = Fraction(0)
    for copies in range(people):
        ways = [math.comb(copies, at) for at in range(copies + 1)]
        pairs = zip([0, *ways], [*ways, 0], strict=True)
        within = sum(max(Fraction(0), 3 * a + b - factor * (a + 3 * b)) for a, b in pairs)
        total += Fraction(math.comb(people - 1, copies), 2 ** (people - 1)) * within / 4 / 2**copies
    found = shuffled_delta(mixture, honest=people, epsilon=Fraction(math.log(factor)))
    assert total <= found <= total * (1 + Fraction(1, 10**5))


@pytest.mark.parametrize("epsilon", ["0.2", "1", "2.5"])
def test_the_closed_form_is_above_the_numerical_bound(epsilon: str) -> None:
    for people, delta in ((10**4, "1e-6"), (10**6, "1e-8")):
        closed = closed_form_epsilon(epsilon, honest=people, delta=delta)
        numerical = shuffled_loss(any_randomiser(epsilon), honest=people, delta=delta).pure
        assert numerical is not None
        assert numerical <= closed * (1 + Fraction(1, 10**30))
    assert closed_form_epsilon(epsilon, honest=10, delta="1e-6") == Fraction(epsilon)


def test_a_loss_is_the_least_epsilon_whose_delta_is_promised() -> None:
    for mixture in (any_randomiser(2), mixture_of([5, 1, 4], [1, 5, 4], [1, 1, 4])):
        loss = shuffled_loss(mixture, honest=500, delta="1e-5")
        assert shuffled_delta(mixture, honest=500, epsilon=loss.pure) <= Fraction(1, 10**5)
        assert shuffled_delta(mixture, honest=500, epsilon=loss.pure * Fraction(995, 1000)) > Fraction(1, 10**5)


def test_reports_that_nobody_else_makes_are_not_hidden() -> None:
    seen = mixture_of([3, 1, 0, 0], [1, 3, 0, 0], [0, 0, 0, 0])
    assert shuffled_delta(seen, honest=10**6, epsilon=1) >= Fraction(1, 4) * (3 - Fraction(272, 100))
    assert isinstance(shuffled_loss(seen, honest=10**6, delta="1e-6"), PureDP)


def test_equal_rows_lose_nothing() -> None:
    assert shuffled_loss(mixture_of([1, 2], [1, 2], [1, 2]), honest=5, delta="1e-6").is_zero


def test_the_unit_is_its_own() -> None:
    assert shuffled(10) != shuffled(11)
    assert "10 honest people" in str(shuffled(10))


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: mixture_of([1, 2], [1, 1], [0, 0]), "second"),
        (lambda: mixture_of([1, 2], [2, 1], [2, 0]), "common"),
        (lambda: mixture_of([0, 2], [1, 1], [0, 0]), "second"),
        (lambda: mixtures_of([[1, 2]]), "rows"),
        (lambda: Mixture(Fraction(2), Fraction(1, 2), Fraction(0), Fraction(0)), "side"),
        (lambda: Mixture(Fraction(2), Fraction(1, 4), Fraction(1, 2), Fraction(1, 2)), "copied"),
        (lambda: shuffled_loss(any_randomiser(1), honest=0, delta="1e-6"), "honest"),
        (lambda: shuffled_loss(any_randomiser(1), honest=5, delta="1e-16"), "delta"),
        (lambda: any_randomiser(51), "epsilon"),
        (lambda: closed_form_epsilon(1, honest=5, delta=0), "delta"),
    ],
)
def test_odd_parameters_are_refused_by_name(call, name: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InvalidParameter, match=name):
        call()

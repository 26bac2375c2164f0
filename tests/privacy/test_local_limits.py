"""What local reports can achieve: against reports and laws that are small enough to be listed."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dither.errors import InvalidParameter
from dither.privacy.local_limits import (
    contraction,
    duchi_error,
    least_mean_error,
    people_for_learning,
    people_for_queries,
    reports_for_parity,
)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_reports_of_two_laws_differ_by_at_most_the_contraction(epsilon: float) -> None:
    random = np.random.default_rng(5)
    for _ in range(200):
        # A random table of the largest ratio that the loss allows, and two laws of answers.
        table = np.exp(random.integers(0, 2, (3, 4)) * epsilon)
        # Rows are shared out to one sum by a further report, so the ratio of reports stays that of the table.
        table /= table.sum(axis=1).max() * 1.0001
        spare = 1 - table.sum(axis=1)
        rows = np.concatenate([table, spare[:, None]], axis=1)
        exact = math.log((rows.max(axis=0) / rows.min(axis=0)).max())
        if exact < 1e-9:
            continue
        first, second = random.dirichlet([1, 1, 1], 2)
        a, b = first @ rows, second @ rows
        entropies = float(((a - b) * np.log(a / b)).sum())
        apart = abs(first - second).sum() / 2
        assert entropies <= float(contraction(exact)) * apart**2 * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", ["0.1", "1", "4"])
@pytest.mark.parametrize("people", [1, 3, 8])
def test_the_best_estimate_from_binary_reports_is_not_below_the_least_error(epsilon: str, people: int) -> None:
    # The law of the number of ones among binary reports of people with mean +-delta, all estimates being averages over
    # a prior on the two: the Bayes risk of any pair is below the minimax error.
    keep = math.exp(float(epsilon)) / (1 + math.exp(float(epsilon)))

    def risk(delta: float) -> float:
        laws = []
        for mean in (delta, -delta):
            one = (1 + mean) / 2 * keep + (1 - mean) / 2 * (1 - keep)
            laws.append([math.comb(people, k) * one**k * (1 - one) ** (people - k) for k in range(people + 1)])
        return sum(2 * delta**2 * a * b / (a + b) for a, b in zip(*laws, strict=True))

    best = max(risk(delta) for delta in np.linspace(0.02, 1, 50))
    assert float(least_mean_error(epsilon, people=people)) <= best <= float(duchi_error(epsilon, people=people)) + 1


def test_least_errors_scale_with_people_and_range() -> None:
    assert least_mean_error(1, people=2000) * 2 == least_mean_error(1, people=1000)
    assert least_mean_error(1, people=1000, radius=3) == 9 * least_mean_error(1, people=1000)
    assert duchi_error(1, people=1000, radius=10) >= 100 * duchi_error(1, people=1000) * (1 - Fraction(1, 10**20))
    scale = math.tanh(0.5) ** -2
    assert float(duchi_error(1, people=100)) == pytest.approx(scale / 100)


def test_people_for_queries_keep_hoeffdings_promise_exactly() -> None:
    # One query whose answers are all 1: a report is +-c, and its mean misses by more than the tolerance rarely enough.
    tolerance, failure = 0.9, 0.2
    people = people_for_queries(1, queries=1, tolerance=tolerance, failure=failure)
    keep, scale = math.e / (1 + math.e), 1 / math.tanh(0.5)
    missed = sum(
        math.comb(people, k) * keep**k * (1 - keep) ** (people - k)
        for k in range(people + 1)
        if abs((2 * k - people) * scale / people - 1) > tolerance
    )
    assert missed <= failure
    assert people_for_queries(1, queries=7, tolerance=tolerance, failure=failure) % 7 == 0
    assert people_for_learning(1, hypotheses=7, excess=tolerance, failure=failure) == people_for_queries(
        1, queries=7, tolerance=tolerance, failure=failure
    )


def test_a_parity_is_found_no_more_often_than_promised() -> None:
    # Two bits, everybody reports label xor the first bit by randomised response: the best guess of four parities.
    epsilon, bits = 1.5, 2
    people = math.floor(reports_for_parity(epsilon, bits=bits))
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))
    for mask in range(4):
        laws = []
        for parity in range(4):
            truths = [((parity ^ mask) & x).bit_count() % 2 for x in range(4)]
            one = sum(keep if truth else 1 - keep for truth in truths) / 4
            laws.append(
                [
                    one ** sum(seen) * (1 - one) ** (people - sum(seen))
                    for seen in itertools.product((0, 1), repeat=people)
                ]
            )
        found = np.max(laws, axis=0).sum() / 4
        assert found <= 0.5 + 2**-bits


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: contraction(0), "epsilon"),
        (lambda: least_mean_error(1, people=0), "people"),
        (lambda: people_for_queries(1, queries=1, tolerance=0, failure="0.1"), "tolerance"),
        (lambda: people_for_queries(1, queries=1, tolerance="0.1", failure=0), "failure"),
        (lambda: reports_for_parity(1, bits=0), "bits"),
    ],
)
def test_odd_parameters_are_refused_by_name(call, name: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InvalidParameter, match=name):
        call()

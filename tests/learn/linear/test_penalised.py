"""Penalised losses: gradients against arithmetic of fifty digits, weights where they are short, how far these move."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from dither.errors import InvalidValue
from dither.learn.centred import LENGTH
from dither.learn.linear import penalised
from dither.learn.linear.penalised import MOST_ROWS, TOLERANCE, FineWeights, PenalisedLoss, minimisers


def slow_pull(loss: str, score: Fraction, side: int) -> Fraction:
    """The derivative of one record's loss, from its definition, with fifty digits."""
    if loss == "hinge":
        sign = 2 * side - 1
        return -sign * min(max(Fraction(3, 2) - sign * score, Fraction(0)), Fraction(1))
    with localcontext() as digits:
        digits.prec = 50
        number = Decimal(score.numerator) / Decimal(score.denominator)
        chance = 1 / (1 + (-number).exp()) if number > -1000 else Decimal(0)
        return Fraction(chance) - side


def slow_gradient(
    loss: str, records: np.ndarray, sides: np.ndarray, penalty: Fraction, term: list[float], weights: list[Fraction]
) -> list[Fraction]:
    """The gradient at exact weights, by definition."""
    total = [penalty * weight + Fraction(shift) for weight, shift in zip(weights, term, strict=True)]
    for row, side in zip(records.astype(int).tolist(), sides.astype(int).tolist(), strict=True):
        score = sum((Fraction(entry, LENGTH) * weight for entry, weight in zip(row, weights, strict=True)), Fraction(0))
        pull = slow_pull(loss, score, side)
        total = [so_far + pull * entry / LENGTH for so_far, entry in zip(total, row, strict=True)]
    return total


def length_of(vector: list[Fraction]) -> float:
    return math.sqrt(float(sum(entry * entry for entry in vector)))


def whole_records(count: int, width: int) -> np.ndarray:
    """Random whole records, half of them as long as can be."""
    generator = np.random.default_rng()
    rows = generator.normal(size=(count, width))
    rows *= LENGTH * generator.choice([0.1, 1.0], size=(count, 1)) / np.linalg.norm(rows, axis=1, keepdims=True)
    return np.trunc(rows)


def exact_weights(weights: FineWeights) -> list[Fraction]:
    return [Fraction(step, 2**weights.bits) for step in weights.steps]


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("length", [1e-3, 1.0, 30.0, 1e6])
def test_the_error_of_a_gradient_is_that_of_its_pulls(loss: str, length: float) -> None:
    """2^-48 a record is what is counted; the functions of a good library are sixteen times nearer."""
    generator = np.random.default_rng()
    records, sides = whole_records(60, 5), generator.integers(0, 2, size=60).astype(float)
    weights = FineWeights((0,) * 5, 54).moved(length * generator.normal(size=5))
    term = generator.normal(size=5).tolist()
    found, _ = PenalisedLoss(records, sides, loss, Fraction(1, 3)).gradient(weights, [Fraction(each) for each in term])
    exact = slow_gradient(loss, records, sides, Fraction(1, 3), term, exact_weights(weights))
    error = length_of([Fraction(a) - b for a, b in zip(found.tolist(), exact, strict=True)])
    assert error <= 60 * 2.0**-48 + length_of(exact) * 2.0**-52


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("length", [0.0, 3.0, 1e6, 1e13])
@pytest.mark.parametrize("penalty", ["1/4", "7/3", "900", "1e9", "1e15"])
def test_the_gradient_is_short_where_the_solver_stops(loss: str, length: float, penalty: str) -> None:
    generator, strength = np.random.default_rng(), Fraction(penalty)
    records, sides = whole_records(30, 4), generator.integers(0, 2, size=30).astype(float)
    term = (length * generator.normal(size=4)).tolist()
    found = PenalisedLoss(records, sides, loss, strength).minimise(term)
    assert length_of(slow_gradient(loss, records, sides, strength, term, exact_weights(found))) <= TOLERANCE
    # As floats, or as rationals where those would be too coarse, they are as near as is said.
    given = [Fraction(number) for number in found.numbers(strength)]
    apart = [a - b for a, b in zip(given, exact_weights(found), strict=True)]
    assert length_of(apart) <= TOLERANCE / 2 / strength


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_gradient_steps_alone_arrive(loss: str, monkeypatch: pytest.MonkeyPatch) -> None:
    records, sides = whole_records(12, 3), np.arange(12) % 2.0
    given = PenalisedLoss(records, sides, loss, Fraction(2))
    quick = exact_weights(given.minimise([0.5, -1.0, 2.0]))
    monkeypatch.setattr(penalised, "_NEWTON_STEPS", 0)
    slow = exact_weights(given.minimise([0.5, -1.0, 2.0]))
    # Both gradients are shorter than the tolerance, and the objective is strongly convex.
    assert math.dist(quick, slow) <= 2 * TOLERANCE / 2


def test_no_records_leave_penalty_and_linear_term() -> None:
    found = PenalisedLoss(np.zeros((0, 2)), np.zeros(0), "logistic", Fraction(4)).minimise([8.0, -2.0])
    assert found.numbers(Fraction(4)) == pytest.approx([-2.0, 0.5], abs=float(TOLERANCE) / 4)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("penalty", ["1/4", "3"])
def test_the_minimiser_moves_no_farther_than_said(penalty: str, loss: str) -> None:
    records, classes, strength = whole_records(80, 3), np.arange(80) % 2, Fraction(penalty)
    whole = minimisers(records, classes, 1, strength, loss)[0].numbers(strength)
    for gone in range(80):
        kept = np.arange(80) != gone
        other = minimisers(records[kept], classes[kept], 1, strength, loss)[0].numbers(strength)
        assert math.dist(whole, other) <= (1 + 3 * TOLERANCE) / strength


def test_one_class_is_learned_against_the_rest() -> None:
    records, classes = whole_records(20, 3), np.arange(20) % 3
    for side, weights in enumerate(minimisers(records, classes, 3, Fraction(1), "logistic")):
        alone = PenalisedLoss(records, (classes == side).astype(float), "logistic", Fraction(1)).minimise()
        assert weights == alone


def test_scores_are_exact_however_large_weights_are() -> None:
    records = whole_records(10, 3)
    for size in (2**10, 2**70, 2**90):
        weights = FineWeights((size - 3, -(size // 3), 7), 54)
        exact = [
            sum(int(entry) * step for entry, step in zip(row, weights.steps, strict=True)) for row in records.tolist()
        ]
        assert weights.scores(records).tolist() == [float(Fraction(score, LENGTH * 2**54)) for score in exact]


def test_only_more_records_than_a_memory_holds_are_refused() -> None:
    """A view of one record stands for 2^32 of them; it has the shape and takes no room."""
    many = np.broadcast_to(np.zeros(2), (MOST_ROWS + 1, 2))
    with pytest.raises(InvalidValue, match="records"):
        PenalisedLoss(many, np.zeros(0), "logistic", Fraction(1))
    # The error that is counted at the limit leaves three quarters of the tolerance.
    assert MOST_ROWS * 2.0**-48 <= TOLERANCE / 4

"""A penalised loss of integer records: gradients with a known error bound, and weights at which they are short.

Weights are integers of small steps and their scores exact, however large they are. Pulls are floats, put on a
grid; from there on sums are exact again. So the error of a gradient is that of its pulls, and grows with the number of
records alone; it stays far below the tolerance for all the records that a machine can hold.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter, InvalidValue
from dither.learn.centred import LENGTH
from dither.learn.linear.gradients import WIDTH
from dither.learn.rows import Floats, unbounded_products

#: How long the gradient at the weights found may be, the pull of one record being at most 1 long.
TOLERANCE: Final = Fraction(1, 2**14)
#: More records than that have no place in a memory, and would leave the error of a gradient too near to the tolerance.
MOST_ROWS: Final = 2**32
#: A lower penalty, or more than 2^11 columns beside the constant part, would too; a higher one leaves no weights.
LEAST_PENALTY: Final = Fraction(1, 4)
MOST_PENALTY: Final = Fraction(2**60)
#: How fast the pull of a record changes at most, per unit of its score.
BENDS: Final = {"logistic": Fraction(1, 4), "hinge": 1 / (2 * Fraction(WIDTH))}

#: Weights are integer multiples of 2^-54, or finer where the penalty is large; the lower 33 bits go by themselves.
_BITS: Final = 54
_LOW_BITS: Final = 33
_EXACT_BELOW: Final = 2 ** (_BITS + 17)
#: Pulls are integer multiples of 2^-48, in three parts of 16 bits.
_PULL_STEPS: Final = 2.0**48
_PART: Final = 2.0**16
#: The error of one pull: 2^-49 for the function, far above that of any library of them, and 2^-49 for the grid.
_PULL_ERROR: Final = 2.0**-48
_NEWTON_STEPS: Final = 60


@dataclass(frozen=True)
class FineWeights:
    """Weights as integer multiples of 2^-bits."""

    steps: tuple[int, ...]
    bits: int

    def moved(self, change: Floats) -> FineWeights:
        """Return the weights minus a change, on the grid."""
        changes = (_on_grid(number, self.bits) for number in change.tolist())
        return FineWeights(tuple(a - b for a, b in zip(self.steps, changes, strict=True)), self.bits)

    def scores(self, records: Floats) -> Floats:
        """Return the exact scores of integer records, at most LENGTH long, each rounded once."""
        if sum(step * step for step in self.steps) < _EXACT_BELOW**2:
            high = records @ np.array([step >> _LOW_BITS for step in self.steps], dtype=np.float64)
            low = records @ np.array([step & (2**_LOW_BITS - 1) for step in self.steps], dtype=np.float64)
            scores: Floats = np.ldexp(high, _LOW_BITS - self.bits) + np.ldexp(low, -self.bits)
            return scores / LENGTH
        # Weights so large that they never occur; they must not raise all the same.
        rows = records.astype(np.int64).tolist()
        long = [sum(a * b for a, b in zip(row, self.steps, strict=True)) for row in rows]
        return np.array([float(Fraction(score, LENGTH << self.bits)) for score in long])

    def numbers(self, penalty: Fraction) -> Any:
        """Return weights in units of 1: floats if these are within half a tolerance / penalty, otherwise rationals."""
        exact = [Fraction(step, 1 << self.bits) for step in self.steps]
        # A float is off by 2^-53 of itself; 2^11 of them, at most 2^32 / penalty each, by less than 2^-15 / penalty.
        if all(abs(number) * penalty <= 2**32 for number in exact):
            return np.array([float(number) for number in exact])
        return exact


def _on_grid(number: float, bits: int) -> int:
    numerator, denominator = number.as_integer_ratio()
    return round(Fraction(numerator << bits, denominator))


def minimisers(
    records: Floats, classes: NDArray[np.int64], scores: int, penalty: Fraction, loss_name: str
) -> list[FineWeights]:
    """Return the minimisers of the penalised losses: one for two classes, else each class against the rest.

    Args:
        records: integers, rows of length at most LENGTH.
        classes: of each.
        scores: 1 for two classes, else the number of classes.
        penalty: at least LEAST_PENALTY.
        loss_name: logistic or hinge.

    """
    sides = [1] if scores == 1 else range(scores)
    return [
        PenalisedLoss(records, (classes == side).astype(np.float64), loss_name, penalty).minimise() for side in sides
    ]


def within_penalties(penalty: float) -> Fraction:
    """Return the penalty nearest to a number, in quarters."""
    return min(max(LEAST_PENALTY, Fraction(round(min(4 * penalty, 2.0**62)), 4)), MOST_PENALTY)


def check_penalty(penalty: Fraction) -> None:
    """Refuse a penalty with which a solver might not converge."""
    if not LEAST_PENALTY <= penalty <= MOST_PENALTY:
        raise InvalidParameter("penalty", str(penalty), f"between {LEAST_PENALTY} and 2^60")


class PenalisedLoss:
    """The penalised loss of private records, and the minimum of its sum with a linear term.

    Args:
        records: integers, rows of length at most LENGTH.
        sides: 1 or 0 for each.
        loss_name: logistic or hinge.
        penalty: of half the squared length of the weights, records having length 1; at least LEAST_PENALTY.

    >>> records = np.array([[LENGTH, 0], [0, LENGTH]], dtype=np.float64)
    >>> found = PenalisedLoss(records, np.array([1.0, 0.0]), "logistic", Fraction(1)).minimise()
    >>> found.numbers(Fraction(1)).round(4).tolist()
    [0.4011, -0.4011]

    """

    def __init__(self, records: Floats, sides: Floats, loss_name: str, penalty: Fraction) -> None:
        if len(records) > MOST_ROWS:
            raise InvalidValue("records", records, f"at most {MOST_ROWS} records")
        self._records, self._sides, self._penalty = records, sides, penalty
        self._pull: Callable[[Floats, Floats], tuple[Floats, Floats]] = _LOSSES[loss_name]
        self._limit = float(penalty + BENDS[loss_name] * len(records))
        self._error = len(records) * _PULL_ERROR
        # Rounding the weights must not move the gradient by more than a small share of the tolerance.
        self._bits = _BITS + max(0, int(penalty).bit_length() - 18)

    @cached_property
    def _short(self) -> Floats:
        return self._records / LENGTH  # exact: a power of two

    def minimise(self, term: list[float] | None = None) -> FineWeights:
        """Return weights at which the gradient is at most the tolerance long, errors included.

        Newton's method, each step shortened until the gradient is clearly shorter; should it not arrive, gradient steps
        that must.

        Args:
            term: the coefficients of the linear term, if there is one.

        """
        width = self._records.shape[1]
        linear = [Fraction(0)] * width if term is None else [Fraction(coefficient) for coefficient in term]
        weights = FineWeights((0,) * width, self._bits)
        gradient, bends = self.gradient(weights, linear)
        for _ in range(_NEWTON_STEPS):
            if self._is_short(gradient):
                return weights
            hessian = (self._short * bends[:, None]).T @ self._short + float(self._penalty) * np.eye(width)
            step = np.asarray(np.linalg.solve(hessian, gradient), dtype=np.float64)
            weights, gradient, bends = self._shorter_step(weights, linear, gradient, step)
        while not self._is_short(gradient):
            weights = weights.moved(gradient / self._limit)
            gradient, bends = self.gradient(weights, linear)
        return weights

    def gradient(self, weights: FineWeights, linear: list[Fraction]) -> tuple[Floats, Floats]:
        """Return the gradient of loss, penalty and linear term, and the curvature of each record's loss."""
        pulls, bends = self._pull(weights.scores(self._records), self._sides)
        sums = unbounded_products(_parts(pulls), self._records).tolist()
        unit, grid = self._penalty / (1 << weights.bits), Fraction(1, int(_PULL_STEPS) * LENGTH)
        rows = zip(weights.steps, linear, *sums, strict=True)
        gradient = [
            float(unit * step + shift + grid * ((high << 32) + (middle << 16) + low))
            for step, shift, high, middle, low in rows
        ]
        return np.array(gradient), bends

    def _is_short(self, gradient: Floats) -> bool:
        return bool(np.linalg.norm(gradient) * (1 + 2.0**-30) + self._error <= float(TOLERANCE))

    def _shorter_step(
        self, weights: FineWeights, linear: list[Fraction], gradient: Floats, step: Floats
    ) -> tuple[FineWeights, Floats, Floats]:
        """Return the weights after the longest of step, step / 2, ... that makes the gradient clearly shorter."""
        length = float(np.linalg.norm(gradient))
        for halvings in range(30):
            there = weights.moved(step / 2**halvings)
            found, bends = self.gradient(there, linear)
            # Along a step that would end in the minimum of a parabola the gradient shrinks by its own share.
            if float(np.linalg.norm(found)) <= length * (1 - 0.25 / 2**halvings):
                return there, found, bends
        there = weights.moved(gradient / self._limit)
        return there, *self.gradient(there, linear)


def _parts(pulls: Floats) -> Floats:
    """Return pulls on their grid as three integers each, of which the two lower ones are below 2^16.

    Sums of 2^32 records of length 2^14 then stay below 2^63.
    """
    whole = np.rint(pulls * _PULL_STEPS)
    upper = np.floor(whole / _PART)
    high = np.floor(upper / _PART)
    return np.column_stack([high, upper - high * _PART, whole - upper * _PART])


def _logistic(scores: Floats, sides: Floats) -> tuple[Floats, Floats]:
    """Return the first and second derivatives of ln(1 + e^score) - side * score."""
    chances = (1 + np.tanh(scores / 2)) / 2
    return chances - sides, chances * (1 - chances)


def _hinge(scores: Floats, sides: Floats) -> tuple[Floats, Floats]:
    """Return the derivatives of the rounded hinge, which is 0 beyond 1 + WIDTH and has slope -1 below 1 - WIDTH."""
    signs = 2 * sides - 1
    behind = (1 + WIDTH - signs * scores) / (2 * WIDTH)
    return -signs * np.clip(behind, 0.0, 1.0), np.where((behind > 0) & (behind < 1), 1 / (2 * WIDTH), 0.0)


_LOSSES: Final = {"logistic": _logistic, "hinge": _hinge}

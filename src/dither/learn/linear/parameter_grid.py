"""A parameter grid: the exponential mechanism over all linear models whose weights lie on a public grid.

For a few columns. Every model is scored by the losses of all records, integers with a public largest value, and
one is chosen by its score. Cost: a pass over the records for each model, so that grids beyond 2^16 models are refused.
Corrections: the exponential mechanism over a ball of parameters is printed with sampling from a continuous density, by
a random walk that is near it after an unknown number of steps; a finite grid is sampled exactly. Losses
are clipped, without which no score has a sensitivity, and whole, so that no float decides one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import FAR, NonNegative, Number, OneOf, Positive, Real, TupleOf
from dither.learn.declared import DeclaredBounds
from dither.learn.models import LinearModel
from dither.learn.rows import STEPS, BoundField, Box, Floats, blocks, labelled, records_of, target_box
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.public import PublicArray
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.exponential import Exponential
from dither.privacy import ROW, ROW_REPLACED, Loss, Plan, Unit, Use
from dither.privacy.fields import RowUnit

#: Models of a grid, and columns that a grid of three weights leaves room for.
MOST_MODELS: Final = 2**16
MOST_COLUMNS: Final = 9
#: The largest loss of a record, in whole steps.
TOP: Final = 2**12
OBJECTIVES: Final = ("logistic", "hinge", "squared")
#: Weights are integer multiples of 2^-10, of which there are at most 2^20.
WEIGHT_STEPS: Final = 2**10
_LARGEST: Final = 2**20
#: As many models as a usual grid has at most.
_USUAL_MODELS: Final = 4096
#: How far usual weights reach: scores of classes go well beyond 1, targets lie between -1 and 1.
_USUAL_REACH: Final = {"logistic": Fraction(6), "hinge": Fraction(6), "squared": Fraction(2)}
_MODELS_AT_ONCE: Final = 64
#: Cells of a unit of score, and how far the table of logistic losses reaches.
_CELLS, _REACH = 64, 2


class _Levels(TupleOf):
    """Public values of a weight, each a multiple of 2^-10."""

    def __init__(self) -> None:
        rule = f"different multiples of 1/{WEIGHT_STEPS}, none beyond {_LARGEST // WEIGHT_STEPS}"
        super().__init__(Real(), most=MOST_MODELS, where=_are_levels, rule=rule)

    def offenders(self) -> Iterator[Any]:
        """Return levels off the grid, levels beyond the largest, and duplicates."""
        yield from (("1/3",), (_LARGEST,), (1, 1), *super().offenders())


def _are_levels(levels: tuple[Fraction, ...]) -> bool:
    steps = [level * WEIGHT_STEPS for level in levels]
    return all(step.denominator == 1 and abs(step) <= _LARGEST for step in steps) and len(set(steps)) == len(steps)


def _examples() -> Iterator[Example]:
    rows = np.array([[0.5, -3.0, 1.0], [9.0, 2.0, 0.0], [float("nan"), 1.0, 1.0], [0.1, 0.2, 7.0]])
    others = ((rows, rows[1:], 1), (rows, np.vstack([rows, [4.0, -4.0, 0.0]]), 1))
    box: dict[str, Any] = {"lower": [-1, 0], "upper": [1, 8], "weights": (-2, 2), "constants": (0,)}
    yield Example(ParameterGrid(**box, objective="hinge", scale=TOP), rows, others)
    yield Example(
        ParameterGrid(**box, objective="squared", target_upper=2, scale=2 * TOP, unit=ROW_REPLACED),
        rows,
    )


@register(
    examples=_examples,
    source="Differentially Private Empirical Risk Minimization: Efficient Algorithms and Tight Error Bounds (Bassily, "
    "Smith, Thakurta 2014), section 3; Differential Privacy and Applications (Zhu et al. 2017), section 6.2.2",
    reference=True,
)
@dataclass(frozen=True, kw_only=True)
class ParameterGrid(DeclaredBounds, Composed[Any, LinearModel]):
    """Choose a linear model from a public grid of weights by the clipped losses of all records.

    Guarantee: data ``d_in`` rows apart loses epsilon = ``d_in * 2^12 / scale``, twice that for rows replaced.

    Args:
        lower: public bounds of the columns; numbers beyond them are clipped.
        upper: public bounds of the columns.
        objective: "logistic" or "hinge" for two classes, or "squared" for a regression.
        weights: what the weight of each column may be, for columns scaled to [-1, 1]; multiples of 1/1024.
        constants: the values that the constant part may have.
        scale: the scale of the choice, in steps of a loss: how much better a model must be to be e times as likely.
        target_lower: the public lower bound of the target; for squared objectives.
        target_upper: its upper bound.
        penalty: on squared weights; a public part of each score, a loss of TOP counting as 1.
        unit: ROW or ROW_REPLACED.

    >>> from dither.privacy import PureDP
    >>> grid = ParameterGrid.calibrated(PureDP(1), lower=[0], upper=[1])
    >>> grid.models, grid.loss(1).epsilon
    (3969, Fraction(1, 1))

    """

    name: ClassVar[str] = "parameter-grid"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = (
        "the distance between the best model of a grid and the best of all depends on the records"
    )
    no_interval_because: ClassVar[str] = "a chosen model says nothing about where the best one is"

    lower: BoundField = BoundField()
    upper: BoundField = BoundField()
    objective: OneOf = OneOf(*OBJECTIVES)
    weights: _Levels = _Levels()
    constants: _Levels = _Levels()
    scale: Positive = Positive()
    target_lower: Real = Real(0)
    target_upper: Real = Real(1)
    penalty: NonNegative = NonNegative(0, most=FAR)
    unit: RowUnit = RowUnit(ROW)

    def __post_init__(self) -> None:
        _check_columns(self.box.columns)
        if self.models > MOST_MODELS:
            grid = f"{len(self.weights)} values for each of {self.box.columns} columns, {len(self.constants)} constants"
            raise InvalidParameter("weights", grid, f"a grid of at most {MOST_MODELS} models, and not of {self.models}")
        if self.target_box.columns != 1:
            raise InvalidParameter("target_upper", str(self.target_upper), "above target_lower")
        for name, value, usual in (("target_lower", self.target_lower, 0), ("target_upper", self.target_upper, 1)):
            if self.objective != "squared" and value != usual:
                raise InvalidParameter(name, str(value), "not allowed: classes have no target")

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        lower: Any,
        upper: Any,
        objective: str = "logistic",
        weights: Sequence[Number] | None = None,
        constants: Sequence[Number] | None = None,
        target_lower: Number = 0,
        target_upper: Number = 1,
        penalty: Number = 0,
        unit: Unit = ROW,
    ) -> Self:
        """Return the sharpest choice whose loss for one unit is within ``within``.

        Without weights or constants, equally spaced ones are taken, for a grid of about 4096 models.
        """
        columns = len(np.atleast_1d(np.asarray(lower)))
        _check_columns(columns)
        usual = _usual_levels(columns, _USUAL_REACH.get(objective, Fraction(1)))
        part = Exponential.calibrated(within, sensitivity=TOP, candidates=2, one_way=_one_way(unit))
        return cls(
            lower=lower,
            upper=upper,
            objective=objective,
            weights=usual if weights is None else weights,
            constants=usual if constants is None else constants,
            scale=part.scale,
            target_lower=target_lower,
            target_upper=target_upper,
            penalty=penalty,
            unit=unit,
        )

    @cached_property
    def target_box(self) -> Box:
        """The bounds of the target, moved so that their middle is zero."""
        return target_box(self.target_lower, self.target_upper)

    @property
    def models(self) -> int:
        """The number of models."""
        return math.prod([len(self.weights)] * self.box.columns) * len(self.constants)

    @property
    def part(self) -> Exponential:
        """The choice of a model."""
        return Exponential(candidates=self.models, scale=self.scale, one_way=_one_way(self.unit))

    def plan(self) -> Plan:
        """Return one choice."""
        return Use(self.part, TOP)

    def release(self, data: Any, run: Runner) -> LinearModel:
        """Return the chosen model."""
        rows = records_of(data, self.box.columns)
        middle, scale = 0.0, 1.0
        if self.objective != "squared":
            values, classes = labelled(rows, 2)
            targets = np.where(classes == 1, 1.0, -1.0)
        else:
            values = rows[:, :-1]
            middle, scale = float(self.target_lower + self.target_upper) / 2, float(self.target_box.scale[0])
            with np.errstate(all="ignore"):
                targets = np.rint(self.target_box.scaled(rows[:, -1:] - middle) * STEPS)[:, 0]
        number = run(self.part, -self._losses(values, targets), stability=TOP)
        weights = self._model(np.array([number]))[0] / WEIGHT_STEPS
        # No scaled record is longer than the root of the number of columns, so that none is shortened.
        radius = math.sqrt(self.box.columns) * (1 + 2.0**-40)
        return LinearModel(
            self.box.lower,
            self.box.upper,
            PublicArray(np.zeros(self.box.columns)),
            radius,
            PublicArray(scale * radius * weights[None, :-1]),
            PublicArray(scale * weights[-1:] + middle),
        )

    def _model(self, numbers: NDArray[np.int64]) -> Floats:
        """Return the weights and constants of models by their indices, in whole steps, a row each."""
        base, digits = len(self.weights), []
        rest, constant = np.divmod(numbers, len(self.constants))
        for _ in range(self.box.columns):
            rest, digit = np.divmod(rest, base)
            digits.append(digit)
        levels, constants = (np.array([float(x * WEIGHT_STEPS) for x in of]) for of in (self.weights, self.constants))
        return np.column_stack([*(levels[digit] for digit in digits), constants[constant]])

    def _losses(self, values: Floats, targets: Floats) -> NDArray[np.int64]:
        """Return, for each model, the exact sum of all records' losses, and its penalty."""
        records = np.column_stack([self.box.steps(values), np.full(len(values), float(STEPS))])
        total = np.zeros(self.models, dtype=np.int64)
        for first in range(0, self.models, _MODELS_AT_ONCE):
            numbers = np.arange(first, min(first + _MODELS_AT_ONCE, self.models))
            models = self._model(numbers).T
            for block in blocks(len(records)):
                # Integers of steps of 2^-22, below 2^53: no more than ten products of 2^12 and 2^20.
                found = record_losses(self.objective, records[block] @ models, targets[block])
                total[numbers] += np.add.reduce(found, axis=0).astype(np.int64)
            penalties = TOP * float(self.penalty) * np.square(models[:-1] / WEIGHT_STEPS).sum(axis=0)
            total[numbers] += np.rint(np.minimum(penalties, 2.0**50)).astype(np.int64)
        return total


def record_losses(objective: str, scores: Floats, targets: Floats) -> Floats:
    """Return integer losses from 0 to TOP, a row for each record and a column for each model.

    Losses of classes are TOP from a score of -2 (logistic) or -1 (hinge) on the record's own side, and below. A squared
    distance is TOP where it is that of the middle of the target's bounds from either of them, or farther.

    Args:
        objective: logistic, hinge or squared.
        scores: integer multiples of 1 / (STEPS * 1024).
        targets: the side, -1 or 1, of each record; or its target, an integer multiple of 1 / STEPS.

    """
    one = STEPS * WEIGHT_STEPS
    # All divisors are powers of two, and squares those of integers up to 2^12: every step is exact.
    if objective == "squared":
        off = np.minimum(np.abs(np.floor(scores / WEIGHT_STEPS) - targets[:, None]), float(STEPS))
        return np.floor(off * off / (STEPS * STEPS // TOP))
    ahead = targets[:, None] * scores
    if objective == "hinge":
        return np.floor(np.clip(one - ahead, 0, 2 * one) / (2 * one // TOP))
    cells = np.clip(np.floor(ahead / (one // _CELLS)), -_REACH * _CELLS, _REACH * _CELLS - 1)
    found: Floats = _logistic_table()[cells.astype(np.int64) + _REACH * _CELLS]
    return found


@lru_cache(maxsize=1)
def _logistic_table() -> Floats:
    """Return public integers: the loss in the middle of each cell of score, TOP at the lowest."""
    middle = (np.arange(2 * _REACH * _CELLS) + 0.5) / _CELLS - _REACH
    losses = np.log1p(np.exp(-middle))
    table: Floats = np.rint(TOP * losses / losses[0])
    table.setflags(write=False)
    return table


def _one_way(unit: Unit) -> bool:
    """Whether one unit moves all scores in the same direction: an added record adds a loss to each."""
    return isinstance(unit, Unit) and unit.touched == 1


def _check_columns(columns: int) -> None:
    if not 0 < columns <= MOST_COLUMNS:
        rule = f"of 1 to {MOST_COLUMNS} columns: a grid of more would have too many models"
        raise InvalidParameter("lower", f"bounds of {columns} columns", rule)


def _usual_levels(columns: int, reach: Fraction) -> tuple[Fraction, ...]:
    """Return an odd number of equally spaced values within the reach, as many as a usual grid has room for."""
    count = 3
    while (count + 2) ** (columns + 1) <= _USUAL_MODELS:
        count += 2
    half = count // 2
    return tuple(Fraction(round(reach * WEIGHT_STEPS * place / half), WEIGHT_STEPS) for place in range(-half, half + 1))

"""A parameter ball: the exponential mechanism over all linear models in a ball, drawn from their continuous density.

For up to three columns, and *idealised*: the proof is over the reals, and a session refuses it unless the curator
allows that. ``parameter_grid`` is its exact twin on a finite grid. Corrections: in print a random walk is run until it
is near the density, after a number of steps that is not computed for given data, and a finite run of it has no stated
pure loss; here a point of an envelope is rejected, or is a draw from the density itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

import numpy as np

from dither.errors import InvalidParameter
from dither.exact import Number, Positive, positive, round_up
from dither.learn.declared import DeclaredBounds
from dither.learn.models import LinearModel
from dither.learn.rows import STEPS, BoundField, into_ball, labelled, records_of
from dither.mechanisms.ball_density import LEAST_SCALE, LENGTH, MOST_RADIUS, MOST_WIDTH, SOURCE, BallDensity
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.public import PublicArray
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.privacy import ROW, ROW_REPLACED, Loss, Plan, Unit, Use
from dither.privacy.fields import RowUnit

MOST_COLUMNS: Final = MOST_WIDTH - 1
#: A usual length of the longest weights.
USUAL_RADIUS: Final = 32


def _examples() -> Iterator[Example]:
    rows = np.array([[0.5, -3.0, 1.0], [9.0, 2.0, 0.0], [float("nan"), 1.0, 1.0], [0.1, 0.2, 7.0]])
    others = ((rows, rows[1:], 1), (rows, np.vstack([rows, [4.0, -4.0, 0.0]]), 1))
    yield Example(ParameterBall(lower=[-1, 0], upper=[1, 8], radius=2, scale=4), rows, others)
    yield Example(ParameterBall(lower=[-1, 0], upper=[1, 8], radius=2, scale=4, unit=ROW_REPLACED), rows)


@register(examples=_examples, source=SOURCE, reference=True)
@dataclass(frozen=True, kw_only=True)
class ParameterBall(DeclaredBounds, Composed[Any, LinearModel]):
    """Draw a linear model of two classes from the density of the exponential mechanism over a ball of weights.

    Guarantee: over the reals, data ``d_in`` rows apart loses epsilon = ``d_in * radius / scale``, twice that for rows
    replaced. Idealised.

    Args:
        lower: public bounds of the columns, three at most; numbers beyond them are clipped.
        upper: public bounds of the columns.
        radius: the length of the longest weights, for records of length 1.
        scale: how much less the logistic loss of all records must be for a model to be e times as likely.
        unit: ROW or ROW_REPLACED.

    >>> from dither.privacy import PureDP
    >>> ball = ParameterBall.calibrated(PureDP(1), lower=[0], upper=[1])
    >>> ball.scale, ball.loss(1)
    (Fraction(32, 1), PureDP('1'))

    """

    name: ClassVar[str] = "parameter-ball"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.IDEALISED
    no_error_because: ClassVar[str] = BallDensity.no_error_because
    no_interval_because: ClassVar[str] = BallDensity.no_interval_because

    lower: BoundField = BoundField()
    upper: BoundField = BoundField()
    radius: Positive = Positive(most=MOST_RADIUS)
    scale: Positive = Positive(most=2**60)
    unit: RowUnit = RowUnit(ROW)

    def __post_init__(self) -> None:
        if self.box.columns > MOST_COLUMNS:
            rule = f"of 1 to {MOST_COLUMNS} columns: the boxes of an envelope would be too many"
            raise InvalidParameter("lower", f"bounds of {self.box.columns} columns", rule)
        _ = self.part

    @classmethod
    def calibrated(
        cls, within: Loss, *, lower: Any, upper: Any, radius: Number = USUAL_RADIUS, unit: Unit = ROW
    ) -> Self:
        """Return the sharpest density whose loss for one unit is within ``within``."""
        moved = positive("radius", radius) * (unit.touched if isinstance(unit, Unit) else 1)
        # A pure loss of epsilon is within every target that one of epsilon is.
        scale = max(round_up(moved / Purse.pure_within(within).amount, bits=64), LEAST_SCALE)
        return cls(lower=lower, upper=upper, radius=radius, scale=scale, unit=unit)

    @property
    def part(self) -> BallDensity:
        """The draw of weights, the last one for the constant part."""
        return BallDensity(width=self.box.columns + 1, radius=self.radius, scale=self.scale)

    def plan(self) -> Plan:
        """Return one draw."""
        return Use(self.part, self.unit.touched)

    def release(self, data: Any, run: Runner) -> LinearModel:
        """Return the drawn model."""
        values, classes = labelled(records_of(data, self.box.columns), 2)
        whole = np.column_stack([self.box.steps(values), np.full(len(values), float(STEPS))])
        # No record is longer than the root of its width, so that all are scaled alike.
        root = math.sqrt(self.box.columns + 1)
        records = into_ball(whole, math.ceil(STEPS * root), LENGTH) * np.where(classes == 1, 1.0, -1.0)[:, None]
        weights = run(self.part, records.astype(np.int64), stability=self.unit.touched) / root
        reach = math.sqrt(self.box.columns) * (1 + 2.0**-40)
        return LinearModel(
            self.box.lower,
            self.box.upper,
            PublicArray(np.zeros(self.box.columns)),
            reach,
            PublicArray(reach * weights[None, :-1]),
            PublicArray(weights[-1:]),
        )

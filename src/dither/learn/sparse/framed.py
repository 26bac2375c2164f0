"""The declarations that all learners of sparse models share, and the integers that records become.

A record becomes its columns on the grid, a constant beside them, and a label or target in whole steps. All of it is a
function of the record alone and of public numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from dither.errors import InvalidParameter
from dither.exact import OneOf, Real
from dither.learn.declared import DeclaredBounds
from dither.learn.linear.gradients import PULL
from dither.learn.rows import STEPS, BoundField, Floats, labelled, records_of, target_box
from dither.privacy import ROW
from dither.privacy.fields import RowUnit

LOSSES: Final = ("squared", "logistic")


@dataclass(frozen=True, kw_only=True)
class Framed(DeclaredBounds):
    """The public facts of a problem: bounds of columns and target, the loss and the unit."""

    lower: BoundField = BoundField()
    upper: BoundField = BoundField()
    loss_name: OneOf = OneOf(*LOSSES)
    target_lower: Real = Real(0)
    target_upper: Real = Real(1)
    unit: RowUnit = RowUnit(ROW)

    def __post_init__(self) -> None:
        _ = self.box
        # A range that floats do not hold is refused here, and not when rows are opened.
        _ = target_box(self.target_lower, self.target_upper)
        if self.loss_name == "logistic" and not (self.target_lower == 0 and self.target_upper == 1):
            raise InvalidParameter("target_upper", str(self.target_upper), "1, and target_lower 0: labels are 0 and 1")

    @property
    def target_frame(self) -> tuple[float, float]:
        """The target at which a score is zero, and how much of the target a score of 1 is."""
        if self.loss_name == "logistic":
            return 0.0, 1.0
        return float(self.target_lower + self.target_upper) / 2, float(self.target_upper - self.target_lower) / 2

    def whole_numbers(self, data: Any) -> tuple[Floats, Floats]:
        """Return private columns, the last one constant, and labels, or targets in steps of half a range / ``PULL``.

        Rows whose label is neither 0 nor 1 are left out; a target that is not a number means the middle.
        """
        rows = records_of(data, self.box.columns)
        if self.loss_name == "logistic":
            values, classes = labelled(rows, 2)
            targets = classes.astype(np.float64)
        else:
            middle, _ = self.target_frame
            values, frame = rows[:, :-1], target_box(self.target_lower, self.target_upper)
            with np.errstate(all="ignore"):
                targets = np.rint(frame.scaled(rows[:, -1:] - middle)[:, 0] * PULL)
        return np.column_stack([self.box.steps(values), np.full(len(values), float(STEPS))]), targets

"""Noisy gradient descent with long strides, for columns that a public map has made alike and nearly unrelated.

Where columns are whitened in public, the loss bends about equally little in all directions, and steps as short as the
worst records ask for are far too short. Here strides follow from how loud the noise is, and from that alone. Cost: two
passes over the records for each step. Correction: in print a public map changes gradients after they are clipped; here
it changes the records before, so that what is cut off is even.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.exact import Number
from dither.learn.centred import LENGTH, Centred
from dither.learn.linear.descent import GradientDescent
from dither.learn.linear.gradients import LARGEST_WEIGHT, PULL, WEIGHT_STEPS, pulls
from dither.learn.noise_parts import noisy, spread_of
from dither.learn.rows import Floats, exact_products
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.gamma_norm import GammaNorm
from dither.privacy import ROW, ROW_REPLACED, Loss, Unit

#: What a survey takes of the budget.
SURVEY_SHARE: Final = Fraction(1, 20)
#: A stride times the noise of all steps together.
_REACH: Final = 9.0
_SHORTEST, _LONGEST = 0.5, 100.0
#: How much of the last step is lost before the next one.
_FRICTION: Final = 0.25


def _examples() -> Iterator[Example]:
    rows = np.array([[0.5, -3.0, 1.0], [9.0, 2.0, 0.0], [float("nan"), 1.0, 1.0], [0.1, 0.2, 7.0]])
    others = ((rows, rows[1:], 1), (rows, np.vstack([rows, [4.0, -4.0, 0.0]]), 1))
    box: dict[str, Any] = {"lower": [-1, 0], "upper": [1, 8]}
    gaussian: dict[str, Any] = {"survey": DiscreteGaussian(sigma=2**13), "step": DiscreteGaussian(sigma=2**26)}
    yield Example(PreconditionedDescent(**box, classes=2, loss_name="logistic", steps=3, **gaussian), rows, others)
    replaced = {"unit": ROW_REPLACED, **gaussian}
    yield Example(PreconditionedDescent(**box, classes=3, loss_name="logistic", steps=2, **replaced), rows)
    pure: dict[str, Any] = {"survey": GammaNorm(scale=2**13), "step": GammaNorm(scale=2**26)}
    yield Example(PreconditionedDescent(**box, classes=2, loss_name="hinge", steps=2, **pure), rows, others)


@register(
    examples=_examples,
    source="Differentially Private Learning Needs Better Features (or Much More Data) (Tramer, Boneh 2021), section 3; "
    "Public Data-Assisted Mirror Descent for Private Model Training (Amid et al. 2022)",
)
@dataclass(frozen=True, kw_only=True)
class PreconditionedDescent(GradientDescent):
    """Learn a linear classifier of whitened columns in a fixed number of long noisy gradient steps.

    Guarantee: data ``d_in`` rows apart loses what ``survey`` loses at ``d_in`` times its stability, and ``steps`` times
    what ``step`` loses at ``d_in * 2^26``, the longest gradient of one record in L2 (twice that for rows replaced).

    Args:
        lower: public bounds of the columns; numbers beyond them are clipped.
        upper: public bounds of the columns.
        classes: the number of classes; a label is 0, 1, ..., and rows with any other label are left out.
        loss_name: "logistic", or "hinge" for a support vector machine.
        steps: the number of steps.
        survey: the noise of the survey of counts, means and spread.
        step: the noise of a gradient, in steps.
        unit: ROW or ROW_REPLACED.

    >>> from dither.privacy import ApproxDP
    >>> learner = PreconditionedDescent.calibrated(ApproxDP(1, "1e-6"), lower=[-1, -1], upper=[1, 1], classes=2)
    >>> learner.loss(1) <= ApproxDP(1, "1e-6"), learner.steps
    (True, 88)

    """

    name: ClassVar[str] = "preconditioned-descent"
    version: ClassVar[int] = 1

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        lower: Any,
        upper: Any,
        classes: int,
        loss_name: str = "logistic",
        steps: int | None = None,
        share: Number = SURVEY_SHARE,
        unit: Unit = ROW,
    ) -> Self:
        """Return the learner with the least noise whose loss for one unit is within ``within``."""
        public: dict[str, Any] = {"lower": lower, "upper": upper, "classes": classes, "loss_name": loss_name}
        return super().calibrated(within, steps=steps, share=share, unit=unit, **public)

    def _descend(self, seen: Centred, classes: NDArray[np.int64], run: Runner) -> Floats:
        """Take the steps. Between draws everything except the records and their classes is public."""
        records = seen.records
        shape = (self.scores, records.shape[1])
        stride = self._stride(seen.rows, shape[0] * shape[1]) / (LENGTH * PULL * seen.rows)
        weights, motion, total = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        kept = self.steps - self.steps // 2
        for number in range(self.steps):
            scores = records @ np.rint(weights * WEIGHT_STEPS).T
            gradient = exact_products(pulls(self.loss_name, scores, classes), records)
            motion = (1 - _FRICTION) * motion - stride * noisy(run, self.step, gradient, self.stability)
            weights = np.clip(weights + motion, -LARGEST_WEIGHT, LARGEST_WEIGHT)
            if number >= self.steps - kept:
                total += weights
        return total / kept

    def _stride(self, rows: float, entries: int) -> float:
        """Return the length of a step for full gradients: long where all noise together is small beside them."""
        noise = spread_of(self.step, entries) * math.sqrt(entries) / (LENGTH * PULL * rows)
        return min(max(_REACH / (noise * math.sqrt(self.steps)), _SHORTEST), _LONGEST)

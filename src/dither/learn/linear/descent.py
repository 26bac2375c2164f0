"""Noisy gradient descent: a linear classifier, learned in a fixed number of steps from noisy sums of all gradients.

For logistic regression, of two classes or many, and for linear support vector machines with a rounded hinge. A survey
finds the centre and the spread of the records; then each step draws the gradient of all records together, every record
pulling with at most a public length. Cost: two passes over the records for each step. Corrections: gradients are whole
numbers, so that no float decides what a record adds; steps are fixed in advance, because stopping when the loss falls
no more would tell of the data; and the number of records, which is private when records come and go, is taken from the
survey.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Number, OneOf, Whole, exact
from dither.learn.centred import LENGTH, Centred, centred
from dither.learn.declared import DeclaredClasses
from dither.learn.linear.gradients import LOSSES, PULL, pulls
from dither.learn.linear.steps import descend
from dither.learn.models import LinearModel
from dither.learn.noise_parts import noisy, shaped, spread_of
from dither.learn.rows import BoundField, Floats, exact_products, labelled, records_of
from dither.learn.survey import survey_entries, survey_stability
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.purse import OneEntry, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.gamma_norm import GammaNorm
from dither.privacy import ROW, ROW_REPLACED, InOrder, Loss, Plan, Repeat, Unit, Use
from dither.privacy.fields import RowUnit

#: Records farther from the centre than this share of the spread are shortened.
_NEAR: Final = 0.6
#: What a survey takes of the budget.
SURVEY_SHARE: Final = Fraction(3, 25)
USUAL_STEPS: Final = 88
#: Pure epsilons add up, so that a few steps of little noise are better than many.
USUAL_PURE_STEPS: Final = 2
MOST_CLASSES: Final = 2**12


def _examples() -> Iterator[Example]:
    rows = np.array([[0.5, -3.0, 1.0], [9.0, 2.0, 0.0], [float("nan"), 1.0, 1.0], [0.1, 0.2, 7.0]])
    others = ((rows, rows[1:], 1), (rows, np.vstack([rows, [4.0, -4.0, 0.0]]), 1))
    box: dict[str, Any] = {"lower": [-1, 0], "upper": [1, 8]}
    gaussian: dict[str, Any] = {"survey": DiscreteGaussian(sigma=2**13), "step": DiscreteGaussian(sigma=2**26)}
    yield Example(GradientDescent(**box, classes=2, loss_name="logistic", steps=3, **gaussian), rows, others)
    yield Example(GradientDescent(**box, classes=3, loss_name="logistic", steps=2, unit=ROW_REPLACED, **gaussian), rows)
    pure: dict[str, Any] = {"survey": GammaNorm(scale=2**13), "step": GammaNorm(scale=2**26)}
    yield Example(GradientDescent(**box, classes=2, loss_name="hinge", steps=2, **pure), rows, others)


@register(
    examples=_examples,
    source="Differentially Private Empirical Risk Minimization: Efficient Algorithms and Tight Error Bounds (Bassily, "
    "Smith, Thakurta 2014), section 2; Differential Privacy and Applications (Zhu et al. 2017), section 6.2.2",
)
@dataclass(frozen=True, kw_only=True)
class GradientDescent(DeclaredClasses, Composed[Any, LinearModel]):
    """Learn a linear classifier in a fixed number of noisy gradient steps over all records.

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
    >>> learner = GradientDescent.calibrated(ApproxDP(1, "1e-6"), lower=[0, 0], upper=[1, 10], classes=2)
    >>> learner.loss(1) <= ApproxDP(1, "1e-6"), learner.steps
    (True, 88)

    """

    name: ClassVar[str] = "gradient-descent"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "the distance between noisy steps and the best classifier depends on the records"
    no_interval_because: ClassVar[str] = "the best classifier has no known distance from a noisy one"

    lower: BoundField = BoundField()
    upper: BoundField = BoundField()
    classes: Whole = Whole(least=2, most=MOST_CLASSES)
    loss_name: OneOf = OneOf(*LOSSES)
    steps: Whole = Whole(least=1, most=2**20)
    survey: OneEntry = OneEntry()
    step: OneEntry = OneEntry()
    unit: RowUnit = RowUnit(ROW)

    def __post_init__(self) -> None:
        if self.box.columns * self.scores > 2**24:
            raise InvalidParameter("classes", self.classes, "so few that there are at most 2^24 weights")

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
        purse = Purse.within(within)
        count = (USUAL_PURE_STEPS if purse.is_pure else USUAL_STEPS) if steps is None else steps
        first, columns = exact("share", share), len(np.atleast_1d(np.asarray(lower)))
        if not 0 < first < 1:
            raise InvalidParameter("share", share, "a number in (0, 1)")
        touched = unit.touched if isinstance(unit, Unit) else 1
        return cls(
            lower=lower,
            upper=upper,
            classes=classes,
            loss_name=loss_name,
            steps=count,
            survey=purse.share(first).vector_noise(touched * survey_stability(columns)),
            step=(purse.share(1 - first) / max(count, 1)).vector_noise(touched * LENGTH * PULL),
            unit=unit,
        )

    @property
    def stability(self) -> int:
        """How far one unit moves a gradient, in steps."""
        return self.unit.touched * LENGTH * PULL

    def plan(self) -> Plan:
        """Return one survey and the gradients."""
        columns = self.box.columns
        first = Use(shaped(self.survey, survey_entries(columns)), self.unit.touched * survey_stability(columns))
        each = Use(shaped(self.step, self.scores * (columns + 1)), self.stability)
        return InOrder.of(first, Repeat(each, self.steps))

    def release(self, data: Any, run: Runner) -> LinearModel:
        """Return the average of the later half of the weights."""
        values, classes = labelled(records_of(data, self.box.columns), self.classes)
        steps = self.box.steps(values)
        seen = centred(run, self.survey, steps, touched=self.unit.touched, near=_NEAR)
        return seen.model(self.box, self._descend(seen, classes, run))

    def _descend(self, seen: Centred, classes: NDArray[np.int64], run: Runner) -> Floats:
        """Take the steps. Between draws everything except the records and their classes is public."""
        records = seen.records
        shape = (self.scores, records.shape[1])

        def draw(weights: Floats) -> Floats:
            gradient = exact_products(pulls(self.loss_name, records @ weights.T, classes), records)
            return noisy(run, self.step, gradient, self.stability)

        return descend(
            draw,
            shape=shape,
            loss_name=self.loss_name,
            steps=self.steps,
            rows=seen.rows,
            spread=spread_of(self.step, shape[0] * shape[1]),
        )

"""Logistic regression by noisy moments: the loss is replaced by its second-order expansion, whose minimum is known.

For budgets so small, or so pure, that many gradients cannot be afforded. Near equal scores a logistic loss is a
quadratic function of the weights, with the moments of the records as coefficients, and noise is added to these: the
functional mechanism. Cost: one pass over the records. Correction: noise in print is Laplace noise for an L1 bound on
all coefficients; here records have a bounded length and noise follows the L2 bound. A noisy quadratic function need not
have a minimum; the penalty is raised until it has.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from dither.errors import InvalidParameter
from dither.exact import Whole
from dither.learn.centred import LENGTH, centred
from dither.learn.declared import DeclaredBounds
from dither.learn.linear.moments import MOST_COLUMNS, moment_noise, moment_plan, moments, solved
from dither.learn.models import LinearModel
from dither.learn.rows import BoundField, Floats, labelled, records_of
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.purse import OneEntry
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.gamma_norm import GammaNorm
from dither.privacy import ROW, ROW_REPLACED, Loss, Plan, Unit
from dither.privacy.fields import RowUnit

_NEAR = 0.7


def _examples() -> Iterator[Example]:
    rows = np.array([[0.5, -3.0, 1.0], [9.0, 2.0, 0.0], [float("nan"), 1.0, 1.0], [0.1, 0.2, 7.0]])
    others = ((rows, rows[1:], 1), (rows, np.vstack([rows, [4.0, -4.0, 0.0]]), 1))
    box: dict[str, Any] = {"lower": [-1, 0], "upper": [1, 8]}
    noise: dict[str, Any] = {"survey": DiscreteGaussian(sigma=2**13), "part": DiscreteGaussian(sigma=5 * 2**29)}
    yield Example(MomentClassifier(**box, classes=2, **noise), rows, others)
    yield Example(
        MomentClassifier(
            **box, classes=3, survey=GammaNorm(scale=2**13), part=GammaNorm(scale=5 * 2**29), unit=ROW_REPLACED
        ),
        rows,
    )


@register(
    examples=_examples,
    source="Functional Mechanism: Regression Analysis under Differential Privacy (Zhang et al. 2012), sections 4 and 5",
)
@dataclass(frozen=True, kw_only=True)
class MomentClassifier(DeclaredBounds, Composed[Any, LinearModel]):
    """Learn a logistic regression from one draw of noisy moments, by the second-order expansion of its loss.

    Guarantee: data ``d_in`` rows apart loses what ``survey`` and ``part`` lose at ``d_in`` times their stabilities
    (twice that for rows replaced).

    Args:
        lower: public bounds of the columns; numbers beyond them are clipped.
        upper: public bounds of the columns.
        classes: the number of classes; a label is 0, 1, ..., and rows with any other label are left out.
        survey: the noise of the survey of counts, means and spread.
        part: the noise of the moments, in steps.
        unit: ROW or ROW_REPLACED.

    >>> from dither.privacy import PureDP
    >>> learner = MomentClassifier.calibrated(PureDP(1), lower=[0], upper=[1], classes=2)
    >>> learner.loss(1) <= PureDP(1)
    True

    """

    name: ClassVar[str] = "moment-classifier"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "how noise in moments moves weights depends on the records"
    no_interval_because: ClassVar[str] = (
        "the expansion of a loss has another minimum than the loss, by a private distance"
    )

    lower: BoundField = BoundField()
    upper: BoundField = BoundField()
    classes: Whole = Whole(least=2, most=2**10)
    survey: OneEntry = OneEntry()
    part: OneEntry = OneEntry()
    unit: RowUnit = RowUnit(ROW)

    def __post_init__(self) -> None:
        if self.box.columns > MOST_COLUMNS:
            raise InvalidParameter("lower", self.lower, f"bounds of at most {MOST_COLUMNS} columns")

    @classmethod
    def calibrated(cls, within: Loss, *, lower: Any, upper: Any, classes: int, unit: Unit = ROW) -> Self:
        """Return the learner with the least noise whose loss for one unit is within ``within``."""
        survey, part = moment_noise(within, len(np.atleast_1d(np.asarray(lower))), unit)
        return cls(lower=lower, upper=upper, classes=classes, survey=survey, part=part, unit=unit)

    def plan(self) -> Plan:
        """Return one survey and one draw of moments."""
        return moment_plan(self.survey, self.part, self.box.columns, self.classes, self.unit)

    def release(self, data: Any, run: Runner) -> LinearModel:
        """Return the minimiser of the noisy expansion."""
        values, classes = labelled(records_of(data, self.box.columns), self.classes)
        seen = centred(run, self.survey, self.box.steps(values), touched=self.unit.touched, near=_NEAR)
        targets = np.where(classes[:, None] == np.arange(self.classes), float(LENGTH), 0.0)
        square, sums = moments(run, self.part, seen.records, targets, self.unit.touched)
        return seen.model(self.box, self._minimiser(square, sums))

    def _minimiser(self, square: Floats, sums: Floats) -> Floats:
        """Return the weights that minimise the expansion around equal scores; one score for two classes."""
        surplus = sums - sums.mean(axis=0)
        # With k classes the loss bends by 1/k - 1/k^2 along a score, and by 1/k within differences of scores.
        weights = self.classes * solved(square, surplus, self.part, 0.0)
        return weights[1:] - weights[:1] if self.classes == 2 else weights

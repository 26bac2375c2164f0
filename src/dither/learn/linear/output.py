"""Output perturbation: an approximate minimiser of a penalised loss, with noise for how far it may move.

The oldest way to private learning: logistic regression, or a support vector machine with a rounded (Huber) hinge. A
penalty makes the minimiser move little when a record comes or goes; noise hides that. Cost: a few Newton steps.
Corrections: the printed bound holds for the exact minimiser of a mean over a public number of records; here the
objective is a sum, whose bound needs no number of records, and the distance of what the solver found from the minimiser
is bounded by the gradient there and added. The constant part is penalised like any other column, without which there is
no bound; and noise is a vector, of Gamma length where the loss is pure.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final, Self

import numpy as np

from dither.errors import InvalidParameter
from dither.exact import Number, OneOf, Positive, Whole, positive, round_up, sqrt_up
from dither.learn.centred import centred
from dither.learn.declared import DeclaredClasses
from dither.learn.linear.gradients import LOSSES
from dither.learn.linear.moments import SURVEY_SHARE
from dither.learn.linear.penalised import TOLERANCE, check_penalty, minimisers, within_penalties
from dither.learn.models import LinearModel
from dither.learn.noise_parts import OneReal, real_noise, shaped
from dither.learn.rows import BoundField, labelled, records_of
from dither.learn.survey import survey_entries, survey_stability
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.purse import OneEntry, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.gamma_norm import GammaNorm
from dither.mechanisms.gaussian import Gaussian
from dither.privacy import ROW, InOrder, Loss, Plan, Unit, Use
from dither.privacy.fields import RowUnit

MOST_COLUMNS: Final = 2**11
_NEAR: Final = 0.7
#: Less than any budget that a penalty is chosen for.
_LEAST_AMOUNT: Final = 1e-300


def _examples() -> Iterator[Example]:
    rows = np.array([[0.5, -3.0, 1.0], [9.0, 2.0, 0.0], [float("nan"), 1.0, 1.0], [0.1, 0.2, 7.0]])
    others = ((rows, rows[1:], 1), (rows, np.vstack([rows, [4.0, -4.0, 0.0]]), 1))
    box: dict[str, Any] = {"lower": [-1, 0], "upper": [1, 8], "survey": DiscreteGaussian(sigma=2**13)}
    yield Example(OutputPerturbation(**box, classes=2, penalty=2, part=Gaussian(sigma=1)), rows, others)
    yield Example(OutputPerturbation(**box, classes=3, penalty="1/2", part=GammaNorm(scale=4)), rows, others)
    yield Example(OutputPerturbation(**box, classes=2, loss_name="hinge", penalty=1, part=Gaussian(sigma=1)), rows)


@register(
    examples=_examples,
    source="Differentially Private Empirical Risk Minimization (Chaudhuri, Monteleoni, Sarwate 2011), section 3.1; "
    "Learning in a Large Function Space (Rubinstein, Bartlett, Huang, Taft 2012), section 3; Differential Privacy and "
    "Applications (Zhu et al. 2017), section 6.2.2",
)
@dataclass(frozen=True, kw_only=True)
class OutputPerturbation(DeclaredClasses, Composed[Any, LinearModel]):
    """Learn a penalised logistic regression or support vector machine, and release its weights with noise.

    Guarantee: data ``d_in`` rows apart loses what ``survey`` loses at ``d_in`` times its stability and ``part`` at
    ``d_in * stability``: how far the minimisers of the penalised loss, one for each score, move with solver's errors.

    Args:
        lower: public bounds of the columns; numbers beyond them are clipped.
        upper: public bounds of the columns.
        classes: the number of classes; with more than two, one is learned against the rest for each.
        loss_name: "logistic", or "hinge" for a support vector machine.
        penalty: the strength of half the squared length of the weights, records having length 1.
        survey: the noise of the survey of counts, means and spread.
        part: Gaussian or GammaNorm noise of a weight.
        unit: ROW or ROW_REPLACED.

    >>> from dither.privacy import PureDP
    >>> learner = OutputPerturbation.calibrated(PureDP(1), lower=[0], upper=[1], classes=2, penalty=10)
    >>> learner.loss(1) <= PureDP(1), round(float(learner.stability), 5)
    (True, 0.10002)

    """

    name: ClassVar[str] = "output-perturbation"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.BOUNDED
    no_error_because: ClassVar[str] = "the penalty moves the weights from the best ones, by how much is private"
    no_interval_because: ClassVar[str] = "the penalty moves the weights from the best ones, by how much is private"

    lower: BoundField = BoundField()
    upper: BoundField = BoundField()
    classes: Whole = Whole(least=2, most=2**10)
    loss_name: OneOf = OneOf(*LOSSES, default="logistic")
    penalty: Positive = Positive()
    survey: OneEntry = OneEntry()
    part: OneReal = OneReal()
    unit: RowUnit = RowUnit(ROW)

    def __post_init__(self) -> None:
        if self.box.columns > MOST_COLUMNS:
            raise InvalidParameter("lower", self.lower, f"bounds of at most {MOST_COLUMNS} columns")
        check_penalty(self.penalty)

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        lower: Any,
        upper: Any,
        classes: int,
        loss_name: str = "logistic",
        penalty: Number | None = None,
        unit: Unit = ROW,
    ) -> Self:
        """Return the learner with the least noise whose loss for one unit is within ``within``.

        Without a penalty, that is taken at which all noise together is about as long as the weights of one record.
        """
        purse = Purse.within(within)
        columns = len(np.atleast_1d(np.asarray(lower)))
        touched = unit.touched if isinstance(unit, Unit) else 1
        rest = purse.share(1 - SURVEY_SHARE)
        if penalty is None:
            width = columns + 1
            some = max(float(rest.amount), _LEAST_AMOUNT)
            noise = (width + 1) / some if purse.is_pure else math.sqrt(width / (2 * some))
            penalty = within_penalties(noise * touched / 4)
        strength = positive("penalty", penalty)
        check_penalty(strength)
        part = real_noise(rest, _moved(strength, classes, touched))
        survey = purse.share(SURVEY_SHARE).vector_noise(touched * survey_stability(columns))
        return cls(
            lower=lower,
            upper=upper,
            classes=classes,
            loss_name=loss_name,
            penalty=penalty,
            survey=survey,
            part=part,
            unit=unit,
        )

    @property
    def stability(self) -> Fraction:
        """How far one unit moves the weights that the solver finds, in L2."""
        return _moved(self.penalty, self.classes, self.unit.touched)

    def plan(self) -> Plan:
        """Return one survey and the noise of all weights."""
        columns = self.box.columns
        first = Use(shaped(self.survey, survey_entries(columns)), self.unit.touched * survey_stability(columns))
        return InOrder.of(first, Use(shaped(self.part, self.scores * (columns + 1)), self.stability))

    def release(self, data: Any, run: Runner) -> LinearModel:
        """Return the noisy weights."""
        values, classes = labelled(records_of(data, self.box.columns), self.classes)
        seen = centred(run, self.survey, self.box.steps(values), touched=self.unit.touched, near=_NEAR)
        least = minimisers(seen.records, classes, self.scores, self.penalty, self.loss_name)
        found = np.array([weights.numbers(self.penalty) for weights in least])
        part = shaped(self.part, found.size)
        weights = np.asarray(run(part, found.ravel(), stability=self.stability)).reshape(found.shape)
        return seen.model(self.box, weights)


def _moved(penalty: Fraction, classes: int, touched: int) -> Fraction:
    """Return how far found weights move: each minimiser by touched / penalty, two solver errors, over all scores."""
    each = (touched + 3 * TOLERANCE) / penalty
    return each if classes == 2 else round_up(each * sqrt_up(Fraction(classes)), bits=64)

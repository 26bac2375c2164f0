"""Noisy gradient descent on samples: each step reads a secret random sample of the records, and costs less for it.

For data so large that a pass over it for every step is too slow: a step touches a share of the records only. Cost: one
coin a record and two passes over the sample for each step. Corrections: in print a step draws one record out of a
public number, and what repeated sampling costs is bounded by a theorem with large constants; here each record is in a
sample by its own coin, the number of records is private, and all steps together are priced by the law of their loss.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Final, Self, cast

import numpy as np

from dither.errors import InvalidParameter, NoGuarantee
from dither.exact import Number, OneOf, Positive, Probability, Whole, exp_down, log_down, positive, round_up, sqrt_up
from dither.learn.centred import LENGTH, centred
from dither.learn.declared import DeclaredClasses
from dither.learn.linear.descent import MOST_CLASSES, SURVEY_SHARE
from dither.learn.linear.gradients import LOSSES, PULL, pulls
from dither.learn.linear.steps import descend
from dither.learn.models import LinearModel
from dither.learn.noise_parts import OneReal, noisy, shaped, spread_of
from dither.learn.noise_search import least_multiple
from dither.learn.rows import BoundField, Floats, exact_products, labelled, records_of
from dither.learn.survey import survey_entries, survey_stability
from dither.mechanisms.core.accounted import Accounted
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.gamma_norm import GammaNorm
from dither.mechanisms.gaussian import Gaussian
from dither.privacy import ROW, ROW_REPLACED, ApproxDP, InOrder, Loss, Plan, PureDP, Repeat, Sampled, Unit, Use
from dither.privacy.calibration import check_loss
from dither.privacy.conversions import zcdp_rho
from dither.privacy.fields import RowUnit
from dither.privacy.losses import states_rho

#: Records farther from the centre than this share of the spread are shortened.
_NEAR: Final = 0.6
USUAL_RATE: Final = Fraction(1, 4)
#: A larger pure epsilon is not used up: its exponential would have as many digits.
_LARGEST_EPSILON: Final = Fraction(1024)
#: A price counts a smaller rate as more than it is: nothing further is gained from it.
_SMALLEST_RATE: Final = Fraction(1, 2**60)
USUAL_STEPS: Final = 60
#: Pure epsilons add up, so that a few steps of little noise are better than many.
USUAL_PURE_STEPS: Final = 3


def _examples() -> Iterator[Example]:
    rows = np.array([[0.5, -3.0, 1.0], [9.0, 2.0, 0.0], [float("nan"), 1.0, 1.0], [0.1, 0.2, 7.0]])
    others = ((rows, rows[1:], 1), (rows, np.vstack([rows, [4.0, -4.0, 0.0]]), 1))
    box: dict[str, Any] = {"lower": [-1, 0], "upper": [1, 8], "loss_name": "logistic"}
    gaussian: dict[str, Any] = {"survey": Gaussian(sigma=2**17), "step": Gaussian(sigma=2**29), "delta": "1/1000"}
    yield Example(MinibatchDescent(**box, classes=2, steps=3, rate="1/2", **gaussian), rows, others)
    replaced: dict[str, Any] = {"unit": ROW_REPLACED, **gaussian}
    yield Example(MinibatchDescent(**box, classes=3, steps=2, rate="1/4", **replaced), rows)
    pure: dict[str, Any] = {"survey": GammaNorm(scale=2**13), "step": GammaNorm(scale=2**26), "delta": 0}
    yield Example(MinibatchDescent(**box, classes=2, steps=2, rate="1/2", **pure), rows, others)


@register(
    examples=_examples,
    source="Differentially Private Empirical Risk Minimization: Efficient Algorithms and Tight Error Bounds (Bassily, "
    "Smith, Thakurta 2014), section 2; Differential Privacy and Applications (Zhu et al. 2017), section 6.2.2",
)
@dataclass(frozen=True, kw_only=True)
class MinibatchDescent(DeclaredClasses, Composed[Any, LinearModel]):
    """Learn a linear classifier in a fixed number of noisy gradient steps, each over a secret sample of the records.

    Guarantee: with Gaussian noise, data ``d_in`` rows apart loses epsilon at ``delta``, that of the loss distribution
    of a survey and of ``steps`` Poisson-sampled draws; with Gamma-norm noise the sum of amplified epsilons.

    Args:
        lower: public bounds of the columns; numbers beyond them are clipped.
        upper: public bounds of the columns.
        classes: the number of classes; a label is 0, 1, ..., and rows with any other label are left out.
        loss_name: "logistic", or "hinge" for a support vector machine.
        steps: the number of steps.
        rate: the probability that a record is in the sample of a step.
        survey: the noise of the survey of counts, means and spread, which looks at all records.
        step: the noise of a gradient, in steps; of the kind of the survey's.
        delta: the delta at which epsilon is stated for Gaussian noise; otherwise 0.
        unit: ROW or ROW_REPLACED; the latter with Gaussian noise only.

    >>> from dither.privacy import ApproxDP
    >>> learner = MinibatchDescent.calibrated(ApproxDP(1, "1e-6"), lower=[0, 0], upper=[1, 10], classes=2)
    >>> learner.loss(1) <= ApproxDP(1, "1e-6"), learner.steps, learner.rate
    (True, 60, Fraction(1, 4))

    """

    name: ClassVar[str] = "minibatch-descent"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.BOUNDED
    no_error_because: ClassVar[str] = "the distance between noisy steps and the best classifier depends on the records"
    no_interval_because: ClassVar[str] = "the best classifier has no known distance from a noisy one"

    lower: BoundField = BoundField()
    upper: BoundField = BoundField()
    classes: Whole = Whole(least=2, most=MOST_CLASSES)
    loss_name: OneOf = OneOf(*LOSSES)
    steps: Whole = Whole(least=1, most=2**20)
    rate: Positive = Positive()
    survey: OneReal = OneReal()
    step: OneReal = OneReal()
    delta: Probability = Probability()
    unit: RowUnit = RowUnit(ROW)

    def __post_init__(self) -> None:
        if self.box.columns * self.scores > 2**24:
            raise InvalidParameter("classes", self.classes, "so few that there are at most 2^24 weights")
        if not self.rate <= 1:
            raise InvalidParameter("rate", str(self.rate), "a number in (0, 1]")
        if type(self.survey) is not type(self.step):
            raise InvalidParameter("step", self.step, "noise of the same kind as the survey's")
        if self._is_accounted != (self.delta > 0):
            raise InvalidParameter("delta", str(self.delta), "above 0 for Gaussian noise, and 0 for Gamma-norm noise")
        self.plan().check(self.unit)

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
        rate: Number = USUAL_RATE,
        unit: Unit = ROW,
    ) -> Self:
        """Return a learner of little noise whose loss for one unit is within ``within``, an epsilon or one at a delta.

        The noise is the least there is up to a third of a percent; for a pure epsilon above 1024 it is that of 1024. A
        rho is refused: samples do not lessen it.
        """
        check_loss(within)
        delta = within.delta
        if not isinstance(within, PureDP | ApproxDP) or states_rho(within):
            raise InvalidParameter("within", within, "an epsilon, alone or at a delta: samples do not lessen a rho")
        if not within.epsilon:
            raise NoGuarantee(f"no noise reaches {within}")
        count = (USUAL_STEPS if delta else USUAL_PURE_STEPS) if steps is None else steps
        chance, touched = positive("rate", rate, at_most=1), unit.touched if isinstance(unit, Unit) else 1
        columns = len(np.atleast_1d(np.asarray(lower)))
        moved = touched * survey_stability(columns), Fraction(touched * LENGTH * PULL)
        survey: Gaussian | GammaNorm
        step: Gaussian | GammaNorm
        if delta:
            wide = _multiples(within.epsilon, delta, chance, max(count, 1), unit)
            survey, step = (Gaussian(sigma=round_up(far * by, bits=64)) for far, by in zip(moved, wide, strict=True))
        else:
            wide = _pure_multiples(min(within.epsilon, _LARGEST_EPSILON), chance, max(count, 1))
            survey, step = (GammaNorm(scale=round_up(far * by, bits=64)) for far, by in zip(moved, wide, strict=True))
        return cls(
            lower=lower,
            upper=upper,
            classes=classes,
            loss_name=loss_name,
            steps=count,
            rate=chance,
            survey=survey,
            step=step,
            delta=delta,
            unit=unit,
        )

    @property
    def stability(self) -> int:
        """How far one unit moves a gradient, in steps."""
        return self.unit.touched * LENGTH * PULL

    @property
    def _is_accounted(self) -> bool:
        return isinstance(self.step, Gaussian)

    def plan(self) -> Plan:
        """Return one survey and the gradients of samples."""
        columns = self.box.columns
        first = Use(shaped(self.survey, survey_entries(columns)), self.unit.touched * survey_stability(columns))
        each = Sampled(Use(shaped(self.step, self.scores * (columns + 1)), self.stability), self.rate)
        draws = InOrder.of(first, Repeat(each, self.steps))
        return Accounted(draws, self.unit, self.delta) if self._is_accounted else draws

    def release(self, data: Any, run: Runner) -> LinearModel:
        """Return the average of the later half of the weights."""
        values, classes = labelled(records_of(data, self.box.columns), self.classes)
        seen = centred(run, self.survey, self.box.steps(values), touched=self.unit.touched, near=_NEAR)
        table = np.column_stack([seen.records, classes])
        shape = (self.scores, seen.records.shape[1])

        def draw(weights: Floats) -> Floats:
            sample, inner = run.sampled(table, self.rate)
            records = sample[:, :-1]
            sides = pulls(self.loss_name, records @ weights.T, sample[:, -1].astype(np.int64))
            return noisy(inner, self.step, exact_products(sides, records), self.stability)

        rows = max(seen.rows * float(self.rate), 1.0)
        spread = math.hypot(spread_of(self.step, shape[0] * shape[1]), _sampling_spread(rows, self.rate, shape[1]))
        weights = descend(draw, shape=shape, loss_name=self.loss_name, steps=self.steps, rows=rows, spread=spread)
        return seen.model(self.box, weights)


def _sampling_spread(rows: float, rate: Fraction, width: int) -> float:
    """Return about how much an entry of a gradient varies with the sample: public, and used only for step lengths."""
    return LENGTH * PULL * math.sqrt(rows * (1 - float(rate)) / width) / 2


@lru_cache(maxsize=64)
def _multiples(epsilon: Fraction, delta: Fraction, rate: Fraction, steps: int, unit: Unit) -> tuple[Fraction, Fraction]:
    """Return the noise of the survey and of a step, as multiples of how far one unit moves them."""
    rho = zcdp_rho(epsilon, delta)
    survey = round_up(sqrt_up(1 / (2 * SURVEY_SHARE * rho)), bits=16)
    first = Use(Gaussian(sigma=survey))

    def excess(times: Fraction) -> float:
        rounds = Repeat(Sampled(Use(Gaussian(sigma=times)), rate), steps)
        lost = cast(ApproxDP, Accounted(InOrder.of(first, rounds), unit, delta).loss(1))
        return math.log(float(lost.epsilon / epsilon)) if lost.epsilon else -math.inf

    # Without samples this much noise would do, and samples tell less.
    high = round_up(sqrt_up(steps / (2 * (1 - SURVEY_SHARE) * rho)), bits=16)
    return survey, least_multiple(excess, high * rate / 4, high)


def _pure_multiples(epsilon: Fraction, rate: Fraction, steps: int) -> tuple[Fraction, Fraction]:
    """Return the same for Gamma-norm noise, whose epsilon is the distance moved over the scale."""
    each = round_up(epsilon * (1 - SURVEY_SHARE) / steps * Fraction(2**20 - 1, 2**20), bits=64)
    inner = log_down(1 + (exp_down(each) - 1) / max(rate, _SMALLEST_RATE))
    return 1 / (epsilon * SURVEY_SHARE), 1 / inner

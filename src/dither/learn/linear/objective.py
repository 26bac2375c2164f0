"""Objective perturbation: a linear classifier at the minimum of a penalised loss with a random linear term.

For a pure epsilon, and for (epsilon, delta) with few draws. A survey centres the records; then the loss, its penalty
and a random linear term are minimised together, once for each score. Noise in the objective moves the minimum least in
the directions that the records determine best, where noise on the weights would move it as far as in all others. Cost:
a few Newton steps for each score. Corrections: the bend of the minimum tells of the data, which epsilon must pay for,
by a larger penalty where it could not; sums take the place of means, so that the number of records stays private; the
Gaussian form pays for a pull that depends on the noise; and what is released is what was computed, not an ideal.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Final, Self

import numpy as np

from dither.errors import InvalidParameter
from dither.exact import Number, Of, OneOf, Positive, Probability, Whole, exp_down, exp_up, positive, round_up, whole
from dither.learn.centred import centred
from dither.learn.declared import DeclaredClasses
from dither.learn.linear.gradients import LOSSES
from dither.learn.linear.penalised import BENDS, LEAST_PENALTY
from dither.learn.linear.perturbed_minimum import (
    MOST_PENALTY,
    MOST_WEIGHTS,
    PerturbedMinimum,
    bend_loss,
    finish_moves,
    gaussian_sigma_within,
    linear_grid,
)
from dither.learn.models import LinearModel
from dither.learn.noise_parts import OneReal, shaped
from dither.learn.rows import BoundField, labelled, records_of
from dither.learn.survey import survey_entries, survey_stability
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.purse import OneEntry, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.gamma_norm import GammaNorm
from dither.mechanisms.gaussian import Gaussian
from dither.privacy import ROW, ROW_REPLACED, ApproxDP, InOrder, Loss, Plan, Repeat, Unit, Use
from dither.privacy.fields import RowUnit
from dither.privacy.losses import states_rho

#: What a survey takes of the budget, and what hiding the distance from the minimum takes of the rest.
SURVEY_SHARE: Final = Fraction(1, 10)
FINISH_SHARE: Final = Fraction(1, 50)
_NEAR: Final = 0.7
_MOST_CLASSES: Final = 2**10
#: Above such an epsilon a delta gains nothing, and exponentials are only slow.
_LARGE: Final = Fraction(64)


def _examples() -> Iterator[Example]:
    rows = np.array([[0.5, -3.0, 1.0], [9.0, 2.0, 0.0], [float("nan"), 1.0, 1.0], [0.1, 0.2, 7.0]])
    others = ((rows, rows[1:], 1), (rows, np.vstack([rows, [4.0, -4.0, 0.0]]), 1))
    box: dict[str, Any] = {"lower": [-1, 0], "upper": [1, 8], "survey": GammaNorm(scale=2**15)}
    fine: dict[str, Any] = {"grid": linear_grid(3)}
    pure: dict[str, Any] = {"part": GammaNorm(scale=2, **fine), "finish": GammaNorm(scale="1/256")}
    yield Example(
        ObjectivePerturbation(**box, classes=2, loss_name="logistic", penalty=2, **pure),
        rows,
        others,
    )
    gaussian: dict[str, Any] = {"part": Gaussian(sigma=64, **fine), "delta": "1e-9", "finish": GammaNorm(scale="1/64")}
    yield Example(
        ObjectivePerturbation(**box, classes=3, loss_name="hinge", penalty=64, unit=ROW_REPLACED, **gaussian), rows
    )


@register(
    examples=_examples,
    source="Differentially Private Empirical Risk Minimization (Chaudhuri, Monteleoni, Sarwate 2011), section 3.2; "
    "Private Convex Empirical Risk Minimization and High-dimensional Regression (Kifer, Smith, Thakurta 2012), section "
    "3; Towards Practical Differentially Private Convex Optimization (Iyengar et al. 2019), section III; Improving the "
    "Privacy and Practicality of Objective Perturbation (Redberg, Koskela, Wang 2023), section 3",
)
@dataclass(frozen=True, kw_only=True)
class ObjectivePerturbation(DeclaredClasses, Composed[Any, LinearModel]):
    """Learn a linear classifier at the minimum of a penalised loss with a random linear term.

    Guarantee: data ``d_in`` rows apart loses what ``survey`` loses at ``d_in`` times its stability and, for each score,
    what a perturbed minimum loses for ``d_in`` records (twice as many for rows replaced): ln(1 + bend / penalty), the
    loss of the linear term for pulls of length 1, and that of ``finish`` for two distances from the minimum.

    Args:
        lower: public bounds of the columns; numbers beyond them are clipped.
        upper: public bounds of the columns.
        classes: the number of classes; with more than two, one is learned against the rest for each.
        loss_name: "logistic", or "hinge" for a support vector machine.
        penalty: the strength of half the squared length of the weights, records having length 1.
        survey: the noise of the survey of counts, means and spread.
        part: Gaussian or GammaNorm noise of a coefficient of the linear term.
        finish: GammaNorm noise of a weight.
        delta: the probability that the epsilon bound of each score may be exceeded; 0 for GammaNorm noise.
        unit: ROW or ROW_REPLACED.

    >>> from dither.privacy import PureDP
    >>> learner = ObjectivePerturbation.calibrated(PureDP(1), lower=[0], upper=[1], classes=2, penalty=10)
    >>> learner.loss(1) <= PureDP(1), float(learner.penalty)
    (True, 10.0)

    """

    name: ClassVar[str] = "objective-perturbation"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.BOUNDED
    no_error_because: ClassVar[str] = "the effect of a linear term on a minimum depends on the records"
    no_interval_because: ClassVar[str] = "the penalty moves the weights from the best ones, by how much is private"

    lower: BoundField = BoundField()
    upper: BoundField = BoundField()
    classes: Whole = Whole(least=2, most=_MOST_CLASSES)
    loss_name: OneOf = OneOf(*LOSSES)
    penalty: Positive = Positive()
    survey: OneEntry = OneEntry()
    part: OneReal = OneReal()
    finish: Of[GammaNorm] = Of(GammaNorm, shape=())
    delta: Probability = Probability(0)
    unit: RowUnit = RowUnit(ROW)

    def __post_init__(self) -> None:
        if self.box.columns >= MOST_WEIGHTS:
            raise InvalidParameter("lower", self.lower, f"bounds of fewer than {MOST_WEIGHTS} columns")
        self.minimum.loss(1)  # refuses what the parts do not allow

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

        Without a penalty, that is taken whose pull at a weight of 12 is about as long as the linear term, or 1 if that
        is more. A penalty at which the bend of the minimum would lose more than half of epsilon is raised until it
        loses half. With a delta, noise is Gaussian where that is shorter. A rho buys the pure epsilon that it covers.
        """
        columns = len(np.atleast_1d(np.asarray(lower)))
        if not 0 < columns < MOST_WEIGHTS:
            raise InvalidParameter("lower", lower, f"bounds of 1 to {MOST_WEIGHTS - 1} columns")
        touched = unit.touched if isinstance(unit, Unit) else 1
        scores = 1 if whole("classes", classes, least=2, most=_MOST_CLASSES) == 2 else classes
        if isinstance(within, ApproxDP) and within.epsilon and within.delta and not states_rho(within):
            epsilon, outside = within.epsilon, within.delta if within.epsilon <= _LARGE else Fraction(0)
        else:
            epsilon, outside = Purse.pure_within(within).amount, Fraction(0)
        survey = Purse(epsilon * SURVEY_SHARE, is_pure=True).vector_noise(touched * survey_stability(columns))
        each = epsilon * (1 - SURVEY_SHARE) / (touched * scores)
        # Of two records one after the other, the second adds e^epsilon times its own delta.
        delta = _down(outside / (scores * (1 if touched == 1 else 1 + exp_up(each)))) if outside else Fraction(0)
        rest, width = each * (1 - FINISH_SHARE), columns + 1
        if penalty is None:
            penalty = _usual_penalty(rest, delta, width)
        strength = max(
            positive("penalty", penalty), _least_penalty(OneOf(*BENDS).convert("loss_name", loss_name), rest)
        )
        if not strength <= MOST_PENALTY:
            raise InvalidParameter("penalty", str(strength), f"at most {MOST_PENALTY}; a small epsilon asks for more")
        left = rest - bend_loss(loss_name, strength)
        pure = GammaNorm(scale=round_up(1 / left, bits=96), grid=linear_grid(width))
        part: Gaussian | GammaNorm = pure
        if delta:
            sigma = gaussian_sigma_within(left, delta)
            if float(sigma) * math.sqrt(width) < float(pure.width) * width:
                part = Gaussian(sigma=sigma, grid=linear_grid(width))
        return cls(
            lower=lower,
            upper=upper,
            classes=classes,
            loss_name=loss_name,
            penalty=strength,
            survey=survey,
            part=part,
            finish=GammaNorm(scale=round_up(finish_moves(strength) / (each * FINISH_SHARE), bits=96)),
            delta=delta if isinstance(part, Gaussian) else 0,
            unit=unit,
        )

    @cached_property
    def minimum(self) -> PerturbedMinimum:
        """The perturbed minimum that is drawn for each score."""
        return PerturbedMinimum(
            width=self.box.columns + 1,
            loss_name=self.loss_name,
            penalty=self.penalty,
            part=self.part,
            delta=self.delta,
            finish=self.finish,
        )

    def plan(self) -> Plan:
        """Return one survey and a perturbed minimum for each score."""
        columns = self.box.columns
        first = Use(shaped(self.survey, survey_entries(columns)), self.unit.touched * survey_stability(columns))
        return InOrder.of(first, Repeat(Use(self.minimum, self.unit.touched), self.scores))

    def release(self, data: Any, run: Runner) -> LinearModel:
        """Return the noisy weights."""
        values, classes = labelled(records_of(data, self.box.columns), self.classes)
        seen = centred(run, self.survey, self.box.steps(values), touched=self.unit.touched, near=_NEAR)
        weights = []
        for side in [1] if self.scores == 1 else range(self.scores):
            given = np.column_stack([seen.records, classes == side])
            weights.append(run(self.minimum, given, stability=self.unit.touched))
        return seen.model(self.box, np.array(weights))


def _usual_penalty(epsilon: Fraction, delta: Fraction, width: int) -> Fraction:
    """Return a penalty that grows with the length of the linear term."""
    length = width / float(epsilon)
    if delta:
        length = min(length, math.sqrt(width) * float(gaussian_sigma_within(epsilon, delta)))
    return min(max(Fraction(1), Fraction(round(length / 3), 4)), MOST_PENALTY)


def _least_penalty(loss_name: str, epsilon: Fraction) -> Fraction:
    """Return the penalty at which the curvature term costs half of epsilon: bend / (e^(epsilon / 2) - 1)."""
    half = epsilon / 2
    # e^x - 1 is at least x, and beyond e^64 the least penalty is enough.
    growth = max(exp_down(min(half, _LARGE)) - 1, half)
    return max(LEAST_PENALTY, round_up(BENDS[loss_name] / growth, bits=20))


def _down(number: Fraction) -> Fraction:
    """Return a short fraction below this number, by as much as groups of rows are rounded up."""
    return 1 / round_up((1 + Fraction(1, 2**32)) / number, bits=64)

"""The functional mechanism: noise on every coefficient of an objective that is a polynomial of the weights.

For linear regression, whose objective is one, and for logistic regression, of which the second-order expansion is
taken; under a pure epsilon. Where noisy moments follow the L2 bound of all coefficients together, noise here is
discrete Laplace noise for their L1 bound: half as much on the linear ones, and from some 25 columns on less on all.
Cost: one pass over the records.
Corrections: printed sensitivities hold for rows replaced and cubes of records; here the bound is that of a record's own
coefficients, within a ball, for rows added, removed or replaced; coefficients of the linear part are counted several
times, because they decide most; and a noisy objective without minimum has its negative eigenvalues trimmed to zero and
all of them raised by what noise may have made of them.
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
from dither.exact import FAR, NonNegative, Number, Of, OneOf, Real, Whole, round_up, sqrt_up
from dither.learn.cell_noise import deviation, noisy_cells, of_shape
from dither.learn.centred import CONSTANT, LENGTH, REST, centred
from dither.learn.declared import DeclaredBounds
from dither.learn.linear.moments import MOST_COLUMNS, moment_entries
from dither.learn.models import LinearModel
from dither.learn.noise_parts import shaped
from dither.learn.rows import STEPS, BoundField, Box, Floats, exact_products, labelled, records_of, target_box
from dither.learn.survey import survey_entries, survey_stability
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.purse import CountNoise, OneEntry, Purse, one_number
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.gamma_norm import GammaNorm
from dither.mechanisms.geometric import Geometric
from dither.privacy import ROW, ROW_REPLACED, InOrder, Loss, Plan, Unit, Use
from dither.privacy.fields import RowUnit

OBJECTIVES: Final = ("logistic", "squared")
#: What a survey takes of the budget.
SURVEY_SHARE: Final = Fraction(1, 10)
#: How many times coefficients of the linear part are counted.
LINEAR_TIMES: Final = 2
#: How a noisy objective gets a minimum: our way, and the paper's, by four deviations of the noise.
TRIMMINGS: Final = ("raised", "published")
_PUBLISHED_DEVIATIONS: Final = 4
_NEAR: Final = {"logistic": 0.7, "squared": 2.0}


def _examples() -> Iterator[Example]:
    rows = np.array([[0.5, -3.0, 1.0], [9.0, 2.0, 0.0], [float("nan"), 1.0, 1.0], [0.1, 0.2, 7.0]])
    others = ((rows, rows[1:], 1), (rows, np.vstack([rows, [4.0, -4.0, 0.0]]), 1))
    box: dict[str, Any] = {"lower": [-1, 0], "upper": [1, 8], "survey": GammaNorm(scale=2**15)}
    part = Geometric(scale=2**31)
    yield Example(FunctionalMechanism(**box, objective="logistic", part=part), rows, others)
    yield Example(FunctionalMechanism(**box, objective="logistic", classes=3, part=part, unit=ROW_REPLACED), rows)
    yield Example(FunctionalMechanism(**box, objective="squared", target_upper=2, penalty=2, part=part), rows, others)


@register(
    examples=_examples,
    source="Functional Mechanism: Regression Analysis under Differential Privacy (Zhang et al. 2012), sections 4 to 6; "
    "Differential Privacy and Applications (Zhu et al. 2017), section 7.3.3",
)
@dataclass(frozen=True, kw_only=True)
class FunctionalMechanism(DeclaredBounds, Composed[Any, LinearModel]):
    """Learn a linear model from noisy coefficients of its objective, a quadratic function of the weights.

    Guarantee: data ``d_in`` rows apart loses what ``survey`` loses at ``d_in`` times its stability and what ``part``
    loses at ``d_in * stability``, the sum of absolute coefficients of one record (for rows replaced, that of the
    difference of two records' coefficients).

    Args:
        lower: public bounds of the columns; numbers beyond them are clipped.
        upper: public bounds of the columns.
        objective: "logistic" (its second-order expansion) or "squared".
        survey: the noise of the survey of counts, means and spread.
        part: discrete Laplace noise of a coefficient, in steps.
        classes: the number of classes; for logistic objectives.
        target_lower: the public lower bound of the target; for squared objectives.
        target_upper: its upper bound.
        penalty: on squared weights of columns scaled by their bounds, beside what the noise requires; squared only.
        trimming: "raised" (negative eigenvalues are zero, and all are raised by what grows with the columns), or
            "published" (all are raised by four deviations, and directions that stay negative are left out).
        unit: ROW or ROW_REPLACED.

    >>> from dither.privacy import PureDP
    >>> learner = FunctionalMechanism.calibrated(PureDP(1), lower=[0], upper=[1], objective="logistic")
    >>> learner.loss(1) <= PureDP(1)
    True

    """

    name: ClassVar[str] = "functional-mechanism"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "how noise in coefficients moves weights depends on the records"
    no_interval_because: ClassVar[str] = "an expansion has another minimum than its objective, by a private distance"

    lower: BoundField = BoundField()
    upper: BoundField = BoundField()
    objective: OneOf = OneOf(*OBJECTIVES)
    survey: OneEntry = OneEntry()
    part: Of[CountNoise] = Of(Geometric, **one_number(Geometric))
    classes: Whole = Whole(2, least=2, most=2**10)
    target_lower: Real = Real(0)
    target_upper: Real = Real(1)
    penalty: NonNegative = NonNegative(0, most=FAR)
    trimming: OneOf = OneOf(*TRIMMINGS, default="raised")
    unit: RowUnit = RowUnit(ROW)

    def __post_init__(self) -> None:
        if self.box.columns > MOST_COLUMNS:
            raise InvalidParameter("lower", self.lower, f"bounds of at most {MOST_COLUMNS} columns")
        if self.target_box.columns != 1:
            raise InvalidParameter("target_upper", str(self.target_upper), "above target_lower")
        if self.objective == "squared" and self.classes != 2:
            raise InvalidParameter("classes", self.classes, "not allowed: a squared objective has no classes")
        if self.objective == "logistic":
            _left_at("target_lower", self.target_lower, 0)
            _left_at("target_upper", self.target_upper, 1)
            _left_at("penalty", self.penalty, 0)

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        lower: Any,
        upper: Any,
        objective: str = "logistic",
        classes: int = 2,
        target_lower: Number = 0,
        target_upper: Number = 1,
        penalty: Number = 0,
        trimming: str = "raised",
        unit: Unit = ROW,
    ) -> Self:
        """Return the learner with the least noise whose loss for one unit is within ``within``.

        The draw is discrete Laplace for every target; a rho buys the pure epsilon that it covers.
        """
        purse, columns = Purse.pure_within(within), len(np.atleast_1d(np.asarray(lower)))
        touched = unit.touched if isinstance(unit, Unit) else 1
        moved = _moved(columns, classes if objective == "logistic" else 2, objective, touched)
        return cls(
            lower=lower,
            upper=upper,
            objective=objective,
            survey=purse.share(SURVEY_SHARE).vector_noise(touched * survey_stability(columns)),
            part=purse.share(1 - SURVEY_SHARE).noise(l1=moved),
            classes=classes,
            target_lower=target_lower,
            target_upper=target_upper,
            penalty=penalty,
            trimming=trimming,
            unit=unit,
        )

    @cached_property
    def target_box(self) -> Box:
        """The bounds of the target, moved so that their middle is zero."""
        return target_box(self.target_lower, self.target_upper)

    @property
    def scores(self) -> int:
        """The number of scores: one for a regression or two classes, otherwise one for each class."""
        return 1 if self.classes == 2 else self.classes

    @property
    def stability(self) -> Fraction:
        """How far one unit moves the coefficients, in L1."""
        return _moved(self.box.columns, self.classes, self.objective, self.unit.touched)

    @property
    def entries(self) -> int:
        """The number of coefficients drawn."""
        return moment_entries(self.box.columns, self.scores)

    def plan(self) -> Plan:
        """Return one survey and one draw of coefficients."""
        columns = self.box.columns
        first = Use(shaped(self.survey, survey_entries(columns)), self.unit.touched * survey_stability(columns))
        return InOrder.of(first, Use(of_shape(self.part, (self.entries,)), self.stability))

    def release(self, data: Any, run: Runner) -> LinearModel:
        """Return the minimiser of the noisy objective."""
        rows = records_of(data, self.box.columns)
        if self.objective == "logistic":
            values, classes = labelled(rows, self.classes)
            wanted = classes[:, None] == (1 if self.scores == 1 else np.arange(self.scores))
            # Of two classes one is half a unit above the middle, the other half a unit below.
            targets = np.where(wanted, LENGTH / 2, -LENGTH / 2) if self.scores == 1 else np.where(wanted, LENGTH, 0.0)
        else:
            values, middle = rows[:, :-1], float(self.target_lower + self.target_upper) / 2
            with np.errstate(all="ignore"):
                targets = np.rint(self.target_box.scaled(rows[:, -1:] - middle) * LENGTH)
        near = _NEAR[self.objective]
        seen = centred(run, self.survey, self.box.steps(values), touched=self.unit.touched, near=near)
        square, sums = self._coefficients(seen.records, targets, run)
        if self.objective == "logistic":
            # Along a score of k classes that add up to nothing the loss bends by 1/k; by 1/4 along one of two.
            surplus = sums if self.scores == 1 else sums - sums.mean(axis=0)
            bend = 4 if self.scores == 1 else self.classes
            return seen.model(self.box, bend * self._minimiser(square, surplus, 0.0))
        # A weight of records of length 1 is one of scaled columns times this ratio; the penalty is on the latter.
        ratio = REST / LENGTH / (seen.radius / STEPS)
        weights = self._minimiser(square, sums, float(self.penalty) * ratio**2)
        return seen.model(self.box, weights, offset=middle, scale=float(self.target_box.scale[0]))

    def _coefficients(self, records: Floats, targets: Floats, run: Runner) -> tuple[Floats, Floats]:
        """Return noisy products of records with themselves and with targets, for records and targets of length 1."""
        width = records.shape[1]
        upper = np.triu_indices(width)
        linear = LINEAR_TIMES * exact_products(targets, records).ravel()
        given = np.concatenate([exact_products(records, records)[upper], linear])
        seen = noisy_cells(run, self.part, given, self.stability) / float(LENGTH) ** 2
        square = np.zeros((width, width))
        square[upper] = seen[: upper[0].size]
        square = square + np.triu(square, 1).T
        return square, seen[upper[0].size :].reshape(-1, width) / LINEAR_TIMES

    def _minimiser(self, square: Floats, products: Floats, penalty: float) -> Floats:
        """Return weights, a row for each score, that minimise the objective after trimming and penalising it for noise.

        Negative eigenvalues, which only noise can have made, count as zero. A symmetric matrix of independent noise has
        no eigenvalue much beyond twice its deviation times the root of its width; half of that is added to all.
        In print four deviations are added, whatever the width, and what is still negative is left out.
        """
        width, noise = len(square), deviation(self.part) / float(LENGTH) ** 2
        values, vectors = np.linalg.eigh(square + np.diag([penalty] * (width - 1) + [0.0]))
        if self.trimming == "published":
            kept = values + _PUBLISHED_DEVIATIONS * noise > 0
            values, vectors = values[kept] + _PUBLISHED_DEVIATIONS * noise, vectors[:, kept]
            left: Floats = ((products @ vectors) / values) @ vectors.T
            return left
        raised = noise * math.sqrt(width)
        found: Floats = ((products @ vectors) / (np.maximum(values, 0.0) + raised)) @ vectors.T
        return found


def _moved(columns: int, classes: int, objective: str, touched: int) -> Fraction:
    """Return the largest sum of absolute coefficients that one unit moves, in steps.

    A record of d columns and the constant part is at most R = sqrt(d) * REST + CONSTANT long in L1, and LENGTH in L2.
    Its products add up to (R^2 + LENGTH^2) / 2, those with its target to R times that. Of two records, one in the place
    of the other, products of columns differ by sqrt((d^2 + 3 d) / 2) REST^2 together, those with the constant part by
    twice CONSTANT sqrt(d) REST, and its square not at all.
    """
    column_reach = round_up(sqrt_up(Fraction(columns)) * REST, bits=40)
    reach = column_reach + CONSTANT
    target = Fraction(LENGTH, 2) if objective == "logistic" and classes == 2 else Fraction(LENGTH)
    linear = LINEAR_TIMES * target * reach
    alone = (reach**2 + LENGTH**2) / 2 + linear
    if touched == 1:
        return alone
    pairs = round_up(sqrt_up(Fraction(columns**2 + 3 * columns, 2)) * REST**2, bits=40)
    return max(alone, pairs + 2 * CONSTANT * column_reach + 2 * linear)


def _left_at(name: str, value: Fraction, usual: int) -> None:
    if value != usual:
        raise InvalidParameter(name, str(value), "not allowed: a logistic objective has no bounds of the target")

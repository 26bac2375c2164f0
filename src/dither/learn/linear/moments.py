"""Noisy moments: sums of products of columns with each other and with targets, from which linear models are solved.

One draw holds everything that least squares need, and the second-order expansion of a logistic loss. Cost: one pass
over the records. Noise of products of different columns is a 7/5 smaller, because a matrix has each of them twice, and
a record bounds the sum of squares of the whole matrix. The penalty is raised until noise cannot turn a weak direction
into a strong one, as AdaSSP does; the eigenvalue that this needs is read from the noisy moments themselves, which costs
nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import FAR, NonNegative, Number, Real, round_up, sqrt_up
from dither.learn.centred import LENGTH, REST, centred
from dither.learn.declared import DeclaredBounds
from dither.learn.models import LinearModel
from dither.learn.noise_parts import noisy, shaped, spread_of
from dither.learn.rows import STEPS, BoundField, Box, Floats, exact_products, records_of, target_box
from dither.learn.survey import survey_entries, survey_stability
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.purse import OneEntry, Purse, VectorNoise
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.gamma_norm import GammaNorm
from dither.privacy import ROW, ROW_REPLACED, InOrder, Loss, Plan, Unit, Use
from dither.privacy.fields import RowUnit

#: How often products count in a draw, and those of different columns: by a little less than the root of 2 more often.
COUNTED: Final = 5
PAIRS_COUNTED: Final = 7
#: How far a record moves the moments in L2: a record of length 2^14, with itself and with targets as long.
STABILITY: Final = round_up(COUNTED * sqrt_up(Fraction(2)) * LENGTH**2, bits=40)
#: What a survey takes of the budget.
SURVEY_SHARE: Final = Fraction(1, 10)
#: The largest number of columns: half its square is drawn.
MOST_COLUMNS: Final = 2**11
_NEAR: Final = 2.0


def moment_entries(columns: int, targets: int) -> int:
    """Return the number of entries drawn: products of columns and the constant, and of these with targets."""
    return (columns + 1) * (columns + 2) // 2 + (columns + 1) * targets


def moments(run: Runner, noise: VectorNoise, records: Floats, targets: Floats, touched: int) -> tuple[Floats, Floats]:
    """Return noisy products of records with themselves and with targets, for records and targets of length 1.

    Args:
        run: makes the one draw.
        noise: of the moments.
        records: private integers, at most LENGTH long.
        targets: private integers, at most LENGTH long, a row for each record.
        touched: the number of rows that one unit touches.

    """
    drawn = noisy(run, noise, counted(records, targets), touched * STABILITY)
    return uncounted(drawn, records.shape[1])


def counted(records: Floats, targets: Floats) -> NDArray[np.int64]:
    """Return the exact sums of products to be drawn: the upper half of those of records, then those with targets.

    One record of length L moves them by no more than 5 sqrt(2) L^2 in L2: 49 < 50, so that its own products count at
    most 25 |x|^4, and those with targets 25 |x|^2 |t|^2.
    """
    first, second = np.triu_indices(records.shape[1])
    often = np.where(first == second, COUNTED, PAIRS_COUNTED)
    square = exact_products(records, records)[first, second]
    return np.concatenate([often * square, COUNTED * exact_products(targets, records).ravel()])


def uncounted(drawn: Floats, width: int) -> tuple[Floats, Floats]:
    """Return the products of records with each other and with targets, for records and targets of length 1."""
    first, second = np.triu_indices(width)
    often = np.where(first == second, COUNTED, PAIRS_COUNTED)
    square = np.zeros((width, width))
    square[first, second] = square[second, first] = drawn[: first.size] / often / float(LENGTH) ** 2
    return square, drawn[first.size :].reshape(-1, width) / COUNTED / float(LENGTH) ** 2


def solved(square: Floats, products: Floats, noise: VectorNoise, penalty: float) -> Floats:
    """Return weights, a row for each target: (square + penalty) weights = products, with a larger penalty for noise.

    The constant part, the last one, is not penalised but for noise. A symmetric matrix of Gaussian noise has no
    eigenvalue much beyond twice its spread times the root of its width.
    """
    width = len(square)
    spread = spread_of(noise, moment_entries(width - 1, len(products))) / PAIRS_COUNTED / float(LENGTH) ** 2
    values, vectors = np.linalg.eigh(square + np.diag([penalty] * (width - 1) + [0.0]))
    raised = values + max(0.0, 2 * spread * math.sqrt(width) - float(values[0]))
    found: Floats = ((products @ vectors) / np.maximum(raised, 1e-9)) @ vectors.T
    return found


class FromMoments:
    """The shared part of every regression that is solved from noisy moments."""

    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "how noise in moments moves weights depends on the records"
    no_interval_because: ClassVar[str] = "records far from the centre are shortened, by how much is private"


def _examples() -> Iterator[Example]:
    rows = np.array([[0.5, -3.0, 1.0], [9.0, 2.0, 0.0], [float("nan"), 1.0, 1.0], [0.1, 0.2, 7.0]])
    others = ((rows, rows[1:], 1), (rows, np.vstack([rows, [4.0, -4.0, float("nan")]]), 1))
    box: dict[str, Any] = {"lower": [-1, 0], "upper": [1, 8], "target_lower": 0, "target_upper": 2}
    noise = DiscreteGaussian(sigma=2**13), DiscreteGaussian(sigma=5 * 2**29)
    yield Example(MomentRegression(**box, survey=noise[0], part=noise[1]), rows, others)
    yield Example(
        MomentRegression(
            **box, survey=GammaNorm(scale=2**13), part=GammaNorm(scale=5 * 2**29), penalty=2, unit=ROW_REPLACED
        ),
        rows,
    )


@register(
    examples=_examples,
    source="Revisiting differentially private linear regression: optimal and adaptive prediction and estimation in "
    "unbounded domain (Wang 2018), section 3 (AdaSSP)",
)
@dataclass(frozen=True, kw_only=True)
class MomentRegression(FromMoments, DeclaredBounds, Composed[Any, LinearModel]):
    """Learn a linear or ridge regression from one draw of noisy moments.

    Guarantee: data ``d_in`` rows apart loses what ``survey`` and ``part`` lose at ``d_in`` times their stabilities
    (twice that for rows replaced).

    Args:
        lower: public bounds of the columns; numbers beyond them are clipped.
        upper: public bounds of the columns.
        target_lower: the public lower bound of the target; one that is not a number means the middle.
        target_upper: its upper bound.
        survey: the noise of the survey of counts, means and spread.
        part: the noise of the moments, in steps.
        penalty: on squared weights of columns scaled by their bounds, beside what the noise requires.
        unit: ROW or ROW_REPLACED.

    >>> from dither.privacy import ZCDP
    >>> learner = MomentRegression.calibrated(ZCDP(1), lower=[0], upper=[1], target_lower=0, target_upper=5)
    >>> learner.loss(1) <= ZCDP(1)
    True

    """

    name: ClassVar[str] = "moment-regression"
    version: ClassVar[int] = 1

    lower: BoundField = BoundField()
    upper: BoundField = BoundField()
    target_lower: Real = Real()
    target_upper: Real = Real()
    survey: OneEntry = OneEntry()
    part: OneEntry = OneEntry()
    penalty: NonNegative = NonNegative(0, most=FAR)
    unit: RowUnit = RowUnit(ROW)

    def __post_init__(self) -> None:
        if self.box.columns > MOST_COLUMNS:
            raise InvalidParameter("lower", self.lower, f"bounds of at most {MOST_COLUMNS} columns")
        if self.target_box.columns != 1:
            raise InvalidParameter("target_upper", str(self.target_upper), "above target_lower")

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        lower: Any,
        upper: Any,
        target_lower: Number,
        target_upper: Number,
        penalty: Number = 0,
        unit: Unit = ROW,
    ) -> Self:
        """Return the learner with the least noise whose loss for one unit is within ``within``."""
        survey, part = moment_noise(within, len(np.atleast_1d(np.asarray(lower))), unit)
        return cls(
            lower=lower,
            upper=upper,
            target_lower=target_lower,
            target_upper=target_upper,
            survey=survey,
            part=part,
            penalty=penalty,
            unit=unit,
        )

    @cached_property
    def target_box(self) -> Box:
        """The bounds of the target, moved so that their middle is zero."""
        return target_box(self.target_lower, self.target_upper)

    def plan(self) -> Plan:
        """Return one survey and one draw of moments."""
        return moment_plan(self.survey, self.part, self.box.columns, 1, self.unit)

    def release(self, data: Any, run: Runner) -> LinearModel:
        """Return the regression."""
        rows = records_of(data, self.box.columns)
        middle = float(self.target_lower + self.target_upper) / 2
        with np.errstate(all="ignore"):
            targets = np.rint(self.target_box.scaled(rows[:, -1:] - middle) * LENGTH)
        steps = self.box.steps(rows[:, :-1])
        seen = centred(run, self.survey, steps, touched=self.unit.touched, near=_NEAR)
        square, products = moments(run, self.part, seen.records, targets, self.unit.touched)
        # A weight of records of length 1 is one of scaled columns times this ratio; the penalty is on the latter.
        ratio = REST / LENGTH / (seen.radius / STEPS)
        weights = solved(square, products, self.part, float(self.penalty) * ratio**2)
        return seen.model(self.box, weights, offset=middle, scale=float(self.target_box.scale[0]))


def moment_noise(within: Loss, columns: int, unit: Unit) -> tuple[VectorNoise, VectorNoise]:
    """Return the noise of a survey and of moments that together cost ``within``."""
    purse = Purse.within(within)
    touched = unit.touched if isinstance(unit, Unit) else 1
    survey = purse.share(SURVEY_SHARE).vector_noise(touched * survey_stability(columns))
    return survey, purse.share(1 - SURVEY_SHARE).vector_noise(touched * STABILITY)


def moment_plan(survey: VectorNoise, part: VectorNoise, columns: int, targets: int, unit: Unit) -> Plan:
    """Return the plan of one survey and one draw of moments."""
    first = Use(shaped(survey, survey_entries(columns)), unit.touched * survey_stability(columns))
    return InOrder.of(first, Use(shaped(part, moment_entries(columns, targets)), unit.touched * STABILITY))

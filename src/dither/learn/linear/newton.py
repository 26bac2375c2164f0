"""Noisy Newton steps: a logistic regression from a few noisy gradients, preconditioned by a noisy curvature matrix.

For columns that differ much in spread or hang together, where gradient steps zigzag. The curvature is that of a
quadratic function above the loss, so that a step never goes too far, and a record's part in it is bounded. Cost: two
passes over the records for a step, and the square of the columns. Corrections: the sensitivity of a matrix is that of a
record's outer product in L2, not a bound on its entries one by one; a noisy matrix need not have a positive direction
everywhere, so eigenvalues that noise alone could make are raised; both are integers before noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Final, Self

import numpy as np

from dither.errors import InvalidParameter
from dither.exact import Number, Whole, exact
from dither.learn.centred import LENGTH, Centred, centred
from dither.learn.declared import DeclaredClasses
from dither.learn.linear.gradients import LARGEST_WEIGHT, PULL, WEIGHT_STEPS, pulls
from dither.learn.linear.moments import MOST_COLUMNS
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
#: What the survey, and what all curvatures, take of the budget; gradients take the rest.
SURVEY_SHARE: Final = Fraction(1, 10)
CURVATURE_SHARE: Final = Fraction(1, 5)
USUAL_STEPS: Final = 12
#: Pure epsilons add up: a step or two is what they allow.
USUAL_PURE_STEPS: Final = 1
#: The largest curvature of one record, in whole steps: a quarter.
BEND: Final = 2**6
#: Eigenvalues are at least this share of the records.
_LEAST_SHARE: Final = 0.002
#: About how long weights may be that noise alone makes.
_LONG: Final = 3.0
#: Cells of a unit of score, and how far the table of curvatures reaches.
_CELLS, _REACH = 16, 32


def _examples() -> Iterator[Example]:
    rows = np.array([[0.5, -3.0, 1.0], [9.0, 2.0, 0.0], [float("nan"), 1.0, 1.0], [0.1, 0.2, 7.0]])
    others = ((rows, rows[1:], 1), (rows, np.vstack([rows, [4.0, -4.0, 0.0]]), 1))
    box: dict[str, Any] = {"lower": [-1, 0], "upper": [1, 8], "survey": DiscreteGaussian(sigma=2**13)}
    gaussian: dict[str, Any] = {"curvature": DiscreteGaussian(sigma=2**34), "step": DiscreteGaussian(sigma=2**26)}
    yield Example(NewtonDescent(**box, classes=2, steps=2, curvatures=2, **gaussian), rows, others)
    yield Example(NewtonDescent(**box, classes=3, steps=2, curvatures=1, unit=ROW_REPLACED, **gaussian), rows)
    pure: dict[str, Any] = {"curvature": GammaNorm(scale=2**34), "step": GammaNorm(scale=2**26)}
    yield Example(NewtonDescent(**box, classes=2, steps=1, curvatures=1, **pure), rows, others)


@register(
    examples=_examples,
    source="Faster Differentially Private Convex Optimization via Second-Order Methods (Ganesh, Haghifam, Steinke, "
    "Thakurta 2023); Monotonicity of Quadratic-Approximation Algorithms (Boehning, Lindsay 1988)",
)
@dataclass(frozen=True, kw_only=True)
class NewtonDescent(DeclaredClasses, Composed[Any, LinearModel]):
    """Learn a logistic regression in a few noisy Newton steps on a quadratic bound of its loss.

    Guarantee: data ``d_in`` rows apart loses what ``survey`` loses at ``d_in`` times its stability, ``curvatures``
    times what ``curvature`` loses at ``d_in * 2^34`` and ``steps`` times what ``step`` loses at ``d_in * 2^26`` (twice
    that for rows replaced).

    Args:
        lower: public bounds of the columns; numbers beyond them are clipped.
        upper: public bounds of the columns.
        classes: the number of classes; a label is 0, 1, ..., and rows with any other label are left out.
        steps: the number of steps.
        curvatures: the number of first steps before which the curvature is drawn; once with more than two classes.
        survey: the noise of the survey of counts, means and spread.
        curvature: the noise of an entry of a matrix of curvature, in steps.
        step: the noise of a gradient, in steps.
        unit: ROW or ROW_REPLACED.

    >>> from dither.privacy import ApproxDP
    >>> learner = NewtonDescent.calibrated(ApproxDP(1, "1e-6"), lower=[0, 0], upper=[1, 10], classes=2)
    >>> learner.loss(1) <= ApproxDP(1, "1e-6"), learner.steps
    (True, 12)

    """

    name: ClassVar[str] = "newton-descent"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "the distance between noisy steps and the best classifier depends on the records"
    no_interval_because: ClassVar[str] = "the best classifier has no known distance from a noisy one"

    lower: BoundField = BoundField()
    upper: BoundField = BoundField()
    classes: Whole = Whole(least=2, most=2**10)
    steps: Whole = Whole(least=1, most=2**16)
    curvatures: Whole = Whole(least=1, most=2**16)
    survey: OneEntry = OneEntry()
    curvature: OneEntry = OneEntry()
    step: OneEntry = OneEntry()
    unit: RowUnit = RowUnit(ROW)

    def __post_init__(self) -> None:
        if self.box.columns > MOST_COLUMNS:
            raise InvalidParameter("lower", self.lower, f"bounds of at most {MOST_COLUMNS} columns")
        most = self.steps if self.classes == 2 else 1
        if not self.curvatures <= most:
            raise InvalidParameter("curvatures", self.curvatures, f"at most {most}")

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        lower: Any,
        upper: Any,
        classes: int,
        steps: int | None = None,
        curvatures: int = 1,
        share: Number = CURVATURE_SHARE,
        unit: Unit = ROW,
    ) -> Self:
        """Return the learner with the least noise whose loss for one unit is within ``within``.

        Args:
            within: the loss not to exceed.
            lower: public bounds of the columns.
            upper: public bounds of the columns.
            classes: the number of classes.
            steps: the number of steps; by default a number that suits the kind of loss.
            curvatures: the number of draws of the curvature.
            share: of what the survey leaves, for curvatures.
            unit: ROW or ROW_REPLACED.

        """
        purse = Purse.within(within)
        count = (USUAL_PURE_STEPS if purse.is_pure else USUAL_STEPS) if steps is None else steps
        portion, columns = exact("share", share), len(np.atleast_1d(np.asarray(lower)))
        if not 0 < portion < 1:
            raise InvalidParameter("share", share, "a number in (0, 1)")
        touched = unit.touched if isinstance(unit, Unit) else 1
        rest = purse.share(1 - SURVEY_SHARE)
        return cls(
            lower=lower,
            upper=upper,
            classes=classes,
            steps=count,
            curvatures=curvatures,
            survey=purse.share(SURVEY_SHARE).vector_noise(touched * survey_stability(columns)),
            curvature=(rest.share(portion) / max(curvatures, 1)).vector_noise(touched * BEND * LENGTH**2),
            step=(rest.share(1 - portion) / max(count, 1)).vector_noise(touched * LENGTH * PULL),
            unit=unit,
        )

    def plan(self) -> Plan:
        """Return one survey, steps that draw a curvature, and steps that reuse one."""
        columns, touched = self.box.columns, self.unit.touched
        first = Use(shaped(self.survey, survey_entries(columns)), touched * survey_stability(columns))
        matrix = Use(shaped(self.curvature, (columns + 1) * (columns + 2) // 2), touched * BEND * LENGTH**2)
        each = Use(shaped(self.step, self.scores * (columns + 1)), touched * LENGTH * PULL)
        led = Repeat(InOrder.of(matrix, each), self.curvatures)
        return InOrder.of(first, led, Repeat(each, self.steps - self.curvatures))

    def release(self, data: Any, run: Runner) -> LinearModel:
        """Return the average of the later half of the weights."""
        values, classes = labelled(records_of(data, self.box.columns), self.classes)
        seen = centred(run, self.survey, self.box.steps(values), touched=self.unit.touched, near=_NEAR)
        records, touched = seen.records, self.unit.touched
        weights = np.zeros((self.scores, records.shape[1]))
        total, kept = np.zeros_like(weights), self.steps - self.steps // 2
        lead = np.eye(records.shape[1])
        for number in range(self.steps):
            scores = records @ np.rint(weights * WEIGHT_STEPS).T
            if number < self.curvatures:
                lead = self._lead(seen, scores, run)
            gradient = exact_products(pulls("logistic", scores, classes), records)
            drawn = noisy(run, self.step, gradient, touched * LENGTH * PULL) / float(LENGTH * PULL)
            weights = np.clip(weights - drawn @ lead, -LARGEST_WEIGHT, LARGEST_WEIGHT)
            if number >= self.steps - kept:
                total += weights
        return seen.model(self.box, total / kept)

    def _lead(self, seen: Centred, scores: Floats, run: Runner) -> Floats:
        """Return the inverse of a drawn curvature matrix, for records of length 1."""
        records, width = seen.records, seen.records.shape[1]
        bends = _bends(scores) if self.scores == 1 else np.full((len(records), 1), float(BEND))
        upper = np.triu_indices(width)
        flat = exact_products(records * bends, records)[upper]
        # A whole step of curvature is a quarter over BEND for two classes, and a half over BEND for many.
        unit = (0.25 if self.scores == 1 else 0.5) / (BEND * float(LENGTH) ** 2)
        drawn = noisy(run, self.curvature, flat, self.unit.touched * BEND * LENGTH**2) * unit
        square = np.zeros((width, width))
        square[upper] = drawn
        square = square + np.triu(square, 1).T
        spread = spread_of(self.curvature, flat.size) * unit
        values, vectors = np.linalg.eigh(square)
        # A symmetric matrix of noise has no eigenvalue much beyond twice its spread times the root of its width; and
        # where steps are louder than weights should be, they are shorter.
        least = max(2 * spread * math.sqrt(width), self._loudness(seen.rows, width), _LEAST_SHARE * seen.rows)
        lead: Floats = (vectors / np.maximum(values, least)) @ vectors.T
        return lead

    def _loudness(self, rows: float, width: int) -> float:
        """Return the curvature at which the noise of a step is as long as weights usually are."""
        noise = spread_of(self.step, self.scores * width) * math.sqrt(width) / float(LENGTH * PULL)
        return noise / _LONG


def _bends(scores: Floats) -> Floats:
    """Return the curvature of each record in whole steps, read from a public table by the cell of its score."""
    cells = np.floor_divide(np.abs(scores), LENGTH * WEIGHT_STEPS // _CELLS)
    return _table()[np.minimum(cells, _REACH * _CELLS - 1).astype(np.int64)]


@lru_cache(maxsize=1)
def _table() -> Floats:
    """Return tanh(s / 2) / (2 s), the curvature of the smallest parabola that touches the loss at s and at -s."""
    middle = (np.arange(_REACH * _CELLS) + 0.5) / _CELLS
    table = np.clip(np.rint(4 * BEND * np.tanh(middle / 2) / (2 * middle)), 1, BEND)
    table.setflags(write=False)
    return table

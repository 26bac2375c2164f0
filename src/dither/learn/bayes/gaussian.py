"""Gaussian naive Bayes: counts, sums and sums of squares of each class, in one noisy draw after a survey.

For classes that lie apart by their means or spreads, and for small budgets: one draw, and each record in one class.
Noise decides how much is believed: means of classes are drawn towards the common centre, counts towards equal ones,
spreads of a class towards the common spread of the column, and that towards the common one of all columns. Cost: one
pass over the records. Corrections: bounds are declared and never the data's own; all classes and columns share one
draw, whose bound is that of a record's length, where a mean and a variance for each column pay for the columns in turn.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final, Self

import numpy as np

from dither.errors import InvalidParameter
from dither.exact import Whole, round_up, sqrt_up
from dither.learn.centred import CONSTANT, LENGTH, REST, Centred, centred
from dither.learn.declared import DeclaredBounds
from dither.learn.models import Model, model
from dither.learn.noise_parts import noisy, shaped, spread_of
from dither.learn.rows import STEPS, BoundField, Box, Floats, exact_products, labelled, records_of
from dither.learn.survey import survey_entries, survey_stability
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.public import PublicArray
from dither.mechanisms.core.purse import OneEntry, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.gamma_norm import GammaNorm
from dither.privacy import ROW, ROW_REPLACED, InOrder, Loss, Plan, Unit, Use
from dither.privacy.fields import RowUnit

#: What a survey takes of the budget.
SURVEY_SHARE: Final = Fraction(1, 5)
#: Squares are drawn at a quarter of the size of the rest: spreads matter less than means.
_QUARTER: Final = 4
#: How far a record moves the draw in L2: its own length, and that of its squares, a quarter of it at most.
STABILITY: Final = round_up(sqrt_up(Fraction(17)) * LENGTH / 4, bits=40)
_NEAR: Final = 1.0
#: Shares of the common mean square below which no variance is believed, and bounds of that mean square.
_FLOOR: Final = 0.3
_LEAST_PULL: Final = 0.1


@model
@dataclass(frozen=True)
class GaussianModel(Model):
    """Classes with a normal distribution for each column, on columns that are clipped, centred and shortened.

    Args:
        lower: bounds of the columns.
        upper: bounds of the columns.
        shift: the centre, in columns scaled to [-1, 1].
        radius: records are shortened to this length from the centre, and divided by it.
        means: a row for each class.
        variances: a row for each class.
        shares: of the classes.

    """

    kind: ClassVar[str] = "gaussian-naive-bayes"

    lower: PublicArray
    upper: PublicArray
    shift: PublicArray
    radius: float
    means: PublicArray
    variances: PublicArray
    shares: PublicArray

    def __post_init__(self) -> None:
        columns, shape = Box(self.lower, self.upper).columns, self.means.values.shape
        right = len(shape) == 2 and shape[1] == columns == self.shift.values.size and self.radius > 0
        right = right and self.variances.values.shape == shape and bool((self.variances.values > 0).all())
        if not (right and self.shares.values.shape == shape[:1] and bool((self.shares.values > 0).all())):
            raise InvalidParameter("means", self.means, "a mean, a positive variance and a share for each class")

    def scores(self, values: Floats) -> Floats:
        """Return the log joint density of each row and class."""
        centred_rows = Box(self.lower, self.upper).scaled(values) - self.shift.values
        rows = centred_rows / np.maximum(np.linalg.norm(centred_rows, axis=1), self.radius)[:, None]
        found = np.empty((len(rows), len(self.shares.values)))
        for place, (mean, variance) in enumerate(zip(self.means.values, self.variances.values, strict=True)):
            found[:, place] = -0.5 * (((rows - mean) ** 2 / variance).sum(axis=1) + np.log(variance).sum())
        joint: Floats = found + np.log(self.shares.values)
        return joint


def _examples() -> Iterator[Example]:
    rows = np.array([[0.5, -3.0, 1.0], [9.0, 2.0, 0.0], [float("nan"), 1.0, 1.0], [0.1, 0.2, 7.0]])
    others = ((rows, rows[1:], 1), (rows, np.vstack([rows, [4.0, -4.0, 0.0]]), 1))
    box: dict[str, Any] = {"lower": [-1, 0], "upper": [1, 8]}
    gaussian: dict[str, Any] = {"survey": DiscreteGaussian(sigma=2**13), "part": DiscreteGaussian(sigma=2**15)}
    yield Example(GaussianNaiveBayes(**box, classes=2, **gaussian), rows, others)
    pure: dict[str, Any] = {"survey": GammaNorm(scale=2**13), "part": GammaNorm(scale=2**15)}
    yield Example(GaussianNaiveBayes(**box, classes=3, **pure, unit=ROW_REPLACED), rows)


@register(
    examples=_examples,
    source="Differentially Private Naive Bayes Classification (Vaidya, Shafiq, Basu, Hong 2013), section 4",
)
@dataclass(frozen=True, kw_only=True)
class GaussianNaiveBayes(DeclaredBounds, Composed[Any, GaussianModel]):
    """Learn counts, means and variances of classes from one noisy draw after a survey.

    Guarantee: data ``d_in`` rows apart loses what ``survey`` and ``part`` lose at ``d_in`` times their stabilities
    (twice that for rows replaced).

    Args:
        lower: public bounds of the columns; numbers beyond them are clipped.
        upper: public bounds of the columns.
        classes: the number of classes; a label is 0, 1, ..., and rows with any other label are left out.
        survey: the noise of the survey of counts, means and spread.
        part: the noise of sums, counts and squares, in steps.
        unit: ROW or ROW_REPLACED.

    >>> from dither.privacy import PureDP
    >>> learner = GaussianNaiveBayes.calibrated(PureDP(1), lower=[0], upper=[1], classes=2)
    >>> learner.loss(1) <= PureDP(1)
    True

    """

    name: ClassVar[str] = "gaussian-naive-bayes"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "means are drawn towards the centre, by how much depends on the records"
    no_interval_because: ClassVar[str] = "records far from the centre are shortened, by how much is private"

    lower: BoundField = BoundField()
    upper: BoundField = BoundField()
    classes: Whole = Whole(least=2, most=2**12)
    survey: OneEntry = OneEntry()
    part: OneEntry = OneEntry()
    unit: RowUnit = RowUnit(ROW)

    def __post_init__(self) -> None:
        if self.box.columns * self.classes > 2**23:
            raise InvalidParameter("classes", self.classes, "so few that there are at most 2^23 means")

    @classmethod
    def calibrated(cls, within: Loss, *, lower: Any, upper: Any, classes: int, unit: Unit = ROW) -> Self:
        """Return the learner with the least noise whose loss for one unit is within ``within``."""
        purse = Purse.within(within)
        columns = len(np.atleast_1d(np.asarray(lower)))
        touched = unit.touched if isinstance(unit, Unit) else 1
        return cls(
            lower=lower,
            upper=upper,
            classes=classes,
            survey=purse.share(SURVEY_SHARE).vector_noise(touched * survey_stability(columns)),
            part=purse.share(1 - SURVEY_SHARE).vector_noise(touched * STABILITY),
            unit=unit,
        )

    def plan(self) -> Plan:
        """Return one survey and one draw of all classes."""
        columns = self.box.columns
        first = Use(shaped(self.survey, survey_entries(columns)), self.unit.touched * survey_stability(columns))
        second = Use(shaped(self.part, self.classes * (2 * columns + 1)), self.unit.touched * STABILITY)
        return InOrder.of(first, second)

    def release(self, data: Any, run: Runner) -> GaussianModel:
        """Return the classes."""
        values, classes = labelled(records_of(data, self.box.columns), self.classes)
        seen = centred(run, self.survey, self.box.steps(values), touched=self.unit.touched, near=_NEAR)
        squares = np.floor(seen.records[:, :-1] ** 2 / (_QUARTER * LENGTH))
        chosen = (classes[:, None] == np.arange(self.classes)).astype(np.float64)
        given = exact_products(chosen, np.hstack([seen.records, squares]))
        return self._learned(noisy(run, self.part, given, self.unit.touched * STABILITY), seen)

    def _learned(self, drawn: Floats, seen: Centred) -> GaussianModel:
        """Return the model from noisy sums; everything here is public."""
        columns, rows = self.box.columns, seen.rows
        spread = spread_of(self.part, drawn.size)
        counts = _counts(drawn[:, columns] / CONSTANT, spread / CONSTANT, rows)
        noise = spread / REST / counts[:, None]
        means = drawn[:, :columns] / REST / counts[:, None]
        noise_length, length = columns * float((noise**2).sum()), float((means**2).sum())
        means = means * max(_LEAST_PULL, 1 - noise_length / length) if length > 0 else means
        unit = REST**2 / (_QUARTER * LENGTH)
        variances = _variances(drawn[:, columns + 1 :] / unit, spread / unit, counts, means)
        return GaussianModel(
            self.lower,
            self.upper,
            PublicArray(seen.shift / STEPS),
            seen.radius / STEPS,
            PublicArray(means),
            PublicArray(variances),
            PublicArray(counts / counts.sum()),
        )


def _counts(seen: Floats, noise: float, rows: float) -> Floats:
    """Return counts of classes, shrunk towards equal counts as far as their differences are noise."""
    even, differences = rows / len(seen), seen - seen.mean()
    length = float(differences @ differences)
    kept = max(0.0, 1 - (len(seen) - 1) * noise**2 / length) if length > 0 else 0.0
    counts = np.maximum(even + kept * differences, even / 10)
    scaled: Floats = counts * (rows / counts.sum())
    return scaled


def _variances(squares: Floats, noise: float, counts: Floats, means: Floats) -> Floats:
    """Return a variance for each class and column, trusted as far as the noise allows."""
    rows, columns = float(counts.sum()), means.shape[1]
    pooled = (squares.sum(axis=0) - (counts[:, None] * means**2).sum(axis=0)) / rows
    # Records have length 1 at most, so columns have a mean square of 1 / columns at most.
    common = min(max(float(pooled.mean()), 0.1 / columns), 1 / columns)
    lowest = _FLOOR * common

    def believed(found: Floats, error: Any, otherwise: Any) -> Floats:
        weight = common**2 / (common**2 + 4 * error**2)
        kept: Floats = np.maximum(weight * found + (1 - weight) * otherwise, lowest)
        return kept

    of_columns = believed(pooled, noise * math.sqrt(len(counts)) / rows, common)
    return believed(squares / counts[:, None] - means**2, noise / counts[:, None], of_columns)

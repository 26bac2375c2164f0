"""Noisy moments: count, mean and covariance of the columns, from one noisy matrix ("Analyze Gauss").

For principal components, covariances and everything linear that follows from them. Every row is shortened to a public
length, so that the noise of an entry does not grow with the columns. Cost: one product of the rows with themselves.
Corrections: mean and count are drawn with the second moments, where the published form takes rows that are centred
already, which only a release can do; the noisy covariance is made one again by cutting off negative eigenvalues; and
Gaussian noise of pairs of different columns is a 7/5 smaller, because a matrix has each of them twice.
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
from dither.exact import Number, Positive
from dither.learn.cell_noise import Moves, noisy_cells, of_shape
from dither.learn.clusters.points import Frame, points_of
from dither.learn.declared import DeclaredUnit
from dither.learn.models import Model, model
from dither.learn.rows import STEPS, BoundField, Floats, exact_products, into_ball
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.public import PublicArray
from dither.mechanisms.core.purse import OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.privacy import ROW, ROW_REPLACED, Loss, Plan, Unit, Use
from dither.privacy.fields import RowUnit

#: The longest row, in whole steps.
LENGTH: Final = 2**10
MOST_COLUMNS: Final = 2**11
#: How long rows may be, as a share of the distance of a corner of the bounds from their middle.
USUAL_REACH: Final = Fraction(7, 10)
_FEWEST: Final = 2.0
#: Under Gaussian noise, products of different columns count 7 / 5 times: a little less than the root of 2.
_OF_PAIRS: Final = 7
_OF_OTHERS: Final = 5
#: A bound on 100 - 49 s^2 - 50 s, which is largest at s = -25/49.
_REPLACED: Final = 113


class _Reach(Positive):
    """A share of the distance of a corner: a number above 0 and at most 1."""

    def convert(self, name: str, value: Number) -> Fraction:
        share = super().convert(name, value)
        if share > 1:
            raise InvalidParameter(name, value, "a number above 0 and at most 1")
        return share

    def offenders(self) -> Iterator[Any]:
        """Return values that are not above 0, and values above 1."""
        yield from ("1.01", *super().offenders())


@model
@dataclass(frozen=True)
class MomentsModel(Model):
    """Released moments, in columns scaled by their bounds to [-1, 1].

    Args:
        lower: bounds of the columns.
        upper: bounds of the columns.
        rows: the approximate number of rows.
        mean: of each column.
        covariance: of each pair of columns; without negative eigenvalues.

    """

    kind: ClassVar[str] = "moments"

    lower: PublicArray
    upper: PublicArray
    rows: float
    mean: PublicArray
    covariance: PublicArray

    def __post_init__(self) -> None:
        columns = self.frame.columns
        if self.mean.values.shape != (columns,) or self.covariance.values.shape != (columns, columns):
            raise InvalidParameter("covariance", self.covariance, "a number for each pair of columns")

    @property
    def frame(self) -> Frame:
        """The bounds."""
        return Frame(self.lower, self.upper)

    @property
    def half_ranges(self) -> Floats:
        """Half the range of each column."""
        found: Floats = self.upper.values / 2 - self.lower.values / 2
        return found

    def components(self, count: int) -> tuple[Floats, Floats]:
        """Return the first principal directions of the scaled columns, one a row, and the variance along each."""
        return principal_components(self.covariance.values, count)


def principal_components(covariance: Floats, count: int) -> tuple[Floats, Floats]:
    """Return the first principal directions of a released covariance, one a row, and the variance along each."""
    values, vectors = np.linalg.eigh(covariance)
    rows = vectors.T[::-1][:count]
    # The sign of an eigenvector means nothing: its largest entry is made positive.
    largest = np.abs(rows).argmax(axis=1)
    signs = np.where(rows[np.arange(len(rows)), largest] < 0, -1.0, 1.0)
    return rows * signs[:, None], np.maximum(values[::-1][:count], 0.0)


def _examples() -> Iterator[Example]:
    rows = np.array([[0.5, 3.0], [9.0, 2.0], [float("nan"), 1.0], [0.1, 0.0]])
    others = ((rows, rows[1:], 1), (rows, np.vstack([rows, [4.0, -4.0]]), 1))
    public: dict[str, Any] = {"lower": [-1, 0], "upper": [1, 8]}
    yield Example(NoisyMoments(**public, part=DiscreteGaussian(sigma=5 * 2**20)), rows, others)
    yield Example(NoisyMoments(**public, part=Geometric(scale=2**21), reach=1, unit=ROW_REPLACED), rows)


@register(
    examples=_examples,
    source="Analyze Gauss: Optimal Bounds for Privacy-Preserving Principal Component Analysis (Dwork, Talwar, "
    "Thakurta, Zhang 2014), section 3",
)
@dataclass(frozen=True, kw_only=True)
class NoisyMoments(DeclaredUnit, Composed[Any, MomentsModel]):
    """Release count, mean and covariance of the columns from one noisy symmetric matrix.

    Guarantee: data ``d_in`` rows apart loses what ``part`` loses at ``d_in`` times what one row adds to the matrix:
    5 * 2^20 sqrt(3) in L2, or 2^20 ((columns + 1) / 2 + sqrt(columns) + 1) in L1; for rows replaced, by which another
    row's matrix differs: 2^20 sqrt(113), or 2^20 (sqrt((columns^2 + 3 columns) / 2) + 2 sqrt(columns)).

    Args:
        lower: public bounds of the columns; numbers beyond them are clipped.
        upper: public bounds of the columns.
        part: the noise of one entry, in steps of 2^-20 of the squared length of the longest row; Gaussian noise in
            steps a fifth of that, and a seventh for products of different columns.
        reach: longer rows are shortened to this share of the distance of a corner of the bounds from their middle.
        unit: ROW or ROW_REPLACED.

    >>> from dither.privacy import ApproxDP
    >>> learner = NoisyMoments.calibrated(ApproxDP(1, "1e-6"), lower=[0, 0], upper=[1, 10])
    >>> learner.loss(1) <= ApproxDP(1, "1e-6"), learner.entries
    (True, 6)

    """

    name: ClassVar[str] = "noisy-moments"
    version: ClassVar[int] = 2
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "what is lost by shortening long rows depends on the rows"
    no_interval_because: ClassVar[str] = "what is lost by shortening long rows depends on the rows"

    lower: BoundField = BoundField()
    upper: BoundField = BoundField()
    part: OneCount = OneCount()
    reach: _Reach = _Reach(USUAL_REACH)
    unit: RowUnit = RowUnit(ROW)

    def __post_init__(self) -> None:
        if self.frame.columns > MOST_COLUMNS:
            raise InvalidParameter("lower", self.lower, f"bounds of at most {MOST_COLUMNS} columns")

    @classmethod
    def calibrated(cls, within: Loss, *, lower: Any, upper: Any, reach: Number = USUAL_REACH, unit: Unit = ROW) -> Self:
        """Return the release with the least noise whose loss for one unit is within ``within``."""
        purse = Purse.within(within)
        columns = len(np.atleast_1d(np.asarray(lower)))
        touched = unit.touched if isinstance(unit, Unit) else 1
        part = _moves(columns, touched).noise(purse)
        return cls(lower=lower, upper=upper, part=part, reach=reach, unit=unit)

    @cached_property
    def frame(self) -> Frame:
        """The bounds."""
        return Frame(self.lower, self.upper)

    @property
    def entries(self) -> int:
        """The number of entries drawn: the upper half of the matrix over all columns and a constant one."""
        return (self.frame.columns + 1) * (self.frame.columns + 2) // 2

    @property
    def radius(self) -> int:
        """The longest length that rows may have, in steps of the grid."""
        return max(1, math.ceil(float(self.reach) * STEPS * math.sqrt(self.frame.columns)))

    @property
    def stability(self) -> Fraction:
        """How far one unit moves the matrix."""
        return _moves(self.frame.columns, self.unit.touched).stability(self.part)

    @property
    def _counted(self) -> NDArray[np.int64]:
        """How many times each product counts."""
        columns = self.frame.columns
        times = np.ones((columns + 1, columns + 1), dtype=np.int64)
        if isinstance(self.part, DiscreteGaussian):
            times = np.full_like(times, _OF_OTHERS)
            times[:columns, :columns] = np.where(np.eye(columns), _OF_OTHERS, _OF_PAIRS)
        return times

    def plan(self) -> Plan:
        """Return one draw."""
        return Use(of_shape(self.part, (self.entries,)), self.stability)

    def release(self, data: Any, run: Runner) -> MomentsModel:
        """Return the moments; everything after the draw is post-processing."""
        columns = self.frame.columns
        short = into_ball(self.frame.steps(points_of(data, columns)), self.radius, LENGTH)
        given = np.column_stack([short, np.full(len(short), float(LENGTH))])
        upper = np.triu_indices(columns + 1)
        counted = self._counted[upper]
        seen = np.zeros((columns + 1, columns + 1))
        entries = exact_products(given, given)[upper] * counted
        seen[upper] = noisy_cells(run, self.part, entries, self.stability) / counted
        seen = (np.triu(seen) + np.triu(seen, 1).T) / LENGTH**2
        rows = max(float(seen[-1, -1]), _FEWEST)
        unit = self.radius / STEPS
        mean = np.clip(seen[-1, :-1] / rows * unit, -1.0, 1.0)
        covariance = _without_negative(seen[:-1, :-1] / rows * unit**2 - np.outer(mean, mean))
        return MomentsModel(self.lower, self.upper, rows, PublicArray(mean), PublicArray(covariance))


def _moves(columns: int, touched: int) -> Moves:
    """Return how far one row moves the upper half of its matrix, or one row in the place of another.

    For a row of length at most L beside a constant L, in L2: squares of columns, and products counted 7 / 5 times,
    are at most L^2; those with the constant, and its square, are at most L^2 each; and all count 5 times. In L1, where
    all count once, they are at most (columns + 1) L^2 / 2, sqrt(columns) L^2 and L^2.

    The square of the constant does not move when a row is replaced. The squared differences of all others add up to
    at most (100 - 49 s^2 - 50 s) L^4, s the cosine between the two rows, which is below 113 L^4. In L1 products of
    columns differ by sqrt((columns^2 + 3 columns) / 2) L^2, those with the constant by 2 sqrt(columns) L^2.
    """
    square = LENGTH**2
    if touched > 1:
        pairs = math.isqrt((columns**2 + 3 * columns) // 2 * square**2)
        return Moves(pairs + math.isqrt(4 * columns * square**2), _REPLACED * square**2)
    absolute = (columns + 1) * square // 2 + math.isqrt(columns * square**2) + square
    return Moves(absolute, 3 * (_OF_OTHERS * square) ** 2)


def _without_negative(matrix: Floats) -> Floats:
    """Return the nearest symmetric matrix without negative eigenvalues."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    found: Floats = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return (found + found.T) / 2

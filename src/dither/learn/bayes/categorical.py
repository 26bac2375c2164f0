"""Categorical naive Bayes: counts of every category in every class, from one noisy draw.

For columns of declared categories, yes-or-no columns among them. A record adds one to the count of its class and one to
a cell of each column, so that it moves all counts by the number of columns and one in L1, and by the root of that in
L2. Cost: one pass over the records. Corrections: all counts are drawn with one noise for the bound they share; the
number of records of a class is not taken to be public.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import TupleOf, Whole
from dither.learn.cell_noise import Moves, deviation
from dither.learn.declared import DeclaredUnit
from dither.learn.models import Model, model
from dither.learn.rows import MOST_COLUMNS, Floats, labelled, records_of
from dither.mechanisms.core.class_counts import ClassCounts, OfClassCounts
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.public import PublicArray
from dither.mechanisms.core.purse import OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.privacy import ROW, ROW_REPLACED, Loss, Plan, Unit, Use
from dither.privacy.fields import RowUnit

_MOST_CELLS: Final = 2**24


@model
@dataclass(frozen=True)
class CategoricalModel(Model):
    """Classes with a distribution over categories for each column.

    Args:
        sizes: the number of categories of each column.
        chances: a row for each class: the chances of the categories of the first column, then of the second, ...
        shares: of the classes.

    """

    kind: ClassVar[str] = "categorical-naive-bayes"

    sizes: tuple[int, ...]
    chances: PublicArray
    shares: PublicArray

    def __post_init__(self) -> None:
        chances, shares = self.chances.values, self.shares.values
        right = chances.shape == (len(shares), sum(self.sizes)) and shares.ndim == 1
        if not (right and bool((chances > 0).all()) and bool((shares > 0).all())):
            raise InvalidParameter("chances", self.chances, "a positive chance for each class and category")

    def scores(self, values: Floats) -> Floats:
        """Return the log joint probability of each row and class; a value that is not a category tells nothing."""
        logs = np.log(self.chances.values)
        found = np.tile(np.log(self.shares.values), (len(values), 1))
        cells, known = _cells(values, self.sizes)
        for column in range(len(self.sizes)):
            found[known[:, column]] += logs[:, cells[known[:, column], column]].T
        return found


def _examples() -> Iterator[Example]:
    rows = np.array([[0.0, 2.0, 1.0], [1.0, 1.0, 0.0], [float("nan"), 9.0, 1.0], [1.0, 0.0, 7.0]])
    others = ((rows, rows[1:], 1), (rows, np.vstack([rows, [1.0, 2.0, 0.0]]), 1))
    yield Example(CategoricalNaiveBayes(sizes=(2, 3), classes=2, part=Geometric(scale=3)), rows, others)
    yield Example(
        CategoricalNaiveBayes(sizes=(2, 3), classes=3, part=DiscreteGaussian(sigma=2), unit=ROW_REPLACED), rows
    )


@register(
    examples=_examples,
    source="Differentially Private Naive Bayes Classification (Vaidya, Shafiq, Basu, Hong 2013), section 4",
)
@dataclass(frozen=True, kw_only=True)
class CategoricalNaiveBayes(OfClassCounts, DeclaredUnit, Composed[Any, CategoricalModel]):
    """Learn the probabilities of categories in each class from one draw of counts.

    Guarantee: data ``d_in`` rows apart loses what ``part`` loses at ``d_in`` times the number of columns and one (in
    L1), or at its root (in L2); twice that, or the root of twice that number, for rows replaced.

    Args:
        sizes: the number of categories of each column; a category is 0, 1, ..., other values do not count.
        classes: the number of classes; rows with any label but 0, 1, ... are left out.
        part: the noise of a count.
        unit: ROW or ROW_REPLACED.

    >>> from dither.privacy import PureDP
    >>> learner = CategoricalNaiveBayes.calibrated(PureDP(1), sizes=(2, 2, 5), classes=2)
    >>> learner.part.scale
    Fraction(4, 1)

    """

    name: ClassVar[str] = "categorical-naive-bayes"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "a chance is a quotient of counts, and how large these are is private"
    no_interval_because: ClassVar[str] = "chances are drawn towards equal ones, by how much depends on the counts"

    sizes: TupleOf = TupleOf(
        Whole(least=1, most=2**20), most=MOST_COLUMNS, rule="a number of categories for each column"
    )
    classes: Whole = Whole(least=2, most=2**16)
    part: OneCount = OneCount()
    unit: RowUnit = RowUnit(ROW)

    def __post_init__(self) -> None:
        if self.entries > _MOST_CELLS:
            raise InvalidParameter("sizes", self.sizes, f"so small that there are at most {_MOST_CELLS} counts")

    @classmethod
    def calibrated(cls, within: Loss, *, sizes: Sequence[int], classes: int, unit: Unit = ROW) -> Self:
        """Return the learner with the least noise whose loss for one unit is within ``within``.

        Where a delta is stated, geometric noise of its epsilon is taken if it is the smaller one: with few columns a
        delta gains nothing.
        """
        moves = _moves(len(sizes), unit)
        bought = [moves.noise(purse) for purse in (Purse.within(within), Purse.pure_within(within))]
        return cls(sizes=tuple(sizes), classes=classes, part=min(bought, key=deviation), unit=unit)

    @property
    def entries(self) -> int:
        """The number of counts that are drawn."""
        return self.classes * int(1 + sum(self.sizes))

    @property
    def stability(self) -> Fraction:
        """How far one unit moves the counts, in the metric of the noise."""
        return _moves(len(self.sizes), self.unit).stability(self.part)

    def plan(self) -> Plan:
        """Return one draw of all counts."""
        return Use(replace(self.part, shape=(self.entries,)), self.stability)

    def release(self, data: Any, run: Runner) -> CategoricalModel:
        """Return the probabilities."""
        width = 1 + sum(self.sizes)
        counts = data.table.reshape(-1) if isinstance(data, ClassCounts) else self._counts(data, width)
        part = replace(self.part, shape=(self.entries,))
        drawn = np.asarray(run(part, counts, stability=self.stability), dtype=np.float64)
        return self._learned(drawn.reshape(self.classes, width))

    def _counts(self, data: Any, width: int) -> NDArray[np.int64]:
        """Return the counts of rows: of each class, and of the categories in it."""
        values, classes = labelled(records_of(data, len(self.sizes)), self.classes)
        cells, known = _cells(values, self.sizes)
        places = (classes[:, None] * width + 1 + cells)[known]
        return np.bincount(np.concatenate([classes * width, places]), minlength=self.entries).astype(np.int64)

    def _learned(self, drawn: Floats) -> CategoricalModel:
        """Return probabilities from noisy counts: no count is below the noise, and each column adds up to one."""
        noise = float(self.part.scale) if isinstance(self.part, Geometric) else float(self.part.sigma)
        floor = max(1.0, noise)
        shares = np.maximum(drawn[:, 0], floor)
        pieces = np.split(np.maximum(drawn[:, 1:], 0) + floor, np.cumsum(self.sizes)[:-1], axis=1)
        chances = np.hstack([piece / piece.sum(axis=1, keepdims=True) for piece in pieces])
        return CategoricalModel(self.sizes, PublicArray(chances), PublicArray(shares / shares.sum()))


def _moves(columns: int, unit: Unit) -> Moves:
    """Return how far one unit moves the counts: each row adds one to its class and one to a cell of each column."""
    touched = unit.touched if isinstance(unit, Unit) else 1
    # Two rows may share the class and no category, so that a replacement moves up to twice as many cells by one each;
    # where they share a cell it does not move at all.
    return Moves(touched * (columns + 1), touched * (columns + 1))


def _cells(values: Floats, sizes: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the number of each value's category among those of all columns, and whether the value is a category."""
    limits = np.asarray(sizes, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        known = (values >= 0) & (values < limits) & (values == np.floor(values))
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    return np.where(known, values, 0).astype(np.int64) + starts, known

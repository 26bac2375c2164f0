"""Column counts: the number of rows in each of many even cells of each column, from one noisy draw.

For cutting columns into bins that hold about as many rows each. Cost: one pass over the rows. Edges are found in the
noisy counts, so that however many bins are asked for, the draw is the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Whole
from dither.learn.cell_noise import Moves, noisy_cells, of_shape
from dither.learn.clusters.points import Frame, points_of
from dither.learn.declared import DeclaredUnit
from dither.learn.models import Model, model
from dither.learn.rows import BoundField, Floats
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.public import PublicArray
from dither.mechanisms.core.purse import OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.privacy import ROW, ROW_REPLACED, Loss, Plan, Unit, Use
from dither.privacy.fields import RowUnit

MOST_COLUMNS: Final = 2**12
USUAL_CELLS: Final = 2**6


@model
@dataclass(frozen=True)
class ColumnCountsModel(Model):
    """Released counts of even cells, a row for each column.

    Args:
        lower: bounds of the columns.
        upper: bounds of the columns.
        counts: noisy.

    """

    kind: ClassVar[str] = "column-counts"

    lower: PublicArray
    upper: PublicArray
    counts: PublicArray

    def __post_init__(self) -> None:
        if self.counts.values.ndim != 2 or len(self.counts.values) != Frame(self.lower, self.upper).columns:
            raise InvalidParameter("counts", self.counts, "a row of counts for each column")

    def edges(self, bins: int) -> Floats:
        """Return the edges of bins of about equally many rows, a row for each column; even where no rows are seen.

        Negative counts are taken as none. Within a cell, rows are taken as evenly spread.
        """
        lower, upper = self.lower.values, self.upper.values
        counts = np.maximum(self.counts.values, 0.0)
        cells = counts.shape[1]
        shares = np.linspace(0, 1, bins + 1)
        found = np.empty((len(counts), bins + 1))
        for place, column in enumerate(counts):
            total = float(column.sum())
            below = np.append(0.0, np.cumsum(column)) / total if total > 0 else np.linspace(0, 1, cells + 1)
            # A share that many places have, over empty cells, is interpolated between distinct ones.
            grown = np.append(True, np.diff(below) > 0)
            places = np.interp(shares, below[grown], (np.arange(cells + 1) / cells)[grown])
            found[place] = lower[place] + places * (upper[place] - lower[place])
        found[:, 0], found[:, -1] = lower, upper
        return found


def _examples() -> Iterator[Example]:
    rows = np.array([[0.5, 3.0], [9.0, 2.0], [float("nan"), 1.0], [0.1, 0.0]])
    others = ((rows, rows[1:], 1), (rows, np.vstack([rows, [4.0, -4.0]]), 1))
    public: dict[str, Any] = {"lower": [-1, 0], "upper": [1, 8], "cells": 2}
    yield Example(ColumnCounts(**public, part=DiscreteGaussian(sigma=2)), rows, others)
    yield Example(ColumnCounts(**public, part=Geometric(scale=4), unit=ROW_REPLACED), rows)


@register(
    examples=_examples,
    source="Differential Privacy and Applications (Zhu et al. 2017), section 4.2.1",
)
@dataclass(frozen=True, kw_only=True)
class ColumnCounts(DeclaredUnit, Composed[Any, ColumnCountsModel]):
    """Release a noisy histogram of every column.

    Guarantee: data ``d_in`` rows apart loses what ``part`` loses at ``d_in * columns`` in L1, or ``d_in`` times the
    root of ``columns`` in L2 (twice that for rows replaced).

    Args:
        lower: public bounds of the columns; numbers beyond them are clipped.
        upper: public bounds of the columns.
        cells: the number of even cells of each column.
        part: the noise of one count.
        unit: ROW or ROW_REPLACED.

    >>> from dither.privacy import PureDP
    >>> ColumnCounts.calibrated(PureDP(1), lower=[0, 0], upper=[1, 10]).part.scale
    Fraction(2, 1)

    """

    name: ClassVar[str] = "column-counts"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "where an edge between bins is depends on the rows around it"
    no_interval_because: ClassVar[str] = "where an edge between bins is depends on the rows around it"

    lower: BoundField = BoundField()
    upper: BoundField = BoundField()
    cells: Whole = Whole(USUAL_CELLS, least=2, most=2**16)
    part: OneCount = OneCount()
    unit: RowUnit = RowUnit(ROW)

    def __post_init__(self) -> None:
        if self.frame.columns > MOST_COLUMNS or self.frame.columns * self.cells > 2**22:
            raise InvalidParameter("cells", self.cells, f"so few that {MOST_COLUMNS} columns have 2^22 at most")

    @classmethod
    def calibrated(cls, within: Loss, *, lower: Any, upper: Any, cells: int = USUAL_CELLS, unit: Unit = ROW) -> Self:
        """Return the release with the least noise whose loss for one unit is within ``within``."""
        purse = Purse.within(within)
        columns = len(np.atleast_1d(np.asarray(lower)))
        touched = unit.touched if isinstance(unit, Unit) else 1
        part = Moves(columns, columns).noise(purse, touched)
        return cls(lower=lower, upper=upper, cells=cells, part=part, unit=unit)

    @cached_property
    def frame(self) -> Frame:
        """The bounds."""
        return Frame(self.lower, self.upper)

    @property
    def stability(self) -> Fraction:
        """How far one unit moves the counts."""
        return Moves(self.frame.columns, self.frame.columns).stability(self.part, self.unit.touched)

    def plan(self) -> Plan:
        """Return one draw."""
        return Use(of_shape(self.part, (self.frame.columns, self.cells)), self.stability)

    def release(self, data: Any, run: Runner) -> ColumnCountsModel:
        """Return the noisy counts."""
        scaled = self.frame.scaled(points_of(data, self.frame.columns))
        inside = np.minimum(((scaled + 1) / 2 * self.cells).astype(np.int64), self.cells - 1)
        counts: NDArray[np.int64] = np.stack(
            [np.bincount(column, minlength=self.cells).astype(np.int64) for column in inside.T]
        )
        drawn = noisy_cells(run, self.part, counts, self.stability)
        return ColumnCountsModel(self.lower, self.upper, PublicArray(drawn))

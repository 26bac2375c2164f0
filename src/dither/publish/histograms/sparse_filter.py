"""A histogram over a domain too large to list: most cells are empty, and few of those are touched.

For counts over 10^9 cells or 10^15, of which only those that are not empty are held. Noise is added to *every* cell and
what stays below a threshold is left out; the empty cells that pass are found by skipping from one to the next, so the
cost is that of the full cells and of what is released. Two filters: a threshold, or threshold sampling, which keeps a
small noisy count with a probability in proportion to it and is unbiased.

Corrections: the source draws how many empty cells pass from a binomial law and treats their chance as a float; here
passing cells are found by exact coins, so that the released table has the law of the filtered noisy table itself,
empty cells included, and not one near it. Noise on the full cells alone, which is what a quick program does, has no
pure guarantee: it tells which cells are full.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Final, Self

import numpy as np

from dither.errors import InvalidParameter
from dither.exact import Flag, Number, Whole, positive, probability, whole
from dither.exact.search import least_where
from dither.mechanisms.core.accuracy import discrete_laplace_reach, share_of_failure
from dither.mechanisms.core.additive import DiscreteScale
from dither.mechanisms.core.mechanism import Bound, Composed, Interval, Numerics
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.core.values import raw_number
from dither.mechanisms.filtered_counts import (
    LARGEST_CHANCE,
    MOST_CELLS,
    MOST_THRESHOLD,
    FilteredCounts,
    chance_of_passing,
)
from dither.mechanisms.stability_selection import ALL_KEYS
from dither.privacy import ROW, ROW_REPLACED, Loss, Plan, Unit, Use, laplace_scale
from dither.privacy.fields import RowUnit

#: Empty cells that pass on average: what is released has to be held.
_MOST_PASSING: Final = 2**20


def _examples() -> Iterator[Example]:
    rows = [3, 3, 3, 1, 7, -2]
    far: tuple[tuple[Any, Any, int], ...] = ((rows, rows[:-2], 2), ([], [0], 1), ([5] * 9, [5] * 8, 1))
    yield Example(SparseHistogram(unit=ROW, cells=6, scale=1, threshold=2), rows, far)
    swapped = ((rows, [3, 3, 3, 2, 7, -2], 1), ([0], [5], 1))
    yield Example(SparseHistogram(unit=ROW_REPLACED, cells=6, scale=2, threshold=5, sampled=True), rows, swapped)


@register(
    examples=_examples,
    source="Differentially Private Summaries for Sparse Data (Cormode, Procopiuc, Srivastava, Tran 2012; as "
    "Differentially Private Publication of Sparse Data, 2011), filtering and sampling",
)
@dataclass(frozen=True, kw_only=True)
class SparseHistogram(Composed[Any, dict[int, int]]):
    """Count rows in the cells of a huge domain, and publish the noisy counts that pass a filter.

    Guarantee: data ``d_in`` rows apart, each row the number of one cell, loses epsilon = ``d_in / scale``, twice that
    where rows are replaced. No delta: empty cells are published as noise has it.

    Releases the numbers of cells and their noisy counts.

    Args:
        unit: ROW or ROW_REPLACED.
        cells: how many cells the domain has; public. Rows are integers from 0 to cells - 1; others do not count.
        scale: of the discrete Laplace noise.
        threshold: what a noisy count must reach to be published.
        sampled: whether noisy counts v below the threshold t, in size, are published as t or -t with chance |v| / t:
            then every cell's number is right on average, an unpublished one being 0.

    >>> from dither.privacy import PureDP
    >>> histogram = SparseHistogram.calibrated(PureDP(1), cells=10**12)
    >>> histogram.threshold, histogram.loss(1)
    (28, PureDP('1'))

    """

    name: ClassVar[str] = "sparse-histogram"
    version: ClassVar[int] = 2
    numerics: ClassVar[Numerics] = Numerics.EXACT

    unit: RowUnit = RowUnit(ROW, rule=ALL_KEYS)
    cells: Whole = Whole(least=1, most=MOST_CELLS)
    scale: DiscreteScale = DiscreteScale()
    threshold: Whole = Whole(least=1, most=MOST_THRESHOLD)
    sampled: Flag = Flag(False)

    def __post_init__(self) -> None:
        if self.cells * chance_of_passing(self.scale, self.threshold, self.sampled)[1] > _MOST_PASSING:
            rule = f"large enough that at most {_MOST_PASSING} empty cells pass on average"
            raise InvalidParameter("threshold", self.threshold, rule)
        _ = self.part

    @classmethod
    def calibrated(
        cls, within: Loss, *, cells: int, unit: Unit = ROW, false_cells: Number = 1, sampled: bool = False
    ) -> Self:
        """Return the least noise whose loss is within ``within``, and the least threshold for it.

        Args:
            within: the loss not to exceed.
            cells: of the domain.
            unit: ROW or ROW_REPLACED.
            false_cells: the mean number of empty cells that may pass.
            sampled: see the class.

        """
        many = whole("cells", cells, least=1, most=MOST_CELLS)
        most = positive("false_cells", false_cells, at_most=_MOST_PASSING)
        scale = laplace_scale(within, unit.touched)

        def is_enough(threshold: int) -> bool:
            chance = chance_of_passing(scale, threshold, sampled)[1]
            return chance <= LARGEST_CHANCE and many * chance <= most

        threshold = least_where(is_enough)
        return cls(unit=unit, cells=cells, scale=scale, threshold=threshold, sampled=sampled)

    @property
    def distance(self) -> Unit:
        """The declared unit."""
        return self.unit

    @cached_property
    def part(self) -> FilteredCounts:
        """The noise and the filter."""
        return FilteredCounts(cells=self.cells, scale=self.scale, threshold=self.threshold, sampled=self.sampled)

    @property
    def passing_chance(self) -> float:
        """The probability that an empty cell is published."""
        return float(chance_of_passing(self.scale, self.threshold, self.sampled)[1])

    def plan(self) -> Plan:
        """One draw; a replaced row moves two counts by 1."""
        return Use(self.part, self.unit.touched)

    def _reach(self, confidence: Number) -> tuple[Fraction, int]:
        """Return the reach of the noise of all cells of the domain at once."""
        wanted = probability("confidence", confidence, open_below=True)
        return wanted, discrete_laplace_reach(self.scale, share_of_failure(wanted, self.cells))

    def error(self, confidence: Number) -> Bound:
        """Return a bound on the error of every cell, including unpublished cells, whose estimate is 0."""
        wanted, reach = self._reach(confidence)
        return Bound(float(self.threshold - 1 + reach), wanted, "the largest absolute error of any cell of the domain")

    def interval(self, out: dict[int, int], confidence: Number) -> Interval:
        """Return intervals of all published cells at once; every other cell holds at most ``error`` rows."""
        wanted, reach = self._reach(confidence)
        low, high = {}, {}
        for cell, number in out.items():
            # A sampled count at the threshold stands for anything from 1 to it, in its sign.
            is_exact = not self.sampled or abs(number) > self.threshold
            least = number if is_exact or number < 0 else 1
            most = number if is_exact or number > 0 else -1
            low[cell], high[cell] = max(least - reach, 0), max(most + reach, 0)
        return Interval(low, high, wanted)

    def release(self, data: Any, run: Runner) -> dict[int, int]:
        """Return the published cells and their noisy counts, in the order of the cells."""
        return run(self.part, rows_of(data), stability=self.unit.touched)


def rows_of(data: Any) -> Counter[int]:
    """Return how many rows each cell has; rows that are not integers are in none. Counted rows stay as they are."""
    if isinstance(data, Counter):
        return data
    if isinstance(data, np.ndarray) and data.dtype.kind in "iu":
        cells, counts = np.unique(data, return_counts=True)
        return Counter(dict(zip(cells.tolist(), counts.tolist(), strict=True)))
    # An instance of a class that extends int is not a cell number.
    plain = (raw_number(row) for row in data if type(row) is int or issubclass(type(row), np.generic))
    return Counter(cell for cell in plain if type(cell) is int)

"""Counted sparse cells: an engine counts the cells that are not empty, and those that pass a noisy filter are shown.

For histograms of a curator's data set over more cells than could be written out: up to 2^50. Cost: one aggregation of
the engine, and what is in it and passes. Guarantee: that of ``SparseHistogram``, at the distance that one unit of the
data set moves the counts, which follows from the declared limits. Nothing but the method sees the counts.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from dither.data import Aggregation
from dither.data.engines.protocol import Engine
from dither.errors import InvalidParameter, NoGuarantee
from dither.exact import Field, Number
from dither.lift.cells import Cells, cells_of
from dither.mechanisms import Numerics, Runner, register
from dither.mechanisms.core import Bound, Composed, Interval
from dither.mechanisms.registry import Example
from dither.privacy import ROW, ROW_REPLACED, Loss, Plan, Unit, Use
from dither.publish.counted import CellsField, per_count
from dither.publish.histograms.sparse_filter import SparseHistogram


def _examples() -> Iterator[Example]:
    from dither.data.examples import clinic, neighbours_of, some_visits
    from dither.data.reference import ReferenceEngine
    from dither.data.schema import person_unit

    for unit, columns, bins in ((person_unit("person"), ("site", "age"), {"age": 2}), (ROW_REPLACED, ("cost",), None)):
        cells = cells_of(clinic(unit), "visits", columns, bins)
        method = SparseHistogram(cells=math.prod(cells.shape), scale=2, threshold=5)
        data = ReferenceEngine(cells.dataset, {"visits": some_visits()})
        yield Example(CountedSparse(cells=cells, method=method), data, neighbours_of(cells.dataset))


class _SparseField(Field[SparseHistogram, SparseHistogram]):
    """A sparse histogram."""

    def convert(self, name: str, value: SparseHistogram) -> SparseHistogram:
        if not isinstance(value, SparseHistogram) or value.unit != ROW:
            raise InvalidParameter(name, value, "a SparseHistogram with the unit ROW")
        return value


@register(
    examples=_examples,
    source="Differentially Private Summaries for Sparse Data (Cormode, Procopiuc, Srivastava, Tran 2012); "
    "Differentially Private SQL with Bounded User Contribution (Wilson et al. 2020), section 3, for the limits",
)
@dataclass(frozen=True, kw_only=True)
class CountedSparse(Composed[Engine, dict[int, int]]):
    """Count the rows of the cells of a huge public table, and publish the noisy counts that pass a filter.

    Guarantee: data sets one unit apart lose epsilon = s / scale, s being how far one unit moves all counts together.

    Releases the numbers of cells, in the order of the table, and their noisy counts.

    Args:
        cells: which rows, and into which cell each falls; public. At most 2^50 cells.
        method: the noise and the filter, for as many cells and the unit ROW.

    >>> from dither.privacy import PureDP
    >>> from dither.data.examples import clinic
    >>> cells = cells_of(clinic(ROW), "visits", ("cost", "age"), {"age": 2**12})
    >>> counted = CountedSparse.calibrated(PureDP(1), cells=cells)
    >>> counted.loss(1), counted.method.threshold
    (PureDP('1'), 11)

    """

    name: ClassVar[str] = "counted-sparse"
    version: ClassVar[int] = 2
    numerics: ClassVar[Numerics] = Numerics.EXACT

    cells: CellsField = CellsField()
    method: _SparseField = _SparseField()

    def __post_init__(self) -> None:
        """Refuse a method for another number of cells."""
        if self.method.cells != math.prod(self.cells.shape):
            raise InvalidParameter("method", self.method.cells, f"for {math.prod(self.cells.shape)} cells")

    @classmethod
    def calibrated(cls, target: Loss, *, cells: Cells, false_cells: Number = 1) -> Self:
        """Return the least noise and threshold within ``target``.

        Args:
            target: the loss of one unit of the data set.
            cells: the rows, and the cells of each column.
            false_cells: how many empty cells may pass, on average.

        """
        each = per_count(target, cells.sensitivity.l1)
        method = SparseHistogram.calibrated(each, cells=math.prod(cells.shape), false_cells=false_cells)
        release = cls(cells=cells, method=method)
        if not release.loss(1) <= target:
            raise NoGuarantee(f"the release would lose {release.loss(1)}, which is not within {target}")
        return release

    @property
    def distance(self) -> Unit:
        """The unit of the data set."""
        return self.cells.dataset.unit

    @property
    def stability(self) -> Fraction:
        """How far one unit moves all counts together."""
        return self.cells.sensitivity.l1

    def aggregations(self) -> tuple[Aggregation, ...]:
        """Return what the engine is asked for."""
        return (self.cells.asked,)

    def plan(self) -> Plan:
        """One draw."""
        return Use(self.method.part, self.stability)

    def error(self, confidence: Number) -> Bound | None:
        """Return what the method says."""
        return self.method.error(confidence)

    def interval(self, out: Any, confidence: Number) -> Interval | None:
        """Return what the method says."""
        return self.method.interval(out, confidence)

    def release(self, data: Engine, run: Runner) -> dict[int, int]:
        """Return the published cells; whatever an engine returns, nothing raises because of it."""
        places, counts = self.cells.filled(data.aggregate(self.cells.asked))
        numbers = np.ravel_multi_index(tuple(places.T), self.cells.shape)
        table = Counter(dict(zip(numbers.tolist(), counts.tolist(), strict=True)))
        return run(self.method.part, table, stability=self.stability)

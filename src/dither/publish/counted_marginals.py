"""Counted marginals: an engine counts the marginals that are asked for, and one draw adds noise to all of them.

For contingency tables of a curator's data set whose columns have too many cells to be written out together: ten columns
or a hundred. Cost: at most 64 aggregations of the engine, or one that groups by all columns (``publish.margins``), then
what the method costs. Guarantee: that of its one draw, at the distance that one unit of the data set moves what is
measured, which follows from the declared limits. Nothing but the draw sees the counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from dither.data import Aggregation
from dither.data.engines.protocol import Engine
from dither.errors import InvalidParameter
from dither.exact import Field, Number
from dither.lift.attributes import Attributes, Axes
from dither.lift.blocks import merged
from dither.lift.cells import Cells, cells_of
from dither.lift.margins import Margins
from dither.mechanisms import DiscreteGaussian, Geometric, Numerics, Runner, register
from dither.mechanisms.core import Bound, Composed, Interval
from dither.mechanisms.registry import Example
from dither.privacy import ROW, ROW_REPLACED, ZCDP, Loss, Plan, PureDP, Unit, Use
from dither.publish.counted import CellsField
from dither.publish.histograms.common import Floats
from dither.publish.marginals.common import DrawnMarginals
from dither.publish.marginals.data_cubes import DataCubes
from dither.publish.marginals.per_marginal import NoisyMarginals
from dither.publish.marginals.residual_planner import ResidualPlanner

#: Numbers of cells of the cuboids that are tried, and of their attributes: one has 2^10 parts then.
_CUBOIDS = tuple(4**power for power in range(2, 8))
_WIDEST = 10


def _examples() -> Iterator[Example]:
    from dither.data.examples import clinic, neighbours_of, some_visits
    from dither.data.reference import ReferenceEngine
    from dither.data.schema import person_unit

    asked = [["site", "age"], ["site"]]
    for unit, loss in ((person_unit("person"), ZCDP("1/8")), (ROW_REPLACED, PureDP(1))):
        cells = cells_of(clinic(unit), "visits", ("site", "age"), {"age": 2})
        data = ReferenceEngine(cells.dataset, {"visits": some_visits()})
        yield Example(
            CountedMarginals.calibrated(loss, cells=cells, marginals=asked), data, neighbours_of(cells.dataset)
        )


class _DrawnField(Field[DrawnMarginals, DrawnMarginals]):
    """A method on marginals that makes one draw."""

    def convert(self, name: str, value: DrawnMarginals) -> DrawnMarginals:
        if not isinstance(value, DrawnMarginals) or value.unit != ROW:
            raise InvalidParameter(name, value, "a method on marginals that makes one draw, with the unit ROW")
        return value


@register(
    examples=_examples,
    source="An Optimal and Scalable Matrix Mechanism for Noisy Marginals under Convex Loss Functions (Xiao, He, Zhang, "
    "Kifer 2023); Differentially Private Data Cubes (Ding, Winslett, Han, Li 2011); "
    "Differentially Private SQL with Bounded User Contribution (Wilson et al. 2020), section 3, for the limits",
)
@dataclass(frozen=True, kw_only=True)
class CountedMarginals(Composed[Engine, Floats]):
    """Count marginals of private rows in the engine, and release them by the one draw of a method on marginals.

    Guarantee: data sets one unit apart lose what the noise of ``method`` loses at k times the distance that one row
    moves its measurements, k being how many rows of a unit count. Where units are replaced, every measurement moves by
    k times the larger of what a new row and a replaced one do.

    Releases one flat array, marginal by marginal.

    Args:
        cells: the rows, and the cells of each column; any number of them together. Public.
        method: ``ResidualPlanner``, ``NoisyMarginals`` or ``DataCubes`` on the columns of ``cells``, with the unit ROW.

    >>> from dither.data.examples import clinic
    >>> cells = cells_of(clinic(ROW), "visits", ("site", "drug", "age"), {"age": 2**12})
    >>> pairs = CountedMarginals.calibrated(ZCDP(1), cells=cells, marginals=[["site", "drug"], ["drug"]])
    >>> pairs.loss(1) <= ZCDP(1), pairs.method.sizes
    (True, (6, 3))

    """

    name: ClassVar[str] = "counted-marginals"
    version: ClassVar[int] = 2
    numerics: ClassVar[Numerics] = Numerics.EXACT

    cells: CellsField = CellsField()
    method: _DrawnField = _DrawnField()

    def __post_init__(self) -> None:
        """Refuse a method for other columns."""
        if self.method.attributes != attributes_of(self.cells):
            raise InvalidParameter("method", self.method.attributes.names, "a method on the columns of the cells")

    @classmethod
    def calibrated(cls, target: Loss, *, cells: Cells, marginals: Sequence[Sequence[str]]) -> Self:
        """Return the release within ``target``.

        That is the residual planner, which is the best there is. Under a pure target marginals are measured one by
        one, or in cuboids that hold several of them, by whichever has the smaller mean variance: known without data.

        Args:
            target: the loss of one unit of the data set.
            cells: the rows, and the cells of each column.
            marginals: the columns of each marginal.

        """
        draft = cls(cells=cells, method=best_method(target, attributes_of(cells), marginals))
        node: type[Geometric | DiscreteGaussian] = type(draft.method.node)
        noise = node.calibrated(target, sensitivity=draft.stability)
        return replace(draft, method=replace(draft.method, node=noise))

    @property
    def distance(self) -> Unit:
        """The unit of the data set."""
        return self.cells.dataset.unit

    @cached_property
    def margins(self) -> Margins:
        """What the engine counts."""
        return Margins(self.cells, self.method.counted)

    @cached_property
    def stability(self) -> Fraction:
        """How far one unit moves all measurements together, in the distance of the noise."""
        unit = ROW_REPLACED if self.cells.dataset.is_replaced else ROW
        return self.cells.unit.total * self.method.moved(unit, may_vanish=True)

    def aggregations(self) -> tuple[Aggregation, ...]:
        """Return what the engine is asked for."""
        return self.margins.asked

    def plan(self) -> Plan:
        """One draw for all measurements."""
        return Use(self.method.part, self.stability)

    def error(self, confidence: Number) -> Bound | None:
        """Return what the method says."""
        return self.method.error(confidence)

    def interval(self, out: Any, confidence: Number) -> Interval | None:
        """Return what the method says."""
        return self.method.interval(out, confidence)

    def release(self, data: Engine, run: Runner) -> Floats:
        """Return the marginals; whatever an engine returns, nothing raises because of it."""
        tables = self.margins.tables([data.aggregate(asked) for asked in self.margins.asked])
        exact = self.method.measurements(lambda axes: tables[axes])
        return self.method.estimates(np.asarray(run(self.method.part, exact, stability=self.stability)))


def attributes_of(cells: Cells) -> Attributes:
    """Return the columns of a table of counts, and how many cells each has."""
    return Attributes(cells.names, cells.shape)


def best_method(target: Loss, attributes: Attributes, marginals: Sequence[Sequence[str]]) -> DrawnMarginals:
    """Return the method of the least mean variance within ``target`` for one row.

    >>> from dither.lift.attributes import Attributes
    >>> table = Attributes(tuple("abcdefgh"), (2,) * 8)
    >>> best_method(PureDP(1), table, table.every(2)).name, best_method(ZCDP(1), table, table.every(2)).name
    ('data-cubes', 'residual-planner')
    """
    if not isinstance(target, PureDP):
        return ResidualPlanner.calibrated(target, attributes=attributes, marginals=marginals)
    best: DrawnMarginals = NoisyMarginals.calibrated(target, attributes=attributes, marginals=marginals)
    tried: tuple[Axes, ...] = best.sets
    least = float("inf")
    for cells in _CUBOIDS:
        cuboids = merged(attributes.sizes, best.sets, most_cells=cells, most_axes=_WIDEST)
        if len(cuboids) >= len(tried):
            continue
        tried = cuboids
        named = [attributes.named(axes) for axes in cuboids]
        other = DataCubes.calibrated(target, attributes=attributes, marginals=marginals, cuboids=named)
        variance = float(other.variances.mean())
        if variance < float(best.variances.mean()):
            best = other
        # Larger cuboids help until they do not.
        if variance > least:
            break
        least = variance
    return best

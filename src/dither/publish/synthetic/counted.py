"""Counted records: the rows stay in their engine, which counts the marginals that a synthetic method asks for.

Cost: a statement for each block of marginals (``publish.margins``), so linear in the rows and the work of the engine.
Guarantee: that of the method, at the number of rows that one unit of the data set adds, removes or replaces, which
follows from the declared limits. Nothing but the method sees the counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dither.data import Aggregation
from dither.data.engines.protocol import Engine
from dither.errors import InvalidParameter, NoGuarantee
from dither.exact import Field
from dither.lift.attributes import Attributes, Axes
from dither.lift.cells import Cells
from dither.lift.margins import Margins
from dither.mechanisms import Numerics, Runner, register
from dither.mechanisms.core import Composed, Mechanism
from dither.mechanisms.registry import Example
from dither.privacy import RECORDS, ROW_REPLACED, ZCDP, Loss, Plan, PureDP, Unit, Use
from dither.publish.counted import CellsField, per_count
from dither.publish.counted_marginals import attributes_of
from dither.publish.synthetic.independent import IndependentMarginals
from dither.publish.synthetic.models import Model


class EngineRecords:
    """Records that an engine holds; single columns and pairs are counted together, all others one by one."""

    def __init__(self, cells: Cells, engine: Engine) -> None:
        self._cells, self._engine = cells, engine
        self._attributes = attributes_of(cells)
        self._counted: dict[Axes, NDArray[np.int64]] = {}

    @property
    def attributes(self) -> Attributes:
        """Names and sizes."""
        return self._attributes

    def count(self, axes: Axes) -> NDArray[np.int64]:
        """Return a marginal; which statements are put follows from the marginals that are asked for."""
        if not axes:
            return np.asarray(self.count((0,)).sum())
        if axes not in self._counted:
            margins = Margins(self._cells, first_marginals(self._attributes) if len(axes) <= 2 else (axes,))
            self._counted.update(margins.tables([self._engine.aggregate(asked) for asked in margins.asked]))
        return self._counted[axes]


def first_marginals(attributes: Attributes) -> tuple[Axes, ...]:
    """Return what every method looks at: all columns and all pairs of them."""
    width = range(len(attributes.names))
    return (*((axis,) for axis in width), *combinations(width, 2))


def _examples() -> Iterator[Example]:
    from dither.data.examples import clinic, neighbours_of, some_visits
    from dither.data.reference import ReferenceEngine
    from dither.data.schema import person_unit
    from dither.publish.synthetic.columns import codings_of

    for unit, loss in ((person_unit("person"), PureDP(1)), (ROW_REPLACED, ZCDP("1/8"))):
        cells, _ = codings_of(clinic(unit), "visits", ("site", "age"), bins={"age": 2})

        def build(each: Loss, cells: Cells = cells) -> Any:
            return IndependentMarginals.calibrated(each, attributes=attributes_of(cells))

        data = ReferenceEngine(cells.dataset, {"visits": some_visits()})
        yield Example(synthesised(cells, loss, build), data, neighbours_of(cells.dataset))


class SyntheticMethod(Field[Any, Any]):
    """A mechanism on records that releases a model of them."""

    def convert(self, name: str, value: Any) -> Any:
        """Return it."""
        if not isinstance(value, Mechanism) or value.distance is not RECORDS or not hasattr(value, "attributes"):
            raise InvalidParameter(name, value, "a synthetic method, whose distance is counted in records")
        return value


@register(
    examples=_examples,
    source="Differentially Private SQL with Bounded User Contribution (Wilson et al. 2020), section 3, for the limits",
)
@dataclass(frozen=True, kw_only=True)
class CountedRecords(Composed[Engine, Model]):
    """Release a model of the rows of a data set by a synthetic method, which asks the engine for marginals.

    Guarantee: data sets one unit apart lose what ``method`` loses at the number of rows that one unit adds or removes
    under the declared limits; twice that where units are replaced.

    Args:
        cells: the rows, and the code of each of their columns; public.
        method: a synthetic method on these columns.

    >>> from dither.privacy import ROW
    >>> from dither.data.examples import clinic
    >>> from dither.publish.synthetic.columns import codings_of
    >>> cells, _ = codings_of(clinic(ROW), "visits", ("site", "drug"))
    >>> method = IndependentMarginals.calibrated(PureDP(1), attributes=attributes_of(cells))
    >>> CountedRecords(cells=cells, method=method).loss(1) <= PureDP(1)
    True

    """

    name: ClassVar[str] = "counted-records"
    version: ClassVar[int] = 2
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "how well a model describes the records depends on the records"
    no_interval_because: ClassVar[str] = no_error_because

    cells: CellsField = CellsField()
    method: SyntheticMethod = SyntheticMethod()

    def __post_init__(self) -> None:
        """Refuse a method for other columns."""
        if self.method.attributes != attributes_of(self.cells):
            raise InvalidParameter("method", self.method.attributes.names, "a method on the columns of the cells")

    @property
    def distance(self) -> Unit:
        """The unit of the data set."""
        return self.cells.dataset.unit

    @cached_property
    def stability(self) -> Fraction:
        """How many rows one unit adds and removes together."""
        return self.cells.sensitivity.l1

    def aggregations(self) -> tuple[Aggregation, ...]:
        """Return what the engine is asked for first."""
        return Margins(self.cells, first_marginals(self.method.attributes)).asked

    def plan(self) -> Plan:
        """Use the method once."""
        return Use(self.method, self.stability)

    def release(self, data: Engine, run: Runner) -> Model:
        """Return the model."""
        model: Model = run(self.method, EngineRecords(self.cells, data), stability=self.stability)
        return model


def synthesised(cells: Cells, target: Loss, build: Callable[[Loss], Any]) -> CountedRecords:
    """Return the release of a model by ``build(loss for records 1 apart)`` within ``target``."""
    release = CountedRecords(cells=cells, method=build(per_count(target, cells.sensitivity.l1)))
    if not release.loss(1) <= target:
        raise NoGuarantee(f"the release would lose {release.loss(1)}, which is not within {target}")
    return release

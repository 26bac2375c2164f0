"""Coded rows: a curator's rows become whole numbers in their engine, and a method on records looks at them in memory.

For methods that need rows and not marginals alone: DiffGen, whose groups are known only at the end, and DiffPart, whose
records are sets of items. The engine returns every combination of codes that occurs, with how often it does: never more
than there are rows. Cost: one aggregation, then what the method costs. Guarantee: that of the method, at the number of
records that one unit of the data set adds, removes or replaces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from dither.data import Aggregation
from dither.data.engines.protocol import Engine
from dither.errors import InvalidParameter, NoGuarantee
from dither.exact import Field
from dither.lift.cells import Cells
from dither.lift.items import ItemTable
from dither.mechanisms import Numerics, Runner, register
from dither.mechanisms.core import Composed, Mechanism
from dither.mechanisms.registry import Example
from dither.privacy import RECORDS, ROW_REPLACED, ZCDP, Loss, Plan, PureDP, Unit, Use
from dither.publish.counted import per_count
from dither.publish.counted_marginals import attributes_of
from dither.publish.microdata.diffgen import DiffGen
from dither.publish.microdata.diffpart import DiffPart
from dither.publish.microdata.taxonomy import OrderedCells, Taxonomy


def _examples() -> Iterator[Example]:
    from dither.data.examples import clinic, neighbours_of, some_visits
    from dither.data.reference import ReferenceEngine
    from dither.data.schema import person_unit
    from dither.publish.synthetic.columns import codings_of

    person, swapped = person_unit("person"), person_unit("person", replaced=True)
    for unit, loss in ((person, PureDP(2)), (ROW_REPLACED, ZCDP("1/8"))):
        cells, _ = codings_of(clinic(unit), "visits", ("age", "site"), bins={"age": 3})
        common: dict[str, Any] = {"attributes": attributes_of(cells), "trees": (OrderedCells((0, 1, 2, 3)),)}

        def build(each: Loss, common: dict[str, Any] = common) -> Any:
            return DiffGen.calibrated(each, **common, class_attribute="site", specialisations=1)

        data = ReferenceEngine(cells.dataset, {"visits": some_visits()})
        yield Example(rows_within(cells, loss, build), data, neighbours_of(cells.dataset))
    drugs, _ = codings_of(clinic(swapped), "visits", ("drug",))
    items, tree = ItemTable(drugs.dataset, drugs.relation, drugs.axes[0]), Taxonomy.flat(["a", "b", "c"])
    data = ReferenceEngine(drugs.dataset, {"visits": some_visits()})
    made = rows_within(items, PureDP(2), lambda each: DiffPart.calibrated(each, taxonomy=tree))
    yield Example(made, data, neighbours_of(drugs.dataset))


class _Source(Field[Any, Any]):
    """Private rows as codes, or as sets of items."""

    def convert(self, name: str, value: Any) -> Any:
        if not isinstance(value, Cells | ItemTable):
            raise InvalidParameter(name, value, "Cells or an ItemTable")
        if isinstance(value, Cells) and not all(axis.is_numbered for axis in value.axes):
            raise InvalidParameter(name, value.names, "cells of coded columns, as codings_of makes them")
        return value


class _Method(Field[Any, Any]):
    """A mechanism on records in memory."""

    def convert(self, name: str, value: Any) -> Any:
        if not isinstance(value, Mechanism) or value.distance is not RECORDS:
            raise InvalidParameter(name, value, "a mechanism on records, whose distance is counted in records")
        return value


@register(
    examples=_examples,
    source="Differentially Private SQL with Bounded User Contribution (Wilson et al. 2020), section 3, for the limits",
)
@dataclass(frozen=True, kw_only=True)
class CodedRows(Composed[Engine, Any]):
    """Release what a method on records makes of the rows of a data set, coded by their engine.

    Guarantee: data sets one unit apart lose what ``method`` loses at the number of records that one unit adds or
    removes: as many rows as the declared limits leave, or one set of items for each person; twice that where units are
    replaced.

    Args:
        source: the rows and the code of each of their columns, or the items of each person; public.
        method: a mechanism on such records.

    >>> from dither.privacy import ROW
    >>> from dither.data.examples import clinic
    >>> from dither.publish.synthetic.columns import codings_of
    >>> cells, _ = codings_of(clinic(ROW), "visits", ("drug", "site"))
    >>> method = DiffGen.calibrated(
    ...     PureDP(1), attributes=attributes_of(cells), trees=[Taxonomy.flat(["a", "b", "c"])], class_attribute="site")
    >>> CodedRows(source=cells, method=method).loss(1)
    PureDP('1')

    """

    name: ClassVar[str] = "coded-rows"
    version: ClassVar[int] = 2
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "what the method makes of the rows depends on the rows"
    no_interval_because: ClassVar[str] = no_error_because

    source: _Source = _Source()
    method: _Method = _Method()

    def __post_init__(self) -> None:
        """Refuse a method for other columns or items."""
        if isinstance(self.source, Cells):
            fits = getattr(self.method, "attributes", None) == attributes_of(self.source)
        else:
            fits = getattr(getattr(self.method, "taxonomy", None), "size", None) == self.source.item.size
        if not fits:
            raise InvalidParameter("method", self.method.name, "a method on the columns or items of the source")

    @property
    def distance(self) -> Unit:
        """The unit of the data set."""
        unit: Unit = self.source.dataset.unit
        return unit

    @property
    def stability(self) -> Fraction:
        """How many records one unit adds and removes together."""
        return moved_by(self.source)

    def aggregations(self) -> tuple[Aggregation, ...]:
        """Return what the engine is asked for."""
        return (self.source.asked,)

    def plan(self) -> Plan:
        """Use the method once."""
        return Use(self.method, self.stability)

    def release(self, data: Engine, run: Runner) -> Any:
        """Return what the method makes of the records; whatever an engine returns, nothing raises because of it."""
        answer = data.aggregate(self.source.asked)
        if isinstance(self.source, ItemTable):
            records = self.source.records(answer)
        else:
            places, counts = self.source.filled(answer)
            records = np.repeat(places, counts, axis=0)
        return run(self.method, records, stability=self.stability)


def moved_by(source: Cells | ItemTable) -> Fraction:
    """Return how many records one unit adds and removes together."""
    return Fraction(source.moved) if isinstance(source, ItemTable) else source.sensitivity.l1


def rows_within(source: Cells | ItemTable, target: Loss, build: Callable[[Loss], Any]) -> CodedRows:
    """Return the release by ``build(loss for records 1 apart)`` within ``target``."""
    release = CodedRows(source=source, method=build(per_count(target, moved_by(source))))
    if not release.loss(1) <= target:
        raise NoGuarantee(f"the release would lose {release.loss(1)}, which is not within {target}")
    return release

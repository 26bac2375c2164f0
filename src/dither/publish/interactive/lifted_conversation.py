"""Lifted conversation: a conversation about the counts of a data set's declared columns.

For questions about a curator's tables. Cost: one statement that counts the cells, then what the construction costs.
Guarantee: that of the construction, at the distance by which one unit of the data set moves the counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from dither.data import Aggregation
from dither.data.engines.protocol import Engine
from dither.data.examples import clinic, neighbours_of, some_visits
from dither.data.reference import ReferenceEngine
from dither.data.schema import person_unit
from dither.errors import InvalidParameter, NoGuarantee
from dither.exact import Of
from dither.lift.cells import Cells, cells_of
from dither.mechanisms.core.mechanism import Interactive, Numerics
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.registry import Dialogue, Example, register
from dither.mechanisms.core.runner import Runner
from dither.privacy import ROW_REPLACED, Derived, Loss, Plan, PureDP, Unit
from dither.publish.interactive.construction import ModelTalk
from dither.publish.interactive.model_first import ModelFirst
from dither.publish.interactive.product_first import ProductFirst
from dither.publish.interactive.products import WeightedRecords
from dither.publish.synthetic.cell_queries import LARGEST_TABLE


def _examples() -> Iterator[Example]:
    for dataset in (clinic(person_unit("person")), clinic(ROW_REPLACED)):
        source = cells_of(dataset, "visits", ("site", "age"), {"age": 2})
        script = (np.array([[True, False], [False, True]]), np.array([[True, True], [False, False]]))
        made = LiftedConversation.calibrated(PureDP(2), source=source, corrections=1, questions=2)
        data = ReferenceEngine(dataset, {"visits": some_visits()})
        pairs = tuple(
            (Dialogue(here, script), Dialogue(there, script), apart) for here, there, apart in neighbours_of(dataset)
        )
        yield Example(made, Dialogue(data, script), pairs)
        products = (
            {"site": np.array([True, False])},
            {"site": np.array([False, True]), "age": np.array([True, False])},
        )
        each = Purse.within(PureDP(2)).per(source.sensitivity.l1).loss
        singles = (("site",), ("age",))
        method = ProductFirst.calibrated(
            each, attributes=source.attributes, marginals=singles, corrections=1, questions=2
        )
        wide = LiftedConversation(source=source, method=method)
        moved = tuple(
            (replace(one, script=products), replace(two, script=products), apart) for one, two, apart in pairs
        )
        yield Example(wide, Dialogue(data, products), moved)


@register(
    examples=_examples,
    source="Differentially Private SQL with Bounded User Contribution (Wilson et al. 2020), section 3, for the limits",
)
@dataclass(frozen=True, kw_only=True)
class LiftedConversation(Interactive[Engine, ModelTalk[Any]]):
    """Count the cells of declared columns once, and answer any number of counting questions about them.

    Guarantee: data sets one unit apart lose what ``method`` loses at the L1 distance by which one unit moves the counts
    of ``source``.

    Args:
        source: which rows, and into which cell each falls; public.
        method: how questions about the counts are answered; ``ProductFirst`` answers conjunctions of conditions on
            single columns, which may have more than 2^20 cells together.

    >>> from dither.privacy import ROW
    >>> sites = cells_of(clinic(ROW), "visits", ("site", "age"), {"age": 4})
    >>> LiftedConversation.calibrated(PureDP(1), source=sites).loss(1) <= PureDP(1)
    True

    """

    name: ClassVar[str] = "lifted-conversation"
    version: ClassVar[int] = 2
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = ModelFirst.no_error_because
    no_interval_because: ClassVar[str] = ModelFirst.no_interval_because

    source: Of[Cells] = Of(Cells)
    method: Of[ModelFirst] = Of(ModelFirst)

    def __post_init__(self) -> None:
        """Reject a method for other columns."""
        if not self.is_product:
            self.source.check(self.method)
        if self.method.attributes != self.source.attributes:
            rule = f"for the columns and cells of the source: {self.source.attributes}"
            raise InvalidParameter("method", self.method.attributes, rule)

    @classmethod
    def calibrated(cls, within: Loss, *, source: Cells, **settings: Any) -> Self:
        """Return the conversation whose loss for one unit of the data set is within ``within``.

        Args:
            within: the most that one unit may lose, over all questions.
            source: which rows, and into which cell each falls.
            settings: those of ``ModelFirst.calibrated``.

        """
        each = Purse.within(within).per(source.sensitivity.l1).loss
        kind = ModelFirst if source.attributes.cells <= LARGEST_TABLE else ProductFirst
        method = kind.calibrated(each, attributes=source.attributes, **settings)
        made = cls(source=source, method=method)
        if not made.loss(1) <= within:
            raise NoGuarantee(f"the conversation would lose {made.loss(1)}, which is not within {within}")
        return made

    @property
    def is_product(self) -> bool:
        """Whether no table of all cells is written out, and questions are conditions on single columns."""
        return isinstance(self.method, ProductFirst)

    @property
    def stability(self) -> Fraction:
        """How far one unit moves the counts in L1."""
        return self.source.sensitivity.l1

    @property
    def distance(self) -> Unit:
        """The unit of the data set."""
        return self.source.dataset.unit

    def aggregations(self) -> tuple[Aggregation, ...]:
        """Return the statement that counts the cells; an engine may refuse it before anything is charged."""
        return (self.source.asked,)

    def check_public(self, data: Engine) -> None:
        """Reject, by public rows alone, what cannot be released: nothing."""

    def plan(self) -> Plan:
        """Use the method once."""
        return Derived(self.method, self.stability)

    def open(self, data: Engine, run: Runner) -> ModelTalk[Any]:
        """Return the conversation about the counts as they are now."""
        return run.converse(self.method, self.read(data), stability=self.stability)

    def read(self, data: Engine) -> Any:
        """Return the counts in the form that the method takes: a table, or the cells that are not empty; private."""
        return self.records(data) if self.is_product else self.source.read(data)

    def records(self, data: Engine) -> WeightedRecords:
        """Return the cells that are not empty; private."""
        return WeightedRecords(self.source.attributes, *self.source.filled(data.aggregate(self.source.asked)))

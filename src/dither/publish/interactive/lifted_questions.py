"""Lifted questions: a conversation that learns other questions than sets of cells, about a data set.

For cuts of a declared graph, and for distances, disjunctions and minimisers over the columns of a curator's table.
Cost: one statement that counts cells or lists edges, then what the method costs. Guarantee: that of the method, at the
distance by which one unit of the data set moves what is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dither.data import Aggregation
from dither.data.engines.protocol import Engine
from dither.data.examples import clinic, neighbours_of, some_visits
from dither.data.reference import ReferenceEngine
from dither.data.schema import person_unit
from dither.errors import InvalidParameter
from dither.exact import Of
from dither.lift.cells import Cells, cells_of
from dither.lift.edges import Edges
from dither.mechanisms.core.mechanism import Interactive, Numerics
from dither.mechanisms.core.public import PublicArray
from dither.mechanisms.core.registry import Dialogue, Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.geometric import Geometric
from dither.privacy import EDGE, L1, RECORDS, ROW_REPLACED, Derived, Plan, PureDP, Unit
from dither.publish.graphs.examples import NODES, SOME_EDGES, edge_neighbours, friends_engine, friends_of
from dither.publish.interactive.construction import comparing
from dither.publish.interactive.cuts import CutConversation
from dither.publish.interactive.disjunctions import DisjunctionConversation
from dither.publish.interactive.distances import DistanceConversation
from dither.publish.interactive.minimisers import MinimisingConversation
from dither.publish.interactive.products import WeightedRecords

AskedMethod: TypeAlias = CutConversation | DistanceConversation | DisjunctionConversation | MinimisingConversation
Numbers: TypeAlias = NDArray[np.int64]


def _examples() -> Iterator[Example]:
    sparse = comparing(PureDP(1), 1, 2)
    persons, rows = clinic(person_unit("person")), clinic(ROW_REPLACED)
    ages, both = cells_of(rows, "visits", "age", 3), cells_of(persons, "visits", ("site", "age"), {"age": 2})
    line = PublicArray(np.abs(np.arange(3)[:, None] - np.arange(3)))
    few, losses = Geometric(scale=2), PublicArray([[0, 1, 2], [2, 1, 0]])
    minimiser = MinimisingConversation.calibrated(PureDP(1), cells=3, candidates=2, top=2, corrections=1, questions=2)
    disjunction = DisjunctionConversation(attributes=both.attributes, degree=1, sparse=sparse, total=few)
    asked: tuple[tuple[Cells, AskedMethod, tuple[Any, ...]], ...] = (
        (ages, DistanceConversation(metric=line, sparse=sparse, total=few), (0, 2)),
        (ages, minimiser, (losses,)),
        (both, disjunction, (("site", "age"), ("age",))),
    )
    for source, method, script in asked:
        pairs = neighbours_of(source.dataset)
        moved = tuple((Dialogue(here, script), Dialogue(there, script), apart) for here, there, apart in pairs)
        data = ReferenceEngine(source.dataset, {"visits": some_visits()})
        yield Example(LiftedQuestions(source=source, method=method), Dialogue(data, script), moved)
    cuts = CutConversation.calibrated(PureDP(1), nodes=NODES, corrections=1, questions=2)
    left = np.arange(NODES) < 4
    for most in (None, 8):
        graph = friends_of(EDGE, most)
        pairs = tuple((friends_engine(graph, one), friends_engine(graph, two), 1) for one, two, _ in edge_neighbours())
        script = ((left, ~left), (left, left))
        moved = tuple((Dialogue(here, script), Dialogue(there, script), apart) for here, there, apart in pairs)
        made = LiftedQuestions(source=Edges(graph, "friends"), method=cuts)
        yield Example(made, Dialogue(friends_engine(graph, SOME_EDGES), script), moved)


@register(
    examples=_examples,
    source="Differentially Private SQL with Bounded User Contribution (Wilson et al. 2020), section 3, for the limits",
    reference=True,
)
@dataclass(frozen=True, kw_only=True)
class LiftedQuestions(Interactive[Engine, Any]):
    """Read cells or edges of a data set once, and answer any number of questions about them.

    Guarantee: data sets one unit apart lose what ``method`` loses at the distance by which one unit moves what
    ``source`` reads.

    Args:
        source: the cells of some columns, or the edges of a graph; public.
        method: how questions are answered.

    >>> from dither.privacy import ROW
    >>> source = cells_of(clinic(ROW), "visits", "age", 4)
    >>> hours = PublicArray(np.abs(np.arange(4)[:, None] - np.arange(4)))
    >>> made = LiftedQuestions(source=source, method=DistanceConversation.calibrated(PureDP(1), metric=hours))
    >>> made.loss(1) <= PureDP(1)
    True

    """

    name: ClassVar[str] = "lifted-questions"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "how soon a model has learned enough depends on the data and the questions"
    no_interval_because: ClassVar[str] = "after the last correction nothing is compared"

    source: Of[Cells | Edges] = Of(Cells, Edges, rule="the cells of a table, or the edges of a graph")
    method: Of[AskedMethod] = Of(
        CutConversation,
        DistanceConversation,
        DisjunctionConversation,
        MinimisingConversation,
        rule="a conversation about cuts, distances, disjunctions or minimisers",
    )

    def __post_init__(self) -> None:
        """Reject a method for another table or graph."""
        if isinstance(self.source, Edges):
            self.source.check(self.method)
            return
        self.source.check_dense()
        if self.method.distance not in (L1, RECORDS):
            raise InvalidParameter("method", self.method.name, "one about the rows of a table, and not about edges")
        if isinstance(self.method, DisjunctionConversation):
            if self.method.attributes != self.source.attributes:
                rule = f"for the columns and cells of the source: {self.source.attributes}"
                raise InvalidParameter("method", self.method.attributes, rule)
        elif self._cells != self.source.attributes.cells:
            rule = f"for the {self.source.attributes.cells} cells of the source"
            raise InvalidParameter("method", f"{self._cells} cells", rule)

    @property
    def _cells(self) -> int:
        made: Any = self.method
        return len(made.metric.values) if isinstance(made, DistanceConversation) else int(made.cells)

    @property
    def stability(self) -> Fraction:
        """How far one unit moves what is read: the rows that come and go, which is L1 of counts, or the edges."""
        moves = self.source.moves()
        return moves[self.method.distance] if isinstance(self.source, Edges) else moves[L1]

    @property
    def distance(self) -> Unit:
        """The unit of the data set."""
        return self.source.dataset.unit

    def aggregations(self) -> tuple[Aggregation, ...]:
        """Return the statement that reads; an engine may refuse it before anything is charged."""
        return self.source.aggregations()

    def check_public(self, data: Engine) -> None:
        """Reject, by public rows alone, what cannot be released: nothing."""

    def plan(self) -> Plan:
        """Use the method once."""
        return Derived(self.method, self.stability)

    def open(self, data: Engine, run: Runner) -> Any:
        """Return the conversation about what is there now."""
        method: Any = self.method
        return run.converse(method, self.told(self.read(data)), stability=self.stability)

    def read(self, data: Engine) -> Numbers:
        """Return what is read as integers, whose number is public: counts of all cells, or a bit for every pair."""
        found = self.source.read(data)
        if isinstance(self.source, Cells):
            return np.asarray(found.ravel())
        table = np.zeros((self.source.nodes, self.source.nodes), dtype=np.bool_)
        table[found[:, 0], found[:, 1]] = True
        packed = np.packbits(table)
        return np.pad(packed, (0, -len(packed) % 8)).view("<i8").astype(np.int64)

    def told(self, numbers: Numbers) -> Any:
        """Return what the method takes, from what was read."""
        if isinstance(self.source, Cells):
            if not isinstance(self.method, DisjunctionConversation):
                return numbers
            counts = numbers.reshape(self.source.shape)
            places = np.argwhere(counts > 0)
            return WeightedRecords(self.source.attributes, places, counts[counts > 0])
        size = self.source.nodes
        bits = np.unpackbits(numbers.astype("<i8").view(np.uint8), count=size * size)
        return np.argwhere(bits.reshape(size, size))

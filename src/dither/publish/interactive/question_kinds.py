"""Other questions than counts of cells, about a data set: from declared facts and a loss to a mechanism.

A question is a text, as that of a count is a condition: two sets of nodes, a place, some columns, a table of losses.
What it means follows from the text and the schema alone.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from dither.data import DataSet, Kind
from dither.errors import InvalidParameter
from dither.exact import Number, probability
from dither.lift.edges import Edges
from dither.mechanisms.core.public import PublicArray
from dither.mechanisms.core.purse import Purse
from dither.privacy import EDGE, Loss
from dither.publish.interactive.construction import FROM_MODEL, Answer
from dither.publish.interactive.cuts import CutConversation
from dither.publish.interactive.disjunctions import DisjunctionConversation
from dither.publish.interactive.distances import DistanceConversation
from dither.publish.interactive.lifted_questions import LiftedQuestions
from dither.publish.interactive.minimisers import Chosen, MinimisingConversation
from dither.publish.interactive.planning import CountAnswer, asked_cells, with_interval
from dither.publish.synthetic.columns import Coding

COUNTS, CUTS, DISTANCES, DISJUNCTIONS, MINIMISERS = "counts", "cuts", "distances", "disjunctions", "minimisers"
#: What can be asked besides counts, and what may be said with each.
KINDS: Final[Mapping[str, frozenset[str]]] = {
    CUTS: frozenset(),
    DISTANCES: frozenset({"columns", "bins", "metric"}),
    DISJUNCTIONS: frozenset({"columns", "degree"}),
    MINIMISERS: frozenset({"columns", "bins", "candidates", "top"}),
}
LINE, CIRCLE = "line", "circle"
_BETWEEN: Final = "|"


@dataclass(frozen=True)
class ChosenAnswer:
    """Which candidate has the least loss.

    Args:
        question: the losses, as they were asked.
        candidate: its number, counted from 0.
        excess: what it loses beyond the best one at most, over all rows; None where that is not known.
        confidence: of that bound.
        source: ``"measured"`` or ``"from the model"``.

    """

    question: str
    candidate: int
    excess: float | None
    confidence: float
    source: str

    def __str__(self) -> str:
        known = "no bound known" if self.excess is None else f"at most {self.excess:g} worse at {self.confidence:g}"
        return f"candidate {self.candidate}, {known}, {self.source}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return dict(vars(self))


@dataclass(frozen=True)
class PlannedQuestions:
    """A conversation about other questions than counts, priced but not yet opened.

    Args:
        mechanism: what answers.
        kind: one of ``KINDS``.
        table: whose rows or edges it is about.
        codings: the meaning of its cells, where it has columns.
        nodes: the names of nodes in the order of their numbers, of a graph.

    """

    mechanism: LiftedQuestions
    kind: str
    table: str
    codings: tuple[Coding, ...] = ()
    nodes: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are asked about."""
        return tuple(one.column for one in self.codings)

    @property
    def words(self) -> str:
        """What is paid for, in one line for people."""
        by = f" by {', '.join(self.columns)}" if self.columns else ""
        return f"{self.kind} of {self.table}{by}, any number of questions"

    def asked(self, question: str) -> Any:
        """Return what a text asks for, in the form that the method takes, or reject it."""
        method = self.mechanism.method
        if isinstance(method, CutConversation):
            return self._sets(question)
        asked: Any = _losses(question) if self.kind == MINIMISERS else tuple(one.strip() for one in question.split(","))
        if self.kind == DISTANCES:
            asked = _place(self.codings[0], question.strip())
        method.checked(asked)
        return asked

    def _sets(self, question: str) -> tuple[Any, Any]:
        """Return two sets of nodes; of one set the other is all other nodes."""
        sides = [self._set(side) for side in question.split(_BETWEEN)]
        if len(sides) > 2:
            raise InvalidParameter("question", question, f"one or two sets of nodes, with {_BETWEEN} between them")
        return sides[0], ~sides[0] if len(sides) == 1 else sides[1]

    def _set(self, names: str) -> Any:
        found, places = np.zeros(len(self.nodes), dtype=np.bool_), {name: at for at, name in enumerate(self.nodes)}
        for name in names.split(","):
            if name.strip() not in places:
                raise InvalidParameter("question", name.strip(), f"names of declared nodes of {self.table}")
            found[places[name.strip()]] = True
        return found

    def present(self, question: str, answer: Any, confidence: Number) -> CountAnswer | ChosenAnswer:
        """Return an answer with what is known of its error."""
        method = self.mechanism.method
        if isinstance(method, MinimisingConversation):
            bound, level = method.excess(answer, confidence), float(probability("confidence", confidence))
            source = f"{FROM_MODEL}, nothing compared" if bound is None else answer.source
            return ChosenAnswer(
                question, answer.candidate, None if bound is None else float(bound.value), level, source
            )
        return with_interval(question, answer, method.interval(answer, confidence), confidence)

    def answer_of(self, stored: Mapping[str, Any]) -> Answer | Chosen:
        """Return an answer that was stored as plain data."""
        return Chosen(**stored) if self.kind == MINIMISERS else Answer(**stored)


def plan_questions(
    dataset: DataSet,
    kind: str,
    table: str,
    columns: Sequence[str] | None,
    loss: Loss,
    *,
    nodes: Sequence[Any] = (),
    bins: Mapping[str, Any] | None = None,
    corrections: int | None = None,
    questions: int = 1000,
    **said: Any,
) -> PlannedQuestions:
    """Return a conversation about other questions than counts, within a loss for all of them together.

    Args:
        dataset: the schema.
        kind: one of ``KINDS``.
        table: the name of a private table; of edges for cuts.
        columns: which are asked about.
        loss: the most that one unit may lose.
        nodes: the names of the nodes of a graph in their order; for cuts.
        bins: for numeric columns a number of cells, or their edges.
        corrections: how many gross errors of the model are measured; by default as the method says.
        questions: about how many will be asked; any number may be.
        **said: what ``KINDS`` names for the kind, ``metric``, ``degree``, ``candidates`` and ``top``.

    """
    if kind not in KINDS:
        raise InvalidParameter("kind", kind, f"one of {', '.join((COUNTS, *KINDS))}")
    for name, value in (*said.items(), ("columns", columns), ("bins", bins)):
        if value is not None and name not in KINDS[kind]:
            raise InvalidParameter(name, value, f"not allowed for {kind!r}")
    how = {name: value for name, value in said.items() if value is not None} | {"questions": questions}
    how |= {} if corrections is None else {"corrections": corrections}
    if kind == CUTS:
        edges = Edges(dataset, table)
        if EDGE not in edges.moves():
            rule = "a kind that node privacy supports: one node may move a cut by too much"
            raise InvalidParameter("kind", kind, rule)
        each = Purse.within(loss).per(edges.moves()[EDGE]).loss
        cuts = CutConversation.calibrated(each, nodes=edges.nodes, **how)
        return PlannedQuestions(LiftedQuestions(source=edges, method=cuts), kind, table, (), tuple(map(str, nodes)))
    if not columns:
        raise InvalidParameter("columns", columns, "required: the columns of the questions")
    cells, codings = asked_cells(dataset, table, columns, bins)
    each = Purse.within(loss).per(cells.sensitivity.l1).loss
    method: Any
    if kind == DISTANCES:
        if len(codings) != 1:
            raise InvalidParameter("columns", list(columns), "one column, whose cells are the places")
        method = DistanceConversation.calibrated(each, metric=_metric(how.pop("metric", LINE), codings[0]), **how)
    elif kind == DISJUNCTIONS:
        if other := [one.column for one in codings if one.size != 2]:
            raise InvalidParameter("columns", other[0], "columns of two values, of which the second means yes")
        method = DisjunctionConversation.calibrated(each, attributes=cells.attributes, **how)
    else:
        for name in ("candidates", "top"):
            if name not in how:
                raise InvalidParameter(name, None, f"required for {kind!r}")
        method = MinimisingConversation.calibrated(each, cells=cells.attributes.cells, **how)
    return PlannedQuestions(LiftedQuestions(source=cells, method=method), kind, dataset.table(table).name, codings)


def _metric(given: Any, coding: Coding) -> PublicArray:
    """Return the distance of each cell from each."""
    places = np.arange(coding.size)
    apart = np.abs(places[:, None] - places)
    if isinstance(given, str):
        if given not in (LINE, CIRCLE):
            raise InvalidParameter("metric", given, f"{LINE!r}, {CIRCLE!r}, or a table of whole distances")
        return PublicArray(np.minimum(apart, coding.size - apart) if given == CIRCLE else apart)
    return PublicArray(_table("metric", given))


def _place(coding: Coding, text: str) -> int:
    """Return the number of the cell in which a value lies."""
    if coding.labels is not None:
        names = [str(label) for label in coding.labels]
        if text in names:
            return names.index(text)
    elif coding.kind in (Kind.INTEGER, Kind.REAL):
        edges = [float(edge) for edge in coding.edges or ()]  # type: ignore[arg-type]
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if edges[0] <= value <= edges[-1]:
            return min(bisect_right(edges, value), len(edges) - 1) - 1
    raise InvalidParameter("question", text, f"a declared value of {coding.column}")


def _losses(text: str) -> PublicArray:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    return PublicArray(_table("question", found))


def _table(parameter: str, given: Any) -> Any:
    """Return rows of whole numbers as an array, or reject what is none."""
    rows = given.tolist() if isinstance(given, np.ndarray) else given
    is_table = isinstance(rows, Sequence) and not isinstance(rows, str) and len(rows) > 0
    is_table = is_table and all(isinstance(row, Sequence) and not isinstance(row, str) for row in rows)
    if not is_table or not rows[0] or any(len(row) != len(rows[0]) for row in rows):
        raise InvalidParameter(parameter, "no table", "rows of integers, all of one length")
    if any(type(cell) is not int or not 0 <= cell <= 2**20 for row in rows for cell in row):
        raise InvalidParameter(parameter, "another number", "integers from 0 to 2^20")
    return np.array(rows, dtype=np.int64)

"""Planning a conversation: from declared columns and a loss to cells, a mechanism, and questions in SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from dither.data import DataSet, Kind
from dither.exact import Number
from dither.lift.cells import Cells
from dither.mechanisms.core.mechanism import Interval
from dither.pages.digits import alone, in_digits
from dither.privacy import Loss
from dither.publish.interactive.construction import FROM_MODEL, Answer
from dither.publish.interactive.lifted_conversation import LiftedConversation
from dither.publish.interactive.products import Product
from dither.publish.interactive.questions import Questions
from dither.publish.interactive.updates import Mask
from dither.publish.queries.query import Query
from dither.publish.synthetic.columns import Coding, codings_of

#: Integer columns with up to this many values have a cell for each.
_MOST_SINGLE: Final = 256


@dataclass(frozen=True)
class CountAnswer:
    """The answer to one question.

    Args:
        question: in SQL.
        count: the number of rows.
        low: the lower end of the interval; None where none is known.
        high: its upper end.
        confidence: of the interval.
        source: ``"measured"`` or ``"from the model"``.

    """

    question: str
    count: int
    low: int | None
    high: int | None
    confidence: float
    source: str

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return f"{alone(self.count)} no interval known, {self.source}"
        count, low, high = in_digits(self.count, self.low, self.high)
        return f"{count} [{low}, {high}] at {self.confidence:g}, {self.source}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "question": self.question,
            "count": self.count,
            "low": self.low,
            "high": self.high,
            "confidence": self.confidence,
            "source": self.source,
        }


@dataclass(frozen=True)
class PlannedConversation:
    """A conversation that is priced but not yet opened.

    Args:
        mechanism: what answers.
        codings: the meaning of its cells.
        table: whose rows are counted.

    """

    mechanism: LiftedConversation
    codings: tuple[Coding, ...]
    table: str

    @cached_property
    def questions(self) -> Questions:
        """The cells, as conditions speak of them."""
        return Questions(self.table, self.codings, self.mechanism.source.dataset.table(self.table).kinds)

    def asked(self, query: Query) -> Product | Mask:
        """Return what a query asks for, in the form that the mechanism takes, or reject it."""
        return self.questions.product(query) if self.mechanism.is_product else self.questions.cells(query)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that can be asked about."""
        return tuple(self.questions.columns)

    @property
    def words(self) -> str:
        """What is paid for, in one line for people."""
        return f"counts of {self.table} by {', '.join(self.questions.columns)}, any number of questions"

    def present(self, question: str, answer: Answer, confidence: Number) -> CountAnswer:
        """Return an answer with its interval; it has no more digits than a count."""
        return with_interval(question, answer, self.mechanism.method.interval(answer, confidence), confidence)

    def answer_of(self, stored: Mapping[str, Any]) -> Answer:
        """Return an answer that was stored as plain data."""
        return Answer(**stored)


def with_interval(question: str, answer: Answer, interval: Interval | None, confidence: Number) -> CountAnswer:
    """Return an answer with its interval, where one is known; it has no more digits than a count."""
    if interval is None:
        return CountAnswer(question, answer.value, None, None, float(confidence), f"{FROM_MODEL}, nothing compared")
    low, high = int(-(-interval.low // 1)), int(interval.high // 1)
    # Of an interval that holds no integer, the nearest one on either side.
    low, high = (low, high) if low <= high else (high, low)
    return CountAnswer(question, answer.value, low, high, float(interval.confidence), answer.source)


def plan_conversation(
    dataset: DataSet,
    table: str,
    columns: Sequence[str],
    loss: Loss,
    *,
    bins: Mapping[str, Any] | None = None,
    corrections: int = 2,
    questions: int = 1000,
) -> PlannedConversation:
    """Return the conversation about some columns of a table, within a loss for all questions together.

    Args:
        dataset: the schema.
        table: the name of a private table.
        columns: which can be asked about: each with categories or bounds.
        loss: the most that one unit may lose.
        bins: for numeric columns a number of cells, or their edges; by default a cell for each integer where there are
            at most 256, else 32 cells.
        corrections: how many gross errors of the model are measured.
        questions: about how many will be asked; any number may be.

    """
    cells, codings = asked_cells(dataset, table, columns, bins)
    made = LiftedConversation.calibrated(loss, source=cells, corrections=corrections, questions=questions)
    return PlannedConversation(made, codings, dataset.table(table).name)


def asked_cells(
    dataset: DataSet, table: str, columns: Sequence[str], bins: Mapping[str, Any] | None
) -> tuple[Cells, tuple[Coding, ...]]:
    """Return the cells of some columns, of few integers one each, and what they mean.

    Args:
        dataset: the schema.
        table: the name of a private table.
        columns: which.
        bins: for numeric columns a number of cells, or their edges.

    """
    declared = dataset.table(table)
    given = dict(bins or {})
    for name in columns if not isinstance(columns, str) else ():
        column = declared.column(name)
        is_listed = column.kind is not Kind.INTEGER or column.categories is not None
        if name not in given and not is_listed and column.lower is not None and column.upper is not None:
            values = int(column.upper) - int(column.lower) + 1  # type: ignore[arg-type]
            if values <= _MOST_SINGLE:
                given[name] = values
    return codings_of(dataset, table, columns, bins=given)

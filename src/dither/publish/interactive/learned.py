"""Learned conversations: a model that begins with the number of rows, and learns from each gross error.

The loop of iterative construction for questions that are no sets of cells: what a question is, what its true answer is
and what answers in place of the data are the three things that a mechanism says. Cost: what the truth and the model
cost, for every question.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from dither.exact import Number, Of, probability
from dither.mechanisms.core.mechanism import Interactive, Interval
from dither.mechanisms.core.purse import OneCount
from dither.mechanisms.core.runner import Runner, quietly
from dither.mechanisms.gap_sparse import GapSparse
from dither.privacy import InOrder, Plan, Use
from dither.publish.interactive.construction import (
    FROM_MODEL,
    MEASURED,
    NOTHING,
    Answer,
    compared_reach,
    compares,
    rounded,
    settled,
)
from dither.publish.synthetic.cell_queries import rounded_total

Q = TypeVar("Q")
Q_contra = TypeVar("Q_contra", contravariant=True)


class Model(Protocol[Q_contra]):
    """What answers questions in place of the data, and learns."""

    def answer(self, question: Q_contra) -> float:
        """Return the answer to a question."""

    def learn(self, question: Q_contra, measured: float) -> None:
        """Learn a measured answer."""


@dataclass(frozen=True, kw_only=True)
class Learned(Interactive[Any, "LearnedTalk[Q]"], Generic[Q]):
    """Shared: the number of rows is measured, and a sparse vector compares a model with the data."""

    no_error_because: ClassVar[str] = "how soon a model has learned enough depends on the data and the questions"
    no_interval_because: ClassVar[str] = "after the last correction nothing is compared"

    sparse: Of[GapSparse] = Of(GapSparse, where=compares, rule="GapSparse without a margin, for changes either way")
    total: OneCount = OneCount()

    @property
    @abstractmethod
    def top(self) -> int:
        """How far one row moves the answer to any question, at most."""

    @abstractmethod
    def checked(self, question: Any) -> tuple[Any, Q]:
        """Return what tells a question from others and what it asks, or reject what is not a question."""

    @abstractmethod
    def held(self, data: Any) -> Any:
        """Return the data as questions are answered from them; private."""

    @abstractmethod
    def rows(self, held: Any) -> int:
        """Return the number of rows; private."""

    @abstractmethod
    def truth(self, held: Any, question: Q) -> int:
        """Return the true answer to a question; private."""

    @abstractmethod
    def model(self, total: int) -> Model[Q]:
        """Return what answers to begin with, for a released number of rows."""

    def plan(self) -> Plan:
        """Measure the number of rows, then compare."""
        return InOrder.of(Use(self.total, 1), Use(self.sparse, self.top))

    def open(self, data: Any, run: Runner) -> LearnedTalk[Q]:
        """Return the conversation."""
        return LearnedTalk(self, data, run)

    def interval(self, out: Any, confidence: Number) -> Interval | None:
        """Return an interval for the true answer of one question, or None where none is known.

        It holds before the answer is seen, for any question, also one that was chosen by looking at earlier answers.
        """
        wanted = probability("confidence", confidence, open_below=True)
        if out.ground == NOTHING:
            return None
        reach = compared_reach(self.sparse, out.ground, wanted)
        return Interval(max(out.centre - reach, 0.0), max(out.centre + reach, 0.0), wanted)


class LearnedTalk(Generic[Q]):
    """The conversation of a ``Learned`` mechanism. A question that was answered before has its stored answer."""

    def __init__(self, made: Learned[Q], data: Any, run: Runner) -> None:
        self._made = made
        self._held = made.held(data)
        self._model = made.model(rounded_total(run(made.total, made.rows(self._held), stability=1)))
        self._handle = run.open(made.sparse, stability=made.top)
        self._answers: dict[Any, Answer] = {}

    @property
    def is_compared(self) -> bool:
        """Whether answers are still compared with the data."""
        return not self._handle.is_over

    @quietly
    def ask(self, question: Any) -> Answer:
        """Return the answer to a question, which is public."""
        key, asked = self._made.checked(question)
        if key not in self._answers:
            self._answers[key] = self._answer(asked)
        return self._answers[key]

    def _answer(self, asked: Q) -> Answer:
        expected = rounded(self._model.answer(asked))
        if self._handle.is_over:
            return Answer(max(expected, 0), FROM_MODEL, NOTHING, float(expected))
        answer = settled(self._made.sparse, self._handle, self._made.truth(self._held, asked), expected)
        if answer.source == MEASURED:
            self._model.learn(asked, answer.centre)
        return answer

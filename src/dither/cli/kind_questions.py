"""What the wizard asks about each kind of data, registered under the kind's name.

Rows are of a kind in one of two ways. Either the kind is typed in place of a privacy id, and then its own questions are
asked in place of all others (rows that are edges belong to no one person); or it is a part of a table of rows or of
people, and its questions stand among the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from dither.cli.prompts import Question
from dither.data.facts import Facts
from dither.data.kinds import Slot
from dither.data.schema import DataSet


class Deciding(Protocol):
    """What takes answers to questions."""

    def leave_out(self, question: Question) -> str:
        """Decide that something is not declared; return why that cannot be, if it cannot."""

    def decide(self, question: Question, typed: str) -> str:
        """Take what was typed; return what is wrong with it, if anything is."""


class WholeAnswers(Deciding, Protocol):
    """What the owner has decided about a data set whose rows are all of one kind."""

    def applies(self, question: Question) -> bool:
        """Return whether a question is still open, by what was decided before."""

    def dataset(self) -> DataSet:
        """Return the whole data set."""


class PartAnswers(Deciding, Protocol):
    """What the owner has decided about one kind, as a part of a table of rows or people."""

    @property
    def tree(self) -> dict[str, Any]:
        """The part of a schema below the name of the kind; empty where there is none."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are named by now, which cannot be left out."""

    @property
    def unbounded(self) -> tuple[str, ...]:
        """Those of them whose bounds need not be asked for."""

    def applies(self, question: Question, *, has_persons: bool) -> bool:
        """Return whether a question is still open, by what was decided before."""


@dataclass(frozen=True)
class Whole:
    """The questions of a kind that stand in place of all others.

    Args:
        questions: returns them; only names and kinds of columns are looked at.
        answers: takes the answers, made of the facts and the name of the data set.
        choice: where its name is typed in place of a privacy id.
        said: before the first question.

    """

    questions: Callable[[Facts], list[Question]]
    answers: Callable[[Facts, str], WholeAnswers]
    choice: str
    said: str


@dataclass(frozen=True)
class Part:
    """The questions of a kind that stand among the others, each with a place below the kind's name.

    Args:
        questions: returns them; none where no columns are named like those of the kind.
        answers: takes the answers, made of the facts and of what returns what is wrong with the part as it is by now.
        why_needed: what a column of it is, which cannot be left out.

    """

    questions: Callable[[Facts], list[Question]]
    answers: Callable[[Facts, Callable[[Mapping[str, Any]], str]], PartAnswers]
    why_needed: str


#: What is asked about each kind.
QUESTIONS: Final = Slot[Whole | Part]({"graph": "dither.cli.graph_questions", "places": "dither.cli.place_questions"})


def wholes() -> Mapping[str, Whole]:
    """Return the kinds that are typed in place of a privacy id."""
    return {kind: found for kind, found in QUESTIONS.parts.items() if isinstance(found, Whole)}


def parts() -> Mapping[str, Part]:
    """Return the kinds that are a part of a table of rows or people."""
    return {kind: found for kind, found in QUESTIONS.parts.items() if isinstance(found, Part)}

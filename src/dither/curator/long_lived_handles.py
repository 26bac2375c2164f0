"""What callers do with something long-lived in one way, whether its rows are here or behind a service."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from dither.exact import Number
from dither.privacy import Loss, stated_loss
from dither.publish.queries.adaptive_parts import OpenPartition
from dither.publish.queries.builder import Groups, Rows
from dither.publish.queries.query import Query
from dither.publish.queries.result import QueryResult

if TYPE_CHECKING:
    from dither.pages.frame import Chart

#: A query of a part, or what makes one of its rows.
Question: TypeAlias = Callable[[Rows], Groups] | Query


class AskedByOne:
    """A conversation: questions come one by one or together."""

    @abstractmethod
    def ask_all(self, questions: Sequence[str], *, confidence: Number = "0.95") -> tuple[Any, ...]:
        """Return the answers to questions, as ``ask`` does each."""

    def ask(self, question: str, *, confidence: Number = "0.95") -> Any:
        """Return the answer to a question, at no additional cost; the same question has the same answer.

        Args:
            question: ``SELECT COUNT(*) FROM table WHERE ...``, or the condition alone, over the columns of the
                conversation. Of cuts two sets of nodes, ``ann, bob | carl``, or one for all edges that leave it; of
                distances a place; of disjunctions columns, ``smokes, drinks``; of minimisers a JSON table of losses, a
                row for each candidate and a column for each cell.
            confidence: the level of the interval, for one question.

        """
        return self.ask_all([question], confidence=confidence)[0]


class AskedByPart:
    """An account of parts: each question is about one part."""

    @property
    @abstractmethod
    def partition(self) -> OpenPartition:
        """The parts, and the rows that are split."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The parts."""
        return tuple(label for label, _ in self.partition.parts)

    def ask(
        self,
        label: str,
        question: Question,
        loss: Loss | None = None,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        key: str | None = None,
        noise: str = "auto",
        confidence: Number = "0.95",
    ) -> QueryResult:
        """Return the answer to a question about one part; nothing more is debited.

        Args:
            label: which part.
            question: makes the query of its rows: ``lambda rows: rows.count()``; or the query itself.
            loss: what the answer may lose of the part's account, in place of the three words below.
            epsilon: what it may lose, alone or with ``delta``; or ``rho`` instead of both.
            delta: the probability that the epsilon bound may be exceeded.
            rho: a loss in zero-concentrated differential privacy.
            key: the caller's name for this question; with the same key a retry returns the stored answer.
            noise: "laplace", "gaussian", or "auto" for whichever errs less.
            confidence: the level of the intervals.

        """
        stated = stated_loss(epsilon=epsilon, delta=delta, rho=rho, loss=loss)
        return self._ask(label, question, stated, key, {"noise": noise, "confidence": confidence})

    @abstractmethod
    def _ask(self, label: str, question: Question, loss: Loss, key: str | None, how: Mapping[str, Any]) -> QueryResult:
        """Return the answer to a question whose loss is stated."""


class Drawn:
    """A stream, whose numbers are drawn over time."""

    @abstractmethod
    def answers(self, first: int = 0, end: int | None = None, *, confidence: Number = "0.95") -> QueryResult:
        """Return what was released, from a tick on."""

    def picture(self, column: str | None = None, *, title: str = "") -> Chart:
        """Return a number over time, a line with its intervals for each group.

        Args:
            column: a number; by default the first.
            title: what is shown; by default the column's name.

        """
        from dither.publish.streams.pictures import stream_picture

        return stream_picture(self.answers(), column, title=title)

"""Analysts who choose each question by the answers so far: how a conversation is tested.

The promise of an interactive mechanism holds for whoever asks, however the questions follow from the answers. A fixed
script is one analyst; these are others. What is audited is the whole list of answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dither.errors import InvalidParameter

#: Stands for the answer to a question that was not asked because the conversation was over.
NOT_ASKED = 2


@dataclass(frozen=True)
class Analyst:
    """Data and a rule that chooses the next question from the answers so far, or None to stop.

    Args:
        data: for an interactive mechanism what it opens with; for an interactive primitive the values of all questions
            that may be asked, of which the rule chooses one by its place.
        choose: the rule, the same for both of two neighbours.
        rounds: the number of answers after which the analyst stops.

    >>> from dither.audit import audit
    >>> from dither.mechanisms import AboveThreshold
    >>> def nagging(answers):
    ...     return 0 if answers.count(False) < 2 else 1
    >>> sparse = AboveThreshold(threshold=0, threshold_scale=2, query_scale=4)
    >>> audit(sparse, Analyst([0, 1], nagging, 4), Analyst([1, 0], nagging, 4), samples=4000).is_refuted
    False

    """

    data: Any
    choose: Callable[[Sequence[Any]], Any]
    rounds: int

    def lead(self, conversation: Any) -> list[Any]:
        """Return the answers of an open conversation, through its ``ask`` or ``feed``; short ones are padded."""
        speak = getattr(conversation, "ask", None) or conversation.feed
        return self.answers(lambda question: (speak(question), bool(getattr(conversation, "is_over", False))))

    def answers(self, reply: Callable[[Any], tuple[Any, bool]]) -> list[Any]:
        """Return the answers of ``reply`` to the chosen questions, until the conversation ends."""
        given: list[Any] = []
        while len(given) < self.rounds and (question := self.choose(tuple(given))) is not None:
            answer, is_over = reply(question)
            given.append(answer)
            if is_over:
                break
        return given + [NOT_ASKED] * (self.rounds - len(given))


def same_rule(value: Any, neighbour: Any) -> tuple[Any, Any]:
    """Return the data of two analysts, after checking that they differ in nothing else."""
    if not (isinstance(value, Analyst) and isinstance(neighbour, Analyst)):
        raise InvalidParameter("neighbour", type(neighbour).__name__, "an analyst, as the value is")
    if value.choose != neighbour.choose or value.rounds != neighbour.rounds:
        raise InvalidParameter("neighbour", "an analyst of another rule", "of the same rule and rounds as the value")
    return value.data, neighbour.data

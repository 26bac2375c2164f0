"""The work of planning: counted in public nodes, cached, and abandoned at a public ceiling.

A request is priced before anything is charged, by anybody and as often as they like. So planning must end soon,
whatever is asked: every node of a tree that is translated, bounded or evaluated counts as one step, every token of the
text as three and sixteen more each time it is read again, what was found for a column of a relation is found once, and
a request that needs more than ``MOST_STEPS`` is refused. The number of steps is a function of schema and request alone.

Behind that count stand two more ways to end, for those who plan for others: seconds of computing, of this thread alone,
so that a busy machine refuses nothing that an idle one would not; and a caller who no longer waits. Both are looked at
while steps are counted, before anything is debited, and know nothing of rows.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, TypeVar

from dither.data import Expression
from dither.errors import Unanswerable

#: More steps are not taken for one request: a few seconds.
MOST_STEPS: Final = 1_000_000
#: A larger expression is refused; a node that stands in several places counts in each.
LARGEST_EXPRESSION: Final = 100_000
#: After this many steps the time is looked at again, and whether somebody still waits: a millisecond or a few.
_BETWEEN_LOOKS: Final = 256

_Found = TypeVar("_Found")


class PlanningAbandoned(BaseException):
    """Nobody waits for a plan any more. Not an error that a planner may catch and go on."""


class Work:
    """The number of steps that one request's planning has taken, and its findings about relations.

    Args:
        seconds: how much computing of this thread it may take.
        is_wanted: whether somebody still waits for the plan.

    """

    def __init__(self, seconds: float = math.inf, is_wanted: Callable[[], bool] | None = None) -> None:
        self.steps = 0
        #: Whether the time was over: what has caught the refusal meanwhile is refused at the end.
        self.is_late = False
        self._seconds, self._is_wanted = seconds, is_wanted
        self._ends = math.inf if math.isinf(seconds) else time.thread_time() + seconds
        is_bounded = is_wanted is not None or not math.isinf(seconds)
        self._next_look: float = _BETWEEN_LOOKS if is_bounded else math.inf
        # By identity: comparing trees costs more than most answers. Whoever is asked about is kept with the answer, so
        # that its identity is nobody else's.
        self.known: dict[tuple[str, str, int], tuple[object, object]] = {}

    def count(self, many: int) -> None:
        """Count steps, and look at the limits."""
        self.steps += many
        check_steps(self.steps)
        if self.steps >= self._next_look:
            self._next_look = self.steps + _BETWEEN_LOOKS
            if self._is_wanted is not None and not self._is_wanted():
                raise PlanningAbandoned
            if time.thread_time() > self._ends:
                self.is_late = True
                self.refuse_late()

    def refuse_late(self) -> None:
        """Refuse a request whose time is over."""
        if self.is_late:
            raise Unanswerable(
                f"the query takes more than {self._seconds:g} seconds of computing to price",
                "split the request: fewer losses, fewer columns, shorter lists",
            )


def check_steps(steps: int) -> None:
    """Reject a request that takes too many steps.

    Args:
        steps: that it has taken, or is known to take.

    """
    if steps > MOST_STEPS:
        raise Unanswerable(
            f"the query takes more than {MOST_STEPS:,} steps to price",
            "split the request: fewer losses or columns, shorter lists, fewer expressions within one another",
        )


_current: ContextVar[Work | None] = ContextVar("work", default=None)
_wanted: ContextVar[Callable[[], bool] | None] = ContextVar("wanted", default=None)


@contextmanager
def planning(seconds: float = math.inf) -> Iterator[Work]:
    """Count the steps of one request; nested planning counts towards the outer one.

    Args:
        seconds: how much computing of this thread the request may take; an outer one's time is its own.

    """
    outer = _current.get()
    if outer is not None:
        yield outer
        return
    work = Work(seconds, _wanted.get())
    token = _current.set(work)
    try:
        yield work
    finally:
        _current.reset(token)
    work.refuse_late()


@contextmanager
def while_wanted(is_wanted: Callable[[], bool]) -> Iterator[None]:
    """Give up what is planned meanwhile, by ``PlanningAbandoned``, once nobody waits for it any more.

    Args:
        is_wanted: whether somebody does; asked from this thread.

    """
    token = _wanted.set(is_wanted)
    try:
        yield
    finally:
        _wanted.reset(token)


def step(many: int = 1) -> None:
    """Count steps, and reject a request that takes too many.

    >>> with planning() as work:
    ...     step(3)
    >>> work.steps
    3
    """
    work = _current.get()
    if work is not None:
        work.count(many)


def check_size(expression: Expression) -> None:
    """Reject an expression that is too large to examine as a whole."""
    if expression.size > LARGEST_EXPRESSION:
        raise Unanswerable(
            f"an expression of the query has more than {LARGEST_EXPRESSION:,} parts, written out",
            "split it, or compute a part of it in a subquery",
        )


def once(what: str, name: str, about: object, find: Callable[[], _Found]) -> _Found:
    """Return a finding about a column of a relation, computed once per planning."""
    work = _current.get()
    if work is None:
        return find()
    key = (what, name, id(about))
    if key not in work.known:
        found = find()
        work.known[key] = about, found
    return work.known[key][1]  # type: ignore[return-value]

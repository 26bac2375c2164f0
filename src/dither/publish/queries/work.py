"""The work of planning: counted in public nodes, cached, and abandoned at a public ceiling.

A request is priced before anything is charged, by anybody and as often as they like. So planning must end soon,
whatever is asked: every node of a tree that is translated, bounded or evaluated counts as one step, what was found for
a column of a relation is found once, and a request that needs more than ``MOST_STEPS`` is refused. The number of steps
is a function of schema and request alone.
"""

from __future__ import annotations

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

_Found = TypeVar("_Found")


class Work:
    """The number of steps that one request's planning has taken, and its findings about relations."""

    def __init__(self) -> None:
        self.steps = 0
        # By identity: comparing trees costs more than most answers. Whoever is asked about is kept with the answer, so
        # that its identity is nobody else's.
        self.known: dict[tuple[str, str, int], tuple[object, object]] = {}


_current: ContextVar[Work | None] = ContextVar("work", default=None)


@contextmanager
def planning() -> Iterator[Work]:
    """Count the steps of one request; nested planning counts towards the outer one."""
    outer = _current.get()
    if outer is not None:
        yield outer
        return
    work = Work()
    token = _current.set(work)
    try:
        yield work
    finally:
        _current.reset(token)


def step(many: int = 1) -> None:
    """Count steps, and reject a request that takes too many.

    >>> with planning() as work:
    ...     step(3)
    >>> work.steps
    3
    """
    work = _current.get()
    if work is None:
        return
    work.steps += many
    if work.steps > MOST_STEPS:
        raise Unanswerable(
            f"the query takes more than {MOST_STEPS:,} steps to price",
            "ask for less at once: fewer columns, shorter lists, fewer expressions within one another",
        )


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

"""When the steps of a release may be seen: a service holds them back, so that their times tell little about the rows.

Whoever can poll the books, a balance or a receipt sees when a step of a release was written down. Before noise is drawn
and before its answer is stored, a release asks here whether to wait. Nobody waits who has not said so. Where that noise
is drawn is written down before the rows are read, when it is drawn tells nothing at all.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal, TypeAlias

Step: TypeAlias = Literal["draw", "store"]
Wait: TypeAlias = Callable[[Step], None]


class _Here(threading.local):
    wait: Wait | None = None
    draws_first: bool = False


_here = _Here()


@contextmanager
def held_back(wait: Wait | None, *, draws_first: bool = False) -> Iterator[None]:
    """Hold back the releases that this thread makes meanwhile.

    Args:
        wait: told the step that is about to be written down; returns when it may be, or raises ``ReleaseFailed`` where
            it never may. None for at once.
        draws_first: whether a release says that it draws noise before it reads rows, and is never tried again.

    """
    before = _here.wait, _here.draws_first
    _here.wait, _here.draws_first = wait, draws_first
    try:
        yield
    finally:
        _here.wait, _here.draws_first = before


def draws_first() -> bool:
    """Return whether a release says that it draws noise before it reads rows."""
    return _here.draws_first


def wait_for(step: Step) -> None:
    """Wait until a step of a release may be seen."""
    if _here.wait is not None:
        _here.wait(step)

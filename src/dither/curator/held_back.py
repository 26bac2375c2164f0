"""When the steps of a release may be seen: a service holds them back, so that their times tell little about the rows.

Whoever can poll the books, a balance or a receipt sees when a step of a release was written down. Before noise is drawn
and before its answer is stored, a release asks here whether to wait. Nobody waits who has not said so.
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


_here = _Here()


@contextmanager
def held_back(wait: Wait | None) -> Iterator[None]:
    """Hold back the releases that this thread makes meanwhile.

    Args:
        wait: told the step that is about to be written down; returns when it may be. None for at once.

    """
    before, _here.wait = _here.wait, wait
    try:
        yield
    finally:
        _here.wait = before


def wait_for(step: Step) -> None:
    """Wait until a step of a release may be seen."""
    if _here.wait is not None:
        _here.wait(step)

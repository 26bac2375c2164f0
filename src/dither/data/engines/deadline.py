"""A public time limit for a statement: it is interrupted from another thread when the time is over.

How long a statement takes depends on private rows. A limit that the data set declares bounds it: a statement that meets
it fails as any other does, with one fixed text, and what was charged stays charged.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

#: A statement may go on for a moment after it was interrupted, or begin a further step: it is interrupted again.
_AGAIN_SECONDS: Final = 0.2


@contextmanager
def time_limit(seconds: float, interrupt: Callable[[], object]) -> Iterator[None]:
    """Interrupt the block once the seconds are over, and again until it has ended.

    No interruption is under way when this returns, so that what comes next is left alone.
    """
    ended = threading.Event()

    def watch() -> None:
        wait = seconds
        while not ended.wait(wait):
            with contextlib.suppress(Exception):  # what has just ended cannot be interrupted
                interrupt()
            wait = _AGAIN_SECONDS

    watcher = threading.Thread(target=watch, name="dither time limit", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()

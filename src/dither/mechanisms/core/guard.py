"""A lock that refuses the thread that has it.

A signal handler runs on the thread that it interrupts. If it asks for a lock that this thread has, an ordinary lock
waits for ever, and one that lets its thread in again lets it into the midst of a step, where a budget can be read
before it is written. Here it gets an error, before anything is done.
"""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager

from dither.errors import HandleMisuse


class Guard(AbstractContextManager[None]):
    """Lets one thread in at a time; others wait, and the thread itself is refused.

    Args:
        step: what is done behind it, for the refusal.

    >>> guard = Guard("a charge to this budget")
    >>> with guard, guard:
    ...     pass
    Traceback (most recent call last):
        ...
    dither.errors.HandleMisuse: this thread is in the midst of a charge to this budget: ask again when it is done

    """

    def __init__(self, step: str) -> None:
        self._step = step
        # Lets its own thread in again, so that it can be told.
        self._lock = threading.RLock()
        self._is_taken = False

    def __enter__(self) -> None:
        self._lock.acquire()
        try:
            if self._is_taken:
                raise HandleMisuse(f"this thread is in the midst of {self._step}: ask again when it is done")
            self._is_taken = True
        except BaseException:
            self._lock.release()
            raise

    def __exit__(self, *raised: object) -> None:
        self._is_taken = False
        self._lock.release()

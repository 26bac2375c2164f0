"""What a client that remembers its reports is bound to: one object in one process, and one draw at a time.

A client that is copied, or taken along by a fork, would draw a second report for the price of one; so would two threads
that both find nothing stored. A process that stores what it remembers hands on the stored form instead.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from dither.errors import HandleMisuse


class OneOwner:
    """Bound to the process that made it, and never copied; threads draw one after the other."""

    def __init__(self) -> None:
        self._process = os.getpid()
        # Lets its own thread in again, so that it can be told: a signal handler may interrupt a draw.
        self._lock = threading.RLock()
        self._is_drawing = False

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Let one thread draw and store."""
        # The lock of a fork may be held by a thread that is not there.
        if os.getpid() != self._process:
            raise HandleMisuse("a client belongs to the process that made it: a forked copy would draw again")
        with self._lock:
            if self._is_drawing:
                raise HandleMisuse("this thread is in the midst of a report: ask again when it is done")
            self._is_drawing = True
            try:
                yield
            finally:
                self._is_drawing = False

    def __copy__(self) -> NoReturn:
        raise HandleMisuse("a client cannot be copied: both copies would draw for one price")

    def __deepcopy__(self, memo: object) -> NoReturn:
        raise HandleMisuse("a client cannot be copied: both copies would draw for one price")

    def __reduce__(self) -> NoReturn:
        raise HandleMisuse("a client cannot be pickled: both copies would draw for one price")

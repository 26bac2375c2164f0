"""First come, first served, among threads and among processes.

A database that is waited for by trying again serves whoever happens to try at the right moment: measured, single
processes wait for seconds while others pass. Here every client draws a number and waits until all lower numbers are
gone. A number is a lock on one byte of a small file: the system drops it when its holder dies, wherever in the queue
that was, so that nobody waits for the dead.

The queue is for fairness alone. That two writers never meet is the database's own lock's promise; where the queue
cannot work, everybody is still safe.
"""

from __future__ import annotations

import collections
import errno
import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: Byte 0 guards the counter, which is kept in bytes 0 to 7; the byte of ticket t is TICKETS + t.
_COUNTER_BYTES = 8
_TICKETS = 64
_HIGHEST = 2**62
#: What the system says when it will not queue; one then goes on unqueued.
_GIVES_UP = (errno.EDEADLK, errno.ENOLCK)


class Turns:
    """A lock that serves the threads of one process in the order in which they came."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._is_busy = False
        self._waiting: collections.deque[threading.Lock] = collections.deque()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for one's turn, and pass it on at the end."""
        self._take()
        try:
            yield
        finally:
            self._pass_on()

    def _take(self) -> None:
        with self._guard:
            if not self._is_busy:
                self._is_busy = True
                return
            mine = threading.Lock()
            mine.acquire()
            self._waiting.append(mine)
        try:
            mine.acquire()
        except BaseException:
            # Interrupted while waiting: leave the queue, or pass on the turn that has just come.
            with self._guard:
                was_waiting = mine in self._waiting
                if was_waiting:
                    self._waiting.remove(mine)
            if not was_waiting:
                self._pass_on()
            raise

    def _pass_on(self) -> None:
        with self._guard:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._is_busy = False


class Tickets:
    """A queue of processes, in a file of their own beside what they wait for.

    Args:
        path: the file; made if it is not there, readable by its owner alone.

    """

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for one's turn; to be called by one thread at a time."""
        try:
            ticket = self._draw()
            # First for the one before, whom nobody else waits for: a lock on all lower bytes alone would wake everybody
            # whenever anybody is done.
            fcntl.lockf(self._file, fcntl.LOCK_SH, 1, _TICKETS + ticket - 1)
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _TICKETS + ticket - 1)
            # A shared lock on all lower bytes is granted once no lower ticket is held. Nobody else wants those bytes.
            fcntl.lockf(self._file, fcntl.LOCK_SH, ticket, _TICKETS)
            fcntl.lockf(self._file, fcntl.LOCK_UN, ticket, _TICKETS)
        except OSError as error:
            # The system counts locks by process: two queues in each of two processes can look like a deadlock to it.
            if error.errno not in _GIVES_UP:
                raise
        try:
            yield
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 0, 0)

    def _draw(self) -> int:
        """Return a number above all that were drawn, whose byte is locked."""
        # Held for two system calls, so that the order in which this lock is granted hardly matters.
        fcntl.lockf(self._file, fcntl.LOCK_EX, 1, 0)
        try:
            last = int.from_bytes(os.pread(self._file, _COUNTER_BYTES, 0), "little")
            ticket = last + 1 if last < _HIGHEST else 1
            os.pwrite(self._file, ticket.to_bytes(_COUNTER_BYTES, "little"), 0)
            fcntl.lockf(self._file, fcntl.LOCK_EX, 1, _TICKETS + ticket)
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, 0)
        return ticket

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)

"""First come, first served, among threads and among processes; and several at once where that is possible.

A database that is waited for by trying again serves whoever happens to try at the right moment: measured, single
processes wait for seconds while others pass. Here writers go in numbered rounds. A round belongs to one process, which
holds a lock on the byte of its number and begins when a shared lock on all lower bytes is granted. The system drops the
locks of a process that dies, wherever in the queue that was, so that nobody waits for the dead.

Who holds a round may also serve others. A round is open until it begins: a process that leaves its request where the
holder will find it, and then sees the round still open, only needs to wait for the end of that round. When a round ends
everybody who waited for it wakes at once, and nobody wants that byte again: those who are done are not held up by the
next round.

The queue is for speed and fairness alone. That two writers never meet is the database's own lock's promise; where the
queue cannot work, everybody is still safe.
"""

from __future__ import annotations

import collections
import errno
import fcntl
import os
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

#: The file holds two numbers: the latest round that somebody holds, and the latest that has begun. The lock of round r
#: is on byte ROUNDS + r.
_NUMBERS = struct.Struct("<QQ")
_ROUNDS = 64
_HIGHEST = 2**62
#: What the system says when it will not queue; one then goes on unqueued.
_GIVES_UP = (errno.EDEADLK, errno.ENOLCK)
#: What the system says when somebody else holds a lock.
_IS_HELD = (errno.EACCES, errno.EAGAIN)
#: After this number of rounds in which one was not served, something is amiss with the queue: one goes on unqueued.
_MOST_WAITS = 16


class Turns(AbstractContextManager[None]):
    """A lock that serves the threads of one process in the order in which they came.

    A thread that has it, or waits for it, is refused: a signal handler would wait for what it interrupted.
    """

    def __init__(self) -> None:
        # Lets its own thread in again, which is then told.
        self._guard = threading.RLock()
        #: The threads that have the turn or wait for it.
        self._inside: set[int] = set()
        self._is_busy = False
        self._waiting: collections.deque[threading.Lock] = collections.deque()

    def turn(self) -> AbstractContextManager[None]:
        """Wait for one's turn, and pass it on at the end."""
        return self

    @property
    def is_inside(self) -> bool:
        """Whether this thread has the turn, or waits for it."""
        return threading.get_ident() in self._inside

    def refuse_inside(self) -> None:
        """Refuse a thread that has the turn, or waits for it."""
        if self.is_inside:
            # Here, so that the queue is a module that needs no other.
            from dither.errors import HandleMisuse

            raise HandleMisuse("this thread is in the midst of a request to the ledger: ask again when it is done")

    def __enter__(self) -> None:
        self._take()

    def __exit__(self, *raised: object) -> None:
        self._pass_on()

    def _take(self) -> None:
        me = threading.get_ident()
        with self._guard:
            self.refuse_inside()
            self._inside.add(me)
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
                    self._inside.discard(me)
            if not was_waiting:
                self._pass_on()
            raise

    def _pass_on(self) -> None:
        with self._guard:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._is_busy = False
            # Last: who comes before this, on this thread, is still refused.
            self._inside.discard(threading.get_ident())


class Rounds:
    """A queue of processes, in a file of their own beside what they wait for; for one thread at a time.

    Args:
        path: the file; made if it is not there, readable by its owner alone.

    """

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._mine = 0

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for a round of one's own, in which nobody else expects to be served."""
        try:
            self._await_turn()
            self.begin()
            yield
        finally:
            self.end()

    def turn_or_service(self, post: Callable[[], bool], is_served: Callable[[], bool]) -> bool:
        """Wait until another's round has served one, or for a round of one's own; return whether it is one's own.

        ``end`` is to be called in either case, whatever happens.

        Args:
            post: leaves the request where whoever holds a round finds it, and says whether that was possible; called
                once at most, and only when others are there.
            is_served: whether the request was served; asked after each round that might have.

        """
        latest, begun = self._latest()
        if latest <= begun and self._claim(latest):
            self._await_begin()
            return True
        # Left before the numbers are read again: a round that is seen open afterwards will find it.
        if not post():
            self._await_turn()
            return True
        waited_for = -1
        for _ in range(_MOST_WAITS):
            latest, begun = self._latest()
            if latest <= begun or latest == waited_for:
                # The latest round has begun, or its holder died before it did.
                if self._claim(latest):
                    self._await_begin()
                    return not is_served()
                latest += 1
            waited_for = latest
            self._await_end(latest)
            if is_served():
                return False
        return True

    def end(self) -> None:
        """Let go of one's round, if one has one."""
        if self._mine:
            self._mine = 0
            fcntl.lockf(self._file, fcntl.LOCK_UN, 0, 0)

    def begin(self) -> None:
        """Say that one's round has begun: who comes from now on may find it too late."""
        if self._mine:
            os.pwrite(self._file, self._mine.to_bytes(8, "little"), 8)

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)

    def _await_turn(self) -> None:
        while not self._claim(self._latest()[0]):
            pass
        self._await_begin()

    def _latest(self) -> tuple[int, int]:
        found = os.pread(self._file, _NUMBERS.size, 0)
        latest, begun = _NUMBERS.unpack(found if len(found) == _NUMBERS.size else found.ljust(_NUMBERS.size, b"\0"))
        return (latest, begun) if latest < _HIGHEST else (0, 0)

    def _claim(self, latest: int) -> bool:
        """Take the round after the latest, unless another was quicker."""
        mine = latest + 1
        # Said first: whatever interrupts this, ``end`` lets go.
        self._mine = mine
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _ROUNDS + mine)
        except OSError as error:
            self._mine = 0
            if error.errno in _IS_HELD:
                return False
            if error.errno in _GIVES_UP:
                return True
            raise
        # Who was slow to get here may have taken a round that is long over. Nobody else changes the number now.
        if self._latest()[0] != latest:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _ROUNDS + mine)
            self._mine = 0
            return False
        os.pwrite(self._file, mine.to_bytes(8, "little"), 0)
        return True

    def _await_begin(self) -> None:
        """Wait until every lower round is over."""
        if self._mine:
            # First for the one before, whom no other holder waits for: a lock on all lower bytes alone would wake
            # every holder whenever any round ends.
            self._await_end(self._mine - 1)
            self._await_bytes(_ROUNDS, self._mine)

    def _await_end(self, number: int) -> None:
        """Wait until a round is over, or its holder dead."""
        self._await_bytes(_ROUNDS + number, 1)

    def _await_bytes(self, start: int, count: int) -> None:
        try:
            fcntl.lockf(self._file, fcntl.LOCK_SH, count, start)
        except OSError as error:
            # The system counts locks by process: two queues in each of two processes can look like a deadlock to it.
            if error.errno not in _GIVES_UP:
                raise
        finally:
            # Whatever interrupted the wait, one's own round is not among these bytes.
            fcntl.lockf(self._file, fcntl.LOCK_UN, count, start)

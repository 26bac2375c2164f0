"""One living holder for each request: whoever else asks for it meanwhile waits for the outcome.

A reservation carries a hold. Who holds a request may draw its noise; everybody who comes with the same account, key and
digest waits until the hold is given up, and then finds the answer, or is the next to hold it. A holder that fails gives
its hold up; one that is killed loses it to the operating system or to the database's server, which drop the locks of
the dead. So callers at the same time are not taken for failed attempts, and nobody waits for the dead.

Holds are for order alone. Should one be lost while its holder lives, as when a network breaks, two may draw for one
request: the ledger still counts both attempts, keeps the first answer, and sends no other.

Threads of one process wait for each other here, in memory; between processes lies a lock of the kind that a database
has at hand (``Locks``). Nothing is waited for inside a transaction.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple, Self

from dither.errors import HandleMisuse

#: Locks have numbers below this, so that every kind of lock can carry them. Two requests of one number would wait for
#: each other, which harms neither.
_NUMBERS = 2**62


class Taken(NamedTuple):
    """A lock between processes that was granted: what lets go of it, and whether others had it first."""

    let_go: Callable[[], None]
    was_awaited: bool


class Locks(ABC):
    """Numbered locks between processes, each of which goes with the process that has it."""

    @abstractmethod
    def take(self, number: int, deadline: float) -> Taken | None:
        """Wait for a lock that nobody in this process has; None if it was not granted by ``deadline`` (monotonic)."""

    @abstractmethod
    def close(self) -> None:
        """Let go of what the locks are kept in; whoever still has one may lose it."""


class _Seat:
    """Where the threads of one process wait for one request."""

    __slots__ = ("__weakref__", "lock", "thread")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.thread: threading.Thread | None = None


#: The seats in use, of all ledgers that this process has open: two handles on one ledger share them.
_seats: weakref.WeakValueDictionary[tuple[str, int], _Seat] = weakref.WeakValueDictionary()
_seats_guard = threading.RLock()


def _leave_seats() -> None:
    """Forget, in a forked child, what its parent holds."""
    global _seats, _seats_guard
    _seats, _seats_guard = weakref.WeakValueDictionary(), threading.RLock()


os.register_at_fork(after_in_child=_leave_seats)


class Hold:
    """The right to work on one request; given up by ``release``, or when nobody has it any more."""

    __slots__ = ("__weakref__", "_kept", "_process", "was_awaited")

    def __init__(self, seat: _Seat, taken: Taken, *, was_awaited: bool) -> None:
        self._kept = [(seat, taken.let_go)]
        self._process = os.getpid()
        #: Whether another held the request first, and may have answered it.
        self.was_awaited = was_awaited

    def release(self) -> None:
        """Let the next one go on; does nothing the second time, and nothing in a forked child."""
        if os.getpid() != self._process:
            return
        try:
            # One step, so that of two threads one lets go.
            seat, let_go = self._kept.pop()
        except IndexError:
            return
        try:
            let_go()
        finally:
            seat.thread = None
            seat.lock.release()

    def __del__(self) -> None:
        # Nobody can be told, least of all at exit, when modules are gone; locks go with their process.
        try:  # noqa: SIM105 - and so may contextlib be
            self.release()
        except Exception:  # noqa: S110
            pass

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __reduce__(self) -> Any:
        # What goes to another process goes without the hold, which stays here.
        return type(None), ()


class Holds:
    """The holds of one ledger.

    Args:
        ledger: the ledger's id.
        locks: what lies between processes.

    """

    def __init__(self, ledger: str, locks: Locks) -> None:
        self._ledger, self._locks = ledger, locks
        self._mine: weakref.WeakSet[Hold] = weakref.WeakSet()
        self._guard = threading.RLock()

    def take(self, request: tuple[str, ...], seconds: float) -> Hold | None:
        """Wait until nobody holds a request, and hold it; None if the time is over.

        Args:
            request: all that tells it from others.
            seconds: how long to wait at most.

        Raises:
            HandleMisuse: this thread holds it, and would wait for itself.

        """
        deadline = time.monotonic() + seconds
        number = _number((self._ledger, *request))
        with _seats_guard:
            seat = _seats.setdefault((self._ledger, number), _Seat())
        if seat.thread is threading.current_thread():
            raise HandleMisuse("this thread works on the same request: complete or abandon it before asking again")
        was_awaited = not seat.lock.acquire(blocking=False)
        if was_awaited and not seat.lock.acquire(timeout=max(0.0, deadline - time.monotonic())):
            return None
        # Said before the wait for other processes: a signal handler that comes meanwhile would wait for itself.
        seat.thread = threading.current_thread()
        taken = None
        try:
            taken = self._locks.take(number, deadline)
        finally:
            if taken is None:
                seat.thread = None
                seat.lock.release()
        if taken is None:
            return None
        hold = Hold(seat, taken, was_awaited=was_awaited or taken.was_awaited)
        with self._guard:
            self._mine.add(hold)
        return hold

    def close(self) -> None:
        """Give up whatever was taken here."""
        with self._guard:
            mine = list(self._mine)
        for hold in mine:
            hold.release()
        self._locks.close()


def _number(names: tuple[str, ...]) -> int:
    """Return the lock of a request; no name holds a NUL."""
    return int.from_bytes(hashlib.sha256("\0".join(names).encode()).digest()[:8], "big") % _NUMBERS

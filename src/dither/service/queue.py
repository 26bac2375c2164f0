"""A bounded pool of workers with a fair queue: whoever asks much waits behind whoever asks little.

Each person has a line of their own, lines are served in turn, and nobody has more than half of the workers at once: no
person can keep the others waiting, however long what they ask takes. A line has a limit; whoever comes to a full one is
told to come again.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Final, TypeVar

T = TypeVar("T")
#: How many requests of one person wait at most.
LONGEST_LINE: Final = 256


class LineFull(Exception):
    """A person has as many requests waiting as anybody may have."""


class FairPool:
    """Threads that carry out what people ask, person by person in turn.

    Args:
        workers: how many threads.
        name: of the threads.
        most: how many of them one person may have at once; half of them unless it is stated.

    """

    def __init__(self, workers: int, name: str, most: int | None = None) -> None:
        self._lines: OrderedDict[str, deque[tuple[Future[Any], Callable[[], Any]]]] = OrderedDict()
        self._guard = threading.Lock()
        #: What there is to do, and that nothing is being done any more.
        self._changed, self._ended = threading.Condition(self._guard), threading.Condition(self._guard)
        self._is_open = True
        self._waiting = 0
        self._busy: Counter[str] = Counter()
        self._most = max(1, workers // 2) if most is None else most
        self._threads = [
            threading.Thread(target=self._serve, name=f"{name}-{number}", daemon=True) for number in range(workers)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, person: str, work: Callable[[], T]) -> Future[T]:
        """Put a piece of work into a person's line.

        Args:
            person: whose line.
            work: what is done when its turn has come.

        Raises:
            LineFull: too much of this person's waits already.

        """
        future: Future[T] = Future()
        with self._changed:
            if not self._is_open:
                raise LineFull
            line = self._lines.setdefault(person, deque())
            if len(line) >= LONGEST_LINE:
                raise LineFull
            line.append((future, work))
            self._waiting += 1
            self._changed.notify()
        return future

    def place(self, future: Future[Any]) -> int | None:
        """Return how many stand before a piece of work, lines being served in turn; None where it waits no more.

        Args:
            future: what ``submit`` returned.

        """
        with self._changed:
            for turn, line in enumerate(self._lines.values()):
                for index, (one, _) in enumerate(line):
                    if one is future:
                        others = [other for other in self._lines.values() if other is not line]
                        before = [min(len(other), index + (at < turn)) for at, other in enumerate(others)]
                        return index + sum(before)
        return None

    @property
    def waiting(self) -> int:
        """How many pieces of work wait."""
        return self._waiting

    @property
    def is_idle(self) -> bool:
        """Whether nothing is being done."""
        with self._changed:
            return not self._busy

    def drop(self) -> None:
        """Take nothing more, and drop what waits."""
        with self._changed:
            self._is_open = False
            for line in self._lines.values():
                for future, _ in line:
                    future.cancel()
            self._lines.clear()
            self._waiting = 0
            self._changed.notify_all()

    def close(self, seconds: float) -> bool:
        """Take nothing more, drop what waits, and let what is begun end; return whether it did in time."""
        self.drop()
        with self._changed:
            return self._ended.wait_for(lambda: not self._busy, timeout=seconds)

    def _serve(self) -> None:
        # Whoever ends a piece of work looks for the next one itself: whatever its end lets begin is found by it, and
        # nobody else need be woken.
        while True:
            with self._changed:
                person = self._next()
                while person is None:
                    if not self._is_open:
                        return
                    self._changed.wait()
                    person = self._next()
                line = self._lines.pop(person)
                future, work = line.popleft()
                self._waiting -= 1
                if line:
                    self._lines[person] = line  # behind everybody else
                self._busy[person] += 1
            try:
                if future.set_running_or_notify_cancel():
                    try:
                        found = work()
                    except BaseException as error:
                        future.set_exception(error)
                    else:
                        future.set_result(found)
            finally:
                del future, work
                with self._changed:
                    self._busy[person] -= 1
                    if not self._busy[person]:
                        del self._busy[person]
                    if not self._busy:
                        self._ended.notify_all()

    def _next(self) -> str | None:
        """Return whose turn it is: the first who waits and has not as many workers as anybody may have."""
        return next((person for person in self._lines if self._busy[person] < self._most), None)

"""Locks between processes on the bytes of a small file: the system drops those of a process that dies.

The file stays empty and is never cleaned up: a lock is on the byte of its number, whether or not there is one. Such
locks belong to a process and not to its forked children, so that a child that lives on does not keep its parent's.
They have one trap: to close *any* descriptor of the file drops all locks that the process has on it. So a process opens
the file once, whatever ledgers share it, and closes it when none of them does.

The system has no call that waits for a lock with a limit. Whoever waits, one thread for each request and process, tries
again after pauses that grow to a thirtieth of a second; that touches the lock alone, and no database.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
import weakref
from pathlib import Path

from dither.curator.ledger.holds import Locks, Taken
from dither.mechanisms.core.guard import Guard

_OPENING = "a ledger being opened"
_IS_HELD = (errno.EACCES, errno.EAGAIN)
_FIRST_PAUSE_SECONDS = 0.001
_LONGEST_PAUSE_SECONDS = 0.032


class _File:
    """An open file, which is closed when nobody in this process refers to it."""

    def __init__(self, descriptor: int) -> None:
        self.descriptors = [descriptor]

    def __del__(self) -> None:
        # Emptied: a hold that is cleared away together with this must not unlock what has the number next.
        while self.descriptors:
            os.close(self.descriptors.pop())


#: What this process has open, by device and inode.
_files: weakref.WeakValueDictionary[tuple[int, int], _File] = weakref.WeakValueDictionary()
_files_guard = Guard(_OPENING)


def _renew_guard() -> None:
    global _files_guard
    _files_guard = Guard(_OPENING)


os.register_at_fork(after_in_child=_renew_guard)


class FileLocks(Locks):
    """Locks on the bytes of a file.

    Args:
        path: the file; made if it is not there, readable by its owner alone.

    """

    def __init__(self, path: Path) -> None:
        self._file: _File | None = _opened(path)

    def take(self, number: int, deadline: float) -> Taken | None:
        """Wait for a lock; None if it was not granted in time."""
        file, pause, was_awaited = self._file, _FIRST_PAUSE_SECONDS, False
        if file is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))

        def let_go() -> None:
            # The locks of a file that is closed went with it.
            if file.descriptors:
                fcntl.lockf(file.descriptors[0], fcntl.LOCK_UN, 1, number)

        while True:
            try:
                fcntl.lockf(file.descriptors[0], fcntl.LOCK_EX | fcntl.LOCK_NB, 1, number)
            except OSError as error:
                if error.errno == errno.ENOLCK:
                    # The system has no more locks: one goes on without, as safe as before and less orderly.
                    return Taken(let_go, was_awaited)
                if error.errno not in _IS_HELD:
                    raise
            else:
                return Taken(let_go, was_awaited)
            was_awaited = True
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            time.sleep(min(pause, left))
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    def close(self) -> None:
        """Let go of the file."""
        self._file = None


def _opened(path: Path) -> _File:
    with _files_guard:
        try:
            found = os.stat(path)
            known = _files.get((found.st_dev, found.st_ino))
        except FileNotFoundError:
            known = None
        if known is not None:
            return known
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        found = os.fstat(descriptor)
        known = _files.get((found.st_dev, found.st_ino))
        if known is not None:
            # Replaced in between by one that is open here: closing this descriptor would drop the other's locks.
            known.descriptors.append(descriptor)
            return known
        made = _File(descriptor)
        _files[found.st_dev, found.st_ino] = made
        return made

"""Secrets of the hour: from which the noise of releases follows that may resume after a kill.

Each is 32 bytes of the system's generator in a file beside the ledger's anchor, readable by its owner alone, and on the
disk before it is first used. Each hour has a new one. It is erased when no request needs it any more and its hour has
been over for an hour, and after a day in any case. Whoever has a secret, and the answers of its hour, can compute exact
numbers; none is ever in the ledger. docs/theory/ledger.md says why this is enough.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
import time
import uuid
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final

from dither.mechanisms.core.derived_runner import new_key

_BYTES: Final = 32
_SECONDS: Final = 3600
#: Hours after which a secret is erased even where a request could still resume with it.
LONGEST_KEPT: Final = 24
#: The secrets of this hour and its neighbours may be in use by a process that has just read the clock.
_NEAR: Final = 1


class HourSecrets:
    """The secrets of one ledger on one machine.

    Args:
        folder: that of the anchors.
        ledger: the ledger's id.
        clock: tells the time.

    """

    def __init__(self, folder: Path, ledger: str, *, clock: Callable[[], float] = time.time) -> None:
        self._folder, self._prefix, self._clock = folder, f"{ledger}-noise-", clock
        self._guard = threading.Lock()
        #: The hour, the file's number, and the secret that was used last.
        self._used: tuple[int, int, bytes] | None = None
        #: Whether ``erase`` was not called since another hour began here.
        self.is_due = True

    @property
    def hour(self) -> int:
        """The number of the present hour."""
        return max(0, int(self._clock() // _SECONDS))

    def current(self) -> tuple[int, bytes]:
        """Return the present hour and its secret, which is on the disk; raises OSError."""
        with self._guard:
            hour = self.hour
            path = self._path(hour)
            if self._used is not None and self._used[0] == hour:
                with contextlib.suppress(FileNotFoundError):
                    if os.stat(path).st_ino == self._used[1]:
                        return hour, self._used[2]
            if not path.exists():
                self._make(path)
            # Another process may have made it a moment ago: whoever uses it sees to it that it stays.
            secret, number = _read(path, is_forced=True)
            _force(self._folder)
            self._used, self.is_due = (hour, number, secret), True
            return hour, secret

    def of(self, hour: int) -> bytes | None:
        """Return the secret of an hour, if it is still there."""
        try:
            return _read(self._path(hour), is_forced=False)[0]
        except OSError:
            return None

    def erase(self, needed: Callable[[], Collection[int]]) -> None:
        """Erase the secrets that have served.

        Args:
            needed: finds the hours whose secrets a request may still resume with; not called where all are of late.

        """
        self.is_due = False
        with contextlib.suppress(OSError):
            found = [(path, self._hour_of(path)) for path in self._folder.glob(f"{self._prefix}*")]
            # What has no hour was left by a process that died while it made one.
            old = [(path, hour) for path, hour in found if hour is None or abs(self.hour - hour) > _NEAR]
            kept = needed() if any(hour is not None for _, hour in old) else ()
            served = [path for path, hour in old if self._has_served(path, hour, kept)]
            for path in served:
                # One that cannot be erased, as what is no file, keeps no other from being erased.
                with contextlib.suppress(OSError):
                    _wipe(path, is_draft=self._hour_of(path) is None)
            if served:
                _force(self._folder)

    def _has_served(self, path: Path, hour: int | None, kept: Collection[int]) -> bool:
        if hour is None:
            with contextlib.suppress(OSError):
                return self._clock() - path.lstat().st_mtime > _SECONDS
            return False
        return hour not in kept or abs(self.hour - hour) > LONGEST_KEPT

    def _path(self, hour: int) -> Path:
        return self._folder / f"{self._prefix}{hour}.secret"

    def _hour_of(self, path: Path) -> int | None:
        found = re.fullmatch(r"([0-9]{1,12})\.secret", path.name.removeprefix(self._prefix))
        return None if found is None else int(found[1])

    def _make(self, path: Path) -> None:
        """Make the file whole, or leave the one that another process was faster with."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
        file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(file, "wb") as stream:
                stream.write(new_key())
                stream.flush()
                os.fsync(stream.fileno())
            with contextlib.suppress(FileExistsError):
                os.link(draft, path)
        finally:
            draft.unlink()


def _read(path: Path, *, is_forced: bool) -> tuple[bytes, int]:
    """Return a secret and the number of its file; raises OSError, also where others could have read it."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        state, secret = os.fstat(file), os.read(file, _BYTES + 1)
        if is_forced:
            os.fsync(file)
    finally:
        os.close(file)
    # A secret that another user put there is one that the other user knows.
    is_ours = state.st_uid == os.geteuid()
    if not is_ours or len(secret) != _BYTES or state.st_mode & 0o077 or secret == bytes(_BYTES):
        raise OSError(f"{path} is not a secret that only this user can read")
    return secret, state.st_ino


def _wipe(path: Path, *, is_draft: bool) -> None:
    """Write over a file, and remove it; of a draft that became a secret the name alone is removed."""
    with contextlib.suppress(FileNotFoundError):
        file = os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            if not is_draft or os.fstat(file).st_nlink == 1:
                os.write(file, bytes(_BYTES))
                os.fsync(file)
        finally:
            os.close(file)
        path.unlink()


def _force(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

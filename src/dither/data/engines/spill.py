"""Folders for spilled files of an engine: private, removed at the end, and swept if their owner was killed.

All folders of a user stand in one private folder of the system's own for temporary files. Each holds a file that its
owner keeps locked; the system releases the lock however the owner ends, and so a folder whose lock can be taken belongs
to no process. Opening a new folder first removes those.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
from pathlib import Path
from typing import Final

from dither.errors import EngineUnavailable

_LOCK: Final = ".owner"
_PREFIX: Final = "engine-"


class SpillFolder:
    """A private folder for temporary files of one engine, until ``close``."""

    def __init__(self) -> None:
        self._process = os.getpid()
        home = _home()
        _sweep(home)
        while True:
            self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=home))
            self._lock: int | None = _locked(self.path)
            if self._lock is not None:
                return
            # Somebody swept the new folder in the moment before it was locked.

    def close(self) -> None:
        """Remove the folder and all that is in it, then let go of it; a forked child leaves its parent's alone."""
        lock, self._lock = self._lock, None
        if lock is not None:
            if os.getpid() == self._process:
                shutil.rmtree(self.path, ignore_errors=True)
            os.close(lock)


def _home() -> Path:
    """Return the folder of this user's spill folders, made if need be; refuse one that others could read."""
    user = os.getuid()
    home = Path(tempfile.gettempdir()) / f"dither-{user}"
    with contextlib.suppress(FileExistsError):
        home.mkdir(mode=0o700)
    found = home.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != user or found.st_mode & 0o077:
        fix = "remove it, or set TMPDIR to a folder of your own"
        raise EngineUnavailable(f"{home} is not a private folder of this user; {fix}")
    return home


def _locked(folder: Path) -> int | None:
    """Return the lock of a folder, None if another process holds it or the folder is gone."""
    try:
        handle = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.stat(folder / _LOCK).st_ino == os.fstat(handle).st_ino:
            return handle
    except OSError:
        pass
    os.close(handle)
    return None


def _sweep(home: Path) -> None:
    """Remove the folders whose owners are gone."""
    for folder in home.glob(f"{_PREFIX}*"):
        lock = _locked(folder)
        if lock is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)

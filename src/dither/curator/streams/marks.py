"""Marks: how far a book has come, written beside its key, so that a copy of the book from earlier is found out."""

from __future__ import annotations

import hashlib
import os
import time
from operator import itemgetter
from pathlib import Path
from typing import Final

#: Marks are forced to the disk after this number of them, or this time after the last ones were.
_SYNC_EVERY: Final = 64
_SYNC_SECONDS: Final = 1.0
#: How much of the end of the file is read at first.
_TAIL_BYTES: Final = 4096


class Marks:
    """How far a book has come, in a file beside its key: lines are only ever appended, and a torn one says nothing."""

    def __init__(self, path: Path) -> None:
        self._path = path
        is_new = not path.exists()
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._unforced, self._forced_at = 0, time.monotonic()
        if is_new:
            # A power failure must not take the file: a book with ticks is refused without it.
            self.force()
            folder = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    @property
    def last(self) -> tuple[int, str]:
        """The largest number of frozen ticks, and the link of the last one."""
        # Lines are appended with larger and larger numbers, so that the last sound one is among the last ones.
        with open(self._path, "rb") as file:
            end, size = file.seek(0, os.SEEK_END), _TAIL_BYTES
            while True:
                start = max(end - size, 0)
                file.seek(start)
                lines = file.read(end - start).decode("ascii", errors="replace").split("\n")
                found = [one for line in (lines[1:] if start else lines) if (one := _read(line)) is not None]
                if found or not start:
                    return max(found, default=(0, ""), key=itemgetter(0))
                size *= 2

    def append(self, number: int, link: str) -> None:
        """Remember how many ticks are frozen."""
        # The first line end closes a line that a dying process may have left open.
        os.write(self._file, f"\n{number} {link} {_check(str(number), link)}".encode("ascii"))
        self._unforced += 1
        if self._unforced >= _SYNC_EVERY or time.monotonic() - self._forced_at >= _SYNC_SECONDS:
            self.force()

    def force(self) -> None:
        """Wait until the disk has all marks."""
        os.fsync(self._file)
        self._unforced, self._forced_at = 0, time.monotonic()

    def close(self) -> None:
        """Force the file to disk and close it."""
        os.fsync(self._file)
        os.close(self._file)


def _read(line: str) -> tuple[int, str] | None:
    """Return the number and the link of a line, or None where it is torn."""
    number, _, rest = line.partition(" ")
    link, _, check = rest.partition(" ")
    return (int(number), link) if number.isdigit() and check == _check(number, link) else None


def _check(number: str, link: str) -> str:
    return hashlib.sha256(f"{number} {link}".encode()).hexdigest()[:16]

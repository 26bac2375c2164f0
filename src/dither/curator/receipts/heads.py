"""The head of the tree that a folder has shown last, by which files and later trees are judged.

A head is written into its own place of one small file, and the fifteen before it stay in theirs: a write that a power
loss cuts short spoils at most itself, so that nothing needs to wait for the disk. Each has a code that follows from the
ledger and the salts of its leaves; what was torn, or is of another ledger or key, is no head.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

#: Of a folder with a key: the file.
HEADS: Final = "heads"
_PLACES: Final = 16
_BYTES: Final = 256


class Head(NamedTuple):
    """The tree of the first entries of a ledger."""

    size: int
    #: The hash of the last entry in the ledger's chain.
    link: str
    root: bytes


class Heads:
    """The heads that were shown.

    Args:
        folder: of the key.
        origin: ``dither/`` and the ledger.
        salting: from which the salts of leaves follow.

    """

    def __init__(self, folder: Path, origin: str, salting: bytes) -> None:
        self._path, self._origin, self._salting = folder / HEADS, origin, salting

    def latest(self) -> Head | None:
        """Return the longest, if there is one."""
        return max((head for _, head in self._kept()), default=None)

    def keep(self, head: Head) -> None:
        """Keep one that is longer than all before."""
        last = max(((one, place) for place, one in self._kept()), default=None)
        place = 0 if last is None else (last[1] + 1) % _PLACES
        text = f"{head.size} {head.link} {head.root.hex()}"
        handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.pwrite(handle, f"{text} {self._code(text)}\n".ljust(_BYTES).encode("ascii"), place * _BYTES)
        finally:
            os.close(handle)

    def _kept(self) -> Iterator[tuple[int, Head]]:
        try:
            content = self._path.read_bytes()
        except FileNotFoundError:
            return
        for place in range(_PLACES):
            line = content[place * _BYTES : (place + 1) * _BYTES].decode("ascii", "replace")
            text, _, code = line.rstrip().rpartition(" ")
            if hmac.compare_digest(code.encode(), self._code(text).encode()):
                size, link, root = text.split(" ")
                yield place, Head(int(size), link, bytes.fromhex(root))

    def _code(self, text: str) -> str:
        return hmac.digest(self._salting, f"dither head\n{self._origin}\n{text}".encode(), "sha256").hex()

"""Letters between the processes that share one ledger file: a request for whoever writes next, and its outcome.

One process carries out what several have asked, in one transaction: the disk is waited for once for all of them. Each
process has a slot in a small file beside the ledger. It leaves its letter there; whoever writes reads all letters, and
leaves for each an outcome.

Guarantee: an outcome that ``outcome`` returns is one whose transaction is durable. It is left in two steps. Before the
commit it is written down, with the number and hash of the chain's last entry as that commit will make it. After the
commit it is confirmed, and only confirmed outcomes are believed. If the writer dies in between, the next one looks into
the chain: the entry is there, and the outcome holds; or it is not, and the letter is carried out as if for the first
time. So every letter is carried out exactly once.

Nothing rests on the file's surviving anything. Letters carry random numbers, so that none is taken for another; what is
torn or spoilt does not match its checksum and is not there; letters of the dead are not read. The file is readable by
its owner alone, as the ledger is, and holds only what is on its way there.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import struct
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SLOTS = 64
#: The longest letter and the longest outcome; who has more to say waits for a round of its own.
LONGEST_LETTER = 2**14
LONGEST_OUTCOME = 2**13
_NUMBER_BYTES = 16
_NOBODY = b"\0" * _NUMBER_BYTES
#: Checksum, random number, size of the letter; the ledger's file and the highest entry that the sender has seen; what
#: wrote it.
_LETTER = struct.Struct("<16s16sQQQ8s")
#: Checksum, random number, size of the outcome; number and hash of the last entry.
_OUTCOME = struct.Struct("<16s16sQQ32s")
_FORM = b"dither 5"
_TOGETHER = 8
_EMPTY = bytes(_TOGETHER * _LETTER.size)
_LETTERS = 0
_OUTCOMES = _LETTERS + SLOTS * _LETTER.size
#: An outcome's head is followed by the number that is confirmed, so that both are read at once.
_REPLY_BYTES = _OUTCOME.size + _NUMBER_BYTES
_LETTER_TEXTS = 2**14
_OUTCOME_TEXTS = _LETTER_TEXTS + SLOTS * LONGEST_LETTER
#: The lock of a slot is on this byte and the slots that follow; it is held as long as the slot is.
_OWNERS = 2**40

#: Slots that this process holds, by file: the system does not count locks within a process.
_held: set[tuple[int, int, int]] = set()
#: Files that are not needed any more, and stay open for the locks of others.
_parked: dict[tuple[int, int], list[int]] = {}
_held_guard = threading.RLock()


class Outcome(NamedTuple):
    """What became of a letter, if the chain has an entry with this number and hash."""

    entry: int
    hash: str
    text: bytes


class Letter(NamedTuple):
    """What a process asks for.

    ``outcome`` is there where a writer died that had carried it out, or was about to.
    """

    slot: int
    number: bytes
    seen: int
    text: bytes
    outcome: Outcome | None


class Post:
    """The slot of one process, and what it reads in the slots of others.

    Args:
        path: the file; made if it is not there, readable by its owner alone.
        ledger: tells the ledger's file from another of the same name.

    """

    def __init__(self, path: Path, ledger: int) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._ledger = ledger
        found = os.fstat(self._file)
        self._place = found.st_dev, found.st_ino
        self._number = _NOBODY
        #: What was found in the slot once the last letter was confirmed.
        self._reply: bytes | None = None
        #: The slot of this process; None where all are taken.
        self.slot = self._take_slot()
        if self.slot is not None:
            # Whoever had the slot before may have died with a letter in it.
            self._clear(self.slot)

    def close(self) -> None:
        """Let go of the slot."""
        with _held_guard:
            if self.slot is not None:
                _held.discard((*self._place, self.slot))
                fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _OWNERS + self.slot)
            _parked.setdefault(self._place, []).append(self._file)
            # To close any of its files would drop all locks that this process has on the post.
            if not any(place[:2] == self._place for place in _held):
                for file in _parked.pop(self._place):
                    os.close(file)

    # For whoever asks.

    def put(self, text: bytes, seen: int) -> bool:
        """Leave a letter, and say whether that was possible.

        Args:
            text: what is asked.
            seen: the highest entry of the chain that this process knows of.

        """
        if self.slot is None or len(text) > LONGEST_LETTER:
            return False
        number = uuid.uuid4().bytes
        head = _LETTER.pack(_NOBODY, number, len(text), self._ledger, seen, _FORM)
        try:
            os.pwrite(self._file, text, _LETTER_TEXTS + self.slot * LONGEST_LETTER)
            os.pwrite(self._file, _checksum(head, text) + head[16:], _LETTERS + self.slot * _LETTER.size)
        except OSError:
            return False
        self._number = number
        self._reply = None
        return True

    def is_answered(self) -> bool:
        """Whether the outcome of the last letter is durable."""
        if self.slot is None or self._number == _NOBODY:
            return False
        if self._reply is None:
            reply = os.pread(self._file, _REPLY_BYTES, _OUTCOMES + self.slot * _REPLY_BYTES)
            if reply[_OUTCOME.size :] != self._number:
                return False
            # What is confirmed changes no more.
            self._reply = reply
        return True

    def outcome(self) -> Outcome | None:
        """Return the outcome of the last letter, once it is durable."""
        if self.slot is None or not self.is_answered() or self._reply is None:
            return None
        found = self._checked_outcome(self.slot, self._number, self._reply[: _OUTCOME.size])
        if found is None:
            # The head was read before the confirmation, and a read need not be of one moment. Now it is the later one.
            head = os.pread(self._file, _OUTCOME.size, _OUTCOMES + self.slot * _REPLY_BYTES)
            found = self._checked_outcome(self.slot, self._number, head)
        return found

    def withdraw(self) -> None:
        """Ask for nothing any more."""
        # A letter that is confirmed is passed over as it is.
        if self.slot is not None and self._number != _NOBODY and self._reply is None:
            self._clear(self.slot)
        self._number = _NOBODY
        self._reply = None

    def is_own(self, letter: Letter) -> bool:
        """Whether a letter is the last that was left here."""
        return letter.number == self._number

    # For whoever writes.

    def letters(self) -> list[Letter]:
        """Return the letters of the living that wait for an outcome, one's own among them."""
        table = os.pread(self._file, _LETTER_TEXTS, 0).ljust(_LETTER_TEXTS, b"\0")
        found = []
        for slot in _used_slots(table):
            start = _LETTERS + slot * _LETTER.size
            number = table[start + 16 : start + 32]
            reply = _OUTCOMES + slot * _REPLY_BYTES
            if number == table[reply + _OUTCOME.size : reply + _REPLY_BYTES]:
                continue
            head = table[start : start + _LETTER.size]
            checksum, _, size, ledger, seen, form = _LETTER.unpack(head)
            if ledger != self._ledger or form != _FORM or size > LONGEST_LETTER or not self._is_alive(slot):
                continue
            text = os.pread(self._file, size, _LETTER_TEXTS + slot * LONGEST_LETTER)
            if checksum != _checksum(head, text):
                continue
            outcome = None
            if number == table[reply + 16 : reply + 32]:
                outcome = self._checked_outcome(slot, number, table[reply : reply + _OUTCOME.size])
            found.append(Letter(slot, number, seen, text, outcome))
        return found

    def write_down(self, letter: Letter, text: bytes, entry: int, digest: str) -> None:
        """Leave an outcome that holds if the chain will have an entry with that number and hash."""
        head = _OUTCOME.pack(_NOBODY, letter.number, len(text), entry, bytes.fromhex(digest))
        os.pwrite(self._file, text, _OUTCOME_TEXTS + letter.slot * LONGEST_OUTCOME)
        os.pwrite(self._file, _checksum(head, text) + head[16:], _OUTCOMES + letter.slot * _REPLY_BYTES)

    def confirm(self, letter: Letter) -> None:
        """Say that the outcome is durable."""
        # What fails here is found out by the sender, who looks into the chain when its own round has come.
        with contextlib.suppress(OSError):
            place = _OUTCOMES + letter.slot * _REPLY_BYTES + _OUTCOME.size
            os.pwrite(self._file, letter.number, place)

    def _checked_outcome(self, slot: int, number: bytes, head: bytes) -> Outcome | None:
        if len(head) < _OUTCOME.size or head[16:32] != number:
            return None
        checksum, _, size, entry, digest = _OUTCOME.unpack(head)
        if size > LONGEST_OUTCOME:
            return None
        text = os.pread(self._file, size, _OUTCOME_TEXTS + slot * LONGEST_OUTCOME)
        return Outcome(entry, digest.hex(), text) if checksum == _checksum(head, text) else None

    def _clear(self, slot: int) -> None:
        with contextlib.suppress(OSError):
            os.pwrite(self._file, bytes(_LETTER.size), _LETTERS + slot * _LETTER.size)

    def _take_slot(self) -> int | None:
        with _held_guard:
            for slot in range(SLOTS):
                mine = (*self._place, slot)
                if mine in _held:
                    continue
                # Said first: a signal handler that opens the same ledger meanwhile takes another.
                _held.add(mine)
                if self._lock(slot):
                    return slot
                _held.discard(mine)
        return None

    def _is_alive(self, slot: int) -> bool:
        with _held_guard:
            if (*self._place, slot) in _held:
                return True
        if not self._lock(slot):
            return True
        fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _OWNERS + slot)
        return False

    def _lock(self, slot: int) -> bool:
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _OWNERS + slot)
        except OSError:
            return False
        return True


def _used_slots(table: bytes) -> Iterator[int]:
    """Yield the slots with letters; most are empty, and are passed over many at a time."""
    for first in range(0, SLOTS, _TOGETHER):
        start = _LETTERS + first * _LETTER.size
        if table[start : start + len(_EMPTY)] != _EMPTY:
            for slot in range(first, first + _TOGETHER):
                start = _LETTERS + slot * _LETTER.size
                if table[start + 16 : start + 32] != _NOBODY:
                    yield slot


def _checksum(head: bytes, text: bytes) -> bytes:
    """Return what binds the fields of a head, but for the checksum itself, to the text."""
    return hashlib.blake2b(head[16:] + text, digest_size=16).digest()

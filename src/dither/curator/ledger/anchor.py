"""What a ledger's machine remembers of it, outside the database: enough to notice a ledger that went back in time.

A restored backup is a perfect ledger, and budget comes back with it. So each commit is followed by a line in a file
elsewhere: the number and hash of the last entry, and the sums of the accounts it changed. A ledger that has fewer
entries than its anchor, or another entry at the same number, is refused.

Lines are only ever appended, and what the file says is the join of its lines: the highest number, the largest sums. So
the order in which processes append does not matter, a torn line is a line that is not there, and nothing can make an
anchor go back. A line is written after the commit it tells of and is not waited for: if the machine loses power, the
anchor may miss the last entries (about ``SYNC_EVERY`` of a process at most), never name one that the ledger has not.
What takes long, forcing lines to disk and shortening the file, is done when other processes have their turn again.
"""

from __future__ import annotations

import errno
import fcntl
import functools
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dither.curator.ledger.amounts import ZERO, Amount
from dither.curator.ledger.chain import canonical

#: A process forces its lines to disk after this many, and when it closes the ledger.
SYNC_EVERY = 64
#: A file longer than this is rewritten: a line for each account, the latest hashes, and older ones at even steps.
LONGEST_FILE = 2**18
LATEST_HASHES = 1000
EVERY_HASH = 64
_CHECK_SIGNS = 16
#: The line of an account as it is written here; others are read too, in ten times the time. A quotation mark within a
#: name has a backslash before it, so that what looks like a field is one.
_HOLDING = re.compile(
    r'\{"at":(\d+),(.*?),"releases":(\d+),"spent":\{"delta":"(\d+)","rho":"(\d+)","epsilon":(?:null|"(\d+)")\},'
    r'"terms":(\{.*\})\}'
)


@dataclass(frozen=True)
class Holding:
    """What is known of one account: of a data set, or of an analyst in it.

    ``terms`` are the limit, and the unit of a data set, as they were last set.
    """

    seq: int
    terms: Mapping[str, Any]
    spent: Amount = ZERO
    releases: int = 0

    def join(self, other: Holding) -> Holding:
        """Return the later terms and the larger sums."""
        if self.seq <= other.seq and self.spent <= other.spent and self.releases <= other.releases:
            return other
        later = max(self, other, key=lambda holding: holding.seq)
        return Holding(later.seq, later.terms, self.spent.join(other.spent), max(self.releases, other.releases))


@dataclass
class Memory:
    """All that an anchor remembers; joined from its lines."""

    hashes: dict[int, str] = field(default_factory=dict)
    datasets: dict[str, Holding] = field(default_factory=dict)
    analysts: dict[tuple[str, str], Holding] = field(default_factory=dict)
    #: The first entry of which two versions were seen, or None: two copies of a ledger were in use at once.
    split_at: int | None = None

    @property
    def seq(self) -> int:
        """The highest entry known, or 0."""
        return max(self.hashes, default=0)

    @property
    def hash(self) -> str:
        """The hash of that entry."""
        return self.hashes.get(self.seq, "")

    def learn(self, seq: int, digest: str) -> None:
        """Remember an entry."""
        if self.hashes.setdefault(seq, digest) != digest:
            self.split_at = min(seq, self.split_at or seq)

    def learn_dataset(self, name: str, holding: Holding) -> None:
        """Remember the account of a data set."""
        known = self.datasets.get(name)
        self.datasets[name] = holding if known is None else known.join(holding)

    def learn_analyst(self, dataset: str, analyst: str, holding: Holding) -> None:
        """Remember the account of an analyst."""
        known = self.analysts.get((dataset, analyst))
        self.analysts[dataset, analyst] = holding if known is None else known.join(holding)

    def lines(self) -> Iterator[str]:
        """Yield what is to be written so that it is read back."""
        if self.hashes:
            latest = self.seq - LATEST_HASHES
            kept = sorted([seq for seq in self.hashes if seq > latest or seq % EVERY_HASH == 0])
            # As ``canonical`` would write it, sooner: a hash has no sign that needs care.
            body = ",".join([f'[{seq},"{self.hashes[seq]}"]' for seq in kept])
            yield _line(f'{{"hashes":[{body}]}}')
        for name, holding in sorted(self.datasets.items()):
            yield _holding_line(name, None, holding)
        for (dataset, analyst), holding in sorted(self.analysts.items()):
            yield _holding_line(dataset, analyst, holding)

    def read(self, text: str) -> None:
        """Learn from one line; one that is torn says nothing."""
        check, _, body = text.partition(" ")
        if check != _check(body):
            return
        found = _HOLDING.fullmatch(body)
        if found is not None:
            at, names, releases, delta, rho, epsilon, terms = found.groups()
            spent = Amount(None if epsilon is None else int(epsilon), int(rho), int(delta))
            self._learn_holding(_plain(f"{{{names}}}"), Holding(int(at), _plain(terms), spent, int(releases)))
            return
        record = json.loads(body)
        for seq, digest in record.get("hashes", ()):
            self.learn(seq, digest)
        if "dataset" in record:
            spent = Amount.from_dict(record["spent"])
            self._learn_holding(record, Holding(record["at"], record["terms"], spent, record["releases"]))

    def _learn_holding(self, whose: Mapping[str, Any], holding: Holding) -> None:
        if "analyst" in whose:
            self.learn_analyst(whose["dataset"], whose["analyst"], holding)
        else:
            self.learn_dataset(whose["dataset"], holding)


class Anchor:
    """The file that remembers one ledger.

    Args:
        folder: where anchors are kept; made if it is not there.
        ledger: the ledger's id.

    """

    def __init__(self, folder: Path, ledger: str) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path = folder / f"{ledger}.anchor"
        self._name = str(self.path)
        self._place = folder / f"{ledger}.place"
        self._guard = os.open(folder / f"{ledger}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._file: int | None = None
        self._unforced = 0
        self._size = 0
        self._short_size = 0

    def read(self) -> Memory:
        """Return all that is remembered."""
        memory = Memory()
        try:
            text = self.path.read_text(encoding="ascii", errors="replace")
        except FileNotFoundError:
            return memory
        for line in text.split("\n"):
            memory.read(line)
        return memory

    def append(self, memory: Memory) -> None:
        """Add what is known now; on return another process can read it. ``tidy`` is to follow when nobody waits."""
        # The first line end closes a line that a dying process may have left open.
        text = "\n" + "\n".join(memory.lines()) + "\n"
        fcntl.flock(self._guard, fcntl.LOCK_SH)
        try:
            file, size = self._open()
            _write_all(file, text)
            self._unforced += max(1, len(memory.hashes))
            self._size = size + len(text)
        finally:
            fcntl.flock(self._guard, fcntl.LOCK_UN)

    def tidy(self) -> None:
        """Force what was written to disk, and shorten the file, where it is time."""
        if self._unforced >= SYNC_EVERY and self._file is not None:
            # A file that was shortened meanwhile was forced to disk as a whole.
            os.fsync(self._file)
            self._unforced = 0
        if self._size > max(LONGEST_FILE, 2 * self._short_size):
            self._size = 0
            self._shorten()

    def _open(self) -> tuple[int, int]:
        """Return the file as it is under its name now, and its size; to be called with the guard held."""
        if self._file is not None:
            found = os.fstat(self._file)
            try:
                named = os.stat(self._name)
                is_same = (found.st_ino, found.st_dev) == (named.st_ino, named.st_dev)
            except FileNotFoundError:
                is_same = False
            if is_same:
                return self._file, found.st_size
            # It was shortened, replaced or removed.
            os.close(self._file)
            self._file = None
        self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        return self._file, os.fstat(self._file).st_size

    def replace(self, memory: Memory) -> None:
        """Forget everything and remember this instead; for a restored ledger alone."""
        with self._held(fcntl.LOCK_EX):
            self._write(self.path, "\n".join(memory.lines()) + "\n")

    def keep_place(self, place: str) -> None:
        """Remember where the ledger is kept."""
        if not self._place.exists() or self._place.read_text(encoding="utf-8") != place:
            self._write(self._place, place)

    def close(self) -> None:
        """Force what was written to disk, and let go."""
        if self._unforced and self.path.exists():
            file = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(file)
            finally:
                os.close(file)
        self._unforced = 0
        if self._file is not None:
            os.close(self._file)
            self._file = None
        os.close(self._guard)

    def _shorten(self) -> None:
        with self._held(fcntl.LOCK_EX):
            if self.path.stat().st_size > max(LONGEST_FILE, 2 * self._short_size):
                memory = self.read()
                # A file that tells of two histories is kept as it is, for whoever has to find out.
                if memory.split_at is None:
                    self._write(self.path, "\n".join(memory.lines()) + "\n")
                self._short_size = self.path.stat().st_size

    @contextmanager
    def _held(self, how: int) -> Iterator[None]:
        """Append together, rewrite alone."""
        fcntl.flock(self._guard, how)
        try:
            yield
        finally:
            fcntl.flock(self._guard, fcntl.LOCK_UN)

    @staticmethod
    def _write(path: Path, text: str) -> None:
        """Replace a file as a whole: after a crash it is the old one or the new one."""
        other = path.with_name(f"{path.name}.{os.getpid()}.new")
        file = os.open(other, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            _write_all(file, text)
            os.fsync(file)
        finally:
            os.close(file)
        os.replace(other, path)


def anchors_folder(given: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder of all anchors: as given, as DITHER_ANCHORS says, or the user's state folder."""
    if given is not None:
        return Path(given)
    if os.environ.get("DITHER_ANCHORS"):
        return Path(os.environ["DITHER_ANCHORS"])
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "dither" / "anchors"


def once_kept_at(folder: Path, place: str) -> Path | None:
    """Return the anchor of a ledger that was kept at ``place`` and has entries, if there was one."""
    for path in sorted(folder.glob("*.place")):
        anchor = path.with_suffix(".anchor")
        if path.read_text(encoding="utf-8") == place and anchor.exists() and anchor.stat().st_size:
            return anchor
    return None


@functools.lru_cache(maxsize=1024)
def _plain(text: str) -> Mapping[str, Any]:
    """Return what a text says that is the same in many lines; nobody changes it."""
    record: Mapping[str, Any] = json.loads(text)
    return record


def _holding_line(dataset: str, analyst: str | None, holding: Holding) -> str:
    """Return the line of an account; what stays the same from line to line is not written anew each time."""
    names, terms = _same(dataset, analyst, tuple(sorted(holding.terms.items())))
    epsilon, rho, delta = holding.spent.epsilon, holding.spent.rho, holding.spent.delta
    spent = f'{{"delta":"{delta}","rho":"{rho}","epsilon":'
    spent += "null}" if epsilon is None else f'"{epsilon}"}}'
    return _line(f'{{"at":{holding.seq},{names},"releases":{holding.releases},"spent":{spent},"terms":{terms}}}')


@functools.lru_cache(maxsize=1024)
def _same(dataset: str, analyst: str | None, terms: tuple[tuple[str, Any], ...]) -> tuple[str, str]:
    names = {"dataset": dataset} if analyst is None else {"analyst": analyst, "dataset": dataset}
    return canonical(names)[1:-1], canonical(dict(terms))


def _write_all(file: int, text: str) -> None:
    """Write in one call, so that lines of two processes never mix; a short write is a full disk."""
    data = text.encode("utf-8")
    if os.write(file, data) < len(data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _line(body: str) -> str:
    return f"{_check(body)} {body}"


def _check(body: str) -> str:
    return hashlib.sha256(body.encode("utf-8", errors="replace")).hexdigest()[:_CHECK_SIGNS]

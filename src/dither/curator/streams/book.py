"""The book of a stream: what has been counted and released, in an order that survives the death of the process.

For each tick two things become durable, one after the other: its exact numbers are *frozen*, together with the tally of
the people in them; then its answer is *stored*. Noise is a function of the stream's key and of what was frozen, so that
an answer that was computed and not yet stored is computed again to the same bytes. No frozen tick is ever frozen anew.
That is why the disk is waited for once a tick, when it is frozen: an answer that a power failure takes is computed
again, and compared with those before it, which are on the disk.

A book that went back in time would freeze ticks a second time, with other rows and the same noise. So how far it has
come is written elsewhere as well, beside its key; a book that has fewer ticks, or other ones, is refused.
"""

from __future__ import annotations

import contextlib
import fcntl
import hmac
import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple, Self

import numpy as np

from dither.curator.ledger.request_effects import notice_private
from dither.curator.streams.marks import Marks
from dither.curator.streams.seal import Seal
from dither.errors import HandleMisuse, InvalidParameter, StreamUnavailable
from dither.publish.streams.tally import Standing

_VERSION: Final = 1
_PATIENCE_SECONDS: Final = 10
#: After which it is asked again whether another process has let go of a book.
_PAUSE_SECONDS: Final = 0.005
#: Answers that show which version computed the noise; the first of a conversation says nothing.
_AWAITED: Final = 2
_TABLES: Final = """
CREATE TABLE about (name TEXT PRIMARY KEY, sealed BLOB NOT NULL);
CREATE TABLE ticks (number INTEGER PRIMARY KEY, frozen BLOB NOT NULL, link TEXT NOT NULL);
CREATE TABLE answers (number INTEGER PRIMARY KEY, answer BLOB NOT NULL);
CREATE TABLE people (name BLOB PRIMARY KEY, standing BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE arrived (number INTEGER PRIMARY KEY, batch TEXT UNIQUE, sealed BLOB);
"""


class _Here(threading.local):
    patience: float = 0.0


_here = _Here()


@contextlib.contextmanager
def waiting_for_books(seconds: float) -> Iterator[None]:
    """Let this thread wait for books that others have open, where it would be refused at once.

    Args:
        seconds: for how long, at most.

    """
    before, _here.patience = _here.patience, seconds
    try:
        yield
    finally:
        _here.patience = before


class Book:
    """The opened book of one stream. One process at a time may write in it.

    Args:
        path: the file.
        key: the file with the key, in another folder.
        only_read: whether nothing is written: any number of processes may read at any time.

    """

    #: What is kept, and what one record of it is called, in errors.
    what: ClassVar[str] = "stream"
    record: ClassVar[str] = "tick"

    def __init__(self, path: Path, key: Path, *, only_read: bool = False) -> None:
        self.path = path
        self.only_read = only_read
        self._home = os.getpid(), threading.get_ident()
        #: What is known of a book that nobody else writes in; None where it has to be asked.
        self._known: _Known | None = None
        self._waits: bool | None = None
        #: Up to which batch nothing waits, as this process knows: with years of batches they are not looked through.
        self._emptied = 0
        with contextlib.ExitStack() as held:
            if not only_read:
                for file in (path, key):
                    held.callback(os.close, _locked(file, self.what))
            self.seal = Seal.read(key, self.what)
            self._rows = _connected(path, self.what)
            held.callback(self._rows.close)
            self._check_version()
            marks = key.with_suffix(".ticks")
            # They are there before the first tick is frozen.
            if not marks.exists() and self.frozen:
                raise self._refused(f"{marks.name}, which records its frozen {self.record}s, is missing: restore it")
            self._marks = Marks(marks)
            held.callback(self._marks.close)
            self._compare_with_marks()
            if not only_read and self.frozen > self._marks.last[0]:
                # A process died between freezing and marking: what is answered from here on is marked before.
                self._marks.append(self.frozen, self._last_link())
                self._marks.force()
            self._held = held.pop_all()

    @classmethod
    def create(cls, path: Path, key: Path, about: Mapping[str, Any]) -> Self:
        """Make a new book, with its key and what is public about it; either all of it is there, or nothing counts.

        A book that another process has made meanwhile is opened, and stays what it is.

        Args:
            path: the file; what a creation that died has left there is replaced.
            key: the file with the key.
            about: plain data.

        """
        with contextlib.ExitStack() as held:
            for file in (path, key):
                file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                held.callback(os.close, _locked(file, cls.what))
            # Asked with the locks held: what was paid for is never replaced.
            if not path.exists():
                _make(path, key, about, cls)
        return cls(path, key)

    @staticmethod
    def packed(record: Any) -> bytes:
        """Return a table of integers, a row for each group and a column for each measure: as many bytes for any."""
        return np.array(record.shape, dtype="<u4").tobytes() + np.ascontiguousarray(record, dtype="<i8").tobytes()

    @staticmethod
    def unpacked(content: bytes) -> Any:
        """Return the table of integers that was packed."""
        rows, columns = np.frombuffer(content, dtype="<u4", count=2).tolist()
        return np.frombuffer(content, dtype="<i8", offset=8).reshape(rows, columns).astype(np.int64)

    @property
    def about(self) -> dict[str, Any]:
        """What is public about the stream."""
        found: dict[str, Any] = self.seal.open("about", self._one("SELECT sealed FROM about WHERE name = 'about'"))
        return found

    @property
    def frozen(self) -> int:
        """How many ticks are frozen: their numbers are all below this."""
        return self._counts().frozen

    @property
    def answered(self) -> int:
        """How many ticks have an answer: those before the first one without."""
        return self._counts().answered

    def _counts(self) -> _Known:
        """Return how far the book has come: asked once after each change, and always where another may write."""
        self._refuse_copies()
        if self._known is not None and not self._rows.in_transaction:
            return self._known
        frozen = int(self._one("SELECT coalesce(max(number) + 1, 0) FROM ticks"))
        found = _Known(frozen, int(self._one("SELECT coalesce(max(number) + 1, 0) FROM answers")), self._link(frozen))
        if not self.only_read and not self._rows.in_transaction:
            self._known = found
        return found

    def numbers(self, first: int = 0) -> Iterator[Any]:
        """Yield the exact numbers of the frozen ticks, in order."""
        asked = "SELECT number, frozen FROM ticks WHERE number >= ? ORDER BY 1"
        for number, sealed in self._rows.execute(asked, (first,)):
            yield self.unpacked(self.seal.open_bytes(f"tick {number}", sealed))

    def answers(self, first: int = 0, end: int | None = None) -> Iterator[Any]:
        """Yield the stored answers, in order, from a tick to before another."""
        asked = "SELECT number, answer FROM answers WHERE number >= ? AND number < ? ORDER BY 1"
        for number, sealed in self._rows.execute(asked, (first, self.answered if end is None else end)):
            yield self.unpacked(self.seal.open_bytes(f"answer {number}", sealed))

    def standings(self, people: Iterable[bytes]) -> dict[bytes, Standing]:
        """Return what has counted of some people; nothing of the others."""
        found = {}
        for name in people:
            row = self._rows.execute("SELECT standing FROM people WHERE name = ?", (name,)).fetchone()
            if row is not None:
                used, last = np.frombuffer(self.seal.open_bytes(_person(name), row[0]), dtype="<i8").tolist()
                found[name] = Standing(used, last)
        return found

    def freeze(
        self, ticks: Iterable[tuple[Any, Mapping[bytes, Standing]]], *, first: int | None = None, rest: Any = None
    ) -> None:
        """Freeze the next ticks durably: the numbers of each, and the standings that it changed.

        Args:
            ticks: in order.
            first: the number of the first of them, where it is known: no other tick gets its numbers.
            rest: of all that has arrived, what is for later ticks, or ``{}``; None where nothing has arrived.

        """
        with self._transaction():
            known = self._counts()
            number, link, emptied = known.frozen, known.link, self._emptied
            if first is not None and first != number:
                raise self._refused(f"{self.record} {first} was frozen meanwhile")
            if rest is not None:
                emptied = int(self._one("SELECT coalesce(max(number), 0) FROM arrived"))
                # Names of batches stay: they are not taken a second time.
                waiting = "UPDATE arrived SET sealed = NULL WHERE number > ? AND sealed IS NOT NULL"
                self._rows.execute(waiting, (self._emptied,))
                if rest:
                    self._keep_batch(None, rest)
            for numbers, standings in ticks:
                content = self.packed(numbers)
                link = self.seal.link(link, content)
                sealed = self.seal.close_bytes(f"tick {number}", content)
                self._rows.execute("INSERT INTO ticks VALUES (?, ?, ?)", (number, sealed, link))
                people = [(name, self._sealed_standing(name, one)) for name, one in standings.items()]
                self._rows.executemany("INSERT OR REPLACE INTO people VALUES (?, ?)", people)
                number += 1
        self._known, self._emptied = _Known(number, known.answered, link), emptied
        self._marks.append(number, link)

    def _sealed_standing(self, name: bytes, one: Standing) -> bytes:
        """Return a standing, sealed: how many people came last at which tick is an exact number."""
        return self.seal.close_bytes(_person(name), np.array([one.used, one.last], dtype="<i8").tobytes())

    def store(self, answers: Iterable[Any]) -> None:
        """Store the answers of the next ticks, in order; the death of the process takes none of them.

        The first two wait for the disk. Later ones reach it with the next tick: what a power failure takes of them
        follows from what is frozen, and a version that computes other noise than the first answers show is refused.
        """
        known = self._counts()
        number = known.answered
        with self._transaction(waits=number < _AWAITED):
            for answer in answers:
                if number >= known.frozen:
                    raise self._refused(f"{self.record} {number} was never frozen")
                sealed = self.seal.close_bytes(f"answer {number}", self.packed(answer))
                self._rows.execute("INSERT INTO answers VALUES (?, ?)", (number, sealed))
                number += 1
        self._known = known._replace(answered=number)

    def keep_checkpoint(self, by: Any, state: Any) -> None:
        """Keep the state in which the noise is after the last answer, so that it need not be made again from the start.

        It is bound to the ticks before it. The disk is not waited for: without it only time is lost.

        Args:
            by: plain data: what computed it, so that nothing else takes it up.
            state: plain data.

        """
        number = self.answered
        record = {"number": number, "link": self._link(number), "by": by, "state": state}
        with self._transaction(waits=False):
            kept = "INSERT OR REPLACE INTO about VALUES ('checkpoint', ?)"
            self._rows.execute(kept, (self.seal.close("checkpoint", record),))

    def checkpoint(self, by: Any) -> tuple[int, Any]:
        """Return the number of answers before the last stored state, and that state; 0 and None if it cannot be used.

        Args:
            by: plain data: what computes now.

        """
        row = self._rows.execute("SELECT sealed FROM about WHERE name = 'checkpoint'").fetchone()
        found = None if row is None else self.seal.open("checkpoint", row[0])
        if found is None or found["by"] != by or not found["number"] <= self.answered:
            return 0, None
        return (found["number"], found["state"]) if self._link(found["number"]) == found["link"] else (0, None)

    def report(self, answer: Any) -> None:
        """Store the answer of the next tick durably, of which nothing exact is kept."""
        with self._transaction():
            number, content = self.frozen, self.packed(answer)
            link = self.seal.link(self._last_link(), content)
            nothing = self.seal.close_bytes(f"tick {number}", b"")
            self._rows.execute("INSERT INTO ticks VALUES (?, ?, ?)", (number, nothing, link))
            sealed = self.seal.close_bytes(f"answer {number}", content)
            self._rows.execute("INSERT INTO answers VALUES (?, ?)", (number, sealed))
        self._marks.append(number + 1, link)

    def arrive(self, batch: str | None, record: Any, fingerprint: bytes | None = None, *, waits: bool = True) -> bool:
        """Keep rows that were fed, durably; return False where a batch of that name was kept before.

        Args:
            batch: the caller's name for it: the same name again is the same batch.
            record: plain data; None where the name alone is kept.
            fingerprint: what tells these rows from others, so that a name is not used for both; None where nothing of
                them may be kept.
            waits: whether the disk is waited for; without, it is with whatever is made durable next.

        """
        with self._transaction(waits=waits):
            if batch is not None:
                known = self._rows.execute("SELECT number FROM arrived WHERE batch = ?", (batch,)).fetchone()
                if known is not None:
                    self._refuse_others(batch, known[0], fingerprint)
                    return False
            number = self._keep_batch(batch, record)
            if batch is not None and fingerprint is not None:
                sealed = self.seal.close_bytes(_fingerprint(number), fingerprint)
                self._rows.execute("INSERT INTO about VALUES (?, ?)", (_fingerprint(number), sealed))
        return True

    def _refuse_others(self, batch: str, number: int, fingerprint: bytes | None) -> None:
        """Refuse rows that are others than those which came with the name; a book of before does not know."""
        asked = "SELECT sealed FROM about WHERE name = ?"
        row = self._rows.execute(asked, (_fingerprint(number),)).fetchone()
        if row is not None and fingerprint is not None:
            before = self.seal.open_bytes(_fingerprint(number), row[0])
            if not hmac.compare_digest(before, fingerprint):
                rule = "another name: other rows came with it before, and these were not taken"
                raise InvalidParameter("batch", batch, rule)

    def _keep_batch(self, batch: str | None, record: Any) -> int:
        number = int(self._one("SELECT coalesce(max(number), 0) + 1 FROM arrived"))
        sealed = None if record is None else self.seal.close(f"batch {number}", record)
        self._rows.execute("INSERT INTO arrived VALUES (?, ?, ?)", (number, batch, sealed))
        return number

    def knows(self, batch: str) -> bool:
        """Return whether rows came with that name before."""
        return self._rows.execute("SELECT 1 FROM arrived WHERE batch = ?", (batch,)).fetchone() is not None

    @property
    def has_batches(self) -> bool:
        """Whether anything has ever arrived."""
        return bool(self._one("SELECT EXISTS (SELECT * FROM arrived)"))

    def waiting(self) -> list[Any]:
        """Return what has arrived and is not yet frozen, batch by batch."""
        asked = "SELECT number, sealed FROM arrived WHERE number > ? AND sealed IS NOT NULL ORDER BY 1"
        rows = self._rows.execute(asked, (self._emptied,)).fetchall()
        return [self.seal.open(f"batch {number}", sealed) for number, sealed in rows]

    def close_stream(self) -> None:
        """Say durably that nothing more is released."""
        with self._transaction():
            self._rows.execute("INSERT OR IGNORE INTO about VALUES ('closed', ?)", (self.seal.close("closed", True),))

    @property
    def is_closed(self) -> bool:
        """Whether nothing more is released."""
        return bool(self._one("SELECT count(*) FROM about WHERE name = 'closed'"))

    def close(self) -> None:
        """Let go of the book."""
        self._held.close()

    def _refused(self, reason: str) -> StreamUnavailable:
        return StreamUnavailable(self.path.stem, reason, self.what)

    def _check_version(self) -> None:
        if self._one("PRAGMA user_version") != _VERSION:
            raise self._refused("its book was written by another version")

    def _compare_with_marks(self) -> None:
        """Refuse a book that has fewer ticks than were frozen, or others."""
        number, link = self._marks.last
        if number and number > self.frozen:
            rule = f"its book has {self.frozen} {self.record}s, and {number} were frozen: it is from an older copy"
            raise self._refused(rule)
        if number and self._link(number) != link:
            raise self._refused("its book is not the one that was written here")

    def _link(self, number: int) -> str:
        return str(self._one("SELECT link FROM ticks WHERE number = ?", number - 1)) if number else ""

    def _last_link(self) -> str:
        return self._counts().link

    def _one(self, asked: str, *values: Any) -> Any:
        self._refuse_copies()
        return self._rows.execute(asked, values).fetchone()[0]

    def _refuse_copies(self) -> None:
        """Refuse a forked process, which has the lock of the one that opened the book as well; and other threads."""
        if (os.getpid(), threading.get_ident()) != self._home:
            rule = "belongs to the process and thread that opened it: open it here"
            raise HandleMisuse(f"the {self.what} {self.path.stem} {rule}")

    @contextlib.contextmanager
    def _transaction(self, *, waits: bool = True) -> Iterator[None]:
        """Make everything in the block durable when it ends, or nothing.

        Without waiting it is the system's when the block ends, and on the disk before whatever is made durable next.
        """
        self._refuse_copies()
        if self.only_read:
            raise HandleMisuse(f"the {self.what} {self.path.stem} was opened to be read only")
        self._known = None
        try:
            if waits is not self._waits:
                self._rows.execute(f"PRAGMA synchronous = {'FULL' if waits else 'NORMAL'}")
                self._waits = waits
            self._rows.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._rows.execute("COMMIT")
            except BaseException:
                if self._rows.in_transaction:
                    self._rows.execute("ROLLBACK")
                raise
        except sqlite3.Error as problem:
            raise self._refused(f"its book cannot be written ({problem})") from None


def _make(path: Path, key: Path, about: Mapping[str, Any], kind: type[Book]) -> None:
    """Make a book that is not there; what a creation that died has left is replaced."""
    draft, marks = path.with_suffix(".new"), key.with_suffix(".ticks")
    with contextlib.closing(Marks(marks)) as known:
        if known.last[0]:
            rule = f"its book was moved or deleted: {kind.record}s of it were released"
            raise StreamUnavailable(path.stem, rule, kind.what)
    for leftover in (draft, key, marks):
        leftover.unlink(missing_ok=True)
    seal = Seal.new()
    seal.write(key)
    os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    rows = _connected(draft, kind.what)
    rows.executescript(f"BEGIN; PRAGMA user_version = {_VERSION}; {_TABLES} COMMIT;")
    rows.execute("INSERT INTO about VALUES ('about', ?)", (seal.close("about", dict(about)),))
    rows.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    rows.close()
    # A book is there once it has its name.
    os.rename(draft, path)
    _force(path.parent)


def _person(name: bytes) -> str:
    return f"person {name.hex()}"


def _fingerprint(number: int) -> str:
    return f"fingerprint {number}"


class _Known(NamedTuple):
    """How many ticks of a book are frozen and answered, and the link of the last one that is frozen."""

    frozen: int
    answered: int
    link: str


class PlainBook(Book):
    """A book of plain data, as what conversations keep: records are as long as their JSON, and that is public."""

    what: ClassVar[str] = "conversation"
    record: ClassVar[str] = "question"

    @staticmethod
    def packed(record: Any) -> bytes:
        """Return plain data as JSON."""
        return json.dumps(record, sort_keys=True, separators=(",", ":")).encode()

    @staticmethod
    def unpacked(content: bytes) -> Any:
        """Return the plain data of JSON."""
        return json.loads(content)


def _locked(path: Path, what: str) -> int:
    """Return a lock on a book or a key, which ends with the process, or refuse where another one has it.

    Both are locked: a copy of a book has a lock of its own, and the same key, which would give it the same noise.
    """
    lock = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    until = time.monotonic() + _here.patience
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if time.monotonic() < until:
                notice_private()
                time.sleep(_PAUSE_SECONDS)
                continue
            os.close(lock)
            raise StreamUnavailable(path.stem, "it is open already, here or in another process", what) from None
        return lock


def _connected(path: Path, what: str) -> sqlite3.Connection:
    """Return a connection that waits for the disk at every commit."""
    try:
        rows = sqlite3.connect(path.as_uri() + "?mode=rw", uri=True, timeout=_PATIENCE_SECONDS, isolation_level=None)
        rows.execute("PRAGMA journal_mode = WAL")
        for setting in ("synchronous = FULL", "fullfsync = ON", "checkpoint_fullfsync = ON", "trusted_schema = OFF"):
            rows.execute(f"PRAGMA {setting}")
    except sqlite3.Error as problem:
        raise StreamUnavailable(path.stem, f"its book cannot be read ({problem})", what) from None
    return rows


def _force(folder: Path) -> None:
    file = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)

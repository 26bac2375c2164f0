"""A ledger in one SQLite file: what a curator gets without installing anything.

The file is in write-ahead mode with ``synchronous = FULL``: a commit returns when it is on the disk, and what other
processes can see is on the disk. Both are checked on opening. The file is readable by its owner alone. Writers queue in
the order in which they came, and whoever's round it is carries out what all others have asked meanwhile: the disk is
waited for once for many. Two files beside the ledger, ``-queue`` and ``-post``, serve that, and the locks of those who
work on a request are on a third, ``-holds``; nothing is lost with them. Whoever only reads does so on a connection of
its own and waits for no writer, neither one of this process nor a foreign one that keeps the file locked.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from dither.curator.ledger import schema
from dither.curator.ledger.admission import Certificates
from dither.curator.ledger.commands import (
    Decision,
    Order,
    decide,
    read_decisions,
    read_orders,
    write_decisions,
    write_orders,
)
from dither.curator.ledger.file_locks import FileLocks
from dither.curator.ledger.follow import Followed
from dither.curator.ledger.group_commit import Result, ignore_step
from dither.curator.ledger.holds import Locks
from dither.curator.ledger.migrate import apply_versions
from dither.curator.ledger.post import LONGEST_LETTER, LONGEST_OUTCOME, Letter, Post
from dither.curator.ledger.queue import Rounds, Turns
from dither.curator.ledger.readers import Readers
from dither.curator.ledger.rows import Rows
from dither.curator.ledger.rules import Books
from dither.curator.ledger.transaction import Page
from dither.errors import DitherError, LedgerCorrupted, LedgerUnavailable

#: How long to wait for a lock that is not queued for, such as a backup tool's.
_PATIENCE_SECONDS = 30
#: And how long those wait who only read.
_READING_SECONDS = 2
#: File systems whose locks or shared memory do not hold between machines.
_FOREIGN = (
    *("9p", "afs", "ceph", "cifs", "davfs", "gfs2", "glusterfs", "lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "smb3"),
    *("smbfs", "fuse.davfs", "fuse.glusterfs", "fuse.s3fs", "fuse.sshfs"),
)
#: Lets whoever is ready run first, where the system has such a call; it does not wait for anything.
_give_way: Callable[[], None] = getattr(os, "sched_yield", lambda: None)
_IS_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH}


class SqliteRows(Rows):
    """A connection in a transaction."""

    def __init__(self, connection: sqlite3.Connection, place: str) -> None:
        self._connection = connection
        self.place = place

    def all(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return every row that a query gives."""
        return self._connection.execute(statement, values).fetchall()

    def do(self, statement: str, *values: Any) -> None:
        """Run a statement that gives no rows."""
        self._connection.execute(statement, values)

    def each(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Run a statement that gives no rows, once for every tuple of values."""
        self._connection.executemany(statement, rows)


class SqliteLedger(Books):
    """A ledger in a file.

    Args:
        path: the file; made if it is not there, in a folder that is.
        anchors: the folder of anchors.
        restored_because: go on with a restored file, for this reason.
        clock: tells the time that entries carry.
        reach: called at each step; for tests that kill.
        checkpoint_pages: after how many pages the log is folded into the file.

    """

    def __init__(
        self,
        path: Path,
        anchors: Path,
        *,
        restored_because: str | None = None,
        clock: Callable[[], float] = time.time,
        reach: Callable[[str], None] = ignore_step,
        checkpoint_pages: int = 1000,
    ) -> None:
        self._path = path.absolute()
        super().__init__(str(self._path), anchors, clock=clock, reach=reach)
        self._checkpoint_pages = checkpoint_pages
        self._rounds: Rounds | None = None
        self._post: Post | None = None
        self._connection: sqlite3.Connection | None = None
        self._readers = Readers(self._connect_to_read)
        self._hurried = Readers(lambda: self._connect_to_read(0))
        self._here = threading.local()
        #: What those follow who compare accounts with the chain and change nothing, one after another.
        self._compared: Followed | None = None
        self._comparing = Turns()
        #: Whether others were there when something was asked last.
        self._has_company = False
        try:
            self._open()
            self._start(restored_because=restored_because)
            self._compared = None if self._followed is None else self._followed.copy()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        self._refuse_foreign()
        try:
            self._make_private()
            self._rounds = Rounds(self._path.with_name(self._path.name + "-queue"))
            with self._turn(), self._explained():
                self._connection = self._connect()
                self._migrate()
            self._post = Post(self._path.with_name(self._path.name + "-post"), self._inode)
        except OSError as error:
            raise LedgerUnavailable(self._path, error.strerror or "the file cannot be opened") from None

    def _make_private(self) -> None:
        """Make the file, or check that it may be written, and see that nobody else may read it.

        A file that exists is not opened here: closing it again would drop the locks that SQLite may hold on it in this
        process. SQLite itself would make the file readable by others, and gives its mode to the files beside it.
        """
        try:
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        except FileExistsError:
            if not (self._path.is_file() and os.access(self._path, os.R_OK | os.W_OK)):
                raise LedgerUnavailable(self._path, "it is no file that may be read and written here") from None
            if os.stat(self._path).st_mode & 0o077:
                os.chmod(self._path, 0o600)

    def _connect(self) -> sqlite3.Connection:
        """Return a connection with the settings that durability rests on, or refuse."""
        connection = sqlite3.connect(
            self._path, timeout=_PATIENCE_SECONDS, isolation_level=None, check_same_thread=False, cached_statements=64
        )
        self._inode = os.stat(self._path).st_ino
        mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        if mode != "wal":
            raise LedgerUnavailable(self._path, f"its file system has no write-ahead log (journal mode {mode})")
        for setting in ("synchronous = FULL", "fullfsync = ON", "checkpoint_fullfsync = ON", "foreign_keys = ON"):
            connection.execute(f"PRAGMA {setting}")
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
        connection.execute(f"PRAGMA wal_autocheckpoint = {int(self._checkpoint_pages)}")
        if connection.execute("PRAGMA synchronous").fetchone()[0] != 2:
            raise LedgerUnavailable(
                self._path, "SQLite does not promise to wait for the disk (synchronous is not FULL)"
            )
        return connection

    def _connect_to_read(self, seconds: float = _READING_SECONDS) -> sqlite3.Connection | None:
        """Return a connection that only reads, unless another file is under this name now."""
        connection = sqlite3.connect(
            self._path, timeout=seconds, isolation_level=None, check_same_thread=False, cached_statements=64
        )
        is_open = False
        try:
            for setting in ("query_only = ON", "trusted_schema = OFF", "cell_size_check = ON"):
                connection.execute(f"PRAGMA {setting}")
            # The first statement that reads opens the file.
            connection.execute("PRAGMA schema_version")
            is_open = not self._is_moved()
        finally:
            if not is_open:
                connection.close()
        return connection if is_open else None

    def _migrate(self) -> None:
        """Bring the tables to this version, in one transaction."""
        with self._transaction("BEGIN IMMEDIATE") as rows:
            tables = {row[0] for row in rows.all("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if not tables:
                self._refuse_lost_place()
                rows.do(schema.VERSIONS)
            elif "schema_versions" not in tables:
                raise LedgerCorrupted(self._path, "it is a database of something else")
            apply_versions(rows, schema.SQLITE, self._clock)

    def _refuse_foreign(self) -> None:
        kind = _file_system(self._path)
        if kind in _FOREIGN:
            raise LedgerUnavailable(self._path, f"locks do not hold on {kind}: keep the ledger on a local disk")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn what SQLite says into an error of ours; its own texts are about files, never about data."""
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise self._explanation(error) from None
        except OSError as error:
            raise LedgerUnavailable(self._path, error.strerror or "a file beside it cannot be opened") from None

    def _locks(self) -> Locks:
        return FileLocks(self._path.with_name(self._path.name + "-holds"))

    def _explanation(self, error: Exception) -> DitherError:
        if isinstance(error, UnicodeDecodeError):
            # SQLite quotes what it found in a damaged file.
            return LedgerCorrupted(self._path, "it is damaged: a string in it is not text")
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        name = getattr(error, "sqlite_errorname", "") or type(error).__name__
        kind = LedgerCorrupted if code in _IS_DAMAGE else LedgerUnavailable
        return kind(self._path, f"{error} ({name})")

    @contextmanager
    def _transaction(self, begin: str, reader: sqlite3.Connection | None = None) -> Iterator[Rows]:
        connection = reader or self._connection
        if connection is None:
            raise LedgerUnavailable(self._path, "it is closed")
        try:
            connection.execute(begin)
            try:
                yield SqliteRows(connection, self.place)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise self._explanation(error) from None

    def _turn(self) -> AbstractContextManager[None]:
        if self._rounds is None:
            raise LedgerUnavailable(self._path, "it is closed")
        return self._rounds.turn()

    def _settle(self, orders: Sequence[Order]) -> list[Decision]:
        """Carry orders out together with those of other processes, or have another process do so."""
        rounds, post = self._rounds, self._post
        if rounds is None or post is None:
            raise LedgerUnavailable(self._path, "it is closed")

        def leave_letter() -> bool:
            # Whoever owes the anchor a line goes itself, and pays first. What is long would only be copied about.
            if self._is_anchor_late or sum([order.size for order in orders]) > LONGEST_LETTER:
                return False
            is_left = post.put(write_orders(orders), self._highest_seen)
            if self._is_watched:
                self._reach_all({order.verb for order in orders}, "posted")
            return is_left

        try:
            if rounds.turn_or_service(leave_letter, post.is_answered):
                return self._lead(orders, rounds, post)
            outcome = post.outcome()
        finally:
            rounds.end()
            post.withdraw()
        if outcome is None:
            raise LedgerUnavailable(self._path, "what became of a request was lost on the way; ask with the same key")
        self._has_company = True
        self._highest_seen = max(self._highest_seen, outcome.entry)
        decisions = read_decisions(outcome.text)
        for place, decision in enumerate(decisions):
            if decision.kind == "long":
                with rounds.turn():
                    (decisions[place],) = self._lead([orders[place]], rounds, post)
        return decisions

    def _lead(self, orders: Sequence[Order], rounds: Rounds, post: Post) -> list[Decision]:
        """Carry out one's own orders and all letters in one transaction; if that fails, one's own alone."""
        round_of = _Round(orders, post, self._certificates)
        if self._has_company:
            # Those whom the round before has served are awake now and about to ask again. Who lets them go first finds
            # their letters: otherwise every round would serve one half of the clients, and miss the other.
            _give_way()

        def work(page: Page) -> list[Decision]:
            rounds.begin()
            for letter in round_of.read_letters():
                self._check_not_behind(page, letter.seen)
            return round_of.carry_out(page)

        try:
            decisions = self._transact(round_of.verbs, work)
        except (DitherError, OSError):
            if not round_of.has_company:
                raise
            # Whatever is wrong with another's request is the other's to hear; it will, when its own round has come.
            round_of = _Round(orders, post, self._certificates)
            return self._transact(round_of.verbs, round_of.carry_out)
        self._has_company = round_of.has_company
        if round_of.was_interrupted and not self._is_anchor_late:
            self._is_anchor_late = True
            # The one that died may not have told the anchor. What is durable is told all the same.
            with contextlib.suppress(LedgerUnavailable):
                self._catch_up()
        for letter, verbs in round_of.outcomes:
            post.confirm(letter)
            self._reach_all(verbs, "told")
        return decisions

    def _writing(self) -> AbstractContextManager[Rows]:
        self._refuse_moved()
        return self._transaction("BEGIN IMMEDIATE")

    def _reading(self) -> AbstractContextManager[Rows]:
        return self._transaction("BEGIN")

    def _look(self, work: Callable[[Page], Result]) -> Result:
        """Read one state, whatever it holds; no writer is waited for."""
        self._check_usable()
        self._turns.refuse_inside()
        with self._explained(), self._readers.lent() as reader:
            if reader is not None:
                with self._transaction("BEGIN", reader) as rows:
                    return work(Page(rows, self._clock))
        return super()._look(work)

    def _look_closely(self, work: Callable[[Page], Result]) -> Result:
        """Read one state, and refuse accounts that are not what the chain says; no writer is waited for."""
        self._check_usable()
        self._turns.refuse_inside()
        # One after another, each with a later state: what is followed never goes back.
        with self._comparing.turn(), self._explained(), self._readers.lent() as reader:
            compared = self._compared
            if reader is not None and compared is not None:
                # Read before the state is: others may commit meanwhile.
                seen = self._highest_seen
                with self._transaction("BEGIN", reader) as rows:
                    page = Page(rows, self._clock, compared)
                    self._check_not_behind(page, seen)
                    compared.catch_up(page)
                    return work(page)
        return super()._look_closely(work)

    def _glance(self, statement: str, *values: Any) -> tuple[Any, ...] | None:
        """Return the first row of one statement, which is a transaction of its own."""
        self._check_usable()
        self._turns.refuse_inside()
        is_hurried = getattr(self._here, "is_hurried", False)
        with self._explained(), (self._hurried if is_hurried else self._readers).lent() as reader:
            if reader is not None:
                row: tuple[Any, ...] | None = reader.execute(statement, values).fetchone()
                return row
        if is_hurried:
            raise LedgerUnavailable(self._path, "the file was moved or replaced while it was open; open it again")
        return super()._glance(statement, *values)

    @property
    def is_read_at_once(self) -> bool:
        """Whether ``changes`` waits for nobody, within ``at_once``: it reads a file of this machine."""
        return True

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Let this thread wait for no lock meanwhile: what cannot be read at once is ``LedgerUnavailable``."""
        self._here.is_hurried = True
        try:
            yield
        finally:
            self._here.is_hurried = False

    def _is_moved(self) -> bool:
        """Whether the file is no longer the one under this name."""
        try:
            return os.stat(self._where).st_ino != self._inode
        except OSError:
            return True

    def _refuse_moved(self) -> None:
        """Refuse to write into a file that is no longer the one under this name."""
        if self._is_moved():
            raise LedgerUnavailable(self._path, "the file was moved or replaced while it was open; open it again")

    def _damages(self, rows: Rows) -> list[str]:
        try:
            found = [str(row[0]) for row in rows.all("PRAGMA integrity_check(5)")]
        except sqlite3.Error as error:
            found = [str(error)]
        return [f"the file is damaged: {text}" for text in found if text != "ok"]

    def _disconnect(self) -> None:
        for readers in (self._readers, self._hurried):
            readers.close()
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        for one in (self._rounds, self._post):
            if one is not None:
                one.close()
        self._rounds = self._post = None


class _Round:
    """What one process carries out in one transaction, for itself and for others."""

    def __init__(self, orders: Sequence[Order], post: Post, certificates: Certificates) -> None:
        self._orders, self._post, self._certificates = orders, post, certificates
        self._letters: list[Letter] = []
        #: What is asked, by oneself and by others; grows as letters are read.
        self.verbs = {order.verb for order in orders}
        #: The letters to confirm, and what each asks.
        self.outcomes: list[tuple[Letter, set[str]]] = []
        #: Whether a writer died after its commit and before it told everybody.
        self.was_interrupted = False

    @property
    def has_company(self) -> bool:
        """Whether others' letters were found."""
        return bool(self._letters)

    def read_letters(self) -> list[Letter]:
        """Find what others ask."""
        self._letters = self._post.letters()
        return self._letters

    def carry_out(self, page: Page) -> list[Decision]:
        """Decide everything, and write down what is to be told to others once it is durable."""
        mine: list[Decision] | None = None
        written: list[tuple[Letter, bytes]] = []
        for letter in self._letters:
            decisions = self._decisions_of_the_dead(page, letter)
            if self._post.is_own(letter):
                mine = decisions
                continue
            orders = read_orders(letter.text)
            if decisions is None:
                decisions = self._decide(page, orders)
                written.append((letter, write_decisions(decisions, LONGEST_OUTCOME)))
            verbs = {order.verb for order in orders}
            self.verbs.update(verbs)
            self.outcomes.append((letter, verbs))
        if mine is None:
            mine = self._decide(page, self._orders)
        for letter, text in written:
            self._post.write_down(letter, text, page.seq, page.hash)
        return mine

    def _decide(self, page: Page, orders: Sequence[Order]) -> list[Decision]:
        return [decide(page, order, self._certificates) for order in orders]

    def _decisions_of_the_dead(self, page: Page, letter: Letter) -> list[Decision] | None:
        """Return what a writer decided that died before it could say so, if the chain shows that it committed."""
        found = letter.outcome
        if found is None or page.hash_of(found.entry) != found.hash:
            return None
        self.was_interrupted = True
        return read_decisions(found.text)


def _file_system(path: Path) -> str:
    """Return the kind of file system that a path is on, where the system tells."""
    try:
        mounts = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "unknown"
    best, kind = "", "unknown"
    resolved = str(path.resolve())
    for line in mounts.splitlines():
        words = line.split()
        point = words[1].replace("\\040", " ") if len(words) > 2 else "?"
        inside = resolved == point or resolved.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, words[2]
    return kind

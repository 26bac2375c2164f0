"""A ledger in memory: the same books, for a budget that lives as long as this process and is shared with nobody.

What is debited is debited before noise is drawn, a key finds its stored answer, and the chain can be verified, as in
any ledger. Nothing is durable: a new process begins anew, and so every release of such a ledger says *unledgered*. A
forked child cannot use it, since it would spend the same budget a second time.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from dither.curator.ledger import schema
from dither.curator.ledger.anchor import Memory
from dither.curator.ledger.follow import opened
from dither.curator.ledger.holds import Holds, Locks, Taken
from dither.curator.ledger.migrate import apply_versions
from dither.curator.ledger.rows import Rows
from dither.curator.ledger.rules import Books
from dither.curator.ledger.sqlite import SqliteRows
from dither.curator.ledger.transaction import Page
from dither.errors import LedgerCorrupted, LedgerUnavailable

_PLACE = "memory"


class MemoryLedger(Books):
    """A ledger that goes with its process.

    Args:
        clock: tells the time that entries carry.

    >>> from dither.privacy import PureDP
    >>> with MemoryLedger() as ledger:
    ...     ledger.register("visits", budget=PureDP(1), unit="rows of one person")
    ...     print(ledger.balance("visits").left, ledger.is_durable, ledger.verify().is_intact)
    epsilon = 1 False True

    """

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        super().__init__(_PLACE, Path(), clock=clock)
        # Threads take turns; see ``TransactedLedger``.
        connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._connection: sqlite3.Connection | None = connection
        connection.execute("PRAGMA foreign_keys = ON")
        with self._writing() as rows:
            rows.do(schema.VERSIONS)
            apply_versions(rows, schema.SQLITE, clock)
        with self._reading() as rows:
            page = Page(rows, clock)
            self._id = page.ledger
            self._followed, _ = opened(page, Memory())
        self._holds = Holds(self._id, self._locks())

    @property
    def is_durable(self) -> bool:
        """Not: the budget lives as long as this process."""
        return False

    @contextmanager
    def _writing(self) -> Iterator[Rows]:
        connection = self._connection
        if connection is None:
            raise LedgerUnavailable(_PLACE, "it is closed")
        with self._explained():
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield SqliteRows(connection, _PLACE)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def _reading(self) -> AbstractContextManager[Rows]:
        return self._writing()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn what SQLite says into an error of ours."""
        try:
            yield
        except sqlite3.Error as error:
            raise LedgerCorrupted(_PLACE, f"{error} ({type(error).__name__})") from None

    def _locks(self) -> Locks:
        return _NoLocks()

    def _damages(self, rows: Rows) -> list[str]:
        """Return nothing: there is no file to be damaged."""
        return []

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class _NoLocks(Locks):
    """Locks between processes, where there is only one."""

    def take(self, number: int, deadline: float) -> Taken | None:
        """Grant a lock at once: nobody outside of this process can want it."""
        return Taken(lambda: None, was_awaited=False)

    def close(self) -> None:
        """Do nothing."""

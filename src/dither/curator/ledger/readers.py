"""Connections to a ledger's file that only read, each lent to one thread at a time.

A writer keeps the one connection of its process while it waits for the disk. In write-ahead mode a reader need not wait
for that: it sees the last state that is durable. Nothing is decided by what was read here; whoever debits reads again,
in the transaction of the debit.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Callable, Iterator

#: How many connections are kept that nobody uses.
_IDLE = 8


class Readers:
    """Connections that are lent and come back.

    Args:
        connect: opens one more; None where the file is not the one that was opened first.

    """

    def __init__(self, connect: Callable[[], sqlite3.Connection | None]) -> None:
        self._connect = connect
        self._idle: list[sqlite3.Connection] = []
        self._guard = threading.Lock()
        self._is_closed = False

    @contextlib.contextmanager
    def lent(self) -> Iterator[sqlite3.Connection | None]:
        """Lend a connection for one transaction; None where there is none to be had."""
        with self._guard:
            connection = self._idle.pop() if self._idle else None
        if connection is None:
            connection = self._connect()
        try:
            yield connection
        finally:
            if connection is not None:
                self._give_back(connection)

    def close(self) -> None:
        """Let go of all connections; those that are lent are closed when they come back."""
        with self._guard:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _give_back(self, connection: sqlite3.Connection) -> None:
        with self._guard:
            # One that was interrupted within a transaction is met by nobody else.
            if not self._is_closed and not connection.in_transaction and len(self._idle) < _IDLE:
                self._idle.append(connection)
                return
        connection.close()

"""Locks between the clients of one PostgreSQL server: it drops those of a connection that ends, however it ends.

Free locks are taken on one connection for all requests of a ledger, apart from the one that its transactions use. Who
has to wait does so on a connection of its own, in the server's own queue and with the server's own limit, so that
nobody else is held up; that connection then has the lock.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import os
import threading
import time
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dither.curator.ledger.holds import Locks, Taken
from dither.errors import HandleMisuse

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[Any]

#: How soon the server notices that a client's machine is gone: after a minute. That a process ended it sees at once.
_KEEPALIVES = (
    "SELECT set_config('tcp_keepalives_idle', '30', false), set_config('tcp_keepalives_interval', '10', false), "
    "set_config('tcp_keepalives_count', '3', false)"
)

#: Connections that have locks or wait for them.
_connections: weakref.WeakSet[Any] = weakref.WeakSet()


def _let_go_of_sockets() -> None:
    """Close, in a forked child, what it shares with its parent: the server would take the child for the parent."""
    for connection in list(_connections):
        with contextlib.suppress(Exception):
            os.close(connection.fileno())
    _connections.clear()


os.register_at_fork(after_in_child=_let_go_of_sockets)


class ServerLocks(Locks):
    """Advisory locks of a server's sessions.

    Args:
        connect: makes a new connection that commits by itself.

    """

    def __init__(self, connect: Callable[[], Connection]) -> None:
        self._connect = connect
        self._shared: Connection | None = None
        self._guard = threading.Lock()
        #: The thread that uses the connection.
        self._thread: int | None = None
        self._given_up: collections.deque[tuple[Connection, int]] = collections.deque()

    def take(self, number: int, deadline: float) -> Taken | None:
        """Wait for a lock; None if it was not granted in time."""
        me = threading.get_ident()
        if self._thread == me:
            # A signal handler, which would wait for what it interrupted.
            raise HandleMisuse("this thread is in the midst of a request to the ledger: ask again when it is done")
        try:
            with self._guard:
                self._thread = me
                try:
                    connection, is_free = self._try(number)
                finally:
                    self._thread = None
        finally:
            self._unlock()
        if is_free:
            return Taken(functools.partial(self._let_go, connection, number), False)
        return self._await(number, deadline)

    def _try(self, number: int) -> tuple[Connection, bool]:
        """Take a lock if it is free; a connection that was lost since it was last used is made anew."""
        import psycopg

        known = self._shared
        if known is not None:
            try:
                return known, _is_granted(known, number)
            except psycopg.OperationalError:
                if not known.closed:
                    raise
        self._shared = connection = self._new()
        return connection, _is_granted(connection, number)

    def close(self) -> None:
        """Let go of the connection, and of every lock that was taken on it."""
        connection, self._shared = self._shared, None
        if connection is not None:
            connection.close()

    def _await(self, number: int, deadline: float) -> Taken | None:
        import psycopg

        milliseconds = int(1000 * (deadline - time.monotonic()))
        if milliseconds <= 0:
            return None
        connection = self._new()
        try:
            connection.execute("SELECT set_config('lock_timeout', %s, false)", (str(milliseconds),))
            connection.execute("SELECT pg_advisory_lock(%s::bigint)", (number,))
        except psycopg.errors.LockNotAvailable:
            connection.close()
            return None
        except BaseException:
            connection.close()
            raise
        return Taken(connection.close, True)

    def _new(self) -> Connection:
        connection = self._connect()
        _connections.add(connection)
        connection.execute(_KEEPALIVES)
        return connection

    def _let_go(self, connection: Connection, number: int) -> None:
        """Unlock, now or when whoever uses the connection is done: this may be called in the midst of that."""
        self._given_up.append((connection, number))
        self._unlock()

    def _unlock(self) -> None:
        while self._given_up and self._guard.acquire(blocking=False):
            self._thread = threading.get_ident()
            try:
                connection, number = self._given_up.popleft()
                if not connection.closed:
                    # A connection that fails is lost, and its locks with it.
                    with contextlib.suppress(Exception):
                        connection.execute("SELECT pg_advisory_unlock(%s::bigint)", (number,))
            except IndexError:
                return
            finally:
                self._thread = None
                self._guard.release()


def _is_granted(connection: Connection, number: int) -> bool:
    row = connection.execute("SELECT pg_try_advisory_lock(%s::bigint)", (number,)).fetchone()
    return row is not None and bool(row[0])

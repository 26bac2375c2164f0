"""A ledger in PostgreSQL: for curators who run several machines, or already keep their data there.

The tables are those of the file, in the schema that connections see first. A writer locks the head of the chain, so
that writers queue in the server's own order; a commit returns when it is on the server's disk, which is checked on
opening.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dither.curator.ledger import schema
from dither.curator.ledger.group_commit import ignore_step
from dither.curator.ledger.holds import Locks
from dither.curator.ledger.migrate import apply_versions
from dither.curator.ledger.rows import Rows
from dither.curator.ledger.rules import Books
from dither.curator.ledger.server_locks import ServerLocks
from dither.errors import LedgerCorrupted, LedgerUnavailable, MissingExtra

if TYPE_CHECKING:
    import psycopg

#: How long to wait for other writers, and how long a writer that fell silent may hold them up.
_PATIENCE_SECONDS = 30
#: The lock that is held while tables are made; a number that nothing else uses.
_MAKING = 0x6469746865720001


class PostgresRows(Rows):
    """A connection in a transaction."""

    def __init__(self, connection: psycopg.Connection[Any], place: str) -> None:
        self._connection = connection
        self.place = place

    def all(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return every row that a query gives."""
        return self._connection.execute(_marked(statement), values, binary=True).fetchall()

    def do(self, statement: str, *values: Any) -> None:
        """Run a statement that gives no rows."""
        # Without parameters nothing is substituted, so that a statement may contain any sign.
        self._connection.execute(_marked(statement), values or None)

    def each(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Run a statement that gives no rows, once for every tuple of values."""
        with self._connection.cursor() as cursor:
            cursor.executemany(_marked(statement), rows)


class PostgresLedger(Books):
    """A ledger in a database of PostgreSQL.

    Args:
        url: as libpq takes it; a password is better kept in its own file or variable.
        anchors: the folder of anchors.
        restored_because: go on with a restored database, for this reason.
        clock: tells the time that entries carry.
        reach: called at each step; for tests that kill.

    """

    def __init__(
        self,
        url: str,
        anchors: Path,
        *,
        restored_because: str | None = None,
        clock: Callable[[], float] = time.time,
        reach: Callable[[str], None] = ignore_step,
    ) -> None:
        try:
            import psycopg
        except ImportError:
            raise MissingExtra("a ledger in PostgreSQL", "postgres") from None
        self._errors = psycopg.Error
        self._damage = (psycopg.errors.IntegrityError, psycopg.errors.DataError, psycopg.errors.DataCorrupted)
        self._url = url
        self._connection: psycopg.Connection[Any] | None = None
        super().__init__("postgresql://", anchors, clock=clock, reach=reach)
        try:
            with self._explained():
                self._where = self._connect()
            self._migrate()
            self._start(restored_because=restored_because)
        except BaseException:
            self.close()
            raise

    def _connect(self) -> str:
        """Connect, check the settings that durability rests on, and return the place without a password."""
        import psycopg

        connection = psycopg.connect(self._url, autocommit=True, application_name="dither ledger")
        self._connection = connection
        info = connection.info
        schema_row = connection.execute("SELECT current_schema()").fetchone()
        name = schema_row[0] if schema_row else None
        where = f"postgresql://{info.host}:{info.port}/{info.dbname}?schema={name}"
        if name is None:
            raise LedgerUnavailable(where, "its search path names no schema that exists")
        for setting in ("fsync", "full_page_writes"):
            row = connection.execute("SELECT current_setting(%s)", (setting,)).fetchone()
            if row is None or row[0] != "on":
                raise LedgerUnavailable(where, f"the server does not wait for its disk ({setting} is not on)")
        milliseconds = f"{_PATIENCE_SECONDS * 1000}"
        for setting, value in (
            ("synchronous_commit", "on"),
            ("lock_timeout", milliseconds),
            ("idle_in_transaction_session_timeout", milliseconds),
            ("client_min_messages", "warning"),
        ):
            connection.execute("SELECT set_config(%s, %s, false)", (setting, value))
        return where

    def _locks(self) -> Locks:
        import psycopg

        return ServerLocks(lambda: psycopg.connect(self._url, autocommit=True, application_name="dither holds"))

    def _migrate(self) -> None:
        """Bring the tables to this version, in one transaction."""
        with self._transaction() as rows:
            rows.all("SELECT 1 FROM (SELECT pg_advisory_xact_lock(?)) AS making", _MAKING)
            tables = {
                str(row[0])
                for row in rows.all(
                    "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()"
                )
            }
            if "schema_versions" not in tables:
                if tables & {"head", "entries", "datasets", "analysts", "requests"}:
                    raise LedgerCorrupted(self._where, "its schema holds tables of something else")
                self._refuse_lost_place()
                rows.do(schema.VERSIONS)
            apply_versions(rows, schema.POSTGRES, self._clock)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn what the server says into an error of ours, without the values that its details may repeat."""
        try:
            yield
        except self._errors as error:
            said = getattr(getattr(error, "diag", None), "message_primary", None) or str(error).strip().split("\n")[0]
            kind = LedgerCorrupted if isinstance(error, self._damage) else LedgerUnavailable
            raise kind(self._where, f"{said} ({type(error).__name__})") from None

    @contextmanager
    def _transaction(self, *, is_snapshot: bool = False) -> Iterator[Rows]:
        with self._explained():
            if self._connection is None or self._connection.closed:
                # The server may have been restarted since; what was in flight was undone or is found by its key.
                self._where = self._connect()
            connection = self._connection
            if connection is None:
                raise LedgerUnavailable(self._where, "it is closed")
            with connection.transaction():
                if is_snapshot:
                    connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
                yield PostgresRows(connection, self._where)

    @contextmanager
    def _writing(self) -> Iterator[Rows]:
        with self._transaction() as rows:
            rows.all("SELECT seq FROM head FOR UPDATE")
            yield rows

    @contextmanager
    def _reading(self) -> Iterator[Rows]:
        with self._transaction(is_snapshot=True) as rows:
            yield rows

    def _damages(self, rows: Rows) -> list[str]:
        """Return nothing: the server checks its own pages where its checksums are on."""
        return []

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _marked(statement: str) -> str:
    """Return a constant statement with the placeholders of this driver."""
    return statement.replace("%", "%%").replace("?", "%s") if "?" in statement else statement

"""PostgreSQL, where the data already lives: tables and views of the database at the engine's URL.

**Closed.** Every query runs in a transaction that may only read and sees one snapshot; nothing is created, not even
temporarily, so that a role with SELECT on the declared tables is enough. The settings that change what a query means
(time zone, formats, quoting) are set by the engine; a query that takes longer than the data set's time limit is given
up, or sooner where the role's or the URL's ``statement_timeout`` is shorter.

**Silent.** Cells of another kind are NULL and nothing is reported about them. A query that fails raises
``EngineFailure``, whose text is always the same and which carries no cause.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from dither.data.addresses import expand
from dither.data.engines.emit_postgresql import PostgreSQLEmitter, Source, family
from dither.data.engines.emitter import Statement
from dither.data.engines.postgresql_places import places_of
from dither.data.engines.protocol import Engine, can_hold
from dither.data.importing.sources import absent_column
from dither.data.relations import Aggregated, Aggregation
from dither.data.schema import DataSet, Table
from dither.errors import EngineFailure, EngineUnavailable, MissingExtra

if TYPE_CHECKING:
    from psycopg import Connection

#: ``hash_record_extended`` came with this release.
_OLDEST_SERVER: Final = 140_000
_CONNECT_SECONDS: Final = 15
_SETTINGS: Final = (
    "SET TIME ZONE 'UTC'",
    "SET datestyle = 'ISO, YMD'",
    "SET extra_float_digits = 3",
    "SET standard_conforming_strings = on",
    "SET client_encoding = 'UTF8'",
    # Compiling the guarded forms takes longer than running them.
    "SET jit = off",
)
#: Tables, partitioned and foreign ones, views and materialised views.
_READABLE: Final = ("r", "p", "f", "v", "m")


class PostgreSQLEngine(Engine):
    """The tables of one data set in a PostgreSQL database. Not shared between threads.

    Args:
        dataset: the schema; its ``engine`` is the URL of the database.
        folder: not used, since tables are named and not files.
        frames: refused: rows given as objects have no place in a database.
        portable: whether rows are chosen, and functions computed, such that all engines agree to the last bit.

    """

    #: Others write to the tables meanwhile.
    has_fixed_rows: ClassVar[bool] = False

    def __init__(
        self,
        dataset: DataSet,
        *,
        folder: Path | None = None,
        frames: Mapping[str, Any] | None = None,
        portable: bool = False,
    ) -> None:
        super().__init__(dataset, folder=folder, frames=frames, portable=portable)
        if self.frames:
            fix = "load them into the database, or use duckdb or spark as engine"
            raise EngineUnavailable(f"frames cannot be given to PostgreSQL; {fix}")
        self._connection: Connection[Any] | None = None
        self._sources: dict[str, Source] = {}
        #: Whether several aggregations share a transaction.
        self._is_held = False

    def check(self) -> None:
        """Find every table and compare the declared columns with those that exist; no row is read."""
        self._opened()

    def statement(self, aggregation: Aggregation) -> Statement:
        """Return the SQL that ``aggregate`` runs: public, a function of schema and request alone."""
        self.check_tables(aggregation)
        self._opened()
        return PostgreSQLEmitter(self._sources, portable=self.portable).aggregation(aggregation)

    def prepare(self, aggregation: Aggregation) -> None:
        """Print the statement; refuse one that is too long or too deep."""
        self.statement(aggregation)

    def aggregate(self, aggregation: Aggregation) -> Aggregated:
        """Return the exact measures."""
        statement, connection = self.statement(aggregation), self._opened()
        answer: Aggregated | None = None
        # Raised outside the handler, so that no cause and no context hangs on it: either may quote a private cell.
        with contextlib.suppress(Exception):
            try:
                answer = statement.read(connection.execute(statement.text).fetchall())
            finally:
                if not self._is_held:
                    self._end(connection)
        if answer is None:
            raise EngineFailure
        return answer

    @contextlib.contextmanager
    def at_one_moment(self) -> Iterator[None]:
        """Keep one transaction for all aggregations, which sees the rows of its first statement."""
        self._is_held = True
        try:
            yield
        finally:
            self._is_held = False
            if self._connection is not None:
                self._end(self._connection)

    def places(self, table: Table) -> tuple[str, ...]:
        """Return the server's own numbers for the table and for all relations that it reads."""
        connection = self._opened()
        try:
            return places_of(connection, self._sources[table.name].place)
        finally:
            self._end(connection)

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
        self._connection, self._sources = None, {}

    # Opening.

    def _end(self, connection: Connection[Any]) -> None:
        """Leave the transaction; the next query reopens a broken connection."""
        with contextlib.suppress(Exception):
            connection.rollback()
        if connection.closed or connection.broken:
            self.close()

    def _opened(self) -> Connection[Any]:
        if self._connection is None or self._connection.closed:
            try:
                self._connection = self._open()
            except BaseException:
                self.close()
                raise
        return self._connection

    def _open(self) -> Connection[Any]:
        try:
            import psycopg
            from psycopg import IsolationLevel
        except ImportError:
            raise MissingExtra("the PostgreSQL engine", "postgres") from None
        connection: Connection[Any] | None = None
        reason = ""
        try:
            connection = psycopg.connect(
                expand(self.dataset.engine), connect_timeout=_CONNECT_SECONDS, autocommit=True, prepare_threshold=None
            )
        except psycopg.Error as problem:
            # A server that is away or refuses a password quotes no row; the URL itself may hold the password.
            reason = type(problem).__name__
        if connection is None:
            fix = "check that it runs, and the URL's host, database, user and password"
            raise EngineUnavailable(f"the PostgreSQL server cannot be reached ({reason}); {fix}")
        self._connection = connection
        if connection.info.server_version < _OLDEST_SERVER or self._setting("server_encoding") != "UTF8":
            raise EngineUnavailable("PostgreSQL 14 or newer is needed, and a database whose encoding is UTF8")
        for setting in _SETTINGS:
            connection.execute(setting)
        connection.execute(
            "SELECT set_config('statement_timeout', least(nullif(setting::bigint, 0), %s)::text, false)"
            " FROM pg_settings WHERE name = 'statement_timeout'",
            (1000 * self.dataset.seconds,),
        )
        for table in self.dataset.tables:
            self._sources[table.name] = self._source(connection, table)
        # Tables are named in full, and no user's function can replace one of PostgreSQL's own.
        connection.execute("SET search_path = pg_catalog")
        # From here on every query runs in its own read-only transaction, which sees one moment of the data.
        connection.autocommit = False
        connection.read_only = True
        connection.isolation_level = IsolationLevel.REPEATABLE_READ
        return connection

    def _setting(self, name: str) -> str:
        found = None if self._connection is None else self._connection.execute(f"SHOW {name}").fetchone()
        return str(found[0]) if found else ""

    def _source(self, connection: Connection[Any], table: Table) -> Source:
        place = self._place(connection, table)
        listed = connection.execute(
            "SELECT a.attname::text, CASE WHEN y.typtype = 'e' THEN 'enum' ELSE y.typname::text END"
            " FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid"
            " JOIN pg_type y ON y.oid = CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END"
            " WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum",
            (place,),
        ).fetchall()
        present = {str(name): str(stored) for name, stored in listed}
        columns = {}
        for column in table.columns:
            # Unquoted names are stored in lower case, so that a declared Age is the column age if there is no other.
            found = column.stored_name
            if column.source is None and found not in present:
                found = found.lower()
            if found not in present:
                raise EngineUnavailable(absent_column(table, column, list(present)))
            if not can_hold(family(present[found]), column.kind):
                fix = "change its kind in the schema, or omit it"
                declared = f"column {column.name} of table {table.name} is declared {column.kind.value}"
                raise EngineUnavailable(f"{declared}, but the database stores {present[found]}; {fix}")
            columns[column.name] = (found, present[found])
        may_read = connection.execute("SELECT has_table_privilege(to_regclass(%s), 'SELECT')", (place,)).fetchone()
        listed_columns = [found for found, _ in columns.values()]
        if not (may_read and may_read[0]) and not self._may_read_columns(connection, place, listed_columns):
            fix = f"GRANT SELECT ON {place} to the role of the URL"
            raise EngineUnavailable(f"table {table.name}: the role may not read {table.source}; {fix}")
        return Source(place, columns)

    def _may_read_columns(self, connection: Connection[Any], place: str, columns: Sequence[str]) -> bool:
        allowed = connection.execute(
            "SELECT bool_and(has_column_privilege(to_regclass(%s), c, 'SELECT')) FROM unnest(%s::text[]) AS c",
            (place, list(columns)),
        ).fetchone()
        return bool(allowed and allowed[0])

    def _place(self, connection: Connection[Any], table: Table) -> str:
        """Return the full quoted name of the table or view, found by its exact name or else in lower case."""
        quote = PostgreSQLEmitter({}).quote
        parts = table.source.split(".")
        if len(parts) <= 2 and all(parts) and "\x00" not in table.source:
            for candidate in (parts, [part.lower() for part in parts]):
                place = ".".join(quote(part) for part in candidate)
                found = connection.execute(
                    "SELECT c.relkind::text, n.nspname::text, c.relname::text FROM pg_class c"
                    " JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass(%s)",
                    (place,),
                ).fetchone()
                if found is not None and found[0] in _READABLE:
                    return ".".join(quote(str(part)) for part in found[1:])
        fix = "correct its source in the schema: the name of a table or view, with its schema before a dot if need be"
        raise EngineUnavailable(f"table {table.name}: the database has no {table.source}; {fix}")

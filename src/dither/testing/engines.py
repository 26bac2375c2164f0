"""Every engine over the same small tables: DuckDB in this process, a private PostgreSQL server, Spark on this machine.

Rows are values of the declared kinds, or None. An engine that cannot be used here raises ``EngineAbsent`` with the
reason, so that a test skips with it and an audit prints it.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cached_property
from typing import Any, Final

from dither.data.engines.protocol import Engine
from dither.data.expressions import Kind
from dither.data.reference import cell, given
from dither.data.schema import DataSet, Table
from dither.errors import MissingExtra
from dither.testing.postgres import PostgresAbsent, PostgresServer, temporary_postgres

#: The engines that run what is printed for them.
PRINTED: Final = ("duckdb", "postgresql", "spark")
Rows = Sequence[Mapping[str, Any]]

_ARROW: Final = {
    Kind.BOOLEAN: "bool_",
    Kind.INTEGER: "int64",
    Kind.REAL: "float64",
    Kind.TEXT: "string",
    Kind.DATE: "date32",
    Kind.TIMESTAMP: "timestamp",
}
_POSTGRESQL: Final = {
    Kind.BOOLEAN: "boolean",
    Kind.INTEGER: "bigint",
    Kind.REAL: "double precision",
    Kind.TEXT: "text",
    Kind.DATE: "date",
    Kind.TIMESTAMP: "timestamp",
}
#: For queries over a few rows the Java machine spends most of its time on compiling: once is enough.
_JAVA: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


class EngineAbsent(Exception):
    """An engine cannot be used here; the text is the reason."""


def typed_rows(table: Table, rows: Rows) -> list[dict[str, Any]]:
    """Return rows of any cells as values of the declared kinds, None where a cell is not of its kind."""
    return [{name: cell(given(row, name), kind) for name, kind in table.kinds.items()} for row in rows]


def arrow_table(table: Table, rows: Rows) -> Any:
    """Return rows of typed values as an Arrow table with the types of the declared kinds."""
    try:
        import pyarrow
    except ImportError:
        raise EngineAbsent("Arrow tables need pyarrow") from None
    arrays = []
    for name, kind in table.kinds.items():
        make = getattr(pyarrow, _ARROW[kind])
        arrays.append(pyarrow.array([row[name] for row in rows], type=make("us") if kind is Kind.TIMESTAMP else make()))
    return pyarrow.table(arrays, names=list(table.kinds))


class Engines:
    """Opens engines over given rows. One server and one Java machine serve all of them; closed at the end."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._numbers = itertools.count()

    def __enter__(self) -> Engines:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @contextmanager
    def opened(
        self, name: str, dataset: DataSet, tables: Mapping[str, Rows], *, portable: bool = False
    ) -> Iterator[Engine]:
        """Open an engine over typed rows of every table, and close it and remove its tables at the end.

        Args:
            name: one of ``PRINTED``.
            dataset: the schema.
            tables: for every table its rows, of values of the declared kinds.
            portable: whether rows are chosen, and functions computed, such that all engines agree to the last bit.

        """
        make: dict[str, Callable[[DataSet, Mapping[str, Rows], bool], tuple[Engine, list[str]]]]
        make = {"duckdb": self._duckdb, "postgresql": self._postgresql, "spark": self._spark}
        engine, made = make[name](dataset, tables, portable)
        try:
            yield engine
        finally:
            engine.close()
            for place in made:
                self._connection.execute(f"DROP TABLE {place}")

    def _duckdb(self, dataset: DataSet, tables: Mapping[str, Rows], portable: bool) -> tuple[Engine, list[str]]:
        from dither.data.engines.duckdb import DuckDBEngine

        frames = {table.name: arrow_table(table, tables[table.name]) for table in dataset.tables}
        # With few rows a second thread only waits.
        return DuckDBEngine(dataset, frames=frames, portable=portable, threads=1), []

    def _postgresql(self, dataset: DataSet, tables: Mapping[str, Rows], portable: bool) -> tuple[Engine, list[str]]:
        from dither.data.engines.postgresql import PostgreSQLEngine

        stored = tuple(self.postgresql_table(table, tables[table.name]) for table in dataset.tables)
        engine = PostgreSQLEngine(replace(dataset, tables=stored, engine=self.postgresql_url), portable=portable)
        return engine, [table.source for table in stored]

    def _spark(self, dataset: DataSet, tables: Mapping[str, Rows], portable: bool) -> tuple[Engine, list[str]]:
        from dither.data.engines.spark import SparkEngine

        frames = {table.name: arrow_table(table, tables[table.name]) for table in dataset.tables}
        engine = SparkEngine(replace(dataset, engine="spark"), frames=frames, portable=portable)
        before = os.environ.get("JDK_JAVA_OPTIONS")
        os.environ["JDK_JAVA_OPTIONS"] = before or _JAVA
        try:
            engine.check()
        except MissingExtra as absent:
            raise EngineAbsent(str(absent)) from None
        finally:
            if before is None:
                del os.environ["JDK_JAVA_OPTIONS"]
        return engine, []

    @property
    def postgresql_url(self) -> str:
        """The address of the private server, which is started for the first who asks."""
        return self._server.url

    def postgresql_table(self, table: Table, rows: Rows) -> Table:
        """Put typed rows into a new table of the server, and return the table with its source."""
        source = f"rows_{next(self._numbers)}"
        columns = ", ".join(f'"{name}" {_POSTGRESQL[kind]}' for name, kind in table.kinds.items())
        with self._connection.cursor() as cursor:
            cursor.execute(f"CREATE UNLOGGED TABLE {source} ({columns})")
            with cursor.copy(f"COPY {source} FROM STDIN") as copy:
                for row in rows:
                    copy.write_row([row[name] for name in table.kinds])
        return replace(table, source=source)

    @cached_property
    def _server(self) -> PostgresServer:
        try:
            return self._stack.enter_context(temporary_postgres())
        except PostgresAbsent as absent:
            raise EngineAbsent(str(absent)) from None

    @cached_property
    def _connection(self) -> Any:
        try:
            import psycopg
        except ImportError:
            raise EngineAbsent("PostgreSQL needs psycopg") from None
        return self._stack.enter_context(psycopg.connect(self.postgresql_url, autocommit=True))

"""Engines to test, by name: each factory opens one over given rows, or skips where the engine is absent."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import pytest

from dither.data import DataSet, Kind, Table
from dither.data.engines import Engine
from dither.data.engines.duckdb import DuckDBEngine
from dither.data.engines.postgresql import PostgreSQLEngine
from dither.data.engines.spark import SparkEngine
from dither.errors import MissingExtra
from dither.testing.postgres import PostgresAbsent, temporary_postgres

#: Rows of clean values: None, or a value of the column's kind.
Rows = Sequence[Mapping[str, Any]]
#: Opens an engine over the rows of each table of a data set.
Factory = Callable[..., Engine]

_ARROW = {
    Kind.BOOLEAN: "bool_",
    Kind.INTEGER: "int64",
    Kind.REAL: "float64",
    Kind.TEXT: "string",
    Kind.DATE: "date32",
    Kind.TIMESTAMP: "timestamp",
}


def arrow_table(table: Table, rows: Rows) -> Any:
    """Return rows as an Arrow table with the types of the declared kinds."""
    pyarrow = pytest.importorskip("pyarrow", reason="Arrow tables need pyarrow")
    arrays, names = [], []
    for name, kind in table.kinds.items():
        make = getattr(pyarrow, _ARROW[kind])
        kind_of_array = make("us") if kind is Kind.TIMESTAMP else make()
        arrays.append(pyarrow.array([row[name] for row in rows], type=kind_of_array))
        names.append(name)
    return pyarrow.table(arrays, names=names)


def duckdb_engine(dataset: DataSet, tables: Mapping[str, Rows], *, portable: bool = False) -> Engine:
    """Return DuckDB over Arrow tables."""
    frames = {table.name: arrow_table(table, tables[table.name]) for table in dataset.tables}
    # With few rows a second thread only waits.
    return DuckDBEngine(dataset, frames=frames, portable=portable, threads=1)


_SERVERS = ExitStack()
_POSTGRESQL = {
    Kind.BOOLEAN: "boolean",
    Kind.INTEGER: "bigint",
    Kind.REAL: "double precision",
    Kind.TEXT: "text",
    Kind.DATE: "date",
    Kind.TIMESTAMP: "timestamp",
}
_numbers = itertools.count()


@functools.cache
def postgresql_url() -> str:
    """Return the address of one private server for all tests of the process."""
    pytest.importorskip("psycopg", reason="PostgreSQL needs psycopg")
    try:
        return _SERVERS.enter_context(temporary_postgres()).url
    except PostgresAbsent as absent:
        pytest.skip(str(absent))


@functools.cache
def postgresql_connection() -> Any:
    """Return one connection that all tables are made by: the server starts a process for each."""
    import psycopg

    return _SERVERS.enter_context(psycopg.connect(postgresql_url(), autocommit=True))


def postgresql_table(table: Table, rows: Rows) -> Table:
    """Put rows into a table of the server, and return the table with its source."""
    source = f"rows_{next(_numbers)}"
    columns = ", ".join(f'"{name}" {_POSTGRESQL[kind]}' for name, kind in table.kinds.items())
    with postgresql_connection().cursor() as cursor:
        cursor.execute(f"CREATE TABLE {source} ({columns})")
        with cursor.copy(f"COPY {source} FROM STDIN") as copy:
            for row in rows:
                copy.write_row([row[name] for name in table.kinds])
    return dataclasses.replace(table, source=source)


def postgresql_engine(dataset: DataSet, tables: Mapping[str, Rows], *, portable: bool = False) -> Engine:
    """Return PostgreSQL over tables of a private server."""
    stored = tuple(postgresql_table(table, tables[table.name]) for table in dataset.tables)
    return PostgreSQLEngine(dataclasses.replace(dataset, tables=stored, engine=postgresql_url()), portable=portable)


def spark_engine(dataset: DataSet, tables: Mapping[str, Rows], *, portable: bool = False) -> Engine:
    """Return Spark on this machine over Arrow tables."""
    frames = {table.name: arrow_table(table, tables[table.name]) for table in dataset.tables}
    engine = SparkEngine(dataclasses.replace(dataset, engine="spark"), frames=frames, portable=portable)
    # For queries over a few rows the Java machine spends most of its time on compiling: once is enough.
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        try:
            engine.check()
        except MissingExtra as absent:
            pytest.skip(str(absent))
    return engine


@pytest.fixture(scope="session", autouse=True)
def _servers() -> Iterator[None]:
    """Stop what was started, at the end of the process."""
    with _SERVERS:
        yield


#: One factory an engine; a factory that cannot be used here skips with a reason.
FACTORIES: dict[str, Factory] = {
    "duckdb": duckdb_engine,
    "postgresql": postgresql_engine,
    "spark": spark_engine,
}


@pytest.fixture(scope="session")
def factories() -> dict[str, Factory]:
    """Return the factories by engine."""
    return FACTORIES


# Spark takes about a second to plan a query: it has a suite of its own, which asks the same things in few queries.
@pytest.fixture(scope="module", params=sorted(set(FACTORIES) - {"spark"}))
def engine_name(request: pytest.FixtureRequest) -> str:
    """Return the name of each engine in turn."""
    return str(request.param)


@pytest.fixture
def open_engine(engine_name: str) -> Iterator[Factory]:
    """Return a function that opens an engine, closed again after the test."""
    with ExitStack() as stack:
        yield lambda *given, **named: stack.enter_context(FACTORIES[engine_name](*given, **named))

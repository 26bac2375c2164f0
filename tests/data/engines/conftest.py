"""Engines to test, by name: each factory opens one over given rows, or skips where the engine is absent."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import pytest

from dither.data import DataSet, Table
from dither.data.engines import Engine
from dither.data.engines.duckdb import DuckDBEngine
from dither.data.engines.postgresql import PostgreSQLEngine
from dither.data.engines.spark import SparkEngine
from dither.errors import MissingExtra
from dither.testing.engines import EngineAbsent, Engines
from dither.testing.engines import arrow_table as typed_arrow_table

#: Rows of clean values: None, or a value of the column's kind.
Rows = Sequence[Mapping[str, Any]]
#: Opens an engine over the rows of each table of a data set.
Factory = Callable[..., Engine]

#: One server and one connection serve all tests of the process.
_ENGINES = Engines()


def arrow_table(table: Table, rows: Rows) -> Any:
    """Return rows as an Arrow table with the types of the declared kinds."""
    pytest.importorskip("pyarrow", reason="Arrow tables need pyarrow")
    return typed_arrow_table(table, rows)


def duckdb_engine(dataset: DataSet, tables: Mapping[str, Rows], *, portable: bool = False) -> Engine:
    """Return DuckDB over Arrow tables."""
    frames = {table.name: arrow_table(table, tables[table.name]) for table in dataset.tables}
    # With few rows a second thread only waits.
    return DuckDBEngine(dataset, frames=frames, portable=portable, threads=1)


def postgresql_url() -> str:
    """Return the address of one private server for all tests of the process."""
    pytest.importorskip("psycopg", reason="PostgreSQL needs psycopg")
    try:
        return _ENGINES.postgresql_url
    except EngineAbsent as absent:
        pytest.skip(str(absent))


def postgresql_engine(dataset: DataSet, tables: Mapping[str, Rows], *, portable: bool = False) -> Engine:
    """Return PostgreSQL over tables of a private server."""
    url = postgresql_url()
    stored = tuple(_ENGINES.postgresql_table(table, tables[table.name]) for table in dataset.tables)
    return PostgreSQLEngine(dataclasses.replace(dataset, tables=stored, engine=url), portable=portable)


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
    with _ENGINES:
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

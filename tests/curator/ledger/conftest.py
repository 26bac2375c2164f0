"""Ledgers of every kind for one suite: a file, and a schema of its own in a real PostgreSQL server."""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dither.curator.ledger import Ledger
from dither.curator.ledger.rules import Books
from dither.curator.ledger.sqlite import SqliteLedger
from dither.testing.postgres import PostgresAbsent, PostgresServer, temporary_postgres

_COUNT = itertools.count(1)


class Home:
    """A place for one ledger, which can be opened again and again."""

    def __init__(self, kind: str, folder: Path, url: str = "") -> None:
        self.kind = kind
        self.folder = folder
        self.anchors = folder / "anchors"
        self.path = folder / "ledger.db"
        self.url = url
        self._opened: list[Ledger] = []

    def open(self, **options: Any) -> Books:
        ledger: Books
        if self.kind == "sqlite":
            ledger = SqliteLedger(self.path, self.anchors, **options)
        else:
            from dither.curator.ledger.postgres import PostgresLedger

            ledger = PostgresLedger(self.url, self.anchors, **options)
        self._opened.append(ledger)
        return ledger

    def close(self) -> None:
        for ledger in self._opened:
            ledger.close()


@pytest.fixture(scope="session")
def server() -> Iterator[PostgresServer]:
    """A private PostgreSQL server, shared by the tests of this process."""
    pytest.importorskip("psycopg", reason="the optional part 'postgres' is not installed")
    try:
        with temporary_postgres() as running:
            yield running
    except PostgresAbsent as absent:
        pytest.skip(f"no PostgreSQL server: {absent}")


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder in memory where there is one: no test here measures the disk, and disks may be slow."""
    memory = Path("/dev/shm")  # noqa: S108 - a private folder is made in it
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as made:
        yield Path(made)


@pytest.fixture
def new_home(request: pytest.FixtureRequest, folder: Path) -> Iterator[Callable[[str], Home]]:
    """Make homes of a kind, each for a ledger of its own."""
    homes: list[Home] = []
    parent = folder

    def make(kind: str) -> Home:
        number = next(_COUNT)
        folder = parent / str(number)
        folder.mkdir()
        url = ""
        if kind == "postgresql":
            import psycopg

            server: PostgresServer = request.getfixturevalue("server")
            with psycopg.connect(server.url, autocommit=True) as connection:
                connection.execute(f"CREATE SCHEMA ledger_{number}")
            url = f"{server.url}&options=-csearch_path%3Dledger_{number}"
        homes.append(Home(kind, folder, url))
        return homes[-1]

    yield make
    for home in homes:
        home.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def home(request: pytest.FixtureRequest, new_home: Callable[[str], Home]) -> Home:
    """A place for one ledger, of each kind in turn."""
    return new_home(request.param)


@pytest.fixture
def file_home(new_home: Callable[[str], Home]) -> Home:
    """A place for a ledger in a file."""
    return new_home("sqlite")

"""A lock that a foreign program keeps on the ledger's file: whoever only reads goes on, or is refused soon."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from dither.curator.ledger import Account, sqlite
from dither.curator.ledger.sqlite import SqliteLedger
from dither.errors import LedgerUnavailable
from dither.privacy import PureDP

ANA = Account("visits", "ana")


@contextmanager
def written_by_others(path: Path) -> Iterator[None]:
    """Keep the file locked against writers, as a shell or a backup tool would."""
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    try:
        yield
    finally:
        other.execute("ROLLBACK")
        other.close()


@pytest.fixture
def ledger(folder: Path) -> Iterator[SqliteLedger]:
    with SqliteLedger(folder / "ledger.db", folder / "anchors") as opened:
        opened.register("visits", budget=PureDP(2), unit="row")
        opened.set_quota("visits", "ana", PureDP(1))
        opened.complete(opened.reserve(ANA, "k", "d", PureDP("0.1")), b"42")
        yield opened


def test_reads_do_not_wait_for_a_writer_that_a_foreign_lock_keeps_waiting(ledger: SqliteLedger, folder: Path) -> None:
    begun = threading.Event()

    def write() -> None:
        begun.set()
        ledger.set_quota("visits", "ana", PureDP("1.5"))

    # Where the lock goes first, the writer waits for nothing any more.
    with ThreadPoolExecutor(2) as pool, written_by_others(folder / "ledger.db"):
        writer = pool.submit(write)
        assert begun.wait(10)
        # The writer has its turn, or is about to.
        while not ledger._turns._inside:
            pass
        balance = pool.submit(ledger.balance, "visits", "ana").result(timeout=15)
        assert (balance.releases, balance.budget.pure) == (1, 1)
        assert pool.submit(ledger.would_admit, ANA, PureDP("0.9")).result(timeout=15)
        assert [one.answer for one in pool.submit(ledger.answers_called, "visits", ("k",), ["ana"]).result(15)] == [
            b"42"
        ]
        assert not writer.done()
    assert ledger.balance("visits", "ana").budget.pure == PureDP("1.5").pure


def test_what_others_wrote_is_compared_with_the_chain_by_those_who_read(ledger: SqliteLedger, folder: Path) -> None:
    with SqliteLedger(folder / "ledger.db", folder / "anchors") as other:
        for number in range(3):
            other.complete(other.reserve(ANA, f"k {number}", "d", PureDP("0.1")), b"42")
            assert ledger.balance("visits", "ana").releases == number + 2
            assert other.balance("visits", "ana").releases == number + 2
    ledger.complete(ledger.reserve(ANA, "last", "d", PureDP("0.1")), b"42")
    assert ledger.balance("visits", "ana").releases == 5


def test_a_file_that_cannot_be_read_at_all_is_refused_by_a_clear_error(
    ledger: SqliteLedger, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where another program replaces the file: a reader that cannot be opened is an error of ours, at once."""
    monkeypatch.setattr(sqlite, "_READING_SECONDS", 0)

    def locked(*_: object, **__: object) -> sqlite3.Connection:
        raise sqlite3.OperationalError("database is locked")

    with ledger.at_once():
        assert ledger.changes() == ledger.changes()
    monkeypatch.setattr(sqlite.sqlite3, "connect", locked)
    ledger._readers.close()
    ledger._hurried.close()
    for read in (lambda: ledger.balance("visits", "ana"), lambda: ledger.answers_called("visits", ("k",), ["ana"])):
        with pytest.raises(LedgerUnavailable, match="database is locked"):
            read()
    with ledger.at_once(), pytest.raises(LedgerUnavailable, match="database is locked"):
        ledger.changes()

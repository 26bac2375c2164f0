"""Full disks, torn logs, foreign files, other versions: refused or recovered, never wrong."""

# ruff: noqa: S311
from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import stat
import struct
import subprocess
import sys
import threading
from fractions import Fraction
from pathlib import Path

import pytest

from dither.curator.ledger import Account, open_ledger, schema
from dither.curator.ledger import sqlite as sqlite_module
from dither.curator.ledger.readers import Readers
from dither.curator.ledger.sqlite import SqliteLedger
from dither.curator.ledger.terms import Allowance, Terms
from dither.errors import (
    AnalystUnknown,
    DitherError,
    HandleMisuse,
    InvalidParameter,
    LedgerBehindAnchor,
    LedgerCorrupted,
    LedgerUnavailable,
)
from dither.privacy import PureDP

ANA = Account("visits", "ana")


def release(ledger, key: str, answer: bytes = b"answer") -> None:
    ledger.complete(ledger.reserve(ANA, key, "d", PureDP("0.01")), answer)


def test_durability_is_set_and_checked(file_home) -> None:
    ledger = file_home.open()
    assert ledger._connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert ledger._connection.execute("PRAGMA synchronous").fetchone() == (2,)
    assert ledger._connection.execute("PRAGMA foreign_keys").fetchone() == (1,)


def test_nobody_else_may_read_it(file_home) -> None:
    before = os.umask(0)
    try:
        with file_home.open() as ledger:
            ledger.register("visits", budget=PureDP(1), unit="row")
            files = [*file_home.folder.glob("ledger.db*"), *file_home.anchors.iterdir()]
            assert len(files) >= 6
            assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
            assert stat.S_IMODE(file_home.anchors.stat().st_mode) == 0o700
    finally:
        os.umask(before)
    file_home.path.chmod(0o644)
    file_home.open()
    assert stat.S_IMODE(file_home.path.stat().st_mode) == 0o600


@pytest.mark.parametrize("place", ["", "mysql://x/y", "\0", "/no/such/folder/ledger.db"])
def test_places_that_cannot_be(place, tmp_path) -> None:
    with pytest.raises((InvalidParameter, LedgerUnavailable)):
        open_ledger(place, anchors=tmp_path)


def test_a_path_and_its_url_are_one_place(folder) -> None:
    with open_ledger(f"sqlite:///{folder}/ledger.db", anchors=folder / "a") as ledger:
        ledger.register("visits", budget=PureDP(1), unit="row")
    with open_ledger(folder / "ledger.db", anchors=folder / "a") as ledger:
        assert ledger.datasets() == ("visits",)


def test_other_files_are_no_ledgers(file_home) -> None:
    file_home.path.write_bytes(b"not a database at all" * 1000)
    with pytest.raises(LedgerCorrupted):
        file_home.open()
    file_home.path.unlink()
    other = sqlite3.connect(file_home.path)
    other.execute("CREATE TABLE something (x)")
    other.close()
    with pytest.raises(LedgerCorrupted, match="a database of something else"):
        file_home.open()
    file_home.path.unlink()
    file_home.path.mkdir()
    with pytest.raises(LedgerUnavailable):
        file_home.open()


def test_network_file_systems_are_refused(file_home, monkeypatch) -> None:
    monkeypatch.setattr(sqlite_module, "_file_system", lambda path: "nfs4")
    with pytest.raises(LedgerUnavailable, match="nfs4"):
        file_home.open()
    assert not file_home.path.exists()


def test_the_kind_of_a_file_system_is_found() -> None:
    assert sqlite_module._file_system(Path("/proc/self")) in ("proc", "unknown")


def test_a_file_that_was_replaced_is_not_written_to(file_home) -> None:
    ledger = file_home.open()
    ledger.register("visits", budget=PureDP(1), unit="row")
    file_home.path.rename(file_home.folder / "moved.db")
    with pytest.raises(LedgerUnavailable, match="moved or replaced"):
        ledger.reserve(ANA, "k", "d", PureDP("0.1"))


READ_ONLY = """
import os, sys
from dither.curator.ledger import open_ledger
from dither.curator.ledger.sqlite import SqliteLedger
from dither.curator.ledger.terms import Allowance, Terms
from dither.errors import LedgerUnavailable
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
try:
    open_ledger(sys.argv[1], anchors=sys.argv[2])
except LedgerUnavailable as error:
    print(error)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user; root may write everything")
def test_a_file_that_may_not_be_written_is_refused_at_once(file_home) -> None:
    with file_home.open() as ledger:
        ledger.register("visits", budget=PureDP(1), unit="row")
    file_home.folder.chmod(0o755)
    file_home.folder.parent.chmod(0o755)
    file_home.path.chmod(0o444)
    command = [sys.executable, "-c", READ_ONLY, str(file_home.path), str(file_home.anchors)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "no file that may be read and written" in done.stdout, done.stderr


FULL = """
import resource, signal, sys
from pathlib import Path
from dither.curator.ledger import Account
from dither.curator.ledger.sqlite import SqliteLedger
from dither.curator.ledger.terms import Allowance, Terms
from dither.errors import LedgerUnavailable
from dither.privacy import PureDP
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
ledger = SqliteLedger(Path(sys.argv[1]), Path(sys.argv[2]), checkpoint_pages=10**6)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), resource.RLIM_INFINITY))
for number in range(200):
    try:
        reservation = ledger.reserve(Account("visits", "ana"), f"k{number}", "d", PureDP("0.001"))
        print("reserved", number, flush=True)
        ledger.complete(reservation, b"x" * 3000)
        print("answered", number, flush=True)
    except LedgerUnavailable:
        print("unavailable", number, flush=True)
"""


@pytest.mark.parametrize("size", [70_000, 100_001, 150_000])
def test_a_full_disk_refuses_and_loses_nothing(file_home, size) -> None:
    """No file may grow beyond a limit: commits fail, what was promised stands, and with room all goes on."""
    with file_home.open() as ledger:
        ledger.register("visits", budget=PureDP(1), unit="row")
    command = [sys.executable, "-c", FULL, str(file_home.path), str(file_home.anchors), str(size)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    told = [line.split() for line in done.stdout.splitlines()]
    reserved = {number for word, number in told if word == "reserved"}
    answered = {number for word, number in told if word == "answered"}
    assert any(word == "unavailable" for word, _ in told)
    with file_home.open() as ledger:
        assert ledger.verify().is_intact
        entries = list(ledger.entries())
        assert reserved <= {entry.key[1:] for entry in entries if entry.kind == "reserve"}
        assert answered <= {entry.key[1:] for entry in entries if entry.kind == "answer"}
        release(ledger, "with room again")


def _last_commit(log: bytes) -> tuple[int, int]:
    """Return where the last commit of a write-ahead log begins and ends, by the format's own fields."""
    page = struct.unpack(">I", log[8:12])[0]
    frames = range(32, len(log) - 24 - page + 1, 24 + page)
    commits = [start + 24 + page for start in frames if struct.unpack(">I", log[start + 4 : start + 8])[0]]
    return commits[-2], commits[-1]


def test_a_log_torn_anywhere_in_its_last_commit_opens_as_before_or_after(file_home) -> None:
    """Cut at every byte of the last frame, SQLite sees the old sums or the new ones; so does the ledger at some."""
    with file_home.open() as ledger:
        ledger.register("visits", budget=PureDP(1), unit="row")
        for number in range(3):
            release(ledger, f"k{number}")
    ledger = file_home.open()
    ledger.register("other", budget=PureDP(1), unit="row")
    # The copies are of a machine that lost power while this debit was written: no anchor knows of it.
    anchors = file_home.folder / "anchors before"
    shutil.copytree(file_home.anchors, anchors)
    ledger.reserve(ANA, "torn", "d", PureDP("0.5"))
    log = Path(f"{file_home.path}-wal").read_bytes()
    start, end = _last_commit(log)
    torn = file_home.folder / "torn"

    def tear(cut: int) -> None:
        shutil.rmtree(torn, ignore_errors=True)
        torn.mkdir()
        shutil.copy(file_home.path, torn / "ledger.db")
        (torn / "ledger.db-wal").write_bytes(log[:cut])

    tear(end)
    whole, file, beside = (torn / "ledger.db").read_bytes(), torn / "ledger.db", torn / "ledger.db-wal"
    for cut in range(end - 4120, end + 1):
        # The same copies as above, in one folder: SQLite leaves nothing but the file behind.
        file.write_bytes(whole)
        beside.write_bytes(log[:cut])
        plain = sqlite3.connect(file)
        (entries,) = plain.execute("SELECT seq FROM head").fetchone()
        plain.close()
        assert entries == (9 if cut >= end else 8), cut
        assert os.listdir(torn) == ["ledger.db"]
    for cut in (*range(start, end, 1571), end - 4096, end - 1, end, len(log)):
        tear(cut)
        shutil.rmtree(file_home.folder / "anchors then", ignore_errors=True)
        shutil.copytree(anchors, file_home.folder / "anchors then")
        with SqliteLedger(torn / "ledger.db", file_home.folder / "anchors then") as recovered:
            assert recovered.balance("visits").spent.pure == Fraction(53 if cut >= end else 3, 100), cut
            assert recovered.verify().is_intact
        if cut < end:
            # With the anchor of a debit that was promised, the same log is refused.
            tear(cut)
            with pytest.raises(LedgerBehindAnchor):
                SqliteLedger(torn / "ledger.db", file_home.anchors)


def test_damaged_bytes_are_found_or_harmless(file_home) -> None:
    """Random bytes of the closed file are spoilt: the ledger is refused, or complains, or says exactly the same."""
    with file_home.open() as ledger:
        ledger.register("visits", budget=PureDP(1), unit="row")
        for number in range(20):
            release(ledger, f"k{number}", bytes([number]) * 50)
    pristine = file_home.path.read_bytes()
    with file_home.open() as ledger:
        truth = ([entry.hash for entry in ledger.entries()], ledger.balance("visits"))
    lots, found = random.Random(), 0
    # The first is one of an answer, which must be noticed; most others are of pages that nothing is written on.
    places = [pristine.index(bytes([7]) * 50), *(lots.randrange(len(pristine)) for _ in range(60))]
    for place in places:
        for beside in file_home.folder.glob("ledger.db-*"):
            beside.unlink()
        spoilt = bytearray(pristine)
        spoilt[place] ^= 1 << lots.randrange(8)
        file_home.path.write_bytes(bytes(spoilt))
        try:
            with SqliteLedger(file_home.path, file_home.anchors) as edited:
                if edited.verify().is_intact:
                    assert ([entry.hash for entry in edited.entries()], edited.balance("visits")) == truth
                else:
                    found += 1
        except (LedgerCorrupted, LedgerUnavailable):
            found += 1
        assert found, "the first of them"


def test_a_ledger_of_the_first_version_opens(file_home) -> None:
    """The fixture was written by the first released version; it must open for ever."""
    connection = sqlite3.connect(file_home.path)
    connection.executescript((Path(__file__).parent / "version_1.sql").read_text(encoding="utf-8"))
    connection.close()
    with file_home.open() as ledger:
        assert ledger.verify().is_intact
        assert ledger.id == "00000000000040008000000000000001"
        balance = ledger.balance("visits")
        assert (balance.spent.pure, balance.releases, balance.sealed) == (Fraction(3, 10), 3, 1)
        assert ledger.reserve(ANA, "first", "digest one", PureDP("0.1")).answer == b"answer one"
        release(ledger, "new")
        assert ledger.verify().is_intact


def test_a_ledger_of_the_second_version_opens_with_what_its_quotas_meant(file_home) -> None:
    """In that version analysts without a quota could spend; what they did stays right, and ends with the next quota."""
    connection = sqlite3.connect(file_home.path)
    connection.executescript((Path(__file__).parent / "version_2.sql").read_text(encoding="utf-8"))
    connection.close()
    ben = Account("visits", "ben")
    with file_home.open() as ledger:
        assert ledger.verify().is_intact
        assert ledger.id == "00000000000040008000000000000002"
        assert ledger.balance("visits").spent.pure == Fraction(1, 5)
        assert ledger.reserve(ANA, "first", "digest one", PureDP("0.1")).answer == b"answer one"
        ledger.complete(ledger.reserve(ben, "third", "digest three", PureDP("0.1")), b"answer three")
        ledger.set_quota("visits", "ana", PureDP("0.5"))
        with pytest.raises(AnalystUnknown):
            ledger.reserve(ben, "fourth", "digest four", PureDP("0.1"))
        assert ledger.verify().is_intact


def test_a_ledger_of_the_third_version_opens_and_takes_back(file_home) -> None:
    """In that version nothing came back; what was spent stays spent."""
    connection = sqlite3.connect(file_home.path)
    connection.executescript((Path(__file__).parent / "version_3.sql").read_text(encoding="utf-8"))
    connection.close()
    with file_home.open() as ledger:
        assert ledger.verify().is_intact
        assert ledger.standings()["visits"].edition == 2
        assert ledger.balance("visits").spent.pure == Fraction(3, 10)
        assert ledger.reserve(ANA, "first", "digest one", PureDP("0.1")).answer == b"answer one"
        held = ledger.reserve(ANA, "third", "digest three", PureDP("0.2"))
        ledger.complete(held, b"answer three", spent=PureDP("0.1"))
        assert ledger.balance("visits").spent.pure == ledger.balance("visits", "ana").spent.pure == Fraction(4, 10)
        assert ledger.verify().is_intact


def test_a_ledger_of_the_fifth_version_opens_with_its_grants(file_home) -> None:
    """In that version the terms of a grant stood in a table of their own, and in no entry."""
    connection = sqlite3.connect(file_home.path)
    connection.executescript((Path(__file__).parent / "version_5.sql").read_text(encoding="utf-8"))
    connection.close()
    with file_home.open() as ledger:
        assert ledger.verify().is_intact
        assert ledger.balance("visits").spent.pure == Fraction(3, 20)
        [grant] = ledger.grants("ana")
        assert json.loads(grant.most) == {"epsilon": "1/5", "kind": "pure"}
        assert ledger.terms("visits", "ana") == Terms()
        assert ledger.reserve(ANA, "first", "digest one", PureDP("0.1")).answer == b"answer one"
        ledger.complete(ledger.reserve(ANA, "second", "digest two", PureDP("0.1")), b"answer two")
        ledger.set_quota("visits", "ana", PureDP(1), terms=Terms(most=PureDP("0.1")))
        ledger.keep_grant("ana", "visits")
        assert ledger.grants("ana")[0].most is None
        assert ledger.end_grant("ana", "visits")
        assert ledger.verify().is_intact


def test_a_ledger_of_the_fifth_version_knows_its_latest_time(file_home) -> None:
    """Its head did not keep it: no clock that is behind when it is opened first sets it back."""
    connection = sqlite3.connect(file_home.path)
    connection.executescript((Path(__file__).parent / "version_5.sql").read_text(encoding="utf-8"))
    times = [json.loads(row[0])["time"] for row in connection.execute("SELECT record FROM entries")]
    connection.close()
    with file_home.open(clock=lambda: 0.0) as ledger:
        ledger.set_quota("visits", "ana", PureDP(1), terms=Terms(allowance=Allowance.of("0.1", 7)))
        begun = ledger.terms("visits", "ana").allowance
        assert begun is not None
        assert begun.since == max(times)
        assert ledger.verify().is_intact


def test_versions_are_applied_in_order_once_and_together(file_home, monkeypatch) -> None:
    last = max(schema.SQLITE)
    with file_home.open() as ledger:
        ledger.register("visits", budget=PureDP(1), unit="row")
    monkeypatch.setitem(schema.SQLITE, last + 1, ("CREATE TABLE second (x)", "INSERT INTO second VALUES (2)"))
    monkeypatch.setitem(
        schema.SQLITE, last + 2, ("INSERT INTO second VALUES (3)", "INSERT INTO no_such_table VALUES (1)")
    )
    with pytest.raises(LedgerUnavailable):
        file_home.open()
    plain = sqlite3.connect(file_home.path)
    assert plain.execute("SELECT max(version) FROM schema_versions").fetchone() == (last,)
    monkeypatch.setitem(schema.SQLITE, last + 2, ("INSERT INTO second VALUES (3)",))
    for _ in range(2):
        with file_home.open() as ledger:
            assert ledger.verify().is_intact
    assert plain.execute("SELECT x FROM second").fetchall() == [(2,), (3,)]
    assert plain.execute("SELECT version FROM schema_versions").fetchall() == [(n,) for n in range(1, last + 3)]
    plain.close()
    monkeypatch.delitem(schema.SQLITE, last + 2)
    with pytest.raises(LedgerUnavailable, match=f"version {last + 2}"):
        file_home.open()


def test_both_kinds_have_the_same_versions() -> None:
    assert schema.SQLITE.keys() == schema.POSTGRES.keys()


def test_many_processes_may_begin_the_same_ledger(file_home) -> None:
    """Six processes, forked so that all begin at the same moment."""
    script = (
        "import os, sys; from dither.curator.ledger import open_ledger; from dither.privacy import PureDP\n"
        "for _ in range(6):\n"
        "    if os.fork() == 0:\n"
        "        with open_ledger(sys.argv[1], anchors=sys.argv[2]) as ledger:\n"
        "            ledger.register('visits', budget=PureDP(1), unit='row')\n"
        "            os.write(1, f'{ledger.id} '.encode())\n"  # at once, so that no two ids run together
        "        sys.exit()\n"
        "sys.exit(any([os.wait()[1] for _ in range(6)]))"
    )
    command = [sys.executable, "-c", script, str(file_home.path), str(file_home.anchors)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    ids = done.stdout.split()
    assert (len(ids), len(set(ids))) == (6, 1)
    with file_home.open() as ledger:
        assert [entry.kind for entry in ledger.entries()] == ["register"]


def test_a_server_that_crashes_loses_nothing_and_is_found_again(server, new_home) -> None:
    home = new_home("postgresql")
    ledger = home.open()
    ledger.register("visits", budget=PureDP(1), unit="row")
    release(ledger, "before")
    waiting = ledger.reserve(ANA, "waiting", "d", PureDP("0.1"))
    server.stop(abruptly=True)
    with pytest.raises(LedgerUnavailable):
        ledger.reserve(ANA, "meanwhile", "d", PureDP("0.1"))
    server.start()
    try:
        receipt = ledger.complete(waiting, b"after")
    except LedgerUnavailable:
        # The first call may find only that the old connection is gone.
        receipt = ledger.complete(waiting, b"after")
    assert receipt.answer == b"after"
    assert ledger.balance("visits").releases == 2
    assert ledger.verify().is_intact


def test_a_server_that_does_not_wait_for_its_disk_is_refused(server, new_home) -> None:
    import psycopg

    home = new_home("postgresql")
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET full_page_writes = off")
        connection.execute("SELECT pg_reload_conf()")
        while connection.execute("SHOW full_page_writes").fetchone() == ("on",):
            pass
        try:
            with pytest.raises(LedgerUnavailable, match="full_page_writes"):
                home.open()
        finally:
            connection.execute("ALTER SYSTEM RESET full_page_writes")
            connection.execute("SELECT pg_reload_conf()")
            while connection.execute("SHOW full_page_writes").fetchone() == ("off",):
                pass


def test_a_server_that_is_not_there(tmp_path) -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(LedgerUnavailable) as refused:
        open_ledger(f"postgresql://someone:secret-word@/nothing?host={tmp_path}", anchors=tmp_path)
    assert "secret-word" not in str(refused.value)
    assert isinstance(refused.value, DitherError)


def test_whoever_reads_waits_for_no_writer_and_counts_what_is_decided(file_home) -> None:
    ledger, other = file_home.open(), file_home.open()
    ledger.register("visits", budget=PureDP(1), unit="row")
    seen, found = other.changes(), []
    with ledger._turns:
        reader = threading.Thread(target=lambda: found.extend([ledger.changes(), *ledger.standings()]))
        reader.start()
        reader.join(30)
        assert found == [seen, "visits"]
        # Whoever is in the midst of a change reads by it, and not beside it.
        with pytest.raises(HandleMisuse):
            ledger.standings()
    account = Account("visits", "curator")
    ledger.complete(ledger.reserve(account, "k", "d", PureDP("0.1")), b"42")
    assert other.changes() == seen
    assert ledger.stored_bytes(account, "k") == (seen, b"42")
    assert ledger.stored_bytes(account, "another") is None
    other.set_stage("visits", "paused")
    assert ledger.changes() == seen + 1
    assert ledger.standings()["visits"].stage == "paused"


def test_a_file_that_was_replaced_is_not_read_by_halves(file_home) -> None:
    ledger = file_home.open()
    ledger.register("visits", budget=PureDP(1), unit="row")
    file_home.path.rename(file_home.folder / "elsewhere")
    file_home.path.write_bytes(b"")
    # Nothing was opened to read yet: what is under the name now is not this ledger.
    ledger._readers.close()
    ledger._readers = Readers(ledger._connect_to_read)
    assert [*ledger.standings(), ledger.changes()] == ["visits", 1]

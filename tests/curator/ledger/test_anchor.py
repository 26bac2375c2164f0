"""Time travel: a ledger that went back, forked, or was edited is noticed, and going on with it gives nothing back."""

# ruff: noqa: S311, S608
from __future__ import annotations

import contextlib
import json
import random
import shutil
import sqlite3
from fractions import Fraction
from pathlib import Path

import pytest

from dither.curator.ledger import Account, accept_restored, open_ledger
from dither.curator.ledger import anchor as anchor_module
from dither.curator.ledger.amounts import Amount
from dither.curator.ledger.anchor import Anchor, Holding, Memory, anchors_folder
from dither.curator.ledger.sqlite import SqliteLedger
from dither.errors import (
    BudgetExceeded,
    InvalidParameter,
    LedgerBehindAnchor,
    LedgerCorrupted,
    LedgerUnavailable,
    ReleaseFailed,
)
from dither.privacy import PureDP

ANA = Account("visits", "ana")


def fill(ledger, releases: int, start: int = 0) -> None:
    ledger.register("visits", budget=PureDP(1), unit="row")
    for number in range(start, start + releases):
        ledger.complete(ledger.reserve(ANA, f"k{number}", "d", PureDP("0.01")), f"answer {number}".encode())


def backup(home) -> Path:
    """Copy a closed ledger file."""
    kept = home.folder / f"backup {len(list(home.folder.iterdir()))}.db"
    shutil.copy(home.path, kept)
    return kept


def test_every_earlier_state_is_refused(file_home) -> None:
    """Fifty prefixes of one history: each is a perfect ledger, and each would give budget back."""
    copies = []
    for number in range(50):
        with file_home.open() as ledger:
            fill(ledger, 1, number)
        copies.append(backup(file_home))
    for number, copy in enumerate(copies[:-1]):
        shutil.copy(copy, file_home.path)
        with pytest.raises(
            LedgerBehindAnchor, match=rf"ends at entry {3 + 2 * number}, .* entry 101; restore .*accept_"
        ):
            file_home.open()
    shutil.copy(copies[-1], file_home.path)
    with file_home.open() as ledger:
        assert ledger.verify().is_intact


def test_a_rolled_back_database_is_refused(home) -> None:
    """The same for a server: its tables are put back to an earlier state behind the ledger's back."""
    with home.open() as ledger:
        fill(ledger, 3)
        with ledger._writing() as rows:
            for table in ("entries", "head", "datasets", "analysts", "requests"):
                rows.do(f"CREATE TABLE old_{table} AS SELECT * FROM {table}")
        fill(ledger, 2, 3)
    connection = _raw(home)
    for table in ("requests", "analysts", "datasets", "entries", "head"):
        for trigger in ("stay", "remain", "spend", "advances"):
            _try(connection, home, f"{table}_{trigger}", table)
        _try(connection, home, "answers_stay", table)
    for table in ("requests", "analysts", "datasets", "head", "entries"):
        connection.execute(f"DELETE FROM {table}")
    for table in ("entries", "head", "datasets", "analysts", "requests"):
        connection.execute(f"INSERT INTO {table} SELECT * FROM old_{table}")
    connection.commit()
    connection.close()
    with pytest.raises(LedgerBehindAnchor, match=r"ends at entry 7, .* entry 11"):
        home.open()
    restored = home.open(restored_because="a test of the backup")
    assert restored.balance("visits").spent.pure == Fraction(5, 100)
    assert restored.verify().is_intact


def _raw(home):
    if home.kind == "sqlite":
        return sqlite3.connect(home.path)
    import psycopg

    return psycopg.connect(home.url)


def _try(connection, home, trigger: str, table: str) -> None:
    if home.kind == "sqlite":
        connection.execute(f"DROP TRIGGER IF EXISTS {trigger}")
    else:
        connection.execute(f"DROP TRIGGER IF EXISTS {trigger} ON {table}")


def test_going_on_with_a_backup_gives_nothing_back(file_home) -> None:
    with file_home.open() as ledger:
        fill(ledger, 10)
        ledger.set_quota("visits", "ana", PureDP("0.9"))
    copy = backup(file_home)
    with file_home.open() as ledger:
        fill(ledger, 30, 10)
        ledger.register("born later", budget=PureDP(2), unit="row")
        ledger.reserve(Account("born later", "ben"), "k", "d", PureDP("1.5"))
        ledger.raise_budget("visits", PureDP(3), reason="a larger study")
    shutil.copy(copy, file_home.path)
    with pytest.raises(LedgerBehindAnchor):
        file_home.open()
    with accept_restored(
        file_home.path, reason="disk failure, ana and ben agreed", anchors=file_home.anchors
    ) as ledger:
        # The lost entries' debits stand, also of a data set that the backup does not know.
        assert ledger.balance("visits").spent.pure == Fraction(40, 100)
        assert ledger.balance("visits").budget == PureDP(3)
        assert ledger.balance("visits", "ana").spent.pure == Fraction(40, 100)
        assert ledger.balance("visits").releases == 40
        assert ledger.balance("born later").left.pure == Fraction(1, 2)
        with pytest.raises(InvalidParameter):
            ledger.register("born later", budget=PureDP(5), unit="row")
        (entry,) = (entry for entry in ledger.entries() if entry.kind == "restore")
        assert entry.record["reason"] == "disk failure, ana and ben agreed"
        # The entry that raised the budget is lost; that it is larger is told with the reason of the restore.
        [larger] = ledger.raises("visits")
        assert (larger["from"]["epsilon"], larger["to"]["epsilon"]) == ("1", "3")
        assert larger["reason"] == entry.record["reason"]
        assert ledger.raises("born later") == ()
        answer = next(one.number for one in ledger.entries() if one.kind == "answer")
        ledger.publish("visits", answer, by="ana")
        assert ledger.verify().is_intact
        ledger.reserve(ANA, "after", "d", PureDP("0.01"))
    with file_home.open() as ledger:
        assert ledger.verify().is_intact
        assert ledger.balance("visits").spent.pure == Fraction(41, 100)
    # The backup is as useless as before.
    shutil.copy(copy, file_home.path)
    with pytest.raises(LedgerBehindAnchor):
        file_home.open()


def test_a_backup_from_before_the_draw_does_not_have_it_drawn_again(file_home) -> None:
    """What waited for its answer in the backup may have got it since: its debit has paid for one draw."""
    with file_home.open() as ledger:
        fill(ledger, 1)
        ledger.abandon(ledger.reserve(ANA, "waits", "d", PureDP("0.5")))
    copy = backup(file_home)
    with file_home.open() as ledger:
        held = ledger.reserve(ANA, "waits", "d", PureDP("0.5"))
        ledger.begin_draw(held)
        ledger.complete(held, b"sent")
    shutil.copy(copy, file_home.path)
    with accept_restored(file_home.path, reason="disk failure", anchors=file_home.anchors) as ledger:
        with pytest.raises(ReleaseFailed):
            ledger.reserve(ANA, "waits", "d", PureDP("0.5"))
        assert ledger.balance("visits").sealed == 1
        assert ledger.balance("visits").spent.pure == Fraction(51, 100)
        assert ledger.verify().is_intact
    with file_home.open() as ledger:
        with pytest.raises(ReleaseFailed):
            ledger.reserve(ANA, "waits", "d", PureDP("0.5"))
        assert ledger.verify().is_intact


def test_two_copies_that_drew_for_one_debit_pay_twice(file_home) -> None:
    with file_home.open() as ledger:
        fill(ledger, 1)
        ledger.abandon(ledger.reserve(ANA, "waits", "d", PureDP("0.25")))
    twin = file_home.folder / "twin.db"
    shutil.copy(file_home.path, twin)
    for path in (file_home.path, twin):
        with SqliteLedger(path, file_home.folder / f"anchors of {path.name}") as ledger:
            held = ledger.reserve(ANA, "waits", "d", PureDP("0.25"))
            ledger.begin_draw(held)
            ledger.complete(held, path.name.encode())
    shutil.copytree(file_home.folder / f"anchors of {file_home.path.name}", file_home.anchors, dirs_exist_ok=True)
    shutil.copy(twin, file_home.path)
    with accept_restored(file_home.path, reason="merged", anchors=file_home.anchors) as ledger:
        assert ledger.balance("visits").spent.pure == Fraction(51, 100)
        assert ledger.balance("visits", "ana").spent.pure == Fraction(51, 100)
        assert ledger.verify().is_intact


def test_a_ledger_that_is_up_to_date_needs_no_acceptance(file_home) -> None:
    with file_home.open() as ledger:
        fill(ledger, 1)
    with pytest.raises(InvalidParameter, match="behind its anchor"):
        accept_restored(file_home.path, reason="none", anchors=file_home.anchors)


def test_two_copies_in_use_at_once_are_noticed_and_both_debits_count(file_home) -> None:
    with file_home.open() as ledger:
        fill(ledger, 10)
    twin = file_home.folder / "twin.db"
    shutil.copy(file_home.path, twin)
    first = file_home.open()
    second = SqliteLedger(twin, file_home.anchors)
    fill(first, 3, 100)
    fill(second, 5, 200)
    assert not first.verify().is_intact
    first.close()
    second.close()
    for path in (file_home.path, twin):
        with pytest.raises(LedgerBehindAnchor, match="two copies"):
            open_ledger(path, anchors=file_home.anchors)
    with accept_restored(file_home.path, reason="the twin is deleted", anchors=file_home.anchors) as ledger:
        assert ledger.balance("visits").spent.pure == Fraction(10 + 3 + 5, 100)
        assert ledger.verify().is_intact
    with pytest.raises(LedgerBehindAnchor):
        open_ledger(twin, anchors=file_home.anchors)


def test_a_copy_that_went_its_own_way_elsewhere_is_refused_at_home(file_home) -> None:
    """Spent under another anchor, brought back: its entries are not those that are remembered here."""
    with file_home.open() as ledger:
        fill(ledger, 10)
    copy = backup(file_home)
    with file_home.open() as ledger:
        fill(ledger, 2, 10)
    with SqliteLedger(copy, file_home.folder / "other anchors") as elsewhere:
        fill(elsewhere, 7, 500)
    shutil.copy(copy, file_home.path)
    with pytest.raises(LedgerBehindAnchor, match="not those that its anchor remembers"):
        file_home.open()
    with accept_restored(file_home.path, reason="merged", anchors=file_home.anchors) as ledger:
        assert ledger.balance("visits").spent.pure == Fraction(10 + 2 + 7, 100)


def test_a_deleted_ledger_does_not_begin_anew(file_home) -> None:
    with file_home.open() as ledger:
        fill(ledger, 3)
    for beside in file_home.folder.glob("ledger.db*"):
        beside.unlink()
    with pytest.raises(LedgerBehindAnchor, match="restore it, or remove"):
        file_home.open()
    for remembered in file_home.anchors.iterdir():
        remembered.unlink()
    for beside in file_home.folder.glob("ledger.db*"):
        beside.unlink()
    assert file_home.open().datasets() == ()


def test_a_moved_ledger_takes_its_anchor_along(file_home) -> None:
    with file_home.open() as ledger:
        fill(ledger, 3)
    elsewhere = file_home.folder / "elsewhere.db"
    file_home.path.rename(elsewhere)
    with open_ledger(elsewhere, anchors=file_home.anchors) as ledger:
        assert ledger.balance("visits").releases == 3
    file_home.open().register("another", budget=PureDP(1), unit="row")


def test_an_anchor_that_missed_the_last_commits_is_brought_up_to_date(file_home) -> None:
    """As after a crash between commit and anchor, or a power failure."""
    with file_home.open() as ledger:
        fill(ledger, 5)
        path = file_home.anchors / f"{ledger.id}.anchor"
    lines = path.read_text().split("\n")
    for kept in range(0, len(lines), 3):
        path.write_text("\n".join(lines[:kept]) + "\nhalf a li")
        with file_home.open() as ledger:
            assert ledger.verify().is_intact
        assert Anchor(file_home.anchors, ledger.id).read().seq == 11


def test_an_anchor_never_goes_back(tmp_path) -> None:
    """Lines in any order, some torn: what is remembered is the join, and more lines never make it less."""
    lots = random.Random()
    anchor = Anchor(tmp_path, "x")
    full = Memory()
    for seq in range(1, 40):
        full.learn(seq, f"{seq:064d}")
    lines = list(full.lines())
    lots.shuffle(lines)
    highest = 0
    for line in lines:
        with anchor.path.open("a") as file:
            file.write(lots.choice(["", "torn", line[: len(line) // 2]]) + "\n" + line + "\n")
        seq = anchor.read().seq
        assert seq >= highest
        highest = seq
    assert highest == 39
    anchor.close()


def test_a_long_anchor_is_shortened_and_still_remembers(file_home, monkeypatch) -> None:
    monkeypatch.setattr(anchor_module, "LONGEST_FILE", 3000)
    monkeypatch.setattr(anchor_module, "LATEST_HASHES", 10)
    with file_home.open() as ledger:
        fill(ledger, 20)
    copy = backup(file_home)
    with file_home.open() as ledger:
        fill(ledger, 60, 20)
        path = file_home.anchors / f"{ledger.id}.anchor"
    assert path.stat().st_size < 40_000
    memory = Anchor(file_home.anchors, ledger.id).read()
    assert (memory.seq, memory.datasets["visits"].releases) == (161, 80)
    # Entry 41, where the backup ends, is not remembered any more; the sums still are, and nothing is counted twice but
    # what came after the last entry that is.
    shutil.copy(copy, file_home.path)
    with accept_restored(file_home.path, reason="an old backup", anchors=file_home.anchors) as ledger:
        assert Fraction(80, 100) <= ledger.balance("visits").spent.pure <= Fraction(100, 100)


def test_the_anchor_is_told_later_if_its_disk_is_full(file_home, monkeypatch) -> None:
    ledger = file_home.open()
    fill(ledger, 1)
    working = anchor_module._write_all

    def full(file: int, text: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(anchor_module, "_write_all", full)
    reservation = ledger.reserve(ANA, "one", "d", PureDP("0.01"))
    # The debit is durable and the anchor is one entry late; nothing more is debited until it has caught up.
    with pytest.raises(LedgerUnavailable, match="No space left"):
        ledger.complete(reservation, b"x")
    with pytest.raises(LedgerUnavailable):
        ledger.reserve(ANA, "two", "d", PureDP("0.01"))
    monkeypatch.setattr(anchor_module, "_write_all", working)
    ledger.complete(reservation, b"x")
    assert ledger.verify().is_intact
    assert Anchor(file_home.anchors, ledger.id).read().seq == len(list(ledger.entries()))


def test_where_anchors_are_kept(monkeypatch, tmp_path) -> None:
    monkeypatch.delenv("DITHER_ANCHORS", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert anchors_folder() == tmp_path / "dither" / "anchors"
    monkeypatch.setenv("DITHER_ANCHORS", str(tmp_path / "elsewhere"))
    assert anchors_folder() == tmp_path / "elsewhere"
    assert anchors_folder(tmp_path / "given") == tmp_path / "given"
    monkeypatch.delenv("DITHER_ANCHORS")
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert anchors_folder() == tmp_path / ".local" / "state" / "dither" / "anchors"


COLUMNS = [
    ("entries", "record"),
    ("entries", "hash"),
    ("datasets", "budget"),
    ("datasets", "unit"),
    ("datasets", "epsilon"),
    ("datasets", "rho"),
    ("datasets", "delta"),
    ("analysts", "quota"),
    ("analysts", "rho"),
    ("requests", "digest"),
    ("requests", "answer"),
    ("requests", "epsilon"),
    ("requests", "key"),
    ("head", "hash"),
]


def test_any_bit_edited_in_any_column_is_detected(file_home) -> None:
    """A hundred random single-bit edits, all constraints and triggers off: each one is found."""
    with file_home.open() as ledger:
        fill(ledger, 15)
        ledger.set_quota("visits", "ana", PureDP("0.9"))
    pristine = backup(file_home)
    lots, edits = random.Random(), 0
    while edits < 100:
        before = edits
        table, column = lots.choice(COLUMNS)
        connection = sqlite3.connect(file_home.path)
        connection.execute("PRAGMA ignore_check_constraints = ON")
        for (trigger,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {trigger}")
        count = connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
        row, value = connection.execute(
            f"SELECT rowid, {column} FROM {table} LIMIT 1 OFFSET ?", (lots.randrange(count),)
        ).fetchone()
        old = bytearray(value if isinstance(value, bytes) else value.encode())
        bit = lots.randrange(8 * len(old))
        old[bit // 8] ^= 1 << bit % 8
        new = bytes(old) if isinstance(value, bytes) else bytes(old).decode("latin-1")
        with contextlib.suppress(sqlite3.IntegrityError), connection:
            connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (new, row))
            edits += 1
        connection.close()
        if edits == before:
            # The bit would have made one key into another one: no database would keep both.
            continue
        try:
            with SqliteLedger(file_home.path, file_home.anchors) as edited:
                assert not edited.verify().is_intact, (table, column, value, new)
        except LedgerCorrupted:
            pass
        shutil.copy(pristine, file_home.path)


def test_entries_dropped_swapped_or_added_are_detected(file_home) -> None:
    with file_home.open() as ledger:
        fill(ledger, 5)
    pristine = backup(file_home)
    edits = [
        "DELETE FROM entries WHERE seq = 4",
        "DELETE FROM entries WHERE seq = 11",
        "UPDATE entries SET seq = 99 WHERE seq = 11",
        "UPDATE entries SET record = (SELECT record FROM entries WHERE seq = 6) WHERE seq = 4",
        "INSERT INTO entries (seq, record, hash) VALUES (12, '{}', hex(zeroblob(32)))",
        "UPDATE datasets SET releases = 4",
        "UPDATE requests SET attempts = 2 WHERE key = 'k1'",
        "UPDATE requests SET state = 'reserved', answer = NULL, answered = NULL WHERE key = 'k1'",
        "DELETE FROM requests WHERE key = 'k1'",
        "UPDATE datasets SET epsilon = NULL",
        "INSERT INTO datasets SELECT 'new', unit, budget, epsilon, rho, delta, 0 FROM datasets",
        "DELETE FROM head",
    ]
    for edit in edits:
        connection = sqlite3.connect(file_home.path)
        for (trigger,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {trigger}")
        connection.execute(edit)
        connection.commit()
        connection.close()
        try:
            with SqliteLedger(file_home.path, file_home.anchors) as edited:
                assert not edited.verify().is_intact, edit
        except LedgerCorrupted:
            pass
        shutil.copy(pristine, file_home.path)
    with file_home.open() as ledger:
        assert ledger.verify().is_intact


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE entries SET record = '{}'",
        "DELETE FROM entries",
        "UPDATE head SET seq = 1",
        "UPDATE datasets SET rho = '0000000000000000000000000000000000000000'",
        "UPDATE datasets SET releases = 0",
        "UPDATE analysts SET delta = '-1'",
        "DELETE FROM datasets",
        "DELETE FROM requests",
        "UPDATE requests SET answer = answer WHERE state = 'answered'",
        "UPDATE requests SET attempts = 4",
        "INSERT INTO entries (seq, record, hash) VALUES (0, 'x', 'y')",
    ],
)
def test_the_tables_themselves_refuse_to_forget(home, edit) -> None:
    """The second fence: with the database's own client, and without switching anything off."""
    with home.open() as ledger:
        fill(ledger, 2)
    connection = _raw(home)
    with pytest.raises(Exception, match=r"never|only|CHECK|check|violates"):
        connection.execute(edit)
    connection.close()


def test_the_tables_themselves_refuse_to_take_a_draw_back(home) -> None:
    with home.open() as ledger:
        fill(ledger, 1)
        ledger.begin_draw(ledger.reserve(ANA, "drawn", "d", PureDP("0.01")))
    connection = _raw(home)
    with pytest.raises(Exception, match="a draw is never taken back"):
        connection.execute("UPDATE requests SET drawn = NULL WHERE key = 'drawn'")
    connection.close()


def test_an_overspent_chain_is_found_even_if_every_hash_is_right(file_home) -> None:
    """Whoever can rewrite the whole chain can forge hashes; what was debited beyond the budget is still told."""
    ledger = file_home.open()
    fill(ledger, 1)
    with ledger._writing() as rows:
        from dither.curator.ledger.amounts import Amount
        from dither.curator.ledger.transaction import Page

        page = Page(rows, lambda: 0.0)
        charge = Amount.of(PureDP(5))
        unit, purse = page.dataset("visits")
        page.enter(
            "reserve", dataset="visits", analyst="ana", key="big", digest="d", charge=charge.to_dict(), description=""
        )
        page.keep_dataset("visits", unit, purse.pay(charge))
        page.keep_analyst(ANA, page.analyst(ANA).pay(charge))
        page.reserve(ANA, "big", "d", charge)
        page.flush()
    (problem,) = ledger.verify().problems
    assert "overspend" in problem
    with pytest.raises(BudgetExceeded):
        ledger.reserve(ANA, "more", "d", PureDP("0.01"))


def test_lines_are_read_however_their_fields_are_ordered() -> None:
    """Written here, or by hand in another order; names that look like fields are names."""
    hostile = '","releases":7,"spent":{"delta":"0'
    for dataset, analyst in (("visits", None), ("visits", "ana"), (hostile, hostile + "\\"), (hostile, None)):
        for spent in (Amount(3, 2, 1), Amount(None, 10**39, 0)):
            holding = Holding(9, {"limit": '{"kind":"pure"}', "unit": hostile}, spent, 4)
            written, again = Memory(), Memory()
            if analyst is None:
                written.learn_dataset(dataset, holding)
            else:
                written.learn_analyst(dataset, analyst, holding)
            (line,) = written.lines()
            again.read(line)
            assert again == written
            body = json.dumps(json.loads(line.partition(" ")[2]), sort_keys=True)
            other = Memory()
            other.read(f"{anchor_module._check(body)} {body}")
            assert other == written


def test_the_anchor_is_forced_and_shortened_when_the_turn_is_over(file_home, monkeypatch) -> None:
    ledger = file_home.open()
    rounds: list[int] = []
    tidy = Anchor.tidy

    def told(anchor: Anchor) -> None:
        rounds.append(ledger._rounds._mine)
        tidy(anchor)
        assert anchor._unforced < anchor_module.SYNC_EVERY

    monkeypatch.setattr(Anchor, "tidy", told)
    fill(ledger, 40)
    assert len(rounds) >= 80
    assert set(rounds) == {0}

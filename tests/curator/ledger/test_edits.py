"""Rows and answers that were edited with the database's own client: refused on opening, and by whoever has it open."""

# ruff: noqa: S608
from __future__ import annotations

import contextlib
import sqlite3
from fractions import Fraction

import pytest

from dither.curator.ledger import Account, Stored, follow
from dither.curator.ledger.anchor import Anchor
from dither.curator.ledger.transaction import limit_text
from dither.errors import AnalystUnknown, LedgerCorrupted, RequestSealed
from dither.privacy import PureDP

ANA, BEN = Account("visits", "ana"), Account("visits", "curator")
LARGE = limit_text(PureDP(100))
NOTHING = "0" * 40


def fill(home):
    ledger = home.open()
    ledger.register("visits", budget=PureDP(1), unit="row")
    ledger.register("other", budget=PureDP(1), unit="row")
    ledger.set_quota("visits", "ana", PureDP("0.5"))
    for analyst in (ANA, BEN):
        ledger.complete(ledger.reserve(analyst, "k", "d", PureDP("0.3")), b"42")
    return ledger


def edit(home, *statements: str) -> None:
    """Change tables behind the ledger's back, with all triggers off."""
    if home.kind == "sqlite":
        with contextlib.closing(sqlite3.connect(home.path)) as connection, connection:
            for (trigger,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
                connection.execute(f"DROP TRIGGER {trigger}")
            for statement in statements:
                connection.execute(statement)
        return
    import psycopg

    with psycopg.connect(home.url) as connection:
        for table in ("entries", "head", "datasets", "analysts", "requests"):
            connection.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        for statement in statements:
            connection.execute(statement)


ACCOUNTS = [
    f"UPDATE datasets SET budget = '{LARGE}' WHERE name = 'visits'",
    "UPDATE datasets SET unit = 'rows of one person' WHERE name = 'visits'",
    f"UPDATE datasets SET epsilon = '{NOTHING}', rho = '{NOTHING}' WHERE name = 'visits'",
    "UPDATE datasets SET releases = 1 WHERE name = 'visits'",
    f"UPDATE analysts SET quota = '{LARGE}' WHERE analyst = 'ana'",
    "UPDATE analysts SET quota = NULL WHERE analyst = 'ana'",
    f"UPDATE analysts SET epsilon = '{NOTHING}' WHERE analyst = 'ana'",
    f"UPDATE analysts SET rho = '{NOTHING}' WHERE analyst = 'ana'",
]


@pytest.mark.parametrize("statement", ACCOUNTS)
def test_edited_accounts_are_not_believed(home, statement) -> None:
    ledger, entries = fill(home), 8
    edit(home, statement)
    for asked in (
        lambda: ledger.reserve(ANA, "l", "d", PureDP("0.1")),
        lambda: ledger.would_admit(ANA, PureDP("0.1")),
        lambda: ledger.balance("visits", "ana"),
        lambda: home.open(),
    ):
        with pytest.raises(
            LedgerCorrupted, match=r"not (those|that) of its entries|anchor remembers that more was spent"
        ):
            asked()
    assert len(list(ledger.entries())) == entries
    # What concerns nobody else is still answered by whoever has it open.
    assert ledger.reserve(Account("other", "eve"), "k", "d", PureDP("0.1")).attempt == 1


@pytest.mark.parametrize(
    "statement",
    [
        f"INSERT INTO datasets SELECT 'forged', unit, budget, '{NOTHING}', rho, delta, 0 FROM datasets LIMIT 1",
        f"INSERT INTO analysts VALUES ('visits', 'eve', '{LARGE}', '{NOTHING}', '{NOTHING}', '{NOTHING}', 0)",
        "DELETE FROM datasets WHERE name = 'other'",
    ],
)
def test_rows_that_no_entry_made_are_not_believed(file_home, statement) -> None:
    ledger = fill(file_home)
    edit(file_home, statement)
    with pytest.raises(LedgerCorrupted):
        file_home.open()
    for account in (Account("forged", "eve"), Account("visits", "eve"), Account("other", "eve")):
        with contextlib.suppress(LookupError, LedgerCorrupted, AnalystUnknown):
            ledger.reserve(account, "k", "d", PureDP("0.1"))
    ledger.close()
    with pytest.raises(LedgerCorrupted):
        file_home.open()


def test_a_sum_put_back_to_what_a_process_remembers_is_noticed(file_home) -> None:
    """Others spent meanwhile, and their debits were taken out of the row again: the entries tell."""
    idle = fill(file_home)
    with file_home.open() as busy:
        before = sqlite3.connect(file_home.path)
        row = before.execute("SELECT epsilon, rho FROM datasets WHERE name = 'visits'").fetchone()
        before.close()
        busy.reserve(BEN, "l", "d", PureDP("0.3"))
    edit(file_home, "UPDATE datasets SET epsilon = '{}', rho = '{}', releases = 2 WHERE name = 'visits'".format(*row))
    with pytest.raises(LedgerCorrupted):
        idle.reserve(BEN, "m", "d", PureDP("0.3"))


def test_an_entry_of_others_that_was_changed_is_noticed(home) -> None:
    idle = fill(home)
    with home.open() as busy:
        busy.raise_budget("visits", PureDP(2), reason="agreed")
    number = len(list(idle.entries()))
    edit(home, f"UPDATE entries SET record = replace(record, 'agreed', 'forged') WHERE seq = {number}")
    with pytest.raises(LedgerCorrupted, match=f"entry {number} does not follow"):
        idle.reserve(ANA, "l", "d", PureDP("0.1"))
    with pytest.raises(LedgerCorrupted):
        home.open()


def test_what_others_change_by_entries_is_followed(home) -> None:
    first = fill(home)
    second = home.open()
    second.raise_budget("visits", PureDP(2), reason="agreed")
    second.set_quota("visits", "ana", PureDP("1.5"))
    second.register("born later", budget=PureDP(3), unit="row")
    assert first.reserve(ANA, "l", "d", PureDP(1)).attempt == 1
    assert first.reserve(Account("born later", "ana"), "l", "d", PureDP(2)).attempt == 1
    assert second.balance("visits", "ana").left.pure == Fraction(1, 5)
    assert second.verify().is_intact


@pytest.mark.parametrize("latest", [1000, 2])
def test_lines_that_the_anchor_never_got_are_made_good(file_home, monkeypatch, latest) -> None:
    """Processes died between their commits and their lines, and others went on: the chain explains the difference."""
    monkeypatch.setattr(follow, "LATEST_HASHES", latest)
    ledger = fill(file_home)
    with monkeypatch.context() as patch:
        patch.setattr(Anchor, "append", lambda *_: None)
        ledger.raise_budget("visits", PureDP(2), reason="agreed")
        ledger.reserve(BEN, "l", "d", PureDP("0.3"))
    for count in range(3):
        ledger.reserve(Account("other", "eve"), f"k{count}", "d", PureDP("0.1"))
    ledger.close()
    remembered = Anchor(file_home.anchors, ledger.id).read()
    assert (remembered.seq, remembered.datasets["visits"].releases) == (13, 2)
    with file_home.open() as again:
        assert again.balance("visits").spent.pure == Fraction(9, 10)
        assert again.balance("visits").budget == PureDP(2)
        assert again.verify().is_intact
    if latest == 2:
        # Where the whole chain had to be read, the anchor knows better afterwards.
        assert Anchor(file_home.anchors, ledger.id).read().datasets["visits"].releases == 3
    edit(file_home, f"UPDATE datasets SET budget = '{LARGE}' WHERE name = 'visits'")
    with pytest.raises(LedgerCorrupted):
        file_home.open()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE requests SET answer = CAST('43' AS {bytes}) WHERE analyst = 'ana'",
        "UPDATE requests SET digest = 'e' WHERE analyst = 'ana'",
        "UPDATE requests SET epsilon = rho WHERE analyst = 'ana'",
        "UPDATE requests SET answered = 3 WHERE analyst = 'ana' AND key = 'k'",
        'UPDATE entries SET record = replace(record, \'"key":"k"\', \'"key":"l"\') WHERE seq = 6',
    ],
)
def test_changed_answers_are_not_given_out(home, statement) -> None:
    ledger = fill(home)
    late = ledger.reserve(ANA, "late", "d", PureDP("0.1"))
    ledger.complete(late, b"7")
    edit(home, statement.format(bytes="BLOB" if home.kind == "sqlite" else "BYTEA"))
    digest = "e" if "digest" in statement else "d"
    with pytest.raises(LedgerCorrupted):
        ledger.reserve(ANA, "k", digest, PureDP("0.1"))
    untouched = ledger.reserve(BEN, "k", "d", PureDP("0.3"))
    assert isinstance(untouched, Stored)
    assert untouched.answer == b"42"


def test_a_late_attempt_does_not_get_changed_bytes_either(home) -> None:
    ledger = fill(home)
    held = ledger.reserve(ANA, "two", "d", PureDP("0.1"))
    ledger.abandon(held)
    second = ledger.reserve(ANA, "two", "d", PureDP("0.1"))
    ledger.complete(second, b"first to complete")
    kind = "BLOB" if home.kind == "sqlite" else "BYTEA"
    edit(home, f"UPDATE requests SET answer = CAST('forged' AS {kind}) WHERE key = 'two'")
    with pytest.raises(LedgerCorrupted, match="answer of request 'two'"):
        ledger.complete(held, b"late")


@pytest.mark.parametrize("key", ["k", "100%_!\\\"'"])
def test_a_request_that_was_put_back_is_not_begun_again(home, key) -> None:
    """An answer taken out of its row, an attempt, a seal, a draw: noise would be drawn anew for what was paid once."""
    ledger = home.open()
    ledger.register("visits", budget=PureDP(1), unit="row")
    names = ("answered", "tried", "sealed", "drawn")
    for name in names:
        for _ in range({"answered": 1, "tried": 2, "sealed": 3, "drawn": 1}[name]):
            held = ledger.reserve(Account("visits", name), key, "d", PureDP("0.1"))
            ledger.abandon(held)
        if name == "drawn":
            ledger.begin_draw(held)
        if name == "answered":
            ledger.complete(held, b"42")
    with pytest.raises(RequestSealed):
        ledger.reserve(Account("visits", "sealed"), key, "d", PureDP("0.1"))
    edit(
        home,
        "UPDATE requests SET state = 'reserved', answer = NULL, answered = NULL WHERE analyst = 'answered'",
        "UPDATE requests SET attempts = 1 WHERE analyst = 'tried'",
        "UPDATE requests SET drawn = NULL WHERE analyst = 'drawn'",
        "UPDATE requests SET state = 'reserved', attempts = 2 WHERE analyst = 'sealed'",
    )
    entries = len(list(ledger.entries()))
    for handle in (ledger, home.open()):
        for name in names:
            with pytest.raises(LedgerCorrupted, match="contradicts its entries"):
                handle.reserve(Account("visits", name), key, "d", PureDP("0.1"))
    assert len(list(ledger.entries())) == entries


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE entries SET record = record || ' ' WHERE seq = {}", "does not follow from the one before it"),
        ("UPDATE head SET seq = seq - 1", "the head is not the last entry"),
    ],
)
def test_verify_says_where_the_chain_breaks(home, statement, said) -> None:
    ledger = fill(home)
    edit(home, statement.format(len(list(ledger.entries()))))
    found = ledger.verify()
    assert not found.is_intact
    assert any(said in problem for problem in found.problems)

"""A draw with a proof is begun again by whoever can draw the same noise, three times in all; any other is not."""

from __future__ import annotations

import json
import sqlite3
from fractions import Fraction
from pathlib import Path

import pytest

from dither.curator.ledger import Account
from dither.curator.ledger.chain import link
from dither.curator.ledger.commands import (
    Decision,
    Draw,
    Seal,
    read_decisions,
    read_orders,
    write_decisions,
    write_orders,
)
from dither.curator.ledger.interface import Reservation, Stored
from dither.curator.ledger.replay import Replay
from dither.errors import InvalidParameter, LedgerCorrupted, ReleaseFailed, RequestSealed
from dither.privacy import PureDP

ANA = Account("visits", "ana")
LOSS = PureDP("0.1")
PROOF = f"498615:{'ab' * 32}"


def begun(ledger, key: str = "k", proof: str = PROOF) -> Reservation:
    """A request that was drawn for, and whose holder is gone."""
    held = ledger.reserve(ANA, key, "d", LOSS)
    assert isinstance(held, Reservation)
    ledger.begin_draw(held, proof=proof)
    ledger.abandon(held)
    return held


def kinds(ledger) -> list[str]:
    return [entry.kind for entry in ledger.entries("visits")]


@pytest.fixture
def ledger(home):
    opened = home.open()
    opened.register("visits", budget=PureDP(1), unit="row")
    return opened


def test_a_draw_with_a_proof_is_resumed_and_answered(home, ledger) -> None:
    held = begun(ledger)
    assert ledger.open_proofs() == (PROOF,)
    with home.open() as other:
        again = other.reserve(ANA, "k", "d", LOSS, resumes=True)
        assert isinstance(again, Reservation)
        assert (again.attempt, again.proof, again.entry, again.hash) == (2, PROOF, held.entry, held.hash)
        with pytest.raises(ReleaseFailed):
            other.begin_draw(again)
        assert other.complete(again, b"42").answer == b"42"
    assert ledger.open_proofs() == ()
    assert isinstance(ledger.reserve(ANA, "k", "d", LOSS), Stored)
    assert kinds(ledger) == ["register", "reserve", "draw", "renew", "answer"]
    assert ledger.balance("visits").spent.pure == Fraction(1, 10)
    assert ledger.verify().is_intact


def test_attempts_before_and_after_the_draw_are_three_in_all(ledger) -> None:
    ledger.abandon(ledger.reserve(ANA, "k", "d", LOSS))
    held = ledger.reserve(ANA, "k", "d", LOSS)
    ledger.begin_draw(held, proof=PROOF)
    ledger.abandon(held)
    third = ledger.reserve(ANA, "k", "d", LOSS, resumes=True)
    assert (third.attempt, third.proof) == (3, PROOF)
    ledger.abandon(third)
    for _ in range(2):
        with pytest.raises(ReleaseFailed):
            ledger.reserve(ANA, "k", "d", LOSS, resumes=True)
    assert kinds(ledger)[1:] == ["reserve", "renew", "draw", "renew", "seal"]
    assert ledger.open_proofs() == ()
    assert ledger.verify().is_intact


@pytest.mark.parametrize(("proof", "resumes"), [(PROOF, False), ("", True)])
def test_without_a_proof_or_one_who_can_resume_it_is_sealed(ledger, proof: str, resumes: bool) -> None:
    begun(ledger, proof=proof)
    for _ in range(2):
        with pytest.raises(ReleaseFailed):
            ledger.reserve(ANA, "k", "d", LOSS, resumes=resumes)
    assert kinds(ledger)[1:] == ["reserve", "draw", "seal"]
    assert ledger.verify().is_intact


def test_a_request_is_sealed_by_its_holder(ledger) -> None:
    held = begun(ledger)
    ledger.seal(held)
    ledger.seal(held)
    for resumes in (False, True):
        with pytest.raises(ReleaseFailed):
            ledger.reserve(ANA, "k", "d", LOSS, resumes=resumes)
    with pytest.raises(ReleaseFailed):
        ledger.complete(held, b"too late")
    answered = ledger.reserve(ANA, "l", "d", LOSS)
    ledger.complete(answered, b"42")
    ledger.seal(answered)
    assert ledger.reserve(ANA, "l", "d", LOSS).answer == b"42"
    with pytest.raises(InvalidParameter, match="what reserve returned"):
        ledger.seal("k")
    assert kinds(ledger).count("seal") == 1
    assert ledger.verify().is_intact


@pytest.mark.parametrize("proof", ["x", "1:", f"1:{'g' * 64}", f"-1:{'0' * 64}", f"1:{'0' * 64}\0", None, 3])
def test_what_is_no_proof_is_not_entered(ledger, proof) -> None:
    held = ledger.reserve(ANA, "k", "d", LOSS)
    with pytest.raises(InvalidParameter, match="an hour and a keyed digest"):
        ledger.begin_draw(held, proof=proof)
    assert kinds(ledger) == ["register", "reserve"]


def test_the_first_to_complete_wins_where_a_hold_was_lost(ledger) -> None:
    """Whoever drew lives after all: both have the same bytes, and one answer is stored."""
    held = begun(ledger)
    again = ledger.reserve(ANA, "k", "d", LOSS, resumes=True)
    assert ledger.complete(held, b"42").answer == ledger.complete(again, b"42").answer == b"42"


def test_orders_and_decisions_survive_a_letter() -> None:
    orders = [Draw(ANA, "k", "d", 3, "h", PROOF), Draw(ANA, "k", "d", 3, "h"), Seal(ANA, "k", "d", 3, "h")]
    assert read_orders(write_orders(orders)) == orders
    decisions = [Decision("reserved", 3, "h", 2, proof=PROOF), Decision("drawn")]
    assert read_decisions(write_decisions(decisions, 10_000)) == decisions


def test_a_draw_whose_proof_was_taken_or_made_up_does_not_resume(file_home) -> None:
    with file_home.open() as ledger:
        ledger.register("visits", budget=PureDP(1), unit="row")
        begun(ledger)
        connection = sqlite3.connect(file_home.path)
        connection.execute("DROP TRIGGER entries_stay")
        for change in (("witness", "witnesz"), ("witnesz", "witness"), (PROOF, PROOF.replace("a", "c"))):
            connection.execute("UPDATE entries SET record = replace(record, ?, ?)", change)
            connection.commit()
            if change[1] == "witness":
                continue
            with pytest.raises((LedgerCorrupted, ReleaseFailed)):
                ledger.reserve(ANA, "k", "d", LOSS, resumes=True)
        connection.close()
        assert not ledger.verify().is_intact


def test_a_request_begun_again_after_a_draw_without_a_proof_is_complained_of(file_home) -> None:
    """The chain is well made, and tells of what no ledger does."""
    with file_home.open() as ledger:
        ledger.register("visits", budget=PureDP(1), unit="row")
        begun(ledger, proof="")
    connection = sqlite3.connect(file_home.path)
    name, seq, last = connection.execute("SELECT ledger, seq, hash FROM head").fetchone()
    record = {"seq": seq + 1, "kind": "renew", "time": "", "dataset": "visits", "analyst": "ana", "key": "k"}
    replay = Replay(name)
    rows = list(connection.execute("SELECT seq, record, hash FROM entries ORDER BY seq"))
    text = json.dumps(record | {"attempt": 2}, sort_keys=True, separators=(",", ":"))

    class Chain:
        def chain(self):
            yield from rows
            yield seq + 1, text, link(last, text)

    replay.walk(Chain())
    assert any("begun again after its draw" in problem for problem in replay.problems)
    connection.close()


def test_a_ledger_of_the_eighth_version_opens_and_its_draws_stay_sealed(file_home) -> None:
    """In that version no draw had a proof."""
    connection = sqlite3.connect(file_home.path)
    connection.executescript((Path(__file__).parent / "version_8.sql").read_text(encoding="utf-8"))
    connection.close()
    with file_home.open() as ledger:
        assert ledger.verify().is_intact
        assert ledger.reserve(ANA, "answered", "d1", PureDP("1/4")).answer == b"1042"
        with pytest.raises(ReleaseFailed):
            ledger.reserve(ANA, "drawn", "d2", PureDP("1/8"), resumes=True)
        held = ledger.reserve(ANA, "reserved", "d3", PureDP("1/16"), resumes=True)
        assert (held.attempt, held.proof) == (2, "")
        ledger.begin_draw(held, proof=PROOF)
        ledger.abandon(held)
        again = ledger.reserve(ANA, "reserved", "d3", PureDP("1/16"), resumes=True)
        assert (again.attempt, again.proof) == (3, PROOF)
        ledger.complete(again, b"7")
        assert ledger.verify().is_intact


def test_attempts_without_a_draw_are_told_apart_from_draws(ledger) -> None:
    for _ in range(3):
        ledger.abandon(ledger.reserve(ANA, "k", "d", LOSS, resumes=True))
    with pytest.raises(RequestSealed):
        ledger.reserve(ANA, "k", "d", LOSS, resumes=True)

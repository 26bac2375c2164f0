"""One process carries out what others ask: each request exactly once, told only when durable, whoever dies when."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from fractions import Fraction
from pathlib import Path

import pytest

from dither.curator.ledger import Account, Reservation
from dither.curator.ledger import post as post_module
from dither.curator.ledger import sqlite as sqlite_module
from dither.curator.ledger.amounts import Amount
from dither.curator.ledger.anchor import Anchor
from dither.curator.ledger.commands import (
    Answer,
    Debit,
    Decision,
    Draw,
    read_decisions,
    read_orders,
    write_decisions,
    write_orders,
)
from dither.curator.ledger.post import LONGEST_LETTER, LONGEST_OUTCOME, SLOTS, Post
from dither.errors import BudgetExceeded, LedgerUnavailable
from dither.privacy import PureDP

ANA, BEN, EVA = (Account("visits", name) for name in ("ana", "ben", "eva"))
TENTH = Amount.of(PureDP("0.1"))


class _Death(BaseException):
    """Ends a call as a kill would, but for the database, which undoes what was not committed."""


def dying(at: str):
    def reach(step: str) -> None:
        if step == at:
            raise _Death

    return reach


def post_of(ledger) -> Post:
    assert ledger._post is not None
    return ledger._post


def leave(ledger, *orders) -> Post:
    """Leave a letter as a process that waits does."""
    post = post_of(ledger)
    assert post.put(write_orders(orders), 0)
    return post


def told(post: Post) -> list[Decision]:
    outcome = post.outcome()
    assert outcome is not None
    return read_decisions(outcome.text)


def registered(home, **options):
    ledger = home.open(**options)
    ledger.register("visits", budget=PureDP(1), unit="row")
    return ledger


def kinds(ledger) -> list[tuple[str, str]]:
    return [(entry.kind, entry.key or "") for entry in ledger.entries()][1:]


def test_orders_and_decisions_survive_the_way() -> None:
    orders = [
        Debit(Account("visits", "résumé"), "k", "d" * 200, Amount(None, 10**39, 7), "a\nb\N{SNOWMAN}"),
        Answer(ANA, "k", "d", 7, "ab" * 32, b"\n\0[]"),
        Draw(BEN, "\N{SNOWMAN}", "d", 2**40, "cd" * 32),
        Answer(BEN, "\N{SNOWMAN}", "d", 2**40, "cd" * 32, b""),
        Answer(BEN, "l", "d", 9, "cd" * 32, bytes(range(256))),
        Debit(ANA, '"', "d", Amount(0, 0, 0), ""),
    ]
    assert read_orders(write_orders(orders)) == orders
    decisions = [Decision("reserved", 7, "ab" * 32, 2, TENTH), Decision("budget", charge=TENTH, limit="{}" * 100)]
    assert read_decisions(write_decisions(decisions, 1000)) == decisions
    assert read_decisions(write_decisions(decisions, 300)) == [decisions[0], Decision("long")]


def test_letters_are_carried_out_in_one_commit_and_each_is_told(file_home) -> None:
    writer, other, third = registered(file_home), file_home.open(), file_home.open()
    commits: list[str] = []
    writer._connection.set_trace_callback(lambda text: commits.append(text) if text == "COMMIT" else None)
    first = leave(other, Debit(ANA, "k", "d", TENTH, "what"), Debit(ANA, "l", "d", Amount.of(PureDP(2)), ""))
    second = leave(third, Debit(BEN, "k", "d", TENTH, ""))
    mine = writer.reserve(EVA, "k", "d", PureDP("0.1"))
    assert commits == ["COMMIT"]
    (reserved, refused), (also,) = told(first), told(second)
    assert (reserved.kind, refused.kind, also.kind) == ("reserved", "budget", "reserved")
    assert {reserved.entry, also.entry, mine.entry} == {2, 3, 4}
    # The outcomes are good for the next step.
    leave(other, Answer(ANA, "k", "d", reserved.entry, reserved.hash, b"ana's"))
    leave(third, Answer(BEN, "k", "d", also.entry, "0" * 64, b"with a hash that is not the debit's"))
    assert writer.complete(mine, b"eva's").answer == b"eva's"
    assert [told(first)[0].kind, told(second)[0].kind] == ["stored", "foreign"]
    assert writer.reserve(ANA, "k", "d", PureDP("0.1")).answer == b"ana's"
    assert writer.balance("visits").spent.pure == Fraction(3, 10)
    assert writer.verify().is_intact
    assert Anchor(file_home.anchors, writer.id).read().seq == 6


def test_requests_of_one_commit_see_one_another(file_home) -> None:
    """The last of the budget is asked for four times, and a key twice, in one commit."""
    writer, other = registered(file_home), file_home.open()
    half = Amount.of(PureDP("0.5"))
    post = leave(
        other,
        *(Debit(ANA, key, "d", half, "") for key in ("a", "b", "c", "a")),
        Debit(ANA, "a", "another", half, ""),
        Debit(Account("nowhere", "ana"), "a", "d", half, ""),
    )
    with pytest.raises(BudgetExceeded):
        writer.reserve(BEN, "k", "d", PureDP("0.5"))
    decisions = told(post)
    assert [one.kind for one in decisions] == ["reserved", "reserved", "budget", "reserved", "reused", "unknown"]
    assert [one.attempt for one in decisions if one.kind == "reserved"] == [1, 1, 2]
    assert kinds(writer) == [("reserve", "a"), ("reserve", "b"), ("renew", "a")]
    assert writer.verify().is_intact


@pytest.mark.parametrize("moment", ["written", "committed", "anchored", "told"])
@pytest.mark.parametrize("finder", ["another", "the sender"])
def test_a_writer_that_dies_is_made_good_for(file_home, moment, finder) -> None:
    """At every moment of a writer's death: nothing was told before it was durable, and nothing is done twice."""
    with registered(file_home):
        pass
    writer, sender, third = file_home.open(reach=dying(f"reserve: {moment}")), file_home.open(), file_home.open()
    order = Debit(ANA, "k", "d", TENTH, "")
    post = leave(sender, order)
    with pytest.raises(_Death):
        writer.reserve(BEN, "k", "d", PureDP("0.1"))
    is_committed = moment != "written"
    assert kinds(third) == ([("reserve", "k")] * 2 if is_committed else [])
    # Told is only what is durable, and only once the writer had come so far.
    assert (post.outcome() is not None) == (moment == "told")
    assert Anchor(file_home.anchors, third.id).read().seq == (1 if moment in ("written", "committed") else 3)
    if finder == "another":
        third.reserve(EVA, "k", "d", PureDP("0.1"))
        (decision,) = told(post)
        post.withdraw()
    elif moment == "told":
        (decision,) = told(post)
        post.withdraw()
    else:
        # The sender's own round has come.
        with sender._rounds.turn():
            (decision,) = sender._lead([order], sender._rounds, post)
        post.withdraw()
    assert (decision.kind, decision.attempt) == ("reserved", 1)
    debits = [entry for entry in third.entries() if entry.kind == "reserve" and entry.analyst == "ana"]
    assert [(entry.number, entry.hash) for entry in debits] == [(decision.entry, decision.hash)]
    assert not [entry for entry in third.entries() if entry.kind == "renew"]
    assert third.verify().is_intact
    memory = Anchor(file_home.anchors, third.id).read()
    assert memory.seq == len(list(third.entries()))
    assert memory.analysts["visits", "ana"].spent == TENTH


def test_another_s_bad_request_is_the_other_s_alone(file_home) -> None:
    """A sender that has seen entries which are not there: its letter stays, the writer's own request goes through."""
    writer, other = registered(file_home), file_home.open()
    post = post_of(other)
    assert post.put(write_orders([Debit(ANA, "k", "d", TENTH, "")]), 99)
    assert isinstance(writer.reserve(BEN, "k", "d", PureDP("0.1")), Reservation)
    assert post.outcome() is None
    assert [entry.analyst for entry in writer.entries()][1:] == ["ben"]


def test_a_full_disk_in_company_is_everybody_s_own(file_home, monkeypatch) -> None:
    """Outcomes cannot be written down: the writer's own request goes through, the others wait for their own round."""
    writer, other = registered(file_home), file_home.open()
    post = leave(other, Debit(ANA, "k", "d", TENTH, ""))

    def full(*values: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(post_of(writer), "write_down", full)
    writer.reserve(BEN, "k", "d", PureDP("0.1"))
    assert post.outcome() is None
    assert [entry.analyst for entry in writer.entries()][1:] == ["ben"]
    assert writer.verify().is_intact


def test_spoilt_letters_are_not_there(file_home) -> None:
    """Every byte of a letter and of its head, changed one at a time: never another request than the one written."""
    writer, other = registered(file_home), file_home.open()
    post = leave(other, Debit(ANA, "k", "d", TENTH, ""))
    path = Path(f"{file_home.path}-post")
    pristine = path.read_bytes()
    (letter,) = post_of(writer).letters()
    positions = [place for place, byte in enumerate(pristine) if byte]
    assert len(positions) > 100
    for place in positions:
        spoilt = bytearray(pristine)
        spoilt[place] ^= 0x20
        path.write_bytes(bytes(spoilt))
        assert all(found == letter for found in post_of(writer).letters()), place
    path.write_bytes(pristine)
    assert post_of(writer).letters() == [letter]
    assert post.outcome() is None


def test_an_outcome_spoilt_on_the_way_is_not_believed(file_home) -> None:
    writer, other = registered(file_home), file_home.open()
    post = leave(other, Debit(ANA, "k", "d", TENTH, ""))
    path = Path(f"{file_home.path}-post")
    before = path.read_bytes()
    writer.reserve(BEN, "k", "d", PureDP("0.1"))
    outcome = post.outcome()
    pristine = path.read_bytes()
    for place in [place for place, byte in enumerate(pristine) if byte and before[place : place + 1] != bytes([byte])]:
        spoilt = bytearray(pristine)
        spoilt[place] ^= 1
        path.write_bytes(bytes(spoilt))
        assert post.outcome() in (None, outcome)


DEAD = """
import sys, os
from pathlib import Path
from dither.curator.ledger.sqlite import SqliteLedger
from dither.curator.ledger.commands import Debit, write_orders
from dither.curator.ledger.interface import Account
from dither.curator.ledger.amounts import Amount
from dither.privacy import PureDP
ledger = SqliteLedger(Path(sys.argv[1]), Path(sys.argv[2]))
order = Debit(Account("visits", "ana"), "k", "d", Amount.of(PureDP("0.1")), "")
assert ledger._post.put(write_orders([order]), 0)
print(len(ledger._post.letters()), flush=True)
sys.stdin.readline()
os._exit(0)
"""


def test_letters_of_the_living_are_read_and_those_of_the_dead_are_not(file_home) -> None:
    writer = registered(file_home)
    command = [sys.executable, "-c", DEAD, str(file_home.path), str(file_home.anchors)]
    sender = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert sender.stdout.readline() == "1\n"
    assert len(post_of(writer).letters()) == 1
    sender.communicate("end\n")
    assert post_of(writer).letters() == []


def test_letters_for_another_file_or_of_another_form_are_not_read(file_home) -> None:
    writer, other = registered(file_home), file_home.open()
    post = post_of(other)
    post._ledger += 1
    leave(other, Debit(ANA, "k", "d", TENTH, ""))
    assert post_of(writer).letters() == []
    post._ledger -= 1
    leave(other, Debit(ANA, "k", "d", TENTH, ""))
    assert len(post_of(writer).letters()) == 1


def test_what_is_too_long_for_a_letter_is_done_in_a_round_of_its_own(file_home) -> None:
    ledger, other = registered(file_home), file_home.open()
    assert not post_of(other).put(b"x" * (LONGEST_LETTER + 1), 0)
    long = "\N{SNOWMAN}" * 20_000
    reservation = ledger.reserve(ANA, "k", "d", PureDP("0.1"), description=long)
    assert ledger.complete(reservation, b"x" * 10**6).answer == b"x" * 10**6
    assert next(entry for entry in ledger.entries() if entry.kind == "reserve").record["description"] == long
    # Eight decisions, each as long as one can be that a ledger acted on, always fit.
    longest = Decision("reserved", 2**62, "f" * 64, 3, Amount(10**40 - 1, 10**40 - 1, 10**40 - 1))
    assert len(write_decisions([longest] * 8, LONGEST_OUTCOME)) <= LONGEST_OUTCOME


def test_there_may_be_more_processes_than_slots(tmp_path) -> None:
    path = tmp_path / "post"
    posts = [Post(path, 1) for _ in range(SLOTS + 2)]
    assert [post.slot for post in posts] == [*range(SLOTS), None, None]
    assert not posts[-1].put(b"letter", 0)
    assert posts[-1].outcome() is None
    posts[-1].withdraw()
    for post in posts:
        post.close()
    again = Post(path, 1)
    assert again.slot == 0
    again.close()


def test_threads_of_one_process_share_a_commit(home) -> None:
    """Eight threads wait behind one writer; when it is done the first of them does the work of all."""
    holds, waits = threading.Event(), threading.Event()
    commits: list[int] = []

    def reach(step: str) -> None:
        if step == "reserve: committed":
            commits.append(len(commits))
        if step == "reserve: written" and not holds.is_set():
            holds.set()
            waits.wait()

    with registered(home):
        pass
    ledger = home.open(reach=reach)
    outcomes: list[object] = []

    def client(number: int) -> None:
        try:
            outcomes.append(ledger.reserve(Account("visits", f"client {number}"), "k", "d", PureDP("0.15")))
        except BudgetExceeded as refused:
            outcomes.append(refused)

    threads = [threading.Thread(target=client, args=(number,)) for number in range(9)]
    for number, thread in enumerate(threads):
        thread.start()
        holds.wait()
        while len(ledger._asked) < number:
            pass
    waits.set()
    for thread in threads:
        thread.join()
    assert sum(isinstance(one, Reservation) for one in outcomes) == 6
    assert sum(isinstance(one, BudgetExceeded) for one in outcomes) == 3
    assert len(commits) == 2
    assert ledger.balance("visits").spent.pure == Fraction(9, 10)
    assert ledger.verify().is_intact


def test_an_answer_can_be_had_again_where_nothing_can_be_written(home, monkeypatch) -> None:
    ledger = registered(home)
    ledger.complete(ledger.reserve(ANA, "k", "d", PureDP("0.1")), b"42")

    def unavailable(*values: object) -> None:
        raise LedgerUnavailable("here", "the disk is full")

    monkeypatch.setattr(ledger, "_transact", unavailable)
    assert ledger.reserve(ANA, "k", "d", PureDP("0.1")).answer == b"42"
    with pytest.raises(LedgerUnavailable):
        ledger.reserve(ANA, "l", "d", PureDP("0.1"))


def test_nobody_else_may_read_letters(file_home) -> None:
    before = os.umask(0)
    try:
        registered(file_home)
    finally:
        os.umask(before)
    assert Path(f"{file_home.path}-post").stat().st_mode & 0o077 == 0


def test_a_letter_in_one_s_slot_that_is_not_one_s_own_is_another_s(file_home) -> None:
    """Should two ever share a slot, neither takes the other's outcome for its own."""
    with registered(file_home):
        pass
    writer, sender = file_home.open(reach=dying("reserve: committed")), file_home.open()
    post = leave(sender, Debit(ANA, "k", "d", TENTH, ""))
    with pytest.raises(_Death):
        writer.reserve(BEN, "k", "d", PureDP("0.1"))
    third = file_home.open()
    post_of(third).slot = post.slot
    mine = third.reserve(EVA, "mine", "d", PureDP("0.1"))
    assert (mine.key, mine.entry) == ("mine", 4)
    assert told(post)[0].entry in (2, 3)


def test_a_handle_that_closes_leaves_the_slots_of_others_alone(tmp_path) -> None:
    """The system drops all of a process's locks on a file when it closes any of it."""
    first, second = Post(tmp_path / "post", 1), Post(tmp_path / "post", 1)
    first.close()
    take = "import runpy, sys, pathlib; print(runpy.run_path(sys.argv[2])['Post'](pathlib.Path(sys.argv[1]), 1).slot)"
    command = [sys.executable, "-S", "-c", take, str(tmp_path / "post"), post_module.__file__]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "0\n"
    third = Post(tmp_path / "post", 1)
    assert third.slot == 0
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "2\n"
    second.close()
    third.close()


def test_a_letter_that_was_confirmed_is_not_carried_out_again(file_home) -> None:
    """It stays in its slot when its sender is done with it, and is passed over there."""
    writer, other = registered(file_home), file_home.open()
    post = leave(other, Debit(ANA, "k", "d", TENTH, ""))
    writer.reserve(BEN, "k", "d", PureDP("0.1"))
    assert told(post)[0].kind == "reserved"
    post.withdraw()
    assert post_of(writer).letters() == []
    writer.reserve(BEN, "l", "d", PureDP("0.1"))
    assert kinds(writer) == [("reserve", "k"), ("reserve", "k"), ("reserve", "l")]
    # One that was not is taken back.
    leave(other, Debit(ANA, "m", "d", TENTH, "")).withdraw()
    assert post_of(writer).letters() == []


def test_a_slot_is_cleared_of_what_the_dead_left_there(tmp_path) -> None:
    """A new holder of the slot is alive, and the letter is none of its own."""
    reader, first = Post(tmp_path / "post", 1), Post(tmp_path / "post", 1)
    assert first.put(b"letter", 0)
    assert len(reader.letters()) == 1
    first.close()
    second = Post(tmp_path / "post", 1)
    assert second.slot == 1
    assert reader.letters() == []
    reader.close()
    second.close()


def test_who_was_not_alone_lets_others_go_first(file_home, monkeypatch) -> None:
    """A lone client never gives way: it would only wait for programs that have nothing to do with the ledger."""
    yields: list[int] = []
    monkeypatch.setattr(sqlite_module, "_give_way", lambda: yields.append(1))
    writer, other = registered(file_home), file_home.open()
    writer.reserve(BEN, "a", "d", PureDP("0.1"))
    writer.reserve(BEN, "b", "d", PureDP("0.1"))
    leave(other, Debit(ANA, "k", "d", TENTH, ""))
    writer.reserve(BEN, "c", "d", PureDP("0.1"))
    assert yields == []
    writer.reserve(BEN, "d", "d", PureDP("0.1"))
    assert yields == [1]
    writer.reserve(BEN, "e", "d", PureDP("0.1"))
    assert yields == [1]


def test_a_confirmation_that_is_seen_before_its_outcome_is_read_again(file_home) -> None:
    """A read of head and confirmation need not be of one moment."""
    writer, other = registered(file_home), file_home.open()
    post = leave(other, Debit(ANA, "k", "d", TENTH, ""))
    writer.reserve(BEN, "k", "d", PureDP("0.1"))
    assert post.is_answered()
    pristine = post.outcome()
    post._reply = bytes(len(post._reply))
    assert post.outcome() == pristine is not None

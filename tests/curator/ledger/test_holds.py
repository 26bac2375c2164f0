"""One living holder for each request: callers at the same time wait for its outcome and are no failed attempts."""

from __future__ import annotations

import copy
import fcntl
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dither.curator.ledger import Account, Reservation, Stored, holds
from dither.curator.ledger.file_locks import FileLocks
from dither.errors import HandleMisuse, InvalidParameter, KeyReused, RequestSealed, RequestUnderWay
from dither.privacy import PureDP
from tools.faults.shared import SHARED_POINTS

ANA = Account("visits", "ana")
LOSS = PureDP("0.1")


@pytest.fixture
def ledger(home):
    opened = home.open()
    opened.register("visits", budget=PureDP(1), unit="row")
    return opened


def in_thread(work: Callable[[], Any]) -> Callable[[], Any]:
    """Begin ``work`` in a thread; what is returned waits for it and gives or raises what came of it."""
    found: list[tuple[bool, Any]] = []

    def run() -> None:
        try:
            found.append((True, work()))
        except Exception as error:
            found.append((False, error))

    thread = threading.Thread(target=run)
    thread.start()

    def outcome() -> Any:
        thread.join()
        is_value, value = found[0]
        if not is_value:
            raise value
        return value

    return outcome


def reserve(ledger, **how: Any) -> Any:
    return ledger.reserve(ANA, "k", "d", LOSS, **how)


def test_six_callers_with_one_key_get_one_answer(ledger) -> None:
    """Each of them was an attempt, and after three of them nobody had an answer."""

    def release(number: int) -> bytes:
        held = reserve(ledger)
        return held.answer if isinstance(held, Stored) else ledger.complete(held, f"by {number}".encode()).answer

    outcomes = [in_thread(lambda number=number: release(number)) for number in range(6)]
    assert len({outcome() for outcome in outcomes}) == 1
    assert [entry.kind for entry in ledger.entries()] == ["register", "reserve", "answer"]
    assert ledger.balance("visits").spent.pure == Fraction(1, 10)


def test_who_comes_meanwhile_waits_and_gets_the_answer(home, ledger) -> None:
    held = reserve(ledger)
    other = home.open()
    for handle in (ledger, other):
        with pytest.raises(RequestUnderWay, match=r"'k' is still being worked on .* ask again with the same key"):
            in_thread(lambda handle=handle: reserve(handle, wait=0))()
    waiting = [in_thread(lambda handle=handle: reserve(handle)) for handle in (ledger, other)]
    ledger.complete(held, b"42")
    assert [outcome().answer for outcome in waiting] == [b"42", b"42"]
    assert [entry.kind for entry in ledger.entries()] == ["register", "reserve", "answer"]


def test_when_the_holder_fails_one_of_those_who_wait_goes_on(ledger) -> None:
    held = reserve(ledger)

    def next_attempt() -> tuple[int, bytes]:
        again = reserve(ledger)
        if isinstance(again, Stored):
            return 0, again.answer
        return again.attempt, ledger.complete(again, b"second").answer

    waiting = [in_thread(next_attempt) for _ in range(5)]
    ledger.abandon(held)
    assert sorted(outcome() for outcome in waiting) == [*[(0, b"second")] * 4, (2, b"second")]
    ledger.abandon(held)
    assert ledger.complete(held, b"late").answer == b"second"


def test_failures_are_counted_as_before(ledger) -> None:
    """However many wait, a request that always fails is begun three times, and is sealed for everybody then."""

    def fail() -> int:
        held = reserve(ledger)
        ledger.abandon(held)
        return held.attempt

    outcomes, seen = [in_thread(fail) for _ in range(8)], []
    for outcome in outcomes:
        try:
            seen.append(outcome())
        except RequestSealed:
            seen.append(0)
    assert sorted(seen) == [0, 0, 0, 0, 0, 1, 2, 3]
    assert ledger.balance("visits").sealed == 1


def test_nobody_waits_for_itself(home, ledger) -> None:
    held, other = reserve(ledger), home.open()
    for handle in (ledger, other):
        with pytest.raises(HandleMisuse, match="complete or abandon"):
            reserve(handle)
    ledger.complete(held, b"x")
    assert reserve(other).answer == b"x"


def test_other_requests_are_not_held_up(ledger) -> None:
    held = reserve(ledger)
    assert isinstance(ledger.reserve(ANA, "l", "d", LOSS), Reservation)
    assert isinstance(ledger.reserve(Account("visits", "ben"), "k", "d", LOSS), Reservation)
    with pytest.raises(KeyReused):
        ledger.reserve(ANA, "k", "another", LOSS)
    assert ledger.balance("visits").waiting == 3
    assert ledger.complete(held, b"x").answer == b"x"


@pytest.mark.parametrize("wait", [-1, float("nan"), float("inf"), 10**9, "1", None, True], ids=str)
def test_a_wait_is_a_time(file_home, wait) -> None:
    ledger = file_home.open()
    ledger.register("visits", budget=PureDP(1), unit="row")
    with pytest.raises(InvalidParameter, match="wait"):
        reserve(ledger, wait=wait)
    assert ledger.balance("visits").releases == 0


def test_a_hold_goes_with_its_reservation_or_its_ledger(home, ledger) -> None:
    attempts = [reserve(ledger).attempt]
    closing = home.open()
    held = reserve(closing)
    attempts.append(held.attempt)
    closing.close()
    last = reserve(ledger, wait=0)
    assert [*attempts, last.attempt] == [1, 2, 3]
    # What was closed may find the answer all the same: the first to complete wins.
    assert ledger.complete(held, b"first").answer == b"first"
    assert ledger.complete(last, b"second").answer == b"first"


def test_copies_share_a_hold_and_what_is_sent_elsewhere_has_none(ledger) -> None:
    held = reserve(ledger)
    assert copy.deepcopy(held).hold is held.hold
    sent = pickle.loads(pickle.dumps(held))  # noqa: S301 - made in this line
    assert (sent, sent.hold) == (held, None)
    del sent
    with pytest.raises(RequestUnderWay):
        in_thread(lambda: reserve(ledger, wait=0))()


def test_a_refused_request_is_not_held(ledger) -> None:
    for _ in range(2):
        with pytest.raises(Exception, match="does not fit"):
            ledger.reserve(ANA, "k", "d", PureDP(2))
    assert reserve(ledger).attempt == 1


def test_a_lost_hold_gives_nothing_away(home, ledger, monkeypatch) -> None:
    """The holder lives and its lock is gone: two draw, both are counted, and the first to complete wins."""
    held = reserve(ledger)
    # What threads of this process know of each other is forgotten, as if the next one came from elsewhere.
    monkeypatch.setattr(holds, "_seats", weakref.WeakValueDictionary())
    if home.kind == "postgresql":
        import psycopg

        with psycopg.connect(home.url, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'dither holds'"
            )
    other = home.open()
    second = reserve(other)
    assert second.attempt == 2
    assert ledger.complete(held, b"first").answer == b"first"
    assert other.complete(second, b"second").answer == b"first"
    assert ledger.reserve(ANA, "next", "d", LOSS).attempt == 1
    assert ledger.balance("visits").spent.pure == Fraction(2, 10)
    assert ledger.verify().is_intact


LEFT_BEHIND = """
import os, sys
from pathlib import Path
from dither.curator.ledger import Account, open_ledger
from dither.privacy import PureDP
ledger = open_ledger(sys.argv[1], anchors=sys.argv[2])
held = ledger.reserve(Account("visits", "ana"), "k", "d", PureDP("0.1"))
ready, gate = os.pipe()
if os.fork() == 0:
    # Lives on, with all that was open, until the test closes its end.
    os.write(gate, b"x")
    sys.stdin.read()
    os._exit(0)
os.read(ready, 1)
print("held", held.attempt, flush=True)
sys.stdin.read()
"""


def test_a_killed_holder_is_not_waited_for_though_its_child_lives(home, ledger) -> None:
    place = str(home.path) if home.kind == "sqlite" else home.url
    command = [sys.executable, "-c", LEFT_BEHIND, place, str(home.anchors)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdin is not None
        assert holder.stdout.readline() == "held 1\n"
        with pytest.raises(RequestUnderWay):
            reserve(ledger, wait=0)
        waiting = in_thread(lambda: reserve(ledger))
        os.kill(holder.pid, signal.SIGKILL)
        again = waiting()
        assert again.attempt == 2
        assert ledger.complete(again, b"x").answer == b"x"
        holder.stdin.close()


def test_a_child_holds_for_itself(file_home) -> None:
    """What the parent of a forked process holds is in the way of the child, and what its threads held is not."""
    script = (
        "import os, sys\n"
        "from dither.curator.ledger import Account, open_ledger\n"
        "from dither.errors import RequestUnderWay\n"
        "from dither.privacy import PureDP\n"
        "ask = Account('visits', 'ana'), 'k', 'd', PureDP('0.1')\n"
        "parent = open_ledger(sys.argv[1], anchors=sys.argv[2])\n"
        "held = parent.reserve(*ask)\n"
        "if os.fork() == 0:\n"
        "    child = open_ledger(sys.argv[1], anchors=sys.argv[2])\n"
        "    try:\n"
        "        child.reserve(*ask, wait=0)\n"
        "    except RequestUnderWay:\n"
        "        del held\n"
        "        os._exit(7)\n"
        "    os._exit(1)\n"
        "status = os.waitstatus_to_exitcode(os.wait()[1])\n"
        "print(status, parent.complete(held, b'x').answer)\n"
    )
    with file_home.open() as ledger:
        ledger.register("visits", budget=PureDP(1), unit="row")
    command = [sys.executable, "-c", script, str(file_home.path), str(file_home.anchors)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "7 b'x'\n", done.stderr


@pytest.mark.parametrize("way", ["cycle", "module", "closed", "global"])
def test_a_hold_that_is_never_given_up_makes_no_noise_at_exit(file_home, way: str) -> None:
    script = (
        "import json, sys, types\n"
        "from dither.curator.ledger import Account, open_ledger\n"
        "from dither.privacy import PureDP\n"
        "ledger = open_ledger(sys.argv[1], anchors=sys.argv[2])\n"
        "held = ledger.reserve(Account('visits', 'ana'), 'k', 'd', PureDP('0.1'))\n"
        "if sys.argv[3] == 'cycle':\n"
        "    box = types.SimpleNamespace(ledger=ledger, held=held)\n"
        "    box.me = box\n"
        "elif sys.argv[3] == 'module':\n"
        "    json.held = held, ledger\n"  # outlives the modules of the ledger
        "elif sys.argv[3] == 'closed':\n"
        "    ledger.close()\n"
    )
    with file_home.open() as ledger:
        ledger.register("visits", budget=PureDP(1), unit="row")
    command = [sys.executable, "-c", script, str(file_home.path), str(file_home.anchors), way]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


def test_a_hold_leaves_alone_what_has_its_descriptor_next(tmp_path: Path) -> None:
    locks = FileLocks(tmp_path / "holds")
    taken = locks.take(7, 0)
    assert taken is not None
    file = locks._file
    assert file is not None
    (descriptor,) = file.descriptors
    file.__del__()  # as when both are cleared away at once, in this order
    with (tmp_path / "other").open("w+b") as other:
        assert other.fileno() == descriptor
        fcntl.lockf(other, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 7)
        taken.let_go()
        script = "import fcntl, sys; fcntl.lockf(open(sys.argv[1], 'w+b'), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 7)"
        tried = subprocess.run(
            [sys.executable, "-c", script, str(tmp_path / "other")], capture_output=True, check=False
        )
        assert tried.returncode == 1  # still locked


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_sixty_four_callers_in_four_processes(folder: Path, kind: str, request: pytest.FixtureRequest) -> None:
    """With nobody, one and two holders killed, before they draw, while they do, and on the way of their answers.

    Whoever dies before its draw is followed by another; whoever dies after it is followed by nobody, and all who live
    hear the same.
    """
    command = [sys.executable, "-m", "tools.faults", "--trials", "0", "--shared", "18"]
    if kind == "postgresql":
        request.getfixturevalue("server")
        command[-1:] = ["6", "--postgres"]
    done = subprocess.run([*command, "--folder", str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    tally = json.loads(done.stdout)
    assert tally["failures"] == []
    trials = 18 if kind == "sqlite" else 6
    assert (tally["trials"], tally["releases"] + tally["never_answered"]) == (trials, trials)
    # Outside the ledger nobody else can act for a holder: there all die who are to, and after the draw there is one.
    assert tally["kills_at"]["reserved (one key for all)"] == 3
    assert tally["kills_at"]["drawing (one key for all)"] == 2
    assert tally["never_answered"] >= 2
    assert len(tally["kills_at"]) == (len(SHARED_POINTS) if kind == "sqlite" else 2)

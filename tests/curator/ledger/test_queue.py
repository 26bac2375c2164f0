"""First come, first served; several at once; and nobody waits for the dead."""

from __future__ import annotations

import collections
import os
import select
import signal
import subprocess
import sys
import threading

import pytest

from dither.curator.ledger import queue
from dither.curator.ledger.queue import Rounds, Turns
from dither.errors import HandleMisuse

#: Waits for a round, or for somebody's service if asked to, says so, and holds it until it is told to go on or killed.
CLIENT = """
import pathlib, runpy, sys
path = pathlib.Path(sys.argv[1])
rounds = runpy.run_path(sys.argv[3])["Rounds"](path)
claim = rounds._claim
def announced(latest):
    is_claimed = claim(latest)
    if is_claimed:
        print("claimed", flush=True)
    return is_claimed
rounds._claim = announced
await_end = rounds._await_end
def waiting(number):
    if not rounds._mine:
        print("waits", flush=True)
    await_end(number)
rounds._await_end = waiting
letter = path.with_name(sys.argv[2])
def post():
    letter.touch()
    return True
if sys.argv[2] == "alone":
    with rounds.turn():
        print("in", flush=True)
        sys.stdin.readline()
else:
    is_ours = rounds.turn_or_service(post, lambda: not letter.exists())
    print("in" if is_ours else "served", flush=True)
    if is_ours:
        sys.stdin.readline()
        rounds.begin()
        print("begun", flush=True)
        sys.stdin.readline()
        for other in path.parent.glob("letter*"):
            other.unlink()
    rounds.end()
"""


def start(path, letter: str = "alone", says: str = "claimed") -> subprocess.Popen[str]:
    # The module alone, without the package around it: there is nothing else to wait for.
    command = [sys.executable, "-S", "-c", CLIENT, str(path), letter, queue.__file__]
    client = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert client.stdout.readline() == says + "\n"
    return client


def is_silent(client: subprocess.Popen[str]) -> bool:
    """Whether the client has said nothing more."""
    return not select.select([client.stdout], [], [], 0)[0]


def go_on(client: subprocess.Popen[str]) -> None:
    client.stdin.write("go on\n")
    client.stdin.flush()


def kill(client: subprocess.Popen[str]) -> None:
    os.kill(client.pid, signal.SIGKILL)
    client.communicate()


def end(client: subprocess.Popen[str]) -> None:
    client.communicate("go on\n")


def test_processes_are_served_in_order_and_the_dead_are_passed_over(tmp_path) -> None:
    """Five wait in line; the one that holds the turn and one in the middle are killed; the rest come in order."""
    path = tmp_path / "queue"
    first, second, third, fourth, fifth = (start(path) for _ in range(5))
    assert first.stdout.readline() == "in\n"
    kill(third)
    # The third is dead before its turn: the fourth must still wait, for the first and the second.
    assert is_silent(fourth)
    kill(first)
    assert second.stdout.readline() == "in\n"
    assert is_silent(fourth)
    end(second)
    assert fourth.stdout.readline() == "in\n"
    end(fourth)
    assert fifth.stdout.readline() == "in\n"
    end(fifth)


def test_who_comes_before_a_round_begins_is_served_by_it(tmp_path) -> None:
    """The second is let in by the end of the first, and serves the third and the fourth without a round of theirs."""
    path = tmp_path / "queue"
    first = start(path, "letter 1")
    assert first.stdout.readline() == "in\n"
    # Its round has not begun: who comes now is served by it.
    second = start(path, "letter 2", "waits")
    go_on(first)
    assert first.stdout.readline() == "begun\n"
    # Now it has, and who comes takes the next, which has not.
    third = start(path, "letter 3")
    fourth = start(path, "letter 4", "waits")
    assert is_silent(second)
    end(first)
    assert second.stdout.readline() == "served\n"
    assert third.stdout.readline() == "in\n"
    assert is_silent(fourth)
    go_on(third)
    assert third.stdout.readline() == "begun\n"
    end(third)
    assert fourth.stdout.readline() == "served\n"
    for client in (second, fourth):
        assert client.wait() == 0
        client.communicate()


@pytest.mark.parametrize("is_begun", [False, True], ids=["before it begins", "before it serves"])
def test_who_waits_for_a_round_whose_holder_dies_takes_the_next(tmp_path, is_begun) -> None:
    path = tmp_path / "queue"
    first = start(path, "letter 1")
    assert first.stdout.readline() == "in\n"
    second = start(path, "letter 2", "waits")
    if is_begun:
        go_on(first)
        assert first.stdout.readline() == "begun\n"
    kill(first)
    assert second.stdout.readline() == "claimed\n"
    assert second.stdout.readline() == "in\n"
    third = start(path, "letter 3", "waits")
    go_on(second)
    assert second.stdout.readline() == "begun\n"
    end(second)
    assert third.communicate()[0] == "served\n"


@pytest.mark.parametrize(
    "spoilt", [b"\xff" * 16, b"\xff" * 8, b"\x07" + b"\xff" * 7 + b"\x01", b"\0" * 8 + b"\xff" * 8]
)
def test_spoilt_numbers_only_begin_again(tmp_path, spoilt) -> None:
    path = tmp_path / "queue"
    path.write_bytes(spoilt)
    rounds = Rounds(path)
    for _ in range(3):
        with rounds.turn():
            rounds.begin()
        assert rounds.turn_or_service(lambda: True, lambda: False)
        rounds.end()
    rounds.close()


def test_threads_are_served_in_the_order_in_which_they_came() -> None:
    turns, order, waiting = Turns(), [], []

    def client(number: int) -> None:
        with turns.turn():
            order.append(number)

    with turns.turn():
        for number in range(8):
            thread = threading.Thread(target=client, args=(number,))
            thread.start()
            waiting.append(thread)
            while len(turns._waiting) <= number:
                pass
    for thread in waiting:
        thread.join()
    assert order == list(range(8))
    with turns.turn():
        pass


def test_a_thread_that_has_the_turn_is_refused_and_does_not_wait_for_itself() -> None:
    turns = Turns()
    with turns:
        with pytest.raises(HandleMisuse, match="in the midst of a request to the ledger"):
            turns._take()
        with pytest.raises(HandleMisuse, match="in the midst"):
            turns._take()
    # The refused one left nothing behind.
    with turns:
        pass
    assert not turns._inside


def test_a_thread_that_waits_for_its_turn_is_refused_in_the_midst_of_waiting() -> None:
    """A signal handler that asks while its thread waits would stand in the queue behind what it interrupted."""
    turns, refused = Turns(), []
    stands, may_go = threading.Event(), threading.Event()

    def hold() -> None:
        with turns:
            stands.set()
            may_go.wait()

    class Interrupted(collections.deque[threading.Lock]):
        """A queue in which a signal comes as soon as somebody stands in it."""

        def append(self, lock: threading.Lock) -> None:
            super().append(lock)
            try:
                turns._take()
            except HandleMisuse as refusal:
                refused.append(refusal)
            may_go.set()

    turns._waiting = Interrupted()
    holder = threading.Thread(target=hold)
    holder.start()
    stands.wait()
    with turns:
        assert len(refused) == 1
    holder.join()
    assert not turns._inside

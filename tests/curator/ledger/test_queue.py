"""First come, first served; and nobody waits for the dead."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading

from dither.curator.ledger.queue import Tickets, Turns

#: Waits for a turn, says so, and holds it until it is told to go on or killed.
CLIENT = """
import pathlib, sys
from dither.curator.ledger.queue import Tickets
tickets = Tickets(pathlib.Path(sys.argv[1]))
draw = tickets._draw
def announced():
    ticket = draw()
    print("drawn", flush=True)
    return ticket
tickets._draw = announced
with tickets.turn():
    print("in", flush=True)
    sys.stdin.readline()
"""


def start(path) -> subprocess.Popen[str]:
    client = subprocess.Popen(
        [sys.executable, "-c", CLIENT, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert client.stdout.readline() == "drawn\n"
    return client


def is_silent(client: subprocess.Popen[str]) -> bool:
    """Whether the client has said nothing more."""
    return not select.select([client.stdout], [], [], 0)[0]


def end(client: subprocess.Popen[str]) -> None:
    client.communicate("go on\n")


def test_processes_are_served_in_order_and_the_dead_are_passed_over(tmp_path) -> None:
    """Five wait in line; the one that holds the turn and one in the middle are killed; the rest come in order."""
    path = tmp_path / "queue"
    first, second, third, fourth, fifth = (start(path) for _ in range(5))
    assert first.stdout.readline() == "in\n"
    os.kill(third.pid, signal.SIGKILL)
    third.communicate()
    # The third is dead before its turn: the fourth must still wait, for the first and the second.
    assert is_silent(fourth)
    os.kill(first.pid, signal.SIGKILL)
    first.communicate()
    assert second.stdout.readline() == "in\n"
    assert is_silent(fourth)
    end(second)
    assert fourth.stdout.readline() == "in\n"
    end(fourth)
    assert fifth.stdout.readline() == "in\n"
    end(fifth)


def test_a_spoilt_counter_only_begins_again(tmp_path) -> None:
    path = tmp_path / "queue"
    path.write_bytes(b"\xff" * 8)
    tickets = Tickets(path)
    for _ in range(3):
        with tickets.turn():
            pass
    tickets.close()


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

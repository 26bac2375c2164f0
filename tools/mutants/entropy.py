"""Mutants of the random words themselves: killed by looking at blocks of them, none of which may come twice."""

from __future__ import annotations

import os
import threading
from typing import Any

from dither.checks.violation import require
from dither.errors import EntropyFailure
from dither.noise import SystemEntropy
from dither.testing.state import in_child
from tools.mutants.record import Mutant, mutated, original, replaced

_ROOM = "dither.noise.entropy"
_WORDS = 8


def _fresh_blocks() -> None:
    """Check that threads, each with its own key, draw different blocks; equal by chance once in 2^126 times."""
    blocks = [_in_thread() for _ in range(3)]
    require(len(set(blocks)) == len(blocks), "two threads drew the same words")


def _after_a_fork() -> None:
    """Check that a child draws other words than its parent, though both had the same buffer."""
    SystemEntropy().words(_WORDS)
    theirs = in_child(lambda: _block().hex())
    require(theirs != _block().hex(), "a child of a fork drew the same words as its parent")


def _without_a_generator() -> None:
    """Check that where the system gives no bits, nothing is drawn."""
    with replaced(f"{_ROOM}:os", _NoGenerator()):
        require(_in_thread() == b"refused", "words were drawn although the system gave none")


class _NoGenerator:
    """A system that knows its processes and gives no bits."""

    getpid = staticmethod(os.getpid)

    def __getattr__(self, name: str) -> Any:
        def refuse(*given: Any) -> Any:
            raise OSError(f"no {name}")

        return refuse


def _block() -> bytes:
    return SystemEntropy().words(_WORDS).tobytes()


def _in_thread() -> bytes:
    """Return the first block of a new thread, which takes a new key."""
    found: list[bytes] = []

    def draw() -> None:
        try:
            found.append(_block())
        except EntropyFailure:
            found.append(b"refused")

    thread = threading.Thread(target=draw)
    thread.start()
    thread.join()
    return found[0]


def _constant(before: Any, count: int) -> bytes:
    return bytes(count)


def _fall_back(before: Any, count: int) -> bytes:
    try:
        drawn: bytes = before(count)
    except EntropyFailure:
        return bytes(number * 167 % 256 for number in range(count))
    return drawn


class _SharedStream:
    """One buffer for this process and all its children."""

    def __init__(self) -> None:
        self._stream: Any = None

    def __call__(self) -> Any:
        if self._stream is None:
            self._stream = original(f"{_ROOM}:_Stream")()
        return self._stream


ENTROPY = (
    Mutant(
        23,
        "constant seed",
        "ektelo/ektelo",
        "all noise can be drawn again",
        "randomness",
        lambda: mutated(f"{_ROOM}:_system_bytes", _constant),
        _fresh_blocks,
    ),
    Mutant(
        24,
        "entropy buffer shared over fork",
        "",
        "two processes draw equal noise, which cancels",
        "randomness",
        lambda: replaced(f"{_ROOM}:_stream", _SharedStream()),
        _after_a_fork,
    ),
    Mutant(
        25,
        "silent fallback generator",
        "the substitution that the census's code of 2010 guards against",
        "noise is not random when the system fails",
        "randomness",
        lambda: mutated(f"{_ROOM}:_system_bytes", _fall_back),
        _without_a_generator,
    ),
)

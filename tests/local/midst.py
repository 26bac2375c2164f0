"""What clients do when they are asked in the midst of a report, after a fork, and when they are copied."""

from __future__ import annotations

import copy
import os
import pickle
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dither.errors import HandleMisuse
from dither.noise.client_words import Words, system_words


def interrupted(act: Callable[[], object]) -> Callable[[], Words]:
    """Return a source of random numbers whose first user does something else before the first number."""
    once = iter([act])

    def source() -> Iterator[int]:
        for first in once:
            first()
        while True:
            yield system_words().take(32)

    return lambda: Words(source())


def asked_by_two_threads(monkeypatch: pytest.MonkeyPatch, where: str, ask: Callable[[], Any]) -> set[Any]:
    """Return what two threads are told, of which the second asks while the first one draws."""
    told = []
    second = threading.Thread(target=lambda: told.append(ask()))

    def begin() -> None:
        second.start()
        # One that is not kept waiting is through by then.
        second.join(0.05)

    monkeypatch.setattr(f"{where}.system_words", interrupted(begin))
    told.append(ask())
    second.join()
    assert len(told) == 2
    return set(told)


def refuses_what_would_draw_twice(
    monkeypatch: pytest.MonkeyPatch, where: str, client: Any, ask: Callable[[], Any]
) -> None:
    """Fail unless a client refuses copies, other processes, and its own thread in the midst of a draw."""
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(HandleMisuse):
            attempt(client)
    with monkeypatch.context() as here:
        here.setattr(f"{where}.system_words", interrupted(ask))
        with pytest.raises(HandleMisuse, match="midst"):
            ask()
    known = ask()
    with monkeypatch.context() as elsewhere:
        # What a fork changes for the object that it takes along.
        elsewhere.setattr(os, "getpid", lambda: -1)
        with pytest.raises(HandleMisuse, match="process"):
            ask()
    assert ask() == known

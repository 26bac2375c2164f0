"""What stays behind a run is seen, wherever it stays."""

from __future__ import annotations

import importlib
import os
from typing import Any

import numpy as np
import pytest

from dither.testing.state import changed, generators, in_child, snapshot

ROOM = "dither.mechanisms.geometric"


def kept_in_a_module(room: Any) -> None:
    room._cache_of_a_test = {"counts": [1, 2]}


def kept_in_a_class(room: Any) -> None:
    room.Geometric._largest_of_a_test = 7.5


def kept_on_a_function(room: Any) -> None:
    room.Geometric.loss.seen_by_a_test = [3]


@pytest.mark.parametrize("keep", [kept_in_a_module, kept_in_a_class, kept_on_a_function])
def test_what_is_kept_is_seen(keep: Any) -> None:
    room, before = importlib.import_module(ROOM), snapshot()

    def later() -> Any:
        keep(room)
        return snapshot()

    # In a child, so that nothing stays.
    places = changed(before, in_child(later))
    assert len(places) == 1
    assert places[0].startswith(f"{ROOM}:")
    assert changed(before, snapshot()) == []


def test_a_record_is_looked_at_too() -> None:
    record = {"public": 1}
    before = snapshot(record)
    record["private"] = 2
    assert changed(before, snapshot(record)) == ["record 0"]


def test_a_draw_from_the_generator_of_everybody_is_seen() -> None:
    def drawn() -> bool:
        before = generators()
        np.random.random()
        return before == generators()

    assert not in_child(drawn)


def test_a_child_that_fails_says_so() -> None:
    def fail() -> None:
        raise ZeroDivisionError("here")

    with pytest.raises(RuntimeError, match="ZeroDivisionError: here"):
        in_child(fail)
    with pytest.raises(RuntimeError, match="without a word"):
        in_child(lambda: os._exit(3))

"""Processes that are killed at every step of a stream: nothing is lost, doubled, changed or given away."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from tools.faults.streams import POINTS, Tally, Way, trial


@pytest.mark.parametrize(("first", "is_together"), [(0, False), (1, True), (2, False)])
def test_a_stream_survives_death_at_every_step(first: int, is_together: bool, tmp_path: Path) -> None:
    """Each trial kills six processes on one stream, each at a step of its own, and lets the seventh finish.

    Here every step is met once, fed before the release or with it; ``make faults`` meets all of them both ways.
    """
    tally = Tally()
    trial(tmp_path, [(point, 1) for point in POINTS[first::3]], tally, Way(is_together=is_together))
    assert tally.failures == []
    assert sum(tally.kills.values()) >= 4, tally.kills


def test_a_table_with_other_rows_for_every_process_keeps_its_ticks(tmp_path: Path) -> None:
    """Noise is as large as the counts: what anybody was sent stays, although rows change and processes die."""
    tally = Tally()
    points = [("after Book.freeze", 1), ("before Book.store", 1), ("after Book.store", 2), ("before Book.freeze", 1)]
    trial(tmp_path, points, tally, Way(is_read=True, epsilon=1))
    assert tally.failures == []
    assert sum(tally.kills.values()) == len(points), tally.kills


@pytest.mark.parametrize("is_together", [False, True], ids=["fed before", "fed with the release"])
def test_a_noisy_stream_loses_an_open_tick_and_nothing_else(is_together: bool) -> None:
    """No tick is answered twice, none is free, and a tick is whole or lost."""
    tally = Tally()
    points = [("after Book.arrive", 1), ("before Book.report", 2), ("after Book.report", 1), ("after Marks.append", 1)]
    with tempfile.TemporaryDirectory() as folder:
        trial(Path(folder), points, tally, Way(kept="noisy", is_together=is_together))
    assert tally.failures == []
    assert sum(tally.kills.values()) == len(points), tally.kills

"""Processes that are killed at every step of a stream: nothing is lost, doubled, changed or given away."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.faults.streams import POINTS, Tally, trial


@pytest.mark.parametrize("first", range(3))
def test_a_stream_survives_death_at_every_step(first: int, tmp_path: Path) -> None:
    """Each trial kills six processes on one stream, each at a step of its own, and lets the seventh finish."""
    tally = Tally()
    trial(tmp_path, [(point, 1) for point in POINTS[first::3]], tally)
    assert tally.failures == []
    assert sum(tally.kills.values()) >= 4, tally.kills

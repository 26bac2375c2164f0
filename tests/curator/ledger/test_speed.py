"""The measurement measures: every field is filled, and the ledger it leaves is in order. No time is asserted."""

from __future__ import annotations

from pathlib import Path

from tools.bench.ledger import GOALS, Speed, measure


def test_a_short_measurement(folder: Path) -> None:
    found = measure(folder, processes=2, rounds=1, seconds=0.2)
    assert found.processes == 2
    assert found.releases > 0
    assert found.releases_per_second > 0
    assert found.fsyncs_per_second > 0
    assert 0 <= found.slowest_share <= 1
    assert found.p50_seconds <= found.p99_seconds


def test_every_goal_is_one_of_a_figure_that_is_measured() -> None:
    assert set(GOALS) <= Speed.__dataclass_fields__.keys()

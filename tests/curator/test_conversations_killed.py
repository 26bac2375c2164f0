"""Processes that are killed at every step of a conversation: no answer is lost, changed, or paid for twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.faults.conversations import REACHED, trial
from tools.faults.streams import Tally


@pytest.mark.parametrize("first", range(2))
def test_a_conversation_survives_death_at_every_step(first: int, tmp_path: Path) -> None:
    """Each trial kills one process after the other, each at its own step and with other rows; the last finishes."""
    tally = Tally()
    trial(tmp_path, [(point, 1) for point in REACHED[first::2]], tally, is_wide=first == 1)
    assert tally.failures == []
    assert sum(tally.kills.values()) >= 4, tally.kills

"""Noise over time: sound counters have as much of it as they promise, and noise that serves twice is refuted."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from dither.audit.correlations import counters, least_noise
from dither.mechanisms.core.running import RunningState
from dither.mechanisms.tick_noise import TickNoise

#: By the inequality for means of numbers that are not negative: a third less noise than is needed is seen.
TALKS, FALSE_ALARM = 12_000, 1e-10


@cache
def wide() -> dict[str, Any]:
    return dict(counters())


def test_most_counters_are_tried() -> None:
    assert {name.split()[0] for name in wide()} >= {
        "buffered-counter",
        "decayed-counter",
        "hybrid-counter",
        "tick-noise",
        "tree-counter",
        "window-publisher",
    }


@pytest.mark.statistical(n=TALKS, false_alarm=FALSE_ALARM, catches="a third less noise in some combination")
@pytest.mark.parametrize("name", ["buffered-counter 0", "tree-counter 1", "tick-noise 0", "decayed-counter 0"])
def test_a_counter_has_noise_of_its_own_at_every_tick(name: str) -> None:
    """All of them are tried in ``make audit``."""
    found = least_noise(name, wide()[name], TALKS, false_alarm=FALSE_ALARM)
    assert not found.is_refuted, str(found)


@pytest.mark.statistical(n=TALKS, miss=1e-9, catches="noise of a tick that serves the tick in the next block")
def test_noise_of_a_tick_that_comes_again_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    before, drawn = TickNoise._drawn, list[Any]()

    def again(self: Any, noise: Any) -> Any:
        drawn.append(before(self, noise) if len(drawn) % 24 < 8 else drawn[-8])
        return drawn[-1]

    mechanism = wide()["tick-noise 0"]
    monkeypatch.setattr(TickNoise, "_drawn", again)
    found = least_noise("tick-noise", mechanism, TALKS, false_alarm=FALSE_ALARM)
    assert found.is_refuted
    assert found.share < 0.1


@pytest.mark.statistical(n=TALKS, miss=1e-9, catches="a block of noise that serves the next block")
@pytest.mark.parametrize("name", ["tree-counter 0", "buffered-counter 0"])
def test_a_block_of_noise_that_comes_again_is_refuted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = RunningState.next_noise

    def again(self: Any, ticks: int) -> Any:
        found = before(self, ticks)
        kept = self.__dict__.setdefault("_kept", [])
        # The increments of the first block are those of the second.
        kept.append(found if len(kept) < 8 else kept[7] + kept[len(kept) - 8] - np.where(len(kept) < 16, 0, kept[7]))
        return kept[-1]

    mechanism = wide()[name]
    monkeypatch.setattr(RunningState, "next_noise", again)
    assert least_noise(name, mechanism, TALKS, false_alarm=FALSE_ALARM).is_refuted

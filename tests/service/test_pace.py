"""When a release was drawn, stored and sent tells few bits, to whoever polls the books, too."""

from __future__ import annotations

import threading
from collections import Counter
from types import SimpleNamespace

import pytest

from dither.service import pace
from dither.service.pace import SMALLEST, Pace
from tests.service.conftest import Running

COUNT = "SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward"


def test_no_step_that_depends_on_rows_is_written_down_before_its_time(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, Counter[str]]] = []

    def wait(_: Pace, step: str) -> None:
        entries = running.curator.ledger.entries("clinic")
        seen.append((step, Counter(entry.kind for entry in entries if entry.analyst == "paced")))

    monkeypatch.setattr(Pace, "wait", wait)
    session = running.connect("paced").session("clinic")
    session.sql(COUNT, epsilon=1)
    (first, at_draw), (second, at_store) = seen
    assert (first, second) == ("draw", "store")
    assert (at_draw["reserve"], at_draw["draw"], at_draw["answer"]) == (1, 0, 0)
    assert (at_store["reserve"], at_store["draw"], at_store["answer"]) == (1, 1, 0)
    seen.clear()
    session.sql(COUNT, epsilon=1)
    assert not seen


@pytest.mark.parametrize(("step", "share"), [("draw", 0.6), ("store", 0.8)])
@pytest.mark.parametrize("elapsed", [0.0, 0.029, 0.3, 100.0])
def test_steps_have_buckets_of_their_own(
    step: str, share: float, elapsed: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    stopping = threading.Event()
    monkeypatch.setattr(stopping, "wait", waited.append)
    # The clock of this module alone: servers have clocks of their own.
    monkeypatch.setattr(pace, "time", SimpleNamespace(monotonic=lambda: 7 + elapsed))
    Pace(7, "buckets", stopping).wait(step)  # type: ignore[arg-type]
    Pace(7, "off", stopping).wait(step)  # type: ignore[arg-type]
    (seconds,) = waited
    until = (elapsed + seconds) / share / SMALLEST
    assert seconds >= 0
    assert any(until == pytest.approx(2**power) for power in range(20))

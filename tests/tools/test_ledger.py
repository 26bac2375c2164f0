"""What the benchmark prints of the ledger and of waits; no test asserts a time."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tools.bench import ledger, waiting
from tools.bench.ledger import Speed


def test_the_benchmark_says_what_was_measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    speed = Speed(8, 100, 20.0, 80.0, 0.25, 0.1, 0.9, 0.5, 0.01, 0.02)
    monkeypatch.setattr(ledger, "measure", lambda folder, **_: speed)
    assert "20 releases a second at 80 fsyncs a second: 0.25 a fsync" in ledger.lines()[0]
    before = os.environ["DITHER_ANCHORS"]
    monkeypatch.setattr(waiting, "measure", lambda folder: waiting.Waiting(0.001, 0.02, 0.03, 1.0, 0.25))
    *waits, load = waiting.lines()
    assert len(waits) == 4
    assert "20.00 ms (median)" in waits[1]
    assert load.startswith("load ")
    assert os.environ["DITHER_ANCHORS"] == before
    assert list(tmp_path.iterdir()) == []

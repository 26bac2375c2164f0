"""Sums so far beside a rival: ours by the closed form of a stream of four ticks, theirs as they were found."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tools.rivals import streams


def test_errors_are_roots_of_mean_squares() -> None:
    (row,) = streams.beside_opendp({"1": {"mean": 9.0, "largest": 9.0}})
    # One tick: discrete Laplace noise of scale 1, whose variance is 2 q / (1 - q)^2 with q = 1 / e.
    ratio = math.exp(-1)
    assert row.error == pytest.approx(math.sqrt(2 * ratio) / (1 - ratio))
    assert (row.ticks, row.rival_error) == (1, 3.0)


def test_without_a_folder_there_are_no_rivals(tmp_path: Path) -> None:
    assert streams.measure_rivals(None) == []
    assert streams.lines(None) == ["sums so far beside others: no rival can be installed here"]
    (tmp_path / "opendp").write_text("")
    assert streams.measure_rivals(tmp_path) == []

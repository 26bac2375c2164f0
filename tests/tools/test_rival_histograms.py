"""Errors beside rivals are what a plain calculation finds, ours and theirs by the same rule; no test asserts a time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tools.bench import inference
from tools.bench.marginals import measure_plans
from tools.rivals import histograms as rival_histograms
from tools.rivals.environments import ask_rival, environment
from tools.rivals.histograms import beside_diffprivlib, beside_opendp, cell_error, made_up, range_error


def test_range_errors_are_those_of_all_ranges() -> None:
    off = np.random.default_rng(3).normal(size=12)
    every = [off[first : last + 1].sum() ** 2 for first in range(12) for last in range(first, 12)]
    assert range_error(off) == pytest.approx(np.mean(every))
    assert cell_error(off) == pytest.approx(np.mean(off**2))


def test_theirs_and_ours_are_measured_by_one_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rival_histograms, "_CELLS", 64)
    monkeypatch.setattr(rival_histograms, "_SIDE", 8)
    data = made_up(500, 400)
    counts, square = data.counts, data.square
    assert counts.sum() == square.sum() == 500
    # Rivals that are off by 3 in every cell, and by nothing.
    line = {"released": [(counts + 3).tolist()] * 2, "seconds": 1.0}
    plane = {"released": [square.ravel().tolist()] * 2, "seconds": 1.0}
    cells, ranges, squares = beside_diffprivlib(data, {"histogram": line, "histogram2d": plane})
    assert (cells.rival_error, squares.rival_error) == (pytest.approx(3), 0)
    assert ranges.rival_error == pytest.approx(np.sqrt(range_error(np.full(64, 3.0))))
    assert all(0 < one.error < 100 and one.seconds >= 0 for one in (cells, ranges, squares))

    pairs = 6 + 8 + 10 + 12 + 15 + 20
    empty = {"released": [[0.0] * pairs], "seconds": 1.0}
    _, table = beside_opendp(data, {"tree": line, "table": empty})
    # An empty table is half of all rows away.
    assert table.rival_error == pytest.approx(0.5)
    assert 0 < table.error < 0.5


def test_without_a_folder_there_are_no_rivals(tmp_path: Path) -> None:
    assert rival_histograms.measure_rivals(None) == []
    assert rival_histograms.lines(None) == ["tables beside others: no rival can be installed here"]
    # A file where the environment should be: it cannot be made, and that is no error.
    (tmp_path / "file").write_text("")
    assert environment(tmp_path / "file", modules="opendp", packages=[]) is None


def test_a_rival_answers_in_its_last_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    (tmp_path / "script.py").write_text("import sys\nprint('noise')\nprint('{\"words\": %d}' % len(sys.argv))\n")
    monkeypatch.setattr("tools.rivals.environments._RIVALS", tmp_path)
    assert ask_rival(Path(sys.executable), "script.py", "one", "two") == {"words": 3}


def test_plans_and_inference_are_measured() -> None:
    (plan,) = measure_plans((3, 4, 5), (2,))
    assert (plan.cells, plan.published) == (60, 12 + 15 + 20)
    assert plan.root_mean_square > 0
    rows = inference.measure_inference((16, 64))
    assert [len(row.nanoseconds) for row in rows] == [2, 2, 2]

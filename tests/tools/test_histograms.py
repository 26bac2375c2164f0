"""Times of histograms: every task can be built, and its figures are times of that task."""

from __future__ import annotations

import pytest

from dither.publish.methods import METHODS
from tools.bench.histograms import TASKS, HistogramFigures, measure_histograms


def test_every_task_is_made_for_its_table() -> None:
    assert all(METHODS[method].fits(shape) and goal > 0 for method, shape, goal in TASKS)


def test_figures_are_those_of_the_task() -> None:
    (plain, grid) = measure_histograms((("pruned", (300,), 1.0), ("uniform-grid", (8, 8), 2.0)), repeats=1)
    assert (plain.method, plain.shape, plain.goal) == ("pruned", (300,), 1.0)
    assert (grid.method, grid.shape, grid.goal) == ("uniform-grid", (8, 8), 2.0)
    assert plain.wall_seconds > 0
    assert HistogramFigures("identity", (4,), 3.0, 3.0, 1.5, 1.0).ratio == pytest.approx(2)

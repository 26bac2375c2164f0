"""Intervals of cells whose buckets alone were measured: they hold as often as they say, whatever lies in a bucket."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from dither.mechanisms import perform
from dither.privacy import ZCDP, PureDP
from dither.publish import histograms
from dither.publish.histograms.buckets import cells_alike
from dither.testing.looks import covers

#: Steps, a lonely peak, empty stretches: buckets that are even, uneven and of one cell.
LINE = np.array([0, 0, 0, 9, 9, 8, 40, 0, 0, 0, 0, 3, 3, 25, 25, 26])
PLANE = np.zeros((8, 8), dtype=np.int64)
PLANE[1:3, 2:5], PLANE[6, 6] = 12, 90
BUILT: dict[str, tuple[Callable[[], Any], Any]] = {
    "uniform": (lambda: histograms.UniformHistogram.calibrated(PureDP(1), shape=16), LINE),
    "equi-width": (lambda: histograms.EquiWidthHistogram.calibrated(ZCDP(1), shape=16, widths=3), LINE),
    "ahp": (lambda: histograms.ClusteredHistogram.calibrated(PureDP(1), shape=16), LINE),
    "structure-first": (
        lambda: histograms.StructureFirst.calibrated(PureDP(1), cells=16, buckets=6, bound=50),
        LINE,
    ),
    "noise-first": (lambda: histograms.MergedHistogram.calibrated(PureDP(1), cells=16), LINE),
    "noise-first-gaussian": (lambda: histograms.MergedHistogram.calibrated(ZCDP("1/2"), cells=16), LINE),
    "php": (lambda: histograms.BisectedHistogram.calibrated(PureDP(1), cells=16), LINE),
    "uniform-grid": (lambda: histograms.UniformGrid.calibrated(PureDP(1), shape=(8, 8)), PLANE),
    "adaptive-grid": (lambda: histograms.AdaptiveGrid.calibrated(PureDP(1), shape=(8, 8)), PLANE),
    "median-tree": (lambda: histograms.MedianTree.calibrated(PureDP(1), shape=(8, 8), depth=3), PLANE),
    "dp-cube": (lambda: histograms.DpCube.calibrated(PureDP(1), shape=(8, 8)), PLANE),
    "quad-tree": (lambda: histograms.QuadTree.calibrated(PureDP(1), shape=(8, 8), leaf=2), PLANE),
    "priv-tree": (lambda: histograms.PrivTree.calibrated(PureDP(1), side=8), PLANE),
}


@pytest.mark.statistical(false_alarm=1e-10)
@pytest.mark.parametrize("title", BUILT)
def test_intervals_hold_for_all_cells_at_once(title: str) -> None:
    # n = 150 releases at confidence 0.8; catches intervals that take a cell for its bucket's mean (then a peak or an
    # empty cell lies outside nearly always), and noise that is left out where a cell is a bucket by itself.
    build, counts = BUILT[title]
    method = build()

    def trials() -> Iterator[bool]:
        while True:
            interval = method.interval(perform(method, counts, stability=1), "0.8")
            assert interval.low.shape == interval.high.shape == counts.shape
            yield bool(((interval.low <= counts) & (counts <= interval.high)).all())

    assert covers(trials(), 0.8, most=150, false_alarm=1e-10)


def test_a_cell_alone_has_both_ends_and_others_one() -> None:
    method = histograms.EquiWidthHistogram.calibrated(PureDP(1), shape=5, widths=4)
    # By hand: noise of scale 1 is beyond 3 with a chance of 2 q^4 / (1 + q) = 0.027, beyond 2 with 0.073; two blocks
    # share 0.1. The first block counts 20 at most 23, the last cell alone counts 7.
    interval = method.interval(np.array([5.0, 5, 5, 5, 7]), "0.9")
    assert interval.low.tolist() == [0, 0, 0, 0, 4]
    assert interval.high.tolist() == [23, 23, 23, 23, 10]
    below = method.interval(np.array([-1.0, -1, -1, -1, -30]), "0.9")
    assert below.high.tolist() == [2, 2, 2, 2, 0]


def test_cells_alike_are_counted() -> None:
    shown = np.array([3.0, 3.0, 0.5, 3.0, 0.5, 0.5, 0.5])
    assert cells_alike(shown, are_runs=True).tolist() == [2, 2, 1, 1, 3, 3, 3]
    assert cells_alike(shown, are_runs=False).tolist() == [3, 3, 4, 3, 4, 4, 4]

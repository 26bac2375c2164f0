"""The pruned plane: pruning along two axes is pruning along one in another order, and little noise shows the truth."""

from __future__ import annotations

import numpy as np
import pytest

from dither.errors import InvalidParameter
from dither.estimate.trees import fit_tree
from dither.mechanisms import Geometric
from dither.mechanisms.core.release import perform
from dither.privacy import PureDP
from dither.publish.histograms import PrunedPlane
from dither.publish.histograms.pruning import pruned_cells


def in_z_order(side: int) -> np.ndarray:
    """Return for each cell of a plane its place on a line on which every square of 2^k cells a side is a run."""
    place = np.zeros((side, side), dtype=np.int64)
    for row in range(side):
        for column in range(side):
            bits = [(row >> bit & 1) << (2 * bit + 1) | (column >> bit & 1) << (2 * bit) for bit in range(8)]
            place[row, column] = sum(bits)
    return place


@pytest.mark.parametrize("penalty", [0.0, 2.0, 11.0])
def test_squares_are_pruned_as_the_runs_of_a_line(penalty: float) -> None:
    rng = np.random.default_rng()
    place = in_z_order(8)
    levels = [
        rng.normal(3, 4, (8, 8)),
        rng.normal(12, 5, (4, 4)),
        rng.normal(50, 6, (2, 2)),
        rng.normal(200, 9, (1, 1)),
    ]
    on_line = []
    for level in levels:
        line = np.empty(level.size)
        line[in_z_order(len(level)).ravel()] = level.ravel()
        on_line.append(line)
    variances = [4.0, 9.0, 16.0, 25.0]
    plane = pruned_cells(fit_tree(levels, variances, [(2, 2)] * 3), penalty)
    line = pruned_cells(fit_tree(on_line, variances, [(4,)] * 3), penalty)
    assert plane == pytest.approx(line[place], abs=1e-9)
    assert plane.min() >= 0


def test_children_at_the_far_edges_may_be_fewer() -> None:
    noisy = [np.arange(15.0).reshape(3, 5), np.array([[8.0, 16.0, 13.0], [21.0, 25.0, 14.0]]), np.array([[105.0]])]
    shown = pruned_cells(fit_tree(noisy, [1.0, 1.0, 1.0], [(2, 2), (2, 3)]), 0.0)
    assert shown.shape == (3, 5)
    assert shown.sum() == pytest.approx(fit_tree(noisy, [1.0, 1.0, 1.0], [(2, 2), (2, 3)]).levels[-1][0, 0])


def test_with_hardly_any_noise_the_counts_come_back() -> None:
    true = np.random.default_rng().integers(0, 50, (19, 7))
    shown = perform(PrunedPlane.calibrated(PureDP(10**4), shape=(19, 7)), true, stability=1)
    assert shown == pytest.approx(true, abs=1e-6)


def test_every_cell_lies_within_its_interval() -> None:
    """The noise of 225 cells leaves the interval with a probability of 1e-9 in all."""
    true = np.zeros((15, 15), dtype=np.int64)
    true[3, 4] = 10**4
    plane = PrunedPlane.calibrated(PureDP(1), shape=(15, 15))
    shown = perform(plane, true, stability=1)
    found = plane.interval(shown, 1 - 1e-9)
    assert (found.low <= true).all()
    assert (true <= found.high).all()


def test_levels_and_axes_that_do_not_fit_are_refused() -> None:
    one = Geometric(scale=1)
    with pytest.raises(InvalidParameter, match="two axes"):
        PrunedPlane(shape=(4,), levels=(one,), total=one)
    with pytest.raises(InvalidParameter, match="more than one square"):
        PrunedPlane(shape=(4, 4), levels=(one, one), total=one)

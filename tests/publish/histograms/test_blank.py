"""A plane that is blank but for a few lines is found by straight cuts, and its rows stay on their lines."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dither.estimate.trees import TreeFit, block_sums, fit_tree
from dither.mechanisms.core.release import perform
from dither.privacy import PureDP
from dither.publish.histograms import PrunedPlane
from dither.publish.histograms.blank import _gains, blank_but_for_few, cells_as_expected
from dither.publish.histograms.pruning import pruned_cells

SIDE = 64


def fitted(counts: np.ndarray) -> TreeFit:
    """Return the fit of counts of squares of 1, 4 and 16 cells a side and of the total, as if their noise were 0."""
    levels = [counts.astype(float)]
    for branching in [(4, 4)] * 3:
        levels.append(block_sums(levels[-1], branching))
    return fit_tree(levels, [16.0] * 4, [(4, 4)] * 3)


def two_lines() -> np.ndarray:
    """Return rows on the first row and the first column, as of two amounts of which one is nought."""
    counts = np.zeros((SIDE, SIDE), dtype=np.int64)
    counts[0], counts[:, 0] = 3, 4
    counts[0, 0] = 5000
    return counts


def test_a_cut_gains_what_the_deviations_from_two_means_lose() -> None:
    cells = np.random.default_rng().normal(0, 3, (6, 5))
    sums = np.zeros((7, 6))
    sums[1:, 1:] = cells.cumsum(axis=0).cumsum(axis=1)
    for top, bottom, west, east in itertools.product(range(2), (4, 6), range(2), (2, 5)):
        piece = cells[top:bottom, west:east]
        parts = [(piece[:cut], piece[cut:]) for cut in range(1, len(piece))]
        gains = [piece.var() * piece.size - sum(part.var() * part.size for part in both) for both in parts]
        assert _gains(sums, (top, bottom, west, east)) == pytest.approx(gains)


def test_rows_on_two_lines_stay_there() -> None:
    true = two_lines()
    fit = fitted(true)
    found = blank_but_for_few(fit)
    assert found is not None
    assert found.is_blank[1:, 1:].all()
    assert not found.is_blank[0].any()
    shown = cells_as_expected(fit, found)
    assert shown.min() >= 0
    assert shown.sum() == pytest.approx(fit.levels[-1].item())
    assert shown[1:, 1:].sum() < 0.001 * true.sum()
    assert pruned_cells(fit, 4.0)[1:, 1:].sum() > 0.01 * true.sum()


def test_points_that_cuts_do_not_find_forbid_to_call_a_plane_blank() -> None:
    """Sixty lone points, too small to be cut out, lie above 0, where noise lies on both sides."""
    true = two_lines()
    true[np.arange(2, 62), np.arange(2, 62) * 7 % 61 + 2] += 12
    assert blank_but_for_few(fitted(true)) is None


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (9, 1), (5, 3)])
def test_any_small_plane_is_shown(shape: tuple[int, int]) -> None:
    for true in (np.zeros(shape, dtype=np.int64), np.full(shape, 7), np.eye(*shape, dtype=np.int64) * 10**15):
        shown = perform(PrunedPlane.calibrated(PureDP(1), shape=shape), true, stability=1)
        assert np.isfinite(shown).all()


def test_an_empty_or_an_even_plane_is_one_piece() -> None:
    assert blank_but_for_few(fitted(np.zeros((SIDE, SIDE), dtype=np.int64))) is None
    assert blank_but_for_few(fitted(np.full((SIDE, SIDE), 40))) is None

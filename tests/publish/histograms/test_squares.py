"""Counts of a plane without negative ones: square by square, so that sums over rectangles stay good."""

from __future__ import annotations

import numpy as np
import pytest

from dither.estimate.projections import non_negative_with_total
from dither.publish.histograms.pruning import squares_without_negatives
from dither.publish.methods import without_negatives


def by_recursion(counts: np.ndarray, total: float, side: int) -> np.ndarray:
    """The slow twin: move the four squares in a square, then what is in each of them."""
    if side == 1:
        return np.full(counts.shape, total)
    half = side // 2
    parts = [counts[row : row + half, column : column + half] for row in (0, half) for column in (0, half)]
    there = [part for part in parts if part.size]
    totals = iter(non_negative_with_total([part.sum() for part in there], total))
    moved = [by_recursion(part, float(next(totals)), half) if part.size else part for part in parts]
    return np.vstack([np.hstack(moved[:2]), np.hstack(moved[2:])])


@pytest.mark.parametrize("shape", [(8, 8), (5, 7), (1, 6), (8, 3), (1, 1)])
def test_squares_are_moved_as_a_recursion_moves_them(shape: tuple[int, int]) -> None:
    generator = np.random.default_rng()
    for middle in (-1.0, 0.0, 2.0):
        counts = generator.normal(middle, 4, shape)
        found = squares_without_negatives(counts)
        assert found == pytest.approx(by_recursion(counts, max(counts.sum(), 0.0), 8), abs=1e-9)
        assert found.min() >= 0
        assert found.sum() == pytest.approx(max(counts.sum(), 0.0), abs=1e-9)


def test_counts_without_negative_ones_stay_as_they_are() -> None:
    counts = np.random.default_rng().integers(0, 9, (13, 6)).astype(float)
    assert squares_without_negatives(counts) == pytest.approx(counts)


def test_a_crowded_quarter_keeps_its_sum() -> None:
    """Cells from -20 to 20 that add up to 0 in each quarter, and 5 more in one: the nearest counts share that out."""
    quarter = np.linspace(-20, 20, 1024)[np.arange(1024) * 397 % 1024].reshape(32, 32)
    noisy = np.tile(quarter, (2, 2))
    noisy[:32, :32] += 5
    shown = without_negatives(noisy, is_ordered=True)
    assert shown[:32, :32].sum() == pytest.approx(5 * 1024)
    assert shown[32:].sum() == pytest.approx(0, abs=1e-6)
    assert without_negatives(noisy, is_ordered=False)[32:].sum() > 1000

"""Whole weights: lengths and sums against Python's integers, and a clip that no rounding exceeds."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dither.learn.deep.clipping import WEIGHT, ExactSum, Grid, roots_up, squared_lengths, whole_weights


def gradients(rows: int, entries: int, spread: int = 6) -> np.ndarray:
    waves = np.sin(np.arange(rows * entries) * 12.9898) * 43758.5453
    found = (waves - np.floor(waves) - 0.5).reshape(rows, entries)
    return found * 10.0 ** (np.arange(rows) % (2 * spread) - spread)[:, None]


@pytest.mark.parametrize("entries", [1, 7, 1000, 2**17])
def test_contributions_are_no_longer_than_the_clip(entries: int) -> None:
    grid = Grid(entries)
    whole = grid.whole(gradients(8, entries), 0.1)
    lengths = squared_lengths(whole)
    assert [int(length) for length in lengths] == [sum(int(one) ** 2 for one in row) for row in whole]
    assert lengths.max() < 2**53
    weights = whole_weights(lengths, grid.clip)
    assert all(int(w) ** 2 * int(s) <= grid.length**2 for w, s in zip(weights, lengths, strict=True))
    # Nothing is shortened more than it must be, by more than the share that a whole weight and a root cost.
    cut = [w for w in weights if w < WEIGHT]
    assert cut
    shares = [
        float(Fraction(int(w) ** 2 * int(s), grid.length**2))
        for w, s in zip(weights, lengths, strict=True)
        if w < WEIGHT
    ]
    assert min(shares) > 0.97


def test_roots_are_rounded_up_next_to_squares() -> None:
    roots = np.array([0, 1, 2, 3, 2**26, 2**31 - 1], dtype=np.int64)
    for off in (-1, 0, 1):
        squares = np.maximum(roots * roots + off, 0)
        for square, root in zip(squares.tolist(), roots_up(squares).tolist(), strict=True):
            assert root * root >= square > (root - 1) * abs(root - 1)


@pytest.mark.parametrize("entries", [3, 5000])
def test_company_changes_no_bit(entries: int) -> None:
    rows = gradients(40, entries)
    rows[3, 0], rows[4, 1] = np.nan, np.inf
    alone = np.zeros(entries, dtype=np.int64)
    for row in rows:
        one = ExactSum(entries)
        one.add(row[None], 0.5)
        alone += one.total()
    for order in (np.arange(40), np.arange(40)[::-1]):
        for size in (1, 7, 40):
            together = ExactSum(entries)
            for start in range(0, 40, size):
                together.add(rows[order[start : start + size]], 0.5)
            assert (together.total() == alone).all()


def test_a_float_sum_of_clipped_rows_is_another_sum_in_another_order() -> None:
    rows = gradients(40, 50)
    short = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 0.5)
    assert (short.sum(axis=0) != short[::-1].sum(axis=0)).any()


def test_rows_that_are_not_finite_add_nothing() -> None:
    total = ExactSum(2)
    total.add(np.array([[np.nan, 1.0], [np.inf, 0.0], [1.0, -np.inf]]), 1.0)
    assert not total.total().any()

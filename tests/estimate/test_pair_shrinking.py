"""Shrinking of pairs: noise goes, what is far above it stays."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from dither.estimate.pair_shrinking import shrink_pairs

SIZES = (20, 12, 8, 15)
PAIRS = list(combinations(range(4), 2))
TOTAL = 50_000.0


def centred(table: np.ndarray) -> np.ndarray:
    """Return the table less its means, written in one line of algebra."""
    return table - table.mean(0) - table.mean(1)[:, None] + table.mean()


def planted() -> tuple[dict, dict]:
    """Return expected counts, and deviations of rank one that share a direction for each attribute."""
    directions = [np.cos(np.linspace(0, 3, size)) - np.cos(np.linspace(0, 3, size)).mean() for size in SIZES]
    expected = {(a, b): np.full((SIZES[a], SIZES[b]), TOTAL / SIZES[a] / SIZES[b]) for a, b in PAIRS}
    truth = {
        (a, b): np.multiply.outer(directions[a], directions[b]) * 0.5 * TOTAL / SIZES[a] / SIZES[b] for a, b in PAIRS
    }
    return expected, truth


def test_without_noise_nothing_is_shrunk() -> None:
    """Where the noise is negligible the deviations come back."""
    expected, truth = planted()
    shrunk = shrink_pairs(SIZES, truth, dict.fromkeys(PAIRS, 1e-6), expected)
    for pair in PAIRS:
        np.testing.assert_allclose(shrunk[pair], truth[pair], atol=1e-5)


@pytest.mark.statistical(n=6, false_alarm=1e-12, catches="noise that is kept, or a signal that is lost")
def test_noise_is_taken_out_and_the_signal_kept() -> None:
    """The error falls below half of the noise's, which has thousands of entries, so its norm hardly varies.

    Six tables of 1,200 entries in all: their squared norm is within a third of its mean but for 1e-12.
    """
    generator = np.random.default_rng()
    expected, truth = planted()
    spread = 30.0
    noise = {pair: centred(generator.normal(0, spread, table.shape)) for pair, table in truth.items()}
    shrunk = shrink_pairs(SIZES, {p: truth[p] + noise[p] for p in PAIRS}, dict.fromkeys(PAIRS, spread), expected)
    left = sum(float(((shrunk[pair] - truth[pair]) ** 2).sum()) for pair in PAIRS)
    there = sum(float((noise[pair] ** 2).sum()) for pair in PAIRS)
    signal = sum(float((truth[pair] ** 2).sum()) for pair in PAIRS)
    assert left < there / 2
    assert left < signal / 2


@pytest.mark.statistical(n=6, false_alarm=1e-12, catches="shrinking that takes noise for dependence")
def test_noise_alone_is_shrunk_to_nearly_nothing() -> None:
    """Of independent attributes with few records little of the noise is left: less than a quarter of its square."""
    generator = np.random.default_rng()
    expected = {pair: np.full((SIZES[pair[0]], SIZES[pair[1]]), 0.5) for pair in PAIRS}
    noise = {pair: centred(generator.normal(0, 30.0, table.shape)) for pair, table in expected.items()}
    shrunk = shrink_pairs(SIZES, noise, dict.fromkeys(PAIRS, 30.0), expected)
    left = sum(float((table**2).sum()) for table in shrunk.values())
    assert left < 0.25 * sum(float((table**2).sum()) for table in noise.values())


def test_an_attribute_of_no_pair_is_left_alone() -> None:
    """An attribute without a partner, and pairs of two values, have nothing that could go wrong."""
    table = np.array([[50.0, -50.0], [-50.0, 50.0]])
    shrunk = shrink_pairs((2, 2, 5), {(0, 1): table}, {(0, 1): 1.0}, {(0, 1): np.full((2, 2), 100.0)})
    assert list(shrunk) == [(0, 1)]
    np.testing.assert_allclose(shrunk[0, 1], table, rtol=0.01)

"""Averages over even dyadic blocks against integration by hand, and at the ends where the answer is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither.errors import InvalidParameter
from dither.estimate import even_trees
from dither.estimate.even_trees import fit_even_tree
from dither.estimate.trees import block_sums, fit_tree


def normal(x: Any, variance: float) -> Any:
    return np.exp(-0.5 * x**2 / variance) / np.sqrt(2 * np.pi * variance)


def by_hand(first: list[float], total: float | None, variances: list[float]) -> list[float]:
    """The mean of two cells by sums over a fine grid of totals and differences: slow, and obviously right.

    Even or not with equal odds; if not, the first cell is half of the total and a difference of one of the spreads,
    which are multiples of the noise of (first - second) / 2, all equally likely.
    """
    noise = variances[0] / 2
    reach = 40 * np.sqrt(variances[0])
    totals = np.linspace(sum(first) - 2 * reach, sum(first) + 2 * reach, 801)
    said = np.ones_like(totals) if total is None else normal(totals - total, variances[1])
    even = said * normal(first[0] - totals / 2, variances[0]) * normal(first[1] - totals / 2, variances[0])
    wide, likely = np.linspace(-reach, reach, 801), 0.0
    for spread in even_trees._SPREADS:
        likely = likely + normal(wide, noise * spread) / even_trees._SPREADS.size
    grid = (
        said[:, None]
        * likely[None, :]
        * normal(first[0] - totals[:, None] / 2 - wide[None, :], variances[0])
        * normal(first[1] - totals[:, None] / 2 + wide[None, :], variances[0])
        * (wide[1] - wide[0])
    )
    mass = even.sum() + grid.sum()
    found = []
    for sign in (1, -1):
        halves = totals[:, None] / 2 + sign * wide[None, :]
        found.append(float(((even * totals / 2).sum() + (grid * halves).sum()) / mass))
    return found


@pytest.mark.parametrize("total", [None, 3.0, 9.0])
@pytest.mark.parametrize("first", [[1.0, 2.0], [0.0, 6.0], [9.0, -1.0]])
def test_two_cells_are_what_integration_gives(
    first: list[float], total: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One round, in which nothing is learned. Spreads that the grid of the twin can hold."""
    monkeypatch.setattr(even_trees, "_ROUNDS", 1)
    monkeypatch.setattr(even_trees, "_SPREADS", np.array([0.5, 4.0, 30.0]))
    monkeypatch.setattr(even_trees, "_KEPT", np.array([0.5, 4.0, 30.0]) / np.array([1.5, 5.0, 31.0]))
    noisy, variances = ([first], [2.0]) if total is None else ([first, [total]], [2.0, 3.0])
    assert fit_even_tree(noisy, variances, 2) == pytest.approx(by_hand(first, total, [2.0, 3.0]), abs=1e-6)


def noisy_tree(counts: Any, branching: int, levels: int) -> list[Any]:
    made = [np.asarray(counts, dtype=float)]
    for _ in range(levels - 1):
        made.append(block_sums(made[-1], (branching,)))
    return made


@pytest.mark.parametrize("cells", [1, 2, 3, 5, 8, 13, 64, 100])
@pytest.mark.parametrize(("branching", "levels"), [(2, 1), (2, 2), (4, 2), (8, 2)])
def test_numbers_without_noise_stay(cells: int, branching: int, levels: int) -> None:
    counts = (np.arange(cells) % 7) ** 3 * 1000.0
    assert fit_even_tree(noisy_tree(counts, branching, levels), [1e-9] * levels, branching) == pytest.approx(
        counts, abs=1e-3
    )


@pytest.mark.parametrize("cells", [4, 37, 64])
def test_even_counts_stay_even(cells: int) -> None:
    found = fit_even_tree(noisy_tree(np.full(cells, 5.0), 4, 2), [9.0, 9.0], 4)
    assert found == pytest.approx(np.full(cells, 5.0))


def test_where_nothing_is_even_it_is_the_plain_fit() -> None:
    """Differences of a thousand standard errors, and totals that do not fit them by one: as least squares settle it."""
    cells = 2000.0 * (np.arange(32) * 37 % 64)
    noisy = noisy_tree(cells, 4, 2)
    noisy[1] = noisy[1] + np.tile([2.0, -2.0], 4)
    plain = fit_tree(noisy, [4.0, 4.0], [(4,)]).cells
    assert np.abs(plain - cells).max() > 0.2
    assert fit_even_tree(noisy, [4.0, 4.0], 4) == pytest.approx(plain, abs=0.05)


@settings(max_examples=25)
@given(st.lists(st.integers(-50, 50), min_size=1, max_size=20), st.integers(0, 2))
def test_units_and_direction_change_nothing(values: list[int], doubled: int) -> None:
    """Counts in another unit give counts in that unit; cells in reverse order the same, where blocks are whole."""
    size = 1 << (len(values) - 1).bit_length()
    cells = np.resize(np.array(values, dtype=float), size)
    noisy = [cells, block_sums(cells, (4,)) + 1.0]
    found = fit_even_tree(noisy, [8.0, 8.0], 4)
    unit = 2.0**doubled
    assert fit_even_tree([level * unit for level in noisy], [8.0 * unit**2] * 2, 4) == pytest.approx(found * unit)
    if size >= 4:
        assert fit_even_tree([level[::-1] for level in noisy], [8.0, 8.0], 4)[::-1] == pytest.approx(found)


def test_a_guess_of_one_run_or_of_none_says_nothing() -> None:
    """Marks split the blocks into two classes; where all fall into one they change nothing, whatever the noise."""
    generator = np.random.default_rng()
    counts = np.repeat([40.0, 0.0, 90.0, 10.0], 64)
    noisy = noisy_tree(counts, 16, 2)
    noisy = [level + generator.normal(0, 10, level.size) for level in noisy]
    alone = fit_even_tree(noisy, [100.0, 100.0], 16)
    one_run = np.zeros(256, dtype=int)
    one_run[0] = 1
    assert fit_even_tree(noisy, [100.0, 100.0], 16, one_run) == pytest.approx(alone)
    assert fit_even_tree(noisy, [100.0, 100.0], 16, np.ones(256, dtype=int)) == pytest.approx(alone)


@pytest.mark.parametrize(
    ("noisy", "variances", "branching"),
    [
        ([[1.0, 2.0]], [1.0], 3),
        ([[1.0, 2.0]], [1.0], 1),
        ([[1.0, 2.0]], [1.0, 1.0], 2),
        ([[1.0] * 4, [2.0]], [1.0] * 2, 2),
    ],
)
def test_other_trees_are_refused(noisy: list[Any], variances: list[float], branching: int) -> None:
    with pytest.raises(InvalidParameter):
        fit_even_tree(noisy, variances, branching)

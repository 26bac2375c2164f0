"""Tree consistency against dense normal equations; variances against the dense covariance, query by query."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.estimate.trees import (
    TreeVariances,
    block_sums,
    fit_groups,
    fit_tree,
    level_shapes,
    mean_range_variance,
    range_overlaps,
    spread,
)

Branchings = list[tuple[int, ...]]
TREES: list[tuple[tuple[int, ...], Branchings]] = [
    ((1,), []),
    ((5,), [(5,)]),
    ((8,), [(2,), (2,), (2,)]),
    ((10,), [(3,), (2,)]),
    ((7,), [(2,), (4,)]),
    ((4, 4), [(2, 2), (2, 2)]),
    ((5, 6), [(2, 3), (2, 1)]),
    ((2, 3, 2), [(2, 2, 2)]),
]


def nodes_of(shape: tuple[int, ...], branchings: Branchings) -> list[NDArray[np.float64]]:
    """The slow obvious tree: for each level a row of zeros and ones for each node."""
    cells = int(np.prod(shape))
    levels, place = [], np.indices(shape).reshape(len(shape), -1)
    for size in level_shapes(shape, branchings):
        rows = np.zeros((int(np.prod(size)), cells))
        rows[np.ravel_multi_index(tuple(place), size), np.arange(cells)] = 1
        levels.append(rows)
        if len(levels) <= len(branchings):
            place = place // np.array(branchings[len(levels) - 1])[:, None]
    return levels


@st.composite
def problems(draw: st.DrawFn) -> tuple[tuple[int, ...], Branchings, list[NDArray[np.float64] | None], list[object]]:
    shape, branchings = draw(st.sampled_from(TREES))
    sizes = level_shapes(shape, branchings)
    released = [True, *(draw(st.booleans()) for _ in branchings)]
    numbers = st.integers(-20, 20)
    noisy: list[NDArray[np.float64] | None] = []
    variances: list[object] = []
    for size, is_released in zip(sizes, released, strict=True):
        count = int(np.prod(size))
        if not is_released:
            noisy.append(None)
            variances.append(None)
            continue
        noisy.append(np.array(draw(st.lists(numbers, min_size=count, max_size=count)), dtype=float).reshape(size))
        each = st.lists(st.integers(1, 8), min_size=count, max_size=count)
        variances.append(draw(st.integers(1, 8)) if draw(st.booleans()) else np.array(draw(each), float).reshape(size))
    return shape, branchings, noisy, variances


def normal_equations(
    shape: tuple[int, ...], branchings: Branchings, noisy: list[NDArray[np.float64] | None], variances: list[object]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    rows, answers, weights = [], [], []
    for matrix, seen, variance in zip(nodes_of(shape, branchings), noisy, variances, strict=True):
        if seen is not None:
            rows.append(matrix)
            answers.append(seen.ravel())
            weights.append(1 / np.broadcast_to(np.asarray(variance, dtype=float), seen.shape).ravel())
    system, weight = np.vstack(rows), np.concatenate(weights)
    covariance = np.linalg.inv(system.T @ (weight[:, None] * system))
    return covariance @ (system.T @ (weight * np.concatenate(answers))), covariance


@given(problems(), st.randoms(use_true_random=False))
def test_two_passes_are_weighted_least_squares(problem: tuple[object, ...], luck: object) -> None:
    shape, branchings, noisy, variances = problem
    fit = fit_tree(noisy, variances, branchings)  # type: ignore[arg-type]
    cells, covariance = normal_equations(shape, branchings, noisy, variances)  # type: ignore[arg-type]
    assert fit.cells.ravel() == pytest.approx(cells, abs=1e-9)
    assert fit.variances.cells.ravel() == pytest.approx(np.diag(covariance), rel=1e-9)
    for level, matrix in enumerate(nodes_of(shape, branchings)):  # type: ignore[arg-type]
        assert fit.levels[level].ravel() == pytest.approx(matrix @ cells, abs=1e-8)
        expected = np.diag(matrix @ covariance @ matrix.T)
        assert fit.variances.nodes[level].ravel() == pytest.approx(expected, rel=1e-8)
    query = np.array([luck.randint(-3, 3) for _ in range(cells.size)], dtype=float)  # type: ignore[attr-defined]
    assert fit.variances.of_query(query.reshape(shape)) == pytest.approx(query @ covariance @ query, abs=1e-8)  # type: ignore[arg-type]


@pytest.mark.parametrize(("shape", "branchings"), [tree for tree in TREES if len(tree[0]) == 1])
def test_ranges_have_the_variance_of_their_query(shape: tuple[int], branchings: Branchings) -> None:
    cells = shape[0]
    variances = TreeVariances.of(shape, branchings, [1.0 + level for level in range(len(branchings) + 1)])
    for start in range(cells + 1):
        for stop in range(start, cells + 1):
            weights = np.zeros(cells)
            weights[start:stop] = 1
            assert variances.of_range(start, stop) == pytest.approx(variances.of_query(weights), abs=1e-12)


@given(st.integers(1, 30), st.integers(1, 31))
def test_overlaps_are_counted(cells: int, width: int) -> None:
    blocks = [range(start, min(start + width, cells)) for start in range(0, cells, width)]
    ranges = [range(start, stop) for start in range(cells) for stop in range(start + 1, cells + 1)]
    counted = sum(len(set(block) & set(found)) ** 2 for block in blocks for found in ranges)
    assert range_overlaps(cells, width) == counted


@pytest.mark.parametrize(("cells", "fan", "spreads"), [(12, 2, (1, 2, 3)), (27, 3, (1, 0.5, 2)), (20, 5, (1, 1))])
def test_the_mean_over_all_ranges_is_exact(cells: int, fan: int, spreads: tuple[float, ...]) -> None:
    variances = TreeVariances.of((cells,), [(fan,)] * (len(spreads) - 1), spreads)
    each = [variances.of_range(start, stop) for start in range(cells) for stop in range(start + 1, cells + 1)]
    assert mean_range_variance(cells, fan, spreads) == pytest.approx(np.mean(each))


def test_the_published_passes_for_equal_variances() -> None:
    """Hay et al.: upwards z = (b^l - b^(l-1)) / (b^l - 1) y + (b^(l-1) - 1) / (b^l - 1) sum z, here b = 2, l = 2."""
    fit = fit_tree([[3.0, 5.0], [11.0]], [1.0, 1.0], [(2,)])
    top = 2 / 3 * 11 + 1 / 3 * 8
    assert fit.levels[1].tolist() == pytest.approx([top])
    assert fit.cells.tolist() == pytest.approx([3 + (top - 8) / 2, 5 + (top - 8) / 2])


@given(st.lists(st.integers(0, 2), min_size=1, max_size=8), st.data())
def test_two_levels_of_any_groups_are_weighted_least_squares(groups: list[int], data: st.DataObject) -> None:
    numbers = st.integers(-9, 9)
    children = np.array(data.draw(st.lists(numbers, min_size=len(groups), max_size=len(groups))), dtype=float)
    parents = np.array(data.draw(st.lists(numbers, min_size=3, max_size=3)), dtype=float)
    best, sums = fit_groups(parents, [1.0, 2.0, 4.0], children, 3.0, groups)
    system = np.vstack([np.eye(len(groups)), np.equal.outer(np.arange(3), groups).astype(float)])
    weights = np.concatenate([np.full(len(groups), 1 / 3), [1, 1 / 2, 1 / 4]])
    answers = np.concatenate([children, parents])
    expected = np.linalg.solve(system.T @ (weights[:, None] * system), system.T @ (weights * answers))
    assert best == pytest.approx(expected, abs=1e-9)
    assert sums[np.unique(groups)] == pytest.approx(np.bincount(groups, expected, 3)[np.unique(groups)], abs=1e-9)


def test_blocks_and_their_spread_fit_together() -> None:
    cells = np.arange(35).reshape(5, 7)
    sums = block_sums(cells, (2, 3))
    assert sums.sum() == cells.sum()
    assert spread(sums, (2, 3), (5, 7))[4, 6] == sums[2, 2] == cells[4:, 6:].sum()


@pytest.mark.parametrize(
    ("noisy", "variances"),
    [([[1.0, 2.0], [3.0]], [1.0]), ([None, [3.0]], [None, 1.0]), ([[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0])],
)
def test_trees_that_do_not_fit_are_refused(noisy: list[object], variances: list[object]) -> None:
    with pytest.raises(InvalidParameter):
        fit_tree(noisy, variances, [(2,)])  # type: ignore[arg-type]


@pytest.mark.parametrize("variance", [0.0, -1.0, float("nan"), float("inf"), [1.0, 2.0, 3.0]])
def test_variances_are_numbers_above_zero(variance: object) -> None:
    with pytest.raises(InvalidParameter):
        fit_tree([[1.0, 2.0], [3.0]], [variance, 1.0], [(2,)])  # type: ignore[list-item]

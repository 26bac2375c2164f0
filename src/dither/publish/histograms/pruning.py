"""Pruning a fitted tree of noisy counts: children that may well be even are made even, and no count is negative.

The noise of every node is known, so that what is left over after an even division tells whether there is more to see
than noise. From the top down, the children of a node are taken as *even but for some that stand out*: those that
stand out are found by a penalty for each, and all are moved to the nearest counts without negative ones that add up to
the count of their parent. Cost: one sort of the nodes of each level.

Post-processing only: what is handed over has been released.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dither.estimate.trees import TreeFit, block_sums

Floats = NDArray[np.float64]


def pruned_cells(fit: TreeFit, penalty: float) -> Floats:
    """Return counts of the cells, of one dimension, with even children where the noise hides differences.

    The largest children stand out. Their number minimises the squares left over, each divided by its variance, plus
    ``penalty`` for each that stands out.

    Args:
        fit: the least-squares estimates of all nodes; the last level is one node.
        penalty: what a child that stands out has to explain.

    >>> from dither.estimate.trees import fit_tree
    >>> fit = fit_tree([[9.0, 11.0, 10.0, 90.0], [120.0]], [4.0, 4.0], [(4,)])
    >>> pruned_cells(fit, 6.0).round().tolist()
    [10.0, 10.0, 10.0, 90.0]

    """
    known = fit.variances
    sizes = [np.ones(fit.cells.size)]
    for branching in known.branchings:
        sizes.append(block_sums(sizes[-1], branching))
    parents = np.maximum(fit.levels[-1], 0.0)
    for level in range(len(fit.levels) - 2, -1, -1):
        parents = _divided(
            parents, fit.levels[level], sizes[level], known.own[level], known.branchings[level][0], penalty
        )
    return parents


def _divided(parents: Floats, nodes: Floats, sizes: Floats, variances: Floats, width: int, penalty: float) -> Floats:
    """Return the counts of the nodes of one level, given those of their parents."""
    many = parents.size
    # The last parent may have fewer children: those that are missing weigh nothing and come last.
    count, size, variance = (_in_rows(part, many, width) for part in (nodes, sizes, variances))
    is_there = size > 0
    weight = np.divide(1.0, variance, out=np.zeros_like(variance), where=is_there)
    density = np.divide(count, size, out=np.full_like(count, np.inf), where=is_there)
    order = np.argsort(density, axis=1, kind="stable")
    count, size, weight = (np.take_along_axis(part, order, axis=1) for part in (count, size, weight))
    # Squares are those of deviations, so that large counts do not swallow small differences.
    middle = count.sum(axis=1, keepdims=True) / size.sum(axis=1, keepdims=True)
    count = count - middle * size
    mixed, square = np.cumsum(weight * size * count, axis=1), np.cumsum(weight * size**2, axis=1)
    left_over = np.cumsum(weight * count**2, axis=1) - mixed**2 / square
    standing_out = np.maximum(is_there.sum(axis=1, keepdims=True) - 1 - np.arange(width), 0)
    last = np.argmin(left_over + penalty * standing_out, axis=1)[:, None]
    even = np.take_along_axis(mixed, last, axis=1) / np.take_along_axis(square, last, axis=1)
    count = np.where(np.arange(width) <= last, even * size, count) + middle * size
    count = _without_negatives(count, size > 0, parents)
    back = np.empty_like(count)
    np.put_along_axis(back, order, count, axis=1)
    return back.ravel()[: nodes.size]


def _without_negatives(rows: Floats, is_there: NDArray[np.bool_], totals: Floats) -> Floats:
    """Return, for every row, the nearest non-negative counts with the given total: a projection on a simplex."""
    downwards = -np.sort(np.where(is_there, -rows, np.inf), axis=1)
    is_real = np.isfinite(downwards)
    excess = np.cumsum(np.where(is_real, downwards, 0.0), axis=1) - totals[:, None]
    level = excess / np.arange(1, rows.shape[1] + 1)
    # The largest is always among those above 0, or the only one where the total is 0.
    above = np.where(is_real, downwards >= level, False)
    above[:, 0] = True
    place = rows.shape[1] - 1 - np.argmax(above[:, ::-1], axis=1)
    found = np.maximum(rows - np.take_along_axis(level, place[:, None], axis=1), 0.0)
    return np.where(is_there, found, 0.0)


def _in_rows(values: Floats, rows: int, width: int) -> Floats:
    filled = np.zeros(rows * width)
    filled[: values.size] = values
    return filled.reshape(rows, width)

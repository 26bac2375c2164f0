"""Pruning a fitted tree of noisy counts: children that may well be even are made even, and no count is negative.

The noise of every node is known, so that what is left over after an even division tells whether there is more to see
than noise. From the top down, the children of a node are taken as *even but for some that stand out*: those that
stand out are found by a penalty for each, and all are moved to the nearest counts without negative ones that add up to
the count of their parent. Cost: one sort of the nodes of each level.

Post-processing only: what is handed over has been released.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from dither.estimate.trees import Branching, TreeFit, block_sums

Floats = NDArray[np.float64]
_FOUR: Final = (2, 2)


def pruned_cells(fit: TreeFit, penalty: float) -> Floats:
    """Return counts of the cells with even children where the noise hides differences.

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
    sizes = [np.ones(fit.cells.shape)]
    for branching in known.branchings:
        sizes.append(block_sums(sizes[-1], branching))
    parents = np.maximum(fit.levels[-1], 0.0)
    for level in range(len(fit.levels) - 2, -1, -1):
        parents = _divided(parents, fit.levels[level], sizes[level], known.own[level], known.branchings[level], penalty)
    return parents


def squares_without_negatives(counts: Floats) -> Floats:
    """Return counts of two axes without negative ones whose sums over rectangles stay near the given ones.

    From the total down, the squares in a square are moved to the nearest without negative ones that add up to it. The
    nearest counts with the same total would take what many empty cells have in excess from the few large ones, and
    miss sums over rectangles by all of that.

    Args:
        counts: a table of two axes.

    >>> squares_without_negatives(np.array([[2.0, -2.0, 6.0, 6.0]])).tolist()
    [[0.0, 0.0, 6.0, 6.0]]

    """
    levels = [counts]
    while levels[-1].size > 1:
        levels.append(block_sums(levels[-1], _FOUR))
    found = np.maximum(levels.pop(), 0.0)
    for nodes in reversed(levels):
        rows, is_there = (in_rows(part, found.shape, _FOUR) for part in (nodes, np.ones(nodes.shape)))
        kept = from_rows(without_negatives(rows, is_there > 0, found.ravel()), found.shape, _FOUR)
        found = kept[tuple(slice(0, size) for size in nodes.shape)]
    return found


def _divided(
    parents: Floats, nodes: Floats, sizes: Floats, variances: Floats, branching: Branching, penalty: float
) -> Floats:
    """Return the counts of the nodes of one level, given those of their parents."""
    width = int(np.prod(branching))
    # Parents at the far edges may have fewer children: those that are missing weigh nothing and come last.
    count, size, variance = (in_rows(part, parents.shape, branching) for part in (nodes, sizes, variances))
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
    count = without_negatives(count, size > 0, parents.ravel())
    back = np.empty_like(count)
    np.put_along_axis(back, order, count, axis=1)
    return from_rows(back, parents.shape, branching)[tuple(slice(0, size) for size in nodes.shape)]


def without_negatives(rows: Floats, is_there: NDArray[np.bool_], totals: Floats) -> Floats:
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


def in_rows(values: Floats, parents: tuple[int, ...], branching: Branching) -> Floats:
    """Return a row for each parent, with its children; those that are missing are 0."""
    filled = np.zeros([many * width for many, width in zip(parents, branching, strict=True)])
    filled[tuple(slice(0, size) for size in values.shape)] = values
    axes = len(parents)
    split = filled.reshape([part for pair in zip(parents, branching, strict=True) for part in pair])
    return split.transpose([*range(0, 2 * axes, 2), *range(1, 2 * axes, 2)]).reshape(-1, int(np.prod(branching)))


def from_rows(rows: Floats, parents: tuple[int, ...], branching: Branching) -> Floats:
    """Return the children where they belong."""
    axes = len(parents)
    split = rows.reshape([*parents, *branching])
    order = [place for axis in range(axes) for place in (axis, axes + axis)]
    return split.transpose(order).reshape([many * width for many, width in zip(parents, branching, strict=True)])

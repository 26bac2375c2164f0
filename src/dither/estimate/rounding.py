"""Controlled rounding: integers that keep their total, or all totals of a tree.

Every number is rounded down or up, never farther. Largest remainder minimises sum_i |x_i - y_i|, and every other convex
symmetric distance, among all such roundings with that total: exchanging a smaller rounded-up remainder for a larger one
never helps (Balinski and Young 1982, appendix A). Along a tree the whole number of a parent lies between the sums of
its children rounded down and up, because the parent is their sum; so rounding from the root down never fails.

Post-processing only: what is handed over has been released.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dither.errors import InvalidParameter
from dither.estimate.isotonic import finite_vector
from dither.estimate.trees import Branching, level_shapes, spread

_LARGEST = 2.0**52


def largest_remainder(values: ArrayLike, total: int | None = None) -> NDArray[np.int64]:
    """Return every number rounded down or up, with an integer total.

    Args:
        values: released numbers, of any shape.
        total: what they must add up to; None for the integer nearest to their sum.

    >>> largest_remainder([1.4, 2.3, 0.3]).tolist()
    [2, 2, 0]

    """
    array = np.asarray(values, dtype=np.float64)
    given = finite_vector("values", array.ravel())
    if given.size and np.abs(given).max() > _LARGEST:
        raise InvalidParameter("values", "numbers beyond 2^52", "small enough to have digits after the point")
    wanted = round(float(given.sum())) if total is None else int(total)
    lower, upper = int(np.floor(given).sum()), int(np.ceil(given).sum())
    if not lower <= wanted <= upper:
        raise InvalidParameter("total", wanted, f"between {lower} and {upper}, the numbers rounded down and up")
    return _shared(given, np.zeros(given.size, dtype=np.int64), np.array([wanted])).reshape(array.shape)


def round_tree(levels: Sequence[ArrayLike], branchings: Sequence[Branching]) -> list[NDArray[np.int64]]:
    """Return all levels of a consistent tree as integers, each rounded down or up, children adding up to parents.

    Args:
        levels: the consistent estimates, cells first, as ``fit_tree`` gives them; the top level adds up to its
            rounded sum.
        branchings: for each level but the last, how many of its nodes along each axis make up one of the next.

    >>> [level.tolist() for level in round_tree([[0.6, 0.6, 1.3, 0.4], [1.2, 1.7]], [(2,)])]
    [[1, 0, 1, 1], [1, 2]]

    """
    given = [np.asarray(level, dtype=np.float64) for level in levels]
    shapes = level_shapes(given[0].shape, branchings)
    if [level.shape for level in given] != shapes:
        raise InvalidParameter("levels", [level.shape for level in given], f"of shapes {shapes}")
    rounded = [largest_remainder(given[-1])]
    for level in range(len(given) - 2, -1, -1):
        parents = np.arange(rounded[-1].size).reshape(rounded[-1].shape)
        groups = spread(parents, branchings[level], given[level].shape)
        children = _shared(given[level].ravel(), groups.ravel(), rounded[-1].ravel())
        rounded.append(children.reshape(given[level].shape))
    return rounded[::-1]


def _shared(values: NDArray[np.float64], groups: NDArray[np.int64], totals: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers rounded so that each group adds up to its total: the largest remainders go up."""
    # A number that is an integer up to the rounding errors of a fit counts as one.
    near = np.rint(values)
    values = np.where(np.abs(values - near) <= 1e-9 * np.maximum(1.0, np.abs(values)), near, values)
    down = np.floor(values).astype(np.int64)
    sums = np.zeros(totals.size, dtype=np.int64)
    np.add.at(sums, groups, down)
    order = np.lexsort((-(values - down), groups))
    firsts = np.searchsorted(groups[order], np.arange(totals.size))
    rank = np.empty(values.size, dtype=np.int64)
    rank[order] = np.arange(values.size) - firsts[groups[order]]
    return down + (rank < (totals - sums)[groups])

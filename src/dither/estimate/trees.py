"""Tree consistency: counts of cells that best fit noisy counts of cells and of blocks of cells.

Level 0 holds the cells, of one or more dimensions. A node of the next level is the sum of a block of nodes, as
many along each axis as it branches; blocks at the far edges may be smaller. Every node, or every node of some levels,
was released with independent noise of known variance.

Objective: minimise the sum over all released nodes of (y_v - sum of the cells below v)^2 / variance_v. One pass up and
one down give the exact minimiser in linear time, for any branching and any variances: the tree is a Gaussian graphical
model without cycles. With equal variances and equal branching the passes are those of Boosting the Accuracy of
Histograms (Hay et al. 2010), theorem 3; the tests compare them with dense normal equations.

The covariance of the estimates is carried through. With d_v the variance of the estimate of v from its own subtree and
S_v the sum of d over its children (0 for a cell), it is the sum over all nodes of (d_v - S_v) a_v a_v^T, where a_v
divides the sum of v among its cells: a child c of v receives the share d_c / S_v. So the variance of any linear query
costs one pass.

Post-processing only: what is handed over has been released.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dither.errors import InvalidParameter

Floats = NDArray[np.float64]
Branching = tuple[int, ...]


def block_sums(array: NDArray[Any], branching: Branching) -> NDArray[Any]:
    """Return the sums over blocks of the given lengths along each axis; the last block of an axis may be smaller.

    >>> block_sums(np.array([1, 2, 3, 4, 5]), (2,)).tolist()
    [3, 7, 5]
    """
    for axis, width in enumerate(branching):
        if width > 1:
            array = np.add.reduceat(array, np.arange(0, array.shape[axis], width), axis=axis)
    return array


def spread(array: NDArray[Any], branching: Branching, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return, for every entry of a finer level, that of its block.

    >>> spread(np.array([3, 7]), (2,), (3,)).tolist()
    [3, 3, 7]
    """
    for axis, width in enumerate(branching):
        if width > 1:
            array = np.repeat(array, width, axis=axis)
    return array[tuple(slice(0, size) for size in shape)]


def level_shapes(shape: tuple[int, ...], branchings: Sequence[Branching]) -> list[tuple[int, ...]]:
    """Return the shapes of all levels, cells first.

    >>> level_shapes((10,), [(3,), (3,)])
    [(10,), (4,), (2,)]
    """
    shapes = [shape]
    for branching in branchings:
        shapes.append(tuple(-(-size // width) for size, width in zip(shapes[-1], branching, strict=True)))
    return shapes


@dataclass(frozen=True)
class TreeVariances:
    """What is known about a tree in advance: how precise its estimates will be.

    Args:
        own: for each level the variance of the estimate of a node from its own subtree.
        below: for each level the sum of ``own`` over the children of a node; 0 for the cells.
        branchings: how many nodes along each axis make up one of the next level.

    """

    own: tuple[Floats, ...]
    below: tuple[Floats, ...]
    branchings: tuple[Branching, ...]

    @classmethod
    def of(
        cls, shape: tuple[int, ...], branchings: Sequence[Branching], variances: Sequence[ArrayLike | None]
    ) -> TreeVariances:
        """Return the variances of a tree whose levels were released with these; None for a level that was not."""
        shapes = level_shapes(shape, branchings)
        if len(variances) != len(shapes) or variances[0] is None:
            raise InvalidParameter("variances", len(variances), f"one for each of {len(shapes)} levels, cells released")
        own, below = [_spread_variance(variances[0], shape)], [np.zeros(shape)]
        for branching, size, variance in zip(branchings, shapes[1:], variances[1:], strict=True):
            children = block_sums(own[-1], branching)
            below.append(children)
            own.append(children if variance is None else 1 / (1 / _spread_variance(variance, size) + 1 / children))
        return cls(tuple(own), tuple(below), tuple(branchings))

    @cached_property
    def nodes(self) -> tuple[Floats, ...]:
        """For each level, the variance of the final estimates of its nodes."""
        levels = [self.own[-1]]
        for level in range(len(self.own) - 2, -1, -1):
            own = self.own[level]
            share = own / spread(self.below[level + 1], self.branchings[level], own.shape)
            parents = spread(levels[-1], self.branchings[level], own.shape)
            levels.append(own * (1 - share) + share**2 * parents)
        return tuple(reversed(levels))

    @property
    def cells(self) -> Floats:
        """The variance of every cell."""
        return self.nodes[0]

    def of_query(self, weights: ArrayLike) -> float:
        """Return the variance of a weighted sum of the cells.

        >>> round(TreeVariances.of((4,), [(2,)], [1.0, 1.0]).of_query([1, 1, 0, 0]), 6)
        0.666667
        """
        mass = np.array(weights, dtype=np.float64)
        if mass.shape != self.own[0].shape:
            raise InvalidParameter("weights", f"an array of shape {mass.shape}", f"of shape {self.own[0].shape}")
        variance = 0.0
        for level, (own, below) in enumerate(zip(self.own, self.below, strict=True)):
            if level:
                mass = block_sums(mass * self.own[level - 1], self.branchings[level - 1]) / below
            variance += float(((own - below) * mass**2).sum())
        return max(variance, 0.0)

    def of_range(self, start: int, stop: int) -> float:
        """Return the variance of the sum of the cells from ``start`` to ``stop`` - 1, on one dimension.

        Only the nodes at the two ends are looked at: a subtree that lies inside counts with its own variance.
        """
        if len(self.own[0].shape) != 1 or not 0 <= start <= stop <= self.own[0].size:
            raise InvalidParameter("range", (start, stop), f"within the {self.own[0].shape} cells of one dimension")
        top = len(self.own) - 1
        total = 0.0
        for node in range(self.own[top].size):
            total += self._in_range(top, node, start, stop)[0]
        return total

    def _in_range(self, level: int, node: int, start: int, stop: int) -> tuple[float, float]:
        """Return a node's subtree's contribution to the variance of a range, and its mass inside the range."""
        width = int(np.prod([branching[0] for branching in self.branchings[:level]], dtype=np.int64))
        first, last = node * width, min((node + 1) * width, self.own[0].size)
        if stop <= first or last <= start:
            return 0.0, 0.0
        own, below = float(self.own[level][node]), float(self.below[level][node])
        if start <= first and last <= stop:
            return own, 1.0
        variance, mass, fan = 0.0, 0.0, self.branchings[level - 1][0]
        for child in range(node * fan, min((node + 1) * fan, self.own[level - 1].size)):
            added, inside = self._in_range(level - 1, child, start, stop)
            variance += added
            mass += inside * float(self.own[level - 1][child]) / below
        return variance + (own - below) * mass**2, mass


@dataclass(frozen=True)
class TreeFit:
    """The least-squares estimates of all nodes, cells first, and their variances."""

    levels: tuple[Floats, ...]
    variances: TreeVariances

    @property
    def cells(self) -> Floats:
        """The estimates of the cells."""
        return self.levels[0]


def fit_tree(
    noisy: Sequence[ArrayLike | None], variances: Sequence[ArrayLike | None], branchings: Sequence[Branching]
) -> TreeFit:
    """Return the consistent counts nearest to noisy ones in weighted least squares.

    Args:
        noisy: the released nodes of each level, cells first; None for a level that was not released.
        variances: the variance of the nodes of each level, one for all or one for each; None as above.
        branchings: for each level but the last, how many of its nodes along each axis make up one of the next.

    >>> fit = fit_tree([[1.0, 2.0, 3.0, 4.0], [6.0, 7.0]], [1.0, 1.0], [(2,)])
    >>> fit.cells.tolist(), fit.levels[1].tolist()
    ([2.0, 3.0, 3.0, 4.0], [5.0, 7.0])

    """
    if len(noisy) != len(variances) or any((a is None) != (b is None) for a, b in zip(noisy, variances, strict=True)):
        raise InvalidParameter("variances", len(variances), "one for each released level")
    if not noisy or noisy[0] is None:
        raise InvalidParameter("noisy", "nothing on the first level", "the cells, at least")
    upwards = [np.asarray(noisy[0], dtype=np.float64)]
    known = TreeVariances.of(upwards[0].shape, branchings, variances)
    children: list[Floats] = []
    for level, branching in enumerate(known.branchings, start=1):
        sums, given = block_sums(upwards[-1], branching), noisy[level]
        children.append(sums)
        if given is None:
            upwards.append(sums)
            continue
        released = np.asarray(given, dtype=np.float64)
        if released.shape != sums.shape:
            raise InvalidParameter("noisy", f"a level of shape {released.shape}", f"of shape {sums.shape}")
        # The node's own number weighs as much as its variance leaves to it beside that of its children.
        trust = 1 - known.own[level] / known.below[level]
        upwards.append(sums + (released - sums) * trust)
    best = [upwards[-1]]
    for level in range(len(upwards) - 2, -1, -1):
        branching, shape = known.branchings[level], upwards[level].shape
        missing = (best[-1] - children[level]) / known.below[level + 1]
        best.append(upwards[level] + known.own[level] * spread(missing, branching, shape))
    return TreeFit(tuple(reversed(best)), known)


def fit_groups(
    parents: ArrayLike,
    parent_variance: ArrayLike,
    children: ArrayLike,
    child_variance: ArrayLike,
    groups: ArrayLike,
) -> tuple[Floats, Floats]:
    """Return consistent children and parents on two levels, for any grouping of children: grid consistency.

    Args:
        parents: the released sum of each group.
        parent_variance: their variance, one for all or one for each.
        children: the released children, as a vector.
        child_variance: their variance, one for all or one for each.
        groups: the number of the group of each child.

    >>> best, sums = fit_groups([6.0, 7.0], 1.0, [1.0, 2.0, 7.0], 1.0, [0, 0, 1])
    >>> best.tolist(), sums.tolist()
    ([2.0, 3.0, 7.0], [5.0, 7.0])

    """
    above, below = np.asarray(parents, dtype=np.float64), np.asarray(children, dtype=np.float64)
    where = np.asarray(groups)
    if where.shape != below.shape or where.dtype.kind not in "iu" or below.ndim != 1 or above.ndim != 1:
        raise InvalidParameter("groups", f"an array of shape {where.shape}", "the number of a parent for each child")
    if where.size and not (where.min() >= 0 and where.max() < above.size):
        raise InvalidParameter("groups", "numbers out of range", f"below {above.size}, the number of parents")
    own = _spread_variance(child_variance, below.shape)
    total = np.bincount(where, weights=own, minlength=above.size)
    sums = np.bincount(where, weights=below, minlength=above.size)
    trust = total / (total + _spread_variance(parent_variance, above.shape))
    best = sums + trust * (above - sums)
    return below + own * ((best - sums) / np.where(total > 0, total, 1.0))[where], best


def range_overlaps(cells: int, width: int) -> float:
    """Return the sum over all ranges and all blocks of ``width`` cells of (cells of the block in the range)^2.

    >>> range_overlaps(3, 2)  # [0], [1], [2], [0, 1], [1, 2], [0, 1, 2] on blocks {0, 1} and {2}
    14.0
    """
    blocks, rest = divmod(cells, width)
    found = _overlaps(cells, width, blocks, 0)
    return float(found + (_overlaps(cells, rest, 1, blocks * width) if rest else 0))


def _overlaps(cells: int, width: int, blocks: int, first: int) -> int:
    """Return that sum for adjacent blocks from ``first`` on, as an integer."""
    # Blocks inside a range: (start + 1) ranges begin by their start, (cells - start - width + 1) end by their end.
    ahead, beyond = first + 1, cells - first - width + 1
    numbers, squares = blocks * (blocks - 1) // 2, (blocks - 1) * blocks * (2 * blocks - 1) // 6
    covered = blocks * ahead * beyond + width * (beyond - ahead) * numbers - width * width * squares
    one_end = (cells - width + 2) * _squares(width - 1)
    # Ranges inside a block that touch neither of its ends: (width - 1 - o) of them overlap in o cells.
    inside = (width - 1) * _squares(width - 2) - ((width - 2) * (width - 1) // 2) ** 2 if width > 2 else 0
    return covered * width * width + blocks * (one_end + inside)


def mean_range_variance(cells: int, branching: int, variances: Sequence[float]) -> float:
    """Return the mean variance over all ranges of a fitted tree without a root, with equal nodes on each level.

    Exact where ``branching ** (levels - 1)`` divides ``cells``; otherwise the last blocks are treated as whole ones.
    The space of all vectors falls into those that are constant on blocks of one level and add up to 0 on blocks of the
    next, on which the precision matrix is the number sum_{i <= l} branching^i / variance_i.
    """
    return float(range_coefficients(cells, branching, len(variances)) @ (1 / _precisions(branching, variances)))


def range_coefficients(cells: int, branching: int, levels: int) -> Floats:
    """Return, for each level, the share of a range that lies in its space, squared and averaged over all ranges."""
    widths = [branching**level for level in range(levels)]
    projected = np.array([range_overlaps(cells, width) / width for width in widths]) / (cells * (cells + 1) / 2)
    found: Floats = np.maximum(projected - np.append(projected[1:], 0.0), 0.0)
    return found


def _precisions(branching: int, variances: Sequence[float]) -> Floats:
    widths = float(branching) ** np.arange(len(variances))
    return np.cumsum(widths / np.asarray(variances, dtype=np.float64))


def _squares(most: int) -> int:
    return most * (most + 1) * (2 * most + 1) // 6


def _spread_variance(variance: ArrayLike, shape: tuple[int, ...]) -> Floats:
    array = np.asarray(variance, dtype=np.float64)
    if not (np.isfinite(array).all() and (array > 0).all() and array.shape in ((), shape)):
        raise InvalidParameter("variances", f"an array of shape {array.shape}", "one number above 0, or one for each")
    return np.broadcast_to(array, shape).copy()

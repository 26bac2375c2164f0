"""A tree of moments: points are divided repeatedly along the direction in which their noisy moments are widest.

All nodes of a level are measured in one draw: number, sum and second moments of their points, each about the node's own
public centre and within its own public radius, so that noise shrinks with the nodes. Hyperplanes, centres and radii of
the next level follow from what was drawn. The leaves are a private coreset: weighted points with a spread. Everything
that is added up is an integer, and which node a point is in depends on that point and on released numbers alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dither.learn.cell_noise import Moves, deviation, noisy_cells, of_shape
from dither.learn.clusters.points import LENGTH
from dither.learn.clusters.where import ball_radius
from dither.learn.rows import CACHED_ROWS, STEPS, Floats, blocks, squared_lengths
from dither.mechanisms.core.purse import CountNoise, Purse
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian

#: What a point adds to the count of its node.
COUNTED: Final = LENGTH // 2
#: Second moments are those of coarser points, of at most this length.
COARSE: Final = 2**7
#: Up to these numbers of columns and of entries a draw, all pairs of columns are measured; else columns alone.
_MOST_PAIRED: Final = 64
_MOST_NUMBERS: Final = 2**22
#: Points farther from the centre of their node than this many spreads are shortened.
NEAR: Final = 1.5
#: A node whose count is below this number of standard deviations of its noise is not divided.
_DIVIDED: Final = 4.0
#: A node below this number of standard deviations seems empty; estimates divide by at least this number.
_HELD: Final = 1.0
_AT_LEAST: Final = 2.0
#: Where the halves of a divided node lie, in spreads along the normal: that of half a Gaussian.
_HALF: Final = 0.8
#: No spread is assumed to be below this share of the radius, squared.
_LEAST_SPREAD: Final = 0.05
#: Points lie beyond the ball of their node when their mean squared length is above this; it is then moved and widened.
_BEYOND: Final = 0.85
_WIDER: Final = 3.0
_FINE: Final = 2**12
#: How fast the share of the loss grows from level to level, as an exponent of two.
_GROWTH: Final = 0.5


@dataclass(frozen=True)
class Leaves:
    """A private coreset: released numbers, in steps.

    Args:
        places: where the points of each leaf lie in the mean.
        weights: their approximate number; 0 where there seem to be none.
        spreads: their approximate squared distance from it.

    """

    places: Floats
    weights: Floats
    spreads: Floats


@dataclass
class _Nodes:
    """The nodes of a level: public centres and radii, and averages of all noisy draws of a node so far.

    The precision is that of one number of these means: one over its variance.
    """

    centres: Floats
    radii: Floats
    counts: Floats
    sums: Floats
    seconds: Floats
    precisions: Floats


def is_paired(columns: int, depth: int, part: CountNoise) -> bool:
    """Whether all pairs of columns are measured: with Gaussian noise, where there are few enough columns."""
    numbers = columns * (columns + 3) // 2 * 2 ** (depth - 1)
    return isinstance(part, DiscreteGaussian) and columns <= _MOST_PAIRED and numbers <= _MOST_NUMBERS


def level_moves(columns: int) -> Moves:
    """Return how far one point moves the draw of a level.

    Its sum is at most ``LENGTH`` in L2, its second moments ``COARSE`` squared; those of columns alone are at most as
    much in L1.
    """
    square = LENGTH**2
    return Moves(math.isqrt(columns * square) + COUNTED + COARSE**2, square + COUNTED**2 + COARSE**4)


def level_shape(columns: int, level: int, *, paired: bool) -> tuple[int, int]:
    """Return the shape of the numbers that a level draws: for each node a count, a sum, and second moments."""
    return 2**level, 1 + columns + (columns * (columns + 1) // 2 if paired else columns)


def grow(run: Runner, levels: tuple[CountNoise, ...], steps: Floats, *, touched: int) -> Leaves:
    """Return the leaves of the tree of points on the grid.

    Args:
        run: makes one draw for each level.
        levels: the noise of one number of each level; all of one kind.
        steps: private points, integers of at most STEPS.
        touched: the number of rows that one unit touches.

    """
    columns = steps.shape[1]
    paired = is_paired(columns, len(levels), levels[0])
    moves, owner = level_moves(columns), np.zeros(len(steps), dtype=np.int64)
    nodes = _fresh(np.zeros((1, columns)), np.array([float(ball_radius(columns))]), paired=paired)
    for level, part in enumerate(levels):
        shape = level_shape(columns, level, paired=paired)
        given = np.zeros(shape, dtype=np.int64)
        given[: len(nodes.radii)] = _measured(steps, owner, nodes, paired=paired)
        seen = noisy_cells(run, part, given, moves.stability(part, touched))
        _learn(nodes, seen[: len(nodes.radii)], deviation(part))
        if level + 1 < len(levels):
            nodes, owner = _divided(nodes, steps, owner)
    return _leaves(nodes)


def level_uses(columns: int, levels: tuple[CountNoise, ...], touched: int) -> Iterator[tuple[CountNoise, Fraction]]:
    """Return what ``grow`` draws, and how far one unit moves it."""
    paired, moves = is_paired(columns, len(levels), levels[0]), level_moves(columns)
    for level, part in enumerate(levels):
        shape = level_shape(columns, level, paired=paired)
        yield of_shape(part, shape), moves.stability(part, touched)


def noise_of_levels(purse: Purse, columns: int, depth: int, touched: int) -> tuple[CountNoise, ...]:
    """Return the noise of each level for a loss: deeper levels, whose nodes hold fewer points, get more of the loss."""
    weights = [Fraction(2**30, round(2 ** (30 - _GROWTH * level))) for level in range(depth)]
    return tuple(level_moves(columns).noise(purse.share(weight / sum(weights)), touched) for weight in weights)


def into_balls(whole: Floats, radii: Floats) -> Floats:
    """Shorten each row of integers to its own whole radius, scale it by LENGTH / radius, and cut off.

    The exact length of what is returned is at most ``LENGTH``, as for ``into_ball``: rounding makes a row longer by a
    factor of less than 1 + 2^-50, and its squared length, an integer, is then still below LENGTH^2 + 1.
    """
    factors = LENGTH / np.maximum(np.sqrt(squared_lengths(whole)), radii)
    scaled = whole * factors[:, None]
    return np.trunc(scaled, out=scaled)


def sums_by(owner: NDArray[np.int64], count: int, values: Floats) -> Floats:
    """Return the sums of rows of integers by their owner; exact below 2^53."""
    return np.stack([np.bincount(owner, weights=column, minlength=count) for column in values.T], axis=1)


def _fresh(centres: Floats, radii: Floats, *, paired: bool) -> _Nodes:
    """Return nodes without any draws yet."""
    count, columns = centres.shape
    seconds = np.zeros((count, columns, columns) if paired else (count, columns))
    return _Nodes(centres, radii, np.zeros(count), np.zeros((count, columns)), seconds, np.zeros(count))


def _measured(steps: Floats, owner: NDArray[np.int64], nodes: _Nodes, *, paired: bool) -> NDArray[np.int64]:
    """Return count, sum and second moments of the points of each node, in exact integers."""
    count, columns = nodes.centres.shape
    shape = level_shape(columns, 0, paired=paired)
    total = np.zeros((count, shape[1]), dtype=np.int64)
    upper = np.triu_indices(columns)
    for block in blocks(len(steps), CACHED_ROWS):
        inside = owner[block]
        order = np.argsort(inside, kind="stable")
        inside = inside[order]
        short = into_balls(steps[block][order] - nodes.centres[inside], nodes.radii[inside])
        coarse = np.trunc(short * (COARSE / LENGTH))
        edges = np.searchsorted(inside, np.arange(count + 1))
        sizes = np.diff(edges)
        held = np.flatnonzero(sizes)
        total[:, 0] += COUNTED * sizes
        # Sums of integers below 2^53 are exact in any order.
        total[held, 1 : 1 + columns] += np.add.reduceat(short, edges[held], axis=0).astype(np.int64)
        if not paired:
            total[held, 1 + columns :] += np.add.reduceat(coarse * coarse, edges[held], axis=0).astype(np.int64)
            continue
        for node in held:
            rows = coarse[edges[node] : edges[node + 1]]
            total[node, 1 + columns :] += (rows.T @ rows)[upper].astype(np.int64)
    return total


def _learn(nodes: _Nodes, seen: Floats, noise: float) -> None:
    """Update the averages of nodes with a draw: counts in points, sums in radii, seconds in squared radii."""
    columns = nodes.centres.shape[1]
    counts, sums, rest = seen[:, 0] / COUNTED, seen[:, 1 : 1 + columns] / LENGTH, seen[:, 1 + columns :] / COARSE**2
    seconds = rest
    if nodes.seconds.ndim == 3:
        upper = np.triu_indices(columns)
        seconds = np.zeros_like(nodes.seconds)
        seconds[:, upper[0], upper[1]] = rest
        seconds[:, upper[1], upper[0]] = rest
    nodes.precisions += noise**-2
    share = noise**-2 / nodes.precisions
    for old, new in ((nodes.counts, counts), (nodes.sums, sums), (nodes.seconds, seconds)):
        old += (new - old) * share.reshape(-1, *[1] * (old.ndim - 1))


@dataclass(frozen=True)
class _Shapes:
    """Shapes of nodes, in steps: where their points lie, how widely, and along which direction most widely."""

    noise: Floats
    means: Floats
    spreads: Floats
    widest: Floats
    directions: Floats
    is_beyond: NDArray[np.bool_]


def _shapes(nodes: _Nodes) -> _Shapes:
    """Return the shapes of nodes, from released numbers alone."""
    columns = nodes.centres.shape[1]
    off = 1 / (LENGTH * np.sqrt(nodes.precisions))
    held = np.maximum(nodes.counts, _AT_LEAST * off * (LENGTH / COUNTED) + 1)
    means = nodes.sums / held[:, None]
    # A mean is shrunk to the centre of its node by the share of noise in its length (James and Stein 1961).
    square = np.maximum((means * means).sum(axis=1), 1e-300)
    means = means * np.maximum(0.0, 1 - columns * (off / held) ** 2 / square)[:, None]
    if nodes.seconds.ndim == 3:
        covariances = nodes.seconds / held[:, None, None] - means[:, :, None] * means[:, None, :]
        values, vectors = np.linalg.eigh(covariances)
        total, widest, directions = np.trace(covariances, axis1=1, axis2=2), values[:, -1], vectors[:, :, -1]
    else:
        variances = nodes.seconds / held[:, None] - means * means
        total, widest, directions = variances.sum(axis=1), variances.max(axis=1), np.zeros_like(means)
        directions[np.arange(len(means)), variances.argmax(axis=1)] = 1.0
    # Points that nearly all lie on the edge of the ball of their node lie beyond it.
    beyond = total + (means * means).sum(axis=1) - 2 * math.sqrt(columns) * off / held > _BEYOND
    total = np.clip(total, _LEAST_SPREAD, 1.0)
    widest, radii = np.clip(widest, total / columns, total), nodes.radii
    return _Shapes(
        off * (LENGTH / COUNTED),
        np.clip(nodes.centres + means * radii[:, None], -STEPS, STEPS),
        total * radii**2,
        widest * radii**2,
        directions,
        beyond,
    )


def _divided(nodes: _Nodes, steps: Floats, owner: NDArray[np.int64]) -> tuple[_Nodes, NDArray[np.int64]]:
    """Divide every node that seems to hold enough points by a hyperplane through their noisy mean."""
    seen = _shapes(nodes)
    enough = nodes.counts > _DIVIDED * seen.noise + 2
    chosen = np.flatnonzero(enough & ~seen.is_beyond)
    _widen(nodes, seen, np.flatnonzero(enough & seen.is_beyond))
    count, columns = nodes.centres.shape
    # Integers, so that on which side a point lies is decided exactly; zero where a node stays as it is.
    normals, offsets = np.zeros((count, columns)), np.zeros(count)
    normals[chosen] = np.rint(seen.directions[chosen] * _FINE)
    offsets[chosen] = np.rint((normals[chosen] * seen.means[chosen]).sum(axis=1))
    beyond = np.arange(count)
    beyond[chosen] = count + np.arange(len(chosen))
    after = owner.copy()
    for block in blocks(len(steps), CACHED_ROWS):
        inside = owner[block]
        right = np.add.reduce(steps[block] * normals[inside], axis=1) > offsets[inside]
        after[block] = np.where(right, beyond[inside], inside)
    apart = _HALF * np.sqrt(seen.widest[chosen])
    radii = NEAR * np.sqrt(np.maximum(seen.spreads[chosen] - apart**2, 0.1 * seen.spreads[chosen]))
    radii = np.maximum(np.rint(np.minimum(radii, nodes.radii[chosen])), 1.0)
    aside = apart[:, None] * seen.directions[chosen]
    paired = nodes.seconds.ndim == 3
    left = vars(_fresh(np.rint(seen.means[chosen] - aside), radii, paired=paired))
    other = vars(_fresh(np.rint(seen.means[chosen] + aside), radii, paired=paired))
    for name, kept in vars(nodes).items():
        kept[chosen] = left[name]
    return _Nodes(**{name: np.concatenate([kept, other[name]]) for name, kept in vars(nodes).items()}), after


def _widen(nodes: _Nodes, seen: _Shapes, chosen: NDArray[np.int64]) -> None:
    """Move and widen the nodes whose points lie beyond their balls; their earlier draws are discarded."""
    aside = seen.means[chosen] - nodes.centres[chosen]
    centres = np.clip(np.rint(nodes.centres[chosen] + _WIDER / 2 * aside), -STEPS, STEPS)
    radii = np.minimum(_WIDER * nodes.radii[chosen], ball_radius(nodes.centres.shape[1]))
    fresh = vars(_fresh(centres, radii, paired=nodes.seconds.ndim == 3))
    for name, kept in vars(nodes).items():
        kept[chosen] = fresh[name]


def _leaves(nodes: _Nodes) -> Leaves:
    """Return the nodes as weighted points."""
    seen = _shapes(nodes)
    weights = np.where(nodes.counts > _HELD * seen.noise, nodes.counts, 0.0)
    return Leaves(seen.means, np.maximum(weights, 0.0), seen.spreads)

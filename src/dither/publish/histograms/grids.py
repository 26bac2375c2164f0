"""Uniform and adaptive grids: counts on a plane in blocks whose number follows from a noisy total.

For points on a map and other two-dimensional counts. Cost: a few passes over the cells. Corrections: the number of
points, on which the size of the grid rests, is drawn with noise and paid for, where the printed methods read it off the
data; the cells are public, and a grid is never finer than they are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.estimate.trees import fit_groups
from dither.exact import Number, Of, Shape, probability
from dither.mechanisms.core.accuracy import share_of_failure
from dither.mechanisms.core.mechanism import Composed, Interval, Numerics
from dither.mechanisms.core.purse import one_number
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.geometric import Geometric
from dither.privacy import L1, InOrder, Loss, Metric, Plan, Use
from dither.publish.histograms.buckets import interval_of_buckets, interval_within
from dither.publish.histograms.common import (
    Counts,
    check_cells,
    counts_of,
    measured,
    neighbours,
    variance_of,
    with_largest_epsilon,
)

#: The constants of the source: how many points a block is to hold per unit of 1 / epsilon.
_POINTS_A_BLOCK = 10
_POINTS_A_SMALL_BLOCK = 5
_LEAST_SIDE = 10


def _examples() -> Iterator[Example]:
    grid = UniformGrid(shape=(2, 2), total=Geometric(scale=4), node=Geometric(scale=2))
    yield Example(grid, np.array([[9, 0], [30, 1]]), neighbours((2, 2)))


def _adaptive_examples() -> Iterator[Example]:
    nodes = {"total": Geometric(scale=4), "coarse": Geometric(scale=4), "fine": Geometric(scale=2)}
    yield Example(AdaptiveGrid(shape=(2, 3), **nodes), np.array([[9, 0, 1], [30, 1, 0]]), neighbours((2, 3)))


@dataclass(frozen=True, kw_only=True)
class _Plane:
    """Shared by both grids: a plane of cells, and a noisy total."""

    no_error_because: ClassVar[str] = "counts inside a block have an error that depends on the data"

    shape: Shape = Shape()
    total: Of[Geometric] = Of(Geometric, **one_number(Geometric))

    def __post_init__(self) -> None:
        check_cells(self.shape)
        if len(self.shape) != 2:
            raise InvalidParameter("shape", self.shape, "the cells along two axes")

    @property
    def distance(self) -> Metric:
        """L1 on the counts."""
        return L1

    @property
    def cells(self) -> tuple[int]:
        """The number of cells."""
        return (math.prod(self.shape),)

    def _counts(self, data: Any) -> Counts:
        return counts_of(data, self.shape)

    def _blocks(self, side: float) -> NDArray[np.int64]:
        """Return each cell's block number, with about ``side`` blocks along each axis."""
        rows, columns = (min(size, max(1, math.ceil(side))) for size in self.shape)
        down, across = (
            np.arange(size) * blocks // size for size, blocks in zip(self.shape, (rows, columns), strict=True)
        )
        return down[:, None] * columns + across[None, :]


@register(
    examples=_examples,
    source="Differentially Private Grids for Geospatial Data (Qardaji, Yang, Li 2013), section 4; Differential Privacy "
    "and Applications (Zhu et al. 2017), section 13.2",
)
@dataclass(frozen=True, kw_only=True)
class UniformGrid(_Plane, Composed[Any, NDArray[np.float64]]):
    """Release noisy counts of sqrt(total * epsilon / 10) blocks along each axis of a plane, and spread them evenly.

    Guarantee: counts ``d_in`` apart in L1 lose what ``total`` and ``node`` lose at ``d_in``, added up.

    Args:
        shape: the cells along both axes; public.
        total: the noise of the number of points, from which the number of blocks follows.
        node: the noise of the count of a block.

    >>> UniformGrid(shape=(64, 64), total=Geometric(scale=20), node=Geometric(scale=1)).loss(1).epsilon
    Fraction(21, 20)

    """

    name: ClassVar[str] = "uniform-grid"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    node: Of[Geometric] = Of(Geometric, **one_number(Geometric))

    @classmethod
    def calibrated(cls, within: Loss, *, shape: tuple[int, int]) -> Self:
        """Return the method whose loss for counts 1 apart is within ``within``; the total gets a twentieth of it."""
        return with_largest_epsilon(
            within,
            lambda epsilon: cls(
                shape=shape, total=Geometric(scale=20 / epsilon), node=Geometric(scale=Fraction(20, 19) / epsilon)
            ),
        )

    def plan(self) -> Plan:
        """Draw the total, then one block per cell."""
        return InOrder.of(Use(self.total), Use(replace(self.node, shape=self.cells)))

    def interval(self, out: Any, confidence: Number) -> Interval:
        """Return intervals of all cells at once, for non-negative counts; see ``buckets``."""
        return interval_of_buckets(out, confidence, self.node, draws=self.cells[0])

    def release(self, data: Any, run: Runner) -> NDArray[np.float64]:
        """Return, for every cell, its block's noisy count divided by the number of cells in the block."""
        counts = self._counts(data)
        points = max(0, run(self.total, int(counts.sum())))
        labels = self._blocks(math.sqrt(points / float(self.node.scale) / _POINTS_A_BLOCK))
        sums, sizes = measured(run, self.node, counts, labels)
        return (sums / sizes)[labels]


@register(
    examples=_adaptive_examples,
    source="Differentially Private Grids for Geospatial Data (Qardaji, Yang, Li 2013), section 4.2",
)
@dataclass(frozen=True, kw_only=True)
class AdaptiveGrid(_Plane, Composed[Any, NDArray[np.float64]]):
    """Release a coarse grid, divide each block more finely the more points it seems to hold, and fit both levels.

    Guarantee: counts ``d_in`` apart in L1 lose what ``total``, ``coarse`` and ``fine`` lose at ``d_in``, added up.

    Args:
        shape: the cells along both axes; public.
        total: the noise of the number of points, from which the coarse grid follows.
        coarse: the noise of the count of a coarse block, from which its division follows.
        fine: the noise of the count of a fine block.

    >>> nodes = {"total": Geometric(scale=20), "coarse": Geometric(scale=2), "fine": Geometric(scale=2)}
    >>> AdaptiveGrid(shape=(64, 64), **nodes).loss(1).epsilon
    Fraction(21, 20)

    """

    name: ClassVar[str] = "adaptive-grid"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    coarse: Of[Geometric] = Of(Geometric, **one_number(Geometric))
    fine: Of[Geometric] = Of(Geometric, **one_number(Geometric))

    @classmethod
    def calibrated(cls, within: Loss, *, shape: tuple[int, int]) -> Self:
        """Return the method within ``within`` for counts 1 apart: a twentieth for the total, the rest in halves."""

        def built(epsilon: Fraction, kind: type[Self] = cls) -> Self:
            level = Geometric(scale=Fraction(40, 19) / epsilon)
            return kind(shape=shape, total=Geometric(scale=20 / epsilon), coarse=level, fine=level)

        return with_largest_epsilon(within, built)

    def plan(self) -> Plan:
        """Draw the total, then two blocks per cell."""
        return InOrder.of(
            Use(self.total), Use(replace(self.coarse, shape=self.cells)), Use(replace(self.fine, shape=self.cells))
        )

    def interval(self, out: Any, confidence: Number) -> Interval:
        """Return intervals of all cells at once, for non-negative counts; see ``buckets``."""
        wanted = probability("confidence", confidence, open_below=True)
        failure = share_of_failure(wanted, 2 * self.cells[0])
        # A fine block is moved by at most an m-th of the coarse count less the sum of its m fine ones.
        reach = 2 * float(self.fine.reach(failure)) + float(self.coarse.reach(failure))
        return interval_within(out, wanted, lambda _: reach)

    def release(self, data: Any, run: Runner) -> NDArray[np.float64]:
        """Return, for every cell, its fine block's fitted count divided by the number of cells in the block."""
        counts = self._counts(data)
        points = max(0, run(self.total, int(counts.sum())))
        epsilon = float(1 / self.coarse.scale + 1 / self.fine.scale)
        side = max(_LEAST_SIDE, math.sqrt(points * epsilon / _POINTS_A_BLOCK) / 4)
        blocks = self._blocks(side)
        above, _ = measured(run, self.coarse, counts, blocks)
        finer = np.sqrt(np.maximum(above, 0) / float(self.fine.scale) / _POINTS_A_SMALL_BLOCK)
        # No block is divided more finely than the plane.
        labels, parents = self._divided(blocks, np.clip(np.ceil(finer), 1, max(blocks.shape)).astype(np.int64))
        below, sizes = measured(run, self.fine, counts, labels)
        fitted, _ = fit_groups(above, variance_of(self.coarse), below, variance_of(self.fine), parents)
        return np.asarray((fitted / sizes)[labels], dtype=np.float64)

    def _divided(self, blocks: NDArray[np.int64], sides: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return each cell's fine block number, and each fine block's coarse block."""
        rows = _place_in_run(blocks[:, 0])
        columns = _place_in_run(blocks[0, :])
        side = sides[blocks]
        down, across = (
            np.minimum(side, length) * place // length
            for place, length in ((rows[0][:, None], rows[1][:, None]), (columns[0][None, :], columns[1][None, :]))
        )
        keys = (blocks * (int(side.max()) + 1) + down) * (int(side.max()) + 1) + across
        _, first, labels = np.unique(keys.ravel(), return_index=True, return_inverse=True)
        return labels.reshape(self.shape), blocks.ravel()[first]


def _place_in_run(labels: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return each entry's position in its run of equal labels, and the length of the run."""
    starts = np.flatnonzero(np.concatenate([[True], labels[1:] != labels[:-1]]))
    lengths = np.diff(np.append(starts, labels.size))
    return np.arange(labels.size) - np.repeat(starts, lengths), np.repeat(lengths, lengths)

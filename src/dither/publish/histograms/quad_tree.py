"""The quad-tree: noisy counts of squares of doubling size on a plane, made consistent by least squares.

For rectangle queries on two-dimensional counts, whatever the data: it is the same tree for all. Cost: linear in the
cells. Corrections: shares grow by 2^(1/3) from level to level towards the cells as published, but there is no level for
the total, every level is paid for, and the fit uses the variances that the shares imply.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.estimate.trees import TreeVariances, block_sums, fit_tree, level_shapes, spread
from dither.exact import Number, Shape, Whole, probability
from dither.mechanisms.core.accuracy import share_of_failure
from dither.mechanisms.core.mechanism import Bound, Composed, Interval, Numerics
from dither.mechanisms.core.purse import CountNoise, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.geometric import Geometric
from dither.privacy import L1, InOrder, Loss, Metric, Plan, Use
from dither.publish.histograms.buckets import interval_within
from dither.publish.histograms.common import (
    LevelNoise,
    check_cells,
    combination_reach,
    counts_of,
    neighbours,
    variance_of,
    whole_shares,
)

_MOST_LEVELS = 10


def _examples() -> Iterator[Example]:
    tree = QuadTree(shape=(2, 3), levels=(Geometric(scale=2), Geometric(scale=1)))
    yield Example(tree, np.array([[9, 0, 1], [30, 1, 0]]), neighbours((2, 3)))
    wide = QuadTree(shape=(4, 4), leaf=2, levels=(Geometric(scale=1),))
    yield Example(wide, np.arange(16).reshape(4, 4), neighbours((4, 4)))


@register(
    examples=_examples,
    source="Differentially Private Spatial Decompositions (Cormode et al. 2012), sections 4 and 5; Differential "
    "Privacy and Applications (Zhu et al. 2017), section 12.2",
)
@dataclass(frozen=True, kw_only=True)
class QuadTree(Composed[Any, NDArray[np.float64]]):
    """Release the counts of a plane by least squares on noisy counts of squares of 1, 2, 4, ... leaves a side.

    Guarantee: counts ``d_in`` apart in L1 lose the sum of what the levels lose at ``d_in``.

    Args:
        shape: the cells along both axes; public.
        levels: the noise of one square on each level, the smallest first.
        leaf: how many cells the smallest square has along each axis; inside it counts are spread evenly.

    >>> QuadTree(shape=(8, 8), levels=(Geometric(scale=2), Geometric(scale=4))).loss(1).epsilon
    Fraction(3, 4)

    """

    name: ClassVar[str] = "quad-tree"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "counts inside a leaf of several cells have an error that depends on the data"

    shape: Shape = Shape()
    levels: LevelNoise = LevelNoise()
    leaf: Whole = Whole(1, least=1, most=2**12)

    def __post_init__(self) -> None:
        check_cells(self.shape)
        if len(self.shape) != 2:
            raise InvalidParameter("shape", self.shape, "the cells along two axes")
        if len(self.levels) > 1 and self.leaf * 2 ** (len(self.levels) - 2) >= max(self.shape):
            raise InvalidParameter("levels", len(self.levels), f"levels that differ, on {self.shape} cells")

    @classmethod
    def calibrated(cls, within: Loss, *, shape: tuple[int, int], leaf: int = 1, levels: int | None = None) -> Self:
        """Return the tree whose loss for counts 1 apart is within ``within``: at most four squares on top, ten levels.

        Args:
            within: the loss not to exceed; a pure one gives geometric noise, any other Gaussian noise.
            shape: the cells along both axes.
            leaf: how many cells the smallest square has along each axis.
            levels: how many sizes of squares there are; None for all.

        """
        across = -(-max(shape) // leaf)
        height = max(1, min(_MOST_LEVELS, (across - 1).bit_length())) if levels is None else levels
        shares = [2 ** ((height - level) / 3) for level in range(height)]
        purse = Purse.within(within)
        noise = tuple(purse.share(part).noise() for part in whole_shares(shares))
        return cls(shape=shape, leaf=leaf, levels=noise)

    @property
    def distance(self) -> Metric:
        """L1: a cell's square moves as far as the cell does."""
        return L1

    @property
    def _branchings(self) -> list[tuple[int, int]]:
        return [(2, 2)] * (len(self.levels) - 1)

    @property
    def parts(self) -> tuple[CountNoise, ...]:
        """The noise for all squares of each level."""
        sizes = level_shapes(self.shape, [(self.leaf, self.leaf), *self._branchings])[1:]
        return tuple(replace(node, shape=size) for node, size in zip(self.levels, sizes, strict=True))

    def plan(self) -> Plan:
        """One draw for each level."""
        return InOrder(tuple(Use(part) for part in self.parts))

    @cached_property
    def variances(self) -> TreeVariances:
        """The variances of the estimates of all squares, and of any query on leaves."""
        return TreeVariances.of(self.parts[0].draw_shape, self._branchings, [variance_of(node) for node in self.levels])

    def error(self, confidence: Number) -> Bound | None:
        """Return a bound on the error of every cell, if leaves are cells."""
        wanted, reach = self._reach(confidence)
        return None if self.leaf > 1 else Bound(reach, wanted, "the largest absolute error of any cell")

    def _reach(self, confidence: Number) -> tuple[Fraction, float]:
        """Return a bound on the error of every leaf."""
        wanted = probability("confidence", confidence, open_below=True)
        worst, leaves = float(self.variances.cells.max()), self.variances.cells.size
        return wanted, combination_reach(self.levels, worst, share_of_failure(wanted, leaves))

    def interval(self, out: Any, confidence: Number) -> Interval:
        """Return the error on both sides of every cell, all at once; for leaves of several cells see ``buckets``."""
        wanted, reach = self._reach(confidence)
        if self.leaf == 1:
            return Interval(out - reach, out + reach, wanted)
        widths = (self.leaf, self.leaf)
        sizes = spread(block_sums(np.ones(self.shape), widths), widths, self.shape).astype(np.int64)
        return interval_within(out, wanted, lambda _: reach, sizes=sizes)

    def release(self, data: Any, run: Runner) -> NDArray[np.float64]:
        """Return the least-squares estimates of the leaves, spread evenly over their cells."""
        widths = (self.leaf, self.leaf)
        squares, noisy = block_sums(counts_of(data, self.shape), widths), []
        for level, part in enumerate(self.parts):
            squares = block_sums(squares, (2, 2)) if level else squares
            noisy.append(np.asarray(run(part, squares), dtype=np.float64))
        fit = fit_tree(noisy, [variance_of(node) for node in self.levels], self._branchings)
        return spread(fit.cells / block_sums(np.ones(self.shape), widths), widths, self.shape)

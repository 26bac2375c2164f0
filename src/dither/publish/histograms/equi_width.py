"""The equi-width histogram: noisy counts of public blocks of cells, spread evenly inside each block.

For cells that are finer than needed: the noise of a block is that of one cell. Cost: one pass over the cells.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.estimate.trees import block_sums, level_shapes, spread
from dither.exact import Number, Shape
from dither.mechanisms.core.mechanism import Composed, Interval, Numerics
from dither.mechanisms.core.purse import CountNoise, OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.geometric import Geometric
from dither.privacy import L1, Loss, Metric, Plan, Use
from dither.publish.histograms.buckets import interval_of_buckets
from dither.publish.histograms.common import check_cells, counts_of, neighbours


def _examples() -> Iterator[Example]:
    blocks = EquiWidthHistogram(shape=3, widths=2, node=Geometric(scale=1))
    yield Example(blocks, np.array([4, 0, 7]), neighbours((3,)))


@register(
    examples=_examples,
    source="Differential Privacy and Applications (Zhu et al. 2017), section 4.2.2 (merge, then split)",
)
@dataclass(frozen=True, kw_only=True)
class EquiWidthHistogram(Composed[Any, NDArray[np.float64]]):
    """Release noisy counts of blocks of ``widths`` cells along each axis, spread evenly inside each block.

    Guarantee: counts ``d_in`` apart in L1 lose what ``node`` loses at ``d_in``.

    Args:
        shape: the cells along each axis; public.
        widths: how many cells along each axis make up a block; public. The last block of an axis may be smaller.
        node: the noise of one block.

    >>> EquiWidthHistogram(shape=(6, 4), widths=(3, 2), node=Geometric(scale=2)).blocks
    (2, 2)

    """

    name: ClassVar[str] = "equi-width-histogram"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "how uneven counts inside a block are depends on the data"

    shape: Shape = Shape()
    widths: Shape = Shape()
    node: OneCount = OneCount()

    def __post_init__(self) -> None:
        check_cells(self.shape)
        if len(self.widths) != len(self.shape):
            raise InvalidParameter("widths", self.widths, f"one for each of {len(self.shape)} axes")
        if any(width > length for width, length in zip(self.widths, self.shape, strict=True)):
            raise InvalidParameter("widths", self.widths, f"at most the cells of each axis, {self.shape}")

    @classmethod
    def calibrated(cls, within: Loss, *, shape: int | tuple[int, ...], widths: int | tuple[int, ...]) -> Self:
        """Return the least noise within ``within`` for counts 1 apart; a pure target gives geometric noise."""
        return cls(shape=shape, widths=widths, node=Purse.within(within).noise())

    @property
    def distance(self) -> Metric:
        """L1: the block of a cell moves as far as the cell does."""
        return L1

    @property
    def blocks(self) -> tuple[int, ...]:
        """The number of blocks along each axis."""
        return level_shapes(self.shape, [self.widths])[1]

    @property
    def part(self) -> CountNoise:
        """The noise for all blocks."""
        return replace(self.node, shape=self.blocks)

    def plan(self) -> Plan:
        """One draw."""
        return Use(self.part)

    def interval(self, out: Any, confidence: Number) -> Interval:
        """Return intervals of all cells at once, for non-negative counts; see ``buckets``."""
        blocks = block_sums(np.ones(self.shape, dtype=np.int64), self.widths)
        sizes = spread(blocks, self.widths, self.shape).astype(np.int64)
        return interval_of_buckets(out, confidence, self.node, draws=math.prod(self.blocks), sizes=sizes)

    def release(self, data: Any, run: Runner) -> NDArray[np.float64]:
        """Return, for every cell, its block's noisy count divided by the number of cells in the block."""
        noisy = run(self.part, block_sums(counts_of(data, self.shape), self.widths))
        means = np.asarray(noisy, dtype=np.float64) / block_sums(np.ones(self.shape), self.widths)
        return spread(means, self.widths, self.shape)

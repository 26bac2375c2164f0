"""Sample-and-aggregate k-means: plain k-means on disjoint blocks of the points, and a noisy mean of the centres found.

For comparison, and where k-means is a black box: nothing needs to be known of it but the range of its answers. Cost:
one k-means a block. Corrections: a point's block depends on its content and not on its place; centres are put into a
canonical order before they are averaged, which is not said in print, and a mean of centres in different orders is no
centre at all; an empty block answers nothing, and the number of the others is part of the draw, at no further loss.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Text, Whole
from dither.learn.cell_noise import Moves, noisy_cells, of_shape
from dither.learn.clusters.points import (
    MOST_CLUSTERS,
    ClustersModel,
    Frame,
    cluster_sums,
    from_steps,
    points_of,
    spread_starts,
)
from dither.learn.declared import DeclaredUnit
from dither.learn.rows import STEPS, BoundField, Floats
from dither.learn.trees.bins import public_numbers
from dither.learn.trees.random_forest import tree_of
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.purse import OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.privacy import ROW, ROW_REPLACED, Loss, Plan, Unit, Use
from dither.privacy.fields import RowUnit

_ROUNDS: Final = 20
_HALF: Final = STEPS // 2
USUAL_BLOCKS: Final = 32


def _examples() -> Iterator[Example]:
    rows = np.array([[0.5, 3.0], [9.0, 2.0], [float("nan"), 1.0], [0.1, 0.0]])
    others = ((rows, rows[1:], 1), (rows, np.vstack([rows, [4.0, -4.0]]), 1))
    public: dict[str, Any] = {"lower": [-1, 0], "upper": [1, 8], "clusters": 2, "blocks": 2}
    yield Example(BlockClusters(**public, part=Geometric(scale=2**14)), rows, others)
    yield Example(BlockClusters(**public, part=DiscreteGaussian(sigma=2**13), unit=ROW_REPLACED), rows)


@register(
    examples=_examples,
    source="GUPT: Privacy Preserving Data Analysis Made Easy (Mohan, Thakurta, Shi, Song, Culler 2012); Smooth "
    "Sensitivity and Sampling in Private Data Analysis (Nissim, Raskhodnikova, Smith 2007), section 5",
    reference=True,
)
@dataclass(frozen=True, kw_only=True)
class BlockClusters(DeclaredUnit, Composed[Any, ClustersModel]):
    """Find centres by k-means on disjoint blocks of the points, and release their noisy mean.

    Guarantee: data ``d_in`` rows apart loses what ``part`` loses at ``d_in`` times the whole range of one block's
    answer, 4096 steps for each number of each centre, in L1 or L2 (twice that for rows replaced). How many blocks hold
    points is drawn with it, and moves the draw no farther.

    Args:
        lower: public bounds of the columns; numbers beyond them are clipped.
        upper: public bounds of the columns.
        clusters: the number of centres.
        blocks: the number of blocks of points.
        part: the noise of one number of a centre, summed over blocks, in steps.
        public_seed: a public text that decides the division and the starts.
        unit: ROW or ROW_REPLACED.

    >>> from dither.privacy import PureDP
    >>> BlockClusters.calibrated(PureDP(1), lower=[0, 0], upper=[1, 10], clusters=3).part.scale
    Fraction(24576, 1)

    """

    name: ClassVar[str] = "block-clusters"
    version: ClassVar[int] = 2
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "how much the centres of blocks differ depends on the points"
    no_interval_because: ClassVar[str] = "the best centres may be far from those of the blocks"

    lower: BoundField = BoundField()
    upper: BoundField = BoundField()
    clusters: Whole = Whole(least=1, most=MOST_CLUSTERS)
    blocks: Whole = Whole(USUAL_BLOCKS, least=1, most=2**16)
    part: OneCount = OneCount()
    public_seed: Text = Text("")
    unit: RowUnit = RowUnit(ROW)

    def __post_init__(self) -> None:
        if self.frame.columns * self.clusters > 2**20:
            raise InvalidParameter("clusters", self.clusters, "so few that centres have at most 2^20 numbers")

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        lower: Any,
        upper: Any,
        clusters: int,
        blocks: int = USUAL_BLOCKS,
        public_seed: str = "",
        unit: Unit = ROW,
    ) -> Self:
        """Return the learner with the least noise whose loss for one unit is within ``within``."""
        columns = len(np.atleast_1d(np.asarray(lower)))
        touched = unit.touched if isinstance(unit, Unit) else 1
        part = _moves(clusters * columns).noise(Purse.within(within), touched)
        return cls(
            lower=lower, upper=upper, clusters=clusters, blocks=blocks, part=part, public_seed=public_seed, unit=unit
        )

    @cached_property
    def frame(self) -> Frame:
        """The bounds."""
        return Frame(self.lower, self.upper)

    @property
    def stability(self) -> Fraction:
        """How far one unit moves the sum over blocks."""
        return _moves(self.clusters * self.frame.columns).stability(self.part, self.unit.touched)

    @property
    def counted(self) -> int:
        """What a block that holds points adds to the count: as much as moves the draw no farther than an answer does.

        From no answer to one, each of the numbers moves by half of STEPS at most: in L1 the other half is left for the
        count, in L2 the root of three quarters of the squares.
        """
        numbers = self.clusters * self.frame.columns
        return numbers * _HALF if isinstance(self.part, Geometric) else math.isqrt(3 * numbers * _HALF**2)

    def plan(self) -> Plan:
        """Return one draw: the sum of all answers about the middle, and the count of blocks that hold points."""
        return Use(of_shape(self.part, (self.clusters * self.frame.columns + 1,)), self.stability)

    def release(self, data: Any, run: Runner) -> ClustersModel:
        """Return the noisy mean of the centres of all blocks that hold points."""
        # Integers from 0, the lower bound, to STEPS, the upper one.
        points = np.rint((self.frame.scaled(points_of(data, self.frame.columns)) + 1) / 2 * STEPS)
        block = tree_of(points.astype(np.int64), self.blocks, self.public_seed)
        total = np.zeros(self.clusters * self.frame.columns + 1, dtype=np.int64)
        for number in range(self.blocks):
            inside = points[block == number]
            if len(inside):
                total[:-1] += (self._centres(inside) - _HALF).ravel()
                total[-1] += self.counted
        seen = noisy_cells(run, self.part, total, self.stability)
        held = min(max(float(seen[-1]) / self.counted, 1.0), float(self.blocks))
        from_middle = seen[:-1].reshape(self.clusters, self.frame.columns) / held
        return from_steps(self.frame, 2 * from_middle, np.ones(self.clusters))

    def _centres(self, points: Floats) -> NDArray[np.int64]:
        """Return the centres of one block in canonical order: exact integers, independent of the order of points."""
        points = points[np.lexsort(points.T)]
        numbers = public_numbers(f"starts:{self.public_seed}", self.clusters).reshape(1, -1) / 2.0**32
        centres = next(spread_starts(points, np.ones(len(points)), self.clusters, numbers))
        for _ in range(_ROUNDS):
            sums = cluster_sums(points, centres, 1).astype(np.float64)
            held = sums[:, -1:]
            moved = np.where(held > 0, np.rint(sums[:, :-1] / np.maximum(held, 1.0)), centres)
            if np.array_equal(moved, centres):
                break
            centres = moved
        return centres[np.lexsort(centres.T[::-1])].astype(np.int64)


def _moves(numbers: int) -> Moves:
    """Return how far one point moves the sum over blocks: the whole range of one block's answer."""
    return Moves(numbers * STEPS, numbers * STEPS**2)

"""Regions and their centres: a plane divided where points are dense, with a noisy count and centre of each part.

As literature: where many people stop, at the precision of the parts. The plane is quartered as long as a lowered noisy
count calls for it, so that no part holds much more than others; then each part has its points counted and their places
within it added up, with noise. Cost: a pass over the cells a level. Corrections: the source quarters by exact counts
and divides by them; here the quarters are chosen privately (PrivTree), every part is measured once with noise, and the
centre is a quotient of released numbers, held inside its part.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.exact import Of
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.purse import one_number
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.geometric import Geometric
from dither.privacy import L1, InOrder, Loss, Metric, Plan, Use
from dither.publish.histograms.common import bucket_sums, counts_of, neighbours, with_largest_epsilon
from dither.publish.histograms.priv_tree import QuarteringTree, squares_of

Floats = NDArray[np.float64]
#: How far a place within its part may be, in steps along both axes together.
_STEPS: Final = 2**10
#: The largest count of a cell, so that sums of places over all cells stay below 2^60.
_LARGEST: Final = 2**26
# A little more than ln 4.
_LOG_4: Final = Fraction(1386294362, 10**9)


def _examples() -> Iterator[Example]:
    tree = QuarteringTree(side=2, scale=2, decay=3)
    made = RegionCentres(tree=tree, count=Geometric(scale=2), place=Geometric(scale=2 * _STEPS))
    yield Example(made, np.array([[9, 0], [1, 0]]), neighbours((2, 2)))


@register(
    examples=_examples,
    source="Differential Privacy for Location Pattern Mining (Ho, Ruan 2011); Differential Privacy and Applications "
    "(Zhu et al. 2017), section 12.2",
    reference=True,
    made_for={"side": 4},
)
@dataclass(frozen=True, kw_only=True)
class RegionCentres(Composed[Any, Floats]):
    """Divide a plane where points are dense, and release the count and the centre of every part.

    Guarantee: counts ``d_in`` apart in L1 lose what ``tree`` and ``count`` lose at ``d_in``, and ``place`` at
    ``2^10 d_in``, added up.

    Released is a row for each part: the row and column of its centre, in cells, its noisy count, and its side.

    Args:
        tree: decides which squares are quartered; its side is that of the plane.
        count: the noise of the count of a part.
        place: the noise of the sum of the places of a part, of which each is at most 2^10.

    >>> from dither.privacy import PureDP
    >>> RegionCentres.calibrated(PureDP(1), side=16).loss(1) <= PureDP(1)
    True

    """

    name: ClassVar[str] = "region-centres"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "the error of a centre depends on how many points its part has"
    no_interval_because: ClassVar[str] = no_error_because

    tree: Of[QuarteringTree] = Of(QuarteringTree)
    count: Of[Geometric] = Of(Geometric, **one_number(Geometric))
    place: Of[Geometric] = Of(Geometric, **one_number(Geometric))

    @classmethod
    def calibrated(cls, within: Loss, *, side: int) -> Self:
        """Return the method within a loss for counts 1 apart: a third each for the parts, counts and places.

        Args:
            within: what counts 1 apart may lose.
            side: the cells along both axes, a power of 2.

        """

        def built(epsilon: Fraction, kind: type[Self] = cls) -> Self:
            third = 3 / epsilon
            # An integer above scale * ln 4, so that one point costs at most 7/3 / scale.
            scale = third * Fraction(7, 3)
            tree = QuarteringTree(side=side, scale=scale, decay=int(scale * _LOG_4) + 1)
            return kind(tree=tree, count=Geometric(scale=third), place=Geometric(scale=third * _STEPS))

        return with_largest_epsilon(within, built)

    @property
    def distance(self) -> Metric:
        """L1 on the counts."""
        return L1

    @property
    def shape(self) -> tuple[int, int]:
        """The cells along both axes."""
        return self.tree.side, self.tree.side

    @property
    def parts(self) -> tuple[Geometric, Geometric]:
        """The noise of all counts, and of the sums of places along both axes: as many as there are cells."""
        cells = self.tree.side**2
        return replace(self.count, shape=(cells,)), replace(self.place, shape=(2 * cells,))

    def plan(self) -> Plan:
        """Draw the parts, then a count and two sums for each."""
        count, place = self.parts
        return InOrder.of(Use(self.tree), Use(count), Use(place, _STEPS))

    def release(self, data: Any, run: Runner) -> Floats:
        """Return a row for each part: centre, count and side."""
        counts = np.maximum(counts_of(data, self.shape, most=_LARGEST), 0)
        depths = np.asarray(run(self.tree, counts), dtype=np.int64)
        side, labels = self.tree.side >> depths, squares_of(depths)
        row, column = np.indices(self.shape)
        first = np.unique(labels, return_index=True)[1]  # the corner of each part
        count, place = self.parts
        noisy = np.asarray(run(count, bucket_sums(counts, labels, counts.size)), dtype=np.float64)[: first.size]
        # A point's place within its part, along both axes together at most 2^10: a cell's middle.
        sums = []
        for along in (row, column):
            within = ((2 * (along % side) + 1) * (_STEPS // 2)) // (2 * side)
            sums.append(bucket_sums(counts * within, labels, counts.size))
        drawn = np.asarray(run(place, np.concatenate(sums), stability=_STEPS), dtype=np.float64)
        sides = side.ravel()[first]
        found = [np.divmod(first, self.tree.side)[axis].astype(np.float64) for axis in (0, 1)]
        for axis in (0, 1):
            total = drawn[axis * counts.size :][: first.size]
            mean = np.where(noisy >= 1, total / np.maximum(noisy, 1) / (_STEPS // 2), 0.5)
            found[axis] += np.clip(mean, 0.0, 1.0) * sides - 0.5
        return np.column_stack([*found, np.maximum(noisy, 0.0), sides.astype(np.float64)])

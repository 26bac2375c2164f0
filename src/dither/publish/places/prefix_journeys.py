"""Journeys from a noisy prefix tree: how many begin with each sequence of cells, level by level.

As literature, beside which others are measured: good for short sequences over few symbols, such as stations; on a grid
a tree of a few levels holds most of what the noise leaves visible, and longer journeys are cut off there. Cost: a pass
over the journeys a level. Corrections: each level draws a public number of counts, whatever the tree has become, so
that the noise of a level is paid for once; the number of journeys drawn is a released one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Whole
from dither.mechanisms.core.purse import CountNoise, OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.geometric import Geometric
from dither.privacy import InOrder, Loss, Plan, Repeat, Use
from dither.publish.graphs.synthesis.settled import Settled
from dither.publish.places.journeys import MOST_DRAWN, SOME_JOURNEYS, OfJourneys, journey_pairs, noise_scale
from dither.publish.places.walks import DIRECTIONS, Ints

Floats = NDArray[np.float64]
_WIDTH: Final = 2**12
_HEIGHT: Final = 8
_TRIPS: Final = Fraction(1, 50)
#: What may follow a prefix: a step in each direction, or the end.
_AFTER: Final = DIRECTIONS + 1


def _examples() -> Iterator[Example]:
    made = PrefixJourneys(
        shape=(3, 3), length=4, most=8, height=3, width=18, trips=Geometric(scale=2), node=Geometric(scale=2)
    )
    yield Example(made, SOME_JOURNEYS, journey_pairs())


@register(
    examples=_examples,
    source="Differentially Private Transit Data Publication: A Case Study on the Montreal Transportation System (Chen "
    "et al. 2012); Differential Privacy and Applications (Zhu et al. 2017), section 12.2",
    reference=True,
)
@dataclass(frozen=True, kw_only=True)
class PrefixJourneys(OfJourneys):
    """Draw journeys from noisy counts of how they begin.

    Guarantee: collections of journeys ``d_in`` apart lose what ``trips`` loses at ``d_in``, and ``height`` times what
    ``node`` loses at ``d_in``.

    Args:
        shape: the cells along both axes; public.
        length: how many cells of a journey count; public.
        most: how many journeys are drawn at most; public.
        height: how many levels the tree has: a longer journey is cut off there.
        width: how many counts are drawn on each level: at least one for each cell.
        trips: the noise of the number of journeys.
        node: the noise of a count.

    >>> from dither.privacy import PureDP
    >>> PrefixJourneys.calibrated(PureDP(1), shape=(20, 20), length=60).loss(1) <= PureDP(1)
    True

    """

    name: ClassVar[str] = "prefix-journeys"
    version: ClassVar[int] = 1

    height: Whole = Whole(_HEIGHT, least=1, most=64)
    width: Whole = Whole(_WIDTH, least=_AFTER, most=2**20)
    trips: OneCount = OneCount()
    node: OneCount = OneCount()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.width < self.plane.cells:
            raise InvalidParameter("width", self.width, f"at least {self.plane.cells}: one for each cell")

    @classmethod
    def calibrated(cls, within: Loss, *, shape: tuple[int, int], length: int, most: int | None = None) -> Self:
        """Return the least noise within a loss for collections one journey apart; see the class for the rest."""
        purse = Purse.within(within)
        limit = MOST_DRAWN if most is None else most
        height = min(_HEIGHT, length)
        node = purse.share((1 - _TRIPS) / height).noise()
        return cls(shape=shape, length=length, height=height, trips=purse.share(_TRIPS).noise(), node=node, most=limit)

    @property
    def level(self) -> CountNoise:
        """The noise of one level."""
        return replace(self.node, shape=(self.width,))

    @property
    def threshold(self) -> float:
        """What a noisy count must exceed for its prefix to be followed: few empty ones do."""
        return noise_scale(self.node) * math.log(self.width)

    def plan(self) -> Plan:
        """Draw the number of journeys, then each level."""
        return InOrder.of(Use(self.trips), Repeat(Use(self.level), self.height))

    def release(self, data: Any, run: Runner) -> Ints:
        """Return synthetic journeys, a row for each."""
        walks = self.walks(data)
        trips = float(run(self.trips, int(walks.starts.size)))
        tree = _Tree(self.plane.neighbours, walks.origins)
        for depth in range(self.height):
            counts = np.zeros(self.width, dtype=np.int64)
            np.add.at(counts, tree.place[tree.place >= 0], 1)
            noisy = np.asarray(run(self.level, counts), dtype=np.float64)
            here = np.minimum(walks.starts + depth, walks.cells.size - 1)
            tree.grow(noisy, self.threshold, self.width // _AFTER, walks.directions[here])
        return tree.drawn(self.wanted(trips), self.length)


class _Tree:
    """A tree that grows level by level: released counts, and the private place of each journey in it."""

    def __init__(self, neighbours: Ints, origins: Ints) -> None:
        self.neighbours = neighbours
        #: The candidate that each journey is of, on the level that is counted next; -1 for journeys that have ended.
        self.place = origins.astype(np.int64)
        #: Of the candidates: the cell they are in, -1 beyond the border; and whether they are the end of a journey.
        self.cell = np.arange(len(neighbours), dtype=np.int64)
        self.is_end = np.zeros(len(neighbours), dtype=np.bool_)
        self.levels: list[tuple[Floats, Ints, Ints]] = []

    def grow(self, noisy: Floats, threshold: float, most: int, moved: Ints) -> None:
        """Keep the candidates whose noisy count is large, and make candidates of what may follow them.

        Args:
            noisy: the released counts of the candidates, and of empty places.
            threshold: that a count must exceed.
            most: how many are kept.
            moved: the next direction of each journey; -1 at its end.

        """
        counts = np.where((self.cell >= 0) | self.is_end, noisy[: self.cell.size], 0.0)
        kept = np.flatnonzero((counts > threshold) & ~self.is_end)
        kept = np.sort(kept[np.argsort(-counts[kept], kind="stable")[:most]])
        number = np.full(self.cell.size, -1, dtype=np.int64)
        number[kept] = np.arange(kept.size)
        self.levels.append((np.maximum(counts, 0.0), self.cell, number))
        # A journey that has ended, or whose prefix is not followed, is of no candidate any more.
        mine = np.full(self.place.size, -1, dtype=np.int64)
        is_counted = self.place >= 0
        mine[is_counted] = number[self.place[is_counted]]
        follows = np.where(moved >= 0, moved, DIRECTIONS)
        self.place = np.where(mine >= 0, mine * _AFTER + follows, -1)
        cells = self.cell[kept]
        self.cell = np.concatenate([self.neighbours[cells], np.full((kept.size, 1), -1)], axis=1).ravel()
        self.is_end = np.tile(np.arange(_AFTER) == DIRECTIONS, kept.size)

    def drawn(self, many: int, length: int) -> Ints:
        """Return journeys, a row for each: a function of what was released."""
        chance = Settled(*(counts for counts, _, _ in self.levels))
        rows = np.full((many, length), -1, dtype=np.int64)
        counts, cells, number = self.levels[0]
        weights = np.cumsum(counts) if counts.sum() > 0 else np.arange(1.0, counts.size + 1)
        found = np.searchsorted(weights, chance.random(many) * weights[-1], side="right")
        place, going = np.minimum(found, counts.size - 1), np.arange(many)
        rows[:, 0] = cells[place]
        for depth, (counts, cells, following) in enumerate(self.levels[1:], start=1):
            node = number[place]
            going, node = going[node >= 0], node[node >= 0]
            if depth >= length or not going.size:
                break
            law = np.cumsum(counts.reshape(-1, _AFTER), axis=1)[node]
            chosen = (law <= (chance.random(going.size) * law[:, -1])[:, None]).sum(axis=1)
            stays = (chosen < DIRECTIONS) & (law[:, -1] > 0)
            going, place = going[stays], node[stays] * _AFTER + chosen[stays]
            rows[going, depth] = cells[place]
            number = following
        return rows

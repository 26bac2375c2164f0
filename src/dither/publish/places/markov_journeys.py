"""Journeys from a second-order Markov model on one grid, with a start and a stop: the core of DPT.

As literature, beside which others are measured: where a journey ends is decided step by step, so that trips, lengths
and diameters stray from the true ones. Two tables of weights get noise once; a journey weighs one in each, whatever its
length. Cost: linear in the cells and in what is drawn. Corrections: the source counts n-grams without a bound on what
one person adds, under which its noise protects no person; here a journey's n-grams weigh one together, and the source
of the data bounds the journeys of a person. There is one public grid; ``grid_journeys`` has DPT's hierarchy of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.estimate.projections import non_negative_with_total
from dither.mechanisms.core.purse import CountNoise, OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.geometric import Geometric
from dither.privacy import InOrder, Loss, Plan, Use
from dither.publish.graphs.synthesis.settled import Settled
from dither.publish.places.journeys import MOST_DRAWN, SOME_JOURNEYS, OfJourneys, journey_pairs, noise_scale
from dither.publish.places.walks import DIRECTIONS, WHOLE, Ints, Plane, Walks

Floats = NDArray[np.float64]
_STOP: Final = DIRECTIONS
#: Shares of the number of journeys and of the first table; the rest is for the second.
_TRIPS, _FIRST = Fraction(1, 50), Fraction(2, 5)
#: Weights below this many scales of their noise are taken for none, of the first table and of the second.
_LEAST: Final = (1.5, 2.0)
_SMALL: Final = 1e-3


def _examples() -> Iterator[Example]:
    weight = Geometric(scale=2 * WHOLE)
    made = MarkovJourneys(shape=(3, 3), length=4, most=8, trips=Geometric(scale=2), first=weight, second=weight)
    yield Example(made, SOME_JOURNEYS, journey_pairs())


@register(
    examples=_examples,
    source="DPT: Differentially Private Trajectory Synthesis Using Hierarchical Reference Systems (He et al. 2015); "
    "Differential Privacy and Applications (Zhu et al. 2017), section 12.3.2",
    reference=True,
)
@dataclass(frozen=True, kw_only=True)
class MarkovJourneys(OfJourneys):
    """Draw journeys step by step from released weights of n-grams of up to three cells.

    Guarantee: collections of journeys ``d_in`` apart lose what ``trips`` loses at ``d_in``, and ``first`` and
    ``second`` at ``2^16 d_in``, added up.

    Args:
        shape: the cells along both axes; public.
        length: how many cells of a journey count; public.
        most: how many journeys are drawn at most; public.
        trips: the noise of the number of journeys.
        first: the noise of the weight of a start, a step or a stop; those of a journey weigh 2^16 together.
        second: the noise of the weight of a pair of steps, or of a step and a stop.

    >>> from dither.privacy import PureDP
    >>> MarkovJourneys.calibrated(PureDP(1), shape=(20, 20), length=60).loss(1) <= PureDP(1)
    True

    """

    name: ClassVar[str] = "markov-journeys"
    version: ClassVar[int] = 1

    trips: OneCount = OneCount()
    first: OneCount = OneCount()
    second: OneCount = OneCount()

    @classmethod
    def calibrated(cls, within: Loss, *, shape: tuple[int, int], length: int, most: int | None = None) -> Self:
        """Return the least noise within a loss for collections one journey apart; see the class for the rest."""
        purse = Purse.within(within)
        limit = MOST_DRAWN if most is None else most
        first, second = (purse.share(share).noise(WHOLE) for share in (_FIRST, 1 - _TRIPS - _FIRST))
        return cls(
            shape=shape, length=length, trips=purse.share(_TRIPS).noise(), first=first, second=second, most=limit
        )

    @property
    def parts(self) -> tuple[CountNoise, CountNoise]:
        """The noise of starts, steps and stops, and of what follows a step."""
        cells = self.plane.cells
        return (
            replace(self.first, shape=(cells, DIRECTIONS + 2)),
            replace(self.second, shape=(cells, DIRECTIONS, DIRECTIONS + 1)),
        )

    def plan(self) -> Plan:
        """Draw the number of journeys, then each table once."""
        return InOrder.of(Use(self.trips), *(Use(part, WHOLE) for part in self.parts))

    def release(self, data: Any, run: Runner) -> Ints:
        """Return synthetic journeys, a row for each."""
        walks = self.walks(data)
        trips = float(run(self.trips, int(walks.starts.size)))
        drawn = [
            np.asarray(run(part, table, stability=WHOLE), dtype=np.float64)
            for part, table in zip(self.parts, n_grams(walks), strict=True)
        ]
        noise = [noise_scale(part) for part in (self.first, self.second)]
        return _drawn(self.plane, drawn, noise, self.wanted(trips), self.length)


def n_grams(walks: Walks) -> tuple[Ints, Ints]:
    """Return weights of starts (last), steps and stops by cell, and of what follows each step: exact and private.

    A journey of n cells has one start, n - 1 steps and one stop, and n - 1 pairs of a step and what follows it.
    """
    plane, directions = walks.plane, walks.directions
    first = np.zeros((plane.cells, DIRECTIONS + 2), dtype=np.int64)
    second = np.zeros((plane.cells, DIRECTIONS, DIRECTIONS + 1), dtype=np.int64)
    weight = WHOLE // (walks.lengths + 1)
    np.add.at(first[:, DIRECTIONS + 1], walks.origins, weight)
    follows = np.where(directions >= 0, directions, _STOP)
    np.add.at(first, (walks.cells, follows), weight[walks.walk])
    here = np.flatnonzero(directions >= 0)
    each = WHOLE // np.maximum(walks.lengths - 1, 1)
    np.add.at(second, (walks.cells[here], directions[here], follows[here + 1]), each[walks.walk[here]])
    return first, second


def _drawn(plane: Plane, drawn: list[Floats], noise: list[float], many: int, length: int) -> Ints:
    """Return journeys, a row for each: a function of what was released."""
    chance, is_inside = Settled(*drawn), plane.neighbours >= 0
    neighbours = np.maximum(plane.neighbours, 0)
    begun = drawn[0][:, DIRECTIONS + 1]
    starts = np.cumsum(non_negative_with_total(begun, max(float(begun.sum()), 1.0)))
    steps = np.where(drawn[0][:, : DIRECTIONS + 1] > _LEAST[0] * noise[0], drawn[0][:, : DIRECTIONS + 1], 0.0)
    steps[:, :DIRECTIONS] *= is_inside
    steps[:, _STOP] += _SMALL * WHOLE
    first = steps / steps.sum(axis=1, keepdims=True)
    turns = np.where(drawn[1] > _LEAST[1] * noise[1], drawn[1], 0.0)
    following = first[neighbours]
    turns[:, :, :DIRECTIONS] *= is_inside[neighbours]
    total = turns.sum(axis=2, keepdims=True)
    second = np.where(total > 0, turns / np.where(total > 0, total, 1.0), following)
    rows = np.full((many, length), -1, dtype=np.int64)
    here = np.minimum(np.searchsorted(starts, chance.random(many) * starts[-1], side="right"), plane.cells - 1)
    before, direction = here.copy(), np.zeros_like(here)
    rows[:, 0], going = here, np.arange(many)
    for step in range(1, length):
        cell = here[going]
        law = first[cell] if step == 1 else second[before[going], direction[going]]
        chosen = np.minimum((np.cumsum(law, axis=1) <= chance.random(going.size)[:, None]).sum(axis=1), _STOP)
        stays = chosen < _STOP
        going, cell, chosen = going[stays], cell[stays], chosen[stays]
        before[going], direction[going], here[going] = cell, chosen, neighbours[cell, chosen]
        rows[going, step] = here[going]
    return rows

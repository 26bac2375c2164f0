"""Journeys from Markov models on a hierarchy of grids, each for its speed, of which few are kept: DPT.

As literature, beside which others are measured: where a journey ends is decided step by step. How fast journeys are
gets noise first, and grids that this says are hardly used are given up; then two kinds of tables get noise once, in
which a journey weighs one over all grids together. Cost: linear in the cells of all grids and in what is drawn.
Corrections: the source counts without a bound on what one person adds, under which its noise protects no person; here
the n-grams of a journey weigh one together, and the source of the data bounds the journeys of a person. Tables of a
public size are drawn whatever is kept, so that the plan is public.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Final, Self

import numpy as np

from dither.exact import Whole
from dither.mechanisms.core.purse import CountNoise, OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.geometric import Geometric
from dither.privacy import InOrder, Loss, Plan, Use
from dither.publish.places.grid_walks import Walkers, worthwhile
from dither.publish.places.journeys import MOST_DRAWN, SOME_JOURNEYS, OfJourneys, journey_pairs, noise_scale
from dither.publish.places.reference_grids import Grids, Steps
from dither.publish.places.walks import DIRECTIONS, WHOLE, Ints, points_of

#: Shares of the loss: of the number of journeys, of how fast they are, of the first tables; the rest is for the second.
_TRIPS, _SPEEDS, _FIRST = Fraction(1, 50), Fraction(1, 20), Fraction(7, 20)
_LEVELS: Final = 3
_WINDOW: Final = 3
#: A grid is kept where its steps are worth this number of noise scales in each of its cells.
_WORTH: Final = 0.5


def _examples() -> Iterator[Example]:
    weight = Geometric(scale=2 * WHOLE)
    parts: dict[str, Any] = {"trips": Geometric(scale=2), "speeds": weight, "first": weight, "second": weight}
    yield Example(GridJourneys(shape=(3, 3), length=4, most=8, levels=2, **parts), SOME_JOURNEYS, journey_pairs())


@register(
    examples=_examples,
    source="DPT: Differentially Private Trajectory Synthesis Using Hierarchical Reference Systems (He et al. 2015); "
    "Differential Privacy and Applications (Zhu et al. 2017), section 12.3.2",
    reference=True,
)
@dataclass(frozen=True, kw_only=True)
class GridJourneys(OfJourneys):
    """Draw journeys step by step from released weights of n-grams on grids for slow and for fast stretches.

    Guarantee: collections of journeys ``d_in`` apart lose what ``trips`` loses at ``d_in``, and ``speeds``, ``first``
    and ``second`` at ``2^16 d_in``, added up.

    Args:
        shape: the cells along both axes; public.
        length: how many points of a journey count, and how many cells a drawn one has at most; public.
        most: how many journeys are drawn at most; public.
        levels: how many grids there are: a cell of each is twice as high and wide as one of the grid before; public.
        window: how many of the last moves lead the next one; 0: none; public.
        trips: the noise of the number of journeys.
        speeds: the noise of the weight of the steps on one grid; those of a journey weigh 2^16 together.
        first: the noise of the weight of a start, a step, a change of grids or a stop.
        second: the noise of the weight of a step and what follows it.

    >>> from dither.privacy import PureDP
    >>> GridJourneys.calibrated(PureDP(1), shape=(20, 20), length=60).loss(1) <= PureDP(1)
    True

    """

    name: ClassVar[str] = "grid-journeys"
    version: ClassVar[int] = 1

    levels: Whole = Whole(_LEVELS, least=1, most=5)
    window: Whole = Whole(_WINDOW, least=0, most=16)
    trips: OneCount = OneCount()
    speeds: OneCount = OneCount()
    first: OneCount = OneCount()
    second: OneCount = OneCount()

    @classmethod
    def calibrated(cls, within: Loss, *, shape: tuple[int, int], length: int, most: int | None = None) -> Self:
        """Return the least noise within a loss for collections one journey apart; see the class for the rest."""
        purse = Purse.within(within)
        shares = {"speeds": _SPEEDS, "first": _FIRST, "second": 1 - _TRIPS - _SPEEDS - _FIRST}
        noise: dict[str, Any] = {name: purse.share(share).noise(WHOLE) for name, share in shares.items()}
        limit = MOST_DRAWN if most is None else most
        return cls(shape=shape, length=length, most=limit, trips=purse.share(_TRIPS).noise(), **noise)

    @cached_property
    def grids(self) -> Grids:
        """The hierarchy."""
        return Grids(self.plane, self.levels)

    @property
    def shapes(self) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
        """The shapes of the tables of all levels, of the first kind and of the second."""
        outcomes, cells = self.grids.outcomes, [plane.cells for plane in self.grids.planes]
        return [(one, outcomes + 2) for one in cells], [(one, DIRECTIONS, outcomes) for one in cells]

    @property
    def parts(self) -> tuple[CountNoise, CountNoise, CountNoise]:
        """The noise of speeds, and of all tables of each kind."""
        sizes = [sum(int(np.prod(shape)) for shape in shapes) for shapes in self.shapes]
        return (
            replace(self.speeds, shape=(self.levels,)),
            replace(self.first, shape=(sizes[0],)),
            replace(self.second, shape=(sizes[1],)),
        )

    def plan(self) -> Plan:
        """Draw the number of journeys, how fast they are, then the tables of all levels, once for each kind."""
        return InOrder.of(Use(self.trips), *(Use(part, WHOLE) for part in self.parts))

    def release(self, data: Any, run: Runner) -> Ints:
        """Return synthetic journeys, a row for each."""
        steps = Steps.of(self.grids, *points_of(data, self.plane), self.length)
        speeds, *tables = self.parts
        trips = float(run(self.trips, steps.trips))
        drawn = np.asarray(run(speeds, steps.speeds(), stability=WHOLE), dtype=np.float64)
        noise = noise_scale(self.first), noise_scale(self.second)
        kept = worthwhile(self.grids, drawn, noise[1], _WORTH)
        released = []
        for part, exact, shapes in zip(tables, steps.runs(kept).n_grams(), self.shapes, strict=True):
            flat = np.concatenate([table.ravel() for table in exact])
            noisy = np.asarray(run(part, flat, stability=WHOLE), dtype=np.float64)
            ends = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]
            released.append([one.reshape(shape) for one, shape in zip(np.split(noisy, ends), shapes, strict=True)])
        walkers = Walkers(self.grids, kept, list(zip(*released, strict=True)), noise)
        return walkers.walk(self.wanted(trips), self.length, self.window)

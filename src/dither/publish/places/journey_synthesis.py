"""Synthetic journeys: ends by two levels of cells, lengths, and second-order walks that are led to their destination.

For trips on a grid of up to a few hundred cells, when others are to see where they lead and which streets they take.
Six tables of counts get noise once: how many trips there are between blocks, from and to each cell, of each length by
how far their ends are apart; and, each trip weighing one in all, its steps and its pairs of steps. A model is fitted
and drawn from (``journey_model``), at no further cost. Cost: for each destination a pass over all pairs of steps for
each step of the longest trip. Corrections: AdaTrace's and PrivTrace's code reads boxes, numbers of trips, lengths and
which steps occur off the data, and draws with floats; here every table is drawn once with exact noise, and what is too
weak to be told from noise is left out by a public rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Final, Self

import numpy as np

from dither.exact import Whole
from dither.mechanisms.core.purse import CountNoise, OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.geometric import Geometric
from dither.privacy import InOrder, Loss, Plan, Use
from dither.publish.places.journey_model import Measured, drawn_walks
from dither.publish.places.journeys import MOST_DRAWN, SOME_JOURNEYS, OfJourneys, journey_pairs, noise_scale
from dither.publish.places.walks import DIRECTIONS, WHOLE, Ints

# Settled on a generated city; see the page.
_SHARES: Final = {
    "trips": Fraction(1, 50),
    "pairs": Fraction(19, 100),
    "origins": Fraction(1, 10),
    "destinations": Fraction(1, 10),
    "lengths": Fraction(1, 10),
    "steps": Fraction(19, 100),
    "turns": Fraction(3, 10),
}
_BLOCKS: Final = 5


def _examples() -> Iterator[Example]:
    count, weight = Geometric(scale=2), Geometric(scale=2 * WHOLE)
    parts = dict.fromkeys(("trips", "pairs", "origins", "destinations", "lengths"), count)
    made = JourneySynthesis(shape=(3, 3), length=4, blocks=2, most=8, steps=weight, turns=weight, **parts)
    yield Example(made, SOME_JOURNEYS, journey_pairs())


@register(
    examples=_examples,
    source="Utility-Aware Synthesis of Differentially Private and Attack-Resilient Location Traces (Gursoy et al. "
    "2018); PrivTrace: Differentially Private Trajectory Synthesis by Adaptive Markov Models (Wang et al. 2023)",
)
@dataclass(frozen=True, kw_only=True)
class JourneySynthesis(OfJourneys):
    """Draw journeys that begin, end, last and turn as these do.

    Guarantee: collections of journeys ``d_in`` apart lose what ``trips``, ``pairs``, ``origins``, ``destinations`` and
    ``lengths`` lose at ``d_in``, and ``steps`` and ``turns`` at ``2^16 d_in``, added up.

    Args:
        shape: the cells along both axes; public.
        length: how many cells of a journey count; public.
        most: how many journeys are drawn at most; public.
        blocks: how many blocks of cells there are along each side; public.
        trips: the noise of the number of journeys.
        pairs: the noise of the number of journeys between two blocks.
        origins: the noise of the number of journeys from a cell.
        destinations: the noise of the number of journeys to a cell.
        lengths: the noise of the number of journeys of one length whose ends are so far apart.
        steps: the noise of the weight of a step; all steps of a journey weigh 2^16.
        turns: the noise of the weight of a pair of steps.

    >>> from dither.privacy import PureDP
    >>> JourneySynthesis.calibrated(PureDP(1), shape=(20, 20), length=60).loss(1) <= PureDP(1)
    True

    """

    name: ClassVar[str] = "journey-synthesis"
    version: ClassVar[int] = 1

    blocks: Whole = Whole(_BLOCKS, least=1, most=16)
    trips: OneCount = OneCount()
    pairs: OneCount = OneCount()
    origins: OneCount = OneCount()
    destinations: OneCount = OneCount()
    lengths: OneCount = OneCount()
    steps: OneCount = OneCount()
    turns: OneCount = OneCount()

    @classmethod
    def calibrated(cls, within: Loss, *, shape: tuple[int, int], length: int, most: int | None = None) -> Self:
        """Return the least noise within a loss for collections one journey apart.

        Args:
            within: what they may lose.
            shape: the cells along both axes.
            length: how many cells of a journey count.
            most: how many journeys are drawn at most.

        """
        purse = Purse.within(within)
        noise: dict[str, Any] = {
            name: purse.share(share).noise(WHOLE if name in ("steps", "turns") else 1)
            for name, share in _SHARES.items()
        }
        return cls(shape=shape, length=length, most=MOST_DRAWN if most is None else most, **noise)

    @property
    def parts(self) -> dict[str, CountNoise]:
        """The noise of all tables, by name and in order."""
        cells, apart = self.plane.cells, self.plane.rows + self.plane.columns - 1
        blocks = int(self.plane.blocks(self.blocks).max()) + 1
        shapes: dict[str, tuple[int, ...]] = {
            "trips": (),
            "pairs": (blocks, blocks),
            "origins": (cells,),
            "destinations": (cells,),
            "lengths": (apart, self.length + 1),
            "steps": (cells, DIRECTIONS),
            "turns": (cells, DIRECTIONS, DIRECTIONS),
        }
        return {name: replace(getattr(self, name), shape=shape) for name, shape in shapes.items()}

    def plan(self) -> Plan:
        """Draw each table once; the weights of a journey's steps, and pairs of steps, are 2^16 together."""
        return InOrder(tuple(Use(part, _moved(name)) for name, part in self.parts.items()))

    def release(self, data: Any, run: Runner) -> Ints:
        """Return synthetic journeys, a row for each."""
        walks, plane = self.walks(data), self.plane
        starts, ends, blocks = walks.origins, walks.destinations, plane.blocks(self.blocks)
        parts = self.parts
        exact: dict[str, Any] = {"trips": int(starts.size), "steps": walks.steps(), "turns": walks.turns()}
        exact["pairs"] = _counts((blocks[starts], blocks[ends]), parts["pairs"].shape)
        exact["origins"], exact["destinations"] = (_counts((at,), (plane.cells,)) for at in (starts, ends))
        exact["lengths"] = _counts((plane.apart(starts, ends), walks.lengths), parts["lengths"].shape)
        drawn = {
            name: np.asarray(run(part, exact[name], stability=_moved(name)), dtype=np.float64)
            for name, part in parts.items()
        }
        noise = tuple(noise_scale(getattr(self, name)) for name in ("lengths", "steps", "turns"))
        trips = float(drawn.pop("trips"))
        known = Measured(plane, self.length, self.blocks, trips, **drawn, noise=(noise[0], noise[1], noise[2]))
        return drawn_walks(known, self.wanted(trips)).rows(self.length)


def _moved(name: str) -> int:
    """Return how far one journey moves a table."""
    return WHOLE if name in ("steps", "turns") else 1


def _counts(places: tuple[Ints, ...], shape: Any) -> Ints:
    found = np.zeros(shape, dtype=np.int64)
    np.add.at(found, places, 1)
    return found

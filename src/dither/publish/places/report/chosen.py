"""A chosen place: one of a public list of places, nearer ones more likely.

For reports that must be places that exist: stations, shops, anchors of a map, hubs. The exponential mechanism with the
distance as its score: a place d metres farther is e^(epsilon d / 2) times less likely. Unlike snapping noise to the
list it never wastes probability on empty land. Cost: one pass over the list.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dither.data.places import Box
from dither.errors import InvalidParameter
from dither.exact import Number, Of, Positive, probability, to_float
from dither.mechanisms.core.mechanism import Bound, Composed, Numerics
from dither.mechanisms.core.public import Array
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.exponential import Exponential
from dither.privacy import Plan, Unit, Use, place
from dither.publish.places.report.metres import metres_of, unit_of, units_per_metre, whole_distances
from dither.publish.places.report.planar import LEAST_EPSILON, MOST_EPSILON

MOST_PLACES = 2**20


def _examples() -> Iterator[Example]:
    plane = Box.of(0, 0, 1000, 1000, plane=True)
    shops = np.array([[100.0, 100.0], [110.0, 100.0], [900.0, 900.0]])
    here, there = np.array([[100.0, 100.0]]), np.array([[104.0, 103.0]])
    nowhere = np.array([[float("nan"), 0.0]])
    yield Example(
        ChosenPlace(box=plane, epsilon="0.05", places=shops),
        here,
        (
            (here, there, 5),
            (there, here, 5),
            (here, np.array([[110.0, 100.0]]), 10),
            (nowhere, np.array([[500.0, 500.0]]), 1),
            (np.array([[1e9, 5.0]]), nowhere, 1),
        ),
    )
    town = Box.of("48.80", "2.25", "48.92", "2.42")
    stops = np.array([[48.81, 2.30], [48.90, 2.40]])
    near = np.array([[48.85, 2.35]])
    yield Example(
        ChosenPlace(box=town, epsilon="0.001", places=stops), near, ((near, np.array([[48.85001, 2.35]]), 2),)
    )


@register(
    examples=_examples,
    source="Geo-Indistinguishability: Differential Privacy for Location-Based Systems (Andres et al. 2013); Mechanism "
    "Design via Differential Privacy (McSherry, Talwar 2007)",
)
@dataclass(frozen=True, kw_only=True)
class ChosenPlace(Composed[Any, int]):
    """Choose one of a public list of places: the farther from the true one, the less likely.

    Guarantee: a place that moves by ``d_in`` metres over the ground loses epsilon = ``epsilon * d_in``. That is
    geo-indistinguishability and NOT plain differential privacy. What is not a place counts as the centre of the box, a
    place outside it as the nearest inside.

    Args:
        box: where places lie; public.
        epsilon: the loss for each metre.
        places: rows of latitude and longitude to choose from; public.

    >>> box = Box.of(0, 0, 1000, 1000, plane=True)
    >>> ChosenPlace(box=box, epsilon="0.01", places=[[100, 100], [900, 900]]).loss(100)
    PureDP('1', rho='1/8')

    """

    name: ClassVar[str] = "chosen-place"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.BOUNDED
    no_interval_because: ClassVar[str] = "the released place is one of a list, which has no interval"

    box: Of[Box] = Of(Box)
    epsilon: Positive = Positive(least=LEAST_EPSILON, most=MOST_EPSILON)
    places: Array = Array("float", axes=2, most=MOST_PLACES, rule="rows of latitude and longitude inside the box")

    def __post_init__(self) -> None:
        """Refuse places outside the box."""
        rows = self.places.values
        found, known = self.box.read(rows[:, 0], rows[:, -1])
        if rows.shape[1] != 2 or not (known & self.box.inside(found)).all():
            raise InvalidParameter("places", self.places, "rows of latitude and longitude inside the box")

    @property
    def distance(self) -> Unit:
        """Metres over the ground: a relaxed notion of privacy."""
        return place("great circle")

    @cached_property
    def choice(self) -> Exponential:
        """The choice by distance in whole units."""
        scale = 2 * units_per_metre(self.box) / self.epsilon
        return Exponential(candidates=len(self.places.values), scale=scale)

    @cached_property
    def _metres(self) -> NDArray[np.float64]:
        rows = self.places.values
        return self.box.projection.metres(self.box.read(rows[:, 0], rows[:, 1])[0])

    def plan(self) -> Plan:
        """Return one choice, all scores of which move with the place at most."""
        return Use(self.choice, units_per_metre(self.box))

    def error(self, confidence: Number) -> Bound:
        """Return how much farther than the nearest place of the list the chosen one is."""
        wanted = probability("confidence", confidence, open_below=True)
        gap = (self.choice.error(wanted).value + 1) * to_float(unit_of(self.box) * self.box.projection.most, "up")
        # Distances over the ground and in the plane differ by their bounds, over the whole box at most.
        spread = float(self.box.diagonal * (self.box.projection.most - self.box.projection.least))
        return Bound(
            gap + spread, wanted, "how much farther than the nearest place of the list the report is, in metres"
        )

    def release(self, data: Any, run: Runner) -> int:
        """Return the number of a place of the list."""
        here = metres_of(data, self.box, 1)[0]
        scores = -whole_distances(here, self._metres, self.box)
        return int(run(self.choice, scores, stability=units_per_metre(self.box)))

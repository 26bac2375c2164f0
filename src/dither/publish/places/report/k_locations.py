"""K locations with near-equal output: Laplace noise on both coordinates, wide enough for a public square of k cells.

Whoever sees the report cannot tell apart, beyond epsilon, the k places of any square of k cells in which the device may
be. That is a promise in the Manhattan distance. Cost: two draws. Correction: the paper chooses the k places around the
true one, so that the choice itself tells where that is; here the square is any square of that size, and nothing is
chosen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dither.data.places import Box
from dither.exact import Number, Of, Positive, Whole, probability
from dither.mechanisms.core.mechanism import Bound, Composed, Numerics
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.laplace import Laplace
from dither.privacy import Plan, Unit, Use, place
from dither.publish.places.report.metres import metres_of


def _examples() -> Iterator[Example]:
    plane = Box.of(0, 0, 1000, 1000, plane=True)
    here, there = np.array([[100.0, 100.0]]), np.array([[102.0, 101.0]])
    odd = np.array([[float("inf"), float("nan")]])
    yield Example(
        KLocations(box=plane, epsilon=1, across=3, side=50),
        here,
        ((here, there, 3), (there, here, 3), (odd, here, 800)),
    )


@register(
    examples=_examples,
    source="Local Differential Perturbations: Location Privacy under Approximate Knowledge Attackers (Dewri 2013); "
    "Differential Privacy and Applications (Zhu et al. 2017), section 12.2",
    reference=True,
)
@dataclass(frozen=True, kw_only=True)
class KLocations(Composed[Any, NDArray[Any]]):
    """Move a place by Laplace noise on both coordinates, so that k cells of a square have nearly the same reports.

    Guarantee: places ``d_in`` metres apart, east and north added up in the plane of the box, lose epsilon times
    ``d_in / (2 (across - 1) side)``: any two middles of cells of one square lose at most ``epsilon``. A relaxed notion
    and NOT plain differential privacy. What is not a place counts as the centre of the box, a place outside it as the
    nearest inside.

    Args:
        box: where places lie; public.
        epsilon: the loss between any two of the k cells of a square.
        across: how many cells a square has on a side: k is its square.
        side: the side of a cell in metres.

    >>> KLocations(box=Box.of(0, 0, 1000, 1000, plane=True), epsilon=1, across=3, side=50).loss(200)
    PureDP('1')

    """

    name: ClassVar[str] = "k-locations"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_interval_because: ClassVar[str] = "the error is a distance, which an interval of coordinates does not state"

    box: Of[Box] = Of(Box)
    epsilon: Positive = Positive(least=Positive().convert("least", "1e-6"), most=1000)
    across: Whole = Whole(least=2, most=1000)
    side: Positive = Positive(least=Fraction(1, 100), most=10**6)

    @property
    def distance(self) -> Unit:
        """Metres to the east and to the north, added up: a relaxed notion of privacy."""
        return place("manhattan")

    @cached_property
    def noise(self) -> Laplace:
        """Laplace noise on both coordinates, for the two farthest middles of a square."""
        return Laplace(shape=(2,), scale=2 * (self.across - 1) * self.side / self.epsilon)

    def plan(self) -> Plan:
        """Return one draw for both coordinates."""
        return Use(self.noise)

    def error(self, confidence: Number) -> Bound:
        """Return the reach of the noise of either coordinate."""
        inner = self.noise.error(probability("confidence", confidence, open_below=True))
        return Bound(inner.value, inner.confidence, "the largest error of a coordinate, in metres of the plane")

    def release(self, data: Any, run: Runner) -> NDArray[Any]:
        """Return latitude and longitude."""
        here = metres_of(data, self.box, 1)[0]
        return self.box.projection.place_of(np.asarray(run(self.noise, here), dtype=np.float64))

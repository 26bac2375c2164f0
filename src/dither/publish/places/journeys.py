"""What mechanisms on journeys share: a public grid, a public length, trips as the unit of their input."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final

import numpy as np

from dither.errors import InvalidParameter
from dither.exact import Shape, Whole
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.purse import CountNoise
from dither.mechanisms.geometric import Geometric
from dither.privacy import RECORDS, Metric
from dither.publish.places.walks import Ints, Plane, Walks, walks_of

#: Cells along one side of the grid: the model knows eight times eight pairs of steps of each.
MOST_ALONG: Final = 48
MOST_LENGTH: Final = 256
#: How many journeys are drawn at most.
MOST_DRAWN: Final = 2**22
_NO_ERROR: Final = "the distance of drawn journeys from these depends on what the model omits"


@dataclass(frozen=True, kw_only=True)
class OfJourneys(Composed[Any, Ints]):
    """Synthetic journeys, drawn from released counts of true ones.

    Data: an array of integers, a row of cells for each journey; what a row means is said in ``walks``. Released is an
    array of that kind, in which -1 follows the end of a journey.
    """

    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = _NO_ERROR
    no_interval_because: ClassVar[str] = _NO_ERROR

    shape: Shape = Shape()
    length: Whole = Whole(least=2, most=MOST_LENGTH)
    most: Whole = Whole(MOST_DRAWN, least=1, most=MOST_DRAWN)

    def __post_init__(self) -> None:
        if len(self.shape) != 2 or max(self.shape) > MOST_ALONG:
            raise InvalidParameter("shape", self.shape, f"the cells along two axes, at most {MOST_ALONG} along each")

    @property
    def distance(self) -> Metric:
        """Journeys added and removed."""
        return RECORDS

    @cached_property
    def plane(self) -> Plane:
        """The grid."""
        return Plane(self.shape[0], self.shape[1])

    def walks(self, data: Any) -> Walks:
        """Return the walks of the data: private."""
        return walks_of(data, self.plane, self.length)

    def wanted(self, trips: float) -> int:
        """Return how many journeys to draw for a released number of them."""
        return int(min(max(round(trips), 0), self.most))


def noise_scale(noise: CountNoise) -> float:
    """Return the scale of noise: of Gaussian noise that of geometric noise of the same variance."""
    return float(noise.scale) if isinstance(noise, Geometric) else float(noise.sigma) / 2**0.5


def journey_pairs() -> tuple[tuple[Any, Any, int], ...]:
    """Return neighbouring journeys on nine cells: one more, a long one, jumps, one of one cell, odd numbers, none."""
    some = np.array([[0, 1, 2, 5], [3, 4, 5, -1], [8, 0, 8, 0], [4, -1, 0, 0]])
    odd = np.array([[2**40, 0, 1, 2], [-7, 1, 1, 1], [8, 8, 8, 8]])
    return (
        (some, some[1:], 1),
        (some[:0], some[:1], 1),
        (some, some[:2], 2),
        (np.concatenate([some, odd]), some, 3),
        (some, np.concatenate([some, some[:1]]), 1),
    )


SOME_JOURNEYS: Final = np.array([[0, 1, 2, 5], [3, 4, 5, -1], [0, 3, 6, 7], [4, -1, 0, 0]])

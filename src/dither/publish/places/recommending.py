"""Where to go from here: cells of a released map, by how many people are there and how far they are.

Location recommendation from a noisy tree over check-ins: the map was released, so advice costs nothing, and can be
given to any number of people. Where somebody asks from does not leave their device.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from dither.data.place_tables import DEGREES
from dither.errors import InvalidParameter
from dither.exact import Number, positive, whole
from dither.publish.places.shown import PlaceMap

#: Metres of a degree of latitude, on a sphere of the Earth's mean radius.
_DEGREE: Final = 6_371_008.8 * math.pi / 180


@dataclass(frozen=True)
class Advice:
    """A cell that is worth a visit.

    Args:
        place: the coordinates of its middle.
        count: how many are there, as released.
        metres: how far it is.

    """

    place: tuple[float, float]
    count: float
    metres: float


def recommended(shown: PlaceMap, place: tuple[float, float], *, within: Number, most: int = 10) -> list[Advice]:
    """Return the cells with the most people nearby, those at half the distance counting twice as much.

    Args:
        shown: a released heat map.
        place: the coordinates from which it is asked.
        within: the largest distance in metres.
        most: how many cells are returned.

    """
    radius, limit = float(positive("within", within)), whole("most", most, least=1)
    if len(place) != 2 or not all(math.isfinite(end) for end in place):
        raise InvalidParameter("place", place, "two finite coordinates")
    rows, columns = shown.grid
    middles = [shown.position(row + 0.5, column + 0.5) for row in range(rows) for column in range(columns)]
    spots = np.array(middles, dtype=np.float64)
    down, across = spots[:, 0] - place[0], spots[:, 1] - place[1]
    if shown.places.coordinates == DEGREES:
        down, across = down * _DEGREE, across * _DEGREE * math.cos(math.radians(place[0]))
    far = np.hypot(down, across)
    counts = shown.density.ravel()
    # Nothing is nearer than the cell in which somebody stands.
    worth = np.where((far <= radius) & (counts > 0), counts / np.maximum(far, radius / max(rows, columns)), 0.0)
    best = np.argsort(-worth, kind="stable")[:limit]
    return [Advice(middles[cell], float(counts[cell]), float(far[cell])) for cell in best.tolist() if worth[cell] > 0]

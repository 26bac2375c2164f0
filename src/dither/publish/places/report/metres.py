"""From latitude and longitude to metres of a plane, and to whole units of distance that move no faster than places.

What is not a place (NaN, a latitude beyond 90) counts as the centre of the box, and a place outside the box as the
nearest latitude and longitude inside: distances are those between the places that count. Places are read in steps, so
two different ones are never nearer than a step. A distance in units of 1/256 of the shorter step, rounded down,
therefore moves by at most 1 + 2/256 times what the place moves.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.data import wire
from dither.data.places import Box, CellGrid
from dither.errors import InvalidValue
from dither.mechanisms.core.spec import Codec, register_codec

#: Units in the shorter step of a box.
UNITS: Final = 256
#: Fixed points farther from the centre of the box, in metres along an axis, count as this far: a double then tells all
#: distances to a small part of a unit.
_FARTHEST: Final = 2.0**26
register_codec("box", Codec(Box, wire.encode, wire.decode))
register_codec("cells", Codec(CellGrid, wire.encode, wire.decode))


def metres_of(data: Any, box: Box, rows: int) -> NDArray[np.float64]:
    """Return metres east and north for rows of latitude and longitude; refuse another type or shape."""
    if not (isinstance(data, np.ndarray) and data.dtype.kind in "iuf" and data.dtype.itemsize <= 8):
        raise InvalidValue("data", data, f"an array of numbers of shape ({rows}, 2): latitude and longitude")
    if data.shape != (rows, 2):
        raise InvalidValue("data", data, f"an array of numbers of shape ({rows}, 2): latitude and longitude")
    places, known = box.read(data[:, 0], data[:, 1])
    middle = np.array(box.projection.centre)
    return box.projection.metres(np.where(known[:, None], box.clamp(places), middle))


def unit_of(box: Box) -> Fraction:
    """Return the unit of whole distances, in metres of the plane."""
    return min(box.projection.north, box.projection.east) / UNITS


def units_per_metre(box: Box) -> Fraction:
    """Return by how many units a whole distance moves, at most, where a place moves by a metre over the ground."""
    return (1 + Fraction(2, UNITS)) / unit_of(box) / box.projection.least


def whole_distances(here: NDArray[np.float64], there: NDArray[np.float64], box: Box) -> NDArray[np.int64]:
    """Return distances in the plane in whole units, rounded down, from one point of the box to fixed others."""
    fixed = np.clip(there, -_FARTHEST, _FARTHEST)
    away = np.hypot(fixed[..., 0] - here[..., 0], fixed[..., 1] - here[..., 1])
    return np.floor(away / float(unit_of(box))).astype(np.int64)

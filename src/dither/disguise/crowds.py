"""Places of workers, disguised WITHOUT a formal guarantee: cloaking and obfuscation, as baselines.

Cloaking replaces a place by the smallest square of a quad tree that holds k people; who knows the others' places knows
in which part of the square he is. Obfuscation moves a place to a random point of a disc; who knows the radius knows
that the true one is inside. Neither has a loss.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.estimate.public_randomness import public_generator
from dither.exact import whole

_DEEPEST = 20


def cloak(places: Any, *, k: int, low: Any, high: Any) -> NDArray[np.float64]:
    """Return for each place the square that stands for it: west, south, east, north.

    Args:
        places: rows of two coordinates.
        k: how many people a square holds at least, where there are that many.
        low: the south-western corner of the public area.
        high: the north-eastern corner.

    >>> cloak([[1, 1], [2, 2], [9, 9], [9, 8]], k=2, low=[0, 0], high=[16, 16])[0].tolist()
    [0.0, 0.0, 4.0, 4.0]

    """
    rows = _checked(places)
    least = whole("k", k, least=1, most=2**31)
    south_west, north_east = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
    if south_west.shape != (2,) or north_east.shape != (2,) or not (south_west < north_east).all():
        raise InvalidParameter("low, high", (low, high), "two corners, the first south-west of the second")
    side = north_east - south_west
    inside = np.clip((rows - south_west) / side, 0, np.nextafter(1, 0))
    found = np.tile(np.concatenate([south_west, north_east]), (len(rows), 1))
    kept = np.ones(len(rows), dtype=bool)
    for depth in range(1, _DEEPEST + 1):
        cells = np.floor(inside * 2**depth).astype(np.int64)
        _, where, many = np.unique(cells, axis=0, return_inverse=True, return_counts=True)
        kept &= many[where.ravel()] >= least
        if not kept.any():
            break
        corner = south_west + cells[kept] * side / 2**depth
        found[kept] = np.concatenate([corner, corner + side / 2**depth], axis=1)
    return found


def obfuscate(places: Any, *, radius: float) -> NDArray[np.float64]:
    """Return each place moved to a random point of the disc around it. The randomness is not that of a mechanism."""
    rows = _checked(places)
    if not (isinstance(radius, int | float) and math.isfinite(radius) and radius > 0):
        raise InvalidParameter("radius", radius, "a number above 0")
    drawn = public_generator()
    angle, reach = drawn.uniform(0, 2 * math.pi, len(rows)), radius * np.sqrt(drawn.uniform(size=len(rows)))
    return np.asarray(rows + np.stack([reach * np.cos(angle), reach * np.sin(angle)], axis=1))


def _checked(places: Any) -> NDArray[np.float64]:
    rows = np.asarray(places, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != 2 or not np.isfinite(rows).all():
        raise InvalidParameter("places", "another array", "rows of two finite coordinates")
    return rows

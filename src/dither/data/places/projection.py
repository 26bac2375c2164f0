"""Metres from latitude and longitude: one linear map over a small box, with a proven bound on its distances.

Places are read to 10^-7 of a degree (11 mm). Over a box the map is equirectangular: metres to the north are a constant
times the latitude, metres to the east another constant times the longitude, both those of the ellipsoid WGS 84 in the
middle of the box. The constants have few binary digits, so that every product is exact in a double: two places have one
distance in the plane on every machine. ``least`` and ``most`` enclose how long the shortest way over the ellipsoid is
for each metre in the plane; whoever promises something for a distance divides by the one and multiplies by the other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import typed

#: Steps in one degree, and in one metre of a plane.
DEGREE_STEPS: Final = 10**7
METRE_STEPS: Final = 1024
#: The longest side of a box of latitudes and longitudes, in metres.
LONGEST_SIDE: Final = 200_000
#: Latitudes at which people are counted; beyond, the plane would be too wrong, and the two numbers are often swapped.
SOUTHERNMOST: Final = -60
NORTHERNMOST: Final = 80
#: Plane coordinates end here, in metres, so that steps and their products are exact.
FARTHEST: Final = 2**24

#: WGS 84: the longer half-axis in metres, and the square of the eccentricity.
_AXIS: Final = 6_378_137.0
_ECCENTRICITY: Final = 0.00669437999014
#: Far above the rounding of the few doubles that lead to a bound.
_MARGIN: Final = 1e-9
_DIGITS: Final = 21


def meridian_radius(latitude: float) -> float:
    """Return the radius of curvature to the north, in metres: how long one radian of latitude is.

    >>> round(meridian_radius(0)), round(meridian_radius(90))
    (6335439, 6399594)
    """
    return _AXIS * (1 - _ECCENTRICITY) / math.pow(1 - _ECCENTRICITY * math.sin(math.radians(latitude)) ** 2, 1.5)


def parallel_radius(latitude: float) -> float:
    """Return the radius of the circle of latitude, in metres: how long one radian of longitude is.

    >>> round(parallel_radius(0)), round(parallel_radius(60))
    (6378137, 3197105)
    """
    turned = math.radians(latitude)
    return _AXIS * math.cos(turned) / math.sqrt(1 - _ECCENTRICITY * math.sin(turned) ** 2)


@dataclass(frozen=True)
@typed
class Projection:
    """Steps of latitude and longitude to metres north and east of a centre, and back.

    Args:
        centre: latitude and longitude of the centre, in steps.
        north: metres for each step of latitude.
        east: metres for each step of longitude.
        least: the fewest true metres for one metre in the plane.
        most: the most true metres for one metre in the plane.
        steps: how many steps make a degree, or a metre of plane coordinates.

    """

    centre: tuple[int, int]
    north: Fraction
    east: Fraction
    least: Fraction = Fraction(1)
    most: Fraction = Fraction(1)
    steps: int = DEGREE_STEPS

    def metres(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return metres to the east and to the north, exactly, of rows of latitude and longitude in steps."""
        away = np.asarray(places, dtype=np.int64) - np.array(self.centre)
        scale = np.array([float(self.east), float(self.north)])
        moved: NDArray[np.float64] = away[..., ::-1] * scale
        return moved

    def place_of(self, metres: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return latitude and longitude, in degrees (metres in a plane), of rows of metres east and north."""
        away = np.asarray(metres, dtype=np.float64)[..., ::-1] / np.array([float(self.north), float(self.east)])
        found: NDArray[np.float64] = (away + np.array(self.centre)) / self.steps
        return found

    def true_distance(self, metres: float) -> tuple[float, float]:
        """Return the shortest and the longest way over the ground for a distance in the plane."""
        return float(self.least) * metres, float(self.most) * metres


def read_steps(values: Any, steps: int, most: float) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return numbers in steps, and which of them are numbers of at most ``most``; the others become 0.

    >>> read_steps([1.00000004, float("nan"), 200], 10**7, 180)
    (array([10000000,        0,        0]), array([ True, False, False]))
    """
    numbers = np.asarray(values, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        known = np.abs(numbers) <= most
    return np.floor(np.where(known, numbers, 0.0) * steps + 0.5).astype(np.int64), known


def over_degrees(edges: tuple[int, int, int, int]) -> Projection:
    """Return the projection of a box, given as the steps of its south, west, north and east.

    The lemma page on the ground plane proves the two bounds.
    """
    south, west, north, east = edges
    centre = ((south + north) // 2, (west + east) // 2)
    low, high = south / DEGREE_STEPS, north / DEGREE_STEPS
    middle = centre[0] / DEGREE_STEPS
    step = math.pi / 180 / DEGREE_STEPS
    up, across = meridian_radius(middle) * step, parallel_radius(middle) * step
    to_north, to_east = _short(up), _short(across)
    wide = max(parallel_radius(low), parallel_radius(high), parallel_radius(0) if low < 0 < high else 0)
    sides = (meridian_radius(max(abs(low), abs(high))) * step * (north - south), wide * step * (east - west))
    if max(sides) > LONGEST_SIDE:
        rule = f"at most {LONGEST_SIDE // 1000} km wide and high; plane coordinates in metres have other limits"
        raise InvalidParameter("box", f"{sides[1] / 1000:.0f} km by {sides[0] / 1000:.0f} km", rule)
    # A shortest way may leave the box towards a pole, by less than this many degrees, of which each has 110 km or more.
    narrow = min(parallel_radius(low), parallel_radius(high))
    bulge = sides[1] ** 2 / (2 * narrow) / 110_000
    outer = (low - bulge, high + bulge)
    farthest = max(map(abs, outer))
    nearest = 0.0 if outer[0] < 0 < outer[1] else min(map(abs, outer))
    norths = (meridian_radius(nearest) * step, meridian_radius(farthest) * step)
    easts = (parallel_radius(farthest) * step, parallel_radius(nearest) * step)
    least = min(norths[0] / float(to_north), easts[0] / float(to_east)) * (1 - _MARGIN)
    most = max(norths[1] / float(to_north), easts[1] / float(to_east)) * (1 + _MARGIN)
    return Projection(centre, to_north, to_east, Fraction(least), Fraction(most))


def over_plane(edges: tuple[int, int, int, int]) -> Projection:
    """Return the map of plane coordinates, in steps, to metres from the centre of a box: nothing is lost."""
    south, west, north, east = edges
    step = Fraction(1, METRE_STEPS)
    return Projection(((south + north) // 2, (west + east) // 2), step, step, steps=METRE_STEPS)


def _short(number: float) -> Fraction:
    """Return a nearby number with few binary digits, so that products with steps are exact in doubles."""
    fraction, exponent = math.frexp(number)
    return Fraction(math.floor(fraction * 2**_DIGITS)) * Fraction(2) ** (exponent - _DIGITS)

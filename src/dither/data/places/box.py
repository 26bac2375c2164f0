"""Boxes: the declared area in which places lie, by latitude and longitude or by plane coordinates in metres.

A box is public and comes from the curator, never from rows. It must not contain a pole or cross the date line, and may
be up to 200 km wide and high (plane coordinates: up to 2^24 m from the origin). A row outside is left out or moved to
the nearest place of the box, by a rule that its user states.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.data.places.projection import (
    DEGREE_STEPS,
    FARTHEST,
    METRE_STEPS,
    NORTHERNMOST,
    SOUTHERNMOST,
    Projection,
    over_degrees,
    over_plane,
    read_steps,
)
from dither.errors import InvalidParameter
from dither.exact import Number, exact, sqrt_up, typed


@dataclass(frozen=True)
@typed
class Box:
    """An area between two latitudes and two longitudes, or between two numbers of metres to the north and to the east.

    Args:
        south: the southern edge, in degrees (metres with ``plane``).
        west: the western edge.
        north: the northern edge.
        east: the eastern edge.
        plane: whether the numbers are metres in a plane.

    >>> box = Box.of("40.70", "-74.02", "40.80", "-73.93")
    >>> round(float(box.width)), round(float(box.height))
    (7601, 11105)
    >>> Box.of(-74.02, 40.70, -73.93, 40.80)
    Traceback (most recent call last):
    ...
    dither.errors.InvalidParameter: south must be a latitude from -60 to 80 (are latitude and longitude swapped?), ...

    """

    south: Fraction
    west: Fraction
    north: Fraction
    east: Fraction
    plane: bool = False

    def __post_init__(self) -> None:
        """Refuse poles, the date line, swapped numbers, boxes without an area and boxes too large for one plane."""
        for name in ("south", "west", "north", "east"):
            object.__setattr__(self, name, Fraction(getattr(self, name)))
        if self.plane:
            for name in ("south", "west", "north", "east"):
                if abs(getattr(self, name)) > FARTHEST:
                    raise InvalidParameter(name, float(getattr(self, name)), "at most 2^24 metres from the origin")
        else:
            for name in ("south", "north"):
                if not SOUTHERNMOST <= getattr(self, name) <= NORTHERNMOST:
                    rule = f"a latitude from {SOUTHERNMOST} to {NORTHERNMOST} (are latitude and longitude swapped?)"
                    raise InvalidParameter(name, float(getattr(self, name)), rule)
            for name in ("west", "east"):
                if abs(getattr(self, name)) > 180:
                    raise InvalidParameter(name, float(getattr(self, name)), "a longitude from -180 to 180")
        if not self.south < self.north:
            raise InvalidParameter("south, north", (float(self.south), float(self.north)), "the first below the second")
        if not self.west < self.east:
            rule = "the first below the second; a box does not cross the date line"
            raise InvalidParameter("west, east", (float(self.west), float(self.east)), rule)
        if min(self.edges[2] - self.edges[0], self.edges[3] - self.edges[1]) < 1 or min(self.width, self.height) < 1:
            raise InvalidParameter("box", "less than a metre", "at least one metre wide and high")

    @classmethod
    def of(cls, south: Number, west: Number, north: Number, east: Number, *, plane: bool = False) -> Box:
        """Return the box between four numbers of any kind; a float means its shortest decimal."""
        named = {"south": south, "west": west, "north": north, "east": east}
        return cls(**{name: exact(name, value) for name, value in named.items()}, plane=plane)

    @property
    def steps(self) -> int:
        """How many steps make a degree, or a metre of a plane."""
        return METRE_STEPS if self.plane else DEGREE_STEPS

    @cached_property
    def edges(self) -> tuple[int, int, int, int]:
        """South, west, north and east in steps."""
        half = Fraction(1, 2)
        south, west, north, east = (
            int((edge * self.steps + half) // 1) for edge in (self.south, self.west, self.north, self.east)
        )
        return south, west, north, east

    @cached_property
    def projection(self) -> Projection:
        """Metres east and north of the centre of the box."""
        return over_plane(self.edges) if self.plane else over_degrees(self.edges)

    @property
    def width(self) -> Fraction:
        """Metres from west to east, in the plane."""
        return (self.edges[3] - self.edges[1]) * self.projection.east

    @property
    def height(self) -> Fraction:
        """Metres from south to north, in the plane."""
        return (self.edges[2] - self.edges[0]) * self.projection.north

    @property
    def diagonal(self) -> Fraction:
        """Metres between opposite corners, in the plane, never too few."""
        return sqrt_up(self.width**2 + self.height**2)

    def read(self, latitudes: Any, longitudes: Any) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return rows of latitude and longitude in steps, and which of them are places at all.

        Not a place: NaN, a latitude beyond 90, a longitude beyond 180 (plane: a number beyond 2^24 m).
        """
        limits = (FARTHEST, FARTHEST) if self.plane else (90, 180)
        north, up = read_steps(latitudes, self.steps, limits[0])
        east, along = read_steps(longitudes, self.steps, limits[1])
        return np.stack([north, east], axis=-1), up & along

    def inside(self, places: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which places, in steps, lie in the box or on its edges."""
        south, west, north, east = self.edges
        return np.asarray(((places >= (south, west)) & (places <= (north, east))).all(axis=-1))

    def clamp(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the nearest places in the box, coordinate by coordinate."""
        south, west, north, east = self.edges
        return np.clip(places, (south, west), (north, east))

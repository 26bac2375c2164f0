"""Extents: an area between two latitudes and two longitudes, or between plane coordinates, of any size.

Places are read in steps and are inside or outside. There are no distances here, so that a country or the world may be
an extent; a ``Box`` is one that is small enough for metres.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dither.data.places.projection import DEGREE_STEPS, FARTHEST, METRE_STEPS, read_steps
from dither.errors import InvalidParameter
from dither.exact import Number, exact, typed


@dataclass(frozen=True)
@typed
class Extent:
    """An area between two latitudes and two longitudes, or between two numbers of metres to the north and to the east.

    Args:
        south: the southern edge, in degrees (metres with ``plane``).
        west: the western edge.
        north: the northern edge.
        east: the eastern edge.
        plane: whether the numbers are metres in a plane.

    >>> world = Extent.of(-90, -180, 90, 180)
    >>> places, known = world.read([52.5, 95], [13.4, 13.4])
    >>> world.inside(places).tolist(), known.tolist()
    ([True, True], [True, False])

    """

    south: Fraction
    west: Fraction
    north: Fraction
    east: Fraction
    plane: bool = False

    def __post_init__(self) -> None:
        """Refuse numbers out of range, the date line, and areas of nothing."""
        for name in ("south", "west", "north", "east"):
            object.__setattr__(self, name, Fraction(getattr(self, name)))
        if self.plane:
            for name in ("south", "west", "north", "east"):
                if abs(getattr(self, name)) > FARTHEST:
                    raise InvalidParameter(name, float(getattr(self, name)), "at most 2^24 metres from the origin")
        else:
            for name, most in (("south", 90), ("north", 90), ("west", 180), ("east", 180)):
                if abs(getattr(self, name)) > most:
                    what = "a latitude" if most == 90 else "a longitude"
                    rule = f"{what} from -{most} to {most} (are latitude and longitude swapped?)"
                    raise InvalidParameter(name, float(getattr(self, name)), rule)
        if not self.south < self.north:
            raise InvalidParameter("south, north", (float(self.south), float(self.north)), "the first below the second")
        if not self.west < self.east:
            rule = "the first below the second; a box does not cross the date line"
            raise InvalidParameter("west, east", (float(self.west), float(self.east)), rule)

    @classmethod
    def of(cls, south: Number, west: Number, north: Number, east: Number, *, plane: bool = False) -> Self:
        """Return the area between four numbers of any kind; a float means its shortest decimal."""
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

    def read(self, latitudes: Any, longitudes: Any) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return rows of latitude and longitude in steps, and which of them are places at all.

        Not a place: NaN, a latitude beyond 90, a longitude beyond 180 (plane: a number beyond 2^24 m).
        """
        limits = (FARTHEST, FARTHEST) if self.plane else (90, 180)
        north, up = read_steps(latitudes, self.steps, limits[0])
        east, along = read_steps(longitudes, self.steps, limits[1])
        return np.stack([north, east], axis=-1), up & along

    def inside(self, places: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which places, in steps, lie in the area or on its edges."""
        south, west, north, east = self.edges
        return np.asarray(((places >= (south, west)) & (places <= (north, east))).all(axis=-1))

    def clamp(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the nearest places in the area, coordinate by coordinate."""
        south, west, north, east = self.edges
        return np.clip(places, (south, west), (north, east))

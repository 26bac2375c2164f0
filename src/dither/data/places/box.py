"""Boxes: the declared area in which places lie, by latitude and longitude or by plane coordinates in metres.

A box is public and comes from the curator, never from rows. It must not contain a pole or cross the date line, and may
be up to 200 km wide and high (plane coordinates: up to 2^24 m from the origin). A row outside is left out or moved to
the nearest place of the box, by a rule that its user states.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from dither.data.places.extent import Extent
from dither.data.places.projection import NORTHERNMOST, SOUTHERNMOST, Projection, over_degrees, over_plane
from dither.errors import InvalidParameter
from dither.exact import sqrt_up, typed


@dataclass(frozen=True)
@typed
class Box(Extent):
    """An area that is small enough for metres: at most 200 km wide and high, at latitudes where people are counted.

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

    def __post_init__(self) -> None:
        """Refuse poles, the date line, swapped numbers, boxes without an area and boxes too large for one plane."""
        super().__post_init__()
        for name in () if self.plane else ("south", "north"):
            if not SOUTHERNMOST <= getattr(self, name) <= NORTHERNMOST:
                rule = f"a latitude from {SOUTHERNMOST} to {NORTHERNMOST} (are latitude and longitude swapped?)"
                raise InvalidParameter(name, float(getattr(self, name)), rule)
        if min(self.edges[2] - self.edges[0], self.edges[3] - self.edges[1]) < 1 or min(self.width, self.height) < 1:
            raise InvalidParameter("box", "less than a metre", "at least one metre wide and high")

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

"""Places: what is public about a table whose rows say where somebody was, or from where to where a trip went.

A row has a position (two columns, within a declared box), a second position where a trip ended, or two declared zones.
What becomes of a position is stated by rule. A missing or not finite coordinate, or the latitude and longitude (0, 0),
which stands for "unknown" in many files, is no position: the row does not count. A position outside the box is dropped,
or clamped to its border.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Final

from dither.data.expressions import Kind
from dither.data.kinds import Declaration, declares
from dither.errors import InvalidParameter
from dither.exact import typed, whole

if TYPE_CHECKING:
    from dither.data.schema import DataSet, Table

DEGREES: Final = "degrees"
METRES: Final = "metres"
DROP: Final = "drop"
CLAMP: Final = "clamp"
#: Plane coordinates farther out are no longer exact to a millimetre in doubles.
_FARTHEST: Final = 1e9
#: The most trips of a person, and points of a trip, that may be declared.
MOST_TRIPS: Final = 2**12
MOST_POINTS: Final = 2**12


@declares
@dataclass(frozen=True)
@typed
class Places(Declaration):
    """Positions in a table.

    Args:
        at: the two columns of the position: latitude and longitude (WGS 84), in this order, or x and y in metres.
        box: the least of the first, the least of the second, the largest of the first, the largest of the second:
            south, west, north, east.
        coordinates: "degrees" or "metres".
        outside: what becomes of positions outside the box: "drop" or "clamp".
        to: the two columns of the position where a trip ended, where a row is a trip.
        zones: in place of positions, the two columns that hold the declared zones where a trip began and ended.
        trip: the column that tells the trips of a person apart, where a row is a point of a journey.
        time: the column that orders the points of a trip: an integer, a real, a date or a timestamp.
        trips: the most trips of one person that count.
        points: the most points of one trip that count.

    >>> Places(("lat", "lon"), (40.5, -74.3, 40.95, -73.6)).sides
    ((40.5, 40.95), (-74.3, -73.6))

    """

    at: tuple[str, ...] = ()
    box: tuple[float, ...] = ()
    coordinates: str = DEGREES
    outside: str = DROP
    to: tuple[str, ...] = ()
    zones: tuple[str, ...] = ()
    trip: str | None = None
    time: str | None = None
    trips: int | None = None
    points: int | None = None

    kind: ClassVar[str] = "places"
    called: ClassVar[str] = "places"
    keys: ClassVar[Mapping[str, str]] = MappingProxyType(
        {key: key for key in ("at", "to", "zones", "box", "coordinates", "outside", "trip", "time")}
        | {"trips per person": "trips", "points per trip": "points"}
    )
    hint: ClassVar[str] = (
        "If rows say where people are: 'places: {at: [LATITUDE, LONGITUDE], box: [S, W, N, E]}' below."
    )

    def __post_init__(self) -> None:
        """Refuse what is neither positions in a box nor zones, a box of no area, and half a journey."""
        if bool(self.at) == bool(self.zones):
            raise InvalidParameter("at", self.at, "the two columns of a position, or zones in their place")
        for name in ("at", "to", "zones"):
            columns = getattr(self, name)
            if columns and (len(columns) != 2 or columns[0] == columns[1]):
                raise InvalidParameter(name, columns, "two different columns")
        for name, allowed in (("coordinates", (DEGREES, METRES)), ("outside", (DROP, CLAMP))):
            if getattr(self, name) not in allowed:
                raise InvalidParameter(name, getattr(self, name), " or ".join(map(repr, allowed)))
        if self.zones:
            given = [name for name in ("box", "to", "trip", "time", "trips", "points") if getattr(self, name)]
            if given:
                raise InvalidParameter(given[0], getattr(self, given[0]), "not allowed where zones are declared")
            return
        self._check_box()
        if set(self.to) & set(self.at):
            raise InvalidParameter("to", self.to, "columns other than those of the first position")
        self._check_journey()

    def _check_box(self) -> None:
        box = self.box
        if len(box) != 4 or not all(math.isfinite(end) for end in box):
            raise InvalidParameter("box", box, "four finite numbers: south, west, north, east")
        (south, north), (west, east) = self.sides
        if self.coordinates == DEGREES:
            if not -90 <= south <= 90 or not -90 <= north <= 90:
                rule = "with latitudes between -90 and 90: the order is south, west, north, east (latitude first)"
                raise InvalidParameter("box", box, rule)
            if not -180 <= west <= 180 or not -180 <= east <= 180:
                raise InvalidParameter("box", box, "with longitudes between -180 and 180")
            if west > east:
                rule = "with its west below its east: for a box across the date line declare a table for each side"
                raise InvalidParameter("box", box, rule)
        elif max(map(abs, box)) > _FARTHEST:
            raise InvalidParameter("box", box, f"within {_FARTHEST:g} metres of the origin")
        if not (south < north and west < east):
            raise InvalidParameter("box", box, "of an area above 0: south below north, and west below east")

    def _check_journey(self) -> None:
        if (self.trip is None) != (self.time is None):
            raise InvalidParameter("trip", self.trip, "set together with time: which trip a point is of, and its order")
        for name in ("trips", "points"):
            limit = getattr(self, name)
            if (limit is None) != (self.trip is None):
                raise InvalidParameter(
                    name, limit, "set exactly if trip and time are: it limits what counts of a person"
                )
            if limit is not None:
                whole(name, limit, least=1, most=MOST_TRIPS if name == "trips" else MOST_POINTS)
        if self.trip is not None and self.to:
            raise InvalidParameter("to", self.to, "not allowed where rows are points of journeys")

    @property
    def sides(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """The least and largest first coordinate, and second."""
        return (self.box[0], self.box[2]), (self.box[1], self.box[3])

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that are named."""
        named = (self.trip, self.time)
        return (*self.at, *self.to, *self.zones, *(name for name in named if name is not None))

    def check(self, table: Table) -> None:
        """Refuse places of a public table, and columns that are no positions, zones or times."""
        here, columns = f"places of {table.name}", {column.name: column for column in table.columns}
        if table.is_public:
            raise InvalidParameter(here, self.columns, "not allowed for a public table")
        for name in self.columns:
            if name not in columns:
                raise InvalidParameter(here, name, f"one of its columns {', '.join(columns)}")
        for name in (*self.at, *self.to):
            if not columns[name].kind.is_number:
                raise InvalidParameter(here, name, "a column of real numbers or integers")
        for name in self.zones:
            if columns[name].kind not in (Kind.TEXT, Kind.INTEGER) or columns[name].public_values is None:
                rule = "a column of text or integers with categories, or integers with bounds"
                raise InvalidParameter(here, name, rule)
        if self.trip is not None and columns[self.trip].kind not in (Kind.TEXT, Kind.INTEGER):
            raise InvalidParameter(here, self.trip, "a column of text or integers")
        if self.time is not None and columns[self.time].kind in (Kind.TEXT, Kind.BOOLEAN):
            raise InvalidParameter(here, self.time, "a column of numbers, dates or timestamps")

    def first_command(self, dataset: DataSet, called: str) -> str:
        """Return what is made of such rows first: journeys, flows or a map."""
        return (
            f"dither places {called} {'synthesize' if self.trip else 'flows' if self.zones or self.to else 'heatmap'}"
        )

    @classmethod
    def drafted(cls, names: Sequence[str]) -> Sequence[str]:
        """Return places as a schema has them, where names are those of positions."""
        from dither.data.hints import position_pairs

        pairs = position_pairs(names)
        if not pairs:
            return ()
        ends = f", to: [{', '.join(pairs[1][:2])}]" if len(pairs) > 1 and pairs[1][2] == pairs[0][2] else ""
        metres = "" if pairs[0][2] else ", coordinates: metres"
        return (
            "decide, where rows hold positions of people: the public box in which positions count, in round",
            "numbers that anybody could know; then 'dither places' draws maps.",
            f"places: {{at: [{', '.join(pairs[0][:2])}]{ends}, box: [SOUTH, WEST, NORTH, EAST]{metres}}}",
        )

"""Regions: named public areas, read from GeoJSON, with holes.

A region is one or more polygons. Corners are read to the same steps as places, and whether a place lies inside is
decided by integers: a place is inside if a ray to the east crosses the borders an odd number of times, the lower end of
a border counting and the upper not. So two regions with a common border share no place, and leave none of it out; where
the border of one region crosses itself, what it goes around twice is outside. Where regions overlap, a place belongs to
the first of them in the file. A region outside the box has no place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.data.places.extent import Extent
from dither.errors import InvalidParameter
from dither.exact import typed

#: How many corners all regions together may have.
MOST_CORNERS: Final = 2**20
LONGEST_NAME: Final = 200
#: What no file can hold: U+0000, and halves of surrogate pairs.
_NOT_UNICODE: Final = re.compile("[\0\ud800-\udfff]")
#: Products below this are exact in 64 bits, with room for a rounded factor.
_EXACT: Final = 2.0**62
_RULE: Final = "GeoJSON: a collection of features that are polygons, each with a different name"


@dataclass(frozen=True)
@typed
class Region:
    """A named area: rings of corners (latitude, longitude), in steps. A hole is one more ring.

    The last corner of a ring is joined to the first.
    """

    name: str
    rings: tuple[tuple[tuple[int, int], ...], ...]

    def __post_init__(self) -> None:
        """Refuse rings with fewer than three corners."""
        if not self.rings or any(len(ring) < 3 for ring in self.rings):
            raise InvalidParameter("rings", self.name, "one or more rings of at least three corners")

    def has(self, places: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which places, rows of latitude and longitude in steps, lie inside."""
        inside = np.zeros(len(places), dtype=bool)
        north, east = places[:, 0], places[:, 1]
        for ring in self.rings:
            for (low, start), (high, end) in zip(ring, (*ring[1:], ring[0]), strict=True):
                if low == high:
                    continue
                # Upwards, so that both regions at a border do the same arithmetic.
                bottom, left, top, right = (low, start, high, end) if low < high else (high, end, low, start)
                near = (north >= bottom) & (north < top)
                inside[near] ^= east[near] < border_at(north[near], bottom, left, top, right)
        return inside


def border_at(north: Any, bottom: Any, left: Any, top: Any, right: Any) -> NDArray[np.int64]:
    """Return the first step that is not west of a border, at latitudes from its bottom to below its top; all in steps.

    >>> border_at(np.array([0, 1, 2]), 0, 10, 3, 0).tolist()
    [10, 7, 4]

    """
    up, high, wide = np.subtract(north, bottom), np.subtract(top, bottom), np.subtract(right, left)
    if float(np.max(high, initial=0)) * float(np.max(np.abs(wide), initial=0)) >= _EXACT:
        up, high, wide = (np.asarray(part).astype(object) for part in (up, high, wide))
    return np.asarray(left - (-(up * wide) // high), dtype=np.int64)


@dataclass(frozen=True)
@typed
class Regions:
    """Named areas of a box, of which a place belongs to the first that has it.

    >>> square = lambda name, west: {"type": "Feature", "properties": {"name": name}, "geometry": {"type": "Polygon",
    ...     "coordinates": [[[west, 0], [west + 10, 0], [west + 10, 10], [west, 10], [west, 0]]]}}
    >>> box = Extent(0, 0, 10, 30, plane=True)
    >>> both = read_regions({"type": "FeatureCollection", "features": [square("a", 0), square("b", 10)]}, box)
    >>> both.names, both.region_of([5, 5, 5], [1, 10, 25]).tolist()
    (('a', 'b'), [0, 1, -1])

    """

    box: Extent
    regions: tuple[Region, ...]

    def __post_init__(self) -> None:
        """Refuse an empty list, names that occur twice, and more corners than can be looked at."""
        if not self.regions:
            raise InvalidParameter("regions", (), "one or more regions")
        if len(set(self.names)) < len(self.names):
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise InvalidParameter("regions", twice, "a different name for each region")
        corners = sum(len(ring) for region in self.regions for ring in region.rings)
        if corners > MOST_CORNERS:
            raise InvalidParameter("regions", corners, f"at most {MOST_CORNERS} corners")

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in the order of the file."""
        return tuple(region.name for region in self.regions)

    def region_of(self, latitudes: Any, longitudes: Any) -> NDArray[np.int64]:
        """Return the number of each place's region; -1 where there is none, or no place."""
        places, known = self.box.read(latitudes, longitudes)
        known &= self.box.inside(places)
        return np.where(known, self.region_of_steps(places), -1)

    def region_of_steps(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of the region of each row of latitude and longitude in steps; -1 where there is none."""
        found = np.full(len(places), -1, dtype=np.int64)
        for number, region in enumerate(self.regions):
            left = np.flatnonzero(found < 0)
            found[left[region.has(places[left])]] = number
        return found


def read_regions(source: str | Path | Mapping[str, Any], box: Extent, *, name: str = "name") -> Regions:
    """Return the regions of a GeoJSON file, text or object; ``name`` is the property that names them."""
    if not isinstance(name, str):
        raise InvalidParameter("name", name, "a string: the property that names a region")
    tree = geojson_tree(source)
    features = tree.get("features") if isinstance(tree, Mapping) and tree.get("type") == "FeatureCollection" else None
    if not isinstance(features, list):
        raise InvalidParameter("regions", "another kind of file", _RULE)
    return Regions(box, tuple(_region(feature, box, name, number) for number, feature in enumerate(features)))


def geojson_tree(source: str | Path | Mapping[str, Any]) -> Any:
    """Return the object that a file or a text holds, or the object itself.

    Args:
        source: a path, a text that begins with a brace, or an object.

    """
    if isinstance(source, Mapping):
        return source
    if isinstance(source, str) and source.lstrip().startswith("{"):
        text = source
    else:
        try:
            text = Path(source).read_text(encoding="utf-8-sig")
        except (OSError, ValueError, TypeError):
            raise InvalidParameter("regions", str(source), "a file that can be read as UTF-8 text") from None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidParameter("regions", "not JSON", _RULE) from None


def _region(feature: Any, box: Extent, name: str, number: int) -> Region:
    where = f"feature {number + 1}"
    geometry = feature.get("geometry") if isinstance(feature, Mapping) else None
    properties = feature.get("properties") if isinstance(feature, Mapping) else None
    called = properties.get(name) if isinstance(properties, Mapping) else None
    if isinstance(called, bool) or not isinstance(called, str | int) or called == "":
        raise InvalidParameter("regions", where, f"a string or an integer in its property {name!r}")
    is_long = abs(called) >= 2**63 if isinstance(called, int) else len(called) > LONGEST_NAME
    if is_long or _NOT_UNICODE.search(str(called)):
        raise InvalidParameter("regions", where, f"a name of at most {LONGEST_NAME} characters of Unicode")
    kind, polygons = (geometry.get("type"), geometry.get("coordinates")) if isinstance(geometry, Mapping) else (None, 0)
    if kind not in ("Polygon", "MultiPolygon"):
        raise InvalidParameter("regions", f"{where}: {kind}", "a Polygon or a MultiPolygon")
    polygons = [polygons] if kind == "Polygon" else polygons
    if not (isinstance(polygons, list) and all(isinstance(polygon, list) for polygon in polygons)):
        raise InvalidParameter("regions", where, "lists of rings of [longitude, latitude]")
    return Region(str(called), tuple(_ring(ring, box, where) for polygon in polygons for ring in polygon))


def _ring(ring: Any, box: Extent, where: str) -> tuple[tuple[int, int], ...]:
    corners = _corners(ring)
    if corners is None:
        raise InvalidParameter("regions", where, "rings of [longitude, latitude], which are numbers")
    if len(corners) < 4 or not (corners[0] == corners[-1]).all():
        raise InvalidParameter("regions", where, "closed rings: the last of four or more corners is the first again")
    places, known = box.read(corners[:, 1], corners[:, 0])
    if not known.all():
        rule = "longitudes from -180 to 180 before latitudes from -90 to 90 (plane: metres east, then north)"
        raise InvalidParameter("regions", where, rule)
    return tuple(map(tuple, places[:-1].tolist()))


def _corners(ring: Any) -> NDArray[np.float64] | None:
    """Return rows of longitude and latitude; None where a ring holds anything else. Heights are left out."""
    if not isinstance(ring, list) or not all(isinstance(corner, list) and len(corner) >= 2 for corner in ring):
        return None
    flat = [number for corner in ring for number in corner[:2]]
    if not {type(number) for number in flat} <= {int, float}:
        return None
    try:
        return np.array(flat, dtype=np.float64).reshape(-1, 2)
    except OverflowError:
        return None

"""Counts by region as tables and maps: released as such, or sums of a released heat map, at no further cost.

A cell of a heat map belongs to the region in which its middle lies, so that borders run along the cells: an
approximation that is finer the finer the grid is. Cells in no region count nowhere. Made of released numbers and a
public file.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from dither.data.columns import ColumnRows
from dither.data.place_tables import DEGREES, Places
from dither.data.places import Regions, region_map
from dither.data.places.regions import geojson_tree, read_regions
from dither.errors import InvalidParameter
from dither.pages.clipping import clipped
from dither.pages.frame import Axis, Chart
from dither.pages.maps import Ground, Lines, ground_map
from dither.publish.places.region_planning import extent_of
from dither.publish.places.shown import PlaceMap, error_words, map_page, save_map
from dither.publish.queries import QueryResult, ResultColumn

#: Cells in which a map of regions is drawn, and parts of its width below which corners are not told apart.
_SHOWN: Final = (160, 160)
_FINEST: Final = 800


@dataclass(frozen=True)
class RegionFile:
    """A public GeoJSON file over the declared box, read and checked.

    Args:
        regions: the named areas.
        tree: the file.

    """

    regions: Regions
    tree: Mapping[str, Any]

    @classmethod
    def read(cls, source: str | Path | Mapping[str, Any], places: Places, *, name: str = "name") -> RegionFile:
        """Return the regions of a file, a text or an object.

        Args:
            source: GeoJSON, a collection of polygons.
            places: what is public about the positions.
            name: the property that names a region.

        """
        if not places.box:
            raise InvalidParameter("regions", "given", "not allowed where zones are declared, which have no place")
        tree = geojson_tree(source)
        return cls(read_regions(tree, extent_of(places), name=name), tree)

    def counts(self, found: PlaceMap) -> QueryResult:
        """Return a row for each region: its name, the sum of its cells, and how many cells these are."""
        if found.places.box != self.box:
            raise InvalidParameter("regions", "of another box", "read for the box of the map")
        drawn = region_map(self.regions, found.grid)
        numbers, cells = drawn.cells, drawn.sizes
        inside, many = numbers >= 0, len(self.regions.names)
        counts = np.bincount(numbers[inside], found.density.ravel()[inside], many)
        columns = (
            ResultColumn("region", "text", is_key=True),
            ResultColumn("cells", "integer", is_key=True),
            ResultColumn("count", "real", is_key=False, estimand="the sum of the cells whose middles are inside"),
        )
        rows = ColumnRows([list(self.regions.names), cells, counts], many)
        nothing = ColumnRows([None] * 3, many)
        notes = (
            "sums of a released heat map: no interval is known",
            f"{int((~inside).sum()):,} of {numbers.size:,} cells are in no region",
        )
        return replace(found.result, columns=columns, rows=rows, low=nothing, high=nothing, notes=notes, raw=rows)

    @property
    def box(self) -> tuple[float, ...]:
        """South, west, north and east, as declared."""
        of = self.regions.box
        return tuple(float(edge) for edge in (of.south, of.west, of.north, of.east))

    def geojson(self, counted: QueryResult) -> dict[str, Any]:
        """Return the file with the count of each region among its properties."""
        filled: dict[str, Any] = copy.deepcopy(dict(self.tree))
        told = [name for name in counted.names if name != "region"]
        for place, feature in enumerate(filled["features"]):
            feature["properties"] |= {name: counted.column(name)[place] for name in told}
        return filled | {"dither": {"loss": str(counted.loss), "unit": counted.unit, "receipt": counted.receipt}}


@dataclass(frozen=True)
class RegionCounts:
    """Released counts by region, with the public file of the regions: a table, GeoJSON and a map.

    Args:
        result: a row for each region, in the order of the file.
        file: the regions.
        places: what is public about the positions.

    """

    result: QueryResult
    file: RegionFile
    places: Places

    def geojson(self) -> dict[str, Any]:
        """Return the file with the count of each region among its properties."""
        return self.file.geojson(self.result)

    def chart(self, *, title: str = "") -> Chart:
        """Return a map: how many there are in each part of a region, and the borders.

        Args:
            title: above it.

        """
        (south, north), (west, east) = self.places.sides
        ground = Ground(south, west, north, east, self.places.coordinates == DEGREES)
        drawn = region_map(self.file.regions, _SHOWN)
        counts = np.maximum(np.array(self.result.column("count"), dtype=np.float64), 0.0)
        # A region of many cells is no fuller than a small one with as many people.
        dense = np.append(counts / np.maximum(drawn.sizes, 1) * (drawn.cells.size / 100), 0.0)
        chart = ground_map(
            title or "How many are in each region",
            ground,
            cells=dense[drawn.cells].reshape(_SHOWN),
            shown=Axis("density"),
            lines=[Lines("borders", self._borders(ground), width=0.8)],
            error=error_words(self.result, "the count of a region"),
        )
        told = "Density: the count on one per cent of the map."
        return chart.captioned(f"{told} Released with {self.result.loss}, for {self.result.unit}.")

    def page(self, *, title: str = "") -> str:
        """Return an HTML page with the map; it needs no network.

        Args:
            title: of the page.

        """
        return map_page(self.chart(title=title), self.result)

    def _borders(self, ground: Ground) -> list[list[tuple[float, float]]]:
        steps = self.file.regions.box.steps
        low, high = (ground.south, ground.west), (ground.north, ground.east)
        near = ((high[0] - low[0]) / _FINEST, (high[1] - low[1]) / _FINEST)
        rings = [ring for region in self.file.regions.regions for ring in region.rings]
        found = ([(north / steps, east / steps) for north, east in (*ring, ring[0])] for ring in rings)
        return [part for ring in found for part in clipped(ring, low, high, near)]

    def save(self, path: Path | str) -> Path:
        """Write the map to a file ending in .geojson, .html or .svg, and return its path."""
        return save_map(path, self.geojson, self.page, lambda: self.chart().svg())

    def _repr_svg_(self) -> str:
        """Show the map in a notebook."""
        return self.chart().svg()

    def __str__(self) -> str:
        return str(self.result)

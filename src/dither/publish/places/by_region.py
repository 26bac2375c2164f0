"""Counts by region: sums of a released heat map over the areas of a public GeoJSON file, at no further cost.

A cell belongs to the region in which its middle lies, so that borders run along the cells: an approximation that is
finer the finer the grid is. Cells in no region count nowhere. Made of released numbers and a public file.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dither.data.columns import ColumnRows
from dither.data.place_tables import DEGREES, Places
from dither.data.places import Box, Regions
from dither.data.places.regions import geojson_tree, read_regions
from dither.errors import InvalidParameter
from dither.publish.places.planning import cell_middles
from dither.publish.places.shown import PlaceMap
from dither.publish.queries import QueryResult, ResultColumn


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
            places: what is public about the positions, whose box is at most 200 km wide and high.
            name: the property that names a region.

        """
        if not places.box:
            raise InvalidParameter("regions", "given", "left out where zones are declared, which have no place")
        tree = geojson_tree(source)
        box = Box.of(*places.box, plane=places.coordinates != DEGREES)
        return cls(read_regions(tree, box, name=name), tree)

    def counts(self, found: PlaceMap) -> QueryResult:
        """Return a row for each region: its name, the sum of its cells, and how many cells these are."""
        if found.places.box != self.box:
            raise InvalidParameter("regions", "of another box", "read for the box of the map")
        numbers = self.regions.region_of(*cell_middles(found.places, found.grid))
        inside, many = numbers >= 0, len(self.regions.names)
        counts = np.bincount(numbers[inside], found.density.ravel()[inside], many)
        cells = np.bincount(numbers[inside], minlength=many)
        columns = (
            ResultColumn("region", "text", is_key=True),
            ResultColumn("cells", "integer", is_key=True),
            ResultColumn("count", "real", is_key=False, estimand="the sum of the cells whose middles are inside"),
        )
        rows = ColumnRows([list(self.regions.names), cells, counts], many)
        nothing = ColumnRows([None] * 3, many)
        notes = (
            "sums of a released heat map: no interval is known",
            f"{int((~inside).sum()):,} of {numbers.size:,} cells lie in no region",
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
        for feature, count, cells in zip(
            filled["features"], counted.column("count"), counted.column("cells"), strict=True
        ):
            feature["properties"] |= {"count": count, "cells": cells}
        return filled | {"dither": {"loss": str(counted.loss), "unit": counted.unit, "receipt": counted.receipt}}

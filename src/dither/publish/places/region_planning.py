"""Public regions of a table of positions: read from GeoJSON, and their counts planned. Nothing here reads rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np

from dither.data.place_tables import DEGREES, Places
from dither.data.places import Extent, RegionMap, read_regions, region_map
from dither.data.places.regions import geojson_tree
from dither.data.schema import DataSet, Table
from dither.errors import InvalidParameter
from dither.lift.places import grid_shape
from dither.lift.regions import RegionCells
from dither.privacy import Loss
from dither.publish.places.planning import PlacePlan, cell_middles, counted
from dither.publish.queries import QueryResult

REGIONS: Final = "regions"
#: Cells along each side by which positions, and ends of trips, are given to regions.
_USUAL_FINE: Final = 512
_USUAL_PAIRS: Final = 256


@dataclass(frozen=True)
class Areas:
    """Public regions over a declared box.

    Args:
        drawn: the region of every cell of a fine grid.
        groups: by region, the larger region that it lies in, where such are named.

    """

    drawn: RegionMap
    groups: Mapping[str, str] | None = None

    @classmethod
    def read(
        cls,
        source: str | Path | Mapping[str, Any],
        places: Places,
        *,
        grid: Any = None,
        named: str = "name",
        within: str | None = None,
        are_trips: bool = False,
    ) -> Areas:
        """Return the regions of a GeoJSON file, text or object.

        Args:
            source: a collection of polygons; public.
            places: what is public about the positions.
            grid: the cells along each side of the box by which positions are given to regions, or two numbers; by
                default 512, and 256 for trips.
            named: the property that names a region.
            within: the property that names the larger region in which it lies, for flows.
            are_trips: whether trips are to be counted.

        """
        if not places.box:
            raise InvalidParameter(
                "regions", "polygons", "names by zone: the table declares zones, which have no place"
            )
        tree = geojson_tree(source)
        found = read_regions(tree, extent_of(places), name=named)
        usual = _USUAL_PAIRS if are_trips else _USUAL_FINE
        drawn = region_map(found, grid_shape(usual if grid is None else grid))
        return cls(drawn, None if within is None else _groups(tree["features"], found.names, within))

    @property
    def record(self) -> dict[str, Any]:
        """What decides a release, as plain data."""
        groups = None if self.groups is None else [self.groups[name] for name in self.drawn.names]
        runs = [list(self.drawn.starts), list(self.drawn.numbers)]
        return {"names": list(self.drawn.names), "grid": list(self.drawn.shape), "runs": runs, "within": groups}

    def middles(self, places: Places) -> dict[str, tuple[float, float]]:
        """Return where each region lies on a map: the middle of its cells, or that of the box where it has none.

        Args:
            places: what is public about the positions.

        """
        cells, sizes = self.drawn.cells, np.maximum(self.drawn.sizes, 1)
        ends = []
        shape = (self.drawn.shape[0], self.drawn.shape[1])
        for spots, (low, high) in zip(cell_middles(places, shape), places.sides, strict=True):
            sums = np.bincount(cells[cells >= 0], spots[cells >= 0], sizes.size)
            ends.append(np.where(self.drawn.sizes > 0, sums / sizes, (low + high) / 2).tolist())
        return dict(zip(self.drawn.names, zip(*ends, strict=True), strict=True))


def extent_of(places: Places) -> Extent:
    """Return the declared box, of any size.

    Args:
        places: with a box.

    """
    return Extent.of(*places.box, plane=places.coordinates != DEGREES)


def _groups(features: Any, names: tuple[str, ...], within: str) -> dict[str, str]:
    if not isinstance(within, str):
        raise InvalidParameter("within", within, "a string: the property that names the larger region")
    found = {}
    for name, feature in zip(names, features, strict=True):
        group = feature["properties"].get(within)
        if isinstance(group, bool) or not isinstance(group, str | int):
            raise InvalidParameter("within", within, f"a property of each region: {name!r} has no text or number there")
        found[name] = str(group)
    return found


def plan_regions(dataset: DataSet, table: Table, loss: Loss, *, areas: Areas, method: str = "auto") -> PlacePlan:
    """Return the release of how many positions lie in each region: a row for each, with its count and interval.

    Args:
        dataset: the schema.
        table: which declares positions.
        loss: what it may lose.
        areas: the regions.
        method: of ``publish.methods`` for one column, or "auto".

    """
    drawn = areas.drawn
    planned = counted(RegionCells(dataset, table.name, drawn), loss, method)
    outside = int(np.count_nonzero(drawn.cells < 0))
    rows, columns = drawn.shape
    said = (
        f"a position counts where the middle of its cell is, of {rows:,} x {columns:,}; {outside:,} cells are in no "
        "region"
    )
    none = int(np.count_nonzero(drawn.sizes == 0))
    bare = (f"{none:,} regions have no cell, being outside the box or too small for this grid",) if none else ()

    def present(out: Any, confidence: Fraction) -> QueryResult:
        shown = planned.present(out, confidence)
        return replace(shown, notes=(*shown.notes, said, *bare))

    return replace(planned, present=present)

"""What a release of places looks like: a map, GeoJSON, a page, a table. Made of released numbers, so it is free."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.data.place_tables import DEGREES, Places
from dither.errors import InvalidParameter
from dither.pages.frame import Axis, Chart
from dither.pages.maps import Ground, Lines, ground_map
from dither.pages.page import figure, note, page, page_target
from dither.publish.places.contours import Line, checked_levels, contour_lines
from dither.publish.queries import QueryResult

HEATMAP, FLOWS, JOURNEYS = "heatmap", "flows", "journeys"
ENDINGS: Final = (".geojson", ".html", ".svg")
#: A flow is drawn as a line; more than this many would hide each other.
_MOST_FLOWS: Final = 400
_MOST_JOURNEYS: Final = 600
_DIGITS: Final = 7
#: When a journey begins, where that was asked for.
_STARTS: Final = "start"
#: Two positions and a count.
_FLOW_COLUMNS: Final = 5


@dataclass(frozen=True)
class PlaceMap:
    """A released map of places.

    Args:
        result: the released table.
        kind: "heatmap", "flows" or "journeys".
        places: what is public about the positions.

    """

    result: QueryResult
    kind: str
    places: Places

    @property
    def ground(self) -> Ground:
        """The declared box."""
        if not self.places.box:
            rule = "one whose places have positions: zones have none, so there is no map of them"
            raise InvalidParameter("table", "zones", rule)
        south, west, north, east = self.places.box
        return Ground(south, west, north, east, self.places.coordinates == DEGREES)

    @cached_property
    def grid(self) -> tuple[int, int]:
        """The cells of a heat map along both coordinates: rows of the table are in the order of the cells."""
        firsts = self.result.column(self.result.names[0])
        columns = next((place for place, end in enumerate(firsts) if end != firsts[0]), len(firsts))
        return len(firsts) // max(columns, 1), columns

    @cached_property
    def density(self) -> NDArray[np.float64]:
        """The counts of a heat map, the row of the least first coordinate first."""
        if self.kind != HEATMAP:
            raise InvalidParameter("map", self.kind, "a heat map, which has a count for every cell")
        return np.array(self.result.column("count"), dtype=np.float64).reshape(self.grid)

    def position(self, row: float, column: float) -> tuple[float, float]:
        """Return the coordinates of a place on the grid; whole numbers and a half are middles of cells."""
        rows, columns = self.grid
        (south, north), (west, east) = self.places.sides
        return south + (north - south) * row / rows, west + (east - west) * column / columns

    def contours(self, levels: Sequence[Any]) -> dict[float, list[Line]]:
        """Return the lines on which the density has these levels, in coordinates.

        Args:
            levels: counts in a cell, above 0; public.

        """
        return {
            level: [[self.position(row + 0.5, column + 0.5) for row, column in line] for line in lines]
            for level in checked_levels(levels)
            for lines in (contour_lines(self.density, level),)
        }

    def by_region(self, regions: Any, *, name: str = "name") -> QueryResult:
        """Return the counts of a heat map added up by public regions: a cell belongs where its middle lies.

        Args:
            regions: GeoJSON, a collection of polygons: a path, a text or an object.
            name: the property that names a region.

        """
        from dither.publish.places.by_region import RegionFile

        return RegionFile.read(regions, self.places, name=name).counts(self)

    def chart(self, *, title: str = "", levels: Sequence[Any] = ()) -> Chart:
        """Return a picture of the map.

        Args:
            title: above it.
            levels: of contour lines over a heat map.

        """
        drawn: list[Lines] = []
        cells = None
        if self.kind == HEATMAP:
            cells = np.maximum(self.density, 0.0)
            drawn = [Lines(f"{level:g} in a cell", lines) for level, lines in self._lines(levels).items()]
        elif self.kind == FLOWS:
            drawn = self._flow_lines()
        else:
            drawn = [Lines("journeys", [line for _, line in self._journeys()][:_MOST_JOURNEYS], width=0.6)]
        words = (
            title
            or {HEATMAP: "Where people are", FLOWS: "From where to where", JOURNEYS: "Synthetic journeys"}[self.kind]
        )
        chart = ground_map(words, self.ground, cells=cells, shown=Axis("count"), lines=drawn)
        return chart.captioned(f"Released with {self.result.loss}, for {self.result.unit}.")

    def _lines(self, levels: Sequence[Any]) -> dict[float, list[Line]]:
        return self.contours(levels) if levels else {}

    def _flow_lines(self) -> list[Lines]:
        """Return straight lines between cells, in three strengths."""
        counts = np.array(self.result.column("count"), dtype=np.float64)
        lines = self._flows()
        kept = [place for place in np.argsort(-counts).tolist() if lines[place][0] != lines[place][1]][:_MOST_FLOWS]
        parts = [kept[: len(kept) // 10], kept[len(kept) // 10 : len(kept) // 3], kept[len(kept) // 3 :]]
        return [
            Lines(f"up to {counts[part[0]]:.0f} trips", [lines[place] for place in part], width)
            for part, width in zip(parts, (3.0, 1.5, 0.6), strict=True)
            if part
        ]

    def _flows(self) -> list[Line]:
        """Return a line from where trips began to where they ended, for each row; refuse zones, which have no place."""
        if len(self.result.names) != _FLOW_COLUMNS or not self.places.box:
            raise InvalidParameter("map", self.kind, "of positions: zones have none, so there is no map of them")
        ends = [np.array(self.result.column(name), dtype=np.float64).tolist() for name in self.result.names[:4]]
        return [[(row[0], row[1]), (row[2], row[3])] for row in zip(*ends, strict=True)]

    def _journeys(self) -> list[tuple[dict[str, Any], Line]]:
        """Return what is said of each journey, its number and when it begins, and its line."""
        trips, _, firsts, seconds = (np.array(self.result.column(name)) for name in self.result.names[:4])
        if not trips.size:
            return []
        starts = np.flatnonzero(np.concatenate([[True], trips[1:] != trips[:-1]])).tolist()
        ends = [*starts[1:], trips.size]
        told: list[dict[str, Any]] = [{"trip": int(trips[start])} for start in starts]
        if _STARTS in self.result.names[4:]:
            begun = self.result.column(_STARTS)
            told = [one | {_STARTS: begun[start]} for one, start in zip(told, starts, strict=True)]
        return [
            (one, list(zip(firsts[start:end].tolist(), seconds[start:end].tolist(), strict=True)))
            for one, start, end in zip(told, starts, ends, strict=True)
        ]

    def geojson(self, *, levels: Sequence[Any] = ()) -> dict[str, Any]:
        """Return the map as GeoJSON (RFC 7946): longitude first; empty cells are left out.

        Args:
            levels: with levels, the contour lines of a heat map in place of its cells.

        """
        if self.kind == HEATMAP and levels:
            found = [
                _feature("MultiLineString", [[_point(*spot) for spot in line] for line in lines], count=level)
                for level, lines in self.contours(levels).items()
            ]
        elif self.kind == HEATMAP:
            found = [self._cell(row, column) for row, column in np.argwhere(self.density > 0).tolist()]
        elif self.kind == FLOWS:
            counts = self.result.column("count")
            found = [
                _feature("LineString", [_point(*spot) for spot in line], count=count)
                for line, count in zip(self._flows(), counts, strict=True)
            ]
        else:
            found = [
                _feature("LineString", [_point(*spot) for spot in (line if len(line) > 1 else line * 2)], **told)
                for told, line in self._journeys()
            ]
        told = {"loss": str(self.result.loss), "unit": self.result.unit, "receipt": self.result.receipt}
        if self.places.coordinates != DEGREES:
            told["coordinates"] = "metres: x, y of the declared plane, and not longitude and latitude"
        return {"type": "FeatureCollection", "features": found, "dither": told}

    def _cell(self, row: int, column: int) -> dict[str, Any]:
        corners = [(row, column), (row, column + 1), (row + 1, column + 1), (row + 1, column), (row, column)]
        ring = [_point(*self.position(*corner)) for corner in corners]
        return _feature("Polygon", [ring], count=round(float(self.density[row, column]), 3))

    def page(self, *, title: str = "", levels: Sequence[Any] = ()) -> str:
        """Return an HTML page with the map; it needs no network.

        Args:
            title: of the page.
            levels: of contour lines.

        """
        chart = self.chart(title=title, levels=levels)
        notes = [note(words) for words in (*self.result.notes, f"Receipt: {self.result.receipt}")]
        return page(chart.title, figure(chart.markup()), *notes)

    def save(self, path: Path | str, *, levels: Sequence[Any] = ()) -> Path:
        """Write the map to a file ending in .geojson, .html or .svg, and return its path."""
        target = page_target(path, option="path", endings=ENDINGS)
        kind = target.suffix.lower()
        if kind == ".geojson":
            text = json.dumps(self.geojson(levels=levels), allow_nan=False)
        else:
            text = self.page(levels=levels) if kind == ".html" else self.chart(levels=levels).svg()
        target.write_text(text, encoding="utf-8")
        return target

    def _repr_svg_(self) -> str:
        """Show the map in a notebook."""
        return self.chart().svg()

    def __str__(self) -> str:
        return str(self.result)


def _point(first: float, second: float) -> list[float]:
    """Return a position as GeoJSON has it: longitude, latitude."""
    return [round(second, _DIGITS), round(first, _DIGITS)]


def _feature(kind: str, coordinates: Any, **properties: Any) -> dict[str, Any]:
    return {"type": "Feature", "geometry": {"type": kind, "coordinates": coordinates}, "properties": properties}

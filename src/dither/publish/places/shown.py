"""What a release of places looks like: a map, GeoJSON, a page, a table. Made of released numbers, so it is free."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.data.place_tables import DEGREES, Places
from dither.errors import InvalidParameter
from dither.mechanisms.claims import claims
from dither.pages.digits import two_digits
from dither.pages.frame import Axis, Chart
from dither.pages.maps import Ground, Lines, ground_map
from dither.pages.page import figure, note, page, page_target
from dither.publish.places.contours import Line, checked_levels, contour_lines
from dither.publish.queries import QueryResult

HEATMAP, FLOWS, JOURNEYS, STOPS = "heatmap", "flows", "journeys", "stops"
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
        kind: "heatmap", "flows", "journeys" or "stops".
        places: what is public about the positions.
        middles: of flows between public regions, where each of them lies.

    """

    result: QueryResult
    kind: str
    places: Places
    middles: Mapping[str, tuple[float, float]] | None = None

    @property
    def ground(self) -> Ground:
        """The declared box."""
        if not self.places.box:
            rule = "one whose places have positions: zones have no positions, so there is no map of them"
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

    @cached_property
    def error(self) -> float | None:
        """The largest error of a count by its interval; None without intervals."""
        return count_error(self.result)

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
            drawn = [
                Lines(f"{level:g} in a cell", lines, is_dashed=self._is_uncertain(level))
                for level, lines in self._lines(levels).items()
            ]
        elif self.kind == FLOWS:
            drawn = self._flow_lines()
        elif self.kind == STOPS:
            drawn = [Lines("stops, larger where there are more", self._circles(), width=2.0)]
        else:
            drawn = [Lines("journeys", [line for _, line in self._journeys()][:_MOST_JOURNEYS], width=0.6)]
        words = (
            title
            or {
                HEATMAP: "Where people are",
                FLOWS: "From where to where",
                JOURNEYS: "Synthetic journeys",
                STOPS: "Where people stop",
            }[self.kind]
        )
        named = {HEATMAP: "a cell", FLOWS: "a flow", STOPS: "a stop"}.get(self.kind, "")
        error = error_words(self.result, named) if named else ""
        chart = ground_map(words, self.ground, cells=cells, shown=Axis("count"), lines=drawn, error=error)
        dashed = "Dashed lines are below the error of a cell: noise alone may draw them. "
        told = dashed if any(layer.is_dashed for layer in drawn) else ""
        return chart.captioned(f"{told}Released with {self.result.loss}, for {self.result.unit}.")

    def _is_uncertain(self, level: float) -> bool:
        """Whether a count is smaller than what it may be off by."""
        return self.error is not None and level < self.error

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
        if self.middles is not None:
            named = [self.result.column(name) for name in self.result.names[:2]]
            return [[self.middles[str(one)], self.middles[str(other)]] for one, other in zip(*named, strict=True)]
        if len(self.result.names) != _FLOW_COLUMNS or not self.places.box:
            raise InvalidParameter(
                "map", self.kind, "of positions: zones have no positions, so there is no map of them"
            )
        ends = [np.array(self.result.column(name), dtype=np.float64).tolist() for name in self.result.names[:4]]
        return [[(row[0], row[1]), (row[2], row[3])] for row in zip(*ends, strict=True)]

    def _spots(self) -> list[tuple[float, float, float]]:
        """Return the coordinates of stops, and their counts."""
        columns = (np.array(self.result.column(name), dtype=np.float64).tolist() for name in self.result.names[1:4])
        return list(zip(*columns, strict=True))

    def _circles(self) -> list[Line]:
        """Return a ring around each stop, whose area grows with its count; rings end at the edges of the map."""
        (south, north), (west, east) = self.places.sides
        largest = max((count for _, _, count in self._spots()), default=0.0)
        turns = [2 * math.pi * part / 24 for part in range(25)]
        rings = []
        for up, along, count in self._spots():
            reach = 0.005 + 0.025 * math.sqrt(count / largest if largest > 0 else 0.0)
            high = reach * 560 / self.ground.height * (north - south)
            ring = [(up + high * math.sin(turn), along + reach * (east - west) * math.cos(turn)) for turn in turns]
            rings.append([(min(max(y, south), north), min(max(x, west), east)) for y, x in ring])
        return rings

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
                _feature(
                    "MultiLineString",
                    [[_point(*spot) for spot in line] for line in lines],
                    count=level,
                    **({} if self.error is None else {"below_error": self._is_uncertain(level)}),
                )
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
        elif self.kind == STOPS:
            found = [_feature("Point", _point(up, along), count=count) for up, along, count in self._spots()]
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
        return map_page(self.chart(title=title, levels=levels), self.result)

    def save(self, path: Path | str, *, levels: Sequence[Any] = ()) -> Path:
        """Write the map to a file ending in .geojson, .html or .svg, and return its path."""
        return save_map(
            path,
            lambda: self.geojson(levels=levels),
            lambda: self.page(levels=levels),
            lambda: self.chart(levels=levels).svg(),
        )

    def _repr_svg_(self) -> str:
        """Show the map in a notebook."""
        return self.chart().svg()

    def __str__(self) -> str:
        return str(self.result)


def count_error(result: QueryResult) -> float | None:
    """Return the largest error of a released count by its interval; None without intervals."""
    counts = zip(result.column("count"), result.interval("count"), strict=True)
    off = [float(high) - float(value) for value, (_, high) in counts if high is not None]  # type: ignore[arg-type]
    return max(off, default=None)


def error_words(result: QueryResult, named: str) -> str:
    """Return the error of counts for the key of a map.

    Args:
        result: what was released.
        named: what a count is of.

    """
    error = count_error(result)
    share = f"{float(result.confidence) * 100:g} %"
    return "" if not error else f"{named} is within ± {two_digits(error)} ({share})"


def map_page(chart: Chart, result: QueryResult) -> str:
    """Return an HTML page with a map and what is known about its release; it needs no network.

    Args:
        chart: the map.
        result: what was released.

    """
    has_intervals = any(end is not None for row in result.high for end in row)
    said = [" ".join(claims(result.confidence, is_simultaneous=result.is_simultaneous))] if has_intervals else []
    notes = [note(words) for words in (*result.notes, *said, f"Receipt: {result.receipt}")]
    return page(chart.title, figure(chart.markup()), *notes)


def save_map(path: Path | str, tree: Callable[[], Any], page_of: Callable[[], str], svg: Callable[[], str]) -> Path:
    """Write a map to a file ending in .geojson, .html or .svg, and return its path.

    Args:
        path: of the file.
        tree: makes the map as GeoJSON.
        page_of: makes a page of it.
        svg: makes a picture.

    """
    target = page_target(path, option="path", endings=ENDINGS)
    kind = target.suffix.lower()
    text = json.dumps(tree(), allow_nan=False) if kind == ".geojson" else (page_of if kind == ".html" else svg)()
    target.write_text(text, encoding="utf-8")
    return target


def _point(first: float, second: float) -> list[float]:
    """Return a position as GeoJSON has it: longitude, latitude."""
    return [round(second, _DIGITS), round(first, _DIGITS)]


def _feature(kind: str, coordinates: Any, **properties: Any) -> dict[str, Any]:
    return {"type": "Feature", "geometry": {"type": kind, "coordinates": coordinates}, "properties": properties}

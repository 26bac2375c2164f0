"""Verbs about declared places: heat maps, counts by region, flows, stops and synthetic journeys."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Unpack

from dither.data import wire
from dither.data.schema import DataSet, Table
from dither.errors import InvalidParameter, MissingExtra
from dither.exact import Number
from dither.lift.offer import Offer
from dither.lift.stored import LARGEST_ANSWER, check_length
from dither.lift.verb import About, Arg, M, Measured, Terms, level_of, loss_of, verb
from dither.publish.queries import QueryResult
from dither.verbs.arguments import Grid, cells_along

if TYPE_CHECKING:
    from dither.data.place_tables import Places as DeclaredPlaces
    from dither.publish.places.by_region import RegionCounts
    from dither.publish.places.planning import PlacePlan
    from dither.publish.places.region_planning import Areas
    from dither.publish.places.shown import PlaceMap

#: Bytes of a stored result beside its rows, and of a row of a flow.
_HEAD, _FLOW = 2**20, 2**8
_ZONES: Final = ".csv"


def _polygons(given: Any) -> Any:
    from dither.data.places.regions import geojson_tree

    return geojson_tree(given)


def _polygons_or_zones(given: Any) -> Any:
    is_file = isinstance(given, str | Path) and str(given).lower().endswith(_ZONES)
    return zones_of(Path(given)) if is_file else _polygons(given)


def zones_of(path: Path) -> dict[str, str]:
    """Return the region of each zone from a CSV file without a header: a zone and its region in each line."""
    rule = "a CSV file in UTF-8 with a zone and its region in each line, each zone once"
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            rows = [row for row in csv.reader(stream, strict=True) if row]
    except (OSError, ValueError, csv.Error):
        raise InvalidParameter("regions", str(path), rule) from None
    if not rows or any(len(row) != 2 for row in rows) or len({zone for zone, _ in rows}) != len(rows):
        raise InvalidParameter("regions", str(path), rule)
    return dict(rows)


Cell = Annotated[
    Number | None, Arg("in place of a grid: the largest width and height of a cell in metres; for boxes up to 200 km")
]
MapMethod = Annotated[str, Arg('a method for two columns, or "auto" for the smaller public error')]
MapQuestions = Annotated[
    str | None,
    Arg('what "auto" chooses for: single cells, as by default, or rectangles of them', choices=("cells", "rectangles")),
]
Polygons = Annotated[
    Any, Arg("public areas: a GeoJSON file, or its content", opens=_polygons, metavar="FILE", schema={"type": "object"})
]
PolygonsOrZones = Annotated[
    Any,
    Arg(
        "public areas: a GeoJSON file or its content; where zones are declared, the region of each zone, or a CSV "
        "file with a zone and its region in each line. Flows between regions are then measured as well, and agree",
        opens=_polygons_or_zones,
        metavar="FILE",
        schema={"type": ["object", "null"]},
    ),
]
AreaName = Annotated[str, Arg("the GeoJSON property that names an area")]
Within = Annotated[
    str | None,
    Arg("the GeoJSON property that names the larger area around an area; flows between these are measured as well"),
]
JourneyMethod = Annotated[
    str,
    Arg(
        "walks, prefix-tree, markov, hierarchy or auto", choices=("auto", "walks", "prefix-tree", "markov", "hierarchy")
    ),
]
JourneyGrid = Annotated[
    int | tuple[int, int] | None,
    Arg(
        "cells along each side of the declared box, or two numbers, at most 48; public; by default 20",
        read=cells_along,
        metavar="N|NxM",
    ),
]
Length = Annotated[
    int | None, Arg("how many cells of a journey count; public; by default three times the longer side of the grid")
]
MostJourneys = Annotated[int | None, Arg("the largest number of journeys that are drawn")]
Times = Annotated[
    int | None,
    Arg(
        "the number of equal parts of the day in which journeys begin, for example 24; a tenth of the loss is for "
        "these. By default points have an order and no times"
    ),
]
Count = Annotated[int, Arg("the number of stops")]
Algorithm = Annotated[str, Arg("auto, or an algorithm of KMeans, for example refined or lloyd", option="--method")]


@dataclass(frozen=True)
class PlacesTable:
    """A data set, its table of places, and what is declared about them."""

    dataset: DataSet
    table: Table
    places: DeclaredPlaces

    def offer(
        self,
        what: str,
        planned: PlacePlan,
        terms: Measured,
        *,
        method: str,
        asked: Mapping[str, Any],
        reads: Any,
        limited: str = "grid",
        row: int = 0,
    ) -> Offer[Any]:
        """Return the offer of a table of counts.

        Args:
            what: the word of requests for it.
            planned: the release.
            terms: the stated arguments.
            method: as it was stated.
            asked: what else decides the release.
            reads: makes the result of a stored table.
            limited: the argument that makes a table too long.
            row: the length of a row at least.

        """
        from dither.publish.count_tables import longest_row

        level, stated = level_of(terms), loss_of(terms)
        cells = planned.cells
        check_length(limited, math.prod(cells.shape), max(longest_row(cells.axes), row), _HEAD)
        decides = {"what": what, "method": method, "confidence": str(level), "regions": None, **asked}

        def present(out: Any) -> bytes:
            return planned.present(out, level).stored_within(LARGEST_ANSWER)[1].encode()

        def read(stored: bytes, receipt: str) -> Any:
            return reads(QueryResult.stored(stored, receipt))

        words = {"heatmap": "a heat map", "flows": "flows"}.get(what, "counts by region")
        made = planned.mechanism
        bound = made.error(level)
        expected = "" if bound is None else f"{bound.words}, before negative counts are raised to 0"
        return Offer("places", f"{words} of {self.table.name}", made, decides, stated, present, read, expected=expected)

    def grid(self, grid: Any, cell: Number | None) -> Any:
        """Return the cells along each side, of which the largest size in metres may be stated instead."""
        from dither.publish.places.planning import grid_of_side

        if cell is None:
            return grid
        if grid is not None:
            raise InvalidParameter("cell", cell, "not allowed with a grid")
        return grid_of_side(self.places, cell)

    def areas(self, regions: Any, grid: Any, named: str, within: str | None, *, are_trips: bool) -> Areas:
        """Return public areas over the declared box."""
        from dither.publish.places.region_planning import Areas

        return Areas.read(
            checked_object(regions), self.places, grid=grid, named=named, within=within, are_trips=are_trips
        )

    def map_of(self, kind: str, middles: Any = None) -> Any:
        """Return what makes a map of a released table."""
        from dither.publish.places.shown import PlaceMap

        return lambda result: PlaceMap(result, kind, self.places, middles)


def checked_object(regions: Any) -> Any:
    """Refuse what is not an object: a path that travels would be one of the machine that answers."""
    if not isinstance(regions, Mapping):
        raise InvalidParameter("regions", type(regions).__name__, "an object: GeoJSON, or the region of every zone")
    return regions


class Places(About[M]):
    """Maps of declared places: ``session.places("checkins").heatmap(epsilon=1)``."""

    kind = "places"

    @staticmethod
    def find(dataset: DataSet, table: str | None) -> PlacesTable:
        """Return the places of a data set."""
        from dither.lift.places import declared, places_table

        found = places_table(dataset, table)
        return PlacesTable(dataset, found, declared(found))

    @verb
    @staticmethod
    def heatmap(
        about: PlacesTable,
        *,
        grid: Grid = None,
        cell: Cell = None,
        method: MapMethod = "auto",
        questions: MapQuestions = None,
        **terms: Unpack[Measured],
    ) -> Offer[PlaceMap]:
        """Release how many positions fall into each cell of a grid."""
        from dither.publish.places.planning import HEATMAP, plan_heat

        stated, grid = loss_of(terms), about.grid(grid, cell)
        planned = plan_heat(about.dataset, about.table, stated, grid=grid, method=method, questions=questions)
        asked = {"cells": wire.encode(planned.cells)} | ({} if questions is None else {"questions": questions})
        return about.offer(HEATMAP, planned, terms, method=method, asked=asked, reads=about.map_of(HEATMAP))

    @verb
    @staticmethod
    def regions(
        about: PlacesTable,
        regions: Polygons,
        *,
        named: AreaName = "name",
        grid: Grid = None,
        cell: Cell = None,
        method: MapMethod = "auto",
        **terms: Unpack[Measured],
    ) -> Offer[RegionCounts]:
        """Release how many positions fall into each public area."""
        from dither.publish.places.by_region import RegionCounts, RegionFile
        from dither.publish.places.region_planning import REGIONS, plan_regions

        if about.places.zones:
            rule = "a table of positions: this one has zones, whose flows can be counted by region"
            raise InvalidParameter("table", about.table.name, rule)
        stated, grid = loss_of(terms), about.grid(grid, cell)
        areas = about.areas(regions, grid, named, None, are_trips=False)
        planned = plan_regions(about.dataset, about.table, stated, areas=areas, method=method)
        asked = {"table": about.table.name, "areas": areas.record}
        file = RegionFile.read(regions, about.places, name=named)

        def reads(result: QueryResult) -> RegionCounts:
            return RegionCounts(result, file, about.places)

        return about.offer(REGIONS, planned, terms, method=method, asked=asked, reads=reads, limited="regions")

    @verb
    @staticmethod
    def flows(
        about: PlacesTable,
        *,
        grid: Grid = None,
        cell: Cell = None,
        regions: PolygonsOrZones = None,
        named: AreaName = "name",
        within: Within = None,
        method: MapMethod = "auto",
        **terms: Unpack[Measured],
    ) -> Offer[PlaceMap]:
        """Release how many trips lead from each zone, cell of a grid, or public area, to each other."""
        from dither.publish.places.planning import FLOWS, plan_flows

        stated, grid = loss_of(terms), about.grid(grid, cell)
        areas, groups = None, None
        if regions is not None and not about.places.zones:
            areas = about.areas(regions, grid, named, within, are_trips=True)
            groups = areas.groups
        elif regions is not None:
            groups = checked_object(regions)
        if within is not None and areas is None:
            raise InvalidParameter("within", within, "not allowed: it is only for flows between polygons")
        drawn = None if areas is None else areas.drawn
        ways: dict[str, Any] = {"grid": grid, "method": method, "regions": groups, "areas": drawn}
        planned = plan_flows(about.dataset, about.table, stated, **ways)
        if areas is None:
            asked: dict[str, Any] = {"cells": wire.encode(planned.cells)}
            asked |= {} if groups is None else {"regions": {str(zone): str(name) for zone, name in groups.items()}}
            limited = "grid"
        else:
            asked, limited = {"table": about.table.name, "areas": areas.record}, "regions"
        reads = about.map_of(FLOWS, None if areas is None else areas.middles(about.places))
        return about.offer(FLOWS, planned, terms, method=method, asked=asked, reads=reads, limited=limited, row=_FLOW)

    @verb(doing="drawing")
    @staticmethod
    def synthesize(
        about: PlacesTable,
        *,
        grid: JourneyGrid = None,
        length: Length = None,
        most: MostJourneys = None,
        method: JourneyMethod = "auto",
        times: Times = None,
        **terms: Unpack[Terms],
    ) -> Offer[PlaceMap]:
        """Release synthetic journeys: points in order, like those of the table, where the unit is a person."""
        from dither.publish.places import journey_planning
        from dither.publish.places.shown import JOURNEYS

        stated = loss_of(terms)
        ways: dict[str, Any] = {"grid": grid, "length": length, "most": most, "method": method, "times": times}
        planned = journey_planning.plan_journeys(about.dataset, about.table, stated, **ways)
        made = planned.mechanism
        asked = {"source": wire.encode(made.source), "method": method, "length": planned.length, "most": most}

        def present(out: Any) -> bytes:
            return planned.present(out, Fraction(19, 20)).stored_within(LARGEST_ANSWER)[1].encode()

        words = f"synthetic journeys like {about.table.name}"
        return Offer("places", words, made, asked, stated, present, _read(about.map_of(JOURNEYS)))

    @verb
    @staticmethod
    def stops(
        about: PlacesTable, count: Count = 8, *, algorithm: Algorithm = "auto", **terms: Unpack[Terms]
    ) -> Offer[PlaceMap]:
        """Release where people stop: the centres of clusters of positions, and about how many rows each has."""
        from dither.learn.lifting import plan_fit
        from dither.lift.places import counted_rows
        from dither.mechanisms.core.spec import digest
        from dither.publish.places.shown import STOPS
        from dither.publish.places.stops import present_stops, square_bounds

        places, stated = about.places, loss_of(terms)
        if not places.at:
            raise InvalidParameter("table", about.table.name, "a table that declares positions: this one has zones")
        try:
            from dither.learn import KMeans
        except ImportError:
            raise MissingExtra("clusters", "ml") from None
        estimator = KMeans(count, loss=stated, bounds=square_bounds(places), algorithm=algorithm)
        planned = plan_fit(about.dataset, counted_rows(about.dataset, about.table), estimator, features=places.at)
        made = planned.mechanism
        asked = {"what": "stops", "source": wire.encode(made.source), "mechanism": digest(made.method)}

        def present(out: Any) -> bytes:
            shown = present_stops(places, out.places, out.weights.values, made)
            return shown.stored_within(LARGEST_ANSWER)[1].encode()

        words = f"stops of {about.table.name}"
        return Offer("places", words, made, asked, planned.stated, present, _read(about.map_of(STOPS)))


def _read(reads: Any) -> Any:
    return lambda stored, receipt: reads(QueryResult.stored(stored, receipt))

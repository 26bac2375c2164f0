"""Places of a session: heat maps, flows and synthetic journeys by name, each a release of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dither.data.places.regions import geojson_tree
from dither.data.schema import Table
from dither.lift.places import declared
from dither.publish.places.by_region import RegionCounts, RegionFile
from dither.publish.places.region_planning import REGIONS, Areas
from dither.publish.places.shown import FLOWS, HEATMAP, JOURNEYS, STOPS, PlaceMap
from dither.publish.queries import QueryResult


class PlaceAnswers:
    """What can be asked of declared places. Every answer is charged; ``session.offer.place_counts`` prices the same.

    All take what a release may lose (``epsilon``, with or without ``delta``, ``rho`` or ``loss``), ``key`` and
    ``method``. Maps can be drawn, saved as GeoJSON or as a page, and have contour lines, at no further cost.
    """

    def __init__(
        self,
        counts: Callable[..., QueryResult],
        journeys: Callable[..., QueryResult],
        stops: Callable[..., QueryResult],
        table: Table,
    ) -> None:
        self._counts, self._journeys, self._stops, self._table = counts, journeys, stops, table

    def heatmap(self, *, grid: Any = None, **options: Any) -> PlaceMap:
        """Release how many positions lie in each cell of a grid: ``grid`` cells along each side, or two numbers."""
        return self._map(HEATMAP, self._counts(HEATMAP, grid=grid, **options))

    def regions(self, regions: Any, *, named: str = "name", **options: Any) -> RegionCounts:
        """Release how many positions lie in each public region: ``regions`` is GeoJSON, a path, a text or an object."""
        places = declared(self._table)
        file = RegionFile.read(regions, places, name=named)
        return RegionCounts(self._counts(REGIONS, regions=file.tree, named=named, **options), file, places)

    def flows(self, *, grid: Any = None, regions: Any = None, **options: Any) -> PlaceMap:
        """Release how many trips lead from each zone, cell of a grid, or public region, to each other.

        ``regions`` are polygons as GeoJSON; or, where zones are declared, the region of every zone by its name.
        """
        places = declared(self._table)
        if regions is None or places.zones:
            return self._map(FLOWS, self._counts(FLOWS, grid=grid, regions=regions, **options))
        tree = geojson_tree(regions)
        drawn = {name: options[name] for name in ("named", "within") if name in options}
        areas = Areas.read(tree, places, grid=grid, are_trips=True, **drawn)
        result = self._counts(FLOWS, grid=grid, regions=tree, **options)
        return PlaceMap(result, FLOWS, places, areas.middles(places))

    def synthesize(self, *, grid: Any = None, length: int | None = None, **options: Any) -> PlaceMap:
        """Release synthetic journeys, as points in order.

        Args:
            grid: the cells along each side, or two numbers; at most 48.
            length: how many cells of a journey count.
            options: ``times``: the number of parts of the day in which journeys begin; ``most``, and what all take.

        """
        return self._map(JOURNEYS, self._journeys(grid=grid, length=length, **options))

    def stops(self, count: int, **options: Any) -> PlaceMap:
        """Release where people stop: the centres of ``count`` clusters of positions, and about how many rows each has.

        Takes ``algorithm`` in place of ``method``.
        """
        return self._map(STOPS, self._stops(count, **options))

    def _map(self, kind: str, result: QueryResult) -> PlaceMap:
        return PlaceMap(result, kind, declared(self._table))

    def __repr__(self) -> str:
        return f"<places of {self._table.name}: heatmap, regions, flows, stops, synthesize>"

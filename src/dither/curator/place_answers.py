"""Places of a session: heat maps, flows and synthetic journeys by name, each a release of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dither.data.schema import Table
from dither.lift.places import declared
from dither.publish.places.shown import FLOWS, HEATMAP, JOURNEYS, PlaceMap
from dither.publish.queries import QueryResult


class PlaceAnswers:
    """What can be asked of declared places. Every answer is charged; ``session.offer.place_counts`` prices the same.

    All take what a release may lose (``epsilon``, with or without ``delta``, ``rho`` or ``loss``), ``key`` and
    ``method``. Maps can be drawn, saved as GeoJSON or as a page, and have contour lines, at no further cost.
    """

    def __init__(self, counts: Callable[..., QueryResult], journeys: Callable[..., QueryResult], table: Table) -> None:
        self._counts, self._journeys, self._table = counts, journeys, table

    def heatmap(self, *, grid: Any = None, **options: Any) -> PlaceMap:
        """Release how many positions lie in each cell of a grid: ``grid`` cells along each side, or two numbers."""
        return self._map(HEATMAP, self._counts(HEATMAP, grid=grid, **options))

    def flows(self, *, grid: Any = None, **options: Any) -> PlaceMap:
        """Release how many trips lead from each zone, or cell of a grid, to each other."""
        return self._map(FLOWS, self._counts(FLOWS, grid=grid, **options))

    def synthesize(self, *, grid: Any = None, length: int | None = None, **options: Any) -> PlaceMap:
        """Release synthetic journeys, as points in order.

        Args:
            grid: the cells along each side, or two numbers; at most 48.
            length: how many cells of a journey count.
            options: ``times``: the number of parts of the day in which journeys begin; ``most``, and what all take.

        """
        return self._map(JOURNEYS, self._journeys(grid=grid, length=length, **options))

    def _map(self, kind: str, result: QueryResult) -> PlaceMap:
        return PlaceMap(result, kind, declared(self._table))

    def __repr__(self) -> str:
        return f"<places of {self._table.name}: heatmap, flows, synthesize>"

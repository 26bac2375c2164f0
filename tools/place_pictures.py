"""A picture of places: a made-up town, with fresh noise."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from dither import Budget, release
from dither.data.columns import ColumnRows
from dither.data.place_tables import Places
from dither.pages.frame import Chart
from dither.privacy import ROW, PureDP
from dither.publish.histograms import PrunedPlane
from dither.publish.places.shown import HEATMAP, PlaceMap
from dither.publish.queries import QueryResult, ResultColumn

_GRID = 48


def pictures() -> Iterator[tuple[str, Chart]]:
    """Draw a heat map with contour lines."""
    generator = np.random.default_rng(3)
    points = np.concatenate([generator.normal((20, 16), (3, 4), (6000, 2)), generator.normal((32, 36), 2, (2500, 2))])
    true = np.histogram2d(points[:, 0], points[:, 1], bins=_GRID, range=[[0, _GRID], [0, _GRID]])[0].astype(np.int64)
    method = PrunedPlane.calibrated(PureDP(1), shape=(_GRID, _GRID))
    shown = release(method, true, budget=Budget(epsilon=1, unit=ROW), stability=1).value
    rows, columns = np.indices(true.shape)
    ends = [part.ravel().astype(np.float64) for part in (rows, rows + 1, columns, columns + 1)]
    cells = ColumnRows([*ends, shown.ravel()], shown.size)
    nothing = ColumnRows([None] * 5, shown.size)
    names = ("lat_from", "lat_to", "lon_from", "lon_to", "count")
    told = tuple(ResultColumn(name, "real", is_key=name != "count") for name in names)
    result = QueryResult(told, cells, nothing, nothing, Fraction(19, 20), True, PureDP(1), "visits added or removed")
    places = Places(("lat", "lon"), (52.3, 13.1, 52.7, 13.8))
    yield "places", PlaceMap(result, HEATMAP, places).chart(title="A made-up town, 8,500 visits", levels=[5, 20, 60])

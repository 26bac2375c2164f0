"""Stops: where people are most, as centres of clusters of positions, shown as a table. Nothing here reads rows."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.data.columns import ColumnRows
from dither.data.place_tables import DEGREES, Places
from dither.lift.lifted import Lifted
from dither.publish.queries import QueryResult, ResultColumn


def square_bounds(places: Places) -> dict[str, tuple[float, float]]:
    """Return bounds of both coordinates that are as far apart over the ground, so that clusters are round.

    Args:
        places: with a box.

    >>> square_bounds(Places(("y", "x"), (0.0, 0.0, 100.0, 300.0), coordinates="metres"))
    {'y': (-100.0, 200.0), 'x': (0.0, 300.0)}

    """
    (south, north), (west, east) = places.sides
    # How long a step along the second coordinate is, beside one along the first.
    shrunk = max(math.cos(math.radians((south + north) / 2)), 0.01) if places.coordinates == DEGREES else 1.0
    half = max((north - south) / 2, shrunk * (east - west) / 2)
    up, along = (south + north) / 2, (west + east) / 2
    first, second = places.at
    return {first: (up - half, up + half), second: (along - half / shrunk, along + half / shrunk)}


def present_stops(places: Places, centres: NDArray[Any], weights: NDArray[Any], made: Lifted) -> QueryResult:
    """Return a row for each centre, the one with the most rows first.

    Args:
        places: what is public about the positions.
        centres: released coordinates.
        weights: the released number of rows of each, about.
        made: what released them.

    """
    order = np.argsort(-np.asarray(weights, dtype=np.float64), kind="stable")
    ends = [np.clip(centres[order, axis], *places.sides[axis]) for axis in (0, 1)]
    columns = (
        ResultColumn("stop", "integer", is_key=True),
        *(ResultColumn(name, "real", is_key=True) for name in places.at),
        ResultColumn("count", "real", is_key=False, estimand="about the number of rows nearest to it"),
    )
    rows = ColumnRows([np.arange(1, order.size + 1), *ends, np.asarray(weights, dtype=np.float64)[order]], order.size)
    nothing = ColumnRows([None] * 4, order.size)
    notes = ("centres of clusters and their weights are fitted to released numbers: no interval is known",)
    return QueryResult(
        columns, rows, nothing, nothing, Fraction(19, 20), True, made.loss(1), str(made.distance), notes, raw=rows
    )

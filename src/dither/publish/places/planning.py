"""Counts of places and of trips: planned from public facts, presented as tables. Nothing here reads rows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.data.columns import ColumnRows
from dither.data.place_tables import DEGREES, Places
from dither.data.places import Box, CellGrid, RegionMap
from dither.data.places.grid import MOST_CELLS
from dither.data.schema import DataSet, Table
from dither.errors import InvalidParameter
from dither.exact import Number, positive
from dither.lift.axes import Axis
from dither.lift.cells import Cells
from dither.lift.lifted import Lifted
from dither.lift.places import declared, flow_cells, grid_shape, heat_cells
from dither.lift.regions import RegionCells
from dither.privacy import Loss
from dither.publish.count_tables import plan_histogram, present_histogram
from dither.publish.histograms.common import variance_of
from dither.publish.histograms.pruned_plane import PrunedPlane
from dither.publish.histograms.sparse_filter import SparseHistogram
from dither.publish.places.flow_table import FlowTable
from dither.publish.queries import QueryResult, ResultColumn

AUTO: Final = "auto"
HEATMAP, FLOWS = "heatmap", "flows"
#: What may be asked of a map, and the two methods that are compared for it.
CELLS, RECTANGLES = QUESTIONS = ("cells", "rectangles")
IDENTITY, PRUNED = "identity", "pruned-plane"
#: Where the sides of the rectangles lie for which methods are compared, as shares of the side of the map.
_ENDS: Final = (0.17, 0.45, 0.78)
#: From this many cells on squares are better for rectangles at any loss.
_MANY: Final = 2**16
_USUAL_GRID: Final = 64
_USUAL_ENDS: Final = 8


@dataclass(frozen=True)
class PlacePlan:
    """A release that is priced but not yet made: the mechanism, what it counts, and what makes a table of it."""

    mechanism: Lifted
    cells: Cells | RegionCells
    present: Callable[[Any, Fraction], QueryResult]


def plan_heat(
    dataset: DataSet,
    table: Table,
    loss: Loss,
    *,
    grid: Any = None,
    method: str = AUTO,
    questions: str | None = None,
) -> PlacePlan:
    """Return the release of a heat map: a row for each cell, with its ends, its count and the count's interval.

    Args:
        dataset: the schema.
        table: which declares positions.
        loss: what it may lose.
        grid: the cells along each side, or along both sides; public. By default 64.
        method: of ``publish.methods``, or "auto": single cells or pruned squares, whichever has the smaller public
            error in what will be asked.
        questions: for "auto", what will be asked of the map: "cells", as by default, or "rectangles" of them.

    """
    cells = heat_cells(dataset, table, grid_shape(_USUAL_GRID if grid is None else grid))
    chosen = method
    if method == SparseHistogram.name:
        raise InvalidParameter("method", method, "one that has a count for every cell: a map shows them all")
    if questions not in (None, *QUESTIONS):
        raise InvalidParameter("questions", questions, f"omitted, or one of {', '.join(QUESTIONS)}")
    if questions is not None and method != AUTO:
        raise InvalidParameter(
            "questions", questions, f"not allowed with method={method!r}: questions only applies to method='auto'"
        )
    if method == AUTO:
        if questions == RECTANGLES and math.prod(cells.shape) >= _MANY:
            return counted(cells, loss, PRUNED)
        plans = [counted(cells, loss, name) for name in (IDENTITY, PRUNED)]
        errors = [public_error(one.mechanism.method, questions or CELLS) for one in plans]
        return plans[errors.index(min(errors))]
    return counted(cells, loss, chosen)


def public_error(method: Any, questions: str) -> float:
    """Return the root mean square of the noise of a cell, or of a rectangle, as plain estimates have it.

    Args:
        method: ``IdentityHistogram`` or ``PrunedPlane``, over two axes.
        questions: "cells", or "rectangles": the mean over a public list of them.

    """
    is_tree = isinstance(method, PrunedPlane)
    if questions == CELLS:
        variance = float(method.variances.cells.mean()) if is_tree else variance_of(method.node)
        return math.sqrt(variance)
    found = []
    for rows, columns in itertools.product(*(_spans(size) for size in method.shape)):
        inside = np.zeros(method.shape)
        inside[rows, columns] = 1
        found.append(method.variances.of_query(inside) if is_tree else variance_of(method.node) * inside.sum())
    return math.sqrt(float(np.mean(found)))


def _spans(size: int) -> list[slice]:
    """Return ranges of cells of one axis, whose ends lie on no level of a tree: as rectangles usually do."""
    ends = sorted({0, size, *(round(size * part) for part in _ENDS)})
    return [slice(low, high) for low, high in itertools.combinations(ends, 2)]


def counted(cells: Cells | RegionCells, loss: Loss, method: str) -> PlacePlan:
    """Return the release of all counts of a table, with intervals and without negative ones.

    Args:
        cells: what is counted.
        loss: what it may lose.
        method: of ``publish.methods``, or "auto".

    """
    planned = plan_histogram(cells, loss, method=method)

    def present(out: Any, confidence: Fraction) -> QueryResult:
        return present_histogram(planned, out, confidence=confidence, non_negative=True)

    return PlacePlan(planned.mechanism, cells, present)


def plan_flows(
    dataset: DataSet,
    table: Table,
    loss: Loss,
    *,
    grid: Any = None,
    method: str = AUTO,
    regions: Any = None,
    areas: RegionMap | None = None,
) -> PlacePlan:
    """Return the release of trips by where they began and ended: a row for each pair that seems to have any.

    Args:
        dataset: the schema.
        table: whose rows are trips.
        loss: what it may lose.
        grid: of declared positions, the cells along each side; by default 8.
        method: of ``publish.methods``, "sparse-histogram" for pairs that are mostly empty, or "auto": counts that are
            fitted to what the flows between all zones suggest.
        regions: by zone, the name of the region it lies in, where flows between regions are measured as well.
        areas: public regions of declared positions, which are the zones then.

    """
    places = declared(table)
    if areas is not None:
        shape: tuple[int, int] | None = None
        cells: Cells | RegionCells = RegionCells(dataset, table.name, areas, are_trips=True)
    else:
        shape = None if places.zones and grid is None else grid_shape(_USUAL_ENDS if grid is None else grid)
        cells = flow_cells(dataset, table, shape)
    blocks = None if regions is None else _blocks(cells.axes, regions)
    if method != AUTO:
        if blocks is not None:
            raise InvalidParameter("regions", "given", f"not allowed for the method {method}")
        return counted(cells, loss, method)

    def build(each: Loss) -> FlowTable:
        return FlowTable.calibrated(each, shape=cells.shape, blocks=blocks)

    made = Lifted.calibrated(loss, source=cells, build=build)

    def present(out: Any, confidence: Fraction) -> QueryResult:
        counts = np.asarray(out, dtype=np.float64)
        places_of_ends = np.nonzero(counts > 0)
        columns, keys = _ends(places, shape, cells.axes, places_of_ends)
        return _table(made, columns, keys, counts, places_of_ends, confidence)

    return PlacePlan(made, cells, present)


def _blocks(axes: tuple[Axis, ...], regions: Any) -> tuple[tuple[int, ...], ...]:
    """Return the number of the region of every zone where trips begin, and of every one where they end."""
    if not isinstance(regions, dict) or not regions:
        raise InvalidParameter("regions", regions, "a mapping of all zones to regions")
    numbers = {name: place for place, name in enumerate(sorted({str(region) for region in regions.values()}))}
    found = []
    for axis in axes:
        named = [regions.get(zone, regions.get(str(zone))) for zone in axis.labels or ()]
        if None in named:
            missing = (axis.labels or ())[named.index(None)]
            raise InvalidParameter("regions", f"without {missing!r}", "a mapping of all zones to regions")
        found.append(tuple(numbers[str(name)] for name in named))
    return tuple(found)


def _ends(
    places: Places, shape: tuple[int, int] | None, axes: tuple[Axis, ...], ends: tuple[Any, ...]
) -> tuple[list[ResultColumn], list[Any]]:
    """Return the columns that say where trips began and ended: zones, or the middles of cells."""
    columns: list[ResultColumn] = []
    keys: list[Any] = []
    for axis, found, names in zip(axes, ends, (places.at, places.to), strict=True):
        if shape is not None:
            columns += [ResultColumn(name, "real", is_key=True) for name in names]
            keys += [middles[found] for middles in cell_middles(places, shape)]
        else:
            labels = axis.labels or ()
            kind = "text" if labels and isinstance(labels[0], str) else "integer"
            columns.append(ResultColumn(axis.name, kind, is_key=True))
            keys.append([labels[place] for place in found.tolist()])
    return columns, keys


def _table(
    made: Lifted, columns: list[ResultColumn], keys: list[Any], counts: NDArray[Any], ends: Any, confidence: Fraction
) -> QueryResult:
    shown = counts[ends]
    rows = ColumnRows([*keys, shown], shown.size)
    nothing = ColumnRows([None] * (len(keys) + 1), shown.size)
    notes = (
        f"{shown.size:,} of {counts.size:,} pairs are shown; the others count as 0",
        "counts are fitted to released ones: no interval is known for a single pair",
    )
    told = ResultColumn("count", "real", is_key=False, estimand="the number of trips")
    return QueryResult(
        (*columns, told), rows, nothing, nothing, confidence, True, made.loss(1), str(made.distance), notes, raw=rows
    )


def cell_middles(places: Places, shape: tuple[int, int]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return both coordinates of the middles of all cells, row by row.

    Args:
        places: with a box.
        shape: the cells along both coordinates.

    """
    (south, north), (west, east) = places.sides
    rows = south + (north - south) * (np.arange(shape[0]) + 0.5) / shape[0]
    columns = west + (east - west) * (np.arange(shape[1]) + 0.5) / shape[1]
    return np.repeat(rows, shape[1]), np.tile(columns, shape[0])


def grid_of_side(places: Places, metres: Number) -> tuple[int, int]:
    """Return the fewest cells along both coordinates that are at most that wide and high.

    Args:
        places: whose box is at most 200 km wide and high.
        metres: the largest side of a cell.

    """
    if not places.box:
        raise InvalidParameter("cell", metres, "not allowed where zones are declared")
    box = Box.of(*places.box, plane=places.coordinates != DEGREES)
    side = positive("cell", metres)
    if box.width * box.height > MOST_CELLS * side * side:
        rule = f"larger: the box has more than {MOST_CELLS:,} such cells"
        raise InvalidParameter("cell", metres, rule)
    found = CellGrid.of_side(box, side)
    return found.rows, found.columns

"""Counts of places and of trips: planned from public facts, presented as tables. Nothing here reads rows."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Final

import numpy as np

from dither.data.columns import ColumnRows
from dither.data.schema import DataSet, Table
from dither.errors import InvalidParameter
from dither.lift.axes import Axis
from dither.lift.cells import Cells, SparseCells
from dither.lift.lifted import Lifted
from dither.lift.places import declared, flow_cells, grid_shape, heat_cells
from dither.privacy import Loss
from dither.publish.count_tables import Planned, plan_histogram, present_histogram
from dither.publish.places.flow_table import FlowTable
from dither.publish.queries import QueryResult, ResultColumn

AUTO: Final = "auto"
HEATMAP, FLOWS = "heatmap", "flows"
#: Up to this many cells, single cells are what is read.
_FEW: Final = 64
_SPARSE: Final = "sparse-histogram"
_USUAL_GRID: Final = 64
_USUAL_ENDS: Final = 8


def plan_heat(dataset: DataSet, table: Table, loss: Loss, *, grid: Any = None, method: str = AUTO) -> Planned:
    """Return the release of a heat map.

    Args:
        dataset: the schema.
        table: which declares positions.
        loss: what it may lose.
        grid: the cells along each side, or along both sides; public. By default 64.
        method: of ``publish.methods``, or "auto": pruned squares, and single cells where there are few.

    """
    cells = heat_cells(dataset, table, grid_shape(declared(table), _USUAL_GRID if grid is None else grid))
    chosen = method
    if method == AUTO:
        chosen = "identity" if math.prod(cells.shape) <= _FEW else "pruned-plane"
    return plan_histogram(cells, loss, method=chosen)


def present_heat(planned: Planned, out: Any, *, confidence: Fraction) -> QueryResult:
    """Return a row for each cell: its ends, its count, and the count's interval."""
    return present_histogram(planned, out, confidence=confidence, non_negative=True)


def plan_flows(
    dataset: DataSet, table: Table, loss: Loss, *, grid: Any = None, method: str = AUTO, regions: Any = None
) -> Planned:
    """Return the release of a table of trips by where they began and ended.

    Args:
        dataset: the schema.
        table: whose rows are trips.
        loss: what it may lose.
        grid: of declared positions, the cells along each side; by default 8.
        method: of ``publish.methods``, "sparse-histogram" for pairs that are mostly empty, or "auto": counts that are
            fitted to what the flows between all zones suggest.
        regions: by zone, the name of the region it lies in, where flows between regions are measured as well.

    """
    places = declared(table)
    shape = None if places.zones and grid is None else grid_shape(places, _USUAL_ENDS if grid is None else grid)
    cells = flow_cells(dataset, table, shape)
    blocks = None if regions is None else _blocks(cells.axes, regions)
    if method != AUTO:
        if blocks is not None:
            raise InvalidParameter("regions", "given", f"left out for the method {method}")
        return plan_histogram(cells, loss, method=method)

    def build(each: Loss) -> FlowTable:
        return FlowTable.calibrated(each, shape=cells.shape, blocks=blocks)

    return Planned(Lifted.calibrated(loss, source=cells, build=build), cells)


def _blocks(axes: tuple[Axis, ...], regions: Any) -> tuple[tuple[int, ...], ...]:
    """Return the number of the region of every zone where trips begin, and of every one where they end."""
    if not isinstance(regions, dict) or not regions:
        raise InvalidParameter("regions", regions, "a mapping of all zones to regions")
    names = sorted({str(region) for region in regions.values()})
    found = []
    for axis in axes:
        row = []
        for zone in axis.labels or ():
            named = regions.get(zone, regions.get(str(zone)))
            if named is None:
                raise InvalidParameter("regions", f"without {zone!r}", "a mapping of all zones to regions")
            row.append(names.index(str(named)))
        found.append(tuple(row))
    return tuple(found)


def present_flows(planned: Planned, out: Any, *, confidence: Fraction) -> QueryResult:
    """Return a row for each pair with trips: where they began, where they ended, and how many there were."""
    made = planned.mechanism
    if isinstance(made.source, SparseCells) or not isinstance(made.method, FlowTable):
        return present_histogram(planned, out, confidence=confidence, non_negative=True)
    counts = np.asarray(out, dtype=np.float64)
    origins, destinations = np.nonzero(counts > 0)
    keys = [_labels(axis, places) for axis, places in zip(planned.cells.axes, (origins, destinations), strict=True)]
    rows = ColumnRows([*keys, counts[origins, destinations]], len(origins))
    nothing = ColumnRows([None, None, None], len(origins))
    names = [axis.name for axis in planned.cells.axes]
    kinds = ["text" if isinstance((axis.labels or (0,))[0], str) else "integer" for axis in planned.cells.axes]
    columns = (
        *(ResultColumn(name, kind, is_key=True) for name, kind in zip(names, kinds, strict=True)),
        ResultColumn("count", "real", is_key=False, estimand="the number of trips"),
    )
    notes = (
        f"{len(origins):,} of {counts.size:,} pairs are shown; the others count as 0",
        "counts are fitted to released ones: no interval is known for a single pair",
    )
    return QueryResult(
        columns, rows, nothing, nothing, confidence, True, made.loss(1), str(made.distance), notes, raw=rows
    )


def _labels(axis: Axis, places: Any) -> Any:
    labels = list(axis.labels or ())
    if labels and isinstance(labels[0], int):
        return np.array([0 if label is None else label for label in labels], dtype=np.int64)[places]
    return [labels[place] for place in places.tolist()]


def cells_of_flows(cells: Cells) -> int:
    """Return how many pairs there are."""
    return math.prod(cells.shape)

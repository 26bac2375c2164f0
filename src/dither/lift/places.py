"""Places: positions and zones of a declared table as cells that an engine counts.

A position becomes the number of its row and column on a grid of equal cells over the declared box, by SQL in the
engine; positions that count nowhere, by the rules of ``data.place_tables``, are left out there. How far one unit moves
the counts is what ``Cells`` says.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from dither.data import Call, Column, DataSet, Expression, Filter, Kind, Literal, Name, Relation
from dither.data.owners import scan_of
from dither.data.place_tables import CLAMP, DEGREES, Places
from dither.data.schema import Table
from dither.errors import InvalidParameter
from dither.exact import whole
from dither.lift.axes import DROP, ENDS, MOST_CELLS, Axis, axis_of
from dither.lift.cells import Cells

#: Cells along one side of a map.
MOST_ALONG: Final = 4096
#: Cells of a grid between which trips are counted.
MOST_ENDS: Final = 4096


def places_table(dataset: DataSet, table: str | None = None) -> Table:
    """Return the table that declares places: the one that is named, or the only one.

    Args:
        dataset: the schema.
        table: its name, or None where there is one.

    """
    found = [one for one in dataset.tables if one.places is not None]
    if table is not None:
        named = dataset.table(table)
        if named.places is None:
            raise InvalidParameter("table", table, "a table whose schema declares places")
        return named
    if len(found) != 1:
        rule = "named: " + ", ".join(one.name for one in found) if found else "one whose schema declares places"
        raise InvalidParameter("table" if found else "dataset", table if found else dataset.name, rule)
    return found[0]


def declared(table: Table) -> Places:
    """Return what a table declares about its places; refuse one that declares nothing."""
    if table.places is None:
        raise InvalidParameter("table", table.name, "a table whose schema declares places")
    return table.places


def grid_shape(grid: Any) -> tuple[int, int]:
    """Return the cells along the first and second coordinate: as given, or that many along both.

    Args:
        grid: a number of cells along each side, or two.

    """
    sides = (grid, grid) if isinstance(grid, int) and not isinstance(grid, bool) else grid
    if not isinstance(sides, tuple | list) or len(sides) != 2:
        raise InvalidParameter("grid", grid, "a number of cells along each side, or two numbers")
    first, second = (whole("grid", side, least=1, most=MOST_ALONG) for side in sides)
    if first * second > MOST_CELLS:
        raise InvalidParameter("grid", (first, second), f"at most {MOST_CELLS} cells")
    return first, second


def heat_cells(dataset: DataSet, table: Table, shape: tuple[int, int]) -> Cells:
    """Return the counts of positions on a grid over the declared box.

    Args:
        dataset: the schema.
        table: which declares positions.
        shape: the cells along the first and the second coordinate.

    """
    places = declared(table)
    if not places.at:
        raise InvalidParameter("table", table.name, "a table that declares positions: this one has zones")
    return Cells(dataset, known_rows(dataset, table), axes_of(table, places.at, shape))


def flow_cells(dataset: DataSet, table: Table, shape: tuple[int, int] | None = None) -> Cells:
    """Return the counts of trips by where they began and ended: declared zones, or cells of a grid.

    Args:
        dataset: the schema.
        table: whose rows are trips.
        shape: the cells of the grid along both coordinates, where positions are declared.

    """
    places = declared(table)
    if places.zones:
        if shape is not None:
            raise InvalidParameter("grid", shape, "not allowed where zones are declared")
        return Cells(dataset, scan_of(dataset, table), tuple(axis_of(table.column(name)) for name in places.zones))
    if not places.to:
        rule = "a table whose rows are trips: its places declare zones, or where a trip ended ('to')"
        raise InvalidParameter("table", table.name, rule)
    if shape is None or shape[0] * shape[1] > MOST_ENDS:
        raise InvalidParameter("grid", shape, f"a grid of at most {MOST_ENDS} cells: trips are counted between them")
    ends = (("origin", places.at), ("destination", places.to))
    axes = tuple(one_axis(name, axes_of(table, columns, shape)) for name, columns in ends)
    return Cells(dataset, known_rows(dataset, table), axes)


def known_rows(dataset: DataSet, table: Table) -> Relation:
    """Return the rows of a table without those whose latitude and longitude are both 0, which mean "unknown"."""
    places, rows = declared(table), scan_of(dataset, table)
    if places.coordinates != DEGREES:
        return rows
    for pair in (places.at, places.to):
        if pair:
            zeros = [Call("equal", (Name(name), Literal(0.0, Kind.REAL))) for name in pair]
            rows = Filter(rows, Call("not", (Call("and", tuple(zeros)),)))
    return rows


def counted_rows(dataset: DataSet, table: Table) -> Relation:
    """Return the rows whose positions count: known, and in the box where others are dropped."""
    rows = known_rows(dataset, table)
    for axis in axes_of(table, declared(table).at, (1, 1)):
        rows = Filter(rows, Call("not", (Call("is_null", (axis.value,)),)))
    return rows


def axes_of(table: Table, columns: tuple[str, ...], shape: tuple[int, int]) -> tuple[Axis, Axis]:
    """Return the axes of two coordinates over the declared box.

    Args:
        table: which declares positions.
        columns: the two coordinates.
        shape: the cells along each.

    """
    places = declared(table)
    outside = ENDS if places.outside == CLAMP else DROP
    first, second = (
        axis_of(_within(table.column(name), *side), size, outside)
        for name, side, size in zip(columns, places.sides, shape, strict=True)
    )
    return first, second


def one_axis(name: str, axes: tuple[Axis, Axis]) -> Axis:
    """Return two axes as one: the number of a cell, row by row.

    Args:
        name: of the axis.
        axes: of the two coordinates.

    """
    first, second = axes
    row = Call("multiply", (first.value, Literal(second.size, Kind.INTEGER)))
    number: Expression = Call("add", (row, second.value))
    return Axis(name, number, tuple(range(first.size * second.size)), None, is_numbered=True, is_ordered=False)


def _within(column: Column, low: float, high: float) -> Column:
    """Return a coordinate as a real column with the bounds of the box."""
    return replace(column, kind=Kind.REAL, lower=float(low), upper=float(high), categories=None, length=None)

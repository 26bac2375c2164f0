"""Cells of a box: columns and rows of equal size, and the cell of a place as arithmetic of integers.

The grid is public. Cells are numbered row by row from the south-west corner. The same arithmetic is done here for
arrays and written as an expression of a request, which every engine computes alike.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final
from typing import Literal as Word

import numpy as np
from numpy.typing import NDArray

from dither.data.expressions import Call, Case, Expression, Kind, Literal
from dither.data.places.box import Box
from dither.data.places.projection import FARTHEST
from dither.errors import InvalidParameter
from dither.exact import Number, positive, typed, whole

#: How many cells a grid may have.
MOST_CELLS: Final = 2**24
Outside = Word["drop", "clamp"]


@dataclass(frozen=True)
@typed
class CellGrid:
    """Columns from west to east and rows from south to north, all of one size.

    Args:
        box: the area.
        columns: how many cells there are from west to east.
        rows: how many cells there are from south to north.

    >>> grid = CellGrid(Box(0, 0, 100, 200, plane=True), columns=4, rows=2)
    >>> grid.cell_of([10, 60, 100, -1], [30, 60, 200, 30]).tolist()
    [0, 5, 7, -1]
    >>> [float(side) for side in grid.sides], grid.cells
    ([50.0, 50.0], 8)

    """

    box: Box
    columns: int
    rows: int

    def __post_init__(self) -> None:
        """Refuse grids with too many cells, and cells smaller than the steps in which places are read."""
        for name in ("columns", "rows"):
            whole(name, getattr(self, name), least=1, most=MOST_CELLS)
        if self.cells > MOST_CELLS:
            raise InvalidParameter("columns, rows", (self.columns, self.rows), f"at most {MOST_CELLS} cells")
        south, west, north, east = self.box.edges
        if self.columns > east - west or self.rows > north - south:
            raise InvalidParameter(
                "columns, rows", (self.columns, self.rows), "few enough that a cell is a step or more"
            )

    @classmethod
    def of_side(cls, box: Box, metres: Number) -> CellGrid:
        """Return the coarsest grid whose cells are at most ``metres`` wide and high.

        >>> CellGrid.of_side(Box(0, 0, 100, 205, plane=True), 50)
        CellGrid(box=..., columns=5, rows=2)
        """
        side = positive("metres", metres)
        return cls(box, math.ceil(box.width / side), math.ceil(box.height / side))

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return self.columns * self.rows

    @property
    def sides(self) -> tuple[Fraction, Fraction]:
        """Width and height of a cell in metres of the plane."""
        return self.box.width / self.columns, self.box.height / self.rows

    def cell_of(self, latitudes: Any, longitudes: Any, *, outside: Outside = "drop") -> NDArray[np.int64]:
        """Return the cell of each place; -1 for what is not a place, and for places outside where they are dropped."""
        places, known = self.box.read(latitudes, longitudes)
        if _rule(outside) == "drop":
            known &= self.box.inside(places)
        return np.where(known, self.cell_of_steps(places), -1)

    def cell_of_steps(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the cell nearest to each place, given in steps."""
        south, west, north, east = self.box.edges
        moved = self.box.clamp(places)
        row = np.minimum((moved[..., 0] - south) * self.rows // (north - south), self.rows - 1)
        column = np.minimum((moved[..., 1] - west) * self.columns // (east - west), self.columns - 1)
        found: NDArray[np.int64] = row * self.columns + column
        return found

    def cell_of_metres(self, metres: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the cell nearest to each point of the plane, in floats: for what was released already."""
        columns, rows = self.columns, self.rows
        scaled = (np.asarray(metres) - self._corner) / np.array([float(side) for side in self.sides])
        column, row = (np.clip(np.floor(scaled[..., axis]), 0, (columns, rows)[axis] - 1) for axis in (0, 1))
        found: NDArray[np.int64] = (row * columns + column).astype(np.int64)
        return found

    def cell_expression(self, latitude: Expression, longitude: Expression, *, outside: Outside = "drop") -> Expression:
        """Return the cell as an expression over two columns of reals: an integer, NULL where ``cell_of`` has -1."""
        south, west, north, east = self.box.edges
        limits = (FARTHEST, FARTHEST) if self.box.plane else (90, 180)
        clamps = _rule(outside) == "clamp"
        row = self._part(latitude, south, north, self.rows, limits[0], clamps)
        column = self._part(longitude, west, east, self.columns, limits[1], clamps)
        return Call("add", (Call("multiply", (row, _integer(self.columns))), column))

    def _part(self, value: Expression, low: int, high: int, parts: int, limit: int, clamps: bool) -> Expression:
        """Return the number of the row or column, NULL outside (or beyond the limit, where places are moved inside)."""
        scaled = Call("multiply", (value, Literal(float(self.box.steps), Kind.REAL)))
        step = Call("floor", (Call("add", (scaled, Literal(0.5, Kind.REAL))),))
        whole = Call("multiply", (Call("subtract", (step, _integer(low))), _integer(parts)))
        number = Call("least", (Call("quotient", (whole, _integer(high - low))), _integer(parts - 1)))
        below, above = Call("less", (step, _integer(low))), Call("more", (step, _integer(high)))
        within = Call("at_most", (Call("absolute", (value,)), Literal(float(limit), Kind.REAL)))
        nothing = Literal(None, Kind.INTEGER)
        ends: tuple[Expression, Expression] = (_integer(0), _integer(parts - 1)) if clamps else (nothing, nothing)
        return Case(((Call("not", (within,)), nothing), (below, ends[0]), (above, ends[1]), (within, number)), nothing)

    def centres(self) -> NDArray[np.float64]:
        """Return the middles of all cells, in metres east and north of the centre of the box."""
        return self._corners(0.5)

    def corners(self) -> NDArray[np.float64]:
        """Return the south-western corners of all cells, in metres of the plane."""
        return self._corners(0.0)

    @property
    def _corner(self) -> NDArray[np.float64]:
        """The south-western corner of the box, in metres from its centre."""
        return self.box.projection.metres(np.array(self.box.edges[:2]))

    def _corners(self, part: float) -> NDArray[np.float64]:
        wide, high = (float(side) for side in self.sides)
        west, south = self._corner.tolist()
        east = west + (np.arange(self.columns) + part) * wide
        north = south + (np.arange(self.rows) + part) * high
        return np.stack([np.tile(east, self.rows), np.repeat(north, self.columns)], axis=1)

    def outline(self, cell: int) -> tuple[float, float, float, float]:
        """Return south, west, north and east of a cell, in degrees (metres in a plane)."""
        south, west, north, east = self.box.edges
        row, column = divmod(cell, self.columns)
        up, along = Fraction(north - south, self.rows), Fraction(east - west, self.columns)
        ends = (south + row * up, west + column * along, south + (row + 1) * up, west + (column + 1) * along)
        first, second, third, fourth = (float(end / self.box.steps) for end in ends)
        return first, second, third, fourth


def _rule(outside: str) -> str:
    if outside not in ("drop", "clamp"):
        raise InvalidParameter("outside", outside, "drop or clamp")
    return outside


def _integer(value: int) -> Literal:
    return Literal(value, Kind.INTEGER)

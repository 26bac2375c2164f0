"""Region maps: to which public region each cell of a fine grid belongs, which is where its middle lies.

So every place belongs to one region or to none, by its cell and public facts alone. The borders of regions run along
the cells: with a thousand cells along each side of a town they are off by a few metres.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dither.data.places.regions import Region, Regions, border_at
from dither.errors import InvalidParameter
from dither.exact import typed, whole

#: Cells of a map, and along one side.
MOST_CELLS: Final = 2**20
MOST_REGIONS: Final = 2**14
#: Crossings of borders with rows of cells: what drawing a map takes.
_MOST_CROSSINGS: Final = 2**23

Steps = NDArray[np.int64]
Inside = NDArray[np.bool_]


@dataclass(frozen=True)
@typed
class RegionMap:
    """The region of every cell of a grid, in runs of cells, row by row from the south-west.

    Args:
        names: of the regions, all different.
        shape: the cells along the first and the second coordinate.
        starts: the cells where runs begin, in ascending order; the first is 0.
        numbers: the region of each run, from 0; -1 where there is none.

    >>> RegionMap(("a", "b"), (1, 4), (0, 2, 3), (0, -1, 1)).cells.tolist()
    [0, 0, -1, 1]

    """

    names: tuple[str, ...]
    shape: tuple[int, ...]
    starts: tuple[int, ...]
    numbers: tuple[int, ...]

    def __post_init__(self) -> None:
        """Refuse what is not a region or none for every cell."""
        if not 1 <= len(self.names) <= MOST_REGIONS or len(set(self.names)) != len(self.names):
            raise InvalidParameter("regions", len(self.names), f"1 to {MOST_REGIONS} regions, each with its own name")
        if len(self.shape) != 2 or min(self.shape) < 1 or math.prod(self.shape) > MOST_CELLS:
            raise InvalidParameter("grid", self.shape, f"cells along two coordinates, at most {MOST_CELLS} together")
        if any(abs(number) > MOST_CELLS for number in (*self.starts, *self.numbers)):
            raise InvalidParameter("starts", "other numbers", f"at most {MOST_CELLS}, as numbers of regions are")
        starts, numbers = (np.array(part, dtype=np.int64) for part in (self.starts, self.numbers))
        if not starts.size or starts[0] != 0 or (np.diff(starts) < 1).any() or starts[-1] >= math.prod(self.shape):
            raise InvalidParameter("starts", "other numbers", "cells in ascending order, the first of them 0")
        if numbers.shape != starts.shape or numbers.min() < -1 or numbers.max() >= len(self.names):
            raise InvalidParameter("numbers", "other numbers", "a region for each run, or -1")

    @cached_property
    def cells(self) -> Steps:
        """The region of each cell; -1 where there is none."""
        lengths = np.diff([*self.starts, math.prod(self.shape)])
        return np.repeat(np.array(self.numbers, dtype=np.int64), lengths)

    @property
    def sizes(self) -> Steps:
        """How many cells each region has."""
        return np.bincount(self.cells[self.cells >= 0], minlength=len(self.names))


def region_map(regions: Regions, shape: tuple[int, int]) -> RegionMap:
    """Return the region of each cell of a grid over the box: the first that has the middle of the cell.

    Args:
        regions: named areas of a box.
        shape: the cells along the first and the second coordinate.

    """
    rows, columns = (whole("grid", side, least=1, most=MOST_CELLS) for side in shape)
    if rows * columns > MOST_CELLS:
        raise InvalidParameter("grid", shape, f"at most {MOST_CELLS} cells for regions")
    box = regions.box
    south, west, north, east = (float(edge) for edge in (box.south, box.west, box.north, box.east))
    up = south + (north - south) * (np.arange(rows) + 0.5) / rows
    along = west + (east - west) * (np.arange(columns) + 0.5) / columns
    norths, easts = (box.read(*pair)[0][:, axis] for axis, pair in enumerate(((up, up * 0), (along * 0, along))))
    found = np.full((rows, columns), -1, dtype=np.int64)
    left = _MOST_CROSSINGS
    for number, region in enumerate(regions.regions):
        where, inside, crossings = _inside(region, norths, easts, left)
        left -= crossings
        part = found[where]
        part[inside & (part < 0)] = number
    flat = found.ravel()
    starts = np.flatnonzero(np.concatenate([[True], flat[1:] != flat[:-1]]))
    return RegionMap(regions.names, (rows, columns), tuple(starts.tolist()), tuple(flat[starts].tolist()))


def _inside(region: Region, norths: Steps, easts: Steps, left: int) -> tuple[tuple[slice, slice], Inside, int]:
    """Return the rows and columns that a region reaches, which middles there lie inside, and the crossings it took."""
    ends = [np.array([ring, (*ring[1:], ring[0])], dtype=np.int64) for ring in region.rings]
    one, other = (np.concatenate([pair[which] for pair in ends]) for which in (0, 1))
    # Upwards, as ``Region.has`` goes.
    is_up = (one[:, 0] < other[:, 0])[:, None]
    low, high = np.where(is_up, one, other), np.where(is_up, other, one)
    first, last = (np.searchsorted(norths, end[:, 0]) for end in (low, high))
    many = last - first
    crossings = int(many.sum())
    if crossings > left:
        rule = "with fewer corners, or on a coarser grid: their borders cross too many rows of cells"
        raise InvalidParameter("regions", region.name, rule)
    if not crossings:
        return (slice(0), slice(0)), np.zeros((0, 0), dtype=np.bool_), 0
    edge = np.repeat(np.arange(many.size), many)
    row = np.arange(crossings) - np.repeat(np.cumsum(many) - many, many) + first[edge]
    border = border_at(norths[row], low[edge, 0], low[edge, 1], high[edge, 0], high[edge, 1])
    column = np.searchsorted(easts, border)
    rows, columns = (slice(int(part.min()), int(part.max()) + 1) for part in (row, column))
    # A border toggles the cells of a row to the west of it. Rings are closed: what is west of all borders is outside.
    toggled = np.zeros((rows.stop - rows.start, columns.stop - columns.start), dtype=np.int64)
    np.add.at(toggled, (row - rows.start, column - columns.start), 1)
    beyond = np.cumsum(toggled[:, ::-1], axis=1)[:, ::-1]
    return (rows, slice(columns.start, columns.stop - 1)), np.asarray(beyond[:, 1:] % 2 == 1), crossings

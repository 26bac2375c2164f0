"""Journeys as walks on a public grid: what every row of numbers means, and the exact counts of them.

A row is a list of cells. A number that is no cell ends it. Where two cells are not neighbours, those on the straight
line between them are filled in; a cell that follows itself counts once; what is longer than the public length is cut
off. So a walk is a function of its own row, and consecutive cells of it are neighbours, of which a cell has eight.

The counts here are exact and private: nothing of them leaves but through noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.data.places.trips import Trips
from dither.errors import InvalidValue

Ints = NDArray[np.int64]
#: The eight directions, as rows and columns.
MOVES: Final = np.array([(-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1)])
#: By the change of row and column, each 1 more: the number of the direction.
_DIRECTION: Final = np.array([[0, 1, 2], [3, -1, 4], [5, 6, 7]])
DIRECTIONS: Final = 8
#: A walk's parts weigh this much together, in whole numbers.
WHOLE: Final = 2**16


@dataclass(frozen=True)
class Plane:
    """A public grid of cells, numbered row by row.

    Args:
        rows: along the first coordinate.
        columns: along the second.

    """

    rows: int
    columns: int

    @property
    def cells(self) -> int:
        """Their number."""
        return self.rows * self.columns

    @cached_property
    def neighbours(self) -> Ints:
        """For each cell the one in each direction; -1 beyond the border."""
        row, column = np.divmod(np.arange(self.cells), self.columns)
        rows, columns = row[:, None] + MOVES[:, 0], column[:, None] + MOVES[:, 1]
        is_inside = (rows >= 0) & (rows < self.rows) & (columns >= 0) & (columns < self.columns)
        return np.where(is_inside, rows * self.columns + columns, -1)

    def apart(self, one: Ints, other: Ints) -> Ints:
        """Return how many rows and columns cells are apart, added up."""
        down, across = one // self.columns - other // self.columns, one % self.columns - other % self.columns
        return np.asarray(np.abs(down) + np.abs(across), dtype=np.int64)

    def blocks(self, along: int) -> Ints:
        """Return the number of the block of each cell, of which there are at most ``along`` along each side."""
        tall, wide = -(-self.rows // along), -(-self.columns // along)
        row, column = np.divmod(np.arange(self.cells), self.columns)
        return np.asarray((row // tall) * -(-self.columns // wide) + column // wide, dtype=np.int64)


@dataclass(frozen=True)
class Walks:
    """Walks one after the other.

    Args:
        plane: the grid.
        cells: of all walks.
        starts: where each begins; none is empty.

    """

    plane: Plane
    cells: Ints
    starts: Ints

    @cached_property
    def lengths(self) -> Ints:
        """How many cells each walk has."""
        return np.diff(np.append(self.starts, self.cells.size))

    @cached_property
    def walk(self) -> Ints:
        """For each cell, which walk it is of."""
        return np.repeat(np.arange(self.starts.size), self.lengths)

    @property
    def origins(self) -> Ints:
        """The first cells."""
        return self.cells[self.starts]

    @property
    def destinations(self) -> Ints:
        """The last cells."""
        return np.asarray(self.cells[self.starts + self.lengths - 1], dtype=np.int64)

    @cached_property
    def directions(self) -> Ints:
        """For each cell the direction to the next; -1 for the last of a walk."""
        found = np.full(self.cells.size, -1, dtype=np.int64)
        if self.cells.size > 1:
            columns = self.plane.columns
            down = self.cells[1:] // columns - self.cells[:-1] // columns
            across = self.cells[1:] % columns - self.cells[:-1] % columns
            is_same = self.walk[1:] == self.walk[:-1]
            found[:-1] = np.where(is_same, _DIRECTION[np.clip(down + 1, 0, 2), np.clip(across + 1, 0, 2)], -1)
        return found

    def steps(self) -> Ints:
        """Return the weight of each step, by its cell and direction; those of a walk weigh WHOLE together at most."""
        found = np.zeros((self.plane.cells, DIRECTIONS), dtype=np.int64)
        here = np.flatnonzero(self.directions >= 0)
        weight = WHOLE // np.maximum(self.lengths - 1, 1)
        np.add.at(found, (self.cells[here], self.directions[here]), weight[self.walk[here]])
        return found

    def turns(self) -> Ints:
        """Return the weight of each pair of steps, by cell and two directions; those of a walk weigh WHOLE at most."""
        found = np.zeros((self.plane.cells, DIRECTIONS, DIRECTIONS), dtype=np.int64)
        if self.cells.size < 2:
            return found
        here = np.flatnonzero((self.directions[:-1] >= 0) & (self.directions[1:] >= 0))
        weight = WHOLE // np.maximum(self.lengths - 2, 1)
        place = (self.cells[here], self.directions[here], self.directions[here + 1])
        np.add.at(found, place, weight[self.walk[here]])
        return found

    def rows(self, width: int) -> Ints:
        """Return a row for each walk, with -1 after its end."""
        found = np.full((self.starts.size, width), -1, dtype=np.int64)
        place = np.arange(self.cells.size) - self.starts[self.walk]
        found[self.walk, np.minimum(place, width - 1)] = self.cells
        return found


def walks_of(data: Any, plane: Plane, longest: int) -> Walks:
    """Return the walks of rows of numbers.

    Args:
        data: an array of integers, a row for each journey; or trips, each of them a row.
        plane: the grid.
        longest: how many cells of a walk count.

    >>> walks_of(np.array([[0, 0, 6, 7, -1], [9, 0, 1, 2, 3], [5, 5, -1, 3, 3]]), Plane(3, 3), 3).rows(4).tolist()
    [[0, 3, 6, -1], [5, -1, -1, -1]]

    """
    points, row = points_of(data, plane)
    cells, owner = joined(points, row, plane)
    return _cut(plane, cells, owner, longest)


def points_of(data: Any, plane: Plane) -> tuple[Ints, Ints]:
    """Return the points of all rows, and of which row each is: a row counts up to its first number that is no cell.

    Args:
        data: trips, or an array of integers, a row for each journey.
        plane: the grid.

    """
    if isinstance(data, Trips):
        row, is_cell = data.trip, (data.cells >= 0) & (data.cells < plane.cells)
        # How many numbers of a trip up to here are no cells: a point counts where there are none.
        missed = np.cumsum(~is_cell)
        before = np.concatenate([[0], missed])[data.starts]
        is_there = missed == before[row]
        return data.cells[is_there], row[is_there]
    if not (isinstance(data, np.ndarray) and data.dtype.kind in "iu" and data.ndim == 2):
        raise InvalidValue("data", data, "an array of integers with two axes, a row for each journey")
    is_cell = (data >= 0) & (data < plane.cells)
    is_there = np.logical_and.accumulate(is_cell, axis=1) if data.shape[1] else is_cell
    row, place = np.nonzero(is_there)
    return np.where(is_there, data, 0)[row, place].astype(np.int64), row.astype(np.int64)


def joined(points: Ints, owner: Ints, plane: Plane) -> tuple[Ints, Ints]:
    """Return the cells of walks through points, and of which owner each is.

    Args:
        points: cells of the plane, those of one owner one after the other.
        owner: of each point, a number; no two neighbouring lists have the same one.
        plane: the grid.

    """
    if not points.size:
        return points, owner
    # From each point to the next of its row, and from the last of a row to itself.
    following = np.append(points[1:], points[-1])
    is_last = np.append(owner[1:] != owner[:-1], True)
    following = np.where(is_last, points, following)
    (top, left), (low, right) = np.divmod(points, plane.columns), np.divmod(following, plane.columns)
    far = np.maximum(np.abs(low - top), np.abs(right - left))
    many = np.where(is_last, 1, far)
    source = np.repeat(np.arange(points.size), many)
    step = np.arange(source.size) - np.repeat(np.cumsum(many) - many, many)
    length = np.maximum(far[source], 1)
    # Halves are rounded away from the first point, so that one line is drawn the same way for all.
    rows = top[source] + _rounded((low - top)[source] * step, length)
    columns = left[source] + _rounded((right - left)[source] * step, length)
    return rows * plane.columns + columns, owner[source]


def _rounded(value: Ints, by: Ints) -> Ints:
    return np.asarray(np.sign(value) * ((2 * np.abs(value) + by) // (2 * by)), dtype=np.int64)


def _cut(plane: Plane, cells: Ints, owner: Ints, longest: int) -> Walks:
    if not cells.size:
        return Walks(plane, cells, cells)
    starts = np.flatnonzero(np.append(True, owner[1:] != owner[:-1]))
    lengths = np.diff(np.append(starts, cells.size))
    place = np.arange(cells.size) - np.repeat(starts, lengths)
    kept = np.minimum(lengths, longest)
    return Walks(plane, cells[place < longest], np.cumsum(kept) - kept)

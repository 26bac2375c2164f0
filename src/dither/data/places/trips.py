"""Trips as an engine gives them: their cells one after the other, so that memory follows the points there are.

A table with a row for each trip would be as wide as the longest one, or as the schema allows, and one long trip would
fill memory with the ends of all others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Trips:
    """Trips, none of them empty: private.

    Args:
        cells: of all trips, in their order.
        starts: where each trip begins among them.
        began: in which public part of time each trip began, -1 where in none; None where nobody asked.

    >>> Trips(np.array([3, 4, 0]), np.array([0, 2])).rows(3).tolist()
    [[3, 4, -1], [0, -1, -1]]

    """

    cells: Ints
    starts: Ints
    began: Ints | None = None

    def __post_init__(self) -> None:
        """Reject what is not a list of trips: from one cell two trips would be made, or none."""
        ends = np.append(self.starts, self.cells.size)
        if int(ends[0]) != 0 or not bool((np.diff(ends) > 0).all()):
            raise InvalidParameter("starts", "given", "rising from 0, one for each trip, below the number of cells")
        if self.began is not None and self.began.shape != self.starts.shape:
            raise InvalidParameter("began", "given", "one for each trip")

    @property
    def trip(self) -> Ints:
        """For each cell, which trip it is of."""
        return np.repeat(np.arange(self.starts.size), np.diff(np.append(self.starts, self.cells.size)))

    def rows(self, width: int) -> Ints:
        """Return a row for each trip, with -1 after its end; what is beyond the width is left out."""
        trip = self.trip
        place = np.arange(self.cells.size) - self.starts[trip]
        found = np.full((self.starts.size, width), -1, dtype=np.int64)
        found[trip[place < width], place[place < width]] = self.cells[place < width]
        return found

"""A hierarchy of grids, and journeys as runs on them: slow stretches on fine grids, fast ones on coarse grids.

Level 0 is the public grid itself; on each further one a cell is twice as high and twice as wide. A step between two
points belongs to the finest kept level on which their cells are neighbours; where they are on none, the cells between
are filled in on the coarsest kept one. Steps of one level that follow each other are a run. The counts here are exact
and private: nothing of them leaves but through noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dither.publish.places.walks import DIRECTIONS, WHOLE, Ints, Plane, Walks, joined


@dataclass(frozen=True)
class Grids:
    """A grid and coarser ones over it.

    Args:
        plane: the finest.
        levels: how many there are.

    """

    plane: Plane
    levels: int

    @cached_property
    def planes(self) -> tuple[Plane, ...]:
        """All of them, the finest first."""
        sides = [2**level for level in range(self.levels)]
        return tuple(Plane(-(-self.plane.rows // side), -(-self.plane.columns // side)) for side in sides)

    @property
    def outcomes(self) -> int:
        """What may follow a cell: a step in each direction, or the end of its run, by where the next one is."""
        return DIRECTIONS + self.levels

    def above(self, level: int, cells: Ints) -> Ints:
        """Return the cells of a level in which cells of the finest grid lie."""
        row, column = np.divmod(cells, self.plane.columns)
        side = 2**level
        return np.asarray((row // side) * self.planes[level].columns + column // side, dtype=np.int64)

    def within(self, level: int, finer: int) -> Ints:
        """Return, for each cell of a level, the cells of a finer level in it; -1 for those beyond the border."""
        coarse, fine, side = self.planes[level], self.planes[finer], 2 ** (level - finer)
        row, column = np.divmod(np.arange(coarse.cells), coarse.columns)
        down, across = np.divmod(np.arange(side * side), side)
        rows, columns = row[:, None] * side + down, column[:, None] * side + across
        return np.where((rows < fine.rows) & (columns < fine.columns), rows * fine.columns + columns, -1)

    def middles(self, level: int) -> Ints:
        """Return the cell of the finest grid in the middle of each cell of a level."""
        plane, side = self.planes[level], 2**level
        row, column = np.divmod(np.arange(plane.cells), plane.columns)
        rows = np.minimum(row * side + side // 2, self.plane.rows - 1)
        columns = np.minimum(column * side + side // 2, self.plane.columns - 1)
        return np.asarray(rows * self.plane.columns + columns, dtype=np.int64)

    def finest(self, before: Ints, after: Ints) -> Ints:
        """Return the finest level on which two cells are neighbours or the same one; the number of levels for none."""
        found = np.full(before.size, self.levels, dtype=np.int64)
        for level in reversed(range(self.levels)):
            columns = self.planes[level].columns
            one, other = self.above(level, before), self.above(level, after)
            far = np.maximum(abs(one // columns - other // columns), abs(one % columns - other % columns))
            found[far <= 1] = level
        return found


@dataclass(frozen=True)
class Steps:
    """The steps of journeys from one point to a different one: private.

    Args:
        grids: the hierarchy.
        points: of all journeys, of which no two that follow each other in one journey are the same.
        owner: of which journey each is, from 0.
        trips: how many journeys there are.

    """

    grids: Grids
    points: Ints
    owner: Ints
    trips: int

    @classmethod
    def of(cls, grids: Grids, points: Ints, owner: Ints, longest: int) -> Steps:
        """Return the steps of points, of which the first of each journey count."""
        is_new = np.diff(owner, prepend=-1) != 0
        kept = is_new | (np.diff(points, prepend=-1) != 0)
        number, points = np.cumsum(is_new)[kept] - 1, points[kept]
        starts = np.flatnonzero(is_new[kept])
        place = np.arange(points.size) - starts[number]
        return cls(grids, points[place < longest], number[place < longest], starts.size)

    @cached_property
    def here(self) -> Ints:
        """The points from which a step leads."""
        return np.flatnonzero(self.owner[1:] == self.owner[:-1])

    @cached_property
    def finest(self) -> Ints:
        """The finest level of each step; the number of levels where it is on none."""
        return self.grids.finest(self.points[self.here], self.points[self.here + 1])

    def speeds(self) -> Ints:
        """Return the weight of the steps of each level; a journey weighs WHOLE together at most."""
        found = np.zeros(self.grids.levels, dtype=np.int64)
        many = np.bincount(self.owner[self.here], minlength=self.trips)
        weight = WHOLE // np.maximum(many, 1)
        np.add.at(found, np.minimum(self.finest, self.grids.levels - 1), weight[self.owner[self.here]])
        found[0] += WHOLE * int((many == 0).sum())
        return found

    def runs(self, kept: tuple[int, ...]) -> Runs:
        """Return the journeys as runs on the kept levels, of which there is at least one."""
        levels = range(self.grids.levels + 1)
        coarser = np.array([min((one for one in kept if one >= need), default=kept[-1]) for need in levels])
        level, trip = coarser[self.finest], self.owner[self.here]
        is_break = (np.diff(trip, prepend=-1) != 0) | (np.diff(level, prepend=-1) != 0)
        begins, is_last = np.flatnonzero(is_break), np.append(is_break, True)[1:]
        # Each step gives the point it leaves, and the last one of a run the point where it arrives as well.
        step = np.repeat(np.arange(level.size), 1 + is_last.astype(np.int64))
        arrives = np.diff(step, prepend=-1) == 0
        place, run = self.here[step] + arrives, (np.cumsum(is_break) - 1)[step]
        of_run, of_trip = level[begins], trip[begins]
        goes_on = np.diff(of_trip, append=-1) == 0
        following = np.where(goes_on, np.append(of_run, -1)[1:], -1)
        alone = np.flatnonzero(np.bincount(self.owner, minlength=self.trips) == 1)
        single = np.searchsorted(self.owner, alone)
        return Runs(
            self.grids,
            kept,
            self.points[np.concatenate([place, single])],
            np.concatenate([run, begins.size + np.arange(alone.size)]),
            np.concatenate([of_run, np.full(alone.size, kept[0])]),
            np.concatenate([of_trip, alone]),
            np.concatenate([np.diff(of_trip, prepend=-1) != 0, np.ones(alone.size, dtype=np.bool_)]),
            np.concatenate([following, np.full(alone.size, -1)]),
            self.trips,
        )


@dataclass(frozen=True)
class Runs:
    """Runs of journeys: points and, for each run, its level and journey, whether it is the first, the next one's level.

    ``following`` is -1 where the journey ends with the run.
    """

    grids: Grids
    kept: tuple[int, ...]
    points: Ints
    run: Ints
    level: Ints
    trip: Ints
    is_first: NDArray[np.bool_]
    following: Ints
    trips: int

    def n_grams(self) -> tuple[list[Ints], list[Ints]]:
        """Return for each level the weights of what follows a cell, starts and entries; and of what follows a step.

        A journey has one start or entry and one end for each run, and its steps; those, and its pairs of a step and
        what follows it, weigh WHOLE together at most, over all levels.
        """
        outcomes, planes = self.grids.outcomes, self.grids.planes
        first = [np.zeros((plane.cells, outcomes + 2), dtype=np.int64) for plane in planes]
        second = [np.zeros((plane.cells, DIRECTIONS, outcomes), dtype=np.int64) for plane in planes]
        walks = {level: self._walks(level) for level in self.kept}
        entries, pairs = (np.zeros(self.trips, dtype=np.int64) for _ in range(2))
        for mine, walked in walks.values():
            np.add.at(entries, self.trip[mine], walked.lengths + 1)
            np.add.at(pairs, self.trip[mine], walked.lengths - 1)
        single, double = (WHOLE // np.maximum(many, 1) for many in (entries, pairs))
        for level, (mine, walked) in walks.items():
            trip = self.trip[mine]
            column = np.where(self.is_first[mine], outcomes, outcomes + 1)
            np.add.at(first[level], (walked.origins, column), single[trip])
            ending = DIRECTIONS + np.where(self.following[mine] >= 0, self.following[mine], level)
            follows = np.where(walked.directions >= 0, walked.directions, ending[walked.walk])
            np.add.at(first[level], (walked.cells, follows), single[trip[walked.walk]])
            here = np.flatnonzero(walked.directions >= 0)
            place = (walked.cells[here], walked.directions[here], follows[here + 1])
            np.add.at(second[level], place, double[trip[walked.walk[here]]])
        return first, second

    def _walks(self, level: int) -> tuple[Ints, Walks]:
        """Return which runs are on a level, and their walks there."""
        mine = np.flatnonzero(self.level == level)
        number = np.full(self.level.size, -1, dtype=np.int64)
        number[mine] = np.arange(mine.size)
        kept = number[self.run] >= 0
        plane = self.grids.planes[level]
        cells, owner = joined(self.grids.above(level, self.points[kept]), number[self.run[kept]], plane)
        return mine, Walks(plane, cells, np.flatnonzero(np.diff(owner, prepend=-1)))

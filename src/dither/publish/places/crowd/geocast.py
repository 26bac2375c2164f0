"""Greedy geocast: the cells around a task whose workers are notified, chosen from noisy counts.

A worker at distance d accepts with a probability that falls linearly from ``eager`` to 0 at ``farthest``. A cell with n
workers yields an acceptance with probability 1 - (1 - p)^n, and cells are added while the region is not likely enough,
the best neighbour first. Counts below 0 count as 0. Everything follows from released counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.data.places import CellGrid
from dither.errors import InvalidParameter
from dither.exact import positive, probability


@dataclass(frozen=True)
class Geocast:
    """How tasks are offered.

    Args:
        wanted: how likely somebody is to accept, before the region stops growing.
        eager: the probability that a worker right at the task accepts.
        farthest: from where nobody accepts, in metres.

    """

    wanted: float
    eager: float
    farthest: float

    def __post_init__(self) -> None:
        """Refuse figures out of range."""
        probability("wanted", self.wanted, open_below=True)
        positive("eager", self.eager, at_most=1)
        positive("farthest", self.farthest)

    def accepts(self, metres: Any) -> NDArray[np.float64]:
        """Return how likely workers at these distances are to accept."""
        away = np.asarray(metres, dtype=np.float64)
        return np.asarray(self.eager * np.clip(1 - away / self.farthest, 0, 1))


def geocast(grid: CellGrid, counts: Any, task: Any, rule: Geocast) -> NDArray[np.int64]:
    """Return the cells to notify for a task, in the order in which they were added.

    Args:
        grid: the cells.
        counts: released counts of workers, one for each cell.
        task: where the task is, metres east and north of the centre of the box.
        rule: how tasks are offered.

    >>> from dither.data.places import Box
    >>> grid = CellGrid(Box.of(0, 0, 1000, 3000, plane=True), 3, 1)
    >>> geocast(grid, [0, 1, 40], [0, 0], Geocast(wanted=0.9, eager=0.5, farthest=4000)).tolist()
    [1, 2]

    """
    numbers = np.clip(np.asarray(counts, dtype=np.float64), 0, None)
    if numbers.shape != (grid.cells,):
        raise InvalidParameter("counts", "another array", f"a number for each of {grid.cells} cells")
    here = np.asarray(task, dtype=np.float64)
    middles = grid.centres()
    apart = np.abs(middles - here)
    chance = 1 - (1 - rule.accepts(np.hypot(apart[:, 0], apart[:, 1]))) ** numbers
    # Beyond the square around the task nobody would come.
    allowed = np.asarray((apart <= rule.farthest).all(axis=1))
    start = int(grid.cell_of_metres(here[None])[0])
    region, failed = [start], 1 - float(chance[start])
    seen, frontier = {start}, set[int]()
    while 1 - failed < rule.wanted:
        frontier.update(near for near in _around(grid, region[-1]) if near not in seen and allowed[near])
        if not frontier:
            break
        best = max(sorted(frontier), key=lambda cell: float(chance[cell]))
        frontier.discard(best)
        seen.add(best)
        region.append(best)
        failed *= 1 - float(chance[best])
    return np.array(region, dtype=np.int64)


def _around(grid: CellGrid, cell: int) -> list[int]:
    row, column = divmod(cell, grid.columns)
    near = [(row + up, column + along) for up, along in ((-1, 0), (1, 0), (0, -1), (0, 1))]
    return [r * grid.columns + c for r, c in near if 0 <= r < grid.rows and 0 <= c < grid.columns]


@dataclass(frozen=True)
class Notified:
    """What became of some tasks, with true workers.

    Args:
        success: the share of tasks that somebody accepts, expected (ASR).
        travel: metres to the nearest worker who accepts, on average over accepted tasks (WTD).
        workers: how many were notified a task, on average (ANW).

    """

    success: float
    travel: float
    workers: float


def notify(grid: CellGrid, counts: Any, tasks: Any, workers: Any, rule: Geocast) -> Notified:
    """Return what becomes of tasks whose regions follow from released counts: an experiment on true positions.

    Args:
        grid: the cells.
        counts: released counts of workers.
        tasks: rows of metres east and north.
        workers: true rows of metres east and north. The result is as secret as these.
        rule: how tasks are offered.

    """
    places = np.asarray(workers, dtype=np.float64).reshape(-1, 2)
    cells = grid.cell_of_metres(places)
    spots = np.asarray(tasks, dtype=np.float64).reshape(-1, 2)
    return _became([_away(places[np.isin(cells, geocast(grid, counts, task, rule))], task) for task in spots], rule)


def notify_nearest(tasks: Any, workers: Any, rule: Geocast) -> Notified:
    """Return what becomes of tasks for which the fewest workers are notified: by a choice that knows every position.

    The nearest are the most likely to accept, so they are notified one after the other until somebody is likely enough
    to. There is no privacy in that: it is what others are compared with.

    Args:
        tasks: rows of metres east and north.
        workers: true rows of metres east and north.
        rule: how tasks are offered.

    """
    places = np.asarray(workers, dtype=np.float64).reshape(-1, 2)
    told = []
    for task in np.asarray(tasks, dtype=np.float64).reshape(-1, 2):
        away = _away(places, task)
        declined = np.cumprod(1 - rule.accepts(away))
        needed = int(np.searchsorted(-declined, rule.wanted - 1)) + 1
        within = int(np.searchsorted(away, rule.farthest))
        told.append(away[: min(needed, within)])
    return _became(told, rule)


def _away(places: NDArray[np.float64], task: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distances of workers from a task, the nearest first."""
    return np.sort(np.hypot(*(places - task).T))


def _became(told: list[NDArray[np.float64]], rule: Geocast) -> Notified:
    """Return the measures of tasks, for each of which the distances of the notified are given, the nearest first."""
    success, travel = [], []
    for away in told:
        chances = rule.accepts(away)
        # The nearest who accepts does it: his predecessors all declined.
        first = chances * np.concatenate([[1.0], np.cumprod(1 - chances)[:-1]]) if len(away) else np.zeros(0)
        success.append(float(first.sum()))
        travel.append(float(first @ away))
    total = float(np.sum(success))
    return Notified(
        total / max(len(success), 1),
        float(np.sum(travel)) / max(total, 1e-12),
        float(np.mean([len(away) for away in told] or [0])),
    )

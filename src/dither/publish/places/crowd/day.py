"""A day of tasks under one budget: counts of workers are published a few times, and each task uses the last ones.

An experiment, on true positions: how often to publish, where every publication takes its share of one epsilon. Workers
move, so old counts mislead; shares shrink, so many counts are noisy. One worker, added or removed with all positions of
the day, is what is protected: he is in one cell of each publication, so that the shares add up.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dither.data.places import CellGrid
from dither.errors import InvalidParameter
from dither.exact import Number, positive, whole
from dither.mechanisms.core.release import Budget, release
from dither.mechanisms.geometric import Geometric
from dither.privacy import PureDP, Relation, person
from dither.publish.places.crowd.geocast import Geocast, Notified, notify


@dataclass(frozen=True)
class Day:
    """What a day cost and how its tasks went with the true workers: as secret as their positions, but for the cost.

    Args:
        spent: the loss of all publications together, for one worker.
        published: how many publications there were.
        private: the tasks with the released counts.
        exact: the same rule with the true counts of every tick: what privacy and age cost together.

    """

    spent: PureDP
    published: int
    private: Notified
    exact: Notified


def simulate_day(
    grid: CellGrid, positions: Any, tasks: Any, rule: Geocast, *, epsilon: Number, publications: int
) -> Day:
    """Return how the tasks of a day go, if counts are published that many times at even intervals.

    Args:
        grid: public cells.
        positions: for each tick, rows of the workers' metres east and north; NaN for a worker who is away.
        tasks: for each tick, rows of metres of the tasks that arrive.
        rule: how tasks are offered.
        epsilon: the loss of the whole day, for one worker with all his positions.
        publications: how often counts are published.

    """
    ticks = np.asarray(positions, dtype=np.float64)
    if ticks.ndim != 3 or ticks.shape[2] != 2 or len(tasks) != len(ticks):
        raise InvalidParameter("positions, tasks", "of other shapes", "one table of metres for each tick")
    times = whole("publications", publications, least=1, most=len(ticks))
    share = positive("epsilon", epsilon) / times
    budget = Budget(epsilon=share * times, unit=person("worker", Relation.ADD_REMOVE))
    starts = {(tick * len(ticks)) // times for tick in range(times)}
    noise = Geometric(shape=(grid.cells,), scale=1 / Fraction(share))
    counts = np.zeros(grid.cells)
    seen: list[tuple[Notified, Notified, int]] = []
    for tick, places in enumerate(ticks):
        present = places[np.isfinite(places).all(axis=1)]
        true = np.bincount(grid.cell_of_metres(present), minlength=grid.cells)
        if tick in starts:
            # A worker is in one cell of this table, or in none.
            counts = np.asarray(release(noise, true, budget=budget, stability=1).value, dtype=np.float64)
        arriving = np.asarray(tasks[tick], dtype=np.float64).reshape(-1, 2)
        if len(arriving):
            private, exact = (notify(grid, numbers, arriving, present, rule) for numbers in (counts, true))
            seen.append((private, exact, len(arriving)))
    told, known = (_mean(seen, which) for which in (0, 1))
    return Day(PureDP(budget.spent.pure or 0), times, told, known)


def _mean(seen: list[tuple[Notified, Notified, int]], which: int) -> Notified:
    parts = [(private if which == 0 else exact, count) for private, exact, count in seen]
    many = np.array([count for _, count in parts] or [1], dtype=np.float64)
    rows = np.array([[one.success, one.travel * one.success, one.workers] for one, _ in parts] or [[0.0, 0.0, 0.0]])
    success, travelled, workers = (many @ rows / many.sum()).tolist()
    return Notified(success, travelled / max(success, 1e-12), workers)

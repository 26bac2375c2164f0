"""The time to plan marginals of a domain that is never written out, beside the goal."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

from dither.privacy import ZCDP
from dither.publish.marginals import Attributes, ResidualPlanner
from tools.bench.workloads import LARGE

#: Seconds for all marginals of a domain of 10^9 cells.
GOAL: Final = 10.0


@dataclass(frozen=True)
class PlanFigures:
    """One plan: how many cells the domain has, how many are published, the error of a cell, and seconds."""

    task: str
    cells: int
    published: int
    root_mean_square: float
    seconds: float


def measure_plans(sizes: tuple[int, ...] = LARGE[0], orders: tuple[int, ...] = (1, 2, 3)) -> list[PlanFigures]:
    """Return the figures of the residual planner for all marginals on each number of attributes, at rho 1/2."""
    table, found = Attributes(tuple(f"a{place}" for place in range(len(sizes))), sizes), []
    for order in orders:
        start = time.process_time()
        planner = ResidualPlanner.calibrated(ZCDP("1/2"), attributes=table, marginals=table.every(order))
        total = sum(size * each for size, each in zip(planner.sizes, planner.marginal_variances, strict=True))
        seconds = time.process_time() - start
        published = sum(planner.sizes)
        task = f"all {order}-way marginals of {len(sizes)} attributes, residual planner"
        found.append(PlanFigures(task, table.cells, published, (total / published) ** 0.5, seconds))
    return found


def lines() -> list[str]:
    """Return the figures for people, one plan a line."""
    found = [f"task | cells of the domain | cells published | error of a cell at rho 1/2 | s, goal {GOAL:.0f}"]
    for row in measure_plans():
        numbers = f"{row.cells:,} | {row.published:,} | {row.root_mean_square:.3f} | {row.seconds:.3f}"
        found.append(f"{row.task} | {numbers}")
    return found

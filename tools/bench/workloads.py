"""The error of searched strategies and the time of the search, beside the lower bound on any error.

Errors are sqrt(|A|_1^2 ||W A+||_F^2 / queries), without the factor sqrt 2 of Laplace noise: for all ranges, and for
marginals of a domain that is never written out. ``python -m tools.bench.workloads`` prints them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from dither.privacy import L1
from dither.publish.workloads import Identity, Strategy, Workload, find_strategy, opt_kron
from dither.publish.workloads.optimise import terms_of
from tools.bench.clock import load

#: The error that is aimed at, and the seconds that the search may take, by the number of cells.
GOALS: Final = {256: (5.70, 20.0), 1024: (7.9, 60.0)}
#: Seconds for a domain that is never written out.
LARGE_GOAL: Final = 10.0
#: All pairs of ten attributes, with as many values as attributes of people have: more than 10^9 cells.
LARGE = ((64, 40, 20, 10, 8, 7, 5, 2, 2, 2), 2)


@dataclass(frozen=True)
class WorkloadFigures:
    """The error and the time of one search; seconds of the wall clock and of the processor."""

    task: str
    cells: int
    root_mean_square: float
    svd_bound: float
    identity: float
    seconds: float
    processor_seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)


def measure_workloads(
    sizes: Sequence[int] = (256, 1024), *, iterations: int | None = None, large: bool = False
) -> list[WorkloadFigures]:
    """Return the figures of OPT_0 for all ranges on these numbers of cells, and of OPT_M on a large domain if asked."""
    figures = []
    for cells in sizes:
        workload = Workload.all_ranges(cells)
        wall, processor = time.perf_counter(), time.process_time()
        strategy = opt_kron(terms_of(workload.matrix), iterations=iterations)
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
        identity = workload.root_mean_square(Strategy(Identity(cells)))
        error = workload.root_mean_square(strategy)
        figures.append(
            WorkloadFigures("all ranges, OPT_0", cells, error, workload.svd_bound(), identity, wall, processor)
        )
    if large:
        workload = Workload.marginals(*LARGE)
        wall, processor = time.perf_counter(), time.process_time()
        found = find_strategy(workload, L1)
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
        # Noise for each marginal alone, evenly shared: the obvious strategy of a table that cannot be written out.
        plain = workload.root_mean_square(Strategy(workload.matrix))
        task, bound = "all pairs of ten attributes, OPT_M", workload.svd_bound()
        figures.append(WorkloadFigures(task, workload.cells, found.root_mean_square, bound, plain, wall, processor))
    return figures


def lines() -> list[str]:
    """Return the figures for people, one task a line, with the goals beside."""
    found = [
        f"error in units of the noise, {load()}",
        "task | cells | error | goal | SVD bound | plain | s | goal | s of processor",
    ]
    for row in measure_workloads(large=True):
        error, seconds = GOALS.get(row.cells, (None, LARGE_GOAL))
        goal = "" if error is None else f"{error:.2f}"
        numbers = f"{row.root_mean_square:.4f} | {goal} | {row.svd_bound:.4f} | {row.identity:.4f}"
        times = f"{row.seconds:.1f} | {seconds:.0f} | {row.processor_seconds:.1f}"
        found.append(f"{row.task} | {row.cells:,} | {numbers} | {times}")
    return found


if __name__ == "__main__":
    import sys

    sys.stdout.write("\n".join(lines()) + "\n")

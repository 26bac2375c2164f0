"""The time to publish a histogram, beside its goal and beside the minimum: noise on every cell.

The yardstick, measured in the same run: one number of noise for each cell, and one pass over the counts. A method that
draws noise for every cell cannot be below 1; grids measure fewer blocks than there are cells, and may be.
``python -m tools.bench.histograms`` prints the figures.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dither.mechanisms import perform
from dither.noise import system_noise
from dither.privacy import PureDP
from dither.publish.methods import build_method
from tools.bench.clock import load

#: Method, shape of the table, seconds that it may take.
TASKS: Final[tuple[tuple[str, tuple[int, ...], float], ...]] = (
    ("identity", (10**6,), 0.15),
    ("hierarchical", (10**6,), 0.5),
    ("privelet", (10**6,), 0.5),
    ("pruned", (10**6,), 1.0),
    ("dawa", (4096,), 0.5),
    ("pruned", (4096,), 0.05),
    ("uniform-grid", (1024, 1024), 2.0),
    ("adaptive-grid", (1024, 1024), 2.0),
)
_EPSILON: Final = "0.1"


@dataclass(frozen=True)
class HistogramFigures:
    """The time of one release, in seconds of the processor and of the wall clock, and that of the yardstick."""

    method: str
    shape: tuple[int, ...]
    seconds: float
    wall_seconds: float
    floor_seconds: float
    goal: float

    @property
    def ratio(self) -> float:
        """The time as a multiple of the yardstick."""
        return self.seconds / self.floor_seconds


def measure_histograms(
    tasks: tuple[tuple[str, tuple[int, ...], float], ...] = TASKS, *, repeats: int = 3
) -> list[HistogramFigures]:
    """Return the figures of all tasks, each the best of several releases after one that warms up."""
    found = []
    for method, shape, goal in tasks:
        mechanism = build_method(method, PureDP(_EPSILON), shape)
        counts = (np.arange(int(np.prod(shape)), dtype=np.int64) * 7919 % 23).reshape(shape)
        seconds, wall = _best(partial(perform, mechanism, counts, stability=1), repeats)
        floor, _ = _best(partial(_noise_and_pass, counts), repeats)
        found.append(HistogramFigures(method, shape, seconds, wall, floor, goal))
    return found


def lines() -> list[str]:
    """Return the figures for people, one method a line."""
    found = [
        f"one release at epsilon {_EPSILON}, best of several, {load()}",
        "method | cells | ms of processor | ms of wall clock | goal, ms | noise on every cell, ms | times that",
    ]
    for one in measure_histograms():
        cells = " x ".join(f"{size:,}" for size in one.shape)
        times = (one.seconds, one.wall_seconds, one.goal, one.floor_seconds)
        shown = " | ".join(f"{1000 * seconds:,.1f}" for seconds in times)
        found.append(f"{one.method} | {cells} | {shown} | {one.ratio:.1f}")
    return found


def _noise_and_pass(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    noise: NDArray[np.int64] = system_noise().discrete_laplace(10, counts.size)
    return counts + noise.reshape(counts.shape)


def _best(work: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Return the least processor and wall time of several runs, after one that warms up."""
    work()
    processor, wall = [], []
    for _ in range(repeats):
        starts = time.process_time(), time.perf_counter()
        work()
        processor.append(time.process_time() - starts[0])
        wall.append(time.perf_counter() - starts[1])
    return min(processor), min(wall)


if __name__ == "__main__":
    import sys

    sys.stdout.write("\n".join(lines()) + "\n")

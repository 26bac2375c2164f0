"""Constrained inference: processor time a cell at growing sizes, which stays where it is if the time is linear.

Measured are the least squares of a tree, the nearest sequence in order, and the nearest counts without negative ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dither.estimate.isotonic import isotonic
from dither.estimate.projections import non_negative_with_total
from dither.estimate.trees import block_sums, fit_tree
from tools.bench.clock import best_seconds

#: All of them larger than what is nearest to a processor, where every cell costs less.
SIZES: Final = (2**18, 2**20, 2**22)
_BRANCHING: Final = (4,)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class InferenceFigures:
    """Nanoseconds a cell at each size, smallest first, and how the time grows: 1 where it is linear."""

    task: str
    nanoseconds: tuple[float, ...]
    exponent: float


def measure_inference(sizes: Sequence[int] = SIZES) -> list[InferenceFigures]:
    """Return the time a cell of every task at every size."""
    found = []
    for task, work in _TASKS.items():
        seconds = [_seconds(work, size) for size in sizes]
        # The slope of a straight line through the logarithms: time is proportional to size to this power.
        exponent = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
        each = tuple(time / size * 1e9 for time, size in zip(seconds, sizes, strict=True))
        found.append(InferenceFigures(task, each, exponent))
    return found


def _seconds(work: Callable[[Floats], object], size: int) -> float:
    values = np.random.default_rng(size).normal(size=size) * 10 + np.sqrt(np.arange(size))
    return max(best_seconds(lambda: work(values), repeats=3), 1e-9)


def _tree(values: Floats) -> object:
    levels = [values]
    while levels[-1].size > 1:
        levels.append(block_sums(levels[-1], _BRANCHING))
    return fit_tree(levels, [2.0] * len(levels), [_BRANCHING] * (len(levels) - 1)).cells


_TASKS: Final[dict[str, Callable[[Floats], object]]] = {
    "least squares of a tree": _tree,
    "sequence in order": isotonic,
    "no negative counts, total kept": non_negative_with_total,
}


def lines() -> list[str]:
    """Return the figures for people, one task a line."""
    sizes = ", ".join(f"{size:,}" for size in SIZES)
    found = [f"constrained inference, nanoseconds a cell at {sizes} cells | time grows as cells to the power"]
    for row in measure_inference():
        found.append(f"{row.task} | {', '.join(f'{time:.1f}' for time in row.nanoseconds)} | {row.exponent:.2f}")
    return found

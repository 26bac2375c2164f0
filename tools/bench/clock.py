"""Measuring time on a shared machine: processor time, best of several."""

from __future__ import annotations

import os
import time
from collections.abc import Callable


def best_seconds(work: Callable[[], object], repeats: int = 5) -> float:
    """Return the least processor time of several runs, after one that warms up."""
    work()
    return min(_seconds(work) for _ in range(repeats))


def _seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def load() -> str:
    """Return the load of the machine, for the heading of every table of times."""
    one, five, _ = os.getloadavg()
    return f"{os.cpu_count()} cores, load {one:.2f} (1 min) {five:.2f} (5 min)"

"""Times diffprivlib's histograms; run by the rivals' interpreter, never imported by dither.

Arguments: a folder with ``values.npy`` (numbers in [0, 1)) and ``places.npy`` (pairs of them), the number of cells, of
cells along a side, epsilon, and how often to run. The last line is a record of tasks, each with all that was released
and the seconds of a release.
"""

import importlib
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

tools: Any = importlib.import_module("diffprivlib.tools")


def measured(release: Callable[[], np.ndarray], repeats: int) -> dict[str, object]:
    """Return all releases, and the least processor time of one after a first."""
    released, best = [], float("inf")
    for run in range(repeats):
        start = time.process_time()
        found = release()
        best = min(best, time.process_time() - start) if run else best
        released.append(np.asarray(found).ravel().tolist())
    return {"released": released, "seconds": best}


def main() -> None:
    """Print one JSON record."""
    folder, cells, side, epsilon = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
    values, places, repeats = np.load(folder / "values.npy"), np.load(folder / "places.npy"), int(sys.argv[5])
    square = [(0.0, 1.0), (0.0, 1.0)]

    def line() -> np.ndarray:
        return np.asarray(tools.histogram(values, epsilon=epsilon, bins=cells, range=(0.0, 1.0))[0])

    def plane() -> np.ndarray:
        return np.asarray(tools.histogram2d(places[:, 0], places[:, 1], epsilon=epsilon, bins=side, range=square)[0])

    tasks = {"histogram": measured(line, repeats), "histogram2d": measured(plane, repeats)}
    sys.stdout.write(json.dumps(tasks) + "\n")


if __name__ == "__main__":
    main()

"""``python -m tools.bench.waiting``: how long one waits for a private answer.

A warm query (session open, 1,000 rows), a query from a cold shell, and the import alone; beside them the disk's own
fsync, of which every answer waits for several. Prints a table.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dither.curator.folder import Curator
from dither.privacy import PureDP

_SCHEMA = """\
dataset: speed
unit: person
contribution: {rows: 5}
tables:
  visits:
    source: visits.csv
    privacy id: person
    columns:
      person: integer
      ward: {kind: text, categories: [a, b, c, d]}
      waited: {kind: real, bounds: [0, 240]}
"""
_QUERY = "SELECT ward, COUNT(*) AS visits, SUM(waited) AS waited FROM visits GROUP BY ward"


@dataclass(frozen=True)
class Waiting:
    """Seconds of each kind of wait, all in one run."""

    fsync_median: float
    warm_median: float
    warm_p95: float
    cold_sql: float
    bare_import: float

    @property
    def lines(self) -> list[str]:
        """What was measured, beside the goals."""
        goal = 0.025 + 4 * self.fsync_median
        return [
            f"fsync of 4 KiB          {self.fsync_median * 1000:8.2f} ms (median)",
            f"warm query, 1,000 rows  {self.warm_median * 1000:8.2f} ms (median), {self.warm_p95 * 1000:.2f} ms (p95); "
            f"goal {goal * 1000:.2f} ms: 25 ms and 4 fsyncs",
            f"dither sql, cold shell  {self.cold_sql * 1000:8.0f} ms; goal 1,200 ms",
            f"import dither           {self.bare_import * 1000:8.0f} ms beyond Python's own start; goal 500 ms",
        ]


def measure(folder: Path, *, queries: int = 60) -> Waiting:
    """Return what one waits for, on the disk of ``folder``."""
    (folder / "speed.yaml").write_text(_SCHEMA, encoding="utf-8")
    rows = "".join(f"{row % 300},{'abcd'[row % 4]},{row * 7 % 240}\n" for row in range(1000))
    (folder / "visits.csv").write_text("person,ward,waited\n" + rows, encoding="utf-8")
    curator = Curator.create(folder / "home")
    curator.add(folder / "speed.yaml", budget=PureDP(100_000))
    session = curator.session("speed")
    session.sql(_QUERY, epsilon=1)
    warm, disk = [], []
    for _ in range(queries):
        warm.append(_timed(lambda: session.sql(_QUERY, epsilon=1)))
        disk.append(_timed(lambda: _fsync(folder / "probe")))
    session.close()
    curator.close()
    words = ["sql", "speed", _QUERY, "--epsilon", "1", "--home", str(folder / "home")]
    script = "from dither.cli import command; command()"
    cold = min(_run([sys.executable, "-c", script, *words]) for _ in range(3))
    bare = min(_run([sys.executable, "-c", "pass"]) for _ in range(5))
    imported = min(_run([sys.executable, "-c", "import dither"]) for _ in range(5))
    p95 = statistics.quantiles(warm, n=20)[-1]
    return Waiting(statistics.median(disk), statistics.median(warm), p95, cold, imported - bare)


def _timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(descriptor, b"\0" * 4096)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _run(words: list[str]) -> float:
    return _timed(lambda: subprocess.run(words, check=True, capture_output=True))


def lines() -> list[str]:
    """Measure in a temporary folder of the working directory's disk, and return what was found, and the load."""
    with tempfile.TemporaryDirectory(dir=".") as name:
        folder, before = Path(name).resolve(), os.environ.get("DITHER_ANCHORS")
        # Of the shells that are started, too.
        os.environ["DITHER_ANCHORS"] = str(folder / "anchors")
        try:
            return [*measure(folder).lines, f"load {os.getloadavg()[0]:.2f}"]
        finally:
            if before is None:
                del os.environ["DITHER_ANCHORS"]
            else:
                os.environ["DITHER_ANCHORS"] = before


if __name__ == "__main__":
    sys.stdout.write("\n".join(lines()) + "\n")

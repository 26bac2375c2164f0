# ruff: noqa: S608 - statements over a view that this module has made
"""How fast an aggregation is in Spark beside the same query without protection, in one run and over one file.

Row unit: a count and a clamped sum over two group columns (50 x 20), against Spark's own GROUP BY. User unit: the same
with at most five rows a person, against Spark's own query with the same window. Queries take turns, so that load and
the warming of the Java machine fall on all alike; times are processor time of that machine, which has its compiler and
collector in it. ``python -m tools.bench.spark --rows 10000000`` is the long form. With ``--cores 1,2`` each request is
timed with that many cores, each number in a process of its own, by the clock and by processor time: where the latter is
the same and the clock is not, the cores were wanted by others.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from dither.data import Aggregation, Bounded, Keep
from dither.data.engines.spark import SparkEngine
from tools.bench.clock import load
from tools.bench.queries import ROWS_A_PERSON, QueryFigures, requests, write_rows

GOAL: Final = 1.3
_SUM: Final = "SELECT area, kind, count(*), sum(least(greatest(cost, 0D), 100D))"
_ORDER: Final = "xxhash64(person, area, kind, cost)"
_WINDOW: Final = f"(SELECT *, row_number() OVER (PARTITION BY person ORDER BY {_ORDER}) AS r FROM plain_rows)"
#: The queries without protection.
PLAIN: Final = f"{_SUM} FROM plain_rows GROUP BY area, kind"
PLAIN_BOUNDED: Final = f"{_SUM} FROM {_WINDOW} WHERE r <= {ROWS_A_PERSON} GROUP BY area, kind"


def measure_spark(rows: int, *, repeats: int = 5, folder: Path | None = None) -> list[QueryFigures]:
    """Return the figures of the row unit and of the user unit over a file of so many rows, about five a person."""
    if folder is None:
        with tempfile.TemporaryDirectory() as made:
            return measure_spark(rows, repeats=repeats, folder=Path(made))
    file = folder / "rows.parquet"
    write_rows(file, rows, max(1, rows // ROWS_A_PERSON))
    figures = []
    for task, (dataset, aggregation) in _asked(file).items():
        with SparkEngine(dataclasses.replace(dataset, engine="spark")) as engine:
            engine.check()
            session = engine.session
            session.read.parquet(str(file)).createOrReplaceTempView("plain_rows")
            query = PLAIN_BOUNDED if dataset.protects_persons else PLAIN
            plain, ours = _alternating(
                lambda: session.sql(query).collect(),  # noqa: B023 - used at once
                lambda: engine.aggregate(aggregation),  # noqa: B023 - used at once
                repeats,
            )
        figures.append(QueryFigures(task, rows, ours, {"plain": plain}, GOAL, load()))
    return figures


def measure_cores(rows: int, cores: Sequence[int], *, repeats: int = 5) -> dict[int, dict[str, tuple[float, float]]]:
    """Return the seconds of each request, by the clock and of the processor, for each number of cores."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.parquet"
        write_rows(file, rows, max(1, rows // ROWS_A_PERSON))
        found = {}
        for many in cores:
            words = [sys.executable, "-m", "tools.bench.spark", "--file", str(file), "--cores", str(many)]
            done = subprocess.run([*words, "--repeats", str(repeats)], check=True, capture_output=True, text=True)
            found[many] = json.loads(done.stdout)
    return found


def _clocked(file: Path, many: int, repeats: int) -> dict[str, tuple[float, float]]:
    """Return the least seconds of each request in this process, after three runs that warm up: clock and processor."""
    found = {}
    for task, (dataset, aggregation) in requests(file).items():
        with SparkEngine(dataclasses.replace(dataset, engine=f"spark:local[{many}]")) as engine:
            runs = []
            for _ in range(3 + repeats):
                start = time.monotonic(), _java_seconds()
                engine.aggregate(aggregation)
                runs.append((time.monotonic() - start[0], _java_seconds() - start[1]))
        found[task] = (min(clock for clock, _ in runs[3:]), min(busy for _, busy in runs[3:]))
    return found


def _asked(file: Path) -> dict[str, Any]:
    """Return the requests of the other benchmark, and the user unit also without its list of public keys."""
    asked: dict[str, Any] = dict(requests(file))
    dataset, aggregation = asked["user unit, public keys"]
    bounded = aggregation.relation
    if isinstance(bounded, Bounded) and isinstance(bounded.relation, Keep):
        without = dataclasses.replace(bounded, relation=bounded.relation.relation)
        asked["user unit"] = (dataset, Aggregation(without, aggregation.keys, aggregation.measures))
    return asked


def _alternating(plain: Callable[[], object], ours: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Return the least processor seconds of either, in turns, after three rounds that warm up."""
    for work in (plain, ours) * 3:
        work()
    rounds = [(_seconds(plain), _seconds(ours)) for _ in range(repeats)]
    return min(first for first, _ in rounds), min(second for _, second in rounds)


def _seconds(work: Callable[[], object]) -> float:
    start = _java_seconds()
    work()
    return _java_seconds() - start


def _java_seconds() -> float:
    """Return the processor time of the Java machine so far; where the system does not tell, the time of the clock."""
    from pyspark import SparkContext

    started: Any = getattr(SparkContext._gateway, "proc", None)
    try:
        # The name of the program, in parentheses, may hold blanks; user and system time are the 14th and 15th field.
        fields = Path(f"/proc/{started.pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (AttributeError, OSError):
        return time.monotonic()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def table(figures: list[QueryFigures]) -> Any:
    """Return the figures side by side, for people."""
    from rich.table import Table

    shown = Table(title="queries over Parquet in Spark, processor seconds (best of several)", title_justify="left")
    for title in ("task", "rows", "dither, s", "plain, s", "ratio", "goal", "load"):
        shown.add_column(title, justify="left" if title in ("task", "load") else "right")
    for one in figures:
        ours, plain = f"{one.seconds:.2f}", f"{min(one.plain.values()):.2f}"
        shown.add_row(one.task, f"{one.rows:,}", ours, plain, f"{one.ratio:.2f}", f"{GOAL:.1f}", one.load)
    return shown


def main() -> None:
    """Measure, and print a table."""
    from rich.console import Console

    parser = argparse.ArgumentParser(prog="tools.bench.spark", description=__doc__)
    parser.add_argument("--rows", type=int, default=10**6, help="rows of the file")
    parser.add_argument("--repeats", type=int, default=5, help="runs of each query")
    parser.add_argument("--cores", help="numbers of cores to compare, as 1,2")
    parser.add_argument("--file", type=Path, help="a file of rows that is there already, for one number of cores")
    given = parser.parse_args()
    if given.cores is not None:
        cores = [int(many) for many in given.cores.split(",")]
        one = None if given.file is None else _clocked(given.file, cores[0], given.repeats)
        told: object = measure_cores(given.rows, cores, repeats=given.repeats) if one is None else one
        sys.stdout.write(json.dumps(told) + "\n")
        return
    console = Console(soft_wrap=True)
    console.width = max(console.width, 130)
    console.print(table(measure_spark(given.rows, repeats=given.repeats)))


if __name__ == "__main__":
    main()

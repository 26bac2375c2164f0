# ruff: noqa: S608 - statements over a file that this module has written
"""Many groups: what a private answer costs beside the same query in plain DuckDB, from the text to the stored answer.

A count and a clamped sum over one key with 10^5 and 10^6 declared values, in a session with a ledger on the disk. Plain
is DuckDB's own answer as arrays and as rows, in the same run over the same file. ``python -m tools.bench groups``.
"""

from __future__ import annotations

import os
import resource
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dither.curator.folder import Curator
from dither.privacy import PureDP
from tools.bench.clock import best_seconds, load

#: Groups, and rows in the file.
SIZES = ((10**5, 10**6), (10**6, 5 * 10**6))
_PLAIN = "SELECT k, count(*), sum(least(greatest(v, 0), 100)) FROM '{file}' GROUP BY k"
_QUERY = "SELECT k, COUNT(*) AS c, SUM(v) AS s FROM t GROUP BY k"
_SCHEMA = """\
dataset: many
unit: row
tables:
  t:
    source: rows.parquet
    columns:
      k: {{kind: integer, bounds: [0, {last}]}}
      v: {{kind: integer, bounds: [0, 100]}}
"""


@dataclass(frozen=True)
class GroupFigures:
    """Processor seconds of one answer, best of three, and the largest memory of the process so far."""

    groups: int
    rows: int
    seconds: float
    as_arrays: float
    as_rows: float
    megabytes: float


def measure_groups(groups: int, rows: int, folder: Path, *, repeats: int = 3) -> GroupFigures:
    """Return what answers with this number of groups cost, ours and plain."""
    import duckdb

    file = folder / "rows.parquet"
    with duckdb.connect() as connection:
        connection.execute("SET enable_progress_bar = false")
        key, value = f"CAST(hash(range) % {groups} AS BIGINT)", "CAST(hash(7 * range + 1) % 100 AS BIGINT)"
        connection.execute(f"COPY (SELECT {key} AS k, {value} AS v FROM range({rows})) TO '{file}' (FORMAT parquet)")
        plain = _PLAIN.format(file=file)
        arrays = best_seconds(lambda: connection.execute(plain).fetchnumpy(), repeats)
        tuples = best_seconds(lambda: connection.execute(plain).fetchall(), repeats)
    (folder / "many.yaml").write_text(_SCHEMA.format(last=groups - 1), encoding="utf-8")
    with Curator.create(folder / "home") as curator:
        curator.add(folder / "many.yaml", budget=PureDP(1000))
        with curator.session("many") as session:
            ours = best_seconds(lambda: session.sql(_QUERY, epsilon=1), repeats)
    return GroupFigures(groups, rows, ours, arrays, tuples, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def lines() -> Iterator[str]:
    """Yield the figures for people."""
    yield "groups | rows | CPU s | goal | plain, arrays | plain, rows | ours / arrays | ours / rows | MB so far"
    before = os.environ.get("DITHER_ANCHORS")
    try:
        for groups, rows in SIZES:
            with tempfile.TemporaryDirectory() as name:
                os.environ["DITHER_ANCHORS"] = str(Path(name) / "anchors")
                one = measure_groups(groups, rows, Path(name))
            goal = "3 times plain" if groups < 10**6 else "3 s"
            yield (
                f"{one.groups:,} | {one.rows:,} | {one.seconds:.3f} | {goal} | "
                f"{one.as_arrays:.3f} | {one.as_rows:.3f} | "
                f"{one.seconds / one.as_arrays:.2f} | {one.seconds / one.as_rows:.2f} | {one.megabytes:.0f}"
            )
    finally:
        if before is None:
            os.environ.pop("DITHER_ANCHORS", None)
        else:
            os.environ["DITHER_ANCHORS"] = before
    yield f"best of three; {load()}"

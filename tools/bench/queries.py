# ruff: noqa: S608 - statements over a file that this module has written
"""How fast an aggregation is beside the same query without protection, in one run and over one file.

Row unit: a count and a clamped sum over two group columns (50 x 20), against DuckDB's own GROUP BY. User unit: the
same with at most five rows a person, against three plain ways to write that bound; the fastest of them is the measure.
One of the three shows a trap: DuckDB rewrites a window that is limited to its first rows into an aggregate that is
several times slower. The user unit is also measured beside OpenDP, where that is installed.
"""

from __future__ import annotations

import contextlib
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from dither.data import (
    Aggregation,
    Bounded,
    Column,
    CountRows,
    DataSet,
    Grid,
    Keep,
    Kind,
    Limits,
    Name,
    Scan,
    Sum,
    Table,
)
from dither.data.engines.duckdb import DuckDBEngine
from dither.data.schema import person_unit
from dither.privacy import ROW
from tools.bench.clock import best_seconds, load
from tools.rivals.environments import ask_rival

ROWS_A_PERSON: Final = 5
#: Our rate should be this multiple of OpenDP's.
RIVAL_GOAL: Final = 10
#: OpenDP takes about three seconds for this number of rows.
MOST_ROWS_FOR_RIVAL: Final = 10**6
_AREAS, _KINDS = 50, 20
_COLUMNS = (
    Column("person", Kind.INTEGER),
    Column("area", Kind.INTEGER, 0, _AREAS - 1),
    Column("kind", Kind.INTEGER, 0, _KINDS - 1),
    Column("cost", Kind.REAL, 0.0, 100.0),
)
_KEYS = (Name("area"), Name("kind"))
_COST = Grid(Name("cost"), 0.0, 100.0, 0.0, 20)
_PLAIN_SUM = "SELECT area, kind, count(*), sum(least(greatest(cost, 0), 100))"
_LIMITED = f"r <= {ROWS_A_PERSON} GROUP BY area, kind"
_NUMBERED = "(SELECT *, row_number() OVER (PARTITION BY person ORDER BY {order}) AS r FROM '{file}')"

#: The query without protection.
PLAIN: Final = _PLAIN_SUM + " FROM '{file}' GROUP BY area, kind"
#: Three plain ways to let at most five rows of a person count; what is set before, and the query.
PLAIN_BOUNDED: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "window": (
            "SET disabled_optimizers = ''",
            f"{_PLAIN_SUM} FROM {_NUMBERED.replace('{order}', 'hash(row)')} WHERE {_LIMITED}",
        ),
        "window, two keys": (
            "SET disabled_optimizers = ''",
            f"{_PLAIN_SUM} FROM {_NUMBERED.replace('{order}', 'hash(row), row')} WHERE {_LIMITED}",
        ),
        "window, not rewritten": (
            "SET disabled_optimizers = 'top_n_window_elimination'",
            f"{_PLAIN_SUM} FROM {_NUMBERED.replace('{order}', 'hash(row)')} WHERE {_LIMITED}",
        ),
    }
)


@dataclass(frozen=True)
class QueryFigures:
    """Processor seconds of one query, ours and plain, over the same file in the same run.

    Args:
        task: what was asked.
        rows: how many rows the file has.
        seconds: ours.
        plain: the plain forms by name.
        goal: the largest allowed ratio to the fastest plain form; None where there is none.
        load: the load of the machine when it was measured.

    """

    task: str
    rows: int
    seconds: float
    plain: Mapping[str, float]
    goal: float | None
    load: str

    @property
    def ratio(self) -> float:
        """Our time as a multiple of the fastest plain form's."""
        return self.seconds / min(self.plain.values())


def write_rows(file: Path, rows: int, persons: int) -> None:
    """Write a Parquet file of ``rows`` rows of about ``persons`` people; the same numbers give the same rows."""
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("SET enable_progress_bar = false")
        connection.execute(
            # Not hash(range, 2) and hash(range, 3): the last bits of those go together.
            f"COPY (SELECT CAST(hash(7 * range + 1) % {persons} AS BIGINT) AS person, "
            f"CAST(hash(7 * range + 2) % {_AREAS} AS INTEGER) AS area, "
            f"CAST(hash(7 * range + 3) % {_KINDS} AS INTEGER) AS kind, "
            f"(hash(7 * range + 4) % 1200007) / 10000.0 - 10 AS cost, range AS row FROM range({rows})) "
            f"TO '{file}' (FORMAT parquet)"
        )


def measure_queries(rows: int, *, repeats: int = 3, folder: Path | None = None) -> list[QueryFigures]:
    """Return the figures of the row unit and of the user unit over a file of so many rows, about five a person."""
    if folder is None:
        with tempfile.TemporaryDirectory() as made:
            return measure_queries(rows, repeats=repeats, folder=Path(made))
    file = folder / "rows.parquet"
    write_rows(file, rows, max(1, rows // ROWS_A_PERSON))
    plain = _plain_seconds(file, repeats, {"group by": ("SET disabled_optimizers = ''", PLAIN)})
    bounded = _plain_seconds(file, repeats, PLAIN_BOUNDED)
    figures = []
    for task, (dataset, aggregation) in requests(file).items():
        with DuckDBEngine(dataset) as engine:
            seconds = best_seconds(lambda: engine.aggregate(aggregation), repeats)  # noqa: B023 - used at once
        is_bounded = dataset.protects_persons
        goal = 1.5 if is_bounded else 2.0
        figures.append(QueryFigures(task, rows, seconds, bounded if is_bounded else plain, goal, load()))
    return figures


@dataclass(frozen=True)
class RivalFigures:
    """Processor seconds of the user unit, ours and OpenDP's, over the same file in the same run.

    Args:
        rows: how many rows the file has.
        seconds: ours, the exact bounded aggregation; noise for its thousand groups takes less than a millisecond more.
        opendp: OpenDP's, noise included.

    """

    rows: int
    seconds: float
    opendp: float

    @property
    def ratio(self) -> float:
        """Our rate as a multiple of OpenDP's."""
        return self.opendp / self.seconds


def measure_rival(rows: int, rival_python: Path | None, *, repeats: int = 3) -> RivalFigures | None:
    """Return the user unit beside OpenDP's over so many rows, a million at most; None without OpenDP."""
    if rival_python is None:
        return None
    rows = min(rows, MOST_ROWS_FOR_RIVAL)
    with tempfile.TemporaryDirectory() as made:
        file = Path(made) / "rows.parquet"
        write_rows(file, rows, max(1, rows // ROWS_A_PERSON))
        dataset, aggregation = requests(file)["user unit, public keys"]
        with DuckDBEngine(dataset) as engine:
            groups = len(engine.aggregate(aggregation).keys)
            seconds = best_seconds(lambda: engine.aggregate(aggregation), repeats)
        theirs = ask_rival(rival_python, "opendp_queries.py", str(file), str(rows), str(repeats), seconds=900)
    if theirs["keys"] != groups:
        raise RuntimeError(f"OpenDP answered {theirs['keys']} groups of {groups}: not the same question")
    return RivalFigures(rows, seconds, theirs["seconds"])


def rival_line(figures: RivalFigures | None) -> str:
    """Return the comparison with OpenDP as one line."""
    if figures is None:
        return "user unit beside OpenDP: absent (python -m tools.bench queries --rivals FOLDER)"
    return (
        f"user unit beside OpenDP, {figures.rows:,} rows: {figures.seconds:.3f} and {figures.opendp:.2f} processor "
        f"seconds, {figures.ratio:.1f} times its rate (goal {RIVAL_GOAL})"
    )


def requests(file: Path) -> dict[str, tuple[DataSet, Aggregation]]:
    """Return what is measured: data sets over the file, and aggregations."""
    by_rows = Table("rows", _COLUMNS, str(file))
    by_person = Table("rows", _COLUMNS, str(file), person="person")
    row_unit = DataSet("bench", (by_rows,), ROW)
    user_unit = DataSet("bench", (by_person,), person_unit("person"), rows=ROWS_A_PERSON)
    measures = (CountRows(), Sum(_COST))
    keys = tuple((area, kind) for area in range(_AREAS) for kind in range(_KINDS))
    # The shape of a planned request: rows with public keys, bounded by all that is used of them, put on the grid.
    used = Keep(Scan(by_person), _KEYS, keys)
    chosen = Bounded(used, _KEYS, Limits(rows=ROWS_A_PERSON), ("area", "kind", "cost"))
    return {
        "row unit": (row_unit, Aggregation(Scan(by_rows), _KEYS, measures)),
        "row unit, public keys": (row_unit, Aggregation(Keep(Scan(by_rows), _KEYS, keys), _KEYS, measures)),
        "user unit, public keys": (user_unit, Aggregation(chosen, _KEYS, measures)),
    }


def _plain_seconds(file: Path, repeats: int, forms: Mapping[str, tuple[str, str]]) -> dict[str, float]:
    import duckdb

    seconds = {}
    with duckdb.connect() as connection:
        connection.execute("SET preserve_insertion_order = false")
        connection.execute("SET enable_progress_bar = false")
        for name, (setting, query) in forms.items():
            # A release that lacks the optimiser does not rewrite anything.
            with contextlib.suppress(duckdb.Error):
                connection.execute(setting)
            text = query.replace("{file}", str(file))
            seconds[name] = best_seconds(lambda: connection.execute(text).fetchall(), repeats)  # noqa: B023
    return seconds


def measure_memory(rows: int) -> dict[str, float]:
    """Return the peak megabytes of a process that runs the user unit, and of one that runs each plain bounded form."""
    with tempfile.TemporaryDirectory() as made:
        file = Path(made) / "rows.parquet"
        write_rows(file, rows, max(1, rows // ROWS_A_PERSON))
        return {name: _peak(file, name) for name in ("user unit, public keys", *PLAIN_BOUNDED)}


def _peak(file: Path, name: str) -> float:
    code = "import sys; from tools.bench.queries import run_once; run_once(sys.argv[1], sys.argv[2])"
    done = subprocess.run([sys.executable, "-c", code, str(file), name], check=True, capture_output=True, text=True)
    return int(done.stdout) / 1024


def run_once(file: str, name: str) -> None:
    """Run one query in this process and write the process's peak kilobytes to standard output."""
    if name in PLAIN_BOUNDED:
        _plain_seconds(Path(file), 1, {name: PLAIN_BOUNDED[name]})
    else:
        dataset, aggregation = requests(Path(file))[name]
        with DuckDBEngine(dataset) as engine:
            engine.aggregate(aggregation)
            engine.aggregate(aggregation)
    sys.stdout.write(str(_peak_kilobytes()))


def _peak_kilobytes() -> int:
    """Return the peak of this program alone; getrusage includes the memory of its parent."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def table(figures: list[QueryFigures]) -> Any:
    """Return the figures side by side, for people."""
    from rich.table import Table as Shown

    shown = Shown(title="queries over Parquet in DuckDB, processor seconds (best of several)", title_justify="left")
    for title in ("task", "rows", "dither, s", "plain forms, s", "ratio to the fastest", "goal", "load"):
        shown.add_column(title, justify="left" if title in ("task", "plain forms, s", "load") else "right")
    for one in figures:
        plain = ", ".join(f"{name} {seconds:.3f}" for name, seconds in one.plain.items())
        goal = "" if one.goal is None else f"{one.goal:.1f}"
        shown.add_row(one.task, f"{one.rows:,}", f"{one.seconds:.3f}", plain, f"{one.ratio:.2f}", goal, one.load)
    return shown

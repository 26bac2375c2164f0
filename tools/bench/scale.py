"""Every verb by the number of rows: processor time, memory and what the engine returns, with fitted exponents.

Each figure is a process of its own on a data set that was added before, its Parquet read in place, so that adding is
not in the figures. Memory is what the process gained while the verb ran. Rows that come back are those of the largest
answer of the engine: where they do not grow, the verb needs no row in Python.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rich.table import Table

#: The smallest table. Each next one is ten times larger.
LEAST_ROWS: Final = 10**5
#: A size is skipped where the figures so far predict more seconds of the processor.
_MOST_SECONDS: Final = 60.0
_COLUMNS: Final = """
      who: integer
      ward: {kind: text, categories: [north, south, east, west]}
      drug: {kind: text, categories: [a, b, c, d, e, f, g, h]}
      age: {kind: integer, bounds: [0, 99]}
      cost: {kind: real, bounds: [0, 1000]}
      zip: integer
"""
_VISITS: Final = (
    "SELECT i // 5 AS who, ['north', 'south', 'east', 'west'][1 + (hash(i) % 4)::INT] AS ward, "
    "['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'][1 + (hash(i * 3) % 8)::INT] AS drug, (hash(i * 5) % 100)::INT AS age, "
    "(hash(i * 7) % 100000) / 100.0 AS cost, (hash(i * 11) % 1000)::INT AS zip FROM range({rows}) AS t(i)"
)
_EDGES: Final = (
    "SELECT (hash(i) % 9973)::INT AS a, (hash(i * 13) % 9967)::INT AS b FROM range({rows}) AS t(i) WHERE a <> b"
)
_PLACES: Final = (
    "SELECT i // 5 AS who, 47 + (hash(i) % 10000) / 10000.0 AS lat, 8 + (hash(i * 3) % 10000) / 10000.0 AS lon "
    "FROM range({rows}) AS t(i)"
)
_PERSON: Final = "unit: person\ncontribution: {rows: 5, groups: 2}"


@dataclass(frozen=True)
class Generated:
    """A generated table: its statement, and what a schema says of it, ``SOURCE`` standing for the file."""

    statement: str
    schema: str


TABLES: Final[Mapping[str, Generated]] = {
    "rows": Generated(_VISITS, f"dataset: rows\nunit: row\ntables:\n  t:\n    source: SOURCE\n    columns:{_COLUMNS}"),
    "people": Generated(
        _VISITS,
        f"dataset: people\n{_PERSON}\ntables:\n  t:\n    source: SOURCE\n    privacy id: who\n    columns:{_COLUMNS}",
    ),
    "edges": Generated(
        _EDGES,
        "dataset: edges\nunit: edge\ntables:\n  t:\n    source: SOURCE\n    graph: {ends: [a, b]}\n    columns:\n"
        "      a: {kind: integer, bounds: [0, 9999]}\n      b: {kind: integer, bounds: [0, 9999]}\n",
    ),
    "places": Generated(
        _PLACES,
        f"dataset: places\n{_PERSON}\ntables:\n  t:\n    source: SOURCE\n    privacy id: who\n"
        "    places: {at: [lat, lon], box: [47, 8, 48, 9]}\n    columns: {who: integer, lat: real, lon: real}\n",
    ),
}


def _fit(name: str, **given: Any) -> Callable[[Any], object]:
    def call(session: Any) -> object:
        from dither import learn

        more = {key: given[key] for key in ("target", "features") if key in given}
        options = {key: value for key, value in given.items() if key not in more}
        return session.fit(getattr(learn, name)(epsilon=1, **options), "t", **more)

    return call


def _sql(text: str, **terms: Any) -> Callable[[Any], object]:
    return lambda session: session.sql(text, **({"epsilon": 1} | terms))


#: What is measured: on which table, and the call.
VERBS: Final[Mapping[str, tuple[str, Callable[[Any], object]]]] = {
    "sql: sums by 32 declared groups": (
        "rows",
        _sql("SELECT ward, drug, COUNT(*) AS n, SUM(cost) AS c FROM t GROUP BY ward, drug"),
    ),
    "sql, people": ("people", _sql("SELECT ward, COUNT(*) AS n, SUM(cost) AS c FROM t GROUP BY ward")),
    "sql: 1,000 discovered groups": (
        "rows",
        _sql("SELECT zip, COUNT(*) AS n FROM t GROUP BY zip", epsilon=1, delta="1e-9"),
    ),
    "histogram": ("rows", lambda session: session.histogram("t", ["ward", "age"], epsilon=1)),
    "histogram, people": ("people", lambda session: session.histogram("t", ["ward", "age"], epsilon=1)),
    "marginals": (
        "rows",
        lambda session: session.marginals("t", [["ward", "drug"], ["ward", "age"]], epsilon=1),
    ),
    "bounds": ("rows", lambda session: session.bounds("t", "zip", epsilon=1)),
    "limits": ("people", lambda session: session.limits("t", epsilon=1)),
    "synthesize": (
        "rows",
        lambda session: session.synthesize("t", ["ward", "drug", "age", "cost"], epsilon=1),
    ),
    "anonymize": ("rows", lambda session: session.anonymize("t", ["ward", "drug"], epsilon=1)),
    "fit: CategoricalNB": ("rows", _fit("CategoricalNB", target="ward", features=["drug"])),
    "fit: LogisticRegression": ("rows", _fit("LogisticRegression", target="ward", features=["age", "cost"])),
    "fit: KMeans": ("rows", _fit("KMeans", n_clusters=4, features=["age", "cost"])),
    "fit: RandomForestClassifier": (
        "rows",
        _fit("RandomForestClassifier", target="ward", features=["age", "cost"]),
    ),
    "graph.edges": ("edges", lambda session: session.graph().edges(epsilon=1)),
    "graph.triangles": ("edges", lambda session: session.graph().triangles(epsilon=1)),
    "graph.degrees": ("edges", lambda session: session.graph().degrees(epsilon=1)),
    "places.heatmap": ("places", lambda session: session.places().heatmap(grid=64, epsilon=1)),
}


@dataclass(frozen=True)
class Figures:
    """One verb on one table.

    Args:
        rows: of the table.
        seconds: of the processor.
        megabytes: that the process gained at most.
        returned: rows of the engine's largest answer.

    """

    rows: int
    seconds: float
    megabytes: float
    returned: int


def exponent(sizes: Sequence[float], figures: Sequence[float]) -> float | None:
    """Return the slope of the logarithms of figures by those of sizes; None for less than two that are above 0.

    >>> exponent([10, 100, 1000], [3, 30, 300])
    1.0
    """
    pairs = [(math.log(x), math.log(y)) for x, y in zip(sizes, figures, strict=True) if y > 0]
    if len(pairs) < 2:
        return None
    x, y = (sum(values) / len(pairs) for values in zip(*pairs, strict=True))
    slope: float = sum((a - x) * (b - y) for a, b in pairs) / sum((a - x) ** 2 for a, _ in pairs)
    return round(slope, 9)


def prepare(kind: str, rows: int, folder: Path) -> Path:
    """Return a curator's folder with a generated table in it, made once."""
    import duckdb

    from dither.curator.folder import Curator
    from dither.data.files import loads
    from dither.privacy import ApproxDP

    home = folder / f"{kind}-{rows}"
    if not home.exists():
        shared = "visits" if kind in ("rows", "people") else kind
        file = folder / f"{shared}-{rows}.parquet"
        if not file.exists():
            with duckdb.connect() as connection:
                statement = TABLES[kind].statement.format(rows=rows)
                connection.execute(f"COPY ({statement}) TO '{file}' (FORMAT parquet)")
        # A ledger of its own: the rows of two data sets may not be the same.
        with Curator.create(home, anchors=folder / f"anchors-{kind}-{rows}") as curator:
            schema = loads(TABLES[kind].schema.replace("SOURCE", str(file)))
            curator.add(schema, budget=ApproxDP(1000, "1/1000"), in_place=True)
    return home


def run_one(name: str, rows: int, folder: Path) -> Figures:
    """Run one verb in this process, and return its figures."""
    from dither.curator.folder import Curator
    from dither.data.engines.duckdb import DuckDBEngine

    kind, call = VERBS[name]
    home = prepare(kind, rows, folder)
    returned = [0]
    plain = DuckDBEngine.aggregate

    def aggregate(self: Any, aggregation: Any) -> Any:
        answer = plain(self, aggregation)
        returned.append(len(answer.keys))
        return answer

    DuckDBEngine.aggregate = aggregate  # type: ignore[method-assign]
    try:
        with Curator.open(home, anchors=folder / f"anchors-{kind}-{rows}") as curator, curator.session(kind) as session:
            before, start = _memory(reset=True), time.process_time()
            call(session)
            seconds = time.process_time() - start
            return Figures(rows, seconds, max(0.0, _memory() - before), max(returned))
    finally:
        DuckDBEngine.aggregate = plain  # type: ignore[method-assign]


def _memory(*, reset: bool = False) -> float:
    """Return the largest resident memory of this process in megabytes, perhaps from now on."""
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def run_apart(name: str, rows: int, folder: Path) -> Figures:
    """Run one verb in a process of its own, and return its figures."""
    words = [sys.executable, "-m", "tools.bench.scale", name, str(rows), str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{name} on {rows} rows: {done.stderr[-2000:]}")
    return Figures(**json.loads(done.stdout.splitlines()[-1]))


def measured(
    rows: int, folder: Path, names: Sequence[str] = (), run: Callable[[str, int, Path], Figures] = run_apart
) -> Iterator[tuple[str, list[Figures]]]:
    """Yield the figures of each verb, smallest table first; sizes that would take too long are skipped.

    Args:
        rows: of the largest table.
        folder: for generated tables.
        names: of verbs; all where empty.
        run: makes one figure.

    """
    sizes = [LEAST_ROWS * 10**power for power in range(12) if LEAST_ROWS * 10**power <= rows] or [rows]
    for name in names or VERBS:
        found: list[Figures] = []
        for size in sizes:
            if found and _predicted(found, size) > _MOST_SECONDS:
                break
            found.append(run(name, size, folder))
        yield name, found


def _predicted(found: Sequence[Figures], size: int) -> float:
    slope = exponent([one.rows for one in found], [one.seconds for one in found])
    return float(found[-1].seconds * (size / found[-1].rows) ** max(1.0, slope or 1.0))


def table(rows: int, names: Sequence[str] = (), run: Callable[[str, int, Path], Figures] = run_apart) -> Table:
    """Return the figures side by side, with the exponents by which they grow; arguments are those of ``measured``."""
    shown = Table(title="verbs by the number of rows", title_justify="left")
    for title in ("verb", "rows", "CPU s", "exponent", "MB gained", "exponent", "rows returned", "exponent"):
        shown.add_column(title, justify="left" if title == "verb" else "right")
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        for name, found in measured(rows, Path(folder), names, run):
            # Of the two largest tables: what a small one costs is mostly what starts.
            last = found[-2:]
            slopes = [
                exponent([one.rows for one in last], [getattr(one, what) for one in last])
                for what in ("seconds", "megabytes", "returned")
            ]
            for one in found:
                said = ["" if slope is None or one is not found[-1] else f"{slope:.2f}" for slope in slopes]
                shown.add_row(
                    name,
                    f"{one.rows:,}",
                    f"{one.seconds:.2f}",
                    said[0],
                    f"{one.megabytes:,.0f}",
                    said[1],
                    f"{one.returned:,}",
                    said[2],
                )
    return shown


if __name__ == "__main__":
    print(json.dumps(run_one(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])).__dict__))

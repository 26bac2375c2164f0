"""Synthetic tables: how far they are from the real ones, how well a classifier learns from them, how long they take.

Real tables from the folder in ``DITHER_DATA`` where that is set (Adult and NLTCS), else made-up ones as wide.
Errors here are against real rows without noise: a benchmark on public data, never a release.
"""

from __future__ import annotations

import importlib
import itertools
import math
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.bench.compared.data import Records, tables
from dither.data import Column, DataSet, Kind, Table
from dither.data.engines import connect
from dither.lift.attributes import Attributes
from dither.lift.margins import Margins
from dither.mechanisms import perform
from dither.privacy import ROW, ApproxDP, Loss
from dither.publish.synthetic import METHODS, codings_of
from dither.publish.synthetic.synthesizer import chosen
from tools.bench import wide_columns

Codes = NDArray[np.int64]

#: What ``auto`` is to reach on Adult at epsilon 1, delta 1e-9: 2-way total variation, accuracy, seconds.
GOALS: Final = (0.028, 0.825, 40.0)
WIDE: Final = ("auto", "mst", "aim", "privbayes", "jtree", "mwem-graphical", "independent")
NARROW: Final = ("auto", "privbayes", "jtree", "mst", "aim", "mwem-graphical", "mwem", "independent")
_TRIPLES: Final = 200


@dataclass(frozen=True)
class SyntheticFigures:
    """One method on one table: medians over the runs."""

    method: str
    variation: float
    accuracy: float | None
    seconds: float


def pick(narrow: bool) -> tuple[str, Records]:
    """Return the table of people, or that of answers, and its name."""
    found = tables()
    names = ("nltcs", "answers") if narrow else ("adult", "people")
    name = next(name for name in names if name in found)
    return name, found[name]


def measure(
    records: Records, methods: Sequence[str], loss: Loss, *, order: int, runs: int = 5
) -> Iterator[SyntheticFigures]:
    """Return the figures of each method at one loss: mean total variation of marginals on so many attributes."""
    attributes, rows = records.attributes, records.rows
    for name in methods:
        method = METHODS[chosen(name, loss, attributes)].calibrated(loss, attributes=attributes)
        far, learned, took = [], [], []
        for _ in range(runs):
            start = time.perf_counter()
            drawn = perform(method, rows, stability=1).sample()
            took.append(time.perf_counter() - start)
            far.append(variation(drawn, records, order=order))
            accuracy = accuracy_of(drawn, rows)
            if accuracy is not None:
                learned.append(accuracy)
        best = statistics.median(learned) if learned else None
        yield SyntheticFigures(name, statistics.median(far), best, statistics.median(took))


def variation(drawn: Codes, records: Records, *, order: int) -> float:
    """Return the mean total variation between marginals of drawn and of real rows, over sets of so many attributes."""
    attributes = records.attributes
    sets = _sets(attributes, order)
    pairs = ((_law(records.rows, attributes, axes), _law(drawn, attributes, axes)) for axes in sets)
    return statistics.fmean(float(np.abs(real - made).sum() / 2) for real, made in pairs)


def accuracy_of(drawn: Codes, real: Codes) -> float | None:
    """Return how often a classifier of the last attribute that was trained on drawn rows is right about real rows."""
    try:
        trees: Any = importlib.import_module("sklearn.ensemble")
    except ImportError:
        return None
    if len(np.unique(drawn[:, -1])) < 2:
        return float((real[:, -1] == np.bincount(real[:, -1]).argmax()).mean())
    model = trees.HistGradientBoostingClassifier(max_iter=60).fit(drawn[:, :-1], drawn[:, -1])
    return float((model.predict(real[:, :-1]) == real[:, -1]).mean())


def measure_counting(
    rows: Sequence[int] = (10**4, 10**5, 10**6, 10**7), columns: int = 10
) -> Iterator[tuple[int, float]]:
    """Return how long an engine takes to count all pairs of ten columns of eight values, for so many rows."""
    import duckdb

    names = [f"c{number}" for number in range(columns)]
    table = Table(
        "rows", tuple(Column(name, Kind.INTEGER, categories=tuple(range(8))) for name in names), source="rows"
    )
    dataset = DataSet("counting", (table,), ROW)
    cells, _ = codings_of(dataset, "rows")
    for count in rows:
        made = ", ".join(f"(hash(i * {columns} + {number}) % 8)::BIGINT AS {name}" for number, name in enumerate(names))
        # Names of our own making and whole numbers only.
        with duckdb.connect() as source:
            frame = source.from_query(f"SELECT {made} FROM range({count}) AS t(i)").to_arrow_table()  # noqa: S608
        engine = connect(dataset, frames={"rows": frame})
        start = time.perf_counter()
        Margins.of_pairs(cells).read(engine).count((0, 1))
        yield count, time.perf_counter() - start
        engine.close()


def lines(runs: int = 5) -> Iterator[str]:
    """Return the figures for people."""
    name, wide = pick(narrow=False)
    loss = ApproxDP(1, "1e-9")
    yield f"{name}: {len(wide.rows):,} rows, {len(wide.attributes.names)} columns, epsilon 1, delta 1e-9, {runs} runs"
    yield f"method | 2-way variation, goal {GOALS[0]} | accuracy, goal {GOALS[1]} | s, goal {GOALS[2]:.0f}"
    order = np.random.default_rng().permutation(len(wide.rows))
    third = len(wide.rows) // 3
    known = accuracy_of(wide.rows[order[third:]], wide.rows[order[:third]])
    yield f"real rows | 0 | {_shown(known)} |"
    for row in measure(wide, WIDE, loss, order=2, runs=runs):
        yield f"{row.method} | {row.variation:.4f} | {_shown(row.accuracy)} | {row.seconds:.1f}"
    name, narrow = pick(narrow=True)
    width = len(narrow.attributes.names)
    yield f"{name}: {len(narrow.rows):,} rows, {width} columns, epsilon 0.2, delta 1e-9, {runs} runs"
    yield "method | 3-way variation | accuracy | s"
    found = list(measure(narrow, NARROW, ApproxDP("0.2", "1e-9"), order=3, runs=runs))
    for row in sorted(found, key=lambda row: row.variation):
        yield f"{row.method} | {row.variation:.4f} | {_shown(row.accuracy)} | {row.seconds:.1f}"
    yield from wide_columns.lines(runs=min(runs, 3))
    yield "rows | all pairs of ten columns counted by the engine, s"
    for count, seconds in measure_counting():
        yield f"{count:,} | {seconds:.2f}"


def _shown(value: float | None) -> str:
    return "not measured" if value is None else f"{value:.3f}"


def _sets(attributes: Attributes, order: int) -> list[tuple[int, ...]]:
    """Return sets of attributes to be compared: all, or every so many-th of them."""
    every = list(itertools.combinations(range(len(attributes.sizes)), order))
    return every[:: max(1, math.ceil(len(every) / _TRIPLES))] if order > 2 else every


def _law(codes: Codes, attributes: Attributes, axes: tuple[int, ...]) -> NDArray[np.float64]:
    return attributes.count(np.ascontiguousarray(codes.T), axes).ravel() / max(len(codes), 1)

"""Wide columns of whole numbers in synthetic tables: bins that are found beside public ones.

Tables from the folder in ``DITHER_DATA`` where that is set, else one that is made up. Errors are against real rows,
which are public here. Bins of wide columns are found unless something is said; beside them are the public cells that
other columns have: the ends and 0 by themselves, and some 256 of equal width.
"""

from __future__ import annotations

import datetime
import itertools
import os
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.data import Column, Kind
from dither.data.expressions import Value
from dither.privacy import ApproxDP, Loss, PureDP
from dither.publish.synthetic import Synthesizer
from dither.publish.synthetic.columns import fine_axis
from dither.publish.synthetic.found_columns import wide_columns

Codes = NDArray[np.int64]
#: Ranges of equal mass by which wide columns are compared in pairs.
_PARTS: Final = 20


@dataclass(frozen=True)
class WideTable:
    """A table with wide columns: what is public about it, and how to read it.

    Args:
        source: the statement that reads it, of a file or of made-up rows.
        ranges: of numbers and dates, the declared bounds.
        listed: columns whose different values are public here.

    """

    source: str
    ranges: Mapping[str, tuple[Any, Any]]
    listed: tuple[str, ...]

    def column(self, name: str) -> Column:
        """Return what is public of a column of numbers or dates."""
        low, high = self.ranges[name]
        return Column(name, Kind.DATE if isinstance(low, datetime.date) else Kind.INTEGER, lower=low, upper=high)

    @property
    def public(self) -> dict[str, list[Any]]:
        """The edges of public cells of its wide columns."""
        axes = {name: fine_axis(self.column(name)) for name in wide_columns(map(self.column, self.ranges))}
        return {name: list(axis.edges) for name, axis in axes.items() if axis is not None and axis.edges is not None}


_MADE_UP: Final = WideTable(
    "SELECT (i % 2)::BIGINT AS sex, least(exp(6 + (i % 2) * 0.7 + 0.5 * sqrt(-2 * ln((hash(i) % 99991 + 0.5) / 99991))"
    " * cos(2 * pi() * (hash(-i) % 99991) / 99991)), 999999)::BIGINT // 5 * 5 AS income"
    " FROM range(20000) AS t(i)",
    {"income": (0, 999_999)},
    ("sex",),
)
#: Declared bounds are round numbers that hold the values; nothing was settled on any but Adult.
_REAL: Final = {
    "adult": WideTable(
        'SELECT age, sex, race, education, "marital-status" AS married, fnlwgt, "capital-gain" AS gain,'
        ' "capital-loss" AS lost, "hours-per-week" AS hours, income FROM \'{folder}/tables/adult_train.csv.gz\'',
        {"age": (0, 99), "fnlwgt": (0, 1_999_999), "gain": (0, 99_999), "lost": (0, 4_999), "hours": (0, 99)},
        ("sex", "race", "education", "married", "income"),
    ),
    "retail": WideTable(
        "SELECT Quantity::BIGINT AS quantity, round(UnitPrice * 100)::BIGINT AS pence, CustomerID::BIGINT AS customer,"
        " CAST(InvoiceDate AS DATE) AS day, Country AS country FROM '{folder}/tables/online_retail.parquet'"
        " WHERE hash(InvoiceNo, StockCode, Quantity) % 5 = 0",
        {
            "quantity": (-100_000, 100_000),
            "pence": (0, 1_000_000),
            "customer": (0, 20_000),
            "day": (datetime.date(2010, 1, 1), datetime.date(2012, 12, 31)),
        },
        ("country",),
    ),
    "taxi": WideTable(
        "SELECT coalesce(passenger_count, 0)::BIGINT AS passengers, round(trip_distance * 100)::BIGINT AS far,"
        " payment_type AS paid, round(fare_amount * 100)::BIGINT AS fare, round(tip_amount * 100)::BIGINT AS tip,"
        " hour(tpep_pickup_datetime) AS hour FROM '{folder}/streams/nyc_yellow_taxi_trips_2023_03_15.parquet'",
        {"passengers": (0, 9), "far": (0, 20_000), "fare": (-100_000, 100_000), "tip": (0, 20_000), "hour": (0, 23)},
        ("paid",),
    ),
    "credit": WideTable(
        "SELECT duration, credit_amount AS amount, age, purpose, housing, class"
        " FROM '{folder}/tables/german_credit.csv.gz'",
        {"duration": (0, 99), "amount": (0, 19_999), "age": (0, 99)},
        ("purpose", "housing", "class"),
    ),
    "pums": WideTable(
        "SELECT age, sex, educ, race, income::BIGINT AS income, married"
        " FROM '{folder}/tables/pums_california_demographics_1000.csv.gz'",
        {"age": (0, 99), "educ": (1, 16), "income": (0, 499_999)},
        ("sex", "race", "married"),
    ),
    "titanic": WideTable(
        "SELECT Survived AS survived, Pclass AS class, Sex AS sex, Age::BIGINT AS age,"
        " round(Fare * 100)::BIGINT AS fare FROM '{folder}/tables/titanic.csv.gz'",
        {"age": (0, 99), "fare": (0, 59_999)},
        ("survived", "class", "sex"),
    ),
}


@dataclass(frozen=True)
class WideFigures:
    """One way of binning on one table: means over the runs."""

    table: str
    bins: str
    values: float
    parts: float
    pairs: float
    seconds: float


def tables() -> Mapping[str, WideTable]:
    """Return the tables to be tried."""
    return _REAL if os.environ.get("DITHER_DATA") else {"made up": _MADE_UP}


def measure(
    name: str, table: WideTable, loss: Loss, ways: Mapping[str, Mapping[str, Any]], *, runs: int = 3
) -> Iterator[WideFigures]:
    """Return the figures of each way to bin the wide columns of a table.

    Args:
        name: of the table.
        table: which.
        loss: what a model may lose.
        ways: what ``bins`` says, by a name for it.
        runs: how many models there are of each.

    """
    import duckdb

    with duckdb.connect() as source:
        folder = Path(os.environ.get("DITHER_DATA", "."))
        frame = source.from_query(table.source.format(folder=folder)).to_arrow_table()
    columns = _columns(table, frame)
    real = {column.name: _clamped(frame.column(column.name).to_pylist(), column) for column in columns}
    for way, bins in ways.items():
        found, took = [], 0.0
        for _ in range(runs):
            start = time.process_time()
            drawn = _fitted(columns, loss, bins, frame)
            took += time.process_time() - start
            found.append(_far(real, drawn, tuple(table.public)))
        values, parts, pairs = (statistics.fmean(one) for one in zip(*found, strict=True))
        yield WideFigures(name, way, values, parts, pairs, took / runs)


def _fitted(columns: Sequence[Column], loss: Loss, bins: Mapping[str, Any], frame: Any) -> Mapping[str, Sequence[Any]]:
    drawn = Synthesizer(columns, loss=loss, bins=bins).fit(frame).sample()
    return {name: values.tolist() for name, values in drawn.columns.items()}


def _columns(table: WideTable, frame: Any) -> list[Column]:
    found = []
    for name in frame.column_names:
        if name in table.listed:
            values: tuple[Value, ...] = tuple(sorted(set(frame.column(name).to_pylist())))
            kind = Kind.TEXT if isinstance(values[0], str) else Kind.INTEGER
            found.append(Column(name, kind, categories=values))
        else:
            found.append(table.column(name))
    return found


def _clamped(values: Sequence[Any], column: Column) -> list[Any]:
    low, high = column.lower, column.upper
    return list(values) if low is None else [min(max(value, low), high) for value in values]


def _far(
    real: Mapping[str, Sequence[Any]], drawn: Mapping[str, Sequence[Any]], wide: Sequence[str]
) -> tuple[float, float, float]:
    """Return mean total variations: of values of wide columns, of parts of equal mass of these, and of all pairs."""
    both = {name: _coded(values, drawn[name]) for name, values in real.items()}
    values = statistics.fmean(_apart(*both[name]) for name in wide)
    parted = {name: _by_mass(*codes) if name in wide else codes for name, codes in both.items()}
    parts = statistics.fmean(_apart(*parted[name]) for name in wide)
    pairs = []
    for one, other in itertools.combinations(parted, 2):
        width = 1 + max(int(codes.max(initial=0)) for codes in parted[other])
        pairs.append(_apart(*(parted[one][side] * width + parted[other][side] for side in (0, 1))))
    return values, parts, statistics.fmean(pairs)


def _coded(real: Sequence[Any], drawn: Sequence[Any]) -> tuple[Codes, Codes]:
    """Return both columns with their different values numbered in order."""
    numbers = {value: number for number, value in enumerate(sorted({*real, *drawn}))}
    first, second = (np.array([numbers[value] for value in side], dtype=np.int64) for side in (real, drawn))
    return first, second


def _by_mass(real: Codes, drawn: Codes) -> tuple[Codes, Codes]:
    """Return both columns by ranges that hold equal parts of the real one, as far as its heaps allow."""
    edges = np.unique(np.quantile(real, np.arange(1, _PARTS) / _PARTS, method="inverted_cdf"))
    return np.searchsorted(edges, real, side="right"), np.searchsorted(edges, drawn, side="right")


def _apart(real: Codes, drawn: Codes) -> float:
    """Return the total variation between two columns of codes."""
    most = 1 + max(int(real.max(initial=0)), int(drawn.max(initial=0)))
    laws = [np.bincount(side, minlength=most) / max(side.size, 1) for side in (real, drawn)]
    return float(np.abs(laws[0] - laws[1]).sum() / 2)


def lines(runs: int = 3) -> Iterator[str]:
    """Return the figures for people."""
    yield f"wide columns of whole numbers, mean total variations, {runs} runs"
    yield "table | loss | bins | values | twentieths | pairs | CPU s"
    for name, table in tables().items():
        ways: dict[str, Mapping[str, Any]] = {"public": table.public, "found": {}}
        for loss in (ApproxDP(1, "1e-9"), PureDP(1), ApproxDP("0.1", "1e-9")):
            for one in measure(name, table, loss, ways, runs=runs):
                figures = f"{one.values:.4f} | {one.parts:.4f} | {one.pairs:.4f} | {one.seconds:.1f}"
                yield f"{name} | {loss} | {one.bins} | {figures}"

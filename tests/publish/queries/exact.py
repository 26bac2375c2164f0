"""A small clinic, and two independent ways to answer a query about it exactly: our tree in Python, and DuckDB itself.

``exact`` computes what a ``Query`` asks without noise and limits, with the reference evaluator; ``answer_of_duckdb``
gives the SQL text itself to DuckDB. Data is made up.
"""

# ruff: noqa: S311, S608 - statements and data are made up here
from __future__ import annotations

import datetime
import math
import random
import statistics
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import duckdb

from dither.data import Column, DataSet, Kind, Table
from dither.data.evaluation import Value, evaluate, evaluator, sort_key
from dither.data.reference import rows_of
from dither.data.relations import PERSON
from dither.data.schema import person_unit
from dither.privacy import ROW
from dither.publish.queries.query import Aggregate, Query

REGIONS = ("north", "south", "east", "west")
FIRST, LAST = datetime.date(2023, 1, 1), datetime.date(2024, 12, 31)

VISITS = (
    Column("id", Kind.INTEGER),
    Column("region", Kind.TEXT, categories=REGIONS),
    Column("age", Kind.INTEGER, lower=0, upper=100),
    Column("cost", Kind.REAL, lower=0.0, upper=1000.0, nullable=True),
    Column("day", Kind.DATE, lower=FIRST, upper=LAST),
    Column("moment", Kind.TIMESTAMP),
    Column("smoker", Kind.BOOLEAN, nullable=True),
    Column("note", Kind.TEXT, nullable=True),
    Column("change", Kind.INTEGER, lower=-20, upper=20),
)
LAB = (
    Column("person", Kind.INTEGER),
    Column("value", Kind.REAL, lower=-5.0, upper=10.0, nullable=True),
    Column("taken", Kind.DATE),
)
PLACES = (
    Column("region", Kind.TEXT),
    Column("country", Kind.TEXT, categories=("A", "B")),
    Column("people", Kind.INTEGER, lower=0, upper=1000),
)
_PUBLIC = Table("places", PLACES, "places.csv", is_public=True, key=("region",))

#: Persons are protected.
CLINIC = DataSet(
    "clinic",
    (Table("visits", VISITS, "visits.csv", person="id"), Table("lab", LAB, "lab.csv", person="person"), _PUBLIC),
    person_unit("id"),
    rows=6,
    groups=3,
    rows_per_group=2,
)
#: Every row is a unit of its own.
LOOSE = DataSet("loose", (Table("visits", VISITS, "visits.csv"), Table("lab", LAB, "lab.csv"), _PUBLIC), ROW)
_TYPES = {
    Kind.BOOLEAN: "BOOLEAN",
    Kind.INTEGER: "BIGINT",
    Kind.REAL: "DOUBLE",
    Kind.TEXT: "VARCHAR",
    Kind.DATE: "DATE",
    Kind.TIMESTAMP: "TIMESTAMP",
}


@cache
def tables() -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """Return clean rows: 25 persons, quarters as costs so that sums of doubles are exact, some NULLs."""
    source = random.Random(20240229)
    visits = []
    for _ in range(120):
        day = FIRST + datetime.timedelta(days=source.randrange(731))
        visits.append(
            {
                "id": source.randrange(25),
                "region": source.choice(REGIONS[:3]),
                "age": source.randrange(101),
                "cost": source.choice([None, *(source.randrange(4001) / 4 for _ in range(5))]),
                "day": day,
                "moment": datetime.datetime(day.year, day.month, day.day, source.randrange(24), source.randrange(60)),
                "smoker": source.choice([True, False, None]),
                "note": source.choice([None, "", "ab", "Ab ", " a_b%", "x\\y", "long note", "7"]),
                "change": source.randrange(-20, 21),
            }
        )
    lab = [
        {
            "person": source.randrange(30),
            "value": source.choice([None, source.randrange(-20, 41) / 4]),
            "taken": FIRST + datetime.timedelta(days=source.randrange(731)),
        }
        for _ in range(40)
    ]
    places = [
        {"region": name, "country": "AB"[index % 2], "people": 100 * index} for index, name in enumerate(REGIONS[:2])
    ]
    return {"visits": visits, "lab": lab, "places": places}


@cache
def connection() -> duckdb.DuckDBPyConnection:
    """Return DuckDB with the same rows, and CLAMP as a macro."""
    made = duckdb.connect()
    made.execute("CREATE MACRO clamp(x, low, high) AS CASE WHEN x < low THEN low WHEN x > high THEN high ELSE x END")
    for table in CLINIC.tables:
        columns = ", ".join(f'"{column.name}" {_TYPES[column.kind]}' for column in table.columns)
        made.execute(f"CREATE TABLE {table.name} ({columns})")
        rows = [[row[column.name] for column in table.columns] for row in tables()[table.name]]
        made.executemany(f"INSERT INTO {table.name} VALUES ({', '.join('?' * len(table.columns))})", rows)
    return made


def answer_of_duckdb(sql: str) -> list[tuple[Value, ...]]:
    """Return what DuckDB itself says."""
    return connection().execute(sql).fetchall()


def exact(query: Query, data: Mapping[str, Sequence[Mapping[str, Any]]] | None = None) -> list[tuple[Value, ...]]:
    """Return the outputs for the groups that occur, without noise, limits and clamping of contributions."""
    rows = rows_of(query.relation, tables() if data is None else data)
    columns = query.relation.columns
    groups: dict[tuple[Value, ...], list[dict[str, Value]]] = {} if query.keys else {(): []}
    parts = [evaluator(key.value, columns) for key in query.keys]
    for row in rows:
        key = tuple(part(row) for part in parts)
        groups.setdefault(key, []).append(row)
    released = []
    for key, members in groups.items():
        for part, value in zip(query.keys, key, strict=True):
            assert part.values is None or value in part.values, f"{value!r} is missing from the public values of {part}"
        line = {part.name: value for part, value in zip(query.keys, key, strict=True)}
        line |= {one.name: measure(one, members, columns) for one in query.aggregates}
        released.append(line)
    kinds = query.released
    if query.having is not None:
        released = [line for line in released if evaluate(query.having, line, kinds) is True]
    for expression, descending in reversed(query.order):
        released.sort(key=lambda line: sort_key(evaluate(expression, line, kinds)), reverse=descending)
    shown = [tuple(evaluate(value, line, kinds) for _, value in query.outputs) for line in released]
    return shown if query.limit is None else shown[: query.limit]


def measure(aggregate: Aggregate, rows: list[dict[str, Value]], columns: Mapping[str, Kind]) -> Value:
    """Return one aggregate of some rows, as SQL means it; values are clamped to the declared bounds."""
    function = aggregate.function
    if function == "count":
        return len(rows)
    if function == "persons":
        return len({row[PERSON] for row in rows})
    arguments = [evaluator(argument, columns) for argument in aggregate.arguments]
    found = [[argument(row) for argument in arguments] for row in rows]
    if function == "distinct":
        different = {value for (value,) in found if value is not None}
        return len(different if aggregate.values is None else different & set(aggregate.values))
    if function == "count_of":
        return sum(value is not None and value is not False for (value,) in found)
    known: list[Any] = [values for values in found if None not in values]
    if function in ("mode", "top"):
        counts = {value: sum(one == [value] for one in known) for value in aggregate.values or ()}
        ranked = sorted(counts, key=lambda value: -counts[value])
        return ranked[0] if function == "mode" else tuple(ranked[: aggregate.many])  # type: ignore[return-value]
    known = [
        [min(max(value, low), high) for value, (low, high) in zip(values, aggregate.bounds, strict=True)]
        for values in known
    ]
    if not known:
        return None
    if function in ("covariance", "sample_covariance", "correlation"):
        return _joint(function, known)
    return _single(function, [values[0] for values in known], aggregate)


def _single(function: str, values: list[Any], aggregate: Aggregate) -> Value:
    number = len(values)
    if function.startswith("sample_") and number < 2:
        return None
    if function == "quantile":
        ordered = sorted(values)
        place = float(aggregate.share or 0) * (number - 1)
        below = math.floor(place)
        above = min(below + 1, number - 1)
        return float(ordered[below] + (ordered[above] - ordered[below]) * (place - below))
    return {
        "sum": lambda: float(sum(values)),
        "mean": lambda: sum(values) / number,
        "minimum": lambda: float(min(values)),
        "maximum": lambda: float(max(values)),
        "variance": lambda: float(statistics.pvariance(values)),
        "deviation": lambda: float(statistics.pstdev(values)),
        "sample_variance": lambda: float(statistics.variance(values)),
        "sample_deviation": lambda: float(statistics.stdev(values)),
    }[function]()


def _joint(function: str, pairs: list[list[Any]]) -> Value:
    number = len(pairs)
    first, second = ([pair[side] for pair in pairs] for side in (0, 1))
    means = sum(first) / number, sum(second) / number
    covariance = sum((a - means[0]) * (b - means[1]) for a, b in pairs) / number
    if function == "sample_covariance":
        return float(covariance * number / (number - 1)) if number > 1 else None
    if function == "covariance":
        return float(covariance)
    spread = statistics.pstdev(first) * statistics.pstdev(second)
    return covariance / spread if spread else None


def same_rows(ours: Sequence[Sequence[Any]], theirs: Sequence[Sequence[Any]], *, ordered: bool = False) -> bool:
    """Return whether two answers are equal: numbers up to 1e-9, timestamps at midnight as dates, any order."""
    left, right = ([tuple(map(_plain, row)) for row in rows] for rows in (ours, theirs))
    if not ordered:
        left, right = (
            sorted(rows, key=lambda row: [sort_key(_rough(value)) for value in row]) for rows in (left, right)
        )
    return len(left) == len(right) and all(
        len(a) == len(b) and all(map(_close, a, b)) for a, b in zip(left, right, strict=True)
    )


def _plain(value: Any) -> Any:
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return value.date()
    return float(value) if not isinstance(value, str | bool | datetime.date | None) else value


def _rough(value: Any) -> Any:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _close(first: Any, second: Any) -> bool:
    if isinstance(first, float) and isinstance(second, float):
        return math.isclose(first, second, rel_tol=1e-9, abs_tol=1e-9)
    return bool(first == second)

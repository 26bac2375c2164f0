# ruff: noqa: S311, S608 - statements and data are made up here
"""A clinic whose people stay within its limits, so that plain SQL says what is to be measured."""

from __future__ import annotations

import datetime
import random
from contextlib import suppress
from functools import cache
from typing import Any, Final

import duckdb

from dither.data import DataSet
from dither.data.files import loads

SCHEMA: Final = """
dataset: clinic
unit: person
contribution: {rows: 3000, rows per join: 60}
tables:
  people:
    source: people.csv
    privacy id: id
    rows per person: 1
    columns:
      id: integer
      ward: {kind: text, categories: [x, y], length: 4}
      height: {kind: integer, bounds: [100, 220]}
  visits:
    source: visits.csv
    privacy id: id
    columns:
      vid: integer
      id: integer
      region: {kind: text, categories: [north, south, east], length: 6}
      age: {kind: integer, bounds: [0, 100]}
      cost: {kind: real, bounds: [0, 1000], nullable: true}
      day: {kind: date, bounds: [2023-01-01, 2024-12-31]}
      moment: timestamp
      smoker: {kind: boolean, nullable: true}
      note: {kind: text, length: 10, nullable: true}
      change: {kind: integer, bounds: [-20, 20]}
  lab:
    source: lab.csv
    privacy id: person
    rows per person: 60
    columns:
      lid: integer
      person: integer
      value: {kind: real, bounds: [-5, 10], nullable: true}
      taken: {kind: date, bounds: [2023-01-01, 2024-12-31]}
      kind: {kind: text, categories: [a, b], length: 4}
  bills:
    source: bills.csv
    owner: {visit: visits.vid}
    columns:
      bill: integer
      visit: integer
      paid: {kind: integer, bounds: [0, 500]}
      late: boolean
  items:
    source: items.csv
    owner: {bill: bills.bill}
    rows per owner: 5
    columns:
      bill: integer
      item: {kind: text, categories: [pill, cast], length: 4}
      many: {kind: integer, bounds: [1, 9]}
      line: integer
  places:
    source: places.csv
    public: true
    key: [region]
    rows: 2
    columns:
      region: {kind: text, categories: [north, south, east], length: 6}
      country: {kind: text, categories: [A, B], length: 4}
      beds: {kind: integer, bounds: [0, 300]}
  rates:
    source: rates.csv
    public: true
    rows: 3
    columns:
      level: {kind: integer, bounds: [0, 100]}
      label: {kind: text, categories: [low, mid, high], length: 4}
"""
_TYPES: Final = {
    "boolean": "BOOLEAN",
    "integer": "BIGINT",
    "real": "DOUBLE",
    "text": "VARCHAR",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
}
_FIRST: Final = datetime.date(2023, 1, 1)
_PEOPLE: Final = 8
#: How many people have the same rows: a group of one is never shown where groups are discovered.
_ALIKE: Final = 6
_KEYS: Final = {
    "people": ("id",),
    "visits": ("id", "vid"),
    "lab": ("person", "lid"),
    "bills": ("bill", "visit"),
    "items": ("bill",),
}
#: What DuckDB does not know by these names, or refuses where our functions give NULL.
_MACROS: Final = (
    "clamp(x, low, high) AS CASE WHEN x < low THEN low WHEN x > high THEN high ELSE x END",
    "sqrt(x) AS CASE WHEN x >= 0 THEN system.main.sqrt(x) END",
    "ln(x) AS CASE WHEN x > 0 THEN system.main.ln(x) END",
    "log10(x) AS CASE WHEN x > 0 THEN system.main.log10(x) END",
    "log2(x) AS CASE WHEN x > 0 THEN system.main.log2(x) END",
    "log(b, x) AS CASE WHEN x > 0 THEN system.main.ln(x) / system.main.ln(b) END",
    "make_date(y, m, d) AS TRY(system.main.make_date(y, m, d))",
    "width_bucket(x, low, high, n) AS CASE WHEN x < low THEN 0 WHEN x >= high THEN n + 1 "
    "ELSE CAST(floor((x - low) * n / (high - low)) AS BIGINT) + 1 END",
    "contains_substr(x, y) AS contains(lower(x), lower(y))",
    "datediff(part, x, y) AS system.main.datediff(part, x, y), (x, y) AS system.main.datediff('day', y, x)",
    "rpad(x, n) AS system.main.rpad(x, n, ' '), (x, n, y) AS system.main.rpad(x, n, y)",
    *(f"{name}(x, y) AS x {sign} y" for name, sign in (("safe_add", "+"), ("safe_subtract", "-"))),
    "safe_multiply(x, y) AS x * y",
    "safe_divide(x, y) AS x / nullif(y, 0)",
    "safe_negate(x) AS -x",
    "square(x) AS pow(x, 2)",
    "div(x, y) AS x // y",
    "truncate(x) AS trunc(x)",
    *(f"{name}(x, y) AS x {sign} y" for name, sign in (("bitand", "&"), ("bitor", "|"))),
    "bitxor(x, y) AS xor(x, y)",
    *(f"{name}(c, x, y) AS CASE WHEN c THEN x ELSE y END" for name in ("iff", "iif")),
    "nvl(x, y) AS coalesce(x, y)",
    "zeroifnull(x) AS coalesce(x, 0)",
    "nullifzero(x) AS nullif(x, 0)",
    "nvl2(x, y, z) AS CASE WHEN x IS NULL THEN z ELSE y END",
    "decode(x, a, b, c, d, e) AS CASE WHEN x IS NOT DISTINCT FROM a THEN b WHEN x IS NOT DISTINCT FROM c THEN d "
    "ELSE e END",
    "equal_null(x, y) AS x IS NOT DISTINCT FROM y",
    "btrim(x) AS trim(x)",
    *(f"{name}(y, x) AS strpos(x, y)" for name in ("locate", "charindex")),
    "startswith(x, y) AS starts_with(x, y)",
    "endswith(x, y) AS ends_with(x, y)",
    *(f"{name}(x) AS CAST(floor(epoch(x)) AS BIGINT)" for name in ("unix_seconds", "unix_timestamp")),
    *(f"{name}(x, y) AS x + y" for name in ("timestamp_add", "datetime_add")),
    *(f"{name}(x, y) AS x - y" for name in ("timestamp_sub", "datetime_sub")),
    "date_sub(x, y) AS x - y, (part, x, y) AS system.main.date_sub(part, x, y)",
    "add_months(x, n) AS CAST(x + to_months(n) AS DATE)",
    "to_date(x) AS CAST(x AS DATE)",
)


@cache
def dataset() -> DataSet:
    """Return the declarations."""
    return loads(SCHEMA)


@cache
def tables() -> dict[str, list[dict[str, Any]]]:
    """Return clean rows: every key once, every reference to a row, quarters as reals so that sums are exact."""
    made = _few()
    for name, keys in _KEYS.items():
        made[name] = [row | {key: row[key] + 10**6 * n for key in keys} for n in range(_ALIKE) for row in made[name]]
    return made


def _few() -> dict[str, list[dict[str, Any]]]:
    source = random.Random(20240229)

    def day() -> datetime.date:
        return _FIRST + datetime.timedelta(days=source.randrange(731))

    people = [{"id": one, "ward": "xy"[one % 2], "height": source.randrange(150, 200)} for one in range(_PEOPLE)]
    visits: list[dict[str, Any]] = []
    lab: list[dict[str, Any]] = []
    for one in range(_PEOPLE):
        for _ in range(source.randrange(1, 7)):
            at = day()
            visits.append(
                {
                    "vid": len(visits) + 100,
                    "id": one,
                    "region": source.choice(("north", "south", "east")),
                    "age": source.randrange(101),
                    "cost": source.choice([None, *(source.randrange(4001) / 4 for _ in range(5))]),
                    "day": at,
                    "moment": datetime.datetime(at.year, at.month, at.day, source.randrange(24), source.randrange(60)),
                    "smoker": source.choice([True, False, None]),
                    "note": source.choice([None, "", "ab", "Ab ", " a_b%", "x\\y", "long-note", "7", "-3"]),
                    "change": source.randrange(-20, 21),
                }
            )
        lab += [
            {
                "lid": 500 + 10 * one + place,
                "person": one,
                "value": source.choice([None, *(source.randrange(-20, 41) / 4 for _ in range(4))]),
                "taken": day(),
                "kind": source.choice("ab"),
            }
            for place in range(source.randrange(4))
        ]
    bills = [
        {"bill": 1000 + 10 * row["vid"] + n, "visit": row["vid"], "paid": source.randrange(501), "late": n == 1}
        for row in visits
        for n in range(source.randrange(3))
    ]
    items = [
        {"bill": row["bill"], "item": source.choice(("pill", "cast")), "many": source.randrange(1, 10), "line": n}
        for row in bills
        for n in range(source.randrange(4))
    ]
    places = [{"region": "north", "country": "A", "beds": 90}, {"region": "south", "country": "B", "beds": 210}]
    rates = [{"level": 20 * n, "label": label} for n, label in enumerate(("low", "mid", "high"), 1)]
    return {
        "people": people,
        "visits": visits,
        "lab": lab,
        "bills": bills,
        "items": items,
        "places": places,
        "rates": rates,
    }


def fill(connection: duckdb.DuckDBPyConnection) -> None:
    """Create the tables."""
    for table in dataset().tables:
        columns = ", ".join(f'"{column.name}" {_TYPES[column.kind.value]}' for column in table.columns)
        connection.execute(f"CREATE TABLE {table.name} ({columns})")
        rows = [[row[column.name] for column in table.columns] for row in tables()[table.name]]
        connection.executemany(f"INSERT INTO {table.name} VALUES ({', '.join('?' * len(table.columns))})", rows)


@cache
def plain() -> duckdb.DuckDBPyConnection:
    """Return DuckDB with the same rows, and with the functions of other systems as macros."""
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    fill(connection)
    for macro in _MACROS:
        connection.execute(f"CREATE MACRO {macro}")
    with suppress(duckdb.CatalogException):  # before 2.0 there is no such setting, and the quotient is NULL anyway
        connection.execute("SET error_on_division_by_zero = false")
    return connection


def frames() -> dict[str, Any]:
    """Return the tables in memory, as engines read them."""
    connection = plain()
    return {table.name: connection.sql(f"FROM {table.name}").to_arrow_table() for table in dataset().tables}

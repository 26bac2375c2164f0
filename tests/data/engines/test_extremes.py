"""Every form of expression over every kind at its extremes, from every type that a source may store: nothing raises.

Stored values go to the ends of what their types hold, far beyond what a kind of ours does. The reference is given the
same values as Python's own, worked out here by exact arithmetic.
"""

from __future__ import annotations

import dataclasses
import datetime
import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import pytest

from dither.data import (
    Aggregation,
    Call,
    Cast,
    Column,
    CountRows,
    DataSet,
    Expression,
    Grid,
    Kind,
    Literal,
    Name,
    OneOf,
    Scan,
    Table,
)
from dither.data.engines import Engine
from dither.data.engines.duckdb import DuckDBEngine
from dither.data.engines.postgresql import PostgreSQLEngine
from dither.data.engines.protocol import can_hold
from dither.data.engines.spark import SparkEngine
from dither.data.evaluation import evaluator
from dither.data.expressions import FUNCTIONS, kind_of
from dither.data.reference import rows_of
from dither.errors import InvalidParameter
from dither.privacy import ROW

LEAST, MOST = -(2**63), 2**63 - 1
ENDS = [
    LEAST,
    LEAST + 1,
    LEAST + 999,
    LEAST + 1000,
    -1001,
    -1000,
    -999,
    -1,
    0,
    1,
    999,
    1000,
    MOST - 999,
    MOST - 1,
    MOST,
]
DOUBLES = [math.nan, math.inf, -math.inf, 1.7976931348623157e308, -1.7976931348623157e308, 5e-324, -5e-324, 0.0, -0.0]
DOUBLES += [2.2250738585072014e-308, 9223372036854775807.0, -9223372036854775808.0, 9223372036854774784.0, 0.5, -0.5]
SINGLES = [math.nan, math.inf, -math.inf, 3.4028234663852886e38, -3.4028234663852886e38, 1.401298464324817e-45, -0.0]
WIDE = [Decimal("9" * 38), Decimal("-" + "9" * 38), Decimal(0), Decimal(2**63), Decimal(-(2**63)), Decimal(2**53 + 1)]
TEXTS = ["", "x", "x" * 1024, "x" * 1025, "\U0010ffff" * 1024, "9" * 1024, "-" + "9" * 400, "1e308", "1e309", "-1e-400"]
TEXTS += ["9999-12-31", "0001-01-01", "9999-12-31 23:59:59", "9223372036854775807", "-9223372036854775808", "\x7f", " "]
DAYS = [-(2**31), -(2**31) + 1, -719163, -719162, -1, 0, 1, 2932896, 2932897, 2**31 - 2, 2**31 - 1]
#: Around the first and the last moment of the years 1 to 9999, in seconds.
TURNS = [-62135596801, -62135596800, 253402300799, 253402300800]


def moment(count: int, per_second: int) -> datetime.datetime | None:
    """Return the moment so many parts of a second after 1970, None outside the years 1 to 9999."""
    microseconds = count * 10**6 // per_second
    first = datetime.datetime(1970, 1, 1)
    inside = TURNS[1] * 10**6 <= microseconds < TURNS[3] * 10**6
    return first + datetime.timedelta(microseconds=microseconds) if inside else None


def day(count: int) -> datetime.date | None:
    """Return the day so many days after 1970-01-01, None outside the years 1 to 9999."""
    return datetime.date.fromordinal(count + 719163) if -719162 <= count <= 2932896 else None


def forms(column: Name, kind: Kind) -> list[Expression]:
    """Return every function, cast, list and grid over a column of that kind, with itself and with extreme constants."""
    ends: Mapping[Kind, Sequence[Any]] = {
        Kind.INTEGER: (LEAST, MOST, -1),
        Kind.REAL: (5e-324, -1.7976931348623157e308),
        Kind.TEXT: ("week", "%x_"),
        Kind.BOOLEAN: (True,),
        Kind.DATE: (datetime.date.min, datetime.date.max),
        Kind.TIMESTAMP: (datetime.datetime.min, datetime.datetime.max),
    }
    constants = [Literal(value, of) for of, values in ends.items() for value in values]
    found: list[Expression] = [column, *(Cast(column, to) for to in Kind)]
    for function in FUNCTIONS:
        beside = [(column, end) for end in constants] + [(end, column) for end in constants[::2]]
        for arguments in [(column,), (column, column), *beside]:
            if function not in ("exponential", "logarithm", "power"):  # long in portable mode, and tested elsewhere
                _add(found, function, arguments)
    _add(found, "substring", (column, Literal(1024, Kind.INTEGER), Literal(2**31 - 1, Kind.INTEGER)))
    _add(found, "replace", (column, Literal("x", Kind.TEXT), Literal("yy", Kind.TEXT)))
    _add(found, "truncate_date", (column, Literal("year", Kind.TEXT)))
    _add(found, "truncate_time", (column, Literal("hour", Kind.TEXT)))
    _add(found, "right", (column, Literal(2**31 - 1, Kind.INTEGER)))
    _add(found, "split_part", (column, Literal("x", Kind.TEXT), Literal(1024, Kind.INTEGER)))
    found.append(OneOf(column, tuple(one for one in constants if one.kind is kind)))
    if kind.is_number:
        found += [Grid(column, -(2.0**62), 2.0**62, 0.0, 0), Grid(column, -1e-300, 1e-300, 0.0, 1000)]
    return [one for one in found if _fits(one, column, kind)]


def _add(found: list[Expression], function: str, arguments: tuple[Expression, ...]) -> None:
    try:
        found.append(Call(function, arguments))
    except InvalidParameter:
        return


def _fits(expression: Expression, column: Name, kind: Kind) -> bool:
    try:
        kind_of(expression, {column.name: kind})
    except InvalidParameter:
        return False
    return True


#: What a source stores under a name: how its kind goes, and pairs of what is written and what Python has in its place.
Stored = Mapping[str, tuple[Kind, Sequence[tuple[Any, Any]]]]


def table_of(stored: Stored) -> tuple[Table, list[dict[str, Any]], dict[str, list[Any]]]:
    """Return a table with a column for every stored type and every kind it can be declared as, its rows, its cells."""
    many = max(len(pairs) for _, pairs in stored.values()) + 1
    columns, cells, meant = [Column("row", Kind.INTEGER)], {"row": list(range(many))}, {"row": list(range(many))}
    for name, (holds, pairs) in stored.items():
        padded = [*pairs, *[(None, None)] * (many - len(pairs))]
        for kind in Kind:
            if can_hold(holds, kind):
                # Short texts, so that many forms fit into one row.
                length = 256 if kind is Kind.TEXT else None
                columns.append(Column(f"{name}_{kind.value}", kind, length=length))
                cells[columns[-1].name] = [written for written, _ in padded]
                meant[columns[-1].name] = [value for _, value in padded]
    rows = [dict(zip(meant, row, strict=True)) for row in zip(*meant.values(), strict=True)]
    return Table("extremes", tuple(columns), "extremes.parquet"), rows, cells


def check(
    open_engine: Callable[[Table, dict[str, list[Any]]], Engine], stored: Stored, *, a_query: int, every: int = 1
) -> None:
    """Compare all forms with the reference, many in a statement."""
    table, rows, cells = table_of(stored)
    clean = {row["row"]: row for row in rows_of(Scan(table), {"extremes": rows})}
    asked = [form for column in table.columns[1:] for form in _some(forms(Name(column.name), column.kind), every)]
    wrong: list[str] = []
    with open_engine(table, cells) as engine:
        for batch in (asked[start : start + a_query] for start in range(0, len(asked), a_query)):
            answer = engine.aggregate(Aggregation(Scan(table), (Name("row"), *batch), (CountRows(),)))
            assert sorted(key[0] for key in answer.keys) == sorted(clean)
            for place, expression in enumerate(batch, start=1):
                value_of = evaluator(expression, table.kinds)
                for key in answer.keys:
                    meant = value_of(clean[key[0]])
                    if type(key[place]) is not type(meant) or key[place] != meant:
                        wrong.append(f"{expression} in row {key[0]}: {key[place]!r}, the meaning is {meant!r}")
    assert wrong[:5] == []


def _some(expressions: list[Expression], every: int) -> list[Expression]:
    return [expressions[0], *expressions[1::every]]


def arrow_types() -> Stored:
    """Return what Arrow stores at its extremes; what is written are counts where a type counts."""

    def same(values: Sequence[Any]) -> list[tuple[Any, Any]]:
        return [(value, value) for value in values]

    stored: dict[str, tuple[Kind, list[tuple[Any, Any]]]] = {
        "int64": (Kind.INTEGER, same(ENDS)),
        "int8": (Kind.INTEGER, same([-128, 127])),
        "uint64": (Kind.INTEGER, same([0, 2**63 - 1, 2**63, 2**64 - 1])),
        "float64": (Kind.REAL, same(DOUBLES)),
        "float32": (Kind.REAL, same(SINGLES)),
        "decimal128": (Kind.REAL, same(WIDE)),
        "string": (Kind.TEXT, same(TEXTS)),
        "bool_": (Kind.BOOLEAN, same([True, False])),
        "date32": (Kind.DATE, [(count, day(count)) for count in DAYS]),
    }
    for unit, per_second in (("s", 1), ("ms", 1000), ("us", 10**6), ("ns", 10**9)):
        counts = [*ENDS, *(turn * per_second for turn in TURNS if LEAST <= turn * per_second <= MOST)]
        stored[f"timestamp_{unit}"] = (Kind.TIMESTAMP, [(count, moment(count, per_second)) for count in counts])
    return stored


def arrow_frame(table: Table, cells: Mapping[str, list[Any]]) -> Any:
    """Return the cells as an Arrow table of the types that the columns are named after."""
    pyarrow = pytest.importorskip("pyarrow", reason="Arrow tables need pyarrow")
    arrays = {}
    for name, values in cells.items():
        made = "int64" if name == "row" else name.rpartition("_")[0]
        if made.startswith("timestamp"):
            arrays[name] = pyarrow.array(values, pyarrow.int64()).cast(pyarrow.timestamp(made.rpartition("_")[2]))
        elif made == "date32":
            arrays[name] = pyarrow.array(values, pyarrow.int32()).cast(pyarrow.date32())
        else:
            arrays[name] = pyarrow.array(
                values, pyarrow.decimal128(38, 0) if made == "decimal128" else getattr(pyarrow, made)()
            )
    return pyarrow.table(arrays)


def test_duckdb_over_arrow() -> None:
    def opened(table: Table, cells: dict[str, list[Any]]) -> Engine:
        frames = {"extremes": arrow_frame(table, cells)}
        return DuckDBEngine(DataSet("d", (table,), ROW), frames=frames, portable=True, threads=1)

    check(opened, arrow_types(), a_query=120)


#: What PostgreSQL stores at its extremes: what is written, and what Python has in its place.
POSTGRESQL: Stored = {
    "int8": (Kind.INTEGER, [(str(count), count) for count in ENDS]),
    "int2": (Kind.INTEGER, [("-32768", -32768), ("32767", 32767)]),
    "float8": (Kind.REAL, [(repr(value), value) for value in DOUBLES]),
    "float4": (Kind.REAL, [(repr(value), value) for value in SINGLES]),
    "numeric": (
        Kind.REAL,
        [
            *((str(value), value) for value in WIDE),
            *(("NaN", None), ("Infinity", None), ("-Infinity", None), ("1e131071", None), ("1e-16383", Decimal(0))),
        ],
    ),
    "text": (Kind.TEXT, [(text, text) for text in TEXTS]),
    "bool": (Kind.BOOLEAN, [("t", True), ("f", False)]),
    "date": (
        Kind.DATE,
        [
            *(("infinity", None), ("-infinity", None), ("4713-01-01 BC", None), ("5874897-12-31", None)),
            *(("0001-12-31 BC", None), ("10000-01-01", None)),
            *((str(value), value) for value in (datetime.date.min, datetime.date.max, datetime.date(1969, 12, 31))),
        ],
    ),
    "timestamp": (
        Kind.TIMESTAMP,
        [
            *(
                ("infinity", None),
                ("-infinity", None),
                ("4713-01-01 00:00:00 BC", None),
                ("294276-12-31 23:59:59.999999", None),
            ),
            *(("0001-12-31 23:59:59.999999 BC", None), ("10000-01-01 00:00:00", None)),
            *((str(value), value) for value in (datetime.datetime.min, datetime.datetime.max)),
        ],
    ),
    "timestamptz": (
        Kind.TIMESTAMP,
        [
            *(
                ("infinity", None),
                ("-infinity", None),
                ("294276-12-31 23:59:59+00", None),
                ("9999-12-31 23:59:59-12", None),
            ),
            ("9999-12-31 23:59:59+00", datetime.datetime(9999, 12, 31, 23, 59, 59)),
        ],
    ),
}


def test_postgresql(factories: dict[str, Any]) -> None:
    # The shared server: opened over an empty table, whose engine tells its address.
    with factories["postgresql"](
        DataSet("d", (Table("empty", (Column("row", Kind.INTEGER),), "x"),), ROW), {"empty": []}
    ) as engine:
        url = engine.dataset.engine

    def opened(table: Table, cells: dict[str, list[Any]]) -> Engine:
        import psycopg

        types = {name: "int8" if name == "row" else name.rpartition("_")[0] for name in cells}
        with psycopg.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
            cursor.execute(f"CREATE TABLE extremes ({', '.join(f'{name} {kind}' for name, kind in types.items())})")
            with cursor.copy("COPY extremes FROM STDIN") as copy:
                for row in zip(*cells.values(), strict=True):
                    copy.write_row(row)
        stored = dataclasses.replace(table, source="extremes")
        return PostgreSQLEngine(DataSet("d", (stored,), ROW, engine=url), portable=True)

    check(opened, POSTGRESQL, a_query=120)


def check_spark() -> None:
    """Compare some forms on Spark, which takes long to plan them."""

    def opened(table: Table, cells: dict[str, list[Any]]) -> Engine:
        dataset = DataSet("d", (table,), ROW, engine="spark")
        return SparkEngine(dataset, frames={"extremes": arrow_frame(table, cells)}, portable=True)

    check(opened, arrow_types(), a_query=60, every=14)

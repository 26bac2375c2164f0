"""Every function over hostile cells, on every engine, against its meaning in plain Python: none raises, all agree.

Engines are in portable mode, in which they agree to the last bit. By default they differ in three functions, which have
a test of their own.
"""

from __future__ import annotations

import datetime
import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dither.data import (
    Aggregation,
    Call,
    Case,
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
from dither.data.engines.emit_duckdb import DuckDBEmitter
from dither.data.engines.emit_expressions import ExpressionEmitter, Scope
from dither.data.evaluation import evaluate, evaluator
from dither.data.expressions import FUNCTIONS, kind_of, names_in
from dither.data.reference import rows_of
from dither.errors import InvalidParameter
from dither.privacy import ROW

MOST, LEAST = 2**63 - 1, -(2**63)
INTEGERS = [None, 0, 1, -1, 2, -7, 62, 63, 10**9, 2**31, 2**53 + 1, -(2**53) - 1, 2**62, MOST, LEAST, LEAST + 1]
REALS = [
    *(None, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 2.5, 3.0000000000000004, 1e-7, 5e-324, -5e-324, 2.2250738585072014e-308),
    *(1e15 + 0.5, 9007199254740993.0, 9.3e18, -9.3e18, 9223372036854775807.0, -9223372036854775808.0, 1e308, -1e308),
    *(1.7976931348623157e308, math.nan, math.inf, -math.inf, 709.0, -746.0, 1e-300),
]
NUMBERS_AS_TEXT = [
    *("", " ", "0", "-0", "+5", " 12 ", "12.0", "12.50", "1e3", "1E-3", ".5", "5.", ".", "+", "-", "--1", "1 2", "١٢"),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "1e400", "-1e400"),
    *("1e-400", "1e", "e5", "0x10", "1_000", "1,5", "NaN", "inf", "-Infinity", "nan", "12\n", "\t12", "0000000012"),
    *("1.0000000000000000000000001", "4.9e-324", "0" * 300 + "7", "9" * 400, "1.e5", "1e+05", "0e0", "007.000"),
    *("5d", "5f", "5L", "1e99999999999", "0." + "0" * 400 + "1", "true", "t", "1", "F", "TRUE", "fAlse"),
]
DATES_AS_TEXT = [
    *("2024-02-29", "2023-02-29", "0001-01-01", "9999-12-31", "0000-01-01", "10000-01-01", "2024-1-5", "2024-01-05 "),
    *(" 2024-01-05", "2024-13-01", "2024-00-10", "2024-01-00", "epoch", "infinity", "today", "2024/01/05", "20240105"),
    *("2024-01-05 23:59:59", "2024-01-05T00:00:00", "2024-01-05 24:00:00", "2024-01-05 23:59:60", "2024-01-05 1:00:00"),
    *("2024-01-05 10:11", "2024-01-05 10:11:12.5", "2024-01-05T10:11:12Z", "2024-01-05 10:11:12+00", "-2024-01-05"),
    *("9999-12-31 23:59:59", "0001-01-01T00:00:00", "1900-02-29", "2000-02-29", "2024-01-05t10:11:12"),
]
TEXTS = [
    *(
        None,
        "a",
        "A",
        "Z",
        "z",
        "[",
        "é",
        "É",
        "ß",
        "İ",
        "ﬁ",
        "e\u0301",
        "日本",
        "🙂",
        "🙂🙂",
        "\U0010ffff",
        "\ufffd",
        "\uffff",
    ),
    *(
        "'",
        "''",
        '"',
        "\\",
        "\\\\",
        "%",
        "_",
        "a%b",
        "a_b",
        "a\\b",
        "100%",
        "a'b\"c",
        "'; DROP TABLE t; --",
        "{0}",
        "{",
    ),
    *("$1", "$$", "?", ":x", "%s", "/*", "--", "\n", "\r\n", "a\nb", "\t", " a ", "  ", "\u00a0", "\u2003", "NULL"),
    *("north", "NORTH", "abcabc", "x" * 5000, "é" * 300, "\u200b", "\u202e", "\x01", "\x7f"),
]
DATES = [
    None,
    *(datetime.date.fromisoformat(text) for text in ("0001-01-01", "9999-12-31", "1970-01-01", "1969-12-31")),
]
DATES += [datetime.date(2024, 2, 29), datetime.date(1582, 10, 10), datetime.date(2023, 1, 1), datetime.date(1900, 3, 1)]
DATES += [datetime.date(2023, 1, 31), datetime.date(9999, 12, 27), datetime.date(2021, 5, 16), datetime.date(4, 2, 29)]
MOMENTS = [None, datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31, 23, 59, 59, 999999)]
MOMENTS += [datetime.datetime(1970, 1, 1), datetime.datetime(1969, 12, 31, 23, 59, 59, 999999)]
MOMENTS += [datetime.datetime(2024, 2, 29, 12, 30, 15, 500000), datetime.datetime(1582, 10, 10, 3, 4, 5)]
MOMENTS += [
    datetime.datetime(2023, 3, 26, 2, 30),
    datetime.datetime(2023, 1, 31, 23, 59, 59, 999999),
    datetime.datetime(1900, 1, 1, 0, 0, 0, 1),
]

COLUMNS = (
    Column("row", Kind.INTEGER),
    *(Column(name, Kind.INTEGER) for name in ("i", "j")),
    *(Column(name, Kind.REAL) for name in ("r", "s")),
    # Short, so that many expressions fit into one row.
    *(Column(name, Kind.TEXT, length=64) for name in ("t", "u")),
    *(Column(name, Kind.BOOLEAN) for name in ("b", "c")),
    *(Column(name, Kind.DATE) for name in ("d", "e")),
    *(Column(name, Kind.TIMESTAMP) for name in ("m", "n")),
)
TABLE = Table("cells", COLUMNS, "cells.parquet")
DATASET = DataSet("hostile", (TABLE,), ROW)
KINDS = TABLE.kinds
NAMED: dict[Kind, list[Expression]] = {
    kind: [Name(name) for name, held in KINDS.items() if held is kind and name != "row"] for kind in Kind
}
#: Functions that no standard defines to the last bit; by default values may differ by a few parts in 10^13.
INEXACT = ("exponential", "logarithm", "power")
#: Where an elementary function changes its form: near 1, the ends of the doubles, and where e^x leaves them.
TURNS = [
    *(1 + 2.0**-52, 1 - 2.0**-53, 2**0.5, 1.4142135623730954, 0.7071067811865476, 0.7071067811865475, 2.0**-70),
    *(2.0**-500, 2.0**-501, 2.0**512, 2.0**1023, 1e22, 10.0, -10.0, 22.0, 3.0, -3.0, 1 / 3, -0.5, 1e20, -1e20, 2.0**52),
    *(709.782712893384, 709.7827128933841, 709.79, -708.4, -745.13, -745.14, -745.1332191019411, 0.34657359027997264),
    *(2.0**53 - 1, -(2.0**52) - 1, 4503599627370496.5, 2.0**70, -(2.0**71), 1.7976931348623155e308, 1.3e154, 1.5e-162),
]


def hostile_rows() -> list[dict[str, Any]]:
    """Return rows in which every pair of integers, of reals, of dates occurs, and every text beside another."""
    texts = [*TEXTS, *NUMBERS_AS_TEXT, *DATES_AS_TEXT]
    cells = {
        ("i", "j"): list(itertools.product(INTEGERS, INTEGERS)),
        ("r", "s"): list(itertools.product(REALS, REALS)),
        ("t", "u"): [(text, texts[(place * 7 + 3) % len(texts)]) for place, text in enumerate(texts)],
        ("b", "c"): list(itertools.product((None, True, False), repeat=2)),
        ("d", "e"): list(itertools.product(DATES, DATES)),
        ("m", "n"): list(itertools.product(MOMENTS, MOMENTS)),
    }
    rows = []
    for number in range(max(len(pairs) for pairs in cells.values())):
        row: dict[str, Any] = {"row": number}
        for (first, second), pairs in cells.items():
            row[first], row[second] = pairs[number % len(pairs)]
        rows.append(row)
    return rows


ROWS = hostile_rows()
CLEAN = rows_of(Scan(TABLE), {"cells": ROWS})


@pytest.fixture(scope="module")
def engine(engine_name: str, factories: dict[str, Any]) -> Iterator[Engine]:
    with factories[engine_name](DATASET, {"cells": ROWS}, portable=True) as opened:
        opened.check()
        yield opened


def mismatches(engine: Engine, expressions: Sequence[Expression], *, exact: bool = True) -> list[str]:
    """Return where the engine and the reference differ; each expression is a key beside the number of the row."""
    answer = engine.aggregate(Aggregation(Scan(TABLE), (Name("row"), *expressions), (CountRows(),)))
    assert set(answer.measures) == {(1,)}
    found = {key[0]: key[1:] for key in answer.keys}
    assert len(found) == len(ROWS)
    wrong = []
    for place, expression in enumerate(expressions):
        value_of = evaluator(expression, KINDS)
        for written, (clean, numbers) in alike(frozenset(names_in(expression))).items():
            meant = value_of(clean)
            for value in (found[number][place] for number in numbers):
                if not same(value, meant, exact=exact):
                    wrong.append(f"{expression} over {written}: the engine says {value!r}, the meaning is {meant!r}")
    return wrong


@functools.cache
def alike(names: frozenset[str]) -> dict[str, tuple[dict[str, Any], list[int]]]:
    """Return a row and the numbers of all rows that are like it in these columns, by what is written in them.

    Many rows are alike in the few columns that one expression reads, and then it means the same.
    """
    found: dict[str, tuple[dict[str, Any], list[int]]] = {}
    for clean in CLEAN:
        written = repr({name: clean[name] for name in sorted(names)})
        found.setdefault(written, (clean, []))[1].append(clean["row"])
    return found


def same(found: Any, meant: Any, *, exact: bool) -> bool:
    if type(found) is not type(meant):
        return False
    if isinstance(meant, float) and not exact:
        return math.isclose(found, meant, rel_tol=1e-12, abs_tol=1e-320)
    return bool(found == meant)


CONSTANTS: dict[Kind, list[Expression]] = {
    Kind.INTEGER: [Literal(value, Kind.INTEGER) for value in (0, -1, 3, MOST, LEAST, None)],
    Kind.REAL: [Literal(value, Kind.REAL) for value in (0.0, -2.5, 1e308, 5e-324, 7, None)],
    Kind.TEXT: [Literal(value, Kind.TEXT) for value in ("", "a'b\"c", "\\", "é", None, "'; DROP TABLE t; --")],
    Kind.BOOLEAN: [Literal(value, Kind.BOOLEAN) for value in (True, False, None)],
    Kind.DATE: [Literal(value, Kind.DATE) for value in (datetime.date(1, 1, 1), datetime.date(9999, 12, 31), None)],
    Kind.TIMESTAMP: [Literal(datetime.datetime(2024, 2, 29, 12, 30, 15, 7), Kind.TIMESTAMP)],
}
TEXT_CONSTANTS = ["a", "é", "%", "_", "\\", "'", "a%b", "🙂", " ", "ab"]
PATTERNS = [
    "%",
    "_",
    "",
    "a%",
    "%b",
    "a\\%b",
    "a\\_b",
    "\\\\",
    "%\\\\%",
    "a_b",
    "__",
    "%é%",
    "\\a%",
    "'%",
    "%\n%",
    "🙂_",
]
PATTERNS += ["[a]", "a|b", ".*", "^a", "a%c%", "%''%", "%%", "_%_"]


def integer(value: int) -> Literal:
    return Literal(value, Kind.INTEGER)


def text(value: str) -> Literal:
    return Literal(value, Kind.TEXT)


def calls(function: str) -> list[Expression]:
    """Return the function over columns and constants of every kind that it takes."""
    fixed: dict[str, list[tuple[Expression, ...]]] = {
        "substring": [
            (integer(start), integer(size)) for start in (1, 2, 5, 2**31 - 1) for size in (0, 1, 3, 2**31 - 1)
        ],
        "replace": [(text(old), text(new)) for old in TEXT_CONSTANTS for new in ("", "''", "\\1", "$0")],
        "like": [(text(pattern),) for pattern in PATTERNS],
        "truncate_date": [(text(unit),) for unit in ("year", "quarter", "month", "week", "day")],
        "truncate_time": [(text(unit),) for unit in ("hour", "minute", "second")],
        "right": [(integer(size),) for size in (0, 1, 3, 2**31 - 1)],
        "position": [(text(part),) for part in TEXT_CONSTANTS],
        "split_part": [(text(part), integer(place)) for part in TEXT_CONSTANTS for place in (1, 2, 2**31 - 1)],
        "add_months": [(integer(months),) for months in (1, -1, 13, -48, 119987, MOST, LEAST)] + [(Name("i"),)],
        "add_seconds": [(integer(size),) for size in (1, -3600, 86400, 315537897599, MOST, LEAST)] + [(Name("i"),)],
        **{
            name: [(text(part),) for part in ("", *TEXT_CONSTANTS)] for name in ("starts_with", "ends_with", "contains")
        },
    }
    signature = FUNCTIONS[function]
    candidates: list[tuple[Expression, ...]] = []
    if function in fixed:
        for first in itertools.chain(*NAMED.values()):
            candidates.extend((first, *rest) for rest in fixed[function])
    elif signature.most == 1:
        candidates = [(first,) for first in itertools.chain(*NAMED.values(), *CONSTANTS.values())]
    else:
        firsts = [named[0] for named in NAMED.values()]
        seconds = [*(named[-1] for named in NAMED.values()), *itertools.chain(*CONSTANTS.values())]
        candidates = list(itertools.product(firsts, seconds))
        candidates += [(second, first) for first, second in itertools.product(firsts, CONSTANTS[Kind.INTEGER][:3])]
        if signature.most > 2:
            candidates += [(*NAMED[kind], CONSTANTS[kind][0]) for kind in Kind] + [(NAMED[kind][0],) for kind in Kind]
    found: list[Expression] = []
    for arguments in candidates:
        try:
            call = Call(function, arguments)
            kind_of(call, KINDS)
        except InvalidParameter:
            continue
        found.append(call)
    return found


@pytest.mark.parametrize("function", sorted(FUNCTIONS))
def test_every_function_means_the_same_over_hostile_cells(engine: Engine, function: str) -> None:
    expressions = calls(function)
    assert expressions
    if function in INEXACT:
        # Long in portable mode: of those with constants every fourth.
        columns = [one for one in expressions if all(isinstance(part, Name) for part in one.children())]
        expressions = [*columns, *(one for one in expressions[::4] if one not in columns)]
    assert mismatches(engine, expressions)[:5] == []


def test_by_default_elementary_functions_agree_to_twelve_digits(engine_name: str, factories: dict[str, Any]) -> None:
    with factories[engine_name](DATASET, {"cells": ROWS}) as opened:
        assert mismatches(opened, [one for name in INEXACT for one in calls(name)], exact=False)[:5] == []


def test_duckdb_is_never_asked_for_a_root_or_a_logarithm_that_a_release_of_it_raises_at() -> None:
    """Before DuckDB 2.0 both raise below 0: strict ones of our own do so in every release."""
    import duckdb

    x = Name("x")
    tried = [Call(f, (one,)) for f in ("square_root", "logarithm") for one in (x, Call("square_root", (x,)))]
    tried += [Call("square_root", (Call("subtract", (x, Call("multiply", (x, x)))),)), Call("logarithm", (tried[3],))]
    printer = DuckDBEmitter({}, lambda kinds, rows: "")
    scope = Scope({"x": Kind.REAL}, {"x": "x"})
    reals = [-1.0, -5e-324, -0.0, 0.0, 5e-324, 1.0, 4.0, 1.7976931348623157e308, -1.7976931348623157e308, None]
    with duckdb.connect() as strict:
        for name in ("sqrt", "ln"):
            strict.execute(f"CREATE MACRO strict_{name}(x) AS CASE WHEN x < 0 THEN error('raises') ELSE {name}(x) END")
        strict.execute("CREATE TABLE reals AS SELECT unnest(?::DOUBLE[]) AS x", [reals])
        for expression in tried:
            sql = printer.expression(expression, scope)
            assert "sqrt(" in sql or "ln(" in sql
            sql = sql.replace("sqrt(", "strict_sqrt(").replace("ln(", "strict_ln(")
            found = [value for (value,) in strict.execute(f"SELECT {sql} FROM reals").fetchall()]  # noqa: S608
            meant = [evaluate(expression, {"x": real}, {"x": Kind.REAL}) for real in reals]
            assert [value is None for value in found] == [value is None for value in meant]
            for here, there in zip(found, meant, strict=True):
                assert here == there or math.isclose(here, there, rel_tol=1e-12)


def test_elementary_functions_agree_to_the_last_bit_where_they_change_their_form(
    engine_name: str, factories: dict[str, Any]
) -> None:
    """Any other bit in an intermediate result would show: the values are those of random arguments as well."""
    check_elementary_functions(factories[engine_name])


def check_elementary_functions(factory: Any, many: int = 400) -> None:
    """Compare an engine's portable functions with their meaning over turns and random reals, bit by bit."""
    random = np.random.default_rng()  # whatever it draws must agree
    table = Table("reals", (Column("row", Kind.INTEGER), Column("x", Kind.REAL), Column("y", Kind.REAL)), "reals.csv")
    pairs = list(itertools.product(TURNS, TURNS[::3]))
    for _ in range(many):
        sizes = (
            random.uniform(-700, 700),
            random.uniform(-3, 3),
            2.0 ** random.uniform(-1070, 1020),
            random.normal(1, 1e-9),
        )
        pairs += [(one, random.uniform(-9, 9) if random.random() < 0.5 else random.uniform(-900, 900)) for one in sizes]
    rows = [{"row": row, "x": x, "y": y} for row, (x, y) in enumerate(pairs)]
    x, y = Name("x"), Name("y")
    asked = (*(Call(name, (x, y) if name == "power" else (x,)) for name in INEXACT), Call("power", (y, x)))
    with factory(DataSet("reals", (table,), ROW), {"reals": rows}, portable=True) as opened:
        answer = opened.aggregate(Aggregation(Scan(table), (Name("row"), *asked), (CountRows(),)))
    wrong = []
    for row, *found in answer.keys:
        for call, value in zip(asked, found, strict=True):
            meant = evaluate(call, rows[row], table.kinds)
            if not same(value, meant, exact=True):
                wrong.append(f"{call.function} of {pairs[row]}: the engine says {value!r}, the meaning is {meant!r}")
    assert len(answer.keys) == len(rows)
    assert wrong[:5] == []


def test_every_cast_means_the_same_over_hostile_cells(engine: Engine) -> None:
    casts: list[Expression] = []
    for named, kind in itertools.product(itertools.chain(*NAMED.values()), Kind):
        cast = Cast(named, kind)
        try:
            kind_of(cast, KINDS)
        except InvalidParameter:
            continue
        casts.append(cast)
    assert len(casts) > 20
    assert mismatches(engine, casts)[:5] == []


def test_membership_case_and_grids_mean_the_same_over_hostile_cells(engine: Engine) -> None:
    i, r, t = Name("i"), Name("r"), Name("t")
    expressions: list[Expression] = [OneOf(NAMED[kind][0], tuple(CONSTANTS[kind])) for kind in Kind]  # type: ignore[arg-type]
    expressions += [OneOf(NAMED[kind][0], ()) for kind in Kind]
    expressions += [
        OneOf(i, (Literal(1.0, Kind.REAL), integer(2**53))),
        OneOf(r, (integer(1), Literal(0.5, Kind.REAL))),
        Case(((Name("b"), i),), r),
        Case(((Name("b"), r), (Name("c"), i)), Literal(None, Kind.REAL)),
        Case((), t),
        Case(((Call("is_null", (t,)), text("none")),), t),
    ]
    grids = [
        (0.0, 100.0, 0.0, 20),
        (0.0, 100.0, 0.0, 0),
        (-5.0, 5.0, 1.0, 0),
        (0.0, 0.3, -0.1, 55),
        (-1e18, 1e18, 0.0, 0),
    ]
    grids += [(0.0, 2.0**62, 0.0, 0), (-(2.0**62), 0.0, 0.0, 0), (0.1, 0.1, 0.1, 50), (0.0, 1e308, 0.0, -970)]
    grids += [
        (-1e-300, 1e-300, 0.0, 1000),
        (1.5, 2.5, 0.25, 1),
        (-3.0, 7.0, -3.0, 0),
        (0.0, 1.0, 1e6, 40),
        (5e-324, 1.0, 0.0, 60),
    ]
    for lower, upper, origin, exponent in grids:
        expressions += [Grid(r, lower, upper, origin, exponent), Grid(i, lower, upper, origin, exponent)]
        expressions.append(Grid(Call("multiply", (r, Name("s"))), lower, upper, origin, exponent))
    assert mismatches(engine, expressions)[:5] == []


def test_a_chain_of_reals_is_null_wherever_a_part_of_it_is(engine: Engine) -> None:
    check_chains(engine, exact=True)


def check_chains(engine: Engine, *, exact: bool) -> None:
    """Compare expressions of expressions of reals with their meaning."""
    r, s, i = Name("r"), Name("s"), Name("i")
    product = Call("multiply", (r, s))
    expressions: list[Expression] = [
        Call("divide", (Literal(1, Kind.REAL), product)),
        Call("exponential", (Call("negate", (Call("absolute", (product,)),)),)),
        Call("subtract", (product, product)),
        Call("square_root", (Call("add", (product, Literal(1.0, Kind.REAL))),)),
        Call("less", (product, Literal(1e308, Kind.REAL))),
        Call("is_null", (product,)),
        Call("coalesce", (product, i)),
        Call("least", (product, r)),
        Call("sign", (product,)),
        Call("floor", (product,)),
        Call("ceiling", (Call("divide", (r, s)),)),
        Cast(Call("divide", (product, s)), Kind.INTEGER),
        OneOf(product, (Literal(0.0, Kind.REAL),)),
        Case(((Call("is_null", (product,)), Literal(-1.0, Kind.REAL)),), product),
        Call("add", (i, product)),
        Call("null_if", (i, product)),
    ]
    if exact:
        # What is a bit off here is far off there.
        expressions.append(Call("power", (Call("exponential", (r,)), Call("logarithm", (s,)))))
    assert mismatches(engine, expressions, exact=exact)[:5] == []


def test_names_and_texts_that_look_like_sql_are_only_names_and_texts(
    factories: dict[str, Any], engine_name: str
) -> None:
    columns = tuple(Column(name, Kind.TEXT) for name in ("select", "from", "Order", "c0_", "t1_", "null"))
    table = Table("group", columns, "group.parquet")
    rows = [{column.name: value for column in columns} for value in TEXTS]
    with factories[engine_name](DataSet("where", (table,), ROW), {"group": rows}) as opened:
        for expression in (Name("select"), Call("concatenate", (Name("Order"), text("'\"\\;--"), Name("c0_")))):
            answer = opened.aggregate(Aggregation(Scan(table), (expression,), (CountRows(),)))
            meant = [evaluate(expression, row, table.kinds) for row in rows_of(Scan(table), {"group": rows})]
            assert {(value,) for value in meant} == set(answer.keys)
            assert len(rows) == sum(count for (count,) in answer.measures)


# Nested trees.


def _numbers(kind: Kind, depth: int) -> st.SearchStrategy[Expression]:
    if depth == 0:
        return st.sampled_from([*NAMED[kind], *CONSTANTS[kind]])
    below = trees(depth - 1)
    whole = _numbers(Kind.INTEGER, depth - 1)
    either = st.one_of(whole, _numbers(Kind.REAL, depth - 1))
    same_kind = _numbers(kind, depth - 1)
    if kind is Kind.INTEGER:
        two = st.sampled_from(
            ["add", "subtract", "multiply", "quotient", "remainder", "shift_right", "bit_and", "bit_xor"]
        )
        options = [
            st.builds(lambda f, a, b: Call(f, (a, b)), two, whole, whole),
            st.builds(lambda f, a: Call(f, (a,)), st.sampled_from(["floor", "ceiling", "sign"]), either),
            st.builds(lambda a: Cast(a, Kind.INTEGER), _texts(depth - 1)),
            st.builds(lambda a: Call("length", (a,)), _texts(depth - 1)),
            st.builds(lambda a: Call("position", (a, text("a"))), _texts(depth - 1)),
        ]
    else:
        two = st.sampled_from(["add", "subtract", "multiply", "divide"])
        options = [
            st.builds(lambda f, a, b: Call(f, (a, b)), two, either, same_kind),
            st.builds(lambda a: Call("square_root", (a,)), either),
            st.builds(lambda a: Cast(a, Kind.REAL), st.one_of(_texts(depth - 1), whole)),
        ]
    options += [
        st.builds(lambda f, a: Call(f, (a,)), st.sampled_from(["negate", "absolute"]), same_kind),
        st.builds(
            lambda f, a, b: Call(f, (a, b)), st.sampled_from(["least", "greatest", "coalesce"]), same_kind, same_kind
        ),
        st.builds(lambda a, b: Call("null_if", (a, b)), same_kind, either),
        st.builds(lambda c, a, b: Case(((c, a),), b), below, same_kind, same_kind),
    ]
    return st.one_of(options)


def _texts(depth: int) -> st.SearchStrategy[Expression]:
    if depth == 0:
        return st.sampled_from([*NAMED[Kind.TEXT], *CONSTANTS[Kind.TEXT]])
    same_kind = _texts(depth - 1)
    return st.one_of(
        st.builds(lambda f, a: Call(f, (a,)), st.sampled_from(["lower", "upper", "trim", "trim_left"]), same_kind),
        st.builds(lambda a, s: Call("right", (a, integer(s))), same_kind, st.integers(0, 4)),
        st.builds(lambda a, s: Call("split_part", (a, text("a"), integer(s))), same_kind, st.integers(1, 3)),
        st.builds(lambda a, b: Call("concatenate", (a, b)), same_kind, same_kind),
        st.builds(lambda a, s: Call("substring", (a, integer(s), integer(2))), same_kind, st.integers(1, 4)),
        st.builds(lambda a: Cast(a, Kind.TEXT), _numbers(Kind.INTEGER, depth - 1)),
    )


def trees(depth: int) -> st.SearchStrategy[Expression]:
    """Return conditions over everything else."""
    if depth == 0:
        return st.sampled_from([*NAMED[Kind.BOOLEAN], *CONSTANTS[Kind.BOOLEAN]])
    compare = st.sampled_from(["equal", "unequal", "less", "at_most", "more", "at_least"])
    number = st.one_of(_numbers(Kind.INTEGER, depth - 1), _numbers(Kind.REAL, depth - 1))
    return st.one_of(
        st.builds(lambda f, a, b: Call(f, (a, b)), compare, number, number),
        st.builds(lambda f, a, b: Call(f, (a, b)), compare, _texts(depth - 1), _texts(depth - 1)),
        st.builds(lambda f, a, b: Call(f, (a, b)), st.sampled_from(["and", "or"]), trees(depth - 1), trees(depth - 1)),
        st.builds(lambda a: Call("not", (a,)), trees(depth - 1)),
        st.builds(lambda a: Call("is_null", (a,)), number),
        st.builds(lambda a, p: Call("like", (a, text(p))), _texts(depth - 1), st.sampled_from(PATTERNS)),
    )


#: Made when the first tree is drawn: thousands of strategies are behind it.
NESTED = st.deferred(lambda: st.one_of(trees(3), _numbers(Kind.INTEGER, 3), _numbers(Kind.REAL, 3), _texts(3)))


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(expressions=st.lists(NESTED, min_size=8, max_size=12))
def test_nested_expressions_mean_the_same_over_hostile_cells(engine: Engine, expressions: list[Expression]) -> None:
    assert mismatches(engine, expressions)[:3] == []


@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(expressions=st.lists(NESTED, min_size=8, max_size=12))
def test_parts_that_are_computed_once_mean_the_same(engine: Engine, expressions: list[Expression]) -> None:
    """Every part that is not a column or a constant counts as long here."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ExpressionEmitter, "longest_part", 12)
        assert mismatches(engine, expressions)[:3] == []


def doubled(times: int) -> Expression:
    """Return a tree that reads itself twice at each level, and days that are moved by months again and again."""
    number: Expression = Name("i")
    day: Expression = Name("d")
    for _ in range(times):
        number = Case(((Call("less", (number, Literal(3, Kind.INTEGER))), number),), Call("negate", (number,)))
        day = Call("add_months", (Call("add_days", (day, Call("day", (day,)))), Literal(1, Kind.INTEGER)))
    return Call("add", (number, Call("month", (day,))))


def test_nesting_does_not_multiply_the_sql(engine: Engine) -> None:
    """Seven levels of it were millions of characters, and were refused after a quote that had accepted them."""
    asked = Aggregation(Scan(TABLE), (doubled(7),), (CountRows(),))
    assert len(engine.statement(asked).text) < 120_000  # type: ignore[attr-defined]
    assert mismatches(engine, [doubled(4)])[:3] == []


def test_an_expression_nested_deeply_is_answered_or_refused_before_its_sql_grows(
    engine: Engine, engine_name: str, factories: dict[str, Any]
) -> None:
    with factories[engine_name](DATASET, {"cells": ROWS}) as by_default:
        check_deep_expression(by_default)
    check_deep_expression(engine)


def check_deep_expression(engine: Engine) -> None:
    """Ask for sixty powers within one another."""
    expression: Expression = Name("r")
    for _ in range(60):
        expression = Call("power", (expression, Literal(1, Kind.INTEGER)))
    refusal, wrong = "nest fewer functions", []
    try:
        wrong = mismatches(engine, [expression], exact=False)
    except InvalidParameter as refused:
        refusal = str(refused)
    assert "nest fewer functions" in refusal
    assert wrong[:3] == []


def test_a_text_that_could_outgrow_memory_is_refused_whatever_the_cells_hold(engine: Engine) -> None:
    """Ten replacements that each make a text ten times as long would fail only where some cell has the letter."""
    expression: Expression = Name("t")
    for _ in range(2):
        expression = Call("replace", (expression, text("x"), text("x" * 10)))
    assert mismatches(engine, [Call("length", (expression,))]) == []
    for _ in range(8):
        expression = Call("replace", (expression, text("x"), text("x" * 10)))
    with pytest.raises(InvalidParameter, match="characters"):
        mismatches(engine, [Call("length", (expression,))])

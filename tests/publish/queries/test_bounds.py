"""Bounds hold for every row that is as declared, are as narrow as they look, and keys are all public values."""

# ruff: noqa: S311, S608 - statements and data are made up here
from __future__ import annotations

import datetime
import itertools
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither.data import Call, Case, Cast, Column, DataSet, Expression, Kind, Literal, Name, OneOf, Scan, Table
from dither.data.evaluation import evaluate
from dither.data.expressions import kind_of
from dither.data.reference import rows_of
from dither.errors import InvalidParameter, Unanswerable
from dither.privacy import ROW
from dither.publish.queries.bounds import bounds_of, date_bounds_of
from dither.publish.queries.builder import Groups, col, rows, table, when
from dither.publish.queries.keys import public_values
from dither.publish.queries.sql import parse_sql
from dither.publish.queries.terms import fitted
from tests.publish.queries.exact import CLINIC, FIRST, LAST, REGIONS, tables

SCAN = Scan(CLINIC.table("visits"))
visits = table("visits")


def _bounds(value: Any) -> tuple[float, float] | None:
    return bounds_of(fitted(value.expression, SCAN.columns), SCAN)


NARROW: list[tuple[str, Any, tuple[float, float] | None]] = [
    ("column", col("age"), (0, 100)),
    ("no bounds", col("id"), None),
    ("text", col("note"), None),
    ("truth", col("smoker"), (0, 1)),
    ("condition", col("age") > 3, (0, 1)),
    ("sum", col("age") + col("change"), (-20, 120)),
    ("difference", col("age") - col("change"), (-20, 120)),
    ("product", col("age") * col("change"), (-2000, 2000)),
    ("square", col("change") * col("change"), (0, 400)),
    ("power", col("change") ** 2, (0, 400 * (1 + 2**-47))),
    ("quotient", col("age") / 4, (0, 25)),
    ("division by whole numbers that are not 0", col("age") / col("change"), (-100, 100)),
    ("division by a real", col("age") / col("cost"), None),
    ("towards zero", col("change") // 3, (-6, 6)),
    ("remainder", col("age") % 7, (0, 6)),
    ("remainder of both signs", col("change") % 7, (-6, 6)),
    ("negative", -col("age"), (-100, 0)),
    ("absolute", abs(col("change")), (0, 20)),
    ("clamp", col("id").clamp(3, 9), (3, 9)),
    ("clamp of reals", col("id").clamp(3, 9.5), (3, 9.5)),
    ("product of clamps", col("id").clamp(0, 2) * col("cost").clamp(0, 3), (0, 6)),
    ("case", when(col("age") > 3).then(1).otherwise(5), (1, 5)),
    ("case that tests itself", when(col("id") > 3).then(3).when(col("id") < 0).then(0).otherwise(col("id")), (0, 3)),
    ("case with NULL", when(col("smoker")).then(col("age")).end(), (0, 100)),
    ("least and greatest", col("id").call("greatest", 0).call("least", 100), (0, 100)),
    ("least of a column that may be NULL", col("cost").call("least", col("age")), (0, 1000)),
    ("coalesce", col("cost").coalesce(-7.0), (-7, 1000)),
    ("floor", (col("cost") / 3).call("floor"), (0, 333)),
    ("month", col("day").month(), (1, 12)),
    ("year", col("day").year(), (2023, 2024)),
    ("days", col("day").call("days_between", datetime.date(2025, 1, 1)), (1, 731)),
    ("common bits", col("age").call("bit_and", 12), (0, 12)),
    ("common bits with any integer", col("age").call("bit_and", col("id")), (0, 100)),
    ("bits of either", col("age").call("bit_or", 3), (0, 127)),
    ("bits of a signed integer", col("change").call("bit_xor", 3), (-32, 31)),
    ("bits without bounds", col("id").call("bit_or", 3), None),
    ("second", col("moment").call("second"), (0, 59)),
    ("months later", col("day").call("add_months", 12).year(), (2023, 2026)),
    ("clamp of an integer to reals", col("age").clamp(2, 3.5), (2, 3.5)),
    ("cast", col("smoker").cast("integer"), (0, 1)),
    ("cast of text", col("note").cast("integer"), None),
    ("square root", (col("age") + 0).call("square_root"), (0, 10.0000000000001)),
    ("beyond doubles", col("cost") * 1e300 * 1e300, None),
    ("always NULL", col("age") + None, None),
]


@pytest.mark.parametrize(("what", "value", "expected"), NARROW, ids=[one[0] for one in NARROW])
def test_bounds_are_as_narrow_as_they_look(what: str, value: Any, expected: tuple[float, float] | None) -> None:
    """By hand: a bound that is twice as wide costs twice the noise."""
    found = _bounds(value)
    assert (found is None) == (expected is None)
    if found is not None and expected is not None:
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-12)
        if what not in ("power", "square root"):
            assert found == expected


THROUGH: list[tuple[str, Groups, tuple[float, float]]] = [
    ("WHERE", visits.where(col("id") >= 3, col("id") < 9).sum("id"), (3, 9)),
    ("WHERE with IN", visits.where(col("id").is_in([4, 9, 2])).sum("id"), (2, 9)),
    ("WHERE within bounds", visits.where(col("age") <= 200).sum("age"), (0, 100)),
    ("projection", visits.select("id", twice=col("age") * 2).sum("twice"), (0, 200)),
    ("public column", visits.join_public("places").sum("places.people"), (0, 1000)),
    ("joined person", visits.join("lab").sum("lab.value"), (-5, 10)),
    ("smallest", visits.per_person(youngest=col("age").minimum()).sum("youngest"), (0, 100)),
    ("clamped count", visits.per_person(n=rows()).select(m=col("n").clamp(0, 5)).sum("m"), (1, 5)),
    ("filtered count", visits.per_person(n=rows()).where(col("n") <= 5).sum("n"), (1, 5)),
    ("lag", visits.window("before", "lag", "age", order=["day"]).sum("before"), (0, 100)),
    ("row number", visits.window("r", "row_number", order=["day"]).where(col("r") < 3).sum("r"), (1, 3)),
    ("clamp beyond the declared bounds", visits.sum("age", bounds=(-10, 1000)), (0, 100)),
    ("clamp inside", visits.sum("age", bounds=(18, 65)), (18, 65)),
    ("clamp elsewhere", visits.sum("age", bounds=(200, 300)), (200, 300)),
]


@pytest.mark.parametrize(("what", "built", "expected"), THROUGH, ids=[one[0] for one in THROUGH])
def test_bounds_go_through_relations(what: str, built: Groups, expected: tuple[float, float]) -> None:
    """What is declared and said reaches the aggregate."""
    assert built.build(CLINIC).aggregates[0].bounds == (expected,)


@pytest.mark.parametrize(
    "built",
    [visits.sum("id"), visits.per_person(n=col("id").sum()).sum("n"), visits.mean(col("id") * col("age"))],
    ids=["a column without bounds", "a person's sum of it", "what is computed from it"],
)
def test_what_has_no_bounds_says_how_to_get_some(built: Groups) -> None:
    """The refusal names both ways out."""
    with pytest.raises(Unanswerable, match=r"declare bounds for.*CLAMP"):
        built.build(CLINIC)


def _number(depth: int) -> st.SearchStrategy[Expression]:
    leaves: st.SearchStrategy[Expression] = st.one_of(
        st.sampled_from([Name("age"), Name("cost"), Name("change")]),
        st.integers(-5, 5).map(lambda value: Literal(value, Kind.INTEGER)),
        st.sampled_from([0.1, -0.3, 2.5, 1e-3]).map(lambda value: Literal(value, Kind.REAL)),
    )
    if depth == 0:
        return leaves
    below = _number(depth - 1)
    binary = st.builds(
        lambda function, a, b: Call(function, (a, b)),
        st.sampled_from(["add", "subtract", "multiply", "divide", "power", "least", "greatest", "coalesce", "null_if"]),
        below,
        below,
    )
    unary = st.builds(
        lambda function, a: Call(function, (a,)),
        st.sampled_from(["negate", "absolute", "floor", "ceiling", "sign", "square_root", "exponential", "logarithm"]),
        below,
    )
    condition = st.one_of(
        st.builds(
            lambda function, a, b: Call(function, (a, b)),
            st.sampled_from(["less", "at_most", "more", "at_least", "equal", "unequal"]),
            below,
            below,
        ),
        st.just(OneOf(Name("age"), (Literal(3, Kind.INTEGER), Literal(50, Kind.INTEGER)))),
    )
    either = st.builds(lambda a, b: Call("or", (a, b)), condition, condition)
    both = st.builds(lambda a, b: Call("and", (a, b)), condition, condition)
    case = st.builds(
        lambda first, a, second, b, c: Case(((first, a), (second, b)), c),
        st.one_of(condition, either, both),
        below,
        condition,
        below,
        below,
    )
    whole = st.builds(
        lambda function, a, b: Call(function, (Call("floor", (a,)), Call("floor", (b,)))),
        st.sampled_from(["quotient", "remainder", "bit_and", "bit_or", "bit_xor"]),
        below,
        below,
    )
    return st.one_of(leaves, binary, unary, case, whole, st.builds(lambda a: Cast(a, Kind.INTEGER), below))


@settings(max_examples=250)
@given(
    _number(3),
    st.lists(st.tuples(st.integers(0, 100), st.floats(0, 1000), st.integers(-20, 20)), min_size=1, max_size=6),
)
def test_no_value_lies_outside_its_bounds(expression: Expression, cells: list[tuple[int, float, int]]) -> None:
    """Random trees over cells within their declared bounds, corners included, computed in doubles."""
    try:
        kind_of(expression, SCAN.columns)
    except InvalidParameter:
        return
    found = bounds_of(expression, SCAN)
    if found is None:
        return
    corners = list(itertools.product((0, 100), (0.0, 1000.0), (-20, 20)))
    for age, cost, change in [*cells, *corners]:
        for known in (cost, None):
            value = evaluate(expression, {"age": age, "cost": known, "change": change}, SCAN.columns)
            if value is not None:
                assert found[0] <= value <= found[1], f"{value} outside {found}"  # type: ignore[operator]


def test_the_check_of_bounds_can_fail() -> None:
    """The twin: a value beyond its declared bounds does leave the interval."""
    found = _bounds(col("age") + 1)
    assert found is not None
    assert evaluate((col("age") + 1).expression, {"age": 101}, SCAN.columns) > found[1]  # type: ignore[operator]


def test_no_date_lies_outside_its_bounds_after_months_and_seconds() -> None:
    """All days around the ends of two months, all numbers of months up to a year: the bounds hold the results."""
    first = datetime.date(2023, 12, 25)
    for length, months in itertools.product((0, 10, 70), range(-13, 14)):
        days = [first + datetime.timedelta(days=place) for place in range(length + 1)]
        column = Column("d", Kind.DATE, lower=days[0], upper=days[-1])
        scan = Scan(Table("t", (column,), "t.csv"))
        later = Call("add_months", (Name("d"), Literal(months, Kind.INTEGER)))
        low, high = date_bounds_of(later, scan) or (datetime.date.max, datetime.date.min)
        values = [evaluate(later, {"d": day}, scan.columns) for day in days]
        assert low <= min(values)  # type: ignore[type-var]
        assert max(values) <= high  # type: ignore[type-var]
        # Narrow enough to be of use: a month is 28 to 31 days, and its end may move by three.
        assert (high - low).days <= length + 3 * abs(months) + 6
    moment = Column("m", Kind.TIMESTAMP, lower=datetime.datetime(2024, 1, 1), upper=datetime.datetime(2024, 1, 31, 23))
    scan = Scan(Table("t", (moment,), "t.csv"))
    seconds = Call("add_seconds", (Name("m"), Literal(-3600, Kind.INTEGER)))
    assert date_bounds_of(seconds, scan) == (datetime.date(2023, 12, 31), datetime.date(2024, 1, 31))
    hour = Call("truncate_time", (Name("m"), Literal("hour", Kind.TEXT)))
    since = Call("microseconds", (hour,))
    ends = [datetime.datetime(2024, 1, 1), datetime.datetime(2024, 1, 31, 23)]
    found = bounds_of(since, scan)
    assert found is not None
    for end in ends:
        assert found[0] <= evaluate(since, {"m": end}, scan.columns) <= found[1]  # type: ignore[operator]


def test_dates_have_bounds_too() -> None:
    """Truncation, addition and casts of dates."""
    assert date_bounds_of(Name("day"), SCAN) == (FIRST, LAST)
    assert date_bounds_of(col("day").truncate("quarter").expression, SCAN) == (FIRST, datetime.date(2024, 10, 1))
    assert date_bounds_of(col("day").cast("timestamp").expression, SCAN) == (FIRST, LAST)
    assert date_bounds_of(Name("moment"), SCAN) is None


def _months() -> list[datetime.date]:
    return [datetime.date(year, month, 1) for year in (2023, 2024) for month in range(1, 13)]


KEYS: list[tuple[str, str, list[Any] | None]] = [
    ("region", "TRUE", list(REGIONS)),
    ("smoker", "TRUE", [False, True, None]),
    ("note", "TRUE", None),
    ("id % 3", "TRUE", [-2, -1, 0, 1, 2]),
    ("note", "note IN ('b', 'a')", ["b", "a"]),
    ("note", "note = 'a'", ["a"]),
    ("region", "region <> 'north' AND age > 5", ["south", "east", "west"]),
    ("age", "age BETWEEN 3 AND 6", [3, 4, 5, 6]),
    ("FLOOR(age / 25) * 25", "TRUE", [0, 25, 50, 75, 100]),
    ("FLOOR(cost / 250) * 250", "cost IS NOT NULL", [0, 250, 500, 750, 1000, None]),
    ("UPPER(region)", "TRUE", ["EAST", "NORTH", "SOUTH", "WEST"]),
    ("CASE WHEN note LIKE 'a%' THEN 'yes' WHEN cost > 5 THEN 'maybe' ELSE 'no' END", "TRUE", ["yes", "maybe", "no"]),
    ("CASE WHEN cost > 5 THEN region ELSE 'none' END", "TRUE", [*REGIONS, "none"]),
    ("CASE WHEN cost > 5 THEN 1 END", "TRUE", [1, None]),
    ("cost > 5", "TRUE", [False, True, None]),
    ("age > 5 AND id > 3", "TRUE", [False, True]),
    ("MONTH(day)", "TRUE", list(range(1, 13))),
    ("MONTH(moment)", "TRUE", list(range(1, 13))),
    ("YEAR(day)", "TRUE", [2023, 2024]),
    ("YEAR(moment)", "TRUE", None),
    ("DATE_TRUNC('month', day)", "TRUE", _months()),
    ("DATE_TRUNC('month', day)", "day < DATE '2023-03-01'", _months()[:2]),
    ("COALESCE(smoker, FALSE)", "TRUE", [False, True]),
    ("cost", "TRUE", None),
    ("LENGTH(note)", "TRUE", None),
    ("LENGTH(region)", "TRUE", [4, 5]),
    ("WIDTH_BUCKET(id, 0, 100, 3)", "TRUE", [0, 1, 2, 3, 4, None]),
    ("CLAMP(id, 3, 5)", "TRUE", [3, 4, 5]),
    ("WIDTH_BUCKET(age, 0, 100, 2)", "TRUE", [1, 2, 3]),
    ("EXTRACT(week FROM moment)", "TRUE", list(range(1, 54))),
    ("DAYNAME(day)", "day < DATE '2023-01-03'", ["Monday", "Sunday"]),
    ("STRFTIME(day, '%Y-%m')", "day < DATE '2023-03-01'", ["2023-01", "2023-02"]),
    ("DATE_TRUNC(day, MONTH)", "day < DATE '2023-03-01'", _months()[:2]),
    ("SECOND(moment)", "TRUE", list(range(60))),
    ("RIGHT(region, 2)", "TRUE", ["st", "th"]),
    ("age & 4", "TRUE", [0, 4]),
    ("region IS NULL", "TRUE", [False, True]),
    (
        "CASE WHEN age < 18 THEN 'child' WHEN age IS NULL THEN 'unknown' ELSE 'adult' END",
        "TRUE",
        ["adult", "child", "unknown"],
    ),
    ("COALESCE(region, 'none')", "TRUE", ["east", "none", "north", "south", "west"]),
    ("COALESCE(FLOOR(age / 100), -1)", "TRUE", [-1, 0, 1]),
]


@pytest.mark.parametrize(("key", "where", "values"), KEYS, ids=[f"{key} if {where}" for key, where, _ in KEYS])
def test_public_values_of_keys(key: str, where: str, values: list[Any] | None) -> None:
    """By hand, and no value of the rows is missing where values are known."""
    query = parse_sql(f"SELECT {key} AS k, COUNT(*) FROM visits WHERE {where} GROUP BY k", CLINIC)
    found = query.keys[0].values
    assert (None if found is None else list(found)) == values
    assert query.is_discovered == (values is None)
    if found is not None:
        for row in rows_of(query.relation, tables()):
            assert evaluate(query.keys[0].value, row, query.relation.columns) in found


#: Columns of many public values, and some that only bounds describe.
_MOMENTS = (datetime.datetime(2024, 1, 30, 5), datetime.datetime(2024, 3, 2, 7))
WIDE = DataSet(
    "wide",
    (
        Table(
            "t",
            (
                Column("n", Kind.INTEGER, lower=0, upper=200_000, nullable=True),
                Column("moment", Kind.TIMESTAMP, lower=_MOMENTS[0], upper=_MOMENTS[1]),
                Column("x", Kind.REAL, lower=-1.0, upper=5.0),
            ),
            "t.csv",
        ),
    ),
    ROW,
)
_TRIED = {
    "n": [None, *range(8), 250, 199_999, 200_000],
    "moment": [*_MOMENTS, datetime.datetime(2024, 2, 4, 23), datetime.datetime(2024, 2, 29)],
    "x": [-1.0, 0.0, 0.25, 1.0, 4.5, 5.0],
}
WIDE_KEYS: list[tuple[str, str, int]] = [
    ("n", "n < 5", 5),
    ("n", "n IN (5, 6, 250000)", 2),
    ("n", "n = 7 AND x > 1", 1),
    ("n", "n > 5 AND n % 2 = 0", 199_996),
    ("n", "n IS NULL OR n BETWEEN 1 AND 5", 200_002),
    ("n", "COALESCE(n, 3) < 5", 200_002),
    ("n", "n <> 4", 200_001),
    ("CAST(moment AS DATE)", "TRUE", 33),
    ("DATE_TRUNC('month', moment)", "TRUE", 3),
    ("DATE_TRUNC('week', moment)", "TRUE", 5),
    ("DATE_TRUNC('day', moment)", "moment < TIMESTAMP '2024-02-02'", 4),
    ("NULLIF(CAST(x AS INTEGER), 3)", "TRUE", 7),
    ("SQRT(x) > 2", "TRUE", 3),
    ("SQRT(x + 1) > 2", "TRUE", 2),
    ("LN(x + 1) > 0", "TRUE", 3),
    ("LN(x + 2) > 0", "TRUE", 2),
    ("POWER(x, 0.5) > 1", "TRUE", 3),
    ("POWER(x, 2) > 1", "TRUE", 2),
    ("FLOOR(SQRT(x))", "TRUE", 4),
]


@pytest.mark.parametrize(("key", "where", "many"), WIDE_KEYS, ids=[f"{key} if {where}" for key, where, _ in WIDE_KEYS])
def test_no_key_is_missing_where_bounds_alone_say_what_there_is(key: str, where: str, many: int) -> None:
    """NULL included, which a root below 0 may give. Would catch: rows of no group, dropped in silence."""
    query = parse_sql(f"SELECT {key} AS k, COUNT(*) FROM t WHERE {where} GROUP BY k", WIDE)
    found = query.keys[0].values
    assert found is not None
    known = set(found)
    assert len(found) == len(known) == many
    given_ = [dict(zip(_TRIED, row, strict=True)) for row in itertools.product(*_TRIED.values())]
    for row in rows_of(query.relation, {"t": given_}):
        assert evaluate(query.keys[0].value, row, query.relation.columns) in known


def test_keys_through_joins_and_persons() -> None:
    """Public columns count with what is declared of them, and a row without a match has NULL."""
    assert _keys("SELECT country, COUNT(*) FROM visits JOIN places USING (region) GROUP BY country") == ("A", "B")
    joined = "SELECT country, COUNT(*) FROM visits LEFT JOIN places USING (region) GROUP BY country"
    assert _keys(joined) == ("A", "B", None)
    assert _keys("SELECT p.region, COUNT(*) FROM visits v JOIN places p USING (region) GROUP BY p.region") is None
    per_person = "SELECT s, COUNT(*) FROM (SELECT id, MAX(age) // 50 AS s FROM visits GROUP BY id) GROUP BY s"
    assert _keys(per_person) == (0, 1, 2)
    counted = "SELECT n, COUNT(*) FROM (SELECT id, LEAST(COUNT(*), 3) AS n FROM visits GROUP BY id) GROUP BY n"
    assert _keys(counted) == (1, 2, 3)


def _keys(sql: str) -> tuple[Any, ...] | None:
    return parse_sql(sql, CLINIC).keys[0].values


def test_too_many_groups_are_refused_before_anything_else() -> None:
    """A million is the most; the refusal says how to get fewer."""
    assert len(_keys("SELECT day, age, COUNT(*) FROM visits GROUP BY day, age") or ()) == 731
    with pytest.raises(Unanswerable, match=r"745\d+ combinations.*coarser"):
        parse_sql("SELECT day, age, age + 1, COUNT(*) FROM visits GROUP BY day, age, age + 1", CLINIC)


def test_random_keys_are_never_missing() -> None:
    """Public values of random expressions, against all rows: a missing value would drop people in silence."""
    source = random.Random(7)
    parts = [
        "age % 3",
        "MONTH(day)",
        "region",
        "smoker",
        "FLOOR(cost / 100)",
        "change // 7",
        "age > 50",
        "LOWER(region)",
    ]
    for _ in range(25):
        first, second = source.sample(parts, 2)
        key = f"CASE WHEN {source.choice(['smoker', 'age > 20', 'cost < 500'])} THEN ({first}) END"
        query = parse_sql(f"SELECT {key} AS a, {second} AS b, COUNT(*) FROM visits GROUP BY 1, 2", CLINIC)
        for one in query.keys:
            values = public_values(one.value, query.relation)
            assert values is not None
            for row in rows_of(query.relation, tables()):
                assert evaluate(one.value, row, query.relation.columns) in values

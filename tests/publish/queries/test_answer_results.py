"""Results: what is shown of released numbers, its intervals, and its way into frames, charts and JSON."""

from __future__ import annotations

import builtins
import dataclasses
import datetime
import importlib
import json
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.data import Call, Case, Cast, Expression, Kind, Limits, Literal, Name, OneOf
from dither.data.evaluation import evaluate
from dither.data.examples import visit
from dither.data.reference import ReferenceEngine
from dither.data.schema import person_unit
from dither.errors import InvalidParameter, MissingExtra
from dither.mechanisms import PublicArray, Runner
from dither.noise import system_noise
from dither.privacy import ROW, ROW_REPLACED, ZCDP, ApproxDP, PureDP, Use
from dither.publish.queries import (
    Answered,
    Query,
    QueryResult,
    ResultColumn,
    plan_partitioned,
    plan_query,
    present,
    present_partitioned,
)
from dither.publish.queries.builder import rows, table
from dither.publish.queries.examples import clinic_query
from dither.publish.queries.intervals import Range, enclose
from dither.publish.queries.limited_rows import Limited, limited
from dither.publish.queries.partition import clinic_halves

#: So much that noise is 0 but for odds of e^-1000, in sums on a fine grid as well.
HUGE = PureDP(10**12)
ONE = Literal(1, Kind.INTEGER)


def shown(query: Query, rows: list[dict[str, Any]]) -> QueryResult:
    answer = plan_query(query, HUGE)
    data = ReferenceEngine(query.dataset, {"visits": rows})
    return present(answer, Runner(Use(answer), system_noise())(answer, data))


ROWS = [visit(1, "north", cost=4)] * 3 + [visit(2, "south", cost=10)] * 5


def test_outputs_are_expressions_over_aggregates_and_keys() -> None:
    query = dataclasses.replace(
        clinic_query("count", "sum"),
        outputs=(
            ("place", Call("upper", (Name("site"),))),
            ("each", Call("divide", (Name("sum"), Name("count")))),
            ("more", Call("add", (Name("count"), ONE))),
            ("is_large", Call("more", (Name("count"), Literal(4, Kind.INTEGER)))),
        ),
    )
    result = shown(query, ROWS)
    assert result.rows == (("NORTH", 4.0, 4, False), ("SOUTH", 10.0, 6, True))
    assert result.interval("more") == ((4, 4), (6, 6))
    assert result.interval("is_large") == ((False, False), (True, True))
    assert result.interval("place") == ((None, None), (None, None))
    assert [column.is_key for column in result.columns] == [True, False, False, False]
    low, high = result.interval("each")[0]
    assert low == pytest.approx(4)
    assert high == pytest.approx(4)


def test_having_order_and_limit_act_on_what_was_released() -> None:
    base = clinic_query("count", "sum")
    having = Call("more", (Name("count"), Literal(4, Kind.INTEGER)))
    assert shown(dataclasses.replace(base, having=having), ROWS).column("site") == ("south",)
    ordered = dataclasses.replace(base, order=((Name("sum"), True),))
    assert shown(ordered, ROWS).column("site") == ("south", "north")
    by_key = dataclasses.replace(base, order=((Name("site"), True),))
    assert shown(by_key, ROWS).column("site") == ("south", "north")
    first = dataclasses.replace(base, order=((Name("count"), False),), limit=1)
    assert shown(first, ROWS).column("site") == ("north",)
    assert shown(dataclasses.replace(base, limit=0), ROWS).rows == ()


@pytest.mark.parametrize(
    ("changes", "is_simultaneous"),
    [
        ({}, False),
        ({"order": ((Name("site"), True),)}, False),
        ({"order": ((Name("count"), True),)}, True),
        ({"order": ((Name("double"), True),)}, True),
        ({"limit": 1}, True),
        ({"having": Call("more", (Name("count"), ONE))}, True),
    ],
    ids=["plain", "by-key", "by-count", "by-output", "limit", "having"],
)
def test_intervals_hold_at_once_where_rows_are_chosen(changes: dict[str, Any], is_simultaneous: bool) -> None:
    outputs = (("count", Name("count")), ("double", Call("add", (Name("count"), Name("count")))))
    query = dataclasses.replace(clinic_query("count"), outputs=outputs, **changes)
    answer = plan_query(query, PureDP("0.01"))
    released = Answered(None, (PublicArray(np.array([1000, 1000])),))
    result = present(answer, released)
    assert result.is_simultaneous == is_simultaneous
    low, high = result.interval("count")[0]
    # Scale 100: reach 100 ln(1 / beta) for one, with beta halved for two at once.
    expected = 100 * math.log(1 / 0.05 * (2 if is_simultaneous else 1))
    assert (high - low) / 2 == pytest.approx(expected, abs=1.5)  # type: ignore[operator]


def test_another_confidence_costs_nothing() -> None:
    answer = plan_query(clinic_query("count"), PureDP("0.01"))
    released = Answered(None, (PublicArray(np.array([1000, 1000])),))
    lengths = []
    for confidence in ("0.5", "0.95", "0.999"):
        result = present(answer, released, confidence=confidence)
        assert result.confidence == Fraction(confidence)
        (low, high), _ = result.interval("count")
        lengths.append(high - low)  # type: ignore[operator]
    assert lengths == sorted(lengths)
    for wrong in (0, 1, "much"):
        with pytest.raises(InvalidParameter, match="confidence"):
            present(answer, released, confidence=wrong)


def test_what_an_interval_is_about_is_said_beside_it() -> None:
    query = clinic_query("sum", "mean", "quantile", "persons", unit=person_unit("person"))
    answer = plan_query(query, PureDP(1))
    data = ReferenceEngine(query.dataset, {"visits": []})
    result = present(answer, Runner(Use(answer), system_noise())(answer, data))
    texts = {column.name: column.estimand for column in result.columns}
    assert texts["site"] == ""
    assert texts["sum"].startswith("sum of cost clamped to [0, 10], at most 3 rows a person")
    assert texts["quantile"].startswith("median of cost")
    assert texts["persons"].startswith("number of different people")
    # What has a limit names it at its head. Two sites are no more than the groups in which one person counts.
    heads = {column.name: column.limit for column in result.columns if not column.is_key}
    assert heads.pop("persons") == ""
    assert set(heads.values()) == {"at most 3 rows a person, 2 groups a person, 2 rows a person and group"}
    assert all("do not count" in column.bias for column in result.columns if column.limit)
    assert "nearest end" in result.columns[1].bias
    assert str(result).splitlines()[-1].startswith("no interval covers this: ")
    assert QueryResult.from_json(result.to_json()).columns == result.columns


def test_the_share_of_rows_that_a_limit_drops_is_stated_where_that_limit_is_in_force() -> None:
    query = clinic_query("count", "persons", unit=person_unit("person"))
    known = replace(query.dataset, dropped=0.27, dropped_up_to=1024)
    for limits, is_stated in ((query.limits, True), (Limits(rows=2), False)):
        answer = plan_query(replace(query, dataset=known, limits=limits), PureDP(1))
        bias = {one.name: limited(answer.design, one).bias for one in answer.query.aggregates}
        assert bias["persons"] == ""
        assert ("(about 27 % of all rows, up to 1,024 a person)" in bias["count"]) is is_stated
    # Totals by person are one row each by their form: no limit takes any away.
    totals = table("visits").per_person(rows=rows()).sum("rows", bounds=(0, 9)).build(known)
    (one,) = totals.aggregates
    assert limited(plan_query(totals, PureDP(1)).design, one) == Limited()


def test_a_result_survives_json_and_refuses_what_is_none() -> None:
    columns = tuple(
        ResultColumn(name, name, is_key)
        for name, is_key in (
            *(("boolean", True), ("integer", False), ("real", False), ("text", True), ("date", True)),
            *(("timestamp", True), ("list", False)),
        )
    )
    moment = datetime.datetime(2024, 1, 2, 3, 4, 5)
    row = (True, 2**70, 0.1, 'a "text"\n', datetime.date(1, 1, 1), moment, ("a", None, datetime.date(2, 2, 2)))
    nothing = (None,) * 7
    low, high = (None, -(2**70), -math.inf, *nothing[3:]), (None, 3, math.inf, *nothing[3:])
    result = QueryResult(
        columns, (row, nothing), (low, nothing), (high, nothing), Fraction(19, 20), True, PureDP("1/3"), "rows", ("x",)
    )
    text = result.to_json()
    assert QueryResult.from_json(text) == result
    assert QueryResult.from_json(text).to_json() == text
    record = json.loads(text)
    for damage in (
        "",
        "[]",
        "{}",
        json.dumps({**record, "result": 2}),
        json.dumps({**record, "rows": [[1]]}),
        json.dumps({**record, "loss": {}}),
    ):
        with pytest.raises(InvalidParameter):
            QueryResult.from_json(damage)


def test_frames_have_a_column_for_each_end() -> None:
    result = shown(clinic_query("count", "mean", "mode"), ROWS)
    names = ["site", "count", "count_low", "count_high", "mean", "mean_low", "mean_high", "mode"]
    assert list(result.to_rows()[0]) == names
    assert list(result.to_rows(intervals=False)[0]) == ["site", "count", "mean", "mode"]
    pandas = pytest.importorskip("pandas")
    frame = result.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == names
    assert frame["count"].tolist() == [3, 5]
    pytest.importorskip("polars")
    assert result.to_polars()["mean"].to_list() == pytest.approx([4, 10])
    pytest.importorskip("pyarrow")
    assert result.to_arrow().column_names == names


@pytest.mark.parametrize(("method", "extra"), [("to_pandas", "frames"), ("to_polars", "frames"), ("plot", "plots")])
def test_absent_parts_are_named(method: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    result = shown(clinic_query("count"), ROWS)

    def refuse(name: str, *_: Any) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", refuse)
    with pytest.raises(MissingExtra, match=extra):
        getattr(result, method)()
    assert builtins.__import__ is not refuse


def test_a_plot_has_bars_and_whiskers() -> None:
    pytest.importorskip("altair")
    result = shown(clinic_query("count", "sum", "mode"), ROWS)
    drawn = result.plot("sum", title="costs").to_dict()
    assert [layer["mark"]["type"] for layer in drawn["layer"]] == ["bar", "errorbar"]
    assert "costs" in json.dumps(drawn)
    with pytest.raises(InvalidParameter, match="a number"):
        result.plot("mode")
    with pytest.raises(InvalidParameter, match="one of"):
        result.plot("other")


def test_the_text_is_a_table_with_all_that_must_be_known() -> None:
    text = str(shown(clinic_query("count", "sum"), ROWS))
    lines = text.splitlines()
    assert lines[0].split("  ")[0] == "site"
    assert [word.strip() for word in lines[0].split("  ") if word][1:] == [
        *("count", "95 % interval"),
        *("sum", "95 % interval"),
    ]
    assert "3         [3, 3]" in text
    assert "95 %" in text
    assert "sum: sum of cost clamped to [0, 10]" in text
    key = dataclasses.replace(clinic_query("count").keys[0], value=Name("cost"), values=tuple(range(60)))
    long = dataclasses.replace(clinic_query("count"), keys=(key,), outputs=(("count", Name("count")),))
    assert "... and 20 more" in str(shown(long, []))


NUMBERS = st.one_of(st.integers(-50, 50), st.floats(-50, 50, allow_nan=False))
LEAVES = st.one_of(
    st.sampled_from([Name("a"), Name("b")]),
    st.integers(-5, 5).map(lambda value: Literal(value, Kind.INTEGER)),
    st.sampled_from([Literal(0.5, Kind.REAL), Literal(-2.25, Kind.REAL)]),
)


def _larger(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    two = st.sampled_from(["add", "subtract", "multiply", "divide", "least", "greatest", "coalesce", "null_if"])
    one = st.sampled_from(["negate", "absolute", "floor", "ceiling", "sign", "square_root", "exponential", "logarithm"])
    tests = st.sampled_from(["less", "at_most", "more", "at_least", "equal", "unequal"])
    condition = st.builds(lambda name, a, b: Call(name, (a, b)), tests, inner, inner)
    both = st.builds(lambda name, a, b: Call(name, (a, b)), st.sampled_from(["and", "or"]), condition, condition)
    options = OneOf(Name("a"), (Literal(0, Kind.INTEGER), Literal(3, Kind.INTEGER)))
    decision = st.one_of(condition, both, condition.map(lambda part: Call("not", (part,))), st.just(options))
    return st.one_of(
        st.builds(lambda name, a, b: Call(name, (a, b)), two, inner, inner),
        st.builds(lambda name, a: Call(name, (a,)), one, inner),
        st.builds(lambda test, a, b: Case(((test, a),), b), decision, inner, inner),
        inner.map(lambda part: Cast(part, Kind.REAL)),
        inner.map(lambda part: Call("power", (part, Literal(2, Kind.INTEGER)))),
    )


EXPRESSIONS = st.recursive(LEAVES, _larger, max_leaves=6)


@given(EXPRESSIONS, st.tuples(NUMBERS, NUMBERS), st.tuples(NUMBERS, NUMBERS), st.floats(0, 1), st.floats(0, 1))
def test_an_expression_lies_in_its_range_wherever_its_numbers_lie_in_theirs(
    expression: Expression, first: Any, second: Any, here: float, there: float
) -> None:
    """Against plain evaluation at points of the box. Would catch: a wrong corner, a sign, an end not widened."""
    ranges = {"a": Range(min(first), max(first)), "b": Range(min(second), max(second))}
    points = {}
    for name, share in (("a", here), ("b", there)):
        low, high = ranges[name].low, ranges[name].high
        point = low + share * (high - low)
        points[name] = min(max(point, low), high)
    value = evaluate(expression, points)
    found = enclose(expression, {}, ranges)
    if isinstance(found, Range):
        assert value is None or found.low <= value <= found.high  # type: ignore[operator]
    elif isinstance(found, frozenset):
        assert value in found
    else:
        assert value == found


def test_the_price_of_a_partition_is_that_of_the_parts_a_unit_touches() -> None:
    for unit, loss, touched in (
        (ROW, PureDP(1), 1),
        (ROW_REPLACED, PureDP(1), 2),
        (person_unit("person"), ZCDP("1/8"), 2),
        (ROW, ApproxDP(1, "1e-6"), 1),
    ):
        planned = plan_partitioned(clinic_halves(unit), loss)
        assert planned.partitioned.touched == touched
        assert planned.loss(1) <= loss
    # Two parts of rows for the price of one: each has the whole epsilon.
    assert [answer.loss(1).pure for answer in plan_partitioned(clinic_halves(ROW), PureDP(1)).answers] == [1, 1]


def test_a_partition_answers_every_part() -> None:
    planned = plan_partitioned(clinic_halves(ROW), HUGE)
    data = ReferenceEngine(planned.partitioned.dataset, {"visits": ROWS})
    tables = present_partitioned(planned, Runner(Use(planned), system_noise())(planned, data))
    assert {label: table.rows for label, table in tables.items()} == {"north": ((3,),), "south": ((50,),)}


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("unit", [ROW, ROW_REPLACED], ids=str)
def test_parts_may_discover_groups_and_search_quantiles(noise: str, unit: Any) -> None:
    """Draws whose number is not known beforehand stay within the filter of their part.

    A group of one row is shown with a probability of delta at most, one of 400 but for odds of e^-100.
    """
    whole = clinic_halves(unit)
    parts = []
    for part in whole.parts:
        groups = clinic_query("count", "quantile", unit=unit, groups="discovered")
        key = dataclasses.replace(groups.keys[0], name="drug", value=Name("drug"))
        outputs = tuple((name, Name(name)) for name in ("drug", "count", "quantile"))
        asked = dataclasses.replace(groups, relation=part.query.relation, keys=(key,), outputs=outputs)
        parts.append(dataclasses.replace(part, query=asked))
    planned = plan_partitioned(dataclasses.replace(whole, parts=tuple(parts)), ApproxDP(20, "1e-15"), noise=noise)
    assert planned.loss(1) <= ApproxDP(20, "1e-15")
    rows = [visit(1, site, drug) for site in ("north", "south") for drug in ("a", "b") for _ in range(400)]
    data = ReferenceEngine(whole.dataset, {"visits": [*rows, visit(1, "north", "rare")]})
    tables = present_partitioned(planned, Runner(Use(planned), system_noise())(planned, data))
    assert [table.column("drug") for table in tables.values()] == [("a", "b")] * 2

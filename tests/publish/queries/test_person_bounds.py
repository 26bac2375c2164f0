"""Totals of a person have the bounds of as many rows as count; conditions and groups are not decided by them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither.data import Relation
from dither.data.evaluation import evaluator
from dither.data.reference import rows_of
from dither.errors import Unanswerable
from dither.publish.queries.builder import col, rows, table
from dither.publish.queries.sql import parse_sql
from tests.publish.queries.exact import CLINIC, FIRST, LOOSE, REGIONS

EACH = "SELECT AVG(t) FROM (SELECT id, {} AS t FROM visits GROUP BY id)"
#: What is made of a person's at most 6 rows, and between which numbers it lies.
TOTALS = {
    "COUNT(*)": (1, 6),
    "COUNT(cost)": (0, 6),
    "COUNT_IF(age > 50)": (0, 6),
    "COUNT(DISTINCT note)": (0, 6),
    "SUM(cost)": (0, 6000),
    "SUM(age)": (0, 600),
    "SUM(change)": (-120, 120),
    "SUM(CASE WHEN smoker THEN 1 ELSE 0 END)": (0, 6),
    "AVG(cost)": (0, 1000),
    "AVG(change)": (-20, 20),
    "AVG(CLAMP(cost, 10, 20))": (10, 20),
    "SUM(cost) / COUNT(*)": (0, 1000),
    "COUNT_IF(age > 50) * 100.0 / COUNT(*)": (0, 100),
    # The divisor counts other rows than those that are added up.
    "SUM(age) / COUNT(CASE WHEN smoker THEN NULL ELSE age END)": (0, 600),
    "SUM(cost) / COUNT(age)": (0, 6000),
    "SUM(age) / COUNT(CASE WHEN age < 60 THEN 60 ELSE age END)": (0, 100),
    "SUM(cost) / MAX(age)": (0, 6000),
    "MAX(age) - MIN(age)": (0, 100),
    "DATEDIFF('day', MIN(day), MAX(day))": (0, 730),
    "MAX(cost)": (0, 1000),
    "SUM(age) * 2 - 7": (-7, 1193),
    "MAX(LENGTH(region))": (0, 5),
}


@pytest.mark.parametrize("total", TOTALS)
def test_a_total_has_the_bounds_of_as_many_rows_as_count(total: str) -> None:
    (aggregate,) = parse_sql(EACH.format(total), CLINIC).aggregates
    assert aggregate.bounds == (pytest.approx(TOTALS[total]),)


VISITS = st.fixed_dictionaries(
    {
        "id": st.just(1),
        "region": st.sampled_from(REGIONS),
        "age": st.sampled_from([0, 50, 51, 100]),
        "cost": st.sampled_from([None, 0.0, 12.5, 1000.0]),
        "day": st.sampled_from([FIRST]),
        "moment": st.none(),
        "smoker": st.sampled_from([True, False, None]),
        "note": st.sampled_from([None, "", "a", "b"]),
        "change": st.sampled_from([-20, 0, 20]),
    }
)


@cache
def read(total: str) -> tuple[Relation, Callable[..., Any], tuple[float, float]]:
    query = parse_sql(EACH.format(total), CLINIC)
    (aggregate,) = query.aggregates
    return query.relation, evaluator(aggregate.arguments[0], query.relation.columns), aggregate.bounds[0]


@settings(max_examples=60, deadline=None)
@given(st.lists(VISITS, min_size=1, max_size=6))
def test_no_person_within_the_limits_is_clamped(visits: list[dict[str, object]]) -> None:
    """As many rows as count, of values as declared: what is made of them lies within its bounds, and no clamp acts."""
    for total in TOTALS:
        relation, value_of, (low, high) = read(total)
        for row in rows_of(relation, {"visits": visits, "lab": [], "places": []}):
            value = value_of(row)
            assert value is None or low - 1e-6 <= value <= high + 1e-6, total  # type: ignore[operator]


@pytest.mark.parametrize(
    ("window", "bounds"),
    [
        ("ROW_NUMBER() OVER (PARTITION BY id ORDER BY day)", (1, 6)),
        ("COUNT(*) OVER (PARTITION BY id)", (0, 6)),
        ("SUM(cost) OVER (PARTITION BY id)", (0, 6000)),
        ("AVG(cost) OVER (PARTITION BY id)", (0, 1000)),
        ("AVG(age) OVER (PARTITION BY id ORDER BY day)", (0, 100)),
        ("SUM(change) OVER (PARTITION BY id ORDER BY day ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)", (-60, 60)),
        ("SUM(cost) OVER (PARTITION BY id ORDER BY day ROWS BETWEEN 9 PRECEDING AND 9 FOLLOWING)", (0, 6000)),
        ("AVG(change) OVER (PARTITION BY id ORDER BY day ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING)", (-20, 20)),
        ("COUNT(*) OVER (PARTITION BY id ORDER BY day ROWS 1 PRECEDING)", (0, 2)),
        ("MAX(age) OVER (PARTITION BY id ORDER BY day ROWS 1 PRECEDING)", (0, 100)),
    ],
)
def test_windows_within_a_person_are_bounded_too(window: str, bounds: tuple[int, int]) -> None:
    (aggregate,) = parse_sql(f"SELECT AVG(t) FROM (SELECT id, {window} AS t FROM visits)", CLINIC).aggregates  # noqa: S608
    assert aggregate.bounds == (pytest.approx(bounds),)


def test_a_frame_of_some_rows_bounds_a_condition_too() -> None:
    """A frame of three rows has three at most by its form: that is a fact, unlike how many rows of a person count."""
    over = "OVER (PARTITION BY id ORDER BY day ROWS 2 PRECEDING)"
    query = parse_sql(f"SELECT n, COUNT(*) FROM (SELECT COUNT(*) {over} AS n FROM visits) GROUP BY n", CLINIC)  # noqa: S608
    assert query.keys[0].values == (0, 1, 2, 3)
    never = f"SELECT COUNT(*) FROM (SELECT SUM(age) {over} AS s FROM visits) WHERE s > 300"  # noqa: S608
    with pytest.raises(Unanswerable, match="can never be true"):
        parse_sql(never, CLINIC)


LENGTHS = {
    "SELECT AVG(LENGTH(country)) FROM visits JOIN places USING (region)": 1,
    "SELECT AVG(LENGTH(v.region)) FROM visits v JOIN (SELECT person FROM lab GROUP BY person) l ON v.id = l.person": 5,
    "SELECT AVG(LENGTH(v.region)) FROM (SELECT person FROM lab GROUP BY person) l JOIN visits v ON v.id = l.person": 5,
    "SELECT AVG(LENGTH(r)) FROM (SELECT note || note || note AS r FROM visits WHERE age > 3)": 3072,
    "SELECT AVG(LENGTH(r)) FROM (SELECT region || '-' || region AS r FROM visits)": 11,
    "SELECT AVG(LENGTH(r)) FROM (SELECT region AS r FROM visits UNION ALL SELECT 'and else' FROM visits)": 8,
    "SELECT AVG(LENGTH(r)) FROM (SELECT id, SUBSTRING(note, 1, 3) AS r FROM visits GROUP BY id, r)": 3,
    "SELECT AVG(LENGTH(r)) FROM (SELECT id, MAX(region) AS r FROM visits GROUP BY id)": 5,
    "SELECT AVG(LENGTH(r)) FROM (SELECT LAG(region) OVER (PARTITION BY id ORDER BY day) AS r FROM visits)": 5,
    "SELECT AVG(LENGTH(region)) FROM (SELECT *, COUNT(*) OVER (PARTITION BY id) AS n FROM visits) WHERE n > 1": 5,
    "SELECT AVG(LENGTH(SUBSTRING(note, 2, 3))) FROM visits": 3,
}


@pytest.mark.parametrize("sql", LENGTHS)
def test_a_text_is_as_long_as_what_it_is_made_of(sql: str) -> None:
    """Through every relation. Would catch: the usual length for a text that is made, which is too short for three."""
    (aggregate,) = parse_sql(sql, CLINIC).aggregates
    assert aggregate.bounds == ((0, LENGTHS[sql]),)


@pytest.mark.parametrize(
    ("inner", "is_possible"),
    [
        ("SELECT SUM(age) OVER w / COUNT(age) OVER w AS t FROM visits WINDOW w AS (PARTITION BY id)", False),
        ("SELECT SUM(age) OVER w / COUNT(cost) OVER w AS t FROM visits WINDOW w AS (PARTITION BY id)", True),
        ("SELECT SUM(age) OVER (PARTITION BY id) / COUNT(age) OVER (PARTITION BY id, day) AS t FROM visits", True),
        (
            "SELECT s / COUNT(age) OVER (PARTITION BY id) AS t FROM "
            "(SELECT *, SUM(age) OVER (PARTITION BY id) AS s FROM visits) WHERE smoker",
            True,
        ),
        ("SELECT id, SUM(age) / COUNT(age) AS t FROM visits GROUP BY id", False),
        ("SELECT id, SUM(age) / COUNT(CASE WHEN smoker THEN NULL ELSE age END) AS t FROM visits GROUP BY id", True),
    ],
)
def test_a_sum_over_a_number_of_other_rows_is_not_a_mean(inner: str, is_possible: bool) -> None:
    """Two rows of age 100, one of which is counted, give 200: a condition on it is not refused as impossible."""
    sql = f"SELECT COUNT(*) FROM ({inner}) WHERE t > 100"  # noqa: S608
    if is_possible:
        assert parse_sql(sql, CLINIC).aggregates
        return
    with pytest.raises(Unanswerable, match="can never be true"):
        parse_sql(sql, CLINIC)


def test_the_builder_bounds_totals_as_sql_does() -> None:
    made = table("visits").per_person(n=rows(), s=col("cost").sum()).mean("s").mean("n").build(CLINIC)
    assert [one.bounds for one in made.aggregates] == [(pytest.approx((0, 6000)),), (pytest.approx((1, 6)),)]


def test_a_limit_on_rows_decides_no_condition_and_no_group() -> None:
    """It is how much counts, and not a fact: people with 10 rows exist, and are counted as such."""
    inner = "(SELECT id, COUNT(*) AS n, SUM(age) AS s FROM visits GROUP BY id)"
    assert parse_sql(f"SELECT COUNT(*) FROM {inner} WHERE n > 10 AND s > 5000", CLINIC).aggregates  # noqa: S608
    assert parse_sql(f"SELECT n, COUNT(*) FROM {inner} GROUP BY n", CLINIC).is_discovered  # noqa: S608
    assert parse_sql("SELECT LENGTH(note) AS l, COUNT(*) FROM visits GROUP BY l", CLINIC).is_discovered


@pytest.mark.parametrize(
    ("value", "named", "clamp"),
    [
        ("person", "", "CLAMP(person, low, high)"),
        ("person + value", "because person has no bounds", "CLAMP(person, low, high)"),
        ("ABS(value * (person - 3))", "because person has no bounds", "CLAMP(person, low, high)"),
        ("CASE WHEN value > 1 THEN person ELSE 0 END", "because person has no bounds", "CLAMP(person, low, high)"),
        ("DATEDIFF('day', taken, DATE '2024-01-01')", "because taken has no bounds", "declare bounds for taken"),
        ("CAST(CAST(person AS VARCHAR) || '0' AS INTEGER)", "", "CLAMP(person, low, high)"),
    ],
)
def test_a_refusal_names_the_bound_that_is_missing(value: str, named: str, clamp: str) -> None:
    with pytest.raises(Unanswerable) as caught:
        parse_sql(f"SELECT AVG({value}) FROM lab", LOOSE)  # noqa: S608
    assert named in caught.value.reason
    assert clamp in caught.value.instead

"""Lists in SQL: quantiles as columns, and lists that stand in FROM."""

# ruff: noqa: S608 - statements are made up here
from __future__ import annotations

from fractions import Fraction

import pytest

from dither.errors import Unanswerable
from dither.publish.queries.sql import parse_request, parse_sql
from tests.publish.queries.exact import CLINIC, exact, same_rows


def shares(sql: str) -> list[Fraction | None]:
    """Return the quantiles that a query measures."""
    return [aggregate.share for aggregate in parse_sql(sql, CLINIC).aggregates]


def test_a_list_of_quantiles_is_a_column_for_each() -> None:
    query = parse_sql("SELECT APPROX_QUANTILES(age, 3) AS q, COUNT(*) AS n FROM visits", CLINIC)
    assert [name for name, _ in query.outputs] == ["q_0", "q_1", "q_2", "q_3", "n"]
    assert [aggregate.share for aggregate in query.aggregates[:4]] == [0, Fraction(1, 3), Fraction(2, 3), 1]
    two = parse_sql(
        "SELECT APPROX_QUANTILES(age, 1) FILTER (WHERE smoker), APPROX_QUANTILES(cost, 1) FROM visits", CLINIC
    )
    assert [name for name, _ in two.outputs] == ["quantile_0", "quantile_1", "quantile_2_0", "quantile_2_1"]


@pytest.mark.parametrize(
    "place", ["[OFFSET(90)]", "[90]", "[SAFE_OFFSET(90)]", "[ORDINAL(91)]", "[SAFE_ORDINAL(91)]", "[offset(90)]"]
)
def test_one_of_a_list_is_one_quantile(place: str) -> None:
    """As BigQuery counts: from 0, and from 1 with ORDINAL; NULLs are ignored anyway."""
    for call in (
        "APPROX_QUANTILES(age, 100)",
        "APPROX_QUANTILES(age, 100 IGNORE NULLS)",
        "(APPROX_QUANTILES(age, 100))",
    ):
        assert shares(f"SELECT {call}{place} AS p FROM visits") == [Fraction(9, 10)]
    assert shares("SELECT APPROX_QUANTILES(age, 2)[0] + APPROX_QUANTILES(age, 2)[2] AS p FROM visits") == [0, 1]
    outside = f"SELECT q{place} AS p FROM (SELECT APPROX_QUANTILES(age, 100) AS q FROM visits)"
    assert shares(outside) == [Fraction(9, 10)]  # and no other is measured


def test_a_quantile_is_the_same_however_it_is_written() -> None:
    same = [
        ("APPROX_QUANTILES(age, 4)[OFFSET(3)]", "QUANTILE(age, 0.75)"),
        ("APPROX_QUANTILES(age, 2)[OFFSET(1)]", "MEDIAN(age)"),
        ("(APPROX_QUANTILES(age, 4) FILTER (WHERE smoker))[1]", "QUANTILE(age, 0.25) FILTER (WHERE smoker)"),
    ]
    for written, meant in same:
        queries = [parse_sql(f"SELECT {one} AS x FROM visits", CLINIC) for one in (written, meant)]
        assert queries[0] == queries[1]


def test_positions_go_with_their_columns() -> None:
    text = "SELECT {} AS q, region, COUNT(*) AS n FROM visits GROUP BY 2 ORDER BY 3 DESC, 2"
    wide = parse_sql(text.format("APPROX_QUANTILES(age, 2)"), CLINIC)
    narrow = parse_sql(text.format("MAX(age)"), CLINIC)
    assert wide.keys == narrow.keys
    assert wide.order == narrow.order
    assert same_rows([row[3:] for row in exact(wide)], [row[1:] for row in exact(narrow)], ordered=True)


def test_lists_are_taken_apart_outside_of_the_query_that_makes_them() -> None:
    text = "WITH t AS (SELECT region, APPROX_QUANTILES(age, 4) AS q FROM visits GROUP BY region) "
    query = parse_sql(text + "SELECT region, t.q[1] AS low FROM t WHERE q[OFFSET(3)] > 9", CLINIC)
    assert [name for name, _ in query.outputs] == ["region", "low"]
    assert [aggregate.share for aggregate in query.aggregates] == [Fraction(1, 4), Fraction(3, 4)]
    report = parse_request(text + "SELECT MAX(q[OFFSET(2)]) AS most FROM t", CLINIC)
    assert [aggregate.share for _, one in report.queries for aggregate in one.aggregates] == [Fraction(1, 2)]


@pytest.mark.parametrize(
    ("sql", "reason", "instead"),
    [
        ("SELECT APPROX_QUANTILES(age, 4)[OFFSET(5)] FROM visits", "place 5 of 5 quantiles", "from 0 to 4"),
        ("SELECT APPROX_QUANTILES(age, 4)[-1] FROM visits", "place -1", "from 0 to 4"),
        ("SELECT APPROX_QUANTILES(age, 4)[ORDINAL(0)] FROM visits", "place -1", "from 0 to 4"),
        ("SELECT APPROX_QUANTILES(age, 4)[OFFSET(age)] FROM visits", "without its number", "OFFSET(2)"),
        ("SELECT APPROX_QUANTILES(age, 4)[1:2] FROM visits", "without its number", "OFFSET(2)"),
        ("SELECT q[9] FROM (SELECT APPROX_QUANTILES(age, 4) AS q FROM visits)", "place 9", "from 0 to 4"),
        ("SELECT APPROX_QUANTILES(age, age) FROM visits", "without a number", "APPROX_QUANTILES(x, 4)"),
        ("SELECT APPROX_QUANTILES(age, 0) FROM visits", "without a number", "APPROX_QUANTILES(x, 4)"),
        ("SELECT APPROX_QUANTILES(DISTINCT age, 4) FROM visits", "other people", "DISTINCT id"),
        ("SELECT APPROX_QUANTILES(age, 300) FROM visits", "301 quantiles", "OFFSET(990)"),
        ("SELECT MAX(APPROX_QUANTILES(age, 3)) FROM visits", "gives a list", "OFFSET(2)"),
        ("SELECT APPROX_QUANTILES(age, 2) AS q, COUNT(*) FROM visits ORDER BY 1", "in order by a list", "one of"),
        ("SELECT APPROX_QUANTILES(note, 4) FROM visits", "text", "LENGTH"),
    ],
)
def test_what_cannot_be_taken_from_a_list_is_refused_in_words(sql: str, reason: str, instead: str) -> None:
    with pytest.raises(Unanswerable) as refused:
        parse_sql(sql, CLINIC)
    assert reason in refused.value.reason
    assert instead in refused.value.instead

"""Lists in SQL: quantiles as columns, and lists that stand in FROM."""

# ruff: noqa: S608 - statements are made up here
from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest

from dither.data.reference import rows_of
from dither.data.relations import PERSON, rows_per_person
from dither.errors import InvalidParameter, Unanswerable
from dither.publish.queries.sql import parse_request, parse_sql
from tests.publish.queries.exact import CLINIC, LOOSE, exact, same_rows


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


def test_a_row_becomes_as_many_rows_as_the_list_has_elements_and_no_more() -> None:
    """By the form of the relation, whatever a text holds."""
    query = parse_sql(
        "SELECT COUNT(*) FROM (SELECT id, MAX(note) AS note FROM visits GROUP BY id) t, "
        "UNNEST(STRING_SPLIT(note, 'a')[1:4]) AS u(x)",
        CLINIC,
    )
    assert rows_per_person(query.relation) == 4
    data = {"visits": [{"id": 1, "note": "a" * 50}, {"id": 2, "note": "b"}], "lab": [], "places": []}
    assert Counter(row[PERSON] for row in rows_of(query.relation, data)) == {1: 4, 2: 1}


def test_values_of_a_list_are_public_groups() -> None:
    query = parse_sql("SELECT x, COUNT(*) FROM visits, UNNEST([3, 1, NULL]) AS u(x) GROUP BY x", CLINIC)
    assert query.keys[0].values == (3, 1, None)
    same = [f"SELECT COUNT(*) FROM visits WHERE age IN {values}" for values in ("UNNEST([1, 2])", "(1, 2)")]
    assert parse_sql(same[0], CLINIC) == parse_sql(same[1], CLINIC)


@pytest.mark.parametrize(
    ("clause", "reason", "instead"),
    [
        ("visits, UNNEST(STRING_SPLIT(note, ',')) AS u(x)", "any number of rows", "[1:5]"),
        ("visits, UNNEST(STRING_SPLIT(note, ',')[1:age]) AS u(x)", "any number of rows", "[1:5]"),
        ("visits, UNNEST(STRING_SPLIT(note, ',')[3:1]) AS u(x)", "any number of rows", "[1:5]"),
        ("visits, UNNEST(STRING_SPLIT(note, region)[1:2]) AS u(x)", "constant separator", "STRING_SPLIT(x, ',')"),
        ("visits, UNNEST(STRING_SPLIT(note, '')[1:2]) AS u(x)", "constant separator", "STRING_SPLIT(x, ',')"),
        ("visits, UNNEST(STRING_SPLIT(note, ',')[1:900]) AS u(x)", "900 parts", "at most 64"),
        ("visits, UNNEST(note) AS u(x)", "one value", "privacy id"),
        ("visits, UNNEST([]) AS u(x)", "a list of 0 elements", "1 to 64"),
        ("visits, UNNEST(GENERATE_SERIES(1, 1000000000)) AS u(x)", "65 elements", "public table"),
        ("visits, UNNEST(GENERATE_SERIES(1, age)) AS u(x)", "constant ends", "GENERATE_SERIES(1, 5)"),
        ("visits, UNNEST([1], [2]) AS u(x, y)", "several lists", "VALUES"),
        ("visits, UNNEST([1, 2]) AS u(x) WITH OFFSET AS o", "OFFSET", "VALUES"),
        ("visits LEFT JOIN UNNEST([1, 2]) AS u(x) ON TRUE", "LEFT JOIN of a list", "CROSS JOIN"),
        ("visits, (VALUES (1, 2), (3)) AS u(x, y)", "different length", "each row"),
        ("UNNEST([1, 2]) AS u(x)", "without rows of people", "FROM visits"),
        (
            "visits v JOIN lab l ON v.id = l.person, UNNEST(RANGE(40)) AS u(x)",
            "more than 64 private tables",
            "split the query",
        ),
        (
            "visits" + "".join(f", UNNEST(RANGE(60)) AS u{place}(x{place})" for place in range(12)),
            "3600 times a table",
            "public table",
        ),
    ],
)
def test_lists_that_are_not_answered_are_refused_in_words(clause: str, reason: str, instead: str) -> None:
    with pytest.raises(Unanswerable) as refused:
        parse_sql(f"SELECT COUNT(*) FROM {clause}", CLINIC)
    assert reason in refused.value.reason
    assert instead in refused.value.instead


def test_lists_of_other_kinds_and_names_are_refused() -> None:
    for clause, rule in (
        ("UNNEST([1, 'a']) AS u(x)", "a list of one kind"),
        ("UNNEST([1, 2]) AS visits", "different from the others"),
        ("UNNEST([1, 2]) AS u(x, y)", "one for each column of the list"),
    ):
        with pytest.raises(InvalidParameter, match=rule):
            parse_sql(f"SELECT COUNT(*) FROM visits, {clause}", CLINIC)


def test_a_row_that_is_a_unit_stays_one_row() -> None:
    with pytest.raises(Unanswerable, match="a row would become several"):
        parse_sql("SELECT COUNT(*) FROM visits, UNNEST([1, 2]) AS u(x)", LOOSE)
    assert parse_sql("SELECT COUNT(*) FROM visits, UNNEST([1]) AS u(x) WHERE age > x", LOOSE).aggregates

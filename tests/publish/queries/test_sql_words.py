"""Words of SQL and of its dialects: functions that people write, and what is said of those that are not understood."""

# ruff: noqa: S608 - statements are made up here
from __future__ import annotations

import datetime
import itertools
import re
from pathlib import Path

import pytest

from dither.data import Column, DataSet, Kind, Table
from dither.data.engines.protocol import connect
from dither.data.evaluation import evaluator
from dither.data.reference import ReferenceEngine, rows_of
from dither.data.relations import PERSON
from dither.errors import InvalidParameter, Unanswerable
from dither.mechanisms import Runner
from dither.noise import system_noise
from dither.privacy import ROW, ApproxDP, PureDP, Use
from dither.publish.queries import QueryResult, plan_query, present
from dither.publish.queries.sql import agreed_loss, parse_sql
from dither.publish.queries.sql.unknown import FUNCTIONS
from tests.publish.queries.exact import CLINIC, LOOSE, answer_of_duckdb, exact, same_rows, tables


def asked(sql: str, dataset: DataSet = LOOSE, epsilon: int = 10**12) -> QueryResult:
    """Return what is released of the clinic's rows, by default with next to no noise."""
    answer = plan_query(parse_sql(sql, dataset), PureDP(epsilon))
    data = ReferenceEngine(dataset, tables())
    return present(answer, Runner(Use(answer), system_noise())(answer, data))


def released(sql: str) -> list[tuple[object, ...]]:
    """Return the rows alone."""
    return list(asked(sql).rows)


#: A condition of some dialect, and what DuckDB says in its place; the same text where it is empty.
CONDITIONS = [
    ("WIDTH_BUCKET(cost, 0, 1000, 7) = 3", "cost >= 2000 / 7.0 AND cost < 3000 / 7.0"),
    ("WIDTH_BUCKET(age, 20, 80, 6) = 0", "age < 20"),
    ("WIDTH_BUCKET(age, 20, 80, 6) = 7", "age >= 80"),
    ("WIDTH_BUCKET(age, 80, 20, 6) = 1", "age <= 80 AND age > 70"),
    ("WIDTH_BUCKET(cost, 0, 10, 2) IS NULL", "cost IS NULL"),
    ("EXTRACT(week FROM day) = 52", ""),
    ("EXTRACT(isoyear FROM day) = 2023", ""),
    ("EXTRACT(isodow FROM moment) = 2", ""),
    ("EXTRACT(dayofweek FROM day) = 0", ""),
    ("EXTRACT(dayofyear FROM day) > 300", ""),
    ("EXTRACT(second FROM moment) = 0", ""),
    ("EXTRACT(epoch FROM moment) > 1700000000", ""),
    ("EXTRACT(epoch FROM day) > 1700000000", ""),
    ("EPOCH(moment) > 1700000000.5", ""),
    ("UNIX_SECONDS(moment) % 7200 >= 3600", "HOUR(moment) % 2 = 1"),
    ("WEEK(day) = 10 OR WEEKOFYEAR(moment) = 20", ""),
    ("DATE_PART('week', day) = 1", ""),
    ("DATEPART(month, day) = 2", "MONTH(day) = 2"),
    ("SECOND(moment) = 0", ""),
    ("DAYNAME(day) = 'Monday'", ""),
    ("MONTHNAME(day) = 'May'", ""),
    ("LAST_DAY(day) - day < 3", ""),
    ("DATE_TRUNC('hour', moment) > TIMESTAMP '2024-01-05 10:00:00'", ""),
    ("DATE_TRUNC('minute', moment) = moment", ""),
    ("DATE_TRUNC(moment, MONTH) = DATE '2023-05-01'", "DATE_TRUNC('month', moment) = DATE '2023-05-01'"),
    ("DATE_TRUNC(day, MONTH) = DATE '2023-05-01'", "DATE_TRUNC('month', day) = DATE '2023-05-01'"),
    ("DATE_TRUNC(month, moment) = DATE '2023-05-01'", "DATE_TRUNC('month', moment) = DATE '2023-05-01'"),
    ("TIMESTAMP_TRUNC(moment, DAY) = day", "CAST(moment AS DATE) = day"),
    ("DATE_ADD(day, INTERVAL 1 MONTH) > DATE '2024-02-29'", ""),
    ("DATE_SUB(day, INTERVAL 1 YEAR) < DATE '2023-02-28'", "day - INTERVAL 1 YEAR < DATE '2023-02-28'"),
    ("DATE_ADD(day, 3) > DATE '2024-03-01'", "day + 3 > DATE '2024-03-01'"),
    ("DATEADD(month, -2, day) > DATE '2023-12-31'", "day - INTERVAL 2 MONTH > DATE '2023-12-31'"),
    ("DATEADD('week', 2, day) > DATE '2023-12-31'", "day + 14 > DATE '2023-12-31'"),
    ("ADD_MONTHS(day, 1) = LAST_DAY(ADD_MONTHS(day, 1))", "day + INTERVAL 1 MONTH = LAST_DAY(day + INTERVAL 1 MONTH)"),
    ("day + INTERVAL 1 MONTH > DATE '2024-02-29'", ""),
    ("day - INTERVAL '1' YEAR < DATE '2023-02-28'", ""),
    ("day + INTERVAL '2 quarters' > DATE '2024-06-30'", "day + INTERVAL 6 MONTH > DATE '2024-06-30'"),
    ("INTERVAL 1 MONTH + day > DATE '2024-02-29'", ""),
    ("day + INTERVAL (change) MONTH > DATE '2024-02-29'", ""),
    ("day + INTERVAL (change) DAY > moment", ""),
    ("moment + INTERVAL 5 HOUR > day + 1", "moment + INTERVAL 5 HOUR > day + INTERVAL 1 DAY"),
    ("moment - INTERVAL '1 day' < TIMESTAMP '2023-06-01 12:00:00'", ""),
    ("moment + INTERVAL 1 MONTH > TIMESTAMP '2024-02-29 10:00:00'", ""),
    ("day + INTERVAL 90 MINUTE > moment", ""),
    ("day >= DATE '2023-01-31' + INTERVAL 1 MONTH", ""),
    ("DATEDIFF(day, DATE '2023-06-01') > 30", "DATEDIFF('day', DATE '2023-06-01', day) > 30"),
    ("DATE_DIFF(day, DATE '2023-06-01', DAY) > 30", "DATEDIFF('day', DATE '2023-06-01', day) > 30"),
    ("DATEDIFF('week', day, DATE '2024-01-01') > 20", ""),
    ("DATEDIFF(MONTH, day, DATE '2024-01-01') > 5", "DATEDIFF('month', day, DATE '2024-01-01') > 5"),
    ("DATEDIFF('hour', moment, TIMESTAMP '2024-01-01 00:30:00') % 2 = 0", ""),
    ("DATEDIFF('hour', TIMESTAMP '1969-12-31 23:30:00', moment) % 2 = 0", ""),
    (
        "TIMESTAMPDIFF(HOUR, moment, TIMESTAMP '2024-01-01 00:30:00') % 2 = 0",
        "DATESUB('hour', moment, TIMESTAMP '2024-01-01 00:30:00') % 2 = 0",
    ),
    ("MAKE_DATE(2023, 5, change) < day", "CASE WHEN change > 0 THEN MAKE_DATE(2023, 5, change) END < day"),
    ("COALESCE(MAKE_DATE(2023, 2, 30), DATE '2023-02-28') < day", "day > DATE '2023-02-28'"),
    ("TO_DATE('2023-05-05') < day", "DATE '2023-05-05' < day"),
    ("STRFTIME(day, '%Y-%m') = '2023-05'", ""),
    (
        "TO_CHAR(moment, 'YYYY-MM-DD HH24:MI') > '2023-05-05 10:30'",
        "STRFTIME(moment, '%Y-%m-%d %H:%M') > '2023-05-05 10:30'",
    ),
    ("SAFE_CAST(note AS INT64) = 7", "TRY_CAST(note AS BIGINT) = 7"),
    ("CAST(age AS FLOAT64) > 3.5", "age > 3.5"),
    ("SAFE_DIVIDE(age, change) > 1", "age / change > 1 AND change <> 0"),
    ("SAFE.LN(change) > 1", "LN(GREATEST(change, 1)) > 1"),
    ("DIV(change, 3) = -2", "change // 3 = -2"),
    ("change DIV (2 + 1) = -2", "change // 3 = -2"),
    ("IIF(age > 30, 1, 2) = 1", "age > 30"),
    ("NVL(cost, -1) < 0", "cost IS NULL"),
    ("NVL2(cost, 1, 0) = 0", "cost IS NULL"),
    ("ISNULL(cost, -1) < 0", "cost IS NULL"),
    ("ISNULL(cost)", "cost IS NULL"),
    ("ZEROIFNULL(cost) = 0", "COALESCE(cost, 0) = 0"),
    ("NULLIFZERO(change) IS NULL", "change = 0"),
    ("DECODE(region, 'north', 1, 'south', 2, 3) = 3", "region NOT IN ('north', 'south')"),
    ("DECODE(note, NULL, 'none', 'ab', 'two') = 'none'", "note IS NULL"),
    ("DECODE(age, 1, 2) IS NULL", "age <> 1"),
    ("EQUAL_NULL(note, NULL)", "note IS NULL"),
    ("CONCAT_WS('-', note, region, NULL) = 'north'", ""),
    ("CONCAT_WS(', ', note, region) LIKE 'ab, %'", ""),
    ("RIGHT(region, 2) = 'th'", ""),
    ("SUBSTR(region, -2) = 'th'", ""),
    ("LPAD(age::VARCHAR, 3, '0') = '007' OR LPAD(region, 4, '*') = 'nort'", ""),
    ("RPAD(note, 4, '.') = 'ab..'", ""),
    ("LTRIM(note) = 'Ab '", ""),
    ("RTRIM(note) = 'Ab'", ""),
    ("TRIM(LEADING ' ' FROM note) = 'a_b%'", ""),
    ("BTRIM(note) = 'Ab'", "TRIM(note) = 'Ab'"),
    ("POSITION('b' IN note) = 2", ""),
    ("STRPOS(note, 'b') = 2 OR INSTR(note, '_') = 3", ""),
    ("LOCATE('b', note) = 2 OR CHARINDEX('_', note) = 3", "STRPOS(note, 'b') = 2 OR INSTR(note, '_') = 3"),
    ("SPLIT_PART(note, ' ', 2) = 'note'", ""),
    ("CONTAINS_SUBSTR(note, 'B')", "CONTAINS(LOWER(note), 'b')"),
    ("age BETWEEN SYMMETRIC 20 AND 10", "age BETWEEN 10 AND 20"),
    ("smoker IS UNKNOWN", "smoker IS NULL"),
    ("smoker IS NOT UNKNOWN", "smoker IS NOT NULL"),
    ("TRUNC(cost / 7) = 3", ""),
    ("TRUNC(change / 3.0) = -2", ""),
    ("TRUNCATE(cost, 1) > 500.4", "FLOOR(cost * 10) / 10 > 500.4"),
    ("PI() * age > 100", ""),
    ("RADIANS(age) > 1 OR DEGREES(change) < -57", ""),
    ("age & 12 = 8", "(age & 12) = 8"),
    ("(age | 3) = 7", ""),
    ("XOR(age, 5) = 3", ""),
    ("~change = 4", "change = -5"),
    ("BITAND(age, 1) = 1", "age % 2 = 1"),
    ("age << 3 = 80", "(age << 3) = 80"),
    ("age >> 3 = 5", "(age >> 3) = 5"),
    ("XOR(smoker, age > 50)", "smoker <> (age > 50)"),
    ("`age` > 50 AND [region] = 'north'", "age > 50 AND region = 'north'"),
    ("`visits`.`age` > 50", "age > 50"),
]


@pytest.mark.parametrize(("condition", "equivalent"), CONDITIONS, ids=[one for one, _ in CONDITIONS])
def test_a_word_of_another_dialect_means_what_duckdb_answers(condition: str, equivalent: str) -> None:
    """Counted over rows with NULLs, by our tree in Python and by DuckDB in its own words."""
    ours = exact(parse_sql(f"SELECT COUNT(*), SUM(age) FROM visits WHERE {condition}", CLINIC))
    theirs = answer_of_duckdb(f"SELECT COUNT(*), SUM(age) FROM visits WHERE {equivalent or condition}")
    assert same_rows(ours, theirs)


@pytest.mark.parametrize(
    "call",
    [
        *("WIDTH_BUCKET(cost, 0, 1000, 7)", "TRUNC(cost, 1)", "TRUNCATE(cost)", "PI()", "RADIANS(age)", "DEGREES(age)"),
        *("EQUAL_NULL(note, region)", "SPLIT_PART(note, ' ', 2)", "NVL2(cost, 1, 0)", "MAKE_DATE(2023, 5, age)"),
        *("SAFE_ADD(age, 1)", "SAFE_NEGATE(age)", "DAYNAME(day)", "SECOND(moment)", "WEEK(day)"),
    ],
)
def test_a_function_that_the_reader_does_not_know_means_the_same(call: str) -> None:
    """Older releases of the reader leave some names as they are; one with a mark in front is left by all of them."""
    name, rest = call.split("(", 1)
    text = "SELECT COUNT({}) AS n FROM visits"
    marked = text.format(f'"~{name}"({rest}')
    assert parse_sql(marked, CLINIC).aggregates == parse_sql(text.format(call), CLINIC).aggregates


def test_a_clamp_with_a_fraction_makes_reals_of_integers() -> None:
    """The sum of integers clamped to [2, 3.5] has halves: its bounds are not those of the integers between."""
    ages = [row["age"] for row in tables()["visits"]]
    changes = [row["change"] for row in tables()["visits"]]
    ((first, second, third),) = released(
        "SELECT SUM(CLAMP(age, 2, 3.5)), AVG(CLAMP(change, -2.5, 2.5)), SUM(CLAMP(age, 2, 3)) FROM visits"
    )
    assert first == pytest.approx(sum(min(max(age, 2), 3.5) for age in ages), abs=1e-3)
    assert second == pytest.approx(sum(min(max(one, -2.5), 2.5) for one in changes) / len(changes), abs=1e-3)
    assert third == sum(min(max(age, 2), 3) for age in ages)


# What other systems write around a query.

FORMS = [
    ("SELECT TOP 2 region, COUNT(*) AS n FROM visits GROUP BY region ORDER BY n DESC", "LIMIT 2"),
    ("SELECT TOP (2) region, COUNT(*) AS n FROM visits GROUP BY region ORDER BY n DESC;", "LIMIT 2"),
    ("SELECT region, COUNT(*) AS n FROM visits GROUP BY region ORDER BY n DESC FETCH FIRST 2 ROWS ONLY", "LIMIT 2"),
    ("SELECT region, COUNT(*) AS n FROM visits GROUP BY region ORDER BY n DESC LIMIT 2 OFFSET 0", "LIMIT 2"),
    ("SELECT region, COUNT(*) AS n FROM visits GROUP BY region ORDER BY n DESC LIMIT ALL", ""),
    ("SELECT `region`, COUNT(*) AS `n` FROM `clinic.visits` GROUP BY `region` ORDER BY n DESC", ""),
    ("SELECT v.[region], COUNT(*) AS [n] FROM [visits] AS v GROUP BY v.[region] ORDER BY [n] DESC", ""),
    ("SELECT WITH DIFFERENTIAL_PRIVACY region, COUNT(*) AS n FROM visits GROUP BY region ORDER BY n DESC", ""),
    (
        "SELECT WITH ANONYMIZATION OPTIONS (epsilon = 1) region, ANON_COUNT(*) AS n FROM visits GROUP BY region "
        "ORDER BY n DESC",
        "",
    ),
    (
        "SELECT region, COUNT(*, contribution_bounds_per_row => (0, 5)) AS n FROM visits GROUP BY ALL ORDER BY n DESC",
        "",
    ),
]


@pytest.mark.parametrize(("sql", "limit"), FORMS, ids=[one for one, _ in FORMS])
def test_a_form_of_another_dialect_is_the_same_query(sql: str, limit: str) -> None:
    """Each is the count by region, the largest first."""
    plain = f"SELECT region, COUNT(*) AS n FROM visits GROUP BY region ORDER BY n DESC {limit}"
    assert parse_sql(sql, CLINIC) == parse_sql(plain, CLINIC)


def test_names_of_a_source_are_quoted_in_three_styles() -> None:
    """A file's own names have blanks and other marks; each style means the declared column."""
    columns = (Column("waited", Kind.INTEGER, lower=0, upper=9, source="minutes waited"), Column("ward", Kind.TEXT))
    dataset = DataSet("clinic", (Table("visits", columns, "visits.csv"),), ROW)
    plain = parse_sql("SELECT SUM(waited) AS s FROM visits WHERE waited > 3", dataset)
    for first, last in ('""', "``", "[]"):
        name = f"{first}minutes waited{last}"
        assert parse_sql(f"SELECT SUM({name}) AS s FROM {first}visits{last} WHERE {name} > 3", dataset) == plain
    text = "SELECT COUNT(*) AS n FROM visits WHERE ward = '`a` [b]' -- [c] `d`"
    assert parse_sql(text, dataset) == parse_sql("SELECT COUNT(*) AS n FROM visits WHERE ward = '`a` [b]'", dataset)


PER_GROUP = [
    (
        "SELECT region, SUM(cost, contribution_bounds_per_group => (0, 500)) AS s FROM visits GROUP BY region",
        "SELECT region, SUM(CLAMP(t, 0, 500)) AS s FROM (SELECT id, region, SUM(cost) AS t FROM visits GROUP BY ALL) "
        "GROUP BY region",
    ),
    (
        "SELECT age > 50 AS old, ANON_COUNT(* CLAMPED BETWEEN 0 AND 2), COUNT(DISTINCT id) FROM visits WHERE age > 9 "
        "GROUP BY old",
        "SELECT old, SUM(CLAMP(n, 0, 2)), COUNT(DISTINCT id) FROM (SELECT id, age > 50 AS old, COUNT(*) AS n FROM "
        "visits WHERE age > 9 GROUP BY ALL) GROUP BY old",
    ),
    (
        "SELECT ANON_AVG(age CLAMPED BETWEEN 20 AND 60) AS a FROM visits",
        "SELECT AVG(CLAMP(m, 20, 60)) AS a FROM (SELECT id, AVG(age) AS m FROM visits GROUP BY id)",
    ),
    (
        "SELECT p.country AS c, SUM(v.cost, contribution_bounds_per_group => (0, 90)) / "
        "COUNT(*, contribution_bounds_per_group => (0, 3)) AS each FROM visits v JOIN places p ON v.region = p.region "
        "GROUP BY p.country HAVING COUNT(*, contribution_bounds_per_group => (0, 3)) > 1 ORDER BY c",
        "SELECT c, SUM(CLAMP(s, 0, 90)) / SUM(CLAMP(n, 0, 3)) AS each FROM (SELECT v.id AS id, p.country AS c, "
        "SUM(v.cost) AS s, COUNT(*) AS n FROM visits v JOIN places p ON v.region = p.region GROUP BY ALL) GROUP BY c "
        "HAVING SUM(CLAMP(n, 0, 3)) > 1 ORDER BY c",
    ),
]


@pytest.mark.parametrize(("sql", "plain"), PER_GROUP, ids=[one for one, _ in PER_GROUP])
def test_bounds_per_group_clamp_what_a_person_has_in_a_group(sql: str, plain: str) -> None:
    """DuckDB computes the totals of each person and group, clamps them, and aggregates."""
    query = parse_sql(sql, CLINIC)
    assert same_rows(exact(query), answer_of_duckdb(plain), ordered="ORDER BY" in sql)
    # A person has one row in a group, whatever they have in the table.
    groups = [tuple(row[PERSON] for row in rows_of(query.relation, tables()))]
    assert len(groups[0]) > len(set(groups[0])) or not query.keys


def test_bounds_per_group_reach_the_measure() -> None:
    """What one person adds to a sum is the clamp, not the clamp times the rows."""
    sql = "SELECT region, SUM(cost, contribution_bounds_per_group => (0, 10)) AS s FROM visits GROUP BY region"
    (one,) = parse_sql(sql, CLINIC).aggregates
    assert one.bounds == ((0.0, 10.0),)
    unnamed = parse_sql(sql.replace("AS s", ", COUNT(*, contribution_bounds_per_group => (0, 2))"), CLINIC)
    assert [name for name, _ in unnamed.outputs] == ["region", "sum_cost", "count"]


@pytest.mark.parametrize(
    ("options", "offender", "rule"),
    [
        ("max_groups_contributed = 9", "9", "from 1 to 3"),
        ("max_groups_contributed = 0", "0", "from 1 to 3"),
        ("max_groups_contributed = half", "half", "integer"),
        ("max_rows_contributed = 7", "7", "from 1 to 6"),
        ("privacy_unit_column = age", "age", "id"),
        ("epsilon = -1", "-1", "above 0"),
        ("epsilon = 1, epsilon = 2", "epsilon", "once"),
    ],
)
def test_options_that_do_not_agree_with_the_schema_are_refused(options: str, offender: str, rule: str) -> None:
    """Before anything is priced, by the option's own name."""
    with pytest.raises(InvalidParameter, match=rule) as caught:
        parse_sql(f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({options}) COUNT(*) FROM visits", CLINIC)
    assert offender in str(caught.value)


def test_an_unknown_option_is_refused_by_name() -> None:
    """It might change the answer, so that it is never passed over."""
    for options in ("noise = 'none'", "group_selection_strategy = PUBLIC_GROUPS", "epsilon 1"):
        with pytest.raises(Unanswerable) as caught:
            parse_sql(f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({options}) COUNT(*) FROM visits", CLINIC)
        assert options.split()[0] in caught.value.reason


def test_limits_of_the_privacy_clause_are_those_of_the_query() -> None:
    """Fewer groups and rows of a person count, and so less noise is needed."""
    text = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({}) region, COUNT(*) FROM visits GROUP BY region"
    query = parse_sql(text.format("max_groups_contributed = 2, max_rows_contributed = 4"), CLINIC)
    assert (query.limits.groups, query.limits.rows) == (2, 4)
    assert parse_sql(text.format("privacy_unit_column = visits.ID"), CLINIC).limits.groups == CLINIC.groups


def test_the_loss_of_a_query_is_said_once_or_the_same_twice() -> None:
    """The clause states it, the caller states it, or both state the same."""
    text = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5, delta = 1e-6) COUNT(*) FROM visits"
    both = ApproxDP("0.5", "1e-6")
    assert (
        agreed_loss(text) == agreed_loss(text, epsilon="1/2", delta="0.000001") == agreed_loss(text, loss=both) == both
    )
    for said in ({"epsilon": 1, "delta": "1e-6"}, {"epsilon": "0.5"}, {"rho": 1}, {"loss": PureDP("0.5")}):
        with pytest.raises(InvalidParameter, match="OPTIONS"):
            agreed_loss(text, **said)
    alone = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 2) COUNT(*) FROM visits"
    assert agreed_loss(alone) == PureDP(2)
    assert agreed_loss("SELECT COUNT(*) FROM visits WHERE note = 'OPTIONS (epsilon = 1)'", epsilon=3) == PureDP(3)


def test_ends_of_intervals_are_columns() -> None:
    """They are what the result itself says of the column they name, and nothing is made of them."""
    result = asked(
        "SELECT region, COUNT(*) AS n, DP_INTERVAL_LOW(n) AS low, DP_INTERVAL_HIGH(n) AS high, AVG(age) AS a, "
        "DP_INTERVAL_HIGH(a), DP_INTERVAL_LOW(100 * COUNT(*)) FROM visits GROUP BY region",
        epsilon=1,
    )
    assert tuple(zip(result.column("low"), result.column("high"), strict=True)) == result.interval("n")
    assert result.column("dp_interval_high_a") == tuple(high for _, high in result.interval("a"))
    assert [column.name for column in result.columns][-1] == "dp_interval_low"
    for sql in (
        "SELECT COUNT(*) AS n, DP_INTERVAL_LOW(n) + 1 FROM visits",
        "SELECT region, COUNT(*) AS n, DP_INTERVAL_LOW(n) AS low FROM visits GROUP BY region ORDER BY low",
        "SELECT region, COUNT(*) AS n, DP_INTERVAL_LOW(n) AS low FROM visits GROUP BY region ORDER BY 3",
        "SELECT region, COUNT(*) AS n FROM visits GROUP BY region HAVING DP_INTERVAL_LOW(n) > 3",
        "SELECT region, DP_INTERVAL_LOW(region), COUNT(*) FROM visits GROUP BY region",
        "SELECT COUNT(*) AS n, DP_INTERVAL_LOW(n, 2) FROM visits",
        "SELECT COUNT(*) FROM visits WHERE DP_INTERVAL_LOW(age) > 3",
    ):
        with pytest.raises((Unanswerable, InvalidParameter)):
            parse_sql(sql, CLINIC)


#: A text, what its refusal names, and what it suggests.
MISSPELT = [
    ("SELECT CONT(*) FROM visits", "CONT", "did you mean COUNT"),
    ("SELECT region, SUMM(age) FROM visits GROUP BY region", "SUMM", "did you mean SUM"),
    ("SELECT MEAN(age) FROM visits", "MEAN", "did you mean AVG"),
    ("SELECT COUNT(*) FROM visits WHERE LOWERR(note) = 'a'", "LOWERR", "did you mean LOWER"),
    ("SELECT COUNT(*) FROM visits WHERE DATETRUNK('month', day) = day", "DATETRUNK", "did you mean DATETRUNC"),
    ("SELECT FROBNICATE(age) FROM visits", "FROBNICATE is not a function", "understood"),
    ("SELECT COUNT(*) FROM visits WHERE SIN(age) > 0", "last bits", "POWER"),
    ("SELECT COUNT(*) FROM visits WHERE REGEXP_REPLACE(note, 'a', 'b') = 'c'", "patterns", "LIKE"),
    ("SELECT COUNT(*) FROM visits WHERE note RLIKE 'a'", "patterns", "LIKE"),
    ("SELECT COUNT(*) FROM visits WHERE MD5(note) = 'a'", "MD5", "itself"),
    ("SELECT COUNT(*) FROM visits WHERE GETDATE() > day", "GETDATE", "constant"),
    ("SELECT COUNT(*) FROM visits WHERE CURRENT_TIMESTAMP > moment", "CURRENT_TIMESTAMP", "constant"),
    ("SELECT COUNT(*) FROM visits WHERE (age, change) IN ((1, 2))", "brackets", "each separately"),
    ("SELECT COUNT(*) FROM visits WHERE age = ANY([1, 2])", "ANY", "IN"),
    ("SELECT COUNT(*) FROM visits WHERE note[1] = 'a'", "list", "separate column"),
    ("SELECT COUNT(*) FROM visits, UNNEST(note) AS x", "UNNEST", "a row for each element"),
    ("SELECT COUNT(*) FROM visits WHERE day + INTERVAL '1 day 2 hours' > day", "interval", "30 DAY"),
    ("SELECT COUNT(*) FROM visits WHERE moment - moment > INTERVAL 1 DAY", "moment", ""),
    ("SELECT COUNT(*) FROM visits WHERE DATE_TRUNC(day, WEEK) = day", "Sunday", "ISOWEEK"),
    ("SELECT TOP 2 PERCENT region, COUNT(*) FROM visits GROUP BY region", "PERCENT", "LIMIT"),
    ("SELECT COUNT(*) FROM visits FETCH FIRST 10 PERCENT ROWS ONLY", "PERCENT", "LIMIT"),
    ("SELECT SUM(cost, contribution_bounds_per_group => (0, 9)), AVG(age) FROM visits", "AVG", "two queries"),
    ("SELECT SUM(cost, contribution_bounds_per_group => (0)) FROM visits", "two bounds", "(0, 10)"),
    ("SHOW TABLES", "SHOW", ".tables"),
    ("DESCRIBE visits", "DESCRIBE", ".columns"),
    ("SELCT COUNT(*) FROM visits", "SELCT", "did you mean SELECT"),
    ("CREATE TABLE t (a INT)", "CREATE", "SELECT"),
    ("SELECT COUNT(*) FROM vists", "vists", "visits, or"),
]


@pytest.mark.parametrize(("sql", "reason", "instead"), MISSPELT, ids=[one[0] for one in MISSPELT])
def test_what_is_not_understood_is_named_with_the_nearest_that_is(sql: str, reason: str, instead: str) -> None:
    """One sentence with what was written, and one with what to write."""
    with pytest.raises((Unanswerable, InvalidParameter)) as caught:
        parse_sql(sql, CLINIC)
    assert reason in str(caught.value)
    assert instead in str(caught.value)
    assert "raw rows" not in str(caught.value)


def test_every_function_that_is_suggested_is_understood() -> None:
    """A suggestion that is refused in turn would be worse than none."""
    for name in FUNCTIONS:
        with pytest.raises((Unanswerable, InvalidParameter)) as caught:
            parse_sql(f"SELECT COUNT(*) FROM visits WHERE {name}(note, note, note, note, note, note) = 1", CLINIC)
        assert "is not a function" not in str(caught.value)
        assert "every engine computes alike" not in str(caught.value)


# The reference in docs/sql.md.

_PAGE = Path(__file__).parents[3] / "docs" / "sql.md"
_CODE = re.compile(r"(?<!`)`([^`]+)`(?!`)")


def _table(heading: str) -> list[list[str]]:
    """Return the cells of the table below a heading of the page."""
    section = _PAGE.read_text().split(f"### {heading}\n")[1].split("\n#")[0]
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip().replace("\\|", "|") for cell in row] for row in rows[2:]]


@pytest.mark.parametrize("heading", ["Numbers", "Choices", "Strings", "Dates"])
def test_every_example_of_the_reference_runs(heading: str) -> None:
    """As a value that is counted where it is not NULL."""
    examples = [example for row in _table(heading) for example in _CODE.findall(row[0])]
    assert len(examples) > 15
    for example in examples:
        assert parse_sql(f"SELECT COUNT({example}) FROM visits", CLINIC).aggregates, example


def test_every_function_that_is_known_is_in_the_reference() -> None:
    """And what the reference names is known."""
    page = " ".join(row[0] for heading in ("Numbers", "Choices", "Strings", "Dates") for row in _table(heading))
    named = set(re.findall(r"\b([A-Z][A-Z0-9_]+)\(", page))
    assert named - {"IN", "INTERVAL"} == set(FUNCTIONS)


def test_every_refusal_of_the_reference_says_what_the_page_says() -> None:
    """The words of the page are in the message."""
    table = _table("What is refused, and what to write")
    assert len(table) > 15
    for query, because in table:
        with pytest.raises((Unanswerable, InvalidParameter)) as caught:
            parse_sql(query.strip("`"), CLINIC)
        assert because in str(caught.value), query


def test_make_date_is_null_exactly_where_there_is_no_such_day() -> None:
    """Every month and day around those that exist, in years of both lengths and at both ends."""
    relation = parse_sql("SELECT COUNT(MAKE_DATE(age, change, id)) FROM visits", CLINIC)
    value = evaluator(relation.aggregates[0].arguments[0], relation.relation.columns)
    for year, month, day in itertools.product((-1, 0, 1, 1900, 2023, 2024, 9999, 10000), range(-1, 15), range(-1, 34)):
        try:
            meant: datetime.date | None = datetime.date(year, month, day)
        except ValueError:
            meant = None
        assert value({"age": year, "change": month, "id": day}) == meant, (year, month, day)


def test_nested_dates_are_answered_as_they_are_quoted() -> None:
    """Their SQL does not grow with what is nested: it had 700,000 characters, and was refused after the quote."""
    arrow = pytest.importorskip("pyarrow")
    day = "day"
    for _ in range(3):
        day = f"DATE_ADD(LAST_DAY({day}), INTERVAL 1 MONTH)"
    text = f"SELECT COUNT(*) FROM visits WHERE {day} > DATE '2024-05-05'"
    plan = plan_query(parse_sql(text, LOOSE), PureDP(10**9))
    frames = {name: arrow.Table.from_pylist(list(rows)) for name, rows in tables().items()}
    with connect(LOOSE, frames=frames) as engine:
        for aggregation in plan.aggregations():
            engine.prepare(aggregation)
        found = present(plan, Runner(Use(plan), system_noise())(plan, engine))
    plainly = text.replace("DATE_ADD(", "(").replace(", INTERVAL", " + INTERVAL")
    assert same_rows(list(found.rows), answer_of_duckdb(plainly))

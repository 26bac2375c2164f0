"""Every construct of SQL means what DuckDB says it means: our tree, evaluated in Python, against DuckDB on the text."""

# ruff: noqa: S311, S608 - statements and data are made up here
from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
import pytest

from dither.data import Relation
from dither.data.reference import rows_of
from dither.data.relations import PERSON
from dither.errors import DitherError
from dither.publish.queries.sql import parse_sql
from tests.publish.queries.exact import CLINIC, LOOSE, answer_of_duckdb, exact, same_rows, tables

AGGREGATES = [
    "(SELECT SUM(TRUNC(age)), SUM(CAST(smoker AS DOUBLE)), SUM(CAST(3 AS DOUBLE)) FROM visits)",
    "SELECT COUNT(*) FROM visits",
    "SELECT COUNT(1), COUNT(cost), COUNT(note), COUNT(smoker), COUNT(id) FROM visits",
    "SELECT COUNT(DISTINCT id) AS people FROM visits",
    "SELECT SUM(cost), AVG(cost), MIN(cost), MAX(cost), MEDIAN(cost) FROM visits",
    "SELECT VARIANCE(age), VAR_SAMP(age), VAR_POP(age), STDDEV(age), STDDEV_SAMP(age), STDDEV_POP(age) FROM visits",
    "SELECT QUANTILE_CONT(cost, 0.25), PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY cost) FROM visits",
    "SELECT PERCENTILE_CONT(0.2) WITHIN GROUP (ORDER BY cost DESC) AS p FROM visits",
    "SELECT COVAR_POP(age, cost), CORR(age, cost) FROM visits",
    "SELECT SUM(CAST(smoker AS INTEGER)), SUM(smoker::int) AS again, AVG(change) FROM visits",
    "SELECT COUNT(*) FILTER (WHERE age > 50) AS old, COUNT(*) AS n FROM visits",
    "SELECT SUM(cost) FILTER (WHERE smoker), COUNT(cost) FILTER (WHERE smoker), AVG(cost) FILTER (WHERE "
    "age < 30) FROM visits",
    "SELECT COUNT(smoker) FILTER (WHERE age > 50) FROM visits",
    "SELECT SUM(CASE WHEN age > 50 THEN 1 ELSE 0 END) AS old FROM visits",
    "SELECT SUM(CASE WHEN smoker THEN cost END) FROM visits",
    "SELECT COUNT_IF(age > 30) FROM visits",
    "SELECT SUM(CLAMP(cost, 10, 100)), AVG(CLAMP(cost, 0, 50.5)) FROM visits",
    "SELECT SUM(CLAMP(age, 10, 20) * CLAMP(cost, 0, 5)) FROM visits",
    "SELECT SUM(CLAMP(age, 2, 30.5)), AVG(CLAMP(change, -2.5, 3)), MAX(CLAMP(age, 1.5, 7.25)) FROM visits",
    "SELECT SUM(CLAMP(age, -0.5, 200.5)), SUM(CLAMP(n, 0.5, 2.5)) FROM (SELECT id, age, change AS n FROM visits)",
    "SELECT 100.0 * SUM(cost) / COUNT(*) AS rate, COUNT(*) + 1 AS more FROM visits",
    "SELECT SUM(cost) / NULLIF(COUNT(cost), 0) FROM visits WHERE age > 10",
    "SELECT AVG(age * age - 3 * change) FROM visits",
    "SELECT MAX(-age), MIN(ABS(change)) FROM visits",
    "SELECT MIN(age) FROM visits WHERE note = 'nobody wrote this'",
    "SELECT COUNT(DISTINCT region), COUNT(DISTINCT note), COUNT(DISTINCT smoker) FROM visits",
    "SELECT COUNT(DISTINCT age // 10), COUNT(DISTINCT change * age) FROM visits",
    "SELECT COUNT(DISTINCT note) FILTER (WHERE age > 50), COUNT(DISTINCT CASE WHEN smoker THEN region END) FROM visits",
    "SELECT COUNT(DISTINCT day), COUNT(DISTINCT cost), COUNT(DISTINCT note || region) FROM visits",
    "SELECT COVAR_SAMP(age, cost), REGR_COUNT(cost, age), REGR_AVGX(cost, age), REGR_AVGY(cost, age) FROM visits",
    "SELECT REGR_SLOPE(cost, age), REGR_INTERCEPT(cost, age), REGR_R2(cost, age), REGR_SLOPE(age, change) FROM visits",
    "SELECT MIN(day), MAX(day) AS last, MAX(day) FILTER (WHERE age < 30) AS l FROM visits",
    "SELECT AVG(CAST(smoker AS INTEGER)), COUNTIF(age > 30) FROM visits",
]
GROUPS = [
    "SELECT region, COUNT(*) AS n FROM visits GROUP BY region",
    "SELECT region AS r, smoker, COUNT(*), SUM(cost) AS total FROM visits GROUP BY region, smoker",
    "SELECT COUNT(*), region FROM visits GROUP BY 2",
    "SELECT FLOOR(age / 10) * 10 AS decade, COUNT(*) FROM visits GROUP BY decade",
    "SELECT FLOOR(age / 10) * 10, COUNT(*) FROM visits GROUP BY FLOOR(age / 10)",
    "SELECT CASE WHEN age < 18 THEN 'child' WHEN age < 65 THEN 'adult' ELSE 'old' END AS stage, "
    "AVG(cost) FROM visits GROUP BY 1",
    "SELECT note, COUNT(*) FROM visits GROUP BY note",
    "SELECT UPPER(region) || '!' AS name, COUNT(*) FROM visits GROUP BY ALL",
    "SELECT DATE_TRUNC('month', day) AS month, COUNT(*) FROM visits GROUP BY month",
    "SELECT EXTRACT(year FROM day) AS y, QUARTER(day) AS q, COUNT(*) FROM visits GROUP BY y, q",
    "SELECT ISODOW(day), DAYOFWEEK(day), COUNT(*) FROM visits GROUP BY 1, 2",
    "SELECT age % 7 AS rest, COUNT(*) FROM visits GROUP BY rest",
    "SELECT age > 50 AS old, smoker IS NULL AS unknown, COUNT(*) FROM visits GROUP BY old, unknown",
    "SELECT region, region AS again, COUNT(*) FROM visits GROUP BY region, region",
    "SELECT Region, COUNT(*) FROM VISITS AS V WHERE v.AGE > 20 GROUP BY v.region",
    'SELECT "region", COUNT(*) AS "the number" FROM "visits" GROUP BY "region"',
    "SELECT region, COUNT(*) AS n FROM visits GROUP BY region HAVING COUNT(*) > 35 AND SUM(cost) > 10",
    "SELECT region, COUNT(*) AS n FROM visits GROUP BY region HAVING n > 35",
    "SELECT region, AVG(cost) FROM visits GROUP BY region HAVING region <> 'north'",
    "SELECT region, SUM(cost) AS s, SUM(cost) / COUNT(*) AS mean FROM visits GROUP BY region ORDER BY s DESC LIMIT 2",
    "SELECT region, COUNT(*) FROM visits GROUP BY region ORDER BY SUM(cost) DESC, 1",
    "SELECT change, COUNT(*) AS n FROM visits GROUP BY change ORDER BY 2 DESC, change LIMIT 3",
    "SELECT COALESCE(note, 'none') AS note, COUNT(*) FROM visits GROUP BY 1",
    "SELECT COALESCE(note, 'none') AS label, COUNT(*) FROM visits GROUP BY label ORDER BY label",
    "SELECT smoker, COUNT(*) FROM visits GROUP BY smoker ORDER BY smoker",
    "SELECT note, smoker, COUNT(*) AS n FROM visits GROUP BY note, smoker ORDER BY note DESC, smoker",
    "FROM visits SELECT region, COUNT(*) GROUP BY region",
    "SELECT day, COUNT(*) FROM visits WHERE day BETWEEN DATE '2023-03-01' AND '2023-06-30' GROUP BY day",
    "SELECT CASE region WHEN 'north' THEN 1 WHEN 'south' THEN 2 END AS code, COUNT(*) FROM visits GROUP BY code",
    "SELECT region, MODE(smoker) IS NULL FROM visits GROUP BY region",
    "SELECT ANY_VALUE(region), MIN(region) AS low, MAX(region) AS high, COUNT(*) FROM visits GROUP BY region",
    "SELECT region, COUNT(DISTINCT note) AS n, COUNT(DISTINCT id) FROM visits GROUP BY region ORDER BY n, region",
    "SELECT region, MIN(day), MAX(day) FROM visits GROUP BY region HAVING COUNT(DISTINCT note) > 1",
    "SELECT region FROM visits GROUP BY region ORDER BY region",
    "SELECT DISTINCT region, smoker FROM visits WHERE age > 20 ORDER BY region DESC, smoker LIMIT 4",
    "SELECT DISTINCT UPPER(note) AS word FROM visits",
    "SELECT DISTINCT age > 50 FROM visits",
]
CONDITIONS = [
    "age = 50",
    "age <> 50",
    "age != 7",
    "age < 50 OR age > 70 OR age IS NULL",
    "NOT (age < 50 AND smoker)",
    "smoker",
    "NOT smoker",
    "smoker IS TRUE",
    "smoker IS NOT TRUE",
    "smoker IS FALSE",
    "smoker IS NULL",
    "smoker IS NOT NULL",
    "smoker = TRUE",
    "cost IS NULL",
    "cost > 100.5",
    "age BETWEEN 10 AND 20",
    "age NOT BETWEEN 10 AND 20",
    "region IN ('north', 'east')",
    "region NOT IN ('north')",
    "age IN (1, 2, 3, 50)",
    "note IN ('ab', 'long note')",
    "day IN ('2023-05-05', DATE '2023-06-06')",
    "note LIKE 'a%'",
    "note LIKE '%\\%'",
    "note NOT LIKE '%b%'",
    "note LIKE '%!_b!%' ESCAPE '!'",
    "note ILIKE 'AB%'",
    "note NOT ILIKE 'AB%'",
    "LOWER(note) = 'ab'",
    "TRIM(note) = 'ab' OR TRIM(UPPER(note)) = 'AB'",
    "LENGTH(note) > 2",
    "SUBSTRING(note, 2, 1) = 'b'",
    "SUBSTR(note, 2) = 'b '",
    "SUBSTRING(note FROM 1 FOR 2) = 'Ab'",
    "LEFT(region, 2) = 'no'",
    "REPLACE(note, 'a', 'o') = 'ob'",
    "note || region = 'abnorth'",
    "CONCAT(note, region) LIKE 'n%'",
    "CONCAT(age, '-') = '50-'",
    "STARTS_WITH(region, 'so')",
    "ENDS_WITH(region, 'th')",
    "CONTAINS(note, 'b')",
    "PREFIX(region, 'so')",
    "SUFFIX(region, 'th')",
    "age + 1 > change * 2 - 3",
    "age / 7 > 5.5",
    "age // 7 = 3",
    "change // 3 = -2",
    "change % 3 = -1",
    "MOD(age, 3) = 1",
    "cost / NULLIF(change, 0) > 10",
    "-change > 5",
    "ABS(change) = 3",
    "SIGN(change) = -1",
    "CEIL(cost) = CEILING(cost) AND FLOOR(cost) < cost",
    "ROUND(cost) = 100 OR ROUND(cost, 1) > 500.4",
    "ROUND(age) = age",
    "ROUND(cost, -2) = 300",
    "SQRT(cost) > 20",
    "EXP(change / 10.0) < 2",
    "LN(age + 1) > 3",
    "LOG10(age + 1) > 1.5",
    "LOG2(age + 1) > 5",
    "POWER(change, 2) > 50",
    "change ** 2 < 30",
    "LEAST(age, 50) = 50",
    "GREATEST(age, change, 10) = 10",
    "GREATEST(cost, 500) = 500",
    "COALESCE(cost, 0) = 0",
    "IFNULL(cost, -1) < 0",
    "NULLIF(age, 50) IS NULL",
    "IF(smoker, age, change) > 15",
    "CASE WHEN smoker THEN age ELSE change END > 15",
    "CASE WHEN smoker THEN NULL ELSE age END IS NULL",
    "CAST(note AS VARCHAR) = '7'",
    "TRY_CAST(note AS INTEGER) = 7",
    "TRY_CAST(note AS DOUBLE) > 6.5",
    "CAST(age AS DOUBLE) > 3.5",
    "age::VARCHAR = '50'",
    "CAST(smoker AS VARCHAR) <> 'true'",
    "CAST(day AS VARCHAR) LIKE '2023-0%'",
    "day::VARCHAR || '-' || smoker::VARCHAR LIKE '2024%false'",
    "CAST(smoker AS INTEGER) = 1",
    "CAST(change AS BOOLEAN)",
    "CAST('2023-05-05' AS DATE) < day",
    "day > '2023-09-09'",
    "day >= DATE '2024-02-29'",
    "day - DATE '2023-01-01' > 300",
    "day + 10 > DATE '2024-10-10'",
    "day - 3 < '2023-03-03'",
    "day + INTERVAL 2 WEEK > DATE '2024-06-06'",
    "day - INTERVAL '3' DAY < DATE '2023-03-03'",
    "YEAR(day) = 2024",
    "MONTH(day) = 2",
    "DAY(day) = 29",
    "DAYOFYEAR(day) > 300",
    "EXTRACT(dow FROM day) = 0",
    "EXTRACT(isodow FROM day) = 7",
    "DATE_PART('month', day) = 5",
    "HOUR(moment) > 12",
    "MINUTE(moment) < 10",
    "EXTRACT(hour FROM moment) = 3",
    "DATEDIFF('day', day, DATE '2024-01-01') > 5",
    "DATEDIFF('month', day, DATE '2024-01-01') > 5",
    "DATE_DIFF('year', day, DATE '2024-01-01') = 1",
    "DATEDIFF('quarter', day, DATE '2024-01-01') = 2",
    "DATEDIFF('day', moment, moment) = 0",
    "DATE_TRUNC('quarter', day) = DATE '2023-04-01'",
    "DATE_TRUNC('week', day) = DATE '2023-05-08'",
    "DATE_TRUNC('month', moment) = DATE '2023-05-01'",
    "CAST(moment AS DATE) = day",
    "moment > '2023-06-01 12:00:00'",
    "moment > day",
    "moment >= TIMESTAMP '2024-01-01 00:00:00'",
    "note IS DISTINCT FROM 'ab'",
    "note IS NOT DISTINCT FROM NULL",
    "TRUE",
    "1 = 1 AND age > 20",
    "smoker OR NULL",
    "age > 10 AND (age < 90 AND (age <> 50))",
    "(age > 50) = smoker",
    "(age) > (((50)))",
    "cost > 1e2",
    "cost < .5e3",
    "note = 'it''s; -- no comment'",
    "age + NULL IS NULL",
    "smoker = 1",
]
PERSONS = [
    "SELECT AVG(CLAMP(t, 0, 9)) FROM (SELECT id, SUM(smoker) AS t FROM visits GROUP BY id)",
    "SELECT AVG(CLAMP(t, 0, 9)), SUM(CLAMP(u, 0, 20)) FROM (SELECT id, SUM(age > 30) OVER (PARTITION BY id) AS t, "
    "COUNT(smoker) OVER (PARTITION BY id) AS u FROM visits)",
    "SELECT COUNT(*), SUM(CLAMP(m, 0, 100)) FROM (SELECT * FROM visits a JOIN "
    "(SELECT id, MAX(age) AS m FROM visits GROUP BY id) b USING (id))",
    "SELECT AVG(CLAMP(total, 0, 2000)) FROM (SELECT id, SUM(cost) AS total FROM visits GROUP BY id) AS t",
    "SELECT AVG(CLAMP(n, 0, 10)), COUNT(*) FROM (SELECT id, COUNT(*) AS n FROM visits GROUP BY id)",
    "SELECT AVG(CLAMP(n, 0, 10)), COUNT(*) FROM (SELECT 10 + id AS u, COUNT(*) AS n FROM visits GROUP BY 10 + id)",
    "SELECT SUM(CLAMP(n, 0, 10)), COUNT(*) FROM (SELECT COUNT(*) AS n FROM visits GROUP BY -(id - 3), smoker)",
    "SELECT region, AVG(CLAMP(n, 0, 10)) FROM (SELECT id, region, COUNT(*) AS n FROM visits GROUP BY id, "
    "region) GROUP BY region",
    "WITH people AS (SELECT id, MIN(age) AS youngest, MAX(age) AS oldest, AVG(cost) AS mean FROM visits GROUP BY id) "
    "SELECT AVG(oldest - youngest), AVG(CLAMP(mean, 0, 1000)) FROM people",
    "SELECT COUNT(*) FROM (SELECT id FROM visits GROUP BY id HAVING COUNT(*) > 4 AND SUM(cost) > 1000)",
    "SELECT COUNT(*) FROM (SELECT id, COUNT(cost) AS c, COUNT(*) FILTER (WHERE smoker) AS s FROM visits "
    "GROUP BY id) WHERE c > s",
    "SELECT COUNT(*) FROM (SELECT DISTINCT id, region FROM visits)",
    "SELECT region, COUNT(*) FROM (SELECT DISTINCT id, region FROM visits) GROUP BY region",
    "SELECT AVG(CLAMP(kinds, 0, 4)) FROM (SELECT id, COUNT(DISTINCT region) AS kinds FROM visits GROUP BY id)",
    "SELECT AVG(CLAMP(kinds, 0, 4)) FROM (SELECT id, COUNT(DISTINCT note) AS kinds FROM visits GROUP BY id)",
    "SELECT AVG(CLAMP(kinds, 0, 4)) FROM (SELECT id, COUNT(DISTINCT smoker) AS kinds FROM visits GROUP BY id)",
    "SELECT many, COUNT(*) FROM (SELECT id, CASE WHEN COUNT(*) > 5 THEN 'many' ELSE 'few' END AS many "
    "FROM visits GROUP BY id) GROUP BY many",
    "SELECT SUM(CLAMP(total, 0, 100)) FROM (SELECT id, SUM(change) AS total FROM visits GROUP BY id HAVING total > 0)",
    "SELECT COUNT(*) FROM (SELECT id, SUM(CASE WHEN smoker THEN 1 ELSE 0 END) AS s FROM visits GROUP BY 1) WHERE s = 0",
    "SELECT COUNT(*) FROM (SELECT id, SUM(cost) AS s FROM visits GROUP BY id) WHERE s IS NULL",
    "SELECT COUNT(*), AVG(CLAMP(double, 0, 100)) FROM (SELECT id AS person, 2 * COUNT(*) AS double FROM "
    "visits GROUP BY id) WHERE person > 3",
    "SELECT COUNT(*) FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY id ORDER BY day, moment) AS rn FROM "
    "visits) WHERE rn = 1",
    "SELECT AVG(age) FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY id ORDER BY day DESC, moment DESC) "
    "AS rn FROM visits) WHERE rn <= 2",
    "SELECT AVG(age) FROM (SELECT id, age FROM visits QUALIFY ROW_NUMBER() OVER (PARTITION BY id ORDER "
    "BY day, moment) = 1)",
    "SELECT COUNT(*) FROM (SELECT id, day - LAG(day) OVER (PARTITION BY id ORDER BY day, moment) AS gap "
    "FROM visits) WHERE gap < 60",
    "SELECT COUNT(*) FROM (SELECT id, LEAD(region) OVER (PARTITION BY id ORDER BY day, moment) AS later, "
    "region FROM visits) WHERE later = region",
    "SELECT COUNT(*) FROM (SELECT LAG(region) OVER (PARTITION BY id ORDER BY smoker, moment) AS r, region FROM visits) "
    "WHERE r = region",
    "SELECT AVG(CLAMP(n, 0, 9)) FROM (SELECT id, COUNT(*) OVER (PARTITION BY id) AS n FROM visits)",
    "SELECT COUNT(*) FROM (SELECT age, MAX(age) OVER (PARTITION BY id, region) AS oldest, MIN(age) OVER "
    "(PARTITION BY id) AS y FROM visits) "
    "WHERE age = oldest AND age > y",
    "SELECT SUM(CLAMP(s, 0, 100)) FROM (SELECT SUM(age) OVER (PARTITION BY id) AS s FROM visits)",
    "SELECT SUM(CLAMP(s, 0, 100)) FROM (SELECT id, SUM(COALESCE(cost, 0)) OVER (PARTITION BY id) AS s FROM visits)",
    "SELECT COUNT(*) FROM visits WHERE id IN (SELECT person FROM lab WHERE value > 2)",
    "SELECT COUNT(*), COUNT(DISTINCT id) FROM visits WHERE id NOT IN (SELECT person FROM lab) AND age > 20",
    "SELECT COUNT(*) FROM visits WHERE age > 20 AND NOT id IN (SELECT DISTINCT person FROM lab WHERE value IS NULL)",
    "SELECT COUNT(*) FROM visits WHERE id IN (SELECT id FROM visits GROUP BY id HAVING COUNT(*) > 4)",
]
JOINS = [
    "SELECT country, COUNT(*) FROM visits JOIN places ON visits.region = places.region GROUP BY country",
    "SELECT country, SUM(people), COUNT(DISTINCT v.id) FROM visits v JOIN places USING (region) GROUP BY country",
    "SELECT p.country, COUNT(*) FROM visits v LEFT JOIN places p ON p.region = v.region GROUP BY p.country",
    "SELECT COUNT(*) FROM places p JOIN visits v ON p.region = v.region WHERE p.people < 100",
    "SELECT COUNT(*) FROM visits v JOIN places p ON v.region = p.region AND p.people > v.age",
    "SELECT COUNT(*) FROM visits v JOIN places p ON LOWER(v.region) = p.region",
    "SELECT region, COUNT(*) FROM visits JOIN places USING (region) GROUP BY region",
    "SELECT COUNT(*) FROM visits v JOIN lab l ON v.id = l.person",
    "SELECT COUNT(*), SUM(l.value) FROM visits v JOIN lab l ON l.person = v.id AND l.taken > v.day AND v.age > 20",
    "SELECT v.region, COUNT(*), COUNT(l.value) FROM visits v LEFT JOIN lab l ON v.id = l.person GROUP BY v.region",
    "SELECT COUNT(*) FROM visits v LEFT JOIN lab l ON v.id = l.person AND l.value > 3 WHERE l.person IS NULL",
    "SELECT COUNT(*), COUNT(age) FROM lab RIGHT JOIN visits ON id = person",
    "SELECT COUNT(*) FROM visits a JOIN visits b ON a.id = b.id AND a.day < b.day",
    "SELECT COUNT(*) FROM visits a JOIN visits b USING (id) WHERE a.age = b.age",
    "SELECT COUNT(*), AVG(CLAMP(t.n, 0, 9)) FROM visits v JOIN (SELECT person, COUNT(*) AS n FROM lab "
    "GROUP BY person) t ON t.person = v.id",
    "SELECT country, AVG(value) FROM visits v JOIN lab l ON v.id = l.person JOIN places p ON p.region = "
    "v.region GROUP BY country",
    "WITH a AS (SELECT id, region FROM visits WHERE age > 30), b AS (SELECT person AS id, value FROM lab "
    "WHERE value > 0) "
    "SELECT region, COUNT(*) FROM a JOIN b USING (id) GROUP BY region",
    "SELECT COUNT(*) FROM visits WHERE region IN (SELECT region FROM places)",
    "SELECT COUNT(*) FROM visits WHERE region IN (SELECT p.region FROM places p WHERE p.people > 50) AND age > 20",
    "SELECT COUNT(*) FROM visits WHERE region NOT IN (SELECT region FROM places WHERE country = 'A')",
    "SELECT COUNT(*) FROM visits WHERE NOT note IN (SELECT region FROM places)",
    "WITH a AS (SELECT * FROM visits), b AS (SELECT a.* FROM a WHERE age > 10) SELECT COUNT(*) FROM b",
    "SELECT COUNT(*) FROM (SELECT v.id, v.age AS years, value * 2 AS twice FROM visits v JOIN lab l ON "
    "v.id = l.person) WHERE years > twice",
    "SELECT COUNT(*) FROM (SELECT age FROM (SELECT age, id FROM visits WHERE age > 20) WHERE age < 80) x",
]
SHOWN = [
    "SELECT r.* FROM (SELECT region, COUNT(*) AS n FROM visits GROUP BY region) r ORDER BY r.n + 1",
    "WITH s AS (SELECT region, COUNT(*) AS n FROM visits GROUP BY region) SELECT * FROM s WHERE n > 35 "
    "ORDER BY n DESC LIMIT 2",
    "SELECT region, n * 2 AS double FROM (SELECT region, COUNT(*) AS n FROM visits GROUP BY region) "
    "WHERE region <> 'east' ORDER BY double",
    "SELECT n FROM (SELECT region, COUNT(*) AS n FROM visits GROUP BY region ORDER BY n LIMIT 2) AS t",
]
BY_ROW = [
    "SELECT region, COUNT(*), AVG(cost) FROM visits WHERE age > 50 GROUP BY region",
    "SELECT country, COUNT(*) FROM visits v JOIN places p ON v.region = p.region GROUP BY country",
    "SELECT COUNT(*) FROM (SELECT age + 1 AS older FROM visits) WHERE older > 50",
]


@pytest.mark.parametrize("sql", [*AGGREGATES, *GROUPS, *PERSONS, *JOINS, *SHOWN])
def test_a_query_means_what_duckdb_answers(sql: str) -> None:
    """A construct that is translated wrongly gives another number on this data."""
    assert same_rows(
        exact(parse_sql(sql, CLINIC)), answer_of_duckdb(sql), ordered="ORDER BY" in sql and "OVER" not in sql
    )


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_condition_means_what_duckdb_answers(condition: str) -> None:
    """One operator or function each, counted over rows with NULLs."""
    sql = f"SELECT COUNT(*), SUM(age) FROM visits WHERE {condition}"
    assert same_rows(exact(parse_sql(sql, CLINIC)), answer_of_duckdb(sql))


@pytest.mark.parametrize("sql", BY_ROW)
def test_rows_as_units(sql: str) -> None:
    """The same statements where every row is a unit of its own."""
    assert same_rows(exact(parse_sql(sql, LOOSE)), answer_of_duckdb(sql))


_COLUMNS = ("age", "cost", "change", "note", "region", "day", "smoker", "id", "value", "moment")
_OTHERS = {
    "<": (">", "<=", ">=", "=", "<>"),
    ">": ("<", "="),
    "=": ("<", ">=", "<>"),
    "+": ("-", "*"),
    "-": ("+", "*"),
    "AND": ("OR",),
    "OR": ("AND",),
    "MIN": ("MAX", "SUM", "AVG", "COUNT"),
    "MAX": ("MIN", "COUNT"),
    "SUM": ("AVG", "COUNT", "MIN"),
    "AVG": ("SUM", "COUNT", "MEDIAN"),
    "COUNT": ("SUM", "MAX"),
    "JOIN": ("LEFT JOIN",),
    "IN": ("NOT IN",),
    "LEAST": ("GREATEST", "COALESCE"),
    "YEAR": ("MONTH", "DAY", "QUARTER", "ISODOW"),
    "LOWER": ("UPPER", "TRIM", "LENGTH"),
}
#: Where meanings differ on purpose (NaN and infinities are NULL here, a cast of a real is its floor) or are open in SQL
#: (a window whose order leaves ties).
_OWN_MEANING = re.compile(r"OVER|SQRT|LN|LOG|EXP|POWER|\*\*|/|CAST|::", re.IGNORECASE)


def _varied(source: random.Random, sql: str) -> str:
    tokens = re.findall(r"\w+|\s+|'[^']*'|<=|>=|<>|.", sql)
    for _ in range(source.randrange(1, 4)):
        place = source.choice(
            [index for index, token in enumerate(tokens) if token in _COLUMNS or token in _OTHERS] or [0]
        )
        tokens[place] = source.choice(_OTHERS.get(tokens[place], _COLUMNS))
    varied = "".join(tokens)
    if "WHERE " in varied and source.random() < 0.3:
        varied = varied.replace("WHERE ", f"WHERE ({source.choice(CONDITIONS)}) {source.choice(('AND', 'OR'))} ", 1)
    return varied


def test_varied_queries_mean_what_duckdb_answers() -> None:
    """Other columns, operators and conditions in every query: what both understand must agree."""
    source = random.Random(3)
    conditions = [f"SELECT COUNT(*), SUM(age) FROM visits WHERE {condition}" for condition in CONDITIONS]
    corpus = [*AGGREGATES, *GROUPS, *PERSONS, *JOINS, *SHOWN, *conditions]
    compared = 0
    for _ in range(800):
        sql = _varied(source, source.choice(corpus))
        if _OWN_MEANING.search(sql):
            continue
        try:
            ours = exact(parse_sql(sql, CLINIC))
            theirs = answer_of_duckdb(sql)
        except (DitherError, duckdb.Error):
            continue
        compared += 1
        assert same_rows(ours, theirs), sql
    assert compared > 100


def test_mode_and_top() -> None:
    """The commonest value, which DuckDB also finds by counting."""
    (commonest,) = answer_of_duckdb("SELECT region FROM visits GROUP BY region ORDER BY COUNT(*) DESC, region LIMIT 1")
    assert exact(parse_sql("SELECT MODE(region) FROM visits", CLINIC)) == [commonest]
    ranked = answer_of_duckdb("SELECT region FROM visits GROUP BY region ORDER BY COUNT(*) DESC LIMIT 3")
    found = exact(parse_sql("SELECT APPROX_TOP_K(region, 3) FROM visits", CLINIC))
    assert set(found[0][0]) == {row[0] for row in ranked}  # type: ignore[arg-type]


def _without(person: int) -> dict[str, list[Mapping[str, Any]]]:
    ids = {"visits": "id", "lab": "person"}
    return {
        name: [row for row in rows if name not in ids or row[ids[name]] != person] for name, rows in tables().items()
    }


def _listed(relation: Relation, data: Mapping[str, Sequence[Mapping[str, Any]]]) -> Counter[str]:
    return Counter(repr(sorted(row.items())) for row in rows_of(relation, data))


def test_nobody_changes_the_rows_of_others() -> None:
    """Below every query, the rows of other people are the same with and without one person."""
    person, touched = 7, 0
    for sql in [*GROUPS[:5], *PERSONS, *JOINS]:
        relation = parse_sql(sql, CLINIC).relation
        rows = rows_of(relation, tables())
        others = Counter(repr(sorted(row.items())) for row in rows if row[PERSON] != person)
        assert others == _listed(relation, _without(person)), sql
        touched += sum(others.values()) < len(rows)
    assert touched > 40


def test_a_row_moves_one_row_where_rows_are_units() -> None:
    """Without a privacy id, leaving one row out takes at most one row away and adds none."""
    for sql in [*AGGREGATES[:2], *AGGREGATES[3:], *BY_ROW]:
        relation = parse_sql(sql, LOOSE).relation
        whole = _listed(relation, tables())
        for place in (0, 60, 119):
            visits = [row for index, row in enumerate(tables()["visits"]) if index != place]
            less = _listed(relation, {**tables(), "visits": visits})
            assert not less - whole, sql
            assert (whole - less).total() <= 1, sql

"""What cannot be answered is refused by one error of our own that names the offender and what to ask instead."""

# ruff: noqa: S311, S608 - statements and data are made up here
from __future__ import annotations

import os
import random
import re
import string
import subprocess
import sys

import pytest

from dither.data import DataSet
from dither.errors import DitherError, InvalidParameter, Unanswerable
from dither.publish.queries.sql import Statement, parse_request, parse_sql, parse_statement
from tests.publish.queries.exact import CLINIC, LOOSE
from tests.publish.queries.test_sql_meaning import AGGREGATES, CONDITIONS, GROUPS, JOINS, PERSONS, SHOWN
from tests.publish.queries.test_sql_words import CONDITIONS as WORDS

#: The statement, the offender that the message must name, and what it must suggest.
UNANSWERABLE = [
    ("SELECT * FROM visits", "raw rows", "COUNT"),
    ("SELECT age, cost FROM visits", "raw rows", "aggregate"),
    ("SELECT DISTINCT * FROM visits", "whole rows", "name the columns"),
    ("SELECT DISTINCT ON (region) age FROM visits", "DISTINCT ON", "SELECT DISTINCT"),
    ("SELECT DISTINCT id FROM visits", "privacy id", "COUNT(DISTINCT id)"),
    ("SELECT region, COUNT(*) FROM visits", "region", "GROUP BY"),
    ("SELECT region, *, COUNT(*) FROM visits GROUP BY region", "star", "COUNT"),
    ("SELECT id FROM visits GROUP BY id", "privacy id", "COUNT(DISTINCT id)"),
    ("SELECT id, COUNT(*) FROM visits GROUP BY id", "privacy id", "COUNT(DISTINCT id)"),
    ("SELECT COUNT(DISTINCT region, age) FROM visits", "several things", "||"),
    ("SELECT SUM(DISTINCT age) FROM visits", "SUM(DISTINCT ...)", "COUNT(DISTINCT x)"),
    ("SELECT SUM(DISTINCT age) FROM visits", "DISTINCT", "within each person"),
    ("SELECT COUNT(DISTINCT id) FILTER (WHERE age > 3) FROM visits", "FILTER", "WHERE"),
    ("SELECT SUM(id) FROM visits", "SUM of id", "CLAMP"),
    ("SELECT AVG(id) FROM visits", "AVG of id", "declare bounds"),
    ("SELECT AVG(id + age) FROM visits", "no public bounds", "CLAMP"),
    ("SELECT SUM(note) FROM visits", "text", "LENGTH"),
    ("SELECT AVG(day) FROM visits", "date", "DATEDIFF"),
    ("SELECT MAX(taken) FROM lab", "last day", "WHERE day BETWEEN"),
    ("SELECT MODE(note) FROM visits", "none are known", "categories"),
    ("SELECT DATE_FORMAT(day, '%Y-%m') AS m, COUNT(*) FROM visits GROUP BY m", "DATE_FORMAT writes", "STRFTIME"),
    ("SELECT FORMAT(day, 'yyyy-MM') AS m, COUNT(*) FROM visits GROUP BY m", "FORMAT writes", "DATE_TRUNC('month', x)"),
    ("SELECT EOMONTH(day) AS m, COUNT(*) FROM visits GROUP BY m", "EOMONTH", "LAST_DAY"),
    ("SELECT STRING_AGG(note, ',') FROM visits", "GROUP_CONCAT", "MODE"),
    ("SELECT BOOL_AND(smoker) FROM visits", "one row of one person", "AVG(x)"),
    ("SELECT ANY_VALUE(note) FROM visits", "ANY_VALUE", "MODE"),
    ("SELECT PRODUCT(age) FROM visits", "PRODUCT", "SUM"),
    ("SELECT KURTOSIS(age) FROM visits", "KURTOSIS", "VARIANCE"),
    ("SELECT QUANTILE(age, [0.1, 0.2]) FROM visits", "share", "once for each"),
    ("SELECT QUANTILE(age, 7) FROM visits", "share", "0.9"),
    ("SELECT COUNT(NULL) FROM visits", "COUNT(NULL)", "COUNT(*)"),
    ("SELECT COUNT(*) FROM visits WHERE age > (SELECT AVG(age) FROM visits)", "subquery", "two queries"),
    ("SELECT COUNT(*) FROM visits WHERE region IN (SELECT region FROM visits)", "IN with a subquery", "id IN"),
    ("SELECT COUNT(*) FROM visits WHERE id IN (SELECT id + 1 FROM visits)", "privacy ids", "id IN"),
    ("SELECT (SELECT COUNT(*) FROM visits), COUNT(*) FROM visits", "subquery", "two queries"),
    ("SELECT AVG(n) FROM (SELECT region, COUNT(*) AS n FROM visits GROUP BY region)", "different people", "GROUP BY"),
    ("SELECT SUM(n) FROM (SELECT COUNT(*) AS n FROM visits)", "different people", "separate query"),
    ("SELECT COUNT(*) FROM (SELECT age FROM visits LIMIT 5)", "LIMIT", "ROW_NUMBER"),
    ("SELECT COUNT(*) FROM (SELECT age FROM visits ORDER BY age)", "ORDER", "ROW_NUMBER"),
    ("SELECT COUNT(*) FROM (SELECT id FROM visits ORDER BY age LIMIT 1)", "LIMIT", "ROW_NUMBER"),
    ("SELECT COUNT(*) FROM (SELECT DISTINCT age FROM visits)", "DISTINCT", "privacy id"),
    ("SELECT COUNT(*) FROM (SELECT DISTINCT ON (id) id, age FROM visits)", "ON", "remove it"),
    ("SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (ORDER BY age) AS r FROM visits)", "window", "id to PARTITION BY"),
    ("SELECT COUNT(*) FROM (SELECT MAX(age) OVER (PARTITION BY region) AS r FROM visits)", "window", "PARTITION BY"),
    *(
        (f"SELECT COUNT(*) FROM (SELECT MAX(age) OVER (PARTITION BY id {frame}) AS r FROM visits)", reason, instead)
        for frame, reason, instead in (
            ("ORDER BY day RANGE BETWEEN INTERVAL 7 DAY PRECEDING AND CURRENT ROW", "frame of RANGE", "2 PRECEDING"),
            ("ORDER BY day RANGE BETWEEN 7 PRECEDING AND CURRENT ROW", "a frame of RANGE", "join the table to itself"),
            ("ORDER BY day GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW", "a frame of GROUPS", "ROWS BETWEEN"),
            ("ROWS 2 PRECEDING", "without ORDER BY", "ordered"),
            ("ORDER BY day ROWS BETWEEN 1 FOLLOWING AND 1 PRECEDING", "ends before it starts", "ROWS BETWEEN"),
            ("ORDER BY day ROWS BETWEEN 2000 PRECEDING AND CURRENT ROW", "a frame of 2001 rows", "at most 1000"),
            ("ORDER BY day ROWS 20000 PRECEDING", "20000 rows", "10000"),
            ("ORDER BY day ROWS BETWEEN 2 PRECEDING AND CURRENT ROW EXCLUDE CURRENT ROW", "EXCLUDE", "remove it"),
        )
    ),
    ("SELECT COUNT(*), ROW_NUMBER() OVER (PARTITION BY id ORDER BY age) FROM visits", "window", "subquery in FROM"),
    ("SELECT COUNT(*) FROM visits QUALIFY ROW_NUMBER() OVER (PARTITION BY id ORDER BY age) = 1", "QUALIFY", "HAVING"),
    (
        "SELECT COUNT(*) FROM visits v ANTI JOIN lab l ON v.id = l.person RIGHT JOIN visits w ON w.id = v.id",
        "RIGHT JOIN after a SEMI or ANTI JOIN",
        "subquery",
    ),
    ("SELECT COUNT(*) FROM visits, lab", "without a condition", "privacy id"),
    ("SELECT COUNT(*) FROM visits CROSS JOIN lab", "without a condition", "privacy id"),
    ("SELECT COUNT(*) FROM visits v JOIN lab l ON v.age = l.value", "on the privacy id", "a.id = b.id"),
    ("SELECT COUNT(*) FROM visits v JOIN lab l ON v.id = l.person OR v.age > 3", "on the privacy id", "a.id = b.id"),
    ("SELECT COUNT(*) FROM visits v JOIN lab l ON v.id <= l.person", "on the privacy id", "a.id = b.id"),
    ("SELECT COUNT(*) FROM visits v JOIN lab l ON v.id + 0 = l.person", "on the privacy id", "a.id = b.id"),
    ("SELECT COUNT(*) FROM visits v JOIN lab l ON v.id = v.id", "on the privacy id", "a.id = b.id"),
    ("SELECT COUNT(*) FROM places", "public table", "join it"),
    ("SELECT COUNT(*) FROM places p LEFT JOIN visits v ON v.region = p.region", "count as one row", "COUNT(v.id)"),
    ("SELECT COUNT(*) FROM visits v RIGHT JOIN places p ON v.region = p.region", "count as one row", "COUNT(v.id)"),
    ("SELECT COUNT(*) FROM visits v FULL JOIN places p ON v.region = p.region", "FULL JOIN", "LEFT JOIN"),
    ("SELECT COUNT(*) FROM visits v ASOF JOIN lab l ON v.id = l.person AND v.day > l.taken", "ASOF", "LEFT JOIN"),
    ("SELECT COUNT(*) FROM visits NATURAL JOIN lab", "common column", "ON"),
    ("SELECT COUNT(*) FROM places p, visits v RIGHT JOIN lab l ON v.id = l.person", "after a comma", "JOIN"),
    ("SELECT COUNT(*) FROM places p JOIN places q ON p.region = q.region", "public table", "join it"),
    (
        "SELECT p.region, COUNT(v.id) FROM places p LEFT JOIN visits v ON v.region = p.region GROUP BY p.region",
        "is not declared",
        "categories",
    ),
    (
        "SELECT v.region, COUNT(v.id) FROM places p LEFT JOIN visits v ON v.region = p.region GROUP BY v.region",
        "those without a person",
        "columns of p",
    ),
    (
        "SELECT COUNT(v.id) FROM places p LEFT JOIN visits v ON v.region = p.region AND p.country = 'A'",
        "public table alone",
        "WHERE",
    ),
    (
        "SELECT COUNT(*) FROM (SELECT v.id FROM places p LEFT JOIN visits v ON v.region = p.region)",
        "belong to no person",
        "JOIN",
    ),
    ("SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM lab l WHERE l.value > 3)", "same person", "EXISTS"),
    ("SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM lab l WHERE l.value > v.age)", "same person", "t.id"),
    ("SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM lab l WHERE l.person <> v.id)", "same person", "t.id"),
    ("SELECT COUNT(*) FROM visits v WHERE age IN (SELECT value FROM lab)", "privacy ids", "tie the subquery"),
    (
        "SELECT COUNT(*) FROM visits v WHERE v.age > (SELECT MAX(w.age) FROM visits w WHERE w.region = v.region)",
        "not tied to the same person",
        "WHERE t.id = outer.id",
    ),
    (
        "SELECT COUNT(*) FROM visits v WHERE v.age > (SELECT w.age FROM visits w WHERE w.id = v.id)",
        "several rows",
        "one aggregate",
    ),
    (
        "SELECT COUNT(*) FROM visits v WHERE 3 > (SELECT COUNT(*) + 1 FROM visits w WHERE w.id = v.id)",
        "COUNT inside",
        "COUNT alone",
    ),
    (
        "SELECT COUNT(*) FROM visits v WHERE 3 > (SELECT COUNT(*) FROM visits w WHERE w.id = v.id AND w.day < v.day)",
        "something else than column = value",
        "tie it by =",
    ),
    (
        "SELECT COUNT(*) FROM visits v WHERE 3 > (SELECT people FROM places p WHERE p.country = v.note)",
        "several rows",
        "region",
    ),
    ("SELECT COUNT(*) FROM visits WHERE id IN (SELECT person FROM lab ORDER BY value LIMIT 3)", "LIMIT", "ROW_NUMBER"),
    ("SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM places)", "same for every row", "region"),
    ("SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM places p WHERE p.people > v.age)", "than =", "join"),
    (
        "SELECT COUNT(*) FROM visits v WHERE (id, age) IN (SELECT person FROM lab)",
        "columns beside",
        "one column for each",
    ),
    ("SELECT COUNT(*) FROM visits UNION ALL SELECT COUNT(*) FROM lab", "UNION", "each query"),
    ("SELECT COUNT(*) FROM (SELECT age FROM visits UNION SELECT age FROM visits)", "UNION compares", "UNION ALL"),
    ("SELECT COUNT(*) FROM (SELECT age FROM visits EXCEPT SELECT age FROM visits)", "EXCEPT compares", "privacy id"),
    ("SELECT COUNT(*) FROM (SELECT age FROM visits EXCEPT ALL SELECT age FROM visits)", "EXCEPT ALL", "privacy id"),
    ("SELECT COUNT(*) FROM (SELECT id FROM visits UNION ALL SELECT person FROM lab LIMIT 3)", "LIMIT", "ROW_NUMBER"),
    ("SELECT COUNT(*) FROM (SELECT id FROM visits UNION ALL BY NAME SELECT person FROM lab)", "BY NAME", "same order"),
    (
        "SELECT COUNT(*) FROM (SELECT LAST_VALUE(age) OVER (PARTITION BY id ORDER BY day) AS r FROM visits)",
        "LAST_VALUE",
        "UNBOUNDED FOLLOWING",
    ),
    ("SELECT COUNT(*) FROM (SELECT NTILE(4) OVER (PARTITION BY id ORDER BY day) AS r FROM visits)", "NTILE", "RANK"),
    ("SELECT COUNT(*) FROM (SELECT LAG(age, 0) OVER (PARTITION BY id ORDER BY day) AS r FROM visits)", "LAG", "1 to"),
    ("SELECT COUNT(*) FROM (SELECT RANK() OVER (PARTITION BY id) AS r FROM visits)", "RANK without", "numbered"),
    ("SELECT COUNT(*) FROM visits EXCEPT SELECT 3", "EXCEPT", "each query"),
    ("SELECT COUNT(*) FROM visits WHERE RANDOM() < 0.5", "RAND", "constant"),
    ("SELECT COUNT(*) FROM visits WHERE day < NOW()", "NOW", "constant"),
    ("SELECT COUNT(*) FROM visits WHERE day < CURRENT_DATE", "CURRENT_DATE", "constant"),
    ("SELECT COUNT(*) FROM visits WHERE GETENV('HOME') = 'x'", "GETENV", "constant"),
    ("SELECT COUNT(*) FROM visits WHERE REGEXP_MATCHES(note, 'a')", "REGEXP", "LIKE"),
    ("SELECT COUNT(*) FROM visits WHERE note SIMILAR TO 'a'", "SIMILAR TO", "LIKE"),
    ("SELECT COUNT(*) FROM visits WHERE SLEEP(3)", "SLEEP", "CASE"),
    ("SELECT COUNT(*) FROM visits WHERE LOG(age) > 3", "LOG", "LN"),
    ("SELECT COUNT(*) FROM visits WHERE note COLLATE nocase = 'a'", "COLLATE", "LOWER"),
    ("SELECT COUNT(*) FROM visits WHERE note LIKE region", "constant", "value itself"),
    ("SELECT COUNT(*) FROM visits WHERE SUBSTRING(note, 0, 2) = 'a'", "begins before", "from 1"),
    ("SELECT COUNT(*) FROM visits WHERE CAST(age AS BLOB) = 'a'", "cast", "INTEGER"),
    ("SELECT COUNT(*) FROM visits WHERE age IN region", "form of IN", "IN"),
    ("SELECT COUNT(*) FROM visits WHERE day + INTERVAL '1 day 2 hours' > day", "interval", "DAY"),
    ("SELECT COUNT(*) FROM visits WHERE DATE_TRUNC('century', moment) > day", "unit", "month"),
    ("SELECT COUNT(*) FROM visits WHERE EXTRACT(millennium FROM day) > 3", "MILLENNIUM", "YEAR"),
    ("SELECT COUNT(*) FROM visits WHERE age = ?", "parameter", "value itself"),
    ("SELECT COUNT(*) FROM visits WHERE age = $1", "parameter", "value itself"),
    ("SELECT COUNT(*) FROM READ_CSV('/etc/passwd')", "FROM", "data set"),
    ("SELECT COUNT(*) FROM GENERATE_SERIES(1, 10)", "FROM", "data set"),
    ("SELECT COUNT(*) FROM (VALUES (1), (2)) AS t(a)", "no declared table", "data set"),
    ("SELECT COUNT(*) FROM visits TABLESAMPLE 10%", "SAMPLE", "remove it"),
    ("SELECT COUNT(*) FROM visits USING SAMPLE 10", "SAMPLE", "remove it"),
    ("SELECT COUNT(*) FROM visits AS t(a, b)", "list of columns", "AS"),
    ("WITH RECURSIVE r AS (SELECT 1) SELECT COUNT(*) FROM r", "RECURSIVE", "step"),
    ("SELECT COUNT(*)", "FROM", "table"),
    ("SELECT region, COUNT(*) FROM visits GROUP BY ROLLUP (region)", "ROLLUP", "each grouping"),
    ("SELECT region, COUNT(*) FROM visits GROUP BY GROUPING SETS ((region), ())", "GROUPING SETS", "each grouping"),
    ("SELECT COUNT(*) AS n FROM visits GROUP BY n", "aggregate", "HAVING"),
    ("SELECT region, COUNT(*) FROM visits GROUP BY region ORDER BY age", "age", "GROUP BY"),
    ("SELECT region, COUNT(*) FROM visits GROUP BY region LIMIT 3 OFFSET 2", "OFFSET", "LIMIT"),
    ("SELECT region, COUNT(*) AS n FROM visits GROUP BY region ORDER BY n NULLS FIRST", "NULLS FIRST", "COALESCE"),
    ("SELECT COUNT(*) INTO t FROM visits", "INTO", "remove it"),
    ("SELECT COUNT(*) FROM visits FOR UPDATE", "FOR UPDATE", "remove it"),
    ("SELECT COUNT(*) FROM visits; SELECT 1", "several statements", "one by one"),
    ("DELETE FROM visits", "DELETE", "SELECT"),
    ("DROP TABLE visits", "DROP", "SELECT"),
    ("INSERT INTO visits VALUES (1)", "INSERT", "SELECT"),
    ("COPY visits TO 'x.csv'", "COPY", "SELECT"),
    ("ATTACH 'x.db'", "ATTACH", "SELECT"),
    ("PRAGMA version", "PRAGMA", "SELECT"),
    ("SET threads = 1", "SET", "SELECT"),
    ("EXPLAIN SELECT COUNT(*) FROM visits", "EXPLAIN", "EXPLAIN PRIVACY"),
    ("EXPLAIN ANALYZE SELECT COUNT(*) FROM visits", "EXPLAIN", "EXPLAIN PRIVACY"),
    ("SELECT AVG(VARIANCE) FROM (SELECT id, VARIANCE(age) AS variance FROM visits GROUP BY id)", "variance", "mean"),
    ("SELECT COUNT(*) FROM (SELECT *, COUNT(*) FROM visits GROUP BY id)", "star", "name the columns"),
    ("SELECT * FROM (SELECT region, COUNT(*) AS n FROM visits GROUP BY region LIMIT 1) WHERE n > 3", "LIMIT", "inner"),
]
INVALID = [
    ("SELECT COUNT(*) FROM visitz", "visitz", "visits"),
    ("SELECT COUNT(*) FROM visits WHERE agee > 3", "agee", "age"),
    ("SELECT COUNT(*) FROM visits WHERE x.age > 3", "x", "visits"),
    ("SELECT COUNT(*) FROM other.visits", "other", "clinic"),
    ("SELECT COUNT(*) FROM visits a JOIN visits b ON a.id = b.id WHERE age > 3", "age", r"a\.age, b\.age"),
    ("SELECT COUNT(*) FROM visits JOIN visits ON visits.id = visits.id", "visits", "different"),
    ("SELECT region, COUNT(*) FROM visits GROUP BY 3", "3", "position"),
    ("SELECT region, COUNT(*) FROM visits GROUP BY region ORDER BY 9", "9", "position"),
    ("SELECT COUNT(*) AS n, SUM(age) AS N FROM visits", "n", "alias"),
    ("SELECT COUNT(*) FROM (SELECT age, age FROM visits)", "age", "alias"),
    ("SELECT COUNT(*) FROM visits LIMIT 0", "0", "LIMIT"),
    ("SELECT COUNT(*) FROM visits WHERE age > 'abc'", "abc", "integer"),
    ("SELECT COUNT(*) FROM visits WHERE day > '2023-13-01'", "2023-13-01", "date"),
    ("SELECT COUNT(*) FROM visits WHERE note > 3", "integer", "text"),
    ("SELECT COUNT(*) FROM visits WHERE age", "integer", "true or false"),
    ("SELECT COUNT(*) FROM visits WHERE note + 1 = 2", "text", "numbers"),
    ("SELECT COUNT(*) FROM visits WHERE LOWER(day) = 'a'", "date", "text"),
    ("SELECT COUNT(*) FROM visits WHERE YEAR(age) = 3", "integer", "date"),
    ("SELECT COUNT(*) FROM visits WHERE cost // 2 = 1", "real", "integers"),
    ("SELECT SUM(CLAMP(age, 5, 1)) FROM visits", "5, 1", "CLAMP"),
    ("SELECT COUNT(*) FROM visits WHERE CASE WHEN TRUE THEN 1 ELSE 'a' END = 1", "a", "integer"),
    ("SELECT COUNT(*) FROM visits JOIN places USING (age)", "age", "both"),
    ('SELECT COUNT(*) AS "" FROM visits', "", "alias"),
    ('SELECT COUNT(*) FROM (SELECT age AS "a b" FROM visits)', "a b", "letters"),
    ("SELECT COUNT(*) FROM (SELECT age AS __person FROM visits)", "__person", "underscores"),
    ("SELECT COUNT(*) FROM visits WHERE age > 1e999", "1e999", "double"),
]
SYNTAX = [
    ("", "query"),
    ("   ", "query"),
    ("SELECT (1 FROM visits", r"line 1, column 11"),
    ("SELECT COUNT(*)\nFROM visits\nWHERE age >", r"line 3"),
    ("SELECT COUNT(*) FROM visits WHERE note = 'abc", r"line 1, column 42"),
    ("SELECT COUNT(*) FROM visits\n/* never", r"line 2, column 1"),
    ('SELECT "abc FROM visits', r"line 1, column 8"),
    ("SELECT COUNT(*) FROM visits GROUP region", r"line 1"),
]


def test_a_suggestion_names_columns_of_a_joined_table_so_that_it_can_be_pasted() -> None:
    """Inside, the column is l_person: a name that no query may write."""
    sql = "SELECT SUM({}) FROM visits v JOIN lab l ON l.person = v.id"
    with pytest.raises(Unanswerable) as refused:
        parse_sql(sql.format("person"), CLINIC)
    (clamp,) = re.findall(r"write (CLAMP\(.*\))", refused.value.instead)
    assert clamp == "CLAMP(l.person, low, high)"
    assert "l_person" not in str(refused.value)
    parse_sql(sql.format(clamp.replace("low, high", "0, 9")), CLINIC)


_BY = ("something else than column = value", "tie it by =")
_ONE = ("one row for each", "one aggregate")
_COUNT = ("COUNT inside", "COUNT alone")
#: Conditions on groups and on public rows, which are read as reports.
ABOUT_GROUPS = [
    (
        "SELECT region, COUNT(*) FROM visits GROUP BY region HAVING region IN (SELECT region FROM visits)",
        "IN with a subquery over rows of people",
        "GROUP BY",
    ),
    (
        "SELECT region, COUNT(*) FROM visits GROUP BY region HAVING EXISTS (SELECT 1 FROM lab WHERE value > 3)",
        "EXISTS with a subquery over rows of people",
        "compare a count",
    ),
    (
        "SELECT region FROM places p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.region = p.region)",
        "EXISTS with a subquery over rows of people",
        "compare a count",
    ),
    ("SELECT region FROM places p WHERE people > (SELECT MAX(people) FROM places q WHERE q.region <> p.region)", *_BY),
    ("SELECT region FROM places p WHERE people > (SELECT MAX(p.people + q.people) FROM places q)", *_BY),
    ("SELECT region FROM places p WHERE people > (SELECT q.people FROM places q WHERE q.country = p.country)", *_ONE),
    ("SELECT region FROM places p WHERE 3 > (SELECT COUNT(*) + 1 FROM places q WHERE q.country = p.country)", *_COUNT),
    (
        "SELECT region FROM places p WHERE region IN (SELECT q.region FROM places q WHERE q.country = p.country)",
        "IN with a subquery that names a column of the rows outside",
        "EXISTS",
    ),
    (
        "SELECT COUNT(*) FROM (SELECT id FROM visits GROUP BY id HAVING id IN (SELECT person FROM lab))",
        "HAVING of rows that are grouped by person",
        "into WHERE",
    ),
    (
        "SELECT COUNT(*) FROM (SELECT id FROM visits GROUP BY id HAVING COUNT(*) > 2 AND EXISTS (SELECT 1 FROM lab))",
        "HAVING of rows that are grouped by person",
        "WHERE t.id IN",
    ),
    (
        "SELECT region, (SELECT COUNT(*) FROM visits v WHERE v.id = p.people) AS n FROM places p",
        "a row about every person",
        "COUNT(DISTINCT id)",
    ),
    ("SELECT COUNT(*) FROM (SELECT age AS x FROM visits ORDER BY x) AS t (y)", "list of columns", "AS inside"),
    ("SELECT COUNT(*) FROM (SELECT age, cost FROM visits WHERE cost > 3) AS t (cost, age)", "list of", "AS inside"),
    ("SELECT COUNT(*) FROM (SELECT * FROM visits) AS t (y)", "list of columns", "AS inside"),
]


@pytest.mark.parametrize(("sql", "offender", "instead"), ABOUT_GROUPS, ids=[one[0] for one in ABOUT_GROUPS])
def test_what_is_refused_about_groups_and_public_rows_says_why(sql: str, offender: str, instead: str) -> None:
    with pytest.raises(Unanswerable) as caught:
        parse_request(sql, CLINIC)
    assert offender in caught.value.reason
    assert instead in caught.value.instead


def test_names_that_are_nowhere_and_lists_that_are_too_long_are_named() -> None:
    for sql, offender in [
        ("SELECT region FROM places p WHERE people > (SELECT MAX(people) FROM places q WHERE nowhere = 3)", "nowhere"),
        ("SELECT region FROM places WHERE region IN (SELECT region FROM places q WHERE nowhere = 3)", "nowhere"),
        ("SELECT COUNT(*) FROM (SELECT age FROM visits) AS t (a, b)", "2 names"),
    ]:
        with pytest.raises(InvalidParameter, match=offender):
            parse_request(sql, CLINIC)


@pytest.mark.parametrize(("sql", "offender", "instead"), UNANSWERABLE, ids=[one[0] for one in UNANSWERABLE])
def test_refusals_name_the_offender_and_the_way_out(sql: str, offender: str, instead: str) -> None:
    """Exactly Unanswerable, with the construct in the reason and something to ask in its place."""
    with pytest.raises(Unanswerable) as caught:
        parse_sql(sql, CLINIC)
    assert type(caught.value) is Unanswerable
    assert offender.lower() in caught.value.reason.lower()
    assert instead.lower() in caught.value.instead.lower()


@pytest.mark.parametrize(("sql", "offender", "rule"), INVALID, ids=[one[0] for one in INVALID])
def test_wrong_names_and_kinds(sql: str, offender: str, rule: str) -> None:
    """Exactly InvalidParameter: parameter and place, rule, offender."""
    with pytest.raises(InvalidParameter, match=rule) as caught:
        parse_sql(sql, CLINIC)
    assert type(caught.value) is InvalidParameter
    assert offender in str(caught.value)


@pytest.mark.parametrize(("sql", "where"), SYNTAX, ids=[one[0] or "nothing" for one in SYNTAX])
def test_syntax_errors_say_where(sql: str, where: str) -> None:
    """One clear error with line and column."""
    with pytest.raises(InvalidParameter, match=where):
        parse_sql(sql, CLINIC)


@pytest.mark.parametrize(
    ("sql", "mention"),
    [
        ("SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY id ORDER BY day) AS r FROM visits)", "unit"),
        ("SELECT COUNT(*) FROM visits v JOIN lab l ON v.id = l.person", "its own unit"),
        ("SELECT COUNT(*) FROM (SELECT id, COUNT(*) FROM visits GROUP BY id)", "different people"),
        ("SELECT COUNT(*) FROM visits WHERE id IN (SELECT person FROM lab)", "privacy ids"),
        ("SELECT COUNT(*) FROM (SELECT DISTINCT id FROM visits)", "DISTINCT"),
        ("SELECT COUNT(*) FROM visits CROSS JOIN places", "become several"),
        ("SELECT COUNT(*) FROM visits v JOIN places p ON v.note = p.country", "become several"),
        ("SELECT COUNT(*) FROM (SELECT age FROM visits UNION ALL SELECT change FROM visits)", "both sides"),
        ("SELECT COUNT(*) FROM (SELECT id FROM visits UNION SELECT person FROM lab)", "its own unit"),
        ("SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM lab l WHERE l.person = v.id)", "same person"),
    ],
)
def test_what_needs_persons_is_refused_where_rows_are_units(sql: str, mention: str) -> None:
    """No join, window or grouping of rows that each stand for somebody else."""
    with pytest.raises(Unanswerable, match=mention):
        parse_sql(sql, LOOSE)


def test_explain_privacy_is_told_apart() -> None:
    """Comments and case do not matter; plain EXPLAIN is refused."""
    inner = "SELECT COUNT(*) FROM visits"
    assert parse_statement(f"  explain -- why\n Privacy {inner} ") == Statement(inner, True)
    assert parse_statement(f"/* x */ EXPLAIN  PRIVACY {inner}") == Statement(inner, True)
    assert parse_statement(f" {inner} ") == Statement(inner, False)
    with pytest.raises(Unanswerable, match="EXPLAIN PRIVACY"):
        parse_statement(f"EXPLAIN {inner}")
    with pytest.raises(InvalidParameter, match="a string"):
        parse_statement(3)  # type: ignore[arg-type]


DEEP = [
    "SELECT COUNT(*) FROM visits WHERE " + "(" * 500 + "age > 3" + ")" * 500,
    "SELECT COUNT(*) FROM visits WHERE " + "NOT " * 5000 + "smoker",
    "SELECT COUNT(*) FROM visits WHERE age > " + "- " * 5000 + "3",
    "SELECT COUNT(*) FROM visits WHERE age > " + "1 + " * 5000 + "3",
    "SELECT COUNT(*) FROM visits WHERE " + "CASE WHEN smoker THEN " * 2000 + "TRUE" + " END" * 2000,
    "SELECT COUNT(*) FROM visits WHERE note = " + "'a' || " * 5000 + "'b'",
    "SELECT COUNT(*) FROM " + "(SELECT * FROM " * 300 + "visits" + ")" * 300,
    "SELECT " + "ABS(" * 3000 + "1" + ")" * 3000 + " FROM visits",
]


@pytest.mark.parametrize("sql", DEEP, ids=["brackets", "not", "minus", "plus", "case", "texts", "subqueries", "calls"])
def test_depth_is_refused(sql: str) -> None:
    """No recursion ends in a crash."""
    with pytest.raises(DitherError, match=r"deep"):
        parse_sql(sql, CLINIC)


def test_length_and_width() -> None:
    """Long texts are refused by length; a wide condition is flat and fine."""
    with pytest.raises(InvalidParameter, match="100000"):
        parse_sql("SELECT COUNT(*) FROM visits -- " + "x" * 100_000, CLINIC)
    wide = " OR ".join(f"age = {number}" for number in range(2000))
    assert parse_sql(f"SELECT COUNT(*) FROM visits WHERE {wide}", CLINIC).aggregates
    many = ", ".join(str(number) for number in range(5000))
    assert parse_sql(f"SELECT COUNT(*) FROM visits WHERE age IN ({many})", CLINIC).aggregates


def test_subqueries_that_multiply_are_refused() -> None:
    """Thirty names, each twice the one before, would be a tree of a thousand million tables."""
    names = ["a0 AS (SELECT id, age FROM visits)"]
    for index in range(1, 30):
        below = f"a{index - 1}"
        names.append(f"a{index} AS (SELECT x.id, x.age FROM {below} x JOIN {below} y ON x.id = y.id)")
    with pytest.raises(Unanswerable, match="tables"):
        parse_sql(f"WITH {', '.join(names)} SELECT COUNT(*) FROM a29", CLINIC)


INJECTIONS = [
    "'; DROP TABLE visits; --",
    "' OR '1'='1",
    '" OR ""="',
    "\\'; SELECT 1 --",
    "x') UNION SELECT note FROM visits --",
    "$$; COPY visits TO '/tmp/x' $$",
    "/* */ */",
    "%s %(x)s {0} ? :name",
    "\u202e\u0000",
    "'||(SELECT note FROM visits)||'",
    "region\n--",
]
PLACES = [
    "SELECT COUNT(*) FROM visits WHERE note = '{text}'",
    "SELECT COUNT(*) FROM visits WHERE note IN ('{text}', 'a')",
    "SELECT COUNT(*) FROM visits WHERE note LIKE '{text}'",
    "SELECT REPLACE(note, '{text}', '{text}') AS k, COUNT(*) FROM visits GROUP BY k",
    "SELECT CASE WHEN smoker THEN '{text}' END AS k, COUNT(*) FROM visits GROUP BY k",
    "SELECT COUNT(*) FROM visits WHERE STARTS_WITH(note, '{text}')",
    'SELECT COUNT(*) AS "{name}" FROM visits',
    'SELECT region AS "{name}", COUNT(*) FROM visits GROUP BY region',
    'SELECT COUNT(*) FROM (SELECT age AS "{name}" FROM visits)',
    'SELECT COUNT(*) FROM visits AS "{name}"',
    'SELECT "{name}", COUNT(*) FROM visits GROUP BY 1',
    'SELECT COUNT(*) FROM "{name}"',
    'WITH "{name}" AS (SELECT * FROM visits) SELECT COUNT(*) FROM "{name}"',
    "SELECT DATE_TRUNC('{text}', day) AS k, COUNT(*) FROM visits GROUP BY k",
    "SELECT EXTRACT('{text}' FROM day) AS k, COUNT(*) FROM visits GROUP BY k",
    "SELECT COUNT(*) FROM visits WHERE day > '{text}'",
    "SELECT COUNT(*) FROM visits WHERE {raw}",
    "SELECT {raw} FROM visits",
    "{raw}",
]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("text", INJECTIONS, ids=[str(index) for index in range(len(INJECTIONS))])
def test_injections_stay_constants(place: str, text: str) -> None:
    """A text stays one constant of the tree, whole; names that engines would see are plain; all else is refused."""
    sql = place.format(text=text.replace("'", "''"), name=text.replace('"', '""'), raw=text)
    try:
        query = parse_sql(sql, CLINIC)
    except DitherError:
        return
    seen = repr((query.relation, query.keys, query.aggregates))
    if "{text}" in place:
        assert repr(text) in seen or "LIKE" in place
        assert [name for name in query.relation.columns if not re.fullmatch(r"\w+", name)] == []
    else:
        assert all(re.fullmatch(r"\w+", name) for name in query.relation.columns)


def _mutated(source: random.Random, sql: str) -> str:
    tokens = re.findall(r"\w+|\s+|'[^']*'|.", sql)
    words = [
        "SELECT",
        "FROM",
        "WHERE",
        "GROUP BY",
        "(",
        ")",
        ",",
        "*",
        "NULL",
        "'x'",
        "OVER",
        "JOIN",
        "ON",
        "CASE",
        "END",
    ]
    words += [
        "DISTINCT",
        "id",
        "age",
        "cost",
        "note",
        "day",
        "region",
        "-",
        "1",
        "0.5",
        "[",
        "::",
        "AS",
        "IN",
        "LIKE",
        "NOT",
    ]
    for _ in range(source.randrange(1, 5)):
        place = source.randrange(len(tokens))
        action = source.randrange(5)
        if action == 0:
            del tokens[place]
        elif action == 1:
            tokens.insert(place, f" {source.choice(words)} ")
        elif action == 2:
            tokens[place] = source.choice(words)
        elif action == 3:
            other = source.randrange(len(tokens))
            tokens[place], tokens[other] = tokens[other], tokens[place]
        else:
            tokens.insert(place, source.choice(string.printable))
        tokens = tokens or ["SELECT"]
    return "".join(tokens)


#: Names of classes of the reader, and what Python shows of things without a name.
_FOREIGN = re.compile(
    r"TokenType|\bexp\.|\bNone\b|<class|<[A-Z]|sqlglot|_parse|[A-Z][a-z]+[A-Z]\w+|~\w|NotImplemented|Traceback|\x1b"
)
DIALECTS = [
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6, max_groups_contributed = 2) region, "
    "SUM(cost, contribution_bounds_per_group => (0, 10)) FROM visits GROUP BY region",
    "SELECT WITH ANONYMIZATION OPTIONS (kappa = 2) region, ANON_SUM(cost CLAMPED BETWEEN 0 AND 10) AS s, "
    "ANON_COUNT(* CLAMPED BETWEEN 0 AND 3) FROM `clinic.visits` GROUP BY region HAVING s > 3 ORDER BY s DESC",
    "SELECT TOP 5 [region], COUNT(*) AS [the number] FROM [visits] AS v GROUP BY v.[region] ORDER BY 2 DESC",
    "SELECT DATE_TRUNC(day, MONTH) AS m, SAFE.LN(SUM(cost)) FROM visits WHERE SAFE_CAST(note AS INT64) > 3 GROUP BY m",
    "SELECT DECODE(region, 'north', 1, 2) AS k, COUNT(*) FROM visits GROUP BY k FETCH FIRST 2 ROWS ONLY",
    "SELECT COUNT(*) AS n, DP_INTERVAL_LOW(n) AS low, DP_INTERVAL_HIGH(n) AS high FROM visits",
    "SELECT WIDTH_BUCKET(cost, 0, 1000, 4) AS b, AVG(age, contribution_bounds_per_row => (0, 9)) FROM lab GROUP BY b",
    "SHOW TABLES",
    "INSERT INTO visits SELECT * FROM visits",
    "SELECT COUNT(*) FROM visits, UNNEST([1, 2]) AS x",
]


def test_mutated_texts_raise_nothing_but_our_own_errors() -> None:
    """Two thousand texts near to real queries (new ones with DITHER_EXPLORE); a failure prints the text."""
    conditions = [f"SELECT COUNT(*) FROM visits WHERE {condition}" for condition in CONDITIONS]
    conditions += [f"SELECT COUNT(*) FROM visits WHERE {condition}" for condition, _ in WORDS]
    corpus = [*AGGREGATES, *GROUPS, *JOINS, *PERSONS, *SHOWN, *conditions, *DIALECTS]
    source = random.Random(None if os.environ.get("DITHER_EXPLORE") else 2)
    understood, refusals = 0, []
    for _ in range(2000):
        sql = _mutated(source, source.choice(corpus))
        dataset: DataSet = source.choice((CLINIC, LOOSE))
        try:
            parse_sql(sql, dataset)
            understood += 1
        except (InvalidParameter, Unanswerable) as refused:
            refusals.append((sql, str(refused)))
        except Exception as error:
            raise AssertionError(f"{type(error).__name__} from {sql!r} over {dataset.name}") from error
    assert understood > 20
    for sql, refusal in refusals:
        # The text itself may say anything: it is shown as the offender, and at its place.
        said = _FOREIGN.search(refusal)
        assert said is None or said.group() in sql, f"{refusal} for {sql!r}"


def test_nothing_is_logged_or_printed() -> None:
    """The reader warns on its own about what it does not know; none of that reaches a terminal."""
    code = (
        "from tests.publish.queries.exact import CLINIC\n"
        "from dither.publish.queries.sql import parse_sql\n"
        "for sql in ('SHOW TABLES', 'CALL x()', 'SELECT COUNT(*) FROM visits WHERE f(age) = 1', 'VACUUM'):\n"
        "    try: parse_sql(sql, CLINIC)\n"
        "    except Exception: pass\n"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == done.stderr == ""

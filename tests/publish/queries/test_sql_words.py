"""Words of SQL and of its dialects: functions that people write, and what is said of those that are not understood."""

# ruff: noqa: S608 - statements are made up here
from __future__ import annotations

import pytest

from dither.data.reference import ReferenceEngine
from dither.mechanisms import Runner
from dither.noise import system_noise
from dither.privacy import PureDP, Use
from dither.publish.queries import plan_query, present
from dither.publish.queries.sql import parse_sql
from tests.publish.queries.exact import CLINIC, LOOSE, answer_of_duckdb, exact, same_rows, tables


def released(sql: str, epsilon: int = 10**9) -> list[tuple[object, ...]]:
    """Return what is released of the clinic's rows with next to no noise."""
    answer = plan_query(parse_sql(sql, LOOSE), PureDP(epsilon))
    data = ReferenceEngine(LOOSE, tables())
    return list(present(answer, Runner(Use(answer), system_noise())(answer, data)).rows)


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
    ("TIMESTAMPDIFF(HOUR, moment, TIMESTAMP '2024-01-01 00:30:00') % 2 = 0",
     "DATESUB('hour', moment, TIMESTAMP '2024-01-01 00:30:00') % 2 = 0"),
    ("MAKE_DATE(2023, 5, change) < day", "CASE WHEN change > 0 THEN MAKE_DATE(2023, 5, change) END < day"),
    ("COALESCE(MAKE_DATE(2023, 2, 30), DATE '2023-02-28') < day", "day > DATE '2023-02-28'"),
    ("TO_DATE('2023-05-05') < day", "DATE '2023-05-05' < day"),
    ("STRFTIME(day, '%Y-%m') = '2023-05'", ""),
    ("TO_CHAR(moment, 'YYYY-MM-DD HH24:MI') > '2023-05-05 10:30'", "STRFTIME(moment, '%Y-%m-%d %H:%M') > '2023-05-05 10:30'"),
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

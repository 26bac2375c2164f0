"""Refusals that few statements reach: each names what is wrong, and what to write instead."""

# ruff: noqa: S608 - statements are made up here
from __future__ import annotations

import pytest

from dither.errors import InvalidParameter, Unanswerable
from dither.publish.queries.sql import parse_request
from tests.publish.queries.exact import CLINIC

BY_REGION = "(SELECT region, COUNT(*) AS n FROM visits GROUP BY region)"

#: What stands within AVG(...), and what the refusal says of it.
FUNCTIONS = {
    "TRUNC(age, 20)": "TRUNC to more than 15 places",
    "ROUND(age, 20)": "ROUND to more than 15 places",
    "ROUND(age, 1.5)": "this must be an integer",
    "WIDTH_BUCKET(age, 0, 0, 3)": "two different constant ends",
    "age << 70": "more than 62 bits",
    "DECODE(age, 1)": "DECODE with 2 arguments",
    "LENGTH(TRIM('x' FROM region))": "something else than blanks",
    "LENGTH(BTRIM(region, 'x'))": "something else than blanks",
    "LENGTH(RIGHT(region, -1))": "fewer than no characters",
    "LENGTH(LPAD(region, 5, 'ab'))": "more than one character",
    "POSITION('' IN region)": "position of something else",
    "LENGTH(SPLIT_PART(region, 'a', 0))": "constant separator and place",
    "CLAMP(age, 0, 'a')": "two constant numbers",
    "LENGTH(REPLACE(region, '', 'a'))": "a string that is not empty",
    "region LIKE 'a!' ESCAPE '!'": "write the character twice",
    "DATE_DIFF(day, day, WEEK)": "begins on Sunday",
    "DATEDIFF('dow', day, day)": "DOW is not a unit to count",
    "DATE_TRUNC('dow', moment)": "DOW is not a unit to truncate to",
    "day + INTERVAL 'x' DAY": "not a number of one unit",
    "day + INTERVAL (cost) DAY": "something else than an integer",
    "TIMESTAMPDIFF(MONTH, moment, moment)": "write DATEDIFF('month', earlier, later)",
    "STRFTIME(day, '%Q')": "%Q in the pattern of a date",
    "age IS 5": "write =",
    "age IN ('a')": "must be an integer, got 'a'",
    "CAST(cost AS DATE)": "something that a real can become",
    "a.b.age": "three parts",
}
#: What a person's own rows are asked, within a subquery.
WINDOWS = {
    "ROW_NUMBER() OVER nothing": "none is named, got 'nothing'",
    "LAG(age) OVER (PARTITION BY id)": "LAG without ORDER BY",
    "FIRST_VALUE(age) OVER (PARTITION BY id)": "FIRST_VALUE without ORDER BY",
    "COUNT(DISTINCT age) OVER (PARTITION BY id)": "DISTINCT in a window",
    "ROW_NUMBER() OVER (PARTITION BY id ORDER BY age NULLS FIRST)": "order by COALESCE",
}
STATEMENTS = {
    "SELECT RANK(3) WITHIN GROUP (ORDER BY age) FROM visits": "WITHIN GROUP of another aggregate",
    "SELECT APPROX_TOP_K(region, 0) FROM visits": "outside 1 to 1000",
    "SELECT APPROX_MEDIAN(age, 2) FROM visits": "it takes 1",
    "SELECT COUNT(age, region) FROM visits": "COUNT of several things",
    "SELECT COUNT(*) FROM visits LEFT JOIN lab ON id = person AND age > (SELECT MAX(people) FROM places)": "write JOIN",
    "SELECT COUNT(*) FROM places p JOIN places q ON p.region = q.region RIGHT JOIN visits v ON v.region = p.region": (
        "name the private table first"
    ),
    "SELECT COUNT(*) FROM (SELECT region, age FROM visits UNION ALL SELECT region FROM visits)": "2 and 1",
    "SELECT COUNT(*) FROM (SELECT region FROM visits UNION ALL SELECT age FROM visits)": "not integer and text",
    "SELECT COUNT(*) FROM (SELECT q.* FROM visits v)": "table before the star must be one of v",
    "SELECT COUNT(*) FROM (SELECT * FROM visits a JOIN (SELECT id FROM lab JOIN visits ON id = person GROUP BY id) b "
    "ON a.id = b.id)": "two columns called id",
    "SELECT region, COUNT(*) FROM visits GROUP BY region LIMIT age": "write LIMIT 10",
    "SELECT region, COUNT(*) FROM visits GROUP BY region FETCH FIRST ROW ONLY": "this form of LIMIT",
}
#: What is asked of released rows.
RELEASED = {
    "SELECT x.n FROM {} r": "x.n must be r, got 'x'",
    "SELECT x.n FROM {}": "the subquery has no name",
    "SELECT q.* FROM {} r": "q.* must be r",
    "SELECT r.n FROM {} r WHERE z.n > 3": "z.n must be r",
    "SELECT r.n FROM {} r ORDER BY z.n": "z.n must be r",
    "SELECT a.b.n FROM {} r": "three parts",
    "SELECT n FROM {} r OFFSET region": "write OFFSET 10",
    "SELECT n FROM {0} r UNION SELECT n FROM {0} s ORDER BY nn": "nn must be one of n",
    "SELECT n % 2 AS k, SUM(n) FROM {} r GROUP BY 7": "a position from 1 to 2",
    "SELECT SUM(n) FROM {} r GROUP BY SUM(n)": "GROUP BY an aggregate",
    "SELECT r.n FROM {0} r JOIN {0} r ON TRUE": "different from the others",
    "SELECT r.n FROM {0} r SEMI JOIN {0} s USING (region)": "SEMI JOIN of released tables",
    "SELECT r.n FROM {0} r LEFT JOIN {0} s": "LEFT JOIN without a condition",
    "SELECT r.n FROM {0} r JOIN {0} s USING (nothing)": "a column of both tables",
    "SELECT z.n FROM {0} r JOIN {0} s USING (region)": "one of r, s",
    "SELECT a.r.n FROM {0} r JOIN {0} s USING (region)": "three parts",
    "SELECT r.n FROM {} r JOIN places TABLESAMPLE (10) USING (region)": "SAMPLE is not understood",
    "SELECT SUM(n > 3) FROM {} r": "SUM of true and false",
    "SELECT COUNT(n, region) FROM {} r": "COUNT of several things",
    "SELECT COUNT(DISTINCT n, region) FROM {} r": "several things",
    "SELECT SUM(n) OVER w FROM {} r": "one of WINDOW: none is named",
    "SELECT SUM(n) OVER (ORDER BY n ROWS 99999999999 PRECEDING) FROM {} r": "from 0 to 1000000000 rows",
    "SELECT NTILE(0) OVER (ORDER BY n) FROM {} r": "from 1 to 1000000000",
    "SELECT SUM(region) OVER (ORDER BY n) FROM {} r": "of numbers, got 'text'",
    "SELECT n IN (SELECT region FROM {0}) FROM {0} r": "of one kind",
}
ALL = {
    **{f"SELECT AVG({value}) FROM visits": said for value, said in FUNCTIONS.items()},
    **{f"SELECT AVG(t) FROM (SELECT id, {value} AS t FROM visits)": said for value, said in WINDOWS.items()},
    **STATEMENTS,
    **{text.format(BY_REGION): said for text, said in RELEASED.items()},
}


@pytest.mark.parametrize("sql", ALL)
def test_a_rare_refusal_says_what_is_wrong(sql: str) -> None:
    with pytest.raises((Unanswerable, InvalidParameter)) as caught:
        parse_request(sql, CLINIC)
    assert ALL[sql] in str(caught.value)

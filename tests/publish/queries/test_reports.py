"""Reports: what one text asks of several releases, of public tables, and of rows that are released already."""

# ruff: noqa: S311, S608 - statements are made up here
from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest

from dither.checks.law import coverage_is_refuted
from dither.data import Aggregation, CountRows, Kind, Name
from dither.data.public_rows import PublicScan
from dither.data.reference import ReferenceEngine
from dither.data.wire import decode, encode
from dither.errors import DitherError, InvalidParameter, NoGuarantee, Unanswerable
from dither.mechanisms import Runner
from dither.noise import system_noise
from dither.privacy import ZCDP, ApproxDP, Loss, PureDP, Use
from dither.publish.queries import Query, QueryResult, ReportAnswer, plan_report, present_report
from dither.publish.queries.reports import mechanism
from dither.publish.queries.reports.cells import Cells
from dither.publish.queries.reports.dependence import numbers_in_cells
from dither.publish.queries.reports.evaluation import MOST_ROWS, Evaluation, Rows
from dither.publish.queries.reports.mechanism import Reported
from dither.publish.queries.reports.presenting import rehearse_report
from dither.publish.queries.reports.quoting import quote_report
from dither.publish.queries.reports.report import Report
from dither.publish.queries.reports.views import View, ViewOne, ViewRelease, ViewSelect
from dither.publish.queries.sql import parse_request, parse_sql
from dither.testing import looks
from tests.publish.queries import test_sql_meaning as meaning
from tests.publish.queries.exact import CLINIC, LOOSE, answer_of_duckdb, same_rows, tables

#: So much that noise is 0 but for odds of e^-1000, in sums on a fine grid as well.
HUGE = PureDP(10**12)
ENGINE = ReferenceEngine(LOOSE, {name: list(rows) for name, rows in tables().items()})
# Empty public groups are answered as well, which plain SQL leaves out: no region is asked for that has no row.
BY_REGION = "(SELECT region, COUNT(*) AS n, SUM(age) AS s FROM visits WHERE region <> 'west' GROUP BY region)"
BY_BOTH = (
    "(SELECT region, smoker, COUNT(*) AS n, AVG(age) AS a FROM visits WHERE region <> 'west' AND smoker IS NOT NULL "
    "GROUP BY region, smoker)"
)
WHERE = "FROM visits WHERE region <> 'west' AND smoker IS NOT NULL"

AGGREGATES = [
    f"SELECT AVG(n) FROM {BY_REGION}",
    f"SELECT AVG(n) AS m, MAX(n), MIN(n), SUM(n), COUNT(*), MEDIAN(n), STDDEV(n), VAR_POP(n) FROM {BY_REGION}",
    f"SELECT region, MAX(n) AS most, COUNT(DISTINCT n) AS d FROM {BY_BOTH} GROUP BY region HAVING most > 3",
    f"SELECT smoker, SUM(n) FILTER (WHERE region = 'north') AS s, COUNT_IF(n > 20) AS c FROM {BY_BOTH} GROUP BY smoker",
    f"SELECT smoker, SUM(n) FILTER (WHERE n > (SELECT AVG(n) FROM {BY_BOTH})) AS s, "
    f"SUM(CASE WHEN n IN (SELECT MAX(n) FROM {BY_BOTH}) THEN 1 ELSE 0 END) AS c FROM {BY_BOTH} GROUP BY smoker",
    f"SELECT COUNT(*) FROM {BY_BOTH} WHERE n > 15",
    f"SELECT n % 2 AS k, COUNT(*) FILTER (WHERE n > 15) AS c FROM {BY_BOTH} GROUP BY ALL",
    f"SELECT n > 35 AS big, COUNT(*) AS k FROM {BY_REGION} GROUP BY 1",
    f"SELECT n > 35 AS big, SUM(n) AS k FROM {BY_REGION} GROUP BY big ORDER BY big NULLS FIRST",
    f"SELECT AVG(m) FROM (SELECT region, MAX(n) AS m FROM {BY_BOTH} GROUP BY region)",
    f"SELECT MAX(n) - MIN(n) AS spread, SUM(s) / SUM(n) AS age FROM {BY_REGION}",
]
SCALARS = [
    f"SELECT region, COUNT(*) * 1.0 / (SELECT COUNT(*) {WHERE}) AS share {WHERE} GROUP BY region",
    f"WITH c AS {BY_REGION} SELECT region, n / (SELECT SUM(n) FROM c) AS share FROM c ORDER BY share DESC",
    "SELECT (SELECT COUNT(*) FROM visits WHERE smoker) * 1.0 / (SELECT COUNT(*) FROM visits) AS share",
    f"SELECT region, COUNT(*) AS n {WHERE} GROUP BY region HAVING COUNT(*) > (SELECT AVG(n) FROM {BY_REGION})",
    f"SELECT region, COUNT(*) / (SELECT SUM(people) FROM places) AS rate {WHERE} GROUP BY region",
    f"SELECT region FROM {BY_REGION} WHERE n = (SELECT MAX(n) FROM {BY_REGION})",
    f"SELECT EXISTS (SELECT 1 FROM {BY_REGION} WHERE n > 1000) AS some, (SELECT n FROM {BY_REGION} LIMIT 1) > 0 AS one",
    f"SELECT region FROM places WHERE region IN (SELECT region FROM {BY_REGION} WHERE n > 30)",
    f"SELECT region FROM {BY_REGION} WHERE region NOT IN (SELECT region FROM places)",
]
JOINS = [
    f"SELECT a.region, a.n, b.m FROM {BY_REGION} a JOIN (SELECT region, AVG(age) AS m FROM visits "
    "WHERE region <> 'west' GROUP BY region) b ON a.region = b.region",
    f"SELECT region, n, country FROM {BY_REGION} LEFT JOIN places USING (region) ORDER BY n, region",
    f"SELECT * FROM places NATURAL JOIN {BY_REGION} AS r ORDER BY region",
    f"SELECT p.country, SUM(a.n) AS n FROM {BY_REGION} a JOIN places p ON p.region = a.region GROUP BY p.country",
    f"SELECT a.region, b.region AS other FROM {BY_REGION} a, {BY_REGION} b WHERE a.n > b.n AND a.region <> 'x'",
    f"SELECT a.region, b.smoker, b.n * 1.0 / a.n AS share FROM {BY_REGION} a, {BY_BOTH} b WHERE a.region = b.region",
    f"SELECT p.region, a.region AS r, a.n FROM places p RIGHT JOIN {BY_REGION} a ON a.region = p.region AND a.n > 40",
    f"SELECT region, people, n FROM places FULL JOIN {BY_REGION} USING (region)",
    "WITH a AS (SELECT COUNT(*) AS n FROM visits), b AS (SELECT COUNT(*) AS m FROM visits WHERE smoker) "
    "SELECT m * 1.0 / n AS s FROM a CROSS JOIN b",
]
LISTS = [
    f"SELECT region, n * x AS much FROM {BY_REGION} r, UNNEST([1, 10]) AS u(x)",
    f"SELECT x, SUM(n) AS s FROM {BY_REGION} r CROSS JOIN UNNEST(GENERATE_SERIES(1, 3)) AS u(x) GROUP BY x ORDER BY x",
    f"SELECT w.place, r.n FROM (VALUES ('north', 1), ('nowhere', 2)) AS w(place, rank) LEFT JOIN {BY_REGION} r "
    "ON r.region = w.place",
    "SELECT x + 1 AS y FROM UNNEST([1, 2, NULL]) AS u(x) WHERE x > 1",
]
SETS = [
    f"SELECT region, n FROM {BY_REGION} UNION SELECT 'all', COUNT(*) FROM visits ORDER BY 2 DESC, region",
    f"SELECT region, n FROM {BY_REGION} UNION ALL SELECT 'all', COUNT(*) FROM visits ORDER BY n DESC LIMIT 2",
    "SELECT 'old' AS k, COUNT(*) AS n FROM visits WHERE age > 50 UNION SELECT 'young', COUNT(*) FROM visits "
    "WHERE age <= 50",
    f"SELECT region FROM {BY_REGION} WHERE n > 35 EXCEPT SELECT 'south'",
    f"SELECT region FROM {BY_BOTH} EXCEPT ALL SELECT region FROM {BY_REGION}",
    f"SELECT region FROM {BY_BOTH} INTERSECT SELECT region FROM places",
    f"SELECT region FROM {BY_BOTH} INTERSECT ALL SELECT region FROM {BY_BOTH} WHERE smoker",
    f"SELECT NULL AS region, COUNT(*) AS n FROM visits UNION ALL SELECT region, n FROM {BY_REGION}",
    f"SELECT DISTINCT n > 35 AS big FROM {BY_REGION}",
    f"SELECT DISTINCT COUNT(*) > 35 AS big {WHERE} GROUP BY region ORDER BY big",
]
WINDOWS = [
    f"SELECT region, SUM(n) OVER (ORDER BY n, region RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS t "
    f"FROM {BY_REGION}",
    f"SELECT region, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS r {WHERE} GROUP BY region ORDER BY r",
    f"SELECT region, COUNT(*) AS n {WHERE} GROUP BY region QUALIFY ROW_NUMBER() OVER (ORDER BY COUNT(*) DESC) <= 2",
    f"SELECT region, COUNT(*) * 100.0 / SUM(COUNT(*)) OVER () AS pct {WHERE} GROUP BY region ORDER BY ALL",
    f"SELECT region, smoker, n, SUM(n) OVER (PARTITION BY region) AS all_, MAX(n) OVER (PARTITION BY smoker) AS m "
    f"FROM {BY_BOTH} ORDER BY region, smoker",
    f"SELECT region, LAG(n) OVER (ORDER BY region) AS before, LEAD(n, 1, 0) OVER (ORDER BY region) AS after, "
    f"n - LAG(n) OVER (ORDER BY region) AS change FROM {BY_REGION} ORDER BY region",
    f"SELECT region, SUM(n) OVER (ORDER BY region) AS running, AVG(n) OVER (ORDER BY region ROWS BETWEEN 1 PRECEDING "
    f"AND CURRENT ROW) AS moving, FIRST_VALUE(n) OVER w AS f, LAST_VALUE(n) OVER w AS l FROM {BY_REGION} "
    "WINDOW w AS (ORDER BY region ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) ORDER BY region",
    f"SELECT region, NTILE(2) OVER (ORDER BY n) AS t, PERCENT_RANK() OVER (ORDER BY n) AS p, CUME_DIST() OVER "
    f"(ORDER BY n) AS c, DENSE_RANK() OVER (ORDER BY n) AS d FROM {BY_REGION}",
    f"SELECT smoker, RANK() OVER (PARTITION BY smoker ORDER BY n DESC NULLS LAST) AS r, n FROM {BY_BOTH}",
]
CUTS = [
    f"SELECT region, COUNT(*) AS n {WHERE} GROUP BY region ORDER BY n DESC, region LIMIT 1 OFFSET 1",
    f"SELECT * FROM (SELECT region, n FROM {BY_REGION} ORDER BY n DESC LIMIT 2) ORDER BY n LIMIT 1",
    f"SELECT region, n FROM {BY_REGION} ORDER BY region DESC NULLS FIRST OFFSET 1",
]
PUBLIC = [
    "SELECT COUNT(*), SUM(people), AVG(people), MIN(region) FROM places",
    "SELECT * FROM places ORDER BY region DESC",
    "SELECT country, COUNT(*) AS n FROM places WHERE people >= 0 GROUP BY country HAVING COUNT(*) > 0",
    "SELECT 1 + 1 AS two, 'x' AS t, NULL AS nothing",
    "SELECT a.region, b.region AS other FROM places a JOIN places b ON a.people < b.people",
]
GROUPINGS = [
    # No order of these three shares out one after the other.
    f"SELECT region, smoker, age > 50 AS old, COUNT(*) AS n {WHERE} "
    "GROUP BY GROUPING SETS ((region, smoker), (smoker, old), (region, old))",
    f"SELECT region, smoker, COUNT(*) AS n {WHERE} GROUP BY ROLLUP (region, smoker)",
    f"SELECT region, smoker, GROUPING(region) AS g, GROUPING(region, smoker) AS h, COUNT(*) AS n, SUM(cost) AS c "
    f"{WHERE} GROUP BY CUBE (region, smoker) ORDER BY g, h, region, smoker",
    f"SELECT region, smoker, COUNT(*) AS n, AVG(age) AS a {WHERE} GROUP BY GROUPING SETS ((region), (smoker), ())",
    f"SELECT region, age > 50 AS old, smoker, COUNT(*) AS n {WHERE} GROUP BY region, ROLLUP (old, smoker)",
    f"SELECT smoker, SUM(change) AS c {WHERE} GROUP BY ROLLUP (smoker)",
    f"SELECT region, COUNT(*) AS n, RANK() OVER (PARTITION BY GROUPING(region) ORDER BY COUNT(*) DESC) AS r {WHERE} "
    "GROUP BY ROLLUP (region)",
    f"SELECT MAX(n) FROM (SELECT region, smoker, COUNT(*) AS n {WHERE} GROUP BY CUBE (region, smoker))",
]
TIED = [
    "SELECT region, (SELECT MAX(b.people) FROM places b WHERE b.country = a.country) AS most FROM places a",
    "SELECT region FROM places a WHERE people = (SELECT MIN(people) FROM places b WHERE b.country = a.country)",
    "SELECT region, (SELECT COUNT(*) FROM places b WHERE b.country = a.region AND people > 50) AS k FROM places a",
    "SELECT p.region FROM places p, places q WHERE p.country = q.country AND q.people > "
    "(SELECT AVG(people) FROM places WHERE country = p.country AND region IN (SELECT region FROM places))",
    f"SELECT region, n, (SELECT country FROM places p WHERE p.region = r.region) AS country FROM {BY_REGION} r",
    f"SELECT region, smoker FROM {BY_BOTH} a WHERE n = (SELECT MAX(n) FROM {BY_BOTH} b WHERE b.smoker = a.smoker)",
    f"SELECT region FROM {BY_REGION} r WHERE EXISTS (SELECT 1 FROM places p WHERE p.region = r.region AND people > 10)",
    f"SELECT region FROM {BY_REGION} r WHERE NOT EXISTS (SELECT * FROM places p WHERE r.region = p.region) OR n > 40",
    "SELECT region, (SELECT COUNT(*) FROM visits v WHERE v.region = p.region AND age > 30) AS k FROM places p "
    "WHERE region <> 'west'",
    f"SELECT region, (SELECT people FROM places p WHERE p.region = visits.region) AS p, COUNT(*) AS n {WHERE} "
    "GROUP BY region",
]
HAVING = [
    f"SELECT region, COUNT(*) AS n {WHERE} GROUP BY region HAVING region IN (SELECT region FROM places)",
    f"SELECT region, COUNT(*) AS n {WHERE} GROUP BY region HAVING COUNT(*) NOT IN (SELECT people FROM places "
    "WHERE people IS NOT NULL) OR n < 3",
    f"SELECT region, COUNT(*) AS n {WHERE} GROUP BY region HAVING EXISTS (SELECT 1 FROM places WHERE people > 10**9)",
    f"SELECT region, COUNT(*) AS n {WHERE} GROUP BY region HAVING EXISTS (SELECT 1 FROM places p "
    "WHERE p.region = visits.region)",
    f"SELECT region, COUNT(*) AS n {WHERE} GROUP BY region HAVING region IN (SELECT region {WHERE} GROUP BY region "
    "HAVING COUNT(*) > 30)",
]
LISTED = [
    f"SELECT MAX(r), MIN(m) FROM {BY_REGION} AS t (r, m, k) WHERE m > 20 AND k > 0",
    f"SELECT MAX(r), SUM(n) FROM {BY_REGION} AS t (r)",
    f"WITH t (r, m) AS (SELECT region, COUNT(*) {WHERE} GROUP BY region) SELECT r FROM t WHERE m = (SELECT MAX(m) "
    "FROM t)",
    "SELECT COUNT(*), MAX(a) FROM (SELECT region, people FROM places UNION ALL SELECT country, people FROM places) "
    "AS t (a, b) WHERE b > 1",
]
TEXTS = [
    *(*AGGREGATES, *SCALARS, *JOINS, *SETS, *WINDOWS, *CUTS, *PUBLIC, *GROUPINGS, *TIED, *HAVING, *LISTED, *LISTS),
]


def asked(text: str, loss: Loss = HUGE, dataset: Any = LOOSE) -> ReportAnswer:
    found = parse_request(text, dataset)
    assert isinstance(found, Report), text
    return plan_report(found, loss if found.queries else PureDP(0))


def answered(text: str, loss: Loss = HUGE, confidence: Any = "0.95", engine: Any = ENGINE) -> QueryResult:
    planned = asked(text, loss, engine.dataset)
    return present_report(planned, Runner(Use(planned), system_noise())(planned, engine), confidence=confidence)


def is_ordered(text: str) -> bool:
    return "ORDER BY" in text.rsplit(")", 1)[-1]


@pytest.mark.parametrize("text", TEXTS)
def test_a_report_without_noise_is_what_duckdb_answers(text: str) -> None:
    result = answered(text)
    assert same_rows(result.rows, answer_of_duckdb(text), ordered=is_ordered(text)), result.rows
    assert QueryResult.from_json(result.to_json()) == result
    assert result._repr_html_()
    assert str(result)
    assert quote_report(asked(text)).rows in (None, len(result.rows))
    assert json.loads(result.to_json())["loss"] == result.loss.to_dict()


def generated(source: random.Random) -> str:
    """Return a random query over released rows, of the supported language."""
    table = source.choice([BY_REGION, BY_BOTH, f"(SELECT * FROM {BY_BOTH} WHERE n > {source.randrange(25)})"])
    has_both = "smoker" in table
    key = source.choice(["region", "smoker"]) if has_both else "region"
    value = source.choice(["n", "n * 2 - 1", "a" if has_both else "s", "CASE WHEN n > 20 THEN n END", "n / 7.0"])
    function = source.choice(["SUM", "AVG", "MIN", "MAX", "COUNT", "MEDIAN", "STDDEV"])
    order = "region, smoker" if has_both else "region"
    window = source.choice(
        [
            f"{function}({value}) OVER (PARTITION BY {key})",
            f"{source.choice(['RANK', 'DENSE_RANK', 'CUME_DIST'])}() OVER (ORDER BY {value} DESC, {key})",
            f"{function}({value}) OVER (ORDER BY {order} ROWS BETWEEN {source.randrange(3)} PRECEDING AND "
            f"{source.randrange(3)} FOLLOWING)",
            f"{source.choice(['LAG', 'LEAD'])}({value}, {source.randrange(3)}) OVER (ORDER BY {order})",
        ]
    )
    having = source.choice(["", f" HAVING COUNT(*) > {source.randrange(3)}"])
    whole = f"(SELECT {function}({value}) FROM {table} AS w)"
    return source.choice(
        [
            f"SELECT {key}, {function}({value}) AS x FROM {table} GROUP BY {key}{having}",
            f"SELECT {order}, {window} AS x FROM {table}",
            f"SELECT {order}, n FROM {table} WHERE {value} > {whole}",
            f"SELECT {order}, {value} - {whole} AS d FROM {table} ORDER BY d DESC NULLS LAST, {order} LIMIT 3 OFFSET 1",
            f"SELECT {key} AS k FROM {table} {source.choice(['UNION', 'EXCEPT', 'INTERSECT'])} "
            f"SELECT {key} FROM {table} AS w WHERE n > {source.randrange(40)}",
            f"SELECT l.{key} AS k, l.n, r.n AS m FROM {table} l {source.choice(['', 'LEFT ', 'FULL '])}JOIN {table} r "
            f"ON l.{key} = r.{key} AND l.n > r.n",
            f"SELECT DISTINCT {key} AS k, n > 20 AS big FROM {table} ORDER BY ALL",
        ]
    )


def test_random_queries_over_released_rows_are_what_duckdb_answers() -> None:
    source = random.Random(17)
    for _ in range(60):
        text = generated(source)
        assert same_rows(answered(text).rows, answer_of_duckdb(text)), text


def test_a_report_is_one_record_that_is_written_and_read_and_priced_without_data() -> None:
    for text in TEXTS:
        report = parse_request(text, CLINIC)
        assert isinstance(report, Report)
        assert decode(encode(report)) == report
        planned = plan_report(report, ApproxDP(1, "1e-6") if report.queries else PureDP(0))
        assert planned.loss(1) <= ApproxDP(1, "1e-6")
        quoted = quote_report(planned)
        assert quoted.loss == planned.loss(1)
        assert str(quoted)
        rehearse_report(planned)


@pytest.mark.parametrize("loss", [PureDP(1), ZCDP("1/2"), ApproxDP(1, "1e-6"), ApproxDP(1, "1e-30")], ids=str)
def test_the_queries_of_a_report_share_the_loss(loss: Loss) -> None:
    text = f"SELECT region, COUNT(*) / (SELECT COUNT(*) FROM visits) AS s {WHERE} GROUP BY region"
    for noise in ("auto", *(("gaussian",) if isinstance(loss, ZCDP) else ("laplace",))):
        report = parse_request(text, CLINIC)
        assert isinstance(report, Report)
        planned = plan_report(report, loss, noise=noise)
        assert len(planned.answers) == 2
        assert planned.loss(1) <= loss
        assert planned.answers[0].target == planned.answers[1].target
    first, second = plan_report(report, PureDP(1), shares={"release_1": 3, "release_2": 1}).answers
    assert (first.loss(1), second.loss(1)) == (PureDP("3/4"), PureDP("1/4"))
    with pytest.raises(InvalidParameter, match="release_2"):
        plan_report(report, PureDP(1), shares={"release_1": 1})
    with pytest.raises(InvalidParameter, match="above 0"):
        plan_report(report, PureDP(0))
    with pytest.raises(NoGuarantee):
        ReportAnswer(report=report, target=PureDP(1), noise="gaussian")


def test_discovered_groups_take_their_delta_from_the_stated_one() -> None:
    text = "SELECT note, COUNT(*) AS n, SUM(COUNT(*)) OVER () AS t FROM visits GROUP BY ROLLUP (note)"
    other = "SELECT UPPER(note) AS u, COUNT(*) FROM visits GROUP BY u"
    twice = f"SELECT COUNT(*) FROM ({text}) UNION ALL SELECT COUNT(*) FROM ({other})"
    for noise in ("laplace", "gaussian"):
        report = parse_request(twice, CLINIC)
        assert isinstance(report, Report)
        planned = plan_report(report, ApproxDP(4, "1e-3"), noise=noise)
        assert planned.loss(1) <= ApproxDP(4, "1e-3")
        # The total of ROLLUP is measured by itself, and discovers nothing.
        assert [answer.design.discovery is None for answer in planned.answers].count(True) == 1
    with pytest.raises(Unanswerable, match="delta"):
        plan_report(report, PureDP(1))


def test_with_rollup_means_rollup_of_all_that_is_grouped_by() -> None:
    texts = [f"SELECT smoker, COUNT(*) AS n {WHERE} GROUP BY {by}" for by in ("ROLLUP (smoker)", "smoker WITH ROLLUP")]
    assert parse_request(texts[0], LOOSE) == parse_request(texts[1], LOOSE)


def test_an_identical_query_is_released_once() -> None:
    report = parse_request(f"SELECT a.n FROM {BY_REGION} a JOIN {BY_REGION} b ON a.region = b.region", LOOSE)
    assert isinstance(report, Report)
    assert len(report.queries) == 1
    one = parse_request(f"SELECT region, n * 2 AS m FROM {BY_REGION} WHERE n > 3 ORDER BY m", LOOSE)
    assert isinstance(one, Query)  # what a query shows of its own answer stays one query


HOSTILE: tuple[Any, ...] = (None, 0, 1, -5, 2**62, -(2**63), 1e308, -1e308, 0.1, -0.0, 5e-324)
ENDS = (-math.inf, -(10**30), -1.5, 0, 3, 1e308, math.inf)


def hostile(view: ViewRelease, source: random.Random) -> Rows:
    """Return a released table of odd numbers and ends."""
    many = 1 if view.is_single else source.randrange(6)
    columns = {}
    for name, kind in view.columns.items():
        if not kind.is_number:
            columns[name] = Cells([source.choice([None, True, False] if kind is Kind.BOOLEAN else [None, "", "north"])])
            columns[name] = columns[name].taken([source.choice([0, None]) for _ in range(many)])
            continue
        values = [source.choice(HOSTILE) for _ in range(many)]
        ends = [sorted(source.choice(ENDS) for _ in range(2)) for _ in range(many)]
        low, high = (
            [None if v is None else pair[side] for v, pair in zip(values, ends, strict=True)] for side in (0, 1)
        )
        columns[name] = Cells(values, [source.choice(HOSTILE) for _ in range(many)], low, high, True, True)
    return Rows(columns, many)


def test_nothing_that_is_released_makes_a_view_raise() -> None:
    source = random.Random(5)
    places = [tuple(row[name] for name in ("region", "country", "people")) for row in tables()["places"]]
    for text in TEXTS:
        report = parse_request(text, LOOSE)
        assert isinstance(report, Report)
        releases = {view.release: view for view in _leaves(report.view)}
        for _ in range(5):
            made = {name: hostile(view, source) for name, view in releases.items()}
            rows = Evaluation(made, {"places": places}).rows(report.view)
            for cells in rows.columns.values():
                assert {len(part) for part in (cells.shown, cells.raw, cells.low, cells.high)} == {rows.size}
                assert not any(isinstance(value, float) and not math.isfinite(value) for value in cells.shown)


def _leaves(view: View) -> list[ViewRelease]:
    return [view] if isinstance(view, ViewRelease) else [leaf for part in view.below() for leaf in _leaves(part)]


def test_retries_and_equal_releases_give_the_same_table() -> None:
    planned = asked(f"SELECT region, n, RANK() OVER (ORDER BY n) AS r FROM {BY_REGION}", PureDP(1))
    out = Runner(Use(planned), system_noise())(planned, ENGINE)
    assert present_report(planned, out).to_json() == present_report(planned, out).to_json()


def test_sums_over_released_rows_are_made_of_what_was_drawn() -> None:
    """Counts below 0 are shown as 0; their sum is of the drawn ones, and is moved into its interval."""
    report = parse_request(
        "SELECT SUM(n) AS s, AVG(n) AS m, MAX(n) AS x FROM (SELECT region, COUNT(*) AS n FROM visits GROUP BY region)",
        LOOSE,
    )
    assert isinstance(report, Report)
    cells = Cells([0, 0, 7], [-4, -1, 7], [0, 0, 2], [3, 6, 12], True, True)
    found = Evaluation({"release_1": Rows({"region": Cells(["a", "b", "c"]), "n": cells}, 3)}, {}).rows(report.view)
    assert [(c.shown, c.raw, c.low, c.high) for c in found.columns.values()] == [
        ([2], [2], [2], [21]),
        ([pytest.approx(2 / 3)], [pytest.approx(2 / 3)], [pytest.approx(2 / 3)], [pytest.approx(7)]),
        ([7], [7], [2], [12]),
    ]


COVERED = [
    f"SELECT region, n * 1.0 / SUM(n) OVER () AS share, (SELECT COUNT(*) FROM visits) AS t FROM {BY_REGION}",
    f"SELECT SUM(n) AS s, AVG(n) AS m, MAX(n) AS x, MEDIAN(n) AS d FROM {BY_REGION}",
    f"SELECT region, n - LAG(n) OVER (ORDER BY region) AS change FROM {BY_REGION} ORDER BY region",
]
RUNS = 150


@pytest.mark.statistical(
    n=RUNS, false_alarm=3e-9, miss=1e-9, catches="a failure probability that is not shared by all queries and numbers"
)
@pytest.mark.parametrize("text", COVERED)
def test_all_intervals_of_a_report_hold_at_once(text: str) -> None:
    """n = 150 releases; the twin reads answers of epsilon 0.2 as if they were of epsilon 2."""
    truth = answered(text)
    planned, loud = asked(text, PureDP(2)), asked(text, PureDP("1/5"))

    def trials(one: ReportAnswer) -> Iterator[bool]:
        while True:
            out = Runner(Use(one), system_noise())(one, ENGINE)
            yield bool(covers(present_report(planned, out, confidence="0.8"), truth))

    assert looks.covers(trials(planned), 0.8, most=RUNS, false_alarm=1e-9)
    assert not looks.covers(trials(loud), 0.8, most=RUNS, false_alarm=1e-9)


@pytest.mark.statistical(
    n=RUNS, false_alarm=9e-10, miss=1e-9, catches="an interval of a ratio that holds as often as that of one number"
)
def test_each_interval_of_rows_that_are_computed_one_by_one_holds_by_itself() -> None:
    """n = 150 releases of three shares and their total; the twin reads epsilon 0.2 as if it were epsilon 2."""
    text = f"SELECT region, COUNT(*) * 1.0 / (SELECT COUNT(*) FROM visits) AS share {WHERE} GROUP BY region"
    truth = [row[1] for row in answered(text).rows]
    planned, loud = asked(text, PureDP(2)), asked(text, PureDP("1/5"))
    for drawn, is_refuted in ((planned, False), (loud, True)):
        hits = [0, 0, 0]
        for _ in range(RUNS):
            out = Runner(Use(drawn), system_noise())(drawn, ENGINE)
            ends: Any = present_report(planned, out, confidence="0.8").interval("share")
            hits = [many + (low <= true <= high) for many, true, (low, high) in zip(hits, truth, ends, strict=True)]
        assert any(coverage_is_refuted(one, RUNS, 0.8, 3e-10) for one in hits) == is_refuted


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        (f"SELECT region, COUNT(*) / (SELECT COUNT(*) FROM visits) AS s {WHERE} GROUP BY region ORDER BY region", 2),
        (f"SELECT a.n, b.n AS m, a.n - b.n AS d FROM {BY_REGION} a JOIN {BY_REGION} b ON a.region = b.region", 2),
        (f"SELECT a.n FROM {BY_REGION} a JOIN {BY_REGION} b ON a.n < b.n", None),
        (f"SELECT region, n FROM {BY_REGION} UNION ALL SELECT 'all', COUNT(*) FROM visits", 1),
        (f"SELECT region, n FROM {BY_REGION} UNION SELECT 'all', COUNT(*) FROM visits", None),
        (f"SELECT region, smoker, COUNT(*) AS n, SUM(age) / COUNT(*) AS m {WHERE} GROUP BY CUBE (region, smoker)", 2),
        (f"SELECT region, COUNT(*) AS n {WHERE} GROUP BY ROLLUP (region) ORDER BY n", None),
        (f"SELECT SUM(n) FROM {BY_REGION}", None),
        ("SELECT COUNT(*) FROM places", 0),
        (f"SELECT region, RANK() OVER (ORDER BY n) AS r FROM {BY_REGION}", None),
    ],
)
def test_intervals_hold_at_once_where_a_cell_may_depend_on_many_numbers(text: str, numbers: int | None) -> None:
    planned = asked(text)
    assert numbers_in_cells(planned.report) == numbers
    result = present_report(planned, Runner(Use(planned), system_noise())(planned, ENGINE))
    assert result.is_simultaneous == (numbers is None)


def covers(result: QueryResult, truth: QueryResult) -> bool:
    return all(
        low is None or true is None or low - 1e-9 <= true <= high + 1e-9  # type: ignore[operator]
        for lows, highs, row in zip(result.low, result.high, truth.rows, strict=True)
        for low, high, true in zip(lows, highs, row, strict=True)
    )


def test_what_has_no_interval_says_so() -> None:
    result = answered(f"SELECT region, n, RANK() OVER (ORDER BY n) AS r, COUNT(*) OVER () AS k FROM {BY_REGION}")
    assert result.interval("r")[0] == (None, None)
    assert "r has no interval: it is computed from several released numbers" in result.notes
    assert result.interval("n")[0] != (None, None)
    assert [column.is_key for column in result.columns] == [True, False, False, False]


REFUSED = [
    ("SELECT region, age FROM visits UNION ALL SELECT region, 1 FROM visits", "UNION of private rows"),
    ("SELECT region, age FROM visits UNION ALL SELECT region, people FROM places", "UNION of private rows"),
    (
        f"SELECT v.region, COUNT(*) FROM visits v JOIN {BY_REGION} r ON v.region = r.region GROUP BY v.region",
        "released",
    ),
    (f"SELECT n FROM {BY_REGION} WHERE n > (SELECT n FROM {BY_REGION})", "must have one row"),
    (f"SELECT n FROM {BY_REGION} WHERE n > (SELECT * FROM {BY_REGION} LIMIT 1)", "several columns"),
    (f"SELECT nope FROM {BY_REGION}", "region, n, s"),
    (f"SELECT region, SUM(n) FROM {BY_REGION}", "neither grouped by nor inside an aggregate"),
    (f"SELECT MODE(region) FROM {BY_REGION}", "MODE of released rows"),
    (f"SELECT SUM(region) FROM {BY_REGION}", "of numbers"),
    (f"SELECT n FROM {BY_REGION} a JOIN {BY_REGION} b ON a.n = b.n", "clear: one of a.n, b.n"),
    (f"SELECT region FROM {BY_REGION} UNION ALL SELECT n FROM {BY_REGION}", "of one kind"),
    (f"SELECT region, n FROM {BY_REGION} UNION ALL SELECT n FROM {BY_REGION}", "the same number on both sides"),
    (f"SELECT DISTINCT ON (region) region FROM {BY_REGION} JOIN places USING (region)", "DISTINCT ON"),
    (f"SELECT SUM(n) OVER (ORDER BY n RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) FROM {BY_REGION}", "ROWS BETWEEN"),
    (f"SELECT n FROM {BY_REGION} WHERE RANK() OVER (ORDER BY n) = 1", "a window in WHERE"),
    (f"SELECT n FROM {BY_REGION} OFFSET -1", "OFFSET"),
    ("SELECT region, COUNT(*) FROM visits GROUP BY ROLLUP (id, region)", "row about every person"),
    ("SELECT 10 + id, COUNT(*) FROM visits GROUP BY 10 + id", "row about every person"),
    (f"SELECT region FROM {BY_REGION} GROUP BY ROLLUP (region)", "of released rows"),
    ("SELECT GROUPING(age), COUNT(*) FROM visits GROUP BY ROLLUP (region)", "GROUPING of what is not grouped by"),
    ("SELECT COUNT(*) FROM visits GROUP BY CUBE (region, smoker, age, day, cost, change)", "32 groupings"),
    ("SELECT x FROM places", "region, country, people"),
    ("SELECT region", "without FROM"),
    (
        "SELECT region, APPROX_TOP_K(smoker, 2) AS t, RANK() OVER (ORDER BY COUNT(*)) FROM visits GROUP BY region",
        "list",
    ),
    ("SELECT * FROM places, nowhere", "nowhere"),
    ("SELECT * FROM elsewhere.places", "elsewhere"),
    ("SELECT region FROM places ORDER BY 2", "a position from 1 to 1"),
]


@pytest.mark.parametrize(("text", "reason"), REFUSED)
def test_what_cannot_be_answered_is_refused_before_anything_is_priced(text: str, reason: str) -> None:
    with pytest.raises(DitherError) as refusal:
        parse_request(text, CLINIC)
    assert reason in str(refusal.value)
    assert "Token" not in str(refusal.value)


def test_public_tables_are_free_and_read_as_they_are() -> None:
    planned = asked("SELECT * FROM places")
    assert planned.loss(1) == PureDP(0)
    out = Runner(Use(planned), system_noise())(planned, ENGINE)
    assert out == Reported((), (("places", (("north", "A", 0), ("south", "B", 100))),))
    result = present_report(planned, out)
    assert not result.is_simultaneous
    assert all(column.is_key for column in result.columns)
    twice = ReferenceEngine(LOOSE, {**tables(), "places": [*tables()["places"], *tables()["places"]]})
    assert answered("SELECT COUNT(*) FROM places", engine=twice).rows == ((4,),)


def test_a_name_with_its_data_set_is_the_table_and_not_a_subquery_of_that_name() -> None:
    hidden = "WITH places AS (SELECT region, COUNT(*) AS n FROM visits GROUP BY region)"
    planned = asked(f"{hidden} SELECT * FROM {LOOSE.name}.places")
    assert planned.loss(1) == PureDP(0)
    assert planned.report == asked("SELECT * FROM places").report


def test_a_public_table_that_is_too_long_is_refused_before_the_charge(monkeypatch: pytest.MonkeyPatch) -> None:
    planned = asked("SELECT COUNT(*) FROM places")
    planned.check_public(ENGINE)
    monkeypatch.setattr(mechanism, "MOST_PUBLIC", 1)
    with pytest.raises(InvalidParameter, match="at most 1 rows"):
        planned.check_public(ENGINE)


def test_public_rows_are_never_counted_as_private_ones() -> None:
    places = LOOSE.table("places")
    report = parse_request(f"SELECT AVG(n) FROM {BY_REGION}", LOOSE)
    assert isinstance(report, Report)
    query = report.queries[0][1]
    with pytest.raises(InvalidParameter, match="private rows"):
        Query(LOOSE, PublicScan(places), (), query.aggregates[:1], (("n", Name("n")),), query.limits)
    with pytest.raises(InvalidParameter, match="a public table"):
        PublicScan(LOOSE.table("visits"))
    assert Aggregation(PublicScan(places), (), (CountRows(),)).relation.columns == places.kinds


def test_a_report_names_only_what_it_releases() -> None:
    report = parse_request(f"SELECT AVG(n) FROM {BY_REGION}", LOOSE)
    assert isinstance(report, Report)
    other = ViewRelease("other", (("n", Kind.INTEGER),))
    with pytest.raises(InvalidParameter, match="release_1"):
        Report(LOOSE, report.queries, ViewSelect(other, (("n", Name("n")),)))
    with pytest.raises(InvalidParameter, match="about"):
        Report(CLINIC, report.queries, report.view)
    with pytest.raises(InvalidParameter, match="at least one column"):
        Report(LOOSE, report.queries, ViewOne())
    with pytest.raises(InvalidParameter, match="different names"):
        Report(LOOSE, report.queries * 2, report.view)


def test_a_join_ends_at_a_public_number_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    from dither.publish.queries.reports import evaluation

    report = parse_request(f"SELECT COUNT(*) AS k FROM {BY_REGION} a, {BY_REGION} b", LOOSE)
    assert isinstance(report, Report)
    rows = Rows({"region": Cells(["a"] * 20), "n": Cells([1] * 20), "s": Cells([1] * 20)}, 20)
    monkeypatch.setattr(evaluation, "MOST_ROWS", 100)
    made = Evaluation({report.queries[0][0]: rows}, {})
    assert made.rows(report.view).columns["k"].shown == [100]
    assert any("ends there" in note for note in made.notes)
    assert MOST_ROWS == 10**6


def test_a_report_that_would_take_long_is_refused_before_it_is_priced() -> None:
    table = "(SELECT age, change, COUNT(*) AS n FROM visits GROUP BY age, change)"
    big = f"SELECT COUNT(*) FROM {table} a, {table} b WHERE a.n > b.n"
    with pytest.raises(Unanswerable, match="steps"):
        asked(big)


def test_the_confidence_of_a_report_is_shared_by_its_queries() -> None:
    text = f"SELECT n, (SELECT COUNT(*) FROM visits) AS t FROM {BY_REGION} QUALIFY RANK() OVER (ORDER BY n) = 1"
    planned = asked(text, PureDP(1))
    result = present_report(planned, Runner(Use(planned), system_noise())(planned, ENGINE))
    assert result.confidence == Fraction(19, 20)
    one = next(answer for (_, query), answer in zip(planned.queries, planned.answers, strict=True) if not query.keys)
    low, high = result.interval("t")[0]
    assert high - low == 2 * int(one.design.parts[0].drawn().reach(0.05 / 2))  # type: ignore[operator]


def test_a_text_that_one_query_answers_is_that_query() -> None:
    """What was asked before is asked as before: the same record, the same price, the same intervals."""
    texts = [*meaning.AGGREGATES, *meaning.GROUPS, *meaning.PERSONS, *meaning.JOINS, *meaning.SHOWN]
    for text in texts:
        assert parse_request(text, CLINIC) == parse_sql(text, CLINIC), text

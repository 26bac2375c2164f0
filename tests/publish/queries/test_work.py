"""Pricing ends: whatever a query says, it is priced or refused within a public number of steps."""

# ruff: noqa: S608 - statements are made up here
from __future__ import annotations

import contextlib
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither.errors import DitherError, InvalidParameter, Unanswerable
from dither.publish.queries import work
from dither.publish.queries.builder import col, table
from dither.publish.queries.found_clamps import found_clamps
from dither.publish.queries.sql import parse_sql, request
from dither.publish.queries.sql.parse import parse_statement
from dither.publish.queries.sql.privacy_clause import agreed_loss
from dither.publish.queries.terms import share_of
from tests.publish.queries.exact import CLINIC

NINES = "9" * 4500


def steps_of(sql: str) -> int:
    """Return how many steps a query takes to be made or refused, which nothing but our errors does."""
    with work.planning() as done, contextlib.suppress(DitherError):
        parse_sql(sql, CLINIC)
    return done.steps


def assert_ends(sql: str) -> None:
    """Check that a query is priced within the ceiling or refused; steps are counted before they are taken."""
    is_refused = False
    with work.planning() as done:
        try:
            parse_sql(sql, CLINIC)
        except DitherError:
            is_refused = True
    assert is_refused or done.steps <= work.MOST_STEPS


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM visits WHERE cost < 1e999999999",
        "SELECT COUNT(*) FROM visits WHERE cost < 1e-999999999",
        f"SELECT COUNT(*) FROM visits WHERE age < {NINES}",
        f"SELECT COUNT(*) FROM visits WHERE cost < 0.{NINES}",
        f"SELECT COUNT(*) FROM visits ORDER BY {NINES}",
        f"SELECT COUNT(*) FROM visits GROUP BY {NINES}",
        f"SELECT COUNT(*) FROM visits LIMIT {NINES}",
        f"SELECT COUNT(*) FROM visits WHERE day < DATE '2024-01-01' + INTERVAL '{NINES}' DAY",
        f"SELECT COUNT(*) FROM visits WHERE day < DATE '2024-01-01' + INTERVAL '{NINES * 20}'",
        f"SELECT COUNT(*) FROM visits WHERE age < CAST('{NINES}' AS INTEGER)",
        "SELECT QUANTILE(age, 1e999999999) FROM visits",
    ],
)
def test_a_number_beyond_the_limits_is_refused_by_name_wherever_it_stands(sql: str) -> None:
    with pytest.raises((InvalidParameter, Unanswerable)):
        parse_sql(sql, CLINIC)


@pytest.mark.parametrize("share", ["1e999999999", "nan", "2", "1/0", NINES])
def test_a_share_beyond_the_limits_is_refused_by_name(share: str) -> None:
    with pytest.raises(InvalidParameter, match="share must be"):
        share_of(share)


@pytest.mark.parametrize(
    "step", ["age + age", "CASE WHEN age > 3 THEN age ELSE age - age END", "CLAMP(age, 0, 9) + age"]
)
def test_stacked_subqueries_take_steps_in_proportion_to_their_number(step: str) -> None:
    """Looking a column up anew wherever it is read would double the steps with every level."""

    def stacked(levels: int) -> str:
        sql = "SELECT id, age FROM visits"
        for _ in range(levels):
            sql = f"SELECT id, {step} AS age FROM ({sql})"
        return f"SELECT SUM(CLAMP(age, 0, 9)) FROM ({sql})"

    four, eight, twenty = (steps_of(stacked(levels)) for levels in (4, 8, 20))
    per_level = (eight - four) / 4
    assert twenty - eight <= 13 * per_level
    assert twenty < 5_000


#: Forms that read what they are given several times, so that nesting them multiplies the tree.
NESTED = {
    "number": [
        *("SQUARE({n})", "CLAMP({n}, 0, 5)", "CASE {n} WHEN 1 THEN 1 WHEN 2 THEN {n} END", "ROUND({n}, 2)", "({n})"),
        *("CASE WHEN {b} THEN {n} ELSE {n} END", "COALESCE({n}, {n})", "LEAST({n}, {n}, 3)", "{n} + {n}", "-{n}"),
        *("CAST({b} AS INTEGER)", "LENGTH(CAST(FLOOR({n}) AS VARCHAR) || 'x')", "NULLIF({n}, 1)", "POWER({n}, 2)"),
        "DATEDIFF('month', DATE '2024-01-01', DATE '2024-01-01' + CAST({n} AS INTEGER))",
    ],
    "truth": [
        *("({b} IS NOT DISTINCT FROM {b})", "({n} BETWEEN {n} AND 9)", "({n} IN (1, 2, {n}))", "(NOT {b})", "{n} > 1"),
        *("({b} AND {b})", "({b} OR {b})", "({n} IS NULL)", "CAST(FLOOR({n}) AS VARCHAR) LIKE '%1%2%3'"),
    ],
}


@st.composite
def expressions(draw: st.DrawFn, most: int = 14) -> str:
    """Return an expression that grows by repeating what it is made of, as far as the text may be long."""
    number, truth = "age", "(age > 1)"
    for _ in range(draw(st.integers(1, most))):
        form = draw(st.sampled_from(NESTED["number"]))
        longer = form.format(n=number, b=truth)
        if len(longer) > 20_000:
            break
        wider = draw(st.sampled_from(NESTED["truth"])).format(n=number, b=truth)
        number, truth = longer, wider if len(wider) < 20_000 else truth
    return number


@settings(max_examples=20, deadline=None)
@given(inner=expressions(), levels=st.integers(0, 6), shape=st.sampled_from(["sum", "group", "join", "with"]))
def test_whatever_is_nested_is_priced_or_refused_within_the_ceiling(inner: str, levels: int, shape: str) -> None:
    rows = "SELECT id, age, cost FROM visits"
    for _ in range(levels):
        rows = f"SELECT id, {inner if len(rows) + len(inner) < 60_000 else 'age + 1'} AS age, cost FROM ({rows})"
    sql = {
        "sum": f"SELECT SUM({inner}) FROM ({rows})",
        "group": f"SELECT {inner} AS k, COUNT(*) FROM ({rows}) GROUP BY 1",
        "join": f"SELECT SUM(CLAMP(a.age, 0, 9)) FROM ({rows}) a JOIN ({rows}) b ON a.id = b.id AND a.age < b.age",
        "with": f"WITH w AS ({rows}) SELECT COUNT(*) FROM w WHERE {inner} > 1 AND id IN (SELECT id FROM w)",
    }[shape]
    # The rule is the same for a lower ceiling, and the test is shorter.
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(work, "MOST_STEPS", 20_000)
        patched.setattr(work, "LARGEST_EXPRESSION", 5_000)
        assert_ends(sql[:99_000])


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT {} FROM visits".format(", ".join(f"SUM(age + {i})" for i in range(900))),
        "SELECT COUNT(*) FROM (SELECT {} FROM visits)".format(", ".join(f"age + {i}" for i in range(2500))),
        "SELECT COUNT(*) FROM visits GROUP BY {}".format(", ".join(f"age + {i}" for i in range(500))),
        "SELECT SUM(CASE {} END) FROM visits".format(" ".join(f"WHEN age > {i} THEN age" for i in range(250))),
        "SELECT age, COUNT(*) FROM visits WHERE age IN ({}) GROUP BY age".format(", ".join(map(str, range(5000)))),
        "SELECT SUM({}) FROM visits".format("SQUARE(" * 45 + "age" + ")" * 45),
        "SELECT SUM({}) FROM visits".format("CLAMP(" * 45 + "age" + ", 0, 9)" * 45),
        "SELECT SUM(CAST({} AS INTEGER)) FROM visits".format("(" * 45 + "smoker" + " IS NOT DISTINCT FROM TRUE)" * 45),
        "SELECT SUM({}) FROM visits".format("CASE " * 45 + "age" + " WHEN 1 THEN 1 WHEN 2 THEN 2 END" * 45),
        "WITH {} SELECT SUM(age) FROM c9".format(
            ", ".join(
                f"c{i} AS (SELECT a.id, b.age FROM c{i - 1} a JOIN c{i - 1} b ON a.id = b.id)"
                if i
                else "c0 AS (SELECT id, age FROM visits)"
                for i in range(10)
            )
        ),
    ],
)
def test_wide_long_and_doubling_queries_end_within_the_ceiling(sql: str) -> None:
    assert_ends(sql)


@pytest.mark.parametrize("form", ["SQUARE({})", "CLAMP({}, 0, 9)", "CAST({} BETWEEN 0 AND 1 AS INTEGER)"])
def test_what_is_read_twice_at_every_level_is_refused_before_it_is_written_out(form: str) -> None:
    value = "age"
    for _ in range(25):
        value = form.format(value)
    with pytest.raises(Unanswerable, match=r"parts, written out|steps to price"):
        parse_sql(f"SELECT SUM({value}) FROM visits", CLINIC)


def test_what_is_shown_of_many_groups_is_refused_before_the_charge_if_it_takes_too_long() -> None:
    """A million groups, and a condition of thousands of parts on each of them."""
    having = " AND ".join(f"n > {number}" for number in range(2000))
    sql = f"SELECT a, b, COUNT(*) AS n FROM visits GROUP BY a, b HAVING {having}".replace(
        "a, b", "age, age * 100 + change"
    )
    with pytest.raises(Unanswerable, match=r"steps to price|combinations"):
        parse_sql(sql, CLINIC)


GROWING = "REPLACE(" * 12 + "{}" + ", 'n', 'nnnnnnnnnn')" * 12


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT {GROWING.format('region')} AS k, COUNT(*) FROM visits GROUP BY 1",
        f"SELECT COUNT(*) FROM visits WHERE note LIKE {GROWING.format(repr('n'))}",
        f"SELECT region, COUNT(*) FROM visits WHERE LENGTH({GROWING.format('region')}) > 3 GROUP BY region",
    ],
)
def test_no_text_of_the_request_outgrows_the_memory_while_it_is_priced(sql: str) -> None:
    """Ten times as long twelve times over: a region of one letter would have 10^12."""
    with pytest.raises(Unanswerable):
        parse_sql(sql, CLINIC)


def test_long_texts_of_many_groups_are_refused_before_the_charge() -> None:
    """A text of a million letters for each of thousands of groups would not fit into memory."""
    grown = "REPLACE(" * 5 + "region" + ", 'n', 'nnnnnnnnnn')" * 5
    sql = f"SELECT region, day, {grown} AS long, COUNT(*) FROM visits GROUP BY region, day"
    with pytest.raises(Unanswerable, match="steps to price"):
        parse_sql(sql, CLINIC)


def test_the_builder_counts_the_same_steps_and_refuses_the_same_trees() -> None:
    value = col("age")
    for _ in range(60):
        value = value * value
    with pytest.raises(Unanswerable, match="parts, written out"):
        table("visits").sum(value).build(CLINIC)


def test_the_number_of_steps_does_not_depend_on_what_was_asked_before() -> None:
    sql = "SELECT region, SUM(CLAMP(age, 0, 9)) FROM visits GROUP BY region"
    assert steps_of(sql) == steps_of(sql)


def test_every_item_of_a_list_literal_and_column_counts() -> None:
    few, many = (f"SELECT COUNT(*) FROM visits WHERE age IN ({', '.join(map(str, range(n)))})" for n in (10, 110))
    # A number and its comma are two tokens of two steps each, and the number is translated.
    assert steps_of(many) - steps_of(few) >= 100 * 5
    one, two = (f"SELECT COUNT(*) AS n, {', '.join(f'{i} AS c{i}' for i in range(n))} FROM visits" for n in (10, 110))
    assert steps_of(two) - steps_of(one) >= 100 * 16
    with pytest.raises(Unanswerable, match="steps to price"):
        parse_sql(f"SELECT COUNT(*) AS n, {', '.join(f'{i} AS c{i}' for i in range(6000))} FROM visits", CLINIC)


def test_a_text_is_read_once_however_often_it_is_asked_within_one_request(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    class Counted(request.Parsed):
        def __init__(self, text: str) -> None:
            read.append(text)
            super().__init__(text)

    monkeypatch.setattr(request, "Parsed", Counted)
    sql = "SELECT COUNT(*) FROM visits WHERE age > 3"
    with work.planning():
        found = [request.parse_request(sql, CLINIC) for _ in range(3)]
    assert len(read) == 1
    assert found[0] is found[2]
    assert request.parse_request(sql, CLINIC) == found[0]
    assert len(read) == 2


def test_a_request_that_computes_too_long_is_refused_even_where_that_was_caught() -> None:
    def plan(caught: type[Exception]) -> None:
        with work.planning(0), contextlib.suppress(caught):
            while True:
                work.step()

    for caught in (KeyError, DitherError):
        with pytest.raises(Unanswerable, match="0 seconds of computing"):
            plan(caught)
    with work.planning(3600) as done:
        work.step(10_000)
    assert done.steps == 10_000


def test_what_nobody_waits_for_is_given_up_by_what_no_planner_catches() -> None:
    answers, taken = iter([True, True, False]), 0

    def plan() -> None:
        nonlocal taken
        with work.while_wanted(lambda: next(answers)), work.planning():
            while True:
                with contextlib.suppress(Exception):
                    taken += 1
                    work.step()

    with pytest.raises(work.PlanningAbandoned):
        plan()
    assert 0 < taken < 2000
    # Whoever plans without a caller is asked nothing.
    with work.planning():
        work.step(10_000)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM visits" + " JOIN visits" * 18,
        "SELECT COUNT(*) FROM visits" + " LEFT JOIN visits" * 18,
        "SELECT " + "DECIMAL(" * 14 + "1" + ")" * 14 + " FROM visits",
        "SELECT COUNT(*) FROM visits GROUP BY CUBE(" + ", ".join(["region"] * 22) + ")",
        "SELECT COUNT(*) FROM visits GROUP BY " + ", ".join(["ROLLUP(region)"] * 18),
        "SELECT COUNT(*) FROM visits GROUP BY ROLLUP(" + ", ".join(["region"] * 3000) + ")",
    ],
)
def test_what_doubles_with_every_word_of_a_short_text_is_counted(sql: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader of SQL goes back and reads again within what it reads again, and CUBE has 2^n groupings."""
    monkeypatch.setattr(work, "MOST_STEPS", 50_000)
    with pytest.raises(Unanswerable, match="steps to price"):
        request.parse_request(sql, CLINIC)


def test_reading_a_text_for_its_loss_alone_is_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "MOST_STEPS", 50_000)
    with pytest.raises(Unanswerable, match="steps to price"):
        agreed_loss("SELECT /* OPTIONS */ " + "DECIMAL(" * 14 + "1" + ")" * 14 + " FROM visits")


def test_comments_before_a_statement_are_read_once() -> None:
    """Each could also go on to the end of the next: 2^n ways for n, in one call that nothing interrupts."""
    began = time.thread_time()
    assert not parse_statement("/**/" * 22 + "SELECT 1").is_explained
    assert parse_statement("/**/" * 20_000 + "EXPLAIN /**/ PRIVACY SELECT 1").is_explained
    assert time.thread_time() - began < 0.5


def test_looking_for_found_clamps_takes_time_in_proportion_to_the_text() -> None:
    began = time.thread_time()
    assert found_clamps("SELECT 1" + ", AUTO)" * 4_000, CLINIC) is None
    assert time.thread_time() - began < 5

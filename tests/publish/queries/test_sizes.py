"""How much a query may ask for is public: aggregates, the width of its rows, what one person's rows may cost."""

# ruff: noqa: S608 - statements are made up here
from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dither.curator.folder import Curator
from dither.data import Column, DataSet, Kind, Name, Table
from dither.data.schema import person_unit
from dither.errors import DitherError, InvalidParameter, Unanswerable
from dither.privacy import ApproxDP, PureDP
from dither.publish.queries import plan_query, quote, sizes, work
from dither.publish.queries.builder import col, table
from dither.publish.queries.measures import Measured
from dither.publish.queries.partition import plan_partitioned
from dither.publish.queries.query import Query
from dither.publish.queries.sql import parse_sql
from tests.publish.queries.exact import CLINIC

# The width of rows.


def oracle(keys: int, letters: int, joins: int = 7) -> str:
    """Return a query whose rows are wide exactly where one person's cell says so."""
    tables = "visits a " + " ".join(f"JOIN visits b{i} ON a.id = b{i}.id" for i in range(joins))
    wide = f"CASE WHEN a.id = 7 AND a.smoker THEN REPLACE('{'a' * letters}', 'a', '{'b' * letters}') END"
    order = ", ".join(f"t || '{place}'" for place in range(keys))
    rows = f"SELECT a.id, {wide} AS t FROM {tables}"
    ranked = f"SELECT id, ROW_NUMBER() OVER (PARTITION BY id ORDER BY {order}) r FROM ({rows})"
    return f"SELECT COUNT(*) FROM ({ranked}) WHERE r = 1"


REFUSED = {
    "many long sort keys over joins": oracle(20, 1000),
    "many shorter sort keys over joins": oracle(20, 40),
    "one sort key over joins": oracle(1, 120),
    "one sort key": oracle(1, 90, joins=0),
    "a long text that only its length is shown of": (
        f"SELECT SUM(CLAMP(LENGTH(REPLACE(note, 'a', '{'b' * 100}')), 0, 9)) FROM visits"
    ),
    "a condition": f"SELECT COUNT(*) FROM visits WHERE REPLACE(note, 'a', '{'b' * 100}') = 'b'",
    "a join to a public table": (
        f"SELECT COUNT(*) FROM visits JOIN places ON REPLACE(visits.note, 'a', '{'b' * 100}') = places.region"
    ),
    "the largest text of a person": (
        f"SELECT COUNT(*) FROM (SELECT id, MAX(REPLACE(note, 'a', '{'b' * 30}')) m FROM visits GROUP BY id) "
        "WHERE m > 'a'"
    ),
    "many copies of a column": (
        "SELECT COUNT(*) FROM (SELECT id, {}, ROW_NUMBER() OVER (PARTITION BY id ORDER BY age) r FROM visits) "
        "WHERE r = 1".format(", ".join(f"note AS n{place}" for place in range(60)))
    ),
    "windows over a join": "SELECT COUNT(*) FROM (SELECT a.id, {} FROM visits a JOIN lab b ON a.id = b.person)".format(
        ", ".join(f"MAX(LOWER(a.note)) OVER (PARTITION BY a.id) AS w{i}" for i in range(12))
    ),
    "many patterns": "SELECT COUNT(*) FROM visits WHERE {}".format(
        " AND ".join(f"note LIKE '{'%a_' * 300}{place}'" for place in range(50))
    ),
}

ORDINARY = [
    "SELECT region, COUNT(*) FROM visits WHERE LOWER(TRIM(note)) LIKE '%pain%' AND note LIKE 'no_%' GROUP BY region",
    "SELECT COUNT(*) FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY id ORDER BY LOWER(note), day DESC) r "
    "FROM visits) WHERE r = 1",
    "SELECT AVG(CLAMP(LENGTH(REPLACE(note, ',', ', ')), 0, 100)) FROM visits",
    "SELECT COUNT(*) FROM visits WHERE UPPER(note) || ' ' || region || ' ' || CAST(age AS VARCHAR) > 'M'",
    "SELECT SUM(a.cost) FROM visits a JOIN lab b ON a.id = b.person JOIN visits c ON a.id = c.id "
    "WHERE LOWER(a.note) = LOWER(c.note) AND SUBSTRING(a.note, 1, 20) <> c.region",
    "SELECT COUNT(*) FROM {} WHERE a.age > 3".format(
        "visits a " + " ".join(f"JOIN visits b{i} ON a.id = b{i}.id" for i in range(7))
    ),
    "SELECT COUNT(*) FROM (SELECT id, {} FROM visits) WHERE w3 = 1".format(
        ", ".join(f"ROW_NUMBER() OVER (PARTITION BY id ORDER BY age + {place}) AS w{place}" for place in range(20))
    ),
]


@pytest.mark.parametrize("name", list(REFUSED))
def test_rows_that_are_too_wide_or_cost_too_much_are_refused_by_name_when_they_are_read(name: str) -> None:
    with pytest.raises(InvalidParameter, match=r"^sql must be limited to .*got .*(bytes|characters)") as refused:
        parse_sql(REFUSED[name], CLINIC)
    assert "compute less or shorter text" in str(refused.value)


@pytest.mark.parametrize("sql", ORDINARY)
def test_ordinary_queries_over_texts_of_usual_length_are_priced(sql: str) -> None:
    assert quote(parse_sql(sql, CLINIC), PureDP(1)).loss <= PureDP(1)


def test_a_curator_who_declares_short_texts_allows_more_of_them() -> None:
    ranked = "SELECT id, {}, ROW_NUMBER() OVER (PARTITION BY id ORDER BY word) r FROM words"
    many = f"SELECT COUNT(*) FROM ({ranked}) WHERE r = 1".format(
        ", ".join(f"LOWER(word || '{place}') AS w{place}" for place in range(20))
    )

    def words(length: int | None) -> DataSet:
        columns = (Column("id", Kind.INTEGER), Column("word", Kind.TEXT, length=length))
        return DataSet("words", (Table("words", columns, "words.csv", person="id"),), person_unit("id"), rows=1)

    assert parse_sql(many, words(50)).aggregates
    with pytest.raises(InvalidParameter, match="bytes of computed text in a row"):
        parse_sql(many, words(None))


def test_the_builder_and_parts_are_held_to_the_same_widths() -> None:
    long = col("note").call("replace", "a", "b" * 100) == "b"
    with pytest.raises(InvalidParameter, match=r"^query must be limited to"):
        quote(table("visits").where(long).count().build(CLINIC), PureDP(1))
    split = table("visits").partition("region", {"cold": ["north"], "warm": ["south"]})
    parts = split.ask(cold=lambda part: part.count(), warm=lambda part: part.where(long).count())
    with pytest.raises(InvalidParameter, match=r"^query of part warm must be limited to"):
        plan_partitioned(parts.build(CLINIC), PureDP(1))


@pytest.mark.parametrize("cell", ["true", "false"])
def test_whether_a_query_is_refused_does_not_depend_on_a_cell_and_costs_nothing(tmp_path: Path, cell: str) -> None:
    """Before there was a bound, one cell decided between an answer and a failure, at any epsilon."""
    columns = (Column("id", Kind.INTEGER), Column("smoker", Kind.BOOLEAN))
    (tmp_path / "v.csv").write_text(f"id,smoker\n1,true\n7,{cell}\n7,false\n")
    visits = Table("visits", columns, str(tmp_path / "v.csv"), person="id")
    dataset = DataSet("clinic", (visits,), person_unit("id"), rows=1)
    with contextlib.closing(Curator.create(tmp_path / "home", anchors=tmp_path / "anchors")) as curator:
        curator.add(dataset, budget=PureDP(1))
        with contextlib.closing(curator.session("clinic", analyst="eve")) as session:
            with pytest.raises(InvalidParameter, match=r"^sql must be limited to text of at most 131,072"):
                session.sql(oracle(20, 1000), epsilon="0.000001")
            assert session.balance().spent.pure == 0


# The number of aggregates, and what it takes to price them.


def correlations(many: int) -> Query:
    sql = ", ".join(f"CORR(cost, age * {place}) AS q{place}" for place in range(1, many + 1))
    return parse_sql(f"SELECT {sql} FROM visits", CLINIC)


def test_more_aggregates_than_the_limit_are_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "MOST_AGGREGATES", 20)  # the rule is the same, and the test is shorter
    sums = ", ".join(f"SUM(age + {place}) AS s{place}" for place in range(20))
    assert len(parse_sql(f"SELECT {sums} FROM visits", CLINIC).aggregates) == 20
    with pytest.raises(InvalidParameter, match=r"^sql must be of at most 20 different aggregates.*got 21"):
        parse_sql(f"SELECT {sums}, COUNT(*) FROM visits", CLINIC)
    # What is asked for twice is measured once.
    assert parse_sql(f"SELECT {', '.join(f'SUM(age) AS s{i}' for i in range(30))} FROM visits", CLINIC).aggregates


def test_a_query_that_nobody_read_is_counted_when_it_is_planned() -> None:
    one = parse_sql("SELECT SUM(age) AS s FROM visits", CLINIC)
    many = tuple(replace(one.aggregates[0], name=f"s{place}") for place in range(sizes.MOST_AGGREGATES + 1))
    with pytest.raises(InvalidParameter, match=r"^query must be of at most 256 different aggregates"):
        plan_query(replace(one, aggregates=many, outputs=(("s", Name("s0")),)), PureDP(1))


def test_more_aggregates_than_the_limit_are_refused_in_the_builder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "MOST_AGGREGATES", 20)
    many: Any = table("visits")
    for place in range(21):
        many = many.sum(col("age") + place)
    with pytest.raises(InvalidParameter, match=r"^query must be of at most 20 different aggregates"):
        many.build(CLINIC)


def test_pricing_compares_measured_parts_in_proportion_to_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking each part up in a list would compare it with all before it."""
    plain, compared = Measured.__eq__, []

    def counting(first: Measured, second: object) -> bool:
        compared.append(1)
        return plain(first, second)

    monkeypatch.setattr(Measured, "__eq__", counting)

    def comparisons(many: int) -> int:
        query = correlations(many)
        compared.clear()
        quote(query, ApproxDP(1, "1e-6"))
        return len(compared)

    ten, twenty = comparisons(10), comparisons(20)
    assert twenty <= 3 * ten + 20


def test_steps_of_pricing_are_counted_and_grow_in_proportion() -> None:
    def steps(many: int) -> int:
        query = correlations(many)
        with work.planning() as done:
            quote(query, ApproxDP(1, "1e-6"))
        return done.steps

    five, ten, twenty = steps(5), steps(10), steps(20)
    assert five >= 5 * 6  # a correlation has six parts
    assert twenty - ten <= 3 * (ten - five)


@pytest.mark.parametrize("form", ["CORR(cost, age + {})", "QUANTILE(age, 0.{:04})", "MEDIAN(age + {})", "MODE(region)"])
def test_pricing_stops_at_the_ceiling(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ", ".join(form.format(place) + f" AS q{place}" for place in range(1, 31))
    query = parse_sql(f"SELECT {asked} FROM visits", CLINIC)
    monkeypatch.setattr(work, "MOST_STEPS", 30)
    with pytest.raises(Unanswerable, match="steps to price"):
        plan_query(query, ApproxDP(1, "1e-6"))


STACKED = [
    "SELECT {} FROM visits".format(", ".join(f"QUANTILE(age, 0.{place:05})" for place in range(1, 200))),
    "SELECT region, {} FROM visits GROUP BY region".format(", ".join(f"STDDEV(cost * {i})" for i in range(1, 30))),
    "SELECT {} FROM (SELECT id, {} FROM visits GROUP BY id)".format(
        ", ".join(f"AVG(CLAMP(s{i}, 0, 9))" for i in range(30)), ", ".join(f"SUM(age + {i}) AS s{i}" for i in range(30))
    ),
    "SELECT {} FROM visits".format(" + ".join(f"CORR(cost, age + {i})" for i in range(30))),
    "SELECT {} FROM visits".format(", ".join(f"MODE(age + {i})" for i in range(30))),
]


@pytest.mark.parametrize("sql", STACKED)
def test_many_and_stacked_aggregates_are_priced_or_refused_within_the_ceiling(sql: str) -> None:
    is_refused = False
    with work.planning() as done:
        try:
            quote(parse_sql(sql, CLINIC), ApproxDP(1, "1e-6"))
        except DitherError:
            is_refused = True
    assert is_refused or 0 < done.steps <= work.MOST_STEPS

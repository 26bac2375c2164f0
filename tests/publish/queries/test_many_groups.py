"""Groups of a large public domain: a run of integers is kept by its ends, and an option leaves empty ones out."""

from __future__ import annotations

import pytest

from dither.data import Column, DataSet, Filter, Keep, Kind, Name, Scan, Table
from dither.data.reference import ReferenceEngine, rows_of
from dither.data.schema import person_unit
from dither.errors import Unanswerable
from dither.mechanisms import Runner
from dither.noise import system_noise
from dither.privacy import ApproxDP, PureDP, Use
from dither.publish.queries import plan_query, present, quote
from dither.publish.queries.groups import kept
from dither.publish.queries.sql import parse_sql
from dither.publish.queries.sql.parse import parse_statement

TABLE = Table(
    "visits",
    (Column("id", Kind.INTEGER), Column("shop", Kind.INTEGER, lower=0, upper=999, nullable=True)),
    "visits.csv",
    person="id",
)
CITY = DataSet("city", (TABLE,), person_unit("id"), rows=2)
TOP = "SELECT shop, COUNT(*) AS n FROM visits GROUP BY shop ORDER BY n DESC LIMIT 3"
#: Two shops with many people, three with one visitor.
ROWS = [{"id": i, "shop": 7 if i % 2 else 400} for i in range(400)] + [{"id": 900 + i, "shop": i} for i in range(3)]


def test_a_run_of_integers_keeps_the_rows_that_the_list_keeps() -> None:
    """Also NULL, and values outside: by its ends and by the list."""
    query = parse_sql(TOP, CITY)
    rows = [{"id": 1, "shop": shop} for shop in (0, 999, 1000, -1, None, 5)]
    made = kept(query, tuple((value,) for value in query.keys[0].values or ()))
    assert isinstance(made, Filter)
    listed = Keep(Scan(TABLE), (Name("shop"),), tuple((value,) for value in query.keys[0].values or ()))
    assert rows_of(made, {"visits": rows}) == rows_of(listed, {"visits": rows})
    assert len(rows_of(made, {"visits": rows})) == 4


def test_gaps_and_texts_are_kept_by_the_list() -> None:
    asked = parse_sql("SELECT shop, COUNT(*) FROM visits WHERE shop IN (1, 3, 5) GROUP BY shop", CITY)
    assert isinstance(kept(asked, tuple((value,) for value in asked.keys[0].values or ())), Keep)


def test_an_option_leaves_empty_groups_of_a_public_domain_out() -> None:
    """1,000 shops are public and 5 have visitors: with few people's noise, discovered ones are the two large ones.

    A shop with one visitor is shown with a probability of delta at most.
    """
    plain, chosen = parse_sql(TOP, CITY), parse_sql(f"{TOP} OPTION (GROUPS = DISCOVERED);", CITY)
    assert not plain.is_discovered
    assert chosen.is_discovered
    answer = plan_query(chosen, ApproxDP(2, "1e-15"))
    found = present(answer, Runner(Use(answer), system_noise())(answer, ReferenceEngine(CITY, {"visits": ROWS})))
    assert set(found.column("shop")) == {7, 400}


def test_the_quote_says_so_before_it_is_paid_for() -> None:
    assert "OPTION (GROUPS = DISCOVERED)" in str(quote(parse_sql(TOP, CITY), PureDP(1)).advice)
    few = "SELECT shop, COUNT(*) AS n FROM visits WHERE shop < 9 GROUP BY shop ORDER BY n DESC LIMIT 3"
    assert "OPTION (GROUPS" not in str(quote(parse_sql(few, CITY), PureDP(1)).advice)


def test_the_option_needs_groups_and_is_no_text() -> None:
    with pytest.raises(Unanswerable, match="without groups"):
        parse_sql("SELECT COUNT(*) FROM visits OPTION (GROUPS = DISCOVERED)", CITY)
    assert not parse_sql(f"{TOP} -- OPTION (GROUPS = DISCOVERED)", CITY).is_discovered
    both = parse_statement(f"{TOP} OPTION (GROUPS = DISCOVERED) OPTION (THRESHOLD_SHARE = 0.4)")
    assert both.threshold_share == "0.4"
    assert parse_sql(both.sql, CITY).is_discovered

"""The threshold of discovered groups comes first in a quote, with what lowers it, and decides a refusal in advance."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pytest

from dither.data import Column, DataSet, Kind, Table
from dither.data.schema import person_unit
from dither.errors import InvalidParameter, Unanswerable
from dither.privacy import ROW, ApproxDP
from dither.publish.queries import plan_query, quote
from dither.publish.queries.shown_groups import chance_of_all
from dither.publish.queries.sql import parse_sql
from dither.verbs.offers import Offers

SALES = Table("sales", (Column("id", Kind.INTEGER), Column("country", Kind.TEXT)), "sales.csv", person="id")
SHOP = DataSet("shop", (SALES,), person_unit("id"), rows=100)
LOSS = ApproxDP("0.5", "1e-6")
TEXT = "SELECT country, COUNT(*) AS n FROM sales GROUP BY country"
ONE = TEXT.replace("SELECT", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_groups_contributed = 1)")
TWICE = "SELECT country, n, RANK() OVER (ORDER BY n) AS r FROM (?) AS t".replace("?", TEXT)


def test_a_quote_names_the_threshold_first_and_what_lowers_it_as_its_first_advice() -> None:
    wide, narrow = quote(parse_sql(TEXT, SHOP), LOSS), quote(parse_sql(ONE, SHOP), LOSS)
    assert wide.threshold is not None
    assert wide.threshold > 5000
    assert "shown only if about " in str(wide).splitlines()[0]
    first = wide.advice[0]
    assert (first.about, first.before, first.after) == ("groups", wide.threshold, narrow.threshold)
    assert "OPTIONS (max_groups_contributed = 1)" in str(first)
    assert all(one.change != first.change for one in narrow.advice), "a limit that is there is not advised"


@pytest.mark.parametrize("text", [TEXT, TWICE])
def test_what_the_declared_people_can_hardly_show_is_refused_before_it_is_charged(text: str) -> None:
    known = Offers(replace(SHOP, people=2000))
    with pytest.raises(Unanswerable, match=r"declares about 2,000: a group of all of them has a chance of below 0.1"):
        known.sql(text, loss=LOSS)
    # The option asks all the same, and where no number is declared nothing is compared.
    asked = known.sql(text, loss=LOSS, likely_empty=True)
    assert asked.asked.keys() == Offers(SHOP).sql(text, loss=LOSS).asked.keys()


def test_the_refusal_says_the_limit_with_which_the_query_is_answered() -> None:
    known = Offers(replace(SHOP, people=2000))
    with pytest.raises(Unanswerable, match=r"with one group a person it takes about \d+: .*contributed = 1"):
        known.sql(TEXT, loss=LOSS)
    known.sql(ONE, loss=LOSS)


def test_the_chance_is_that_of_the_noise_alone() -> None:
    answer = plan_query(parse_sql(ONE, SHOP), LOSS)
    discovery = answer.design.discovery
    assert discovery is not None
    for missing in (0, 7, 60):
        many = replace(answer, query=replace(answer.query, dataset=replace(SHOP, people=discovery.threshold - missing)))
        ratio = math.exp(-1 / discovery.scale)
        # Two-sided geometric noise of at least ``missing``, term by term.
        expected = sum((1 - ratio) / (1 + ratio) * ratio**size for size in range(missing, missing + 4000))
        assert chance_of_all(many) == pytest.approx(expected, rel=1e-6)
    assert chance_of_all(answer) is None


def test_a_number_of_people_or_a_dropped_share_that_cannot_be_is_refused() -> None:
    for said in (
        {"people": 0},
        {"dropped": 1.0},
        {"dropped": True},
        {"dropped_up_to": 200},
        {"dropped": 0.1, "dropped_up_to": 9},
    ):
        with pytest.raises(InvalidParameter, match=r"people|dropped"):
            replace(SHOP, **said)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="only where the unit is a person"):
        DataSet("rows", (replace(SALES, person=None),), ROW, people=5)
    assert replace(SHOP, dropped=0.27, dropped_up_to=1024).dropped == Fraction("0.27").__float__()

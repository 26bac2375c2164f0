"""Advice says what the changed query is quoted at, and the threshold's share is the one that is said to be best."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither.data import Column, DataSet, Kind, Table
from dither.data.schema import person_unit
from dither.errors import InvalidParameter
from dither.privacy import ZCDP, ApproxDP, Loss, PureDP
from dither.publish.queries import Quote, plan_query, quote
from dither.publish.queries.builder import table
from dither.publish.queries.sql import parse_sql, parse_statement
from tests.rationals import rationals

TABLE = Table(
    "visits",
    (
        Column("id", Kind.INTEGER),
        Column("city", Kind.TEXT),
        Column("ward", Kind.TEXT, categories=("a", "b")),
        Column("spend", Kind.REAL, lower=0, upper=5000),
        Column("debt", Kind.REAL, lower=-8, upper=8),
    ),
    "visits.csv",
    person="id",
)
SHOP = DataSet("shop", (TABLE,), person_unit("id"), rows=10, groups=1)
LOSS = ApproxDP("0.3", "1e-6")
PERSONS = "SELECT city, COUNT(DISTINCT id) AS n FROM visits GROUP BY city"
BOTH = "SELECT city, COUNT(DISTINCT id) AS n, SUM(spend) AS s FROM visits GROUP BY city"


def quoted(text: str, **how: object) -> Quote:
    return quote(parse_sql(text, SHOP), LOSS, **how)  # type: ignore[arg-type]


def test_a_narrower_clamp_is_advised_at_the_error_that_it_is_quoted_with() -> None:
    plain = quoted("SELECT ward, SUM(spend) AS s, AVG(debt) AS d FROM visits GROUP BY ward")
    by_column = {one.about: one for one in plain.advice if "CLAMP" in one.change}
    assert by_column["s"].change == "SUM(CLAMP(spend, 0, 2500))"
    assert by_column["d"].change == "AVG(CLAMP(debt, -4, 4))"
    for name, changed in (
        ("s", "SUM(CLAMP(spend, 0, 2500)) AS s, AVG(debt) AS d"),
        ("d", "SUM(spend) AS s, AVG(CLAMP(debt, -4, 4)) AS d"),
    ):
        other = quoted("SELECT ward, ? FROM visits GROUP BY ward".replace("?", changed))
        assert by_column[name].before == plain.column(name).error
        assert by_column[name].after == other.column(name).error
        assert other.column(name).error == pytest.approx(plain.column(name).error / 2)
    assert "SUM(CLAMP(spend, 0, 2500)): s ± " in str(plain)
    gains = [one.gain for one in plain.advice]
    assert gains == sorted(gains), "the best first"
    assert sum("instead of" in line for line in str(plain).splitlines()) == 3
    assert sum("instead of" in line for line in plain.text(verbose=True).splitlines()) == len(gains) > 3


def test_narrower_limits_are_advised_at_the_error_that_they_are_quoted_with() -> None:
    built = table("visits").group("ward").sum("spend", name="s")
    plain = quote(built.build(SHOP), LOSS)
    for rows in (5, 1):
        other = quote(built.limits(rows=rows).build(SHOP), LOSS)
        found = [one for one in plain.advice if f"(max_rows_contributed = {rows}," in one.change]
        assert [one.after for one in found] == [other.column("s").error]
        (clause,) = re.findall(r"SELECT (.*) \.\.\.", found[0].change)
        pasted = quoted("SELECT ? ward, SUM(spend) AS s FROM visits GROUP BY ward".replace("?", clause))
        assert pasted.column("s").error == found[0].after, "what the advice says to write"


def test_advice_on_the_threshold_is_what_the_other_query_is_quoted_with() -> None:
    both, alone = quoted(BOTH), quoted(PERSONS)
    (light,) = [one for one in both.advice if one.change == "a query for n alone"]
    assert (light.before, light.after) == (both.threshold, alone.threshold)
    for one in both.advice:
        if "THRESHOLD_SHARE" in one.change:
            share = one.change.split("= ")[1].removesuffix(")")
            other = quoted(BOTH, threshold_share=share)
            assert one.after == other.threshold
            assert f"n {other.column('n').error_words} instead of".replace(" people", "") in one.price.replace(
                " people", ""
            )


def test_a_further_aggregate_no_longer_multiplies_the_threshold() -> None:
    """Equal errors for keys and columns, as before, would raise it from 89 persons to 527."""
    alone, both = quoted(PERSONS), quoted(BOTH)
    assert alone.threshold is not None
    assert both.threshold is not None
    assert both.threshold < 2 * alone.threshold
    before = quoted(BOTH, threshold_share=Fraction(1, 12))
    assert before.threshold is not None
    assert before.threshold > 5 * quoted(PERSONS, threshold_share="0.5").threshold  # type: ignore[operator]


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("text", [PERSONS, BOTH])
def test_the_share_of_the_threshold_is_about_the_best_for_threshold_and_error_together(noise: str, text: str) -> None:
    """Against a search over a grid of shares, each quoted as it is: within a twentieth of the least sum."""
    query = parse_sql(text, SHOP)

    def together(share: Fraction | None) -> float:
        design = plan_query(query, LOSS, noise=noise, threshold_share=share).design
        assert design.discovery is not None
        return design.discovery.threshold + max(design.errors(0.05).values())

    best = min(together(Fraction(place, 24)) for place in range(1, 24))
    assert together(None) <= 1.05 * best


@settings(max_examples=25)
@given(rationals("1/1000", "999/1000"), st.sampled_from(["laplace", "gaussian"]))
def test_any_share_keeps_to_the_loss_and_divides_all_of_it(share: Fraction, noise: str) -> None:
    answer = plan_query(parse_sql(BOTH, SHOP), LOSS, noise=noise, threshold_share=share)
    assert answer.loss(1) <= LOSS
    assert answer.design.split[-1] == share
    assert sum(answer.design.split) == 1


def test_the_threshold_falls_as_its_share_grows() -> None:
    thresholds = [quoted(BOTH, threshold_share=Fraction(place, 8)).threshold for place in range(1, 8)]
    assert thresholds == sorted(thresholds, reverse=True)  # type: ignore[type-var]
    errors = [quoted(BOTH, threshold_share=Fraction(place, 8)).column("s").error for place in range(1, 8)]
    assert errors == sorted(errors)


@pytest.mark.parametrize("share", [0, 1, -1, 2, "half", float("nan")])
def test_a_share_of_nothing_or_of_all_is_refused(share: object) -> None:
    with pytest.raises(InvalidParameter, match="threshold_share"):
        quoted(BOTH, threshold_share=share)


def test_a_share_where_nothing_is_discovered_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="the groups are public"):
        quoted("SELECT ward, COUNT(*) FROM visits GROUP BY ward", threshold_share="0.5")


def test_a_share_where_nothing_is_measured_is_refused_and_nothing_is_advised_on_it() -> None:
    query = parse_sql(PERSONS, SHOP)
    bare = replace(query, aggregates=(), outputs=query.outputs[:1])
    found = quote(bare, LOSS)
    assert found.threshold_share == 1
    assert not found.advice
    with pytest.raises(InvalidParameter, match="threshold_share"):
        plan_query(bare, LOSS, threshold_share="1/2")


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("digits", [320, 400])
@pytest.mark.parametrize("kind", [ApproxDP, ZCDP])
def test_a_delta_below_every_float_has_its_threshold(kind: type[Loss], digits: int, noise: str) -> None:
    loss = kind(1, Fraction(1, 10**digits))  # type: ignore[call-arg]
    answer = plan_query(parse_sql(BOTH, SHOP), loss, noise=noise)
    assert answer.loss(1) <= loss
    assert answer.design.discovery.loss(1).delta <= loss.delta


@pytest.mark.parametrize("text", [PERSONS, "SELECT city, MEDIAN(spend) AS s FROM visits GROUP BY city"])
def test_values_that_have_no_noise_are_refused_before_any_group_is_shown(text: str) -> None:
    nearly_all = 1 - Fraction(1, 10**305)
    with pytest.raises(InvalidParameter, match="scale"):
        plan_query(parse_sql(text, SHOP), LOSS, noise="laplace", threshold_share=nearly_all)


@pytest.mark.parametrize(
    ("text", "sql", "share"),
    [
        (f"{BOTH} OPTION (THRESHOLD_SHARE = 0.4)", BOTH, "0.4"),
        (f"EXPLAIN PRIVACY {BOTH}\n option(threshold_share=2/5) ;\n-- end", BOTH, "2/5"),
        (f"{BOTH} -- OPTION (THRESHOLD_SHARE = 0.4)", f"{BOTH} -- OPTION (THRESHOLD_SHARE = 0.4)", None),
        ("SELECT 'OPTION (THRESHOLD_SHARE = 0.4)'", "SELECT 'OPTION (THRESHOLD_SHARE = 0.4)'", None),
        ("SELECT adoption (threshold_share = 0.4)", "SELECT adoption (threshold_share = 0.4)", None),
    ],
)
def test_sql_states_the_share_at_its_end(text: str, sql: str, share: str | None) -> None:
    found = parse_statement(text)
    assert (found.sql, found.threshold_share) == (sql, share)


def test_a_quote_says_where_the_loss_goes() -> None:
    found = quoted(BOTH)
    assert found.threshold_share + sum(column.share for column in found.columns) == 1
    assert f"{100 * float(found.threshold_share):.1f} % of the loss" in found.text(verbose=True)
    plain = quote(parse_sql("SELECT COUNT(*) FROM visits", SHOP), PureDP(1))
    assert (plain.threshold, plain.threshold_share) == (None, 0)


def test_advice_is_plain_data_in_json() -> None:
    record = quoted(BOTH).to_dict()
    assert {one["about"] for one in record["advice"]} >= {"s", "groups"}
    assert all(one["text"].startswith(one["change"]) for one in record["advice"])

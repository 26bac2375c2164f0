# ruff: noqa: S608 - texts that are never run
"""Clamps that are found: where AUTO stands, which column is meant, and that the shares of a loss are within it."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from dither.data import Column, DataSet, Kind, Table
from dither.errors import InvalidParameter, Unanswerable
from dither.privacy import ROW, ZCDP, ApproxDP, GaussianDP, Loss, PureDP, compose
from dither.publish.queries.finding import FoundBounds
from dither.publish.queries.found_clamps import found_clamps, split_loss

SALES = Table(
    "sales",
    (
        Column("price", Kind.REAL),
        Column("items", Kind.INTEGER, 0, 9),
        Column("Age", Kind.INTEGER),
        Column("age_2", Kind.INTEGER, source="age"),
        Column("spend", Kind.REAL, source="Total Spend (£)"),
    ),
    "sales.csv",
)
CITIES = Table("cities", (Column("price", Kind.REAL), Column("height", Kind.REAL)), "c.csv", is_public=True)
SHOP = DataSet("shop", (SALES, CITIES), ROW)


@pytest.mark.parametrize(
    ("text", "column", "filled"),
    [
        ("SELECT SUM(CLAMP(price, AUTO)) FROM sales", "price", "SELECT SUM(CLAMP(price, 0, 8)) FROM sales"),
        ("SELECT SUM(clamp( s.price ,\n auto )) FROM s", "price", "SELECT SUM(clamp( s.price ,\n 0, 8 )) FROM s"),
        ('SELECT SUM(CLAMP("age", AUTO))', "age_2", 'SELECT SUM(CLAMP("age", 0, 8))'),
        ("SELECT SUM(CLAMP(Age, AUTO))", "Age", "SELECT SUM(CLAMP(Age, 0, 8))"),
        ('SELECT SUM(CLAMP("Total Spend (£)", AUTO))', "spend", 'SELECT SUM(CLAMP("Total Spend (£)", 0, 8))'),
        (
            "SELECT 'CLAMP(items, AUTO)', SUM(CLAMP(price, AUTO)), AVG(CLAMP(price, AUTO)) -- CLAMP(x, AUTO)",
            "price",
            "SELECT 'CLAMP(items, AUTO)', SUM(CLAMP(price, 0, 8)), AVG(CLAMP(price, 0, 8)) -- CLAMP(x, AUTO)",
        ),
    ],
)
def test_auto_is_found_in_the_text_and_nothing_else_of_it_changes(text: str, column: str, filled: str) -> None:
    found = found_clamps(text, SHOP)
    assert found is not None
    assert found.places == (("sales", column),)
    assert found.filled({("sales", column): (0, 8)}) == filled


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) FROM sales",
        "SELECT auto FROM sales",
        "SELECT f(x, AUTO)",
        "'",
        "",
    ],
)
def test_other_texts_have_no_clamps_to_be_found(text: str) -> None:
    assert found_clamps(text, SHOP) is None


def test_auto_is_for_one_column_of_a_private_table() -> None:
    for inner in ("price + 1", "ABS(price)", "3, 4", "-price", "price, 0"):
        with pytest.raises(Unanswerable, match="AUTO finds the range of a column"):
            found_clamps(f"SELECT SUM(CLAMP({inner}, AUTO)) FROM sales", SHOP)
    for word in ("height", "nothing", "3"):
        with pytest.raises(InvalidParameter, match="a column of one private table"):
            found_clamps(f"SELECT SUM(CLAMP({word}, AUTO)) FROM sales", SHOP)


@pytest.mark.parametrize(
    "stated", [PureDP("1/3"), PureDP(2), ApproxDP(1, "1e-6"), ZCDP("1/7"), ZCDP(1, "1e-9")], ids=str
)
def test_the_shares_are_within_what_was_stated(stated: Loss) -> None:
    for share, columns in product(("1/1000", "0.1", Fraction(2, 3), "0.999"), (1, 2, 3, 7)):
        each, rest = split_loss(stated, share, columns)
        assert compose([*[each] * columns, rest]) <= stated
        assert each.rho > 0
        assert rest.rho > 0


def test_a_share_leaves_something_for_both_and_what_cannot_be_divided_is_refused() -> None:
    for share in (0, 1, -1, 2, "x", float("nan")):
        with pytest.raises(InvalidParameter, match="auto_share"):
            split_loss(PureDP(1), share, 1)
    with pytest.raises(InvalidParameter, match="which can be divided"):
        split_loss(GaussianDP(1), "0.1", 1)


def test_a_range_that_is_not_found_has_a_public_clamp_in_its_place() -> None:
    clamps = found_clamps("SELECT SUM(CLAMP(items, AUTO)), SUM(CLAMP(price, AUTO)) FROM sales", SHOP)
    assert clamps is not None

    def found(low: float | None, high: float | None) -> FoundBounds:
        return FoundBounds("x", low, high, 9, 0, 3, Fraction(19, 20), PureDP(1), "rows")

    for column, usual in (("items", (0, 9)), ("price", (-1.0, 1.0))):
        ends, said = clamps.range_of(("sales", column), found(None, None))
        assert ends == usual
        assert f"no range of {column} was found" in said
        ends, said = clamps.range_of(("sales", column), found(1, 1))
        assert ends[0] < ends[1]
        assert clamps.range_of(("sales", column), found(-4, 8))[0] == (-4, 8)

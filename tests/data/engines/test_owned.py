"""Rows that belong to people through references are the same on every engine as in the reference."""

from __future__ import annotations

import dataclasses
import datetime
import itertools
from collections import Counter
from typing import Any

import pytest

from dither.data import Aggregation, Call, Column, CountRows, DataSet, Kind, Name, PerPerson, Persons, Relation, Table
from dither.data.joins import joined
from dither.data.owners import scan_of
from dither.data.reference import aggregate
from dither.data.schema import Owner, person_unit

PEOPLE = Table("people", (Column("id", Kind.INTEGER), Column("town", Kind.TEXT)), "people", person="id")
ORDERS = Table(
    "orders",
    (Column("no", Kind.TEXT, length=4), Column("day", Kind.DATE), Column("buyer", Kind.INTEGER)),
    "orders",
    owner=Owner("people", ("buyer",), ("id",)),
)
LINES = Table(
    "lines",
    (Column("order_no", Kind.TEXT, length=4), Column("on", Kind.DATE), Column("pieces", Kind.INTEGER)),
    "lines",
    owner=Owner("orders", ("order_no", "on"), ("no", "day"), rows=3),
)
SHOP = DataSet("shop", (PEOPLE, ORDERS, LINES), person_unit("id"), rows=9, rows_per_join=3)
#: The same with a limit for each table: one row of the people themselves.
LIMITED = dataclasses.replace(
    SHOP,
    tables=tuple(
        dataclasses.replace(table, rows_per_person=most) for table, most in zip(SHOP.tables, (1, 4, 5), strict=True)
    ),
)
#: Keys that differ by an accent, by case or by a space, that are empty, absent, or longer than is read.
NUMBERS = ("e", "é", "E", "e ", "", None, "long number")


def tables() -> dict[str, list[dict[str, Any]]]:
    """Return people some of whom repeat, and orders and lines whose keys repeat, dangle, are shared or absent."""
    day = datetime.date(2024, 2, 29)
    buyers = (1, 1, 2, 3, 9, None)
    orders = [
        {"no": no, "day": None if place % 7 == 3 else day, "buyer": buyer}
        for place, (no, buyer) in enumerate([*itertools.product(NUMBERS, buyers), ("e", 1), ("é", 2)])
    ]
    lines = [
        {"order_no": no, "on": None if pieces == 4 else day, "pieces": pieces} for no in NUMBERS for pieces in range(6)
    ]
    people = [{"id": one, "town": town} for one, town in ((1, "a"), (2, "b"), (2, "c"), (3, None), (None, "d"))]
    return {"people": people, "orders": orders, "lines": lines}


def shapes(shop: DataSet = SHOP) -> list[Relation]:
    """Return relations over references, of every kind that the engines print differently."""
    people, orders, lines = (scan_of(shop, table) for table in shop.tables)
    keys = Call("and", (Call("equal", (Name("o_no"), Name("order_no"))), Call("equal", (Name("on"), Name("o_day")))))
    buyer = Call("equal", (Name("id"), Name("o_buyer")))
    twice = Call("and", (Call("equal", (Name("no"), Name("o_no"))), Call("equal", (Name("day"), Name("o_day")))))
    return [
        lines,
        joined(shop, lines, orders, keys, False, "o_"),
        joined(shop, people, orders, buyer, True, "o_"),
        joined(shop, orders, orders, twice, True, "o_"),
        PerPerson(lines, (("order_no", Name("order_no")),), (("n", CountRows()),)),
    ]


def as_counter(answer: Any) -> Counter[Any]:
    """Return the groups of an answer as a multiset."""
    return Counter(zip(answer.keys, answer.measures, strict=True))


def check(engine: Any) -> None:
    """Compare all rows of all shapes with those of the reference."""
    for relation in shapes(engine.dataset):
        asked = Aggregation(relation, tuple(map(Name, relation.columns)), (CountRows(), Persons()))
        meant = aggregate(asked, tables())
        assert len(meant.keys) > 3
        assert as_counter(engine.aggregate(asked)) == as_counter(meant), relation


@pytest.mark.parametrize("shop", [SHOP, LIMITED], ids=["references", "limits"])
def test_portable_rows_are_those_of_the_reference(open_engine: Any, shop: DataSet) -> None:
    check(open_engine(shop, tables(), portable=True))


@pytest.mark.parametrize("is_portable", [True, False])
def test_no_person_has_more_rows_of_a_table_than_it_declares(open_engine: Any, is_portable: bool) -> None:
    """Nor fewer, if there are: counted in the rows of each person, whatever is asked of them."""
    engine, whole = open_engine(LIMITED, tables(), portable=is_portable), open_engine(SHOP, tables())
    for table, free in zip(LIMITED.tables, SHOP.tables, strict=True):
        counts = []
        for one, dataset, declared in ((engine, LIMITED, table), (whole, SHOP, free)):
            each = PerPerson(scan_of(dataset, declared), (), (("n", CountRows()),))
            counts.append(one.aggregate(Aggregation(each, (Name("n"),), (Persons(),))))
        left, there = (
            Counter({key[0]: many[0] for key, many in zip(one.keys, one.measures, strict=True)}) for one in counts
        )
        meant: Counter[Any] = Counter()
        for many, people in there.items():
            meant[min(many, table.rows_per_person or 0)] += people
        assert left == meant
        assert left != there


@pytest.mark.parametrize("shop", [SHOP, LIMITED], ids=["references", "limits"])
def test_what_one_person_has_depends_on_that_person_alone(open_engine: Any, shop: DataSet) -> None:
    """With the engine's own hash: without a person whose orders nobody shares, all others have what they had."""
    rows = tables()
    alone = [{"no": f"x{number}", "day": rows["orders"][0]["day"], "buyer": 4} for number in (1, 1, 2)]
    lines = [{"order_no": f"x{n % 2 + 1}", "on": rows["orders"][0]["day"], "pieces": n} for n in range(9)]
    more = {
        "people": [*rows["people"], {"id": 4, "town": "e"}],
        "orders": [*alone, *rows["orders"]],
        "lines": [*rows["lines"], *lines],
    }
    both = [open_engine(shop, given) for given in (rows, more)]
    for relation in shapes(shop):
        asked = Aggregation(relation, tuple(map(Name, relation.columns)), (CountRows(),))
        here, there = (as_counter(engine.aggregate(asked)) for engine in both)
        assert here < there
        assert {key[0] for (key, _) in there - here} <= {"x1", "x2", 4}


@pytest.mark.parametrize("limit", [1, 2])
def test_at_most_the_declared_number_of_rows_refers_to_a_key(open_engine: Any, limit: int) -> None:
    few = dataclasses.replace(LINES, owner=Owner("orders", ("order_no", "on"), ("no", "day"), rows=limit))
    dataset = dataclasses.replace(SHOP, tables=(PEOPLE, ORDERS, few))
    engine = open_engine(dataset, tables())
    found = engine.aggregate(Aggregation(scan_of(dataset, few), (Name("order_no"),), (CountRows(), Persons())))
    assert found.measures
    assert all(rows == limit * people for rows, people in found.measures)

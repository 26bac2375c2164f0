"""Ratings of declared tables: profiles of the right people, whatever engines return, and public attributes."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from dither.data import Aggregated, Column, DataSet, Kind, Table
from dither.data.files import dump_schema, loads
from dither.data.ratings import Ratings
from dither.data.reference import ReferenceEngine
from dither.data.schema import person_unit
from dither.errors import InvalidParameter, InvalidSchema
from dither.lift.ratings import RatedItems
from dither.privacy import ROW

SCHEMA = """\
dataset: shop
unit: person
contribution: {rows: 9}
tables:
  stars:
    source: stars.csv
    privacy id: who
    ratings: {item: film, value: stars, time: day, items: films}
    columns:
      who: text
      film: {kind: integer, bounds: [1, 4]}
      stars: {kind: real, bounds: [0.5, 5]}
      day: date
  films:
    source: films.csv
    public: true
    key: film
    columns:
      film: integer
      title: text
      year: {kind: integer, bounds: [1920, 2000]}
      war: boolean
      land: {kind: text, categories: [fr, uk]}
"""


def film(number: Any, year: Any, war: Any, land: Any) -> dict[str, Any]:
    return {"film": number, "title": "x", "year": year, "war": war, "land": land}


def row(who: Any, number: Any, stars: Any, day: Any = None) -> dict[str, Any]:
    import datetime

    return {"who": who, "film": number, "stars": stars, "day": None if day is None else datetime.date(2025, 1, day)}


FILMS = [film(1, 1920, True, "uk"), film(2, 2000, False, None), film(4, None, None, "de"), film(9, 1950, True, "fr")]


def read(rows: list[dict[str, Any]], films: list[dict[str, Any]] | None = None) -> Any:
    source = RatedItems(loads(SCHEMA), "stars")
    engine = ReferenceEngine(source.dataset, {"stars": rows, "films": FILMS if films is None else films})
    return source.read(engine)


def told(profiles: Any) -> list[tuple[int, int, float]]:
    return list(zip(profiles.people.tolist(), profiles.items.tolist(), profiles.values.tolist(), strict=True))


def test_profiles_hold_the_last_rating_of_each_person_and_declared_item() -> None:
    found = read(
        [
            row("a", 2, 1.0, 3),
            row("a", 2, 4.0, 2),
            row("a", 1, 3.0),
            row("a", 1, 2.0),
            row("a", 5, 5.0, 1),
            row("a", None, 5.0, 1),
            row(None, 2, 5.0, 1),
            row("b", 2, 5.0, 1),
            row("c", 77, 5.0, 1),
        ]
    )
    by_person: dict[int, list[tuple[int, float]]] = {}
    for person, item, value in told(found):
        by_person.setdefault(person, []).append((item, value))
    assert sorted(by_person.values()) == [[(0, 3.0), (1, 1.0)], [(1, 5.0)]]


def test_one_person_is_one_profile_and_moves_no_other() -> None:
    rows = [row(who, n, 1.0 + n, n) for who in "ab" for n in (1, 2, 3)]
    more = [*rows, *(row("c", n % 4 + 1, 5.0, n % 28 + 1) for n in range(100))]
    assert read(rows).persons == 2
    here, there = (
        {tuple((i, v) for p, i, v in told(one) if p == person) for person in range(one.persons)}
        for one in (read(rows), read(more))
    )
    assert len(there - here) == 1
    assert here <= there


def test_attributes_are_those_of_the_public_table() -> None:
    attributes = read([]).attributes
    assert attributes.shape == (4, 8 + 1 + 2)
    assert attributes[0].nonzero()[0].tolist() == [0, 8, 10]
    assert attributes[1].nonzero()[0].tolist() == [7]
    assert attributes[2].nonzero()[0].tolist() == []
    assert attributes[3].nonzero()[0].tolist() == []


def test_a_person_is_one_unit_and_two_where_replaced() -> None:
    shop = loads(SCHEMA)
    assert RatedItems(shop, "stars").moves() == {ROW: Fraction(1)}
    swapped = replace(shop, unit=person_unit("who", replaced=True))
    assert RatedItems(swapped, "stars").moves() == {ROW: Fraction(2)}
    for table in ("films",):
        with pytest.raises(InvalidParameter):
            RatedItems(shop, table)


def test_nothing_raises_because_of_what_an_engine_returns() -> None:
    source = RatedItems(loads(SCHEMA), "stars")
    odd = [
        ("a", 2, 5.0, 1),
        ("a", 2),
        None,
        ("b", "2", "x", None),
        ("b", 2.0, [], {}),
        (["b"], 10**30, float("nan"), 1),
        ("c", True, 1.0, 1),
        ("d", 3, None, 10**400),
    ]
    answer = Aggregated([one for one in odd if not (isinstance(one, tuple) and isinstance(one[0], list))], [(1,)] * 7)  # type: ignore[arg-type]
    found = source.profiles_of(answer)
    assert [item for _, item, _ in told(found)] == [1, 2]
    assert source.profiles_of(Aggregated([], [])).persons == 0
    assert source.attributes_of(Aggregated([(1,), None, ("x",) * 4], [])).shape == (4, 11)  # type: ignore[list-item]


def test_items_may_be_strings() -> None:
    columns = (
        Column("who", Kind.INTEGER),
        Column("film", Kind.TEXT, categories=("x", "y")),
        Column("stars", Kind.INTEGER, lower=1, upper=5),
    )
    table = Table("stars", columns, "stars.csv", person="who", declared=(Ratings("film", "stars"),))
    shop = DataSet("shop", (table,), person_unit("who"), rows=2)
    source = RatedItems(shop, "stars")
    rows = [{"who": 1, "film": "y", "stars": 5}, {"who": 1, "film": "z", "stars": 5}]
    assert told(source.read(ReferenceEngine(shop, {"stars": rows}))) == [(0, 1, 5.0)]
    assert source.labels == ("x", "y")
    assert source.read(ReferenceEngine(shop, {"stars": rows})).attributes is None


def test_a_schema_is_written_as_it_was_read() -> None:
    shop = loads(SCHEMA)
    assert loads(dump_schema(shop)) == shop
    assert Ratings.of(shop.table("stars")) == Ratings("film", "stars", "day", "films")


@pytest.mark.parametrize(
    ("before", "after", "rule"),
    [
        ("value: stars", "value: film", "different columns"),
        ("item: film,", "item: day,", "different columns"),
        ("item: film,", "item: who,", "other than the privacy id"),
        ("item: film,", "item: title,", "one of its columns"),
        ("bounds: [1, 4]}", "bounds: [1, 9999999]}", "public items"),
        ("{kind: real, bounds: [0.5, 5]}", "real", "numbers with bounds"),
        ("items: films", "items: stars", "public table"),
        ("items: films", "items: shows", "public table"),
        ("    privacy id: who\n", "", "privacy id"),
        ("      film: integer\n", "      film: text\n", "of the kind of film"),
    ],
)
def test_wrong_declarations_are_refused(before: str, after: str, rule: str) -> None:
    assert before in SCHEMA
    with pytest.raises((InvalidSchema, InvalidParameter), match=rule):
        loads(SCHEMA.replace(before, after))

"""A limit on the rows of a person in one table: it is enforced there, and every price over that table rests on it."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest

from dither.audit.queries import Comparison
from dither.data import DataSet, Limits, Name, Relation, wire
from dither.data.contribution import within_structure
from dither.data.files import dump_schema, loads
from dither.data.own_tables import parts_of
from dither.data.owners import scan_of, table_of, unlimited
from dither.data.reference import ReferenceEngine
from dither.data.relations import Bounded, Scan
from dither.errors import InvalidSchema
from dither.lift.cells import cells_of
from dither.lift.rows import Rows
from dither.privacy import PureDP
from dither.publish.queries.answer import plan_query
from dither.publish.queries.builder import table
from dither.publish.queries.quote import quote
from dither.publish.queries.sql import parse_sql
from dither.verbs.offers import Offers

SCHEMA = """
dataset: shop
unit: person
contribution: {rows: 200}
tables:
  customer:
    source: customer.csv
    privacy id: id
    rows per person: 1
    columns:
      id: integer
      city: {kind: text, categories: [Basel, Bern], from: Town}
      age: {kind: integer, bounds: [0, 9]}
  orders:
    source: orders.csv
    owner: {buyer: customer.id}
    rows per person: 10
    columns: {no: integer, buyer: integer, paid: {kind: integer, bounds: [0, 99]}}
  items:
    source: items.csv
    owner: {of_order: orders.no}
    columns: {of_order: integer, pieces: {kind: integer, bounds: [0, 9]}}
"""
SHOP = loads(SCHEMA)
REPLACED = loads(SCHEMA.replace("unit: person", "unit: person replaced"))
#: What is asked, and how many rows of a person count in it.
PRICED = {
    "SELECT COUNT(*) FROM customer": 1,
    "SELECT city, COUNT(*) FROM customer GROUP BY city": 1,
    "SELECT city, SUM(age) FROM customer WHERE age > 2 GROUP BY city": 1,
    "SELECT AVG(age), MEDIAN(age) FROM customer": 1,
    "SELECT COUNT(DISTINCT city) FROM customer": 1,
    "SELECT COUNT(*) FROM customer WHERE id IN (SELECT buyer FROM orders WHERE paid > 5)": 1,
    "SELECT COUNT(*) FROM customer WHERE id NOT IN (SELECT buyer FROM orders)": 1,
    "SELECT COUNT(*) FROM customer WHERE EXISTS (SELECT 1 FROM orders WHERE buyer = id)": 1,
    "SELECT COUNT(*) FROM (SELECT id, COUNT(*) AS n FROM customer JOIN orders ON id = buyer GROUP BY id) t": 1,
    "SELECT COUNT(*) FROM (SELECT id FROM customer UNION SELECT buyer FROM orders) t": 1,
    "SELECT COUNT(*) FROM (SELECT id FROM customer UNION ALL SELECT buyer FROM orders) t": 11,
    "SELECT COUNT(*) FROM orders": 10,
    "SELECT COUNT(*) FROM (SELECT no, ROW_NUMBER() OVER (PARTITION BY buyer ORDER BY paid) AS r FROM orders) t": 10,
    "SELECT COUNT(*) FROM customer JOIN orders ON id = buyer": 10,
    "SELECT COUNT(*) FROM orders JOIN customer ON id = buyer": 10,
    "SELECT COUNT(*) FROM customer LEFT JOIN orders ON id = buyer": 10,
    "SELECT COUNT(*) FROM orders a JOIN orders b ON a.buyer = b.buyer": 100,
    "SELECT COUNT(*) FROM items": 200,
    "SELECT COUNT(*) FROM customer JOIN orders ON id = buyer JOIN items ON no = of_order": 200,
}


@pytest.mark.parametrize("sql", PRICED)
def test_a_price_is_that_of_the_rows_that_a_table_declares(sql: str) -> None:
    """A count of customers is moved by one, whatever the limit for items is."""
    plan = plan_query(parse_sql(sql, SHOP), PureDP(1))
    assert plan.design.contribution.total == PRICED[sql]
    small = plan_query(parse_sql(sql, replace(SHOP, rows=3)), PureDP(1))
    assert small.design.contribution.total == min(3, PRICED[sql])
    free = replace(SHOP, tables=tuple(replace(one, rows_per_person=None) for one in SHOP.tables))
    assert plan_query(parse_sql(sql, free), PureDP(1)).design.contribution.total in (1, 200)


def test_noise_of_a_count_of_customers_is_that_of_one_row() -> None:
    plan = plan_query(parse_sql("SELECT COUNT(*) AS n FROM customer", SHOP), PureDP(1))
    (part,) = plan.design.parts
    assert part.scale == 1
    twice = plan_query(parse_sql("SELECT COUNT(*) AS n FROM customer", REPLACED), PureDP(1))
    assert twice.design.parts[0].scale == 1  # of one cell, which a replaced row moves by at most 1


def test_tables_of_counts_and_rows_for_learners_are_priced_alike() -> None:
    """Histograms, marginals, synthetic rows and models read these two sources."""
    for name, column, most in (("customer", "age", 1), ("orders", "paid", 10), ("items", "pieces", 200)):
        assert cells_of(SHOP, name, (column,)).contribution.total == most
        assert Rows(SHOP, scan_of(SHOP, SHOP.table(name)), (column,)).contribution.total == most


def test_parts_that_a_person_touches_are_no_more_than_rows() -> None:
    split = table("customer").partition("city", {"a": ["Basel"], "b": ["Bern"]})
    built = split.each(lambda part: part.count()).build
    assert built(SHOP).touched == 1
    assert built(REPLACED).touched == 2
    free = replace(SHOP, tables=tuple(replace(one, rows_per_person=None) for one in SHOP.tables))
    assert built(free).touched == 2


CUSTOMERS = [{"id": one, "city": "Bern", "age": one} for one in range(3)]
ORDERED = [{"no": n, "buyer": n % 3, "paid": n} for n in range(6)]
#: All that somebody may have who is in the data on one side alone: rows more than declared, equal and different.
OWN_CUSTOMERS = [{"id": 9, "city": city, "age": age} for city, age in (("Basel", 5), ("Bern", 5), ("Bern", 9))]
OWN_ORDERS = [{"no": 70 + n % 2, "buyer": 9, "paid": n} for n in range(14)]


def pairs(dataset: DataSet) -> Any:
    """Yield all tables of a small family that are one person apart."""
    persons = [some for many in range(4) for some in itertools.combinations_with_replacement(OWN_CUSTOMERS, many)]
    for mine, orders in itertools.product(persons, ([], OWN_ORDERS[:3], OWN_ORDERS)):
        plain = {"customer": CUSTOMERS, "orders": ORDERED, "items": []}
        more = {"customer": [*CUSTOMERS, *mine], "orders": [*ORDERED, *orders], "items": []}
        sides = [plain, more]
        if dataset.is_replaced:
            sides[0] = {**plain, "customer": [*CUSTOMERS, {"id": 9, "city": "Basel", "age": 0}]}
        yield tuple(ReferenceEngine(dataset, side) for side in sides)


@pytest.mark.parametrize("dataset", [SHOP, REPLACED], ids=["added", "replaced"])
def test_no_neighbour_moves_anything_farther_than_priced(dataset: DataSet) -> None:
    """Every query above over every pair of a family of neighbours; and the bounds of the smallest are attained."""
    both = list(pairs(dataset))
    attained = set()
    for sql, most in PRICED.items():
        if most == 200:
            continue
        comparison = Comparison(plan_query(parse_sql(sql, dataset), PureDP(1)))
        for here, there in both[:: 1 if most == 1 else 6]:
            for found in comparison.of(here, there):
                assert not found.is_exceeded, (sql, found)
                attained |= {sql} if found.tightness == 1 else set()
    assert "SELECT COUNT(*) FROM customer" in attained


def test_numbers_of_rows_of_people_are_public_groups_where_a_table_bounds_them() -> None:
    """From 1 to what is declared: more rows do not exist. The data set's limit is applied later."""
    sql = "SELECT n, COUNT(*) FROM (SELECT buyer, COUNT(*) AS n FROM orders GROUP BY buyer) t GROUP BY n"
    (key,) = parse_sql(sql, SHOP).keys
    assert key.values == tuple(range(1, 11))
    (open_key,) = parse_sql(
        sql, replace(SHOP, tables=tuple(replace(t, rows_per_person=None) for t in SHOP.tables))
    ).keys
    assert open_key.values is None
    tables = {"customer": CUSTOMERS, "orders": [*ORDERED, *OWN_ORDERS], "items": []}
    asked = list(plan_query(parse_sql(sql, SHOP), PureDP(1)).aggregations())[-1]
    assert set(ReferenceEngine(SHOP, {**tables, "customer": [*CUSTOMERS, *OWN_CUSTOMERS]}).aggregate(asked).keys) == {
        (2,),
        (10,),
    }


def test_rows_beyond_the_declared_number_do_not_count() -> None:
    """And without the declaration they do: the limit is what holds the count."""
    tables = {"customer": [*CUSTOMERS, *OWN_CUSTOMERS], "orders": [*ORDERED, *OWN_ORDERS], "items": []}
    free = replace(SHOP, tables=tuple(replace(one, rows_per_person=None) for one in SHOP.tables))
    for sql, few, all_of_them in (
        ("SELECT COUNT(*) FROM customer", 4, 6),
        ("SELECT COUNT(*) FROM orders", 16, 20),
        ("SELECT COUNT(*) FROM customer JOIN orders ON id = buyer", 16, 20),
    ):
        for dataset, meant in ((SHOP, few), (free, all_of_them)):
            plan = plan_query(parse_sql(sql, dataset), PureDP(1))
            (asked,) = plan.aggregations()
            assert ReferenceEngine(dataset, tables).aggregate(asked).measures == ((meant,),), sql


def test_a_column_is_found_under_the_name_of_its_source() -> None:
    assert parse_sql('SELECT "Town", COUNT(*) FROM customer GROUP BY 1', SHOP).keys[0].value == Name("city")


def test_quotes_say_what_is_declared_and_how_to_declare_it() -> None:
    said = str(quote(parse_sql("SELECT COUNT(*) FROM customer JOIN orders ON id = buyer", SHOP), PureDP(1)))
    assert "customer has at most 1 row of a person (as declared)" in said
    assert "orders has at most 10 rows of a person (as declared)" in said
    free = loads(SCHEMA.replace("    rows per person: 1\n", ""))
    advised = str(quote(parse_sql("SELECT COUNT(*) FROM customer", free), PureDP(1)))
    assert "the price is that of 200 rows of customer a person" in advised
    assert "'rows per person: 1' for customer" in advised
    for sql in ("SELECT COUNT(*) FROM items", "SELECT COUNT(DISTINCT id) FROM customer"):
        assert "rows per person: 1" not in str(quote(parse_sql(sql, SHOP), PureDP(1)))


@pytest.mark.parametrize("where", [None, "paid > 3"])
def test_a_limit_is_looked_for_among_all_rows_of_a_person(where: str | None) -> None:
    """Not among those that the declared limit leaves: else none could be found to be too small."""
    offer = Offers(SHOP).limits("orders", epsilon=1, where=where)
    parts = list(parts_of(offer.mechanism.query.relation))  # type: ignore[attr-defined]
    assert not any(table_of(part) is not None for part in parts if isinstance(part, Bounded))
    assert any(isinstance(part, Scan) for part in parts)


def test_what_a_table_is_known_by_and_freed_from() -> None:
    orders = SHOP.table("orders")
    relation = scan_of(SHOP, orders)
    assert table_of(relation) == orders == table_of(unlimited(relation))
    other: Relation = replace(relation, limits=Limits(rows=3))  # type: ignore[type-var]
    assert table_of(other) is None
    assert unlimited(other) == other
    assert within_structure(Limits(), relation) == Limits(rows=10)


def test_the_declaration_is_written_and_read_as_every_other() -> None:
    assert loads(dump_schema(SHOP)) == SHOP
    assert wire.loads(wire.dumps(SHOP)) == SHOP
    assert "rows_per_person" not in wire.dumps(replace(SHOP, tables=(replace(SHOP.tables[0], rows_per_person=None),)))


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("rows per person: 10", "rows per person: 0", r"tables.orders.rows per person .*at least 1"),
        ("rows per person: 10", "rows per person: many", r"tables.orders.rows per person .*integer"),
        ("privacy id: id\n    rows", "public: true\n    rows", r"customer.rows per person .*belong to no person"),
    ],
)
def test_a_limit_that_means_nothing_is_refused(old: str, new: str, rule: str) -> None:
    with pytest.raises(InvalidSchema, match=rule):
        loads(SCHEMA.replace(old, new))

"""Rows that belong to people through foreign keys: whose they are, whatever the keys, and what joins make of them."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections import Counter
from typing import Any

import pytest

from dither.data import (
    Bounded,
    Call,
    Column,
    DataSet,
    JoinPersons,
    Kind,
    Largest,
    Limits,
    Name,
    PerPerson,
    Project,
    Relation,
    Scan,
    Table,
    wire,
)
from dither.data.contribution import within_structure
from dither.data.files import dump_schema, loads
from dither.data.joins import check_relation, join_limit, joined
from dither.data.meeting import meets_once, unique_keys
from dither.data.own_tables import check_tables
from dither.data.owners import identifiers, names_person, scan_of
from dither.data.reference import rows_of
from dither.data.relations import PERSON, person_columns, rows_per_person
from dither.data.schema import Owner, person_unit
from dither.errors import InvalidParameter, InvalidSchema
from dither.privacy import ROW

PEOPLE = Table("people", (Column("id", Kind.INTEGER), Column("town", Kind.TEXT)), "people.csv", person="id")
ORDERS = Table(
    "orders",
    (Column("no", Kind.INTEGER), Column("buyer", Kind.INTEGER)),
    "orders.csv",
    owner=Owner("people", ("buyer",), ("id",)),
)
LINES = Table(
    "lines",
    (Column("order_no", Kind.INTEGER), Column("pieces", Kind.INTEGER)),
    "lines.csv",
    owner=Owner("orders", ("order_no",), ("no",)),
)
SHOP = DataSet("shop", (PEOPLE, ORDERS, LINES), person_unit("id"), rows=9, rows_per_join=3)
Rows = list[dict[str, Any]]
#: Two people, one of them twice, and somebody without an id.
BUYERS: Rows = [{"id": one, "town": town} for one, town in ((1, "a"), (2, "b"), (2, "c"), (None, "d"))]
#: Lines of two orders, one of them twice, of an order that may not exist, and of none.
ORDERED: Rows = [{"order_no": no, "pieces": n} for no, n in ((1, 5), (1, 6), (1, 6), (2, 7), (3, 8), (None, 9))]
#: All orders with a number that repeats or is absent, of a buyer who repeats, dangles or is absent.
ANY_ORDER: Rows = [{"no": no, "buyer": buyer} for no in (1, 2, None) for buyer in (1, 2, 3, None)]


def shops(most: int = 3) -> list[dict[str, Rows]]:
    """Return every shop of at most a number of orders."""
    return [
        {"people": BUYERS, "orders": [dict(one) for one in some], "lines": ORDERED}
        for many in range(most + 1)
        for some in itertools.combinations_with_replacement(ANY_ORDER, many)
    ]


def owners_of(tables: dict[str, Rows]) -> dict[str, list[set[Any]]]:
    """Return the people of every row, by the definition: nested loops."""
    people: list[set[Any]] = [set() if row["id"] is None else {row["id"]} for row in tables["people"]]
    found = {"people": people, "orders": [], "lines": []}
    for order in tables["orders"]:
        of = (who for row, who in zip(tables["people"], people, strict=True) if row["id"] == order["buyer"])
        found["orders"].append(set().union(*of))
    for line in tables["lines"]:
        mine = (
            who
            for row, who in zip(tables["orders"], found["orders"], strict=True)
            if row["no"] is not None and row["no"] == line["order_no"]
        )
        found["lines"].append(set().union(*mine))
    return found


def counted(rows: Rows) -> Counter[Any]:
    """Return rows as a multiset."""
    return Counter(tuple(sorted((name, str(value)) for name, value in row.items())) for row in rows)


def equal(left: str, right: str) -> Call:
    """Return the condition that two columns are equal."""
    return Call("equal", (Name(left), Name(right)))


def scan(table: Table, dataset: DataSet = SHOP) -> Scan:
    """Return the rows of a table with their people."""
    return scan_of(dataset, table)


def along(left: Relation, right: Relation, on: tuple[str, str], keep: bool, prefix: str) -> Relation:
    """Return the join of two relations where two columns are equal."""
    return joined(SHOP, left, right, equal(*on), keep, prefix)


@functools.cache
def shapes() -> dict[str, Relation]:
    """Return relations over references: the tables, joins along them in all directions, and what stands over them."""
    people, orders, lines = (scan(table) for table in SHOP.tables)
    found: dict[str, Relation] = {"people": people, "orders": orders, "lines": lines}
    for keep in (False, True):
        found[f"buyers of orders {keep}"] = along(orders, people, ("buyer", "p_id"), keep, "p_")
        found[f"orders of people {keep}"] = along(people, orders, ("id", "o_buyer"), keep, "o_")
        found[f"orders of lines {keep}"] = along(lines, orders, ("order_no", "o_no"), keep, "o_")
        found[f"lines of orders {keep}"] = along(orders, lines, ("l_order_no", "no"), keep, "l_")
        found[f"all three {keep}"] = along(found[f"orders of people {keep}"], lines, ("o_no", "l_order_no"), keep, "l_")
        found[f"pairs of lines {keep}"] = along(lines, lines, ("order_no", "l_order_no"), keep, "l_")
    found["orders by number"] = PerPerson(lines, (("order_no", Name("order_no")),), ())
    found["limited"] = Bounded(lines, (), Limits(rows=1), ("order_no", "pieces"))
    few = dataclasses.replace(LINES, owner=Owner("orders", ("order_no",), ("no",), rows=1))
    found["one line an order"] = Scan(few, (ORDERS, PEOPLE))
    return found


# Whose a row is.


def test_a_row_is_once_of_each_person_whose_row_it_refers_to() -> None:
    """Every shop: keys that repeat within a person or across two, that dangle, and that are NULL."""
    shared = 0
    for tables in shops():
        for table in SHOP.tables:
            whose = owners_of(tables)[table.name]
            meant = [{**row, PERSON: one} for row, who in zip(tables[table.name], whose, strict=True) for one in who]
            assert counted(rows_of(scan(table), tables)) == counted(meant)
            shared += any(len(who) > 1 for who in whose)
    assert shared > 20


def test_without_one_person_everybody_elses_rows_are_as_they_were() -> None:
    """For every relation: rows that belong to that person alone go, and so does the person."""
    moved = dict.fromkeys(shapes(), 0)
    for tables in shops(2):
        whose = owners_of(tables)
        for gone in (1, 2):
            fewer = {
                name: [row for row, who in zip(rows, whose[name], strict=True) if who != {gone}]
                for name, rows in tables.items()
            }
            for name, relation in shapes().items():
                rows = rows_of(relation, tables)
                kept = [row for row in rows if row[PERSON] != gone]
                assert counted(kept) == counted(rows_of(relation, fewer)), (name, gone, tables)
                moved[name] += len(kept) < len(rows)
    assert min(moved.values()) > 20, moved


def test_no_person_has_more_rows_than_the_form_says() -> None:
    for tables in shops(2):
        for name, relation in shapes().items():
            most = rows_per_person(relation)
            found = Counter(row[PERSON] for row in rows_of(relation, tables))
            assert most is None or max(found.values(), default=0) <= most, name


def test_a_join_along_a_reference_multiplies_nothing_and_drops_nothing() -> None:
    """A line meets one order of its person; with keys that repeat one of them counts."""
    for name, relation in shapes().items():
        if not (" of " in name or name.startswith("all three")) or name.startswith("pairs"):
            continue
        assert isinstance(relation, JoinPersons)
        assert any(meets_once(relation)), name
        assert join_limit(relation) is None
        check_relation(relation, SHOP)
    for tables in shops(2):
        lines = rows_of(scan(LINES), tables)
        for name in ("orders of lines False", "lines of orders False", "all three False"):
            assert len(rows_of(shapes()[name], tables)) == len(lines), name
        orders, kept = (rows_of(one, tables) for one in (scan(ORDERS), shapes()["orders of people True"]))
        found = {row[PERSON] for row in orders}
        assert len(kept) == len(orders) + len({1, 2} - found)


def test_rows_beyond_the_declared_number_for_a_key_do_not_exist() -> None:
    few = dataclasses.replace(LINES, owner=Owner("orders", ("order_no",), ("no",), rows=2))
    some = dataclasses.replace(ORDERS, owner=Owner("people", ("buyer",), ("id",), rows=3))
    dataset = dataclasses.replace(SHOP, tables=(PEOPLE, some, few))
    relation = scan_of(dataset, few)
    assert (rows_per_person(scan_of(dataset, some)), rows_per_person(relation)) == (3, 6)
    assert within_structure(Limits(rows=9), relation) == Limits(rows=6)
    assert within_structure(Limits(rows=2), relation) == Limits(rows=2)
    for tables in shops():
        every = Counter((row[PERSON], row["order_no"]) for row in rows_of(scan(LINES), tables))
        kept = Counter((row[PERSON], row["order_no"]) for row in rows_of(relation, tables))
        assert kept == {key: min(many, 2) for key, many in every.items()}
    many = {**shops()[0], "orders": [{"no": number, "buyer": 1} for number in (1, 2, 3, 4)]}
    assert len(rows_of(scan_of(dataset, some), many)) == 3
    assert len(rows_of(relation, many)) < len(rows_of(scan(LINES), many)) + 1


# What columns say.


def test_which_columns_hold_the_privacy_id_and_which_name_a_person() -> None:
    assert person_columns(scan(ORDERS)) == {"buyer"}
    assert person_columns(scan(LINES)) == frozenset()
    assert names_person(SHOP, scan(LINES), ["pieces", "order_no"])
    assert not names_person(SHOP, scan(LINES), ["pieces"])
    assert {one.columns for one in identifiers(SHOP, shapes()["all three False"])} == {
        *((("id",)), ("o_buyer",), ("o_no",), ("l_order_no",)),
    }


def test_a_key_of_several_columns_is_equated_as_a_whole() -> None:
    parts = Table(
        "parts",
        (Column("a", Kind.INTEGER), Column("b", Kind.TEXT), Column("who", Kind.INTEGER)),
        "parts.csv",
        person="who",
    )
    uses = Table(
        "uses",
        (Column("x", Kind.INTEGER), Column("y", Kind.TEXT)),
        "uses.csv",
        owner=Owner("parts", ("x", "y"), ("a", "b")),
    )
    dataset = DataSet("shop", (parts, uses), person_unit("who"), rows=9)
    left, right = scan_of(dataset, uses), scan_of(dataset, parts)
    whole = joined(dataset, left, right, Call("and", (equal("x", "p_a"), equal("y", "p_b"))), False, "p_")
    half = joined(dataset, left, right, equal("x", "p_a"), False, "p_")
    assert any(meets_once(whole))
    assert not any(meets_once(half))
    assert not names_person(dataset, left, ["x"])
    tables = {
        "parts": [{"a": 1, "b": "é", "who": 7}, {"a": 1, "b": "e", "who": 8}],
        "uses": [{"x": 1, "y": "é"}, {"x": 1, "y": "E"}, {"x": 1, "y": None}],
    }
    assert [row[PERSON] for row in rows_of(left, tables)] == [7]


def test_a_column_that_holds_the_privacy_id_refers_to_the_people_over_any_number_of_tables() -> None:
    kinds = {"item": Kind.INTEGER, "seller": Kind.INTEGER}
    columns = tuple(Column(name, kind) for name, kind in kinds.items())
    offers = Table("offers", columns, "offers.csv", owner=Owner("people", ("seller",), ("id",)))
    owner = Owner("offers", ("item", "seller"), ("item", "seller"))
    sales = Table("sales", columns, "sales.csv", owner=owner)
    dataset = DataSet("shop", (PEOPLE, offers, sales), person_unit("id"), rows=9)
    both = joined(dataset, scan_of(dataset, sales), scan_of(dataset, PEOPLE), equal("seller", "p_id"), False, "p_")
    assert meets_once(both) == (False, True)


def test_a_key_that_is_compared_as_a_real_is_not_met_once() -> None:
    """Two integers may equal one real."""
    one = Bounded(scan(ORDERS), (Name("no"),), Limits(rows_per_group=1), ("no", "buyer"))
    real = Table("weights", (Column("id", Kind.INTEGER), Column("w", Kind.REAL)), "w.csv", person="id")
    with pytest.raises(InvalidParameter, match="public number of rows"):
        JoinPersons(Scan(real), one, equal("w", "o_no"), False, "o_")


# Declarations.


def test_rows_kept_without_a_match_are_not_one_row_of_a_person() -> None:
    """A person's largest order meets one order; the others are kept, so that there are as many rows as orders.

    But it is there once: in the others its columns are NULL, which equals nothing.
    """
    numbers = PerPerson(scan(ORDERS), (("no", Name("no")),), ())
    last = PerPerson(scan(ORDERS), (), (("most", Largest(Name("no"))),))
    kept = JoinPersons(numbers, last, equal("no", "l_most"), True, "l_")
    assert kept.once == (True, True)
    assert [*unique_keys(kept)] == [{"no"}, {"l_most"}]
    assert [*unique_keys(dataclasses.replace(kept, keep_unmatched=False))] == [{"no"}, set()]
    met = JoinPersons(
        kept, PerPerson(scan(LINES), (("of", Name("order_no")),), ()), equal("l_most", "x_of"), False, "x_"
    )
    assert met.once == (True, True)
    orders = [{"no": no, "buyer": 1} for no in (1, 2, 3)]
    found = rows_of(kept, {"people": BUYERS, "orders": orders, "lines": ORDERED})
    assert sorted(str(row["l_most"]) for row in found) == ["3", "None", "None"]


def test_a_key_that_a_subquery_shows_twice_is_still_a_key() -> None:
    twice = Project(scan(ORDERS), (("no", Name("no")), ("again", Name("no"))))
    join = along(scan(LINES), twice, ("order_no", "o_no"), False, "o_")
    assert isinstance(join, JoinPersons)
    assert join.once == (False, True)


def test_a_scan_names_every_table_on_the_way_to_the_privacy_id() -> None:
    assert scan(LINES).owners == (ORDERS, PEOPLE)
    wrong: list[Any] = [None, (), (ORDERS,), (PEOPLE,), (ORDERS, PEOPLE, PEOPLE), (PEOPLE, ORDERS)]
    for owners in wrong:
        with pytest.raises(InvalidParameter, match="owners"):
            Scan(LINES, owners)
    with pytest.raises(InvalidParameter, match="owners"):
        Scan(PEOPLE, (ORDERS,))
    forged = dataclasses.replace(ORDERS, owner=None, person="no")
    with pytest.raises(InvalidParameter, match="a table of shop as it is declared"):
        check_tables(Scan(LINES, (forged,)), SHOP)


def test_requests_and_schemas_are_written_and_read_back() -> None:
    assert wire.loads(wire.dumps(scan(LINES))) == scan(LINES)
    few = dataclasses.replace(LINES, owner=Owner("orders", ("order_no",), ("no",), rows=7))
    dataset = dataclasses.replace(SHOP, tables=(PEOPLE, ORDERS, few))
    assert wire.loads(wire.dumps(dataset)) == dataset
    assert loads(dump_schema(dataset)) == dataset
    assert "owner" not in wire.dumps(Scan(PEOPLE))


@pytest.mark.parametrize(
    ("owner", "rule"),
    [
        (Owner("orders", ("pieces_",), ("no",)), "one of its columns"),
        (Owner("nobody", ("order_no",), ("no",)), "one of the private tables people, orders, lines"),
        (Owner("lines", ("order_no",), ("pieces",)), "not back to where it began"),
        (Owner("orders", ("order_no",), ("number",)), "columns of orders: no, buyer"),
        (Owner("people", ("order_no",), ("town",)), "columns of one kind, which is not real"),
    ],
)
def test_a_reference_that_leads_nowhere_is_refused(owner: Owner, rule: str) -> None:
    with pytest.raises(InvalidParameter, match=rule):
        dataclasses.replace(SHOP, tables=(PEOPLE, ORDERS, dataclasses.replace(LINES, owner=owner)))


def test_a_reference_is_refused_where_rows_are_units_public_or_have_an_id() -> None:
    with pytest.raises(InvalidParameter, match="unit is a person"):
        DataSet("shop", (dataclasses.replace(PEOPLE, person=None), ORDERS), ROW)
    with pytest.raises(InvalidParameter, match="declare the one who is protected"):
        dataclasses.replace(ORDERS, person="buyer")
    with pytest.raises(InvalidParameter, match="public table"):
        dataclasses.replace(ORDERS, is_public=True)
    for columns, keys in (((), ()), (("a", "a"), ("b", "c")), (("a",), ("b", "c"))):
        with pytest.raises(InvalidParameter, match="different columns"):
            Owner("people", columns, keys)


SCHEMA = """
dataset: shop
unit: person
contribution: {rows: 9}
tables:
  people: {source: people.csv, privacy id: id, columns: {id: integer}}
  sellers: {source: sellers.csv, privacy id: no, columns: {no: integer}}
  orders:
    source: orders.csv
    OWNER
    columns: {no: integer, buyer: integer, seller: integer}
"""


@pytest.mark.parametrize(
    ("owner", "place", "rule"),
    [
        ("owner: {buyer: people.id, seller: sellers.no}", "orders.owner", "declare the one who is protected"),
        ("owner: [{buyer: people.id}, {seller: sellers.no}]", "orders.owner", "declare the one who is protected"),
        ("owner: {buyer: people}", "orders.owner.buyer", "table.column"),
        ("owner: {buyer: persons.id}", "orders.owner", "private tables people, sellers, orders"),
        ("rows per owner: 3", "orders.rows per owner", "without owner"),
        ("owner: {buyer: people.id}\n    rows per owner: 0", "orders.rows per owner", "at least 1"),
        ("owner: {}", "orders.owner", "each with the table.column"),
        ("key: no", "orders.key", "public table"),
    ],
)
def test_a_schema_file_names_the_place_of_a_wrong_owner(owner: str, place: str, rule: str) -> None:
    assert loads(SCHEMA.replace("OWNER", "owner: {buyer: people.id}")).table("orders").owner is not None
    with pytest.raises(InvalidSchema, match=rule) as caught:
        loads(SCHEMA.replace("OWNER", owner))
    assert place in str(caught.value)

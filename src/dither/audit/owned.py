"""Whether numbers of tables that belong to people through references ever move farther than declared: brute force.

The search of ``audit.queries`` once more, over people, their orders and the visits that refer to these: keys repeat
within a person and across two, dangle, and are NULL; a limit on the rows of a key, and one on the rows of a person in a
table, is declared or not. The query reads the referring table, unites it with itself, joins along references in every
direction, pairs two tables that refer to one key, or keeps rows whose key is not among a subquery's.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from dither.audit.queries import Comparison, Found, Row, neighbours, plain_answers
from dither.data import (
    Call,
    Column,
    DataSet,
    Filter,
    Kind,
    Literal,
    Name,
    PerPerson,
    Project,
    Relation,
    Table,
    UnionAll,
)
from dither.data.joins import joined
from dither.data.owners import scan_of
from dither.data.reference import ReferenceEngine
from dither.data.schema import Owner
from dither.noise import Noise, system_noise
from dither.publish.queries.answer import Answer

SHAPES: Final = ("scan", "union", "parent", "child", "chain", "pairs", "absent")
#: The one who comes and goes, and the orders that only this person has.
_NEW: Final = 9
OWN: Final = (71, 72)
#: Orders of the others, of which the new person may have one as well.
_SHARED: Final = (1, 2, 3, None)
Tables = dict[str, list[Row]]


def owned_answers(noise: Noise) -> Iterator[tuple[str, Answer]]:
    """Return answers over tables that refer to people, with the shape of each."""
    for answer in plain_answers(noise):
        if answer.query.dataset.protects_persons:
            shape = SHAPES[int(noise.uniform_below(len(SHAPES), 1)[0])]
            lots = [int(lot) for lot in noise.uniform_below(3, 6)]
            dataset = _dataset(answer.query.dataset, *lots)
            query = replace(answer.query, dataset=dataset, relation=relation_of(dataset, shape))
            yield shape, replace(answer, query=query)


def relation_of(dataset: DataSet, shape: str) -> Relation:
    """Return rows of visits as a query of that shape reads them, under their own names."""
    people, orders, visits = (scan_of(dataset, table) for table in dataset.tables)

    def along(left: Relation, right: Relation, on: tuple[str, str], keep: bool, prefix: str) -> Relation:
        return joined(dataset, left, right, Call("equal", (Name(on[0]), Name(on[1]))), keep, prefix)

    if shape == "union":
        return UnionAll(visits, visits)
    if shape == "parent":
        return along(visits, orders, ("of_order", "o_no"), False, "o_")
    if shape == "child":
        return _named(visits, along(orders, visits, ("no", "v_of_order"), True, "v_"))
    if shape == "chain":
        bought = along(people, orders, ("person", "o_buyer"), True, "o_")
        return _named(visits, along(bought, visits, ("v_of_order", "o_no"), True, "v_"))
    if shape == "pairs":
        return along(visits, visits, ("of_order", "v_of_order"), True, "v_")
    if shape == "absent":
        dear = Filter(visits, Call("more", (Name("cost"), Literal(5, Kind.INTEGER))))
        found = PerPerson(dear, (("key", Name("of_order")),), ())
        return Filter(along(visits, found, ("of_order", "f_key"), True, "f_"), Call("is_null", (Name("f_key"),)))
    return visits


def owned_neighbours(dataset: DataSet, noise: Noise, own: tuple[int | None, ...] = OWN) -> tuple[Tables, Tables]:
    """Return tables one person apart: their orders, and the visits that refer to an order of nobody else.

    Args:
        dataset: people, orders and visits.
        noise: where lots come from.
        own: the orders that the person's visits refer to; with those of others it is a change of two people.

    """
    plain = neighbours(dataset, noise)
    lots = iter([int(lot) for lot in noise.uniform_below(2**20, 128)])
    people = [{"person": person} for person in (1, 2, 3, 3, None)]
    orders = _orders(lots, _SHARED, (1, 2, 3, None, 8))
    # A visit that refers to what another person has is that person's row, too: it does not come and go with this one.
    references = {
        id(row): (own if row["person"] == _NEW else _SHARED)[next(lots) % 2] for side in plain for row in side
    }
    with_new = max(range(2), key=lambda side: len(plain[side]))
    sides = []
    for side, rows in enumerate(plain):
        tables = {
            "people": [*people],
            "orders": [*orders],
            "visits": [{**row, "of_order": references[id(row)]} for row in rows],
        }
        if dataset.is_replaced or side == with_new:
            tables["people"] += [{"person": _NEW}] * (1 + next(lots) % 2)
            tables["orders"] += _orders(lots, (*_SHARED, *OWN, *OWN), (_NEW,))
        sides.append(tables)
    return sides[0], sides[1]


def _orders(lots: Iterator[int], numbers: tuple[int | None, ...], buyers: tuple[int | None, ...]) -> list[Row]:
    return [
        {"no": numbers[next(lots) % len(numbers)], "buyer": buyers[next(lots) % len(buyers)]}
        for _ in range(next(lots) % 7)
    ]


def brute_force(pairs: int, answers: int = 96) -> dict[str, list[Found]]:
    """Return the comparison that moved most, for every shape and kind of vector.

    Args:
        pairs: how many pairs of neighbours are tried.
        answers: how many answers they are tried on, in turn.

    """
    noise, worst = system_noise(), dict[str, list[Found]]()
    comparisons = [
        (shape, Comparison(answer)) for shape, answer in itertools.islice(owned_answers(noise), min(answers, pairs))
    ]
    for number in range(pairs):
        shape, comparison = comparisons[number % len(comparisons)]
        dataset = comparison.answer.query.dataset
        here, there = (ReferenceEngine(dataset, tables) for tables in owned_neighbours(dataset, noise))
        for found in comparison.of(here, there):
            name = f"{found.what}, referring rows: {shape}"
            known = worst.setdefault(name, [found])
            known[:] = [max(known[0], found, key=lambda each: each.tightness)]
    return worst


def _dataset(dataset: DataSet, orders_a_person: int, visits_an_order: int, rows_a_join: int, *rows: int) -> DataSet:
    visits = dataset.tables[0]
    columns = tuple(column for column in visits.columns if column.name != "person")
    owner = Owner("orders", ("of_order",), ("no",), visits_an_order or None)
    number, buyer = Column("no", Kind.INTEGER), Column("buyer", Kind.INTEGER)
    tables = (
        Table("people", (Column("person", Kind.INTEGER),), "people.csv", person="person"),
        Table(
            "orders",
            (number, buyer),
            "orders.csv",
            owner=Owner("people", ("buyer",), ("person",), orders_a_person or None),
        ),
        Table("visits", (*columns, Column("of_order", Kind.INTEGER)), "visits.csv", owner=owner),
    )
    limited = (replace(table, rows_per_person=most or None) for table, most in zip(tables, rows, strict=True))
    return replace(dataset, rows_per_join=1 + rows_a_join, tables=tuple(limited))


def _named(visits: Relation, relation: Relation) -> Relation:
    outputs: tuple[tuple[str, Any], ...] = tuple((name, Name(f"v_{name}")) for name in visits.columns)
    return Project(relation, outputs)

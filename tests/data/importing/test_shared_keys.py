"""Keys of several people, counted in files as nested loops count them."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from dither.data import Column, Kind, Table
from dither.data.importing.references import Shared, reference_of, shared_keys
from dither.data.schema import Owner
from tests.data.test_owners import BUYERS, LINES, ORDERED, ORDERS, PEOPLE, Rows, owners_of, shops

#: Towns are keys here that people may share.
IN_TOWN = Table(
    "orders",
    (Column("no", Kind.INTEGER), Column("town", Kind.TEXT, length=3)),
    "orders.csv",
    owner=Owner("people", ("town",), ("town",)),
)


def write(folder: Path, name: str, rows: Rows) -> list[str]:
    """Write rows as a CSV file, in which NULL is an empty field."""
    path = folder / f"{name}.csv"
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]) if rows else ["no", "buyer"])
        writer.writeheader()
        writer.writerows(rows)
    return [str(path)]


def meant(tables: dict[str, Rows], name: str, column: str, parent: str, key: str) -> Shared:
    """Count keys that rows refer to and that several people have, by the definition."""
    people: dict[Any, set[Any]] = {}
    for row, who in zip(tables[parent], owners_of(tables)[parent], strict=True):
        people.setdefault(row[key], set()).update(who)
    used = {row[column] for row in tables[name]} - {None}
    many = [len(people.get(value, ())) for value in used if len(people.get(value, ())) > 1]
    return Shared(len(many), max(many, default=0))


def test_keys_of_several_people_are_counted_as_nested_loops_do(tmp_path: Path) -> None:
    """Shops of two orders of which one has lines: numbers that repeat, of a person, of two, of nobody, and NULL."""
    people, lines = write(tmp_path, "people", BUYERS), write(tmp_path, "lines", ORDERED)
    found = set()
    chosen = [shop for shop in shops(2) if [order["no"] for order in shop["orders"]] in ([1, 1], [1, None])]
    for shop in chosen:
        orders = write(tmp_path, "orders", shop["orders"])
        shared = shared_keys([(LINES, lines), (ORDERS, orders), (PEOPLE, people)])
        assert shared == meant(shop, "lines", "order_no", "orders", "no"), shop["orders"]
        found.add(shared)
    assert found == {Shared(0, 0), Shared(1, 2)}


def test_a_key_is_shared_if_the_rows_that_it_leads_through_are(tmp_path: Path) -> None:
    """An order of a town is one of all who live there; a text that is longer than declared is no key."""
    towns = [("x", 1), ("x", 2), ("y", 3), ("y", 3), ("long", 4), ("long", 5), ("", 6), ("", 7), ("z", None), ("z", 8)]
    people = write(tmp_path, "people", [{"id": one, "town": town} for town, one in towns])
    orders = write(tmp_path, "orders", [{"no": n, "town": town} for n, town in enumerate(["x", "y", "long", "", "z"])])
    lines = write(tmp_path, "lines", [{"order_no": n, "pieces": 1} for n in range(5)])
    short = Table("people", (PEOPLE.columns[0], Column("town", Kind.TEXT, length=3)), "people.csv", person="id")
    assert shared_keys([(IN_TOWN, orders), (short, people)]) == Shared(1, 2)
    chain = [(LINES, lines), (IN_TOWN, orders), (short, people)]
    assert shared_keys(chain) == Shared(1, 2)
    fit, unknown = reference_of(chain), reference_of(chain[:2])
    assert fit is not None
    assert unknown is not None
    assert (fit.shared, fit.repeated, unknown.shared) == (1, 0, None)
    assert not fit.is_whole
    assert unknown.is_whole

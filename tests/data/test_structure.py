"""What a tree says by its form alone holds for its rows, however joins, unions, windows and bounds stand together."""

# ruff: noqa: S311 - trees are drawn, not noise
from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import pytest

from dither.data import (
    Bounded,
    Call,
    Column,
    CountRows,
    DataSet,
    Filter,
    JoinPersons,
    JoinPublic,
    Kind,
    Largest,
    Limits,
    Literal,
    Name,
    PerPerson,
    Project,
    Relation,
    Table,
    UnionAll,
    Window,
)
from dither.data.joins import check_relation, joined, joined_public
from dither.data.meeting import unique_keys
from dither.data.own_tables import parts_of
from dither.data.owners import identifiers, one_a_key, scan_of
from dither.data.reference import rows_of
from dither.data.relations import PERSON, person_columns, rows_per_person
from dither.data.schema import Owner, person_unit
from dither.errors import Unanswerable

Rows = list[dict[str, Any]]
#: The person who comes with rows in every table, and the orders that nobody else has.
NEW: Final = 9
OWN: Final = (7, 8)
CELLS: Final = (None, 0, 1, 2, 3)


def _table(name: str, columns: str, **how: Any) -> Table:
    return Table(name, tuple(Column(one, Kind.INTEGER) for one in columns.split()), f"{name}.csv", **how)


def _dataset(lots: random.Random) -> DataSet:
    few = lots.choice((None, 1, 2)), lots.choice((None, 1, 2))
    tables = (
        _table("people", "person x", person="person"),
        _table("orders", "no buyer w", owner=Owner("people", ("buyer",), ("person",), few[0])),
        _table("visits", "order_no c", owner=Owner("orders", ("order_no",), ("no",), few[1])),
        _table("rates", "k j", is_public=True, key=("k", "j"), rows=3),
    )
    return DataSet("shop", tables, person_unit("person"), rows=5, rows_per_join=lots.choice((1, 2, 3)))


class _Trees:
    """Draws trees over one data set."""

    def __init__(self, lots: random.Random) -> None:
        self.lots, self.dataset, self.names = lots, _dataset(lots), 0

    def drawn(self, depth: int) -> Relation:
        lots = self.lots
        if depth == 0 or lots.random() < 0.1:
            return scan_of(self.dataset, self.dataset.tables[lots.randrange(3)])
        kinds: tuple[Callable[[Relation, int], Relation], ...]
        kinds = (self._rows, self._public, self._union, self._join, self._join, self._totals, self._window, self._few)
        return lots.choice(kinds)(self.drawn(depth - 1), depth)

    def _new(self) -> str:
        self.names += 1
        return f"n{self.names}"

    def _some(self, relation: Relation) -> Name:
        return Name(self.lots.choice([*relation.columns]))

    def _maybe(self) -> bool:
        return self.lots.random() < 0.5

    def _rows(self, below: Relation, depth: int) -> Relation:
        if self._maybe():
            return Filter(below, Call("more", (self._some(below), Literal(self.lots.randrange(3), Kind.INTEGER))))
        kept = [*(self._some(below) for _ in range(3)), *map(Name, sorted(person_columns(below)))]
        return Project(below, tuple((self._new(), one) for one in kept))

    def _public(self, below: Relation, depth: int) -> Relation:
        rates, prefix = self.dataset.tables[3], f"{self._new()}_"
        if self._maybe():
            return JoinPublic(below, rates, (self._some(below), self._some(below)), self._maybe(), prefix)
        keys = {"k": self._some(below)} if self._maybe() else {}
        return joined_public(self.dataset, below, rates, keys, prefix, keep_unmatched=self._maybe())

    def _union(self, below: Relation, depth: int) -> Relation:
        sides = below, self.drawn(depth - 1)
        many = min(len(side.columns) for side in sides)
        left, right = (
            Project(side, tuple((self._new(), Name(name)) for name in [*side.columns][:many])) for side in sides
        )
        return UnionAll(left, right)

    def _join(self, below: Relation, depth: int) -> Relation:
        other, prefix = self.drawn(depth - 1), f"{self._new()}_"
        left, right = (
            self.lots.choice([*self._keys(side), self._some(side).name] if self._maybe() else [*side.columns])
            for side in (below, other)
        )
        equal = Call("equal", (Name(left), Name(prefix + right)))
        return joined(self.dataset, below, other, equal, self._maybe(), prefix)

    def _keys(self, relation: Relation) -> list[str]:
        found = [*(one.columns for one in identifiers(self.dataset, relation)), *map(tuple, unique_keys(relation))]
        return [keys[0] for keys in found if len(keys) == 1]

    def _totals(self, below: Relation, depth: int) -> Relation:
        keys = {self._some(below).name for _ in range(self.lots.randrange(3))}
        measures = ((self._new(), CountRows()), (self._new(), Largest(self._some(below))))
        return PerPerson(below, tuple((self._new(), Name(key)) for key in sorted(keys)), measures)

    def _window(self, below: Relation, depth: int) -> Relation:
        function = self.lots.choice(("row_number", "rank", "lag", "sum"))
        value = None if function in ("row_number", "rank") else self._some(below)
        running = self.lots.choice((None, "range", "rows")) if function == "sum" else None
        away = 2 if function == "lag" and self._maybe() else None
        order = ((self._some(below), self._maybe()),)
        frame = self.lots.choice((None, (-1, 1), (1, 2), (None, -1))) if function == "sum" and not running else None
        return Window(below, self._new(), function, value, (self._some(below),), order, running, away, frame)

    def _few(self, below: Relation, depth: int) -> Relation:
        if self._maybe():
            return one_a_key(below, (self._some(below).name,))
        limits = Limits(*(self.lots.choice((None, 1, 2)) for _ in range(3)))
        return Bounded(below, (self._some(below),), limits, tuple(below.columns))


def _neighbours(lots: random.Random) -> tuple[dict[str, Rows], dict[str, Rows]]:
    """Return tables without and with one person, whose visits refer to orders of nobody else."""

    def rows(most: int, **cells: tuple[Any, ...]) -> Rows:
        return [{name: lots.choice(some) for name, some in cells.items()} for _ in range(lots.randrange(most))]

    orders, numbers = (None, 0, 1, 2), (0, 1, *OWN)
    without = {
        "people": rows(5, person=(1, 2, None), x=CELLS),
        "orders": rows(6, no=orders, buyer=(1, 2, 5, None), w=CELLS),
        "visits": rows(8, order_no=orders, c=CELLS),
        "rates": rows(8, k=CELLS, j=CELLS),
    }
    coming = {
        "people": [{"person": NEW, "x": 1}, *rows(3, person=(NEW,), x=CELLS)],
        "orders": rows(6, no=numbers, buyer=(NEW,), w=CELLS),
        "visits": rows(9, order_no=OWN, c=CELLS),
    }
    both = {name: [*found, *coming.get(name, [])] for name, found in without.items()}
    for found in both.values():
        lots.shuffle(found)
    return without, both


def _bag(rows: Rows) -> Counter[Any]:
    return Counter(tuple(sorted((name, repr(value)) for name, value in row.items())) for row in rows)


def _check(part: Relation, tables: dict[str, Rows]) -> None:
    rows, most = rows_of(part, tables), rows_per_person(part)
    each = Counter(row[PERSON] for row in rows)
    assert None not in each
    assert most is None or max(each.values(), default=0) <= most
    assert all(row[name] == row[PERSON] for name in person_columns(part) for row in rows)
    for keys in unique_keys(part):
        found = Counter((row[PERSON], *(row[key] for key in sorted(keys))) for row in rows)
        assert all(many == 1 for key, many in found.items() if None not in key)
    if isinstance(part, JoinPersons) and not part.keep_unmatched:
        for is_once, other in zip(part.once, (part.right, part.left), strict=True):
            assert not is_once or not each - Counter(row[PERSON] for row in rows_of(other, tables))


@pytest.mark.parametrize("turn", range(4))
def test_what_a_tree_says_by_its_form_holds_for_hostile_rows(turn: int) -> None:
    """Rows a person, keys that do not repeat, sides that meet once, and that nobody else's rows move."""
    seed = random.SystemRandom().getrandbits(32)
    lots, tried = random.Random(seed), 0
    for _ in range(40):
        trees = _Trees(lots)
        relation = trees.drawn(lots.randrange(1, 5))
        try:
            check_relation(relation, trees.dataset)
        except Unanswerable:
            continue  # more tables than a query may join
        tried += 1
        for _ in range(3):
            without, both = _neighbours(lots)
            others = [row for row in rows_of(relation, both) if row[PERSON] != NEW]
            assert _bag(rows_of(relation, without)) == _bag(others), (seed, relation)
            for part in parts_of(relation):
                _check(part, both)
    assert tried > 20

"""Random rows, baskets, journeys and people, and random neighbours of tables made of them.

Every field of a row may be wild: far beyond its bounds, at them, missing, of a value that nobody declared. A replaced
row may keep all but its label, or nothing. A person has any number of rows in every private table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.data import Column, Kind
from dither.data.reference import ReferenceEngine
from dither.privacy import Relation, Unit
from dither.testing.choices import Choices
from dither.testing.hostile import FLOATS, INTEGERS, Pair

_MOST_ROWS: Final = 12
_MOST_PER_PERSON: Final = 7
_MOST_PEOPLE: Final = 5
_CELLS: Final[dict[Kind, tuple[Any, ...]]] = {
    Kind.BOOLEAN: (True, False, None),
    Kind.INTEGER: (0, 1, 2, 5, -1, 2**63 - 1, -(2**63), None, "7", 1.5),
    Kind.REAL: (0.0, 0.25, 1.0, 50.0, 1e308, -1e308, float("nan"), float("inf"), -0.0, None),
    Kind.TEXT: ("", "a value never seen", "\x00", None, 7),
    Kind.DATE: ("2025-01-01", "0001-01-01", "9999-12-31", None, "no date"),
    Kind.TIMESTAMP: ("2025-01-01 00:30:00", "0001-01-01 00:00:00", None, "no time"),
}


def random_row(columns: Sequence[Column], choices: Choices) -> dict[str, Any]:
    """Return a row of cells: mostly within what is declared, at its ends, or as odd as the kind allows."""
    row = {}
    for column in columns:
        known: list[Any] = list(column.categories or ())
        if column.lower is not None and column.upper is not None:
            low, high = column.lower, column.upper
            known += [low, high, *([] if isinstance(low, str) or not hasattr(low, "__add__") else _between(low, high))]
        row[column.name] = choices.one(known) if known and choices.below(5) else choices.one(_CELLS[column.kind])
    return row


def _between(low: Any, high: Any) -> list[Any]:
    try:
        return [low + (high - low) / 2] if isinstance(low, float) else [low + (high - low) // 2]
    except TypeError:
        return []


def array_pairs(rows: NDArray[Any], relation: Relation, choices: Choices) -> Iterator[Pair]:
    """Return tables of numbers one to three rows apart; a replaced row keeps all, some or none of its entries.

    Under replacement half of them have as many rows as the example: that number may be declared, and others refused.
    """
    while len(rows):
        is_any = relation is Relation.ADD_REMOVE or (relation is Relation.REPLACE and choices.below(2) == 0)
        many = choices.below(_MOST_ROWS) if is_any else len(rows)
        if relation is not Relation.ADD_REMOVE and not many:
            continue
        base = [_array_row(rows, choices) for _ in range(many)]
        apart = 1 + (choices.below(3) if choices.below(6) == 0 else 0)
        if relation is Relation.ADD_REMOVE:
            if base and choices.below(4) == 0:
                # Another label on the same entries is a row that leaves and one that comes.
                there, apart = [*base[1:], _relabelled(rows, base[0], choices)], 2
            else:
                there = [*base, *(_array_row(rows, choices) for _ in range(apart))]
        else:
            apart = min(apart, len(base))
            there = [_relabelled(rows, one, choices) if choices.below(2) else _array_row(rows, choices) for one in base]
            there = [*there[:apart], *base[apart:]]
        made = _array(rows, base), _array(rows, choices.shuffled(there))
        yield (*(made if choices.below(2) else made[::-1]), apart)


def label_pairs(rows: NDArray[Any], choices: Choices) -> Iterator[Pair]:
    """Return tables with the rows of the example, of which one to three have another label; all labels are drawn."""
    labels = [row[-1] for row in rows]
    while len(rows):
        here = rows[choices.shuffled(range(len(rows)))].copy()
        for place in range(len(here)):
            here[place, -1] = choices.one(labels) if choices.below(5) else _number(rows.dtype, labels, choices)
        there, apart = here.copy(), min(len(here), 1 + (choices.below(3) if choices.below(6) == 0 else 0))
        for place in choices.shuffled(range(len(here)))[:apart]:
            there[place] = _relabelled(rows, here[place], choices)
        yield here, there, apart


def _array(like: NDArray[Any], rows: list[Any]) -> NDArray[Any]:
    return np.array(rows, dtype=like.dtype).reshape(len(rows), *like.shape[1:])


def _array_row(rows: NDArray[Any], choices: Choices) -> Any:
    """Return a known row, one with some wild entries, or one of which every entry is wild."""
    row = np.array(rows[choices.below(len(rows))])
    wild = choices.one((0, 40, 100))
    for place in range(row.size):
        if choices.below(100) < wild:
            row.flat[place] = _number(rows.dtype, [one.flat[place] for one in rows], choices)
    return row


def _relabelled(rows: NDArray[Any], row: Any, choices: Choices) -> Any:
    """Return a row with another label, its last entry, and all else as it is."""
    found = np.array(row)
    if found.ndim == 0:
        return _array_row(rows, choices)
    labels = [one.flat[-1] for one in rows]
    others = [label for label in labels if label != found.flat[-1]] or labels
    found.flat[-1] = choices.one(others) if choices.below(5) else _number(rows.dtype, labels, choices)
    return found


def _number(dtype: np.dtype[Any], known: Sequence[Any], choices: Choices) -> Any:
    if dtype.kind in "iu":
        info, value = np.iinfo(dtype), int(choices.one(known))
        made = choices.one((value, value + 1, value - 1, int(max(known)) + 1, *INTEGERS))
        return min(max(made, int(info.min)), int(info.max))
    if dtype.kind == "b":
        return bool(choices.below(2))
    real = float(choices.one(known))
    return choices.one((real, -real, 2 * real, real + 1.0, real * 1e6, *FLOATS))


def list_pairs(relation: Relation, count: int, make: Callable[[], Any], choices: Choices) -> Iterator[Pair]:
    """Return lists of made rows, one to three rows apart; under replacement of ``count`` rows."""
    while True:
        many = count if relation is not Relation.ADD_REMOVE else choices.below(_MOST_ROWS)
        here = [make() for _ in range(many)]
        apart = 1 + (choices.below(3) if choices.below(6) == 0 else 0)
        if relation is Relation.ADD_REMOVE:
            there = [*here, *(make() for _ in range(apart))]
        else:
            apart = min(apart, len(here))
            there = [*(make() for _ in range(apart)), *here[apart:]]
        there = choices.shuffled(there)
        yield (here, there, apart) if choices.below(2) else (there, here, apart)


def random_basket(items: int, choices: Choices) -> tuple[Any, ...]:
    """Return a basket: nothing, everything, items twice, items that nobody declared."""
    known = list(range(items + 1))
    kind = choices.below(6)
    if kind == 0:
        return ()
    if kind == 1:
        return tuple(known)
    basket = choices.some(known, choices.one((15, 50, 85)))
    if kind == 2:
        basket += choices.some(basket, 50) + choices.one(([-1], [10**9], [items], [items + 1]))
    return tuple(choices.shuffled(basket))


def random_journey(cells: int, length: int, choices: Choices) -> list[int]:
    """Return a journey of cells: a walk, a jump, a rest, cells beyond the grid; an early end is -1."""
    at, journey = choices.below(cells), []
    for _ in range(length):
        move = choices.below(8)
        if move == 0:
            at = choices.one((-1, cells, cells + 5, -7, 2**40))
        elif move < 4:
            at = (at + choices.one((-1, 1, 0, 3, -3))) % cells
        elif move < 6:
            at = choices.below(cells)
        journey.append(at)
    return journey


def people_pairs(engine: ReferenceEngine, unit: Unit, choices: Choices) -> Iterator[Pair]:
    """Return tables one or two units apart: people with any number of rows in every private table, or single rows."""
    tables = [table for table in engine.dataset.tables if not table.is_public]
    owned = [table for table in tables if table.person is not None]
    is_people = unit.protects == "person"
    if (is_people and not owned) or not tables:
        return
    taken = [row[table.person] for table in owned for row in engine.frames[table.name]]
    is_text = any(isinstance(one, str) for one in taken)

    def rows_of(name: int) -> dict[str, list[dict[str, Any]]]:
        found: dict[str, list[dict[str, Any]]] = {}
        for table in owned if is_people else tables[:1]:
            many = choices.below(_MOST_PER_PERSON + 1) if is_people else 1
            made: list[dict[str, Any]] = []
            for _ in range(many):
                again = made and choices.below(5) == 0
                row = dict(choices.one(made)) if again else _known_or_random(engine, table, choices)
                if table.person is not None:
                    row[table.person] = f"p{name}" if is_text else 10**6 + name
                made.append(row)
            found[table.name] = made
        return found

    while True:
        base = [rows_of(number) for number in range(choices.below(_MOST_PEOPLE))]
        rest = {
            table.name: choices.some(list(engine.frames[table.name]), choices.one((0, 50, 100))) for table in tables
        }
        apart = 2 if choices.below(6) == 0 else 1
        is_replaced = unit.relation is not Relation.ADD_REMOVE
        gone = [rows_of(100 + number) for number in range(apart)] if is_replaced else []
        # Who is replaced may keep the number and have other rows.
        start = 100 if is_replaced and choices.below(2) else 200
        come = [rows_of(start + number) for number in range(apart)]
        sides = []
        for people in ([*base, *gone], [*base, *come]):
            held = dict(engine.frames)
            for table in tables:
                held[table.name] = choices.shuffled(
                    [*rest[table.name], *(row for one in people for row in one.get(table.name, ()))]
                )
            sides.append(ReferenceEngine(engine.dataset, held))
        yield (sides[0], sides[1], apart) if choices.below(2) else (sides[1], sides[0], apart)


def _known_or_random(engine: ReferenceEngine, table: Any, choices: Choices) -> dict[str, Any]:
    known = engine.frames[table.name]
    return dict(choices.one(known)) if len(known) and choices.below(3) == 0 else random_row(table.columns, choices)

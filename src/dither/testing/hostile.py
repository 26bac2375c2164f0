"""Hostile values and neighbours, for any input that a mechanism takes.

Values at the edges of every type, and pairs of inputs as far apart as one unit allows: what a private mechanism must
survive without raising, and where a wrong sensitivity shows.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dither.data import Column, Kind
from dither.data.reference import ReferenceEngine
from dither.mechanisms.core.mechanism import InteractivePrimitive, Mechanism, Primitive
from dither.mechanisms.core.values import Category, Domain, IntegerArray, RealArray
from dither.privacy import LARGEST, RECORDS, ROW, Distance, Metric, Relation, Unit

INTEGERS = (0, 1, -1, 7, 2**31 - 1, -(2**31), 2**53 + 1, 2**60, -(2**60), 2**62, 2**63 - 1, -(2**63))
FLOATS = (
    0.0,
    -0.0,
    0.5,
    -0.5,
    float(np.nextafter(0.5, 0)),
    1e-300,
    -1e-300,
    5e-324,
    2.0**52 + 0.5,
    2.0**53,
    -1e15 - 0.25,
    1e308,
    -1e308,
    float("inf"),
    float("-inf"),
    float("nan"),
)
#: What no numeric domain takes; each must be refused by its type or shape.
MISTYPED: tuple[Any, ...] = (
    None,
    "12",
    b"1",
    True,
    1j,
    object(),
    [[1], [2, 3]],
    {},
    np.array(["a"]),
    np.array([1], dtype=object),
)

Pair = tuple[Any, Any, int | Fraction]


def values(domain: Domain) -> Iterator[Any]:
    """Return values of the right type and shape with content as odd as possible."""
    if isinstance(domain, Category):
        yield from (0, domain.count - 1, domain.count, -1, 2**70, -(2**70))
    elif isinstance(domain, IntegerArray | RealArray):
        numbers: Sequence[Any] = INTEGERS if isinstance(domain, IntegerArray) else (*FLOATS, *INTEGERS)
        for number in numbers:
            yield _filled(domain.shape, number)
        if domain.shape != ():
            mixed = np.resize(
                np.array(numbers, dtype=float if isinstance(domain, RealArray) else np.int64), domain.shape
            )
            yield mixed


def emptied(data: Any) -> Iterator[Any]:
    """Yield data of the same type that says of nobody: no rows, and no count but 0. None where there is no rule."""
    if type(data) is ReferenceEngine:
        yield ReferenceEngine(data.dataset, {name: [] for name in data.frames})
    elif isinstance(data, np.ndarray):
        yield np.zeros_like(data)
        if data.ndim:
            yield data[:0]
    elif type(data) in (list, tuple, dict, Counter, set, frozenset, int):
        yield type(data)()


def value_pairs(part: Primitive[Any, Any] | InteractivePrimitive[Any, Any], example: Any) -> Iterator[Pair]:
    """Return pairs of values at most one apart in the part's metric, at ordinary and at extreme places.

    For an interactive primitive they are scripts of values, and the distance is that of the metric.
    """
    metric, domain = part.distance, part.domain
    if isinstance(part, InteractivePrimitive):
        yield from _scripts(part, list(example))
        return
    if isinstance(domain, Category) and not isinstance(metric, Metric):
        # How far apart two categories are is the unit's own matter: the mechanism's examples say.
        return
    if isinstance(domain, Category):
        categories = range(min(domain.count, 4))
        yield from ((one, other, 1) for one in categories for other in categories if one != other)
        return
    if metric is RECORDS:
        yield from row_pairs(example, ROW)
        return
    shape = domain.shape  # type: ignore[attr-defined]
    for here in (example, *(_filled(shape, start) for start in (0, 5, -(2**40), 2**60))):
        there = _moved(metric, here, shape)
        apart = _at_least_one(metric, here, there)
        yield here, there, apart
        if here is not example:
            yield there, here, apart


def farther_pairs(part: Primitive[Any, Any], example: Any) -> Iterator[Pair]:
    """Return values two and three apart in the part's metric: the moved value is moved again."""
    shape = getattr(part.domain, "shape", None)
    if shape is None:
        return
    moved = example
    for apart in range(1, 4):
        moved = _moved(part.distance, moved, shape)
        if apart > 1:
            yield example, moved, apart


def distant_pairs(part: Primitive[Any, Any], example: Any, apart: int) -> Iterator[Pair]:
    """Return one pair of values that far apart in the part's metric, along one entry."""
    shape = getattr(part.domain, "shape", None)
    if shape is None or not isinstance(part.distance, Metric):
        return
    moved: Any = example + apart if shape == () else np.array(example)
    if shape != ():
        moved.flat[0] += apart
    if part.distance.measure(example, moved) == apart:
        yield example, moved, apart


def row_pairs(rows: Any, unit: Unit) -> Iterator[Pair]:
    """Return neighbours of a table given as a list or an array of rows: one row added, removed or replaced."""
    oddities = _odd_rows(rows)
    for odd in oddities:
        if unit.relation is Relation.ADD_REMOVE:
            yield rows, _join(rows, odd), 1
            yield _join(rows, odd), rows, 1
        elif len(rows):
            yield rows, _join(rows[1:], odd), 1
    if unit.relation is Relation.ADD_REMOVE:
        for position in range(min(len(rows), 4)):
            yield rows, _join(rows[:position], *rows[position + 1 :]), 1
        yield rows[:0], _join(rows[:0], oddities[0]), 1


def label_pairs(rows: Any) -> Iterator[Pair]:
    """Return neighbours of an array of rows that end with a label: one label differs, or is as odd as its type allows.

    Also in another order: rows are a collection.
    """
    if not isinstance(rows, np.ndarray):
        return
    for place in range(min(len(rows), 4)):
        for odd in _odd_rows(rows[:, -1]):
            changed = rows.copy()
            changed[place, -1] = odd
            yield (rows, changed, 1) if place % 2 else (changed, rows[::-1], 1)


def pairs(mechanism: Mechanism[Any, Any], data: Any) -> Iterator[Pair]:
    """Return hostile neighbours for the input of ``mechanism``."""
    if isinstance(mechanism, Primitive | InteractivePrimitive):
        yield from value_pairs(mechanism, data)
    elif isinstance(mechanism.distance, Unit) and mechanism.distance.relation is Relation.METRIC:
        # How far apart two inputs are only the mechanism knows: its examples bring neighbours.
        return
    elif isinstance(mechanism.distance, Unit) and mechanism.distance.protects == "label":
        yield from label_pairs(data)
    elif isinstance(mechanism.distance, Unit) and isinstance(data, np.ndarray | list | tuple):
        yield from row_pairs(data, mechanism.distance)
    elif mechanism.distance is RECORDS and isinstance(data, np.ndarray):
        yield from row_pairs(data, ROW)
    elif isinstance(mechanism.distance, Unit) and isinstance(data, ReferenceEngine):
        yield from engine_pairs(data, mechanism.distance)


def engine_pairs(engine: ReferenceEngine, unit: Unit) -> Iterator[Pair]:
    """Return neighbours of the tables that an engine holds: one unit added, removed or replaced.

    A unit is a row, or a person with many rows in every private table, whose cells lie at the edges of their kinds.
    """
    dataset, persons = engine.dataset, unit.protects == "person"
    # Under replacement the first unit makes room for another one, so that their number stays.
    first = next((row for table in dataset.tables if not table.is_public for row in engine.frames[table.name]), None)
    gone = None if first is None else _unit_of(engine, first)
    nobody = _never_seen(engine)
    for turn in range(_TURNS):
        come: dict[str, list[dict[str, Any]]] = {}
        for table in dataset.tables:
            if not table.is_public:
                rows = [_odd_cells(table.columns, turn + number) for number in range(_ODD_ROWS if persons else 1)]
                come[table.name] = [{**row, table.person: nobody} for row in rows] if table.person else rows[:1]
                if not persons:
                    break
        if unit.relation is Relation.ADD_REMOVE:
            yield engine, _with(engine, come, None), 1
            yield _with(engine, come, gone), _with(engine, {}, gone), 1
        elif gone is not None:
            yield engine, _with(engine, come, gone), 1
            yield _with(engine, come, gone), engine, 1


_TURNS, _ODD_ROWS, _NOBODY = 8, 12, 987654321


def _never_seen(engine: ReferenceEngine) -> int:
    """Return a privacy id that is not in use: more rows of a known person would be another change."""
    taken = {
        str(row[table.person]) for table in engine.dataset.tables if table.person for row in engine.frames[table.name]
    }
    return next(number for number in itertools.count(_NOBODY) if str(number) not in taken)


def _unit_of(engine: ReferenceEngine, row: Any) -> Any:
    """Return what identifies the rows of a unit: the privacy id, or the row itself."""
    table = next(table for table in engine.dataset.tables if not table.is_public)
    return row if table.person is None else row[table.person]


def _with(engine: ReferenceEngine, come: Any, gone: Any) -> ReferenceEngine:
    """Return an engine with added rows, and without one unit."""
    tables = {}
    for table in engine.dataset.tables:
        rows = list(engine.frames[table.name])
        if not table.is_public and gone is not None:
            rows = [row for row in rows if (row is not gone if table.person is None else row[table.person] != gone)]
        tables[table.name] = [*rows, *come.get(table.name, ())]
    return ReferenceEngine(engine.dataset, tables)


def _odd_cells(columns: Sequence[Column], turn: int) -> dict[str, Any]:
    """Return a row of cells at the edges of their kinds; declared values and bounds take their turn."""
    odd: dict[Kind, tuple[Any, ...]] = {
        Kind.BOOLEAN: (True, False, None),
        Kind.INTEGER: (2**63 - 1, -(2**63), 0, None, "7", 1.5),
        Kind.REAL: (1e308, -1e308, float("nan"), float("inf"), -0.0, None),
        Kind.TEXT: ("", "a value never seen", "\x00", None, 7),
        Kind.DATE: ("0001-01-01", "9999-12-31", None, "no date"),
        Kind.TIMESTAMP: ("0001-01-01 00:00:00", None, "no time"),
    }
    row = {}
    for place, column in enumerate(columns):
        known = (*(column.categories or ()), *(() if column.lower is None else (column.lower, column.upper)))
        cells = (*known, *odd[column.kind], *known)
        row[column.name] = cells[(turn + place) % len(cells)]
    return row


def _filled(shape: tuple[int, ...], number: Any) -> Any:
    if shape == ():
        return number
    return np.full(shape, number, dtype=np.int64 if isinstance(number, int) else float)


def _moved(metric: Distance, value: Any, shape: tuple[int, ...]) -> Any:
    """Return the value moved by one in the metric, in the most telling way."""
    if shape == ():
        return _within_one(metric, value, value + 1)
    moved = np.array(value)
    if metric is LARGEST:
        # One entry moves against all the others.
        moved += 1
        moved.flat[0] -= 2
    else:
        moved.flat[0] += 1
    return _within_one(metric, value, moved)


def _at_least_one(metric: Distance, here: Any, there: Any) -> int | Fraction:
    """Return how far apart two values are: one, unless the metric weighs some entries more than others."""
    apart = metric.measure(here, there) if isinstance(metric, Metric) else None
    return 1 if apart is None or apart <= 1 else apart


def _within_one(metric: Distance, value: Any, moved: Any) -> Any:
    """Return the moved value, one last digit nearer where rounding took a float too far."""
    apart = metric.measure(value, moved) if isinstance(metric, Metric) else None
    if apart is None or apart <= 1:
        return moved
    nearer = np.nextafter(moved, value)
    return float(nearer) if np.ndim(nearer) == 0 else nearer


def _scripts(part: InteractivePrimitive[Any, Any], script: list[Any]) -> Iterator[Pair]:
    """Return scripts that differ in all values or in one, and how far apart they are: not one in every metric."""
    if not isinstance(part.distance, Metric):
        return
    if isinstance(part.domain, Category):
        # Everything else that one place of the script may hold.
        others = range(min(part.domain.count, 3))
        moves = [
            (script, [*script[:at], other, *script[at + 1 :]]) for at in range(min(len(script), 3)) for other in others
        ]
    else:
        up = [value + 1 for value in script]
        seesaw = [value + (1 if number % 2 else -1) for number, value in enumerate(script)]
        single = [[*script[:at], script[at] + 1, *script[at + 1 :]] for at in {0, len(script) - 1}] if script else []
        moves = [(script, up), (up, script), (script, seesaw), ([0] * 3, [1] * 3), *((script, one) for one in single)]
    for here, there in moves:
        apart = part.distance.measure(here, there)
        # Where the metric has no distance between them, they are not neighbours.
        if apart:
            yield here, there, int(apart) if apart == int(apart) else apart


def _odd_rows(rows: Any) -> list[Any]:
    if isinstance(rows, np.ndarray):
        shape = rows.shape[1:]
        fills = INTEGERS[:6] if rows.dtype.kind in "iu" else FLOATS
        info = np.iinfo(rows.dtype) if rows.dtype.kind in "iu" else None
        return [
            np.full(shape, min(max(fill, info.min), info.max) if info else fill, dtype=rows.dtype) for fill in fills
        ]
    first = rows[0] if len(rows) else 0
    if isinstance(first, str):
        return ["", "a value never seen", "\x00", "𐍈" * 100]
    return [first, *FLOATS] if isinstance(first, float) else [first, *INTEGERS, Fraction(1, 3)][:7]


def _join(rows: Any, *more: Any) -> Any:
    if isinstance(rows, np.ndarray):
        return np.concatenate([rows, np.array(more, dtype=rows.dtype).reshape(len(more), *rows.shape[1:])])
    return type(rows)([*rows, *more])

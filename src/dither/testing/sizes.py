"""Larger neighbours made from small ones: about 300 rows, many columns or cells, and units two and three apart.

Some leaks depend on size: a branch for large data, a table that is cut, a loop that ends early. What is made here is of
the type of an example's own data, so that every mechanism can be tried on it without further ado.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from itertools import islice
from typing import Any, Final

import numpy as np

from dither.data.reference import ReferenceEngine
from dither.errors import DitherError
from dither.mechanisms import Composed, Dialogue, Example, Interactive, Mechanism, PublicArray
from dither.privacy import L1, L2, RECORDS, Relation, Unit
from dither.testing import hostile
from dither.testing.hostile import Pair
from dither.testing.widened import widened

ROWS: Final = 300
#: A number of rows, and a total of counts, beyond anything that might be taken for large.
CROWD: Final = 6000
TOTAL: Final = 10**6
#: Far more columns than a learner's example has, and fewer where it takes only some.
_COLUMNS: Final = (104, 6)
_ATTRIBUTES, _CELLS, _ITEMS = 7, 500, 24
_TIMES = 12
_FAR_OUT = 10**9
#: Where narrower types of numbers wrap around, or round one step to two: small integers, float32, 32 bits, float64.
_EDGES: Final = (2**15 - 1, 2**24 + 1, 2**31 - 1, 2**32 - 1, 2**53 + 1)
_FARTHEST = 3
_SHARES = (0.55, 0.65, 0.25)


def large_pairs(example: Example) -> list[Pair]:
    """Return neighbours of about 300 rows; none where the number of rows is public."""
    return _sized_pairs(example, ROWS, ROWS)


def crowded_pairs(example: Example) -> list[Pair]:
    """Return one pair of neighbours of about 6,000 rows, or of counts whose total is about a million, and of 2^60."""
    return [*_sized_pairs(example, CROWD, TOTAL)[:1], *_huge_pairs(example)]


def _huge_pairs(example: Example) -> list[Pair]:
    """Return counts from 2^33 to 2^60, and the same with one unit more in a cell that is neither least nor largest."""
    distance, data = example.mechanism.distance, example.data
    if not (distance in (L1, L2) and isinstance(data, np.ndarray) and data.dtype == np.int64 and data.size):
        return []
    places = np.arange(data.size)
    counts = (np.int64(1) << (33 + places % 8)).reshape(data.shape)
    counts.flat[-1] = 2**60
    more = counts.copy()
    more.flat[data.size // 2] += 1
    pairs: list[Pair] = [(counts, more, 1)]
    for edge in _EDGES:
        below = np.full(data.shape, edge, dtype=np.int64)
        above = below.copy()
        above.flat[data.size // 2] += 1
        pairs.append((below, above, 1))
    return pairs


def _sized_pairs(example: Example, count: int, total: int) -> list[Pair]:
    """Return neighbours with this number of rows, or counts that add up to it."""
    distance, data = example.mechanism.distance, example.data
    if isinstance(data, Dialogue):
        if data.data is None:
            return []
        inner = _sized_pairs(Example(example.mechanism, data.data), count, total)
        return [(Dialogue(here, data.script), Dialogue(there, data.script), apart) for here, there, apart in inner]
    if isinstance(data, ReferenceEngine) and isinstance(distance, Unit):
        made = list(islice(hostile.engine_pairs(repeated(data, count), distance), 3))
        return made[1:3]
    if distance in (L1, L2) and isinstance(data, np.ndarray) and data.dtype.kind in "iu":
        counts = total // max(data.size, 1) + 1 + np.arange(data.size, dtype=data.dtype).reshape(data.shape) % 7
        more = counts.copy()
        more.flat[-1] += 1
        return [(counts, more, 1), (more, counts, 1)]
    if not _is_rows(distance, data) or len(data) == 0:
        return []
    rows = cycled(data, count)
    made = list(hostile.pairs(example.mechanism, rows))
    # One odd row more, fewer or other, at the end and in the middle.
    middle = [(rows, without(rows, count // 2), 1)] if adds(distance) else []
    return [*made[:1], *made[len(made) // 2 : len(made) // 2 + 1], *middle]


def wide_example(example: Example) -> Example | None:
    """Return an instance with more columns, attributes, cells or items, and data for it; None where there is none."""
    for widen in (_more_columns, _more_attributes, _more_cells, _more_items, widened):
        try:
            made = widen(example.mechanism, example.data)
        except (DitherError, TypeError, ValueError, IndexError, KeyError, AttributeError):
            # What belongs to the columns was not widened with them: there is no such instance.
            continue
        if made is not None:
            return Example(*made)
    return None


def wide_pairs(example: Example) -> list[Pair]:
    """Return small and large neighbours of an instance that was widened."""
    made = [*_outlying_pairs(example), *example.neighbours]
    made += [*list(hostile.pairs(example.mechanism, example.data))[:2], *large_pairs(example)[:2]]
    if example.mechanism.distance in (L1, L2) and isinstance(example.data, np.ndarray):
        # Nearly empty, and one unit in a cell that was.
        nothing = np.zeros_like(example.data)
        one = nothing.copy()
        one.flat[one.size // 2] = 1
        made.append((nothing, one, 1))
    return made


def _outlying_pairs(example: Example) -> list[Pair]:
    """Return neighbours by a row whose later columns lie far outside all bounds, up in one and down in the next."""
    distance, data = example.mechanism.distance, example.data
    if not (isinstance(distance, Unit) and isinstance(data, np.ndarray) and data.ndim == 2 and len(data)):
        return []
    if distance.protects == "label" or distance.relation is Relation.METRIC:
        return []
    row = data[0].copy()
    # The last column may be a label, and what has none may count for nothing.
    later = row[row.size // 2 : -1]
    later[...] = np.where(np.arange(later.size) % 2, _FAR_OUT, -_FAR_OUT)
    if distance.relation is Relation.ADD_REMOVE:
        return [(data, np.vstack([data, row]), 1)]
    return [(data, np.vstack([row, data[1:]]), 1)]


def most_drawn(plan: Any) -> int:
    """Return the number of entries in the largest draw of a plan."""
    inner = [*getattr(plan, "plans", ()), *([plan.plan] if hasattr(plan, "plan") else [])]
    part = getattr(plan, "part", None)
    if isinstance(part, Composed | Interactive):
        inner.append(part.plan())
    drawn = math.prod(getattr(part, "draw_shape", ()))
    return max([drawn, *map(most_drawn, inner)])


def far_pairs(example: Example) -> Iterator[Pair]:
    """Return inputs two and three units apart, one odd unit after the other, in both directions."""
    mechanism, data = example.mechanism, example.data
    steps: list[Any] = [data]
    for number in range(_FARTHEST):
        following = _one_further(mechanism, steps[-1], number)
        if following is None:
            break
        steps.append(following)
    for apart in range(2, len(steps)):
        yield data, steps[apart], apart
        yield steps[apart], data, apart


def _one_further(mechanism: Mechanism[Any, Any], data: Any, number: int) -> Any:
    """Return data one unit away, in a different way each time."""
    if isinstance(data, Dialogue):
        inner = None if data.data is None else _one_further(mechanism, data.data, number)
        return None if inner is None else Dialogue(inner, data.script)
    if mechanism.distance in (L1, L2) and isinstance(data, np.ndarray) and data.dtype.kind in "iu":
        moved = data.copy()
        # Along one cell for L2, whose length the sum of changes in other cells does not reach; in turns for L1.
        moved.flat[0 if mechanism.distance is L2 else number % data.size] += 1
        return moved
    made = [there for here, there, _ in hostile.pairs(mechanism, data) if here is data]
    if not made:
        return None
    if isinstance(mechanism.distance, Unit) and mechanism.distance.relation is Relation.REPLACE:
        # Each time the first unit makes room, so the same odd one would be taken out again.
        return _turned(made[number % len(made)])
    # From all over: very large rows, odd ones, and one that leaves.
    return made[int(_SHARES[number % len(_SHARES)] * len(made))]


def _turned(data: Any) -> Any:
    """Return rows with the first moved to the end: the order of rows means nothing, and another row goes next."""
    if isinstance(data, np.ndarray) and data.ndim:
        return np.concatenate([data[-1:], data[:-1]])[::-1].copy() if len(data) > 1 else data
    return data


def _is_rows(distance: Any, data: Any) -> bool:
    is_rows = (isinstance(data, np.ndarray) and data.ndim > 0) or isinstance(data, list | tuple)
    return is_rows and (distance is RECORDS or isinstance(distance, Unit))


def adds(distance: Any) -> bool:
    """Whether neighbours have a row more or fewer."""
    return distance is RECORDS or (isinstance(distance, Unit) and distance.relation is Relation.ADD_REMOVE)


def without(rows: Any, place: int) -> Any:
    """Return rows but for one."""
    return (
        np.delete(rows, place, axis=0)
        if isinstance(rows, np.ndarray)
        else type(rows)([*rows[:place], *rows[place + 1 :]])
    )


def cycled(data: Any, count: int) -> Any:
    """Return rows made from the entries that occur, each column with its own period."""
    if isinstance(data, np.ndarray):
        if data.ndim == 1:
            return np.resize(data, count)
        places = np.arange(count)
        return np.column_stack(
            [column[(places * (number + 1) + number) % len(data)] for number, column in enumerate(data.T)]
        )
    return type(data)([data[place % len(data)] for place in range(count)])


def repeated(engine: ReferenceEngine, count: int) -> ReferenceEngine:
    """Return an engine whose private tables hold the same rows of many more people."""
    tables = {}
    for table in engine.dataset.tables:
        rows = list(engine.frames[table.name])
        if not table.is_public and rows:
            times = count // (len(rows) * len(engine.dataset.tables)) + 1
            rows = [_of_another(row, table.person, turn) for turn in range(times) for row in rows]
        tables[table.name] = rows
    return ReferenceEngine(engine.dataset, tables)


def _of_another(row: Any, person: str | None, turn: int) -> Any:
    if person is None or not turn or row[person] is None:
        return dict(row)
    return {**row, person: row[person] + 1000 * turn if isinstance(row[person], int) else f"{row[person]}-{turn}"}


def _more_columns(mechanism: Any, data: Any) -> tuple[Any, Any] | None:
    lower = _lower_of(mechanism)
    if lower is None or not (isinstance(data, np.ndarray) and data.ndim == 2):
        return None
    columns = lower.values.size
    for wanted in _COLUMNS:
        with suppress(DitherError, TypeError, ValueError, IndexError):
            wider = np.column_stack([data[:, np.arange(wanted) % columns], data[:, columns:]])
            return _widened(mechanism, columns, wanted), wider
    return None


def _lower_of(mechanism: Any) -> PublicArray | None:
    """Return the lower bounds of columns: the mechanism's own, or those of a part that it runs."""
    lower = getattr(mechanism, "lower", None)
    if isinstance(lower, PublicArray):
        return lower
    for field in fields(mechanism) if is_dataclass(mechanism) else ():
        inner = getattr(mechanism, field.name)
        for one in inner if isinstance(inner, tuple) else (inner,):
            found = _lower_of(one) if isinstance(one, Mechanism) else None
            if found is not None:
                return found
    return None


def _widened(record: Any, columns: int, wanted: int) -> Any:
    """Return a record in which every array with an axis of this many columns has more of them."""
    if isinstance(record, PublicArray):
        values = record.values
        # Columns come last, as in the data.
        for axis in reversed(range(values.ndim)):
            if values.shape[axis] == columns:
                return PublicArray(np.take(values, np.arange(wanted) % columns, axis=axis))
        return record
    if isinstance(record, tuple) and record and isinstance(record[0], Mechanism):
        return tuple(_widened(one, columns, wanted) for one in record)
    if is_dataclass(record) and not isinstance(record, type) and isinstance(record, Mechanism):
        changes = {}
        for field in fields(record):
            before = getattr(record, field.name)
            after = _widened(before, columns, wanted)
            if after is not before:
                changes[field.name] = after
        return replace(record, **changes) if changes else record
    return record


def _more_attributes(mechanism: Any, data: Any) -> tuple[Any, Any] | None:
    attributes = getattr(mechanism, "attributes", None)
    if attributes is None or not (isinstance(data, np.ndarray) and data.ndim == 2):
        return None
    count = len(attributes.names)
    new = [f"further{number}" for number in range(_ATTRIBUTES - count)]
    sizes = [attributes.sizes[number % count] for number in range(len(new))]
    wider = type(attributes)((*attributes.names, *new), (*attributes.sizes, *sizes))
    return replace(mechanism, attributes=wider), data[:, np.arange(max(_ATTRIBUTES, count)) % count]


def _more_cells(mechanism: Any, data: Any) -> tuple[Any, Any] | None:
    if not (isinstance(data, np.ndarray) and data.ndim in (1, 2) and data.dtype.kind in "iu"):
        return None
    names = [field.name for field in fields(mechanism)]
    if data.ndim == 2:
        shape = data.shape[0] * _TIMES, data.shape[1] * _TIMES
        is_shaped = "shape" in names and tuple(mechanism.shape) == data.shape
        return (replace(mechanism, shape=shape), np.resize(data, shape)) if is_shaped else None
    for name, before, after in (
        ("cells", data.size, _CELLS),
        ("steps", data.size, _CELLS),
        ("columns", data.size, _CELLS),
        ("shape", (data.size,), (_CELLS,)),
    ):
        if name in names and getattr(mechanism, name) == before:
            return replace(mechanism, **{name: after}), np.resize(data, _CELLS)
    return None


def _more_items(mechanism: Any, data: Any) -> tuple[Any, Any] | None:
    if not isinstance(getattr(mechanism, "items", None), int) or not isinstance(data, list):
        return None
    return replace(mechanism, items=_ITEMS), [*data, list(range(0, _ITEMS, 3)), list(range(_ITEMS // 2))]

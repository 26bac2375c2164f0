"""One pair of neighbours of ten thousand rows for every class that takes rows.

Some faults need many rows: sums that leave 32 bits, work that is done in blocks, a limit on what is looked at. The rows
are made from those of an example, and one row in the middle is missing, another one, or has another label. Where the
number of rows is public, the instance is one for as many.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any, Final

import numpy as np

from dither.data.reference import ReferenceEngine
from dither.errors import DitherError
from dither.mechanisms import Composed, Dialogue, Example, Interactive, PublicArray
from dither.privacy import L1, L2, RECORDS, Metric, Unit
from dither.testing import hostile
from dither.testing.hostile import Pair
from dither.testing.instances import refused
from dither.testing.sizes import adds, cycled, repeated, without

#: So many rows has each of the two.
MANY: Final = 10_000
#: Parameters that are the number of rows, where that is public.
_NUMBERS_OF_ROWS: Final = ("rows", "records", "of")

#: Classes of which no pair of ten thousand rows is made, and the reason.
SMALL: Final = {
    "gaussian-process": "its data is a function on few public points",
    "chosen-place": "it reports one place",
    "k-locations": "it reports one place",
    "reported-places": "it reports the few places of one person",
}


def thousands(example: Example) -> tuple[Any, Pair] | None:
    """Return an instance and a pair of neighbours of ten thousand rows; None where it takes no rows.

    >>> from dither.mechanisms import find
    >>> mechanism, (here, there, apart) = thousands(next(iter(find("noisy-moments").examples())))
    >>> len(here), len(there), apart
    (10000, 9999, 1)

    """
    mechanism: Any = example.mechanism
    if not isinstance(mechanism, Composed | Interactive):
        return None
    pair = _talks(mechanism, example.data) if isinstance(example.data, Dialogue) else _pair(mechanism, example.data)
    if pair is None:
        return None
    for instance in _of_many(mechanism, pair[0]):
        if refused(instance, pair[0], is_large=True) is None:
            return instance, pair
    return None


def _talks(mechanism: Any, talk: Dialogue) -> Pair | None:
    """Return conversations about many rows, or fed with many rows at once."""
    if talk.data is not None:
        inner = _pair(mechanism, talk.data)
        return inner and (Dialogue(inner[0], talk.script), Dialogue(inner[1], talk.script), inner[2])
    first = talk.script[0] if talk.script else None
    if not (isinstance(first, np.ndarray) and first.dtype.kind == "f" and first.ndim == 2 and len(first)):
        return None
    here, there, apart = _changed(cycled(first, MANY), mechanism.distance)
    return Dialogue(None, (here, *talk.script[1:])), Dialogue(None, (there, *talk.script[1:])), apart


def _pair(mechanism: Any, data: Any) -> Pair | None:
    distance = mechanism.distance
    if isinstance(data, ReferenceEngine) and isinstance(distance, Unit):
        return next(iter(hostile.engine_pairs(repeated(data, MANY), distance)), None)
    if distance in (L1, L2) and isinstance(data, np.ndarray) and data.dtype.kind in "iu" and data.size:
        # As many rows, counted in cells.
        counts = np.bincount(np.arange(MANY) % data.size, minlength=data.size).astype(np.int64).reshape(data.shape)
        more = counts.copy()
        more.flat[data.size // 2] += 1
        return counts, more, 1
    if isinstance(distance, Metric) and hasattr(mechanism, "records") and isinstance(data, np.ndarray):
        # Records that are compared one by one: in one of them every entry is another.
        records = np.resize(data, (MANY, *data.shape[1:]))
        other = records.copy()
        other[MANY // 2] = -records[MANY // 2] - 1
        apart = distance.measure(records, other)
        return (records, other, apart) if apart else None
    is_rows = isinstance(data, np.ndarray | list) and (distance is RECORDS or isinstance(distance, Unit))
    is_graph = isinstance(distance, Unit) and distance.protects in ("edge", "node", "weight", "place")
    if not is_rows or is_graph or len(data) == 0:
        return None
    return _changed(cycled(data, MANY), distance)


def _changed(rows: Any, distance: Any) -> Pair:
    """Return rows, and the same with one in the middle changed as the unit allows."""
    middle = MANY // 2
    if adds(distance):
        return rows, without(rows, middle), 1
    other: Any = rows.copy() if isinstance(rows, np.ndarray) else list(rows)
    if distance.protects == "label":
        other[middle, -1] = 1 - rows[middle, -1]
        return rows, other, 1
    other[middle] = next((row for row in rows if not np.array_equal(row, rows[middle])), rows[middle])
    return rows, other, 1


def _of_many(mechanism: Any, data: Any) -> Iterator[Any]:
    """Yield the instance itself, and instances for as many rows where their number is public."""
    yield mechanism
    names = [field.name for field in fields(mechanism)]
    for name in _NUMBERS_OF_ROWS:
        if name in names:
            try:
                yield replace(mechanism, **{name: MANY})
            except DitherError:
                continue
    if "points" in names and isinstance(data, np.ndarray) and data.ndim == 2:
        yield replace(mechanism, points=PublicArray(np.sort(data[:, 0]).astype(np.int64)))

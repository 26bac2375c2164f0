"""Records like a given one, for fields that hold records which declare no fields of their own.

A declared field yields samples of numbers, choices and declared records by itself. Attributes of tables, boxes of a
map, classes of concepts and public arrays check themselves in other ways; what is like them stands here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

import numpy as np

from dither.data.places.box import Box
from dither.data.places.grid import CellGrid
from dither.errors import DitherError
from dither.learn.theory.concepts import Concepts
from dither.lift.attributes import Attributes
from dither.mechanisms import PublicArray
from dither.privacy import ZCDP, ApproxDP, Loss, PureDP


def alike(record: Any) -> list[Any]:
    """Return records like this one that check themselves; none where there is no rule for its class.

    >>> [other.sizes for other in alike(Attributes.of({"a": 2, "b": 3}))]
    [(3, 3), (2, 5), (2, 3, 2)]

    """
    rule = next((rule for kind, rule in _RULES if isinstance(record, kind)), None)
    found: list[Any] = []
    if rule is not None:
        for make in rule(record):
            try:
                found.append(make())
            except DitherError:
                continue
    return found


Makers = Iterator[Callable[[], Any]]


def _attributes(record: Any) -> Makers:
    """Yield a value more in the first attribute, more in the last, and an attribute more."""
    names, sizes = record.names, record.sizes
    yield lambda: Attributes(names, (sizes[0] + 1, *sizes[1:]))
    yield lambda: Attributes(names, (*sizes[:-1], 2 * sizes[-1] - 1))
    yield lambda: Attributes((*names, "further"), (*sizes, 2))


def _box(record: Any) -> Makers:
    """Yield an area that is longer from south to north, and one that begins elsewhere."""
    yield lambda: replace(record, north=record.north + (record.north - record.south) / 2)
    yield lambda: replace(record, west=record.west - (record.east - record.west) / 3)


def _grid(record: Any) -> Makers:
    yield lambda: replace(record, columns=record.columns + 1)
    yield lambda: replace(record, rows=record.rows * 2)


def _concepts(record: Any) -> Makers:
    yield lambda: Concepts.thresholds(record.size + 1)
    yield lambda: replace(record, size=record.size + 2)


def _array(record: Any) -> Makers:
    """Yield an array of larger numbers, one in another order, one with a row more and one with a row fewer."""
    values = record.values
    yield lambda: PublicArray(values * 2)
    yield lambda: PublicArray(values[::-1])
    yield lambda: PublicArray(np.concatenate([values, values[-1:]]))
    yield lambda: PublicArray(values[:-1])


def _loss(record: Any) -> Makers:
    yield lambda: PureDP("1/3")
    yield lambda: ZCDP("1/2")
    yield lambda: ApproxDP(2, "1e-3")


def _sets(record: Any) -> Makers:
    """Yield sets of names of which the first, or the last, is empty: a marginal of no attribute is the total."""
    if record and all(isinstance(one, tuple) and all(isinstance(name, str) for name in one) for one in record):
        yield lambda: ((), *record[1:])
        yield lambda: (*record[:-1], ())


_RULES: Final[tuple[tuple[type, Callable[[Any], Makers]], ...]] = (
    (Attributes, _attributes),
    (Box, _box),
    (CellGrid, _grid),
    (Concepts, _concepts),
    (PublicArray, _array),
    (Loss, _loss),
    (tuple, _sets),
)

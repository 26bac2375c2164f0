"""Data and neighbours for an instance that no example has.

An instance with other parameters may take the data of the example that it was made from, or that of another example of
its class, or data of another shape. What it takes it says itself: data that it refuses is tried no further. Neighbours
stay neighbours while the distance is the same one; where it is measured, it is measured again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import fields
from itertools import islice
from typing import Any

import numpy as np

from dither.errors import BudgetExceeded, DitherError, HandleMisuse, InvalidParameter, InvalidValue, PlanViolation
from dither.learn.theory.queries import Property
from dither.mechanisms import Dialogue, Example, Mechanism, Primitive, PublicArray
from dither.mechanisms.core.mechanism import InteractivePrimitive
from dither.mechanisms.core.values import Category, IntegerArray, RealArray
from dither.privacy import Metric, Relation, Unit
from dither.testing import hostile
from dither.testing.hostile import Pair
from dither.testing.kinds import kinds
from dither.testing.replay import run_watched
from dither.testing.wild import canned

#: Other data that is tried where an instance does not take what there is, and its largest number of rows.
_MOST_TRIED, _MOST_ROWS = 64, 2**12
#: Parameters that say what shape data has, and how many rows.
_SIZES = ("shape", "answer_shape", "cells", "steps", "columns", "side", "universe", "size", "length")
_ROWS = ("rows", "records", "of", "length", "reports", "places")
#: How data is refused; the later ones are how a conversation refuses a question, or a tick after its end.
_REFUSALS = (InvalidValue, InvalidParameter, HandleMisuse, BudgetExceeded, PlanViolation)


def fitted(example: Example, others: Sequence[Example] = ()) -> Example | None:
    """Return the instance with data that it takes: its own, that of other examples, or of another shape.

    Args:
        example: an instance, and data that was made for another one.
        others: examples of the same class.

    Returns:
        None where nothing that is tried is taken.

    """
    mechanism = example.mechanism
    refusal = refused(mechanism, example.data)
    if refusal is None:
        return Example(mechanism, example.data, measured(mechanism, example.neighbours))
    for other in others:
        if refused(mechanism, other.data) is None:
            kept = other.neighbours if other.mechanism.distance == mechanism.distance else ()
            return Example(mechanism, other.data, measured(mechanism, kept))
    for data in islice(_other_data(mechanism, example.data), _MOST_TRIED):
        if refused(mechanism, data) is None:
            return Example(mechanism, data)
    # What raises anything but a refusal, and takes nothing else, is for a replay to tell of.
    refusals = _REFUSALS if isinstance(example.data, Dialogue) else _REFUSALS[:2]
    return None if isinstance(refusal, refusals) else Example(mechanism, example.data)


def refused(mechanism: Any, data: Any, *, is_large: bool = False) -> Exception | None:
    """Return what a mechanism raises on data, which it refuses by type, shape and number alone; None if it takes it."""
    try:
        if isinstance(mechanism, Primitive):
            mechanism.domain.admit(data)
        elif isinstance(mechanism, InteractivePrimitive):
            for value in data:
                mechanism.domain.admit(value)
        else:
            return run_watched(mechanism, data, canned(mechanism.plan()), is_large=is_large).failure
    except InvalidValue as refusal:
        return refusal
    return None


def pairs_of_instance(example: Example) -> list[Pair]:
    """Return all neighbours of an instance: its own, every kind of them, and hostile ones."""
    mechanism, data = example.mechanism, example.data
    found = [pair for _, pair in kinds(mechanism, data)]
    return [*example.neighbours, *found, *hostile.pairs(mechanism, data)]


def still_neighbours(before: Any, after: Any, neighbours: tuple[Pair, ...]) -> tuple[Any, ...]:
    """Return the neighbours of an example that are neighbours for an instance made from it.

    Where a unit is protected they are as long as it is the same unit; how far one event moves a tick is a parameter.
    """
    if isinstance(after.distance, Metric):
        return neighbours
    if before.distance != after.distance or getattr(before, "largest", 1) > getattr(after, "largest", 1):
        return ()
    if isinstance(after.distance, Unit) and after.distance.relation is Relation.METRIC:
        # How far apart two places are may follow from any parameter.
        return neighbours if _geometry(before) == _geometry(after) else ()
    return neighbours


def _geometry(mechanism: Any) -> list[Any]:
    return [getattr(mechanism, name, None) for name in ("box", "cells", "places", "across", "side")]


def measured(mechanism: Any, pairs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return pairs with their distances in the mechanism's own metric, where it has one."""
    return tuple(pair for pair in (_measured(mechanism, one) for one in pairs) if pair is not None)


def _measured(mechanism: Any, pair: Pair) -> Pair | None:
    """Return a pair with its distance in the mechanism's own metric; None where they are no neighbours in it."""
    here, there, _ = pair
    if isinstance(mechanism.distance, Metric):
        opened = (here.data, there.data) if isinstance(here, Dialogue) else (here, there)
        with suppress(DitherError, TypeError, ValueError, IndexError):
            apart = mechanism.distance.measure(*opened)
            return (here, there, apart) if apart else None
        return None
    return pair


def _other_data(mechanism: Any, data: Any) -> Iterator[Any]:
    """Return data of other shapes, numbers of rows and lengths that the parameters suggest."""
    domain = getattr(mechanism, "domain", None)
    if isinstance(mechanism, InteractivePrimitive):
        if isinstance(domain, IntegerArray | RealArray):
            yield [_reshaped(value, domain) for value in data]
    elif isinstance(mechanism, Primitive):
        if isinstance(domain, IntegerArray | RealArray):
            yield _reshaped(data, domain)
        elif isinstance(domain, Category):
            yield 0
    elif isinstance(data, Dialogue):
        for shorter in range(len(data.script), 0, -1):
            talk = Dialogue(data.data, data.script[:shorter])
            yield talk
            yield from _other_talks(mechanism, talk)
    elif isinstance(data, np.ndarray):
        yield from _at_points(mechanism, data)
        yield from (np.resize(data, shape) for shape in _shapes(mechanism, data))
    elif isinstance(data, list) and data:
        yield from ([data[place % len(data)] for place in range(rows)] for rows in _numbers(mechanism))


def _other_talks(mechanism: Any, talk: Dialogue) -> Iterator[Dialogue]:
    """Return conversations about other shapes, with questions that fit them."""
    for shape in _shapes(mechanism, talk.data):
        opened = np.resize(talk.data, shape) if isinstance(talk.data, np.ndarray) else talk.data
        asked = tuple(_question(mechanism, one, shape) for one in talk.script)
        yield Dialogue(opened, asked)
        yield Dialogue(opened, talk.script)
        yield Dialogue(talk.data, asked)
    yield Dialogue(talk.data, tuple(_question(mechanism, one, ()) for one in talk.script))


def _question(mechanism: Any, asked: Any, shape: tuple[int, ...]) -> Any:
    """Return a question or a tick in another shape; what has its own idea of a shape takes it from the parameters."""
    if isinstance(asked, Property):
        return Property(PublicArray(np.resize(asked.holds.values, (mechanism.universe, 2))))
    if isinstance(asked, PublicArray) and hasattr(mechanism, "candidates"):
        losses = np.resize(asked.values, (mechanism.candidates, mechanism.cells))
        return PublicArray(np.minimum(losses, mechanism.top))
    if isinstance(asked, dict) and hasattr(mechanism, "attributes"):
        sizes = dict(zip(mechanism.attributes.names, mechanism.attributes.sizes, strict=True))
        return {name: np.resize(side, sizes[name]) for name, side in asked.items() if name in sizes}
    if isinstance(asked, np.ndarray | int) and np.asarray(asked).dtype.kind in "biu":
        made = np.resize(np.asarray(asked), shape)
        return made if shape else made.item()
    return asked


def _at_points(mechanism: Any, data: np.ndarray[Any, Any]) -> Iterator[Any]:
    """Return rows at declared points, which are public: only their labels are data."""
    points = getattr(getattr(mechanism, "points", None), "values", None)
    if points is not None and data.ndim == 2 and points.ndim == 1:
        yield np.column_stack([points, np.resize(data[:, -1], len(points))]).astype(data.dtype)


def _shapes(mechanism: Any, data: Any) -> Iterator[tuple[int, ...]]:
    """Yield shapes that data may have: those of the parameters, and its own with another number of rows or columns."""
    parts = [getattr(mechanism, field.name) for field in fields(mechanism)]
    for record in (mechanism, *(part for part in parts if isinstance(part, Mechanism))):
        for name in _SIZES:
            value = getattr(record, name, None)
            if isinstance(value, tuple) and all(isinstance(size, int) for size in value):
                yield value
            elif isinstance(value, int) and 0 < value <= _MOST_ROWS:
                yield from ((value,), (value, value))
    sizes = tuple(getattr(getattr(mechanism, "attributes", None), "sizes", ()) or getattr(mechanism, "sizes", ()))
    for shape in (sizes, tuple(getattr(getattr(mechanism, "workload", None), "domain", ()))):
        if shape:
            yield shape
    if isinstance(data, np.ndarray) and data.ndim == 2:
        bounds = getattr(getattr(mechanism, "lower", None), "values", np.zeros(0)).size
        items = getattr(mechanism, "items", 0)
        known = (len(sizes), len(sizes) + 1, bounds, bounds + 1, items, *_numbers(mechanism))
        for width in dict.fromkeys(known):
            yield from ((rows, width) for rows in (len(data), *_numbers(mechanism)))
    if isinstance(data, np.ndarray) and data.ndim:
        yield from ((rows, *data.shape[1:]) for rows in _numbers(mechanism))


def _numbers(mechanism: Any) -> Iterator[int]:
    """Yield the numbers of rows that the parameters suggest."""
    for name in _ROWS:
        value = getattr(mechanism, name, None)
        if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _MOST_ROWS:
            yield value


def _reshaped(value: Any, domain: IntegerArray | RealArray) -> Any:
    """Return the numbers of a value in another shape, one after the other and again from the start."""
    made = np.resize(np.asarray(value), domain.shape)
    if isinstance(domain, IntegerArray) and made.dtype.kind == "f":
        made = np.rint(made).astype(np.int64)
    return made.item() if domain.shape == () else made

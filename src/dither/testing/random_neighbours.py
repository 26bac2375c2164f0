"""Random neighbours for every unit of data: which generator suits a mechanism, from its unit and its data.

A pair may come with an instance of its own: methods for graphs are tried on four to twelve nodes, with other
declared numbers. Where no generator
suits, there is none here, and the caller has the neighbours that a mechanism brings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from itertools import count
from typing import Any, Final, NamedTuple

import numpy as np

from dither.data.reference import ReferenceEngine
from dither.errors import DitherError
from dither.exact import Flag, Number, OneOf, TupleOf, Whole, sqrt_up
from dither.mechanisms import Composed, Dialogue, Example, Interactive
from dither.privacy import RECORDS, Relation, Unit
from dither.publish.streams.asked import StreamAnswer
from dither.testing import random_graphs, random_places, random_rows, random_streams
from dither.testing.choices import Choices
from dither.testing.hostile import Pair
from dither.testing.spaces import fields_of

Planned = Composed[Any, Any] | Interactive[Any, Any]

#: Other instances for each number of nodes above that of the example, and how often one is looked for.
_VARIED: Final = 4
_TRIES: Final = 6
#: Numbers up to this one are those that a small graph can reach; others are scales and limits of memory.
_SMALL: Final = 64
_FARTHEST: Final = 3


class Case(NamedTuple):
    """An instance, two inputs for it, and how many units they are apart at most."""

    mechanism: Planned
    here: Any
    there: Any
    apart: Number


def random_cases(example: Example, choices: Choices | None = None) -> Iterator[Case] | None:
    """Return endless random neighbours for an example, or None where no generator suits its unit and data.

    >>> from dither.mechanisms import find
    >>> example = next(iter(find("graph-laplace").examples()))
    >>> case = next(random_cases(example))
    >>> 4 <= case.mechanism.nodes <= 12
    True

    """
    mechanism, chosen = example.mechanism, Choices() if choices is None else choices
    if not isinstance(mechanism, Composed | Interactive):
        return None
    if isinstance(mechanism.distance, Unit) and mechanism.distance.protects in ("edge", "node", "weight"):
        return _graphs(mechanism, example.data, chosen)
    if isinstance(mechanism.distance, Unit) and mechanism.distance.detail.startswith("great circle"):
        over_ground = random_places.place_cases(mechanism, example.data, chosen)
        if over_ground is not None:
            own = _pairs(mechanism, example.data, chosen)
            return _in_turns((Case(*one) for one in over_ground), None if own is None else _of(mechanism, own))
    if isinstance(mechanism, StreamAnswer):
        return _of(mechanism, random_streams.stream_pairs(mechanism, chosen))
    data = example.data.data if isinstance(example.data, Dialogue) else example.data
    if isinstance(example.data, Dialogue) and data is None:
        pairs = _fed(mechanism, example.data, chosen)
        return None if pairs is None else _of(mechanism, pairs)
    pairs = _pairs(mechanism, data, chosen)
    if pairs is None:
        return None
    return _of(mechanism, pairs, example.data.script if isinstance(example.data, Dialogue) else None)


def _in_turns(first: Iterator[Case], second: Iterator[Case] | None) -> Iterator[Case]:
    for case in first:
        yield case
        if second is not None:
            yield next(second)


def _of(mechanism: Planned, pairs: Iterator[Pair], script: Any = None) -> Iterator[Case]:
    for here, there, apart in pairs:
        if script is not None:
            yield Case(mechanism, Dialogue(here, script), Dialogue(there, script), apart)
        else:
            yield Case(mechanism, here, there, apart)


def _fed(mechanism: Planned, talk: Dialogue, choices: Choices) -> Iterator[Pair] | None:
    """Return streams of events, where ticks are integers."""
    is_counts = all(isinstance(one, int) for one in talk.script)
    is_events = isinstance(mechanism.distance, Unit) and mechanism.distance.protects == "event"
    if is_counts and is_events and talk.script:
        return random_streams.event_pairs(talk.script, choices)
    return None


def _pairs(mechanism: Planned, data: Any, choices: Choices) -> Iterator[Pair] | None:
    """Return neighbours of data by its unit and its type."""
    distance = mechanism.distance
    if isinstance(data, ReferenceEngine):
        is_known = isinstance(distance, Unit) and distance.protects in ("person", "row")
        return random_rows.people_pairs(data, distance, choices) if is_known else None  # type: ignore[arg-type]
    if isinstance(distance, Unit) and distance.protects == "place":
        return _places(mechanism, data, choices)
    if isinstance(distance, Unit) and distance.protects == "label" and isinstance(data, np.ndarray):
        return random_rows.label_pairs(data, choices)
    is_rows = distance is RECORDS or (isinstance(distance, Unit) and distance.is_one_record)
    if not is_rows:
        return None
    relation = distance.relation if isinstance(distance, Unit) else Relation.ADD_REMOVE
    if isinstance(data, np.ndarray) and data.ndim and data.dtype.kind in "iufb":
        return _journeys(mechanism, data, relation, choices) or random_rows.array_pairs(data, relation, choices)
    if isinstance(data, list) and data and all(type(one) in (int, float) for one in data):
        made = random_rows.array_pairs(np.array(data), relation, choices)
        return ((here.tolist(), there.tolist(), apart) for here, there, apart in made)
    items = getattr(mechanism, "items", None)
    if isinstance(items, int) and isinstance(data, list):
        return random_rows.list_pairs(relation, len(data), lambda: random_rows.random_basket(items, choices), choices)
    return None


def _journeys(
    mechanism: Any, data: np.ndarray[Any, Any], relation: Relation, choices: Choices
) -> Iterator[Pair] | None:
    """Return journeys over the cells of a grid, with the time of their beginning where they have one."""
    method = getattr(mechanism, "method", mechanism)
    shape, length = getattr(method, "shape", None), getattr(method, "length", None)
    if not (isinstance(shape, tuple) and isinstance(length, int) and data.ndim == 2 and data.dtype.kind == "i"):
        return None
    cells, before = shape[0] * shape[-1], data.shape[1] - length
    if before not in (0, 1):
        return None

    def journey() -> list[int]:
        begun = [choices.one((*range(int(getattr(mechanism, "times", 1))), -1, 99))] * before
        return [*begun, *random_rows.random_journey(cells, length, choices)]

    def arrays() -> Iterator[Pair]:
        for here, there, apart in random_rows.list_pairs(relation, len(data), journey, choices):
            sides = [np.array(side, dtype=data.dtype).reshape(len(side), data.shape[1]) for side in (here, there)]
            yield sides[0], sides[1], apart

    return arrays()


def _places(mechanism: Any, data: Any, choices: Choices) -> Iterator[Pair] | None:
    """Return places of a plane and how far they move, or any two cells where one takes the place of another."""
    unit, box = mechanism.distance, getattr(mechanism, "box", None)
    if unit.relation is Relation.REPLACE and isinstance(data, int):
        cells = (*range(16), -1, -7, 99, 2**40)
        return ((choices.one(cells), choices.one(cells), 1) for _ in count())
    is_plane = box is not None and box.plane and isinstance(data, np.ndarray) and data.shape == (1, 2)
    if not is_plane or unit.detail not in ("great circle", "manhattan"):
        return None

    def moved() -> Iterator[Pair]:
        while True:
            here, there = ([choices.below(1001), choices.below(1001)] for _ in range(2))
            if choices.below(2):
                there = [max(0, min(1000, at + choices.below(7) - 3)) for at in here]
            east, north = (Fraction(a) - b for a, b in zip(here, there, strict=True))
            far = abs(east) + abs(north) if unit.detail == "manhattan" else sqrt_up(east * east + north * north)
            yield np.array([here], dtype=float), np.array([there], dtype=float), max(far, Fraction(1))

    return moved()


def _graphs(mechanism: Planned, data: Any, choices: Choices) -> Iterator[Case] | None:
    """Return graphs of four to twelve nodes, each with an instance for that many where there is one."""
    unit: Any = mechanism.distance
    talk = data if isinstance(data, Dialogue) else None
    given = talk.data if talk is not None else data
    if isinstance(given, ReferenceEngine):
        if not any(table.graph is not None for table in given.dataset.tables):
            return None
        return _of(mechanism, random_graphs.edge_table_pairs(given, unit, choices), talk and talk.script)
    own: Any = getattr(mechanism, "nodes", None)
    if not isinstance(own, int):
        own = _nodes_of(given)
    sized: dict[int, Planned] = {}
    for nodes in range(random_graphs.LEAST_NODES, random_graphs.MOST_NODES + 1) if talk is None else ():
        with suppress(DitherError, TypeError, ValueError):
            sized[nodes] = for_nodes(mechanism, nodes)
    sized.setdefault(own, mechanism)
    make: Callable[[Any, int], Iterator[Pair]]
    if unit.protects == "weight" and random_graphs.is_weighted(given):
        low, high = int(getattr(mechanism, "low", 0)), int(getattr(mechanism, "high", 8))
        make = lambda _, nodes: random_graphs.weight_pairs(nodes, low, high, choices)  # noqa: E731
    elif unit.protects in ("edge", "node") and random_graphs.is_edges(given):
        make = lambda one, nodes: random_graphs.graph_pairs(  # noqa: E731
            nodes, unit, choices, is_directed=bool(getattr(one, "directed", False))
        )
    else:
        return None
    sources = [_of(one, make(one, nodes), talk and talk.script) for nodes, one in sized.items()]
    if talk is None:
        # Few nodes are tried soon enough; what needs many of them needs many pairs.
        for nodes, one in list(sized.items()):
            others = (varied(one, choices) for _ in range(_VARIED if nodes > own else 1))
            sources += [_of(other, make(other, nodes)) for other in others if other is not None]
    return (next(choices.one(sources)) for _ in count())


def varied(mechanism: Any, choices: Choices) -> Planned | None:
    """Return an instance of which one or two declared numbers, bounds or choices are others; None where none fits."""
    declared = dict(fields_of(type(mechanism)))
    nodes = int(getattr(mechanism, "nodes", random_graphs.LEAST_NODES))
    options = {name: _options(field, getattr(mechanism, name), nodes) for name, field in declared.items()}
    names = [name for name, values in options.items() if values and name not in ("nodes", "low", "high")]
    for _ in range(_TRIES if names else 0):
        changes = {name: choices.one(options[name]) for name in choices.shuffled(names)[: 1 + choices.below(2)]}
        with suppress(DitherError, TypeError, ValueError):
            made: Any = replace(mechanism, **changes)
            made.plan()
            made.loss(_FARTHEST)
            if made.distance == mechanism.distance:
                planned: Planned = made
                return planned
    return None


def _options(field: Any, kept: Any, nodes: int) -> list[Any]:
    """Return small numbers, the least and the largest that a graph of so many nodes can use, and all choices."""
    numbers = (1, 1, 2, 3, nodes - 2, nodes - 1)
    if isinstance(field, Whole) and isinstance(kept, int) and kept <= _SMALL:
        return list(numbers)
    if isinstance(field, OneOf | Flag):
        return list(field.samples(kept))
    if isinstance(field, TupleOf) and kept and all(isinstance(one, int) and one <= _SMALL for one in kept):
        # As many as before, since other tuples may go with them: near each other, and as unlike as they can be.
        many = len(kept)
        return [tuple(range(1, many + 1)), (*range(1, many), nodes - 1), tuple(nodes - many + at for at in range(many))]
    return []


def for_nodes(mechanism: Any, nodes: int) -> Planned:
    """Return the instance for another number of nodes; raises where its other fields do not fit that."""
    if not is_dataclass(mechanism) or "nodes" not in {field.name for field in fields(mechanism)}:
        raise TypeError
    made: Any = replace(mechanism, nodes=nodes)  # type: ignore[type-var]
    made.plan()
    planned: Planned = made
    return planned


def _nodes_of(edges: Any) -> int:
    return 1 + max((max(edge[:2]) for edge in edges), default=1)

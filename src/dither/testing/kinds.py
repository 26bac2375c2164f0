"""Every kind of neighbour of an input, a few of each: what one unit may do, told by what the input is.

``hostile`` makes units as odd as their type allows. These are ordinary ones in every place: a label that is flipped and
nothing else, one entry that changes, a row that is there twice, an edge between two known nodes, a node that knows
everybody, an event at the first, a middle and the last tick. A fault in how one kind is counted shows on it alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dither.mechanisms import Dialogue
from dither.privacy import EVENT, L1, L2, RECORDS, Relation, Unit
from dither.testing.hostile import Pair

#: Rows or places of an input at which each kind is tried.
_PLACES = 3
#: A count that is larger than any bound of an example, and its negative.
_FAR_COUNT = 100


def kinds(mechanism: Any, data: Any) -> Iterator[tuple[str, Pair]]:
    """Return neighbours of an input by their kind, with how far apart they are; none where there is no rule.

    >>> from dither.mechanisms import find
    >>> example = next(iter(find("gradient-descent").examples()))
    >>> sorted({kind for kind, _ in kinds(example.mechanism, example.data)})
    ['a label flipped', 'a row removed', 'a row twice', 'an entry changed']

    """
    distance = mechanism.distance
    if isinstance(data, Dialogue):
        if data.data is None:
            yield from _events(mechanism, data) if distance == EVENT else ()
            return
        for kind, (here, there, apart) in _of_data(distance, data.data):
            yield kind, (Dialogue(here, data.script), Dialogue(there, data.script), apart)
        return
    yield from _of_data(distance, data)


def _of_data(distance: Any, data: Any) -> Iterator[tuple[str, Pair]]:
    if distance in (L1, L2) and isinstance(data, np.ndarray) and data.dtype.kind in "iu" and data.size:
        yield from _counts(data)
    elif isinstance(distance, Unit) and distance.protects in ("edge", "node") and isinstance(data, list):
        yield from _graphs(data, distance)
    elif _is_of_rows(distance) and isinstance(data, np.ndarray) and data.ndim == 2 and len(data):
        yield from _tables(data, distance)
    elif _is_of_rows(distance) and isinstance(data, list) and data and isinstance(data[0], list | tuple | set):
        yield from _baskets(data, distance)


def _is_of_rows(distance: Any) -> bool:
    return distance is RECORDS or (isinstance(distance, Unit) and distance.protects in ("row", "label"))


def _adds(distance: Any) -> bool:
    return distance is RECORDS or distance.relation is Relation.ADD_REMOVE


def _tables(rows: np.ndarray[Any, Any], distance: Any) -> Iterator[tuple[str, Pair]]:
    labels_only = isinstance(distance, Unit) and distance.protects == "label"
    # A row that changes is one that leaves and one that comes, where rows are added and removed.
    changed = 2 if _adds(distance) else 1
    for place in range(min(len(rows), _PLACES)):
        for column in (rows.shape[1] - 1,) if labels_only else range(rows.shape[1]):
            kind = "a label flipped" if column == rows.shape[1] - 1 else "an entry changed"
            known = np.unique(rows[:, column])
            for value in known[known != rows[place, column]][:2]:
                other = rows.copy()
                other[place, column] = value
                yield kind, (rows, other, changed)
    if not labels_only and (_adds(distance) or distance.relation is Relation.EXCHANGE):
        yield "a row twice", (rows, np.concatenate([rows, rows[:1]]), 1)
        yield "a row removed", (rows, rows[:-1], 1)
    if not labels_only and isinstance(distance, Unit) and distance.relation is Relation.EXCHANGE:
        # One row may be exchanged for none, also the only one that there is.
        yield "the only row removed", (rows[:1], rows[:0], 1)
        yield "the first row in an empty table", (rows[:0], rows[:1], 1)


def _baskets(rows: list[Any], distance: Any) -> Iterator[tuple[str, Pair]]:
    everything = type(rows[0])({item for row in rows if isinstance(row, list | tuple | set) for item in row})
    nothing = type(rows[0])()
    for kind, row in (("a basket of everything", everything), ("a basket of nothing", nothing)):
        if _adds(distance):
            yield kind, (rows, [*rows, row], 1)
        else:
            yield kind, (rows, [*rows[:-1], row], 1)
    if _adds(distance):
        yield "a basket twice", (rows, [*rows, rows[0]], 1)
        yield "a basket removed", (rows, rows[1:], 1)


def _graphs(edges: list[Any], unit: Unit) -> Iterator[tuple[str, Pair]]:
    nodes = sorted({node for edge in edges for node in edge[:2]})
    linked = {frozenset(edge[:2]) for edge in edges}
    if unit.protects == "edge":
        missing = [(one, other) for one in nodes for other in nodes if one < other and {one, other} not in linked]
        for edge in (*missing[:1], *missing[-1:]):
            yield "an edge between known nodes", (edges, [*edges, edge], 1)
        for place in {0, len(edges) // 2, len(edges) - 1} if edges else ():
            yield "an edge removed", (edges, edges[:place] + edges[place + 1 :], 1)
        return
    for node in nodes[:_PLACES]:
        # A node leaves with its edges: the one of fewest and of most neighbours among them.
        yield "a node removed", (edges, [edge for edge in edges if node not in edge[:2]], 1)
    for node in nodes[:1]:
        alone = [edge for edge in edges if node not in edge[:2]]
        yield "a node that knows everybody", (alone, [*alone, *((node, other) for other in nodes if other != node)], 1)


def _counts(counts: np.ndarray[Any, Any]) -> Iterator[tuple[str, Pair]]:
    for start in (counts, *_starts(counts)):
        for place in sorted({0, counts.size // 2, counts.size - 1}):
            more = start.copy()
            more.flat[place] += 1
            yield "a unit in a cell", (start, more, 1)
            yield "a unit in a cell", (more, start, 1)


def _starts(counts: np.ndarray[Any, Any]) -> Iterator[np.ndarray[Any, Any]]:
    """Yield nothing, and counts beyond both ends of what data gives: a difference or earlier noise may be negative."""
    yield np.zeros_like(counts)
    if counts.dtype.kind == "i":
        places = np.arange(counts.size, dtype=counts.dtype).reshape(counts.shape)
        for far in (_FAR_COUNT, -_FAR_COUNT):
            yield np.full_like(counts, far)
            yield np.where(places % 2, far, -far).astype(counts.dtype)
            # One entry alone is far out, in each of the places that move.
            for place in sorted({0, counts.size - 1}):
                alone = np.zeros_like(counts)
                alone.flat[place] = far
                yield alone


def _events(mechanism: Any, data: Dialogue) -> Iterator[tuple[str, Pair]]:
    script, largest = data.script, int(getattr(mechanism, "largest", 1))
    for place in sorted({0, len(script) // 2, len(script) - 1}) if script else ():
        value, more = script[place], script[place]
        if isinstance(value, np.ndarray) and value.ndim == 2 and value.dtype.kind == "f":
            more = np.concatenate([value, value[:1] if len(value) else np.zeros((1, value.shape[1]))])
        elif isinstance(value, np.ndarray):
            more = value.copy()
            more.flat[-1] += largest
        elif isinstance(value, int):
            more = value + largest
        else:
            return
        there = Dialogue(None, (*script[:place], more, *script[place + 1 :]))
        yield "an event at a tick", (data, there, 1)
        yield "an event at a tick", (there, data, 1)

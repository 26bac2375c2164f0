"""Endless hostile neighbours for the input of any mechanism: the material for replays.

Ordinary, empty, lopsided and repeated data sets, and one unit more, fewer or other, as odd as its type allows: a value
never seen, a new maximum, a far point, what is no number, a user with many rows, a node that knows everybody. Drawn, so
that a thousand pairs are a thousand different ones; every pair is a true pair of neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import chain, cycle
from typing import Any

import numpy as np

from dither.data.reference import ReferenceEngine
from dither.exact import Number
from dither.mechanisms import Dialogue, Example
from dither.noise import Noise
from dither.privacy import L1, L2, RECORDS, Metric, Relation, Unit
from dither.testing import hostile
from dither.testing.choices import Choices
from dither.testing.random_graphs import is_edges

Pair = tuple[Any, Any, Number]

_NUMBERS: tuple[Any, ...] = (-1, 0, 1, 7, 2**31 - 1, -(2**31), 2**53 + 1)
_REALS: tuple[Any, ...] = (0.0, -0.0, 0.5, 1e308, -1e308, 5e-324, float("nan"), float("inf"), float("-inf"))
_TEXTS = ("", "a value never seen", "\x00", "𐍈" * 40)
_PLACES = (0, 1, 3, 50, 2**20, 2**40)
#: After this number of draws in a row without a neighbour, none is expected.
_MOST_MISSED = 64


def neighbours(example: Example, *, noise: Noise | None = None) -> Iterator[Pair]:
    """Return pairs of neighbours and their distance: the given ones, fixed ones, then random ones.

    It ends only when nothing can be made for the data's type and none were given.
    """
    mechanism, data = example.mechanism, example.data
    pick = Choices(noise)
    fixed: list[Pair] = [*example.neighbours, *hostile.pairs(mechanism, data)]
    drawn = _drawn(mechanism.distance, data, pick)
    # Where nothing can be made up, the pairs known are replayed again: with other noise, on other paths.
    return chain(fixed, drawn if drawn is not None else (), cycle(fixed))


def _drawn(distance: Any, data: Any, pick: Choices) -> Iterator[Pair] | None:
    if isinstance(data, Dialogue):
        return dialogue_pairs(distance, data, pick)
    is_rows = (isinstance(data, np.ndarray) and data.ndim > 0) or isinstance(data, list | tuple)
    if isinstance(distance, Unit) and distance.protects in ("edge", "node") and is_edges(data):
        return graph_pairs(list(data), distance, pick)
    if isinstance(distance, Unit) and isinstance(data, ReferenceEngine):
        return engine_pairs(data, distance, pick)
    if (
        (isinstance(distance, Unit) and distance.protects in ("row", "rating", "event")) or distance is RECORDS
    ) and is_rows:
        relation = distance.relation if isinstance(distance, Unit) else Relation.ADD_REMOVE
        return row_pairs(data, relation, pick)
    if isinstance(distance, Unit) and distance.protects == "label" and isinstance(data, np.ndarray) and data.ndim == 2:
        return label_pairs(data, pick)
    if distance in (L1, L2) and isinstance(data, np.ndarray) and data.dtype.kind in "iu":
        return count_pairs(data, pick)
    if distance in (L1, L2) and isinstance(data, int) and not isinstance(data, bool):
        return number_pairs(pick)
    if isinstance(distance, Metric) and all(hasattr(data, name) for name in ("parents", "children", "owners")):
        return family_pairs(data, pick)
    if isinstance(distance, Metric) and isinstance(data, np.ndarray) and data.dtype.kind == "f":
        return measured_pairs(data, distance, pick)
    return None


def count_pairs(counts: np.ndarray[Any, Any], pick: Choices) -> Iterator[Pair]:
    """Return tables of counts of which one cell differs by one: flat, empty, spiky and large ones."""
    while True:
        base = np.zeros(counts.shape, dtype=np.int64)
        kind = pick.below(4)
        for cell in range(base.size) if kind else ():
            # All cells alike in kind, one spike on nothing, or any mixture.
            base.flat[cell] = pick.one(_PLACES) if kind == 1 else int(counts.flat[pick.below(counts.size)])
        if kind == 3:
            base.flat[pick.below(base.size)] = pick.one(_PLACES)
        moved = base.copy()
        moved.flat[pick.below(base.size)] += 1
        yield (base, moved, 1) if pick.below(2) else (moved, base, 1)


def number_pairs(pick: Choices) -> Iterator[Pair]:
    """Return integers one apart, near and far from 0."""
    while True:
        here = pick.one((*_PLACES, *_NUMBERS))
        yield here, here + (1 if pick.below(2) else -1), 1


def measured_pairs(values: np.ndarray[Any, Any], metric: Metric, pick: Choices) -> Iterator[Pair]:
    """Return arrays of reals in which one row or one entry differs, and their distance in the metric."""
    known = [values[place] for place in range(len(values))]
    missed = 0
    while known and missed < _MOST_MISSED:
        flat = [pick.one((*values.tolist(), 0.0, 1e6, -0.5)) for _ in known] if values.ndim == 1 else []
        here = np.array(flat or _resampled(known, pick), dtype=values.dtype)
        there, place = here.copy(), pick.below(len(here))
        there[place] = _odd(known, pick) if values.ndim > 1 else there[place] + pick.one((1.0, -1.0, 2.0**-20, 1e6))
        apart = metric.measure(here, there)
        # What is at no distance from anything, such as NaN in some metrics, is no neighbour.
        missed = missed + 1 if not apart else 0
        if apart:
            yield here, there, apart


def family_pairs(families: Any, pick: Choices) -> Iterator[Pair]:
    """Return parents with their children, one family apart: without children, with very many, of odd values."""
    parents, children = list(families.parents), list(families.children)
    build = type(families)

    def made(chosen: list[tuple[Any, list[Any]]]) -> Any:
        rows = [child for _, own in chosen for child in own]
        owners = [number for number, (_, own) in enumerate(chosen) for _ in own]
        wide, deep = families.parents.shape[1], families.children.shape[1]
        return build(
            np.array([parent for parent, _ in chosen], dtype=np.int64).reshape(-1, wide),
            np.array(rows, dtype=np.int64).reshape(-1, deep),
            np.array(owners, dtype=np.int64),
        )

    def one() -> tuple[Any, list[Any]]:
        many = pick.one((0, 1, 2, 40))
        return _odd(parents, pick), [_odd(children, pick) for _ in range(many)]

    while parents and children:
        some = [one() for _ in range(pick.below(5))]
        fewer, more = made(some), made([*some, one()])
        yield (fewer, more, 1) if pick.below(2) else (more, fewer, 1)


def dialogue_pairs(distance: Any, talk: Dialogue, pick: Choices) -> Iterator[Pair] | None:
    """Return conversations with the same questions about neighbouring data, or fed with one event more or fewer."""
    if talk.data is None and isinstance(distance, Unit) and distance.protects == "event":
        return event_pairs(list(talk.script), pick) if distance.relation is Relation.ADD_REMOVE else None
    drawn = _drawn(distance, talk.data, pick)
    if drawn is None:
        return None
    return ((Dialogue(here, talk.script), Dialogue(there, talk.script), apart) for here, there, apart in drawn)


def event_pairs(steps: list[Any], pick: Choices) -> Iterator[Pair]:
    """Return streams of which one step has one event more: a count that is one higher, or a row more."""
    while steps:
        here = [pick.one(steps) for _ in steps] if pick.below(3) else list(steps)
        place = pick.below(len(here))
        there = list(here)
        if isinstance(here[place], np.ndarray):
            rows = [row for step in steps for row in step]
            there[place] = np.concatenate([here[place], np.array([_odd(rows, pick)], dtype=here[place].dtype)])
        else:
            here[place] = pick.one((0, int(here[place]), *_PLACES))
            there[place] = here[place] + 1
        pair = Dialogue(None, tuple(here)), Dialogue(None, tuple(there))
        yield (*pair, 1) if pick.below(2) else (*pair[::-1], 1)


def row_pairs(rows: Any, relation: Relation, pick: Choices) -> Iterator[Pair]:
    """Return tables one row apart; under replacement all have as many rows as the example."""
    build = _builder(rows)
    known = [rows[place] for place in range(len(rows))]
    while True:
        base = _base(known, pick) if relation is Relation.ADD_REMOVE else _resampled(known, pick)
        odd = _odd(known, pick)
        if relation is Relation.ADD_REMOVE:
            place = pick.below(len(base) + 1)
            fewer = base if pick.below(2) or place == len(base) else base[:place] + base[place + 1 :]
            more = [*base, odd] if fewer is base else base
            yield (build(fewer), build(more), 1) if pick.below(2) else (build(more), build(fewer), 1)
        elif base:
            place = pick.below(len(base))
            yield build(base), build([*base[:place], odd, *base[place + 1 :]]), 1
        else:
            return


def label_pairs(rows: np.ndarray[Any, Any], pick: Choices) -> Iterator[Pair]:
    """Return tables with the example's rows but other labels, in any order, in which one label differs."""
    labels = rows[:, -1].tolist()
    while len(rows):
        here = rows[np.argsort([pick.below(2**20) for _ in labels], kind="stable")]
        here[:, -1] = [_entry(labels, pick, rows.dtype) for _ in labels]
        there = here.copy()
        there[pick.below(len(rows)), -1] = _entry(labels, pick, rows.dtype)
        yield here, there, 1


def engine_pairs(engine: ReferenceEngine, unit: Unit, pick: Choices) -> Iterator[Pair]:
    """Return engines one unit apart, over tables with some rows gone and odd ones added before."""
    base = engine
    while True:
        pairs = list(hostile.engine_pairs(base, unit))
        if not pairs:
            base = engine
            pairs = list(hostile.engine_pairs(base, unit))
        yield from (pair if pick.below(2) else (pair[1], pair[0], pair[2]) for pair in pairs)
        # The odd units met become part of the data, and some rows leave.
        grown = pick.one(pairs)[pick.below(2)]
        start = engine if pick.below(4) == 0 else grown
        is_emptied = pick.below(6) == 0
        tables = {
            table.name: [
                row for row in start.frames[table.name] if table.is_public or not (is_emptied or pick.below(3) == 0)
            ][:40]
            for table in start.dataset.tables
        }
        base = ReferenceEngine(start.dataset, tables)


def graph_pairs(edges: list[tuple[Any, Any]], unit: Unit, pick: Choices) -> Iterator[Pair]:
    """Return graphs, as lists of edges, one edge or one node apart: a node linked to all others, a path, nothing."""
    nodes = list(dict.fromkeys(chain.from_iterable(edges))) or [0, 1]
    new = max(nodes) + 1 if all(isinstance(node, int) for node in nodes) else "a node never seen"
    while True:
        some = [edge for edge in edges if pick.below(3)] if pick.below(4) else []
        if unit.protects == "node":
            known = nodes if pick.below(2) else [node for node in nodes if pick.below(2)]
            more = some + [(node, new) for node in known]
        else:
            edge = (pick.one(nodes), new) if pick.below(2) else (pick.one(nodes), pick.one(nodes))
            if edge[0] == edge[1] or edge in some or edge[::-1] in some:
                continue
            more = [*some, edge]
        yield (some, more, 1) if pick.below(2) else (more, some, 1)


def _base(known: list[Any], pick: Choices) -> list[Any]:
    kind = pick.below(6)
    if kind == 0 or not known:
        return []
    if kind == 1:
        return list(known)
    if kind == 2:
        return [pick.one(known)] * (1 + pick.below(2 * len(known)))
    if kind == 3:
        return [_odd(known, pick) for _ in range(1 + pick.below(4))]
    return [pick.one(known) for _ in range(1 + pick.below(2 * len(known)))]


def _resampled(known: list[Any], pick: Choices) -> list[Any]:
    return [pick.one(known) if pick.below(4) else _odd(known, pick) for _ in known] if pick.below(3) else list(known)


def _odd(known: list[Any], pick: Choices) -> Any:
    """Return a row like the known ones, with some of its entries as odd as their type allows."""
    if not known:
        return pick.one(_NUMBERS)
    row = pick.one(known)
    if isinstance(row, np.ndarray) and row.ndim:
        made = row.copy()
        for place in range(made.size):
            if pick.below(3):
                made.flat[place] = _entry([each.flat[place] for each in known], pick, row.dtype)
        return made
    if isinstance(row, tuple | list):
        alike = [each for each in known if isinstance(each, tuple | list) and len(each) == len(row)]
        return type(row)(
            _entry([each[place] for each in alike], pick) if pick.below(3) else entry for place, entry in enumerate(row)
        )
    return _entry(known, pick, getattr(row, "dtype", None))


def _entry(values: list[Any], pick: Choices, dtype: np.dtype[Any] | None = None) -> Any:
    """Return a known value, a new maximum or minimum, a far point, a new value, or NaN."""
    value = pick.one(values)
    if isinstance(value, str):
        return pick.one((value, *_TEXTS))
    if isinstance(value, bool | np.bool_):
        return bool(pick.below(2))
    if isinstance(value, int | np.integer):
        made = pick.one((int(value), int(max(values)) + 1, int(min(values)) - 1, *_NUMBERS))
        if dtype is None:
            return made
        info = np.iinfo(dtype)
        return min(max(made, int(info.min)), int(info.max))
    if isinstance(value, float | np.floating):
        return pick.one((float(value), float(value) + 1.0, float(value) * 1e6, *_REALS))
    return pick.one((value, Fraction(1, 3))) if isinstance(value, Fraction) else value


def _builder(rows: Any) -> Callable[[list[Any]], Any]:
    if isinstance(rows, np.ndarray):
        return lambda made: np.array(made, dtype=rows.dtype).reshape(len(made), *rows.shape[1:])
    return type(rows)

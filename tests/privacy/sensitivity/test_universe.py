"""Universes: what is listed, and who is a neighbour, against the definition of the distance."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import product
from typing import Any

import numpy as np
import pytest

from dither.errors import InvalidParameter, InvalidValue
from dither.privacy import ROW, ROW_REPLACED, Relation
from dither.privacy.sensitivity import Graph, Listed, Rows, Universe

SHAPES = [
    (values, sizes, relation, rows)
    for values in (("a",), ("a", "b"), (3, 1, 2))
    for sizes in (range(3), range(1, 4), range(2, 5))
    for relation in (Relation.ADD_REMOVE, Relation.REPLACE)
    for rows in Rows
]


def by_definition(first: tuple[Hashable, ...], second: tuple[Hashable, ...], universe: Universe) -> bool:
    """Say whether two data sets are neighbours, from the definition alone."""
    if universe.rows is not Rows.TUPLE:
        unit = ROW if universe.relation is Relation.ADD_REMOVE else ROW_REPLACED
        return unit.measure(first, second) == 1
    if universe.relation is Relation.REPLACE:
        return len(first) == len(second) and sum(a != b for a, b in zip(first, second, strict=True)) == 1
    short, long = sorted((first, second), key=len)
    return len(long) == len(short) + 1 and any(long[:at] + long[at + 1 :] == short for at in range(len(long)))


@pytest.mark.parametrize(("values", "sizes", "relation", "rows"), SHAPES, ids=str)
def test_everything_is_listed_once_and_neighbours_are_neighbours(
    values: tuple[Hashable, ...], sizes: range, relation: Relation, rows: Rows
) -> None:
    universe = Universe(values, sizes, relation=relation, rows=rows)
    listed = list(universe)
    assert len(listed) == len(set(listed)) == universe.count
    everything = {
        universe.canonical(each)
        for size in sizes
        for each in product(values, repeat=size)
        if rows is not Rows.SET or len(set(each)) == size
    }
    assert set(listed) == everything
    for data in listed:
        found = list(universe.neighbours(data))
        assert len(found) == len(set(found))
        assert set(found) == {other for other in listed if by_definition(data, other, universe)}


@pytest.mark.parametrize(("values", "sizes", "relation", "rows"), SHAPES[::5], ids=str)
def test_the_graph_is_the_neighbours(
    values: tuple[Hashable, ...], sizes: range, relation: Relation, rows: Rows
) -> None:
    universe = Universe(values, sizes, relation=relation, rows=rows)
    data_sets, starts, neighbours = universe.graph
    assert data_sets == list(universe)
    for index, data in enumerate(data_sets):
        there = [data_sets[other] for other in neighbours[starts[index] : starts[index + 1]]]
        assert there == list(universe.neighbours(data))
    assert universe.graph is universe.graph


def test_rows_without_an_order_are_sorted_by_the_list_of_values() -> None:
    universe = Universe(("b", "a"), range(4), relation=Relation.ADD_REMOVE)
    assert universe.canonical("aab") == ("b", "a", "a")
    ordered = Universe(("b", "a"), range(4), relation=Relation.ADD_REMOVE, rows=Rows.TUPLE)
    assert ordered.canonical("aab") == ("a", "a", "b")


def test_one_size() -> None:
    assert Universe((0, 1), 3, relation=Relation.REPLACE).count == 4
    assert list(Universe((0, 1), 0, relation=Relation.REPLACE).neighbours(())) == []


def test_universes_are_values() -> None:
    first, second = (Universe([1, 2], range(3), relation=Relation.ADD_REMOVE) for _ in range(2))
    assert first == second
    assert hash(first) == hash(second)
    assert first != Universe([1, 2], range(3), relation=Relation.ADD_REMOVE, rows=Rows.SET)


def test_counting_needs_no_listing() -> None:
    assert Universe(range(100), range(50), relation=Relation.ADD_REMOVE, rows=Rows.TUPLE).count > 10**90
    assert Universe(range(20), range(21), relation=Relation.ADD_REMOVE, rows=Rows.SET).count == 2**20


@pytest.mark.parametrize(
    ("build", "parameter"),
    [
        (lambda: Universe((1,), 2, relation=Relation.ADD_REMOVE), "sizes"),
        (lambda: Universe((1,), range(3), relation=Relation.METRIC), "relation"),
        (lambda: Universe(range(9), range(50), relation=Relation.ADD_REMOVE).graph, "universe"),
        (lambda: Universe(range(400), range(3), relation=Relation.ADD_REMOVE, rows=Rows.TUPLE).graph, "universe"),
        (lambda: Listed([], lambda _: []), "data_sets"),
        (lambda: Listed([1, 1], lambda _: []), "data_sets"),
        (lambda: Listed(range(3), lambda data: [data + 1]).graph, "neighbours"),
    ],
)
def test_refusals_name_the_parameter(build: Any, parameter: str) -> None:
    with pytest.raises(InvalidParameter) as caught:
        build()
    assert caught.value.parameter == parameter


@pytest.mark.parametrize("data", [(1, 2, 3, 3), (4,), 7, ([1],)], ids=str)
def test_data_outside_is_refused_without_being_shown(data: Any) -> None:
    universe = Universe((1, 2, 3), range(3), relation=Relation.ADD_REMOVE)
    for refused in (universe.canonical, Listed([(1,)], lambda _: []).canonical):
        with pytest.raises(InvalidValue) as caught:
            refused(data)
        assert repr(data) not in str(caught.value)


def test_a_set_has_no_repeats() -> None:
    with pytest.raises(InvalidValue):
        Universe((1, 2), range(3), relation=Relation.ADD_REMOVE, rows=Rows.SET).canonical((1, 1))


def test_any_collection_can_be_a_universe() -> None:
    """A ring of six, with a neighbour too many on either side."""
    ring = Listed(range(6), lambda at: [(at + 1) % 6, (at - 1) % 6, (at + 1) % 6, at, 99])
    assert sorted(ring.neighbours(0)) == [1, 5]
    graph = ring.graph
    assert isinstance(graph, Graph)
    assert np.diff(graph.starts).tolist() == [2] * 6

"""The oracle at work: sensitivities that the literature prints, right and wrong, and bounds proved by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from typing import Any

import pytest

from dither.privacy import L1, Relation
from dither.privacy.sensitivity import (
    Rows,
    SensitivityMap,
    Universe,
    global_sensitivity,
    local_sensitivity,
)

AGES = Universe(range(1, 11), range(1, 7), relation=Relation.ADD_REMOVE)


@pytest.mark.parametrize(("query", "everywhere", "local", "removal_only"), [(max, 9, 5, 1), (sum, 10, 10, 5)])
def test_largest_and_sum_of_numbers_up_to_ten(
    query: Callable[[Any], int], everywhere: int, local: int, removal_only: int
) -> None:
    """A thesis prints the local sensitivities 1 and 5 of {1, ..., 5}: those of removal alone."""
    data = (1, 2, 3, 4, 5)
    assert global_sensitivity(query, AGES, L1) == everywhere
    assert local_sensitivity(query, data, AGES, L1) == local
    assert max(abs(query(data) - query(data[:at] + data[at + 1 :])) for at in range(5)) == removal_only


def test_a_histogram_under_replacement_moves_by_two() -> None:
    """The printed example moves one row between two of four bins and calls the change 1."""
    bins = Universe(range(4), 4, relation=Relation.REPLACE)
    assert global_sensitivity(lambda rows: [rows.count(each) for each in range(4)], bins, L1) == 2
    assert local_sensitivity(lambda rows: [rows.count(each) for each in range(4)], (0, 0, 0, 3), bins, L1) == 2


@pytest.mark.parametrize("size", [1, 2, 5])
def test_the_mean_of_a_public_number_of_rows(size: int) -> None:
    rows = Universe(range(3, 9), size, relation=Relation.REPLACE)
    assert global_sensitivity(lambda rows: Fraction(sum(rows), len(rows)), rows, L1) == Fraction(5, size)


def median_within(rows: tuple[int, ...], distance: int, most: int) -> int:
    """Return the largest local sensitivity of the median within a distance (Nissim, Raskhodnikova and Smith 2007)."""
    middle = len(rows) // 2

    def at(place: int) -> int:
        return 0 if place < 0 else most if place >= len(rows) else rows[place]

    return max(at(middle + t) - at(middle + t - distance - 1) for t in range(distance + 2))


@pytest.mark.parametrize(("size", "most"), [(3, 6), (5, 4)])
def test_median(size: int, most: int) -> None:
    universe = Universe(range(most + 1), size, relation=Relation.REPLACE)
    found = SensitivityMap(lambda rows: rows[size // 2], universe, L1)
    for rows in universe:
        levels = found.profile(rows)
        # Rows that hold every value have one in common with any others: everything is closer by one.
        assert len(levels) == size + (0 if len(set(rows)) == most + 1 else 1)
        assert levels == tuple(median_within(rows, s, most) for s in range(len(levels)))
        beta = 0.3
        by_hand = max(math.exp(-beta * s) * median_within(rows, s, most) for s in range(size + 1))
        assert float(found.smooth(rows, beta="0.3")) == pytest.approx(by_hand, rel=1e-12)


def triangles(edges: Any) -> int:
    present = set(edges)
    nodes = sorted({node for edge in edges for node in edge})
    return sum({(a, b), (b, c), (a, c)} <= present for a, b, c in combinations(nodes, 3))


def triangles_within(edges: Any, distance: int, nodes: int) -> int:
    """Return the largest local sensitivity of the number of triangles (the same paper, claim 3.13)."""
    present = {frozenset(edge) for edge in edges}
    most = 0
    for i, j in combinations(range(nodes), 2):
        touches = [
            (frozenset({i, k}) in present) + (frozenset({j, k}) in present) for k in range(nodes) if k not in (i, j)
        ]
        both, one = touches.count(2), touches.count(1)
        most = max(most, min(both + (distance + min(distance, one)) // 2, nodes - 2))
    return most


@pytest.mark.parametrize(("nodes", "step"), [(4, 1), (5, 7)])
def test_triangles(nodes: int, step: int) -> None:
    """Every graph on four nodes, and every seventh on five, at every distance."""
    pairs = tuple(combinations(range(nodes), 2))
    graphs = Universe(pairs, range(len(pairs) + 1), relation=Relation.ADD_REMOVE, rows=Rows.SET)
    found = SensitivityMap(triangles, graphs, L1)
    assert found.everywhere == nodes - 2
    for graph in list(graphs)[::step]:
        assert found.profile(graph) == tuple(triangles_within(graph, s, nodes) for s in range(len(pairs) + 1))


@pytest.mark.parametrize("k", [2, 3])
def test_stars_stay_below_their_bound(k: int) -> None:
    """The bound of the two largest degrees holds at every distance, and is reached somewhere."""
    nodes = 5
    pairs = tuple(combinations(range(nodes), 2))
    graphs = Universe(pairs, range(len(pairs) + 1), relation=Relation.ADD_REMOVE, rows=Rows.SET)

    def degrees(edges: Any) -> list[int]:
        return [sum(node in edge for edge in edges) for node in range(nodes)]

    found = SensitivityMap(lambda edges: sum(math.comb(d, k) for d in degrees(edges)), graphs, L1)
    is_reached = False
    for graph in list(graphs)[::11]:
        second, first = sorted(degrees(graph))[-2:]
        for s, level in enumerate(found.profile(graph)):
            bound = math.comb(min(first + s, nodes - 1), k - 1) + math.comb(min(second + s, nodes - 1), k - 1)
            assert level <= bound
            is_reached |= level == bound
    assert is_reached


def test_no_local_sensitivity_tells_nothing_about_a_neighbour() -> None:
    """The median of equal rows does not move, and one row away it moves by the whole range: hence smooth bounds."""
    universe = Universe((0, 1000), 3, relation=Relation.REPLACE)
    assert local_sensitivity(lambda rows: rows[1], (0, 0, 0), universe, L1) == 0
    assert local_sensitivity(lambda rows: rows[1], (0, 0, 1000), universe, L1) == 1000

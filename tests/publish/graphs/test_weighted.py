"""Weighted data sets: no operator moves results farther than its inputs; queries against loops."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither.mechanisms import perform
from dither.privacy import PureDP
from dither.publish.graphs.simple_graph import graph_of
from dither.publish.graphs.synthesis import WeightedQuery, weighted_sets
from dither.publish.graphs.synthesis.weighted_query import edge_weights, more_than, triangles, weight_of_triangles
from dither.publish.graphs.synthesis.weighted_sets import Weights, distance

Set = dict[Any, Fraction]
ONE: dict[str, Callable[[Weights], Weights]] = {
    "select": lambda data: weighted_sets.select(data, lambda record: record % 2),
    "where": lambda data: weighted_sets.where(data, lambda record: record > 1),
    "shave": weighted_sets.shave,
    "group": lambda data: weighted_sets.group_by(data, lambda record: record % 2),
}
TWO: dict[str, Callable[[Weights, Weights], Weights]] = {
    "concat": weighted_sets.concat,
    "union": weighted_sets.union,
    "intersect": weighted_sets.intersect,
    "join": lambda one, other: weighted_sets.join(
        one, other, lambda record: record % 2, lambda record: record % 2, lambda here, there: (here, there)
    ),
}


def some(drawn: np.random.Generator) -> Set:
    """Return a set of up to four records, whose weights are thirds."""
    weights = {record: Fraction(int(weight), 3) for record, weight in enumerate(drawn.integers(0, 7, 4))}
    return {record: weight for record, weight in weights.items() if weight}


@pytest.mark.parametrize("name", [*ONE, *TWO])
def test_no_operator_moves_sets_farther_apart(name: str) -> None:
    drawn = np.random.default_rng()
    for _ in range(150):
        here, there, beside, behind = (some(drawn) for _ in range(4))
        if name in ONE:
            assert distance(ONE[name](here), ONE[name](there)) <= distance(here, there)
        else:
            moved = distance(TWO[name](here, beside), TWO[name](there, behind))
            assert moved <= distance(here, there) + distance(beside, behind)


def test_a_plain_join_moves_them_farther() -> None:
    """The twin: without its scale a join fails at once."""
    few, many = {0: Fraction(1)}, {record: Fraction(1) for record in range(0, 8, 2)}
    plain = {(here, there): Fraction(1) for here in few for there in many}
    assert distance(plain, {}) > distance(few, {})


@pytest.mark.parametrize("nodes", [3, 4])
def test_one_edge_moves_queries_as_far_as_is_said_on_all_graphs(nodes: int) -> None:
    pairs = list(itertools.combinations(range(nodes), 2))
    seen: dict[frozenset[tuple[int, int]], tuple[Weights, Weights]] = {}
    for bits in range(1 << len(pairs)):
        edges = [pair for place, pair in enumerate(pairs) if bits >> place & 1]
        weights = edge_weights([list(edge) for edge in edges])
        seen[frozenset(edges)] = more_than(weights), triangles(weights)
    for edges, (degrees, found) in seen.items():
        graph = graph_of(list(edges), nodes)
        assert degrees == {
            place: many for place in range(nodes) if (many := Fraction(int((graph.degrees > place).sum())))
        }
        slow = sum(
            min(Fraction(1, 2 * int(graph.degrees[b])), Fraction(1, 2 * int(graph.degrees[c])))
            for a, b, c in itertools.permutations(range(nodes), 3)
            if all(tuple(sorted(pair)) in edges for pair in ((a, b), (b, c), (a, c)))
        )
        assert sum(found.values(), Fraction(0)) == slow == weight_of_triangles(graph)
        for pair in pairs:
            more_degrees, more = seen[edges ^ {pair}]
            assert distance(degrees, more_degrees) <= 2
            assert distance(found, more) <= 8


def test_queries_without_noise_are_exact() -> None:
    square = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]
    degrees = WeightedQuery.calibrated(PureDP(10**6), nodes=4, query="degrees")
    assert perform(degrees, square, stability=1).tolist() == [4.0, 4.0, 2.0]
    weight = WeightedQuery.calibrated(PureDP(10**8), nodes=4, query="triangles")
    # Two triangles of degrees 3, 3, 2: of six orders each the smaller of two neighbouring inverse degrees is 1/6.
    assert perform(weight, square, stability=1) == pytest.approx(2, abs=2 / 1024)

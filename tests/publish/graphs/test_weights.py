"""Lengths of private weights: against all forests, all changes and all neighbours of small graphs."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from dither.errors import InvalidParameter, InvalidValue
from dither.privacy import WEIGHT, PureDP
from dither.publish.graphs import SpanningTreeCost, WeightedLength, weighted
from dither.publish.graphs.weighted import WeightedGraph

LOW, HIGH, RUNGS = -1, 2, 6
Edges = list[tuple[int, int]]


def parts(nodes: int, edges: Any) -> int:
    """Return the number of connected parts."""
    of = list(range(nodes))
    for one, other in edges:
        of = [of[one] if each == of[other] else each for each in of]
    return len(set(of))


def slow(nodes: int, edges: Edges, weights: tuple[int, ...]) -> int:
    """Return the least cost of all forests that join what is joined."""
    wanted = parts(nodes, edges)
    places = itertools.combinations(range(len(edges)), nodes - wanted)
    fitting = (some for some in places if parts(nodes, [edges[place] for place in some]) == wanted)
    return min(sum(weights[place] for place in some) for some in fitting)


def made(nodes: int, edges: Edges, weights: tuple[int, ...]) -> WeightedGraph:
    return WeightedGraph(nodes, np.array(edges).reshape(-1, 2), np.array(weights, dtype=np.int64))


TRIANGLE, SQUARE = [(0, 1), (0, 2), (1, 2)], [(0, 1), (0, 3), (1, 2), (2, 3)]


@pytest.mark.parametrize(("nodes", "edges"), [(3, TRIANGLE), (4, SQUARE), (5, [*TRIANGLE, (3, 4)]), (3, [(0, 1)])])
def test_forests_their_moves_and_ladders_on_all_small_weights(nodes: int, edges: Edges) -> None:
    every = list(itertools.product(range(LOW, HIGH + 1), repeat=len(edges)))
    costs = {weights: slow(nodes, edges, weights) for weights in every}
    ladders = {weights: weighted.forest_ladder(made(nodes, edges, weights), RUNGS, LOW, HIGH) for weights in every}
    for weights, cost in costs.items():
        assert weighted.forest(made(nodes, edges, weights))[0] == cost
        around = [
            (*weights[:place], other, *weights[place + 1 :])
            for place in range(len(edges))
            for other in range(LOW, HIGH + 1)
        ]
        assert ladders[weights][0] == max(abs(cost - costs[there]) for there in around)
        assert ladders[weights].max() <= HIGH - LOW
        for there in around:
            assert (ladders[weights][:-1] <= ladders[there][1:]).all()


def test_ladders_of_dense_graphs_rise_slowly_and_keep_the_rule() -> None:
    nodes, dice = 7, np.random.default_rng()
    edges = list(itertools.combinations(range(nodes), 2))
    weights = dice.integers(0, 50, len(edges))
    here = weighted.forest_ladder(WeightedGraph(nodes, np.array(edges), weights), RUNGS, 0, 1000)
    # Six edges leave each node: after four changes one of the others still joins it.
    assert here[:5].max() < 50
    for place in dice.permutation(len(edges))[:6].tolist():
        changed = weights.copy()
        changed[place] = 1000
        there = weighted.forest_ladder(WeightedGraph(nodes, np.array(edges), changed), RUNGS, 0, 1000)
        assert (here[:-1] <= there[1:]).all()
        assert (there[:-1] <= here[1:]).all()


def test_paths_are_the_shortest_and_none_is_the_longest() -> None:
    graph = made(5, [(0, 1), (0, 2), (1, 3), (2, 3)], (4, 9, 5, 9))
    assert weighted.path_length(graph, 0, 3, 99) == 9
    assert weighted.path_length(graph, 2, 2, 99) == 0
    assert weighted.path_length(graph, 0, 4, 99) == 99


def test_rows_that_are_no_edges_and_odd_weights_have_their_rule() -> None:
    rows = [(0, 1, -5), (1, 0, 3), (1, 2, "x"), (2, 0, 10**30), (1, 1, 0), (0, 9, 1), "no row", (0, 1), (None, 1, 2)]
    graph = weighted.weighted_graph(rows, 3, 0, 8)
    assert graph.edges.tolist() == [[0, 1], [0, 2], [1, 2]]
    assert graph.weights.tolist() == [0, 8, 8]
    assert weighted.weighted_graph(np.zeros((0, 3), dtype=np.int64), 3, 0, 8).edges.shape == (0, 2)
    assert weighted.weighted_graph(np.array([]), 3, 0, 8).edges.shape == (0, 2)
    # One missing weight makes floats of an array, and moves no other weight.
    floats = np.array([(0, 1, 3), (0, 2, float("nan")), (1, 2, -float("inf")), (1, 3, 2.5), (2, 3, 9)])
    graph = weighted.weighted_graph(floats, 4, 1, 8)
    assert graph.edges.tolist() == [[0, 1], [0, 2], [1, 2], [1, 3], [2, 3]]
    assert graph.weights.tolist() == [3, 8, 8, 8, 8]
    with pytest.raises(InvalidValue, match="two ends and a weight"):
        weighted.weighted_graph(np.zeros((2, 2)), 3, 0, 8)
    assert WEIGHT.measure([(0, 1, 5), (1, 2, 6)], [(0, 1, 7), (1, 2, 6)]) == 1
    assert WEIGHT.measure([(0, 1, 5)], [(0, 2, 5)]) is None


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"high": 0}, "high"),
        ({"high": 5, "low": -1, "what": "path"}, "low"),
        ({"high": 5, "what": "path", "end": 6}, "end"),
        ({"high": 5, "what": "cycle"}, "what"),
    ],
)
def test_parameters_out_of_range_are_refused_by_name(given: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidParameter, match=f"^{named} must be"):
        WeightedLength.calibrated(PureDP(1), nodes=6, **given)
    if named == "high":
        with pytest.raises(InvalidParameter, match=r"^high must be"):
            SpanningTreeCost.calibrated(PureDP(1), nodes=6, **given)

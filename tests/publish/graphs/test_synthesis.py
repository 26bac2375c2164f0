"""Synthetic graphs: sensitivities on all graphs with up to five nodes, wiring and moments against slow twins."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither.errors import InvalidParameter
from dither.mechanisms import PublicArray, perform
from dither.privacy import PureDP
from dither.publish.graphs import counts, degree_tail, synthesis
from dither.publish.graphs.simple_graph import graph_of
from dither.publish.graphs.synthesis import classes, ergm_statistics, hierarchical_graph, top_edges_graph, wiring
from dither.publish.graphs.synthesis.kronecker_graph import fitted, moments
from dither.publish.graphs.synthesis.partition import communities, modularity
from dither.publish.graphs.synthesis.pictures import graph_picture
from dither.publish.graphs.synthesis.planning import KINDS
from dither.publish.graphs.synthesis.settled import Settled

Edges = list[tuple[int, int]]
#: A loss that leaves hardly any noise.
SURE = PureDP(10**4)


def all_graphs(nodes: int) -> list[Edges]:
    """Return every graph on so many nodes."""
    pairs = list(itertools.combinations(range(nodes), 2))
    return [[pair for place, pair in enumerate(pairs) if bits >> place & 1] for bits in range(1 << len(pairs))]


def has_graph(degrees: list[int]) -> bool:
    """Whether a simple graph has these degrees: the largest is joined to the next ones, until none is left."""
    left = sorted(degrees, reverse=True)
    while left and left[0] > 0:
        first, left = left[0], left[1:]
        if first > len(left):
            return False
        left = sorted([one - 1 for one in left[:first]] + left[first:], reverse=True)
        if left and left[-1] < 0:
            return False
    return True


def degrees_of(edges: Any, nodes: int) -> list[int]:
    """Return the degree of each node."""
    seen = Counter(int(end) for edge in edges for end in edge)
    return [seen[node] for node in range(nodes)]


@pytest.mark.parametrize("nodes", [2, 3, 4, 5])
def test_degrees_that_have_a_graph_stay_and_others_are_cut_to_such(nodes: int) -> None:
    for wanted in itertools.combinations_with_replacement(range(nodes + 2), nodes):
        made = wiring.graphical(np.array(wanted), 100).tolist()
        assert has_graph(made)
        assert all(0 <= here <= there for here, there in zip(made, wanted, strict=True))
        if has_graph(list(wanted)) and sum(wanted) % 2 == 0:
            assert tuple(made) == wanted
        assert sum(wiring.graphical(np.array(wanted), 2)) <= 4


def test_stubs_are_joined_to_a_simple_graph_with_these_degrees() -> None:
    drawn = np.random.default_rng()
    for degrees in (np.full(40, 3), np.array([39, *[1] * 39]), np.zeros(5, dtype=np.int64), np.full(6, 5)):
        keys = wiring.wired(degrees.astype(np.int64), Settled(drawn.random()))
        edges = wiring.edges_of(keys, len(degrees), 10**6)
        assert len({tuple(edge) for edge in edges.tolist()}) == len(edges)
        assert (edges[:, 0] < edges[:, 1]).all()
        assert all(here <= there for here, there in zip(degrees_of(edges, len(degrees)), degrees, strict=True))
    regular = wiring.edges_of(wiring.wired(np.full(400, 4), Settled(1)), 400, 10**6)
    assert degrees_of(regular, 400) == [4] * 400


def test_classes_get_about_the_edges_that_the_table_says() -> None:
    degrees, of = np.full(300, 4), np.repeat([0, 1], 150)
    table = np.array([[300.0, 0.0], [0.0, 300.0]])
    keys = wiring.wired_classes(degrees, of, table, Settled(2))
    between = classes.between(wiring.edges_of(keys, 300, 10**6), of, 2)
    assert between[1] <= 12
    assert abs(between[0] - 300) <= 12


@pytest.mark.parametrize("nodes", [2, 3, 4, 5])
def test_one_edge_moves_one_cell_between_classes_and_two_of_neighbours(nodes: int) -> None:
    pairs = list(itertools.combinations(range(nodes), 2))
    drawn = np.random.default_rng()
    for edges in all_graphs(nodes):
        of = drawn.integers(0, 3, nodes)
        here = np.array(edges, dtype=np.int64).reshape(-1, 2)
        cells, seen = classes.between(here, of, 3), classes.neighbours_in(here, of, nodes, 3)
        assert cells.sum() == len(edges)
        slow = Counter(tuple(sorted((int(of[one]), int(of[other])))) for one, other in edges)
        order = [(one, other) for one in range(3) for other in range(one, 3)]
        assert cells.tolist() == [slow[pair] for pair in order]
        for pair in pairs[: nodes + 1]:
            there = np.array(sorted(set(edges) ^ {pair}), dtype=np.int64).reshape(-1, 2)
            assert np.abs(cells - classes.between(there, of, 3)).sum() == 1
            assert np.abs(seen - classes.neighbours_in(there, of, nodes, 3)).sum() == 2
            assert np.abs(seen - classes.neighbours_in(there, of, nodes, 3)).max() == 1


@pytest.mark.parametrize("nodes", [2, 3, 4, 5])
def test_one_edge_moves_two_numbers_of_nodes_and_degrees_follow_from_them(nodes: int) -> None:
    seen = {}
    for edges in all_graphs(nodes):
        degrees = graph_of(edges, nodes).degrees
        tail = degree_tail.more_than(degrees)
        assert tail.tolist() == [sum(one > place for one in degrees.tolist()) for place in range(nodes - 1)]
        assert degree_tail.degrees_of(tail, nodes).tolist() == sorted(degrees.tolist())
        seen[frozenset(edges)] = tail
    moved = [
        np.abs(tail - seen[edges ^ {pair}])
        for edges, tail in seen.items()
        for pair in itertools.combinations(range(nodes), 2)
    ]
    assert {int(one.sum()) for one in moved} == {2}
    assert max(float((one**2).sum()) for one in moved) == 4


def test_a_tail_ends_where_its_level_is_nothing() -> None:
    # Fifty nodes of degree 3; beyond, noise that is level at 0.6 over ninety-seven places.
    noisy = np.array([50.0, 50.0, 50.0, *[0.6] * 97])
    assert degree_tail.fallen(noisy, 4.0, 101).tolist() == [50, 50, 50, *[0] * 97]
    # A hub of ninety edges: the same level, and little noise.
    assert degree_tail.fallen(noisy, 1.0, 101).tolist() == [50, 50, 50, *[1] * 97]
    assert degree_tail.fallen(np.array([-3.0, -4.0]), 1.0, 3).tolist() == [0, 0]


@pytest.mark.parametrize(("nodes", "decay"), [(2, 2), (3, 3), (4, 2), (4, 3), (5, 2)])
def test_statistics_of_random_graph_models_move_as_far_as_is_said(nodes: int, decay: int) -> None:
    seen = {}
    for edges in all_graphs(nodes):
        graph = graph_of(edges, nodes)
        stars = ergm_statistics.alternating_stars(graph, decay)
        triangles = ergm_statistics.alternating_triangles(graph, decay)
        seen[frozenset(edges)] = stars, triangles, counts.largest_common(graph)
        slow = [Fraction((-1) ** k * counts.star_count(graph, k), decay ** (k - 2)) for k in range(2, nodes)]
        assert stars == sum(slow)
    for edges, (stars, triangles, common) in seen.items():
        for pair in itertools.combinations(range(nodes), 2):
            more_stars, more_triangles, _ = seen[edges ^ {pair}]
            assert abs(stars - more_stars) <= 2 * decay
            assert abs(triangles - more_triangles) <= decay + 2 * common


def test_alternating_stars_of_a_star_and_triangles_of_a_clique() -> None:
    star, clique = graph_of([(0, 1), (0, 2), (0, 3)], 4), graph_of(list(itertools.combinations(range(4), 2)), 4)
    # Three 2-stars and one 3-star; six edges with two common neighbours each.
    assert ergm_statistics.alternating_stars(star, 2) == 3 - Fraction(1, 2)
    assert ergm_statistics.alternating_triangles(clique, 2) == 6 * 2 * Fraction(3, 4)


def test_all_trees_are_listed_once_and_every_pair_is_divided_once() -> None:
    for nodes in (2, 3, 4, 5, 6):
        trees = hierarchical_graph.trees_over(nodes)
        shapes = {frozenset(frozenset(fork) for fork in tree) for tree in trees}
        assert len(shapes) == len(trees) == math.prod(range(1, 2 * nodes - 2, 2))
        for tree in trees[:: max(len(trees) // 40, 1)]:
            for pair in itertools.combinations(range(nodes), 2):
                assert sum(hierarchical_graph._divided(fork, [list(pair)]) for fork in tree) == 1


def test_one_edge_moves_the_score_of_a_tree_by_no_more_than_is_charged() -> None:
    for nodes in (2, 3, 4):
        moved = synthesis.HierarchicalGraph.calibrated(PureDP(1), nodes=nodes).moved
        farthest = 0
        for tree in hierarchical_graph.trees_over(nodes):
            score = {}
            for edges in all_graphs(nodes):
                listed = [list(edge) for edge in edges]
                score[frozenset(edges)] = sum(
                    hierarchical_graph.scores_of(hierarchical_graph._pairs(fork))[
                        hierarchical_graph._divided(fork, listed)
                    ]
                    for fork in tree
                )
            for edges, pair in itertools.product(score, itertools.combinations(range(nodes), 2)):
                farthest = max(farthest, abs(score[edges] - score[edges ^ {pair}]))
        assert max(farthest, 1) == moved


@pytest.mark.parametrize("levels", [1, 2, 3])
def test_moments_of_kronecker_graphs_are_those_of_the_matrix(levels: int) -> None:
    a, b, c = np.random.default_rng().random(3)
    matrix = np.ones((1, 1))
    for _ in range(levels):
        matrix = np.kron(matrix, np.array([[a, b], [b, c]]))
    np.fill_diagonal(matrix, 0)
    nodes = range(len(matrix))
    seen = [
        matrix.sum() / 2,
        *(sum(np.prod(row[list(some)]) for row in matrix for some in itertools.combinations(nodes, k)) for k in (2, 3)),
        sum(matrix[i, j] * matrix[j, k] * matrix[i, k] for i, j, k in itertools.combinations(nodes, 3)),
    ]
    assert moments((a, b, c), levels) == pytest.approx(seen, abs=1e-9)


def test_a_fit_finds_the_numbers_that_made_the_moments() -> None:
    made = (0.9, 0.5, 0.2)
    assert fitted(moments(made, 10), 10) == pytest.approx(made, abs=0.02)


def test_pairs_have_numbers_and_numbers_pairs() -> None:
    for nodes in (2, 3, 9):
        pairs = np.array(list(itertools.combinations(range(nodes), 2)))
        places = top_edges_graph._places(pairs, nodes)
        assert places.tolist() == list(range(len(pairs)))
        assert top_edges_graph._pairs_at(places, nodes).tolist() == pairs.tolist()


def test_top_edges_are_the_edges_where_there_is_no_noise() -> None:
    edges = [(0, 3), (1, 2), (2, 9), (4, 7), (8, 9)]
    method = synthesis.TopEdgesGraph.calibrated(PureDP(1000), nodes=10, most=20)
    assert [tuple(edge) for edge in perform(method, edges, stability=1).tolist()] == edges


def test_without_noise_groups_come_back_as_groups() -> None:
    cliques = [pair for start in range(0, 60, 6) for pair in itertools.combinations(range(start, start + 6), 2)]
    method = synthesis.ClusteredGraph.calibrated(SURE, nodes=60, most=1000)
    drawn = graph_of(perform(method, cliques, stability=1), 60)
    assert abs(len(drawn.edges) - 150) <= 15
    # All of the two hundred triangles, less what the grain of the ladder takes.
    assert 120 <= counts.triangle_count(drawn) <= 230
    labels = communities(drawn.edges, np.ones(len(drawn.edges)), 60)
    assert modularity(drawn.edges, labels) > 0.6


def test_graph_update_learns_what_it_measures() -> None:
    star = [(0, other) for other in range(1, 60)]
    method = synthesis.GraphUpdate.calibrated(SURE, nodes=60, asked=PublicArray([0, 1, 2, 0]), updates=3)
    answers, edges = perform(method, star, stability=1)
    assert answers.tolist() == [59, 1, 1, 59] or abs(answers[0] - 59) <= 2
    assert answers[0] == answers[3]
    assert edges.shape[1] == 2
    for asked in (PublicArray([60]), PublicArray([-1]), PublicArray([[1]]), PublicArray([1.5]), "0"):
        with pytest.raises(InvalidParameter, match="asked"):
            synthesis.GraphUpdate.calibrated(SURE, nodes=60, asked=asked)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("epsilon", ["0.01", "2"])
def test_any_graph_makes_a_simple_graph_within_the_limit(name: str, epsilon: str) -> None:
    for nodes in (2, 3, 12):
        complete = list(itertools.combinations(range(nodes), 2))
        star = [(0, other) for other in range(1, nodes)]
        for edges in ([], complete, star, [(0, 0), (nodes, 1), "none"]):
            method = KINDS[name].calibrated(PureDP(epsilon), nodes=nodes, most=5)
            drawn = perform(method, edges, stability=1)
            assert drawn.dtype == np.int64
            assert len(drawn) <= 5
            assert len({tuple(edge) for edge in drawn.tolist()}) == len(drawn)
            assert all(0 <= one < other < nodes for one, other in drawn.tolist())


def test_public_numbers_are_spread_and_orders_are_orders() -> None:
    numbers = Settled(np.arange(3))
    assert sorted(numbers.permutation(np.arange(50)).tolist()) == list(range(50))
    drawn = numbers.integers(7, 7000)
    assert set(drawn.tolist()) == set(range(7))
    assert abs(numbers.random(10_000).mean() - 0.5) < 0.03


def test_communities_are_found_and_a_picture_says_what_it_shows() -> None:
    cliques = [pair for start in (0, 5, 10) for pair in itertools.combinations(range(start, start + 5), 2)]
    edges = np.array([*cliques, (0, 5), (5, 10)])
    labels = communities(edges, np.ones(len(edges)), 15)
    assert [len(set(labels[start : start + 5].tolist())) for start in (0, 5, 10)] == [1, 1, 1]
    assert len(set(labels.tolist())) == 3
    # The share of edges within, minus that of two ends drawn by degrees.
    slow = 30 / 32 - sum((sum(degrees_of(edges, 15)[start : start + 5]) / 64) ** 2 for start in (0, 5, 10))
    assert modularity(edges, labels) == pytest.approx(slow)
    drawn = graph_picture("People <all>", edges, [f"n{node}" for node in range(16)])
    assert "15 nodes of the largest degrees in 3 communities" in drawn.description
    assert "&lt;all&gt;" in drawn.svg()
    assert graph_picture("Nobody", edges[:0], []).svg()

"""Releases under node privacy: how far one node moves every number they draw from, on all small graphs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.optimize

from dither.errors import InvalidParameter
from dither.mechanisms import Geometric
from dither.mechanisms.core.relative_scores import RELATIVE_STEPS, relative_scores
from dither.privacy import NODE, ZCDP, ApproxDP, PureDP
from dither.publish.graphs import (
    ChosenDegrees,
    ChosenEdges,
    ChosenStars,
    ChosenTriangles,
    FlowEdges,
    GraphRace,
    QuickTriangles,
    RestrictedCount,
    TruncatedCount,
    flow,
    packing,
    quick_triangles,
    restricted_count,
    truncated_count,
    truncated_edges,
)
from dither.publish.graphs.chosen_degrees import knots, smooth
from dither.publish.graphs.copy_blocks import Copies, triangles_of
from dither.publish.graphs.patterns import count
from dither.publish.graphs.projection import projected
from dither.publish.graphs.simple_graph import SimpleGraph, graph_of
from dither.publish.graphs.standing_out import UNIT, doubling, from_units, in_units, standing_out

PAIRS = list(itertools.combinations(range(5), 2))


@cache
def _graphs() -> dict[int, SimpleGraph]:
    """Return all graphs with five nodes by the bits of their edges."""
    return {
        bits: graph_of([pair for place, pair in enumerate(PAIRS) if bits >> place & 1], 5)
        for bits in range(1 << len(PAIRS))
    }


def _steps() -> Iterator[tuple[int, int]]:
    """Return all graphs, and for each node with edges the graph without them."""
    without = [sum(1 << place for place, pair in enumerate(PAIRS) if node not in pair) for node in range(5)]
    for bits in _graphs():
        for mask in without:
            if bits & mask != bits:
                yield bits, bits & mask


def _moves(value: Any) -> tuple[int, int]:
    """Return by how much a number falls at least and most when the edges of one node go."""
    found = {bits: value(graph) for bits, graph in _graphs().items()}
    falls = [found[here] - found[there] for here, there in _steps()]
    return min(falls), max(falls)


@pytest.mark.parametrize("bound", [1, 2, 3])
def test_one_node_more_adds_none_or_one_to_those_that_stand_out(bound: int) -> None:
    assert _moves(lambda graph: int(standing_out(graph.degrees, [bound])[0])) == (0, 1)
    # The twin: nodes above the bound, of which one hub brings all.
    assert _moves(lambda graph: int((graph.degrees > bound).sum()))[1] > 1


@pytest.mark.parametrize("bound", [1, 2])
def test_one_node_more_adds_none_or_one_to_those_that_stand_out_in_triangles(bound: int) -> None:
    """On all graphs with five nodes, and on larger ones where more than a node or two stand out."""

    def out(graph: SimpleGraph) -> int:
        return int(quick_triangles.standing_out_in_triangles(graph, [bound])[0])

    assert _moves(out) == (0, 1)
    dice, most = np.random.default_rng(), 0
    for _ in range(20):
        edges = [pair for pair in itertools.combinations(range(11), 2) if dice.random() < 0.8]
        here = out(graph_of(edges, 11))
        most = max(most, here)
        for node in range(11):
            assert 0 <= here - out(graph_of([pair for pair in edges if node not in pair], 11)) <= 1
    assert most >= 3


def test_nobody_stands_out_in_triangles_above_the_largest_number() -> None:
    graph = graph_of(list(itertools.combinations(range(9), 2)), 9)
    # All have 28 triangles. One node away 21 are left, and counted are (7 - 1) * 7 / 2; so on.
    slow = [
        next(k for k in range(10) if 9 * ((8 - k) * max(7 - k, 0) > 2 * bound) <= k) for bound in (1, 5, 14, 20, 27, 28)
    ]
    assert quick_triangles.standing_out_in_triangles(graph, [1, 5, 14, 20, 27, 28]).tolist() == slow


def test_those_who_stand_out_are_counted_as_defined() -> None:
    for degrees in itertools.combinations_with_replacement(range(7), 5):
        for bound in range(8):
            least = next(k for k in range(6) if sum(one > bound + k for one in degrees) <= k)
            assert standing_out(np.array(degrees), [bound]).tolist() == [least]


def _optimum(graph: SimpleGraph, copies: Any, bound: int) -> Fraction:
    return packing.in_fractions([tuple(one) for one in copies], [1] * len(copies), graph.nodes, bound)


@pytest.mark.parametrize("bound", [1, 2, 3])
def test_one_node_moves_the_flow_by_the_bound_and_never_down(bound: int) -> None:
    assert _moves(lambda graph: flow.twice_flow(graph, bound)) == (0, 2 * bound)


def test_the_flow_is_the_programme() -> None:
    for bits in range(0, 1 << len(PAIRS), 37):
        graph = _graphs()[bits]
        for bound in (1, 2, 3):
            assert flow.twice_flow(graph, bound) == 2 * _optimum(graph, graph.edges.tolist(), bound)
    many = np.random.default_rng().integers(0, 60, (400, 2))
    graph = graph_of(many, 60)
    assert flow.twice_flow(graph, 60) == 2 * len(graph.edges)


@pytest.mark.parametrize("bound", [1, 2, 3])
def test_what_deleting_nodes_moves_is_within_a_smooth_bound(bound: int) -> None:
    left = {bits: truncated_edges.truncated(graph, bound) for bits, graph in _graphs().items()}
    wide = {bits: truncated_edges.widths(graph, bound) for bits, graph in _graphs().items()}
    tight = 0
    for here, there in _steps():
        for one, other in ((here, there), (there, here)):
            assert abs(left[one] - left[other]) <= wide[one][0]
            assert (wide[one][:-1] <= wide[other][1:]).all()
        tight = max(tight, abs(left[here] - left[there]))
    # The twin: noise for a bounded degree alone.
    assert tight > bound


@pytest.mark.parametrize(
    ("pattern", "k"), [("edges", 0), ("triangles", 0), ("stars", 2), ("k-triangles", 2), ("cliques", 4)]
)
def test_one_node_moves_counts_of_small_degrees_and_of_truncated_graphs_as_far_as_is_said(pattern: str, k: int) -> None:
    counted = {bits: count(graph, pattern, k) for bits, graph in _graphs().items()}
    highest = {bits: int(graph.degrees.max()) for bits, graph in _graphs().items()}
    places = {graph.edges.tobytes(): bits for bits, graph in _graphs().items()}
    for bound in (1, 2, 3):
        made = TruncatedCount.calibrated(PureDP(1), nodes=5, degree=bound, pattern=pattern, k=k)
        left = {
            bits: counted[places[truncated_count.without_hubs(graph, bound).edges.tobytes()]]
            for bits, graph in _graphs().items()
        }
        near = {
            bits: truncated_edges.widths(graph, bound)[0] // bound * made.moved for bits, graph in _graphs().items()
        }
        restricted = 0
        for here, there in _steps():
            if highest[here] <= bound:
                restricted = max(restricted, counted[here] - counted[there])
            assert abs(left[here] - left[there]) <= min(near[here], near[there], made.reach)
        assert restricted <= made.moved
        # Attained where five nodes are enough.
        assert max(restricted, 1) == made.moved or (pattern, bound) in {("k-triangles", 3), ("stars", 3)}


@pytest.mark.parametrize(("pattern", "k"), [("triangles", 0), ("stars", 2), ("k-triangles", 2)])
def test_one_edge_moves_a_restricted_count_by_three_times_what_it_moves_there(pattern: str, k: int) -> None:
    for bound in (1, 2, 3):
        made = RestrictedCount(nodes=5, pattern=pattern, k=k, degree=bound, noise=Geometric(scale=1))
        left = {bits: restricted_count.first_edges(graph, bound) for bits, graph in _graphs().items()}
        found = {bits: count(graph, pattern, k) for bits, graph in left.items()}
        assert max(int(graph.degrees.max()) for graph in left.values()) == bound
        for bits, value in found.items():
            for place in range(len(PAIRS)):
                if not bits >> place & 1:
                    more = bits | 1 << place
                    assert abs(found[more] - value) <= made.moved
                    one, other = (set(map(tuple, left[one].edges.tolist())) for one in (bits, more))
                    assert len(one ^ other) <= 3


def test_triangles_are_listed_once() -> None:
    for bits in range(0, 1 << len(PAIRS), 5):
        graph = _graphs()[bits]
        edges = set(map(tuple, graph.edges.tolist()))
        slow = {
            three for three in itertools.combinations(range(5), 3) if set(itertools.combinations(three, 2)) <= edges
        }
        found = [tuple(sorted(three)) for block in triangles_of(graph).blocks() for three in block.tolist()]
        assert sorted(found) == sorted(slow)


@pytest.mark.parametrize("bound", [1, 2])
def test_one_node_moves_packed_triangles_by_the_bound_and_never_down(
    bound: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In fractions: how close the solver comes is another test."""
    solved = cache(packing.in_fractions)
    monkeypatch.setattr(packing, "_solved", lambda *_: None)
    monkeypatch.setattr(
        packing, "in_fractions", lambda columns, *rest: solved(tuple(columns), tuple(rest[0]), *rest[1:])
    )
    least, most = _moves(lambda graph: packing.packed(triangles_of(graph), bound))
    # Thirds are rounded up to whole parts.
    assert -1 <= least <= 0
    assert bound * packing.PARTS <= most <= bound * packing.PARTS + 1
    assert most <= packing.moved(bound) <= packing.drawn_apart(bound)


def test_the_solver_is_certified_and_nonsense_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    complete = graph_of(list(itertools.combinations(range(9), 2)), 9)
    triangles = triangles_of(complete)
    for bound in (1, 5, 20, 27, 28):
        # By symmetry all shares are equal: 84 triangles, 28 at a node.
        exact = Fraction(84 * bound, 28)
        assert 0 <= packing.packed(triangles, bound) - packing.PARTS * exact <= bound * packing.PARTS // 128

    def nonsense(goal: Any, b_ub: Any, **_: Any) -> Any:
        return SimpleNamespace(
            x=np.full(len(goal), np.nan), ineqlin=SimpleNamespace(marginals=np.full(len(b_ub), -9.0))
        )

    few = Copies.of(np.concatenate([*triangles.blocks()])[:12], 9)
    honest = packing.packed(few, 2)
    monkeypatch.setattr(scipy.optimize, "linprog", nonsense)
    assert 0 <= honest - packing.packed(few, 2) <= 2 * packing.PARTS // 128


def test_shares_that_are_too_large_are_cut() -> None:
    from scipy.sparse import csr_matrix

    both = csr_matrix(np.array([[1.0, 1, 0], [0, 1, 1]]))
    one = packing._GRID
    assert packing._share(np.array([one, one, one]), both, 1) == 2 * one
    assert packing._share(np.array([one // 2, one // 2, 0]), both, 1) == one


def test_relative_scores_move_by_half_a_unit() -> None:
    sensitivities, values = (1, 2, 4), [(0, 3, 1), (2, 2, 2), (0, 0, 5), (7, 1, 0)]
    largest = 0
    for one in values:
        here = relative_scores(one, sensitivities, 1)
        for change in itertools.product(*(range(unit + 1) for unit in sensitivities)):
            there = relative_scores([a + b for a, b in zip(one, change, strict=True)], sensitivities, 1)
            largest = max(largest, int(abs(here - there).max()))
    assert largest == RELATIVE_STEPS // 2
    # The twin: values that move either way draw farther apart.
    either = relative_scores([0, 0, 0], sensitivities, 0) - relative_scores([0, -2, 4], sensitivities, 0)
    assert abs(either).max() > RELATIVE_STEPS // 2


@pytest.mark.parametrize("bound", [1, 2, 3])
def test_one_node_moves_stars_of_a_projection_by_three_times_those_of_a_node(bound: int) -> None:
    found = {bits: projected(graph, bound) for bits, graph in _graphs().items()}
    stars = {bits: sum(math.comb(degree, 2) for degree in degrees.tolist()) for bits, degrees in found.items()}
    assert max(abs(stars[here] - stars[there]) for here, there in _steps()) <= 3 * math.comb(bound, 2)


def test_knots_grow_and_a_smooth_curve_keeps_what_is_exact() -> None:
    for bound in (1, 2, 7, 1000):
        chosen = knots(bound)
        assert chosen[0] == 0
        assert chosen[-1] < bound
        assert len(chosen) <= 4 * bound.bit_length() + 1
    places = np.linspace(0, 8, 20)
    shares = 1 / (1 + np.exp(4 - places))
    shares[-1] = 1
    assert np.abs(smooth(places, shares, 0.0) - shares).max() < 0.01
    noisy = smooth(places, shares + np.resize([0.1, -0.1], 20) * (np.arange(20) < 19), 0.1)
    assert np.abs(noisy - shares)[:-1].mean() < 0.05


def test_values_on_the_grid_move_by_no_more() -> None:
    for moved in (1, 3, 7, 2**33, 2**36 + 1):
        for value in (0, 5, 12345):
            assert abs(in_units(value + moved, moved) - in_units(value, moved)) <= UNIT
            assert abs(from_units(in_units(value, moved), moved) - value) <= 1 + moved // UNIT


def test_candidates_double_up_to_the_largest() -> None:
    assert doubling(1, 1) == (1,)
    assert doubling(1, 8) == (1, 2, 4, 8)
    assert doubling(16, 100) == (16, 32, 64, 100)


@pytest.mark.parametrize("within", [PureDP(1), ZCDP("1/8"), ApproxDP(1, "1e-6")])
def test_prices_are_within_the_loss(within: Any) -> None:
    bounds = (2, 4, 8)
    for made in (
        ChosenEdges.calibrated(within, nodes=50, bounds=bounds),
        ChosenDegrees.calibrated(within, nodes=50, bounds=bounds),
        ChosenStars.calibrated(within, nodes=50, k=2, bounds=bounds),
        ChosenTriangles.calibrated(within, nodes=50, bounds=bounds),
        QuickTriangles.calibrated(within, nodes=50, bounds=bounds),
        FlowEdges.calibrated(within, nodes=50, degree=4),
        GraphRace.calibrated(within, nodes=50, pattern="edges", bounds=bounds),
    ):
        assert made.loss(1) <= within
        assert made.distance == NODE


def test_what_cannot_be_is_refused_by_public_facts() -> None:
    with pytest.raises(InvalidParameter, match="bounds"):
        ChosenDegrees.calibrated(PureDP(1), nodes=5, bounds=(1, 5))
    with pytest.raises(InvalidParameter, match="bounds"):
        ChosenStars.calibrated(PureDP(1), nodes=5, k=3, bounds=(2, 3))
    with pytest.raises(InvalidParameter, match="2\\^60"):
        ChosenStars.calibrated(PureDP(1), nodes=2**20, k=8, bounds=(2**16,))
    with pytest.raises(InvalidParameter, match="might not fit"):
        ChosenTriangles.calibrated(PureDP(1), nodes=2**20, bounds=(2**16,))
    with pytest.raises(InvalidParameter, match="rising"):
        ChosenEdges.calibrated(PureDP(1), nodes=5, bounds=(2, 2))


@pytest.mark.parametrize(
    "edges", [[], [(0, 1)], list(itertools.combinations(range(6), 2)), [(0, i) for i in range(1, 6)]]
)
def test_any_graph_is_answered(edges: Any) -> None:
    """With next to no noise: the count itself where the bound is large enough, and less where it is not."""
    from dither import Budget, release

    huge = PureDP(2**30)
    graph = graph_of(edges, 6)

    def answer(made: Any) -> Any:
        return release(made, edges, budget=Budget(epsilon=2**31, unit=NODE)).value

    bound, count = answer(ChosenEdges.calibrated(huge, nodes=6, bounds=(8,)))
    assert (bound, count) == (8, len(edges))
    assert answer(ChosenTriangles.calibrated(huge, nodes=6, bounds=(16,)))[1] == triangles_of(graph).many
    assert answer(QuickTriangles.calibrated(huge, nodes=6, bounds=(16,)))[1] == triangles_of(graph).many
    stars = sum(math.comb(degree, 2) for degree in graph.degrees.tolist())
    assert answer(ChosenStars.calibrated(huge, nodes=6, k=2, bounds=(5,)))[1] == stars
    assert answer(FlowEdges.calibrated(huge, nodes=6, degree=5)) == len(edges)
    assert answer(GraphRace.calibrated(huge, nodes=6, pattern="edges", bounds=(5,))) == len(edges)
    degrees = answer(ChosenDegrees.calibrated(huge, nodes=6, bounds=(5,)))
    assert degrees.sum() == 6
    assert abs(np.cumsum(degrees) - np.cumsum(np.bincount(graph.degrees, minlength=6))).max() <= 1

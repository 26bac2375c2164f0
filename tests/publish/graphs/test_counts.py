"""Exact counts and ladders, against sets and loops on all graphs with up to five nodes, and some of six."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from dither.errors import InvalidParameter, InvalidValue
from dither.mechanisms import DiscreteGaussian, SmoothCauchy, perform
from dither.privacy import ApproxDP, PureDP
from dither.publish.graphs import (
    DegreeHistogram,
    DegreeSequence,
    DegreeVector,
    GraphRatio,
    LadderCount,
    LaplaceCount,
    LocalCount,
    SmoothCount,
    by_degrees,
    cliques,
    counts,
    measures,
    patterns,
)
from dither.publish.graphs.simple_graph import SimpleGraph, graph_of
from dither.testing.choices import Choices
from dither.testing.random_graphs import random_edge_pair

Bits = int
KINDS: tuple[tuple[str, int], ...] = (
    ("edges", 0),
    ("triangles", 0),
    ("stars", 2),
    ("stars", 3),
    ("k-triangles", 2),
    ("k-triangles", 3),
)
KINDS += (("cliques", 4), ("degree-products", 0))
RUNGS = 8


def edges_of(nodes: int, bits: Bits) -> list[tuple[int, int]]:
    """Return the graph whose pairs are the bits of a number."""
    pairs = itertools.combinations(range(nodes), 2)
    return [pair for place, pair in enumerate(pairs) if bits >> place & 1]


def slow(nodes: int, edges: list[tuple[int, int]], pattern: str, k: int) -> int:
    """Return a count by sets and loops."""
    beside: list[set[int]] = [set() for _ in range(nodes)]
    for one, other in edges:
        beside[one].add(other)
        beside[other].add(one)
    if pattern == "edges":
        return len(edges)
    if pattern == "triangles":
        return sum(c in beside[a] & beside[b] and b in beside[a] for a, b, c in itertools.combinations(range(nodes), 3))
    if pattern == "stars":
        return sum(len(list(itertools.combinations(one, k))) for one in beside)
    if pattern == "degree-products":
        return sum(len(beside[a]) * len(beside[b]) for a, b in edges)
    if pattern == "cliques":
        chosen = itertools.combinations(range(nodes), k)
        return sum(all(b in beside[a] for a, b in itertools.combinations(some, 2)) for some in chosen)
    return sum(len(list(itertools.combinations(beside[a] & beside[b], k))) for a, b in edges)


@cache
def representatives(nodes: int) -> tuple[Bits, ...]:
    """Return one graph of each shape: the least number among all orders of its nodes."""
    pairs = list(itertools.combinations(range(nodes), 2))
    place = {pair: number for number, pair in enumerate(pairs)}
    seen: set[Bits] = set()
    found = []
    orders = [
        [place[tuple(sorted((order[a], order[b])))] for a, b in pairs]  # type: ignore[index]
        for order in itertools.permutations(range(nodes))
    ]
    for bits in range(1 << len(pairs)):
        if bits not in seen:
            found.append(bits)
            ones = [number for number in range(len(pairs)) if bits >> number & 1]
            seen.update(sum(1 << moved[number] for number in ones) for moved in orders)
    return tuple(found)


@cache
def ladder_of(nodes: int, bits: Bits, pattern: str, k: int) -> Any:
    """Return the first rungs of a graph."""
    return patterns.ladder(graph_of(edges_of(nodes, bits), nodes), pattern, k, RUNGS)


@pytest.mark.parametrize("nodes", [2, 3, 4, 5])
def test_counts_and_ladders_on_all_shapes_and_all_their_neighbours(nodes: int) -> None:
    """A ladder starts with the exact local sensitivity, and no rung is above the next one of any neighbour."""
    pairs = nodes * (nodes - 1) // 2
    largest = dict.fromkeys(KINDS, 0)
    for bits in representatives(nodes):
        here = graph_of(edges_of(nodes, bits), nodes)
        around = [bits ^ (1 << place) for place in range(pairs)]
        for pattern, k in KINDS:
            value = patterns.count(here, pattern, k)
            assert value == slow(nodes, edges_of(nodes, bits), pattern, k)
            moved = max(abs(value - slow(nodes, edges_of(nodes, other), pattern, k)) for other in around)
            rungs = ladder_of(nodes, bits, pattern, k)
            assert rungs[0] == moved
            assert (np.diff(rungs) >= 0).all()
            for other in around:
                theirs = ladder_of(nodes, other, pattern, k)
                assert (rungs[:-1] <= theirs[1:]).all()
                assert (theirs[:-1] <= rungs[1:]).all()
            largest[pattern, k] = max(largest[pattern, k], moved)
    for (pattern, k), most in largest.items():
        assert patterns.reach(nodes, pattern, k) == most
        assert patterns.largest_count(nodes, pattern, k) == slow(nodes, edges_of(nodes, (1 << pairs) - 1), pattern, k)


def test_counts_and_ladders_from_degrees_alone_on_all_shapes() -> None:
    """Slightly wider than with edges, and under the same rule."""
    for bits in representatives(5):
        degrees = graph_of(edges_of(5, bits), 5).degrees
        around = [graph_of(edges_of(5, bits ^ (1 << place)), 5).degrees for place in range(10)]
        assert by_degrees.exact_count(degrees, 5, "edges", 0) == bits.bit_count()
        for k in (2, 3):
            value = slow(5, edges_of(5, bits), "stars", k)
            assert by_degrees.exact_count(degrees, 5, "stars", k) == value
            rungs = by_degrees.widths(degrees, 5, "stars", k, RUNGS)
            assert (rungs >= ladder_of(5, bits, "stars", k)).all()
            for other in around:
                theirs = by_degrees.widths(other, 5, "stars", k, RUNGS)
                assert abs(value - by_degrees.exact_count(other, 5, "stars", k)) <= min(rungs[0], theirs[0])
                assert (rungs[:-1] <= theirs[1:]).all()
    with pytest.raises(InvalidValue, match="degrees do not decide"):
        by_degrees.exact_count(degrees, 5, "triangles", 0)
    with pytest.raises(InvalidValue, match="5 degrees"):
        by_degrees.degrees_of(degrees[:3], 5)


def test_no_edge_and_no_odd_end_changes_whether_an_array_is_taken() -> None:
    """What NumPy makes of a list has another shape without a row, and another type with one cell that is no integer."""
    count = LaplaceCount.calibrated(PureDP(10**4), nodes=4, pattern="edges")
    for rows, wanted in (([], 0), ([(0, 1)], 1), ([(0, 1), (float("nan"), 2), (1.5, 2), (9, 1), (2, 1)], 2)):
        assert perform(count, np.array(rows)) == wanted
        assert by_degrees.degrees_of(np.array(rows), 4).sum() == 2 * wanted
    assert graph_of(np.array([(-1.0, 0.0), (float("inf"), 1), (-float("inf"), 1), (0, 3)]), 4).edges.tolist() == [
        [0, 3]
    ]


@pytest.mark.parametrize(("pattern", "k"), [kind for kind in KINDS if kind != ("edges", 0)])
def test_one_edge_moves_the_first_rung_by_no_more_than_is_said(pattern: str, k: int) -> None:
    """Neighbours are one step apart for the noisy local sensitivity, on all shapes of five nodes."""
    distance = LocalCount.calibrated(ApproxDP(1, "1e-6"), nodes=5, pattern=pattern, k=k).part.distance

    @cache
    def triple(bits: Bits) -> list[int]:
        graph = graph_of(edges_of(5, bits), 5)
        first = int(ladder_of(5, bits, pattern, k)[0])
        return [patterns.count(graph, pattern, k), first, patterns.base(graph, pattern)]

    found = {
        distance.measure(triple(bits), triple(bits ^ (1 << place)))
        for bits in representatives(5)
        for place in range(10)
    }
    assert found <= {0, 1}
    assert 1 in found


def test_a_ladder_that_grows_too_slowly_is_found_out() -> None:
    """The twin: half of the growth of 2-triangles breaks the rule on some graph of five nodes."""
    broken = False
    for bits in representatives(5):
        here = ladder_of(5, bits, "k-triangles", 2)
        slower = here[0] + (here - here[0]) // 2
        for place in range(10):
            other = ladder_of(5, bits ^ (1 << place), "k-triangles", 2)
            broken |= bool((other[:-1] > slower[1:]).any())
    assert broken


def random_graph(nodes: int, density: float, hubs: int, picked: np.random.Generator) -> SimpleGraph:
    """Return a graph with some nodes that know nearly all."""
    pairs = np.array(list(itertools.combinations(range(nodes), 2)))
    kept = picked.random(len(pairs)) < np.where(pairs[:, 0] < hubs, 0.9, density)
    return graph_of(pairs[kept], nodes)


@pytest.mark.parametrize(("nodes", "density", "hubs"), [(9, 0.5, 0), (30, 0.1, 2), (80, 0.03, 4), (150, 0.02, 0)])
def test_larger_graphs_agree_with_matrices(nodes: int, density: float, hubs: int) -> None:
    graph = random_graph(nodes, density, hubs, np.random.default_rng())
    dense = np.zeros((nodes, nodes), dtype=np.int64)
    dense[graph.edges[:, 0], graph.edges[:, 1]] = 1
    dense += dense.T
    common = dense @ dense
    assert counts.triangle_count(graph) == np.trace(common @ dense) // 6
    assert counts.supports(graph).tolist() == common[graph.edges[:, 0], graph.edges[:, 1]].tolist()
    np.fill_diagonal(common, 0)
    assert counts.largest_common(graph) == common.max(initial=0)
    for k in (2, 3):
        # The local sensitivity pair by pair: its own k-triangles, and those on the edges to each common neighbour.
        best = 0
        for one, other in itertools.combinations(range(nodes), 2):
            between = np.flatnonzero(dense[one] & dense[other])
            less = dense[one, other]
            value = math.comb(len(between), k)
            value += sum(math.comb(int(common[end, node]) - less, k - 1) for end in (one, other) for node in between)
            best = max(best, value)
        assert patterns.ladder(graph, "k-triangles", k, 3)[0] == best
        stars = [
            sum(math.comb(int(graph.degrees[end] - dense[one, other]), k - 1) for end in (one, other))
            for one, other in itertools.combinations(range(nodes), 2)
        ]
        assert patterns.ladder(graph, "stars", k, 3)[0] == max(stars)


@pytest.mark.parametrize("chunk", [1, 7])
def test_work_in_pieces_is_work_as_a_whole(monkeypatch: Any, chunk: int) -> None:
    graph = random_graph(40, 0.2, 3, np.random.default_rng())
    wanted = counts.triangle_count(graph), counts.supports(graph).tolist(), counts.largest_common(graph)
    monkeypatch.setattr(counts, "_CHUNK", chunk)
    monkeypatch.setattr(counts, "_FIRST_ROWS", 1)
    assert (counts.triangle_count(graph), counts.supports(graph).tolist(), counts.largest_common(graph)) == wanted


def test_cliques_without_matrices_are_those_with_them(monkeypatch: Any) -> None:
    graph = random_graph(40, 0.3, 3, np.random.default_rng())
    wanted = [(cliques.clique_count(graph, k), cliques.clique_ladder(graph, 3, k).tolist()) for k in (4, 5, 6)]
    monkeypatch.setattr(cliques, "_DENSE", 2)
    assert [(cliques.clique_count(graph, k), cliques.clique_ladder(graph, 3, k).tolist()) for k in (4, 5, 6)] == wanted


@pytest.mark.parametrize("nodes", [2, 3, 50])
def test_empty_complete_and_star_shaped_graphs(nodes: int) -> None:
    empty, complete = graph_of([], nodes), graph_of(list(itertools.combinations(range(nodes), 2)), nodes)
    star = graph_of([(0, other) for other in range(1, nodes)], nodes)
    for pattern, k in KINDS:
        assert patterns.count(empty, pattern, k) == 0
        assert patterns.count(complete, pattern, k) == patterns.largest_count(nodes, pattern, k)
        for graph in (empty, complete, star):
            assert patterns.ladder(graph, pattern, k, 2 * nodes).max() <= max(patterns.reach(nodes, pattern, k), 1)
    assert counts.largest_common(star) == (1 if nodes > 2 else 0)


@pytest.mark.parametrize("kind", [LaplaceCount, LadderCount, SmoothCount])
@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"nodes": 1, "pattern": "stars", "k": 2}, "nodes"),
        ({"nodes": "x", "pattern": "triangles"}, "nodes"),
        ({"nodes": 10**30, "pattern": "stars", "k": 10**6}, "nodes"),
        ({"nodes": 2**24, "pattern": "stars", "k": 16}, "nodes"),
        ({"nodes": 5, "pattern": "stars", "k": -1}, "k"),
        ({"nodes": 5, "pattern": "stars", "k": "a"}, "k"),
        ({"nodes": 5, "pattern": "squares"}, "pattern"),
    ],
)
def test_parameters_out_of_range_are_refused_by_name_before_a_reach_is_computed(
    kind: Any, given: dict[str, Any], named: str
) -> None:
    with pytest.raises(InvalidParameter, match=f"^{named} must be"):
        kind.calibrated(PureDP(1), **given)


def test_noise_that_cannot_be_drawn_is_refused_when_a_count_is_made() -> None:
    for scale in (Fraction(1, 2**31), 2**31):
        with pytest.raises(InvalidParameter, match=r"^scale must be"):
            LadderCount(nodes=5, pattern="triangles", scale=scale)
    noise = SmoothCauchy(power=4, least=1, smoothness=Fraction(1, 2**31), scale=5)
    with pytest.raises(InvalidParameter, match=r"^smoothness must be"):
        SmoothCount(nodes=5, pattern="triangles", noise=noise)


#: Figure 4.1 of the Saskatchewan thesis: seven nodes from A to G.
FIGURE = ["AB", "AC", "BC", "BD", "CD", "DE", "DF", "DG", "EF", "EG", "FG"]


@pytest.mark.parametrize(
    ("edges", "wanted"),
    [
        (FIGURE, (26, 15, 7, 6, 1)),
        ([pair for pair in FIGURE if "D" not in pair], (6, 0, 0, 2, 0)),
        ([pair for pair in FIGURE if pair != "DG"], (20, 8, 2, 4, 0)),
    ],
)
def test_the_counts_of_table_4_1_of_the_saskatchewan_thesis(edges: list[str], wanted: tuple[int, ...]) -> None:
    """2-stars, 3-stars, 2-triangles, triangles and 4-cliques; then without a node, and without an edge."""
    graph = graph_of([("ABCDEFG".index(one), "ABCDEFG".index(other)) for one, other in edges], 7)
    kinds = (("stars", 2), ("stars", 3), ("k-triangles", 2), ("triangles", 0), ("cliques", 4))
    assert tuple(patterns.count(graph, *kind) for kind in kinds) == wanted


def test_measures_of_a_graph_are_those_of_their_definitions() -> None:
    graph = random_graph(30, 0.15, 2, np.random.default_rng())
    dense = np.zeros((30, 30), dtype=np.int64)
    dense[graph.edges[:, 0], graph.edges[:, 1]] = 1
    dense += dense.T
    side = {0, 3, 7, 99, -1}
    inside = [node for node in range(30) if node in side]
    outside = [node for node in range(30) if node not in side]
    assert measures.cut_size(graph, side) == dense[np.ix_(inside, outside)].sum()
    assert measures.mean_degree(graph) == Fraction(int(dense.sum()), 30)
    reached = dense + np.eye(30, dtype=np.int64)
    for _ in range(5):
        reached = np.minimum(reached @ reached, 1)
    assert measures.component_count(graph) == len({tuple(row) for row in reached.tolist()})
    paths = int((dense @ dense).sum() - np.trace(dense @ dense))
    assert measures.clustering(graph) == Fraction(int(np.trace(dense @ dense @ dense)), paths)
    ends = np.concatenate([graph.edges, graph.edges[:, ::-1]])
    correlation = np.corrcoef(graph.degrees[ends[:, 0]], graph.degrees[ends[:, 1]])[0, 1]
    assert float(measures.assortativity(graph)) == pytest.approx(correlation)
    lonely = graph_of([], 5)
    assert (measures.clustering(lonely), measures.assortativity(lonely), measures.component_count(lonely)) == (0, 0, 5)


@pytest.mark.parametrize("ratio", ["clustering", "assortativity"])
def test_intervals_of_ratios_hold_what_their_counts_allow(ratio: str) -> None:
    """With counts that are exact the ratio is exact; with wide ones the interval holds every ratio within them."""
    graph = random_graph(40, 0.2, 2, np.random.default_rng())
    method = GraphRatio.calibrated(ApproxDP(1, "1e-6"), nodes=40, ratio=ratio)
    kinds = [(part.pattern, part.k) for part in method.parts]
    true = [patterns.count(graph, *kind) for kind in kinds]
    truth = float(measures.clustering(graph) if ratio == "clustering" else measures.assortativity(graph))
    assert float(method.value([[value, 1, 0] for value in true])) == truth
    dice = np.random.default_rng()
    for _ in range(20):
        # Any counts whose intervals hold the true ones.
        out = []
        for part, value in zip(method.parts, true, strict=True):
            bound = int(dice.integers(1, 30))
            reach = part.interval([0, bound, 0] if isinstance(part, LocalCount) else 0, "0.999").high
            out.append([value + int(dice.integers(-reach, reach + 1)), bound, 0])
        found = method.interval(out, "0.95")
        assert found is not None
        assert found.low <= float(method.value(out)) <= found.high
        narrow = [
            part.interval(
                row if isinstance(part, LocalCount) else row[0], "0.9875" if ratio != "clustering" else "0.975"
            )
            for part, row in zip(method.parts, out, strict=True)
        ]
        if all(one.low <= value <= one.high for one, value in zip(narrow, true, strict=True)):
            assert found.low <= truth <= found.high


def test_one_edge_moves_the_degree_histogram_by_four() -> None:
    """In L1, and by the root of 8 in L2, on all shapes of five nodes."""
    largest, squares = 0, 0
    for bits in representatives(5):
        here = np.bincount(graph_of(edges_of(5, bits), 5).degrees, minlength=5)
        for place in range(10):
            there = np.bincount(graph_of(edges_of(5, bits ^ (1 << place)), 5).degrees, minlength=5)
            largest = max(largest, int(abs(here - there).sum()))
            squares = max(squares, int(((here - there) ** 2).sum()))
    assert (largest, squares) == (4, 8)
    exact = DegreeHistogram.calibrated(PureDP(1), nodes=5)
    assert exact.stability == largest
    assert replace(exact, node=DiscreteGaussian(sigma=1)).stability ** 2 > squares


EMPTY: list[tuple[int, int]] = []
ODD_GRAPHS = {
    "empty": EMPTY,
    "star": [(0, other) for other in range(1, 8)],
    "complete": list(itertools.combinations(range(8), 2)),
    "parts": [(0, 1), (1, 2), (2, 0), (4, 5)],
    "mixed": [
        (0, 1),
        ("0", "1"),
        (0.0, 1),
        (None, 2),
        (1, "x"),
        (7, 7),
        (0, 8),
        (-1, 3),
        [2],
        "edge",
        (1, 2, 3),
        b"ab",
    ],
}


@pytest.mark.parametrize("name", ODD_GRAPHS)
def test_no_graph_raises(name: str) -> None:
    """Whatever the edges are, every method releases something of its shape."""
    for kind in (LaplaceCount, LadderCount, SmoothCount, LocalCount):
        for pattern, k in KINDS:
            within = ApproxDP(1, "1e-6") if kind is LocalCount else PureDP(1)
            made: Any = kind.calibrated(within, nodes=8, pattern=pattern, k=k)
            assert np.isfinite(np.asarray(perform(made, ODD_GRAPHS[name]), dtype=np.float64)).all()
    for method in (DegreeSequence, DegreeVector, DegreeHistogram):
        assert np.asarray(perform(method.calibrated(PureDP(1), nodes=8), ODD_GRAPHS[name])).shape == (8,)


def test_two_nodes_are_the_smallest_graph() -> None:
    for pattern, k in KINDS:
        if pattern != "cliques":
            made = LadderCount.calibrated(PureDP(1), nodes=2, pattern=pattern, k=k)
            assert isinstance(int(perform(made, [(0, 1)])), int)
    with pytest.raises(InvalidParameter, match="nodes"):
        DegreeVector.calibrated(PureDP(1), nodes=1)


@pytest.mark.parametrize("joined", range(2, 10))
def test_two_nodes_with_many_common_neighbours_keep_the_rule_with_and_without_their_edge(joined: int) -> None:
    """The edge makes the first 4-clique count of one; without it no pair has any, and rungs may not jump for that."""
    nodes = joined + 2
    apart = [(end, other) for end in (0, 1) for other in range(2, nodes)]
    here, there = (patterns.ladder(graph_of(edges, nodes), "cliques", 4, RUNGS) for edges in (apart, [*apart, (0, 1)]))
    assert (here[:-1] <= there[1:]).all()
    assert (there[:-1] <= here[1:]).all()


@pytest.mark.parametrize(("pattern", "k"), [*KINDS, ("cliques", 5)])
def test_ladders_of_random_graphs_with_up_to_nine_nodes_keep_the_rule(pattern: str, k: int) -> None:
    """Beyond the graphs that can all be tried: of every degree, thin and dense, with hubs, sides and cliques."""
    choices = Choices()
    for _ in range(60):
        nodes = 6 + choices.below(4)
        here, there, apart = random_edge_pair(nodes, choices)
        one, other = (patterns.ladder(graph_of(sorted(edges), nodes), pattern, k, RUNGS) for edges in (here, there))
        assert (one[:-apart] <= other[apart:]).all()
        assert (other[:-apart] <= one[apart:]).all()

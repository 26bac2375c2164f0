"""Copies of patterns, listed and packed, on all graphs with five nodes, against sets of edges and fractions."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from dither import Budget, release
from dither.errors import InvalidParameter
from dither.mechanisms.core.relative_scores import RELATIVE_STEPS, relative_scores
from dither.privacy import NODE, PureDP
from dither.publish.graphs import ChosenCopies, packing
from dither.publish.graphs.chosen_copies import MOST_COPIES, most_listed
from dither.publish.graphs.copies import copies_of
from dither.publish.graphs.copy_blocks import Copies
from dither.publish.graphs.node_planning import copy_bounds, restricted_degree
from dither.publish.graphs.patterns import count
from dither.publish.graphs.simple_graph import graph_of
from tests.publish.graphs.five_nodes import WITHOUT, classes, edges_at, graph_at

PATTERNS = [("stars", 2), ("stars", 3), ("k-triangles", 2), ("cliques", 3), ("cliques", 4)]


def _shapes(pattern: str, k: int) -> list[tuple[frozenset[int], frozenset[tuple[int, int]]]]:
    """Return the nodes and the edges of every copy in the complete graph."""
    heads = {"stars": 1, "k-triangles": 2, "cliques": k}[pattern]
    found = []
    for head in itertools.combinations(range(5), heads):
        for others in itertools.combinations(sorted({*range(5)} - {*head}), 0 if pattern == "cliques" else k):
            pairs = [*itertools.combinations(head, 2), *itertools.product(head, others)]
            found.append((frozenset((*head, *others)), frozenset((min(pair), max(pair)) for pair in pairs)))
    return found


@pytest.mark.parametrize(("pattern", "k"), PATTERNS)
def test_copies_are_listed_once(pattern: str, k: int) -> None:
    shapes = _shapes(pattern, k)
    assert len(shapes) <= most_listed(5, pattern, k)
    for bits in range(0, 1024, 7):
        edges = set(edges_at(bits))
        slow = Counter(nodes for nodes, needed in shapes if needed <= edges)
        listed = copies_of(graph_at(bits), pattern, k)
        assert Counter(map(frozenset, listed.tolist())) == slow
        assert len(listed) == count(graph_at(bits), pattern, k)


@cache
def _optimum(bits: int, pattern: str, k: int, bound: int) -> Fraction:
    """Return the largest sum of shares in fractions, with a variable for each copy and a limit for each node."""
    edges = set(edges_at(bits))
    copies = [tuple(nodes) for nodes, needed in _shapes(pattern, k) if needed <= edges]
    return packing.in_fractions(copies, [1] * len(copies), 5, bound)


@pytest.mark.parametrize(("pattern", "k"), [("stars", 2), ("k-triangles", 2), ("cliques", 4)])
def test_one_node_moves_packed_copies_by_the_bound_and_never_down(pattern: str, k: int) -> None:
    """On all graphs with five nodes up to their order, and all neighbours; and bounds draw apart as is said."""
    bounds = (1, 3)
    attained, plain = {bound: Fraction(0) for bound in bounds}, 0
    same = classes()
    for bits in set(same.values()):
        here = {bound: packing.packed(Copies.of(copies_of(graph_at(bits), pattern, k), 5), bound) for bound in bounds}
        for bound, value in here.items():
            exact = _optimum(bits, pattern, k, bound)
            assert 0 <= value - packing.PARTS * exact <= bound * packing.PARTS // 128
            for mask in WITHOUT:
                fall = exact - _optimum(same[bits & mask], pattern, k, bound)
                assert 0 <= fall <= bound
                attained[bound] = max(attained[bound], fall)
        for mask in WITHOUT:
            left = copies_of(graph_at(bits & mask), pattern, k)
            there = {bound: packing.packed(Copies.of(left, 5), bound) for bound in bounds}
            assert all(abs(here[bound] - there[bound]) <= packing.moved(bound) for bound in bounds)
            scores = [
                relative_scores(list(one.values()), [packing.drawn_apart(bound) for bound in bounds], 1)
                for one in (here, there)
            ]
            assert abs(scores[0] - scores[1]).max() <= RELATIVE_STEPS // 2
            plain = max(plain, count(graph_at(bits), pattern, k) - len(left))
    assert attained[1] == 1
    # The twin: all copies, which one node moves by far more than the bound.
    assert plain > max(bounds)


@pytest.mark.parametrize(("pattern", "k"), PATTERNS)
def test_candidates_reach_what_a_node_of_the_declared_degree_has(pattern: str, k: int) -> None:
    """In every graph with five nodes of that degree, and a node of a smaller one is in no copy."""
    for degree in range(restricted_degree(pattern, k), 5):
        most = copy_bounds(5, degree, pattern, k)[-1]
        for bits in set(classes().values()):
            graph = graph_at(bits)
            at_node = np.bincount(copies_of(graph, pattern, k).ravel(), minlength=5)
            if graph.degrees.max() <= degree:
                assert at_node.max() <= most
            if graph.degrees.max() < restricted_degree(pattern, k):
                assert not at_node.any()


@pytest.mark.parametrize("edges", [[], [(0, 1)], list(itertools.combinations(range(7), 2)), [(0, i) for i in range(7)]])
def test_any_graph_is_answered(edges: list[tuple[int, int]]) -> None:
    """With next to no noise, and a bound that is large enough: the count itself."""
    for pattern, k in PATTERNS:
        made = ChosenCopies.calibrated(PureDP(2**30), nodes=7, pattern=pattern, k=k, bounds=(200,))
        out = release(made, edges, budget=Budget(epsilon=2**31, unit=NODE)).value
        assert out.tolist() == [200, count(graph_of(edges, 7), pattern, k)]


def test_what_would_not_fit_is_refused_by_the_number_of_nodes() -> None:
    for pattern, k, most in (("stars", 2, 204), ("k-triangles", 2, 65), ("cliques", 4, 101)):
        assert most_listed(most, pattern, k) <= MOST_COPIES < most_listed(most + 1, pattern, k)
        assert ChosenCopies.calibrated(PureDP(1), nodes=most, pattern=pattern, k=k, bounds=(16,)).loss(1) <= PureDP(1)
        with pytest.raises(InvalidParameter, match="nodes"):
            ChosenCopies.calibrated(PureDP(1), nodes=most + 1, pattern=pattern, k=k, bounds=(2**20,))
    # Few large cliques, very many smaller ones on the way.
    with pytest.raises(InvalidParameter, match="nodes"):
        ChosenCopies.calibrated(PureDP(1), nodes=18 + 12, pattern="cliques", k=16, bounds=(16,))
    with pytest.raises(InvalidParameter, match="k"):
        ChosenCopies.calibrated(PureDP(1), nodes=5, pattern="stars", k=1, bounds=(16,))

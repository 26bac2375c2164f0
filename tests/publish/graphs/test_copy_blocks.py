"""Copies in blocks and programmes that grow: the same values as with all copies at hand, in public memory."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither.errors import InvalidParameter
from dither.privacy import PureDP
from dither.publish.graphs import ChosenTriangles, GraphRace, QuickTriangles, counts, packing
from dither.publish.graphs.chosen_copies import MOST_COPIES
from dither.publish.graphs.copy_blocks import Copies, triangles_of
from dither.publish.graphs.simple_graph import SimpleGraph, graph_of


def some_graph(nodes: int, density: float, hubs: int) -> SimpleGraph:
    """Return a random graph in which some nodes are joined to all others."""
    dice = np.random.default_rng()
    pairs = itertools.combinations(range(nodes), 2)
    return graph_of([pair for pair in pairs if pair[0] < hubs or dice.random() < density], nodes)


@pytest.mark.parametrize("chunk", [1, 7, 2**22])
def test_blocks_are_all_triangles_and_none_is_large(monkeypatch: Any, chunk: int) -> None:
    graph = some_graph(30, 0.4, 2)
    monkeypatch.setattr(counts, "_CHUNK", chunk)
    found = [*triangles_of(graph).made()]
    edges = set(map(tuple, graph.edges.tolist()))
    slow = [three for three in itertools.combinations(range(30), 3) if set(itertools.combinations(three, 2)) <= edges]
    assert sorted(tuple(sorted(three)) for three in np.concatenate(found).tolist()) == slow
    # Of one edge there are at most as many as its nodes have neighbours.
    assert max(map(len, found)) <= max(chunk, 30)
    assert triangles_of(graph).many == len(slow)
    assert triangles_of(graph).at_node.sum() == 3 * len(slow)


@pytest.mark.parametrize(("short", "density", "hubs"), [(1, 0.5, 0), (4, 0.2, 3), (64, 1, 0), (4, 0.05, 16)])
def test_a_programme_that_grows_comes_as_close_as_one_with_all_copies(
    monkeypatch: Any, short: int, density: float, hubs: int
) -> None:
    """Both keep within the gap of the optimum, so that they are no farther apart than that."""
    copies = triangles_of(some_graph(20, density, hubs))
    for bound in (1, 20, 90):
        gap = bound * packing.PARTS // 128
        whole = packing.packed(copies, bound)
        with monkeypatch.context() as patch:
            patch.setattr(packing, "SHORT", 0)
            patch.setattr(packing, "_FIRST", short)
            assert abs(packing.packed(copies, bound) - whole) <= gap


def test_a_programme_that_grows_is_near_the_optimum_in_fractions(monkeypatch: Any) -> None:
    monkeypatch.setattr(packing, "SHORT", 0)
    monkeypatch.setattr(packing, "_FIRST", 1)
    for graph in (some_graph(6, 0.8, 1), graph_of([*itertools.combinations(range(6), 2)], 6)):
        copies = triangles_of(graph)
        listed = [tuple(one) for one in np.concatenate([np.empty((0, 3), dtype=int), *copies.blocks()]).tolist()]
        for bound in (1, 2, 4):
            exact = packing.in_fractions(listed, [1] * len(listed), 6, bound)
            assert 0 <= packing.packed(copies, bound) - packing.PARTS * exact <= bound * packing.PARTS // 128
        edges = Copies.of(graph.edges, 6)
        exact = packing.in_fractions([tuple(one) for one in graph.edges.tolist()], [1] * edges.many, 6, 2)
        assert 0 <= packing.packed(edges, 2) - packing.PARTS * exact <= 2 * packing.PARTS // 128


def test_a_solver_that_fails_while_a_programme_grows_changes_nothing(monkeypatch: Any) -> None:
    copies = triangles_of(graph_of([*itertools.combinations(range(6), 2)], 6))
    monkeypatch.setattr(packing, "SHORT", 0)
    monkeypatch.setattr(packing, "_FIRST", 1)
    monkeypatch.setattr(packing, "_solved", lambda *_: None)
    assert packing.packed(copies, 4) == packing.PARTS * Fraction(20 * 4, 10)


def test_shares_of_a_mad_solver_never_wrap_around() -> None:
    """What would not fit into 64 bits is no proposal."""
    columns = np.arange(2**14).reshape(-1, 1) % 4
    most = np.full(2**14, 2**20)
    found = packing._solved(columns, most, 4, 2**20)
    assert found is not None
    assert found.below <= 4 * 2**20 * 2**30 <= found.above


def test_bounds_whose_programmes_might_not_fit_are_refused_by_public_numbers() -> None:
    """When a release is planned: the graph is not there yet."""
    nodes = 2**20
    fits = packing.most_bound(nodes)
    # What several copies on the same nodes are is decided with all of them at hand.
    assert MOST_COPIES <= packing.SHORT
    makers: list[Any] = [
        lambda bound: ChosenTriangles.calibrated(PureDP(1), nodes=nodes, bounds=(1, bound)),
        lambda bound: QuickTriangles.calibrated(PureDP(1), nodes=nodes, bounds=(1, bound)),
        lambda bound: GraphRace.calibrated(PureDP(1), nodes=nodes, pattern="triangles", bounds=(1, bound)),
    ]
    for make in makers:
        make(fits)
        with pytest.raises(InvalidParameter, match="might not fit"):
            make(fits + 1)

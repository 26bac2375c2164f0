"""The projection to a bounded degree: what one node moves, on all small graphs and in many orders of their edges."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from dither.publish.graphs import ProjectedDegrees, ProjectedEdges, projection
from dither.publish.graphs.simple_graph import graph_of


def _slow(edges: list[tuple[int, int]], nodes: int, bound: int) -> list[int]:
    """Return the degrees after adding edges one by one."""
    degrees = [0] * nodes
    for one, other in edges:
        if max(degrees[one], degrees[other]) < bound:
            degrees[one] += 1
            degrees[other] += 1
    return degrees


def _moved(nodes: int, orders: Any, bound: int) -> tuple[int, int, int]:
    """Return the largest change of edges, of degrees and of cumulative counts by the edges of one node."""
    edges = degrees = below = 0
    for order in orders:
        kept = {
            bits: _slow([pair for place, pair in enumerate(order) if bits >> place & 1], nodes, bound)
            for bits in range(1 << len(order))
        }
        for bits, here in kept.items():
            for node in range(nodes):
                left = sum(1 << place for place, pair in enumerate(order) if bits >> place & 1 and node not in pair)
                there = kept[left]
                edges = max(edges, abs(sum(here) - sum(there)) // 2)
                degrees = max(degrees, sum(abs(one - other) for one, other in zip(here, there, strict=True)))
                counts = [[sum(one <= j for one in side) for j in range(bound)] for side in (here, there)]
                below = max(below, sum(abs(one - other) for one, other in zip(*counts, strict=True)))
    return edges, degrees, below


@pytest.mark.parametrize("bound", [1, 2, 3])
def test_one_node_moves_edges_by_the_bound_and_degrees_by_twice_as_much(bound: int) -> None:
    pairs = list(itertools.combinations(range(4), 2))
    # Every order up to the names of the first edge's ends would do; some hundred of all 720 are cheap.
    orders = list(itertools.permutations(pairs))[::3]
    assert _moved(4, orders, bound) == (bound, 2 * bound, 2 * bound)


def test_one_node_of_five_moves_no_more() -> None:
    pairs = list(itertools.combinations(range(5), 2))
    order = [pairs[place] for place in np.random.default_rng().permutation(len(pairs))]
    edges, degrees, below = _moved(5, [order], 2)
    assert edges <= 2
    assert degrees <= 4
    assert below <= 4


def test_deleting_nodes_of_high_degree_moves_far_more() -> None:
    """The twin: the printed truncation loses all edges of a ring by one hub."""
    ring = [(node, (node + 1) % 6) for node in range(6)]
    hub = [*ring, *((node, 6) for node in range(6))]

    def truncated(edges: list[tuple[int, int]]) -> int:
        degrees = np.bincount(np.ravel(edges), minlength=7)
        return sum(degrees[one] <= 2 and degrees[other] <= 2 for one, other in edges)

    assert truncated(ring) - truncated(hub) == 6 > 2
    moved = [int(projection.projected(graph_of(edges, 7), 2).sum()) // 2 for edges in (ring, hub)]
    assert abs(moved[0] - moved[1]) <= 2


def test_triangles_of_a_projection_move_by_more_than_their_bound_suggests() -> None:
    """Why it is for degrees alone: at a bound of 2, where a node is in one triangle, one node moves more."""
    pairs = list(itertools.combinations(range(7), 2))
    dice, largest = np.random.default_rng(3), 0
    for _ in range(4000):
        order = [pairs[place] for place in dice.permutation(len(pairs))[:12]]
        kept = []
        for edges in (order, [pair for pair in order if 0 not in pair]):
            degrees, found = [0] * 7, set()
            for one, other in edges:
                if max(degrees[one], degrees[other]) < 2:
                    degrees[one] += 1
                    degrees[other] += 1
                    found.add(frozenset((one, other)))
            kept.append(
                sum(
                    {frozenset(e) for e in itertools.combinations(c, 2)} <= found
                    for c in itertools.combinations(range(7), 3)
                )
            )
        largest = max(largest, abs(kept[0] - kept[1]))
    assert largest > 1


def test_the_code_projects_as_the_loop_does(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = list(itertools.combinations(range(8), 2))
    for _ in range(20):
        rank = {pair: place for place, pair in enumerate(np.random.default_rng().permutation(len(pairs)).tolist())}
        order = sorted(range(len(pairs)), key=lambda place: rank[place])
        chosen = [pairs[place] for place in order[:18]]
        numbers = {pair: place for place, pair in enumerate(chosen)}
        monkeypatch.setattr(
            projection, "edge_hash", lambda edges, n=numbers: np.array([n[tuple(e)] for e in edges.tolist()])
        )
        assert projection.projected(graph_of(chosen, 8), 3).tolist() == _slow(chosen, 8, 3)


def test_bounds_that_no_node_can_reach_are_refused() -> None:
    from dither.errors import InvalidParameter
    from dither.privacy import PureDP

    for kind in (ProjectedEdges, ProjectedDegrees):
        for bad in (0, 5, 6):
            with pytest.raises(InvalidParameter, match="degree"):
                kind.calibrated(PureDP(1), nodes=5, degree=bad)

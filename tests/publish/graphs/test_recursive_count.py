"""The recursive mechanism: how far one node moves both sequences, on all small graphs, and the least value of one."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pytest
from scipy.optimize import linprog

from dither.mechanisms import Geometric
from dither.noise import system_noise
from dither.privacy import ZCDP, PureDP
from dither.publish.graphs import RecursiveCount
from dither.publish.graphs.copy_blocks import triangles_of
from dither.publish.graphs.counts import supports
from dither.publish.graphs.packing import MOST_CORNERS, PARTS, packed
from dither.publish.graphs.recursive_count import DOUBLING, bounds_by_step, last_step, step_of, steps_of_bound
from dither.publish.graphs.simple_graph import SimpleGraph, graph_of

PAIRS = list(itertools.combinations(range(5), 2))
WITHOUT = [sum(1 << place for place, pair in enumerate(PAIRS) if node not in pair) for node in range(5)]


@cache
def graphs() -> list[SimpleGraph]:
    """Return all graphs with five nodes, by the bits of their edges."""
    return [graph_of([pair for at, pair in enumerate(PAIRS) if bits >> at & 1], 5) for bits in range(1 << len(PAIRS))]


def falls(steps: list[int]) -> set[int]:
    """Return by how much a number falls when the edges of one node go."""
    return {steps[bits] - steps[bits & mask] for bits in range(len(steps)) for mask in WITHOUT}


def test_bounds_are_the_roots_of_two_rounded_up() -> None:
    bounds = bounds_by_step()
    assert len(bounds) == 20 * DOUBLING + 1
    assert all((one - 1) ** DOUBLING < 2**step <= one**DOUBLING for step, one in enumerate(bounds))
    last = 20 * DOUBLING
    assert [step_of(copies, last) for copies in (0, 1, 2, 2**20, 2**30)] == [0, 0, 1, last, last]


def test_no_bound_is_drawn_whose_programme_might_not_fit() -> None:
    for nodes in (2, 700, 800, 10**4, 10**6, 2**24):
        step, bounds = last_step(nodes), bounds_by_step()
        assert nodes * bounds[step] <= MOST_CORNERS
        assert step == len(bounds) - 1 or nodes * bounds[step + 1] > MOST_CORNERS


@pytest.mark.parametrize("pattern", ["edges", "triangles"])
@pytest.mark.parametrize("pace", [1, 7, 40])
def test_one_node_moves_the_step_of_the_bound_by_a_pace_at_most(pattern: str, pace: int) -> None:
    found = falls([steps_of_bound(graph, pattern, pace) for graph in graphs()])
    assert min(found) == 0
    assert max(found) <= pace
    if pace < 40:
        assert max(found) == pace
        # The twin: the step of the largest number at a node, which one node moves by more.
        most = [graph.degrees.max() for graph in graphs()]
        if pattern == "triangles":
            most = [triangles_of(graph).at_node.max() for graph in graphs()]
        assert max(falls([step_of(int(one), last_step(5)) for one in most])) > pace


def test_one_node_moves_the_step_by_a_pace_where_many_nodes_stand_out() -> None:
    dice = np.random.default_rng()
    for _ in range(12):
        edges = [pair for pair in itertools.combinations(range(12), 2) if dice.random() < 0.7]
        here = graph_of(edges, 12)
        for node in range(12):
            there = graph_of([pair for pair in edges if node not in pair], 12)
            for pattern in ("edges", "triangles"):
                assert 0 <= steps_of_bound(here, pattern, 2) - steps_of_bound(there, pattern, 2) <= 2


@pytest.mark.parametrize("bits", [0b1111111111, 0b1101110110, 0b0111010111])
@pytest.mark.parametrize("bound", [1, 2])
def test_the_least_of_the_relaxed_sequence_is_the_packed_value(bits: int, bound: int) -> None:
    """The paper's own programme: of nodes x and copies z, z at least 0 and the sum of its nodes less 2."""
    found = triangles_of(graphs()[bits])
    copies = np.concatenate([*found.blocks()])
    cost = np.concatenate([np.full(5, -bound), np.ones(len(copies))])
    table = np.zeros((len(copies), 5 + len(copies)))
    for place, copy in enumerate(copies):
        table[place, copy], table[place, 5 + place] = 1, -1
    limits = [(0, 1)] * 5 + [(0, None)] * len(copies)
    least = linprog(cost, A_ub=table, b_ub=np.full(len(copies), 2.0), bounds=limits).fun + 5 * bound
    assert packed(found, bound) / PARTS == pytest.approx(least, abs=bound / 128)


def test_a_bound_above_all_nodes_counts_all_and_a_loss_is_kept() -> None:
    ring = [(node, (node + step) % 40) for node in range(40) for step in (1, 2)]
    graph = graph_of(ring, 40)
    assert int(supports(graph).sum()) == 3 * 40
    quiet = Geometric(scale="1/1000")
    made = RecursiveCount(nodes=40, pattern="triangles", pace=1, lead=64, step_noise=quiet, noise=quiet)

    def run(part: Geometric, value: int, stability: int) -> int:
        return int(part.draw(value, system_noise()))

    bound, count = made.release(ring, run)  # type: ignore[arg-type]
    assert (bound >= 3, count) == (True, 40)
    for within in (PureDP("1/10"), PureDP(3), ZCDP("1/2")):
        calibrated = RecursiveCount.calibrated(within, nodes=100, pattern="edges")
        assert calibrated.loss(1) <= within

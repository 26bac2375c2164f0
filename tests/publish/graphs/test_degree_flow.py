"""Degrees cut by a convex programme, against the programme in fractions, on all graphs with five nodes."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
import scipy.optimize

from dither.privacy import PureDP
from dither.publish.graphs import ChosenDegreeSum
from dither.publish.graphs.chosen_degrees import knots
from dither.publish.graphs.degree_flow import nodes_above
from dither.publish.graphs.projection import projected
from dither.publish.graphs.simple_graph import graph_of
from tests.publish.graphs.five_nodes import WITHOUT, classes, edges_at, graph_at

SETS = [frozenset(some) for size in range(6) for some in itertools.combinations(range(5), size)]


def _flows(bits: int, bound: int) -> dict[frozenset[int], int]:
    """Return the largest flow from each set of nodes: the least over all ways to divide them from the sink."""
    near = [{other for pair in edges_at(bits) if node in pair for other in pair if other != node} for node in range(5)]
    kept = {some: sum(min(bound, len(some & side)) for side in near) for some in SETS}
    return {some: min(kept[part] + bound * len(some - part) for part in SETS if part <= some) for some in SETS}


@cache
def _cut(bits: int, bound: int) -> tuple[Fraction, ...]:
    """Return the degrees of the programme: again and again the set of nodes that can have least on average has that."""
    flows, done = _flows(bits, bound), frozenset[int]()
    found = [Fraction(0)] * 5
    while len(done) < 5:
        rest = [
            (Fraction(flows[done | some] - flows[done], len(some)), some) for some in SETS if some and not some & done
        ]
        least = min(mean for mean, _ in rest)
        poor = max((some for mean, some in rest if mean == least), key=len)
        for node in poor:
            found[node] = least
        done |= poor
    return tuple(found)


def test_there_are_34_graphs_of_five_nodes() -> None:
    assert len(set(classes().values())) == 34


@pytest.mark.parametrize("bound", [1, 2, 3])
def test_one_node_moves_cut_degrees_by_twice_what_it_has(bound: int) -> None:
    """For all graphs and nodes, up to the order of nodes."""
    most, naive = Fraction(0), 0
    for bits in set(classes().values()):
        here = _cut(bits, bound)
        for node, mask in enumerate(WITHOUT):
            there = _cut(bits & mask, bound)
            moved = sum((abs(one - other) for one, other in zip(here, there, strict=True)), Fraction(0))
            assert moved <= 2 * here[node] <= 2 * bound
            assert there[node] == 0
            most = max(most, moved)
            alone = [np.minimum(graph_at(one).degrees, bound) for one in (bits, bits & mask)]
            naive = max(naive, int(abs(alone[0] - alone[1]).sum()))
    assert most == 2 * bound
    # The twin: degrees cut one by one, which a hub moves by all its neighbours.
    assert naive > 2 * bound


@pytest.mark.parametrize("bound", [1, 2, 3])
def test_numbers_of_nodes_above_degrees_are_those_of_the_programme(bound: int) -> None:
    every = range(bound)
    above = {bits: nodes_above(graph_at(bits), bound, every) for bits in set(classes().values())}
    for bits, numbers in above.items():
        cut = _cut(bits, bound)
        assert numbers.tolist() == [sum(min(max(one - j, Fraction(0)), Fraction(1)) for one in cut) for j in every]
        if graph_at(bits).degrees.max() <= bound:
            assert numbers.tolist() == [int((graph_at(bits).degrees > j).sum()) for j in every]
        for mask in WITHOUT:
            moved = abs(numbers - above[classes()[bits & mask]])
            assert moved.sum() <= 2 * bound
            for some in ([0], [bound - 1], knots(bound)):
                assert moved[list(some)].sum() <= bound + len(some)


def test_no_other_shares_are_closer_to_the_bound() -> None:
    """A solver over shares of edges finds the same sum of squares."""
    for bits in sorted(set(classes().values()))[1::3]:
        edges = np.array(edges_at(bits))
        at = np.zeros((5, len(edges)))
        at[edges.T, np.arange(len(edges))] = 1
        for bound in (1, 2):
            total = np.sum((bound - np.array(_cut(bits, bound), dtype=np.float64)) ** 2)
            found = scipy.optimize.minimize(
                lambda x, bound=bound, at=at: np.sum((bound - at @ x) ** 2),
                np.zeros(len(edges)),
                bounds=[(0, 1)] * len(edges),
                constraints={"type": "ineq", "fun": lambda x, bound=bound, at=at: bound - at @ x},
                method="SLSQP",
            )
            assert math.isclose(found.fun, total, abs_tol=1e-4)


def test_less_is_cut_off_than_by_a_projection() -> None:
    """Of a wheel whose hub has forty neighbours."""
    rim = [(node, node % 40 + 1) for node in range(1, 41)]
    wheel = graph_of([*rim, *((0, node) for node in range(1, 41))], 41)
    true = [int((wheel.degrees > j).sum()) for j in range(4)]
    kept = [int((projected(wheel, 4) > j).sum()) for j in range(4)]
    cut = nodes_above(wheel, 4, range(4)).tolist()
    assert cut == [41, 41, 5, 1]
    assert sum(true) - sum(cut) <= sum(true) - sum(kept)


def _worth(table: tuple[int, ...], degree: Fraction) -> Fraction:
    """Return what a degree is worth, between whole degrees in proportion."""
    known = [0, *table, *[table[-1]] * 6]
    whole = math.floor(degree)
    return known[whole] + (degree - whole) * (known[whole + 1] - known[whole])


@pytest.mark.parametrize("table", [(1,), (1, 2), (3, 5, 6), (0, 1), (0, 3, 6)])
@pytest.mark.parametrize("bound", [1, 2, 3])
def test_one_node_moves_a_sum_over_cut_degrees_as_far_as_is_said(table: tuple[int, ...], bound: int) -> None:
    made = ChosenDegreeSum.calibrated(PureDP(1), nodes=5, worth=table, bounds=(bound,))
    most = naive = 0
    for bits in set(classes().values()):
        here = made.summed(graph_at(bits), bound)
        assert here == sum(_worth(table[:bound], degree) for degree in _cut(bits, bound))
        plain = [sum(_worth(table, Fraction(int(one))) for one in graph_at(bits).degrees)]
        assert here <= plain[0]
        if graph_at(bits).degrees.max() <= bound:
            assert here == plain[0]
        for mask in WITHOUT:
            most = max(most, abs(here - made.summed(graph_at(bits & mask), bound)))
            other = sum(_worth(table, Fraction(int(one))) for one in graph_at(bits & mask).degrees)
            naive = max(naive, int(abs(plain[0] - other)))
    assert most <= made.moved(bound)
    if bound == 1 and table[0]:
        # A pair of two nodes attains it, and the twin is found out: one hub moves the plain sum by more.
        assert most == made.moved(bound) < naive


def test_a_concave_sum_is_the_largest_within_the_bound() -> None:
    """Against a linear programme over shares of edges, with a variable for each step of each degree."""
    rises = (3, 2, 1)
    made = ChosenDegreeSum.calibrated(PureDP(1), nodes=5, worth=(3, 5, 6), bounds=(1, 2, 3))
    for bits in sorted(set(classes().values()))[1::2]:
        edges = np.array(edges_at(bits))
        at = np.zeros((5, len(edges)))
        at[edges.T, np.arange(len(edges))] = 1
        for bound in (1, 2, 3):
            steps = np.kron(np.eye(5), np.ones(bound))
            goal = np.concatenate([np.zeros(len(edges)), -np.tile(rises[:bound], 5)])
            found = scipy.optimize.linprog(goal, A_eq=np.hstack([at, -steps]), b_eq=np.zeros(5), bounds=(0, 1))
            assert math.isclose(-found.fun, made.summed(graph_at(bits), bound), abs_tol=1e-6)

"""Degrees cut by a convex programme, against the programme in fractions, on all graphs with five nodes."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
import scipy.optimize

from dither.publish.graphs.chosen_degrees import knots
from dither.publish.graphs.degree_flow import nodes_above
from dither.publish.graphs.projection import projected
from dither.publish.graphs.simple_graph import SimpleGraph, graph_of

PAIRS = list(itertools.combinations(range(5), 2))
SETS = [frozenset(some) for size in range(6) for some in itertools.combinations(range(5), size)]
WITHOUT = [sum(1 << place for place, pair in enumerate(PAIRS) if node not in pair) for node in range(5)]


def _edges(bits: int) -> list[tuple[int, int]]:
    return [pair for place, pair in enumerate(PAIRS) if bits >> place & 1]


@cache
def _graph(bits: int) -> SimpleGraph:
    return graph_of(_edges(bits), 5)


def _flows(bits: int, bound: int) -> dict[frozenset[int], int]:
    """Return the largest flow from each set of nodes: the least over all ways to divide them from the sink."""
    near = [{other for pair in _edges(bits) if node in pair for other in pair if other != node} for node in range(5)]
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


@cache
def _classes() -> dict[int, int]:
    """Return for each graph the first that is the same but for the order of its nodes."""
    found = dict[int, int]()
    place = {pair: place for place, pair in enumerate(PAIRS)}
    orders = [[place[min(o[a], o[b]), max(o[a], o[b])] for a, b in PAIRS] for o in itertools.permutations(range(5))]
    for bits in range(1 << len(PAIRS)):
        if bits not in found:
            chosen = [one for one in range(len(PAIRS)) if bits >> one & 1]
            for order in orders:
                found[sum(1 << order[one] for one in chosen)] = bits
    return found


def test_there_are_34_graphs_of_five_nodes() -> None:
    assert len(set(_classes().values())) == 34


@pytest.mark.parametrize("bound", [1, 2, 3])
def test_one_node_moves_cut_degrees_by_twice_what_it_has(bound: int) -> None:
    """For all graphs and nodes, up to the order of nodes."""
    most, naive = Fraction(0), 0
    for bits in set(_classes().values()):
        here = _cut(bits, bound)
        for node, mask in enumerate(WITHOUT):
            there = _cut(bits & mask, bound)
            moved = sum((abs(one - other) for one, other in zip(here, there, strict=True)), Fraction(0))
            assert moved <= 2 * here[node] <= 2 * bound
            assert there[node] == 0
            most = max(most, moved)
            alone = [np.minimum(_graph(one).degrees, bound) for one in (bits, bits & mask)]
            naive = max(naive, int(abs(alone[0] - alone[1]).sum()))
    assert most == 2 * bound
    # The twin: degrees cut one by one, which a hub moves by all its neighbours.
    assert naive > 2 * bound


@pytest.mark.parametrize("bound", [1, 2, 3])
def test_numbers_of_nodes_above_degrees_are_those_of_the_programme(bound: int) -> None:
    every = range(bound)
    above = {bits: nodes_above(_graph(bits), bound, every) for bits in set(_classes().values())}
    for bits, numbers in above.items():
        cut = _cut(bits, bound)
        assert numbers.tolist() == [sum(min(max(one - j, Fraction(0)), Fraction(1)) for one in cut) for j in every]
        if _graph(bits).degrees.max() <= bound:
            assert numbers.tolist() == [int((_graph(bits).degrees > j).sum()) for j in every]
        for mask in WITHOUT:
            moved = abs(numbers - above[_classes()[bits & mask]])
            assert moved.sum() <= 2 * bound
            for some in ([0], [bound - 1], knots(bound)):
                assert moved[list(some)].sum() <= bound + len(some)


def test_no_other_shares_are_closer_to_the_bound() -> None:
    """A solver over shares of edges finds the same sum of squares."""
    for bits in sorted(set(_classes().values()))[1::3]:
        edges = np.array(_edges(bits))
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

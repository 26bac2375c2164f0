"""A hierarchy that grows: its places, what one edge moves, and what comes out where noise is next to nothing."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dither.mechanisms.core.release import perform
from dither.privacy import PureDP
from dither.publish.graphs.synthesis import GrownHierarchy
from dither.publish.graphs.synthesis.grown_hierarchy import Hierarchy
from dither.publish.graphs.synthesis.hierarchical_graph import trees_over


def _grown(places: tuple[int, ...]) -> Hierarchy:
    tree = Hierarchy()
    for place in places:
        tree.grow(place)
    return tree


def _shape(tree: Hierarchy) -> frozenset[frozenset[frozenset[int]]]:
    return frozenset(frozenset([frozenset(one.tolist()), frozenset(other.tolist())]) for one, other in tree.forks())


def test_all_trees_can_grow_each_in_one_way() -> None:
    """A tree with i leaves has 2 i - 1 places."""
    for nodes in (2, 3, 4, 5):
        ways = itertools.product(*(range(2 * leaf - 1) for leaf in range(1, nodes)))
        shapes = [_shape(_grown(places)) for places in ways]
        assert len(set(shapes)) == len(shapes)
        assert set(shapes) == {frozenset(frozenset(fork) for fork in tree) for tree in trees_over(nodes)}


@pytest.mark.parametrize("nodes", [2, 3, 4, 5])
def test_a_score_is_that_of_the_forks_over_the_new_leaf_and_moves_as_far_as_is_said(nodes: int) -> None:
    moved = GrownHierarchy.calibrated(PureDP(1), nodes=nodes).moved
    new, farthest = nodes - 1, 0
    subsets = [list(some) for size in range(nodes) for some in itertools.combinations(range(new), size)]
    for places in itertools.product(*(range(2 * leaf - 1) for leaf in range(1, new))):
        tree = _grown(places)
        scores = {tuple(some): tree.scores(some) for some in subsets}
        for place in range(2 * new - 1):
            forks = [fork for fork in _shape(_grown((*places, place))) if any(new in side for side in fork)]
            for some in subsets:
                slow = Fraction(0)
                for fork in forks:
                    size = sum(map(len, fork))
                    other = next(side for side in fork if new not in side)
                    for leaf in other:
                        odds = Fraction(2, size + 1) if leaf in some else Fraction(size - 1, size + 1)
                        slow += Fraction(round(2**16 * math.log(odds)))
                assert scores[tuple(some)][place] == slow
        for some, leaf in itertools.product(subsets, range(new)):
            beside = tuple(sorted(set(some) ^ {leaf}))
            steps = np.abs(np.array(scores[tuple(some)]) - np.array(scores[beside]))
            assert steps.max() <= moved
            farthest = max(farthest, int(steps.max()))
    assert farthest == moved


def test_next_to_no_noise_gives_back_cliques() -> None:
    """Two cliques: each node finds its own, and the forks are full or empty."""
    cliques = [pair for pair in itertools.combinations(range(12), 2) if pair[0] % 2 == pair[1] % 2]
    made = GrownHierarchy.calibrated(PureDP(2**30), nodes=12)
    out = perform(made, cliques, stability=1)
    assert out.tolist() == [list(pair) for pair in cliques]
    assert perform(made, [], stability=1).shape == (0, 2)
    # A declared limit is kept.
    few = GrownHierarchy.calibrated(PureDP(2**30), nodes=12, most=5)
    assert perform(few, cliques, stability=1).shape == (5, 2)

"""A synthetic graph from a hierarchy of few nodes: a tree is chosen, and noisy densities hang at its forks.

There for reference, and for at most seven nodes: there all trees can be listed, and the choice among them is exact. The
printed method walks through the trees of any number of nodes by a Markov chain; a chain of finite length is no
exponential mechanism, so its promise holds for no run, and it is not offered: for more nodes see ``grown_hierarchy``.
Cost: all trees, 10,395 of seven nodes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property
from itertools import pairwise
from typing import Any, ClassVar, Final, Self

import numpy as np

from dither.exact import Positive, Whole
from dither.mechanisms.core.purse import CountNoise, OneCount
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.exponential import Exponential
from dither.mechanisms.geometric import Geometric
from dither.privacy import InOrder, Loss, Plan, Use
from dither.publish.graphs.simple_graph import Ints, graph_of
from dither.publish.graphs.synthesis.drawn import SyntheticGraph, limit_of, shares_of
from dither.publish.graphs.synthesis.settled import Settled

_MOST: Final = 7
#: Scores are whole numbers of this many parts of 1.
_GRAIN: Final = 2**16
Fork = tuple[frozenset[int], frozenset[int]]
Tree = tuple[Fork, ...]


def _examples() -> Iterator[Example]:
    edges = [(0, 1), (0, 2), (1, 2), (2, 3)]
    moved: tuple[tuple[Any, Any, int], ...] = ((edges, edges[1:], 1), ([], [(0, 3)], 1), ([(1, 2)], [], 1))
    made = HierarchicalGraph(nodes=4, most=6, scale=2**18, fork=Geometric(scale=2))
    yield Example(made, edges, moved)


@register(
    examples=_examples,
    source="Differentially Private Network Data Release via Structural Inference (Xiao, Chen, Tan 2014); Differential "
    "Privacy and Applications (Zhu et al. 2017), section 9.3.2",
    reference=True,
)
@dataclass(frozen=True, kw_only=True)
class HierarchicalGraph(SyntheticGraph):
    """Choose a tree over few nodes by how well it explains the edges, and draw a graph by the densities at its forks.

    Guarantee: graphs ``d_in`` edges apart lose what the choice loses at ``d_in`` times the most that one edge moves the
    score of a tree, and what ``fork`` loses at ``d_in``, added up.

    Args:
        nodes: their number, at most 7; public.
        most: the most edges that are drawn; public.
        scale: of the choice, in parts of a score.
        fork: the noise for the number of edges that a fork divides.

    >>> from dither.privacy import PureDP
    >>> HierarchicalGraph.calibrated(PureDP(1), nodes=5).loss(1) <= PureDP(1)
    True

    """

    name: ClassVar[str] = "hierarchical-graph"
    version: ClassVar[int] = 1

    nodes: Whole = Whole(least=2, most=_MOST)
    scale: Positive = Positive(least=Fraction(1, 2**40), most=2**60)
    fork: OneCount = OneCount()

    @classmethod
    def calibrated(cls, within: Loss, *, nodes: int, most: int | None = None) -> Self:
        """Return the least noise within a loss for graphs one edge apart: half for the tree, half for its forks.

        Args:
            within: what they may lose.
            nodes: their number, at most 7.
            most: the most edges that are drawn; by default what the nodes allow.

        """
        tree, forks = shares_of(within, "1/2", "1/2")
        made = cls(nodes=nodes, most=limit_of(nodes, most), scale=1, fork=forks.noise())
        return replace(made, scale=tree.choice(made.moved))

    @property
    def moved(self) -> int:
        """How far one edge moves the score of any tree, in parts."""
        scores = [scores_of(pairs) for pairs in range(1, self.nodes**2 // 4 + 1)]
        return max(1, *(abs(here - there) for row in scores for here, there in pairwise(row)))

    @cached_property
    def trees(self) -> tuple[Tree, ...]:
        """All trees over the nodes."""
        return trees_over(self.nodes)

    @cached_property
    def choice(self) -> Exponential:
        """The choice of a tree."""
        return Exponential(candidates=len(self.trees), scale=self.scale)

    @cached_property
    def forks(self) -> CountNoise:
        """The noise of the counts at all forks of a tree."""
        return replace(self.fork, shape=(self.nodes - 1,))

    def plan(self) -> Plan:
        """Choose the tree, then ask for the counts at its forks."""
        return InOrder.of(Use(self.choice, self.moved), Use(self.forks, 1))

    def release(self, data: Any, run: Runner) -> Ints:
        """Return synthetic edges, the smaller end first, in order."""
        edges = graph_of(data, self.nodes).edges.tolist()
        scores = [sum(scores_of(_pairs(fork))[_divided(fork, edges)] for fork in tree) for tree in self.trees]
        chosen = int(run(self.choice, np.array(scores, dtype=np.int64), stability=self.moved))
        tree = self.trees[chosen]
        counts = np.array([_divided(fork, edges) for fork in tree], dtype=np.int64)
        noisy = np.asarray(run(self.forks, counts, stability=1), dtype=np.float64)
        numbers, found = Settled(chosen, noisy), list[tuple[int, int]]()
        for fork, count in zip(tree, noisy.tolist(), strict=True):
            pairs = np.array([sorted((one, other)) for one in sorted(fork[0]) for other in sorted(fork[1])])
            kept = numbers.permutation(np.arange(len(pairs)))[: min(max(round(count), 0), len(pairs))]
            found += [(int(one), int(other)) for one, other in pairs[kept]]
        return np.array(sorted(found)[: self.most], dtype=np.int64).reshape(-1, 2)


def _pairs(fork: Fork) -> int:
    return len(fork[0]) * len(fork[1])


def _divided(fork: Fork, edges: list[list[int]]) -> int:
    """Return how many edges lead from one side of a fork to the other: each is divided by one fork of a tree."""
    one, other = fork
    return sum((first in one and second in other) or (first in other and second in one) for first, second in edges)


@cache
def scores_of(pairs: int) -> tuple[int, ...]:
    """Return the score of a fork by its number of edges, 0 and up: the log-likelihood of its best density, in parts.

    >>> scores_of(1)
    (0, 0)
    """

    def score(edges: int) -> int:
        shares = [part / pairs for part in (edges, pairs - edges) if part]
        return round(_GRAIN * pairs * sum(share * math.log(share) for share in shares))

    return tuple(score(edges) for edges in range(pairs + 1))


@cache
def trees_over(nodes: int) -> tuple[Tree, ...]:
    """Return all binary trees with these leaves, as the forks that they consist of.

    >>> [len(trees_over(nodes)) for nodes in (2, 3, 4, 5)]
    [1, 3, 15, 105]
    """

    def over(leaves: frozenset[int]) -> list[Tree]:
        if len(leaves) == 1:
            return [()]
        first, rest = min(leaves), sorted(leaves - {min(leaves)})
        found: list[Tree] = []
        # The side of the first leaf, by the bits of a number: never all of them.
        for bits in range(2 ** len(rest) - 1):
            side = frozenset([first, *(leaf for place, leaf in enumerate(rest) if bits >> place & 1)])
            other = leaves - side
            found += [((side, other), *left, *right) for left in over(side) for right in over(other)]
        return found

    return tuple(over(frozenset(range(nodes))))

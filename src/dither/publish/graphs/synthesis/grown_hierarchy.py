"""A synthetic graph from a hierarchy that grows node by node, with noisy densities at its forks.

The printed method walks through all trees by a Markov chain, and a chain of finite length is no exponential mechanism.
Here every node in turn chooses its place in the tree of those before it, by its edges to them alone: each choice is an
exact exponential mechanism, and an edge is seen by one of them. There for reference, for at most 1,024 nodes. Cost: the
square of the number of nodes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property
from typing import Any, ClassVar, Final, Self

import numpy as np

from dither.exact import Positive, Whole
from dither.mechanisms.core.purse import CountNoise, OneCount
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.exponential import Exponential
from dither.mechanisms.geometric import Geometric
from dither.privacy import InOrder, Loss, Parallel, Plan, Use
from dither.publish.graphs.simple_graph import Ints, graph_of
from dither.publish.graphs.synthesis.drawn import SyntheticGraph, limit_of, shares_of
from dither.publish.graphs.synthesis.settled import Settled

_MOST: Final = 2**10
#: Scores are whole numbers of this many parts of 1.
_GRAIN: Final = 2**16


def _examples() -> Iterator[Example]:
    edges = [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (4, 5)]
    moved: tuple[tuple[Any, Any, int], ...] = (
        (edges, edges[1:], 1),
        ([], [(0, 5)], 1),
        ([(1, 2), (4, 5)], [(4, 5)], 1),
    )
    made = GrownHierarchy(nodes=6, most=15, scale=2**18, fork=Geometric(scale=2))
    yield Example(made, edges, moved)


@cache
def _weights(size: int) -> tuple[int, int]:
    """Return what an edge and a pair without one add, in parts of 1, at a fork over a number of leaves.

    They are logarithms of probabilities: an edge is expected with 2 / (size + 1), so that forks over few are dense.
    """
    return round(_GRAIN * math.log(2 / (size + 1))), round(_GRAIN * math.log((size - 1) / (size + 1)))


def fork_score(size: int, pairs: int, edges: int) -> int:
    """Return what a fork adds, given its leaves and the pairs and edges that lead from a new leaf across it.

    >>> fork_score(2, 1, 1), fork_score(3, 2, 1)
    (-26573, -90852)
    """
    edge, none = _weights(size)
    return edges * edge + (pairs - edges) * none


class Hierarchy:
    """A binary tree that begins with one leaf, and how well the places in it suit a new one."""

    def __init__(self) -> None:
        self.parents, self.sizes, self.root = [-1], [1], 0
        self.sides = dict[int, tuple[int, int]]()
        self.leaves = [0]

    def scores(self, neighbours: list[int]) -> list[int]:
        """Return for each place in the tree how well it explains which leaves are neighbours of a new leaf.

        A leaf put beside a part of the tree has a fork above both; every fork higher up divides it from another part.
        Each fork adds what the edges, and the pairs without one, from the new leaf to the part on its other side add.
        """
        edges = [0] * len(self.sizes)
        for leaf in neighbours:
            place = self.leaves[leaf]
            while place != -1:
                edges[place] += 1
                place = self.parents[place]
        found, open_places = [0] * len(edges), [(self.root, 0)]
        while open_places:
            place, above = open_places.pop()
            size = self.sizes[place]
            found[place] = above + fork_score(size + 1, size, edges[place])
            if place in self.sides:
                one, other = self.sides[place]
                for side, rest in ((one, other), (other, one)):
                    open_places.append((side, above + fork_score(size + 1, self.sizes[rest], edges[rest])))
        return found

    def grow(self, place: int) -> None:
        """Put the next leaf beside a part of the tree, below a new fork."""
        leaf, fork, above = len(self.sizes), len(self.sizes) + 1, self.parents[place]
        self.leaves.append(leaf)
        self.parents += [fork, above]
        self.sizes += [1, self.sizes[place] + 1]
        self.parents[place], self.sides[fork] = fork, (place, leaf)
        if above == -1:
            self.root = fork
        else:
            one, other = self.sides[above]
            self.sides[above] = (fork, other) if one == place else (one, fork)
        while above != -1:
            self.sizes[above] += 1
            above = self.parents[above]

    def forks(self) -> Iterator[tuple[Ints, Ints]]:
        """Yield the leaves on both sides of each fork, in the order in which forks were made."""
        under: list[list[int]] = [[] for _ in self.sizes]
        for number, leaf in enumerate(self.leaves):
            place = leaf
            while place != -1:
                under[place].append(number)
                place = self.parents[place]
        for one, other in self.sides.values():
            yield np.array(under[one], dtype=np.int64), np.array(under[other], dtype=np.int64)


@register(
    examples=_examples,
    source="Differentially Private Network Data Release via Structural Inference (Xiao, Chen, Tan 2014); Differential "
    "Privacy and Applications (Zhu et al. 2017), section 9.3.2",
    reference=True,
)
@dataclass(frozen=True, kw_only=True)
class GrownHierarchy(SyntheticGraph):
    """Let a tree over the nodes grow by how well it explains the edges, and draw a graph by the densities at its forks.

    Guarantee: graphs ``d_in`` edges apart lose what a choice loses at ``d_in`` times the most that one edge moves the
    score of a place, and what ``fork`` loses at ``d_in``, added up.

    Args:
        nodes: their number, at most 1,024; public.
        most: the most edges that are drawn; public.
        scale: of each choice, in parts of a score.
        fork: the noise for the number of edges that a fork divides.

    >>> from dither.privacy import PureDP
    >>> GrownHierarchy.calibrated(PureDP(1), nodes=100).loss(1) <= PureDP(1)
    True

    """

    name: ClassVar[str] = "grown-hierarchy"
    version: ClassVar[int] = 1

    nodes: Whole = Whole(least=2, most=_MOST)
    scale: Positive = Positive(least=Fraction(1, 2**40), most=2**60)
    fork: OneCount = OneCount()

    @classmethod
    def calibrated(cls, within: Loss, *, nodes: int, most: int | None = None) -> Self:
        """Return the least noise within a loss for graphs one edge apart: half for the tree, half for its forks.

        Args:
            within: what they may lose.
            nodes: their number, at most 1,024.
            most: the most edges that are drawn; by default what the nodes allow.

        """
        tree, forks = shares_of(within, "1/2", "1/2")
        made = cls(nodes=nodes, most=limit_of(nodes, most), scale=1, fork=forks.noise())
        return replace(made, scale=tree.choice(made.moved))

    @property
    def moved(self) -> int:
        """How far one edge moves the score of any place, in parts."""
        return max(abs(edge - none) for edge, none in map(_weights, range(2, self.nodes + 1)))

    @cached_property
    def choice(self) -> Exponential:
        """The choice of a place. In a tree with fewer places than the last some have several candidates."""
        return Exponential(candidates=2 * self.nodes - 3, scale=self.scale)

    @cached_property
    def forks(self) -> CountNoise:
        """The noise of the counts at all forks of a tree."""
        return replace(self.fork, shape=(self.nodes - 1,))

    def plan(self) -> Plan:
        """Choose the place of each node by its edges to those before it, then ask for the counts at all forks."""
        return InOrder.of(Parallel(Use(self.choice, self.moved), self.nodes - 1, 1), Use(self.forks, 1))

    def release(self, data: Any, run: Runner) -> Ints:
        """Return synthetic edges, the smaller end first, in order."""
        edges = graph_of(data, self.nodes).edges
        is_edge = np.zeros((self.nodes, self.nodes), dtype=np.bool_)
        is_edge[edges[:, 0], edges[:, 1]] = is_edge[edges[:, 1], edges[:, 0]] = True
        tree, places = Hierarchy(), list[int]()
        for leaf, choosing in enumerate(run.parallel(self.nodes - 1), start=1):
            scores = tree.scores(np.flatnonzero(is_edge[leaf, :leaf]).tolist())
            among = np.resize(np.array(scores, dtype=np.int64), self.choice.candidates)
            places.append(int(choosing(self.choice, among, stability=self.moved)) % len(scores))
            tree.grow(places[-1])
        sides = list(tree.forks())
        counts = np.array([is_edge[np.ix_(one, other)].sum() for one, other in sides], dtype=np.int64)
        noisy = np.asarray(run(self.forks, counts, stability=1), dtype=np.float64)
        numbers, found = Settled(np.array(places), noisy), list[Ints]()
        for (one, other), count in zip(sides, noisy.tolist(), strict=True):
            pairs = np.stack([np.repeat(one, len(other)), np.tile(other, len(one))], axis=1)
            kept = numbers.permutation(np.arange(len(pairs)))[: min(max(round(count), 0), len(pairs))]
            found.append(np.sort(pairs[kept], axis=1))
        ordered = np.unique(np.concatenate(found), axis=0)
        return np.asarray(ordered[: self.most], dtype=np.int64)

"""A synthetic graph of the pairs that look most like edges: the top-m filter.

For a large epsilon, from about the logarithm of the pairs for one edge: there most of its edges are true ones, and
everything that hangs on them is kept. Below that it is nearly a random graph. Noise is added to every pair of nodes
and the m largest are kept, m being a noisy number of edges; pairs without an edge that pass are found by skipping, so
that no more pairs are visited than pass. Cost: linear in the edges and in what passes. Correction: the paper draws how
many pairs pass from a rounded law; here the pairs pass by exact coins.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Final, Self

import numpy as np

from dither.errors import InvalidParameter
from dither.exact import Whole
from dither.exact.search import least_where
from dither.mechanisms.core.additive import DiscreteScale
from dither.mechanisms.core.purse import OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.filtered_counts import FilteredCounts, chance_of_passing
from dither.mechanisms.geometric import Geometric
from dither.privacy import InOrder, Loss, Plan, Use
from dither.publish.graphs.examples import NODES, SOME_EDGES, edge_neighbours
from dither.publish.graphs.simple_graph import Ints, graph_of
from dither.publish.graphs.synthesis.drawn import SyntheticGraph, limit_of
from dither.publish.graphs.synthesis.settled import Settled

#: Pairs without an edge that pass on average: what passes has to be held.
_MOST_PASSING: Final = 2**22
_MOST_THRESHOLD: Final = 2**60


def _examples() -> Iterator[Example]:
    made = TopEdgesGraph(nodes=NODES, most=21, scale=1, threshold=2, total=Geometric(scale=2))
    yield Example(made, SOME_EDGES, edge_neighbours())


@register(
    examples=_examples,
    source="Differentially Private Publication of Social Graphs at Linear Cost (Nguyen, Imine, Rusinowitch 2015)",
)
@dataclass(frozen=True, kw_only=True)
class TopEdgesGraph(SyntheticGraph):
    """Add noise to every pair of nodes, and keep as many of the largest as there are edges, about.

    Guarantee: graphs ``d_in`` edges apart lose epsilon = ``d_in / scale``, and what ``total`` loses at ``d_in``.

    Args:
        nodes: their number; public.
        most: the most edges that are drawn; public.
        scale: of the noise of a pair.
        threshold: what a noisy pair must reach to be looked at.
        total: the noise for the number of edges.

    >>> from dither.privacy import PureDP
    >>> TopEdgesGraph.calibrated(PureDP(4), nodes=1000, most=5000).loss(1) <= PureDP(4)
    True

    """

    name: ClassVar[str] = "top-edges-graph"
    version: ClassVar[int] = 1

    scale: DiscreteScale = DiscreteScale()
    threshold: Whole = Whole(least=1, most=_MOST_THRESHOLD)
    total: OneCount = OneCount()

    def __post_init__(self) -> None:
        passing = math.comb(self.nodes, 2) * chance_of_passing(self.scale, self.threshold, sampled=False)[1]
        if passing > _MOST_PASSING:
            rule = f"large enough that at most {_MOST_PASSING} pairs without an edge pass on average"
            raise InvalidParameter("threshold", self.threshold, rule)
        _ = self.pairs

    @classmethod
    def calibrated(cls, within: Loss, *, nodes: int, most: int | None = None) -> Self:
        """Return the least noise within a loss for graphs one edge apart: a twentieth for the number of edges.

        Args:
            within: what they may lose; its epsilon is spent.
            nodes: their number.
            most: the most edges that are drawn. The threshold lets about as many pass, by public facts alone.

        """
        purse = Purse.pure_within(within)
        scale = purse.share("19/20").geometric_noise(1).scale
        limit, pairs = limit_of(nodes, most), math.comb(nodes, 2)

        def passing(threshold: int) -> Fraction:
            return pairs * chance_of_passing(scale, threshold, sampled=False)[1]

        def is_few(threshold: int) -> bool:
            # Fewer pass than may be drawn, even if as many edges are there as may be drawn.
            full = 1 if threshold == 1 else chance_of_passing(scale, threshold - 1, sampled=False)[1]
            return passing(threshold) + limit * full < limit

        threshold = max(least_where(is_few) - 1, least_where(lambda one: passing(one) <= _MOST_PASSING))
        return cls(
            nodes=nodes, most=limit, scale=scale, threshold=threshold, total=purse.share("1/20").geometric_noise(1)
        )

    @cached_property
    def pairs(self) -> FilteredCounts:
        """The noise of all pairs, and the filter."""
        return FilteredCounts(cells=math.comb(self.nodes, 2), scale=self.scale, threshold=self.threshold)

    def plan(self) -> Plan:
        """Ask for the number of edges, then for the pairs."""
        return InOrder.of(Use(self.total), Use(self.pairs))

    def release(self, data: Any, run: Runner) -> Ints:
        """Return synthetic edges, the smaller end first, in order."""
        edges = graph_of(data, self.nodes).edges
        wanted = min(max(int(run(self.total, len(edges))), 0), self.most)
        passed: dict[int, int] = run(self.pairs, Counter(_places(edges, self.nodes).tolist()))
        places = np.fromiter(passed.keys(), dtype=np.int64, count=len(passed))
        sizes = np.fromiter(passed.values(), dtype=np.int64, count=len(passed))
        # The largest first, ties in an order that says nothing.
        order = np.lexsort((Settled(wanted, places, sizes).random(len(places)), -sizes))
        return _pairs_at(np.sort(places[order[:wanted]]), self.nodes)


def _places(edges: Ints, nodes: int) -> Ints:
    """Return the number of each pair in the list of all pairs, the smaller end first."""
    low, high = edges[:, 0], edges[:, 1]
    return np.asarray(low * (2 * nodes - low - 1) // 2 + high - low - 1)


def _pairs_at(places: Ints, nodes: int) -> Ints:
    """Return the pairs with these numbers."""
    starts = np.arange(nodes, dtype=np.int64)
    starts = starts * (2 * nodes - starts - 1) // 2
    low = np.searchsorted(starts, places, side="right") - 1
    # The last node begins where the one before ends: no pair begins with it.
    low = np.minimum(low, nodes - 2)
    return np.column_stack([low, places - starts[low] + low + 1]).astype(np.int64)

"""Queries of a graph as a weighted data set: degrees, and triangles whose weights fall with degrees.

wPINQ instead of more noise gives records less weight where one edge could make many of them. There for reference: the
nearest falling sequence of the same numbers (``degree-tail``) is closer, and the weight of all triangles is not their
number. Cost: the triangles on each edge. Correction: weights are exact, where floats would add up to more than is
charged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import floor
from typing import Any, ClassVar, Final, Self

import numpy as np

from dither.data.graphs import MOST_NODES
from dither.exact import OneOf, Whole
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.purse import CountNoise, OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.geometric import Geometric
from dither.privacy import EDGE, Loss, Plan, Unit, Use
from dither.publish.graphs import degree_tail
from dither.publish.graphs.counts import supports
from dither.publish.graphs.examples import NODES, SOME_EDGES, edge_neighbours
from dither.publish.graphs.simple_graph import SimpleGraph, graph_of
from dither.publish.graphs.synthesis.weighted_sets import Weights, intersect, join, select, shave, where

DEGREES, TRIANGLES = QUERIES = ("degrees", "triangles")
#: Weights are measured in this many parts of 1.
GRAIN: Final = 2**10
#: How often each query uses the edges, both ways: two records of weight 1 for an edge.
_USES: Final = {DEGREES: 1, TRIANGLES: 4}


def _examples() -> Iterator[Example]:
    for query in QUERIES:
        made = WeightedQuery(nodes=NODES, query=query, part=Geometric(scale=4 * GRAIN))
        yield Example(made, SOME_EDGES, edge_neighbours())


@register(
    examples=_examples,
    source="Calibrating Data to Sensitivity in Private Data Analysis (Proserpio, Goldberg, McSherry 2014); "
    "Differential Privacy and Applications (Zhu et al. 2017), section 6.1.1",
    reference=True,
)
@dataclass(frozen=True, kw_only=True)
class WeightedQuery(Composed[Any, Any]):
    """Release degrees or the weight of triangles of a graph, as a query of a weighted data set.

    Guarantee: graphs ``d_in`` edges apart lose what ``part`` loses at ``d_in`` times 2048 for degrees, and 8192 for
    triangles: parts of 1/1024 of a weight.

    Degrees: how many nodes have more than 0, 1, ... edges. Triangles: the weight of all of them, in each of which a
    triangle counts six times, once for each order of its nodes, with half of the smaller of two inverse degrees.

    Args:
        nodes: their number; public.
        query: "degrees" or "triangles".
        part: the noise for one number, in parts of 1/1024.

    >>> from dither.privacy import PureDP
    >>> WeightedQuery.calibrated(PureDP(1), nodes=100, query="triangles").part.scale
    Fraction(8192, 1)

    """

    name: ClassVar[str] = "weighted-query"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "the weight of a triangle depends on the degrees of its nodes"
    no_interval_because: ClassVar[str] = no_error_because

    nodes: Whole = Whole(least=2, most=MOST_NODES)
    query: OneOf = OneOf(*QUERIES)
    part: OneCount = OneCount()

    @classmethod
    def calibrated(cls, within: Loss, *, nodes: int, query: str) -> Self:
        """Return the least noise within a loss for graphs one edge apart.

        Args:
            within: what they may lose.
            nodes: their number.
            query: what is asked.

        """
        made = cls(nodes=nodes, query=query, part=Geometric(scale=1))
        return replace(made, part=Purse.within(within).noise(made.moved))

    @property
    def distance(self) -> Unit:
        """One edge."""
        return EDGE

    @property
    def moved(self) -> int:
        """How far one edge moves the result, in parts."""
        return 2 * _USES[self.query] * GRAIN

    @cached_property
    def noise(self) -> CountNoise:
        """The noise of all numbers."""
        return replace(self.part, shape=(self.nodes - 1,)) if self.query == DEGREES else self.part

    def plan(self) -> Plan:
        """Ask the query; what moves by so much in L1 moves by no more in L2."""
        return Use(self.noise, self.moved)

    def release(self, data: Any, run: Runner) -> Any:
        """Return the numbers of nodes with more than 0, 1, ... edges, or the weight of all triangles."""
        graph = graph_of(data, self.nodes)
        if self.query == DEGREES:
            exact = GRAIN * degree_tail.more_than(graph.degrees)
            return np.asarray(run(self.noise, exact, stability=self.moved), dtype=np.float64) / GRAIN
        total = floor(weight_of_triangles(graph) * GRAIN)
        return float(run(self.noise, total, stability=self.moved)) / GRAIN


def weight_of_triangles(graph: SimpleGraph) -> Fraction:
    """Return what ``triangles`` weigh together, edge by edge: its triangles over the larger degree of its ends.

    A triangle counts in six orders, two for each pair of its nodes as the last two; each with half of the smaller of
    their inverse degrees. So each edge of a triangle counts with the inverse of its larger degree.
    """
    if not len(graph.edges):
        return Fraction(0)
    larger = graph.degrees[graph.edges].max(axis=1)
    # Sums of integers first, exactly: one fraction for each degree that occurs.
    degrees, place = np.unique(larger, return_inverse=True)
    seen = np.zeros(len(degrees), dtype=np.int64)
    np.add.at(seen, place, supports(graph))
    return sum(
        (Fraction(many, degree) for degree, many in zip(degrees.tolist(), seen.tolist(), strict=True)), Fraction(0)
    )


def edge_weights(edges: list[list[int]]) -> Weights:
    """Return each edge as two records, one for each way, of weight 1."""
    return {pair: Fraction(1) for one, other in edges for pair in ((one, other), (other, one))}


def more_than(edges: Weights) -> Weights:
    """Return how many nodes have more than 0, 1, ... edges, as a query: the ends of edges, in pieces of weight 1."""
    return select(shave(select(edges, lambda pair: pair[0])), lambda piece: piece[1])


def triangles(edges: Weights) -> Weights:
    """Return triangles in each order of their nodes, as a query: paths of two edges that are so in another order."""
    joined = join(edges, edges, lambda one: one[1], lambda other: other[0], lambda one, other: (*one, other[1]))
    paths = where(joined, lambda path: path[0] != path[2])
    return intersect(paths, select(paths, lambda path: (path[1], path[2], path[0])))

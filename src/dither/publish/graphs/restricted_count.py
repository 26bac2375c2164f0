"""Counts in graphs whose degrees are publicly known to be small: noise for such graphs, made to hold for all.

An edge counts if it is among the first edges of both its ends, up to the bound, by a public hash. One edge more
adds at most itself and pushes out one edge at either end, so a count on what is left moves by three times as much as it
does among graphs of that degree. If no degree is above the bound nothing is left out. Cost: that of the count, and a
sort.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from dither.errors import InvalidParameter
from dither.exact import Whole
from dither.lift.edges import edge_hash
from dither.mechanisms.core.purse import OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.core.values import LARGEST_VALUE
from dither.mechanisms.geometric import Geometric
from dither.privacy import Loss, Plan, Use
from dither.publish.graphs.examples import NODES, SOME_EDGES, edge_neighbours
from dither.publish.graphs.patterns import PatternCount, count, reach
from dither.publish.graphs.simple_graph import Ints, SimpleGraph, graph_of


def _examples() -> Iterator[Example]:
    for pattern, k in (("triangles", 0), ("stars", 2), ("k-triangles", 2)):
        made = RestrictedCount(nodes=NODES, pattern=pattern, k=k, degree=3, noise=Geometric(scale=8))
        yield Example(made, SOME_EDGES, edge_neighbours())


def first_edges(graph: SimpleGraph, degree: int) -> SimpleGraph:
    """Return the graph of the edges that are among the first ones, up to the bound, of both their ends.

    >>> first_edges(graph_of([(0, 1), (0, 2), (0, 3)], 4), 2).degrees.max()
    np.int64(2)
    """
    ordered = graph.edges[np.argsort(edge_hash(graph.edges), kind="stable")]
    kept = (_ranks(ordered.ravel(), graph.nodes).reshape(-1, 2) < degree).all(axis=1)
    return graph_of(ordered[kept], graph.nodes)


def _ranks(ends: Ints, nodes: int) -> Ints:
    """Return how often each end occurred before, in the order given."""
    order = np.argsort(ends, kind="stable")
    starts = np.searchsorted(ends[order], np.arange(nodes))
    ranks = np.empty(len(ends), dtype=np.int64)
    ranks[order] = np.arange(len(ends)) - starts[ends[order]]
    return ranks


@register(
    examples=_examples,
    reference=True,
    source="Differentially Private Data Analysis of Social Networks via Restricted Sensitivity (Blocki, Blum, Datta, "
    "Sheffet 2013); Differential Privacy and Applications (Zhu et al. 2017), section 9.3.1",
)
@dataclass(frozen=True, kw_only=True)
class RestrictedCount(PatternCount):
    """Release the number of triangles, k-stars or k-triangles among the first edges of each node.

    Guarantee: graphs ``d_in`` edges apart lose what ``noise`` loses at ``3 d_in`` times the most that one edge moves
    the count among graphs of that degree.

    Args:
        nodes: their number; public.
        pattern: what is counted: edges, triangles, stars or k-triangles.
        k: the neighbours of a star, or the nodes over the edge of a k-triangle; 0 for others.
        degree: how many edges of a node count; public.
        noise: for one integer.

    >>> from dither.privacy import PureDP
    >>> RestrictedCount.calibrated(PureDP(1), nodes=1000, pattern="triangles", degree=20).noise.scale
    Fraction(57, 1)

    """

    name: ClassVar[str] = "restricted-count"
    version: ClassVar[int] = 1
    no_error_because: ClassVar[str] = "what the bound cuts off is private"
    no_interval_because: ClassVar[str] = no_error_because

    degree: Whole = Whole(least=1, most=2**20)
    noise: OneCount = OneCount()

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.degree < self.nodes:
            raise InvalidParameter("degree", self.degree, f"below the number of nodes, {self.nodes}")

    @classmethod
    def calibrated(cls, within: Loss, *, nodes: int, pattern: str, degree: int, k: int = 0) -> Self:
        """Return the least noise within a loss for graphs one edge apart.

        Args:
            within: what they may lose.
            nodes: their number.
            pattern: what is counted.
            degree: how many edges of a node count.
            k: of stars and k-triangles.

        """
        made = cls(nodes=nodes, pattern=pattern, k=k, degree=degree, noise=Geometric(scale=1))
        return replace(made, noise=Purse.within(within).noise(made.moved))

    @property
    def moved(self) -> int:
        """How far one edge moves the count of what is left, at least 1."""
        return max(3 * reach(self.degree + 1, self.pattern, self.k), 1)

    def plan(self) -> Plan:
        """One draw."""
        return Use(self.noise, self.moved)

    def release(self, data: Any, run: Runner) -> Any:
        """Return the count of what is left, with noise."""
        left = first_edges(graph_of(data, self.nodes), self.degree)
        return run(self.noise, min(count(left, self.pattern, self.k), LARGEST_VALUE), stability=self.moved)

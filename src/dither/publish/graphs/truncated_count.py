"""A count left when all nodes of a high degree are deleted, where nodes are protected, with a smooth bound.

The general reduction: whatever one node moves little in graphs of a small degree can be released in any graph, with
noise that follows how many nodes have a degree near the bound. What one node moves there is the restricted sensitivity.
For reference: programmes with a chosen bound err far less. Cost: that of the count.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

from dither.errors import InvalidParameter
from dither.exact import OneOf, Whole
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.smooth_cauchy import SmoothCauchy
from dither.privacy import Loss
from dither.publish.graphs.examples import NODES, SOME_EDGES, node_neighbours
from dither.publish.graphs.patterns import CLIQUES, EDGES, K_TRIANGLES, STARS, TRIANGLES, check_pattern, count, named
from dither.publish.graphs.simple_graph import SimpleGraph, graph_of
from dither.publish.graphs.smooth_count import SmoothCount
from dither.publish.graphs.truncated_edges import TruncatedEdges, widths

#: Counts and bounds stay within the integers that floats can hold.
_FARTHEST: Final = 2**53


def _examples() -> Iterator[Example]:
    noise = SmoothCauchy(power=4, least=1, smoothness="1/6", scale=5)
    for pattern, k in ((TRIANGLES, 0), (STARS, 2)):
        made = TruncatedCount(nodes=NODES, degree=3, pattern=pattern, k=k, noise=noise)
        yield Example(made, SOME_EDGES, node_neighbours())


def restricted_reach(degree: int, pattern: str, k: int) -> int:
    """Return how far one node moves a count at most, among graphs in which no node has a higher degree.

    >>> restricted_reach(4, "triangles", 0), restricted_reach(4, "stars", 2), restricted_reach(4, "cliques", 4)
    (6, 18, 4)
    """
    if pattern == STARS:
        return math.comb(degree, k) + degree * math.comb(degree - 1, k - 1)
    if pattern == K_TRIANGLES:
        over = math.comb(degree, 2) * math.comb(max(degree - 2, 0), k - 1)
        return over + degree * math.comb(degree - 1, k)
    return math.comb(degree, {EDGES: 1, TRIANGLES: 2}.get(pattern, k - 1))


def without_hubs(graph: SimpleGraph, degree: int) -> SimpleGraph:
    """Return the graph without the nodes that have a higher degree."""
    return graph_of(graph.edges[(graph.degrees[graph.edges] <= degree).all(axis=1)], graph.nodes)


@register(
    examples=_examples,
    reference=True,
    source="Analyzing Graphs with Node Differential Privacy (Kasiviswanathan, Nissim, Raskhodnikova, Smith 2013), "
    "section 6; Differentially Private Data Analysis of Social Networks via Restricted Sensitivity (Blocki, Blum, "
    "Datta, Sheffet 2013)",
)
@dataclass(frozen=True, kw_only=True)
class TruncatedCount(TruncatedEdges):
    """Release how often a pattern occurs among nodes of at most a declared degree, with noise by a smooth bound.

    Guarantee: graphs that differ by all edges of one node lose what ``noise`` loses for neighbours.

    Args:
        nodes: how many there may be; public.
        degree: nodes above it are deleted; public.
        pattern: edges, triangles, stars, k-triangles or cliques.
        k: of stars, k-triangles and cliques.
        noise: smooth-cauchy, or smooth-laplace with a delta.

    >>> from dither.privacy import PureDP
    >>> TruncatedCount.calibrated(PureDP(1), nodes=1000, degree=20, pattern="triangles").loss(1) <= PureDP(1)
    True

    """

    name: ClassVar[str] = "truncated-count"
    version: ClassVar[int] = 1

    pattern: OneOf = OneOf(EDGES, TRIANGLES, STARS, K_TRIANGLES, CLIQUES)
    k: Whole = Whole(0, most=16)

    def __post_init__(self) -> None:
        check_pattern(self.pattern, self.k)
        if self.reach >= _FARTHEST:
            rule = f"smaller: one node moves the number of {named(self.pattern, self.k)} by too much"
            raise InvalidParameter("degree", self.degree, rule)
        super().__post_init__()

    @classmethod
    def calibrated(cls, within: Loss, *, nodes: int, degree: int, pattern: str = TRIANGLES, k: int = 0) -> Self:
        """Return Cauchy noise for a pure loss, and Laplace noise where there is a delta.

        Args:
            within: what graphs one node apart may lose.
            nodes: how many there may be.
            degree: nodes above it are deleted.
            pattern: what is counted.
            k: of stars, k-triangles and cliques.

        """
        noise = SmoothCount.calibrated(within, nodes=nodes, pattern=EDGES).noise
        return cls(nodes=nodes, degree=degree, pattern=pattern, k=k, noise=noise)

    @property
    def moved(self) -> int:
        """How far one node moves the count among graphs of that degree, at least 1."""
        return max(restricted_reach(self.degree, self.pattern, self.k), 1)

    @property
    def reach(self) -> int:
        """How far one node moves the number in any graph, at most: all nodes come or go."""
        return self.nodes * self.moved

    def release(self, data: Any, run: Runner) -> Any:
        """Return a number near the count in what is left."""
        graph = graph_of(data, self.nodes)
        # In steps of one node; the bound on edges has the degree for each.
        bound = self.smooth(widths(graph, self.degree) // self.degree * self.moved)
        return run(self.noise, [count(without_hubs(graph, self.degree), self.pattern, self.k), bound], stability=1)

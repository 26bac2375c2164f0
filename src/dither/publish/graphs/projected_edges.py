"""The number of edges where nodes are protected: edges of a projection to a bounded degree, with noise for one node.

One person may have an edge to everybody, so the plain count has no useful noise; of the projection a node moves at most
the bound. Cost: linear in the edges, after a sort. Correction: deleting all nodes of high degree, as printed, is not
stable: one hub may lift every node over the bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from dither.data.graphs import MOST_NODES
from dither.errors import InvalidParameter
from dither.exact import Number, Whole, whole
from dither.mechanisms.core.mechanism import Bound, Composed, Interval, Numerics
from dither.mechanisms.core.purse import OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.geometric import Geometric
from dither.privacy import NODE, Loss, Plan, Unit, Use
from dither.publish.graphs.examples import NODES, SOME_EDGES, node_neighbours
from dither.publish.graphs.projection import projected
from dither.publish.graphs.simple_graph import graph_of


def _examples() -> Iterator[Example]:
    yield Example(ProjectedEdges(nodes=NODES, degree=2, noise=Geometric(scale=4)), SOME_EDGES, node_neighbours())


@register(
    examples=_examples,
    source="Publishing Graph Degree Distribution with Node Differential Privacy (Day, Li, Lyu 2016); Differential "
    "Privacy and Applications (Zhu et al. 2017), section 9.3.1",
)
@dataclass(frozen=True, kw_only=True)
class ProjectedEdges(Composed[Any, Any]):
    """Release the number of edges of a projection to a bounded degree, where nodes are protected.

    Guarantee: graphs that differ by all edges of one node lose what ``noise`` loses at ``degree``.

    Args:
        nodes: how many there may be; public.
        degree: the most edges of one node that count; public.
        noise: for one integer.

    >>> from dither.privacy import PureDP
    >>> ProjectedEdges.calibrated(PureDP(1), nodes=1000, degree=20).noise.scale
    Fraction(20, 1)

    """

    name: ClassVar[str] = "projected-edges"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    nodes: Whole = Whole(least=2, most=MOST_NODES)
    degree: Whole = Whole(least=1, most=MOST_NODES)
    noise: OneCount = OneCount()

    def __post_init__(self) -> None:
        if not self.degree < self.nodes:
            raise InvalidParameter("degree", self.degree, f"below the number of nodes, {self.nodes}")

    @classmethod
    def calibrated(cls, within: Loss, *, nodes: int, degree: int) -> Self:
        """Return the least noise within a loss for graphs one node apart.

        Args:
            within: what they may lose.
            nodes: how many there may be.
            degree: the most edges of one node that count.

        """
        return cls(nodes=nodes, degree=degree, noise=Purse.within(within).noise(whole("degree", degree, least=1)))

    @property
    def distance(self) -> Unit:
        """One node with all its edges."""
        return NODE

    def plan(self) -> Plan:
        """One draw."""
        return Use(self.noise, self.degree)

    def error(self, confidence: Number) -> Bound:
        """Return the bound of the noise; edges that the projection leaves out are not in it."""
        return self.noise.error(confidence)

    def interval(self, out: Any, confidence: Number) -> Interval:
        """Return the interval for the edges of the projection."""
        return self.noise.interval(out, confidence)

    def release(self, data: Any, run: Runner) -> Any:
        """Return the number of edges of the projection, with noise."""
        edges = int(projected(graph_of(data, self.nodes), self.degree).sum()) // 2
        return run(self.noise, edges, stability=self.degree)

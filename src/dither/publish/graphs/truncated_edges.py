"""The number of edges left when all nodes of a high degree are deleted, where nodes are protected, with a smooth bound.

Deleting nodes above a bound is not stable: one hub may lift many others over it. How many is seen from the degrees near
the bound, here and a few nodes away, and the noise follows that. Good where few nodes have a degree near the bound.
Cost: linear in the edges and nodes. Correction: the book names a smooth bound and not what it is made of: the nodes
near the bound in graphs a few nodes away.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from dither.data.graphs import MOST_NODES
from dither.exact import Of, Whole
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.smooth_cauchy import SmoothCauchy
from dither.mechanisms.smooth_laplace import SmoothLaplace
from dither.privacy import NODE, Loss, Plan, Unit, Use
from dither.privacy.sensitivity.smooth import smooth_bound
from dither.publish.graphs.examples import NODES, SOME_EDGES, node_neighbours
from dither.publish.graphs.patterns import EDGES
from dither.publish.graphs.simple_graph import Ints, SimpleGraph, graph_of
from dither.publish.graphs.smooth_count import Smooth, SmoothCount


def _examples() -> Iterator[Example]:
    noise = SmoothCauchy(power=4, least=1, smoothness="1/6", scale=5)
    yield Example(TruncatedEdges(nodes=NODES, degree=2, noise=noise), SOME_EDGES, node_neighbours())


def truncated(graph: SimpleGraph, degree: int) -> int:
    """Return the number of edges both of whose ends have at most that degree, in the whole graph."""
    return int((graph.degrees[graph.edges] <= degree).all(axis=1).sum())


def widths(graph: SimpleGraph, degree: int) -> Ints:
    """Return how far one node moves that number at most, in graphs 0, 1, 2, ... nodes away.

    >>> widths(graph_of([(0, 1), (0, 2), (0, 3)], 4), 1).tolist()
    [4, 6, 7, 8, 9]
    """
    away = np.arange(graph.nodes + 1)
    ordered = np.sort(graph.degrees)
    near = np.searchsorted(ordered, degree + away + 1, side="right") - np.searchsorted(ordered, degree - away)
    return np.asarray(degree * (1 + away + near), dtype=np.int64)


@register(
    examples=_examples,
    reference=True,
    source="Analyzing Graphs with Node Differential Privacy (Kasiviswanathan, Nissim, Raskhodnikova, Smith 2013), "
    "section 6; Differential Privacy and Applications (Zhu et al. 2017), section 9.3.1, algorithm 1",
)
@dataclass(frozen=True, kw_only=True)
class TruncatedEdges(Composed[Any, Any]):
    """Release the number of edges among nodes of at most a declared degree, with noise by a smooth bound.

    Guarantee: graphs that differ by all edges of one node lose what ``noise`` loses for neighbours.

    Args:
        nodes: how many there may be; public.
        degree: nodes above it are deleted; public.
        noise: smooth-cauchy, or smooth-laplace with a delta.

    >>> from dither.privacy import PureDP
    >>> TruncatedEdges.calibrated(PureDP(1), nodes=1000, degree=20).loss(1) <= PureDP(1)
    True

    """

    name: ClassVar[str] = "truncated-edges"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "the noise depends on how many degrees are near the bound: private"
    no_interval_because: ClassVar[str] = no_error_because

    nodes: Whole = Whole(least=2, most=MOST_NODES)
    degree: Whole = Whole(least=1, most=2**20)
    noise: Of[Smooth] = Of(SmoothCauchy, SmoothLaplace, where=lambda noise: noise.dimension == 1)

    def __post_init__(self) -> None:
        smooth_bound((), most=self.reach, smoothness=self.noise.smoothness)

    @classmethod
    def calibrated(cls, within: Loss, *, nodes: int, degree: int) -> Self:
        """Return Cauchy noise for a pure loss, and Laplace noise where there is a delta.

        Args:
            within: what graphs one node apart may lose.
            nodes: how many there may be.
            degree: nodes above it are deleted.

        """
        return cls(nodes=nodes, degree=degree, noise=SmoothCount.calibrated(within, nodes=nodes, pattern=EDGES).noise)

    @property
    def distance(self) -> Unit:
        """One node with all its edges."""
        return NODE

    @property
    def reach(self) -> int:
        """How far one node moves the number in any graph, at most: as many edges as there may be."""
        return self.nodes * self.degree

    def plan(self) -> Plan:
        """One draw."""
        return Use(self.noise)

    def release(self, data: Any, run: Runner) -> Any:
        """Return a number near that of the edges left."""
        graph = graph_of(data, self.nodes)
        bound = self.smooth(widths(graph, self.degree))
        return run(self.noise, [truncated(graph, self.degree), bound], stability=1)

    def smooth(self, wide: Ints) -> float:
        """Return the smooth bound that follows from how far one node moves the number near by."""
        near = np.minimum(wide, self.reach).astype(np.float64)
        return smooth_bound(near, most=self.reach, smoothness=self.noise.smoothness)

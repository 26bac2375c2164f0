"""Statistics of exponential random graph models: edges, alternating stars and alternating triangles.

For fitting such a model to released numbers. One edge moves an alternating star count by little whatever the graph,
and an alternating triangle count by as much as its ends have common neighbours: there the noise follows the graph.
There for reference: few fit such models to large graphs. Cost: the common neighbours of all edges. Correction: the
chain mechanism of Lu and Miklau releases first how far one edge moves the count, then the count with that noise, and
promises an epsilon with a delta; the same chain of bounds is a ladder here, and needs no delta.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import floor
from typing import Any, ClassVar, Final, Self

import numpy as np

from dither.exact import Positive, Whole
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.purse import OneCount
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.core.values import LARGEST_VALUE
from dither.mechanisms.geometric import Geometric
from dither.mechanisms.ladder import LARGEST_SCALE, LEAST_SCALE, Ladder
from dither.privacy import EDGE, InOrder, Loss, Plan, Unit, Use
from dither.publish.graphs.counts import largest_common, supports
from dither.publish.graphs.examples import NODES, SOME_EDGES, edge_neighbours
from dither.publish.graphs.simple_graph import Ints, SimpleGraph, graph_of
from dither.publish.graphs.synthesis.drawn import shares_of

#: Counts are measured in this many parts of 1.
GRAIN: Final = 2**10
_MOST_RUNGS: Final = 2**16
#: Powers of the decay up to a degree are exact, and grow with it.
_MOST_NODES: Final = 2**16


def _examples() -> Iterator[Example]:
    noise = Geometric(scale=2)
    made = ErgmStatistics(nodes=NODES, decay=2, edge=noise, star=Geometric(scale=4096), scale=4)
    yield Example(made, SOME_EDGES, edge_neighbours())


@register(
    examples=_examples,
    source="Exponential Random Graph Estimation under Differential Privacy (Lu, Miklau 2014), the chain mechanism; the "
    "Saskatchewan thesis, section 4.2",
    reference=True,
)
@dataclass(frozen=True, kw_only=True)
class ErgmStatistics(Composed[Any, Any]):
    """Release the numbers of edges, alternating k-stars and alternating k-triangles of a graph.

    Guarantee: graphs ``d_in`` edges apart lose what ``edge`` loses at ``d_in``, what ``star`` loses at
    ``2 decay d_in`` in parts of 1/1024, and epsilon = ``2 d_in / scale`` or its rho, added up.

    Args:
        nodes: their number; public.
        decay: the weight of further edges and triangles falls by 1 - 1/decay each.
        edge: the noise for the number of edges.
        star: the noise for the alternating stars, in parts of 1/1024.
        scale: how slowly the rungs of the ladder of alternating triangles lose weight.

    >>> from dither.privacy import PureDP
    >>> ErgmStatistics.calibrated(PureDP(1), nodes=1000).loss(1) <= PureDP(1)
    True

    """

    name: ClassVar[str] = "ergm-statistics"
    version: ClassVar[int] = 2
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "the noise of triangles depends on the effect of one edge on them in this graph"
    no_interval_because: ClassVar[str] = no_error_because

    nodes: Whole = Whole(least=2, most=_MOST_NODES)
    decay: Whole = Whole(2, least=2, most=64)
    edge: OneCount = OneCount()
    star: OneCount = OneCount()
    scale: Positive = Positive(least=LEAST_SCALE, most=LARGEST_SCALE)

    @classmethod
    def calibrated(cls, within: Loss, *, nodes: int, decay: int = 2) -> Self:
        """Return the least noise within a loss for graphs one edge apart: half of it for triangles.

        Args:
            within: what they may lose.
            nodes: their number.
            decay: see the class.

        """
        edge, star, triangle = shares_of(within, "1/4", "1/4", "1/2")
        stars = star.noise(2 * decay * GRAIN)
        return cls(nodes=nodes, decay=decay, edge=edge.noise(), star=stars, scale=triangle.choice())

    @property
    def distance(self) -> Unit:
        """One edge."""
        return EDGE

    @cached_property
    def triangle(self) -> Ladder:
        """The noise of the alternating triangles."""
        return Ladder(rungs=min(2 * self.nodes, _MOST_RUNGS), most=self._width(self.nodes - 2), scale=self.scale)

    def _width(self, common: int) -> int:
        """Return how far one edge moves the alternating triangles, in parts, by how many neighbours its ends share."""
        return GRAIN * (self.decay + 2 * max(common, 0))

    def plan(self) -> Plan:
        """Edges, stars, triangles."""
        return InOrder.of(Use(self.edge), Use(self.star, 2 * self.decay * GRAIN), Use(self.triangle))

    def release(self, data: Any, run: Runner) -> Any:
        """Return the three numbers: edges, alternating stars, alternating triangles."""
        graph = graph_of(data, self.nodes)
        edges = run(self.edge, len(graph.edges))
        stars = floor(alternating_stars(graph, self.decay) * GRAIN)
        stars = run(self.star, min(stars, LARGEST_VALUE), stability=2 * self.decay * GRAIN)
        triangles = min(floor(alternating_triangles(graph, self.decay) * GRAIN), LARGEST_VALUE)
        rungs = np.arange(self.triangle.rungs, dtype=np.int64) + largest_common(graph)
        widths = GRAIN * (self.decay + 2 * np.minimum(rungs, max(self.nodes - 2, 0)))
        seen = run(self.triangle, np.concatenate([[triangles], widths]), stability=1)
        return np.array([float(edges), float(stars) / GRAIN, float(seen) / GRAIN])


def _weighted(numbers: Ints, decay: int) -> Fraction:
    """Return the sum over numbers x of 1 - (1 - 1/decay)^x, exactly."""
    found, times = np.unique(numbers, return_counts=True)
    rest = Fraction(decay - 1, decay)
    return sum((many * (1 - rest**one) for one, many in zip(found.tolist(), times.tolist(), strict=True)), Fraction(0))


def alternating_stars(graph: SimpleGraph, decay: int) -> Fraction:
    """Return S_2 - S_3 / decay + S_4 / decay^2 - ..., S_k being the number of k-stars."""
    return 2 * decay * len(graph.edges) - decay**2 * _weighted(graph.degrees, decay)


def alternating_triangles(graph: SimpleGraph, decay: int) -> Fraction:
    """Return decay times the sum over edges of 1 - (1 - 1/decay)^(common neighbours of its ends)."""
    return decay * _weighted(supports(graph), decay) if len(graph.edges) else Fraction(0)

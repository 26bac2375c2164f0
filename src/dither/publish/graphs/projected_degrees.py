"""How many nodes have which degree, where nodes are protected: cumulative counts of a projection to a bounded degree.

One node moves the degrees of the projection by twice the bound together, and so the cumulative counts. They are known
to be in order, which takes much of the noise away again. Cost: linear in the edges, after a sort.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dither.data.graphs import MOST_NODES
from dither.errors import InvalidParameter
from dither.estimate.isotonic import isotonic
from dither.exact import Whole, whole
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.purse import CountNoise, OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.geometric import Geometric
from dither.privacy import NODE, Loss, Plan, Unit, Use
from dither.publish.graphs.examples import NODES, SOME_EDGES, node_neighbours
from dither.publish.graphs.projection import projected
from dither.publish.graphs.simple_graph import graph_of


def _examples() -> Iterator[Example]:
    yield Example(ProjectedDegrees(nodes=NODES, degree=2, node=Geometric(scale=4)), SOME_EDGES, node_neighbours())


@register(
    examples=_examples,
    source="Publishing Graph Degree Distribution with Node Differential Privacy (Day, Li, Lyu 2016); Differential "
    "Privacy and Applications (Zhu et al. 2017), section 9.3.1",
)
@dataclass(frozen=True, kw_only=True)
class ProjectedDegrees(Composed[Any, NDArray[np.int64]]):
    """Release how many nodes have degree 0, 1, ... in a projection to a bounded degree, where nodes are protected.

    Guarantee: graphs that differ by all edges of one node lose what ``node`` loses at ``2 * degree``.

    Args:
        nodes: how many there may be; public. A node without edges counts with degree 0.
        degree: the most edges of one node that count; public.
        node: the noise for one count.

    >>> from dither.privacy import PureDP
    >>> ProjectedDegrees.calibrated(PureDP(1), nodes=1000, degree=20).node.scale
    Fraction(40, 1)

    """

    name: ClassVar[str] = "projected-degrees"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "how much the order helps, and what the projection cuts off, depend on the graph"
    no_interval_because: ClassVar[str] = no_error_because

    nodes: Whole = Whole(least=2, most=MOST_NODES)
    degree: Whole = Whole(least=1, most=2**20)
    node: OneCount = OneCount()

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
        return cls(nodes=nodes, degree=degree, node=Purse.within(within).noise(2 * whole("degree", degree, least=1)))

    @property
    def distance(self) -> Unit:
        """One node with all its edges."""
        return NODE

    @property
    def part(self) -> CountNoise:
        """The noise for all cumulative counts; the last one is the public number of nodes."""
        return replace(self.node, shape=(self.degree,))

    def plan(self) -> Plan:
        """One draw; what moves by so much in L1 moves by no more in L2."""
        return Use(self.part, 2 * self.degree)

    def release(self, data: Any, run: Runner) -> NDArray[np.int64]:
        """Return the number of nodes of each degree, from 0 to the bound; they add up to the number of nodes."""
        degrees = projected(graph_of(data, self.nodes), self.degree)
        below = np.cumsum(np.bincount(degrees, minlength=self.degree + 1))[: self.degree]
        noisy = np.asarray(run(self.part, below, stability=2 * self.degree), dtype=np.float64)
        ordered = np.rint(np.clip(isotonic(noisy), 0, self.nodes)).astype(np.int64)
        return np.diff(np.concatenate([[0], ordered, [self.nodes]]))

"""The number of edges where nodes are protected: noise for any graph if it is dense, else by flow within a bound.

In a dense graph the noise for the worst node is small beside the number of edges, and no bound is needed. Both numbers
are released with noise, and the first decides which of them is taken. Cost: one maximum flow on the nodes above the
bound. Correction: the printed algorithm leaves open whether the test for a dense graph is paid for; here it has half of
the loss.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from dither.data.graphs import MOST_NODES
from dither.exact import Whole, whole
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.purse import CountNoise, OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.geometric import Geometric
from dither.privacy import NODE, InOrder, Loss, Plan, Unit, Use
from dither.publish.graphs.counts import edge_count
from dither.publish.graphs.examples import NODES, SOME_EDGES, node_neighbours
from dither.publish.graphs.flow import twice_flow
from dither.publish.graphs.simple_graph import graph_of


def _examples() -> Iterator[Example]:
    for enough in (4, 2**40):
        made = FlowEdges(nodes=NODES, degree=2, enough=enough, dense=Geometric(scale=12), noise=Geometric(scale=8))
        yield Example(made, SOME_EDGES, node_neighbours())


@register(
    examples=_examples,
    reference=True,
    source="Analyzing Graphs with Node Differential Privacy (Kasiviswanathan, Nissim, Raskhodnikova, Smith 2013), "
    "section 4; Differential Privacy and Applications (Zhu et al. 2017), section 9.3.1, algorithm 2",
)
@dataclass(frozen=True, kw_only=True)
class FlowEdges(Composed[Any, int]):
    """Release the number of edges: of any graph if it is dense, else of a maximum flow within a declared bound.

    Guarantee: graphs that differ by all edges of one node lose what ``dense`` loses at ``nodes - 1`` and ``noise`` at
    ``2 * degree`` together.

    Args:
        nodes: how many there may be; public.
        degree: the most edges of one node that count in the flow; public.
        enough: how many noisy edges make a graph dense; public.
        dense: the noise for the number of all edges.
        noise: the noise for twice the flow.

    >>> from dither.privacy import PureDP
    >>> FlowEdges.calibrated(PureDP(1), nodes=1000, degree=20).noise.scale
    Fraction(80, 1)

    """

    name: ClassVar[str] = "flow-edges"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "edges beyond the bound are missing, and how many is private"
    no_interval_because: ClassVar[str] = no_error_because

    nodes: Whole = Whole(least=2, most=MOST_NODES)
    degree: Whole = Whole(least=1, most=2**20)
    enough: Whole = Whole(most=2**60)
    dense: OneCount = OneCount()
    noise: OneCount = OneCount()

    @classmethod
    def calibrated(cls, within: Loss, *, nodes: int, degree: int) -> Self:
        """Return noise within a loss for graphs one node apart, half of it for either number.

        Args:
            within: what they may lose.
            nodes: how many there may be.
            degree: the most edges of one node that count.

        """
        size, bound = whole("nodes", nodes, least=2, most=MOST_NODES), whole("degree", degree, least=1)
        half = Purse.within(within) / 2
        dense = half.noise(size - 1)
        enough = min(math.ceil(3 * float(_width(dense)) * math.log(size) / 2), 2**60)
        return cls(nodes=size, degree=bound, enough=enough, dense=dense, noise=half.noise(2 * bound))

    @property
    def distance(self) -> Unit:
        """One node with all its edges."""
        return NODE

    def plan(self) -> Plan:
        """Two draws."""
        return InOrder.of(Use(self.dense, self.nodes - 1), Use(self.noise, 2 * self.degree))

    def release(self, data: Any, run: Runner) -> int:
        """Return about the number of edges."""
        graph = graph_of(data, self.nodes)
        everything = int(run(self.dense, edge_count(graph), stability=self.nodes - 1))
        within = int(run(self.noise, twice_flow(graph, self.degree), stability=2 * self.degree))
        return everything if everything >= self.enough else within // 2


def _width(noise: CountNoise) -> Any:
    return noise.scale if isinstance(noise, Geometric) else noise.sigma

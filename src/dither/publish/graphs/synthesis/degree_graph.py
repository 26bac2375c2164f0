"""A synthetic graph with the degrees of this one: 1K.

For what hangs on degrees alone. Triangles, communities and who knows whom by degree are those of chance. The degrees
are released without their nodes, made those of a simple graph, and joined at random. Cost: a sort, and a few shuffles
of the synthetic edges. Correction: Wang and Wu add noise to how many nodes have which degree, four of which one edge
moves, and do not use their order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from dither.mechanisms.core.purse import OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.geometric import Geometric
from dither.privacy import Loss, Plan, Use
from dither.publish.graphs.degree_tail import MOVED, DegreeTail
from dither.publish.graphs.examples import NODES, SOME_EDGES, edge_neighbours
from dither.publish.graphs.simple_graph import Ints
from dither.publish.graphs.synthesis.drawn import SyntheticGraph, limit_of
from dither.publish.graphs.synthesis.settled import Settled
from dither.publish.graphs.synthesis.wiring import edges_of, graphical, wired


def _examples() -> Iterator[Example]:
    yield Example(DegreeGraph(nodes=NODES, most=21, node=Geometric(scale=2)), SOME_EDGES, edge_neighbours())


@register(
    examples=_examples,
    source="Preserving Differential Privacy in Degree-Correlation based Graph Generation (Wang, Wu 2013), 1K; "
    "Differential Privacy and Applications (Zhu et al. 2017), section 9.3.2",
)
@dataclass(frozen=True, kw_only=True)
class DegreeGraph(SyntheticGraph):
    """Draw a graph with the degrees of this one, without the nodes they belong to.

    Guarantee: graphs ``d_in`` edges apart lose what ``node`` loses at ``2 d_in``.

    Args:
        nodes: their number; public.
        most: the most edges that are drawn; public.
        node: the noise for one number of nodes of more than some degree.

    >>> from dither.privacy import PureDP
    >>> DegreeGraph.calibrated(PureDP(1), nodes=1000).loss(1) <= PureDP(1)
    True

    """

    name: ClassVar[str] = "degree-graph"
    version: ClassVar[int] = 1

    node: OneCount = OneCount()

    @classmethod
    def calibrated(cls, within: Loss, *, nodes: int, most: int | None = None) -> Self:
        """Return the least noise within a loss for graphs one edge apart.

        Args:
            within: what they may lose.
            nodes: their number.
            most: the most edges that are drawn; by default what the nodes allow.

        """
        return cls(nodes=nodes, most=limit_of(nodes, most), node=Purse.within(within).noise(MOVED))

    @cached_property
    def sequence(self) -> DegreeTail:
        """The degrees in order."""
        return DegreeTail(nodes=self.nodes, node=self.node)

    def plan(self) -> Plan:
        """One draw of all degrees."""
        return Use(self.sequence)

    def release(self, data: Any, run: Runner) -> Ints:
        """Return synthetic edges, the smaller end first, in order."""
        released = np.asarray(run(self.sequence, data), dtype=np.int64)
        numbers = Settled(released)
        degrees = numbers.permutation(graphical(released, self.most))
        return edges_of(wired(degrees, numbers), self.nodes, self.most)

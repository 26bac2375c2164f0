"""A synthetic graph with the degrees of this one, and with who knows whom by degree: 2K.

For what hangs on degrees and on their correlation along edges. Triangles and communities are those of chance. Classes
of nodes are made of *released* degrees, so that one edge moves one count of the table of edges between classes.
Cost: linear in the edges. Correction: in the 2K model of Wang and Wu a class is a true degree, and one edge moves its
two ends with all their edges to other cells: noise for that drowns the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from dither.mechanisms.core.purse import CountNoise, OneCount
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.geometric import Geometric
from dither.privacy import InOrder, Loss, Plan, Use
from dither.publish.graphs.degree_tail import MOVED, DegreeTail
from dither.publish.graphs.degree_vector import DegreeVector
from dither.publish.graphs.examples import NODES, SOME_EDGES, edge_neighbours
from dither.publish.graphs.simple_graph import Ints, graph_of
from dither.publish.graphs.synthesis.classes import CLASSES, between, by_rank, classes_of, square_of
from dither.publish.graphs.synthesis.drawn import SyntheticGraph, limit_of, shares_of, vector_noise
from dither.publish.graphs.synthesis.settled import Settled
from dither.publish.graphs.synthesis.wiring import edges_of, graphical, wired_classes


def _examples() -> Iterator[Example]:
    noise = Geometric(scale=2)
    made = JointDegreeGraph(nodes=NODES, most=21, node=noise, named=noise, cell=noise)
    yield Example(made, SOME_EDGES, edge_neighbours())


@register(
    examples=_examples,
    source="Preserving Differential Privacy in Degree-Correlation based Graph Generation (Wang, Wu 2013), 2K; "
    "Differential Privacy and Applications (Zhu et al. 2017), section 9.3.2",
)
@dataclass(frozen=True, kw_only=True)
class JointDegreeGraph(SyntheticGraph):
    """Draw a graph with the degrees of this one, and as many edges between classes of degrees.

    Guarantee: graphs ``d_in`` edges apart lose what ``node`` loses at ``2 d_in``, what ``named`` loses at ``2 d_in``
    for geometric noise and at ``17/12 d_in`` for Gaussian noise, and what ``cell`` loses at ``d_in``, added up.

    Args:
        nodes: their number; public.
        most: the most edges that are drawn; public.
        node: the noise for one number of nodes of more than some degree.
        named: the noise for the degree of one node, by which nodes are put into an order and into classes.
        cell: the noise for the number of edges between two classes.

    >>> from dither.privacy import PureDP
    >>> JointDegreeGraph.calibrated(PureDP(1), nodes=1000).loss(1) <= PureDP(1)
    True

    """

    name: ClassVar[str] = "joint-degree-graph"
    version: ClassVar[int] = 1

    node: OneCount = OneCount()
    named: OneCount = OneCount()
    cell: OneCount = OneCount()

    @classmethod
    def calibrated(cls, within: Loss, *, nodes: int, most: int | None = None) -> Self:
        """Return the least noise within a loss for graphs one edge apart: most of it for the degrees of single nodes.

        Args:
            within: what they may lose.
            nodes: their number.
            most: the most edges that are drawn; by default what the nodes allow.

        """
        ordered, named, cell = shares_of(within, "1/4", "1/2", "1/4")
        return cls(
            nodes=nodes,
            most=limit_of(nodes, most),
            node=ordered.noise(MOVED),
            named=vector_noise(named),
            cell=cell.noise(),
        )

    @cached_property
    def sequence(self) -> DegreeTail:
        """The degrees in order."""
        return DegreeTail(nodes=self.nodes, node=self.node)

    @cached_property
    def vector(self) -> DegreeVector:
        """The degrees by node."""
        return DegreeVector(nodes=self.nodes, node=self.named)

    @cached_property
    def table(self) -> CountNoise:
        """The edges between classes, the smaller first."""
        return replace(self.cell, shape=(CLASSES * (CLASSES + 1) // 2,))

    def plan(self) -> Plan:
        """Ask for the degrees in order, the degrees by node, and the table of classes."""
        return InOrder.of(Use(self.sequence), Use(self.vector), Use(self.table, 1))

    def release(self, data: Any, run: Runner) -> Ints:
        """Return synthetic edges, the smaller end first, in order."""
        ordered = np.asarray(run(self.sequence, data), dtype=np.int64)
        named = np.asarray(run(self.vector, data), dtype=np.float64)
        degrees = graphical(by_rank(ordered, named), self.most)
        classes = classes_of(degrees)
        noisy = np.asarray(run(self.table, between(graph_of(data, self.nodes).edges, classes, CLASSES), stability=1))
        numbers = Settled(ordered, named, noisy)
        keys = wired_classes(degrees, classes, square_of(noisy, CLASSES), numbers)
        return edges_of(keys, self.nodes, self.most)

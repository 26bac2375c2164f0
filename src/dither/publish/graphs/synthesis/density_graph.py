"""A synthetic graph from the densities of blocks of its matrix, nodes being in order of degree.

Blocks are split while they hold enough edges. The way of DER (Chen, Fung, Yu, Desai 2014), there for reference: whoever
knows whom within a block is lost. Cost: linear in the edges, and four to the number of levels. Corrections: the printed
order of nodes and the printed arrangement of edges in a block look at the edges again and again; here the order comes
from noisy degrees, and every level is released as a whole, so that an edge moves one count of each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Final, Self

import numpy as np

from dither.exact import Whole
from dither.mechanisms.core.purse import CountNoise, OneCount
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.geometric import Geometric
from dither.privacy import InOrder, Loss, Plan, Use
from dither.publish.graphs.degree_vector import DegreeVector
from dither.publish.graphs.examples import NODES, SOME_EDGES, edge_neighbours
from dither.publish.graphs.simple_graph import Ints, graph_of
from dither.publish.graphs.synthesis.classes import between, square_of
from dither.publish.graphs.synthesis.drawn import SyntheticGraph, limit_of, shares_of, vector_noise
from dither.publish.graphs.synthesis.settled import Floats, Settled
from dither.publish.graphs.synthesis.wiring import edges_of

LEVELS: Final = 6
_MOST_LEVELS: Final = 10
#: A block is split if its noisy count is above this many widths of the noise.
_WIDTHS: Final = 4


def _examples() -> Iterator[Example]:
    noise = Geometric(scale=2)
    made = DensityGraph(nodes=NODES, most=21, levels=2, named=noise, cell=noise)
    yield Example(made, SOME_EDGES, edge_neighbours())


@register(
    examples=_examples,
    source="Correlated Network Data Publication via Differential Privacy (Chen, Fung, Yu, Desai 2014); Differential "
    "Privacy and Applications (Zhu et al. 2017), section 9.3.2",
    reference=True,
)
@dataclass(frozen=True, kw_only=True)
class DensityGraph(SyntheticGraph):
    """Draw a graph whose matrix has the densities of this one, block by block.

    Guarantee: graphs ``d_in`` edges apart lose what ``named`` loses at ``2 d_in`` for geometric noise, at
    ``17/12 d_in`` for Gaussian noise, and ``levels`` times what ``cell`` loses at ``d_in``, added up.

    Args:
        nodes: their number; public.
        most: the most edges that are drawn; public.
        levels: how often blocks may be split.
        named: the noise for the degree of one node, by which nodes are put into order.
        cell: the noise for the number of edges of a block.

    >>> from dither.privacy import PureDP
    >>> DensityGraph.calibrated(PureDP(1), nodes=1000).loss(1) <= PureDP(1)
    True

    """

    name: ClassVar[str] = "density-graph"
    version: ClassVar[int] = 1

    levels: Whole = Whole(LEVELS, least=1, most=_MOST_LEVELS)
    named: OneCount = OneCount()
    cell: OneCount = OneCount()

    @classmethod
    def calibrated(cls, within: Loss, *, nodes: int, most: int | None = None) -> Self:
        """Return the least noise within a loss for graphs one edge apart: two fifths for the order of nodes.

        Args:
            within: what they may lose.
            nodes: their number.
            most: the most edges that are drawn; by default what the nodes allow.

        """
        named, cells = shares_of(within, "2/5", "3/5")
        noise = (cells / LEVELS).noise()
        return cls(nodes=nodes, most=limit_of(nodes, most), named=vector_noise(named), cell=noise)

    @cached_property
    def vector(self) -> DegreeVector:
        """The degrees by node."""
        return DegreeVector(nodes=self.nodes, node=self.named)

    @cached_property
    def tables(self) -> tuple[CountNoise, ...]:
        """The blocks of each level, the smaller place first."""
        sides = [2 ** (level + 1) for level in range(self.levels)]
        return tuple(replace(self.cell, shape=(side * (side + 1) // 2,)) for side in sides)

    def plan(self) -> Plan:
        """Ask for the degrees by node, then for each level."""
        return InOrder((Use(self.vector), *(Use(table, 1) for table in self.tables)))

    def release(self, data: Any, run: Runner) -> Ints:
        """Return synthetic edges, the smaller end first, in order."""
        edges = graph_of(data, self.nodes).edges
        named = np.asarray(run(self.vector, data), dtype=np.float64)
        order = np.argsort(-named, kind="stable")
        place = np.empty(self.nodes, dtype=np.int64)
        place[order] = np.arange(self.nodes)
        found = []
        for level, table in enumerate(self.tables):
            side = 2 ** (level + 1)
            found.append(np.asarray(run(table, between(edges, place * side // self.nodes, side), stability=1)))
        numbers = Settled(named, *found)
        squares = [square_of(one, 2 ** (level + 1)) for level, one in enumerate(found)]
        return edges_of(self._filled(squares, order, numbers), self.nodes, self.most)

    def _filled(self, squares: list[Floats], order: Ints, numbers: Settled) -> Ints:
        """Return the keys of random pairs in each block that is not split, as many as its noisy count says."""
        width = float(getattr(self.cell, "scale", 0) or getattr(self.cell, "sigma", 0))
        keys, open_blocks, left = [np.zeros(0, dtype=np.int64)], [(0, 0), (0, 1), (1, 1)], self.most
        for level, square in enumerate(squares):
            side, deeper = len(square), []
            for row, column in open_blocks:
                if level + 1 < len(squares) and square[row, column] > _WIDTHS * width:
                    inner = [(2 * row + one, 2 * column + other) for one in (0, 1) for other in (0, 1)]
                    deeper += [pair for pair in inner if pair[0] <= pair[1]]
                    continue
                ends = [(-(-at * self.nodes // side), -(-(at + 1) * self.nodes // side)) for at in (row, column)]
                sizes = [high - low for low, high in ends]
                count = min(round(float(square[row, column])), left, sizes[0] * sizes[1])
                if count <= 0:
                    continue
                left -= count
                one = order[ends[0][0] + numbers.integers(sizes[0], count)]
                other = order[ends[1][0] + numbers.integers(sizes[1], count)]
                made = np.minimum(one, other) * self.nodes + np.maximum(one, other)
                keys.append(made[one != other])
            open_blocks = deeper
        return np.unique(np.concatenate(keys))

"""A synthetic graph with private communities: a block model with the degrees of this graph.

For graphs of high degree in which people know those of their own group. Nodes begin in public random blocks; in every
round each node moves to the block in which it has the most neighbours, by noisy counts. Then degrees and the table of
edges between blocks are released, and stubs are joined block by block. Cost: linear in the edges and in nodes times
blocks. The way is that of PrivGraph (Yuan et al. 2023), which is not the PrivGraph of the Saskatchewan thesis: that one
adds noise to counts of subgraphs. Differences: the printed first partition is of random groups, whose noisy weights say
little; here blocks are found by the counts of single nodes alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Final, Self

import numpy as np

from dither.errors import InvalidParameter
from dither.exact import Whole
from dither.mechanisms.core.purse import CountNoise, OneCount
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.geometric import Geometric
from dither.privacy import InOrder, Loss, Plan, Repeat, Use
from dither.publish.graphs.degree_tail import MOVED, DegreeTail
from dither.publish.graphs.degree_vector import moved_degrees
from dither.publish.graphs.examples import NODES, SOME_EDGES, edge_neighbours
from dither.publish.graphs.simple_graph import Ints, graph_of
from dither.publish.graphs.synthesis.classes import between, by_rank, neighbours_in, square_of
from dither.publish.graphs.synthesis.drawn import SyntheticGraph, limit_of, shares_of, vector_noise
from dither.publish.graphs.synthesis.settled import Floats, Settled
from dither.publish.graphs.synthesis.wiring import edges_of, graphical, wired_classes

#: Nodes times blocks, which are held as numbers.
_MOST_CELLS: Final = 2**26
#: What the usual release takes.
BLOCKS, ROUNDS = 12, 3


def _examples() -> Iterator[Example]:
    noise = Geometric(scale=2)
    made = CommunityGraph(nodes=NODES, most=21, blocks=2, rounds=2, seen=noise, node=noise, cell=noise)
    yield Example(made, SOME_EDGES, edge_neighbours())


@register(
    examples=_examples,
    source="PrivGraph: Differentially Private Graph Data Publication by Exploiting Community Information (Yuan et al. "
    "2023), of the same name as the PrivGraph of the Saskatchewan thesis and another method",
)
@dataclass(frozen=True, kw_only=True)
class CommunityGraph(SyntheticGraph):
    """Find blocks of nodes that know each other, and draw a graph with these blocks and the degrees of this one.

    Guarantee: graphs ``d_in`` edges apart lose ``rounds`` times what ``seen`` loses at ``2 d_in`` for geometric noise,
    at ``17/12 d_in`` for Gaussian noise, what ``node`` loses at ``2 d_in``, and what ``cell`` loses at ``d_in``.

    Args:
        nodes: their number; public.
        most: the most edges that are drawn; public.
        blocks: how many there are.
        rounds: how often nodes move.
        seen: the noise for how many neighbours of a node are in a block.
        node: the noise for one number of nodes of more than some degree.
        cell: the noise for the number of edges between two blocks.

    >>> from dither.privacy import PureDP
    >>> CommunityGraph.calibrated(PureDP(1), nodes=1000).loss(1) <= PureDP(1)
    True

    """

    name: ClassVar[str] = "community-graph"
    version: ClassVar[int] = 1

    blocks: Whole = Whole(BLOCKS, least=1, most=2**10)
    rounds: Whole = Whole(ROUNDS, least=1, most=2**10)
    seen: OneCount = OneCount()
    node: OneCount = OneCount()
    cell: OneCount = OneCount()

    def __post_init__(self) -> None:
        if self.nodes * self.blocks > _MOST_CELLS:
            raise InvalidParameter("blocks", self.blocks, f"at most {_MOST_CELLS} divided by the number of nodes")

    @classmethod
    def calibrated(cls, within: Loss, *, nodes: int, most: int | None = None) -> Self:
        """Return the least noise within a loss for graphs one edge apart: three fifths for finding blocks.

        Args:
            within: what they may lose.
            nodes: their number.
            most: the most edges that are drawn; by default what the nodes allow.

        """
        seen, ordered, cell = shares_of(within, "3/5", "1/5", "1/5")
        return cls(
            nodes=nodes,
            most=limit_of(nodes, most),
            seen=vector_noise(seen / ROUNDS),
            node=ordered.noise(MOVED),
            cell=cell.noise(),
        )

    @cached_property
    def sequence(self) -> DegreeTail:
        """The degrees in order."""
        return DegreeTail(nodes=self.nodes, node=self.node)

    @cached_property
    def neighbours(self) -> CountNoise:
        """How many neighbours each node has in each block."""
        return replace(self.seen, shape=(self.nodes, self.blocks))

    @cached_property
    def table(self) -> CountNoise:
        """The edges between blocks, the smaller first."""
        return replace(self.cell, shape=(self.blocks * (self.blocks + 1) // 2,))

    @property
    def moved(self) -> Any:
        """How far one edge moves the neighbours of its two ends."""
        return moved_degrees(is_pure=isinstance(self.seen, Geometric))

    def plan(self) -> Plan:
        """Ask each round, then for the degrees in order, then for the table of blocks."""
        rounds = Repeat(Use(self.neighbours, self.moved), self.rounds)
        return InOrder.of(rounds, Use(self.sequence), Use(self.table, 1))

    def release(self, data: Any, run: Runner) -> Ints:
        """Return synthetic edges, the smaller end first, in order."""
        edges = graph_of(data, self.nodes).edges
        blocks = Settled(self.nodes, self.blocks).integers(self.blocks, self.nodes)
        seen: Floats = np.zeros((self.nodes, self.blocks))
        for _ in range(self.rounds):
            now = neighbours_in(edges, blocks, self.nodes, self.blocks)
            seen = np.asarray(run(self.neighbours, now, stability=self.moved), dtype=np.float64)
            blocks = seen.argmax(axis=1)
        ordered = np.asarray(run(self.sequence, data), dtype=np.int64)
        noisy = np.asarray(run(self.table, between(edges, blocks, self.blocks), stability=1))
        # What a node saw in all blocks together is its degree, with more noise than in order.
        named = seen.sum(axis=1)
        degrees = graphical(by_rank(ordered, named), self.most)
        keys = wired_classes(degrees, blocks, square_of(noisy, self.blocks), Settled(ordered, named, noisy))
        return edges_of(keys, self.nodes, self.most)

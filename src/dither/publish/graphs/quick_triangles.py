"""The number of triangles where nodes are protected, with one linear programme: for large graphs.

The bound on the triangles at a node is chosen by how many nodes stand out above it, which needs no programme; one for
the chosen bound counts. The choice is less sharp where triangles at a node share few edges: the worst errors are larger
than those of ``chosen-triangles``. Cost: the triangles on every edge, and one programme.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.geometric import Geometric
from dither.privacy import InOrder, Loss, Plan, Use
from dither.publish.graphs.copy_blocks import triangles_of
from dither.publish.graphs.counts import supports
from dither.publish.graphs.examples import NODES, SOME_EDGES, node_neighbours
from dither.publish.graphs.packing import PARTS, check_bounds, moved, packed
from dither.publish.graphs.simple_graph import Ints, SimpleGraph, graph_of
from dither.publish.graphs.standing_out import MOST_BACK, STEPS, UNIT, BoundChosen, Split, from_units, in_units

#: What of a loss the choice of the bound gets, and how many scales a bound is set back for each doubling, in fifths.
_SHARE: Final = Fraction(1, 2)
_FIFTHS: Final = 4


def _examples() -> Iterator[Example]:
    made = QuickTriangles(
        nodes=NODES, bounds=(1, 2, 4), penalties=(0, 10, 30), choice_scale=2, noise=Geometric(scale=2 * UNIT)
    )
    yield Example(made, SOME_EDGES, node_neighbours())


def standing_out_in_triangles(graph: SimpleGraph, bounds: Sequence[int]) -> Ints:
    """Return for each bound the least k such that at most k nodes have more triangles even k nodes away.

    Of a node count the triangles on its edges, half of them, without the k edges that have the most and less k on each
    other: no more are left when k other nodes are taken out.

    >>> standing_out_in_triangles(graph_of([(0, 1), (0, 2), (1, 2)], 3), [1, 2]).tolist()
    [0, 0]
    """
    each = supports(graph)
    node, on_edge = np.concatenate([graph.edges[:, 0], graph.edges[:, 1]]), np.concatenate([each, each])
    order = np.lexsort((-on_edge, node))
    node, on_edge = node[order], on_edge[order]
    rank = np.arange(len(node)) - np.searchsorted(node, node)
    found = np.full(len(bounds), -1, dtype=np.int64)
    twice, k = 2 * np.asarray(bounds, dtype=np.int64), 0
    while (found < 0).any():
        kept = (rank >= k) & (on_edge > k)
        node, on_edge, rank = node[kept], on_edge[kept], rank[kept]
        left = np.sort(np.bincount(node, on_edge - k, minlength=graph.nodes).astype(np.int64))
        above = graph.nodes - np.searchsorted(left, twice, side="right")
        found = np.where((found < 0) & (above <= k), k, found)
        k += 1
    return found


@register(
    examples=_examples,
    source="Analyzing Graphs with Node Differential Privacy (Kasiviswanathan, Nissim, Raskhodnikova, Smith 2013), for "
    "the programme; Recursive Mechanism (Chen, Zhou 2013), for bounds a few nodes away",
)
@dataclass(frozen=True, kw_only=True)
class QuickTriangles(BoundChosen):
    """Release a bound on the triangles at a node, and the number of triangles within it, by one linear programme.

    Guarantee: graphs that differ by all edges of one node lose epsilon = ``1 / choice_scale`` for the bound, and what
    ``noise`` loses at 2^34 for the number.

    Args:
        nodes: how many there may be; public.
        bounds: the candidates for a bound, rising; public.
        penalties: what each candidate is set back, in 64ths of a node; public.
        choice_scale: how many nodes more must stand out above a bound to make it e times less likely.
        flips: whether the bound is chosen by permute-and-flip; else by the exponential mechanism.
        noise: for the count, which is put on a grid of which one node moves it by 2^34 steps.

    >>> from dither.privacy import PureDP
    >>> QuickTriangles.calibrated(PureDP(1), nodes=1000, bounds=(16, 32, 64)).loss(1).epsilon
    Fraction(1, 1)

    """

    name: ClassVar[str] = "quick-triangles"
    version: ClassVar[int] = 1
    no_error_because: ClassVar[str] = "triangles beyond the chosen bound are missing, and how many is private"
    no_interval_because: ClassVar[str] = no_error_because

    def __post_init__(self) -> None:
        super().__post_init__()
        check_bounds(self.nodes, self.bounds)

    @classmethod
    def calibrated(cls, within: Loss, *, nodes: int, bounds: Sequence[int]) -> Self:
        """Return a choice and noise within a loss for graphs one node apart.

        Args:
            within: what they may lose.
            nodes: how many there may be.
            bounds: the candidates for a bound.

        """
        split = Split.of(Purse.within(within), _SHARE)
        doublings = [math.log2(bound / bounds[0]) for bound in bounds]
        back = (math.floor(STEPS * split.choice * _FIFTHS * Fraction(round(1000 * part), 5000)) for part in doublings)
        return cls(
            nodes=nodes,
            bounds=tuple(bounds),
            penalties=tuple(min(one, MOST_BACK) for one in back),
            choice_scale=split.choice,
            flips=split.flips,
            noise=split.noise.noise(UNIT),
        )

    def plan(self) -> Plan:
        """Choose, then draw."""
        return InOrder.of(Use(self.choice, STEPS), Use(self.noise, UNIT))

    def release(self, data: Any, run: Runner) -> NDArray[np.int64]:
        """Return two integers: the bound, and about the number of triangles of which a node has no more than that."""
        graph = graph_of(data, self.nodes)
        above = standing_out_in_triangles(graph, self.bounds)
        bound = self.bounds[int(run(self.choice, -STEPS * above - np.array(self.penalties), stability=STEPS))]
        value = packed(triangles_of(graph), bound)
        noisy = int(run(self.noise, in_units(value, moved(bound)), stability=UNIT))
        return np.array([bound, from_units(noisy, moved(bound), PARTS)], dtype=np.int64)

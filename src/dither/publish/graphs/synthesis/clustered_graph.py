"""A synthetic graph with the degrees and the triangles of this one: people in close groups, and ties beyond them.

The method to take first. Nodes of like degree form groups, as dense as the released number of triangles asks for; what
their degrees leave is joined at random. Degrees, triangles, clustering and communities come close to those of the
graph, and so does who knows whom by degree where people know their like. Cost: the count of triangles, and linear in
the synthetic edges.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

import numpy as np

from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.geometric import Geometric
from dither.privacy import Loss
from dither.publish.graphs.counts import triangle_count
from dither.publish.graphs.degree_tail import MOVED
from dither.publish.graphs.examples import NODES, SOME_EDGES, edge_neighbours
from dither.publish.graphs.simple_graph import Ints, SimpleGraph
from dither.publish.graphs.synthesis.drawn import (
    OfDegreesAndTriangles,
    limit_of,
    shares_of,
)
from dither.publish.graphs.synthesis.settled import Settled
from dither.publish.graphs.synthesis.wiring import (
    degrees_left,
    dense_groups,
    edges_of,
    graphical,
    groups_of,
    wired,
)

#: How often a density is tried, and how near to the wanted number of triangles is near enough.
_TRIES: Final = 4
_NEAR: Final = 0.02


def _examples() -> Iterator[Example]:
    made = ClusteredGraph(nodes=NODES, most=21, node=Geometric(scale=2), scale=4)
    yield Example(made, SOME_EDGES, edge_neighbours())


@register(
    examples=_examples,
    source="A Scalable Generative Graph Model with Community Structure (Kolda, Pinar, Plantenga, Seshadhri 2014), the "
    "block two-level model, with one density; from the degrees of Proserpio et al. (2014) and the ladder of Zhang "
    "et al. (2015)",
)
@dataclass(frozen=True, kw_only=True)
class ClusteredGraph(OfDegreesAndTriangles):
    """Draw a graph with the degrees and the number of triangles of this one.

    Guarantee: graphs ``d_in`` edges apart lose what ``node`` loses at ``2 d_in``, and epsilon = ``2 d_in / scale`` or
    its rho, added up.

    Args:
        nodes: their number; public.
        most: the most edges that are drawn; public.
        node: the noise for one number of nodes of more than some degree.
        scale: how slowly the rungs of the ladder of triangles lose weight.

    >>> from dither.privacy import PureDP
    >>> ClusteredGraph.calibrated(PureDP(1), nodes=1000).loss(1) <= PureDP(1)
    True

    """

    name: ClassVar[str] = "clustered-graph"
    version: ClassVar[int] = 2

    @classmethod
    def calibrated(cls, within: Loss, *, nodes: int, most: int | None = None) -> Self:
        """Return the least noise within a loss for graphs one edge apart: four fifths for degrees, the rest triangles.

        Args:
            within: what they may lose.
            nodes: their number.
            most: the most edges that are drawn; by default what the nodes allow.

        """
        degrees, triangles = shares_of(within, "4/5", "1/5")
        return cls(nodes=nodes, most=limit_of(nodes, most), node=degrees.noise(MOVED), scale=triangles.choice())

    def release(self, data: Any, run: Runner) -> Ints:
        """Return synthetic edges, the smaller end first, in order."""
        released = np.asarray(run(self.sequence, data), dtype=np.int64)
        triangles = float(run(self.triangles, data))
        numbers = Settled(released, triangles)
        degrees = numbers.permutation(graphical(released, self.most))
        return edges_of(_with_triangles(degrees, triangles, numbers), self.nodes, self.most)


def _with_triangles(degrees: Ints, wanted: float, numbers: Settled) -> Ints:
    """Return the keys of a graph with these degrees and about that many triangles.

    Ties beyond the groups make triangles as well, so that the density of groups is found by drawing: without groups,
    as if groups made all triangles, and then between what was found.
    """
    nodes, groups = len(degrees), groups_of(degrees)

    def drawn(cube: float) -> tuple[int, Ints]:
        inner = dense_groups(groups, nodes, cube ** (1 / 3), numbers)
        keys = wired(degrees_left(degrees, inner), numbers, inner)
        return triangle_count(SimpleGraph(nodes, edges_of(keys, nodes, len(keys)))), keys

    full = float(sum(math.comb(len(group), 3) for group in groups))
    low = (0.0, *drawn(0.0))
    best = low
    if full <= 0 or wanted <= low[1]:
        return best[2]
    high: tuple[float, int, Ints] | None = None
    cube = min(wanted / full, 1.0)
    for _ in range(_TRIES):
        seen = (cube, *drawn(cube))
        best = min(best, seen, key=lambda one: abs(one[1] - wanted))
        if abs(seen[1] - wanted) <= _NEAR * wanted or (high is None and cube >= 1 and seen[1] < wanted):
            break
        low, high = (seen, high) if seen[1] < wanted else (low, seen)
        cube = _between(low, high, wanted)
    return best[2]


def _between(low: tuple[float, int, Ints], high: tuple[float, int, Ints] | None, wanted: float) -> float:
    """Return where a line through what was found reaches the wanted number, from 0 to 1."""
    if high is None:
        return min(low[0] * wanted / max(low[1], 1), 1.0)
    return low[0] + (high[0] - low[0]) * (wanted - low[1]) / max(high[1] - low[1], 1)

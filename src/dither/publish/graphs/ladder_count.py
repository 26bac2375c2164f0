"""Counts in graphs by ladders: noise that follows how far one edge moves the count here and a few edges away.

For triangles, stars and k-triangles under a pure epsilon. Real graphs are far from the worst one, and the noise is that
of the local sensitivity, nearly; tails are light. Cost: the count, and the pairs of nodes that may have the most common
neighbours. Correction: the first rung of k-triangles is their exact local sensitivity, and the next ones grow by what
one edge can add; the bound of the paper from the largest number of common neighbours is up to 3.4 times as wide.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from dither.exact import Positive
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.core.values import LARGEST_VALUE
from dither.mechanisms.ladder import LARGEST_SCALE, LEAST_SCALE, Ladder
from dither.privacy import Loss, Plan, Use
from dither.publish.graphs.by_degrees import exact_count, widths
from dither.publish.graphs.examples import NODES, SOME_EDGES, edge_neighbours
from dither.publish.graphs.patterns import PatternCount


def _examples() -> Iterator[Example]:
    for pattern, k in (("triangles", 0), ("stars", 3), ("k-triangles", 2), ("cliques", 4), ("edges", 0)):
        yield Example(LadderCount(nodes=NODES, pattern=pattern, k=k, scale=2), SOME_EDGES, edge_neighbours())


@register(
    examples=_examples,
    source="Private Release of Graph Statistics using Ladder Functions (Zhang, Cormode, Procopiuc, Srivastava, Xiao "
    "2015); Differential Privacy and Applications (Zhu et al. 2017), sections 4.4.1 and 9.3.2",
)
@dataclass(frozen=True, kw_only=True)
class LadderCount(PatternCount):
    """Release the number of triangles, stars, k-triangles or cliques, with noise for this graph and those around it.

    Guarantee: graphs ``d_in`` edges apart lose epsilon = ``2 d_in / scale`` and rho = epsilon^2 / 8.

    Args:
        nodes: their number; public.
        pattern: what is counted: triangles, stars, k-triangles, cliques or edges.
        k: the neighbours of a star, the nodes over the edge of a k-triangle, or those of a clique; 0 for others.
        scale: how slowly rungs lose weight.

    >>> from dither.privacy import PureDP
    >>> LadderCount.calibrated(PureDP(1), nodes=1000, pattern="stars", k=3).loss(1)
    PureDP('1', rho='1/8')

    """

    name: ClassVar[str] = "graph-ladder"
    version: ClassVar[int] = 3
    no_error_because: ClassVar[str] = "the noise depends on the effect of one edge on the count in this graph: private"
    no_interval_because: ClassVar[str] = no_error_because

    scale: Positive = Positive(least=LEAST_SCALE, most=LARGEST_SCALE)

    @classmethod
    def calibrated(cls, within: Loss, *, nodes: int, pattern: str, k: int = 0) -> Self:
        """Return the ladder within a loss for graphs one edge apart.

        Args:
            within: what they may lose.
            nodes: their number.
            pattern: what is counted.
            k: of stars and k-triangles.

        """
        # A choice has an epsilon of its own, which may be all that a loss with a delta allows.
        scale = min(Purse.within(within).choice(), Purse.pure_within(within).choice())
        return cls(nodes=nodes, pattern=pattern, k=k, scale=scale)

    @property
    def part(self) -> Ladder:
        """The noise."""
        return Ladder(rungs=self.rungs, most=self.reach, scale=self.scale)

    def plan(self) -> Plan:
        """One draw."""
        return Use(self.part)

    def release(self, data: Any, run: Runner) -> Any:
        """Return an integer near the count."""
        value = min(exact_count(data, self.nodes, self.pattern, self.k), LARGEST_VALUE)
        bounds = widths(data, self.nodes, self.pattern, self.k, self.rungs)
        return run(self.part, np.concatenate([[value], bounds]), stability=1)

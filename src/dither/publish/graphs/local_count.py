"""Counts in graphs by noisy local sensitivity: a released bound on how far one edge moves the count, and the count.

For triangles, stars, k-triangles and cliques where a delta is allowed and an interval is needed: the width of the noise
is released with the count. Its noise is wider than a ladder's, whose width stays private. Cost: that of the ladder's
first rung. Correction: the source states it for k-triangles and continuous noise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dither.exact import Number, Of
from dither.mechanisms.core.mechanism import Interval
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.core.values import LARGEST_VALUE
from dither.mechanisms.noisy_local import NoisyLocal
from dither.privacy import Loss, Plan, Use
from dither.publish.graphs.examples import NODES, SOME_EDGES, edge_neighbours
from dither.publish.graphs.patterns import PatternCount, base, bound_growth, count, ladder
from dither.publish.graphs.simple_graph import graph_of


def _examples() -> Iterator[Example]:
    noise = NoisyLocal(most=1, base_scale=4, bound_scale=4, value_scale=4, delta="1/1000000")
    for pattern, k in (("triangles", 0), ("stars", 3), ("k-triangles", 2), ("cliques", 4)):
        yield Example(LocalCount(nodes=NODES, pattern=pattern, k=k, noise=noise), SOME_EDGES, edge_neighbours())


@register(
    examples=_examples,
    source="Private Analysis of Graph Structure (Karwa, Raskhodnikova, Smith, Yaroslavtsev 2011), section 4; "
    "Differential Privacy and Applications (Zhu et al. 2017), sections 4.4.1 and 9.3.2",
    takes="delta",
)
@dataclass(frozen=True, kw_only=True)
class LocalCount(PatternCount):
    """Release a number of triangles, stars, k-triangles or cliques with the bound by which its noise was scaled.

    Guarantee: graphs ``d_in`` edges apart lose what ``noise`` loses for chains of ``d_in`` neighbours: an epsilon and a
    delta. How far the count and its local sensitivity may move is taken from the pattern, not from ``noise``.

    Args:
        nodes: their number; public.
        pattern: what is counted: triangles, stars, k-triangles, cliques or edges.
        k: the neighbours of a star, the nodes over the edge of a k-triangle, or those of a clique; 0 for others.
        noise: the scales and the delta.

    >>> from dither.privacy import ApproxDP
    >>> LocalCount.calibrated(ApproxDP(1, "1e-6"), nodes=1000, pattern="triangles").loss(1)
    ApproxDP('1', '1/1000000')

    """

    name: ClassVar[str] = "graph-noisy-local"
    version: ClassVar[int] = 1
    no_error_because: ClassVar[str] = "the width of the noise is released with the count, and not known before"

    noise: Of[NoisyLocal] = Of(NoisyLocal)

    @classmethod
    def calibrated(cls, within: Loss, *, nodes: int, pattern: str, k: int = 0) -> Self:
        """Return the scales within a loss with a delta for graphs one edge apart.

        Args:
            within: what they may lose.
            nodes: their number.
            pattern: what is counted.
            k: of stars, k-triangles and cliques.

        """
        # Made once with any noise, so that parameters are checked before anything is computed from them.
        made = cls(
            nodes=nodes, pattern=pattern, k=k, noise=NoisyLocal(most=1, bound_scale=1, value_scale=1, delta="1/2")
        )
        part = made.part
        noise = NoisyLocal.calibrated(within, most=part.most, factor=part.factor, order=part.order)
        return replace(made, noise=noise)

    @property
    def part(self) -> NoisyLocal:
        """The noise, with what is known of the pattern."""
        factor, order = bound_growth(self.pattern, self.k)
        return replace(self.noise, most=self.reach, factor=factor, order=order)

    @property
    def takes_degrees(self) -> bool:
        """Whether degrees are enough: how far they move the local sensitivity is known for edges alone."""
        return False

    def plan(self) -> Plan:
        """One draw of three numbers."""
        return Use(self.part)

    def interval(self, out: Any, confidence: Number) -> Interval:
        """Return the interval of the count, by the bound that was released with it."""
        return self.part.interval(out, confidence)

    def release(self, data: Any, run: Runner) -> NDArray[Any]:
        """Return the noisy count, the bound by which its noise was scaled, and the base of that bound."""
        graph = graph_of(data, self.nodes)
        value = min(count(graph, self.pattern, self.k), LARGEST_VALUE)
        bound = int(ladder(graph, self.pattern, self.k, 1)[0])
        return np.asarray(run(self.part, [value, bound, base(graph, self.pattern)], stability=1))

"""Counts in graphs by smooth sensitivity: noise scaled by a smooth bound on how far one edge moves the count.

For triangles, stars and k-triangles: Cauchy noise for a pure epsilon, Laplace noise with a delta. The ladder has the
same median error and lighter tails. Cost: as for the ladder. Correction: the bound of the sources needs the numbers of
common and of single neighbours of all pairs; here it is made of the ladder, which is smooth and needs the pairs
with the most common neighbours alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np

from dither.exact import Of
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.core.values import LARGEST_VALUE
from dither.mechanisms.smooth_cauchy import SmoothCauchy
from dither.mechanisms.smooth_laplace import SmoothLaplace
from dither.privacy import ApproxDP, Loss, Plan, Use
from dither.privacy.losses import states_rho
from dither.privacy.sensitivity.smooth import smooth_bound
from dither.publish.graphs.by_degrees import exact_count, widths
from dither.publish.graphs.examples import NODES, SOME_EDGES, edge_neighbours
from dither.publish.graphs.patterns import PatternCount

Smooth: TypeAlias = SmoothCauchy | SmoothLaplace


def _examples() -> Iterator[Example]:
    cauchy = SmoothCauchy(power=4, least=1, smoothness="1/6", scale=5)
    laplace = SmoothLaplace(delta="1/1000", least=1, smoothness="1/20", scale=2)
    for pattern, k, noise in (("triangles", 0, cauchy), ("stars", 2, laplace), ("k-triangles", 2, cauchy)):
        made = SmoothCount(nodes=NODES, pattern=pattern, k=k, noise=noise)
        yield Example(made, SOME_EDGES, edge_neighbours())


@register(
    examples=_examples,
    source="Smooth Sensitivity and Sampling in Private Data Analysis (Nissim, Raskhodnikova, Smith 2007), section 3; "
    "Private Analysis of Graph Structure (Karwa, Raskhodnikova, Smith, Yaroslavtsev 2011); Differential Privacy and "
    "Applications (Zhu et al. 2017), sections 4.4.1 and 9.3.2",
)
@dataclass(frozen=True, kw_only=True)
class SmoothCount(PatternCount):
    """Release the number of triangles, k-stars, k-triangles or k-cliques, with noise scaled by a smooth bound.

    Guarantee: graphs ``d_in`` edges apart lose what ``noise`` loses for chains of ``d_in`` neighbours.

    Args:
        nodes: their number; public.
        pattern: what is counted: triangles, stars, k-triangles, cliques or edges.
        k: the neighbours of a star, the nodes over the edge of a k-triangle, or those of a clique; 0 for others.
        noise: smooth-cauchy, or smooth-laplace with a delta.

    >>> from dither.privacy import PureDP
    >>> SmoothCount.calibrated(PureDP(1), nodes=1000, pattern="triangles").noise.power
    4

    """

    name: ClassVar[str] = "graph-smooth"
    version: ClassVar[int] = 3
    no_error_because: ClassVar[str] = "the noise depends on the effect of one edge on the count in this graph: private"
    no_interval_because: ClassVar[str] = no_error_because

    noise: Of[Smooth] = Of(SmoothCauchy, SmoothLaplace, where=lambda noise: noise.dimension == 1)

    def __post_init__(self) -> None:
        super().__post_init__()
        # Refuses a smoothness with which no bound can be computed, before anything is charged or read.
        smooth_bound((), most=self.reach, smoothness=self.noise.smoothness)

    @classmethod
    def calibrated(cls, within: Loss, *, nodes: int, pattern: str, k: int = 0) -> Self:
        """Return Cauchy noise for a pure loss, and Laplace noise where there is a delta.

        Args:
            within: what graphs one edge apart may lose.
            nodes: their number.
            pattern: what is counted.
            k: of stars and k-triangles.

        """
        noise: Smooth
        # Laplace noise that is scaled by the data has no rho, which a loss may state beside its delta.
        if isinstance(within, ApproxDP) and within.delta and not states_rho(within):
            noise = SmoothLaplace.calibrated(within, least=1)
        else:
            noise = SmoothCauchy.calibrated(within, least=1)
        return cls(nodes=nodes, pattern=pattern, k=k, noise=noise)

    def plan(self) -> Plan:
        """One draw."""
        return Use(self.noise)

    def release(self, data: Any, run: Runner) -> Any:
        """Return a number near the count."""
        value = min(exact_count(data, self.nodes, self.pattern, self.k), LARGEST_VALUE)
        bounds = widths(data, self.nodes, self.pattern, self.k, self.rungs).astype(np.float64)
        bound = smooth_bound(bounds, most=self.reach, smoothness=self.noise.smoothness)
        # The count stays an integer: a float would round a large one, and no bound covers that.
        return run(self.noise, [value, bound], stability=1)

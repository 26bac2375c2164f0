"""The cost of a minimum spanning tree by a ladder: noise that follows how far one weight moves it here and around.

For graphs of public edges and private weights, of which many edges join any two parts: there one weight moves the cost
by little, because another edge takes its place. Cost: smallest cuts, for up to 128 nodes; beyond that the ladder is as
wide as the range of weights from its second rung on, and ``weighted-length`` is better. Correction: the source scales
Cauchy noise by a smooth bound; a ladder of the same local sensitivities is exact and has lighter tails.
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
from dither.mechanisms.ladder import LARGEST_SCALE, LEAST_SCALE, Ladder
from dither.privacy import Loss, Plan, Use
from dither.publish.graphs.examples import NODES, weight_neighbours, weighted_rows
from dither.publish.graphs.weighted import CUT_RUNGS, forest, forest_ladder, weighted_graph
from dither.publish.graphs.weighted_length import Weighted


def _examples() -> Iterator[Example]:
    yield Example(SpanningTreeCost(nodes=NODES, high=8, scale=2), weighted_rows(), weight_neighbours())


@register(
    examples=_examples,
    source="Smooth Sensitivity and Sampling in Private Data Analysis (Nissim, Raskhodnikova, Smith 2007), section 3.2; "
    "Differential Privacy and Applications (Zhu et al. 2017), section 4.4.1",
)
@dataclass(frozen=True, kw_only=True)
class SpanningTreeCost(Weighted):
    """Release the cost of a minimum spanning tree of public edges, with noise for these weights and those around them.

    Guarantee: graphs with the same edges and ``d_in`` other weights lose epsilon = ``2 d_in / scale`` and
    rho = epsilon^2 / 8. Which edges there are is not protected.

    Args:
        nodes: their number; public.
        low: the least weight; public.
        high: the largest weight; public.
        scale: how slowly rungs lose weight.

    >>> from dither.privacy import PureDP
    >>> SpanningTreeCost.calibrated(PureDP(1), nodes=50, high=100).loss(1)
    PureDP('1', rho='1/8')

    """

    name: ClassVar[str] = "spanning-tree-cost"
    version: ClassVar[int] = 2
    no_error_because: ClassVar[str] = "the noise depends on the effect of one weight on the cost of this tree: private"
    no_interval_because: ClassVar[str] = no_error_because

    scale: Positive = Positive(least=LEAST_SCALE, most=LARGEST_SCALE)

    @classmethod
    def calibrated(cls, within: Loss, *, nodes: int, high: int, low: int = 0) -> Self:
        """Return the ladder within a loss for graphs one weight apart.

        Args:
            within: what they may lose.
            nodes: their number.
            high: the largest weight.
            low: the least weight.

        """
        scale = min(Purse.within(within).choice(), Purse.pure_within(within).choice())
        return cls(nodes=nodes, low=low, high=high, scale=scale)

    @property
    def part(self) -> Ladder:
        """The noise."""
        return Ladder(rungs=CUT_RUNGS + 2, most=self.span, scale=self.scale)

    def plan(self) -> Plan:
        """One draw."""
        return Use(self.part)

    def release(self, data: Any, run: Runner) -> Any:
        """Return an integer near the cost of a minimum spanning forest."""
        graph = weighted_graph(data, self.nodes, self.low, self.high)
        widths = forest_ladder(graph, CUT_RUNGS + 2, self.low, self.high)
        return run(self.part, np.concatenate([[forest(graph)[0]], widths]), stability=1)

"""Lengths in a graph of public edges and private weights: of a shortest path, or of a minimum spanning tree.

For travel times, costs and strengths of ties where who is joined to whom is known. One weight moves such a length by at
most the declared range of weights. Cost: that of the length. For trees of well-joined graphs of up to 128 nodes
``spanning-tree-cost`` has far less noise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from dither.data.graphs import MOST_NODES
from dither.errors import InvalidParameter
from dither.exact import Number, OneOf, Whole
from dither.mechanisms.core.mechanism import Bound, Composed, Interval, Numerics
from dither.mechanisms.core.purse import OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.privacy import WEIGHT, Loss, Plan, Unit, Use
from dither.publish.graphs.examples import NODES, weight_neighbours, weighted_rows
from dither.publish.graphs.weighted import forest, path_length, weighted_graph

TREE, PATH = LENGTHS = ("spanning-tree", "path")
#: Weights lie between these.
LARGEST_WEIGHT = 2**30


@dataclass(frozen=True, kw_only=True)
class Weighted(Composed[Any, Any]):
    """A length in a graph of a public number of nodes, whose weights lie in a public range."""

    numerics: ClassVar[Numerics] = Numerics.EXACT

    nodes: Whole = Whole(least=2, most=MOST_NODES)
    low: Whole = Whole(0, least=-LARGEST_WEIGHT, most=LARGEST_WEIGHT)
    high: Whole = Whole(least=-LARGEST_WEIGHT, most=LARGEST_WEIGHT)

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise InvalidParameter("high", self.high, f"above the least weight, {self.low}")

    @property
    def distance(self) -> Unit:
        """One weight."""
        return WEIGHT

    @property
    def span(self) -> int:
        """How far one weight moves a length in any graph, at most."""
        return self.high - self.low


def _examples() -> Iterator[Example]:
    rows, pairs = weighted_rows(), weight_neighbours()
    yield Example(WeightedLength(nodes=NODES, high=8, what=TREE, noise=Geometric(scale=8)), rows, pairs)
    path = WeightedLength(nodes=NODES, high=8, what=PATH, start=0, end=5, noise=DiscreteGaussian(sigma=9))
    yield Example(path, rows, pairs)


@register(
    examples=_examples,
    source="Shortest Paths and Distances with Differential Privacy (Sealfon 2016), for private weights; Differential "
    "Privacy and Applications (Zhu et al. 2017), section 4.4.1",
)
@dataclass(frozen=True, kw_only=True)
class WeightedLength(Weighted):
    """Release the length of a shortest path or the cost of a minimum spanning tree, where single weights are protected.

    Guarantee: graphs with the same edges and ``d_in`` other weights lose what ``noise`` loses at ``d_in`` times the
    range of weights. Which edges there are is not protected.

    Args:
        nodes: their number; public.
        low: the least weight; public, and not negative for a path.
        high: the largest weight; public.
        what: "spanning-tree", or "path".
        start: where a path begins.
        end: where it ends.
        noise: for one integer.

    >>> from dither.privacy import PureDP
    >>> WeightedLength.calibrated(PureDP(1), nodes=10, high=60, what="path", start=0, end=9).noise.scale
    Fraction(60, 1)

    """

    name: ClassVar[str] = "weighted-length"
    version: ClassVar[int] = 1

    what: OneOf = OneOf(*LENGTHS)
    start: Whole = Whole(0, most=MOST_NODES)
    end: Whole = Whole(0, most=MOST_NODES)
    noise: OneCount = OneCount()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.what == PATH and self.low < 0:
            raise InvalidParameter("low", self.low, "at least 0 for a path: a negative weight has no shortest one")
        if max(self.start, self.end) >= self.nodes:
            raise InvalidParameter("end", max(self.start, self.end), f"below the number of nodes, {self.nodes}")

    @classmethod
    def calibrated(
        cls, within: Loss, *, nodes: int, high: int, low: int = 0, what: str = TREE, start: int = 0, end: int = 0
    ) -> Self:
        """Return the least noise within a loss for graphs one weight apart.

        Args:
            within: what they may lose.
            nodes: their number.
            high: the largest weight.
            low: the least weight.
            what: "spanning-tree", or "path".
            start: where a path begins.
            end: where it ends.

        """
        made = cls(nodes=nodes, low=low, high=high, what=what, start=start, end=end, noise=Geometric(scale=1))
        return replace(made, noise=Purse.within(within).noise(made.span))

    def plan(self) -> Plan:
        """One draw."""
        return Use(self.noise, self.span)

    def error(self, confidence: Number) -> Bound:
        """Return the bound of the noise."""
        return self.noise.error(confidence)

    def interval(self, out: Any, confidence: Number) -> Interval:
        """Return the interval of the noise."""
        return self.noise.interval(out, confidence)

    def release(self, data: Any, run: Runner) -> Any:
        """Return the length with noise; of a path between nodes that are not joined, the largest there could be."""
        graph = weighted_graph(data, self.nodes, self.low, self.high)
        if self.what == TREE:
            value = forest(graph)[0]
        else:
            value = path_length(graph, self.start, self.end, self.nodes * self.high)
        return run(self.noise, value, stability=self.span)

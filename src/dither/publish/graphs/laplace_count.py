"""Counts in graphs with noise for the worst case: how far one edge moves the count in any graph.

For the number of edges, which one edge moves by 1. For other patterns the worst graph is far from any real one, and
``graph-ladder`` is better by orders of magnitude; this is their baseline, with a known error. Cost: that of the count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Self, TypeAlias

from dither.errors import InvalidParameter
from dither.exact import Flag, Number, Of
from dither.lift.edges import canonical
from dither.mechanisms.core.mechanism import Bound, Interval
from dither.mechanisms.core.purse import CountNoise, Purse, one_number
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.mechanisms.truncated_laplace import TruncatedLaplace
from dither.privacy import Loss, Plan, Use
from dither.publish.graphs.by_degrees import exact_count
from dither.publish.graphs.examples import NODES, SOME_EDGES, edge_neighbours
from dither.publish.graphs.patterns import EDGES, PatternCount
from dither.publish.graphs.simple_graph import ends_of

BoundedNoise: TypeAlias = CountNoise | TruncatedLaplace
_ONE: Final = one_number(Geometric, DiscreteGaussian, TruncatedLaplace)


def _examples() -> Iterator[Example]:
    for pattern, k in (("edges", 0), ("triangles", 0), ("stars", 2), ("k-triangles", 2), ("cliques", 4)):
        made = LaplaceCount(nodes=NODES, pattern=pattern, k=k, noise=Geometric(scale=4))
        yield Example(made, SOME_EDGES, edge_neighbours())
    both = [*SOME_EDGES, (1, 0)]
    directed = LaplaceCount(nodes=NODES, pattern="edges", noise=Geometric(scale=4), directed=True)
    yield Example(directed, both, (*edge_neighbours(), (both, SOME_EDGES, 1)))
    bounded = LaplaceCount(nodes=NODES, pattern="edges", noise=TruncatedLaplace(scale=2, bound=9))
    yield Example(bounded, SOME_EDGES, edge_neighbours())


@register(
    examples=_examples,
    source="Differential Privacy and Applications (Zhu et al. 2017), section 9.2; the Saskatchewan thesis, section 4.5",
)
@dataclass(frozen=True, kw_only=True)
class LaplaceCount(PatternCount):
    """Release the number of edges, triangles, k-stars, k-triangles or k-cliques, with noise for the worst graph.

    Guarantee: graphs ``d_in`` edges apart lose what ``noise`` loses at ``d_in`` times the most that one edge moves the
    count: 1 for edges, n - 2 for triangles, 2 C(n - 2, k - 1) for k-stars, C(n - 2, k - 2) for k-cliques,
    C(n - 2, k) + 2 (n - 2) C(n - 3, k - 1) for k-triangles.

    Args:
        nodes: n, their number; public.
        pattern: what is counted: edges, triangles, stars, k-triangles or cliques.
        k: the neighbours of a star, the nodes over the edge of a k-triangle, or those of a clique; 0 for others.
        noise: for one integer; truncated-laplace where no release may be off by more than a public bound.
        directed: whether an edge and the one that leads back are two; for edges alone.

    >>> from dither.privacy import PureDP
    >>> LaplaceCount.calibrated(PureDP(1), nodes=100, pattern="triangles").noise.scale
    Fraction(98, 1)

    """

    name: ClassVar[str] = "graph-laplace"
    version: ClassVar[int] = 1

    noise: Of[BoundedNoise] = Of(Geometric, DiscreteGaussian, TruncatedLaplace, **_ONE)
    directed: Flag = Flag(False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.directed and self.pattern != EDGES:
            raise InvalidParameter("directed", True, f"not allowed for {self.pattern}: they have no direction")

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        nodes: int,
        pattern: str,
        k: int = 0,
        directed: bool = False,
        truncated: bool = False,
    ) -> Self:
        """Return the least noise within a loss for graphs one edge apart.

        Args:
            within: what they may lose.
            nodes: their number.
            pattern: what is counted.
            k: of stars and k-triangles.
            directed: whether an edge and the one that leads back are two.
            truncated: whether no release may be off by more than a public bound, for which the loss needs a delta.

        """
        # Made once with any noise, so that parameters are checked before anything is computed from them.
        made = cls(nodes=nodes, pattern=pattern, k=k, noise=Geometric(scale=1), directed=directed)
        if truncated:
            return replace(made, noise=TruncatedLaplace.calibrated(within, sensitivity=made.reach))
        return replace(made, noise=Purse.within(within).noise(made.reach))

    @property
    def takes_directed(self) -> bool:
        """Whether an edge and the one that leads back are two."""
        return bool(self.directed)

    @property
    def part(self) -> BoundedNoise:
        """The noise."""
        return self.noise

    def plan(self) -> Plan:
        """One draw."""
        return Use(self.part, self.reach)

    def error(self, confidence: Number) -> Bound:
        """Return the bound of the noise."""
        return self.noise.error(confidence)

    def interval(self, out: Any, confidence: Number) -> Interval:
        """Return the interval of the noise."""
        return self.noise.interval(out, confidence)

    def release(self, data: Any, run: Runner) -> Any:
        """Return the count with noise."""
        if self.directed:
            value = len(canonical(ends_of(data, self.nodes), self.nodes, directed=True))
        else:
            value = exact_count(data, self.nodes, self.pattern, self.k)
        return run(self.part, value, stability=self.reach)

"""Edges or triangles where nodes are protected, by a race over all bounds: noisy counts, each less what noise may add.

Every candidate for a bound gets an equal part of the loss. Its count is less than the truth, and after taking off what
its noise may reach it is so with a high chance; the largest is released. No bound need be chosen, and the error is that
of the best bound times the number of candidates and a logarithm: more than a chosen bound costs on graphs tried so far.
Cost: a maximum flow, or a linear programme, for each candidate.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Final, Self

import numpy as np

from dither.data.graphs import MOST_NODES
from dither.exact import OneOf, TupleOf, Whole
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.purse import CountNoise, OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.geometric import Geometric
from dither.privacy import NODE, Loss, Plan, Unit, Use
from dither.publish.graphs.copy_blocks import triangles_of
from dither.publish.graphs.examples import NODES, SOME_EDGES, node_neighbours
from dither.publish.graphs.flow import twice_flow
from dither.publish.graphs.packing import PARTS, check_bounds, moved, packed
from dither.publish.graphs.patterns import EDGES, TRIANGLES
from dither.publish.graphs.simple_graph import SimpleGraph, graph_of
from dither.publish.graphs.standing_out import UNIT, Bounds, from_units, in_units

#: The chance that any noise reaches farther than what is taken off.
_MISSED: Final = 0.1


def _examples() -> Iterator[Example]:
    for pattern in (EDGES, TRIANGLES):
        made = GraphRace(nodes=NODES, pattern=pattern, bounds=(1, 2, 4), noise=Geometric(scale=8 * UNIT))
        yield Example(made, SOME_EDGES, node_neighbours())


@register(
    examples=_examples,
    reference=True,
    source="R2T: Instance-optimal Truncation for Differentially Private Query Evaluation with Foreign Keys (Dong, "
    "Fang, Yi, Tao, Machanavajjhala 2022)",
)
@dataclass(frozen=True, kw_only=True)
class GraphRace(Composed[Any, int]):
    """Release the largest of several noisy counts, each cut to a bound and less what its noise may add.

    Guarantee: graphs that differ by all edges of one node lose what ``noise`` loses at 2^34 times the number of bounds.

    Args:
        nodes: how many there may be; public.
        pattern: edges or triangles.
        bounds: the most edges, or triangles, at one node that count, rising; public.
        noise: for one count, which is put on a grid of which one node moves it by 2^34 steps.

    >>> from dither.privacy import PureDP
    >>> GraphRace.calibrated(PureDP(1), nodes=1000, pattern="edges", bounds=(1, 2, 4)).loss(1)
    PureDP('1')

    """

    name: ClassVar[str] = "graph-race"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "what the best bound cuts off is private"
    no_interval_because: ClassVar[str] = no_error_because

    nodes: Whole = Whole(least=2, most=MOST_NODES)
    pattern: OneOf = OneOf(EDGES, TRIANGLES)
    bounds: TupleOf = Bounds()
    noise: OneCount = OneCount()

    def __post_init__(self) -> None:
        if self.pattern == TRIANGLES:
            check_bounds(self.nodes, self.bounds)

    @classmethod
    def calibrated(cls, within: Loss, *, nodes: int, pattern: str, bounds: Sequence[int]) -> Self:
        """Return the least noise within a loss for graphs one node apart.

        Args:
            within: what they may lose.
            nodes: how many there may be.
            pattern: edges or triangles.
            bounds: the candidates for a bound.

        """
        noise = Purse.within(within).noise(UNIT * max(len(bounds), 1))
        return cls(nodes=nodes, pattern=pattern, bounds=tuple(bounds), noise=noise)

    @property
    def distance(self) -> Unit:
        """One node with all its edges."""
        return NODE

    @property
    def part(self) -> CountNoise:
        """The noise for all counts."""
        return replace(self.noise, shape=(len(self.bounds),))

    def plan(self) -> Plan:
        """One draw; what moves by so much in L1 moves by no more in L2."""
        return Use(self.part, UNIT * len(self.bounds))

    def release(self, data: Any, run: Runner) -> int:
        """Return about the number of edges or triangles, most often a little less."""
        values = np.array(self._values(graph_of(data, self.nodes)), dtype=np.int64)
        noisy = np.asarray(run(self.part, values, stability=UNIT * len(self.bounds))).tolist()
        chance = math.log(len(self.bounds) / _MISSED)
        noise = self.noise
        reach = (
            float(noise.scale) * chance if isinstance(noise, Geometric) else float(noise.sigma) * (2 * chance) ** 0.5
        )
        less = [int(value) - round(Fraction(reach)) for value in noisy]
        return max(0, *(self._back(value, bound) for value, bound in zip(less, self.bounds, strict=True)))

    def _values(self, graph: SimpleGraph) -> list[int]:
        """Return the counts on their grids."""
        if self.pattern == EDGES:
            return [in_units(twice_flow(graph, bound), 2 * bound) for bound in self.bounds]
        triangles = triangles_of(graph)
        return [in_units(packed(triangles, bound), moved(bound)) for bound in self.bounds]

    def _back(self, value: int, bound: int) -> int:
        """Return a count from its grid."""
        return from_units(value, bound) if self.pattern == EDGES else from_units(value, moved(bound), PARTS)

"""The number of k-stars where nodes are protected, with a bound on degrees that is chosen privately.

A bound is chosen by how many nodes stand out above it, the graph is projected to it, and the stars of the projection
are counted with noise for one node: they are a sum over degrees, which the projection keeps from moving far. Cost:
linear in the edges, after a sort.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Whole
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.geometric import Geometric
from dither.privacy import InOrder, Loss, Plan, Use
from dither.publish.graphs.examples import NODES, SOME_EDGES, node_neighbours
from dither.publish.graphs.projection import projected
from dither.publish.graphs.simple_graph import graph_of
from dither.publish.graphs.standing_out import STEPS, UNIT, BoundChosen, Split, from_units, in_units

#: What of a loss the choice of the bound gets, and how much a large bound is set back.
_SHARE: Final = Fraction(3, 10)
_TENTHS: Final = 5


def _examples() -> Iterator[Example]:
    made = ChosenStars(
        nodes=NODES, k=2, bounds=(2, 3, 4), penalties=(0, 10, 30), choice_scale=2, noise=Geometric(scale=2 * UNIT)
    )
    yield Example(made, SOME_EDGES, node_neighbours())


@register(
    examples=_examples,
    source="Publishing Graph Degree Distribution with Node Differential Privacy (Day, Li, Lyu 2016), for the "
    "projection; Analyzing Graphs with Node Differential Privacy (Kasiviswanathan et al. 2013), for sums over degrees",
)
@dataclass(frozen=True, kw_only=True)
class ChosenStars(BoundChosen):
    """Release a bound on degrees, and the number of k-stars of a projection to it, where nodes are protected.

    Guarantee: graphs that differ by all edges of one node lose epsilon = ``1 / choice_scale`` for the bound, and what
    ``noise`` loses at 2^34 for the number.

    Args:
        nodes: how many there may be; public.
        k: the neighbours of a star.
        bounds: the candidates for a bound, rising, from k on; public.
        penalties: what each candidate is set back, in 64ths of a node; public.
        choice_scale: how many nodes more must stand out above a bound to make it e times less likely.
        flips: whether the bound is chosen by permute-and-flip; else by the exponential mechanism.
        noise: for the count, which is put on a grid of which one node moves it by 2^34 steps.

    >>> from dither.privacy import PureDP
    >>> ChosenStars.calibrated(PureDP(1), nodes=1000, k=2, bounds=(2, 4, 8)).loss(1).epsilon
    Fraction(1, 1)

    """

    name: ClassVar[str] = "chosen-stars"
    version: ClassVar[int] = 1
    no_error_because: ClassVar[str] = "stars beyond the chosen bound are missing, and how many is private"
    no_interval_because: ClassVar[str] = no_error_because

    k: Whole = Whole(least=2, most=16)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bounds[0] < self.k:
            raise InvalidParameter("bounds", self.bounds, f"from {self.k} on: below there is no star")
        if self.nodes * self.moved(self.bounds[-1]) >= 2**60:
            raise InvalidParameter("bounds", self.bounds, f"small enough for fewer than 2^60 {self.k}-stars")

    @classmethod
    def calibrated(cls, within: Loss, *, nodes: int, k: int, bounds: Sequence[int]) -> Self:
        """Return a choice and noise within a loss for graphs one node apart.

        Args:
            within: what they may lose.
            nodes: how many there may be.
            k: the neighbours of a star.
            bounds: the candidates for a bound.

        """
        split = Split.of(Purse.within(within), _SHARE)
        return cls(
            nodes=nodes,
            k=k,
            bounds=tuple(bounds),
            penalties=split.root_penalties(bounds, _TENTHS),
            choice_scale=split.choice,
            flips=split.flips,
            noise=split.noise.noise(UNIT),
        )

    def moved(self, bound: int) -> int:
        """Return how far one node moves the stars of the projection, at most: (k + 1) C(bound, k)."""
        return (self.k + 1) * math.comb(bound, self.k)

    def plan(self) -> Plan:
        """Choose, then draw."""
        return InOrder.of(Use(self.choice, STEPS), Use(self.noise, UNIT))

    def release(self, data: Any, run: Runner) -> NDArray[np.int64]:
        """Return two integers: the bound, and about the number of stars of the projection."""
        graph = graph_of(data, self.nodes)
        bound = self.bounds[self.chosen(graph, run)]
        many = np.bincount(projected(graph, bound), minlength=bound + 1).tolist()
        stars = sum(math.comb(degree, self.k) * times for degree, times in enumerate(many))
        noisy = int(run(self.noise, in_units(stars, self.moved(bound)), stability=UNIT))
        return np.array([bound, from_units(noisy, self.moved(bound))], dtype=np.int64)

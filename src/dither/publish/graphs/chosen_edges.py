"""The number of edges where nodes are protected, with a bound on degrees that is chosen privately.

For counting ties where a person must be hidden and nobody knows how many ties one person may have. First a bound is
chosen by how many nodes stand out above it, then edges are counted by a maximum flow in which a node has at most that
many, with noise for one node. Cost: a few maximum flows at most, each on the nodes above the bound.
"""

from __future__ import annotations

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
from dither.publish.graphs.examples import NODES, SOME_EDGES, node_neighbours
from dither.publish.graphs.flow import twice_flow
from dither.publish.graphs.simple_graph import graph_of
from dither.publish.graphs.standing_out import STEPS, UNIT, BoundChosen, Split, from_units, in_units

#: What of a loss the choice of the bound gets, and how much a large bound is set back.
_SHARE: Final = Fraction(3, 10)
_TENTHS: Final = 3


def _examples() -> Iterator[Example]:
    made = ChosenEdges(
        nodes=NODES, bounds=(1, 2, 4), penalties=(0, 10, 30), choice_scale=2, noise=Geometric(scale=2 * UNIT)
    )
    yield Example(made, SOME_EDGES, node_neighbours())


@register(
    examples=_examples,
    source="Analyzing Graphs with Node Differential Privacy (Kasiviswanathan, Nissim, Raskhodnikova, Smith 2013); "
    "Differential Privacy and Applications (Zhu et al. 2017), section 9.3.1",
)
@dataclass(frozen=True, kw_only=True)
class ChosenEdges(BoundChosen):
    """Release a bound on degrees, and the number of edges within it, where nodes are protected.

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
    >>> made = ChosenEdges.calibrated(PureDP(1), nodes=1000, bounds=(1, 2, 4, 8))
    >>> made.loss(1).epsilon, made.choice_scale
    (Fraction(1, 1), Fraction(10, 3))

    """

    name: ClassVar[str] = "chosen-edges"
    version: ClassVar[int] = 1
    no_error_because: ClassVar[str] = "edges beyond the chosen bound are missing, and how many is private"
    no_interval_because: ClassVar[str] = no_error_because

    @classmethod
    def calibrated(cls, within: Loss, *, nodes: int, bounds: Sequence[int]) -> Self:
        """Return a choice and noise within a loss for graphs one node apart.

        Args:
            within: what they may lose.
            nodes: how many there may be.
            bounds: the candidates for a bound.

        """
        split = Split.of(Purse.within(within), _SHARE)
        return cls(
            nodes=nodes,
            bounds=tuple(bounds),
            penalties=split.root_penalties(bounds, _TENTHS),
            choice_scale=split.choice,
            flips=split.flips,
            noise=split.noise.noise(UNIT),
        )

    def plan(self) -> Plan:
        """Choose, then draw."""
        return InOrder.of(Use(self.choice, STEPS), Use(self.noise, UNIT))

    def release(self, data: Any, run: Runner) -> NDArray[np.int64]:
        """Return two integers: the bound, and about the number of edges of which a node has no more than that."""
        graph = graph_of(data, self.nodes)
        bound = self.bounds[self.chosen(graph, run)]
        # Twice the flow moves by twice the bound.
        noisy = int(run(self.noise, in_units(twice_flow(graph, bound), 2 * bound), stability=UNIT))
        return np.array([bound, from_units(noisy, bound)], dtype=np.int64)

"""A sum over the degrees of all nodes, where nodes are protected, with a bound on degrees that is chosen privately.

What a node of each degree is worth is a public table that never falls: with 1 for every degree from 1 on the sum is the
number of nodes that have an edge, with 1, 2, 3 each node counts by at most three of its edges. A bound is chosen by how
many nodes stand out above it, degrees are cut to it by the convex programme, and their worth is added up with noise for
one node. Cost: a maximum flow for each degree at which the table bends, on the nodes above the bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.exact import TupleOf, Whole
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.geometric import Geometric
from dither.privacy import InOrder, Loss, Plan, Use
from dither.publish.graphs.degree_flow import added_up
from dither.publish.graphs.examples import NODES, SOME_EDGES, node_neighbours
from dither.publish.graphs.simple_graph import SimpleGraph, graph_of
from dither.publish.graphs.standing_out import STEPS, UNIT, BoundChosen, Split, from_units, in_units

#: What of a loss the choice of the bound gets, and how much a large bound is set back.
_SHARE: Final = Fraction(3, 10)
_TENTHS: Final = 10
_MOST_DEGREES: Final = 256
_MOST_WORTH: Final = 2**20


def never_falls(worth: tuple[int, ...]) -> bool:
    """Whether no entry is below the one before, and the last is not 0."""
    return worth[-1] > 0 and all(one <= other for one, other in pairwise(worth))


def _examples() -> Iterator[Example]:
    for worth in ((1,), (0, 3, 5)):
        made = ChosenDegreeSum(
            nodes=NODES,
            worth=worth,
            bounds=(1, 2, 4),
            penalties=(0, 10, 30),
            choice_scale=2,
            noise=Geometric(scale=2 * UNIT),
        )
        yield Example(made, SOME_EDGES, node_neighbours())


@register(
    examples=_examples,
    source="Analyzing Graphs with Node Differential Privacy (Kasiviswanathan, Nissim, Raskhodnikova, Smith 2013), for "
    "concave sums over degrees; Lipschitz Extensions for Node-Private Graph Statistics and the Generalized Exponential "
    "Mechanism (Raskhodnikova, Smith 2016), for the programme",
)
@dataclass(frozen=True, kw_only=True)
class ChosenDegreeSum(BoundChosen):
    """Release a bound on degrees, and the sum of what cut degrees are worth, where nodes are protected.

    Guarantee: graphs that differ by all edges of one node lose epsilon = ``1 / choice_scale`` for the bound, and what
    ``noise`` loses at 2^34 for the sum.

    Args:
        nodes: how many there may be; public.
        worth: what a node of degree 1, 2, 3, ... counts, never falling; one of a higher degree counts as the last does,
            and one without an edge counts nothing; public.
        bounds: the candidates for a bound, rising; public.
        penalties: what each candidate is set back, in 64ths of a node; public.
        choice_scale: how many nodes more must stand out above a bound to make it e times less likely.
        flips: whether the bound is chosen by permute-and-flip; else by the exponential mechanism.
        noise: for the sum, which is put on a grid of which one node moves it by 2^34 steps.

    >>> from dither.privacy import PureDP
    >>> made = ChosenDegreeSum.calibrated(PureDP(1), nodes=1000, worth=(1, 2, 3), bounds=(1, 2, 4, 8))
    >>> made.loss(1).epsilon, made.moved(2), made.moved(8)
    (Fraction(1, 1), 4, 11)

    """

    name: ClassVar[str] = "chosen-degree-sum"
    version: ClassVar[int] = 1
    no_error_because: ClassVar[str] = "what degrees beyond the chosen bound are worth is missing, and that is private"
    no_interval_because: ClassVar[str] = no_error_because

    worth: TupleOf = TupleOf(
        Whole(most=_MOST_WORTH),
        most=_MOST_DEGREES,
        where=never_falls,
        rule=f"1 to {_MOST_DEGREES} integers up to {_MOST_WORTH}, none below the one before, the last not 0",
    )

    @classmethod
    def calibrated(cls, within: Loss, *, nodes: int, worth: Sequence[int], bounds: Sequence[int]) -> Self:
        """Return a choice and noise within a loss for graphs one node apart.

        Args:
            within: what they may lose.
            nodes: how many there may be.
            worth: what a node of degree 1, 2, 3, ... counts.
            bounds: the candidates for a bound.

        """
        split = Split.of(Purse.within(within), _SHARE)
        return cls(
            nodes=nodes,
            worth=worth,
            bounds=tuple(bounds),
            penalties=split.root_penalties(bounds, _TENTHS),
            choice_scale=split.choice,
            flips=split.flips,
            noise=split.noise.noise(UNIT),
        )

    def rises(self, bound: int) -> list[int]:
        """Return by how much the worth rises from each degree below a bound to the next."""
        return [other - one for one, other in pairwise((0, *self.worth[:bound]))]

    def moved(self, bound: int) -> int:
        """Return how far one node moves the sum, at most: what it is worth itself, and the steepest rise bound times.

        At least 1, where no degree within the bound is worth anything.
        """
        rises = self.rises(bound)
        return max(sum(rises) + bound * max(rises), 1)

    def summed(self, graph: SimpleGraph, bound: int) -> int:
        """Return the sum of what degrees cut to a bound are worth, which is private."""
        rises = self.rises(bound)
        # What nodes have up to a level counts by how much less the table rises above it than below.
        bends = {
            level: below - above
            for level, (below, above) in enumerate(pairwise((*rises, 0)), start=1)
            if below != above
        }
        values = added_up(graph, bound, list(bends))
        return sum(bend * value for bend, value in zip(bends.values(), values, strict=True))

    def plan(self) -> Plan:
        """Choose, then draw."""
        return InOrder.of(Use(self.choice, STEPS), Use(self.noise, UNIT))

    def release(self, data: Any, run: Runner) -> NDArray[np.int64]:
        """Return two integers: the bound, and about the sum over the degrees cut to it."""
        graph = graph_of(data, self.nodes)
        bound = self.bounds[self.chosen(graph, run)]
        noisy = int(run(self.noise, in_units(self.summed(graph, bound), self.moved(bound)), stability=UNIT))
        return np.array([bound, from_units(noisy, self.moved(bound))], dtype=np.int64)

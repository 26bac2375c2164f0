"""The number of triangles where nodes are protected, with a bound on the triangles at a node that is chosen privately.

Triangles are counted by a linear programme in which no node takes part in more than a bound. The bound is the one whose
count, less a multiple of itself, leads all others, each measured by how far one node moves it. Cost: a linear programme
for each candidate, over the triangles at nodes above it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.data.graphs import MOST_NODES
from dither.exact import Flag, Positive, TupleOf, Whole
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.purse import OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.relative_scores import RELATIVE_STEPS, relative_scores
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.exponential import Exponential
from dither.mechanisms.geometric import Geometric
from dither.mechanisms.permute_and_flip import PermuteAndFlip
from dither.privacy import NODE, InOrder, Loss, Plan, Unit, Use
from dither.publish.graphs.copy_blocks import Copies, triangles_of
from dither.publish.graphs.examples import NODES, SOME_EDGES, node_neighbours
from dither.publish.graphs.packing import PARTS, check_bounds, drawn_apart, moved, packed
from dither.publish.graphs.simple_graph import SimpleGraph, graph_of
from dither.publish.graphs.standing_out import UNIT, Bounds, Split, from_units, in_units

#: What of a loss the choice of the bound gets, and how many of its bounds a candidate is set back then.
_SHARE: Final = Fraction(1, 2)
_SCALES: Final = 4


def divided(within: Loss) -> dict[str, Any]:
    """Return a choice, with what it sets candidates back, and noise, which together stay within a loss."""
    split = Split.of(Purse.within(within), _SHARE)
    return {
        "penalty": min(round(_SCALES * split.choice), 2**30),
        "choice_scale": split.choice,
        "flips": split.flips,
        "noise": split.noise.noise(UNIT),
    }


def _examples() -> Iterator[Example]:
    made = ChosenTriangles(nodes=NODES, bounds=(1, 2, 4), penalty=2, choice_scale=4, noise=Geometric(scale=2 * UNIT))
    yield Example(made, SOME_EDGES, node_neighbours())


@register(
    examples=_examples,
    source="Lipschitz Extensions for Node-Private Graph Statistics and the Generalized Exponential Mechanism "
    "(Raskhodnikova, Smith 2016); Analyzing Graphs with Node Differential Privacy (Kasiviswanathan et al. 2013)",
)
@dataclass(frozen=True, kw_only=True)
class ChosenTriangles(Composed[Any, Any]):
    """Release a bound on the triangles at a node, and the number of triangles within it, where nodes are protected.

    Guarantee: graphs that differ by all edges of one node lose epsilon = ``1 / choice_scale`` for the bound, and what
    ``noise`` loses at 2^34 for the number.

    Args:
        nodes: how many there may be; public.
        bounds: the candidates for a bound, rising; public.
        penalty: how many of its bounds a candidate is set back; public.
        choice_scale: the scale of the choice, in units of relative scores.
        flips: whether the bound is chosen by permute-and-flip; else by the exponential mechanism.
        noise: for the count, which is put on a grid of which one node moves it by 2^34 steps.

    >>> from dither.privacy import PureDP
    >>> ChosenTriangles.calibrated(PureDP(1), nodes=1000, bounds=(16, 32, 64)).loss(1).epsilon
    Fraction(1, 1)

    """

    name: ClassVar[str] = "chosen-triangles"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "triangles beyond the chosen bound are missing, and how many is private"
    no_interval_because: ClassVar[str] = no_error_because

    nodes: Whole = Whole(least=2, most=MOST_NODES)
    bounds: TupleOf = Bounds()
    penalty: Whole = Whole(most=2**30)
    choice_scale: Positive = Positive(least=Fraction(1, 2**60), most=2**200)
    flips: Flag = Flag(True)
    noise: OneCount = OneCount()

    def __post_init__(self) -> None:
        check_bounds(self.nodes, self.bounds)

    @classmethod
    def calibrated(cls, within: Loss, *, nodes: int, bounds: Sequence[int]) -> Self:
        """Return a choice and noise within a loss for graphs one node apart.

        Args:
            within: what they may lose.
            nodes: how many there may be.
            bounds: the candidates for a bound.

        """
        return cls(nodes=nodes, bounds=tuple(bounds), **divided(within))

    @property
    def distance(self) -> Unit:
        """One node with all its edges."""
        return NODE

    @property
    def choice(self) -> PermuteAndFlip | Exponential:
        """The choice of a bound by relative scores, which move by half a unit either way."""
        kind = PermuteAndFlip if self.flips else Exponential
        return kind(candidates=len(self.bounds), scale=RELATIVE_STEPS * self.choice_scale)

    def copies(self, graph: SimpleGraph) -> Copies:
        """Return the nodes of all triangles, which are private."""
        return triangles_of(graph)

    def plan(self) -> Plan:
        """Choose, then draw."""
        return InOrder.of(Use(self.choice, RELATIVE_STEPS // 2), Use(self.noise, UNIT))

    def release(self, data: Any, run: Runner) -> NDArray[np.int64]:
        """Return two integers: the bound, and about the number of triangles of which a node has no more than that."""
        copies = self.copies(graph_of(data, self.nodes))
        values = [packed(copies, bound) for bound in self.bounds]
        scores = relative_scores(values, [drawn_apart(bound) for bound in self.bounds], self.penalty)
        place = int(run(self.choice, scores, stability=RELATIVE_STEPS // 2))
        bound = self.bounds[place]
        noisy = int(run(self.noise, in_units(values[place], moved(bound)), stability=UNIT))
        return np.array([bound, from_units(noisy, moved(bound), PARTS)], dtype=np.int64)

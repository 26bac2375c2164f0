"""The degree vector of a graph: the degree of every node at once.

For degrees by node, where the nodes are public. One edge moves two degrees by 1 each, so all degrees together cost what
two counts cost: a loss is not divided by the number of nodes. Cost: linear. Correction: the printed Graph Update splits
epsilon over its queries, one a node, and adds noise hundreds of times as wide.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dither.data.graphs import MOST_NODES
from dither.exact import Number, Whole
from dither.mechanisms.core.mechanism import Bound, Composed, Interval, Numerics
from dither.mechanisms.core.purse import CountNoise, OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.privacy import EDGE, Loss, Plan, Unit, Use
from dither.publish.graphs.by_degrees import degrees_of
from dither.publish.graphs.examples import NODES, SOME_EDGES, edge_neighbours


def moved_degrees(*, is_pure: bool) -> Fraction:
    """Return how far one edge moves the vector of degrees: 2 in L1, and less than 17/12 in L2.

    >>> moved_degrees(is_pure=False) ** 2 > 2
    True
    """
    return Fraction(2) if is_pure else Fraction(17, 12)


@dataclass(frozen=True, kw_only=True)
class NoisyDegrees(Composed[Any, Any]):
    """The degrees of all nodes, in whatever order, with noise for each of them: one draw."""

    nodes: Whole = Whole(least=2, most=MOST_NODES)
    node: OneCount = OneCount()

    @classmethod
    def calibrated(cls, within: Loss, *, nodes: int) -> Self:
        """Return the least noise within a loss for graphs one edge apart.

        Args:
            within: what they may lose.
            nodes: their number.

        """
        purse = Purse.within(within)
        return cls(nodes=nodes, node=purse.noise(moved_degrees(is_pure=True), moved_degrees(is_pure=False)))

    @property
    def distance(self) -> Unit:
        """One edge."""
        return EDGE

    @property
    def takes_degrees(self) -> bool:
        """Whether the input may be a row of degrees."""
        return True

    @property
    def part(self) -> CountNoise:
        """The noise for all degrees."""
        return replace(self.node, shape=(self.nodes,))

    def plan(self) -> Plan:
        """One draw."""
        return Use(self.part, self.stability)

    @property
    def stability(self) -> Fraction:
        """How far one edge moves the degrees, in the distance of the noise."""
        return moved_degrees(is_pure=isinstance(self.node, Geometric))


def _examples() -> Iterator[Example]:
    yield Example(DegreeVector(nodes=NODES, node=Geometric(scale=2)), SOME_EDGES, edge_neighbours())
    yield Example(DegreeVector(nodes=NODES, node=DiscreteGaussian(sigma=2)), SOME_EDGES, edge_neighbours())


@register(
    examples=_examples,
    source="Differential Privacy and Applications (Zhu et al. 2017), section 9.4, whose queries it answers",
)
@dataclass(frozen=True, kw_only=True)
class DegreeVector(NoisyDegrees):
    """Release the degree of every node, each with its own noise.

    Guarantee: graphs ``d_in`` edges apart lose what ``node`` loses at ``2 d_in`` for geometric noise, and at
    ``17/12 d_in`` (above the root of 2) for Gaussian noise.

    Args:
        nodes: their number; public.
        node: the noise for one degree.

    >>> from dither.privacy import PureDP
    >>> DegreeVector.calibrated(PureDP(1), nodes=1000).loss(1)
    PureDP('1')

    """

    name: ClassVar[str] = "degree-vector"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    def error(self, confidence: Number) -> Bound:
        """Return the bound of the noise on all degrees at once."""
        return self.part.error(confidence)

    def interval(self, out: Any, confidence: Number) -> Interval:
        """Return intervals for all degrees at once."""
        return self.part.interval(out, confidence)

    def release(self, data: Any, run: Runner) -> NDArray[np.int64]:
        """Return the noisy degrees, by the number of the node."""
        return np.asarray(run(self.part, degrees_of(data, self.nodes), stability=self.stability))

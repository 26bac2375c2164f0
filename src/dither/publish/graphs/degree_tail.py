"""The degrees of a graph by how many nodes have more than 0, 1, 2, ... edges, without the nodes they belong to.

For degree distributions and plots, and for drawing graphs. One edge moves two of these numbers by 1, or one of them by
2, as it moves two degrees by 1. But here noise blurs numbers of nodes, which are large where degrees are small, and not
the degrees themselves. On real graphs the distribution is about ten times closer than from the degrees in order
(``degree-sequence``). Cost: linear in the nodes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.data.graphs import MOST_NODES
from dither.estimate.isotonic import isotonic
from dither.exact import Whole
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.purse import CountNoise, OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.privacy import EDGE, Loss, Plan, Unit, Use
from dither.publish.graphs.by_degrees import degrees_of as given_degrees
from dither.publish.graphs.examples import NODES, SOME_EDGES, edge_neighbours
from dither.publish.graphs.simple_graph import Ints
from dither.publish.histograms.common import variance_of

#: How far one edge moves all numbers, in L1, and in L2 where its ends have equal degrees.
MOVED: Final = 2
#: A level is taken for nothing if it is below this many deviations of its mean.
_DEVIATIONS: Final = 3.0


def _examples() -> Iterator[Example]:
    yield Example(DegreeTail(nodes=NODES, node=Geometric(scale=2)), SOME_EDGES, edge_neighbours())
    yield Example(DegreeTail(nodes=NODES, node=DiscreteGaussian(sigma=2)), SOME_EDGES, edge_neighbours())


@register(
    examples=_examples,
    source="Calibrating Data to Sensitivity in Private Data Analysis (Proserpio, Goldberg, McSherry 2014), the degree "
    "query; Accurate Estimation of the Degree Distribution of Private Networks (Hay, Li, Miklau, Jensen 2009)",
)
@dataclass(frozen=True, kw_only=True)
class DegreeTail(Composed[Any, NDArray[np.float64]]):
    """Release how many nodes have more than 0, 1, 2, ... edges, as degrees in increasing order.

    Guarantee: graphs ``d_in`` edges apart lose what ``node`` loses at ``2 d_in``.

    Args:
        nodes: their number; public.
        node: the noise for one number of nodes.

    >>> from dither.privacy import PureDP
    >>> DegreeTail.calibrated(PureDP(1), nodes=1000).node.scale
    Fraction(2, 1)

    """

    name: ClassVar[str] = "degree-tail"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "how much the order helps depends on how many degrees are rare"
    no_interval_because: ClassVar[str] = no_error_because

    nodes: Whole = Whole(least=2, most=MOST_NODES)
    node: OneCount = OneCount()

    @classmethod
    def calibrated(cls, within: Loss, *, nodes: int) -> Self:
        """Return the least noise within a loss for graphs one edge apart.

        Args:
            within: what they may lose.
            nodes: their number.

        """
        return cls(nodes=nodes, node=Purse.within(within).noise(MOVED))

    @property
    def distance(self) -> Unit:
        """One edge."""
        return EDGE

    @property
    def part(self) -> CountNoise:
        """The noise for all numbers."""
        return replace(self.node, shape=(self.nodes - 1,))

    @property
    def takes_degrees(self) -> bool:
        """Degrees are enough."""
        return True

    def plan(self) -> Plan:
        """One draw."""
        return Use(self.part, MOVED)

    def release(self, data: Any, run: Runner) -> NDArray[np.float64]:
        """Return the degrees in increasing order: from 0 to nodes - 1, in whole numbers."""
        exact = more_than(given_degrees(data, self.nodes))
        noisy = np.asarray(run(self.part, exact, stability=MOVED), dtype=np.float64)
        return degrees_of(fallen(noisy, math.sqrt(variance_of(self.part)), self.nodes), self.nodes)


def more_than(degrees: Ints) -> Ints:
    """Return how many nodes have more than 0, 1, ... edges, up to one less than the number of nodes.

    >>> more_than(np.array([0, 1, 3, 3])).tolist()
    [3, 2, 2]
    """
    many = np.bincount(degrees, minlength=len(degrees))
    return len(degrees) - np.cumsum(many)[: len(degrees) - 1].astype(np.int64)


def fallen(noisy: NDArray[np.float64], deviation: float, nodes: int) -> Ints:
    """Return the nearest falling sequence, in whole numbers from 0 to ``nodes``.

    Where it is level over many places and lower than its mean is blurred, no node has that degree: it ends there. Else
    noise over thousands of degrees that do not occur would make a hub.
    """
    falling = -isotonic(-noisy)
    # Means of one level may differ in their last bits.
    starts = np.concatenate([[0], np.flatnonzero(np.diff(falling) < -1e-9) + 1])
    lengths = np.diff(np.concatenate([starts, [len(falling)]]))
    is_nothing = falling[starts] < _DEVIATIONS * deviation / np.sqrt(lengths)
    # Only ends are cut: a short level before a longer one may be low by chance.
    last = len(starts) - int(np.argmin(is_nothing[::-1])) if not is_nothing.all() else 0
    kept = np.where(np.arange(len(falling)) < (starts[last] if last < len(starts) else len(falling)), falling, 0.0)
    return np.asarray(np.rint(np.clip(kept, 0, nodes)), dtype=np.int64)


def degrees_of(falling: Ints, nodes: int) -> NDArray[np.float64]:
    """Return the degrees in increasing order, given how many are above 0, 1, ...

    >>> degrees_of(np.array([3, 2, 2]), 4).tolist()
    [0.0, 1.0, 3.0, 3.0]
    """
    # The node at place j from the top has as many edges as there are numbers above j.
    above = np.searchsorted(-falling, -np.arange(nodes), side="left")
    return above[::-1].astype(np.float64)

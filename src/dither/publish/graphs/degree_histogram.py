"""The degree histogram of a graph: how many nodes have each degree, with noise on every count.

For single cells with intervals, such as the number of nodes without an edge. One edge moves two nodes by one cell each:
four counts by 1. For the whole distribution ``degree-sequence`` is better: its noise is half as wide and averages out.
Cost: linear.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dither.exact import Number
from dither.mechanisms.core.mechanism import Bound, Interval, Numerics
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.privacy import Loss
from dither.publish.graphs.by_degrees import degrees_of
from dither.publish.graphs.degree_vector import NoisyDegrees
from dither.publish.graphs.examples import NODES, SOME_EDGES, edge_neighbours


def moved_cells(*, is_pure: bool) -> Fraction:
    """Return how far one edge moves the histogram of degrees: 4 in L1, and less than 17/6 in L2.

    >>> moved_cells(is_pure=False) ** 2 > 8
    True
    """
    return Fraction(4) if is_pure else Fraction(17, 6)


def _examples() -> Iterator[Example]:
    yield Example(DegreeHistogram(nodes=NODES, node=Geometric(scale=4)), SOME_EDGES, edge_neighbours())
    yield Example(DegreeHistogram(nodes=NODES, node=DiscreteGaussian(sigma=3)), SOME_EDGES, edge_neighbours())


@register(
    examples=_examples,
    source="Differential Privacy and Applications (Zhu et al. 2017), sections 9.2 and 9.4",
)
@dataclass(frozen=True, kw_only=True)
class DegreeHistogram(NoisyDegrees):
    """Release how many nodes have each degree from 0 to nodes - 1, each count with its own noise.

    Guarantee: graphs ``d_in`` edges apart lose what ``node`` loses at ``4 d_in`` for geometric noise, and at
    ``17/6 d_in`` (above the root of 8) for Gaussian noise.

    Args:
        nodes: their number; public.
        node: the noise for one count.

    >>> from dither.privacy import PureDP
    >>> DegreeHistogram.calibrated(PureDP(1), nodes=1000).node.scale
    Fraction(4, 1)

    """

    name: ClassVar[str] = "degree-histogram"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    @classmethod
    def calibrated(cls, within: Loss, *, nodes: int) -> Self:
        """Return the least noise within a loss for graphs one edge apart.

        Args:
            within: what they may lose.
            nodes: their number.

        """
        purse = Purse.within(within)
        return cls(nodes=nodes, node=purse.noise(moved_cells(is_pure=True), moved_cells(is_pure=False)))

    @property
    def stability(self) -> Fraction:
        """How far one edge moves the histogram, in the distance of the noise."""
        return moved_cells(is_pure=isinstance(self.node, Geometric))

    def error(self, confidence: Number) -> Bound:
        """Return the bound of the noise on all counts at once."""
        return self.part.error(confidence)

    def interval(self, out: Any, confidence: Number) -> Interval:
        """Return intervals for all counts at once."""
        return self.part.interval(out, confidence)

    def release(self, data: Any, run: Runner) -> NDArray[np.int64]:
        """Return the noisy numbers of nodes, by degree."""
        cells = np.bincount(degrees_of(data, self.nodes), minlength=self.nodes)
        return np.asarray(run(self.part, cells, stability=self.stability))

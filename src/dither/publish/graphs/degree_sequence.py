"""The degree sequence of a graph: the degrees in increasing order, without the nodes they belong to.

For degree distributions and plots. One edge moves two degrees by 1 each, however many nodes there are, and the known
order takes most of the noise away again. Cost: one sort and linear time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dither.estimate.isotonic import isotonic
from dither.mechanisms.core.mechanism import Numerics
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.geometric import Geometric
from dither.publish.graphs.by_degrees import degrees_of
from dither.publish.graphs.degree_vector import NoisyDegrees
from dither.publish.graphs.examples import NODES, SOME_EDGES, edge_neighbours


def _examples() -> Iterator[Example]:
    yield Example(DegreeSequence(nodes=NODES, node=Geometric(scale=2)), SOME_EDGES, edge_neighbours())


@register(
    examples=_examples,
    source="Accurate Estimation of the Degree Distribution of Private Networks (Hay, Li, Miklau, Jensen 2009); "
    "Differential Privacy and Applications (Zhu et al. 2017), sections 4.4.1 and 9.3.2",
)
@dataclass(frozen=True, kw_only=True)
class DegreeSequence(NoisyDegrees):
    """Release the degrees of all nodes in increasing order.

    Guarantee: graphs ``d_in`` edges apart lose what ``node`` loses at ``2 d_in`` for geometric noise, and at
    ``17/12 d_in`` (above the root of 2) for Gaussian noise.

    Args:
        nodes: their number; public.
        node: the noise for one degree.

    >>> from dither.privacy import PureDP
    >>> DegreeSequence.calibrated(PureDP(1), nodes=1000).node.scale
    Fraction(2, 1)

    """

    name: ClassVar[str] = "degree-sequence"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "how much the order helps depends on how many degrees are equal"
    no_interval_because: ClassVar[str] = no_error_because

    def release(self, data: Any, run: Runner) -> NDArray[np.float64]:
        """Return the nearest sequence of degrees in order: from 0 to nodes - 1, in whole numbers."""
        ordered = np.sort(degrees_of(data, self.nodes))
        noisy = np.asarray(run(self.part, ordered, stability=self.stability), dtype=np.float64)
        return np.rint(np.clip(isotonic(noisy), 0, self.nodes - 1))

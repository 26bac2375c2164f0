"""A stochastic Kronecker graph with the moments of this one: edges, wedges, three-stars and triangles.

A model of three numbers, there for reference: it follows heavy tails, and has hardly any triangles. Moments of degrees
come from the released sequence; triangles from a ladder. Cost: the count of triangles, and linear in the synthetic
edges times the logarithm of the nodes. Correction: Mir and Wright add smooth Laplace noise to triangles, with a delta;
the ladder needs none.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

import numpy as np

from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.geometric import Geometric
from dither.privacy import Loss
from dither.publish.graphs.degree_tail import MOVED
from dither.publish.graphs.examples import NODES, SOME_EDGES, edge_neighbours
from dither.publish.graphs.simple_graph import Ints
from dither.publish.graphs.synthesis.drawn import OfDegreesAndTriangles, limit_of, shares_of
from dither.publish.graphs.synthesis.settled import Floats, Settled
from dither.publish.graphs.synthesis.wiring import edges_of

Initiator = tuple[float, float, float]
#: Rounds of the fit, places tried for each number in a round, and rounds in which pairs that repeat are drawn again.
_FITS: Final = 14
_PLACES: Final = 5
_DRAWS: Final = 12


def _examples() -> Iterator[Example]:
    made = KroneckerGraph(nodes=NODES, most=21, node=Geometric(scale=2), scale=4)
    yield Example(made, SOME_EDGES, edge_neighbours())


@register(
    examples=_examples,
    source="A Differentially Private Estimator for the Stochastic Kronecker Graph Model (Mir, Wright 2012), with the "
    "moments of Gleich and Owen (2012); the Saskatchewan thesis, section 4.2",
    reference=True,
)
@dataclass(frozen=True, kw_only=True)
class KroneckerGraph(OfDegreesAndTriangles):
    """Draw a stochastic Kronecker graph whose moments are those of this graph, as far as three numbers can.

    Guarantee: graphs ``d_in`` edges apart lose what ``node`` loses at ``2 d_in``, and epsilon = ``2 d_in / scale`` or
    its rho, added up.

    Args:
        nodes: their number; public.
        most: the most edges that are drawn; public.
        node: the noise for one number of nodes of more than some degree.
        scale: how slowly the rungs of the ladder of triangles lose weight.

    >>> from dither.privacy import PureDP
    >>> KroneckerGraph.calibrated(PureDP(1), nodes=1000).loss(1) <= PureDP(1)
    True

    """

    name: ClassVar[str] = "kronecker-graph"
    version: ClassVar[int] = 2

    @classmethod
    def calibrated(cls, within: Loss, *, nodes: int, most: int | None = None) -> Self:
        """Return the least noise within a loss for graphs one edge apart: half for degrees, half for triangles.

        Args:
            within: what they may lose.
            nodes: their number.
            most: the most edges that are drawn; by default what the nodes allow.

        """
        degrees, triangles = shares_of(within, "1/2", "1/2")
        return cls(nodes=nodes, most=limit_of(nodes, most), node=degrees.noise(MOVED), scale=triangles.choice())

    def release(self, data: Any, run: Runner) -> Ints:
        """Return synthetic edges, the smaller end first, in order."""
        degrees = np.asarray(run(self.sequence, data), dtype=np.float64)
        triangles = float(run(self.triangles, data))
        wedges, pins = degrees * (degrees - 1) / 2, degrees * (degrees - 1) * (degrees - 2) / 6
        seen = np.array([degrees.sum() / 2, wedges.sum(), pins.sum(), max(triangles, 0.0)])
        levels = max(math.ceil(math.log2(self.nodes)), 1)
        initiator = fitted(seen, levels)
        count = min(round(float(moments(initiator, levels)[0])), self.most)
        keys = _drawn(initiator, levels, self.nodes, count, Settled(seen))
        return edges_of(keys, self.nodes, self.most)


def moments(initiator: Initiator, levels: int) -> Floats:
    """Return the mean numbers of edges, wedges, three-stars and triangles of a stochastic Kronecker graph.

    Args:
        initiator: a, b, c of the symmetric matrix ((a, b), (b, c)), each from 0 to 1.
        levels: how often it is multiplied by itself; there are 2 to that power nodes.

    """
    a, b, c = initiator
    k = levels
    edges = ((a + 2 * b + c) ** k - (a + c) ** k) / 2
    wedges = (
        ((a + b) ** 2 + (b + c) ** 2) ** k
        - 2 * (a * (a + b) + c * (b + c)) ** k
        - (a**2 + 2 * b**2 + c**2) ** k
        + 2 * (a**2 + c**2) ** k
    ) / 2
    pins = (
        ((a + b) ** 3 + (b + c) ** 3) ** k
        - 3 * (a * (a + b) ** 2 + c * (b + c) ** 2) ** k
        - 3 * (a**3 + c**3 + b * (a**2 + c**2) + b**2 * (a + c) + 2 * b**3) ** k
        + 2 * (a**3 + 2 * b**3 + c**3) ** k
        + 3 * (a**3 + c**3 + b**2 * (a + c)) ** k
        + 6 * (a**3 + c**3 + b * (a**2 + c**2)) ** k
        - 6 * (a**3 + c**3) ** k
    ) / 6
    triangles = (
        (a**3 + 3 * b**2 * (a + c) + c**3) ** k
        - 3 * (a * (a**2 + b**2) + c * (b**2 + c**2)) ** k
        + 2 * (a**3 + c**3) ** k
    ) / 6
    return np.array([edges, wedges, pins, triangles])


def fitted(seen: Floats, levels: int) -> Initiator:
    """Return the numbers whose moments have the least squared relative differences: a search on ever finer grids."""
    best, width = (0.5, 0.5, 0.5), 0.5
    steps = np.linspace(-1.0, 1.0, _PLACES)
    for _ in range(_FITS):
        axes = [np.clip(middle + width * steps, 0.0, 1.0) for middle in best]
        a, b, c = np.meshgrid(*axes, indexing="ij")
        had = moments((a, b, c), levels)  # type: ignore[arg-type]
        off = sum(((had[place] - seen[place]) / max(float(seen[place]), 1.0)) ** 2 for place in range(len(seen)))
        place = np.unravel_index(int(np.argmin(off)), a.shape)
        best = float(a[place]), float(b[place]), float(c[place])
        width *= 0.65
    # Large numbers first, so that nodes of small number have many edges.
    return best if best[0] >= best[2] else best[::-1]


def _drawn(initiator: Initiator, levels: int, nodes: int, count: int, numbers: Settled) -> Ints:
    """Return the keys of about that many different pairs, each drawn by a descent through the levels."""
    a, b, c = initiator
    whole = max(a + 2 * b + c, 1e-300)
    bounds = np.cumsum([a / whole, b / whole, b / whole])
    found = np.zeros(0, dtype=np.int64)
    for _ in range(_DRAWS):
        missing = count - len(found)
        if missing <= 0:
            break
        one, other = np.zeros(missing, dtype=np.int64), np.zeros(missing, dtype=np.int64)
        for _level in range(levels):
            part = np.searchsorted(bounds, numbers.random(missing), side="right")
            one, other = 2 * one + part // 2, 2 * other + part % 2
        is_pair = (one != other) & (np.maximum(one, other) < nodes)
        keys = np.minimum(one, other) * nodes + np.maximum(one, other)
        found = np.union1d(found, keys[is_pair])
    return found

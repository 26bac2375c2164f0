"""Gaussian multiplication: every weight times one minus a draw, by the people at its ends alone.

Needs no view of the whole network, so it fits networks that change. The length of a *fixed* path moves by at most its
own length times the largest draw, and by sigma times it in 68 % of the cases or more; the *shortest* length is a
minimum over paths and may fall further. A draw of 1 or more would turn a weight negative: draws are repeated until they
lie between -1 and 1, which keeps their mean at zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dither.disguise.labels import KENTUCKY
from dither.disguise.networks.contract import NetworkDisguise
from dither.disguise.networks.graph import Numbers, Weighted
from dither.errors import InvalidParameter
from dither.estimate.public_randomness import Generator, public_generator


@dataclass(frozen=True)
class ScaledWeights(NetworkDisguise):
    """Weights times 1 - x, x Gaussian: of one draw for a directed edge, the mean of both ends' draws otherwise.

    Args:
        sigma: the standard deviation of a draw before it is cut off at -1 and 1, from above 0 to 1.

    >>> round(ScaledWeights(0.1).deviation(directed=False), 4)
    0.0707

    """

    sigma: float

    name: ClassVar[str] = "Gaussian multiplication"
    source: ClassVar[str] = f"{KENTUCKY}, section 4.2"
    leaks: ClassVar[str] = "Every weight is known to within a few times the deviation, relative to itself."

    def __post_init__(self) -> None:
        if not 0 < self.sigma <= 1:
            raise InvalidParameter("sigma", self.sigma, "above 0 and at most 1")

    def deviation(self, *, directed: bool) -> float:
        """Return the standard deviation of the relative change: the mean of two draws has half of one's variance."""
        cut = 1 / self.sigma
        inside = math.erf(cut / math.sqrt(2))
        density = math.exp(-cut * cut / 2) / math.sqrt(2 * math.pi)
        variance = self.sigma**2 * (1 - 2 * cut * density / inside)
        return math.sqrt(variance if directed else variance / 2)

    def reweigh(self, graph: Weighted) -> tuple[Numbers, tuple[str, ...], tuple[tuple[str, float], ...]]:
        """Return the multiplied weights."""
        drawn = public_generator()
        change = _between(self.sigma, len(graph.weights), drawn)
        if not graph.directed:
            change = (change + _between(self.sigma, len(graph.weights), drawn)) / 2
        deviation = self.deviation(directed=graph.directed)
        done = (
            f"Every weight is multiplied by 1 minus a draw of standard deviation {deviation:.4g}, cut off at -1 and 1."
        )
        return graph.weights * (1 - change), (done,), (("standard deviation of a relative change", deviation),)


def _between(sigma: float, count: int, drawn: Generator) -> Numbers:
    """Return Gaussian draws between -1 and 1; at least two thirds of them are there at once."""
    out = drawn.normal(scale=sigma, size=count)
    while (beyond := np.abs(out) >= 1).any():
        out[beyond] = drawn.normal(scale=sigma, size=int(beyond.sum()))
    return out

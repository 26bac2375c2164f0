"""The planar Laplace mechanism: move a place in the plane by noise that falls off with distance.

Geo-indistinguishability, a relaxed notion: the unit is a place and the loss grows with how far it moves, so that nearby
places are hard to tell apart and distant ones are not. This is NOT differential privacy for a person's whole
contribution: two releases about one person add up, and a trace of places has no guarantee worth the name. Cost: five
draws a place. Correction: the paper computes in floats, which give the place away, and pays for a truncation; here the
released place is exactly the real mechanism rounded to a public grid.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dither.exact import Number, Positive, non_negative, probability
from dither.mechanisms.core.accuracy import share_of_failure
from dither.mechanisms.core.grid import Grid
from dither.mechanisms.core.mechanism import Bound, Interval, Numerics, Primitive
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.values import RealArray
from dither.mechanisms.core.vector_noise import gamma_reach, rounded_vectors, spherical_reach
from dither.noise import Noise
from dither.privacy import Loss, PureDP, Unit, laplace_scale, place

# Half the diagonal of a square of side one is at most this.
_HALF_DIAGONAL = 0.7072


def _examples() -> Iterator[Example]:
    yield Example(PlanarLaplace(scale=2, grid=4), np.array([0, 0]))
    yield Example(PlanarLaplace(scale=100), np.array([1.5, -2.25]), ((np.array([0, 0]), np.array([30, 40]), 50),))


@register(
    examples=_examples,
    source="Geo-Indistinguishability: Differential Privacy for Location-Based Systems (Andres et al. 2013), section 4",
    made_for={"radius": 1},
)
@dataclass(frozen=True, kw_only=True)
class PlanarLaplace(Primitive[Any, NDArray[Any]]):
    """Add noise of density proportional to e^(-|z| / scale) to a place in the plane, and round it to a square grid.

    Guarantee: places ``d_in`` apart, as the crow flies, lose epsilon = ``d_in / scale``. That is
    geo-indistinguishability and NOT plain differential privacy: far places are told apart.

    Args:
        scale: how far apart two places lose epsilon = 1; the noise is twice that long on average.
        grid: the side of the squares to whose centres places are rounded; by default a power of two near a thousandth
            of the scale.

    >>> PlanarLaplace(scale=200).loss(100), PlanarLaplace(scale=200).distance.is_relaxed
    (PureDP('1/2'), True)
    >>> print(PlanarLaplace(scale=200, grid=1).error(0.95))
    the distance between the true and the released place is at most 949... with probability 0.95

    """

    name: ClassVar[str] = "planar-laplace"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    scale: Positive = Positive()
    grid: Grid = Grid("scale")

    @classmethod
    def calibrated(cls, within: Loss, *, radius: Number, grid: Number | None = None) -> PlanarLaplace:
        """Return the mechanism with the least noise whose loss for places ``radius`` apart is within ``within``."""
        return cls(scale=laplace_scale(within, radius), grid=grid)

    @property
    def distance(self) -> Unit:
        """The distance that a place moves: a relaxed notion of privacy."""
        return place("euclidean")

    @property
    def domain(self) -> RealArray:
        """Two coordinates in a plane; latitudes and longitudes must be projected first."""
        return RealArray(self.draw_shape)

    @property
    def draw_shape(self) -> tuple[int, ...]:
        """Two coordinates."""
        return (2,)

    def loss(self, d_in: Number = 1) -> Loss:
        """Return epsilon = d_in / scale."""
        return PureDP(non_negative("d_in", d_in) / self.scale)

    def error(self, confidence: Number) -> Bound:
        """Return the reach of the noise plus half the diagonal of a square."""
        wanted = probability("confidence", confidence, open_below=True)
        reach = gamma_reach(2, self.scale, share_of_failure(wanted)) + _HALF_DIAGONAL * float(self.grid)
        return Bound(reach, wanted, "the distance between the true and the released place")

    def interval(self, out: NDArray[Any], confidence: Number) -> Interval:
        """Return the reach of the noise around both coordinates at once."""
        wanted = probability("confidence", confidence, open_below=True)
        reach = spherical_reach(2, self.scale, share_of_failure(wanted, 2)) + float(self.grid) / 2
        return Interval(out - reach, out + reach, wanted)

    def draw_many(self, value: Any, count: int, noise: Noise) -> NDArray[Any]:
        """Return draws of round(value + Z) to the grid."""
        return rounded_vectors(
            self.domain.admit(value),
            self.scale,
            self.grid,
            lambda width, steps: noise.rounded_spherical(width, steps.offset, steps.exact_offset, count),
        )

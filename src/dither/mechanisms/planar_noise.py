"""Planar noise: move each of many places in the plane, all at once, by planar Laplace noise of its own.

For reports of many people, or of one person at many times. The law of one place is that of ``planar_laplace``; here
places are rows, and ``d_in`` adds up how far all of them move: one place that moves by r loses r / scale, and T places
that move by r each lose T r / scale. Cost: five draws a place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dither.exact import Number, Positive, Whole, non_negative, probability
from dither.mechanisms.core.accuracy import share_of_failure
from dither.mechanisms.core.grid import Grid, Steps, on_grid, subdivision
from dither.mechanisms.core.mechanism import Bound, Interval, Numerics, Primitive
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.values import RealArray
from dither.mechanisms.core.vector_noise import gamma_reach, spherical_reach
from dither.noise import Noise
from dither.privacy import ROW_LENGTHS, Loss, Metric, PureDP, laplace_scale


def _examples() -> Iterator[Example]:
    yield Example(PlanarNoise(scale=2, grid=4), np.array([[0.0, 0.0]]))
    far = (np.array([[1.5, -2.25], [0.0, 0.0]]), np.array([[4.5, 1.75], [0.0, 12.0]]), 17)
    yield Example(PlanarNoise(places=2, scale=100), far[0], (far,))


@register(
    examples=_examples,
    source="Geo-Indistinguishability: Differential Privacy for Location-Based Systems (Andres et al. 2013), section 4",
    made_for={"radius": 1},
)
@dataclass(frozen=True, kw_only=True)
class PlanarNoise(Primitive[Any, NDArray[Any]]):
    """Add noise of density proportional to e^(-|z| / scale) to each of many places, and round it to a square grid.

    Guarantee: places that move by ``d_in`` together, all lengths added up, lose epsilon = ``d_in / scale``.

    Args:
        scale: how far one place moves for a loss of 1; its noise is twice that long on average.
        grid: the side of the squares to whose centres places are rounded; by default a power of two near a thousandth
            of the scale.
        places: how many rows there are; public.

    >>> PlanarNoise(places=3, scale=200).loss(100)
    PureDP('1/2')

    """

    name: ClassVar[str] = "planar-noise"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    scale: Positive = Positive()
    grid: Grid = Grid("scale")
    places: Whole = Whole(1, least=1, most=2**26)

    @classmethod
    def calibrated(cls, within: Loss, *, radius: Number, places: int = 1, grid: Number | None = None) -> PlanarNoise:
        """Return the mechanism with the least noise whose loss for one place moved by ``radius`` is ``within``."""
        return cls(scale=laplace_scale(within, radius), places=places, grid=grid)

    @property
    def distance(self) -> Metric:
        """How far all places move together."""
        return ROW_LENGTHS

    @property
    def domain(self) -> RealArray:
        """Two coordinates for each place."""
        return RealArray(self.draw_shape)

    @property
    def draw_shape(self) -> tuple[int, ...]:
        """A row for each place."""
        return (self.places, 2)

    def loss(self, d_in: Number = 1) -> Loss:
        """Return epsilon = d_in / scale."""
        return PureDP(non_negative("d_in", d_in) / self.scale)

    def error(self, confidence: Number) -> Bound:
        """Return the reach of the noise of all places plus half the diagonal of a square."""
        wanted = probability("confidence", confidence, open_below=True)
        # Half the diagonal of a square of side one is at most 0.7072.
        reach = gamma_reach(2, self.scale, share_of_failure(wanted, self.places)) + 0.7072 * float(self.grid)
        return Bound(reach, wanted, "the largest distance between a true and its released place")

    def interval(self, out: NDArray[Any], confidence: Number) -> Interval:
        """Return the reach of the noise around all coordinates at once."""
        wanted = probability("confidence", confidence, open_below=True)
        failure = share_of_failure(wanted, 2 * self.places)
        reach = spherical_reach(2, self.scale, failure) + float(self.grid) / 2
        return Interval(out - reach, out + reach, wanted)

    def draw_many(self, value: Any, count: int, noise: Noise) -> NDArray[Any]:
        """Return draws of round(value + Z) to the grid, with a vector Z for each place."""
        halvings = subdivision(self.scale, self.grid)
        steps = Steps.of(self.domain.admit(value), self.grid, halvings)
        offsets = np.tile(steps.offset.reshape(-1, 2), (count, 1))
        places = self.places
        drawn = noise.rounded_spherical_rows(
            self.scale / self.grid * 2**halvings,
            offsets,
            lambda row, column: steps.exact_offset(2 * (row % places) + column),
        )
        whole = np.tile(steps.whole.reshape(-1, 2), (count, 1))
        return on_grid(whole, drawn, self.grid, halvings).reshape(count, *self.draw_shape)

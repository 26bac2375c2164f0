"""Shared by mechanisms whose noise has density proportional to e^(-|z| / scale) for some norm."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from dither.exact import Number, Positive, non_negative
from dither.mechanisms.core.additive import Additive
from dither.mechanisms.core.grid import Grid
from dither.mechanisms.core.values import RealArray
from dither.privacy import Loss, PureDP, laplace_scale


@dataclass(frozen=True, kw_only=True)
class NormNoise(Additive):
    """Noise whose density falls by a factor of at most e^(d / scale) over a distance d in its own norm.

    A subclass names the norm as its ``distance``, and draws the noise.
    """

    scale: Positive = Positive()
    grid: Grid = Grid("scale")

    @classmethod
    def calibrated(
        cls, within: Loss, *, sensitivity: Number, grid: Number | None = None, shape: tuple[int, ...] = ()
    ) -> Self:
        """Return the mechanism with the least noise whose loss at ``sensitivity`` is within ``within``."""
        return cls(scale=laplace_scale(within, sensitivity), grid=grid, shape=shape)

    @property
    def width(self) -> Fraction:
        """The scale, for subclasses: a property, because type checkers lose inherited checked fields."""
        return self.scale

    @property
    def step(self) -> Fraction:
        """The grid, for subclasses."""
        return self.grid

    @property
    def domain(self) -> RealArray:
        """Real numbers of the declared shape."""
        return RealArray(self.draw_shape)

    def loss(self, d_in: Number = 1) -> Loss:
        """Return epsilon = d_in / scale."""
        return PureDP(non_negative("d_in", d_in) / self.scale)

"""Noise for cells: sums over disjoint cells, of which one record moves few, bounded in L1 or in L2.

A pure target buys geometric noise, which asks for the L1 bound; any other buys discrete Gaussian noise, which asks for
the L2 bound. Where a record moves one cell of many, both are the same and the number of cells costs nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Field, round_up, sqrt_up
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.mechanisms.runner import Runner

CellPart = Geometric | DiscreteGaussian


class CellPartField(Field[Any, CellPart]):
    """Noise of one number, of which a learner makes noise of all cells."""

    def convert(self, name: str, value: Any) -> CellPart:
        """Return the noise."""
        if not isinstance(value, Geometric | DiscreteGaussian) or value.shape != ():
            raise InvalidParameter(name, value, "Geometric or DiscreteGaussian noise of one number")
        return value


@dataclass(frozen=True)
class Moves:
    """How far one record moves a vector of cells: in L1, and the square of how far in L2."""

    absolute: int
    squared: int

    def stability(self, noise: CellPart, touched: int) -> Fraction:
        """Return how far a unit of so many records moves it, in the distance of the noise."""
        if isinstance(noise, Geometric):
            return Fraction(touched * self.absolute)
        return self._length(touched)

    def noise_for(self, amount: Fraction, touched: int, *, is_pure: bool) -> CellPart:
        """Return the noise that costs this amount: an epsilon where the target is pure, a rho otherwise."""
        if is_pure:
            return Geometric(scale=round_up(Fraction(touched * self.absolute) / amount, bits=64))
        return DiscreteGaussian(sigma=round_up(self._length(touched) * sqrt_up(1 / (2 * amount)), bits=64))

    def _length(self, touched: int) -> Fraction:
        root = math.isqrt(self.squared)
        exact = Fraction(root) if root * root == self.squared else round_up(sqrt_up(Fraction(self.squared)), bits=40)
        return touched * exact


def deviation(noise: CellPart) -> float:
    """Return the standard deviation of the noise of one cell, or a little more."""
    return math.sqrt(2) * float(noise.scale) if isinstance(noise, Geometric) else float(noise.sigma)


def of_shape(noise: CellPart, shape: tuple[int, ...]) -> CellPart:
    """Return the noise of an array of this shape."""
    return replace(noise, shape=shape)


def noisy_cells(run: Runner, noise: CellPart, value: NDArray[np.int64], stability: Fraction) -> NDArray[np.float64]:
    """Return a noisy copy of an array of whole numbers, as floats."""
    return np.asarray(run(of_shape(noise, value.shape), value, stability=stability), dtype=np.float64)

"""Noise for sums over disjoint cells, of which one record moves few, bounded in L1 or in L2.

A pure target buys geometric noise, which asks for the L1 bound; any other buys discrete Gaussian noise, which asks for
the L2 bound. Where a record moves one cell of many, both are the same and the number of cells costs nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dither.exact import round_up, sqrt_up
from dither.mechanisms.core.purse import CountNoise, Purse
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.geometric import Geometric


@dataclass(frozen=True)
class Moves:
    """How far one record moves a vector of cells: in L1, and squared in L2."""

    absolute: int
    squared: int

    def stability(self, noise: CountNoise, touched: int = 1) -> Fraction:
        """Return how far a unit of ``touched`` records moves the vector, in the metric of the noise."""
        if isinstance(noise, Geometric):
            return Fraction(touched * self.absolute)
        return self._length(touched)

    def noise(self, purse: Purse, touched: int = 1) -> CountNoise:
        """Return the noise that spends the whole purse on a unit of ``touched`` records."""
        return purse.noise(l1=touched * self.absolute, l2=self._length(touched))

    def _length(self, touched: int) -> Fraction:
        root = math.isqrt(self.squared)
        exact = Fraction(root) if root * root == self.squared else round_up(sqrt_up(Fraction(self.squared)), bits=40)
        return touched * exact


def deviation(noise: CountNoise) -> float:
    """Return the standard deviation of the noise of one cell, rounded up."""
    return math.sqrt(2) * float(noise.scale) if isinstance(noise, Geometric) else float(noise.sigma)


def of_shape(noise: CountNoise, shape: tuple[int, ...]) -> CountNoise:
    """Return the noise of an array of this shape."""
    return replace(noise, shape=shape)


def noisy_cells(run: Runner, noise: CountNoise, value: NDArray[np.int64], stability: Fraction) -> NDArray[np.float64]:
    """Return a noisy copy of an array of integers, as floats."""
    return np.asarray(run(of_shape(noise, value.shape), value, stability=stability), dtype=np.float64)

"""Shared by mechanisms whose noise is one vector: the draw, and the reach of the noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.exact import to_float
from dither.mechanisms.core.grid import Steps, on_grid, subdivision
from dither.noise.laplace import Integers

# Quantiles are widened by this share, far above the error of the float functions that compute them.
_OUTWARDS = 1 + 1e-6


def rounded_vectors(
    values: NDArray[Any], scale: Fraction, grid: Fraction, draw: Callable[[Fraction, Steps], Integers]
) -> NDArray[Any]:
    """Return rows round(values + Z), rounded to the grid.

    Args:
        values: canonical values (see ``values.RealArray``), flat.
        scale: the scale of Z.
        grid: the step of the released numbers.
        draw: gives rows floor(offset + Z), for the scale in steps and the split values.

    """
    halvings = subdivision(scale, grid)
    steps = Steps.of(values, grid, halvings)
    return on_grid(steps.whole, draw(scale / grid * 2**halvings, steps), grid, halvings)


def gamma_reach(shape: int, scale: Fraction, failure: float) -> float:
    """Return x with P[R > x] <= failure for a Gamma variable R: the norm of a noise vector with that many entries."""
    from scipy.special import gammainccinv

    return to_float(scale, "up") * float(gammainccinv(shape, failure)) * _OUTWARDS


def spherical_reach(entries: int, scale: Fraction, failure: float) -> float:
    """Return x with P[|Z_i| > x] <= failure for one entry of a vector with density proportional to e^(-|z| / scale).

    The better of two bounds: an entry is no longer than its vector; and E[e^(t Z_i)] = (1 - t^2)^(-(d + 1) / 2) for t
    below 1, so that every such t gives one by Markov's inequality.
    """
    t = np.linspace(0.001, 0.999, 999)
    markov = (math.log(2 / failure) - (entries + 1) / 2 * np.log1p(-t * t)) / t
    return min(to_float(scale, "up") * float(markov.min()) * _OUTWARDS, gamma_reach(entries, scale, failure))

"""Noise for vectors whose change is bounded in L2: of integers, or of real numbers on a public grid."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from dither.exact import Number, Of
from dither.mechanisms.core.additive import Additive
from dither.mechanisms.core.purse import Purse, one_number, width_of
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.gamma_norm import GammaNorm
from dither.mechanisms.gaussian import Gaussian

AnyNoise: TypeAlias = DiscreteGaussian | Gaussian | GammaNorm


class OneReal(Of[Gaussian | GammaNorm]):
    """Noise of one real number, from which noise for a vector is built."""

    def __init__(self) -> None:
        super().__init__(Gaussian, GammaNorm, **one_number(Gaussian, GammaNorm))

    def samples(self, kept: Any = None) -> Iterator[Any]:
        """Return noise of both kinds, as wide and twice as wide."""
        width = width_of(kept)
        yield from self._accepted(Gaussian(sigma=width), GammaNorm(scale=width), Gaussian(sigma=2 * width))


def real_noise(purse: Purse, l2: Number) -> Gaussian | GammaNorm:
    """Return the noise that spends the whole purse on a vector of real numbers that moves by ``l2``."""
    return GammaNorm(scale=purse.norm_scale(l2)) if purse.is_pure else Gaussian(sigma=purse.gaussian_sigma(l2))


def spread_of(noise: AnyNoise, entries: int) -> float:
    """Return the standard deviation of one entry of a noise vector with ``entries`` entries."""
    if isinstance(noise, GammaNorm):
        return float(noise.width) * math.sqrt(entries + 1)
    return float(noise.sigma)


N = TypeVar("N", bound=Additive)


def shaped(noise: N, entries: int) -> N:
    """Return the noise of a vector with ``entries`` entries."""
    return replace(noise, shape=(entries,))


def noisy(run: Runner, noise: AnyNoise, value: NDArray[np.int64], stability: Number) -> NDArray[np.float64]:
    """Return a noisy copy of an array of integers, as floats."""
    drawn = run(shaped(noise, value.size), value.ravel(), stability=stability)
    return np.asarray(drawn, dtype=np.float64).reshape(value.shape)

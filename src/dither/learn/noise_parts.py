"""What learners buy with a budget: noise for vectors of whole numbers whose change is bounded in L2.

An amount is rho, or epsilon where the target is pure. It buys discrete Gaussian noise, or a vector whose length is a
Gamma variable, released on a public grid.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Field, Number, exact, round_up, sqrt_up
from dither.mechanisms.additive import Additive
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.gamma_norm import GammaNorm
from dither.mechanisms.gaussian import Gaussian
from dither.mechanisms.runner import Runner
from dither.privacy import ApproxDP, Loss, PureDP
from dither.privacy.calibration import check_target, laplace_scale
from dither.privacy.conversions import zcdp_rho
from dither.privacy.losses import states_rho

VectorNoise = DiscreteGaussian | Gaussian | GammaNorm


class RealPartField(Field[Any, "Gaussian | GammaNorm"]):
    """Noise of one real number, of which noise of a vector is made."""

    def convert(self, name: str, value: Any) -> Gaussian | GammaNorm:
        """Return the noise."""
        if not isinstance(value, Gaussian | GammaNorm) or value.shape != ():
            raise InvalidParameter(name, value, "Gaussian or GammaNorm noise of one number")
        return value


class VectorPartField(Field[Any, "DiscreteGaussian | GammaNorm"]):
    """Noise of one number, of which a learner makes noise of a vector."""

    def convert(self, name: str, value: Any) -> DiscreteGaussian | GammaNorm:
        """Return the noise."""
        if not isinstance(value, DiscreteGaussian | GammaNorm) or value.shape != ():
            raise InvalidParameter(name, value, "DiscreteGaussian or GammaNorm noise of one number")
        return value


def amount_within(target: Loss) -> tuple[Fraction, bool]:
    """Return what a target allows to be spent, and whether it is an epsilon; a rho otherwise."""
    check_target(target)
    if isinstance(target, PureDP):
        return 1 / laplace_scale(target, 1), True
    if isinstance(target, ApproxDP) and not states_rho(target):
        return (zcdp_rho(target.epsilon, target.delta), False) if target.delta else (target.epsilon, True)
    return target.rho, False


def noise_for(amount: Fraction, stability: Number, *, is_pure: bool) -> DiscreteGaussian | GammaNorm:
    """Return the noise that costs this amount for vectors that move by ``stability`` in L2."""
    moved = exact("stability", stability)
    if is_pure:
        return GammaNorm(scale=round_up(moved / amount, bits=64))
    return DiscreteGaussian(sigma=round_up(moved * sqrt_up(1 / (2 * amount)), bits=64))


def spread_of(noise: VectorNoise, entries: int) -> float:
    """Return the standard deviation of one entry of a noise vector of so many."""
    if isinstance(noise, GammaNorm):
        return float(noise.width) * math.sqrt(entries + 1)
    return float(noise.sigma)


N = TypeVar("N", bound=Additive)


def shaped(noise: N, entries: int) -> N:
    """Return the noise of a vector of so many entries."""
    return replace(noise, shape=(entries,))


def noisy(run: Runner, noise: VectorNoise, value: NDArray[np.int64], stability: Number) -> NDArray[np.float64]:
    """Return a noisy copy of an array of whole numbers, as floats."""
    drawn = run(shaped(noise, value.size), value.ravel(), stability=stability)
    return np.asarray(drawn, dtype=np.float64).reshape(value.shape)

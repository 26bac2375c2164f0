"""The laws of one noisy value: Laplace, Gaussian, and both on the integers.

Relative error of every probability: 1e-13 where there is a closed form, 1e-11 for the discrete Gaussian.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from dither.errors import InvalidParameter
from dither.estimate.accuracy import inversion
from dither.estimate.accuracy.inversion import Complex, Floats
from dither.estimate.accuracy.law import Scale, Symmetric, log_of
from dither.mechanisms import DiscreteGaussian, Gaussian, Geometric, Laplace, Mechanism

_SQRT_2 = math.sqrt(2)
_SQRT_2_PI = math.sqrt(2 * math.pi)


@dataclass(frozen=True)
class LaplaceLaw(Symmetric):
    """Laplace noise: density e^(-|x| / scale) / (2 scale).

    >>> noise = LaplaceLaw(scale=10)
    >>> noise.within(10), noise.beyond(50)
    (0.632..., 0.0067...)

    """

    scale: Scale = Scale()

    @property
    def variance(self) -> float:
        """2 scale^2."""
        return float(2 * self.scale * self.scale)

    def _tail(self, x: Fraction) -> float:
        return math.exp(-float(x / self.scale)) / 2

    def _density(self, x: Fraction) -> float:
        return math.exp(-float(x / self.scale)) / (2 * float(self.scale))

    def _solved(self, failure: Fraction) -> float:
        return 0.0 - float(self.scale) * log_of(2 * failure)

    @property
    def pole(self) -> float:
        """1 / scale."""
        return float(1 / self.scale)

    def log_mgf(self, s: Complex) -> Complex:
        """Return -ln(1 - scale^2 s^2)."""
        from scipy.special import log1p

        scaled = float(self.scale) * s
        return np.asarray(-log1p(-scaled * scaled))

    def log_ceiling(self, theta: float, t: Floats) -> Floats:
        """Return -2 ln(scale t)."""
        return -2 * np.log(float(self.scale) * t)

    def power(self, t: Floats) -> Floats:
        """Return 2."""
        return np.full_like(t, 2.0)


@dataclass(frozen=True)
class GaussianLaw(Symmetric):
    """Gaussian noise of mean 0 and standard deviation sigma.

    >>> round(GaussianLaw(sigma=2).within(4), 4)
    0.9545

    """

    sigma: Scale = Scale()

    @property
    def variance(self) -> float:
        """sigma^2."""
        return float(self.sigma * self.sigma)

    def _tail(self, x: Fraction) -> float:
        return math.erfc(float(x / self.sigma) / _SQRT_2) / 2

    def _density(self, x: Fraction) -> float:
        z = float(x / self.sigma)
        return math.exp(-z * z / 2) / (_SQRT_2_PI * float(self.sigma))

    def _solved(self, failure: Fraction) -> float:
        return 0.0 - float(self.sigma) * NormalDist().inv_cdf(float(failure))

    @property
    def pole(self) -> float:
        """Infinity."""
        return math.inf

    def log_mgf(self, s: Complex) -> Complex:
        """Return sigma^2 s^2 / 2."""
        scaled = float(self.sigma) * s
        return np.asarray(scaled * scaled / 2)

    def log_ceiling(self, theta: float, t: Floats) -> Floats:
        """Return sigma^2 (theta^2 - t^2) / 2."""
        return float(self.sigma) ** 2 * (theta * theta - t * t) / 2

    def power(self, t: Floats) -> Floats:
        """Return sigma^2 t^2."""
        return np.square(float(self.sigma) * t)


@dataclass(frozen=True)
class DiscreteLaplaceLaw(Symmetric):
    """Discrete Laplace (two-sided geometric) noise: P[X = x] proportional to e^(-|x| / scale) for integers x.

    >>> noise = DiscreteLaplaceLaw(scale=2)
    >>> noise.reach("0.05"), noise.beyond(6) <= 0.05 < noise.beyond(5)
    (6, True)

    """

    scale: Scale = Scale(Fraction(1, 64))

    @property
    def is_lattice(self) -> bool:
        """True."""
        return True

    @property
    def variance(self) -> float:
        """1 / (2 sinh^2(1 / (2 scale)))."""
        return 0.5 / math.sinh(float(1 / self.scale) / 2) ** 2

    def _tail(self, x: Fraction) -> float:
        # q^(x + 1) / (1 + q) with q = e^(-1 / scale)
        return math.exp(-float((x + 1) / self.scale)) / (1 + math.exp(-float(1 / self.scale)))

    def _density(self, x: Fraction) -> float:
        return math.exp(-float(x / self.scale)) * math.tanh(float(1 / self.scale) / 2)

    @property
    def pole(self) -> float:
        """1 / scale."""
        return float(1 / self.scale)

    def log_mgf(self, s: Complex) -> Complex:
        """Return -ln(1 - (sinh(s / 2) / sinh(1 / (2 scale)))^2)."""
        from scipy.special import log1p

        ratio = np.sinh(s / 2) / math.sinh(float(1 / self.scale) / 2)
        return np.asarray(-log1p(-ratio * ratio))

    def log_ceiling(self, theta: float, t: Floats) -> Floats:
        """Return 2 ln(pi sinh(1 / (2 scale)) / t)."""
        return 2 * np.log(math.pi * math.sinh(float(1 / self.scale) / 2) / t)

    def power(self, t: Floats) -> Floats:
        """Return 2."""
        return np.full_like(t, 2.0)


@dataclass(frozen=True)
class DiscreteGaussianLaw(Symmetric):
    """Discrete Gaussian noise: P[X = x] proportional to e^(-x^2 / (2 sigma^2)) for integers x.

    >>> noise = DiscreteGaussianLaw(sigma=3)
    >>> noise.reach("0.05"), round(noise.variance, 6)
    (6, 9.0)

    """

    sigma: Scale = Scale(Fraction(1, 16))

    @property
    def is_lattice(self) -> bool:
        """True."""
        return True

    @property
    def variance(self) -> float:
        """The variance: below sigma^2, and very close to it from sigma = 1 on."""
        sigma = float(self.sigma)
        if sigma < 1:
            x, weights = self._narrow
            return float(2 * (x * x * weights).sum() / (1 + 2 * weights.sum()))
        # Poisson's summation formula; its later terms are below 1e-30.
        waves = _wave(sigma)
        return sigma**2 * (1 - 8 * (math.pi * sigma) ** 2 * waves / (1 + 2 * waves))

    def _tail(self, x: Fraction) -> float:
        return _discrete_gaussian_tail(self, x)

    def _density(self, x: Fraction) -> float:
        sigma = float(self.sigma)
        z = float(x / self.sigma)
        total = 1 + 2 * self._narrow[1].sum() if sigma < 1 else _SQRT_2_PI * sigma * (1 + 2 * _wave(sigma))
        return math.exp(-z * z / 2) / float(total)

    @cached_property
    def _narrow(self) -> tuple[Floats, Floats]:
        """Every positive integer x that matters, and its weight e^(-x^2 / (2 sigma^2)), for sigma below 1."""
        x = np.arange(1.0, 41.0)
        with np.errstate(under="ignore"):
            return x, np.exp(-np.square(x / float(self.sigma)) / 2)

    @property
    def pole(self) -> float:
        """Infinity."""
        return math.inf

    def log_mgf(self, s: Complex) -> Complex:
        """Return ln M(s): from the sum over integers x for sigma below 1, from its Poisson transform above."""
        from scipy.special import log1p

        sigma = float(self.sigma)
        if sigma < 1:
            return self._log_sum(s)
        waves: Any = 0.0
        for k in (1, 2, 3):
            turn = 2j * math.pi * sigma * k * (sigma * s)
            flat = -2 * (math.pi * sigma * k) ** 2
            waves = waves + np.exp(flat + turn) + np.exp(flat - turn)
        return np.asarray((sigma * s) ** 2 / 2 + log1p(waves) - math.log1p(2 * _wave(sigma)))

    def _log_sum(self, s: Complex) -> Complex:
        """Return ln of the sum over integers x of e^(-x^2 / (2 sigma^2) + s x), over the same sum at s = 0."""
        from scipy.special import log1p

        sigma = float(self.sigma)
        steepest = float(np.max(np.abs(s.real)))
        centre = sigma * sigma * steepest
        weights = self._narrow[1]
        total = 1 + 2 * float(weights.sum())
        x = np.arange(1.0, math.ceil(centre + 40 * sigma) + 2)
        if steepest * x[-1] < 30:
            # 1 + sum of p(x) (2 cosh(s x) - 2): nothing is lost where s is small.
            shares = np.exp(-np.square(x / sigma) / 2) / total
            return np.asarray(log1p(4 * (shares * np.square(np.sinh(s[:, None] * x / 2))).sum(axis=1)))
        both = np.concatenate([-x, [0.0], x])
        exponents = -np.square(both / sigma) / 2 + s[:, None] * both
        highest = exponents.real.max(axis=1)
        return np.asarray(np.log(np.exp(exponents - highest[:, None]).sum(axis=1)) + highest - math.log(total))

    def log_ceiling(self, theta: float, t: Floats) -> Floats:
        """Return sigma^2 (theta^2 - t^2) / 2 + ln(2.1) from sigma = 1 on, no bound below."""
        sigma = float(self.sigma)
        return (sigma * theta) ** 2 / 2 - np.square(sigma * t) / 2 + (math.log(2.1) if sigma >= 1 else math.inf)

    def power(self, t: Floats) -> Floats:
        """Return sigma^2 t^2."""
        return np.square(float(self.sigma) * t)


@lru_cache(maxsize=1024)
def _discrete_gaussian_tail(law: DiscreteGaussianLaw, x: Fraction) -> float:
    """Return P[X > x]: an integral, cached because searches for a quantile and their callers ask again."""
    return inversion.tail([(law, 1)], float(x + 1))


def _wave(sigma: float) -> float:
    return math.exp(-2 * (math.pi * sigma) ** 2)


class Noisy(NamedTuple):
    """What a mechanism adds to one entry: noise with a law, plus at most ``rounding`` for its grid."""

    law: Symmetric
    rounding: Fraction


def law_of(mechanism: Mechanism[Any, Any]) -> Noisy:
    """Return what an additive mechanism adds to each entry, from its public parameters.

    >>> from dither.mechanisms import Laplace
    >>> law_of(Laplace(scale=2, grid="1/16"))
    Noisy(law=LaplaceLaw(scale=Fraction(2, 1)), rounding=Fraction(1, 32))

    """
    known: dict[type, Callable[[Any], Noisy]] = {
        Laplace: lambda m: Noisy(LaplaceLaw(m.scale), m.grid / 2),
        Gaussian: lambda m: Noisy(GaussianLaw(m.sigma), m.grid / 2),
        Geometric: lambda m: Noisy(DiscreteLaplaceLaw(m.scale), Fraction(0)),
        DiscreteGaussian: lambda m: Noisy(DiscreteGaussianLaw(m.sigma), Fraction(0)),
    }
    if type(mechanism) not in known:
        raise InvalidParameter("mechanism", mechanism, "Laplace, Gaussian, Geometric or DiscreteGaussian")
    return known[type(mechanism)](mechanism)

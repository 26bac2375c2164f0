"""Laws of sums, differences and means of independent noise.

Equal Laplace noise has a closed form of positive terms, of a relative error of 1e-10 up to 10^8 summands. Every other
sum is computed from its moment generating function (see ``inversion``), of a relative error of 1e-9. Noise around zero
is symmetric, so a difference has the law of the sum.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, cast

import numpy as np

from dither.errors import InvalidParameter
from dither.estimate.accuracy import inversion
from dither.estimate.accuracy.inversion import Floats, Summand
from dither.estimate.accuracy.law import Scale, Symmetric
from dither.estimate.accuracy.noises import DiscreteGaussianLaw, DiscreteLaplaceLaw, GaussianLaw, LaplaceLaw
from dither.exact import Number, Whole, exact, positive, sqrt_up, whole

MOST_SUMMANDS = 10**8
_SINGLE = LaplaceLaw | GaussianLaw | DiscreteLaplaceLaw | DiscreteGaussianLaw
#: Beyond 60 sqrt(n) the terms of a Laplace sum have weights below e^-900.
_REACH = 60
_MANY = 1000


@dataclass(frozen=True)
class LaplaceSumLaw(Symmetric):
    """The sum of ``count`` independent Laplace variables of one scale.

    |X| / scale is a mixture of Gamma variables of whole shapes 1 to count, so that every term of every sum is positive.

    >>> law = LaplaceSumLaw(scale=1, count=200)
    >>> round(law.within(20), 4)
    0.6833

    """

    scale: Scale = Scale()
    count: Whole = Whole(least=1, most=MOST_SUMMANDS)

    @property
    def variance(self) -> float:
        """2 count scale^2."""
        return float(2 * self.count * self.scale * self.scale)

    def _tail(self, x: Fraction) -> float:
        from scipy.special import gammaincc

        weights = _gamma_weights(self.count)
        shapes = np.arange(1.0, weights.size + 1)
        with np.errstate(under="ignore"):
            return float((weights * gammaincc(shapes, float(x / self.scale))).sum() / 2)

    def _density(self, x: Fraction) -> float:
        from scipy.special import gammaln, xlogy

        if self.count > _MANY:
            # The logarithms of large factorials would lose digits.
            return inversion.density([(LaplaceLaw(self.scale), self.count)], float(x))
        weights = _gamma_weights(self.count)
        z, shapes = float(x / self.scale), np.arange(weights.size)
        with np.errstate(under="ignore"):
            gammas = np.exp(xlogy(shapes, z) - z - gammaln(shapes + 1.0))
            return float((weights * gammas).sum() / (2 * float(self.scale)))


@dataclass(frozen=True)
class SumLaw(Symmetric):
    """The sum of independent noise with any laws, all on the integers or none; made by ``sum_of``."""

    parts: tuple[tuple[Any, int], ...]

    @property
    def is_lattice(self) -> bool:
        """Whether the noise is on the integers."""
        return bool(self.parts[0][0].is_lattice)

    @property
    def variance(self) -> float:
        """The sum of the variances."""
        return math.fsum(count * part.variance for part, count in self.parts)

    def _tail(self, x: Fraction) -> float:
        two = _two_laplace_scales(self.parts)
        at = float(x + 1 if self.is_lattice else x)
        return inversion.tail(self.parts, at) if two is None else _tail_of_two(*two, at)

    def _density(self, x: Fraction) -> float:
        two = _two_laplace_scales(self.parts)
        return inversion.density(self.parts, float(x)) if two is None else _density_of_two(*two, float(x))


@dataclass(frozen=True)
class Scaled(Symmetric):
    """``factor`` times a variable of another law; a mean of integers is a multiple of 1 / count."""

    law: Symmetric
    factor: Fraction

    @property
    def is_lattice(self) -> bool:
        """Whether the noise is a multiple of ``factor``."""
        return self.law.is_lattice

    @property
    def variance(self) -> float:
        """The variance times factor^2."""
        return float(self.factor) ** 2 * self.law.variance

    def tail(self, x: Number) -> float:
        """Return P[X > x]."""
        return self.law.tail(exact("x", x) / self.factor)

    def cdf(self, x: Number) -> float:
        """Return P[X <= x]."""
        return self.law.cdf(exact("x", x) / self.factor)

    def density(self, x: Number) -> float:
        """Return the density at x; on a lattice, P[X = x]."""
        density = self.law.density(exact("x", x) / self.factor)
        return density if self.is_lattice else density / float(self.factor)

    def exceeded(self, failure: Number) -> float:
        """Return the least x with P[X > x] <= failure, as a float."""
        return self.law.exceeded(failure) * float(self.factor)

    def reach(self, failure: Number) -> float:
        """Return x, rounded outwards, with P[|X| > x] <= failure."""
        return self.law.reach(failure) * float(self.factor)

    def _tail(self, x: Fraction) -> float:
        return self.tail(x)

    def _density(self, x: Fraction) -> float:
        return self.density(x)


def sum_of(*laws: Symmetric) -> Symmetric:
    """Return the law of the sum of independent variables, one of each law.

    >>> sum_of(LaplaceLaw(scale=2), LaplaceLaw(scale=2))
    LaplaceSumLaw(scale=Fraction(2, 1), count=2)
    >>> sum_of(GaussianLaw(sigma=3), GaussianLaw(sigma=4))
    GaussianLaw(sigma=Fraction(5, 1))

    """
    parts: Counter[Any] = Counter()
    for law in laws:
        for part, count in _parts_of(law):
            parts[part] += count
    gaussian = [(part, count) for part, count in parts.items() if isinstance(part, GaussianLaw)]
    if gaussian:
        for part, _ in gaussian:
            del parts[part]
        squares = sum((count * part.sigma**2 for part, count in gaussian), Fraction(0))
        parts[GaussianLaw(sqrt_up(squares))] += 1
    if not parts or len({part.is_lattice for part in parts}) > 1:
        raise InvalidParameter("laws", laws, "at least one, either all on the integers or none")
    if parts.total() > MOST_SUMMANDS:
        raise InvalidParameter("laws", f"{parts.total()} summands", f"of at most {MOST_SUMMANDS} summands")
    if parts.total() == 1:
        return cast(Symmetric, next(iter(parts)))
    if len(parts) == 1 and isinstance(next(iter(parts)), LaplaceLaw):
        ((part, count),) = parts.items()
        return LaplaceSumLaw(part.scale, count)
    # In one order, whatever the order of the summands, so that equal sums are equal.
    return SumLaw(tuple(sorted(parts.items(), key=lambda item: (type(item[0]).__name__, item[0].variance))))


def difference(first: Symmetric, second: Symmetric) -> Symmetric:
    """Return the law of the difference of two independent variables: that of their sum, by symmetry."""
    return sum_of(first, second)


def total(law: Symmetric, count: int) -> Symmetric:
    """Return the law of the sum of ``count`` independent variables of one law."""
    times = whole("count", count, least=1, most=MOST_SUMMANDS)
    if isinstance(law, Scaled):
        return Scaled(total(law.law, times), law.factor)
    parts = tuple((part, each * times) for part, each in _parts_of(law))
    return sum_of(SumLaw(parts))


def mean(law: Symmetric, count: int) -> Symmetric:
    """Return the law of the mean of ``count`` independent variables of one law.

    >>> round(mean(LaplaceLaw(scale=10), 400).reach("0.05"), 3)
    1.386

    """
    return scaled(total(law, count), Fraction(1, whole("count", count, least=1, most=MOST_SUMMANDS)))


def scaled(law: Symmetric, factor: Number) -> Symmetric:
    """Return the law of ``factor`` times a variable."""
    times = positive("factor", factor)
    if isinstance(law, LaplaceLaw):
        return LaplaceLaw(law.scale * times)
    if isinstance(law, GaussianLaw):
        return GaussianLaw(law.sigma * times)
    if isinstance(law, LaplaceSumLaw):
        return LaplaceSumLaw(law.scale * times, law.count)
    if isinstance(law, Scaled):
        return Scaled(law.law, law.factor * times)
    if isinstance(law, SumLaw) and not law.is_lattice:
        return SumLaw(tuple((scaled(part, times), count) for part, count in law.parts))
    return Scaled(law, times)


def _parts_of(law: Symmetric) -> tuple[tuple[Summand, int], ...]:
    if isinstance(law, _SINGLE):
        return ((law, 1),)
    if isinstance(law, LaplaceSumLaw):
        return ((LaplaceLaw(law.scale), law.count),)
    if isinstance(law, SumLaw):
        return law.parts
    raise InvalidParameter("law", law, "Laplace or Gaussian noise, on the integers or not, or a sum of such")


@lru_cache(maxsize=16)
def _gamma_weights(count: int) -> Floats:
    """Return P[|X| / scale has shape j], for j = 1, 2, ... as far as it matters.

    The weight of j is C(2n - j - 1, n - 1) 2^(j + 1 - 2n), and that of j + 1 is 1 - (j - 1) / (2n - j - 1) times that.
    """
    shapes = np.arange(1, min(count, math.ceil(_REACH * math.sqrt(count))), dtype=np.longdouble)
    logs = np.concatenate([[0], np.cumsum(np.log1p(-(shapes - 1) / (2 * count - shapes - 1)))])
    with np.errstate(under="ignore"):
        weights = np.exp(logs)
        shares = np.asarray(weights / weights.sum(), dtype=np.float64)
    shares.setflags(write=False)
    return shares


def _two_laplace_scales(parts: tuple[tuple[Any, int], ...]) -> tuple[float, float] | None:
    if [count for _, count in parts] == [1, 1] and all(isinstance(part, LaplaceLaw) for part, _ in parts):
        small, large = sorted(part.scale for part, _ in parts)
        return float(small), float(large)
    return None


def _tail_of_two(small: float, large: float, x: float) -> float:
    """Return (large^2 e^(-x/large) - small^2 e^(-x/small)) / (2 (large^2 - small^2)), as a sum of positive terms."""
    gap = -math.expm1(-x * (large - small) / (small * large))
    share = small * small / ((large - small) * (large + small))
    return math.exp(-x / large) * (1 + share * gap) / 2


def _density_of_two(small: float, large: float, x: float) -> float:
    """Return (large e^(-x/large) - small e^(-x/small)) / (2 (large^2 - small^2)), as a sum of positive terms."""
    gap = -math.expm1(-x * (large - small) / (small * large))
    return math.exp(-x / large) * (1 + gap * small / (large - small)) / (2 * (large + small))

"""The largest and smallest of many: laws of the noise, and where the true extreme lies given noisy values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dither.errors import InvalidParameter
from dither.estimate.accuracy.law import OUTWARDS, Law, Symmetric, failure_share, log_of
from dither.exact import Number, Whole, exact, probability, to_float
from dither.mechanisms import Interval

MOST_VALUES = 10**12


@dataclass(frozen=True)
class Largest(Law):
    """The largest of ``count`` independent variables of one law.

    >>> from dither.estimate.accuracy import LaplaceLaw
    >>> round(Largest(LaplaceLaw(scale=1), 100).quantile("1/2"), 3)
    4.282

    """

    law: Law
    count: Whole = Whole(least=1, most=MOST_VALUES)

    @property
    def is_lattice(self) -> bool:
        """The law's."""
        return self.law.is_lattice

    def tail(self, x: Number) -> float:
        """Return P[X > x] = 1 - (1 - tail)^count."""
        return -math.expm1(self._log_cdf(x))

    def cdf(self, x: Number) -> float:
        """Return P[X <= x] = cdf^count."""
        return math.exp(self._log_cdf(x))

    def density(self, x: Number) -> float:
        """Return the density at x; on a lattice, P[X = x]."""
        inner = self.law.density(x)
        if not self.is_lattice or inner == 0:
            return self.count * math.exp((self.count - 1) * _log_cdf(self.law, x)) * inner
        # F(x)^n - F(x-)^n, with F(x-) = F(x) (1 - share).
        share = min(1.0, inner / self.law.cdf(x))
        return self.cdf(x) * (-math.expm1(self.count * math.log1p(-share)) if share < 1 else 1.0)

    def exceeded(self, failure: Number) -> float:
        """Return the least x with P[X > x] <= failure."""
        share = failure_share("failure", failure)
        return self.law.exceeded(Fraction(-math.expm1(log_of(1 - share) / self.count)))

    def _log_cdf(self, x: Number) -> float:
        return self.count * _log_cdf(self.law, x)


@dataclass(frozen=True)
class Smallest(Law):
    """The smallest of ``count`` independent variables of one law."""

    law: Law
    count: Whole = Whole(least=1, most=MOST_VALUES)

    @property
    def is_lattice(self) -> bool:
        """The law's."""
        return self.law.is_lattice

    def tail(self, x: Number) -> float:
        """Return P[X > x] = tail^count."""
        return math.exp(self._log_tail(x))

    def cdf(self, x: Number) -> float:
        """Return P[X <= x] = 1 - tail^count."""
        return -math.expm1(self._log_tail(x))

    def density(self, x: Number) -> float:
        """Return the density at x; on a lattice, P[X = x]."""
        inner, tail = self.law.density(x), self.law.tail(x)
        if not self.is_lattice:
            return self.count * math.exp(self._log_tail(x) - _log_tail(self.law, x)) * inner if tail else 0.0
        # (T + p)^n - T^n
        return math.exp(self.count * math.log(tail + inner)) - self.tail(x) if inner else 0.0

    def exceeded(self, failure: Number) -> float:
        """Return the least x with P[X > x] <= failure."""
        return self.law.exceeded(Fraction(math.exp(log_of(failure_share("failure", failure)) / self.count)))

    def _log_tail(self, x: Number) -> float:
        return self.count * _log_tail(self.law, x)


def largest_interval(law: Symmetric, noisy: Sequence[Number], *, confidence: Number) -> Interval:
    """Return where the largest true value lies, given noisy values with independent noise of one law.

    The largest noisy value is at least the noisy version of the largest true one, so one noise decides above, whatever
    the number of values; below, all of them count.

    >>> from dither.estimate.accuracy import LaplaceLaw
    >>> print(largest_interval(LaplaceLaw(scale=10), [172, 179, 125, 140, 140, 98], confidence="0.9"))
    [138, 203] at 0.9

    """
    values = [exact(f"noisy[{index}]", value) for index, value in enumerate(noisy)]
    wanted = probability("confidence", confidence, open_below=True)
    if not values:
        raise InvalidParameter("noisy", noisy, "at least one value")
    share, top = (1 - wanted) / 2, max(values)
    below, above = OUTWARDS * Largest(law, len(values)).exceeded(share), OUTWARDS * law.exceeded(share)
    return Interval(to_float(top - Fraction(below), "down"), to_float(top + Fraction(above), "up"), wanted)


def smallest_interval(law: Symmetric, noisy: Sequence[Number], *, confidence: Number) -> Interval:
    """Return where the smallest true value lies, given noisy values with independent noise of one law."""
    mirrored = [-exact(f"noisy[{index}]", value) for index, value in enumerate(noisy)]
    found = largest_interval(law, mirrored, confidence=confidence)
    return Interval(-found.high, -found.low, found.confidence)


def _log_cdf(law: Law, x: Number) -> float:
    tail = law.tail(x)
    if tail <= 0.5:
        return math.log1p(-tail)
    cdf = law.cdf(x)
    return math.log(cdf) if cdf > 0 else -math.inf


def _log_tail(law: Law, x: Number) -> float:
    cdf = law.cdf(x)
    if cdf <= 0.5:
        return math.log1p(-cdf)
    tail = law.tail(x)
    return math.log(tail) if tail > 0 else -math.inf

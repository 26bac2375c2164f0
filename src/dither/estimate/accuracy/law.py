"""What a law answers: distribution, tail, density, quantiles.

Numbers are given exactly and probabilities come back as floats, of a relative error stated by each law. A tail is
computed as a tail and never as one minus the rest, so it keeps its digits however small it is.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction

from dither.errors import InvalidParameter
from dither.exact import Number, Positive, exact, non_negative, probability

#: Error bounds are widened by this share, far above the error of the functions that compute them.
OUTWARDS = 1 + 1e-8
#: The smallest probability of failure that can be asked about.
LEAST_FAILURE = Fraction(1, 10**290)
_SMALLEST, _LARGEST = Fraction(1, 2**400), Fraction(2**400)


class Scale(Positive):
    """The scale of noise: a number between 2^-400 and 2^400, or above a tighter lower limit."""

    def __init__(self, least: Fraction = _SMALLEST) -> None:
        super().__init__(least=least, most=_LARGEST)


class Law(ABC):
    """The law of a number X."""

    @property
    def is_lattice(self) -> bool:
        """Whether X is always an integer (or, when scaled, a multiple of one step)."""
        return False

    @abstractmethod
    def tail(self, x: Number) -> float:
        """Return P[X > x]."""

    @abstractmethod
    def cdf(self, x: Number) -> float:
        """Return P[X <= x]."""

    @abstractmethod
    def density(self, x: Number) -> float:
        """Return the density at x; on a lattice, P[X = x]."""

    @abstractmethod
    def exceeded(self, failure: Number) -> float:
        """Return the least x with P[X > x] <= failure, for a failure in (0, 1)."""

    def quantile(self, p: Number) -> float:
        """Return the least x with P[X <= x] >= p, for p in (0, 1)."""
        return self.exceeded(1 - probability("p", p, open_below=True))


class Symmetric(Law):
    """The law of noise around zero: X and -X have the same law.

    A law states its tail and its density at x >= 0 (on a lattice at whole x only); the rest follows.
    """

    @property
    @abstractmethod
    def variance(self) -> float:
        """The variance of X."""

    @abstractmethod
    def _tail(self, x: Fraction) -> float:
        """Return P[X > x] for x >= 0, an integer on a lattice."""

    @abstractmethod
    def _density(self, x: Fraction) -> float:
        """Return the density at x >= 0, or the probability of an integer x."""

    def tail(self, x: Number) -> float:
        """Return P[X > x]."""
        position = exact("x", x)
        if position >= 0:
            return self._tail(self._whole(position))
        # P[X > x] = 1 - P[X >= -x]
        return 1 - self._tail(Fraction(math.ceil(-position) - 1) if self.is_lattice else -position)

    def cdf(self, x: Number) -> float:
        """Return P[X <= x]."""
        position = exact("x", x)
        # P[X <= x] = P[X >= -x]
        return self.tail(math.ceil(-position) - 1 if self.is_lattice else -position)

    def density(self, x: Number) -> float:
        """Return the density at x; on a lattice, P[X = x]."""
        position = abs(exact("x", x))
        return 0.0 if self.is_lattice and position.denominator != 1 else self._density(position)

    def beyond(self, x: Number) -> float:
        """Return P[|X| > x], for x of at least 0."""
        return min(1.0, 2 * self.tail(non_negative("x", x)))

    def within(self, x: Number) -> float:
        """Return P[|X| <= x], for x of at least 0."""
        return 1 - self.beyond(x)

    def exceeded(self, failure: Number) -> float:
        """Return the least x with P[X > x] <= failure, for a failure in (0, 1)."""
        share = failure_share("failure", failure)
        if not self.is_lattice:
            return self._solved(share) if 2 * share <= 1 else 0.0 - self._solved(1 - share)
        if 2 * share <= 1:
            return self._least(lambda k: self._tail(Fraction(k)) <= share)
        # For a whole x < 0: P[X > x] <= failure means P[X > -x - 1] >= 1 - failure.
        return -self._least(lambda k: self._tail(Fraction(k)) < 1 - share)

    def reach(self, failure: Number) -> float:
        """Return x, rounded outwards, with P[|X| > x] <= failure, for a failure in (0, 1)."""
        share = failure_share("failure", failure)
        if not self.is_lattice:
            # Near the middle the error of a tail is one of 1e-12 in the unit of the deviation.
            return OUTWARDS * self._solved(share / 2) + 1e-11 * math.sqrt(self.variance)
        return self._least(lambda k: 2 * OUTWARDS * self._tail(Fraction(k)) <= share)

    def _whole(self, x: Fraction) -> Fraction:
        return Fraction(math.floor(x)) if self.is_lattice else x

    def _solved(self, failure: Fraction) -> float:
        """Return x >= 0 with P[X > x] = failure, for a failure of at most 1/2 and a continuous law."""
        from scipy.optimize import brentq

        wanted = log_of(failure)

        def excess(x: float) -> float:
            tail = self._tail(Fraction(x))
            return (math.log(tail) if tail > 0 else -math.inf) - wanted

        low, high = 0.0, math.sqrt(self.variance)
        if excess(low) <= 0:
            return low
        while excess(high) > 0:
            low, high = high, 2 * high
        while excess(high) == -math.inf:
            middle = (low + high) / 2
            low, high = (middle, high) if excess(middle) > 0 else (low, middle)
        return float(brentq(excess, low, high, xtol=1e-13 * high, rtol=1e-14))

    def _least(self, holds: Callable[[int], bool]) -> int:
        """Return the least integer k >= 0 for which a monotone condition holds."""
        if holds(0):
            return 0
        low, high = 0, max(1, math.isqrt(math.ceil(self.variance)))
        while not holds(high):
            low, high = high, 2 * high
        # Beyond 2^50 the tail does not change in its last digit from one integer to the next.
        while high - low > 1 + (high >> 50):
            middle = (low + high) // 2
            low, high = (low, middle) if holds(middle) else (middle, high)
        return high


def failure_share(name: str, value: Number) -> Fraction:
    """Return a failure probability in (0, 1); reject those too small for floats."""
    share = probability(name, value, open_below=True)
    if share < LEAST_FAILURE:
        raise InvalidParameter(name, value, "at least 1e-290: nothing is known with such certainty")
    return share


def log_of(x: Fraction) -> float:
    """Return ln x of a positive rational, even one beyond floats."""
    return math.log(x.numerator) - math.log(x.denominator) if x < Fraction(1, 2) or x > 2 else math.log1p(float(x - 1))

"""Tails and densities of sums, from their moment generating function.

P[X > x] is an integral of M(s) e^(-s x) / s along any vertical line to the right of zero, M(s) being the product of
the summands' E[e^(s X)]. The line goes through the saddle point, where the integrand is smallest: its size there,
e^(K - theta x) with K = ln M(theta), is Chernoff's bound, and the error is a share of that bound and not of one. Hence
even the smallest tails keep their digits. The trapezoid rule is used, whose error is a sum of tails farther out, and
the line is cut off; both errors are kept below a share of 1e-13 by bounds that are proved on the page
``docs/theory/accuracy.md``. What is left is the rounding of floats, some 1e-12 for a million summands.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter

Complex = NDArray[np.complex128]
Floats = NDArray[np.float64]

_SHARE = math.log(1e-13)
_MOST_STEPS = 2**23
_BLOCK = 2**18


class Summand(Protocol):
    """A symmetric law, as seen by its moment generating function M(s) = E[e^(s X)]."""

    @property
    def is_lattice(self) -> bool:
        """Whether X is an integer."""

    @property
    def variance(self) -> float:
        """The variance of X."""

    @property
    def pole(self) -> float:
        """M(theta) is finite for 0 <= theta < pole."""

    def log_mgf(self, s: Complex) -> Complex:
        """Return ln M(s); |M(theta + i t)| falls as t rises from 0, on a lattice up to pi."""

    def log_ceiling(self, theta: float, t: Floats) -> Floats:
        """Return a bound on ln |M(theta + i t)| for large t."""

    def power(self, t: Floats) -> Floats:
        """Return p such that the ceiling falls at least as fast as t^-p from each t on."""


Parts = Sequence[tuple[Summand, int]]


def tail(parts: Parts, x: float) -> float:
    """Return P[X > x] for x >= 0; on a lattice P[X >= x] for whole x >= 1."""
    with np.errstate(all="ignore"):
        return _Line.through_saddle(parts, x).integral(is_tail=True)


def density(parts: Parts, x: float) -> float:
    """Return the density at x >= 0; on a lattice P[X = x]."""
    with np.errstate(all="ignore"):
        return _Line.through_saddle(parts, x).integral(is_tail=False)


@dataclass(frozen=True)
class _Line:
    """The vertical line through ``theta``, for the sum of ``parts`` at ``x``."""

    parts: Parts
    x: float
    theta: float

    @classmethod
    def through_saddle(cls, parts: Parts, x: float) -> _Line:
        """Return the line through the minimum of K(theta) - theta x, but not too close to zero."""
        line = cls(parts, x, 0.0)
        low, high = 0.0, line.pole
        if math.isinf(high):
            high = line.unit
            while line.height(np.array([2 * high]))[0] < line.height(np.array([high]))[0]:
                high *= 2
            high *= 2
        for _ in range(8):
            inner = np.linspace(low, high, 33)[1:-1]
            best = int(np.argmin(line.height(inner)))
            low, high = inner[best - 1] if best else low, inner[best + 1] if best < 30 else high
        return cls(parts, x, max(float(low + high) / 2, min(line.unit, line.pole / 2)))

    @property
    def is_lattice(self) -> bool:
        return self.parts[0][0].is_lattice

    @property
    def pole(self) -> float:
        return min(part.pole for part, _ in self.parts)

    @cached_property
    def unit(self) -> float:
        """One over the standard deviation, at most one on a lattice: the size of a slope or a frequency."""
        deviation = math.sqrt(sum(count * part.variance for part, count in self.parts))
        return 1 / max(1.0, deviation) if self.is_lattice else 1 / deviation

    def log_mgf(self, s: Any) -> Any:
        return sum(count * part.log_mgf(s) for part, count in self.parts)

    def height(self, theta: Floats) -> Floats:
        """Return the logarithm of Chernoff's bound, K(theta) - theta x."""
        heights = np.real(self.log_mgf(theta.astype(np.complex128))) - theta * self.x
        return np.where(np.isfinite(heights), heights, np.inf)

    def integral(self, *, is_tail: bool) -> float:
        """Return the trapezoid sum along the line."""
        bound = float(self.height(np.array([self.theta]))[0])
        step = 2 * math.pi / self._period(bound, is_tail)
        needed = self._end(is_tail) / step
        if not needed <= _MOST_STEPS:
            raise InvalidParameter("laws", f"{len(self.parts)} of them", "of scales less far apart: this is too slow")
        steps = min(math.ceil(needed), math.floor(math.pi / step)) if self.is_lattice else math.ceil(needed)
        at_rest = float(np.real(self.log_mgf(np.array([complex(self.theta)]))[0]))
        sums = []
        for start in range(0, steps + 1, _BLOCK):
            t = step * np.arange(start, min(start + _BLOCK, steps + 1))
            s = self.theta + 1j * t
            terms = np.exp(self.log_mgf(s) - at_rest - 1j * (t * self.x))
            if is_tail:
                terms /= -np.expm1(-s) if self.is_lattice else s
            if start == 0:
                terms[0] /= 2
            sums.append(float(terms.real.sum()))
        return max(0.0, math.fsum(sums) * step / math.pi * math.exp(bound))

    def _period(self, bound: float, is_tail: bool) -> float:
        """Return L = 2 pi / step such that the tails at x + k L, k != 0, weighted by e^(theta k L), are negligible."""
        below = (-_SHARE + 1 - bound) / self.theta
        room = self.pole - self.theta if math.isfinite(self.pole) else 8 * (self.theta + self.unit)
        others = self.theta + room * np.arange(1, 32) / 32
        # The density at y is at most e theta' times the bound on the tail there.
        extra = 0.0 if is_tail else np.log(np.maximum(1.0, math.e * others / self.unit))
        above = (-_SHARE + 1 + extra + self.height(others) - bound) / (others - self.theta)
        period = max(below, float(np.min(above)))
        # On a lattice an odd integer, so that the points fill the circle evenly.
        return 2 * math.ceil(period / 2) + 1 if self.is_lattice and period < 2**52 else period

    def _end(self, is_tail: bool) -> float:
        """Return where the line can be cut off."""
        last = math.pi if self.is_lattice else math.inf
        t = np.geomspace(1e-3, 1e10, 900) * self.unit
        # Nothing is asked beyond the first point from ``last`` on.
        t = t[: int(np.searchsorted(t, last)) + 1]
        rest = float(np.real(self.log_mgf(np.array([complex(self.theta)]))[0]))
        # A tail has a factor 1 / |s| <= 1 / t more, on a lattice at most pi e^(theta/2) / 2 times that. The error of a
        # density is measured by the height of the density, not by one.
        scale = -math.log(self.unit)
        if is_tail:
            scale = self.theta / 2 + math.log(math.pi / 2) if self.is_lattice else 0.0
        fall = scale - rest + np.real(self.log_mgf(self.theta + 1j * t))
        ceiling = scale - rest + sum(count * part.log_ceiling(self.theta, t) for part, count in self.parts)
        power = sum(count * part.power(t) for part, count in self.parts)
        # Beyond ``far`` the ceiling is integrated; up to there the integrand is at most its size at T.
        beyond = ceiling - np.log(power) if is_tail else ceiling + np.log(t) - np.log(power - 1)
        far = min(last, _first(t, (beyond <= _SHARE) | (t >= last)))
        between = fall + np.log(np.log(far / t) if is_tail else far - t)
        return min(far, _first(t, (between <= _SHARE) | (t >= far)))


def _first(t: Floats, holds: NDArray[np.bool_]) -> float:
    found = np.flatnonzero(holds)
    return float(t[found[0]]) if found.size else math.inf

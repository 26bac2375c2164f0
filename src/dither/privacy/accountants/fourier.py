"""The distribution of a sum of losses, by fast Fourier transforms of tilted distributions, with every error bounded.

Each law is first tilted: its mass at loss ``x`` is multiplied by ``e^(tilt * x - constant)``. The tilt moves the sum to
the losses that decide the delta asked for, so that whatever the transforms, the window and the rounding get wrong is
small *in proportion* to the Chernoff bound there, however small delta is. The bounds and their proofs are on the page
``docs/theory/accountants.md``, theorems 5 and 6.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dither.privacy.accountants.grid import Cells, TooFine
from dither.privacy.accountants.laws import UNIT, Floats

#: Tilts that were tried, each with ln of the moment there.
_Bounds: TypeAlias = list[tuple[float, float]]

MOST_POINTS = 1 << 22
#: What is left outside the window of a transform, in the tilted law.
_OUTSIDE = 2.0**-46
#: Added wherever a float may have fallen below the range in which it is accurate to its last bit.
_TINY = 1e-290
#: Laws that occur once are merged by short transforms until they fill this part of the window.
_MERGED = 1 / 8
_MOST_TILTS = 40


def transform_error(points: int) -> float:
    """Return a bound on the relative error, in Euclidean norm, of a transform of that many points, a power of two.

    Higham (2002), theorem 24.2, gives 6.7 units of roundoff for each of the log2(points) stages of two; stages of four
    and eight, which NumPy uses, do no more arithmetic for each factor of two.
    """
    return 8 * UNIT * max(1.0, math.log2(points))


def peak(tilt: float) -> float:
    """Return the largest value of e^(-tilt * y) * (1 - e^-y) for y of at least 0, rounded up."""
    return 1.0 if tilt <= 0 else (1 + 1e-12) * math.exp(-math.log1p(tilt) - tilt * math.log1p(1 / tilt))


def _dot(a: Floats, b: Floats) -> float:
    """Return the sum of products. Not a matrix product, which would start threads: the arrays are short."""
    with np.errstate(all="ignore"):
        return float(np.einsum("i,i->", a, b))


def log_moment(losses: Floats, mass: Floats, tilt: float) -> float:
    """Return ln of the sum of mass * e^(tilt * loss), for increasing losses."""
    if not len(mass):
        return -math.inf
    exponent = tilt * losses
    top = float(max(exponent[0], exponent[-1]))
    exponent -= top
    return top + math.log(_dot(mass, np.exp(exponent, out=exponent)) + _TINY)


@dataclass(frozen=True, eq=False)
class Sum:
    """The tilted distribution of a sum of losses on a window of the grid.

    Guarantee: for every ``epsilon``, ``excess(epsilon)`` is at least the sum over all finite losses ``x`` above epsilon
    of the true mass at ``x`` times ``1 - e^(epsilon - x)``.

    ``error`` bounds the error of ``mass`` in Euclidean norm, ``missing`` what lies outside the window, and ``relative``
    the error of the tilting.
    """

    tilt: float
    constant: float
    first: int
    step: float
    mass: Floats
    error: float
    missing: float
    relative: float
    slack: float

    def excess(self, epsilon: float) -> float:
        """Return an upper bound on the expected excess over ``epsilon`` of finite losses."""
        start = math.nextafter(epsilon - self.slack, -math.inf)
        exponent = self.constant - self.tilt * start
        if exponent > 700:
            return math.inf
        # The weight of a loss x above start is e^(-tilt y) * (1 - e^-y) with y = x - start. On the grid y is a distance
        # of grid points more than that of the first, and the two exponentials are divided accordingly.
        begin = min(max(0, math.floor(start / self.step) + 1 - self.first), len(self.mass))
        nearest = max(0.0, (self.first + begin) * self.step - start)
        share, decay, rest = -math.expm1(-nearest), math.exp(-self.tilt * nearest), len(self.mass) - begin
        falling, rising, (both, mixed, risen) = self._weights
        total = decay * (share * _dot(self.mass[begin:], falling[:rest]) + _dot(self.mass[begin:], rising[:rest]))
        # The norm is at most that over all points, and at most the largest weight times the root of their number.
        largest = peak(self.tilt)
        norm = decay * math.sqrt(share * (share * both + 2 * mixed) + risen)
        total += self.error * min(norm, min(largest, nearest + rest * self.step) * math.sqrt(rest))
        total += self.missing * largest + _TINY
        far = abs(self.first) + len(self.mass)
        size = 16 + abs(self.constant) + (1 + self.tilt) * (abs(start) + far * self.step) + len(self.mass)
        return total * math.exp(exponent) * (1 + self.relative + 8 * UNIT * size)

    @cached_property
    def _weights(self) -> tuple[Floats, Floats, tuple[float, float, float]]:
        """The parts of the weights that do not depend on epsilon, at distances z of 0, 1, 2 and so on grid points.

        e^(-(tilt + 1) z) and e^(-tilt z) * (1 - e^-z), for 1 - e^-(y + z) = (1 - e^-y) e^-z + (1 - e^-z) has no
        difference in which digits are lost; and the sums of their squares and of their product.
        """
        with np.errstate(all="ignore"):
            losses = np.arange(len(self.mass), dtype=np.float64) * -self.step
            rising = np.exp(self.tilt * losses)
            falling = rising * np.exp(losses)
            rising *= -np.expm1(losses)
            return falling, rising, (_dot(falling, falling), _dot(falling, rising), _dot(rising, rising))


@dataclass(frozen=True, eq=False)
class _Vector:
    """Masses from one grid point on: how often they occur, their sum, and their error in Euclidean norm."""

    mass: Floats
    first: int
    count: int
    total: float
    error: float

    @property
    def last(self) -> int:
        return self.first + len(self.mass) - 1


def add_up(parts: Sequence[tuple[Cells, int]], tilt: float) -> Sum:
    """Return the distribution of the sum of all losses, each part repeated; all parts have the same step."""
    step, count = parts[0][0].step, sum(count for _, count in parts)
    constants, vectors, relative = [], [], 0.0
    with np.errstate(all="ignore"):
        for cells, times in parts:
            constant, exponent = log_moment(*cells.atoms, tilt), tilt * cells.losses
            mass = _tilted(cells.mass, exponent - constant)
            vectors.append(_Vector(mass, cells.first, times, float(np.sum(mass)) * (1 + 64 * UNIT), 0.0))
            constants.append(times * constant)
            # The argument of the exponential, its value, the product, and the product with the number of times.
            largest = float(np.max(np.abs(exponent[[0, -1]])))
            relative += times * UNIT * (32 + 4 * largest + 4 * abs(constant))
        if count == 1:
            mass, first, error, missing = vectors[0].mass, vectors[0].first, 0.0, 0.0
        else:
            mass, first, error, missing = _convolved(vectors, step)
    # Masses may have been lost to underflow while tilting, each of them tiny.
    missing += count * max(len(vector.mass) for vector in vectors) * _TINY
    slack = math.fsum(times * cells.slack for cells, times in parts) * (1 + 1e-9)
    return Sum(tilt, math.fsum(constants), first, step, mass, error, missing, math.expm1(min(relative, 700.0)), slack)


def _tilted(mass: Floats, exponent: Floats) -> Floats:
    """Return mass * e^exponent; through the logarithm if the factor exceeds floats and the product does not."""
    product = mass * np.exp(np.minimum(exponent, 600.0))
    beyond = (exponent > 600) & (mass > 0)
    if beyond.any():
        product[beyond] = np.exp(np.log(mass[beyond]) + exponent[beyond])
    return np.asarray(product)


def _convolved(vectors: list[_Vector], step: float) -> tuple[Floats, int, float, float]:
    """Return the masses of the sum on a window, its first point, their error, and the mass outside the window."""
    low, high, bounds = _window(vectors, step)
    points = 1 << max(1, (high - low).bit_length())
    if points > MOST_POINTS:
        raise TooFine(f"a grid of step {step} would need {points} points: choose a larger step")
    spectrum = np.ones(points // 2 + 1, dtype=np.complex128)
    error = largest = 0.0
    offset = count = rows = 0
    for vector in _merged(vectors, int(points * _MERGED)):
        folded = _folded(vector.mass, points)
        found = np.fft.rfft(folded, points)
        wrong = transform_error(points) * _norm(found) + math.sqrt(points) * vector.error
        spectrum *= _power(found, vector.count)
        error += vector.count * wrong
        largest += vector.count * (max(0.0, vector.total - 1) + wrong)
        offset += vector.count * vector.first
        count += vector.count
        rows = max(rows, len(vector.mass) // points)
    # Telescoping over the factors, whose product is at most e^largest at any frequency; then the multiplications.
    size = _norm(spectrum)
    error = error * math.exp(min(largest, 700.0)) + (8 + rows) * UNIT * count * size
    error = (error + transform_error(points) * (size + error)) / math.sqrt(points) * (1 + 1e-9) + _TINY
    mass = np.maximum(np.fft.irfft(spectrum, points), 0.0)
    # Outside the window: nothing, where it holds all there is, and else the least of the Chernoff bounds.
    ends = (
        (-(low - 1), -sum(v.count * v.first for v in vectors)),
        (low + points, sum(v.count * v.last for v in vectors)),
    )
    missing = math.fsum(
        (1 + 1e-9) * min(math.exp(min(0.0, moment - tilt * end * step)) for tilt, moment in tried)
        for (end, last), tried in zip(ends, bounds, strict=True)
        if end <= last
    )
    return np.roll(mass, (offset - low) % points), low, error, missing


def _window(vectors: list[_Vector], step: float) -> tuple[int, int, tuple[_Bounds, _Bounds]]:
    """Return grid points outside which little of the sum lies, and the Chernoff bounds below and above."""
    laws = [(*_atoms(vector, step), vector.count) for vector in vectors]
    means = [float(np.sum(losses * mass)) for losses, mass, _ in laws]
    squares = [float(np.sum(losses * losses * mass)) for losses, mass, _ in laws]
    variance = sum(v.count * max(0.0, s - m * m) for v, s, m in zip(vectors, squares, means, strict=True))
    scale = math.sqrt(variance + step * step)
    low, below = _chernoff(laws, -1, scale)
    high, above = _chernoff(laws, 1, scale)
    least, most = sum(v.count * v.first for v in vectors), sum(v.count * v.last for v in vectors)
    first = max(least, math.floor(-low / step))
    return first, max(min(most, math.ceil(high / step)), first + 1), (below, above)


def _chernoff(laws: list[tuple[Floats, Floats, int]], sign: int, scale: float) -> tuple[float, _Bounds]:
    """Return a sum's reach to one side except for a tiny mass, and the bounds tried: tilts and ln moments."""
    room, reach = -math.log(_OUTSIDE), math.inf
    bounds: _Bounds = []
    # The first is right for a normal sum, heavier tails need a smaller one; the reach has one minimum.
    tilt = math.sqrt(2 * room) / scale
    while len(bounds) < _MOST_TILTS:
        bounds.append((tilt, _log_moment(laws, sign * tilt)))
        before, reach = reach, min(reach, (bounds[-1][1] + room) / tilt)
        if reach == before:
            break
        tilt /= 2
    return reach, bounds


def _log_moment(laws: list[tuple[Floats, Floats, int]], tilt: float) -> float:
    """Return an upper bound on ln of the moment of the sum: each distribution's, times its count."""
    total = 0.0
    for losses, mass, count in laws:
        far = abs(tilt) * float(max(abs(losses[0]), abs(losses[-1])))
        total += count * (log_moment(losses, mass, tilt) + UNIT * (len(mass) + 64 + 12 * far))
    return total


def _atoms(vector: _Vector, step: float) -> tuple[Floats, Floats]:
    """Return the losses and masses of non-empty cells."""
    filled = np.flatnonzero(vector.mass)
    return (vector.first + filled.astype(np.float64)) * step, vector.mass[filled]


def _merged(vectors: list[_Vector], most: int) -> list[_Vector]:
    """Return the same sum with distributions that occur once merged, shortest first, while they stay short."""
    rest = [vector for vector in vectors if vector.count != 1]
    order = itertools.count()
    heap = [(len(vector.mass), next(order), vector) for vector in vectors if vector.count == 1]
    heapq.heapify(heap)
    while len(heap) > 1 and heap[0][0] + heapq.nsmallest(2, heap)[1][0] <= most:
        first, second = heapq.heappop(heap)[2], heapq.heappop(heap)[2]
        both = _product(first, second)
        heapq.heappush(heap, (len(both.mass), next(order), both))
    return rest + [vector for _, _, vector in heap]


def _product(a: _Vector, b: _Vector) -> _Vector:
    """Return the distribution of the sum of two, by a transform long enough for all of it."""
    length = len(a.mass) + len(b.mass) - 1
    points = 1 << (length - 1).bit_length()
    mass = np.fft.irfft(np.fft.rfft(a.mass, points) * np.fft.rfft(b.mass, points), points)[:length]
    mass = np.maximum(mass, 0.0)
    norms = [math.sqrt(float(np.sum(x * x))) for x in (a.mass, b.mass, mass)]
    error = transform_error(points) * (norms[0] * b.total + norms[1] * a.total + 2 * norms[2])
    error = (error + a.error * b.total + b.error * a.total + 8 * UNIT * norms[2]) * (1 + 1e-6) + _TINY
    total = max(float(np.sum(mass)), a.total * b.total) * (1 + 64 * UNIT)
    return _Vector(mass, a.first + b.first, 1, total, error)


def _power(values: NDArray[Any], exponent: int) -> NDArray[Any]:
    """Return a power by squaring: its relative error grows with the exponent, not with the angle."""
    result = None
    while True:
        if exponent & 1:
            result = values if result is None else result * values
        exponent >>= 1
        if not exponent:
            return values if result is None else result
        values = values * values


def _norm(half: NDArray[Any]) -> float:
    """Return a bound on the Euclidean norm of a spectrum, given its stored half."""
    return math.sqrt(2 * float(np.sum(half.real**2 + half.imag**2))) * (1 + 1e-9)


def _folded(mass: Floats, points: int) -> Floats:
    """Return the masses with those beyond the window wrapped around into it."""
    if len(mass) <= points:
        return mass
    padded = np.zeros(-(-len(mass) // points) * points)
    padded[: len(mass)] = mass
    return np.asarray(padded.reshape(-1, points).sum(axis=0))

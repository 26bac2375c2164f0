"""Gaussian-process release: a function's values at public points, with noise as smooth as the function.

For functions whose change is bounded in the norm of a reproducing kernel, a kernel density for example. The noise has
the kernel as covariance, so its size does not grow with the number of points. Cost: one product with a triangular
matrix. Corrections: a covariance of close points is nearly singular, and a float factor of it adds next to no noise in
some directions; here the factor is a matrix of binary fractions, how far it stretches the norm is certified in exact
arithmetic and paid for, and the noise is exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from operator import mul
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Number, Of, OneOf, Positive, non_negative, probability, sqrt_up
from dither.exact.enclosure import exp_decimals
from dither.mechanisms.core.accuracy import gaussian_reach, share_of_failure
from dither.mechanisms.core.mechanism import Bound, Composed, Interval, Numerics
from dither.mechanisms.core.public import Array, PublicArray
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.core.values import RealArray
from dither.mechanisms.gaussian import Gaussian
from dither.privacy import Metric, Plan, Use

Matrix: TypeAlias = list[list[int]]

_MOST_POINTS = 64
_LARGEST_COORDINATE = 2**26
_FEWEST_BITS, _MOST_BITS = 128, 1024
# A factor is good enough when it changes squared norms by at most this share.
_LARGEST_DEFECT = Fraction(1, 2**40)

SQUARED_EXPONENTIAL, EXPONENTIAL = "squared-exponential", "exponential"


@dataclass(frozen=True)
class Factor:
    """A public lower triangle B, in units of 2^-bits, that nearly whitens a kernel matrix K, with its certificate.

    Guarantee: all eigenvalues of B K B^T lie within ``defect`` of 1, for the true K.
    """

    rows: tuple[tuple[int, ...], ...]
    inverse: tuple[tuple[int, ...], ...]
    bits: int
    defect: Fraction

    @cached_property
    def stretch(self) -> Fraction:
        """The largest factor by which B f may be longer in L2 than f is in the kernel's norm."""
        return sqrt_up(1 + self.defect)

    def whiten(self, values: list[Fraction]) -> list[Fraction]:
        """Return B times the values, exactly."""
        return _product(self.rows, values, self.bits)

    def colour(self, values: list[Fraction]) -> list[Fraction]:
        """Return the values times the inverse of B, far more precisely than a float."""
        return _product(self.inverse, values, self.bits)


def _product(rows: tuple[tuple[int, ...], ...], values: list[Fraction], bits: int) -> list[Fraction]:
    """Return a lower triangle in units of 2^-bits times the values, exactly, in integers over one denominator."""
    unit = math.lcm(*(value.denominator for value in values))
    whole = [value.numerator * (unit // value.denominator) for value in values]
    return [Fraction(sum(map(mul, row, whole)), unit << bits) for row in rows]


class KernelNorm(Metric):
    """The least norm, in a kernel's function space, of a function that takes the values' differences at the points."""

    def __init__(self, factor: Factor) -> None:
        super().__init__("KERNEL_NORM", "the norm of the change in the space of the kernel")
        self._factor = factor

    def measure(self, first: Any, second: Any) -> Fraction | None:
        """Return at least the square root of d^T K^-1 d, where d holds the differences at the points."""
        here, there = np.asarray(first, dtype=object), np.asarray(second, dtype=object)
        if here.shape != there.shape or here.shape != (len(self._factor.rows),):
            return None
        try:
            changes = [_rational(a) - _rational(b) for a, b in zip(here.tolist(), there.tolist(), strict=True)]
        except (ValueError, OverflowError):
            # NaN and infinities are at no distance from anything.
            return None
        square = sum((entry * entry for entry in self._factor.whiten(changes)), Fraction(0))
        return sqrt_up(square / (1 - self._factor.defect))


def _rational(entry: Any) -> Fraction:
    return Fraction(int(entry) if isinstance(entry, np.integer) else entry)


def _examples() -> Iterator[Example]:
    points, noise = PublicArray(np.array([[0], [2], [3]])), Gaussian(sigma=2, grid="1/8")
    here = np.array([0.5, -1.0, 2.0])
    mechanism = GaussianProcess(kernel=EXPONENTIAL, points=points, grid="1/2", length=1, noise=noise)
    yield Example(mechanism, here, tuple(_pairs(mechanism, here)))
    close = GaussianProcess(
        kernel=SQUARED_EXPONENTIAL, points=PublicArray([[0, 0], [1, 1]]), grid="1/64", length=1, noise=noise
    )
    yield Example(close, np.array([1.0, 1.0]), tuple(_pairs(close, np.array([1.0, 1.0]))))


def _pairs(mechanism: GaussianProcess, here: NDArray[np.float64]) -> Iterator[tuple[Any, Any, int]]:
    """Return pairs of functions at distance 1: a bump around a point, a change at one point, one at all points."""
    units = np.eye(len(here)).tolist()
    inverse, whitening = (
        np.array([multiply(list(map(Fraction, unit))) for unit in units], dtype=float).T
        for multiply in (mechanism.factor.colour, mechanism.factor.whiten)
    )
    alone = np.eye(len(here)) / np.linalg.norm(whitening, axis=0)
    # Shortened by more than floats are off.
    for change in (1 - 1e-11) * np.concatenate([inverse @ inverse.T, alone, inverse.T]):
        yield here, here + change, 1
        yield here - 2 * change, here, 2
    yield np.full(len(here), 2**62), np.full(len(here), 2**62), 1


@register(
    examples=_examples,
    source="Differential Privacy for Functions and Functional Data (Hall, Rinaldo, Wasserman 2013); A Survey on "
    "Differential Privacy and Applications, section 4.2.1",
)
@dataclass(frozen=True, kw_only=True)
class GaussianProcess(Composed[Any, Any]):
    """Release a function's values at public points with noise whose covariance is sigma^2 times a kernel.

    Guarantee: functions ``d_in`` apart in the norm of the kernel lose what ``noise`` loses at ``stretch * d_in``, with
    stretch - 1 below 2^-40: rho = ``d_in^2 / (2 sigma^2)``, and that share more.

    Args:
        kernel: "squared-exponential", e^(-|x - y|^2 / (2 length^2)), with Euclidean distances; or "exponential",
            e^(-|x - y| / length), with distances added up over coordinates: in one dimension Ornstein and Uhlenbeck's.
        points: where the function is released: integer numbers of steps, a row for each point, no two alike.
        grid: the step of the coordinates.
        length: how far the kernel reaches.
        noise: the noise of one value.

    >>> points = PublicArray(np.arange(20)[:, None])
    >>> smooth = GaussianProcess(
    ...     kernel="exponential", points=points, grid="1/10", length=1, noise=Gaussian(sigma=2)
    ... )
    >>> print(smooth.loss(1))
    rho = 0.125001

    """

    name: ClassVar[str] = "gaussian-process"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    points: Array = Array(
        "int",
        axes=2,
        most=_MOST_POINTS,
        within=(-_LARGEST_COORDINATE, _LARGEST_COORDINATE),
        where=lambda places: len(set(map(tuple, places.tolist()))) == len(places),
        rule=f"at most {_MOST_POINTS} different rows of integers within 2^26",
    )
    noise: Of[Gaussian] = Of(Gaussian, shape=())
    kernel: OneOf = OneOf(SQUARED_EXPONENTIAL, EXPONENTIAL)
    grid: Positive = Positive()
    length: Positive = Positive()

    def __post_init__(self) -> None:
        _ = self.factor  # refuses points that are too close

    @cached_property
    def factor(self) -> Factor:
        """The public matrix by which values are whitened."""
        return _factor(self.kernel, self.points, self.grid / self.length)

    @property
    def distance(self) -> Metric:
        """The norm of the kernel."""
        return KernelNorm(self.factor)

    @cached_property
    def part(self) -> Gaussian:
        """The noise for all whitened values."""
        return replace(self.noise, shape=(len(self.points.values),))

    def plan(self) -> Plan:
        """One draw."""
        return Use(self.part, self.factor.stretch)

    def rounding_distance(self, entry_error: Number) -> Fraction:
        """Return how far apart two functions may move when every value has an error of at most ``entry_error``.

        To be added to ``d_in`` where values are computed in floats: a change that alternates from point to point is
        long in the norm of the kernel.
        """
        error, factor = non_negative("entry_error", entry_error), self.factor
        sums = [Fraction(sum(map(abs, row)), 2**factor.bits) for row in factor.rows]
        return 2 * error * sqrt_up(sum((entry * entry for entry in sums), Fraction(0)) / (1 - factor.defect))

    def error(self, confidence: Number) -> Bound:
        """Return a bound on any value's error, as long as no whitened value leaves the range of the grid."""
        wanted = probability("confidence", confidence, open_below=True)
        factor = self.factor
        reach = gaussian_reach(self.noise.sigma, share_of_failure(wanted, len(factor.rows)))
        widest = max(sum(map(abs, row)) for row in factor.inverse) / 2**factor.bits
        return Bound(reach + widest * float(self.noise.grid) / 2, wanted, "the largest absolute error of any value")

    def interval(self, out: Any, confidence: Number) -> Interval:
        """Return the error on both sides of the released values, all at once."""
        bound = self.error(confidence)
        return Interval(out - bound.value, out + bound.value, bound.confidence)

    def release(self, data: Any, run: Runner) -> NDArray[np.float64]:
        """Return the noisy values at the public points."""
        # As a list: integers of an array would be cut off at 2^60, which is not smooth.
        is_whole = isinstance(data, np.ndarray) and data.dtype.kind in "iu"
        values = RealArray((len(self.points.values),)).admit(data.tolist() if is_whole else data)
        whitened = self.factor.whiten([Fraction(value) for value in values.tolist()])
        noisy = run(self.part, whitened, stability=self.factor.stretch)
        return np.array([float(value) for value in self.factor.colour([Fraction(number) for number in noisy.tolist()])])


@lru_cache(maxsize=64)
def _factor(kernel: str, points: PublicArray, step: Fraction) -> Factor:
    """Return a certified factor, with as many bits as needed."""
    gaps = [[_exponent(kernel, one, other, step) for other in points.values] for one in points.values]
    bits = _FEWEST_BITS
    while bits <= _MOST_BITS:
        factor = _try_factor(gaps, bits)
        if factor is not None:
            return factor
        bits *= 2
    raise InvalidParameter("points", points, "farther apart, or fewer, for this length: the kernel is nearly singular")


def _exponent(kernel: str, one: NDArray[Any], other: NDArray[Any], step: Fraction) -> Fraction:
    gaps: list[int] = [abs(a - b) for a, b in zip(one.tolist(), other.tolist(), strict=True)]
    if kernel == EXPONENTIAL:
        return sum(gaps) * step
    return sum(gap * gap for gap in gaps) * step * step / 2


def _try_factor(gaps: list[list[Fraction]], bits: int) -> Factor | None:
    """Return a factor with that many bits, or None if they are too few; the certificate alone is trusted."""
    matrix = [[_exp_of_minus(gap, bits) for gap in row] for row in gaps]
    lower = _cholesky(matrix, bits)
    if lower is None:
        return None
    rows = _inverse(lower, bits)
    defect = _defect(rows, matrix, bits)
    # The inverse of the rows serves accuracy alone, but it shall be one.
    residue = _residue(lower, rows, bits)
    if defect > _LARGEST_DEFECT or residue > _LARGEST_DEFECT**2:
        return None
    return Factor(tuple(map(tuple, rows)), tuple(map(tuple, lower)), bits, defect)


def _exp_of_minus(gap: Fraction, bits: int) -> int:
    """Return e^-gap in units of 2^-bits, with an error of less than one unit."""
    if gap > bits:
        return 0
    below, _ = exp_decimals(-gap, bits // 3 + 10)
    # To the nearest: the enclosure is off by far less than the half that is left.
    return 1 << bits if gap == 0 else math.floor(Fraction(below) * (1 << bits) + Fraction(1, 2))


def _cholesky(matrix: Matrix, bits: int) -> Matrix | None:
    """Return an approximate Cholesky factor (a lower triangle) of the matrix; None if a pivot vanishes."""
    lower: Matrix = []
    for row, entries in enumerate(matrix):
        new: list[int] = []
        for column in range(row):
            known = lower[column]
            rest = (entries[column] << bits) - sum(a * b for a, b in zip(new, known, strict=False))
            new.append(rest // known[column])
        pivot = (entries[row] << bits) - sum(a * a for a in new)
        if pivot <= 0:
            return None
        root = math.isqrt(pivot)
        if root == 0:
            return None
        lower.append([*new, root])
    return lower


def _inverse(lower: Matrix, bits: int) -> Matrix:
    """Return an approximate inverse of a lower triangle."""
    rows: Matrix = []
    for row, entries in enumerate(lower):
        sums = [-sum(entries[k] * rows[k][column] for k in range(column, row)) for column in range(row)]
        rows.append([*(total // entries[row] for total in sums), (1 << 2 * bits) // entries[row]])
    return rows


def _defect(rows: Matrix, matrix: Matrix, bits: int) -> Fraction:
    """Return an exact bound on the distance of the eigenvalues of B K B^T from 1: the certificate.

    The Frobenius norm of B M B^T - 1 for the rounded matrix M, and n ||B||^2 times its rounding error for the true one.
    """
    count = len(rows)
    half = [[sum(a * b for a, b in zip(row, column, strict=False)) for column in matrix] for row in rows]
    one, squares = 1 << 3 * bits, 0
    for i, entries in enumerate(half):
        for j in range(i + 1):
            entry = sum(a * b for a, b in zip(rows[j], entries, strict=False)) - (one if i == j else 0)
            squares += entry * entry * (1 if i == j else 2)
    length = sum(entry * entry for row in rows for entry in row)
    return sqrt_up(Fraction(squares, one * one)) + Fraction(count * length, 1 << 3 * bits)


def _residue(lower: Matrix, rows: Matrix, bits: int) -> Fraction:
    """Return the largest absolute row sum of L B - 1."""
    worst = 0
    for row, entries in enumerate(lower):
        products = [sum(entries[k] * rows[k][column] for k in range(column, row + 1)) for column in range(row + 1)]
        products[row] -= 1 << 2 * bits
        worst = max(worst, sum(map(abs, products)))
    return Fraction(worst, 1 << 2 * bits)

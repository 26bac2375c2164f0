"""Function release: a noisy sum of kernels around private points, evaluated at public points.

For densities and other smooth functions of a data set: one bump around each record, added up, read off at public
points. Cost: one evaluation for each record and point. Corrections: the values at public points are integers,
every record's row of them is shortened to a public length, and the noise is exact and independent. Noise with the
kernel's own covariance is in ``gaussian_process``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dither.exact import Number, Of, Positive, Whole, sqrt_up
from dither.mechanisms.core.mechanism import Bound, Composed, Interval, Numerics
from dither.mechanisms.core.public import Array, PublicArray
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.core.values import raw_entries, raw_number, raw_text
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.privacy import ROW, ROW_REPLACED, Plan, Unit, Use
from dither.privacy.fields import RowUnit

_LARGEST_COORDINATE = 2**26
_RECORDS_AT_A_TIME = 1 << 18


def _examples() -> Iterator[Example]:
    points = PublicArray(np.array([[0], [4], [8]]))
    public: dict[str, Any] = {"points": points, "grid": "1/4", "radius": 6, "bits": 4}
    yield Example(
        FunctionRelease(unit=ROW, length=20, noise=DiscreteGaussian(sigma=40), **public), np.array([[0], [1], [1]])
    )
    replaced = FunctionRelease(unit=ROW_REPLACED, length=8, noise=DiscreteGaussian(sigma=16), **public)
    yield Example(replaced, np.array([[0.25], [1.0], [2.75]]))


@register(
    examples=_examples,
    source="Differential Privacy for Functions and Functional Data (Hall, Rinaldo, Wasserman 2013); A Survey on "
    "Differential Privacy and Applications, section 4.2.1",
)
@dataclass(frozen=True, kw_only=True)
class FunctionRelease(Composed[Any, Any]):
    """Release, at public points, the noisy sum of quadratic kernels around all records.

    Guarantee: data ``d_in`` rows apart loses what ``noise`` loses at ``length * d_in``, or at
    ``sqrt(2) * length * d_in`` where rows are replaced.

    Args:
        unit: ROW or ROW_REPLACED.
        points: where the function is released: integer numbers of steps, a row for each point.
        grid: the step of the coordinates.
        radius: how far the kernel 1 - (distance / radius)^2 reaches, in steps.
        bits: values of a kernel are rounded down to 2^-bits.
        length: the values of one record at all points are shortened to this length in L2, in units of 2^-bits.
        noise: the noise of one value, in units of 2^-bits.

    >>> points = PublicArray([[0], [10], [20]])
    >>> density = FunctionRelease(
    ...     unit=ROW, points=points, grid="1/10", radius=15, bits=8, length=400, noise=DiscreteGaussian(sigma=400)
    ... )
    >>> density.loss(1)
    ZCDP('1/2')

    """

    name: ClassVar[str] = "function-release"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    points: Array = Array(
        "int",
        axes=2,
        most=2**16,
        within=(-_LARGEST_COORDINATE, _LARGEST_COORDINATE),
        where=lambda places: places.shape[1] <= 2**6,
        rule="at most 65536 rows of at most 64 integers within 2^26",
    )
    noise: Of[DiscreteGaussian] = Of(DiscreteGaussian, shape=())
    unit: RowUnit = RowUnit()
    grid: Positive = Positive()
    radius: Whole = Whole(least=1, most=2**24)
    bits: Whole = Whole(least=1, most=14)
    length: Whole = Whole(least=1, most=2**31)

    @property
    def distance(self) -> Unit:
        """The declared unit."""
        return self.unit

    @property
    def part(self) -> DiscreteGaussian:
        """The noise for all values."""
        return replace(self.noise, shape=(len(self.points.values),))

    @property
    def stability(self) -> Fraction:
        """How far one unit moves the values; two non-negative kernel vectors differ by at most sqrt(2) lengths."""
        return self.length * sqrt_up(Fraction(self.unit.touched))

    def plan(self) -> Plan:
        """One draw."""
        return Use(self.part, self.stability)

    def error(self, confidence: Number) -> Bound:
        """Return a bound on any value's error relative to the sum of the rounded and shortened kernels."""
        bound = self.part.error(confidence)
        return Bound(bound.value / 2**self.bits, bound.confidence, "the largest error of any value")

    def interval(self, out: Any, confidence: Number) -> Interval:
        """Return intervals for all sums of rounded and shortened kernels at once."""
        bound = self.error(confidence)
        return Interval(out - bound.value, out + bound.value, bound.confidence)

    def release(self, data: Any, run: Runner) -> NDArray[np.float64]:
        """Return the noisy sums at the public points."""
        places = self.points.values.astype(np.int64)
        sums = np.zeros(len(places), dtype=np.int64)
        block = max(1, _RECORDS_AT_A_TIME // len(places))
        rows = self._steps(data, places.shape[1])
        for start in range(0, len(rows), block):
            sums += self._kernels(rows[start : start + block], places).sum(axis=0)
        noisy = run(self.part, sums, stability=self.stability)
        return np.ldexp(np.asarray(noisy, dtype=np.float64), -self.bits)

    def _steps(self, data: Any, width: int) -> NDArray[np.int64]:
        """Return the records in integer steps; one that is not a row of the right length is far from every point."""
        rows = [self._record(row, width) for row in data]
        return np.array(rows, dtype=np.int64).reshape(-1, width)

    def _record(self, row: Any, width: int) -> list[int]:
        nowhere = [2 * _LARGEST_COORDINATE] * width
        entries = None if issubclass(type(row), (set, frozenset)) else raw_entries(row, width + 1)
        numbers = [*map(_coordinate, [row] if entries is None else entries)]
        if len(numbers) != width or not all(map(math.isfinite, numbers)):
            return nowhere
        steps = [math.floor(Fraction(number) / self.grid) for number in numbers]
        return [min(max(step, -2 * _LARGEST_COORDINATE), 2 * _LARGEST_COORDINATE) for step in steps]

    def _kernels(self, rows: NDArray[np.int64], places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return every record's kernel at every point, rounded down and shortened, as integers."""
        height = self.radius**2
        squares = np.zeros((len(rows), len(places)), dtype=np.int64)
        for column in range(places.shape[1]):
            gap = np.minimum(np.abs(rows[:, None, column] - places[None, :, column]), self.radius)
            squares += gap * gap
        values = (np.maximum(height - squares, 0) << self.bits) // height
        lengths = [math.isqrt(square - 1) + 1 if square else 0 for square in (values * values).sum(axis=1).tolist()]
        longest = np.maximum(np.array(lengths, dtype=np.int64), self.length)[:, None]
        shortened: NDArray[np.int64] = values * self.length // longest
        return shortened


def _coordinate(cell: Any) -> float:
    """Return the number that a raw cell holds, as a number or as text; NaN for anything else."""
    number = raw_number(cell)
    try:
        return float(raw_text(cell) or "nan" if number is None else number)
    except (OverflowError, ValueError):
        return math.nan

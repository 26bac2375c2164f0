"""Private random projection: records in fewer dimensions that keep their distances, with noise on each.

For clustering and nearest neighbours on many columns. Each record is multiplied by a public matrix of signs, shortened
to a public length and given noise; the noise grows with the length alone, not with the columns. Cost: one product of
integers. Correction: the projection alone is not private, although it is printed as such; a known matrix can be
inverted on sparse records, and the noise is what makes the promise.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Number, Positive, Whole, shape_of
from dither.mechanisms.core.mechanism import Bound, Composed, Interval, Numerics
from dither.mechanisms.core.public import Array, PublicArray
from dither.mechanisms.core.purse import CountNoise, OneCount
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.core.values import RealArray
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.privacy import Metric, Plan, Relation, Unit, Use

# So that squares of projected coordinates, and their sums, fit an int64.
_LARGEST_COORDINATE, _MOST_COORDINATES, _LARGEST_LENGTH = 2**25, 2**12, 2**31
# So that bound and grid are ordinary floats.
_SMALLEST = Fraction(1, 2**900)


def sign_matrix(key: str, rows: int, columns: int) -> PublicArray:
    """Return a public matrix of signs, determined by the key: bits of SHA-256 in counter mode.

    >>> sign_matrix("example", 2, 4).values.tolist()
    [[1, -1, 1, 1], [-1, 1, 1, 1]]
    """
    height, width = shape_of("rows", (rows, columns))
    blocks = [hashlib.sha256(f"{number}:{key}".encode()).digest() for number in range(-(-height * width // 256))]
    bits = np.unpackbits(np.frombuffer(b"".join(blocks), dtype=np.uint8))[: height * width]
    return PublicArray(2 * bits.reshape(height, width).astype(np.int64) - 1)


class _Records(Metric):
    """The number of records that differ, each compared with the one at the same position."""

    def measure(self, first: Any, second: Any) -> Fraction | None:
        here, there = np.asarray(first), np.asarray(second)
        if here.shape != there.shape or here.ndim != 2:
            return None
        same = (here == there) | ((here != here) & (there != there))
        return Fraction(int((~same.all(axis=1)).sum()))

    def moved_by(self, unit: Unit) -> Fraction | None:
        """Return 1 if a record is replaced in place; adding or removing a record moves all behind it."""
        return Fraction(1) if unit.is_one_record and unit.relation is Relation.REPLACE else None


RECORDS_IN_PLACE = _Records("RECORDS_IN_PLACE", "records that differ, each compared with the one in its place")


def _examples() -> Iterator[Example]:
    rows = np.array([[0.5, -1.0, 2.0], [0.0, 0.0, 0.25]])
    odd = np.array([[np.nan, np.inf, -np.inf], [0.0, 0.0, 0.25]])
    far = np.array([[2.0, 2.0, 2.0], [-2.0, 2.0, -2.0]])
    pairs = ((rows, odd, 1), (far, -far, 2), (rows, np.array([rows[0], [2.0, -2.0, 2.0]]), 1))
    public: dict[str, Any] = {"matrix": sign_matrix("example", 2, 3), "records": 2, "bound": 2, "grid": "1/4"}
    yield Example(RandomProjection(noise=DiscreteGaussian(sigma=8), length=4, **public), rows, pairs)
    yield Example(RandomProjection(noise=Geometric(scale=16), length=6, **public), rows, pairs)


@register(
    examples=_examples,
    source="Privacy via the Johnson-Lindenstrauss Transform (Kenthapadi et al. 2013); Differential Privacy and "
    "Applications (Zhu et al. 2017), section 6.1.2",
)
@dataclass(frozen=True, kw_only=True)
class RandomProjection(Composed[Any, Any]):
    """Project every record by a public matrix, clip it to a public length, and release all records with noise.

    Guarantee: tables in which ``d_in`` records differ, each in its own place, lose what ``noise`` loses at
    ``2 * length * d_in``. The number of records is public.

    Args:
        matrix: public integers, a row for each released coordinate; see ``sign_matrix``.
        records: how many records there are; public.
        bound: coordinates of a record are clamped to this size.
        grid: the step to which coordinates are rounded down.
        length: the steps to which projected records are clipped, in L2 for Gaussian and in L1 for geometric noise.
        noise: the noise of one released coordinate, in steps.

    >>> public = {"matrix": sign_matrix("example", 8, 100), "records": 1000, "bound": 1, "grid": "1/16", "length": 64}
    >>> RandomProjection(noise=DiscreteGaussian(sigma=128), **public).loss(1)
    ZCDP('1/2')

    """

    name: ClassVar[str] = "random-projection"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    matrix: Array = Array(
        "int", axes=2, most=_MOST_COORDINATES, rule=f"an array of integers with at most {_MOST_COORDINATES} rows"
    )
    noise: OneCount = OneCount()
    records: Whole = Whole(least=1, most=2**32)
    bound: Positive = Positive()
    grid: Positive = Positive()
    length: Whole = Whole(least=1, most=_LARGEST_LENGTH)

    def __post_init__(self) -> None:
        if not (_SMALLEST <= self.grid <= 1 / _SMALLEST and self.bound <= 1 / _SMALLEST):
            raise InvalidParameter("grid", str(self.grid), "between 2^-900 and 2^900, and the bound at most 2^900")
        farthest = self.steps * max(sum(map(abs, row)) for row in self.matrix.values.tolist())
        if not farthest <= _LARGEST_COORDINATE:
            raise InvalidParameter(
                "grid", str(self.grid), "so coarse that projected coordinates stay within 2^25 steps"
            )

    @property
    def steps(self) -> int:
        """The largest number of steps of a record's coordinate on either side of 0."""
        return math.ceil(self.bound / self.grid)

    @property
    def distance(self) -> Metric:
        """Records that differ, each compared with the one at the same position."""
        return RECORDS_IN_PLACE

    @property
    def part(self) -> CountNoise:
        """The noise for the whole table."""
        return replace(self.noise, shape=(self.records, len(self.matrix.values)))

    def plan(self) -> Plan:
        """One draw; a record moves by at most twice its length."""
        return Use(self.part, 2 * self.length)

    @property
    def _unit(self) -> float:
        """The value of one released step, such that distances are kept on average."""
        return float(self.grid) / math.sqrt(len(self.matrix.values))

    def error(self, confidence: Number) -> Bound:
        """Return a bound on any coordinate's error relative to the clipped projected record."""
        bound = self.part.error(confidence)
        return Bound(bound.value * self._unit * (1 + 1e-9), bound.confidence, "the largest error of any coordinate")

    def interval(self, out: Any, confidence: Number) -> Interval:
        """Return intervals for all coordinates of the clipped projected records at once."""
        bound = self.error(confidence)
        return Interval(out - bound.value, out + bound.value, bound.confidence)

    def release(self, data: Any, run: Runner) -> NDArray[np.float64]:
        """Return the noisy projected records."""
        signs = self.matrix.values.astype(np.int64)
        table, limit = RealArray((self.records, signs.shape[1])).admit(data), float(self.bound)
        if table.dtype == object:
            # A rational may be too large for a float; what is clamped is not.
            table = np.array([float(min(max(number, -self.bound), self.bound)) for number in table.tolist()])
        steps = np.floor(np.clip(table, -limit, limit) / float(self.grid))
        whole_steps = np.clip(steps, -self.steps, self.steps).astype(np.int64)
        projected = whole_steps.reshape(self.records, -1) @ signs.T
        noisy = run(self.part, self._shortened(projected), stability=2 * self.length)
        return np.asarray(noisy, dtype=np.float64) * self._unit

    def _shortened(self, projected: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return rows clipped to the public length, in integer steps rounded towards 0."""
        if isinstance(self.noise, Geometric):
            lengths = np.abs(projected).sum(axis=1)
        else:
            squares = (projected * projected).sum(axis=1)
            lengths = np.array([math.isqrt(square - 1) + 1 if square else 0 for square in squares.tolist()])
        longest = np.maximum(lengths, self.length)[:, None]
        shortened: NDArray[np.int64] = np.sign(projected) * (np.abs(projected) * self.length // longest)
        return shortened

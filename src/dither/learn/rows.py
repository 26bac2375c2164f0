"""Rows as integers: the form that every learner here gives to a record before anything is added up.

A record is a row of numbers, the last one its label or target. Each number is clipped to its public bounds and put on
a grid of whole steps; a record is then shortened until it lies in a ball of whole radius. Everything is a function of
the record alone and of public parameters: additions of integers below 2^53 are exact in floats, in any
order, and the other operations (subtraction, division, multiplication, square root, rounding) are rounded in one way
by IEEE 754, wherever in an array a number stands. So adding or removing a record moves a sum by that record's own
integers and by nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter, InvalidValue
from dither.mechanisms.core.public import Array, PublicArray
from dither.mechanisms.core.values import integers

Floats = NDArray[np.float64]

#: Steps of the grid between the centre of a column and its farther bound.
STEPS: Final = 2**12
#: Columns of a record.
MOST_COLUMNS: Final = 2**16
#: Rows that are multiplied at once: products of factors up to 2^15 and 2^20 then add up to less than 2^53.
_ROWS_AT_ONCE: Final = 2**17
#: Rows of which a few copies fit into a processor's cache.
CACHED_ROWS: Final = 2**13
#: Sums of this number of blocks stay below 2^62.
_BLOCKS_OF_INT64: Final = 2**9
#: Bounds of targets; their sums and differences are floats.
_LARGEST_TARGET = 10**300


class BoundField(Array):
    """The lower or the upper bounds of columns: finite numbers, one for each column."""

    def __init__(self) -> None:
        super().__init__(
            "float", axes=1, most=MOST_COLUMNS, rule=f"one finite number for each of 1 to {MOST_COLUMNS} columns"
        )


@dataclass(frozen=True)
class Box:
    """Public bounds of columns, and the grid on which their numbers lie.

    Zero is the centre of a column whose bounds contain it, so that what is mostly zero stays so; the middle is the
    centre of any other. NaN means the centre, everything beyond a bound means the bound.
    """

    lower: PublicArray
    upper: PublicArray

    def __post_init__(self) -> None:
        low, high = self.lower.values, self.upper.values
        with np.errstate(over="ignore", invalid="ignore"):
            fits = low.shape == high.shape and bool(np.all((high > low) & np.isfinite(high - low)))
        if not (fits and bool(np.all(self.scale >= 1e-290))):
            raise InvalidParameter("upper", self.upper, "above lower in every column, at a finite distance from it")

    @property
    def columns(self) -> int:
        """The number of columns."""
        return self.lower.values.size

    @property
    def centre(self) -> Floats:
        """The value of a column that is zero on the grid."""
        low, high = self.lower.values, self.upper.values
        centre: Floats = np.where((low <= 0) & (high >= 0), 0.0, low / 2 + high / 2)
        return centre

    @property
    def scale(self) -> Floats:
        """The distance of the farther bound from the centre."""
        scale: Floats = np.maximum(self.upper.values - self.centre, self.centre - self.lower.values)
        return scale

    def scaled(self, values: Floats) -> Floats:
        """Return numbers in [-1, 1], 0 at the centre: for predictions, and before rounding."""
        with np.errstate(all="ignore"):
            known = np.where(np.isnan(values), self.centre, values)
            inside = (np.clip(known, self.lower.values, self.upper.values) - self.centre) / self.scale
        return np.clip(inside, -1.0, 1.0)

    def steps(self, values: Floats) -> Floats:
        """Return integers between -STEPS and STEPS, as floats."""
        return np.rint(self.scaled(values) * STEPS)


def target_box(lower: Fraction, upper: Fraction) -> Box:
    """Return the bounds of a target, moved so that their middle is zero; a range too large for floats is refused."""
    if not lower < upper:
        raise InvalidParameter("target_upper", str(upper), "above target_lower")
    # As floats only where both fit, since a float beyond all others raises.
    is_held = abs(lower) < _LARGEST_TARGET and abs(upper) < _LARGEST_TARGET
    half = float(upper - lower) / 2 if is_held else 0.0
    if not half >= 1e-290:
        rule = "at a distance from target_lower between 1e-290 and what floats hold"
        raise InvalidParameter("target_upper", str(upper), rule)
    return Box(PublicArray([-half]), PublicArray([half]))


def records_of(data: Any, columns: int) -> Floats:
    """Return private records as floats: rows of ``columns`` numbers and a label. Refuses types and widths alone."""
    width = columns + 1
    if not (isinstance(data, np.ndarray) and data.dtype.kind in "biuf" and data.ndim == 2 and data.shape[1] == width):
        raise InvalidValue("data", data, f"an array of numbers, {width} a row: {columns} columns and a label")
    with np.errstate(all="ignore"):
        return np.ascontiguousarray(data, dtype=np.float64)


def labelled(records: Floats, classes: int) -> tuple[Floats, NDArray[np.int64]]:
    """Return the columns and the classes of records; records whose label is not a class are left out."""
    labels = records[:, -1]
    with np.errstate(invalid="ignore"):
        known = (labels >= 0) & (labels < classes) & (labels == np.floor(labels))
    return records[known, :-1], labels[known].astype(np.int64)


def squared_lengths(whole: Floats) -> Floats:
    """Return the squared Euclidean length of each row of integers; exact below 2^53."""
    lengths: Floats = np.add.reduce(whole * whole, axis=1)
    return lengths


def into_ball(whole: Floats, radius: int, target: int) -> Floats:
    """Shorten rows of integers to length ``radius`` at most, scale them by target / radius, and cut off.

    Returns rows of integers whose exact length is at most ``target``, which is below 2^24. Rounding makes a row
    longer by a factor of less than 1 + 2^-50, and its squared length, an integer, is then still below target^2 + 1.
    """
    factors = target / np.maximum(np.sqrt(squared_lengths(whole)), radius)
    scaled = whole * factors[:, None]
    return np.trunc(scaled, out=scaled)


def blocks(rows: int, size: int | None = None) -> Iterator[slice]:
    """Return slices of few enough rows that a product of integers stays exact.

    Args:
        rows: how many there are in all.
        size: how many are in a slice, at most 2^17, which is the default.

    """
    step = _ROWS_AT_ONCE if size is None else size
    return (slice(start, start + step) for start in range(0, rows, step))


def exact_products(left: Floats, right: Floats) -> NDArray[np.int64]:
    """Return ``left.T @ right`` for integers, one record a row: the exact sum over records, saturated at 2^60.

    Entries of a block add up to less than 2^53 when those of one side are at most 2^20 and of the other 2^15.
    """
    return integers(unbounded_products(left, right))


def unbounded_products(left: Floats, right: Floats) -> NDArray[Any]:
    """Return ``exact_products`` before they saturate: int64, or Python's integers where these might not fit."""
    return _added((left[block].T @ right[block] for block in blocks(len(left))), (left.shape[1], right.shape[1]))


def exact_sums(whole: Floats) -> NDArray[np.int64]:
    """Return the sum of each column of integers of at most 2^35, saturated at 2^60."""
    return integers(_added((np.add.reduce(whole[block], axis=0) for block in blocks(len(whole))), (whole.shape[1],)))


def _added(sums: Iterator[Floats], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return the sum of the sums of blocks, each below 2^53.

    Python's integers take over before an int64 could overflow: a sum that wraps round moves by 2^64 for one record.
    """
    total: NDArray[Any] = np.zeros(shape, dtype=np.int64)
    for number, block in enumerate(sums):
        if number == _BLOCKS_OF_INT64:
            total = total.astype(object)
        total = total + block.astype(np.int64)
    return total


def ball_radius(columns: int) -> int:
    """Return a usual radius in steps: that of records whose columns are half a scale from their centres.

    Few columns are given more room, up to that of the whole box.
    """
    root = math.sqrt(columns)
    return math.ceil(STEPS * max(root / 2, min(root, 1.5)))

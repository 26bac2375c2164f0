"""Values on a public grid, to which rounded noise is added.

Releasing round(f + Z) to a public grid is post-processing of the real mechanism f + Z, so it costs nothing. The value
is split into whole steps of the grid and an offset, exactly; noise narrower than a step is drawn on a finer grid and
rounded again, which is the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Field, Number, Positive, positive
from dither.mechanisms.core.values import LARGEST_SUM, LARGEST_VALUE, saturating_sum

_STEPS_PER_SCALE = 1024
_WIDEST = 2**56
# A grid still coarser hides the noise altogether, and leaves too few whole steps for the value.
_COARSEST = 2**20
# So that every released number fits a float.
_SMALLEST_GRID, _LARGEST_GRID = Fraction(1, 2**1000), Fraction(2**900)
# On coarser grids, multiples that fit an int64 are too few: they are released as floats.
_LARGEST_WHOLE_GRID = 2**40
_TINY = 5e-324
# Of the largest value, and of the coarsest step to which an integer is shifted.
_MOST_BITS = LARGEST_VALUE.bit_length() - 1


class Grid(Field[Number | None, Fraction]):
    """The step of the released numbers; by default the largest power of two up to a thousandth of the noise scale."""

    def __init__(self, scale_field: str) -> None:
        super().__init__(None)
        self._scale_field = scale_field

    def __set__(self, instance: object, value: Number | None) -> None:
        scale: Fraction = instance.__dict__[self._scale_field]
        grid = default_grid(scale) if value is None else positive(self._name, value)
        if not scale / _WIDEST <= grid <= scale * _COARSEST:
            raise InvalidParameter(self._name, str(grid), f"between 2^-56 and 2^20 of the {self._scale_field}")
        if not _SMALLEST_GRID <= grid <= _LARGEST_GRID:
            if value is None:
                raise InvalidParameter(self._scale_field, str(scale), "one whose grid is between 2^-1000 and 2^900")
            raise InvalidParameter(self._name, value, "between 2^-1000 and 2^900")
        instance.__dict__[self._name] = grid

    def offenders(self) -> Iterator[Any]:
        """Return steps that are too fine or too coarse for any scale, and anything that is not a positive number."""
        yield from (Fraction(1, 2**1001), 2**901)
        yield from (value for value in Positive().offenders() if value is not None)

    def samples(self, kept: Any = None) -> Iterator[Any]:
        """Return a finer and a coarser step."""
        given = Fraction(1) if kept is None else kept
        yield from (given / 2, given * 2, None)


def default_grid(scale: Fraction) -> Fraction:
    """Return the largest power of two up to a thousandth of the scale.

    >>> default_grid(Fraction(10))
    Fraction(1, 128)
    """
    exponent = math.floor(math.log2(scale.numerator) - math.log2(scale.denominator)) - 11
    grid = Fraction(2) ** exponent
    while grid * 2 * _STEPS_PER_SCALE <= scale:
        grid *= 2
    return grid


@dataclass(frozen=True)
class Steps:
    """Values as (value + grid / 2) / step = whole + offset, with the offset in [0, 1).

    The step is the grid halved ``halvings`` times; half a grid is added so that rounding down is rounding to nearest.
    """

    whole: NDArray[np.int64]
    offset: NDArray[np.float64]
    exact_offset: Callable[[int], Fraction]
    #: Whether every offset is one half because of the type: integers on a grid of one. Never because of the content,
    #: which must not decide how long a draw takes.
    is_on_grid: bool = False

    @classmethod
    def of(cls, values: NDArray[Any], grid: Fraction, halvings: int) -> Steps:
        """Split canonical values (see ``values.RealArray``)."""
        step, shift = grid / 2**halvings, Fraction(2**halvings, 2)
        if values.dtype == np.int64 and grid == 1 and halvings == 0:
            return cls(values, np.full(values.shape, 0.5), lambda _: Fraction(1, 2), is_on_grid=True)
        if values.dtype == np.float64 and _is_power_of_two(step):
            return cls._of_floats(values, step, shift)
        if values.dtype == np.int64 and _is_power_of_two(step) and _exponent(step) <= _MOST_BITS:
            return cls._of_integers(values, step, shift)
        pairs = [_split(Fraction(value), step, shift) for value in values.tolist()]
        whole = np.array([pair[0] for pair in pairs], dtype=np.int64)
        offset = np.array([float(pair[1]) for pair in pairs], dtype=np.float64)
        return cls(whole, offset, lambda index: pairs[index][1])

    @classmethod
    def _of_floats(cls, values: NDArray[np.float64], step: Fraction, shift: Fraction) -> Steps:
        """Split vectorised: dividing by a power of two is exact, and so is the fractional part of a float.

        Only subnormal quotients, and the sum of a tiny negative number and one, are rounded, which moves no whole step
        and the offset by 2^-54.
        """
        with np.errstate(over="ignore", under="ignore"):
            position = np.clip(np.ldexp(values, -_exponent(step)), -float(LARGEST_VALUE), float(LARGEST_VALUE))
            # A quotient too small for a float keeps its side of zero.
            vanished = (position == 0) & (values != 0)
            position[vanished] = np.copysign(_TINY, values[vanished])
        floor = np.floor(position)
        offset = position - floor
        whole = floor.astype(np.int64) + int(shift)
        if shift.denominator == 2:
            carry = offset >= 0.5
            whole += carry
            offset += np.where(carry, -0.5, 0.5)
        return cls(whole, offset, lambda index: _split(Fraction(values[index].item()), step, shift)[1])

    @classmethod
    def _of_integers(cls, values: NDArray[np.int64], step: Fraction, shift: Fraction) -> Steps:
        """Split vectorised, by shifting bits: each float offset is the nearest one to the exact offset."""
        bits, halves = _exponent(step), int(2 * shift)
        if bits <= 0:
            finer = min(-bits, _MOST_BITS)
            # A step finer than 2^-60 moves every value but 0 to an end of the range, as 2^-60 does.
            limit = LARGEST_VALUE >> finer
            position = np.clip(values, -limit, limit) << finer
            whole = position + halves // 2
            offset = np.full(values.shape, (halves % 2) / 2)
        else:
            shifted = values + (halves << (bits - 1) if halves % 2 else 0)
            whole = (shifted >> bits) + (0 if halves % 2 else halves // 2)
            offset = np.ldexp((shifted & (2**bits - 1)).astype(np.float64), -bits)
        return cls(whole, offset, lambda index: _split(Fraction(values[index].item()), step, shift)[1])


def _split(value: Fraction, step: Fraction, shift: Fraction) -> tuple[int, Fraction]:
    # In integers, which are several times faster: value / step = top / bottom, and the shift is a number of halves.
    top, bottom = value.numerator * step.denominator, value.denominator * step.numerator
    limit = LARGEST_VALUE * bottom
    whole, rest = divmod(2 * min(max(top, -limit), limit) + int(2 * shift) * bottom, 2 * bottom)
    return whole, Fraction(rest, 2 * bottom)


def subdivision(scale: Fraction, grid: Fraction) -> int:
    """Return k such that the noise is at least as wide as a step of grid / 2^k."""
    k = 0
    while scale * 2**k < grid:
        k += 1
    return k


def on_grid(whole: NDArray[np.int64], noise: NDArray[Any], grid: Fraction, halvings: int) -> NDArray[Any]:
    """Return the released numbers: steps of the finer grid, rounded down to the coarse grid and given in its units."""
    steps = saturating_sum(whole, noise) >> halvings
    if grid.denominator == 1 and grid <= _LARGEST_WHOLE_GRID:
        limit = LARGEST_SUM // int(grid)
        whole_steps: NDArray[np.int64] = np.clip(steps, -limit, limit) * int(grid)
        return whole_steps
    if _is_power_of_two(grid):
        return np.ldexp(steps.astype(np.float64), _exponent(grid))
    return np.array([float(int(step) * grid) for step in steps.ravel()]).reshape(steps.shape)


def _is_power_of_two(number: Fraction) -> bool:
    top, bottom = number.numerator, number.denominator
    return top & (top - 1) == 0 and bottom & (bottom - 1) == 0


def _exponent(power: Fraction) -> int:
    return power.numerator.bit_length() - power.denominator.bit_length()

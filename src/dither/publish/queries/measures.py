"""From an aggregate to the exact integers measured for it, each with the range of one row's contribution.

Counts are measured as they are. Numbers are clamped to their public range, put on a grid of whole steps and added up
as integers, so that a sum does not depend on the order of rows. Means, variances and covariances are made of sums of
values counted from the middle of their range, of the squares or products of those, and of the number of values: the
middle halves what one row can add. Squares that would be too large for exact sums are rounded down to a multiple of a
power of two, row by row, which changes the statistic (and is said so), not the guarantee.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from dither.data import Call, Case, CountOf, CountRows, Expression, Grid, Kind, Literal, Measure, Persons, Sum
from dither.data.expressions import Value, kind_of
from dither.errors import InvalidParameter
from dither.publish.queries.query import Aggregate

#: A range of reals has about this many steps: 2^24 on either side of nothing or of the middle.
_REAL_BITS: Final = 24
#: Integers are counted one by one up to this many bits.
_WHOLE_BITS: Final = 31
#: Squares and products have at most this many bits, so that 2^33 of them can be added up.
_SQUARE_BITS: Final = 26
#: Cells of a search by default for reals, and at most.
_CELL_BITS: Final = 20
MOST_CELL_BITS: Final = 32
#: Steps that are a smaller part of the range are finer than the digits that people are shown.
_FINE: Final = 10**5
_LARGEST_EXPONENT: Final = 1000
#: Squares of what lies within bounds are floats.
_LARGEST_BOUND: Final = 1e150


@dataclass(frozen=True)
class Measured:
    """One exact integer per group, and the range of one row's contribution; ``counts_units`` if each unit adds 1.

    With ``distinct`` it is the number of different values of that expression, among ``values`` if they are known.
    """

    measure: Measure
    least: int
    most: int
    counts_units: bool = False
    distinct: Expression | None = None
    values: tuple[Value, ...] | None = None


@dataclass(frozen=True)
class Scaled:
    """An argument on its grid: the expression in integer steps, and the value of a step."""

    grid: Grid
    expression: Expression
    is_whole: bool

    @property
    def step(self) -> Fraction:
        """The value of one step."""
        return Fraction(2) ** -self.grid.exponent

    @property
    def range(self) -> Fraction:
        """The length of the declared range, or the size of the only value in it."""
        length = Fraction(self.grid.upper) - Fraction(self.grid.lower)
        return length or abs(Fraction(self.grid.upper)) or Fraction(1)

    @property
    def farthest(self) -> int:
        """The largest number of steps from the origin."""
        return max(abs(self.grid.least), abs(self.grid.most), 1)

    @property
    def is_exact(self) -> bool:
        """Whether every value in the range lies on the grid."""
        return self.is_whole and self.grid.exponent >= 0 and float(self.grid.origin).is_integer()

    @property
    def rounding(self) -> str:
        """How values are rounded, for people; empty where the steps are finer than any number is shown."""
        is_fine = self.is_exact or self.step * _FINE <= self.range
        return "" if is_fine else f", in steps of {float(self.step):.3g}"

    def clamped(self, name: str) -> str:
        """Return what is measured of a value, for people."""
        return f"{name} clamped to [{_short(self.grid.lower)}, {_short(self.grid.upper)}]{self.rounding}"


COUNT: Final = Measured(CountRows(), 0, 1)
UNITS: Final = Measured(Persons(), 0, 1, counts_units=True)


def count_of(value: Expression) -> Measured:
    """Return the number of rows in which a value is not NULL, or is true."""
    return Measured(CountOf(value), 0, 1)


def distinct_of(value: Expression, values: tuple[Value, ...] | None) -> Measured:
    """Return the number of different values."""
    return Measured(CountRows(), 0, 1, distinct=value, values=values)


def total_of(scaled: Scaled) -> Measured:
    """Return the sum of steps."""
    return Measured(Sum(scaled.expression), scaled.grid.least, scaled.grid.most)


def product_of(first: Scaled, second: Scaled) -> tuple[Measured, int]:
    """Return the sum of the products of steps, and how many bits each product is shifted down."""
    corners = [a * b for a in (first.grid.least, first.grid.most) for b in (second.grid.least, second.grid.most)]
    shift = max(0, max(abs(corner) for corner in corners).bit_length() - _SQUARE_BITS)
    product: Expression = Call("multiply", (first.expression, second.expression))
    if shift:
        product = Call("shift_right", (product, Literal(shift, Kind.INTEGER)))
    least = 0 if first.expression == second.expression else min(corners) >> shift
    return Measured(Sum(product), least, max(corners) >> shift), shift


def on_grid(aggregate: Aggregate, place: int, columns: Mapping[str, Kind], *, origin: str) -> Scaled:
    """Return an aggregate's argument on a grid that starts at 'zero', in the 'middle' or at the 'lower' end."""
    value, kind = aggregate.arguments[place], kind_of(aggregate.arguments[place], columns)
    lower, upper = _bounds(aggregate, place, kind)
    middle = lower / 2 + upper / 2
    start = {"zero": 0.0, "middle": math.floor(middle) if kind is Kind.INTEGER else middle, "lower": lower}[origin]
    farthest = max(abs(Fraction(lower) - Fraction(start)), abs(Fraction(upper) - Fraction(start)))
    is_search = origin == "lower"
    if is_search and kind is not Kind.INTEGER and lower < upper:
        # The upper end itself would need a cell, and often a level of the search, for itself alone.
        upper = math.nextafter(upper, lower)
    exponent = _exponent(aggregate, farthest, is_whole=kind is Kind.INTEGER, is_search=is_search)
    grid = Grid(value, float(lower), float(upper), float(start), exponent)
    return Scaled(grid, grid, kind is Kind.INTEGER)


def both_known(first: Scaled, second: Scaled) -> tuple[Scaled, Scaled]:
    """Return two arguments, each NULL where the other is: a row counts with both or not at all."""
    return _only_with(first, second.grid.value), _only_with(second, first.grid.value)


def _only_with(scaled: Scaled, other: Expression) -> Scaled:
    is_known = Call("not", (Call("is_null", (other,)),))
    return Scaled(scaled.grid, Case(((is_known, scaled.expression),), Literal(None, Kind.INTEGER)), scaled.is_whole)


def _bounds(aggregate: Aggregate, place: int, kind: Kind) -> tuple[float, float]:
    if not kind.is_number:
        raise InvalidParameter(f"argument of {aggregate.name}", kind.value, "a number")
    if len(aggregate.bounds) != len(aggregate.arguments):
        rule = "a lower and an upper end for every argument: declare them for the column, or clamp the value"
        raise InvalidParameter(f"bounds of {aggregate.name}", aggregate.bounds, rule)
    lower, upper = aggregate.bounds[place]
    if not (
        math.isfinite(lower) and math.isfinite(upper) and lower <= upper and abs(lower) + abs(upper) <= _LARGEST_BOUND
    ):
        raise InvalidParameter(
            f"bounds of {aggregate.name}", (lower, upper), "in ascending order, and of at most 1e150 together"
        )
    if kind is Kind.INTEGER:
        # Integers between the ends are those between the whole ends.
        lower, upper = math.ceil(lower), max(math.ceil(lower), math.floor(upper))
    return lower, upper


def _exponent(aggregate: Aggregate, farthest: Fraction, *, is_whole: bool, is_search: bool) -> int:
    """Return the grid exponent e (step 2^-e): the requested or default granularity, capped to keep sums in range."""
    size = _bits(farthest) if farthest else 0
    most = (MOST_CELL_BITS if is_search else _WHOLE_BITS) - size
    if aggregate.granularity is not None:
        if not (math.isfinite(aggregate.granularity) and aggregate.granularity > 0):
            raise InvalidParameter(f"granularity of {aggregate.name}", aggregate.granularity, "a number above 0")
        return min(most, _LARGEST_EXPONENT, -_bits_down(Fraction(aggregate.granularity)))
    wanted = 0 if is_whole else (_CELL_BITS if is_search else _REAL_BITS) - size
    return min(wanted, most, _LARGEST_EXPONENT)


def _bits(number: Fraction) -> int:
    """Return the least b with number <= 2^b."""
    guess = number.numerator.bit_length() - number.denominator.bit_length() - 1
    while Fraction(2) ** guess < number:
        guess += 1
    return guess


def _bits_down(number: Fraction) -> int:
    """Return the largest b with 2^b <= number."""
    least = _bits(number)
    return least if Fraction(2) ** least == number else least - 1


def _short(number: float) -> str:
    return f"{number:.12g}"

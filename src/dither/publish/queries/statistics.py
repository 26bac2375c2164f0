"""From noisy integers to statistics: each group's value, and where the true one lies.

Every statistic is a function of few measured integers. Its interval is the range of that function over all integers
that the measured ones leave possible (a *box*), so it holds whenever every measured integer lies in its own interval:
the failure probability is the sum of theirs, however they depend on each other. What is known in advance, that a mean
lies within the range of its values or that a count is at least 0, only makes it shorter.

Floats are widened outwards after every step that may round; no guarantee of privacy depends on them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dither.data import Expression, Kind, Literal, Name
from dither.data.expressions import kind_of
from dither.publish.queries.measures import (
    COUNT,
    UNITS,
    Measured,
    Scaled,
    both_known,
    count_of,
    distinct_of,
    on_grid,
    product_of,
    total_of,
)
from dither.publish.queries.query import Aggregate

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Bounds = tuple[NDArray[Any], NDArray[Any]]

_OUTWARDS = 1e-12


@dataclass(frozen=True)
class Statistic(ABC):
    """The computation of one aggregate from the measured integers, in every group at once."""

    kind: ClassVar[Kind] = Kind.REAL
    #: Whether the error shrinks with the number of values in the group, which is not public.
    per_value: ClassVar[bool] = False

    aggregate: Aggregate

    @property
    @abstractmethod
    def measured(self) -> tuple[Measured, ...]:
        """What is measured."""

    @property
    @abstractmethod
    def weights(self) -> tuple[Fraction, ...]:
        """The most, as a share of the column's range, that the statistic moves when each measured integer moves by one.

        For what is divided by the number of values, before that division.
        """

    @property
    @abstractmethod
    def estimand(self) -> str:
        """What the interval covers, in words, apart from a person's limits."""

    @property
    def bias(self) -> str:
        """What separates the estimand from the plain statistic, in words."""
        return ""

    @property
    def unit_of_error(self) -> Fraction:
        """The value of an error of the whole range."""
        return Fraction(1)

    @abstractmethod
    def values(self, noisy: Sequence[Integers]) -> NDArray[Any]:
        """Return the statistic of every group."""

    @abstractmethod
    def enclosed(self, low: Sequence[NDArray[Any]], high: Sequence[NDArray[Any]]) -> Bounds:
        """Return where every group's true statistic lies, if every integer lies between low and high."""


@dataclass(frozen=True)
class Counted(Statistic):
    """A number of rows, of rows with a value, or of people."""

    kind: ClassVar[Kind] = Kind.INTEGER

    what: Measured
    text: str

    @property
    def measured(self) -> tuple[Measured, ...]:
        """The count."""
        return (self.what,)

    @property
    def weights(self) -> tuple[Fraction, ...]:
        """A count's range is one row."""
        return (Fraction(1),)

    @property
    def estimand(self) -> str:
        """The number."""
        return self.text

    def values(self, noisy: Sequence[Integers]) -> NDArray[Any]:
        """Return the noisy count."""
        return noisy[0]

    def enclosed(self, low: Sequence[NDArray[Any]], high: Sequence[NDArray[Any]]) -> Bounds:
        """Return counts of at least 0."""
        return np.maximum(low[0], 0), np.maximum(high[0], 0)


@dataclass(frozen=True)
class Summed(Statistic):
    """The sum of clamped values."""

    scaled: Scaled

    @property
    def measured(self) -> tuple[Measured, ...]:
        """The sum of steps."""
        return (total_of(self.scaled),)

    @property
    def weights(self) -> tuple[Fraction, ...]:
        """A step as a share of the range of one value."""
        return (self.scaled.step / self.scaled.range,)

    @property
    def estimand(self) -> str:
        """The sum on the grid."""
        return f"sum of {self.scaled.clamped(describe(self.aggregate.arguments[0]))}"

    @property
    def bias(self) -> str:
        """Clamping."""
        return "values outside the range count as its nearest end"

    @property
    def unit_of_error(self) -> Fraction:
        """The range of a value."""
        return self.scaled.range

    @property
    def is_integer(self) -> bool:
        """Whether sums are integers."""
        return self.scaled.is_exact and self.scaled.grid.exponent == 0

    def values(self, noisy: Sequence[Integers]) -> NDArray[Any]:
        """Return steps times the value of a step."""
        return self._worth(noisy[0])

    def enclosed(self, low: Sequence[NDArray[Any]], high: Sequence[NDArray[Any]]) -> Bounds:
        """Return the ends, cut off where all values have one sign."""
        first, last = low[0], high[0]
        if self.scaled.grid.least >= 0:
            first, last = np.maximum(first, 0), np.maximum(last, 0)
        if self.scaled.grid.most <= 0:
            first, last = np.minimum(first, 0), np.minimum(last, 0)
        if self.is_integer:
            return first, last
        return outwards(self._worth(first), self._worth(last))

    def _worth(self, steps: NDArray[Any]) -> NDArray[Any]:
        return steps if self.is_integer else np.ldexp(steps.astype(np.float64), -self.scaled.grid.exponent)


@dataclass(frozen=True)
class Averaged(Statistic):
    """The mean of clamped values: a sum counted from the middle of the range, over the number of values."""

    per_value: ClassVar[bool] = True

    scaled: Scaled

    @property
    def measured(self) -> tuple[Measured, ...]:
        """The sum of steps from the middle, and the number of values."""
        return total_of(self.scaled), count_of(self.scaled.grid.value)

    @property
    def weights(self) -> tuple[Fraction, ...]:
        """The mean lies at most half the range from the middle: the weight of one value too few or too many."""
        return self.scaled.step / self.scaled.range, Fraction(1, 2)

    @property
    def estimand(self) -> str:
        """The mean on the grid."""
        return f"mean of {self.scaled.clamped(describe(self.aggregate.arguments[0]))}"

    @property
    def bias(self) -> str:
        """Clamping."""
        return "values outside the range count as its nearest end"

    @property
    def unit_of_error(self) -> Fraction:
        """The range of a value."""
        return self.scaled.range

    def values(self, noisy: Sequence[Integers]) -> NDArray[Any]:
        """Return the noisy sum over the noisy number of values, at least one, within the range."""
        count = np.maximum(noisy[1], 1).astype(np.float64)
        return self._worth(np.clip(noisy[0] / count, self.scaled.grid.least, self.scaled.grid.most))

    def enclosed(self, low: Sequence[NDArray[Any]], high: Sequence[NDArray[Any]]) -> Bounds:
        """Return the range of sum / count over the box; a group without values has a mean anywhere in the range."""
        least, most = float(self.scaled.grid.least), float(self.scaled.grid.most)
        found = mean_bounds((low[0], high[0]), (low[1], high[1]), self.scaled)
        first, last = unless_empty(found, low[1], (least, most))
        lower, upper = outwards(self._worth(first), self._worth(last))
        # The first and the last step of the grid may lie a little outside the declared range, and so may a mean on it.
        ends = self._worth(np.array([self.scaled.grid.least, self.scaled.grid.most], dtype=np.float64))
        lowest, highest = min(self.scaled.grid.lower, float(ends[0])), max(self.scaled.grid.upper, float(ends[1]))
        return np.maximum(lower, lowest), np.minimum(upper, highest)

    def _worth(self, steps: Floats) -> Floats:
        return self.scaled.grid.origin + np.ldexp(steps, -self.scaled.grid.exponent)


@dataclass(frozen=True)
class Spread(Statistic):
    """The variance of clamped values or its root; divided by the number of values, or by one less."""

    per_value: ClassVar[bool] = True

    scaled: Scaled

    @property
    def measured(self) -> tuple[Measured, ...]:
        """The sum of squares of steps from the middle, their sum, and the number of values."""
        return self.squares[0], total_of(self.scaled), count_of(self.scaled.grid.value)

    @property
    def squares(self) -> tuple[Measured, int]:
        """The sum of squares, and the number of bits shifted away."""
        return product_of(self.scaled, self.scaled)

    @property
    def weights(self) -> tuple[Fraction, ...]:
        """Each as a share of the squared range."""
        step = self.scaled.step / self.scaled.range
        return step * step * 2 ** self.squares[1], step, Fraction(1, 4)

    @property
    def is_sample(self) -> bool:
        """Whether it is divided by one less than the number of values."""
        return self.aggregate.function.startswith("sample")

    @property
    def is_root(self) -> bool:
        """Whether it is a standard deviation."""
        return self.aggregate.function.endswith("deviation")

    @property
    def estimand(self) -> str:
        """The variance on the grid."""
        name = ("sample " if self.is_sample else "") + ("standard deviation" if self.is_root else "variance")
        rounded = f", squares in steps of {float(self.scaled.step**2 * 2 ** self.squares[1]):.3g}"
        shift = rounded if self.squares[1] else ""
        return f"{name} of {self.scaled.clamped(describe(self.aggregate.arguments[0]))}{shift}"

    @property
    def bias(self) -> str:
        """Clamping."""
        return "values outside the range count as its nearest end"

    @property
    def unit_of_error(self) -> Fraction:
        """The squared range, or the range for its root."""
        return self.scaled.range if self.is_root else self.scaled.range**2

    def values(self, noisy: Sequence[Integers]) -> NDArray[Any]:
        """Return the variance from the noisy sums, between 0 and the largest possible one."""
        square, total, count = (array.astype(np.float64) for array in noisy)
        count = np.maximum(count, 1)
        mean = np.clip(total / count, self.scaled.grid.least, self.scaled.grid.most)
        return self._shown(np.ldexp(square, self.squares[1]) / count - mean * mean, count)

    def enclosed(self, low: Sequence[NDArray[Any]], high: Sequence[NDArray[Any]]) -> Bounds:
        """Return the range of squares / count - (sum / count)^2 over the box."""
        squares = _shifted((low[0], high[0]), self.squares[1])
        found = variance_bounds(squares, (low[1], high[1]), (low[2], high[2]), self.largest)
        # One value has no sample variance, as no value has a variance.
        first, last = unless_empty(found, low[2] - (1 if self.is_sample else 0), (0.0, self.largest))
        fewest, most = np.maximum(low[2], 1).astype(np.float64), np.maximum(high[2], 1).astype(np.float64)
        least, _ = outwards(self._shown(first, most), first)
        _, largest = outwards(last, self._shown(last, fewest))
        return np.maximum(least, 0.0), largest

    @property
    def largest(self) -> float:
        """The largest variance that values within the range can have, in squared steps."""
        return ((self.scaled.grid.most - self.scaled.grid.least) / 2) ** 2 * (1 + _OUTWARDS)

    def _shown(self, variance: Floats, count: Floats) -> Floats:
        bounded = np.clip(variance, 0.0, self.largest)
        if self.is_sample:
            # One value has no sample variance; with two it is at most twice the population variance.
            bounded = bounded * count / np.maximum(count - 1, count / 2)
        worth = np.ldexp(bounded, -2 * self.scaled.grid.exponent)
        return np.sqrt(worth) if self.is_root else worth


@dataclass(frozen=True)
class Related(Statistic):
    """The covariance or correlation of two values, each clamped to its range, over the rows that have both."""

    per_value: ClassVar[bool] = True

    first: Scaled
    second: Scaled

    @property
    def is_correlation(self) -> bool:
        """Whether it is divided by both standard deviations."""
        return self.aggregate.function == "correlation"

    @property
    def is_sample(self) -> bool:
        """Whether it is divided by one less than the number of pairs."""
        return self.aggregate.function.startswith("sample")

    @property
    def products(self) -> tuple[tuple[Measured, int], ...]:
        """The sum of products, and for a correlation also of squares, with the bits shifted away."""
        pairs = [(self.first, self.second)]
        if self.is_correlation:
            pairs += [(self.first, self.first), (self.second, self.second)]
        return tuple(product_of(*pair) for pair in pairs)

    @property
    def measured(self) -> tuple[Measured, ...]:
        """Sums of products, both sums, and the number of rows with both values."""
        sums = (total_of(self.first), total_of(self.second), count_of(self.products[0][0].measure.value))  # type: ignore[attr-defined]
        return (*(product for product, _ in self.products), *sums)

    @property
    def weights(self) -> tuple[Fraction, ...]:
        """Each as a share of the product of both ranges."""
        one, other = (scaled.step / scaled.range for scaled in (self.first, self.second))
        steps = (one * other, one * one, other * other)
        products = (step * 2**shift for step, (_, shift) in zip(steps, self.products, strict=False))
        return (*products, one / 2, other / 2, Fraction(1, 4))

    @property
    def estimand(self) -> str:
        """The statistic on both grids."""
        names = [describe(argument) for argument in self.aggregate.arguments]
        both = " and ".join(map(Scaled.clamped, (self.first, self.second), names))
        return f"{self.aggregate.function.replace('_', ' ')} of {both}, over rows that have both"

    @property
    def bias(self) -> str:
        """Clamping."""
        return "values outside the ranges count as their nearest ends"

    @property
    def unit_of_error(self) -> Fraction:
        """The product of both ranges; a correlation has no unit."""
        return Fraction(1) if self.is_correlation else self.first.range * self.second.range

    def values(self, noisy: Sequence[Integers]) -> NDArray[Any]:
        """Return the statistic of the noisy sums, clipped to the possible range."""
        floats = [array.astype(np.float64) for array in noisy]
        products, (one, other, count) = floats[:-3], floats[-3:]
        count = np.maximum(count, 1)
        x = np.clip(one / count, self.first.grid.least, self.first.grid.most)
        y = np.clip(other / count, self.second.grid.least, self.second.grid.most)
        moments = [
            np.ldexp(product, shift) / count for product, (_, shift) in zip(products, self.products, strict=True)
        ]
        covariance = moments[0] - x * y
        if not self.is_correlation:
            return self._worth(self._divided(np.clip(covariance, -self.largest, self.largest), count))
        # A standard deviation is at least one step here: it only decides how the noisy covariance is shown.
        spread = np.sqrt(np.maximum(moments[1] - x * x, 1.0) * np.maximum(moments[2] - y * y, 1.0))
        correlation: NDArray[Any] = np.clip(covariance / spread, -1.0, 1.0)
        return correlation

    def enclosed(self, low: Sequence[NDArray[Any]], high: Sequence[NDArray[Any]]) -> Bounds:
        """Return the range over the box: the mean of products minus the product of the means."""
        count = (low[-1], high[-1])
        x = mean_bounds((low[-3], high[-3]), count, self.first)
        y = mean_bounds((low[-2], high[-2]), count, self.second)
        corners = [a * b for a in x for b in y]
        of_means = np.minimum.reduce(corners), np.maximum.reduce(corners)
        bound = float(self.first.farthest) * float(self.second.farthest)
        mean = quotient_bounds(_shifted((low[0], high[0]), self.products[0][1]), count, (-bound, bound))
        first, last = outwards(mean[0] - of_means[1], mean[1] - of_means[0])
        first, last = np.clip(first, -self.largest, self.largest), np.clip(last, -self.largest, self.largest)
        if not self.is_correlation:
            fewest, most = (np.maximum(end, 1).astype(np.float64) for end in count)
            # Dividing by one less moves an end away from 0, most where there are fewest.
            first = np.minimum(self._divided(first, fewest), self._divided(first, most))
            last = np.maximum(self._divided(last, fewest), self._divided(last, most))
            twice = self.largest * (2 if self.is_sample else 1)
            first, last = unless_empty((first, last), count[0] - (1 if self.is_sample else 0), (-twice, twice))
            return outwards(self._worth(first), self._worth(last))
        spreads = []
        for place, sums, scaled in ((1, -3, self.first), (2, -2, self.second)):
            squares = _shifted((low[place], high[place]), self.products[place][1])
            largest = ((scaled.grid.most - scaled.grid.least) / 2) ** 2
            spreads.append(variance_bounds(squares, (low[sums], high[sums]), count, largest))
        # The smaller the spread, the larger the correlation; without any spread it may be anything.
        smallest, most = (np.sqrt(np.maximum(spreads[0][end], 0) * np.maximum(spreads[1][end], 0)) for end in (0, 1))
        with np.errstate(divide="ignore", invalid="ignore"):
            least = np.where(first < 0, first / smallest, first / np.maximum(most, 1e-300))
            greatest = np.where(last > 0, last / smallest, last / np.maximum(most, 1e-300))
        least, greatest = (
            np.clip(np.nan_to_num(end, nan=worst), -1.0, 1.0) for end, worst in ((least, -1), (greatest, 1))
        )
        least, greatest = unless_empty(outwards(least, greatest), count[0], (-1.0, 1.0))
        return np.clip(least, -1.0, 1.0), np.clip(greatest, -1.0, 1.0)

    @property
    def largest(self) -> float:
        """The largest covariance that values within both ranges can have, in steps of both."""
        spans = [scaled.grid.most - scaled.grid.least for scaled in (self.first, self.second)]
        return spans[0] * spans[1] / 4 * (1 + _OUTWARDS)

    def _divided(self, covariance: Floats, count: Floats) -> Floats:
        """Return a covariance divided as asked; of one pair there is no sample covariance, and of two it is twice."""
        return covariance * count / np.maximum(count - 1, count / 2) if self.is_sample else covariance

    def _worth(self, steps: Floats) -> Floats:
        return np.ldexp(steps, -self.first.grid.exponent - self.second.grid.exponent)


def statistic_of(aggregate: Aggregate, columns: Mapping[str, Kind], *, has_persons: bool) -> Statistic | None:
    """Return the statistic of an aggregate made from sums and counts; None for quantiles and choices."""
    makers: dict[str, Callable[[], Statistic]] = {
        "count": lambda: Counted(aggregate, COUNT, "number of rows"),
        "count_of": lambda: Counted(aggregate, count_of(aggregate.arguments[0]), _counted(aggregate, columns)),
        # Where every row is a separate unit, it counts as a separate person.
        "persons": lambda: Counted(aggregate, UNITS if has_persons else COUNT, "number of different people"),
        "distinct": lambda: Counted(
            aggregate, distinct_of(aggregate.arguments[0], aggregate.values), _different(aggregate)
        ),
        "sum": lambda: Summed(aggregate, on_grid(aggregate, 0, columns, origin="zero")),
        "mean": lambda: Averaged(aggregate, on_grid(aggregate, 0, columns, origin="middle")),
    }
    for name in ("variance", "deviation", "sample_variance", "sample_deviation"):
        makers[name] = lambda: Spread(aggregate, on_grid(aggregate, 0, columns, origin="middle"))
    for name in ("covariance", "sample_covariance", "correlation"):
        makers[name] = lambda: Related(
            aggregate, *both_known(*(on_grid(aggregate, place, columns, origin="middle") for place in (0, 1)))
        )
    maker = makers.get(aggregate.function)
    return None if maker is None else maker()


def quotient_bounds(dividend: Bounds, count: Bounds, within: tuple[float, float]) -> tuple[Floats, Floats]:
    """Return the range of dividend / count over a box, for counts of at least 1, clipped to the possible range."""
    fewest, most = (np.maximum(end, 1).astype(np.float64) for end in count)
    low, high = (end.astype(np.float64) for end in dividend)
    first = np.where(low < 0, low / fewest, low / most)
    last = np.where(high < 0, high / most, high / fewest)
    return outwards(np.clip(first, *within), np.clip(last, *within))


def mean_bounds(total: Bounds, count: Bounds, scaled: Scaled) -> tuple[Floats, Floats]:
    """Return the range of a mean, in steps."""
    return quotient_bounds(total, count, (float(scaled.grid.least), float(scaled.grid.most)))


def variance_bounds(squares: Bounds, total: Bounds, count: Bounds, largest: float) -> tuple[Floats, Floats]:
    """Return the range of q / n - (s / n)^2 over a box, between 0 and the largest possible variance.

    For fixed q and s it rises in n up to 2 s^2 / q and falls beyond. So its largest value is there, or at the end of
    the box nearest to there, for the largest q and the smallest |s|; its smallest value is at an end of the box, for
    the smallest q and the largest |s|.
    """
    fewest, most = (np.maximum(end, 1).astype(np.float64) for end in count)
    least_q, most_q = (np.maximum(end, 0).astype(np.float64) for end in squares)
    low, high = (end.astype(np.float64) for end in total)
    near = np.where((low <= 0) & (high >= 0), 0.0, np.minimum(np.abs(low), np.abs(high)))
    far = np.maximum(np.abs(low), np.abs(high))
    peak = np.clip(2 * near * near / np.maximum(most_q, 1e-300), fewest, most)
    highest = most_q / peak - (near / peak) ** 2
    # The difference of two rounded numbers is off by a share of the larger one.
    slack = _OUTWARDS * (most_q / fewest + (far / fewest) ** 2)
    lowest = np.minimum(least_q / fewest - (far / fewest) ** 2, least_q / most - (far / most) ** 2)
    return np.clip(lowest - slack, 0.0, largest), np.clip(highest + slack, 0.0, largest)


def unless_empty(found: Bounds, fewest: NDArray[Any], whole: tuple[float, float]) -> tuple[Floats, Floats]:
    """Return the ends, or the whole possible range where there may be no value at all, and so no statistic.

    >>> [end.tolist() for end in unless_empty((np.array([2.0, 2.0]), np.array([3.0, 3.0])), np.array([0, 1]), (0, 9))]
    [[0.0, 2.0], [9.0, 3.0]]
    """
    is_empty = fewest <= 0
    return np.where(is_empty, whole[0], found[0]), np.where(is_empty, whole[1], found[1])


def outwards(low: NDArray[Any], high: NDArray[Any]) -> tuple[Floats, Floats]:
    """Return the ends of an interval, moved outwards by more than the float error."""
    low, high = low.astype(np.float64), high.astype(np.float64)
    return low - _OUTWARDS * np.abs(low), high + _OUTWARDS * np.abs(high)


def describe(expression: Expression) -> str:
    """Return an expression as text for people: names unchanged, anything longer abbreviated."""
    if isinstance(expression, Name):
        return expression.name
    if isinstance(expression, Literal):
        return "NULL" if expression.value is None else str(expression.value)
    below = [describe(child) for child in expression.children()[:4]]
    function = getattr(expression, "function", type(expression).__name__.lower())
    signs = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}
    if function in signs and len(below) == 2:
        return f"({below[0]} {signs[function]} {below[1]})"
    inner = ", ".join(below)
    return f"{function}({inner})" if len(inner) <= 60 else f"{function}(...)"


def _counted(aggregate: Aggregate, columns: Mapping[str, Kind]) -> str:
    argument = aggregate.arguments[0]
    is_condition = kind_of(argument, columns) is Kind.BOOLEAN
    return f"number of rows where {describe(argument)} {'holds' if is_condition else 'is not NULL'}"


def _different(aggregate: Aggregate) -> str:
    among = "" if aggregate.values is None else f" among {len(aggregate.values)} public ones"
    return f"number of different values of {describe(aggregate.arguments[0])}{among}, each once a person"


def _shifted(bounds: Bounds, shift: int) -> Bounds:
    low, high = (np.ldexp(end.astype(np.float64), shift) for end in bounds)
    return low, high

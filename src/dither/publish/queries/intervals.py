"""Intervals of expressions over released numbers: all possible values, if each number is in its own interval.

The interval of an expression holds whenever the intervals of the numbers in it hold together, however these depend on
each other. It may be longer than necessary where a number occurs twice. Floats are widened by one unit in the last
place at every step, and what is not known to be bounded is unbounded. NULL has no place in a range, but a range says
whether it may be NULL instead: a comparison with NULL decides which branch of a CASE is taken.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from dither.data import Call, Case, Cast, Expression, Kind, Literal, Name, OneOf
from dither.data.evaluation import evaluate
from dither.data.expressions import Value, names_in

Real = int | float


@dataclass(frozen=True)
class Range:
    """All numbers between two ends, which may be infinite, and NULL if that is possible, too."""

    low: Real
    high: Real
    may_be_null: bool = field(default=False, repr=False)

    def __contains__(self, number: Real) -> bool:
        return self.low <= number <= self.high


#: What may be the case: any of true, false and NULL.
Truth = frozenset[bool | None]
Known = Range | Truth | Value
ANYTHING = Range(-math.inf, math.inf, may_be_null=True)
_EITHER: Truth = frozenset((True, False, None))
#: Beyond this some operation may have no result.
_LARGEST: Final = 2**63


def enclose(expression: Expression, values: Mapping[str, Value], ranges: Mapping[str, Range]) -> Known:
    """Return an expression's possible values: a plain value if it contains no range, else a range or possible truths.

    >>> half = Call("divide", (Name("total"), Name("count")))
    >>> enclose(half, {}, {"total": Range(6, 8), "count": Range(2, 4)})
    Range(low=1.499999..., high=4.00000...)
    """
    if not names_in(expression) & ranges.keys():
        return evaluate(expression, values)
    if isinstance(expression, Name):
        return ranges[expression.name]
    if isinstance(expression, Case):
        return _case(expression, values, ranges)
    below = [enclose(child, values, ranges) for child in expression.children()]
    if isinstance(expression, Cast):
        return _cast(below[0], expression.kind)
    if isinstance(expression, OneOf):
        return _one_of(below[0], expression.options)
    if isinstance(expression, Call):
        if expression.function in _TRUTHS:
            return _TRUTHS[expression.function](below)
        numbers = [_as_range(part) for part in below]
        known = [part for part in numbers if part is not None]
        if expression.function in _ANY_NULLS:
            return _ANY_NULLS[expression.function](numbers)
        function = _NUMBERS.get(expression.function)
        if function is None or len(known) != len(numbers):
            return ANYTHING
        return _noting_null(expression.function, known, function(*known))
    return ANYTHING


def _noting_null(function: str, known: Sequence[Range], found: Range) -> Range:
    """Return a range that may be NULL where an argument may, the function may fail, or a result may be too large."""
    fails = _FAILS.get(function)
    may_be_null = (
        found.may_be_null
        or any(part.may_be_null for part in known)
        or (fails is not None and fails(known))
        or not (found.low >= -_LARGEST and found.high < _LARGEST)
    )
    return replace(found, may_be_null=may_be_null)


def days_enclosed(
    expression: Expression, values: Mapping[str, Value], ranges: Mapping[str, Range]
) -> tuple[datetime.date | None, datetime.date | None]:
    """Return between which days a released day lies: a public one and a released number of days; None for all else."""
    if not (isinstance(expression, Call) and expression.function == "add_days"):
        return None, None
    start, days = expression.arguments
    found = enclose(days, values, ranges)
    if not (isinstance(start, Literal) and isinstance(start.value, datetime.date) and isinstance(found, Range)):
        return None, None
    first, last = 1 - start.value.toordinal(), datetime.date.max.toordinal() - start.value.toordinal()
    # An end that is not known is infinite, and no day is.
    inside = [min(max(end, first), last) for end in (found.low, found.high)]
    low, high = (start.value + datetime.timedelta(days=end) for end in (math.floor(inside[0]), math.ceil(inside[1])))
    return low, high


def hull(parts: Sequence[Range]) -> Range:
    """Return the smallest range that contains all of these."""
    if not parts:
        return ANYTHING
    may_be_null = any(part.may_be_null for part in parts)
    return Range(min(part.low for part in parts), max(part.high for part in parts), may_be_null)


def _case(expression: Case, values: Mapping[str, Value], ranges: Mapping[str, Range]) -> Known:
    possible: list[Known] = []
    for condition, result in expression.branches:
        may = _as_truth(enclose(condition, values, ranges))
        if True in may:
            possible.append(enclose(result, values, ranges))
        if may == {True}:
            break
    else:
        possible.append(enclose(expression.otherwise, values, ranges))
    if all(not isinstance(part, Range | frozenset) for part in possible) and len(set(possible)) == 1:
        return possible[0]
    if any(isinstance(part, frozenset | bool) for part in possible):
        return frozenset().union(*(_as_truth(part) for part in possible))
    known = [_as_range(part) for part in possible]
    found = hull([part for part in known if part is not None])
    return replace(found, may_be_null=found.may_be_null or None in known)


def _as_range(part: Known) -> Range | None:
    """Return a number as a range; NULL and texts have none."""
    if isinstance(part, Range):
        return part
    if isinstance(part, bool) or not isinstance(part, int | float):
        return None
    return Range(part, part)


def _as_truth(part: Known) -> Truth:
    if isinstance(part, frozenset):
        return part
    return frozenset((part,)) if part is None or isinstance(part, bool) else _EITHER


def _cast(part: Known, kind: Kind) -> Known:
    number = _as_range(part)
    if number is None and isinstance(part, frozenset) and kind is Kind.INTEGER:
        known = [int(truth) for truth in part if truth is not None]
        return Range(min(known), max(known), None in part) if known else ANYTHING
    if number is None or kind not in (Kind.REAL, Kind.INTEGER):
        return ANYTHING
    return _noting_null("cast", [number], _rounded(number, math.floor)) if kind is Kind.INTEGER else number


def _one_of(part: Known, options: Sequence[Literal]) -> Truth:
    number = _as_range(part)
    numbers = [option.value for option in options if isinstance(option.value, int | float)]
    if number is not None and not number.may_be_null and not any(option in number for option in numbers):
        return frozenset((False,))
    return _EITHER


def _add(one: Range, other: Range) -> Range:
    return _wide(one.low + other.low, one.high + other.high)


def _subtract(one: Range, other: Range) -> Range:
    return _wide(one.low - other.high, one.high - other.low)


def _multiply(one: Range, other: Range) -> Range:
    corners = [_product(a, b) for a in (one.low, one.high) for b in (other.low, other.high)]
    return _wide(min(corners), max(corners))


def _product(one: Real, other: Real) -> Real:
    return 0 if one == 0 or other == 0 else one * other


def _divide(one: Range, other: Range) -> Range:
    """Divide; division by 0 gives NULL, which needs no place in the range."""
    parts = []
    if other.high > 0:
        least = other.low if other.low > 0 else 0.0
        parts.append(_multiply(one, _reciprocal(least, other.high)))
    if other.low < 0:
        most = other.high if other.high < 0 else 0.0
        parts.append(_multiply(one, _reciprocal(other.low, most)))
    return hull(parts)


def _reciprocal(low: Real, high: Real) -> Range:
    """Return 1 / x over a range on one side of 0, which may end at 0."""
    if low >= 0:
        return _wide(0.0 if math.isinf(high) else 1 / high, math.inf if low == 0 else 1 / low)
    return _wide(-math.inf if high == 0 else 1 / high, 0.0 if math.isinf(low) else 1 / low)


def _negate(one: Range) -> Range:
    return Range(-one.high, -one.low, one.may_be_null)


def _absolute(one: Range) -> Range:
    ends = (abs(one.low), abs(one.high))
    return Range(0 if 0 in one else min(ends), max(ends))


def _rounded(one: Range, function: Callable[[Any], int]) -> Range:
    low, high = (end if isinstance(end, float) and math.isinf(end) else function(end) for end in (one.low, one.high))
    return Range(low, high)


def _monotone(function: Callable[[float], float], *, least: float = -math.inf) -> Callable[[Range], Range]:
    def apply(one: Range) -> Range:
        if one.high < least:
            return ANYTHING
        return _wide(_limit(function, max(one.low, least)), _limit(function, one.high))

    return apply


def _limit(function: Callable[[float], float], at: Real) -> float:
    try:
        return function(float(at))
    except OverflowError:
        return math.inf
    except ValueError:
        return -math.inf


def _power(base: Range, exponent: Range) -> Range:
    if base.low > 0:
        # b^e = e^(e ln b), which is monotone in the product.
        log = _monotone(math.log, least=0.0)(base)
        return _monotone(math.exp)(_multiply(exponent, log))
    if exponent.low == exponent.high and exponent.low == 2:
        size = _absolute(base)
        return _multiply(size, size)
    return ANYTHING


def _quotient(one: Range, other: Range) -> Range:
    return _rounded(_divide(one, other), math.trunc)


def _remainder(one: Range, other: Range) -> Range:
    size = max(abs(one.low), abs(one.high))
    size = min(size, max(abs(other.low), abs(other.high)))
    return Range(-size, size)


def _sign(one: Range) -> Range:
    return Range((one.low > 0) - (one.low < 0), (one.high > 0) - (one.high < 0))


def _wide(low: Real, high: Real) -> Range:
    """Return the range, one step wider at each float end; integers are exact."""
    first = math.nextafter(low, -math.inf) if isinstance(low, float) else low
    last = math.nextafter(high, math.inf) if isinstance(high, float) else high
    return ANYTHING if first != first or last != last else Range(first, last)


def _compare(is_true: Callable[[Range, Range], bool], is_false: Callable[[Range, Range], bool]) -> Any:
    def decide(below: Sequence[Known]) -> Truth:
        one, other = map(_as_range, below)
        if one is None or other is None:
            return _EITHER
        null = frozenset((None,)) if one.may_be_null or other.may_be_null else frozenset[None]()
        if is_true(one, other):
            return null | {True}
        return null | {False} if is_false(one, other) else null | {True, False}

    return decide


def _all_of(below: Sequence[Known]) -> Truth:
    may = [_as_truth(part) for part in below]
    if any(part == {False} for part in may):
        return frozenset((False,))
    return frozenset((True,)) if all(part == {True} for part in may) else frozenset().union(*may, (False,))


def _any_of(below: Sequence[Known]) -> Truth:
    may = [_as_truth(part) for part in below]
    if any(part == {True} for part in may):
        return frozenset((True,))
    return frozenset((False,)) if all(part == {False} for part in may) else frozenset().union(*may, (True,))


def _not(below: Sequence[Known]) -> Truth:
    return frozenset(None if truth is None else not truth for truth in _as_truth(below[0]))


def _least(numbers: Sequence[Range | None]) -> Range:
    """Return the least number: NULL is passed over, so that a number that may be NULL bounds nothing from above."""
    known = [number for number in numbers if number is not None]
    if not known:
        return ANYTHING
    sure = [part.high for part in known if not part.may_be_null]
    high = min(sure) if sure else max(part.high for part in known)
    return Range(min(part.low for part in known), high, not sure)


def _greatest(numbers: Sequence[Range | None]) -> Range:
    negated = _least([None if number is None else _negate(number) for number in numbers])
    return _negate(negated)


def _any(numbers: Sequence[Range | None]) -> Range:
    known = [number for number in numbers if number is not None]
    return replace(hull(known), may_be_null=all(part.may_be_null for part in known))


_FAILS: dict[str, Callable[[Sequence[Range]], bool]] = {
    "divide": lambda known: 0 in known[1],
    "quotient": lambda known: 0 in known[1],
    "remainder": lambda known: 0 in known[1],
    "square_root": lambda known: known[0].low < 0,
    "logarithm": lambda known: known[0].low <= 0,
    "power": lambda known: known[0].low <= 0,
}
_NUMBERS: dict[str, Callable[..., Range]] = {
    "add": _add,
    "subtract": _subtract,
    "multiply": _multiply,
    "divide": _divide,
    "quotient": _quotient,
    "remainder": _remainder,
    "negate": _negate,
    "absolute": _absolute,
    "sign": _sign,
    "floor": lambda one: _rounded(one, math.floor),
    "ceiling": lambda one: _rounded(one, math.ceil),
    "square_root": _monotone(math.sqrt, least=0.0),
    "exponential": _monotone(math.exp),
    "logarithm": _monotone(math.log, least=0.0),
    "power": _power,
}
_ANY_NULLS: dict[str, Callable[[Sequence[Range | None]], Range]] = {
    "least": _least,
    "greatest": _greatest,
    "coalesce": _any,
    "null_if": lambda numbers: ANYTHING if numbers[0] is None else replace(numbers[0], may_be_null=True),
}
_TRUTHS: dict[str, Callable[[Sequence[Known]], Truth]] = {
    "less": _compare(lambda a, b: a.high < b.low, lambda a, b: a.low >= b.high),
    "at_most": _compare(lambda a, b: a.high <= b.low, lambda a, b: a.low > b.high),
    "more": _compare(lambda a, b: a.low > b.high, lambda a, b: a.high <= b.low),
    "at_least": _compare(lambda a, b: a.low >= b.high, lambda a, b: a.high < b.low),
    "equal": _compare(lambda a, b: a.low == a.high == b.low == b.high, lambda a, b: a.high < b.low or b.high < a.low),
    "unequal": _compare(lambda a, b: a.high < b.low or b.high < a.low, lambda a, b: a.low == a.high == b.low == b.high),
    "and": _all_of,
    "or": _any_of,
    "not": _not,
    "is_null": lambda below: frozenset((True, False)),
}

"""Public bounds of bits, months, seconds and places in texts: what ``bounds`` asks for functions of that kind.

Ends are exact fractions, or infinite. A date counts days, a timestamp microseconds, both from the first day of year 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Final

from dither.data import Call, Expression, Kind, Literal

_End = Fraction | float
_Interval = tuple[_End, _End]
_ALL: Final[_Interval] = (-math.inf, math.inf)
_DAY: Final = 86_400_000_000
#: Microseconds from 0001-01-01 to 1970-01-01.
_EPOCH: Final = 719_162 * _DAY
_UNITS: Final = {"hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000}
#: A month later is 28 to 31 days later.
_SHORTEST, _LONGEST = 28, 31


def bounds_of_part(expression: Call, given: list[_Interval], first_kind: Kind) -> _Interval | None:
    """Return the interval of a call whose arguments lie in those intervals, None if this module does not know it."""
    function = _BOUNDS.get(expression.function)
    return None if function is None else function(expression.arguments, given, first_kind)


def _and(arguments: tuple[Expression, ...], given: list[_Interval], kind: Kind) -> _Interval:
    """One operand from 0 on bounds the common bits, whatever sign the other has."""
    tops = [high for low, high in given if low >= 0]
    return (Fraction(0), min(tops)) if tops else _signed(given)


def _either(arguments: tuple[Expression, ...], given: list[_Interval], kind: Kind) -> _Interval:
    return (Fraction(0), _all_bits(given)) if all(low >= 0 for low, _ in given) else _signed(given)


def _signed(given: list[_Interval]) -> _Interval:
    """Integers of n bits and a sign have bitwise combinations of n bits and a sign."""
    top = _all_bits(given)
    return (-top - 1, top)


def _all_bits(given: list[_Interval]) -> _End:
    ends: list[_End] = [end for pair in given for end in pair]
    if any(math.isinf(end) for end in ends):
        return math.inf
    return Fraction(2 ** max(math.ceil(abs(Fraction(end))).bit_length() for end in ends) - 1)


def _months(arguments: tuple[Expression, ...], given: list[_Interval], kind: Kind) -> _Interval:
    unit = 1 if kind is Kind.DATE else _DAY
    (low, high), (fewest, most) = given
    # The day of the month may move to the last one of a shorter month: three days less.
    earlier = fewest * (_SHORTEST if fewest >= 0 else _LONGEST) - 3
    later = most * (_LONGEST if most >= 0 else _SHORTEST) + 3
    return low + earlier * unit, high + later * unit


def _seconds(arguments: tuple[Expression, ...], given: list[_Interval], kind: Kind) -> _Interval:
    (low, high), (fewest, most) = given
    return low + fewest * 1_000_000, high + most * 1_000_000


def _microseconds(arguments: tuple[Expression, ...], given: list[_Interval], kind: Kind) -> _Interval:
    return given[0][0] - _EPOCH, given[0][1] - _EPOCH


def _truncated(arguments: tuple[Expression, ...], given: list[_Interval], kind: Kind) -> _Interval:
    unit = arguments[1]
    step = _UNITS.get(str(unit.value), _DAY) if isinstance(unit, Literal) else _DAY
    low, high = given[0]
    return low if math.isinf(low) else Fraction(low // step * step), high


def _place(arguments: tuple[Expression, ...], given: list[_Interval], kind: Kind) -> _Interval:
    return Fraction(0), math.inf


_BOUNDS: Final[Mapping[str, Callable[[tuple[Expression, ...], list[_Interval], Kind], _Interval]]] = {
    "bit_and": _and,
    "bit_or": _either,
    "bit_xor": _either,
    "add_months": _months,
    "add_seconds": _seconds,
    "microseconds": _microseconds,
    "truncate_time": _truncated,
    "position": _place,
}

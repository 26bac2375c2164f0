"""Public numbers become exact rationals, or are rejected by name.

A float means its shortest decimal: ``0.1`` is one tenth, because that is what its author wrote. Checks state what is
allowed, so NaN, infinities, bools and words fail by themselves.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from numbers import Rational as AnyRational
from typing import TypeAlias

import numpy as np

from dither.errors import InvalidParameter

Number: TypeAlias = int | float | str | Decimal | Fraction

# Longer or more extreme texts are refused before they are parsed: "1e999999999" would otherwise fill the memory.
# An integer or quotient may be as long as the largest rational that is kept: what was written can be read back.
_LONGEST_TEXT = 5002
_LARGEST_EXPONENT = 400
_LARGEST_BITS = 8192
_QUOTIENT = r"\d{1,2500}(?:/\d{1,2500})?"
_DECIMAL = r"(?:\d{1,400}\.?\d{0,400}|\.\d{1,400})(?:[eE]([+-]?\d{1,4}))?"
_TEXT = re.compile(rf"[+-]?(?:{_QUOTIENT}|{_DECIMAL})", re.ASCII)
# NumPy counts a duration as an integer and a bool as nearly one; neither is a number here.
_NOT_NUMBERS = bool | np.bool_ | np.timedelta64


def exact(name: str, value: Number, *, rule: str = "a finite number") -> Fraction:
    """Return ``value`` as an exact rational.

    >>> exact("epsilon", 0.1), exact("epsilon", "1/3")
    (Fraction(1, 10), Fraction(1, 3))
    >>> exact("epsilon", float("nan"))
    Traceback (most recent call last):
        ...
    dither.errors.InvalidParameter: epsilon must be a finite number, got nan
    """
    parsed = _parse(value)
    if parsed is None:
        raise InvalidParameter(name, value, rule)
    return parsed


def positive(name: str, value: Number, *, at_most: Fraction | int | None = None) -> Fraction:
    """Return ``value`` as a positive rational."""
    number = _parse(value)
    if number is None or number.numerator <= 0 or (at_most is not None and number > at_most):
        rule = "a finite number above 0" + ("" if at_most is None else f" and at most {at_most}")
        raise InvalidParameter(name, value, rule)
    return number


def non_negative(name: str, value: Number) -> Fraction:
    """Return ``value`` as a non-negative rational."""
    number = _parse(value)
    if number is None or number.numerator < 0:
        raise InvalidParameter(name, value, "a finite number of at least 0")
    return number


def probability(name: str, value: Number, *, open_below: bool = False) -> Fraction:
    """Return ``value`` as a rational in [0, 1), or in (0, 1) when ``open_below``."""
    number = _parse(value)
    if number is None or not int(open_below) <= number.numerator < number.denominator:
        raise InvalidParameter(name, value, "a number in (0, 1)" if open_below else "a number in [0, 1)")
    return number


def whole(name: str, value: int, *, least: int = 0, most: int | None = None) -> int:
    """Return ``value`` as a Python integer within [``least``, ``most``]; reject bools and floats."""
    if type(value) is int or (isinstance(value, int | np.integer) and not isinstance(value, _NOT_NUMBERS)):
        number = int(value)
        if number >= least and (most is None or number <= most):
            return number
    rule = f"an integer of at least {least}" + ("" if most is None else f" and at most {most}")
    raise InvalidParameter(name, value, rule)


def shape_of(name: str, value: int | Sequence[int]) -> tuple[int, ...]:
    """Return an array shape with no empty axis; an integer means one axis."""
    axes: Sequence[int] = value if isinstance(value, tuple | list) else (value,)
    return tuple(whole(name, axis, least=1, most=2**40) for axis in axes)


def _parse(value: object) -> Fraction | None:
    """Return the rational that ``value`` denotes, or None if it denotes none."""
    # What is exact already is by far the commonest; its own class says so at once.
    if type(value) is Fraction:
        top, bottom = value.numerator, value.denominator
        if type(top) is int is type(bottom):
            is_short = top.bit_length() <= _LARGEST_BITS >= bottom.bit_length()
            return value if is_short else None
    if type(value) is int:
        return Fraction(value) if value.bit_length() <= _LARGEST_BITS else None
    if isinstance(value, _NOT_NUMBERS):
        return None
    if isinstance(value, int | np.integer):
        return _bounded(Fraction(int(value)))
    if isinstance(value, AnyRational):
        # The parts of a Fraction may themselves be NumPy integers, which overflow.
        return _bounded(Fraction(int(value.numerator), int(value.denominator)))
    if isinstance(value, float | np.floating | Decimal):
        # str() is the shortest text that reads back as the same number, in the width of its type.
        return _parse(str(value))
    if isinstance(value, str) and len(value) <= _LONGEST_TEXT:
        match = _TEXT.fullmatch(value)
        if match is None or abs(int(match[1] or 0)) > _LARGEST_EXPONENT:
            return None
        denominator = value.partition("/")[2]
        return None if denominator and not int(denominator) else _bounded(Fraction(value))
    return None


def _bounded(number: Fraction) -> Fraction | None:
    bits = max(number.numerator.bit_length(), number.denominator.bit_length())
    return number if bits <= _LARGEST_BITS else None

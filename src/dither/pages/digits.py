"""How many digits of a number people are shown: two of the half-width of its interval, in every form of a result.

An estimate of 17.2176 that may be off by 3.5 is 17.2. The ends of its interval are rounded outwards, so that the
interval that is shown holds the truth at least as often as the one that was computed. Files for programs (CSV, JSON,
Parquet) keep all digits, and nothing here is for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from typing import Any, Final

import numpy as np

#: Of the half-width of an interval.
_DIGITS: Final = 2
#: Of a number without an interval that is not an integer.
_DIGITS_ALONE: Final = 4
#: Numbers of more digits before the point, or of more zeros behind it, are written with a power of ten.
_LONGEST: Final = 15
_SMALLEST: Final = -7
#: Below this share of a step, what floats add to an end is not another step.
_SLACK: Final = Decimal("1e-9")
#: Digits before the point are grouped by threes from here on.
_GROUPED: Final = 10_000


@dataclass(frozen=True)
class Step:
    """The place of the last digit that is shown: a power of ten."""

    power: int

    def nearest(self, value: Any) -> str:
        """Return a number, rounded to the step.

        >>> Step(-1).nearest(17.2176), Step(2).nearest(19354), Step(0).nearest(0.9)
        ('17.2', '19,400', '1')
        """
        return self._text(value, ROUND_HALF_EVEN, Decimal(0))

    def below(self, value: Any) -> str:
        """Return the last step that is not above a number."""
        return self._text(value, ROUND_FLOOR, _SLACK)

    def above(self, value: Any) -> str:
        """Return the first step that is not below a number."""
        return self._text(value, ROUND_CEILING, -_SLACK)

    def _text(self, value: Any, rounding: str, slack: Decimal) -> str:
        number = _decimal(value)
        if number is None:
            return str(value)
        if not number.is_finite():
            return str(float(number))
        steps = (number.scaleb(-self.power) + slack).to_integral_value(rounding=rounding)
        rounded = steps.scaleb(self.power)
        if not rounded:
            rounded = abs(rounded)
        if rounded and (rounded.adjusted() >= _LONGEST or self.power < _SMALLEST):
            return f"{rounded:.{max(rounded.adjusted() - self.power, 0)}e}".replace("e+", "e")
        return _grouped(rounded, max(-self.power, 0))


def step_of(value: Any, low: Any, high: Any) -> Step | None:
    """Return to which step a number and its interval are shown: two digits of the half-width.

    Args:
        value: the number; None where an interval has none.
        low: the lower end; where it is not finite, the other end alone counts.
        high: the upper end.

    Returns:
        None where the interval has no width, or none that is known: then all is shown as it is.

    """
    number, first, last = _decimal(value), _decimal(low), _decimal(high)
    ends = [end for end in (first, last) if end is not None and end.is_finite()]
    if len(ends) == 2:
        half = (ends[1] - ends[0]) / 2
    elif ends and number is not None and number.is_finite():
        half = abs(ends[0] - number)
    else:
        return None
    if half <= 0:
        return None
    power = half.adjusted() - _DIGITS + 1
    # A number of people has no parts.
    is_integer = _is_integer(value) or (value is None and _is_integer(low) and _is_integer(high))
    return Step(max(power, 0) if is_integer else power)


def in_digits(value: Any, low: Any, high: Any) -> tuple[str, str, str]:
    """Return a number and the ends of its interval as people are shown them.

    >>> in_digits(3165, 3098, 3232), in_digits(17.2176, 13.7364, 20.6988), in_digits(660.758, 655.1, 666.4)
    (('3165', '3098', '3232'), ('17.2', '13.7', '20.7'), ('660.8', '655.1', '666.4'))
    >>> in_digits(19354, 18120, 20588), in_digits(0, 0, 6000), in_digits(5, 5, 5)
    (('19,400', '18,100', '20,600'), ('0', '0', '6000'), ('5', '5', '5'))
    """
    step = step_of(value, low, high)
    if step is None:
        return alone(value), alone(low), alone(high)
    return "NULL" if value is None else step.nearest(value), step.below(low), step.above(high)


def bracketed(low: Any, high: Any, value: Any = None) -> str:
    """Return an interval as people are shown it, without its number.

    >>> bracketed(131.2315, 208.9544)
    '[131, 209]'
    """
    _, first, last = in_digits(value, low, high)
    return f"[{first}, {last}]"


def alone(value: Any) -> str:
    """Return a number without an interval: an integer as it is, another one to four digits; other values as text.

    >>> alone(12345), alone(17.21764), alone(None), alone("ward"), alone(float("inf"))
    ('12,345', '17.22', 'NULL', 'ward', 'inf')
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | Fraction | Decimal | np.number):
        return str(value)
    number = _decimal(value)
    if number is None or not number.is_finite() or not number:
        return f"{float(value):g}"
    if _is_integer(value):
        return Step(0).nearest(value)
    return _shortened(Step(number.adjusted() - _DIGITS_ALONE + 1).nearest(value))


def two_digits(size: float, *, up: bool = True) -> str:
    """Return a size, such as an error, to two digits, by default rounded up; zeros at the end are omitted.

    >>> two_digits(19.92), two_digits(0.12345), two_digits(6201), two_digits(9.99), two_digits(5), two_digits(0)
    ('20', '0.13', '6300', '10', '5', '0')
    """
    number = _decimal(size)
    if number is None or not number.is_finite() or not number:
        return f"{size:g}"
    step = Step((number * Decimal("1.005" if not up else "1.01")).adjusted() - _DIGITS + 1)
    return _shortened(step.above(size) if up else step.nearest(size))


def _decimal(value: Any) -> Decimal | None:
    """Return a number exactly as it is written, or None for what is not a number."""
    if isinstance(value, bool | np.bool_) or value is None:
        return None
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Fraction):
        value = value.numerator if value.denominator == 1 else float(value)
    if not isinstance(value, int | float | Decimal):
        return None
    found = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    return None if found.is_nan() else found


def _is_integer(value: Any) -> bool:
    if isinstance(value, Fraction):
        return value.denominator == 1
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _shortened(text: str) -> str:
    """Return a number without zeros at its end."""
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


def _grouped(number: Decimal, places: int) -> str:
    """Return a number with its decimals; long ones in groups of three digits."""
    return f"{number:,.{places}f}" if abs(number) >= _GROUPED else f"{number:.{places}f}"

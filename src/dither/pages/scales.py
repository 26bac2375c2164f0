"""Scales of axes: which numbers are marked, how they are written, and where a number stands between the ends."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

#: Beyond this, differences of two numbers would leave the range of floats.
_LARGEST: Final = 1e300
#: Below this, steps between marks would leave the range of floats, too: a smaller number is drawn as zero.
_SMALLEST: Final = 1e-300
_SUPERSCRIPTS: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_MOST_DECADES: Final = 7


def number(value: Any) -> float | None:
    """Return a value as a float that can be drawn, cut to a range; None where it is not a finite number.

    >>> number(3), number(float("nan")), number(10**400), number(1e-310), number(None)
    (3.0, None, 1e+300, 0.0, None)

    """
    if value is None:
        return None
    try:
        found = float(value)
    except OverflowError:
        found = _LARGEST if value > 0 else -_LARGEST
    except (TypeError, ValueError):
        return None
    if not math.isfinite(found):
        return None
    return 0.0 if abs(found) < _SMALLEST else min(max(found, -_LARGEST), _LARGEST)


def written(value: float, step: float, *, is_share: bool = False) -> str:
    """Return a number of an axis, with as many decimals as the step between marks needs.

    >>> written(1500, 500), written(0.25, 0.05), written(-2e9, 1e9), written(0.4, 0.2, is_share=True)
    ('1,500', '0.25', '\N{MINUS SIGN}2×10⁹', '40%')

    """
    if is_share:
        value, step = 100 * value, 100 * step
    size = max(abs(value), abs(step))
    if size and (size >= 1e7 or abs(step) < 1e-4):
        power = math.floor(math.log10(abs(value))) if value else 0
        # Below the least normal float, ten to the power is zero.
        scaled = value / 10.0**power if power > -300 else value * 1e300 / 10.0 ** (power + 300)
        shown = f"{scaled:.3g}" + (f"×10{str(power).translate(_SUPERSCRIPTS)}" if value else "")
    else:
        shown = f"{value:,.{_decimals(step)}f}"
    shown = shown if shown.strip("-0.,") else shown.removeprefix("-")
    return shown.replace("-", "\N{MINUS SIGN}") + ("%" if is_share else "")


def _decimals(step: float) -> int:
    found = 0
    while found < 6 and step > 0 and abs(round(step, found) - step) > 1e-6 * step:
        found += 1
    return found


@dataclass(frozen=True)
class Scale:
    """An axis of numbers.

    Args:
        low: the number at its beginning.
        high: the number at its end.
        ticks: the numbers that are marked, in order.
        is_log: whether equal factors are drawn at equal distances.
        is_share: whether numbers are written in per cent.

    """

    low: float
    high: float
    ticks: tuple[float, ...]
    is_log: bool = False
    is_share: bool = False

    def place(self, value: float) -> float:
        """Return where a number is: 0 at the beginning, 1 at the end; what lies outside stands at an end."""
        if self.is_log:
            low = math.log(self.low)
            value = (math.log(max(value, self.low)) - low) / (math.log(self.high) - low)
        else:
            value = (value - self.low) / (self.high - self.low)
        return min(max(value, 0.0), 1.0)

    @property
    def labels(self) -> tuple[str, ...]:
        """What is written at the marks."""
        if self.is_log:
            return tuple(written(tick, tick, is_share=self.is_share) for tick in self.ticks)
        step = self.ticks[1] - self.ticks[0]
        return tuple(written(tick, step, is_share=self.is_share) for tick in self.ticks)


def scale_of(
    values: Iterable[Any], *, is_log: bool = False, is_share: bool = False, with_zero: bool = False, marks: int = 5
) -> Scale:
    """Return a scale on which all these numbers have their place, and which begins and ends at a mark.

    Args:
        values: numbers; others are passed over.
        is_log: whether factors count; numbers that are not above zero are then passed over.
        is_share: whether numbers are written in per cent.
        with_zero: whether zero has a place, as bars need.
        marks: how many marks are wanted, in round figures.

    >>> scale_of([3, 17]).ticks, scale_of([1, 900], is_log=True).ticks
    ((0.0, 5.0, 10.0, 15.0, 20.0), (1.0, 10.0, 100.0, 1000.0))

    """
    found = [shown for shown in map(number, values) if shown is not None and (shown > 0 or not is_log)]
    if is_log:
        return _by_factors(min(found, default=1.0), max(found, default=10.0), is_share=is_share)
    low, high = min(found, default=0.0), max(found, default=1.0)
    # A scale that would begin close to zero begins there.
    if with_zero or 0 < low < 0.35 * high:
        low, high = min(low, 0.0), max(high, 0.0)
    elif high < 0 and high > 0.35 * low:
        high = 0.0
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        apart = 0.1 * max(abs(low), abs(high)) or 1.0
        low, high = (low - apart, high + apart) if low else (0.0, 1.0)
    step = _step((high - low) / marks)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = tuple(_exactly(place, step) for place in range(first, last + 1))
    return Scale(ticks[0], ticks[-1], ticks, is_share=is_share)


def _step(rough: float) -> float:
    """Return 1, 2 or 5 times a power of ten, at least as large as asked for."""
    power = 10.0 ** math.floor(math.log10(rough)) if rough > 1e-300 else 1e-300
    return next(times * power for times in (1, 2, 5, 10) if times * power >= rough * (1 - 1e-9) or times == 10)


def _exactly(place: int, step: float) -> float:
    """Return a multiple of a step without the digits that floats add."""
    return float(f"{place * step:.12g}")


def _by_factors(low: float, high: float, *, is_share: bool) -> Scale:
    """Return a scale of decades, with marks between them where there are few."""
    first, last = math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9)
    last = max(last, first + 1)
    stride = -(-(last - first) // _MOST_DECADES)
    last = first + stride * -(-(last - first) // stride)
    ticks = [_power(power) for power in range(first, last + 1, stride)]
    if last - first <= 2:
        ticks = [float(f"{times}e{power}") for power in range(first, last) for times in (1, 2, 5)] + [_power(last)]
        # Of the marks beyond the numbers only the nearest stay.
        while len(ticks) > 2 and ticks[1] <= low:
            ticks.pop(0)
        while len(ticks) > 2 and ticks[-2] >= high:
            ticks.pop()
    return Scale(ticks[0], ticks[-1], tuple(ticks), is_log=True, is_share=is_share)


def _power(power: int) -> float:
    return float(f"1e{min(max(power, -307), 308)}")

"""Releases as pictures: bars with their intervals, or a line with a band. Made of released values alone."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

import numpy as np

from dither.errors import InvalidParameter
from dither.mechanisms.core.mechanism import Interval
from dither.pages.charts import Bars, Line, bar_chart, line_chart
from dither.pages.frame import Axis, Chart

#: More numbers than this are drawn as a line with a band.
MOST_BARS: Final = 150


def drawn(value: Any, interval: Interval | None, labels: Any) -> tuple[list[str], list[float], list[Any], list[Any]]:
    """Return names, values and ends of intervals of what is drawn; the values themselves where there is no interval."""
    values = None
    with suppress(TypeError, ValueError):
        values = np.atleast_1d(np.asarray(value, dtype=float)).ravel()
    if values is None:
        raise InvalidParameter("value", type(value).__name__, "a number or an array of numbers, to be drawn")
    names = [str(label) for label in (range(1, values.size + 1) if labels is None else labels)]
    if len(names) != values.size:
        raise InvalidParameter("labels", len(names), f"one for each number: {values.size}")
    ends = (value, value) if interval is None else (interval.low, interval.high)
    low, high = (np.atleast_1d(np.asarray(end, dtype=float)).ravel().tolist() for end in ends)
    return names, values.tolist(), low, high


def release_picture(
    value: Any, interval: Interval | None, *, labels: Any, title: str, across: str, up: str, caption: str
) -> Chart:
    """Return released numbers as bars with their intervals, or as a line with a band where there are many.

    Args:
        value: a number or an array of them.
        interval: around each of them, if there is one.
        labels: what each number is of; by default its place.
        title: what is shown.
        across: what the labels are.
        up: what the numbers are.
        caption: what must be known to read it.

    """
    names, values, low, high = drawn(value, interval, labels)
    ends = ((), ()) if interval is None else (low, high)
    if len(names) > MOST_BARS:
        places = range(1, len(names) + 1)
        chart = line_chart(title, [Line(up, places, values, *ends)], across=Axis(across), up=Axis(up), width=720)
    else:
        chart = bar_chart(title, names, [Bars(up, values, *ends)], across=Axis(across), up=Axis(up))
    return chart.captioned(caption)

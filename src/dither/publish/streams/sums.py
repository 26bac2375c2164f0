"""What follows from released running sums at no cost: sums over sliding windows, and decayed sums.

Post-processing: every function here is handed released numbers and public parameters. The noise of neighbouring sums is
correlated, so that differences have less of it than the sums themselves.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Number, probability, whole
from dither.mechanisms import BufferedCounter


def window_sums(sums: Any, width: int) -> NDArray[Any]:
    """Return the sums of the last ``width`` ticks, or of all where there are fewer.

    Args:
        sums: released running sums, a row for each tick.
        width: how many ticks a window has.

    >>> window_sums([1, 3, 6, 10], 2).tolist()
    [1, 3, 5, 7]

    """
    found, ticks = np.asarray(sums), whole("width", width, least=1)
    earlier = np.zeros_like(found)
    earlier[ticks:] = found[:-ticks] if ticks < len(found) else found[:0]
    return np.asarray(found - earlier)


def decayed_sums(sums: Any, decay: Number) -> NDArray[Any]:
    """Return the sums in which a tick counts ``decay`` times as much after every further tick.

    Args:
        sums: released running sums, a row for each tick.
        decay: a number below 1.

    >>> decayed_sums([8, 8, 12], "1/2").tolist()
    [8.0, 4.0, 6.0]

    """
    rate, found = float(probability("decay", decay, open_below=True)), np.asarray(sums, dtype=np.float64)
    values, decayed = np.diff(found, axis=0, prepend=np.zeros_like(found[:1])), np.empty_like(found)
    kept = np.zeros(found.shape[1:])
    for tick, value in enumerate(values):
        kept = rate * kept + value
        decayed[tick] = kept
    return decayed


def window_error(counter: BufferedCounter, width: int, tick: int) -> float:
    """Return the standard deviation of the noise of a window's sum at a tick, counted from 0."""
    ticks, place = whole("width", width, least=1), whole("tick", tick)
    if counter.even:
        raise InvalidParameter("counter", counter.name, "one whose columns were not made even")
    mixing = counter.factor.mixing
    powers = np.arange(place + 1, dtype=np.float64)
    row = np.full(place + 1, float(mixing.lasting))
    for rate, weight in zip(mixing.rates, mixing.weights, strict=True):
        row += float(weight) * float(rate) ** powers
    row[ticks:] -= row[: max(0, place + 1 - ticks)].copy()
    return math.sqrt(float(counter.sigma) ** 2 * float(row @ row) + 1 / 6)

"""Smooth bounds on how far a statistic may move, which the smooth-sensitivity mechanisms take with the value.

The smooth sensitivity at data D is the largest e^(-b s) * L_s over s = 0, 1, ..., where L_s is the largest local
sensitivity of data within s changes of D. Floats compute it with a relative error of at most 2^-39, and what is
returned is raised by that much; the decay is slowed by as much as that can cost, so that the returned bound itself is a
true bound and smooth with exactly b. Runs on private data and raises because of none; what it returns is private.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dither.errors import InvalidParameter
from dither.exact import Number, exact, positive, to_float, whole

Floats = NDArray[np.float64]

# Exponents up to 600 are right to 600 * 2^-51, and so e^-x to a share of less than 2^-41; the search among order
# statistics may miss the largest term by another 2^-40. Raised by twice both.
_RAISED = 1 + 2.0**-39
_SLOWER = Fraction(1, 2**37)
_LEAST_SMOOTHNESS = Fraction(1, 2**30)
# Terms below e^-600 of the largest possible change are replaced by that much: a constant is as smooth as can be.
_FARTHEST = 600.0
_MOST_VALUES = 10**9


def smooth_bound(local: Iterable[float], *, most: Number, smoothness: Number) -> float:
    """Return a smooth bound from the local sensitivities at distances 0, 1, 2, ...

    Guarantee: if ``local[s]`` is the largest local sensitivity within s changes of the data, for all s below the length
    and ``most`` from there on and never exceeded, the result is at least ``local[0]``, and the results for
    neighbouring data lie within a factor of e^smoothness of each other.

    Args:
        local: the largest local sensitivity within 0, 1, 2, ... changes.
        most: the public bound on every local sensitivity.
        smoothness: the b of e^(-b s).

    >>> round(smooth_bound([0.0, 3.0, 5.0], most=10, smoothness="1/2"), 9)
    2.231301602

    """
    top, decay = to_float(positive("most", most), "up"), _decay(smoothness)
    reached = np.clip(np.nan_to_num(np.fromiter(local, dtype=np.float64), nan=top), 0.0, top)
    padded = np.append(reached, top)
    exponents = np.minimum(decay * np.arange(padded.size), _FARTHEST)
    return _raised(float((padded * np.exp(-exponents)).max()), top)


def order_statistic(
    values: ArrayLike, *, rank: int, lower: Number, upper: Number, smoothness: Number
) -> NDArray[np.float64]:
    """Return the ``rank``-th smallest value and a smooth bound on its change when one value is replaced.

    Guarantee: for values of which one is replaced, the statistics differ by no more than either bound, and the bounds
    lie within a factor of e^smoothness of each other. O(n log n).

    Args:
        values: numbers; clamped to the range, NaN to its lower end.
        rank: 1 is the smallest; beyond the number of values it is ``upper``. The median of n values has (n + 1) // 2.
        lower: the public lower end of the range.
        upper: the public upper end.
        smoothness: the b of e^(-b s).

    >>> order_statistic([1.0, 2.0, 4.0, 8.0, 9.0], rank=3, lower=0, upper=10, smoothness=1)
    array([4., 4.])

    """
    low = to_float(exact("lower", lower), "down")
    high = to_float(exact("upper", upper), "up")
    if not low < high:
        raise InvalidParameter("upper", upper, "above lower")
    decay, place = _decay(smoothness), whole("rank", rank, least=1, most=_MOST_VALUES)
    clamped = np.clip(np.nan_to_num(np.asarray(values, dtype=np.float64).ravel(), nan=low), low, high)
    inner = np.sort(clamped)
    if place > inner.size:
        inner = np.append(inner, np.full(place - inner.size, high))
    below = np.concatenate([[low], inner[:place]])[::-1]
    above = np.concatenate([inner[place - 1 :], [high]])
    return np.array([inner[place - 1], _raised(_widest(below, above, decay), high - low)])


def _widest(below: Floats, above: Floats, decay: float) -> float:
    """Return the largest e^(-decay * (i + j - 1)) * (above[j] - below[i]) over all i and j except both 0.

    The best j never falls as below[i] rises, that is as i falls: halves of the rows search halves of the columns. A
    column that is best but for rounding misleads other rows of its block by e^4 times that at most at each halving.
    """
    reach = int(_FARTHEST / decay) + 2
    below, above = below[:reach], above[:reach]
    decays = np.exp(-np.minimum(decay * np.arange(above.size), _FARTHEST))
    best, block = 0.0, int(3 / decay) + 1
    starts = range(0, below.size, block)
    waiting = [(start, min(start + block, below.size) - 1, 0, above.size - 1) for start in starts]
    while waiting:
        first, last, left, right = waiting.pop()
        row = (first + last) // 2
        gains = (above[left : right + 1] - below[row]) * decays[left : right + 1]
        column = left + int(np.argmax(gains))
        apart = max(row + column - 1, 0)
        best = max(best, float(above[column] - below[row]) * float(np.exp(-min(decay * apart, _FARTHEST))))
        if first < row:
            waiting.append((first, row - 1, column, right))
        if row < last:
            waiting.append((row + 1, last, left, column))
    return best


def _decay(smoothness: Number) -> float:
    wanted = positive("smoothness", smoothness, at_most=1)
    if wanted < _LEAST_SMOOTHNESS:
        raise InvalidParameter("smoothness", smoothness, "at least 2^-30")
    return to_float(wanted - _SLOWER, "down")


def _raised(bound: float, top: float) -> float:
    return max(bound, top * float(np.exp(-_FARTHEST))) * _RAISED

"""What a reader is shown of a noisy number: the nearest possible value, in an interval that is never empty.

**The rule.** The truth t lies in a public range: a count is at least 0. Let v be the noisy number, p the point of the
range nearest to v, and [v - a, v + b] the interval of v. Shown are p and the interval that reaches from v - a or
p - a, whichever is less, to v + b or p + b, whichever is more, cut off at the range.

- It holds p, so that it is never empty.
- It holds every point of the range that [v - a, v + b] holds, so that it covers t at least as often.
- Below the range it has a length that means something. A count of -19,296 with a reach of 6,000 is a failure of its
  interval, which lies below 0 as a whole; shown is 0 in [0, 6,000]. For Laplace noise and every v below 0 that is the
  interval in which t lies with 95 % if all counts are equally likely a priori.

All of it is post-processing of released numbers.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[Any]


def nearest(values: Numbers, least: float = -math.inf, most: float = math.inf) -> Numbers:
    """Return the points of a range nearest to some numbers; integers stay integers.

    >>> nearest(np.array([-3, 4]), 0).tolist()
    [0, 4]
    """
    found = values if least == -math.inf else np.maximum(values, _like(values, least))
    return found if most == math.inf else np.minimum(found, _like(values, most))


def believable(
    values: Numbers, low: Numbers, high: Numbers, least: float = -math.inf, most: float = math.inf
) -> tuple[Numbers, Numbers, Numbers]:
    """Return how noisy numbers in a known range are shown: the nearest values, lower and upper ends.

    >>> [part.tolist() for part in believable(np.array([-7, 2]), np.array([-10, -1]), np.array([-4, 5]), 0)]
    [[0, 2], [0, 0], [3, 5]]
    """
    shown = nearest(values, least, most)
    moved = shown - values
    first = nearest(low + np.minimum(moved, 0), least, most)
    last = nearest(high + np.maximum(moved, 0), least, most)
    return shown, np.fmin(first, shown), np.fmax(last, shown)


def _like(values: Numbers, end: float) -> Any:
    return int(end) if np.issubdtype(values.dtype, np.integer) else float(end)

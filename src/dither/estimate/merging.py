"""Merging of adjacent noisy buckets, where the mean of several is a better estimate than each alone.

Buckets i = 1..n hold s_i cells each; their sums were released with independent noise of variance V. A run G of buckets
that is replaced by its mean has, over all its cells, the expected squared error

    true spread + V |G| / S = E[spread of the noisy means] - V (sum 1/s_i - 2 |G| / S),        S = sum s_i,

where a spread is sum s_i (mean_i - mean)^2. So the right-hand side without its expectation is an unbiased estimate of
the error of every partition, and one dynamic programme finds the partition of the least estimate. For cells alone
(s_i = 1) the cost of a run of s cells is SSE - V (s - 2).

Objective: minimise the sum of these costs over all partitions into runs. Cost: O(n^2) operations in n vector steps.

Post-processing only: what is handed over has been released.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dither.errors import InvalidParameter
from dither.estimate.isotonic import finite_vector


def merge_runs(sums: ArrayLike, variance: float, sizes: ArrayLike | None = None) -> NDArray[np.int64]:
    """Return where the runs of the best partition begin.

    Args:
        sums: the released sums of the buckets, in order.
        variance: that of the noise of each.
        sizes: how many cells each holds; None for one each.

    >>> merge_runs([0.1, -0.2, 0.1, 9.0, 9.1, 8.9], 0.1).tolist()
    [0, 3]

    """
    given = finite_vector("sums", sums)
    cells = np.ones_like(given) if sizes is None else finite_vector("sizes", sizes)
    if cells.shape != given.shape or not (cells >= 1).all():
        raise InvalidParameter("sizes", f"an array of shape {cells.shape}", "a number of cells for each bucket")
    if not 0 <= variance < np.inf:
        raise InvalidParameter("variance", variance, "a number of at least 0")
    if given.size == 0:
        return np.zeros(0, dtype=np.int64)
    # Around the overall mean the squares stay small, and so do the rounding errors of their differences.
    given = given - cells * (given.sum() / cells.sum())
    total, squares, mass, inverses = (_running(part) for part in (given, given**2 / cells, cells, 1 / cells))
    alone = squares - variance * inverses
    best, previous = np.zeros(given.size + 1), np.zeros(given.size + 1, dtype=np.int64)
    counts = np.arange(given.size + 1, dtype=np.float64)
    for end in range(1, given.size + 1):
        width = mass[end] - mass[:end]
        # The cost of the run from each earlier place to here, but for what is the same for all of them.
        cost = best[:end] - alone[:end]
        cost += (2 * variance * (end - counts[:end]) - (total[end] - total[:end]) ** 2) / width
        begin = int(np.argmin(cost))
        best[end], previous[end] = cost[begin] + alone[end], begin
    starts, end = [], given.size
    while end:
        end = int(previous[end])
        starts.append(end)
    return np.array(starts[::-1], dtype=np.int64)


def _running(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.concatenate([[0.0], np.cumsum(values)])

"""Ripple: negative cells of a table of counts are filled from the cells that differ from them in one attribute.

PriView's own way (Qardaji, Yang, Li 2014) of making noisy tables non-negative while their total stays. A cell below
minus the threshold becomes 0, and its neighbours pay for it in equal parts; that may make some of them negative, and so
on until no cell is left below. ``projections.non_negative_with_total`` gives the nearest such table at once; the two
are hard to tell apart except where noise drowns the counts (figures on the page of PriView).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dither.errors import InvalidParameter
from dither.estimate.isotonic import finite_vector
from dither.estimate.projections import non_negative_with_total
from dither.exact import whole


def ripple(values: ArrayLike, *, threshold: float = 0.0, rounds: int = 1000) -> NDArray[np.float64]:
    """Return a table with the same total and no cell below minus the threshold.

    Args:
        values: released counts, one axis for each attribute.
        threshold: how far below 0 a cell may stay.
        rounds: how often cells may be filled; what is negative afterwards, as where the total is, is projected away.

    >>> ripple([[4.0, -1.0], [3.0, 2.0]]).tolist()
    [[3.5, 0.0], [3.0, 1.5]]

    """
    table = np.array(values, dtype=np.float64)
    finite_vector("values", table.ravel())
    if not 0 <= threshold < np.inf:
        raise InvalidParameter("threshold", threshold, "a number of at least 0")
    whole("rounds", rounds, least=1)
    neighbours = sum(size - 1 for size in table.shape)
    # A total that is not positive cannot be kept; a rounding error must not ripple on for ever.
    lowest = max(threshold, 1e-9 * float(np.abs(table).max(initial=0.0)))
    for _ in range(rounds if neighbours and table.sum() > 0 else 0):
        missing = np.where(table < -lowest, -table, 0.0)
        if not missing.any():
            return table if threshold else np.maximum(table, 0.0)
        paid = sum((missing.sum(axis=axis, keepdims=True) - missing for axis in range(table.ndim)), np.zeros(()))
        table = np.where(missing > 0, 0.0, table) - paid / neighbours
    return non_negative_with_total(table)

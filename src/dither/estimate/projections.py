"""Projections: the nearest non-negative numbers with a given total, and the nearest point of a simplex.

Objective: minimise sum_i w_i (x_i - y_i)^2 subject to x >= 0 and sum x = total. By the Karush-Kuhn-Tucker conditions
x_i = max(0, y_i - t / w_i) for the one t with the right total (Held, Wolfe and Crowder 1974, section 3.1; the weights
change nothing but the order w_i y_i in which entries reach 0). Cost: one sort.

The projection moves no estimate of non-negative numbers with that total farther from the truth in the weighted norm,
because the set is convex; it makes small entries larger on average, so it comes last.

Post-processing only: what is handed over has been released.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dither.errors import InvalidParameter
from dither.estimate.isotonic import finite_vector

#: Beside the largest number, smaller ones than this are what floats err.
_LAST_DIGITS: Final = 1e-12


def non_negative_with_total(
    values: ArrayLike, total: float | None = None, weights: ArrayLike | None = None
) -> NDArray[np.float64]:
    """Return the non-negative numbers with that total nearest to ``values``.

    Args:
        values: released numbers, of any shape.
        total: what they are to add up to; None for their own sum, or 0 where that is below 0.
        weights: a positive number for each, such as one over its variance; None for equal ones.

    >>> non_negative_with_total([5.0, -1.0, 2.0]).tolist()
    [4.5, 0.0, 1.5]

    """
    array = np.asarray(values, dtype=np.float64)
    given = finite_vector("values", array.ravel())
    factors = np.ones_like(given) if weights is None else finite_vector("weights", np.ravel(weights))
    if factors.shape != given.shape or not (factors > 0).all():
        raise InvalidParameter("weights", f"an array of shape {factors.shape}", "a number above 0 for each value")
    wanted = max(float(given.sum()), 0.0) if total is None else float(total)
    if not (0 <= wanted < np.inf) or (wanted > 0 and given.size == 0):
        raise InvalidParameter("total", total, "a number of at least 0, of at least one value")
    if wanted == 0:
        return np.zeros_like(array)
    # Entries in the order in which a growing t takes them to 0: the largest w y stay longest.
    order = np.argsort(-given * factors, kind="stable")
    sums, inverses = np.cumsum(given[order]), np.cumsum(1 / factors[order])
    shifts = (sums - wanted) / inverses
    # The first one always stays; a total that is small beside the values may be lost in their last digits.
    staying = np.flatnonzero(given[order] * factors[order] > shifts)
    projected = np.maximum(given - shifts[staying[-1] if staying.size else 0] / factors, 0.0)
    if not projected.any():
        projected[order[0]] = wanted
    # Of numbers that equal the shift nothing but its rounding error is left: they are 0, and not 1e-14.
    projected[projected < _LAST_DIGITS * projected.max()] = 0.0
    # Rounding errors of the sums are shared out, so that the total is kept to the last digits.
    kept_total: NDArray[np.float64] = projected * (wanted / projected.sum())
    return kept_total.reshape(array.shape)


def simplex(values: ArrayLike) -> NDArray[np.float64]:
    """Return the probabilities nearest to ``values``.

    >>> simplex([0.5, 1.0, -0.25]).tolist()
    [0.25, 0.75, 0.0]
    """
    return non_negative_with_total(values, 1.0)

"""Isotonic regression: the ordered sequence nearest to released numbers.

For sorted histograms, degree sequences and cumulative counts, whose true values are known to be in order. Objective:
minimise sum_i w_i (x_i - y_i)^2 subject to x_1 <= x_2 <= ... The minimiser is unique, and is given by pooling adjacent
violators (Barlow, Bartholomew, Bremner and Brunk 1972, section 1.2; Boosting the Accuracy of Histograms, Hay et al.
2010, theorem 1, for the same minimiser as a minimum of maxima of means). Cost: linear.

Post-processing only: what is handed over has been released.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dither.errors import InvalidParameter


def isotonic(values: ArrayLike, weights: ArrayLike | None = None, *, increasing: bool = True) -> NDArray[np.float64]:
    """Return the ordered sequence nearest to ``values`` in weighted least squares.

    Args:
        values: released numbers.
        weights: a positive number for each, such as one over its variance; None for equal ones.
        increasing: whether the order is upwards.

    >>> isotonic([1, 3, 2, 4]).tolist()
    [1.0, 2.5, 2.5, 4.0]
    >>> isotonic([1, 3, 2, 4], [1, 1, 3, 1]).tolist()
    [1.0, 2.25, 2.25, 4.0]

    """
    given = finite_vector("values", values)
    factors = np.ones_like(given) if weights is None else finite_vector("weights", weights)
    if factors.shape != given.shape or not (factors > 0).all():
        raise InvalidParameter("weights", f"an array of shape {factors.shape}", "a number above 0 for each value")
    if given.size == 0:
        return given
    from scipy.optimize import isotonic_regression

    fitted: Any = isotonic_regression(given, weights=factors, increasing=increasing).x
    return np.asarray(fitted, dtype=np.float64)


def finite_vector(parameter: str, values: ArrayLike) -> NDArray[np.float64]:
    """Return a vector of finite floats, or reject it by name."""
    array = np.array(values, dtype=np.float64)
    if array.ndim != 1 or not np.isfinite(array).all():
        raise InvalidParameter(parameter, f"an array of shape {array.shape}", "a vector of finite numbers")
    return array

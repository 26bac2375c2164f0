"""Least squares by LSMR, for matrices that are multiplied but never written out.

For measurements of a linear map with equal noise: the estimate with the smallest sum of squares, the shortest one where
several have it, and the variance that linear functions of it have. Cost: a few dozen products with the matrix and its
transposed for each solution, more where the matrix is badly conditioned.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Product = Callable[[Floats], Floats]

#: Relative accuracy of the normal equations at which the iteration stops.
_TOLERANCE = 1e-13


def least_squares(times: Product, transposed_times: Product, shape: tuple[int, int], measured: Floats) -> Floats:
    """Return the shortest x that minimises ``|A x - measured|``.

    Args:
        times: A times a vector.
        transposed_times: the transposed A times a vector.
        shape: rows and columns of A.
        measured: the right side.

    >>> ones = np.ones((2, 1))
    >>> least_squares(lambda x: ones @ x, lambda y: ones.T @ y, (2, 1), np.array([1.0, 3.0])).round(6).tolist()
    [2.0]

    """
    from scipy.sparse.linalg import LinearOperator, lsmr

    operator: Any = LinearOperator(shape, matvec=times, rmatvec=transposed_times, dtype=np.float64)
    most = 20 * min(shape) + 1000
    solution = lsmr(
        operator, np.asarray(measured, dtype=np.float64), atol=_TOLERANCE, btol=_TOLERANCE, conlim=0, maxiter=most
    )
    return np.asarray(solution[0], dtype=np.float64)


def variance_factor(times: Product, transposed_times: Product, shape: tuple[int, int], query: Floats) -> float:
    """Return the variance of ``query @ x`` for the estimate x, for measurements with noise of variance 1.

    The estimate of the query is z @ measured, where z is the shortest vector with A' z = query: its squared length is
    the variance. Right where the query is a combination of the rows of A.
    """
    weights = least_squares(transposed_times, times, shape[::-1], query)
    return float(weights @ weights)

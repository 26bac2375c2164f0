"""The orthonormal Haar transform: averages and differences of neighbours, level by level.

Inner products stay what they are, because the transform is a rotation. Post-processing only.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_ROOT = math.sqrt(0.5)


def padded_size(cells: int) -> int:
    """Return the power of two at which a vector of that many cells is transformed.

    >>> padded_size(6), padded_size(8), padded_size(1)
    (8, 8, 1)

    """
    return 1 << (cells - 1).bit_length()


def haar(vector: Floats) -> Floats:
    """Return the coefficients of a vector, padded with zeros: the sum over the root of the length, then differences.

    >>> haar(np.array([16.0, 9, 11, 8, 23, 15, 10, 15])).round(2).tolist()
    [37.83, -6.72, 3.0, 6.5, 4.95, 2.12, 5.66, -3.54]

    """
    found = np.zeros(padded_size(len(vector)))
    found[: len(vector)] = vector
    length = len(found)
    while length > 1:
        pairs = found[:length].reshape(-1, 2)
        found[:length] = np.concatenate([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]]) * _ROOT
        length //= 2
    return found


def inverse_haar(coefficients: Floats) -> Floats:
    """Return the padded vector that has these coefficients.

    >>> inverse_haar(haar(np.array([3.0, 1.0, 4.0]))).round(9).tolist()
    [3.0, 1.0, 4.0, 0.0]

    """
    found = np.array(coefficients, dtype=np.float64)
    length = 1
    while length < len(found):
        sums, differences = found[:length], found[length : 2 * length]
        found[: 2 * length] = np.stack([sums + differences, sums - differences], axis=1).ravel() * _ROOT
        length *= 2
    return found

"""The Walsh-Hadamard transform: the sums of cells with the signs of parities, in integers or floats."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray


def walsh_hadamard(table: NDArray[Any], axes: Iterable[int] | None = None) -> NDArray[Any]:
    """Return, for every subset of the axes (1: chosen), the sum of cells with the sign of their chosen ones.

    Args:
        table: with two entries along each axis that is transformed.
        axes: those that are transformed; all without.

    >>> walsh_hadamard(np.array([[3, 1], [0, 2]])).tolist()
    [[6, 0], [2, 4]]

    """
    for axis in range(table.ndim) if axes is None else axes:
        low, high = np.take(table, 0, axis=axis), np.take(table, 1, axis=axis)
        table = np.stack([low + high, low - high], axis=axis)
    return table

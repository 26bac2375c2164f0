"""Multiplicative weights: a table of all cells that learns from released answers, one after another.

Update: with N the number of records, A the table and y the answers to disjoint counting queries q, every cell x is
multiplied by e^(q(x) (y_q - q(A)) / (2 N)) and the table is brought back to N records (Hardt, Ligett and McSherry 2012,
section 2). Each update lowers the relative entropy between the true table and A by about the square of the error that
was found. Going over the same answers again is free and brings the table closer to them.

Post-processing only: answers have been released.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: No cell is multiplied by more than e to this, or less than its inverse, in one update.
_FARTHEST = 4.0


def summed(table: Floats, axes: Sequence[int]) -> Floats:
    """Return the marginal of a table on these axes, in increasing order."""
    wanted = set(axes)
    return np.asarray(table.sum(axis=tuple(axis for axis in range(table.ndim) if axis not in wanted)))


def learned(table: Floats, axes: Sequence[int], answers: Floats, total: float) -> Floats:
    """Return the table after one update.

    Args:
        table: a number of records for each cell, at least 0, all together ``total``.
        axes: of the marginal that was asked about, in increasing order.
        answers: for each of its cells a released number of records; NaN where there is none.
        total: the number of records, above 0.

    >>> start = np.full((2, 2), 5.0)
    >>> learned(start, (0,), np.array([20.0, np.nan]), 20.0).sum(axis=1).round(2).tolist()
    [11.24, 8.76]

    """
    missing = np.where(np.isnan(answers), 0.0, answers - summed(table, axes))
    factor = np.exp(np.clip(missing / (2 * total), -_FARTHEST, _FARTHEST))
    wanted = set(axes)
    shape = [size if axis in wanted else 1 for axis, size in enumerate(table.shape)]
    moved = table * factor.reshape(shape)
    return np.asarray(moved * (total / moved.sum()))


def learned_from_all(
    table: Floats, asked: Sequence[tuple[Sequence[int], Floats]], total: float, *, passes: int
) -> Floats:
    """Return the table after repeated updates with every answer, in turn."""
    for _ in range(passes):
        for axes, answers in asked:
            table = learned(table, axes, answers, total)
    return table

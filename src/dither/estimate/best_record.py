"""The record counted by the most weight of some public queries: brute force over few records, ascent over many.

Post-processing only: queries have been released, so how well or how badly this is solved is a matter of accuracy alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

#: A set of attributes and a weight for each of its cells.
Weighed = tuple[tuple[int, ...], NDArray[np.float64]]

#: Up to this many records, every one is examined.
MOST_RECORDS: Final = 2**16
_STARTS: Final = 8


def best_record(sizes: Sequence[int], weighed: Sequence[Weighed]) -> tuple[int, ...]:
    """Return a record with a large sum of the weights of its cells; the largest, and the first such, if there are few.

    Args:
        sizes: the number of values of each attribute.
        weighed: for sets of attributes, in increasing order, a weight for each cell.

    >>> best_record((2, 3), [((0,), np.array([0.0, 1.0])), ((0, 1), np.array([[0.0, 0.0, 3.0], [0.0, 1.0, 0.0]]))])
    (0, 2)

    """
    if np.prod([float(size) for size in sizes]) <= MOST_RECORDS and len(sizes) <= 32:
        sums = np.zeros(tuple(sizes))
        for axes, weights in weighed:
            sums += weights.reshape([size if axis in axes else 1 for axis, size in enumerate(sizes)])
        return tuple(int(code) for code in np.unravel_index(int(sums.argmax()), sums.shape))
    return _ascended(sizes, weighed)


def _ascended(sizes: Sequence[int], weighed: Sequence[Weighed]) -> tuple[int, ...]:
    """Return the best of several records that no single change of value improves.

    Each start is a heavy cell of one set of attributes, and zeros elsewhere.
    """
    touching: list[list[Weighed]] = [[] for _ in sizes]
    for one in weighed:
        for axis in one[0]:
            touching[axis].append(one)
    heavy = sorted(weighed, key=lambda one: -float(one[1].max()))[:_STARTS]
    best, most = [0] * len(sizes), -np.inf
    for axes, weights in heavy:
        record = [0] * len(sizes)
        for axis, code in zip(axes, np.unravel_index(int(weights.argmax()), weights.shape), strict=True):
            record[axis] = int(code)
        reached = _climbed(record, sizes, touching, weighed)
        if reached > most:
            best, most = record, reached
    return tuple(best)


def _climbed(
    record: list[int], sizes: Sequence[int], touching: Sequence[Sequence[Weighed]], weighed: Sequence[Weighed]
) -> float:
    """Change one value after another while that helps, and return the sum reached."""
    is_moving = True
    while is_moving:
        is_moving = False
        for axis, size in enumerate(sizes):
            gains = np.zeros(size)
            for axes, weights in touching[axis]:
                gains += weights[tuple(slice(None) if other == axis else record[other] for other in axes)]
            better = int(gains.argmax())
            if gains[better] > gains[record[axis]] + 1e-9:
                record[axis], is_moving = better, True
    return float(sum(weights[tuple(record[axis] for axis in axes)] for axes, weights in weighed))

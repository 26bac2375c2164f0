"""Labelled rows over a finite universe: pairs of a point and a label, both integers.

What a row means is a function of that row alone. A row whose point is not in the universe, or whose label is neither 0
nor 1, is left out.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidValue

#: The label of a row that has none.
UNLABELLED: Final = -1


def pairs_of(data: Any) -> NDArray[np.int64]:
    """Return private rows of a point and a label. Refuses types and widths alone; values beyond int64 are cut off."""
    is_pairs = isinstance(data, np.ndarray) and data.dtype.kind in "iu" and data.ndim == 2 and data.shape[1] == 2
    if not is_pairs:
        raise InvalidValue("data", data, "an array of integers, two a row: a point and a label")
    most = np.iinfo(np.int64).max
    found: NDArray[np.int64] = np.where(data > most, most, data).astype(np.int64) if data.dtype.kind == "u" else data
    return found.astype(np.int64)


def known_of(data: Any, universe: int, labels: tuple[int, ...] = (0, 1)) -> NDArray[np.int64]:
    """Return the rows with a point of the universe and one of the labels."""
    rows = pairs_of(data)
    known: NDArray[np.int64] = rows[(rows[:, 0] >= 0) & (rows[:, 0] < universe) & np.isin(rows[:, 1], labels)]
    return known


def counts_of(rows: NDArray[np.int64], universe: int) -> NDArray[np.int64]:
    """Return the number of rows at each point, with label 0 and with label 1: a row for each point."""
    flat: NDArray[np.int64] = np.bincount(2 * rows[:, 0] + rows[:, 1], minlength=2 * universe).astype(np.int64)
    return flat.reshape(universe, 2)


def errors_of(predictions: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the exact number of rows that each concept labels wrongly."""
    wrong: NDArray[np.int64] = predictions @ (counts[:, 0] - counts[:, 1]) + counts[:, 1].sum()
    return wrong

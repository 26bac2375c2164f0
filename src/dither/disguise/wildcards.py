"""Missing cells that may stand for anything: how many rows each row could be, if nobody knows what is missing.

Where a missing cell is a value of its own, rows with and without it are told apart. Where it is a wildcard, a row fits
every row that agrees with it in all columns that both have. Somebody who knows all quasi-identifiers of a person then
finds at least as many rows as the smallest such number, whatever was missing. Fitting is not a partition into classes:
other rules have no meaning with it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dither.disguise.classes import Counts, group
from dither.disguise.table import Table
from dither.errors import InvalidParameter


def fitting(table: Table, quasi: Sequence[str]) -> Counts:
    """Return how many rows fit each row, itself among them.

    >>> fitting(Table.of({"age": [1, 1, 2, None]}), ["age"]).tolist()
    [3, 3, 2, 4]

    """
    if not quasi or isinstance(quasi, str):
        raise InvalidParameter("quasi", quasi or [], "a sequence of one or more columns")
    columns = [table[name] for name in quasi]
    holes = np.stack([_missing(column.values)[column.codes] for column in columns], axis=1)
    patterns, of_row = np.unique(holes, axis=0, return_inverse=True)
    of_row = of_row.ravel()
    found = np.zeros(len(table), dtype=np.int64)
    members = [np.flatnonzero(of_row == place) for place in range(len(patterns))]
    # Two kinds of rows are compared by the columns that both have.
    for mine, rows in zip(patterns, members, strict=True):
        for theirs, others in zip(patterns, members, strict=True):
            shared = [column for column, gone in zip(columns, mine | theirs, strict=True) if not gone]
            if not shared:
                found[rows] += len(others)
                continue
            both = np.concatenate([rows, others])
            classes = group([column.codes[both] for column in shared], [len(column.values) for column in shared])
            counts = np.bincount(classes.of_row[len(rows) :], minlength=len(classes))
            found[rows] += counts[classes.of_row[: len(rows)]]
    return found


def _missing(values: Sequence[object]) -> NDArray[np.bool_]:
    return np.array([value is None for value in values], dtype=np.bool_)

"""Exact global sensitivity of linear queries.

Data is a histogram: how many rows fall into each of finitely many cells. Query i answers the sum of ``weights[i][c]``
over all rows, c being the cell of the row. A row that is added or removed moves the answers by one column of the
weights, a row that is replaced by the difference of two, so the sensitivity is the largest norm of these. All
arithmetic is that of integers; only the square root of L2 is rounded, upwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Number, exact, whole
from dither.privacy.distances import Metric, Relation
from dither.privacy.sensitivity.integers import NORMS, are_whole, distance_of, norms, over_one_denominator

Weights: TypeAlias = "Sequence[Sequence[Number]] | NDArray[Any]"

_MOST_WEIGHTS = 2**24
#: A replaced row is any pair of cells; at most this many weights are subtracted.
_MOST_DIFFERENCES = 2**33


def linear_sensitivity(weights: Weights, metric: Metric, *, relation: Relation) -> Fraction:
    """Return the largest joint change of all answers, in ``metric``, when one row changes.

    Guarantee: exact for L1 and LARGEST; for L2 at least the true value and within a relative 1e-28 of it.

    Args:
        weights: one row of weights a query, one column a cell.
        metric: L1, L2 or LARGEST.
        relation: whether a row is added or removed, or replaced.

    >>> from dither.privacy import L1, Relation
    >>> linear_sensitivity([[1, 1, 0], [0, 1, 1]], L1, relation=Relation.ADD_REMOVE)
    Fraction(2, 1)
    >>> linear_sensitivity([[1, 1, 0], [0, 1, 1]], L1, relation=Relation.REPLACE)
    Fraction(2, 1)
    >>> linear_sensitivity(all_ranges(4), L1, relation=Relation.ADD_REMOVE)
    Fraction(6, 1)

    """
    if metric not in NORMS:
        raise InvalidParameter("metric", metric, "L1, L2 or LARGEST")
    _check(relation)
    columns, denominator = _columns(weights)
    if relation is Relation.REPLACE and columns.shape[0] * columns.size > _MOST_DIFFERENCES:
        found = f"{columns.shape[1]} queries on {columns.shape[0]} different cells"
        raise InvalidParameter("weights", found, "fewer: cells x cells x queries is at most 2^33 for replaced rows")
    points = [np.zeros_like(columns[0])] if relation is Relation.ADD_REMOVE else columns
    largest = max(int(norms(columns - point, metric).max()) for point in points)
    return distance_of(largest, denominator, metric)


def entry_sensitivities(weights: Weights, *, relation: Relation) -> tuple[Fraction, ...]:
    """Return the largest change of each answer separately when one row changes, exactly.

    >>> from dither.privacy import Relation
    >>> entry_sensitivities([[1, 1, 0], [0, -2, 3]], relation=Relation.REPLACE)
    (Fraction(1, 1), Fraction(5, 1))

    """
    _check(relation)
    columns, denominator = _columns(weights)
    high, low = columns.max(axis=0), columns.min(axis=0)
    moves = np.maximum(high, -low) if relation is Relation.ADD_REMOVE else high - low
    return tuple(Fraction(int(move), denominator) for move in moves)


def all_ranges(cells: int) -> NDArray[np.int64]:
    """Return the weights of all ranges of consecutive cells: N (N + 1) / 2 queries on N cells.

    >>> all_ranges(2).tolist()
    [[1, 0], [1, 1], [0, 1]]

    """
    number = whole("cells", cells, least=1, most=320)
    first, last = np.triu_indices(number)
    place = np.arange(number)
    return ((first[:, None] <= place) & (place <= last[:, None])).astype(np.int64)


def _check(relation: Relation) -> None:
    if relation not in (Relation.ADD_REMOVE, Relation.REPLACE):
        raise InvalidParameter("relation", relation, "ADD_REMOVE or REPLACE")


def _columns(weights: Weights) -> tuple[NDArray[Any], int]:
    """Return the distinct columns, one per row, as integers over a common denominator."""
    rows: Any = weights.tolist() if isinstance(weights, np.ndarray) else weights
    if not (_is_list(rows) and rows and all(_is_list(row) and len(row) == len(rows[0]) > 0 for row in rows)):
        raise InvalidParameter("weights", _shape(weights), "at least one row of weights, all of one length above 0")
    if len(rows) * len(rows[0]) > _MOST_WEIGHTS:
        raise InvalidParameter("weights", f"{len(rows)} x {len(rows[0])} of them", "at most 2^24 in number")
    fractions = [
        each if are_whole(each) else [_weight(row, cell, value) for cell, value in enumerate(each)]
        for row, each in enumerate(rows)
    ]
    return over_one_denominator(sorted(set(zip(*fractions, strict=True))))


def _is_list(rows: Any) -> bool:
    return isinstance(rows, Sequence) and not isinstance(rows, str)


def _weight(row: int, cell: int, value: Any) -> int | Fraction:
    return value if type(value) is int else exact(f"weights[{row}][{cell}]", value)


def _shape(weights: Any) -> str:
    return f"an array of shape {weights.shape}" if isinstance(weights, np.ndarray) else type(weights).__name__

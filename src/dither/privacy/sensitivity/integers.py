"""Vectors of rationals as integers over one denominator, and their norms without rounding."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.exact import sqrt_up
from dither.privacy.distances import L1, L2, LARGEST, Metric

NORMS = (L1, L2, LARGEST)
_FITS = 2**62


def are_whole(row: Sequence[Any]) -> bool:
    """Whether all entries of a row are of Python's integer type, not merely equal to integers."""
    return set(map(type, row)) <= {int}


def over_one_denominator(rows: Sequence[Sequence[int | Fraction]]) -> tuple[NDArray[Any], int]:
    """Return the rows times their least common denominator, and that denominator.

    An int64 array where the square of every norm of every difference fits one, else an array of Python integers.
    """
    denominator = 1
    integers: Sequence[Sequence[Any]] = rows
    if not all(map(are_whole, rows)):
        denominator = math.lcm(*(entry.denominator for row in rows for entry in row))
        integers = [[entry.numerator * (denominator // entry.denominator) for entry in row] for row in rows]
    width = len(rows[0])
    largest = max((max(map(abs, row)) for row in integers if row), default=0)
    kind: Any = np.int64 if 4 * largest * largest * max(1, width) < _FITS else object
    return np.array(integers, dtype=kind).reshape(len(rows), width), denominator


def norms(moves: NDArray[Any], metric: Metric) -> NDArray[Any]:
    """Return the norm of every row; for L2 its square, so that nothing is rounded yet."""
    if not moves.shape[1]:
        return np.zeros(moves.shape[0], dtype=moves.dtype)
    if metric is L2:
        return np.asarray((moves * moves).sum(axis=1))
    absolute = np.abs(moves)
    return np.asarray(absolute.sum(axis=1) if metric is L1 else absolute.max(axis=1))


def distance_of(norm: int, denominator: int, metric: Metric) -> Fraction:
    """Return the distance for a number from ``norms``; the root for L2 is rounded up."""
    return sqrt_up(Fraction(norm, denominator**2)) if metric is L2 else Fraction(norm, denominator)

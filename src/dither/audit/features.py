"""The public functions through which an auditor reads outcomes.

The number itself, entries of an array, their sum and differences, the direction in which the inputs differ, how fine
the last binary digit of a float is, and the whole outcome as one symbol. Whatever is a function of the outcome alone is
post-processing: a feature can be a poor choice, but what it shows is the mechanism's own doing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Column = NDArray[Any]

_NUMBERS = "biuf"
_MOST_ENTRIES = 4
_MIX = 0x9E3779B97F4A7C15


class Feature(NamedTuple):
    """A function of outcomes, one a row, to a column.

    Symbols have no order worth a threshold; values of a smooth function hardly repeat, and sets of them say nothing.
    """

    name: str
    of: Callable[[NDArray[Any]], Column]
    is_ordered: bool = True
    has_atoms: bool = True


def features(dtype: np.dtype[Any], entries: int, change: NDArray[np.float64] | None) -> list[Feature]:
    """Return the functions through which outcomes are read.

    Args:
        dtype: the type of an entry.
        entries: the number of entries of an outcome.
        change: how the two inputs differ, entry by entry, where inputs and outcomes have the same size.

    """
    if dtype.kind not in _NUMBERS:
        return [Feature("x", symbols, is_ordered=False)]
    names = {0: "x"} if entries == 1 else {index: f"x[{index}]" for index in _telling_entries(entries, change)}
    found = [Feature(name, partial(_entry, index)) for index, name in names.items()]
    if dtype.kind == "f":
        found += [Feature(f"last digit of {name}", partial(_digit, index)) for index, name in names.items()]
    if entries == 1:
        return found
    for (one, name), (other, other_name) in zip(names.items(), list(names.items())[1:], strict=False):
        found.append(Feature(f"{name} - {other_name}", partial(_difference, one, other)))
    found.append(Feature("sum of x", lambda rows: rows.sum(axis=1, dtype=np.float64)))
    if change is not None and np.count_nonzero(change) > 1:
        found.append(Feature("x along the change", partial(_along, change)))
    return [*found, Feature("x", symbols, is_ordered=False)]


def last_digit(numbers: NDArray[Any]) -> NDArray[np.int16]:
    """Return the power of two of the last binary digit of each float: 1.5 has -1, 12 has 2.

    A sum of floats is rounded to the last place of its largest part, so a sum far finer than that was made from a
    smaller value: what floating-point noise gives away (Mironov 2012).

    >>> last_digit(np.array([1.5, 12.0, 2.0**-60, 0.0])).tolist()
    [-1, 2, -60, 2000]
    """
    finite = np.isfinite(numbers)
    mantissa, exponent = np.frexp(np.where(finite, numbers, 0.0).astype(np.float64))
    digits = np.ldexp(mantissa, 53).astype(np.int64)
    lowest = np.frexp((digits & -digits).astype(np.float64))[1] - 1
    power = np.where(digits == 0, 2000, exponent - 53 + lowest)
    return np.where(finite, power, 3000).astype(np.int16)


def codes(column: Column) -> NDArray[np.int64]:
    """Return one integer for each value, bit for bit: -0.0 differs from 0.0, and NaN is a value like any other."""
    if column.dtype.kind == "f":
        return np.ascontiguousarray(column, dtype=np.float64).view(np.int64)
    return column.astype(np.int64, copy=False)


def decoded(members: NDArray[np.int64], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return the values with these codes, in order."""
    return np.sort(members.view(np.float64) if dtype.kind == "f" else members)


def symbols(rows: NDArray[Any]) -> NDArray[np.int64]:
    """Return one integer for each whole outcome; a collision is harmless: it merges two outcomes."""
    if rows.dtype.kind not in _NUMBERS:
        return np.fromiter((hash(repr(row)) for row in rows.tolist()), dtype=np.int64, count=len(rows))
    total, factor = np.zeros(len(rows), dtype=np.uint64), 1
    for index in range(rows.shape[1]):
        factor = factor * _MIX % 2**64
        total += codes(rows[:, index]).view(np.uint64) * np.uint64(factor)
    return total.view(np.int64)


def _entry(index: int, rows: NDArray[Any]) -> Column:
    return np.ascontiguousarray(rows[:, index])


def _digit(index: int, rows: NDArray[Any]) -> Column:
    return last_digit(rows[:, index])


def _difference(one: int, other: int, rows: NDArray[Any]) -> Column:
    difference: Column = rows[:, one].astype(np.float64) - rows[:, other].astype(np.float64)
    return difference


def _along(change: NDArray[np.float64], rows: NDArray[Any]) -> Column:
    along: Column = rows.astype(np.float64) @ change
    return along


def _telling_entries(entries: int, change: NDArray[np.float64] | None) -> list[int]:
    """Return a few entries that move, and a few of all."""
    moving = [] if change is None else np.flatnonzero(change)[: _MOST_ENTRIES - 1].tolist()
    return sorted({*moving, *np.linspace(0, entries - 1, _MOST_ENTRIES).astype(int).tolist()})

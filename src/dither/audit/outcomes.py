"""Outcomes as rows of numbers, for anything that a mechanism releases.

Models, tables, dictionaries and sets are reduced to the numbers in them, in the order in which they can be reached:
post-processing, so that what is shown about the numbers is shown about the outcome. Of an outcome that is longer than
the first ones the rest is left out; one that is shorter is filled up. How many numbers there were comes first. So an
outcome without any number, as a drawn graph without an edge, is a row like others.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.mechanisms import PublicArray

_MOST_NUMBERS = 256
_SPARE = 4
_DRAWERS = 16
#: Where an outcome has no number; far from all others, and a number.
_ABSENT = -(2.0**40)


class Rows:
    """Turns outcomes into rows of one length, which is set by the first of them."""

    def __init__(self) -> None:
        self._width: int | None = None
        self._shape: tuple[int, ...] | None = None

    def of(self, outcomes: Sequence[Any]) -> NDArray[Any]:
        """Return the outcomes, one a row: unchanged if they are arrays or numbers, otherwise the numbers in them."""
        if self._width is None and all(_is_plain(one) for one in outcomes) and self._are_alike(outcomes):
            rows = np.array([_of_shape(one, self._shape) for one in outcomes])
            if rows.dtype.kind in "biuf":
                return rows
            self._shape = None
        listed = [list(numbers_in(one)) for one in outcomes]
        if self._width is None:
            self._width = min(_MOST_NUMBERS, max(map(len, listed), default=0) + _SPARE)
        rows = np.full((len(listed), self._width + 1), _ABSENT)
        for row, numbers in zip(rows, listed, strict=True):
            row[0] = len(numbers)
            kept = numbers[: self._width]
            row[1 : len(kept) + 1] = kept
        return rows

    def _are_alike(self, outcomes: Sequence[Any]) -> bool:
        """Return whether all outcomes have one shape, or the first ones had; one without entries would show nothing."""
        shapes = {np.shape(one) for one in outcomes}
        if self._shape is None and len(shapes) == 1 and 0 not in min(shapes):
            (self._shape,) = shapes
        return self._shape is not None


def numbers_in(outcome: Any) -> Iterator[float]:
    """Return the numbers in an outcome, in an order that does not depend on any of them.

    >>> list(numbers_in([True, (2.5, None)]))
    [1.0, 2.5]
    >>> sum(numbers_in({"b": 1, "a": 2.5}))
    5.5

    """
    if isinstance(outcome, bool | int | float | np.generic | Fraction):
        yield _number(outcome)
    elif isinstance(outcome, PublicArray):
        yield from numbers_in(outcome.values)
    elif isinstance(outcome, np.ndarray):
        for entry in outcome.ravel()[:_MOST_NUMBERS].tolist():
            yield from numbers_in(entry)
    elif isinstance(outcome, Enum | type):
        return
    elif isinstance(outcome, str):
        # A text is one of few labels: any number will do that is the same for the same one.
        yield float(sum(outcome.encode()[:64]))
    elif isinstance(outcome, dict):
        yield from _by_key(outcome.items())
    elif isinstance(outcome, list | tuple | set | frozenset):
        for one in sorted(outcome, key=repr) if isinstance(outcome, set | frozenset) else outcome:
            yield from numbers_in(one)
    elif is_dataclass(outcome):
        parts = [getattr(outcome, field.name) for field in fields(outcome)]
        if len(parts) == 2 and all(isinstance(part, tuple) for part in parts) and len(parts[0]) == len(parts[1]):
            # Things found, and a number for each: what was found differs from run to run.
            yield from _by_key(zip(*parts, strict=True))
        else:
            yield from numbers_in(parts)
    elif hasattr(outcome, "__dict__"):
        yield from numbers_in(list(vars(outcome).values()))


def _by_key(items: Iterable[tuple[Any, Any]]) -> Iterator[float]:
    """Return, for each of a few drawers, the sum of the values of its keys, and their number.

    So a key is found at one place for all other keys; which keys share a drawer does not matter.
    """
    sums, counts = [0.0] * _DRAWERS, [0.0] * _DRAWERS
    for key, value in items:
        drawer = zlib.crc32(repr(key).encode()) % _DRAWERS
        sums[drawer] += sum(numbers_in(value))
        counts[drawer] += 1
    yield from (*sums, *counts)


def _number(number: Any) -> float:
    try:
        return float(number)
    except (TypeError, ValueError, OverflowError):
        return _ABSENT


def _of_shape(outcome: Any, shape: tuple[int, ...] | None) -> Any:
    """Return an outcome of that shape; one of another shape is cut off or filled up."""
    if shape is None or np.shape(outcome) == shape:
        return outcome
    filled = np.full(shape, _ABSENT)
    kept = np.ravel(outcome)[: filled.size]
    filled.ravel()[: kept.size] = kept
    return filled


def _is_plain(outcome: Any) -> bool:
    return isinstance(outcome, np.ndarray | np.generic | int | float) or (
        isinstance(outcome, list) and all(isinstance(entry, int | float | np.generic) for entry in outcome)
    )

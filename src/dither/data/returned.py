"""Answers of engines, read without trust: groups of the declared kinds, integers within 60 bits.

Nothing raises for any answer: a group that is not one is None, a number that is not an integer is 0.
"""

from __future__ import annotations

import datetime
import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.data.columns import ColumnRows, Values
from dither.data.expressions import LARGEST_INTEGER, Kind, Value

Group = tuple[Value, ...]
#: Saturation of a single exact number: what engines may return and 64 bits hold.
_LARGEST: Final = 2**60


def canonical(group: Any, kinds: Sequence[Kind]) -> Group | None:
    """Return a group with every value of its kind, or None if it is not a group."""
    if not isinstance(group, tuple | list) or len(group) != len(kinds):
        return None
    values = []
    for value, kind in zip(group, kinds, strict=True):
        if value is not None and not _FITS[kind](value):
            return None
        # -0.0 is 0.0, and an integer given for a real is that real.
        values.append(value if value is None or kind is not Kind.REAL else float(value) + 0.0)
    return tuple(values)


def saturated(number: Any) -> int:
    """Return an integer within 60 bits; anything else counts as 0."""
    if isinstance(number, bool) or not isinstance(number, int | np.integer):
        return 0
    return min(max(int(number), -_LARGEST), _LARGEST)


def saturated_column(numbers: Values, length: int) -> NDArray[np.int64]:
    """Return a column of an answer within 60 bits; anything that is not an integer counts as 0."""
    if isinstance(numbers, np.ndarray) and numbers.dtype == np.int64:
        return np.clip(np.ma.filled(numbers, 0), -_LARGEST, _LARGEST)
    cells = [0] * length if numbers is None else list(numbers)
    return np.array([saturated(number) for number in cells], dtype=np.int64)


def first_number(numbers: Any) -> int:
    """Return the first of some numbers, saturated; 0 if there is none."""
    return saturated(next(iter(padded(numbers))))


def padded(numbers: Any) -> Iterable[Any]:
    """Return these numbers, followed by endless zeros."""
    return itertools.chain(numbers if isinstance(numbers, tuple | list) else (), itertools.repeat(0))


def key_columns(keys: Sequence[Any], width: int) -> tuple[list[Values], int]:
    """Return the keys of an answer as columns; what is not a tuple of that width is left out."""
    if isinstance(keys, ColumnRows) and len(keys.columns) == width:
        return list(keys.columns), len(keys)
    rows = [key for key in keys if isinstance(key, tuple | list) and len(key) == width]
    return [[row[place] for row in rows] for place in range(width)], len(rows)


#: What no text of an engine can hold; what no literal may be, no group may be either.
_UNFIT: Final = re.compile("[\x00\ud800-\udfff]")
_FITS: Final[Mapping[Kind, Any]] = {
    Kind.BOOLEAN: lambda value: isinstance(value, bool),
    Kind.INTEGER: lambda value: (
        isinstance(value, int) and not isinstance(value, bool) and -LARGEST_INTEGER <= value + 1 <= LARGEST_INTEGER + 1
    ),
    Kind.REAL: lambda value: math.isfinite(value) if isinstance(value, float) else _FITS[Kind.INTEGER](value),
    Kind.TEXT: lambda value: isinstance(value, str) and _UNFIT.search(value) is None,
    Kind.DATE: lambda value: isinstance(value, datetime.date) and not isinstance(value, datetime.datetime),
    Kind.TIMESTAMP: lambda value: isinstance(value, datetime.datetime) and value.tzinfo is None,
}

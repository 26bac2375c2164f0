"""Columns of a long result as JSON data: the bytes of an array in base 64, or a list of cells.

A result of a thousand rows and more is stored so. It is written and read as a whole, without a step for each cell, and
is shorter: an integer takes as many bytes as the largest of its column.
"""

from __future__ import annotations

import base64
import binascii
import datetime
import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.data.columns import Values
from dither.errors import InvalidParameter

#: What an array may be: signed integers, reals, truths; all little-endian.
_TYPES: Final = ("|i1", "<i2", "<i4", "<i8", "<f8", "|b1")
_PLAIN: Final = frozenset((int, str, bool, type(None)))
#: The most characters that an array takes for a cell.
LONGEST_IN_ARRAY: Final = 11


def write_column(values: Values) -> Any:
    """Return a column as JSON data.

    >>> write_column(np.array([1, 2, 300])), write_column(["a", None]), write_column(None)
    ({'<i2': 'AQACACwB'}, ['a', None], None)
    """
    if values is None or (isinstance(values, list) and set(map(type, values)) == {type(None)}):
        return None
    array = _narrow(values)
    if array is None:
        return [to_plain(value) for value in (values if isinstance(values, list) else values.tolist())]
    return {array.dtype.str: base64.b64encode(array.tobytes()).decode("ascii")}


def read_column(written: Any, kind: str, length: int) -> Values:
    """Return the column that was written; reject anything else.

    Args:
        written: JSON data.
        kind: of the column.
        length: how many cells it has.

    """
    if written is None:
        return None
    found: NDArray[Any] | list[Any]
    if isinstance(written, list):
        found = [from_plain(value, kind) for value in written]
    else:
        ((name, text),) = written.items()
        if name not in _TYPES:
            raise InvalidParameter("column", name, f"an array of {', '.join(_TYPES)}")
        try:
            found = np.frombuffer(base64.b64decode(text, validate=True), dtype=np.dtype(name))
        except (binascii.Error, ValueError):
            raise InvalidParameter("column", "a string", "the bytes of an array in base 64") from None
    if len(found) != length:
        raise InvalidParameter("column", f"{len(found)} cells", f"{length} cells")
    return found


def to_plain(value: Any) -> Any:
    """Return JSON data: infinities and moments as texts, lists as lists."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, tuple):
        return [to_plain(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "inf" if value > 0 else "-inf"
    if isinstance(value, datetime.date):
        return {"time": value.isoformat()}
    return value


def from_plain(value: Any, kind: str) -> Any:
    """Return the cell that ``to_plain`` wrote."""
    if isinstance(value, list):
        return tuple(from_plain(entry, "") for entry in value)
    if value in ("inf", "-inf") and kind in ("integer", "real"):
        return float(value)
    if isinstance(value, Mapping):
        text = str(value["time"])
        return datetime.date.fromisoformat(text) if len(text) == 10 else datetime.datetime.fromisoformat(text)
    return value


def _narrow(values: Values) -> NDArray[Any] | None:
    """Return the array of the fewest bytes that holds a column; None if none does."""
    if values is None or np.ma.isMaskedArray(values):
        return None
    if isinstance(values, list):
        types = set(map(type, values))
        if types not in ({int}, {float}, {bool}):
            return None
        try:
            values = np.array(values, dtype={int: np.int64, float: np.float64, bool: np.bool_}[types.pop()])
        except OverflowError:
            return None
    if values.dtype.kind == "f":
        # What is not a number has no place in a result; the list says so.
        return None if np.isnan(values).any() else np.ascontiguousarray(values, dtype="<f8")
    if values.dtype.kind == "b":
        return np.ascontiguousarray(values)
    least, most = int(values.min(initial=0)), int(values.max(initial=0))
    for name in _TYPES[:4]:
        if np.iinfo(name).min <= least and most <= np.iinfo(name).max:
            return np.ascontiguousarray(values, dtype=name)
    return None

"""The private values that are allowed, and the meaning of every odd value.

A type or a shape is public and may be refused; the content never is. NaN means 0, infinities and numbers out of range
mean the nearest number in range, a category out of range the nearest category. All these maps move two values no
farther apart than they were, so no sensitivity grows.

A raw row of a list may be any object. What is read of it (``raw_number``, ``raw_text``, ``raw_entries``) is read by the
methods of Python's and NumPy's classes, never by its own, takes no longer than what it holds in memory, and never
raises: a row that is none of these is nothing, by itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidValue

#: Values saturate at the first, sums with noise at the second. A draw so large that it is itself cut off would take
#: any value past the second, so saturation of the sum is post-processing of the exact sum.
LARGEST_VALUE = 2**60
LARGEST_SUM = 2**62

_REALS = (int, float, Fraction, np.integer, np.float32, np.float16)
# Python counts a bool as an integer, and NumPy a duration.
_NOT_NUMBERS = (bool, np.timedelta64)
_PLAIN = frozenset({int, float, Fraction})
_FEW_ENTRIES: Final = 2**12
_COLLECTIONS: Final[tuple[Any, ...]] = (list, tuple, set, frozenset)


class Domain(ABC):
    """A set of values, with a meaning for every value of the right type and shape."""

    @abstractmethod
    def admit(self, value: Any) -> Any:
        """Return the canonical value, or raise InvalidValue because of the type or shape alone."""


@dataclass(frozen=True)
class IntegerArray(Domain):
    """Integers of a public shape; ``()`` is one integer."""

    shape: tuple[int, ...] = ()

    def admit(self, value: Any) -> NDArray[np.int64]:
        """Return a flat int64 array, saturated at 2^60."""
        # One Python integer is the commonest value by far, and needs none of what other types do.
        if type(value) is int and self.shape == ():
            return np.array([min(max(value, -LARGEST_VALUE), LARGEST_VALUE)], dtype=np.int64)
        return integers(_shaped(value, self.shape, "iu", (int, np.integer), "integers"))

    def __str__(self) -> str:
        return "one integer" if self.shape == () else f"integers of shape {self.shape}"


#: The domain of mechanisms that are asked about one integer after the other.
ONE_INTEGER = IntegerArray(())


@dataclass(frozen=True)
class RealArray(Domain):
    """Real numbers of a public shape; ``()`` is one number."""

    shape: tuple[int, ...] = ()

    def admit(self, value: Any) -> NDArray[Any]:
        """Return a flat array of finite float64, int64 or exact rationals; NaN becomes 0."""
        given = _shaped(value, self.shape, "iuf", _REALS, "numbers")
        if given.dtype.kind in "iu":
            return integers(given)
        if given.dtype.kind == "O":
            return np.array([_rational(entry) for entry in given.tolist()], dtype=object)
        return np.nan_to_num(given.astype(np.float64), nan=0.0)

    def __str__(self) -> str:
        return "one number" if self.shape == () else f"numbers of shape {self.shape}"


@dataclass(frozen=True)
class Category(Domain):
    """One of ``count`` categories, numbered from 0."""

    count: int

    def admit(self, value: Any) -> int:
        """Return the category's number; a number out of range becomes the nearest category."""
        if isinstance(value, bool | np.bool_):
            return int(value)
        if not isinstance(value, int | np.integer):
            raise InvalidValue("value", value, f"the number of one of {self.count} categories")
        return min(max(int.__index__(value) if isinstance(value, int) else int(value), 0), self.count - 1)

    def __str__(self) -> str:
        return f"one of {self.count} categories"


def integers(array: NDArray[Any]) -> NDArray[np.int64]:
    """Return integers of any width as int64, saturated at 2^60."""
    return _within(array, *_limits(array.dtype)).astype(np.int64)


def saturating_sum(values: NDArray[np.int64], noise: NDArray[Any]) -> NDArray[np.int64]:
    """Return values plus noise, saturated at 2^62: a post-processing of the exact sum."""
    cut = LARGEST_SUM + LARGEST_VALUE
    total: NDArray[np.int64] = values + _within(noise, -cut, cut).astype(np.int64)
    return _within(total, -LARGEST_SUM, LARGEST_SUM)


def _within(array: NDArray[Any], low: int, high: int) -> NDArray[Any]:
    """Return the array clipped; several times faster than ``np.clip`` for a few numbers."""
    clipped: NDArray[Any] = np.minimum(np.maximum(array, low), high)
    return clipped


@lru_cache(maxsize=32)
def _limits(dtype: np.dtype[Any]) -> tuple[int, int]:
    if dtype.kind == "O":
        return -LARGEST_VALUE, LARGEST_VALUE
    info = np.iinfo(dtype)
    return max(-LARGEST_VALUE, int(info.min)), min(LARGEST_VALUE, int(info.max))


def _shaped(value: Any, shape: tuple[int, ...], kinds: str, types: Any, what: str) -> NDArray[Any]:
    """Return a flat array of the public shape, or raise InvalidValue."""
    rule = f"{what} of shape {shape}"
    if isinstance(value, np.ndarray | np.generic):
        if value.dtype.kind not in kinds or value.dtype.itemsize > 8 or value.shape != shape:
            raise InvalidValue("value", value, rule)
        return np.asarray(value).reshape(-1)
    plain = _plain(value, shape, types)
    # Refused out here: an error raised where another one is handled would carry it, and its words, along.
    if plain is None:
        raise InvalidValue("value", value, rule)
    return plain


def _plain(value: Any, shape: tuple[int, ...], types: Any) -> NDArray[Any] | None:
    """Return numbers of Python's and NumPy's own classes; None for other shapes and types, and if conversion fails.

    A number of a class that extends int, float or Fraction is the number that it extends, whatever its methods do.
    """
    try:
        array = np.array(value, dtype=object)
        entries = array.reshape(-1).tolist()
        if array.shape != shape or not all(isinstance(e, types) and not isinstance(e, _NOT_NUMBERS) for e in entries):
            return None
        plain: NDArray[Any] | None = np.array([*map(_number, entries)], dtype=object)
    except Exception:  # ragged arrays in a list, or an object that fails to become one
        return None
    return plain


def _number(entry: Any) -> Any:
    """Return the number that an entry is, or whose class it extends."""
    if isinstance(entry, np.integer):
        return int(entry)
    if type(entry) in _PLAIN:
        return entry
    if isinstance(entry, int):
        return int.__index__(entry)
    if isinstance(entry, float):
        return float.__float__(entry)
    return Fraction.__pos__(entry) if isinstance(entry, Fraction) else entry


def _rational(entry: Any) -> Fraction:
    """Return a finite rational: NaN becomes 0, an infinity the largest float."""
    if isinstance(entry, float | np.floating):
        entry = float(np.nan_to_num(float(entry), nan=0.0))
    return Fraction(entry)


def raw_number(cell: Any) -> int | float | Fraction | None:
    """Return a raw cell as a number of Python's own classes, booleans included, or None; subclasses are reduced.

    >>> raw_number(np.float32(0.5)), raw_number(True), raw_number(np.array(3)), raw_number("3"), raw_number(1j)
    (0.5, True, 3, None, None)
    """
    number: int | float | Fraction | None = _or_none(_as_number, cell)
    return number


def raw_item(cell: Any) -> Any:
    """Return the Python value of a NumPy scalar or zero-dimensional array; any other cell unchanged.

    >>> raw_item(np.array("a")), raw_item(np.float64(1)), raw_item([1])
    ('a', 1.0, [1])
    """
    return _or_none(_as_item, cell)


def raw_text(cell: Any) -> str | None:
    """Return a raw cell as text, subclasses included, or None.

    >>> raw_text(np.str_("a")), raw_text(b"a")
    ('a', None)
    """
    text: str | None = _or_none(_as_text, cell)
    return text


def raw_entries(row: Any, most: int | None = None) -> list[Any] | None:
    """Return the entries of a raw row that is a list, tuple, set, range or array; None for anything else.

    Entries of an array with several axes are lists again. A masked entry is None. An array that shows one place in
    memory several times may be longer than memory, so without ``most`` it is nothing, and so is a range.

    Args:
        row: any object.
        most: how many entries are read at most, the first ones.

    >>> raw_entries((1, "a")), raw_entries(np.array([[1, 2]])), raw_entries("ab"), raw_entries(range(10**30), 2)
    ([1, 'a'], [[1, 2]], None, [0, 1])

    """
    entries: list[Any] | None = _or_none(lambda given: _as_entries(given, most), row)
    return entries


def raw_set(row: Any) -> list[Any]:
    """Return a raw row's contents, in any order and possibly repeated: entries, or the cells of an array of any shape.

    Empty if the row is not a collection, or is a range.

    >>> raw_set(np.broadcast_to(np.array(["a", "b"]), (10**9, 2))), raw_set("ab")
    (['a', 'b'], [])
    """
    found: list[Any] | None = _or_none(_as_set, row)
    return found or []


def _or_none(read: Callable[[Any], Any], cell: Any) -> Any:
    """Return what was read, or None if the cell's class raises even so."""
    try:
        return read(cell)
    except KeyboardInterrupt:
        raise
    except BaseException:  # its own words might show the cell
        return None


# What a thing says its class is (__class__) may be a lie or raise: its type is neither.


def _as_number(cell: Any) -> Any:
    if type(cell) in _PLAIN:
        return cell
    cell = _as_item(cell)
    if type(cell) is bool:
        return cell
    return _number(cell) if issubclass(type(cell), (int, float, Fraction)) else None


def _as_item(cell: Any) -> Any:
    if issubclass(type(cell), np.ndarray):
        array = _as_array(cell)
        return array.tolist() if array.ndim == 0 else cell
    return np.generic.item(cell) if issubclass(type(cell), np.generic) else cell


def _as_text(cell: Any) -> str | None:
    return str.__str__(cell) if issubclass(type(cell), str) else None


def _as_entries(row: Any, most: int | None) -> list[Any] | None:
    kind = type(row)
    if kind is range:
        return None if most is None else [*row[:most]]
    if issubclass(kind, np.ndarray):
        array = _as_array(row)
        found: list[Any] | None = None
        if array.ndim:
            found = _held(array[:most])
        return found
    for base in _COLLECTIONS:
        if issubclass(kind, base):
            return [*base.__iter__(row)] if most is None else [*islice(base.__iter__(row), most)]
    return None


def _as_set(row: Any) -> list[Any] | None:
    if not issubclass(type(row), np.ndarray):
        return _as_entries(row, None)
    array = _as_array(row)
    # Along a stride of 0 an array shows the same cells again.
    once = array[tuple(slice(1) if stride == 0 else slice(None) for stride in array.strides)]
    return _held(once.reshape(-1)) if _is_held(once) else None


def _as_array(row: Any) -> NDArray[Any]:
    """Return the array that a row is or extends. A masked array stays masked, so that hidden cells stay hidden."""
    kind = np.ma.MaskedArray if issubclass(type(row), np.ma.MaskedArray) else np.ndarray
    return np.ndarray.view(row, kind)


def _held(array: NDArray[Any]) -> list[Any] | None:
    """Return the entries of an array; None if they would not fit into memory."""
    found: list[Any] | None = array.tolist() if _is_held(array) else None
    return found


def _is_held(array: NDArray[Any]) -> bool:
    """Whether an array has few entries, or each entry has its own place in memory."""
    pairs = zip(array.shape, array.strides, strict=True)
    spanned = sum((length - 1) * abs(stride) for length, stride in pairs) + array.itemsize
    return array.size <= _FEW_ENTRIES or array.size * max(array.itemsize, 1) <= spanned

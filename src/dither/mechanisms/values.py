"""What a private value may be, and what every odd value means.

A type or a shape is public and may be refused; the content never is. NaN means 0, infinities and numbers out of range
mean the nearest number in range, a category out of range the nearest category. All these maps move two values no
farther apart than they were, so no sensitivity grows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

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
        """Return a flat array of finite float64, int64 or exact rationals, in which NaN has become 0."""
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
        """Return the number of the category; a number out of range becomes the nearest one."""
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
    """Return values plus noise, saturated at 2^62: post-processing of the exact sum."""
    cut = LARGEST_SUM + LARGEST_VALUE
    total: NDArray[np.int64] = values + _within(noise, -cut, cut).astype(np.int64)
    return _within(total, -LARGEST_SUM, LARGEST_SUM)


def _within(array: NDArray[Any], low: int, high: int) -> NDArray[Any]:
    """Return the array clipped; for a few numbers several times faster than ``np.clip``."""
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
    """Return numbers of Python's and NumPy's own classes; None for another shape or type, or what fails to become one.

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
    """Return the number that an entry is, or extends."""
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
    """Return a finite rational: NaN means 0, an infinity the largest float."""
    if isinstance(entry, float | np.floating):
        entry = float(np.nan_to_num(float(entry), nan=0.0))
    return Fraction(entry)

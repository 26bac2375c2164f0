"""Public arrays as parameters: read-only, compared and hashed by content, and the fields that hold them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dither.errors import InvalidParameter
from dither.exact import Field
from dither.exact.parameters import REQUIRED

#: The largest integer of an array of integers.
_LARGEST = 2**63 - 1


class PublicArray:
    """An array that can be a field of a frozen record.

    >>> weights = PublicArray([1.0, 2.0])
    >>> weights == PublicArray([1.0, 2.0]), weights.values.flags.writeable
    (True, False)
    """

    __slots__ = ("_digest", "values")

    def __init__(self, values: ArrayLike) -> None:
        array = np.array(values)
        if array.dtype.kind not in "biuf" or array.size == 0:
            raise InvalidParameter("values", f"{array.dtype} with shape {array.shape}", "a non-empty array of numbers")
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise InvalidParameter("values", "an array with NaN or infinities", "an array of finite numbers")
        # Bytes cannot be written to, and neither can an array over them, whatever flags are set: what was checked
        # when a record was made stays so.
        content = array.tobytes()
        object.__setattr__(self, "values", np.frombuffer(content, dtype=array.dtype).reshape(array.shape))
        header = f"{array.dtype.str}{array.shape}".encode()
        object.__setattr__(self, "_digest", hashlib.sha256(header + content).hexdigest())

    values: NDArray[Any]
    _digest: str

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a public array is read-only")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.values, dtype=dtype, copy=copy)

    def __copy__(self) -> PublicArray:
        return self

    def __deepcopy__(self, memo: object) -> PublicArray:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return PublicArray, (np.array(self.values),)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PublicArray) and self._digest == other._digest

    def __hash__(self) -> int:
        return hash(self._digest)

    def __repr__(self) -> str:
        return f"PublicArray({self.values.dtype}, shape={self.values.shape}, sha256={self._digest[:12]})"


class Array(Field[Any, PublicArray]):
    """A public array of numbers.

    Args:
        kind: "int" or "float": what is kept; integers are taken for both.
        axes: how many axes it has.
        least: the smallest length of its first axis; no other axis may be empty.
        most: the largest.
        within: the smallest and the largest number that may be in it.
        rule: what is asked for, in words.
        default: where the parameter may be left out.

    """

    def __init__(
        self,
        kind: str,
        *,
        axes: int,
        least: int = 1,
        most: int | None = None,
        within: tuple[float, float] | None = None,
        where: Callable[[NDArray[Any]], bool] | None = None,
        rule: str,
        default: Any = REQUIRED,
    ) -> None:
        super().__init__(default)
        self._kinds = "iu" if kind == "int" else "iuf"
        self._kept: type[Any] = np.int64 if kind == "int" else np.float64
        self._axes, self._least, self._most, self._within, self._where = axes, least, most, within, where
        self._rule = rule

    def convert(self, name: str, value: Any) -> PublicArray:
        """Return the array, read-only."""
        try:
            array = np.asarray(value.values if isinstance(value, PublicArray) else value)
        except ValueError:
            # Rows of different lengths.
            raise InvalidParameter(name, value, self._rule) from None
        if not self._allows(array):
            raise InvalidParameter(name, value, self._rule)
        return PublicArray(array.astype(self._kept))

    def _allows(self, array: NDArray[Any]) -> bool:
        if array.dtype.kind not in self._kinds or array.ndim != self._axes or not array.size:
            return False
        if len(array) < self._least or (self._most is not None and len(array) > self._most):
            return False
        if not np.isfinite(array).all() or (self._kinds == "iu" and int(array.max()) > _LARGEST):
            return False
        if self._within is not None and not (self._within[0] <= array.min() and array.max() <= self._within[1]):
            return False
        return self._where is None or self._where(array)

    def offenders(self) -> Iterator[Any]:
        """Return arrays with other axes or entries, and anything that is not an array of numbers."""
        yield from (0, "x", None, (), [[]], object(), np.zeros((1,) * (self._axes + 1), dtype=np.int64))
        yield from (np.full((1,) * self._axes, entry) for entry in (np.nan, np.inf, 1j, "x"))
        if self._kinds == "iu":
            yield np.full((max(self._least, 1),) * self._axes, _LARGEST + 1, dtype=np.uint64)
        if self._within is not None:
            yield from (np.full((max(self._least, 1),) * self._axes, edge) for edge in self._beyond(self._within))

    def samples(self, kept: Any = None) -> Iterator[Any]:
        """Return arrays with larger numbers, in another order, and with an entry of the first axis more or fewer."""
        if kept is None:
            return
        values = kept.values
        found = [values * 2, values + 1, values - 1, values[::-1], np.concatenate([values, values[-1:]]), values[:-1]]
        if values.ndim == 2:
            found.append(np.column_stack([values, values[:, -1:]]))
        yield from (PublicArray(made) for made in self._accepted(*found) if not np.array_equal(made, values))

    @staticmethod
    def _beyond(within: tuple[float, float]) -> tuple[float, float]:
        return within[0] - 1, within[1] + 1

"""Public arrays: parameters that are arrays, read-only, compared and hashed by content."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dither.errors import InvalidParameter


class PublicArray:
    """An array that may be a field of a frozen record.

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

"""The state of what makes noise, as plain data: taken up again, it makes the noise that would have come next.

A long conversation is resumed from such a state at a cost that does not depend on its length. The state is secret: the
noise of the past and of the future follows from it.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

#: A float of 64 or 113 digits is the sum of two or three of 53.
_WIDEST_PARTS: Final = 3


class Freezable:
    """What remembers its past in some attributes: numbers, arrays of numbers, and lists of these."""

    #: The attributes that change while it makes noise; all others follow from how it was made.
    remembered: ClassVar[tuple[str, ...]] = ()

    def freeze(self) -> dict[str, Any]:
        """Return what it remembers, as plain JSON data."""
        return {name: plain(getattr(self, name)) for name in self.remembered}

    def thaw(self, frozen: dict[str, Any]) -> None:
        """Take up what another one of the same parameters remembered.

        Args:
            frozen: what its ``freeze`` returned.

        """
        for name in self.remembered:
            setattr(self, name, from_plain(frozen[name]))


def plain(value: Any) -> Any:
    """Return a number, an array of numbers, or a list of these as plain data, exactly.

    >>> from_plain(plain([3, 0.1, np.arange(3)]))
    [3, 0.1, array([0, 1, 2])]
    """
    if isinstance(value, list):
        return [plain(one) for one in value]
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype == object:
        return {"integers": value.ravel().tolist(), "shape": list(value.shape)}
    if value.dtype == np.longdouble and value.dtype != np.float64:
        return {"wide": [plain(part) for part in _parts(value)]}
    content = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode("ascii")
    return {"type": value.dtype.str, "shape": list(value.shape), "bytes": content}


def from_plain(value: Any) -> Any:
    """Return what ``plain`` was given; raise ``ValueError``, ``TypeError`` or ``LookupError`` for anything else."""
    if isinstance(value, list):
        return [from_plain(one) for one in value]
    if not isinstance(value, dict):
        return value
    if "wide" in value:
        found = np.longdouble(0)
        for part in reversed(value["wide"]):
            found = found + from_plain(part).astype(np.longdouble)
        return found
    shape = tuple(value["shape"])
    if "integers" in value:
        return _array(np.array(value["integers"], dtype=object), shape)
    kind = np.dtype(value["type"])
    if kind.kind not in "iuf":
        raise ValueError(kind)
    # A copy: what was decoded cannot be written to.
    return _array(np.frombuffer(base64.b64decode(value["bytes"], validate=True), dtype=kind).copy(), shape)


def _parts(value: NDArray[Any]) -> Iterator[NDArray[np.float64]]:
    """Yield floats that add up to wider ones, largest first: some bytes of a wide one mean nothing."""
    for _ in range(_WIDEST_PARTS):
        part = value.astype(np.float64)
        yield part
        value = value - part


def _array(flat: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    if len(flat) != math.prod(shape):
        raise ValueError(shape)
    return flat.reshape(shape)

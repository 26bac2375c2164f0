"""Values as bytes: equal bytes mean the same value, to the last bit, of the same types and in the same order.

What noise is drawn for is described by these bytes (``derived_runner``). Whatever a draw may depend on has to be in
them, so only types are encoded whose whole content is known here; all others are refused, and what holds them cannot be
drawn again.
"""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import inspect
import struct
from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

import numpy as np

from dither.errors import NotSerialisable
from dither.mechanisms.core.public import PublicArray

_DEEPEST: Final = 32
_CONTAINERS: Final[dict[type, bytes]] = {tuple: b"t", list: b"l", set: b"s", frozenset: b"z"}
_TEXTS: Final = (Fraction, Decimal, datetime.date, datetime.datetime, datetime.timedelta, datetime.time, range)


def encoded(value: Any) -> bytes:
    """Return the one encoding of a value, from which its whole content can be told.

    Containers are encoded in the order in which they are iterated, since a draw may follow it.

    >>> encoded([1, 2]) == encoded([1, 2]), encoded([1, 2]) == encoded((1, 2)), encoded(1) == encoded(1.0)
    (True, False, False)

    Raises:
        NotSerialisable: the value holds something whose content is not known here.

    """
    parts: list[bytes] = []
    _encode(value, parts, _DEEPEST)
    return b"".join(parts)


def digest_of(value: Any) -> bytes:
    """Return the SHA-256 of the encoding of a value, which is not held as a whole."""
    parts: list[bytes] = []
    _encode(value, parts, _DEEPEST)
    found = hashlib.sha256()
    for part in parts:
        found.update(part)
    return found.digest()


def in_one_order(value: Any) -> Any:
    """Return a dictionary in the order of its encoded keys, and anything else as it is.

    An engine may return groups in any order; dictionaries that are equal are then drawn for in the same order.
    """
    if type(value) not in (dict, Counter):
        return value
    keys = sorted(value) if _are_all(str, value) else sorted(value, key=encoded)
    return type(value)({key: value[key] for key in keys})


def _are_all(kind: type, values: Iterable[Any]) -> bool:
    return set(map(type, values)) == {kind}


def _put(parts: list[bytes], tag: bytes, content: bytes) -> None:
    """Append a field that says how long it is."""
    parts += (tag, len(content).to_bytes(8, "big"), content)


def _encode(value: Any, parts: list[bytes], depth: int) -> None:
    kind = type(value)
    if depth < 0:
        raise NotSerialisable("a value that is nested too deep has no encoding")
    if value is None or value is True or value is False:
        _put(parts, b"c", repr(value).encode())
    elif kind is int:
        _put(parts, b"i", value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True))
    elif kind is float:
        _put(parts, b"f", struct.pack(">d", value))
    elif kind is str:
        _put(parts, b"u", value.encode("utf-8", "surrogatepass"))
    elif kind is bytes:
        _put(parts, b"b", value)
    elif kind in _TEXTS:
        _put(parts, b"x", f"{kind.__name__} {value!r}".encode())
    elif kind is np.ndarray:
        _encode_array(value, parts, depth)
    elif issubclass(kind, np.generic) and kind.__module__ == "numpy":
        _put(parts, b"g", b"")
        _encode_array(np.asarray(value), parts, depth)
    elif kind in _CONTAINERS:
        _encode_all(_CONTAINERS[kind], value, len(value), parts, depth)
    elif kind in (dict, Counter):
        _put(parts, b"k", kind.__name__.encode())
        if _encode_counts(value, parts):
            return
        _encode_all(b"d", (part for pair in value.items() for part in pair), 2 * len(value), parts, depth)
    elif kind is PublicArray:
        _put(parts, b"p", b"")
        _encode_array(value.values, parts, depth)
    elif isinstance(value, Enum):
        _put(parts, b"e", f"{_name(kind)} {value.name}".encode())
    elif isinstance(value, type):
        _put(parts, b"y", _name(value).encode())
    elif dataclasses.is_dataclass(kind) and kind.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        _put(parts, b"r", f"{_name(kind)} {getattr(kind, 'version', '')}".encode())
        fields = dataclasses.fields(value)
        _refuse_more(value, {field.name for field in fields})
        _encode_all(b"o", (getattr(value, field.name) for field in fields), len(fields), parts, depth)
    elif issubclass(kind, tuple) and hasattr(kind, "_fields") and _is_ours(kind):
        _put(parts, b"m", _name(kind).encode())
        _encode_all(b"o", tuple(value), len(value), parts, depth)
    elif _is_ours(kind) and not dataclasses.is_dataclass(kind) and kind.__basicsize__ == _PlainRecord.__basicsize__:
        # An object of this package that has nothing but its attributes.
        _put(parts, b"v", _name(kind).encode())
        state = vars(value)
        _encode_all(
            b"o", (part for name in sorted(state) for part in (name, state[name])), 2 * len(state), parts, depth
        )
    else:
        raise NotSerialisable(f"a {kind.__name__} has no encoding")


def _encode_all(tag: bytes, values: Iterable[Any], count: int, parts: list[bytes], depth: int) -> None:
    parts += (tag, count.to_bytes(8, "big"))
    for value in values:
        _encode(value, parts, depth - 1)


def _encode_counts(value: dict[Any, Any], parts: list[bytes]) -> bool:
    """Encode a dictionary from texts to integers of 64 bits, of which there may be millions; say whether it is one."""
    if not (_are_all(str, value) and _are_all(int, value.values())):
        return False
    try:
        numbers = np.fromiter(value.values(), dtype=np.int64, count=len(value))
    except OverflowError:
        return False
    _put(parts, b"q", np.fromiter(map(len, value), dtype=np.int64, count=len(value)).tobytes())
    _put(parts, b"q", "".join(value).encode("utf-8", "surrogatepass"))
    _put(parts, b"q", numbers.tobytes())
    return True


def _encode_array(array: np.ndarray[Any, Any], parts: list[bytes], depth: int) -> None:
    dtype = array.dtype
    if dtype.names is not None or dtype.subdtype is not None or dtype.kind == "V":
        raise NotSerialisable("an array of records has no encoding")
    _put(parts, b"a", f"{dtype.str} {array.shape}".encode())
    if dtype.hasobject:
        _encode_all(b"o", array.reshape(-1).tolist(), array.size, parts, depth)
    else:
        _put(parts, b"n", array.tobytes())


def _refuse_more(value: Any, fields: set[str]) -> None:
    """Refuse a record that holds more than its fields, and what it has computed from them."""
    for name in getattr(value, "__dict__", {}).keys() - fields:
        if not isinstance(inspect.getattr_static(type(value), name, None), cached_property):
            raise NotSerialisable(f"a {type(value).__name__} holds more than its fields")


class _PlainRecord:
    """An object with attributes, and no content besides."""


def _is_ours(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == "dither"


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"

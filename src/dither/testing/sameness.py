"""Strict equality: two objects are the same only if a receiver could not tell them apart.

A portrait is a list of places and texts that goes through everything that can be reached from an object: types, the
bits of floats and of arrays, the order of dictionaries, attributes in ``__dict__`` and in slots, the memory behind a
view, the metadata of types of entries, what functions close over, weak references, notes and tracebacks of exceptions,
classes that were made on the way. Two objects are the same if their portraits are. ``corners`` walks what is rare.
"""

from __future__ import annotations

import functools
import hashlib
import struct
import types
from collections import deque
from collections.abc import Iterator
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any, cast

import numpy as np

from dither.testing import corners

_MOST_SHOWN = 120
_BITS = struct.Struct("<d")
_PLAIN = (type(None), bool, int, str, bytes, Fraction, Decimal, type(Ellipsis), type(NotImplemented))
_NAMED = (type, types.ModuleType, types.BuiltinFunctionType, np.ufunc)
_BUILT_IN = (list, tuple, deque, set, frozenset, dict, types.MappingProxyType)

#: Looked up before anything else, for speed.
_COMMON = frozenset({*_PLAIN, float, complex, np.float64, np.int64, np.bool_})
_COMPOSITE = frozenset({*_BUILT_IN, np.ndarray})
_PLAIN_KINDS = frozenset(_PLAIN)
_SCALARS = frozenset({np.float64, np.int64, np.bool_})
_VALUES = (*_PLAIN, float, complex, np.generic, np.dtype, Enum, *_NAMED)
#: Any other object is known by its attributes.
_SPECIAL = (*_VALUES, *_BUILT_IN, np.ndarray, *corners.RARE)

Portrait = list[tuple[str, str]]


def portrait(thing: Any) -> Portrait:
    """Return every place that can be reached from an object, and its content.

    >>> portrait({"a": -0.0})
    [('', 'dict of 1'), ('.key 0', "str 'a'"), (".of 'a'", 'float 0000000000000080')]
    """
    found: Portrait = []
    seen: dict[int, str] = {}
    # What is made up while walking is kept until the end: its address must not be taken again.
    kept = []
    waiting = [("", thing)]
    while waiting:
        place, one = waiting.pop()
        if not _is_plain(one):
            known = seen.get(id(one))
            if known is not None:
                found.append((place, f"the same as {known or 'the whole'}"))
                continue
            seen[id(one)] = place
            kept.append(one)
        text, parts = _described(one)
        found.append((place, text))
        if parts:
            waiting += [(f"{place}.{name}", part) for name, part in reversed(parts)]
    return found


def difference(one: Any, other: Any) -> str | None:
    """Return the first place at which two objects differ and how, or None if there is none.

    >>> difference([0.0, 1], [-0.0, 1])
    'at .0: float 0000000000000000 against float 0000000000000080'
    >>> difference([0.0, 1], [0.0, 1]) is None
    True

    """
    if one is other:
        return None
    return unlike(portrait(one), portrait(other))


def unlike(here: Portrait, there: Portrait) -> str | None:
    """Return the first place at which two portraits differ and how, or None if there is none."""
    for (place, text), (elsewhere, other) in zip(here, there, strict=False):
        if (place, text) != (elsewhere, other):
            where = place if place == elsewhere else f"{place or 'the whole'} and {elsewhere or 'the whole'}"
            return f"at {where or 'the whole'}: {_short(text)} against {_short(other)}"
    if len(here) != len(there):
        return f"{len(here)} parts against {len(there)}"
    return None


def digest(thing: Any) -> str:
    """Return the SHA-256 of a portrait."""
    return hashlib.sha256(repr(portrait(thing)).encode("utf-8", "surrogatepass")).hexdigest()


def reached(thing: Any) -> Iterator[tuple[str, Any]]:
    """Return every object that can be reached from one, with its place; plain numbers and texts are left out."""
    seen: dict[int, Any] = {}
    waiting = [("", thing)]
    while waiting:
        place, one = waiting.pop()
        if _is_plain(one) or id(one) in seen:
            continue
        seen[id(one)] = one
        yield place, one
        waiting += [(f"{place}.{name}", part) for name, part in _described(one)[1]]


def held(released: Any, data: Any, public: Any = None) -> str | None:
    """Return the place at which a released object holds the data, a part of it or its memory, or None.

    Args:
        released: the released object.
        data: what must not.
        public: an object with parts that both may share, such as a schema.

    """
    if _is_plain(released):
        return None
    inside = [data] if type(data) is np.ndarray else [one for _, one in reached(data) if _changes(one)]
    ids = {id(one) for one in inside}
    arrays = [one for one in inside if isinstance(one, np.ndarray) and one.size]
    shared: set[int] | None = None
    for place, one in reached(released):
        found = id(one) in ids
        is_memory = not found and isinstance(one, np.ndarray) and any(np.may_share_memory(one, each) for each in arrays)
        if found or is_memory:
            # Rarely needed, and long: only now.
            shared = {id(each) for _, each in reached(public)} if shared is None else shared
            if id(one) not in shared:
                return f"{place or 'the whole'}{', in memory' if is_memory else ''}"
    return None


def _changes(thing: Any) -> bool:
    """Whether an object is mutable, so that its identity matters; records and values are shared by many."""
    if isinstance(thing, np.ndarray | list | dict | set | deque | bytearray):
        return True
    settings = getattr(type(thing), "__dataclass_params__", None)
    is_shared = isinstance(thing, (*_NAMED, tuple, frozenset, Enum, types.FunctionType, types.MappingProxyType))
    return not (is_shared or (settings is not None and settings.frozen))


def _is_plain(thing: Any) -> bool:
    kind = type(thing)
    if kind in _COMMON:
        return True
    if kind in _COMPOSITE or kind in corners.PROXIES or not isinstance(thing, _VALUES):
        return False
    if isinstance(thing, (*_PLAIN, float, complex)):
        # Numbers and texts of a derived class may have attributes.
        return not _own(thing)
    if isinstance(thing, np.generic | np.dtype):
        return not corners.of_numpy(thing)
    return isinstance(thing, Enum) or (isinstance(thing, _NAMED) and not corners.is_made(thing))


def _described(thing: Any) -> tuple[str, list[tuple[str, Any]]]:
    """Return the content of a place, and the parts below it."""
    kind = type(thing)
    name = kind.__qualname__
    if kind in _PLAIN_KINDS:
        return f"{name} {thing!r}", []
    if kind is float:
        return f"float {_BITS.pack(thing).hex()}", []
    if kind in _SCALARS:
        return f"{name} array-scalar {thing.tobytes()!r}", []
    if kind is np.ndarray:
        return _of_array(thing)
    if kind in _BUILT_IN:
        return _of_container(thing)
    if kind in corners.PROXIES:
        return name, [("referent", corners.behind_proxy(thing))]
    if not isinstance(thing, _SPECIAL):
        return _of_object(thing)
    if isinstance(thing, Enum):
        return f"{name} {thing.name}", []
    if isinstance(thing, np.generic):
        return f"{name} array-scalar {thing.tobytes()!r}", corners.of_numpy(thing)
    if isinstance(thing, np.dtype):
        return f"dtype {thing.str}", corners.of_numpy(thing)
    if isinstance(thing, _PLAIN):
        return f"{name} {_value_of(thing)}", _own(thing)
    if isinstance(thing, float | complex):
        return f"{name} {np.array(thing).tobytes().hex()}", _own(thing)
    if isinstance(thing, _NAMED):
        title = f"{name} {getattr(thing, '__module__', '')}.{getattr(thing, '__qualname__', None) or thing!r}"
        return title, corners.of_made(thing) if corners.is_made(thing) else []
    if isinstance(thing, np.ndarray):
        return _of_array(thing)
    if isinstance(thing, _BUILT_IN):
        return _of_container(thing)
    found = corners.described(thing)
    if found is not None:
        return found[0], found[1] + _own(thing)
    return _of_object(thing)


def _value_of(thing: Any) -> str:
    """Return the plain value behind a number or text whose class may have its own repr."""
    for plain in _PLAIN:
        if isinstance(thing, plain) and plain.__repr__ is not object.__repr__:
            return cast(Any, plain).__repr__(thing)  # type: ignore[no-any-return]
    return repr(thing)


def _of_array(array: np.ndarray[Any, Any]) -> tuple[str, list[tuple[str, Any]]]:
    text = f"{type(array).__qualname__} {array.dtype.str} {array.shape} {array.strides} {array.flags.writeable}"
    parts: list[tuple[str, Any]] = []
    # By the methods of arrays themselves: those of masked arrays leave out what the mask hides.
    if array.dtype.hasobject:
        parts.append(("entries", np.ndarray.tolist(array)))
    else:
        content = np.ndarray.tobytes(array)
        text += f" {content.hex() if len(content) <= _MOST_SHOWN else hashlib.sha256(content).hexdigest()}"
    return text, [*parts, *corners.of_numpy(array.dtype), *corners.behind_view(array), *_own(array)]


def _of_container(thing: Any) -> tuple[str, list[tuple[str, Any]]]:
    text = f"{type(thing).__qualname__} of {len(thing)}"
    if isinstance(thing, dict | types.MappingProxyType):
        parts = []
        for number, (key, value) in enumerate(thing.items()):
            shown = _short(repr(key)) if _is_plain(key) else str(number)
            parts += [(f"key {number}", key), (f"of {shown}", value)]
    elif isinstance(thing, set | frozenset):
        # Sets have no order.
        parts = [(f"member {number}", one) for number, one in enumerate(sorted(thing, key=digest))]
    else:
        parts = [(str(number), one) for number, one in enumerate(thing)]
    return text, parts + _own(thing)


def _of_object(thing: Any) -> tuple[str, list[tuple[str, Any]]]:
    kind: Any = type(thing)
    text = f"{kind.__module__}.{kind.__qualname__}"
    parts = _own(thing)
    if hasattr(thing, "__dict__") and not corners.tells_itself(kind):
        return text, parts
    # What is made in another language tells itself in its own way.
    return text, parts + corners.told(thing, is_known=bool(parts))


def _own(thing: Any) -> list[tuple[str, Any]]:
    """Return the attributes of an object itself, those in slots included, and a class made for it alone."""
    if type(thing) in _COMPOSITE:
        return []
    parts, kind = list(getattr(thing, "__dict__", {}).items()), cast(Any, type(thing))
    if corners.is_made(kind):
        parts.append(("class", kind))
    return parts + [(slot, getattr(thing, slot)) for slot in _slots(kind) if hasattr(thing, slot)]


@functools.cache
def _slots(kind: Any) -> tuple[str, ...]:
    """Return the names of the slots of a class and of all that it is made of."""
    found = []
    for one in kind.__mro__:
        slots = one.__dict__.get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            is_hidden = slot.startswith("__") and not slot.endswith("__")
            found.append(f"_{one.__name__.lstrip('_')}{slot}" if is_hidden else slot)
    return tuple(name for name in found if name not in ("__dict__", "__weakref__"))


def _short(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."

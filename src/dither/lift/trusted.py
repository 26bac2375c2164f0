"""Whose code runs beside private rows: exactly that of registered classes.

A session prices what it is handed and runs it on rows. A class that extends a known one may override any step: it could
say one price, and see the rows. So types are compared, not ancestries, and all that a request is made of is registered
by name: records of queries, sources, kinds of matrices, mechanisms, estimators. An owner who trusts a further class
registers it; an analyst's request names what is registered and holds plain values.

This guards the session's promises against requests, not the process against Python: anyone who can run code in the
process of the data can read the data.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import fields
from decimal import Decimal
from fractions import Fraction
from types import NoneType
from typing import Any, Final

import numpy as np

from dither.data.wire import encode
from dither.errors import InvalidParameter, UnknownMechanism
from dither.lift.lifted import Lifted
from dither.mechanisms.core.mechanism import Mechanism
from dither.mechanisms.core.public import PublicArray
from dither.mechanisms.core.registry import find
from dither.privacy import ZCDP, ApproxDP, Loss, PureDP, Unit, unit_of, word_of

_PLAIN: Final = frozenset(
    {NoneType, bool, int, float, str, bytes, Fraction, Decimal, datetime.date, PublicArray, range}
)
#: Records that say what may be lost.
_LOSSES: Final = frozenset({PureDP, ZCDP, ApproxDP})
#: How deep a parameter may be nested.
DEEPEST: Final = 16


def checked_class(parameter: str, given: Any, known: type) -> None:
    """Reject objects of any class but ``known``, subclasses included."""
    if type(given) is not known:
        raise InvalidParameter(parameter, type(given).__name__, f"a {known.__name__} itself, and not of a subclass")


def checked_mechanism(mechanism: Any) -> None:
    """Reject a mechanism whose class is not the one registered under its name; likewise its parts.

    The source of a lifted method is written down: records that are not registered have no place in a request.
    """
    name = getattr(type(mechanism), "name", None)
    known = None
    if isinstance(name, str):
        try:
            known = find(name).mechanism
        except UnknownMechanism:
            known = None
    if known is not type(mechanism):
        raise InvalidParameter("mechanism", type(mechanism).__name__, "of a registered class exactly: see register")
    if isinstance(mechanism, Lifted):
        encode(mechanism.source)
    for field in fields(mechanism):  # type: ignore[arg-type]
        content = getattr(mechanism, field.name)
        for part in content if isinstance(content, tuple) else (content,):
            if isinstance(part, Mechanism):
                checked_mechanism(part)


def plain_value(name: str, value: Any, other: Callable[[Any, int], Any], depth: int = DEEPEST) -> Any:
    """Return a parameter of plain values, in containers of its own; types are compared, not ancestries.

    Args:
        name: what the parameter is called.
        value: what it holds.
        other: makes anew what is not plain, or returns None where that is not registered either.
        depth: how deep it may be nested from here on.

    """
    kind = type(value)
    if depth < 0:
        raise InvalidParameter(name, kind.__name__, f"nested at most {DEEPEST} deep")
    if kind in _PLAIN or (issubclass(kind, np.generic) and kind.__module__ == "numpy"):
        return value
    if kind in _LOSSES:
        return Loss.from_dict(value.to_dict())
    if kind is Unit:
        return unit_of(word_of(value))

    def inner(part: Any) -> Any:
        return plain_value(name, part, other, depth - 1)

    if kind in (list, tuple, set, frozenset):
        return kind(map(inner, value))
    if kind is dict:
        return {inner(key): inner(part) for key, part in value.items()}
    if kind is np.ndarray:
        copied = value.copy()
        if copied.dtype.hasobject:
            copied.reshape(-1)[:] = [inner(part) for part in value.reshape(-1).tolist()]
        return copied
    made = other(value, depth)
    if made is None:
        raise InvalidParameter(name, kind.__name__, "plain: numbers, strings, arrays, lists and dictionaries of these")
    return made

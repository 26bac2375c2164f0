"""Records whose fields match their annotations: checked whenever a record is made.

A record that a mechanism holds bounds what one unit can do, so no other kind of content may slip into it and be found
out later, by data or not at all. ``typed`` stands between ``dataclass`` and the class; the rule is the annotation.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from numbers import Integral, Rational, Real
from typing import Any, TypeVar

import numpy as np

from dither.errors import InvalidParameter
from dither.exact.parameters import Field

Record = TypeVar("Record", bound=type)
_Check = Callable[[Any], bool]

#: What counts as a number of a kind, wider than the class of that name; truth values count as numbers nowhere.
_NUMBERS: dict[Any, type] = {int: Integral, float: Real, Fraction: Rational}


def typed(record: Record) -> Record:
    """Return the class with a constructor that rejects fields of another type, before it checks anything else.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... @typed
    ... class Weights:
    ...     values: tuple[int, ...]
    >>> Weights([1, 2])
    Traceback (most recent call last):
    ...
    dither.errors.InvalidParameter: values must be of type tuple[int, ...], got [1, 2]

    """
    inner = getattr(record, "__post_init__", None)

    def __post_init__(self: Any) -> None:  # noqa: N807 - becomes the method of that name
        for name, hint, fits in _rules(record):
            value = getattr(self, name)
            if not fits(value):
                raise InvalidParameter(name, value, f"of type {hint}")
        if inner is not None:
            inner(self)

    record.__post_init__ = __post_init__  # type: ignore[attr-defined]
    return record


@cache
def _rules(record: type) -> tuple[tuple[str, str, _Check], ...]:
    """Return the fields of a class, how their types are written, and what they must satisfy."""
    hints = typing.get_type_hints(record)
    return tuple((field.name, str(field.type), _check(hints[field.name])) for field in dataclasses.fields(record))


def _is_of_type_alone(hint: Any) -> bool:
    """Whether the class of a value decides if it is of a type: a class, or a choice of classes."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return all(map(_is_of_type_alone, typing.get_args(hint)))
    return hint is None or isinstance(hint, type)


def _check(hint: Any) -> _Check:
    """Return whether a value is of a type, as far as that can be told."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if hint is None or hint is type(None):
        return lambda value: value is None
    if origin in (typing.Union, types.UnionType):
        checks = [_check(part) for part in parts]
        # Asked first, for speed: abstract classes take their time.
        classes = frozenset(part for part in parts if isinstance(part, type) and typing.get_origin(part) is None)
        return lambda value: type(value) in classes or any(check(value) for check in checks)
    if origin is tuple and parts[1:] == (...,):
        each = _check(parts[0])
        if _is_of_type_alone(parts[0]):
            # One value of each type stands for all, because there may be very many.
            return lambda value: isinstance(value, tuple) and all(map(each, {type(one): one for one in value}.values()))
        return lambda value: isinstance(value, tuple) and all(map(each, value))
    if origin is tuple:
        places = [_check(part) for part in parts]
        return lambda value: (
            isinstance(value, tuple)
            and len(value) == len(places)
            and all(check(one) for check, one in zip(places, value, strict=True))
        )
    kind = origin or hint
    if kind is Any or (isinstance(kind, type) and issubclass(kind, Field)):
        return lambda value: True  # anything, or what checks for itself
    if kind in (Mapping, Sequence, dict) or isinstance(kind, type):
        if kind in _NUMBERS:
            numbers = _NUMBERS[kind]
            return lambda value: type(value) is kind or (isinstance(value, numbers) and not isinstance(value, bool))
        wanted = (bool, np.bool_) if kind is bool else (kind,)
        return lambda value: type(value) is kind or isinstance(value, wanted)
    return lambda value: True

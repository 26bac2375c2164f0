"""Fields of a frozen dataclass that check and convert what they are given.

``scale: Positive = Positive()`` declares a required public parameter: the constructor takes any number, the attribute
is an exact rational, and a refusal names the field. The rule stands where the parameter is declared, once.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Generic, TypeVar, overload

import numpy as np

from dither.errors import InvalidParameter
from dither.exact.rational import Number, non_negative, positive, probability, shape_of, whole

Given_contra = TypeVar("Given_contra", contravariant=True)
Kept_co = TypeVar("Kept_co", covariant=True)
_Self = TypeVar("_Self", bound="Field[Any, Any]")
_REQUIRED: Any = object()


class Field(Generic[Given_contra, Kept_co]):
    """A checked dataclass field: takes ``Given``, keeps ``Kept``.

    A data descriptor: a frozen dataclass stores through ``object.__setattr__``, which comes here.
    """

    def __init__(self, default: Given_contra = _REQUIRED) -> None:
        self._default = default

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def convert(self, name: str, value: Given_contra) -> Kept_co:
        """Return what is kept, or raise InvalidParameter naming the field."""
        raise NotImplementedError

    @overload
    def __get__(self: _Self, instance: None, owner: type) -> _Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Kept_co: ...
    def __get__(self, instance: object | None, owner: type) -> Any:
        if instance is None:
            if self._default is _REQUIRED:
                # What tells a dataclass that the field has no default.
                raise AttributeError(self._name)
            return self._default
        return instance.__dict__[self._name]

    def __set__(self, instance: object, value: Given_contra) -> None:
        instance.__dict__[self._name] = self.convert(self._name, value)


class Positive(Field[Number, Fraction]):
    """A number above zero."""

    def convert(self, name: str, value: Number) -> Fraction:
        """Return the exact rational."""
        return positive(name, value)


class NonNegative(Field[Number, Fraction]):
    """A number of at least zero."""

    def convert(self, name: str, value: Number) -> Fraction:
        """Return the exact rational."""
        return non_negative(name, value)


class Probability(Field[Number, Fraction]):
    """A number in [0, 1)."""

    def convert(self, name: str, value: Number) -> Fraction:
        """Return the exact rational."""
        return probability(name, value)


class Whole(Field[int, int]):
    """A whole number between two public limits."""

    def __init__(self, default: int = _REQUIRED, *, least: int = 0, most: int | None = None) -> None:
        super().__init__(default)
        self._least, self._most = least, most

    def convert(self, name: str, value: int) -> int:
        """Return the Python integer."""
        return whole(name, value, least=self._least, most=self._most)


class Flag(Field[bool, bool]):
    """True or false, and nothing that merely counts as one of them."""

    def convert(self, name: str, value: bool) -> bool:
        """Return the Python bool."""
        if not isinstance(value, bool | np.bool_):
            raise InvalidParameter(name, value, "true or false")
        return bool(value)


class Shape(Field["int | Sequence[int]", tuple[int, ...]]):
    """The shape of an array with no empty axis; ``()`` is a scalar."""

    def convert(self, name: str, value: int | Sequence[int]) -> tuple[int, ...]:
        """Return the axes."""
        return shape_of(name, value)

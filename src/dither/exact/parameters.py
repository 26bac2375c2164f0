"""Fields of a frozen dataclass that check and convert their values.

``scale: Positive = Positive()`` declares a required public parameter: the constructor takes any number, the attribute
is an exact rational, and a refusal names the field. The rule stands where the parameter is declared, once. Each field
knows values that it must refuse (``offenders``) and values that it accepts beside a given one (``samples``), so that
one contract check tries every declaration there is, and instances can be made whose parameters differ in every way.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any, Final, Generic, TypeVar, overload

import numpy as np

from dither.errors import DitherError, InvalidParameter
from dither.exact.rational import Number, exact, non_negative, positive, probability, shape_of, whole

Given_contra = TypeVar("Given_contra", contravariant=True)
Kept_co = TypeVar("Kept_co", covariant=True)
_Self = TypeVar("_Self", bound="Field[Any, Any]")
T = TypeVar("T")
#: The default of a field that has none.
REQUIRED: Any = object()
#: Up to here, and from its reciprocal on, a number can be squared in floats and neither overflows nor becomes 0.
FAR: Final = 2**500
#: Above this an integer is halved for a sample, not doubled: instances stay small enough to run.
_LARGE: Final = 64
#: What is not a number, whatever it looks like.
_NOT_NUMBERS: tuple[Any, ...] = (float("nan"), float("inf"), "many", True, None, 1j, [1], object())


class Field(Generic[Given_contra, Kept_co]):
    """A checked dataclass field: takes ``Given``, keeps ``Kept``.

    A data descriptor: a frozen dataclass stores through ``object.__setattr__``, which comes here.
    """

    def __init__(self, default: Given_contra = REQUIRED) -> None:
        self._default = default

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def convert(self, name: str, value: Given_contra) -> Kept_co:
        """Return what is kept, or raise InvalidParameter naming the field."""
        raise NotImplementedError

    def offenders(self) -> Iterator[Any]:
        """Return values that are rejected, each for a different reason: the contract suite tries them."""
        yield object()

    def samples(self, kept: Any = None) -> Iterator[Any]:
        """Return a few values that are accepted, different from ``kept`` and of about its size.

        Which of them go together with the other parameters of a record, its constructor decides.

        Args:
            kept: what an instance has; None where it has nothing.

        """
        yield from ()

    def _accepted(self, *values: Any) -> Iterator[Any]:
        """Yield the values that are accepted."""
        for value in values:
            try:
                self.convert("value", value)
            except DitherError:
                continue
            yield value

    @overload
    def __get__(self: _Self, instance: None, owner: type) -> _Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Kept_co: ...
    def __get__(self, instance: object | None, owner: type) -> Any:
        if instance is None:
            if self._default is REQUIRED:
                # What tells a dataclass that the field has no default.
                raise AttributeError(self._name)
            return self._default
        return instance.__dict__[self._name]

    def __set__(self, instance: object, value: Given_contra) -> None:
        instance.__dict__[self._name] = self.convert(self._name, value)


class Positive(Field[Number, Fraction]):
    """A positive number.

    Args:
        default: where the parameter may be left out.
        least: the smallest number that will do; needed where numbers near 0 would become 0 in floats.
        most: the largest; needed where the number becomes a float.

    """

    def __init__(
        self, default: Number = REQUIRED, *, least: Fraction | None = None, most: int | Fraction | None = None
    ) -> None:
        super().__init__(default)
        self._least, self._most = least, most

    def convert(self, name: str, value: Number) -> Fraction:
        """Return the exact rational."""
        number = positive(name, value)
        _check_limits(name, number, self._least, self._most)
        return number

    def offenders(self) -> Iterator[Any]:
        """Return zero, negative numbers, numbers beyond the limits, and anything that is not a number."""
        yield from _beyond(self._least, self._most)
        yield from (0, -1, Fraction(-1, 3), *_NOT_NUMBERS)

    def samples(self, kept: Any = None) -> Iterator[Any]:
        """Return half of a number and three times as much, where that is accepted."""
        given = Fraction(1) if kept is None else kept
        yield from self._accepted(given / 2, 3 * given, given / 5)


class NonNegative(Field[Number, Fraction]):
    """A non-negative number.

    Args:
        default: where the parameter may be left out.
        most: the largest number that will do; needed where the number becomes a float.

    """

    def __init__(self, default: Number = REQUIRED, *, most: int | Fraction | None = None) -> None:
        super().__init__(default)
        self._most = most

    def convert(self, name: str, value: Number) -> Fraction:
        """Return the exact rational."""
        number = non_negative(name, value)
        _check_limits(name, number, None, self._most)
        return number

    def offenders(self) -> Iterator[Any]:
        """Return negative numbers, numbers beyond the limit, and anything that is not a number."""
        yield from _beyond(None, self._most)
        yield from (-1, Fraction(-1, 3), *_NOT_NUMBERS)

    def samples(self, kept: Any = None) -> Iterator[Any]:
        """Return 0, and a number of the same size or 1."""
        yield from self._accepted(Fraction(0), 3 * kept if kept else Fraction(1))


def _check_limits(name: str, number: Fraction, least: Fraction | None, most: int | Fraction | None) -> None:
    """Raise unless the number is within its public limits."""
    if (least is None or least <= number) and (most is None or number <= most):
        return
    if least is None:
        rule = f"at most {_said(most)}"
    elif most is None:
        rule = f"at least {_said(least)}"
    else:
        rule = f"a number between {_said(least)} and {_said(most)}"
    raise InvalidParameter(name, _said(number), rule)


def _beyond(least: Fraction | None, most: int | Fraction | None) -> Iterator[Fraction]:
    """Return numbers next to the limits and far beyond them."""
    if least is not None:
        yield from (least * Fraction(99, 100), least / 10**400)
    if most is not None:
        yield from (Fraction(most) * Fraction(101, 100), Fraction(most) * 10**400)


def _said(number: int | Fraction | None) -> str:
    """Return a limit as a person would write it: a long power of two as a power, another long number by its size."""
    top, bottom = Fraction(number or 0).as_integer_ratio()
    if max(top, bottom) < 2**30:
        return str(number)
    if top & (top - 1) == 0 and bottom & (bottom - 1) == 0:
        return f"2^{top.bit_length() - bottom.bit_length()}"
    return f"about 2^{top.bit_length() - bottom.bit_length()}"


class Probability(Field[Number, Fraction]):
    """A number in [0, 1)."""

    def convert(self, name: str, value: Number) -> Fraction:
        """Return the exact rational."""
        return probability(name, value)

    def offenders(self) -> Iterator[Any]:
        """Return numbers outside the interval, and anything that is not a number."""
        yield from (1, -1, Fraction(3, 2), *_NOT_NUMBERS)

    def samples(self, kept: Any = None) -> Iterator[Any]:
        """Return 0, small ones and a large one: a delta is small where it is of any use, a share need not be."""
        yield from (Fraction(1, 1000), Fraction(1, 3), Fraction(0), Fraction(4, 5))


class Whole(Field[int, int]):
    """An integer between two public limits."""

    def __init__(self, default: int = REQUIRED, *, least: int = 0, most: int | None = None) -> None:
        super().__init__(default)
        self._least, self._most = least, most

    def convert(self, name: str, value: int) -> int:
        """Return the Python integer."""
        return whole(name, value, least=self._least, most=self._most)

    def offenders(self) -> Iterator[Any]:
        """Return the integers next to the limits, and anything that is not an integer."""
        yield self._least - 1
        if self._most is not None:
            yield self._most + 1
        yield from (0.5, Fraction(1, 2), 1.0, *_NOT_NUMBERS)

    def samples(self, kept: Any = None) -> Iterator[Any]:
        """Return the least integer or the one below, the one above, and one of about twice the size."""
        given = self._least + 1 if kept is None else int(kept)
        if given > _LARGE:
            yield from self._accepted(given // 2, given - 1)
            return
        low = self._least if 0 <= given - self._least <= 3 else given - 1
        yield from (value for value in self._accepted(low, given + 1, 2 * given + 1) if value != kept)


class Flag(Field[bool, bool]):
    """True or false, but not other truthy or falsy values."""

    def convert(self, name: str, value: bool) -> bool:
        """Return the Python bool."""
        if not isinstance(value, bool | np.bool_):
            raise InvalidParameter(name, value, "true or false")
        return bool(value)

    def offenders(self) -> Iterator[Any]:
        """Return other truthy and falsy values."""
        yield from (0, 1, "yes", "", None, [], object())

    def samples(self, kept: Any = None) -> Iterator[Any]:
        """Return both."""
        yield from (True, False)


class Shape(Field["int | Sequence[int]", tuple[int, ...]]):
    """The shape of an array with no empty axis; ``()`` is a scalar."""

    def convert(self, name: str, value: int | Sequence[int]) -> tuple[int, ...]:
        """Return the axes."""
        return shape_of(name, value)

    def offenders(self) -> Iterator[Any]:
        """Return empty axes, and anything that is not a shape."""
        yield from (0, -1, (2, 0), 1.5, "3", None, True, object())

    def samples(self, kept: Any = None) -> Iterator[Any]:
        """Return shapes of no, one and two axes, and the given one with another length."""
        yield from ((), (1,), (3,), (2, 2))
        if kept:
            yield from ((*kept[:-1], kept[-1] + 1), (kept[0] + 2, *kept[1:]))


class Real(Field[Number, Fraction]):
    """A finite number."""

    def convert(self, name: str, value: Number) -> Fraction:
        """Return the exact rational."""
        return exact(name, value)

    def offenders(self) -> Iterator[Any]:
        """Return anything that is not a number."""
        yield from _NOT_NUMBERS

    def samples(self, kept: Any = None) -> Iterator[Any]:
        """Return a number somewhat below, one above, and one on the other side of 0."""
        given = Fraction(0) if kept is None else kept
        yield from (given - 1, given + Fraction(1, 2), -given)


class Text(Field[str, str]):
    """A text.

    Args:
        default: where the parameter may be left out.
        rule: what the text is, for the refusal.

    """

    def __init__(self, default: str = REQUIRED, *, rule: str = "a string") -> None:
        super().__init__(default)
        self._rule = rule

    def convert(self, name: str, value: str) -> str:
        """Return the text."""
        if not isinstance(value, str):
            raise InvalidParameter(name, value, self._rule)
        # Of Python's own class: one that extends it could be another text each time it is looked at.
        return str.__str__(value)

    def offenders(self) -> Iterator[Any]:
        """Return anything that is not a text."""
        yield from (0, None, b"text", ["text"], object())

    def samples(self, kept: Any = None) -> Iterator[Any]:
        """Return another text."""
        yield f"{kept or ''}other"


class OneOf(Field[Any, Any]):
    """One of a few public values: names of options, or members of an enumeration.

    Args:
        choices: the values that may be given.
        default: where the parameter may be left out.
        rule: in place of the list of the choices, for the refusal.

    """

    def __init__(self, *choices: Any, default: Any = REQUIRED, rule: str | None = None) -> None:
        super().__init__(default)
        self._choices = choices
        self._rule = rule or f"one of {', '.join(map(str, choices))}"

    def convert(self, name: str, value: Any) -> Any:
        """Return the choice itself, of the right type."""
        for choice in self._choices:
            # Same type first: True is not the choice 1, and a foreign class does not decide what it equals.
            if type(value) is type(choice) and value == choice:
                return choice
        raise InvalidParameter(name, value, self._rule)

    def offenders(self) -> Iterator[Any]:
        """Return anything that is not a choice."""
        yield from ("no such choice", "", 0, None, [], object())

    def samples(self, kept: Any = None) -> Iterator[Any]:
        """Return every choice."""
        yield from self._choices


class Of(Field[T, T]):
    """A record of one of a few types.

    Args:
        types: what the record may be an instance of.
        shape: what its ``shape`` must be, for noise of one number: ``()``.
        where: whether a record of the right type will do.
        rule: what is asked for, in words.
        default: where the parameter may be left out.

    """

    def __init__(
        self,
        *types: type[Any],
        shape: tuple[int, ...] | None = None,
        where: Callable[[Any], bool] | None = None,
        rule: str | None = None,
        default: T = REQUIRED,
    ) -> None:
        super().__init__(default)
        self._types, self._shape, self._where = types, shape, where
        names = " or ".join(kind.__name__ for kind in types)
        self._rule = rule or (names if shape is None else f"{names} noise of one number")

    def convert(self, name: str, value: T) -> T:
        """Return the record."""
        if not isinstance(value, self._types) or (self._shape is not None and value.shape != self._shape):
            raise InvalidParameter(name, value, self._rule)
        if self._where is not None and not self._where(value):
            raise InvalidParameter(name, value, self._rule)
        return value

    def offenders(self) -> Iterator[Any]:
        """Return anything that is not a record of these types."""
        yield from (0, "x", None, (), object(), *self._types)

    def samples(self, kept: Any = None) -> Iterator[Any]:
        """Return the given record with one of its own declared fields changed at a time."""
        yield from self._accepted(*varied(kept))


def varied(record: Any) -> Iterator[Any]:
    """Return a record with one declared field changed at a time; nothing where it declares none."""
    if isinstance(record, type) or not dataclasses.is_dataclass(record):
        return
    for field in dataclasses.fields(record):
        declared = inspect.getattr_static(type(record), field.name, None)
        for value in declared.samples(getattr(record, field.name)) if _is_given(field, declared) else ():
            try:
                made: Any = dataclasses.replace(record, **{field.name: value})  # type: ignore[type-var]
            except DitherError:
                continue
            if made != record:
                yield made


def _is_given(field: dataclasses.Field[Any], declared: Any) -> bool:
    return field.init and isinstance(declared, Field)


class Maybe(Field[Any, Any]):
    """A value that another field takes, or None."""

    def __init__(self, field: Field[Any, Any], default: Any = None) -> None:
        super().__init__(default)
        self._field = field

    def convert(self, name: str, value: Any) -> Any:
        """Return None, or what the field keeps."""
        return None if value is None else self._field.convert(name, value)

    def offenders(self) -> Iterator[Any]:
        """Return what the field rejects."""
        yield from (value for value in self._field.offenders() if value is not None)

    def samples(self, kept: Any = None) -> Iterator[Any]:
        """Return None, and what the field accepts."""
        yield None
        yield from self._field.samples(kept)


class TupleOf(Field[Sequence[Any], tuple[Any, ...]]):
    """A tuple, each entry of which another field takes.

    Args:
        field: takes one entry.
        least: the smallest number of entries.
        most: the largest.
        where: whether the entries will do together.
        rule: what is asked for, in words.
        default: where the parameter may be left out.

    """

    def __init__(
        self,
        field: Field[Any, Any],
        *,
        least: int = 1,
        most: int | None = None,
        where: Callable[[tuple[Any, ...]], bool] | None = None,
        rule: str,
        default: Any = REQUIRED,
    ) -> None:
        super().__init__(default)
        self._field, self._least, self._most, self._where, self._rule = field, least, most, where, rule

    def convert(self, name: str, value: Sequence[Any]) -> tuple[Any, ...]:
        """Return the entries as a tuple."""
        if not isinstance(value, tuple | list) or not self._least <= len(value):
            raise InvalidParameter(name, value, self._rule)
        if self._most is not None and len(value) > self._most:
            raise InvalidParameter(name, f"{len(value)} entries", self._rule)
        kept = tuple(self._field.convert(name, entry) for entry in value)
        if self._where is not None and not self._where(kept):
            raise InvalidParameter(name, value, self._rule)
        return kept

    def offenders(self) -> Iterator[Any]:
        """Return what is not a tuple, tuples that are too short, and those with an entry that the field rejects."""
        yield from (0, "x", None, {}, object())
        if self._least:
            yield ()
        yield from ((value,) for value in self._field.offenders())

    def samples(self, kept: Any = None) -> Iterator[Any]:
        """Return tuples with another last or first entry, another order, one entry more, and one fewer."""
        given = tuple(kept or ())
        others = list(self._field.samples(given[-1] if given else None))
        found = [(*given[:-1], other) for other in others[:3]] + [(*given, other) for other in others[:2]]
        found += [(*given, *given[-1:]), given[:-1], given[1:], given[::-1]]
        found += [(other, *given[1:]) for other in list(self._field.samples(given[0]))[:1]] if given[1:] else []
        yield from (made for made in self._accepted(*dict.fromkeys(found)) if made != given)

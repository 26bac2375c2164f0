"""The client half of a randomiser: one answer in, one payload of constant length out, in the standard library.

The law is by whole weights, so that ``ratio`` is a rational: no answer is more than ``ratio`` times as likely as
another to give any whole payload. The number of words that are read follows from the parameters and the words alone,
never from the answer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar, Final, Self

from dither.errors import InvalidParameter
from dither.noise.client_words import Words

MOST_BITS: Final = 32


@dataclass(frozen=True)
class Half(ABC):
    """A law of reports, by its public parameters; every parameter is an integer, unless a half says otherwise."""

    name: ClassVar[str]

    def __post_init__(self) -> None:
        """Refuse parameters that are no integers, or break the rules of the law."""
        for field in fields(self):
            if type(getattr(self, field.name)) is not int and field.type == "int":
                raise InvalidParameter(field.name, getattr(self, field.name), "an integer")
        self.check()

    @abstractmethod
    def check(self) -> None:
        """Raise InvalidParameter where a parameter breaks a rule."""

    @property
    @abstractmethod
    def cells(self) -> int:
        """How many answers there are."""

    @property
    @abstractmethod
    def widths(self) -> tuple[int, ...]:
        """The number of bits of each field of a payload, at most 62; they follow each other, the highest bit first."""

    @property
    def size(self) -> int:
        """The number of bits of every payload."""
        return sum(self.widths)

    @property
    @abstractmethod
    def ratio(self) -> Fraction:
        """The worst ratio of the probabilities of a whole payload under two answers: the loss is its logarithm."""

    @property
    def worst_ratio(self) -> Fraction:
        """That of all reports which one draw from an answer is behind: of the report itself, unless it is stored."""
        return self.ratio

    @abstractmethod
    def draw(self, cell: int, words: Words) -> tuple[int, ...]:
        """Return the fields of a payload for an answer."""

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> Self:
        """Return the half with exactly these parameters."""
        known = {field.name for field in fields(cls)}
        for name in sorted(set(parameters) ^ known):
            rule = "required" if name in known else f"not allowed: the parameters are {', '.join(sorted(known))}"
            raise InvalidParameter(f"parameters.{name}", parameters.get(name), rule)
        return cls(**parameters)


def between(name: str, value: int, least: int, most: int) -> None:
    """Raise InvalidParameter unless an integer is within limits.

    >>> between("bits", 32, 1, 32)
    """
    if not least <= value <= most:
        raise InvalidParameter(name, value, f"from {least} to {most}")


def check_weight(name: str, weight: int, bits: int) -> None:
    """Raise InvalidParameter unless a weight and the rest of 2^bits are each at least 1."""
    between("bits", bits, 1, MOST_BITS)
    between(name, weight, 1, 2**bits - 1)


def check_ratio(name: str, weight: int, ratio: Fraction) -> None:
    """Raise InvalidParameter for a weight by which a payload does not speak for the answer that it was drawn for."""
    if ratio <= 1:
        raise InvalidParameter(
            name, weight, "large enough that a payload is likelier under its own answer than under another"
        )

"""What may be answered: the public domain of a question, and the cell of every answer.

Belongs here: kinds of domains, in the standard library alone. Each answer has a cell, whatever it is: an answer that
were dropped, or refused with an error that is seen, would tell something about itself. So what is outside of a domain
counts as its declared other category, or as the nearest end.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final

from dither.errors import InvalidParameter

MOST_NAMES: Final = 2**16
MOST_CELLS: Final = 2**40
_LONGEST: Final = 200
_FARTHEST: Final = 2**53 - 1


class Domain(ABC):
    """The answers to a question, each in one of at least two cells, numbered from 0."""

    kind: ClassVar[str]

    @property
    @abstractmethod
    def cells(self) -> int:
        """The number of cells."""

    @abstractmethod
    def cell(self, answer: Any) -> int:
        """Return the cell of any object at all; never raises."""

    @abstractmethod
    def name(self, cell: int) -> str:
        """Return what a cell is called in a table."""

    @abstractmethod
    def record(self) -> dict[str, Any]:
        """Return the domain as it is in a document, without its kind."""

    @classmethod
    @abstractmethod
    def of(cls, record: Mapping[str, Any]) -> Domain:
        """Return the domain of a record, or raise InvalidParameter."""


@dataclass(frozen=True)
class Categories(Domain):
    """One of several names; any other answer counts as the category ``other``.

    >>> fruits = Categories(("apple", "pear", "something else"), "something else")
    >>> fruits.cell("pear"), fruits.cell("plum"), fruits.cell(None)
    (1, 2, 2)
    """

    kind: ClassVar[str] = "categories"
    names: tuple[str, ...]
    other: str

    def __post_init__(self) -> None:
        """Refuse names that are no names, fewer than two, or repeated."""
        rule = f"a list of 2 to {MOST_NAMES} different names of 1 to {_LONGEST} characters"
        if type(self.names) is not tuple or not 2 <= len(self.names) <= MOST_NAMES or not all(map(_named, self.names)):
            raise InvalidParameter("domain.names", self.names, rule)
        if len(set(self.names)) < len(self.names):
            raise InvalidParameter("domain.names", self.names, rule)
        if self.other not in self.names:
            raise InvalidParameter(
                "domain.other", self.other, "one of the names: answers that are not listed count as it"
            )

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.names)}

    @property
    def cells(self) -> int:
        """The number of names."""
        return len(self.names)

    def cell(self, answer: Any) -> int:
        """Return the place of a name, or of ``other``."""
        return self._places.get(answer if type(answer) is str else self.other, self._places[self.other])

    def name(self, cell: int) -> str:
        """Return the name."""
        return self.names[cell]

    def record(self) -> dict[str, Any]:
        """Return names and other."""
        return {"names": [*self.names], "other": self.other}

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Categories:
        """Return the domain of a record."""
        names = _fields("domain", record, {"names", "other"})["names"]
        return cls(tuple(names) if type(names) is list else names, record["other"])


@dataclass(frozen=True)
class Range(Domain):
    """An integer from ``low`` to ``high``; a number outside counts as the nearest end, and anything else as ``low``.

    >>> ages = Range(0, 120)
    >>> ages.cell(35), ages.cell(300), ages.cell(float("nan")), ages.cell(17.9)
    (35, 120, 0, 17)
    """

    kind: ClassVar[str] = "range"
    low: int
    high: int

    def __post_init__(self) -> None:
        """Refuse ends that are no integers, a range of one number, and one of more than 2^40."""
        for name, end in (("low", self.low), ("high", self.high)):
            if type(end) is not int or abs(end) > _FARTHEST:
                raise InvalidParameter(f"domain.{name}", end, "an integer of at most 2^53 - 1")
        if not 2 <= self.cells <= MOST_CELLS:
            raise InvalidParameter("domain.high", self.high, "above low, by less than 2^40")

    @property
    def cells(self) -> int:
        """The number of integers."""
        return self.high - self.low + 1

    def cell(self, answer: Any) -> int:
        """Return the integer part of a number, counted from ``low``."""
        if type(answer) is float and math.isfinite(answer):
            answer = math.floor(answer)
        if type(answer) is float and answer == math.inf:
            return self.cells - 1
        return min(max(answer, self.low), self.high) - self.low if type(answer) is int else 0

    def name(self, cell: int) -> str:
        """Return the integer."""
        return str(self.low + cell)

    def record(self) -> dict[str, Any]:
        """Return both ends."""
        return {"low": self.low, "high": self.high}

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Range:
        """Return the domain of a record."""
        return cls(**_fields("domain", record, {"low", "high"}))


#: The kinds of domains by the word that a document has for them.
DOMAINS: Final[dict[str, type[Domain]]] = {kind.kind: kind for kind in (Categories, Range)}


def domain_of(record: Any) -> Domain:
    """Return the domain that a document describes."""
    kind = record.get("kind") if type(record) is dict else None
    if type(kind) is not str or kind not in DOMAINS:
        raise InvalidParameter("domain.kind", kind, f"one of {', '.join(DOMAINS)}")
    return DOMAINS[kind].of({word: entry for word, entry in record.items() if word != "kind"})


def _named(name: Any) -> bool:
    # Half of a surrogate pair has no UTF-8, and a control character no place in a table.
    return type(name) is str and 1 <= len(name) <= _LONGEST and name.isprintable()


def _fields(where: str, record: Mapping[str, Any], known: set[str]) -> dict[str, Any]:
    """Return a record of exactly these fields."""
    for field in sorted(set(record) ^ known):
        rule = "required" if field in known else f"not allowed: the fields are {', '.join(sorted(known))}"
        raise InvalidParameter(f"{where}.{field}", record.get(field), rule)
    return dict(record)

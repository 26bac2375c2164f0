"""What may be answered: the public domain of a question, and the cell of every answer.

Belongs here: kinds of domains, in the standard library alone. Each answer has a cell, whatever it is: an answer that
were dropped, or refused with an error that is seen, would tell something about itself. So what is outside of a domain
counts as its declared other category, or as the nearest end.
"""

from __future__ import annotations

import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar, Final

from dither.errors import InvalidParameter

MOST_NAMES: Final = 2**16
MOST_CELLS: Final = 2**40
MOST_COMBINATIONS: Final = 2**62
_LONGEST: Final = 200
_FARTHEST: Final = 2**53 - 1
#: Beyond every end of a domain.
_BEYOND: Final = 2**54


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
        return self._places.get(_text(answer, self.other), self._places[self.other])

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
        return min(max(_whole(answer), self.low), self.high) - self.low

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


@dataclass(frozen=True)
class Bins(Domain):
    """A number in one of ``count`` equal bins; one outside counts as the nearest, and anything else as the first.

    >>> gains = Bins(0, 1000, 100)
    >>> gains.cell(2999), gains.cell(3000.5), gains.cell(10**9), gains.cell(-1), gains.cell(None), gains.name(2)
    (2, 3, 99, 0, 0, '2000 to 2999')
    """

    kind: ClassVar[str] = "bins"
    low: int
    width: int
    count: int

    def __post_init__(self) -> None:
        """Refuse ends that are no integers, bins without width, and fewer than two or too many."""
        for name, part in (("low", self.low), ("width", self.width), ("count", self.count)):
            if type(part) is not int or abs(part) > _FARTHEST:
                raise InvalidParameter(f"domain.{name}", part, "an integer of at most 2^53 - 1")
        if not 2 <= self.count <= MOST_CELLS:
            raise InvalidParameter("domain.count", self.count, "from 2 to 2^40")
        if self.width < 1 or self.low + self.width * self.count > _FARTHEST:
            raise InvalidParameter("domain.width", self.width, "at least 1, with a last bin below 2^53")

    @property
    def cells(self) -> int:
        """The number of bins."""
        return self.count

    def cell(self, answer: Any) -> int:
        """Return the bin of a number."""
        return min(max((_whole(answer) - self.low) // self.width, 0), self.count - 1)

    def name(self, cell: int) -> str:
        """Return the first and the last integer of a bin."""
        first = self.low + self.width * cell
        return str(first) if self.width == 1 else f"{first} to {first + self.width - 1}"

    def record(self) -> dict[str, Any]:
        """Return the first end, the width and the number of bins."""
        return {"low": self.low, "width": self.width, "count": self.count}

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Bins:
        """Return the domain of a record."""
        return cls(**_fields("domain", record, {"low", "width", "count"}))


@dataclass(frozen=True)
class Attributes(Domain):
    """Several answers of one person, by name; one that is missing counts as an object outside of its domain.

    The first attribute changes fastest in the number of a combination.

    >>> person = Attributes((("age", Range(0, 2)), ("cycles", Categories(("yes", "no"), "no"))))
    >>> person.cell({"age": 1, "cycles": "yes"}), person.cell({"age": 1}), person.cell(None), person.name(4)
    (1, 4, 3, 'age 1, cycles no')
    """

    kind: ClassVar[str] = "attributes"
    parts: tuple[tuple[str, Domain], ...]

    def __post_init__(self) -> None:
        """Refuse names that are no names or repeated, parts of parts, and too many combinations."""
        names = [name for name, _ in self.parts]
        if not 1 <= len(names) <= 62 or len(set(names)) < len(names) or not all(map(_named, names)):
            rule = f"1 to 62 attributes with different names of 1 to {_LONGEST} characters"
            raise InvalidParameter("domain.attributes", names, rule)
        if any(isinstance(part, Attributes) for _, part in self.parts):
            raise InvalidParameter("domain.attributes", "attributes of attributes", "one list of attributes")
        if self.cells > MOST_COMBINATIONS:
            raise InvalidParameter("domain.attributes", self.cells, "at most 2^62 combinations of values")

    @property
    def cells(self) -> int:
        """The number of combinations."""
        return math.prod(part.cells for _, part in self.parts)

    def cell(self, answer: Any) -> int:
        """Return the number of a combination; an object that is no dictionary has no attribute."""
        cell = 0
        for name, part in reversed(self.parts):
            cell = cell * part.cells + part.cell(_entry(answer, name))
        return cell

    def name(self, cell: int) -> str:
        """Return all names and answers."""
        found = []
        for name, part in self.parts:
            cell, own = divmod(cell, part.cells)
            found.append(f"{name} {part.name(own)}")
        return ", ".join(found)

    def record(self) -> dict[str, Any]:
        """Return names and domains, in their order."""
        return {"attributes": [{"name": name, "kind": part.kind, **part.record()} for name, part in self.parts]}

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Attributes:
        """Return the domain of a record."""
        listed = _fields("domain", record, {"attributes"})["attributes"]
        if type(listed) is not list or not all(type(part) is dict and "name" in part for part in listed):
            raise InvalidParameter("domain.attributes", listed, "a list of domains, each with a name")
        parts = ((part["name"], {word: entry for word, entry in part.items() if word != "name"}) for part in listed)
        return cls(tuple((name, domain_of(part)) for name, part in parts))


#: The kinds of domains by the word that a document has for them.
DOMAINS: Final[dict[str, type[Domain]]] = {kind.kind: kind for kind in (Categories, Range, Bins, Attributes)}


def domain_of(record: Any) -> Domain:
    """Return the domain that a document describes."""
    kind = record.get("kind") if type(record) is dict else None
    if type(kind) is not str or kind not in DOMAINS:
        raise InvalidParameter("domain.kind", kind, f"one of {', '.join(DOMAINS)}")
    return DOMAINS[kind].of({word: entry for word, entry in record.items() if word != "kind"})


def _whole(answer: Any) -> int:
    """Return the integer part of a number of any class, at most 2^54 from 0; of anything else, one below every domain.

    A truth value is no number here, as in a document. What a class does with its numbers may fail, and must not show.
    """
    try:
        if isinstance(answer, bool):
            return -_BEYOND
        try:
            exact = int(operator.index(answer))
        except TypeError:
            exact = _floor(answer) if isinstance(answer, Real | Decimal) else -_BEYOND
    except Exception:
        # It runs code of the answer.
        return -_BEYOND
    return min(max(exact, -_BEYOND), _BEYOND)


def _floor(number: Any) -> int:
    """Return the integer part of a real number; one beyond all domains is not written out, however large it is."""
    try:
        near = float(number)
    except OverflowError:
        near = math.inf if number > 0 else -math.inf
    if math.isnan(near):
        return -_BEYOND
    if abs(near) >= _BEYOND:
        return _BEYOND if near > 0 else -_BEYOND
    below: int = math.floor(number)
    return below


def _text(answer: Any, other: str) -> str:
    """Return the characters of a string of any class, and another text for anything else."""
    try:
        # The characters, whatever the class says about equality.
        return str.__str__(answer) if isinstance(answer, str) else other
    except Exception:
        # Isinstance asks the class of the answer.
        return other


def _entry(answer: Any, name: str) -> Any:
    """Return the entry of a dictionary, and None for anything else."""
    try:
        return dict.get(answer, name) if isinstance(answer, dict) else None
    except Exception:
        # Keys may have equality of their own.
        return None


def _named(name: Any) -> bool:
    # Half of a surrogate pair has no UTF-8, and a control character no place in a table.
    return type(name) is str and 1 <= len(name) <= _LONGEST and name.isprintable()


def _fields(where: str, record: Mapping[str, Any], known: set[str]) -> dict[str, Any]:
    """Return a record of exactly these fields."""
    for field in sorted(set(record) ^ known):
        rule = "required" if field in known else f"not allowed: the fields are {', '.join(sorted(known))}"
        raise InvalidParameter(f"{where}.{field}", record.get(field), rule)
    return dict(record)

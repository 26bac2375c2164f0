"""Scalar expressions: a small closed tree that every engine computes the same way and that never raises.

Every expression is *total*: for any content of a cell it has a value, and that value is NULL where ordinary SQL would
raise (a division by zero, an overflow of 64 bits, a text that is not a number, a date out of range, a NaN or infinite
real). Reals are IEEE doubles: what is too small for one is 0, and an integer that meets a real becomes the nearest
double first, in arithmetic as in comparisons. Where an order is needed, NULL comes before every value. A value depends
on one row alone. Nothing here knows SQL: ``publish.queries`` reads it, each engine prints it, and ``reference`` says in
plain Python what is meant.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import Final

from dither.data.patterns import LONGEST_PATTERN
from dither.errors import InvalidParameter
from dither.exact import typed

Value = bool | int | float | str | datetime.date | datetime.datetime | None
LARGEST_INTEGER: Final = 2**63 - 1
#: What no text of an engine can hold: U+0000, and halves of surrogate pairs.
_UNFIT: Final = re.compile("[\x00\ud800-\udfff]")


class Kind(Enum):
    """What a cell may hold, apart from NULL."""

    BOOLEAN = "boolean"
    INTEGER = "integer"  # 64 bits
    REAL = "real"  # IEEE double; NaN and infinities are NULL
    TEXT = "text"  # compared by code points
    DATE = "date"  # years 1 to 9999
    TIMESTAMP = "timestamp"  # without a zone, in microseconds

    @property
    def is_number(self) -> bool:
        """Whether arithmetic applies."""
        return self in (Kind.INTEGER, Kind.REAL)


class Expression:
    """Base of the tree. ``kind`` needs the kinds of the columns: see ``kind_of``."""

    def children(self) -> tuple[Expression, ...]:
        """Return the expressions directly below."""
        return ()

    @cached_property
    def size(self) -> int:
        """The number of nodes of the tree, each counted wherever it occurs."""
        return 1 + sum(child.size for child in self.children())


@dataclass(frozen=True)
@typed
class Name(Expression):
    """A column of the relation below."""

    name: str


def as_stored(value: Value, kind: Kind) -> Value:
    """Return a value as an engine holds it: an integer that stands for a real is a double there.

    >>> as_stored(2**53 + 1, Kind.REAL) == as_stored(2**53, Kind.REAL), as_stored(2**53 + 1, Kind.INTEGER) == 2**53
    (True, False)
    """
    return float(value) if kind is Kind.REAL and isinstance(value, int) else value


@dataclass(frozen=True)
@typed
class Literal(Expression):
    """A public constant; ``kind`` is the kind of a NULL."""

    value: Value
    kind: Kind

    def __post_init__(self) -> None:
        """Refuse a value that is not of the kind."""
        allowed: dict[Kind, type | tuple[type, ...]] = {
            Kind.BOOLEAN: bool,
            Kind.INTEGER: int,
            Kind.REAL: (int, float),
            Kind.TEXT: str,
            Kind.DATE: datetime.date,
            Kind.TIMESTAMP: datetime.datetime,
        }
        value = self.value
        fits = value is None or (
            isinstance(value, allowed[self.kind])
            and (self.kind is Kind.BOOLEAN) == isinstance(value, bool)
            and not (self.kind is Kind.DATE and isinstance(value, datetime.datetime))
            and not (isinstance(value, float) and not math.isfinite(value))
            and not (isinstance(value, int) and not -LARGEST_INTEGER - 1 <= value <= LARGEST_INTEGER)
            and not (isinstance(value, str) and _UNFIT.search(value))
            and not (isinstance(value, datetime.datetime) and value.tzinfo is not None)
        )
        if not fits:
            raise InvalidParameter("value", value, f"of the kind {self.kind.value}, or NULL")


@dataclass(frozen=True)
@typed
class Call(Expression):
    """One of the ``FUNCTIONS``, applied to arguments."""

    function: str
    arguments: tuple[Expression, ...]

    def __post_init__(self) -> None:
        """Refuse a name that is not a function, and a wrong number of arguments."""
        signature = FUNCTIONS.get(self.function)
        if signature is None:
            raise InvalidParameter("function", self.function, f"one of {', '.join(sorted(FUNCTIONS))}")
        if not signature.least <= len(self.arguments) <= signature.most:
            wanted = f"{signature.least}" if signature.least == signature.most else f"{signature.least} or more"
            raise InvalidParameter("arguments", len(self.arguments), f"{wanted} for {self.function}")
        for place, rule in _CONSTANTS.get(self.function, {}).items():
            constant = self.arguments[place]
            value = constant.value if isinstance(constant, Literal) else None
            if value is None or not _RULES[rule](value):
                raise InvalidParameter(f"argument {place + 1} of {self.function}", value, rule)

    def children(self) -> tuple[Expression, ...]:
        """Return the arguments."""
        return self.arguments


@dataclass(frozen=True)
@typed
class Case(Expression):
    """The value of the first branch whose condition is true, else ``otherwise``."""

    branches: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression

    def children(self) -> tuple[Expression, ...]:
        """Return conditions and values, in order."""
        return (*(part for branch in self.branches for part in branch), self.otherwise)


@dataclass(frozen=True)
@typed
class Cast(Expression):
    """The value as another kind, NULL where it cannot be.

    Text to real: an optional sign, decimal digits with at most one point before, among or after them, an optional
    exponent (``e`` or ``E``, an optional sign, digits). Text to integer: an optional sign and digits, with an optional
    fraction of zeros alone (``12``, ``-012``, ``12.0``). Blanks (U+0020) around a number are allowed. Text to date:
    YYYY-MM-DD and nothing else; to timestamp: the same with an optional time HH:MM:SS after a blank or T. Real to
    integer: towards minus infinity (``floor``). Numbers to text: integers only, without a sign of plus or leading
    zeros. Boolean to integer: 0 and 1. Timestamp to date: its day; date to timestamp: its midnight.
    """

    value: Expression
    kind: Kind

    def children(self) -> tuple[Expression, ...]:
        """Return the value."""
        return (self.value,)


@dataclass(frozen=True)
@typed
class OneOf(Expression):
    """Whether the value is one of some constants; NULL if the value is NULL. A constant NULL equals nothing."""

    value: Expression
    options: tuple[Literal, ...]

    def children(self) -> tuple[Expression, ...]:
        """Return the value; options are constants."""
        return (self.value,)

    @cached_property
    def size(self) -> int:
        """The number of nodes of the tree, options included."""
        return 1 + self.value.size + len(self.options)


@dataclass(frozen=True)
@typed
class Grid(Expression):
    """The number of whole steps of ``2^-exponent`` from ``origin`` to the value clamped to [lower, upper].

    ``floor((min(max(value, lower), upper) - origin) * 2^exponent)`` as an integer, NULL if the value is NULL. Every
    step but the last is one of doubles, in this order, an integer value becoming the nearest double first. The result
    lies in [``least``, ``most``] for every value, by construction: engines clamp the integer as well, so that no
    rounding of a double can leave the range. ``exponent`` may be negative.
    """

    value: Expression
    lower: float
    upper: float
    origin: float
    exponent: int

    def __post_init__(self) -> None:
        """Refuse a range that is empty or too long for 62 bits."""
        if not (math.isfinite(self.lower) and math.isfinite(self.upper) and self.lower <= self.upper):
            raise InvalidParameter("lower, upper", (self.lower, self.upper), "finite, the first at most the second")
        if not (math.isfinite(self.lower - self.origin) and math.isfinite(self.upper - self.origin)):
            raise InvalidParameter("origin", self.origin, "finite, and so must be the bounds less the origin")
        if not -1000 <= self.exponent <= 1000 or max(abs(self.least), abs(self.most)) > 2**62:
            raise InvalidParameter("exponent", self.exponent, "small enough for a range of at most 2^62 steps")

    @cached_property
    def least(self) -> int:
        """The smallest number of steps."""
        return math.floor((Fraction(self.lower) - Fraction(self.origin)) * Fraction(2) ** self.exponent)

    @cached_property
    def most(self) -> int:
        """The largest number of steps."""
        return math.floor((Fraction(self.upper) - Fraction(self.origin)) * Fraction(2) ** self.exponent)

    def children(self) -> tuple[Expression, ...]:
        """Return the value."""
        return (self.value,)


@dataclass(frozen=True)
@typed
class IntervalEnd(Expression):
    """The lower or upper end of the interval of a released number. Only an output of a query is one: no row has it."""

    value: Expression
    is_upper: bool

    def children(self) -> tuple[Expression, ...]:
        """Return the value."""
        return (self.value,)


@dataclass(frozen=True)
class Signature:
    """The number of arguments that a function takes, and the kind of its value."""

    least: int
    most: int
    result: Kind | str  # a kind; "number": real if any argument is, else integer; "same": the kind of the arguments
    meaning: str


_MANY = 256
_UNITS = ("year", "quarter", "month", "week", "day")
_TIMES = ("hour", "minute", "second")
#: What must be a constant, because an engine would raise on, or disagree about, some values of it.
_RULES: Final[Mapping[str, Callable[[Value], bool]]] = MappingProxyType(
    {
        "a constant text": lambda value: isinstance(value, str),
        "a constant text, not empty": lambda value: isinstance(value, str) and value != "",
        f"a constant pattern of at most {LONGEST_PATTERN} characters, without a last backslash that escapes nothing": (
            lambda value: (
                isinstance(value, str)
                and len(value) <= LONGEST_PATTERN
                and (len(value) - len(value.rstrip("\\"))) % 2 == 0
            )
        ),
        "a constant integer from 1": lambda value: isinstance(value, int) and 1 <= value <= 2**31 - 1,
        "a constant integer from 0": lambda value: isinstance(value, int) and 0 <= value <= 2**31 - 1,
        f"one of {', '.join(_UNITS)}": lambda value: value in _UNITS,
        f"one of {', '.join(_TIMES)}": lambda value: value in _TIMES,
    }
)
_TEXT, _NOT_EMPTY, _PATTERN, _FROM_ONE, _FROM_ZERO, _UNIT, _TIME = _RULES
_CONSTANTS: Final[Mapping[str, Mapping[int, str]]] = MappingProxyType(
    {
        "substring": {1: _FROM_ONE, 2: _FROM_ZERO},
        "replace": {1: _NOT_EMPTY, 2: _TEXT},
        "starts_with": {1: _TEXT},
        "ends_with": {1: _TEXT},
        "contains": {1: _TEXT},
        "like": {1: _PATTERN},
        "truncate_date": {1: _UNIT},
        "truncate_time": {1: _TIME},
        "right": {1: _FROM_ZERO},
        "position": {1: _NOT_EMPTY},
        "split_part": {1: _NOT_EMPTY, 2: _FROM_ONE},
    }
)
#: The allow-list. An argument of NULL gives NULL except where the meaning says otherwise.
FUNCTIONS: Final[Mapping[str, Signature]] = MappingProxyType(
    {
        # Arithmetic: integers stay integers (NULL beyond 64 bits), with a real everything is real.
        "add": Signature(2, 2, "number", "a + b"),
        "subtract": Signature(2, 2, "number", "a - b"),
        "multiply": Signature(2, 2, "number", "a * b"),
        "divide": Signature(2, 2, Kind.REAL, "a / b as a real, NULL for b = 0"),
        "quotient": Signature(2, 2, Kind.INTEGER, "a divided by b, towards zero, integers; NULL for b = 0"),
        "remainder": Signature(2, 2, Kind.INTEGER, "a - b * quotient(a, b), integers; NULL for b = 0, 0 for b = -1"),
        "negate": Signature(1, 1, "number", "-a"),
        "absolute": Signature(1, 1, "number", "|a|"),
        "sign": Signature(1, 1, Kind.INTEGER, "-1, 0 or 1"),
        "floor": Signature(1, 1, Kind.INTEGER, "the largest integer at most a"),
        "ceiling": Signature(1, 1, Kind.INTEGER, "the smallest integer at least a"),
        "shift_right": Signature(2, 2, Kind.INTEGER, "floor(a / 2^b), integers; NULL unless b is from 0 to 62"),
        "bit_and": Signature(2, 2, Kind.INTEGER, "the bits that both integers have, of 64 with a sign"),
        "bit_or": Signature(2, 2, Kind.INTEGER, "the bits that either integer has"),
        "bit_xor": Signature(2, 2, Kind.INTEGER, "the bits that one of two integers has"),
        "square_root": Signature(1, 1, Kind.REAL, "NULL below 0"),
        "exponential": Signature(1, 1, Kind.REAL, "e^a"),
        "logarithm": Signature(1, 1, Kind.REAL, "the natural logarithm, NULL at or below 0"),
        "power": Signature(2, 2, Kind.REAL, "a^b, NULL where it is no real number"),
        "least": Signature(1, _MANY, "same", "the smallest argument that is not NULL"),
        "greatest": Signature(1, _MANY, "same", "the largest argument that is not NULL"),
        # Comparison: numbers with numbers, otherwise equal kinds; texts by code points.
        "equal": Signature(2, 2, Kind.BOOLEAN, "a = b"),
        "unequal": Signature(2, 2, Kind.BOOLEAN, "a <> b"),
        "less": Signature(2, 2, Kind.BOOLEAN, "a < b"),
        "at_most": Signature(2, 2, Kind.BOOLEAN, "a <= b"),
        "more": Signature(2, 2, Kind.BOOLEAN, "a > b"),
        "at_least": Signature(2, 2, Kind.BOOLEAN, "a >= b"),
        "is_null": Signature(1, 1, Kind.BOOLEAN, "whether a is NULL; never NULL itself"),
        # Logic in three values, as in SQL.
        "and": Signature(2, _MANY, Kind.BOOLEAN, "false if any is false, else NULL if any is NULL"),
        "or": Signature(2, _MANY, Kind.BOOLEAN, "true if any is true, else NULL if any is NULL"),
        "not": Signature(1, 1, Kind.BOOLEAN, "the contrary"),
        "coalesce": Signature(1, _MANY, "same", "the first argument that is not NULL"),
        "null_if": Signature(2, 2, "same", "a, or NULL where a = b"),
        # Text.
        "lower": Signature(1, 1, Kind.TEXT, "the 26 Latin letters in lower case, all else as it is"),
        "upper": Signature(1, 1, Kind.TEXT, "the 26 Latin letters in upper case, all else as it is"),
        "trim": Signature(1, 1, Kind.TEXT, "without blanks (U+0020) at both ends"),
        "trim_left": Signature(1, 1, Kind.TEXT, "without blanks (U+0020) at its beginning"),
        "trim_right": Signature(1, 1, Kind.TEXT, "without blanks (U+0020) at its end"),
        "length": Signature(1, 1, Kind.INTEGER, "the number of code points"),
        "concatenate": Signature(2, _MANY, Kind.TEXT, "one after the other"),
        "substring": Signature(3, 3, Kind.TEXT, "at most c >= 0 code points from position b >= 1 (constants)"),
        "right": Signature(2, 2, Kind.TEXT, "the last b >= 0 code points (a constant), all of a shorter text"),
        "position": Signature(
            2, 2, Kind.INTEGER, "where b (a constant, not empty) first begins in a, from 1; 0 if not"
        ),
        "split_part": Signature(3, 3, Kind.TEXT, "part c >= 1 of a between b's (constants); empty if there are fewer"),
        "replace": Signature(3, 3, Kind.TEXT, "every b (a constant, not empty) becomes c (a constant)"),
        "starts_with": Signature(2, 2, Kind.BOOLEAN, "whether a begins with b (a constant)"),
        "ends_with": Signature(2, 2, Kind.BOOLEAN, "whether a ends with b (a constant)"),
        "contains": Signature(2, 2, Kind.BOOLEAN, "whether b (a constant) is within a"),
        "like": Signature(
            2, 2, Kind.BOOLEAN, "SQL's pattern b (a constant): % for any text, _ for a code point, \\ escapes"
        ),
        # Dates and timestamps.
        "year": Signature(1, 1, Kind.INTEGER, "the year"),
        "quarter": Signature(1, 1, Kind.INTEGER, "1 to 4"),
        "month": Signature(1, 1, Kind.INTEGER, "1 to 12"),
        "day": Signature(1, 1, Kind.INTEGER, "1 to 31"),
        "weekday": Signature(1, 1, Kind.INTEGER, "1 for Monday to 7 for Sunday"),
        "week": Signature(1, 1, Kind.INTEGER, "1 to 53, of ISO 8601: weeks begin on Monday, the first has a Thursday"),
        "day_of_year": Signature(1, 1, Kind.INTEGER, "1 to 366"),
        "hour": Signature(1, 1, Kind.INTEGER, "0 to 23, of a timestamp"),
        "minute": Signature(1, 1, Kind.INTEGER, "0 to 59, of a timestamp"),
        "second": Signature(1, 1, Kind.INTEGER, "0 to 59, of a timestamp"),
        "microseconds": Signature(1, 1, Kind.INTEGER, "microseconds from 1970-01-01 00:00:00 to a timestamp"),
        "truncate_time": Signature(2, 2, Kind.TIMESTAMP, "the beginning of a's 'hour', 'minute', 'second'"),
        "truncate_date": Signature(2, 2, Kind.DATE, "the first day of a's 'year', 'quarter', 'month', 'week', 'day'"),
        "days_between": Signature(2, 2, Kind.INTEGER, "days from a to b, both dates"),
        "add_days": Signature(2, 2, Kind.DATE, "the date b days after the date a"),
        "add_months": Signature(2, 2, "same", "b months after the date or timestamp a; at most the month's last day"),
        "add_seconds": Signature(2, 2, Kind.TIMESTAMP, "the timestamp b seconds after the timestamp a"),
    }
)


def walk(expression: Expression) -> Iterator[Expression]:
    """Yield the expression and everything below it."""
    yield expression
    for child in expression.children():
        yield from walk(child)


def names_in(expression: Expression) -> frozenset[str]:
    """Return the columns that an expression reads."""
    return frozenset(node.name for node in walk(expression) if isinstance(node, Name))


def kind_of(expression: Expression, columns: Mapping[str, Kind]) -> Kind:
    """Return the kind of the expression over columns of those kinds, or raise InvalidParameter if it makes no sense.

    >>> kind_of(Call("add", (Name("age"), Literal(1, Kind.INTEGER))), {"age": Kind.INTEGER})
    <Kind.INTEGER: 'integer'>
    """
    if isinstance(expression, Name):
        if expression.name not in columns:
            raise InvalidParameter("column", expression.name, f"one of {', '.join(sorted(columns)) or 'none'}")
        return columns[expression.name]
    return kind_over(expression, [kind_of(child, columns) for child in expression.children()])


def kind_over(expression: Expression, below: list[Kind]) -> Kind:
    """Return the kind of an expression that is not a name, if its parts have the kinds ``below``.

    >>> kind_over(Call("length", (Name("note"),)), [Kind.TEXT])
    <Kind.INTEGER: 'integer'>
    """
    if isinstance(expression, Literal):
        return expression.kind
    if isinstance(expression, Cast):
        return _castable(below[0], expression.kind)
    if isinstance(expression, Grid | IntervalEnd):
        _require("value", below[0], below[0].is_number, "a number")
        return Kind.INTEGER if isinstance(expression, Grid) else below[0]
    if isinstance(expression, OneOf):
        for option in expression.options:
            _comparable("in", below[0], option.kind)
        return Kind.BOOLEAN
    if isinstance(expression, Case):
        for condition in below[:-1:2]:
            _require("condition", condition, condition is Kind.BOOLEAN, "true or false")
        return _common("case", [*below[1:-1:2], below[-1]])
    assert isinstance(expression, Call)  # noqa: S101 - the tree is closed
    return _kind_of_call(expression.function, below)


_TEXT_TESTS = ("starts_with", "ends_with", "contains", "like")
_PIECES = ("substring", "right", "split_part")
_TEXT_FUNCTIONS = frozenset(
    (
        *("lower", "upper", "trim", "trim_left", "trim_right", "length", "concatenate", "replace", "position"),
        *(*_PIECES, *_TEXT_TESTS),
    )
)
_DATE_FUNCTIONS = frozenset(
    (
        *("year", "quarter", "month", "day", "weekday", "week", "day_of_year"),
        *("truncate_date", "days_between", "add_days", "add_months"),
    )
)
_TIME_FUNCTIONS = {"truncate_time": Kind.TEXT, "add_seconds": Kind.INTEGER}
_WHOLE_FUNCTIONS = frozenset(("quotient", "remainder", "shift_right", "bit_and", "bit_or", "bit_xor"))


def _kind_of_call(function: str, below: list[Kind]) -> Kind:
    result = FUNCTIONS[function].result
    if function in ("equal", "unequal", "less", "at_most", "more", "at_least", "null_if"):
        _comparable(function, below[0], below[1])
        return below[0] if function == "null_if" else Kind.BOOLEAN
    if function in ("and", "or", "not"):
        for kind in below:
            _require(function, kind, kind is Kind.BOOLEAN, "applied to true or false values")
    elif function in ("least", "greatest", "coalesce"):
        return _common(function, below)
    elif function in _TEXT_FUNCTIONS:
        places = {"split_part": 2}.get(function, 1) if function in _PIECES else len(below)
        for kind in below[:places]:
            _require(function, kind, kind is Kind.TEXT, "applied to text")
        for kind in below[places:]:
            _require(function, kind, kind is Kind.INTEGER, "applied to integer positions")
    elif function in _DATE_FUNCTIONS:
        wanted = (Kind.DATE,) if function in ("days_between", "add_days") else (Kind.DATE, Kind.TIMESTAMP)
        _require(function, below[0], below[0] in wanted, f"applied to a {' or '.join(kind.value for kind in wanted)}")
        if len(below) > 1:
            second = {"truncate_date": Kind.TEXT, "days_between": Kind.DATE}.get(function, Kind.INTEGER)
            _require(function, below[1], below[1] is second, f"applied to a {second.value} as second argument")
    elif function in ("hour", "minute", "second", "microseconds") or function in _TIME_FUNCTIONS:
        _require(function, below[0], below[0] is Kind.TIMESTAMP, "applied to a timestamp")
        for kind in below[1:]:
            wanted_kind = _TIME_FUNCTIONS[function]
            _require(function, kind, kind is wanted_kind, f"applied to a {wanted_kind.value} as second argument")
    elif function in _WHOLE_FUNCTIONS:
        for kind in below:
            _require(function, kind, kind is Kind.INTEGER, "applied to integers")
    elif function != "is_null":
        for kind in below:
            _require(function, kind, kind.is_number, "applied to numbers")
    if result == "number":
        return Kind.REAL if Kind.REAL in below else Kind.INTEGER
    if isinstance(result, Kind):
        return result
    return below[0]


def _castable(given: Kind, wanted: Kind) -> Kind:
    free = {
        Kind.BOOLEAN: (Kind.INTEGER,),
        Kind.INTEGER: (Kind.REAL, Kind.TEXT),
        Kind.REAL: (Kind.INTEGER,),
        Kind.TEXT: (Kind.INTEGER, Kind.REAL, Kind.DATE, Kind.TIMESTAMP),
        Kind.DATE: (Kind.TIMESTAMP,),
        Kind.TIMESTAMP: (Kind.DATE,),
    }
    possible = wanted is given or wanted in free[given]
    _require("cast", wanted, possible, f"something that a {given.value} can become")
    return wanted


def _comparable(function: str, first: Kind, second: Kind) -> None:
    same = first is second or (first.is_number and second.is_number)
    _require(function, second, same, f"applied to two values of one kind, the first is a {first.value}")


def _common(function: str, kinds: list[Kind]) -> Kind:
    for kind in kinds:
        _comparable(function, kinds[0], kind)
    return Kind.REAL if Kind.REAL in kinds else kinds[0]


def _require(parameter: str, kind: Kind, is_allowed: bool, rule: str) -> None:
    if not is_allowed:
        raise InvalidParameter(parameter, kind.value, rule)


def as_real(value: Value) -> float:
    """Return a declared bound as a double.

    >>> as_real(3)
    3.0
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidParameter("bound", value, "a finite number")
    return float(value)

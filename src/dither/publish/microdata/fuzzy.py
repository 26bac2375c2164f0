"""Fuzzy encodings: from declared columns to codes by public linguistic terms, rule tables and steps, and back.

A membership function says how well a term such as "young" fits a number. The code of a number is the term that fits
best. Terms, bounds and rules are declared before any data is seen, so an encoding maps each row by itself: it moves no
two tables farther apart, and it costs nothing. It protects nothing either: a code is a spelling, not noise.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.estimate.public_randomness import public_generator
from dither.lift.attributes import Attributes

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

SHAPES: Final = ("triangular", "trapezoidal", "gaussian")
#: Points of the range at which is looked who wins where.
_FINE: Final = 2**12
_MOST_CODES: Final = 2**16


class Membership(ABC):
    """A term's fit to each number: between 0 and 1, and 1 at its centre."""

    @property
    @abstractmethod
    def centre(self) -> float:
        """Where the term fits fully."""

    @abstractmethod
    def of(self, numbers: Floats) -> Floats:
        """Return the membership of finite numbers."""


@dataclass(frozen=True)
class Trapezoidal(Membership):
    """1 from ``left`` to ``right``, falling to 0 at ``start`` and ``end``.

    >>> Trapezoidal(0, 2, 4, 8).of(np.array([1.0, 3.0, 6.0, 9.0])).tolist()
    [0.5, 1.0, 0.5, 0.0]

    """

    start: float
    left: float
    right: float
    end: float

    def __post_init__(self) -> None:
        points = (self.start, self.left, self.right, self.end)
        if not all(map(_is_finite, points)) or list(points) != sorted(points):
            raise InvalidParameter("points", points, "finite numbers that do not decrease")

    @property
    def centre(self) -> float:
        """The middle of the range that fits fully."""
        return self.left + (self.right - self.left) / 2

    def of(self, numbers: Floats) -> Floats:
        """Return the membership of finite numbers."""
        rising = _ramp(numbers, self.start, self.left)
        falling = 1 - _ramp(numbers, self.right, self.end)
        inside = (numbers >= self.left) & (numbers <= self.right)
        return np.where(inside, 1.0, np.minimum(rising, falling))


class Triangular(Trapezoidal):
    """1 at ``peak``, falling to 0 at ``start`` and ``end``.

    >>> Triangular(0, 2, 4).of(np.array([1.0, 2.0, 3.5])).tolist()
    [0.5, 1.0, 0.25]

    """

    def __init__(self, start: float, peak: float, end: float) -> None:
        super().__init__(start, peak, peak, end)


@dataclass(frozen=True)
class GaussianSet(Membership):
    """e^(-(x - middle)^2 / (2 width^2)): equation 3.4 of the thesis, with a public middle and width.

    >>> round(float(GaussianSet(5, 2).of(np.array([7.0]))[0]), 4)
    0.6065

    """

    middle: float
    width: float

    def __post_init__(self) -> None:
        if not (_is_finite(self.middle) and _is_finite(self.width) and self.width > 0):
            raise InvalidParameter("width", (self.middle, self.width), "a finite middle and a finite width above 0")

    @property
    def centre(self) -> float:
        """The middle."""
        return self.middle

    def of(self, numbers: Floats) -> Floats:
        """Return the membership of finite numbers."""
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(np.exp(-(((numbers - self.middle) / self.width) ** 2) / 2))


class Encoding(ABC):
    """How one column is encoded, by public facts alone, and the meaning of a code."""

    name: str

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of codes."""

    @abstractmethod
    def codes(self, values: Any) -> Codes:
        """Return each value's code; content never raises."""

    @abstractmethod
    def decode(self, codes: Any) -> NDArray[Any]:
        """Return the meaning of each code."""


@dataclass(frozen=True)
class LinguisticVariable(Encoding):
    """A numeric column expressed in terms such as "young" and "old".

    Numbers are held within public bounds. The code of a number is the first of the terms that fit it best; where none
    fits at all, the term with the nearest centre. What is not a number has the last code.

    Args:
        name: of the column.
        lower: the public lower bound.
        upper: the public upper bound.
        terms: labels with their membership functions.

    >>> age = LinguisticVariable.evenly("age", 0, 100, ["young", "middle", "old"])
    >>> age.codes([3, 49.0, 1e9, None]).tolist(), age.size, age.decode([0, 1]).tolist()
    ([0, 1, 2, 3], 4, [0.0, 50.0])

    """

    name: str
    lower: float
    upper: float
    terms: tuple[tuple[str, Membership], ...]

    def __post_init__(self) -> None:
        if not (_is_finite(self.lower) and _is_finite(self.upper) and self.lower < self.upper):
            raise InvalidParameter(
                "lower", (self.lower, self.upper), "finite bounds, the lower one below the upper one"
            )
        labels = [label for label, _ in self.terms]
        if not labels or len(set(labels)) != len(labels) or not all(isinstance(label, str) for label in labels):
            raise InvalidParameter("terms", labels, "at least one term, with different labels")
        if not all(isinstance(shape, Membership) for _, shape in self.terms):
            raise InvalidParameter("terms", self.terms, "labels with membership functions")

    @classmethod
    def evenly(
        cls, name: str, lower: float, upper: float, labels: Sequence[str], shape: str = "triangular"
    ) -> LinguisticVariable:
        """Return terms of one shape whose centres are spread evenly from one bound to the other."""
        if isinstance(labels, str) or len(labels) < 2 or shape not in SHAPES:
            raise InvalidParameter("shape", shape, f"one of {', '.join(SHAPES)}, for at least two labels")
        gap = (upper - lower) / (len(labels) - 1)
        shapes: dict[str, Any] = {
            "triangular": lambda middle: Triangular(middle - gap, middle, middle + gap),
            "trapezoidal": lambda middle: Trapezoidal(
                middle - 3 * gap / 4, middle - gap / 4, middle + gap / 4, middle + 3 * gap / 4
            ),
            "gaussian": lambda middle: GaussianSet(middle, gap / 2),
        }
        terms = tuple((label, shapes[shape](lower + number * gap)) for number, label in enumerate(labels))
        return cls(name, lower, upper, terms)

    @property
    def size(self) -> int:
        """The terms, and one code for values that are not numbers."""
        return len(self.terms) + 1

    def membership(self, values: Any) -> Floats:
        """Return each term's fit to each value, a column per term; nothing fits a value that is not a number."""
        numbers = numbers_of(values)
        held = np.clip(np.nan_to_num(numbers, nan=self.lower), self.lower, self.upper)
        found = np.stack([shape.of(held) for _, shape in self.terms], axis=1)
        found[np.isnan(numbers)] = 0.0
        return found

    def codes(self, values: Any) -> Codes:
        """Return the number of the term that fits best."""
        numbers = numbers_of(values)
        fits = self.membership(numbers)
        held = np.clip(np.nan_to_num(numbers, nan=self.lower), self.lower, self.upper)
        nearest = np.abs(held[:, None] - self._centres[None, :]).argmin(axis=1)
        best = np.where(fits.max(axis=1) > 0, fits.argmax(axis=1), nearest)
        return np.where(np.isnan(numbers), len(self.terms), best).astype(np.int64)

    @cached_property
    def _centres(self) -> Floats:
        return np.clip(np.array([shape.centre for _, shape in self.terms], dtype=np.float64), self.lower, self.upper)

    def decode(self, codes: Any) -> Floats:
        """Return the centre of each term; NaN for values that are not numbers."""
        return np.append(self._centres, np.nan)[_known(codes, self.size)]

    def spread(self, codes: Any) -> Floats:
        """Return numbers drawn evenly from where each term wins; NaN for what is not a number. Public randomness."""
        given, generator = _known(codes, self.size), public_generator()
        numbers = self.lower + (self.upper - self.lower) * (np.arange(_FINE) + 0.5) / _FINE
        winners, found = self.codes(numbers), self.decode(given)
        for term in range(len(self.terms)):
            won, here = numbers[winners == term], np.flatnonzero(given == term)
            if won.size:
                found[here] = won[generator.integers(0, won.size, here.size)]
        return found

    def label(self, code: int) -> str:
        """Return the label of a term."""
        return self.terms[code][0] if code < len(self.terms) else "unknown"


@dataclass(frozen=True)
class RuleTable(Encoding):
    """A column of categories: a category's code is its place; everything else has the last code.

    >>> jobs = RuleTable("job", ("clerk", "cook"))
    >>> jobs.codes(["cook", "?", None]).tolist(), jobs.decode([0, 2]).tolist()
    ([1, 2, 2], ['clerk', None])

    """

    name: str
    values: tuple[Any, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.values, tuple) or not self.values or len(set(self.values)) != len(self.values):
            raise InvalidParameter("values", self.values, "a tuple of different categories, at least one")

    @property
    def size(self) -> int:
        """The categories, and one code for everything else."""
        return len(self.values) + 1

    def codes(self, values: Any) -> Codes:
        """Return the place of each category."""
        places = {value: place for place, value in enumerate(self.values)}
        entries = values.tolist() if isinstance(values, np.ndarray) else values
        found = (places.get(entry, len(places)) if _is_hashable(entry) else len(places) for entry in entries)
        return np.fromiter(found, dtype=np.int64)

    def decode(self, codes: Any) -> NDArray[Any]:
        """Return the categories; None for everything else."""
        meanings = np.empty(self.size, dtype=object)
        meanings[:] = [*self.values, None]
        return meanings[_known(codes, self.size)]


@dataclass(frozen=True)
class EvenSteps(Encoding):
    """A numeric column reduced to steps of a public width between public bounds: ceil(x / M) in the thesis.

    >>> gains = EvenSteps("gain", 0, 100, 25)
    >>> gains.size, gains.codes([0, 25, 26, 1e9, "no"]).tolist(), gains.decode([1]).tolist()
    (5, [0, 0, 1, 3, 4], [37.5])

    """

    name: str
    lower: float
    upper: float
    width: float

    def __post_init__(self) -> None:
        numbers = (self.lower, self.upper, self.width)
        if not all(map(_is_finite, numbers)) or self.lower >= self.upper or self.width <= 0:
            raise InvalidParameter("width", numbers, "finite bounds in order, and a width above 0")
        if (self.upper - self.lower) / self.width > _MOST_CODES:
            raise InvalidParameter("width", self.width, f"large enough for at most {_MOST_CODES} steps")

    @property
    def _steps(self) -> int:
        return max(math.ceil((self.upper - self.lower) / self.width), 1)

    @property
    def size(self) -> int:
        """The steps, and one code for values that are not numbers."""
        return self._steps + 1

    def codes(self, values: Any) -> Codes:
        """Return each value's step number; a step includes its upper end but not its lower one."""
        numbers = numbers_of(values)
        held = np.clip(np.nan_to_num(numbers, nan=self.lower), self.lower, self.upper)
        steps = np.clip(np.ceil((held - self.lower) / self.width) - 1, 0, self._steps - 1)
        return np.where(np.isnan(numbers), self._steps, steps).astype(np.int64)

    def decode(self, codes: Any) -> Floats:
        """Return the middle of each step; NaN for values that are not numbers."""
        starts = self.lower + self.width * np.arange(self._steps)
        middles = (starts + np.minimum(starts + self.width, self.upper)) / 2
        return np.append(middles, np.nan)[_known(codes, self.size)]


def attributes_of(encodings: Sequence[Encoding]) -> Attributes:
    """Return attribute names and numbers of codes, as a method takes them."""
    return Attributes(tuple(each.name for each in encodings), tuple(each.size for each in encodings))


def encoded(encodings: Sequence[Encoding], columns: Mapping[str, Any]) -> Codes:
    """Return rows of codes, a column per encoding; missing columns and other lengths are rejected."""
    if missing := [each.name for each in encodings if each.name not in columns]:
        raise InvalidParameter("columns", missing, "complete: every encoding needs its columns")
    found = [each.codes(columns[each.name]) for each in encodings]
    if len({column.size for column in found}) != 1:
        raise InvalidParameter("columns", "columns of several lengths", "of one length")
    return np.stack(found, axis=1)


def decoded(encodings: Sequence[Encoding], codes: Codes) -> dict[str, NDArray[Any]]:
    """Return columns of values from rows of codes."""
    return {each.name: each.decode(codes[:, place]) for place, each in enumerate(encodings)}


def numbers_of(values: Any) -> Floats:
    """Return values as floats; values that are not finite real numbers become NaN or an end of the range.

    >>> numbers_of([1, "2", None, True]).tolist()
    [1.0, nan, nan, 1.0]

    """
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        return values.astype(np.float64)
    if isinstance(values, np.ndarray) and values.dtype.kind in "mM":
        return np.full(values.shape, np.nan)
    entries = values.tolist() if isinstance(values, np.ndarray) else values
    return np.array([_number(entry) for entry in entries], dtype=np.float64)


def _number(entry: Any) -> float:
    # NumPy counts a duration as a number.
    if not isinstance(entry, int | float | np.number) or isinstance(entry, np.complexfloating | np.timedelta64):
        return math.nan
    try:
        return float(entry)
    except OverflowError:
        # An integer beyond all floats: the end of the range on its side.
        return math.inf if entry > 0 else -math.inf


def _ramp(numbers: Floats, start: float, end: float) -> Floats:
    """Return 0 before ``start``, 1 after ``end``, and the linear ramp between."""
    if start == end:
        return np.where(numbers > end, 1.0, 0.0)
    return np.clip((numbers - start) / (end - start), 0.0, 1.0)


def _known(codes: Any, size: int) -> Codes:
    return np.clip(np.asarray(codes, dtype=np.int64), 0, size - 1)


def _is_finite(number: Any) -> bool:
    return isinstance(number, int | float) and not isinstance(number, bool) and math.isfinite(number)


def _is_hashable(entry: Any) -> bool:
    try:
        hash(entry)
    except TypeError:
        return False
    return True

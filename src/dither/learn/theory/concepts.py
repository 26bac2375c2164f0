"""Classes of concepts over a finite universe: what a learner may choose from, public before any row is read.

A point is an integer from 0 on, a concept says 0 or 1 of every point. A class is given as a table, or is one of
four families: single points, thresholds, intervals, and conjunctions of bits. Families know their concepts by formula,
so that a class over 2^60 points can be used where it need not be listed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dither.errors import InvalidParameter
from dither.exact import Of, typed, whole
from dither.learn.models import Model, model
from dither.mechanisms.core.public import PublicArray
from dither.mechanisms.core.spec import Codec, register_codec

Whole64 = NDArray[np.int64]

#: The largest universe that a family knows by formula, and how many predictions of a whole class are listed at most.
MOST_POINTS: Final = 2**60
MOST_PREDICTIONS: Final = 2**24
MOST_BITS: Final = 12
FAMILIES: Final = ("points", "thresholds", "intervals", "conjunctions", "table")


def _check_whole(**given: Any) -> None:
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, int) or abs(value) > 2**63:
            raise InvalidParameter(name, value, "an integer of at most 64 bits")


class Concept(Model):
    """A released hypothesis: labels every point 0 or 1."""

    def predict(self, points: ArrayLike) -> Whole64:
        """Return 0 or 1 for each point, in the shape that was given."""
        raise NotImplementedError


@model
@dataclass(frozen=True)
class IntervalConcept(Concept):
    """Labels points from ``first`` to ``last``, both included, 1; none of them where the last comes before the first.

    >>> IntervalConcept(2, 3).predict([1, 2, 3, 4]).tolist()
    [0, 1, 1, 0]
    """

    kind: ClassVar[str] = "interval-concept"

    first: int
    last: int

    def __post_init__(self) -> None:
        _check_whole(first=self.first, last=self.last)

    def predict(self, points: ArrayLike) -> Whole64:
        """Return 1 inside."""
        given = _points(points)
        found: Whole64 = ((given >= self.first) & (given <= self.last)).astype(np.int64)
        return found


#: Says 0 of every point.
NEVER: Final = IntervalConcept(0, -1)


@model
@dataclass(frozen=True)
class Conjunction(Concept):
    """Labels points with all bits of ``ones`` and none of ``zeros`` 1; none of them where the two overlap.

    >>> Conjunction(ones=0b01, zeros=0b10).predict([0, 1, 2, 3]).tolist()
    [0, 1, 0, 0]
    """

    kind: ClassVar[str] = "conjunction"

    ones: int
    zeros: int

    def __post_init__(self) -> None:
        _check_whole(ones=self.ones, zeros=self.zeros)

    def predict(self, points: ArrayLike) -> Whole64:
        """Return 1 where all conditions hold."""
        given = _points(points)
        found: Whole64 = ((given & self.ones == self.ones) & (given & self.zeros == 0)).astype(np.int64)
        return found


@model
@dataclass(frozen=True)
class TableConcept(Concept):
    """Labels point x by entry x of ``values``, and points beyond by 0.

    >>> TableConcept(PublicArray([1, 0, 1])).predict([0, 1, 2, 7]).tolist()
    [1, 0, 1, 0]
    """

    kind: ClassVar[str] = "table-concept"

    values: PublicArray

    def __post_init__(self) -> None:
        given = self.values.values if isinstance(self.values, PublicArray) else None
        if given is None or given.ndim != 1 or given.dtype.kind not in "iu" or not np.isin(given, (0, 1)).all():
            raise InvalidParameter("values", self.values, "a row of zeros and ones")

    def predict(self, points: ArrayLike) -> Whole64:
        """Return the listed value."""
        given, known = _points(points), self.values.values
        inside = (given >= 0) & (given < known.size)
        found: Whole64 = np.where(inside, known[np.where(inside, given, 0)], 0).astype(np.int64)
        return found


@dataclass(frozen=True)
class Restricted:
    """The labellings of a few points by a class: each different one once, with a concept for each.

    Args:
        concepts: one of those that label the points so.
        predictions: a row for each concept, a column for each point.

    """

    concepts: tuple[Concept, ...]
    predictions: Whole64


@dataclass(frozen=True)
@typed
class Concepts:
    """A public class of concepts; made by ``points``, ``thresholds``, ``intervals``, ``conjunctions`` or ``table``.

    >>> Concepts.thresholds(4).count, Concepts.intervals(4).count, Concepts.conjunctions(2).count
    (5, 11, 10)
    >>> Concepts.thresholds(2).predictions.tolist()
    [[1, 1], [0, 1], [0, 0]]
    """

    family: str
    size: int
    rows: PublicArray | None = None

    def __post_init__(self) -> None:
        if self.family not in FAMILIES:
            raise InvalidParameter("family", self.family, f"one of {', '.join(FAMILIES)}")
        if (self.rows is None) == (self.family == "table"):
            raise InvalidParameter("rows", self.rows, "required for a table, and not allowed for other families")
        most = MOST_BITS if self.family == "conjunctions" else MOST_POINTS
        whole("size", self.size, least=1, most=most)
        if self.rows is None:
            return
        if not isinstance(self.rows, PublicArray) or self.rows.values.shape[1:] != (self.size,):
            raise InvalidParameter("rows", self.rows, "a row for each concept, a column for each point")
        # One row of data moves an error by at most 1 only where predictions are zeros and ones.
        if self.rows.values.dtype.kind not in "iu" or not np.isin(self.rows.values, (0, 1)).all():
            raise InvalidParameter("rows", self.rows, "rows of zeros and ones, one for each concept")

    @classmethod
    def points(cls, size: int) -> Concepts:
        """Return the class of concepts over ``size`` points that label exactly one point 1."""
        return cls("points", size)

    @classmethod
    def thresholds(cls, size: int) -> Concepts:
        """Return the class of ``size`` + 1 concepts that label 1 every point from some point on."""
        return cls("thresholds", size)

    @classmethod
    def intervals(cls, size: int) -> Concepts:
        """Return the class of concepts that label one run of points 1, or no point."""
        return cls("intervals", size)

    @classmethod
    def conjunctions(cls, bits: int) -> Concepts:
        """Return the class of conjunctions of literals over ``bits`` bits, and the one that is never true."""
        return cls("conjunctions", bits)

    @classmethod
    def table(cls, rows: ArrayLike) -> Concepts:
        """Return the class of these concepts: a row of zeros and ones each, a column for each point."""
        array = np.asarray(rows)
        if array.ndim != 2 or array.dtype.kind not in "biu":
            raise InvalidParameter("rows", rows, "rows of zeros and ones, one for each concept")
        return cls("table", array.shape[1], PublicArray(array.astype(np.int64)))

    @property
    def universe(self) -> int:
        """The number of points."""
        return 2**self.size if self.family == "conjunctions" else self.size

    @property
    def count(self) -> int:
        """The number of concepts."""
        known = {
            "points": self.size,
            "thresholds": self.size + 1,
            "intervals": self.size * (self.size + 1) // 2 + 1,
            "conjunctions": 3**self.size + 1 if self.size <= MOST_BITS else 0,
        }
        return len(self.rows.values) if self.rows is not None else known[self.family]

    @property
    def is_listed(self) -> bool:
        """Whether the predictions of all concepts fit in memory at once."""
        return self.count * self.universe <= MOST_PREDICTIONS

    @cached_property
    def vc(self) -> int:
        """The Vapnik-Chervonenkis dimension: the largest number of points that the class labels in every way."""
        if self.rows is not None:
            return vc_dimension(self.rows.values)
        if self.family == "conjunctions":
            # One bit: all four functions. More: as many points as bits (Natschlaeger and Schmitt 1996).
            return max(self.size, 2)
        return {"points": min(self.size - 1, 1), "thresholds": 1, "intervals": min(self.size, 2)}[self.family]

    def concept(self, number: int) -> Concept:
        """Return one concept of the class."""
        place = whole("number", number, most=self.count - 1)
        if self.rows is not None:
            return TableConcept(PublicArray(self.rows.values[place]))
        if self.family == "points":
            return IntervalConcept(place, place)
        if self.family == "thresholds":
            return IntervalConcept(place, self.size - 1)
        if self.family == "intervals":
            return _interval(place)
        return _conjunction(place, self.size)

    @cached_property
    def predictions(self) -> Whole64:
        """The label of every point under every concept: a row for each concept."""
        if not self.is_listed:
            rule = f"small enough to be listed: at most {MOST_PREDICTIONS} predictions"
            raise InvalidParameter("concepts", f"{self.count} concepts over {self.universe} points", rule)
        if self.rows is not None:
            return np.asarray(self.rows.values)
        every = np.arange(self.universe)
        found = np.array([self.concept(number).predict(every) for number in range(self.count)])
        found.setflags(write=False)
        return found

    @property
    def can_be_restricted(self) -> bool:
        """Whether the labellings of a few points by the class can be found: if it is listed, or ordered."""
        return self.is_listed or self.family in ("points", "thresholds", "intervals")

    def restricted(self, points: Whole64) -> Restricted:
        """Return the labellings of a few different points, in increasing order, by the class."""
        telling = [] if self.is_listed else self._telling(points)
        table = np.array([each.predict(points) for each in telling]) if telling else self.predictions[:, points]
        _, first = np.unique(table, axis=0, return_index=True)
        kept = np.sort(first)
        concepts = tuple(telling[place] if telling else self.concept(place) for place in kept.tolist())
        return Restricted(concepts, table[kept])

    def _telling(self, points: Whole64) -> list[Concept]:
        """Return concepts among which every labelling of the points occurs."""
        given = points.tolist()
        if self.family == "points":
            elsewhere = next((place for place in range(len(given) + 1) if place not in set(given)), 0)
            return [IntervalConcept(place, place) for place in [*given, min(elsewhere, self.size - 1)]]
        if self.family == "thresholds":
            return [IntervalConcept(place, self.size - 1) for place in [*given, self.size]]
        if self.family == "intervals":
            return [NEVER, *(IntervalConcept(a, b) for a in given for b in given if a <= b)]
        raise InvalidParameter("concepts", self.family, "a class that is small enough to be listed")


class ConceptsField(Of[Concepts]):
    """A class of concepts."""

    def __init__(self) -> None:
        super().__init__(Concepts, rule="a class of concepts, such as Concepts.thresholds(100)")


class ListedField(ConceptsField):
    """A class of concepts whose predictions fit in memory at once."""

    def convert(self, name: str, value: Concepts) -> Concepts:
        """Return the class."""
        found = super().convert(name, value)
        if not found.is_listed:
            rule = f"a class with at most {MOST_PREDICTIONS} predictions in all"
            raise InvalidParameter(name, f"{found.count} concepts over {found.universe} points", rule)
        return found

    def offenders(self) -> Iterator[Any]:
        """Return values that are not a class of concepts, and a class that is too large to be listed."""
        yield from (Concepts.thresholds(2**40), *super().offenders())


def vc_dimension(table: ArrayLike) -> int:
    """Return the largest number of points that a class labels in every way, by trying all sets of points.

    >>> vc_dimension([[0, 0], [0, 1], [1, 1]])
    1
    """
    rows = np.unique(np.asarray(table), axis=0)
    largest = 0
    while 2 ** (largest + 1) <= len(rows) and any(
        len(np.unique(rows[:, list(places)], axis=0)) == 2 ** (largest + 1)
        for places in combinations(range(rows.shape[1]), largest + 1)
    ):
        largest += 1
    return largest


def most_labellings(vc: int, points: int) -> int:
    """Return the largest number of ways in which a class of a given dimension labels a number of points (Sauer 1972).

    >>> most_labellings(1, 10), most_labellings(2, 10), most_labellings(10, 3)
    (11, 56, 8)
    """
    return sum(math.comb(points, chosen) for chosen in range(min(vc, points) + 1))


def _points(points: ArrayLike) -> Whole64:
    given = np.asarray(points)
    if given.dtype.kind not in "iu":
        raise InvalidParameter("points", points, "integers")
    return given.astype(np.int64)


def _interval(number: int) -> IntervalConcept:
    """Return the intervals in the order of their ends; the first is the empty one."""
    if number == 0:
        return NEVER
    last = (math.isqrt(8 * (number - 1) + 1) - 1) // 2
    return IntervalConcept(number - 1 - last * (last + 1) // 2, last)


def _conjunction(number: int, bits: int) -> Conjunction:
    """Return the conjunction whose conditions are the ternary digits of a number; the last one is never true."""
    if number == 3**bits:
        return Conjunction(1, 1)
    digits = [number // 3**bit % 3 for bit in range(bits)]
    return Conjunction(*(sum(2**bit for bit, digit in enumerate(digits) if digit == kind) for kind in (1, 2)))


def _write(concepts: Concepts) -> Any:
    return {"family": concepts.family, "size": concepts.size, "rows": None} | (
        {"rows": concepts.rows.values.tolist()} if concepts.rows is not None else {}
    )


def _read(written: Any) -> Concepts:
    if not (isinstance(written, Mapping) and set(written) == {"family", "size", "rows"}):
        raise InvalidParameter("concepts", written, "a record with family, size and rows")
    if written["rows"] is None:
        return Concepts(written["family"], written["size"])
    try:
        return Concepts.table(written["rows"])
    except (TypeError, ValueError):
        raise InvalidParameter("rows", "rows of different lengths", "rows of zeros and ones") from None


register_codec("concepts", Codec(Concepts, _write, _read))

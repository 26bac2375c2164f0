"""Distances: protected units of data, and metrics on the values computed from them.

A data-level mechanism declares a **unit**: which people, rows, edges or events may change between neighbours, and how.
A primitive declares a **metric** on values. There is no default anywhere, and two different distances never meet in
one budget. Units that protect less than a whole person's contribution by design (windows, places, labels) are marked
as relaxed, so that they are never mistaken for plain differential privacy.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any, Final

import numpy as np

from dither.errors import InvalidParameter
from dither.exact import sqrt_up, typed, whole


class Relation(Enum):
    """How neighbouring data sets differ."""

    ADD_REMOVE = "added or removed"
    REPLACE = "replaced"
    EXCHANGE = "replaced, added or removed"
    METRIC = "moved"


class Distance(ABC):
    """What ``d_in`` counts."""

    @abstractmethod
    def measure(self, first: Any, second: Any) -> Fraction | None:
        """Return the distance between two inputs, never too small; None if no number describes it."""

    def moved_by(self, unit: Unit) -> Fraction | None:
        """Return how far one unit of data moves an input, if that follows from unit and distance alone.

        None where it does not: whoever computed the input must then state it.
        """
        return None


@dataclass(frozen=True)
@typed
class Unit(Distance):
    """A unit of data and how it may change between neighbours.

    >>> str(ROW), str(ROW_REPLACED)
    ('rows added or removed', 'rows replaced')
    """

    protects: str
    relation: Relation
    detail: str = ""

    @property
    def touched(self) -> int:
        """How many disjoint parts of the data one change can touch: a replaced unit leaves one and enters another."""
        return 1 if self.relation is Relation.ADD_REMOVE else 2

    @property
    def is_relaxed(self) -> bool:
        """Whether the guarantee is weaker than plain differential privacy for what the name suggests."""
        return self.relation is Relation.METRIC or self.protects in _RELAXED

    def measure(self, first: Sequence[Any], second: Sequence[Any]) -> Fraction | None:
        """Return how many units lie between two collections of hashable rows; None if no number does.

        A row with a label or a weight ends with it.
        """
        here, there = Counter(map(_hashable, first)), Counter(map(_hashable, second))
        gone, come = (here - there).total(), (there - here).total()
        if self.protects in _LAST and _unlabelled(here) != _unlabelled(there):
            return None
        if self.relation is Relation.ADD_REMOVE:
            return Fraction(gone + come)
        if self.relation is Relation.EXCHANGE:
            return Fraction(max(gone, come))
        return Fraction(gone) if self.relation is Relation.REPLACE and gone == come else None

    def moved_by(self, unit: Unit) -> Fraction | None:
        """Return 1 for this unit itself, or one whose changes are among its own; others are never converted."""
        is_wider = self.relation is Relation.EXCHANGE and (unit.protects, unit.detail) == (self.protects, self.detail)
        return Fraction(1) if unit == self or (is_wider and unit.relation is not Relation.METRIC) else None

    @property
    def is_one_record(self) -> bool:
        """Whether one unit is exactly one record of a collection."""
        return self.protects in _ONE_RECORD and self.relation is not Relation.METRIC

    def __str__(self) -> str:
        detail = f" ({self.detail})" if self.detail else ""
        several = "people" if self.protects == "person" else f"{self.protects}s"
        return f"{several} {self.relation.value}{detail}"


_RELAXED: Final = frozenset({"window", "label", "place", "weight"})
_ONE_RECORD: Final = frozenset({"row", "edge", "event", "rating", "label", "weight"})
#: What a row ends with, and what alone is protected of it.
_LAST: Final = ("label", "weight")

ROW: Final = Unit("row", Relation.ADD_REMOVE)
ROW_REPLACED: Final = Unit("row", Relation.REPLACE)
#: For rows that are replaced in a table of which some are left out: one may be replaced by none, or none by one.
ROW_EXCHANGED: Final = Unit("row", Relation.EXCHANGE)
EDGE: Final = Unit("edge", Relation.ADD_REMOVE)
NODE: Final = Unit("node", Relation.ADD_REMOVE)
EVENT: Final = Unit("event", Relation.ADD_REMOVE)
EVENT_REPLACED: Final = Unit("event", Relation.REPLACE)
RATING: Final = Unit("rating", Relation.ADD_REMOVE)
#: A relaxed notion: neighbours have the same rows but for one label, their last entry. The rest of a row is open.
LABEL: Final = Unit("label", Relation.REPLACE, "the rest of every row is not protected")
#: A relaxed notion: neighbours have the same edges but for one weight, the last entry of an edge.
WEIGHT: Final = Unit("weight", Relation.REPLACE, "which edges there are is not protected")
#: What the book of a device counts: one answer, replaced by any other. No data set of a curator has this unit, so that
#: it has no word there, and the two are never in one budget.
ANSWER: Final = Unit("answer", Relation.REPLACE)
#: A relaxed notion: one value moves along an edge of a declared policy; how many rows there are is open.
VALUE: Final = Unit("value", Relation.METRIC, "along the declared policy")
#: A relaxed notion: rows added or removed, each of which loses in proportion to the budget that it declares itself.
PERSONAL: Final = Unit("personal share", Relation.METRIC, "rows added or removed, each within its own budget")

#: The most members of a declared group.
LARGEST_GROUP: Final = 10**6

#: Units by the words that stand for them; a person's unit has the name of a column, too.
UNITS: Final = {
    "row": ROW,
    "row_replaced": ROW_REPLACED,
    "edge": EDGE,
    "node": NODE,
    "event": EVENT,
    "event_replaced": EVENT_REPLACED,
    "rating": RATING,
}


def unit_of(unit: Unit | str) -> Unit:
    """Return a unit, given as a unit or as its word.

    >>> unit_of("row") is ROW, unit_of(ROW) is ROW
    (True, True)
    """
    if isinstance(unit, Unit):
        return unit
    if type(unit) is str and unit in UNITS:
        return UNITS[unit]
    raise InvalidParameter("unit", unit, f"a unit of data, such as ROW, or one of {', '.join(UNITS)}")


def word_of(unit: Unit) -> str:
    """Return the word for a unit."""
    for word, known in UNITS.items():
        if unit == known:
            return word
    raise InvalidParameter("unit", unit, f"one of {', '.join(UNITS)}, which have a word")


def person(id_column: str, relation: Relation) -> Unit:
    """Return the unit of all rows that carry one value of ``id_column``."""
    if not (isinstance(id_column, str) and id_column.isidentifier()):
        raise InvalidParameter("id_column", id_column, "the name of a column")
    if relation not in (Relation.ADD_REMOVE, Relation.REPLACE):
        raise InvalidParameter("relation", relation, "ADD_REMOVE or REPLACE")
    return Unit("person", relation, f"all rows with one {id_column}")


def group_of(unit: Unit, size: int) -> Unit:
    """Return the unit of up to ``size`` rows or people that change together, any of them.

    >>> str(group_of(ROW, 10))
    'groups added or removed (up to 10 rows each)'
    """
    if not (isinstance(unit, Unit) and unit.protects in ("row", "person") and unit.relation is not Relation.METRIC):
        raise InvalidParameter("unit", str(unit), "rows or people, of which a group has several")
    several = f"up to {whole('group size', size, least=2, most=LARGEST_GROUP)}"
    detail = f"{several} rows each" if unit.protects == "row" else f"{several} people each, and {unit.detail}"
    return Unit("group", unit.relation, detail)


def declared_group(id_column: str, size: int, relation: Relation) -> Unit:
    """Return the unit of all rows with one value of ``id_column``, of which at most ``size`` count.

    >>> str(declared_group("household", 6, Relation.ADD_REMOVE))
    'groups added or removed (all rows with one household, of which 6 count)'
    """
    rows = person(id_column, relation).detail
    return Unit("group", relation, f"{rows}, of which {whole('group size', size, least=2, most=LARGEST_GROUP)} count")


def w_event(width: int) -> Unit:
    """Return the unit of all events within any window of ``width`` time steps: a relaxed notion."""
    return Unit(
        "window", Relation.ADD_REMOVE, f"all events of one person within {whole('width', width, least=1)} steps"
    )


def place(metric: str) -> Unit:
    """Return geo-indistinguishability, a relaxed notion: the loss grows with how far a place moves in ``metric``."""
    if metric not in ("euclidean", "great circle", "manhattan"):
        raise InvalidParameter("metric", metric, "'euclidean', 'great circle' or 'manhattan'")
    return Unit("place", Relation.METRIC, metric)


def trace(metric: str) -> Unit:
    """Return geo-indistinguishability of a whole trace: the loss grows with how far every place of it may move."""
    return Unit("place", Relation.METRIC, f"{place(metric).detail}, every place of a trace")


class Metric(Distance):
    """A distance between values; ``measure`` never understates it."""

    def __init__(self, name: str, meaning: str) -> None:
        self.name, self.meaning = name, meaning

    @abstractmethod
    def measure(self, first: Any, second: Any) -> Fraction | None:
        """Return the distance, or None if the two values have no distance."""

    def __str__(self) -> str:
        return self.meaning

    def __repr__(self) -> str:
        return self.name


class _Norm(Metric):
    """A norm of the difference of two arrays of numbers."""

    def measure(self, first: Any, second: Any) -> Fraction | None:
        changes = _changes(first, second)
        if changes is None:
            return None
        if self is L1:
            return sum(map(abs, changes), Fraction(0))
        if self is L2:
            return sqrt_up(sum((change * change for change in changes), Fraction(0)))
        if self is ONE_WAY and min(changes, default=0) < 0 < max(changes, default=0):
            return None
        return max(map(abs, changes), default=Fraction(0))


class _Rows(Metric):
    """The sum of the lengths of the changes of all rows of two: how far all places of a plane move together."""

    def measure(self, first: Any, second: Any) -> Fraction | None:
        changes = _changes(first, second)
        if changes is None or len(changes) % 2:
            return None
        pairs = zip(changes[::2], changes[1::2], strict=True)
        return sum((sqrt_up(east * east + north * north) for east, north in pairs), Fraction(0))


class _Discrete(Metric):
    """One if two values differ."""

    def measure(self, first: Any, second: Any) -> Fraction | None:
        # As objects: a common type would make 1 equal to "1", and 2^63 equal to 2^63 + 1.
        return Fraction(0 if np.array_equal(_objects(first), _objects(second)) else 1)

    def moved_by(self, unit: Unit) -> Fraction | None:
        """Return 1, the largest distance."""
        return Fraction(1)


class _Entries(Metric):
    """The number of entries of two arrays that differ."""

    def measure(self, first: Any, second: Any) -> Fraction | None:
        here, there = _objects(first), _objects(second)
        return Fraction(int((here != there).sum())) if here.shape == there.shape else None


class _Records(Metric):
    """The number of records in one collection and not in the other, with their multiplicities.

    The same number is the L1 distance between the tables of counts of all cells, so a table that was counted elsewhere
    may stand for its rows: whatever a method asks of it are sums of those counts.
    """

    def measure(self, first: Any, second: Any) -> Fraction | None:
        return ROW.measure(first, second)

    def moved_by(self, unit: Unit) -> Fraction | None:
        """Return 1 for a record added or removed, 2 for one replaced; a person may have any number."""
        return Fraction(unit.touched) if unit.is_one_record else None


L1: Final = _Norm("L1", "the sum of absolute changes")
L2: Final = _Norm("L2", "the Euclidean length of the change")
LARGEST: Final = _Norm("LARGEST", "the largest absolute change")
ONE_WAY: Final = _Norm("ONE_WAY", "the largest change, all changes having the same sign")
ROW_LENGTHS: Final = _Rows("ROW_LENGTHS", "the sum of the Euclidean lengths by which all places move")
ENTRIES: Final = _Entries("ENTRIES", "the number of entries that differ")
DIFFERENT: Final = _Discrete("DIFFERENT", "1 if the values differ, else 0")

RECORDS: Final = _Records("RECORDS", "the number of records in one collection and not in the other")

METRICS: Final = {
    metric.name: metric for metric in (L1, L2, LARGEST, ONE_WAY, ROW_LENGTHS, ENTRIES, DIFFERENT, RECORDS)
}


def _changes(first: Any, second: Any) -> list[Fraction] | None:
    here, there = _objects(first), _objects(second)
    if here.shape != there.shape:
        return None
    try:
        return [Fraction(_plain(a)) - Fraction(_plain(b)) for a, b in zip(here.flat, there.flat, strict=True)]
    except (ValueError, OverflowError):
        # NaN and infinities are at no distance from anything.
        return None


def _objects(value: Any) -> np.ndarray[Any, np.dtype[np.object_]]:
    return np.asarray(value, dtype=object)


def _plain(number: Any) -> Any:
    """Return a number that is not a NumPy number: those overflow."""
    if isinstance(number, np.floating):
        return Fraction(*number.as_integer_ratio())
    return number.item() if isinstance(number, np.generic) else number


def _unlabelled(rows: Counter[Any]) -> Counter[Any]:
    """Return the rows without their labels; a row without parts is all label."""
    left: Counter[Any] = Counter()
    for row, count in rows.items():
        left[row[:-1] if isinstance(row, tuple) else ()] += count
    return left


def _hashable(row: Any) -> Any:
    if isinstance(row, np.ndarray):
        row = row.tolist()
    return tuple(map(_hashable, row)) if isinstance(row, list) else row

"""Measures: what is counted or added up of some rows, exactly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dither.data.expressions import Expression, Kind, kind_of
from dither.errors import InvalidParameter
from dither.exact import typed


class Measure:
    """An order-independent aggregate of some rows; every value of it is exact."""


@dataclass(frozen=True)
class CountRows(Measure):
    """The number of rows."""


@dataclass(frozen=True)
@typed
class CountOf(Measure):
    """The number of rows where the value is not NULL; for true or false, where it is true."""

    value: Expression


@dataclass(frozen=True)
class Persons(Measure):
    """The number of different people that the rows belong to."""


@dataclass(frozen=True)
@typed
class Sum(Measure):
    """The exact sum of an integer expression over the rows where it is not NULL; 0 if there are none.

    Engines return it as two 64-bit limbs joined in Python, so that it cannot overflow up to 2^33 rows.
    """

    value: Expression


@dataclass(frozen=True)
@typed
class Smallest(Measure):
    """The smallest value that is not NULL, or NULL; within one person only."""

    value: Expression


@dataclass(frozen=True)
@typed
class Largest(Measure):
    """The largest value that is not NULL, or NULL; within one person only."""

    value: Expression


def kind_of_measure(measure: Measure, columns: Mapping[str, Kind]) -> Kind:
    """Return the kind of a measure over columns of those kinds."""
    if isinstance(measure, Sum):
        kind = kind_of(measure.value, columns)
        if kind is not Kind.INTEGER:
            raise InvalidParameter("sum", kind.value, "of integers: a real is put on a grid first")
        return kind
    if isinstance(measure, Smallest | Largest):
        return kind_of(measure.value, columns)
    if isinstance(measure, CountOf):
        kind_of(measure.value, columns)
    return Kind.INTEGER

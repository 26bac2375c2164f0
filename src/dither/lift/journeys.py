"""Journeys: the points of declared trips as lists of cells, one for each trip, of which few of a person count.

An engine drops what is no position, finds the cell of each point, and keeps at most as many trips of a person, and
points of a trip, as the schema declares, chosen by a hash of that person's own rows. Points are put in order here, by
time; those of one moment by their cells. So a list is a function of one trip, and one person has few lists. Memory
follows the points that count, whatever the schema allows a trip to have.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.data import (
    Aggregated,
    Aggregation,
    Bounded,
    Call,
    CountRows,
    DataSet,
    Expression,
    Filter,
    Kind,
    Limits,
    Literal,
    Name,
)
from dither.data.columns import Values
from dither.data.engines.protocol import Engine
from dither.data.place_tables import Places
from dither.data.places.trips import Trips
from dither.data.returned import key_columns
from dither.data.schema import Table
from dither.data.wire import register_records
from dither.errors import InvalidParameter
from dither.exact import typed
from dither.lift.places import axes_of, declared, known_rows, one_axis
from dither.lift.source import Source
from dither.lift.start_times import StartTimes
from dither.mechanisms.core.mechanism import Mechanism
from dither.privacy import RECORDS, Distance

_CELL: Final = "cell"


@dataclass(frozen=True)
@typed
class Journeys(Source[Trips]):
    """Trips as lists of cells.

    Args:
        dataset: the schema, whose unit is a person; where each trip is a unit of its own, the trip is the privacy id.
        table: whose places declare trip and time.
        shape: the cells along both coordinates.
        times: into how many public parts of time their beginnings are sorted; None: into none.

    """

    dataset: DataSet
    table: str
    shape: tuple[int, ...]
    times: int | None = None

    def __post_init__(self) -> None:
        """Reject a table without journeys, and rows that belong to nobody."""
        if self.places.trip is None or self.places.time is None:
            raise InvalidParameter("table", self.table, "a table whose places declare trip and time")
        if not self.dataset.protects_persons:
            rule = "a data set whose unit is a person; where each trip is one, declare the trip as the privacy id"
            raise InvalidParameter("dataset", self.dataset.name, rule)
        if self._table.person is None:
            # Through a reference a person may have one trip under several keys: more rows than trips are limited to.
            raise InvalidParameter("table", self.table, "a table that has a privacy id, and not one with an owner")
        if len(self.shape) != 2 or min(self.shape) < 1:
            raise InvalidParameter("shape", self.shape, "the cells along both coordinates")
        _ = self.began

    @property
    def began(self) -> StartTimes | None:
        """The public parts of time, where beginnings are asked for."""
        return None if self.times is None else StartTimes(self._table.column(str(self.places.time)), self.times)

    @property
    def _table(self) -> Table:
        return self.dataset.table(self.table)

    @property
    def places(self) -> Places:
        """What is public about the positions."""
        return declared(self._table)

    @property
    def points(self) -> int:
        """The most points of one trip that count."""
        return self.places.points or 1

    @cached_property
    def asked(self) -> Aggregation:
        """The engine's aggregation: the points that count, by person, trip, time and cell."""
        places, table = self.places, self._table
        shape = (self.shape[0], self.shape[1])
        cell = one_axis(_CELL, axes_of(table, places.at, shape)).value
        trip, time = Name(str(places.trip)), self._moment()
        # A point without a time has no place in a trip.
        known = (Call("not", (Call("is_null", (value,)),)) for value in (cell, time))
        rows = Filter(known_rows(self.dataset, table), Call("and", tuple(known)))
        people = tuple(Name(name) for name in table.identifying)
        order = tuple(dict.fromkeys((*table.identifying, str(places.trip), str(places.time), *places.at)))
        limits = Limits(groups=places.trips, rows_per_group=places.points)
        return Aggregation(Bounded(rows, (trip,), limits, order), (*people, trip, time, cell), (CountRows(),))

    def _moment(self) -> Expression:
        """Return what orders the points of a trip, as a number."""
        column = self._table.column(str(self.places.time))
        name = Name(column.name)
        if column.kind is Kind.TIMESTAMP:
            return Call("microseconds", (name,))
        if column.kind is Kind.DATE:
            import datetime

            return Call("days_between", (Literal(datetime.date(1970, 1, 1), Kind.DATE), name))
        return name

    def aggregations(self) -> tuple[Aggregation, ...]:
        """Return the statement that lists the points."""
        return (self.asked,)

    def read(self, engine: Engine) -> Trips:
        """Return the trips."""
        return self.trips_of(engine.aggregate(self.asked))

    def trips_of(self, answer: Aggregated) -> Trips:
        """Return the trips of an answer; what is no point is left out."""
        columns, length = key_columns(answer.keys, len(self.asked.keys))
        *whose, times, cells = columns
        numbers = _integers(cells, length)
        is_cell = (numbers >= 0) & (numbers < self.shape[0] * self.shape[1])
        keys = [_codes(column, length)[is_cell] for column in whose]
        numbers, moments = numbers[is_cell], _order(times, length)[is_cell]
        sort = np.lexsort((numbers, moments, *reversed(keys)))
        keys, numbers = [key[sort] for key in keys], numbers[sort]
        is_new = np.ones(numbers.size, dtype=np.bool_)
        if numbers.size:
            is_new[1:] = np.logical_or.reduce([key[1:] != key[:-1] for key in keys])
        starts = np.flatnonzero(is_new)
        place = np.arange(numbers.size) - starts[np.cumsum(is_new) - 1]
        kept = place < self.points
        # A trip has a first point, which is kept: none becomes empty.
        began = None if self.began is None else self.began.of(times, length)[is_cell][sort][starts]
        return Trips(numbers[kept], np.flatnonzero(place[kept] == 0), began)

    def moves(self) -> dict[Distance, Fraction]:
        """Return how many rows one person adds and removes: the trips that count, twice where a person is replaced."""
        return {RECORDS: Fraction((self.places.trips or 1) * (2 if self.dataset.is_replaced else 1))}

    def check(self, method: Mechanism[Any, Any]) -> None:
        """Reject a method for another grid."""
        super().check(method)
        if getattr(method, "shape", None) != tuple(self.shape):
            raise InvalidParameter("method", method.name, f"a method for journeys on {self.shape} cells")
        if getattr(method, "times", None) != self.times:
            raise InvalidParameter("method", method.name, f"a method for journeys with times {self.times}")


def _codes(cells: Values, length: int) -> NDArray[np.int64]:
    """Return a number for each different value of a column: only whether two are equal matters."""
    if cells is None:
        return np.zeros(length, dtype=np.int64)
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "iu":
        # NULL is a value of its own: one more than there are others.
        values, codes = np.unique(np.ma.getdata(cells), return_inverse=True)
        return np.where(np.ma.getmaskarray(cells), values.size, codes.ravel()).astype(np.int64)
    known: dict[Any, int] = {}
    listed = cells if isinstance(cells, list) else cells.tolist()
    return np.array([known.setdefault((type(cell), cell), len(known)) for cell in listed], dtype=np.int64)


def _order(cells: Values, length: int) -> NDArray[Any]:
    """Return numbers that are in the order of a column; NULL comes first."""
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "iuf":
        rank = np.unique(np.ma.getdata(cells), return_inverse=True)[1].ravel() + 1
        return np.where(np.ma.getmaskarray(cells), 0, rank)
    if cells is None:
        return np.zeros(length, dtype=np.int64)
    listed = cells if isinstance(cells, list) else cells.tolist()
    known = {value: place + 1 for place, value in enumerate(sorted({x for x in listed if type(x) in (int, float)}))}
    return np.array([known.get(cell, 0) if type(cell) in (int, float) else 0 for cell in listed], dtype=np.int64)


def _integers(cells: Values, length: int) -> NDArray[np.int64]:
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "iu":
        return np.where(np.ma.getmaskarray(cells), -1, np.ma.getdata(cells)).astype(np.int64)
    listed = [None] * length if cells is None else (cells if isinstance(cells, list) else cells.tolist())
    return np.array([cell if type(cell) is int and abs(cell) < 2**62 else -1 for cell in listed], dtype=np.int64)


register_records(Journeys)

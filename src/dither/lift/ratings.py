"""Ratings: the private ratings of a declared table as profiles of people, to which recommenders are lifted.

An engine returns the ratings of each person; which of several ratings of an item counts is decided here, from that
person's own rows. Nothing limits the rows of a person: what one person adds to a sum is bounded by the method. Public
attributes of items come with them, from the table that the schema names.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.data import Aggregated, Aggregation, Call, CountRows, DataSet, Expression, Kind, Literal, Name, Scan
from dither.data.column_values import code_column, number_column
from dither.data.columns import Values
from dither.data.engines.protocol import Engine
from dither.data.expressions import Value
from dither.data.public_rows import PublicScan
from dither.data.ratings import Ratings
from dither.data.returned import key_columns
from dither.data.schema import Column, Table
from dither.data.wire import register_records
from dither.errors import InvalidParameter
from dither.exact import typed
from dither.lift.profiles import Profiles
from dither.lift.source import Source
from dither.mechanisms.core.mechanism import Mechanism
from dither.privacy import ROW, Distance

#: More categories of an attribute are names, and say nothing that other items share.
_MOST_LABELS: Final = 64
#: Parts of a numeric attribute, such as a year.
_PARTS: Final = 8
#: Columns that all attributes together may make.
MOST_ATTRIBUTES: Final = 256


@dataclass(frozen=True)
@typed
class RatedItems(Source[Profiles]):
    """The ratings of a table, by person and item.

    Args:
        dataset: the schema, whose unit is a person.
        table: the name of the table, which declares ratings.

    """

    dataset: DataSet
    table: str

    def __post_init__(self) -> None:
        """Reject a table without ratings, and rows without people."""
        if Ratings.of(self._table) is None:
            raise InvalidParameter("table", self.table, "a table whose schema declares ratings")
        if not self.dataset.protects_persons or self._table.person is None:
            rule = "a table with a privacy id, of a data set whose unit is a person"
            raise InvalidParameter("table", self.table, rule)

    @property
    def _table(self) -> Table:
        return self.dataset.table(self.table)

    @property
    def ratings(self) -> Ratings:
        """What is public about the ratings."""
        found = Ratings.of(self._table)
        return Ratings("item", "value") if found is None else found

    @property
    def items(self) -> int:
        """The number of declared items."""
        return self.ratings.size(self._table)

    @property
    def labels(self) -> tuple[Value, ...]:
        """The items, in the order of their numbers."""
        return _labels(self._table.column(self.ratings.item))

    @property
    def bounds(self) -> tuple[Value, Value]:
        """The least and the largest value."""
        column = self._table.column(self.ratings.value)
        return column.lower, column.upper

    @cached_property
    def asked(self) -> Aggregation:
        """The engine's aggregation: the ratings, each by its person."""
        told = self.ratings
        rows = Scan(self._table)
        keys: list[Expression] = [Name(str(self._table.person)), Name(told.item), Name(told.value)]
        if told.time is not None:
            keys.append(_moment(self._table.column(told.time)))
        return Aggregation(rows, tuple(keys), (CountRows(),))

    @property
    def catalogue(self) -> Table | None:
        """The public table of items, where there is one."""
        return None if self.ratings.items is None else self.dataset.table(self.ratings.items)

    @cached_property
    def known(self) -> tuple[Column, ...]:
        """The attributes that are used: true and false, few categories, or integers and reals with bounds."""
        table = self.catalogue
        if table is None:
            return ()
        found: list[Column] = []
        for column in table.columns:
            width = sum(map(_width, found)) + _width(column)
            if column.name not in table.key and _width(column) and width <= MOST_ATTRIBUTES:
                found.append(column)
        return tuple(found)

    @cached_property
    def asked_items(self) -> Aggregation | None:
        """The engine's aggregation of the public table of items; None where nothing of it is used."""
        table = self.catalogue
        if table is None or not self.known:
            return None
        names = (table.key[0], *(column.name for column in self.known))
        return Aggregation(PublicScan(table), tuple(map(Name, names)), (CountRows(),))

    def aggregations(self) -> tuple[Aggregation, ...]:
        """Return the statements that list the ratings, and the public items."""
        return (self.asked,) if self.asked_items is None else (self.asked, self.asked_items)

    def read(self, engine: Engine) -> Profiles:
        """Return the profiles of people, and the attributes of items."""
        attributes = None if self.asked_items is None else self.attributes_of(engine.aggregate(self.asked_items))
        return self.profiles_of(engine.aggregate(self.asked), attributes)

    def profiles_of(self, answer: Aggregated, attributes: NDArray[np.float64] | None = None) -> Profiles:
        """Return the profiles of an answer; what is no rating is as if not there."""
        columns, length = key_columns(answer.keys, len(self.asked.keys))
        who, items, values, *times = columns
        when = number_column(times[0], length) if times else np.zeros(length)
        # A rating without a time comes before all others.
        when = np.where(np.isnan(when), -np.inf, when)
        return Profiles.of(
            _codes(who, length), self._numbers(items, length), number_column(values, length), when, attributes
        )

    def _numbers(self, cells: Values, length: int) -> NDArray[np.int64]:
        """Return the numbers of items, -1 for what is not a declared item: a function of each cell alone."""
        column = self._table.column(self.ratings.item)
        if column.categories is not None:
            return code_column(cells, length, column.categories)
        first = column.lower if isinstance(column.lower, int) else 0
        listed = [None] * length if cells is None else cells
        if isinstance(listed, np.ndarray) and listed.dtype == np.int64:
            plain = np.ma.getdata(listed)
            is_item = (plain >= first) & (plain <= first + self.items - 1) & ~np.ma.getmaskarray(listed)
            return np.where(is_item, np.where(is_item, plain, first) - first, np.int64(-1))
        inside = (cell - first if type(cell) is int and 0 <= cell - first < self.items else -1 for cell in listed)
        return np.fromiter(inside, dtype=np.int64, count=length)

    def attributes_of(self, answer: Aggregated) -> NDArray[np.float64]:
        """Return a row of zeros and ones for each item; all zeros where the table does not have it."""
        columns, length = key_columns(answer.keys, len(self.known) + 1)
        numbers = self._numbers(columns[0], length)
        found = np.zeros((self.items, sum(map(_width, self.known))))
        start = 0
        for column, cells in zip(self.known, columns[1:], strict=True):
            codes = _parts(column, cells, length)
            good = (numbers >= 0) & (codes >= 0)
            found[numbers[good], start + codes[good]] = 1.0
            start += _width(column)
        return found

    def moves(self) -> dict[Distance, Fraction]:
        """Return how many profiles one person adds and removes: two if people are replaced."""
        return {ROW: Fraction(2 if self.dataset.is_replaced else 1)}

    def check(self, method: Mechanism[Any, Any]) -> None:
        """Reject a method for other items."""
        super().check(method)
        if getattr(method, "items", None) != self.items:
            raise InvalidParameter("method", method.name, f"a method for {self.items} items")


def rated_table(dataset: DataSet, table: str | None = None) -> Table:
    """Return the table that declares ratings: the one that is named, or the only one."""
    if table is not None:
        named = dataset.table(table)
        if Ratings.of(named) is None:
            raise InvalidParameter("table", table, "a table whose schema declares ratings")
        return named
    found = [one for one in dataset.tables if Ratings.of(one) is not None]
    if len(found) != 1:
        rule = "one of " + ", ".join(one.name for one in found) if found else "declared: ratings of a table"
        raise InvalidParameter("table", table, rule)
    return found[0]


def _labels(column: Column) -> tuple[Value, ...]:
    if column.categories is not None:
        return tuple(column.categories)
    if isinstance(column.lower, int) and isinstance(column.upper, int):
        return tuple(range(column.lower, column.upper + 1))
    return ()


def _width(column: Column) -> int:
    """Return how many numbers an attribute becomes; 0 where it is not used."""
    if column.kind is Kind.BOOLEAN:
        return 1
    if column.categories is not None:
        return len(column.categories) if len(column.categories) <= _MOST_LABELS else 0
    return _PARTS if column.kind.is_number and column.lower is not None else 0


def _parts(column: Column, cells: Values, length: int) -> NDArray[np.int64]:
    """Return which of its numbers an attribute sets for each cell; -1 for none."""
    if column.kind is Kind.BOOLEAN:
        return np.where(number_column(cells, length) == 1, 0, -1).astype(np.int64)
    if column.categories is not None:
        return code_column(cells, length, column.categories)
    low, high = float(column.lower), float(column.upper)  # type: ignore[arg-type]
    numbers = number_column(cells, length)
    share = (np.clip(np.where(np.isnan(numbers), low, numbers), low, high) - low) / max(high - low, 1e-300)
    return np.where(np.isnan(numbers), -1, np.minimum((share * _PARTS).astype(np.int64), _PARTS - 1))


def _moment(column: Column) -> Expression:
    """Return what orders ratings, as a number."""
    name = Name(column.name)
    if column.kind is Kind.TIMESTAMP:
        return Call("microseconds", (name,))
    if column.kind is Kind.DATE:
        return Call("days_between", (Literal(datetime.date(1970, 1, 1), Kind.DATE), name))
    return name


def _codes(cells: Values, length: int) -> NDArray[np.int64]:
    """Return a number for each different value of a column: only whether two are equal matters."""
    if cells is None:
        return np.zeros(length, dtype=np.int64)
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "iu":
        return np.unique(np.ma.getdata(cells), return_inverse=True)[1].ravel().astype(np.int64)
    known: dict[Any, int] = {}
    listed = cells if isinstance(cells, list) else cells.tolist()
    return np.array([known.setdefault((type(cell), cell), len(known)) for cell in listed], dtype=np.int64)


register_records(RatedItems)

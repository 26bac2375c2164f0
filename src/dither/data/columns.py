"""Rows that are kept as columns: a sequence of tuples for whoever reads it so, and arrays for whoever has many.

A hundred thousand groups as tuples of Python's numbers take many times as long as the arrays they come from. So an
engine's answer, and the table that is made of it, are columns, and a row is made when somebody asks for it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from dither.data.expressions import Kind

#: An array of integers, reals or truths, NULL masked; a list of anything; or None for a column of nothing but NULL.
Values = NDArray[Any] | list[Any] | None
_ARRAYS = "iufb"


class ColumnRows(Sequence[tuple[Any, ...]]):
    """A sequence of equally long tuples, kept as columns; equal to the tuple of its rows.

    Args:
        columns: of the same length.
        length: the number of rows.

    >>> rows = ColumnRows([np.array([1, 2]), ["a", None], None], 2)
    >>> rows[1], rows == ((1, "a", None), (2, None, None)), list(rows[:1])
    ((2, None, None), True, [(1, 'a', None)])

    """

    __slots__ = ("columns", "length")

    def __init__(self, columns: Sequence[Values], length: int) -> None:
        self.columns: tuple[Values, ...] = tuple(map(_compact, columns))
        self.length = length

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.columns)

    def listed(self, place: int) -> list[Any]:
        """Return a column as a list of Python's own values."""
        column = self.columns[place]
        if column is None:
            return [None] * self.length
        return column if isinstance(column, list) else column.tolist()

    def taken(self, places: NDArray[np.intp] | Sequence[int] | None) -> ColumnRows:
        """Return these rows, in this order; None for all."""
        if places is None:
            return self
        chosen = np.asarray(places, dtype=np.intp)
        return ColumnRows([_taken(column, chosen) for column in self.columns], len(chosen))

    def __len__(self) -> int:
        return self.length

    @overload
    def __getitem__(self, place: int) -> tuple[Any, ...]: ...
    @overload
    def __getitem__(self, place: slice) -> ColumnRows: ...
    def __getitem__(self, place: int | slice) -> tuple[Any, ...] | ColumnRows:
        if isinstance(place, slice):
            cut = [column if column is None else column[place] for column in self.columns]
            return ColumnRows(cut, len(range(*place.indices(self.length))))
        if not -self.length <= place < self.length:
            raise IndexError("no such row")
        return tuple(_cell(column, place) for column in self.columns)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        if not self.columns:
            return itertools.repeat((), self.length)
        return zip(*(self.listed(place) for place in range(len(self.columns))), strict=True)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ColumnRows | tuple):
            return NotImplemented
        return len(self) == len(other) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


class KeyColumns(ColumnRows):
    """Groups of an engine's answer, of which every value has the type of its kind or is NULL.

    Args:
        columns: those of ``ColumnRows``.
        length: the number of rows.
        kinds: of the columns: booleans, integers of 64 bits, reals without -0.0 and not always finite, or any texts.

    """

    __slots__ = ("kinds",)

    def __init__(self, columns: Sequence[Values], length: int, kinds: tuple[Kind, ...]) -> None:
        super().__init__(columns, length)
        self.kinds = kinds


def as_columns(rows: Sequence[tuple[Any, ...]]) -> ColumnRows:
    """Return rows as columns."""
    if isinstance(rows, ColumnRows):
        return rows
    return ColumnRows([list(column) for column in zip(*rows, strict=True)], len(rows))


def same_rows(some: Sequence[tuple[Any, ...]], others: Sequence[tuple[Any, ...]]) -> bool:
    """Whether rows are equal."""
    if some is others:
        return True
    if isinstance(some, ColumnRows) and isinstance(others, ColumnRows) and len(some) == len(others):
        pairs = list(zip(some.columns, others.columns, strict=False))
        return len(some.columns) == len(others.columns) and all(same_values(*pair) for pair in pairs)
    return some == others


def same_values(column: Values, other: Values) -> bool:
    """Whether two columns are equal."""
    if column is other:
        return True
    if column is None or other is None:
        return False
    if isinstance(column, list) or isinstance(other, list):
        return [*_plain(column)] == [*_plain(other)]
    return bool(np.array_equal(column, other))


def _plain(column: NDArray[Any] | list[Any]) -> list[Any]:
    return column if isinstance(column, list) else column.tolist()


def _compact(column: Values) -> Values:
    """Return arrays of numbers and truths as they are, and any other array as a list."""
    if isinstance(column, np.ndarray) and column.dtype.kind not in _ARRAYS:
        return list(column.tolist())
    return column


def _cell(column: Values, place: int) -> Any:
    if column is None or isinstance(column, list):
        return column if column is None else column[place]
    found = column[place]
    return None if found is np.ma.masked else found.item()


def _taken(column: Values, places: NDArray[np.intp]) -> Values:
    if column is None or isinstance(column, list):
        return column if column is None else [column[place] for place in places.tolist()]
    found: NDArray[Any] = column[places]
    return found

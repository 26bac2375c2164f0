"""Public groups that are all combinations of listed values, as columns; and the place of each by arithmetic.

The place of a combination is a number in mixed radix, whose digits are the places of its values in their lists. So
neither a tuple nor an entry of a dictionary is needed for a group, and a column of keys is placed as a whole.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.data import Kind
from dither.data.columns import ColumnRows, KeyColumns, Values
from dither.data.expressions import Value
from dither.data.returned import Group, canonical

Places = NDArray[np.int64]


class ProductGroups(ColumnRows):
    """All combinations of some values, one list for each key; the last key changes fastest.

    Args:
        lists: the different values of each key, as ``canonical`` writes them.

    >>> tuple(ProductGroups([("a", "b"), (1, 2)]))
    (('a', 1), ('a', 2), ('b', 1), ('b', 2))

    """

    __slots__ = ("lists",)

    def __init__(self, lists: Sequence[Sequence[Value]]) -> None:
        self.lists = tuple(map(tuple, lists))
        sizes = [len(values) for values in self.lists]
        columns = [
            _repeated(values, math.prod(sizes[:place]), math.prod(sizes[place + 1 :]))
            for place, values in enumerate(self.lists)
        ]
        super().__init__(columns, math.prod(sizes))


class ProductPlaces(Mapping[Group, int]):
    """The place of each combination."""

    def __init__(self, groups: ProductGroups) -> None:
        self._groups = groups
        self._digits = [_Digits(values) for values in groups.lists]

    def of_columns(self, keys: KeyColumns) -> Places:
        """Return the place of each group of an engine's answer, whose values have the types of their kinds; -1: none.

        Args:
            keys: of the kinds of these groups.

        """
        found = np.zeros(len(keys), dtype=np.int64)
        is_known = np.ones(len(keys), dtype=np.bool_)
        for place, digits in enumerate(self._digits):
            digit = digits.of_column(keys.columns[place], len(keys))
            found = found * len(digits) + digit
            is_known &= digit >= 0
        return np.where(is_known, found, -1)

    def __getitem__(self, group: Group) -> int:
        found = 0
        for digits, value in zip(self._digits, group, strict=True):
            found = found * len(digits) + digits.by_value[value]
        return found

    def __len__(self) -> int:
        return len(self._groups)

    def __iter__(self) -> Iterator[Group]:
        return iter(self._groups)


class _Digits:
    """The place of each value in a list."""

    def __init__(self, values: tuple[Value, ...]) -> None:
        self.values = values
        self._by_value: dict[Value, int] | None = None

    @property
    def by_value(self) -> dict[Value, int]:
        if self._by_value is None:
            self._by_value = {value: place for place, value in enumerate(self.values)}
        return self._by_value

    def __len__(self) -> int:
        return len(self.values)

    def of_column(self, column: Values, length: int) -> Places:
        """Return the place of each cell; -1 where it is none of these values."""
        if isinstance(column, np.ndarray) and column.dtype == np.int64:
            listed = as_integers(self.values)
            if listed is not None:
                return np.where(np.ma.getmaskarray(column), -1, _found(np.ma.getdata(column), listed))
        cells = [None] * length if column is None else column if isinstance(column, list) else column.tolist()
        return np.fromiter((self.by_value.get(cell, -1) for cell in cells), dtype=np.int64, count=length)


def product_of(lists: Sequence[Sequence[Value]], kinds: Sequence[Kind]) -> ProductGroups | None:
    """Return all combinations; None unless the values of each key are of its kind and different.

    Args:
        lists: the values of each key.
        kinds: of each key.

    """
    found = [_canonical(values, kind) for values, kind in zip(lists, kinds, strict=True)]
    known = [values for values in found if values is not None]
    return ProductGroups(known) if len(known) == len(found) else None


def as_integers(values: Sequence[Value]) -> Places | None:
    """Return values that are all integers of 64 bits, and neither truths nor NULL, as an array; None for others."""
    if set(map(type, values)) != {int}:
        return None
    try:
        return np.array(values, dtype=np.int64)
    except OverflowError:
        return None


def is_run(integers: Places) -> bool:
    """Whether integers are consecutive, in rising order."""
    return bool((integers[1:] - integers[:-1] == 1).all())


def _canonical(values: Sequence[Value], kind: Kind) -> Sequence[Value] | None:
    integers = as_integers(values) if kind is Kind.INTEGER else None
    if integers is not None:
        return values if is_run(integers) or len(np.unique(integers)) == len(integers) else None
    known = [canonical((value,), (kind,)) for value in values]
    if None in known or len(set(known)) != len(known):
        return None
    return [value for group in known if group is not None for value in group]


def _found(cells: Places, listed: Places) -> Places:
    """Return the place of each cell among different integers; -1 where it is none of them."""
    if is_run(listed):
        # Compared before they are subtracted, which could overflow.
        is_known = (cells >= listed[0]) & (cells <= listed[-1])
        return np.where(is_known, np.where(is_known, cells, listed[0]) - listed[0], -1)
    order = np.argsort(listed)
    nearest = np.minimum(np.searchsorted(listed, cells, sorter=order), len(listed) - 1)
    places: Places = order[nearest]
    return np.where(listed[places] == cells, places, -1)


def _repeated(values: tuple[Value, ...], times: int, each: int) -> Values:
    """Return a list of values, every one ``each`` times, and the whole of it again and again."""
    integers: NDArray[Any] | None = as_integers(values)
    if integers is not None:
        return np.tile(np.repeat(integers, each), times)
    if times == each == 1:
        return list(values)
    return list(itertools.chain.from_iterable([value] * each for _ in range(times) for value in values))

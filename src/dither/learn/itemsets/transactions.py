"""Transactions: sets of items of a public universe, in two flat arrays.

An item is an integer from 0 on. What is not an item of the universe is ignored, and an
item that occurs twice occurs once. Each transaction is read by itself, so transactions added or removed change no other
one, whatever their content.

What is read of a transaction is bounded by what it holds in memory and by the universe: of a range only the items in
the universe. Classes of a caller's own are read by the methods of the class that they extend, not by theirs. What
cannot be read is as if it were not there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter, InvalidValue
from dither.exact import whole
from dither.mechanisms.core.values import raw_entries, raw_set, raw_text

Integers = NDArray[np.int64]

_WHOLE: tuple[Any, ...] = (np.integer, np.bool_)
_PLAIN_ROWS = frozenset({list, tuple, set, frozenset})
_PLAIN_NUMBERS = frozenset({int, np.int64, np.int32})
#: The largest universe: two items of it fit into one int64.
MOST_ITEMS = 2**24


@dataclass(frozen=True, eq=False)
class Transactions:
    """Transactions over the items 0 to ``items`` - 1.

    Args:
        items: the number of items; public.
        values: the items of all transactions, those of one after those of the other, sorted and without repetition.
        offsets: where each transaction begins, and where the last one ends.

    However it is made, an item counts once in a transaction: values that are not in order, or no items, are put right.

    >>> baskets = Transactions.of(5, [[2, 0, 2], [], [4, 9]])
    >>> baskets.values.tolist(), baskets.offsets.tolist()
    ([0, 2, 4], [0, 2, 2, 3])

    """

    items: int
    values: Integers
    offsets: Integers

    def __post_init__(self) -> None:
        whole("items", self.items, least=1, most=MOST_ITEMS)
        for name in ("values", "offsets"):
            array = getattr(self, name)
            if not (isinstance(array, np.ndarray) and array.dtype == np.int64 and array.ndim == 1):
                raise InvalidValue(name, array, "an array of int64 with one axis")
        values, offsets = self.values, self.offsets
        divides = offsets.size and offsets[0] == 0 and offsets[-1] == values.size and (np.diff(offsets) >= 0).all()
        if not divides:
            raise InvalidValue("offsets", offsets, "offsets that divide the values")
        owners = self.owners
        is_inside = values.size == 0 or (values.min() >= 0 and values.max() < self.items)
        if not (is_inside and (np.diff(owners * self.items + values) > 0).all()):
            mended = self._of_pairs(self.items, owners, values, len(self))
            object.__setattr__(self, "values", mended.values)
            object.__setattr__(self, "offsets", mended.offsets)

    @classmethod
    def of(cls, items: int, data: Any) -> Transactions:
        """Return the transactions of a list; a number in place of a collection is a transaction of one item."""
        universe = whole("items", items, least=1, most=MOST_ITEMS)
        if isinstance(data, Transactions):
            if data.items != universe:
                raise InvalidParameter("items", items, f"{data.items}, as the transactions have")
            return data
        if not isinstance(data, list | tuple):
            raise InvalidValue("data", data, "Transactions, or a list of collections of integers")
        flat, sizes = _flattened(data, universe)
        return cls._of_pairs(universe, np.repeat(np.arange(len(data)), sizes), flat, len(data))

    @classmethod
    def _of_pairs(cls, items: int, owners: Integers, values: Integers, count: int) -> Transactions:
        """Return transactions from the owner and the item of each value, in any order."""
        inside = (values >= 0) & (values < items)
        # Sorted by transaction and item, each pair once.
        pairs = np.unique(owners[inside] * items + values[inside])
        counts = np.bincount(pairs // items, minlength=count)
        return cls(items, pairs % items, np.concatenate([[0], np.cumsum(counts)]).astype(np.int64))

    @classmethod
    def named(cls, names: Sequence[str], data: Iterable[Any]) -> Transactions:
        """Return transactions whose items are given by name; a name that is not in the catalogue is left out.

        Args:
            names: the public catalogue: the name of each item, in the order of their numbers.
            data: the transactions; a text in place of a collection is a transaction of one item.

        >>> Transactions.named(["tea", "milk", "jam"], [["jam", "tea"], ["fish"]]).values.tolist()
        [0, 2]

        """
        numbers = {name: number for number, name in enumerate(names)}
        if len(numbers) != len(names):
            raise InvalidParameter("names", len(names), "all different")
        coded = [[numbers[name] for name in _texts(row) if name in numbers] for row in data]
        return cls.of(len(numbers), coded)

    def __len__(self) -> int:
        return self.offsets.size - 1

    @property
    def lengths(self) -> Integers:
        """The number of items of each transaction."""
        return np.diff(self.offsets)

    @property
    def owners(self) -> Integers:
        """The index of the transaction of each value."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def kept(self, mask: NDArray[np.bool_]) -> Transactions:
        """Return the same transactions with only the marked values."""
        counts = np.bincount(self.owners[mask], minlength=len(self))
        return Transactions(self.items, self.values[mask], np.concatenate([[0], np.cumsum(counts)]).astype(np.int64))

    def restricted(self, items: Integers) -> Transactions:
        """Return the transactions with only these items, renumbered by their place in ``items``."""
        place = np.full(self.items, -1, dtype=np.int64)
        place[items] = np.arange(len(items))
        shorter = self.kept(place[self.values] >= 0)
        owners, renamed = shorter.owners, place[shorter.values]
        order = np.lexsort((renamed, owners))
        return Transactions(max(len(items), 1), renamed[order], shorter.offsets)


def _flattened(rows: Any, universe: int) -> tuple[Integers, Integers]:
    """Return all numbers and the length of each transaction; quickly where all are plain, otherwise one by one.

    Both ways read a transaction alike, so that the content of one never changes what another one means.
    """
    if all(type(row) in _PLAIN_ROWS for row in rows):
        entries = [*chain.from_iterable(rows)]
        if set(map(type, entries)) <= _PLAIN_NUMBERS and (
            not entries or (max(entries) < 2**62 and min(entries) >= -(2**62))
        ):
            sizes = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
            return np.array(entries, dtype=np.int64), sizes
    read = [_read(row, universe) for row in rows]
    sizes = np.fromiter(map(len, read), dtype=np.int64, count=len(read))
    return np.array([*chain.from_iterable(read)], dtype=np.int64), sizes


def _read(row: Any, universe: int) -> list[int]:
    """Return the items of one transaction; numbers too large for an item, and other objects, are left out."""
    if type(row) is range:
        return _clipped(row, universe)
    numbers = map(_number, _entries(row))
    return [number for number in numbers if 0 <= number < universe]


def _texts(row: Any) -> list[str]:
    """Return the texts of one transaction that is given by names."""
    return [text for text in map(raw_text, () if type(row) is range else _entries(row)) if text is not None]


def _clipped(row: range, universe: int) -> list[int]:
    """Return the numbers of a range that are items, without walking through those outside.

    >>> _clipped(range(-7, 10**30, 3), 6), _clipped(range(10**30, -(10**30), -1), 3)
    ([2, 5], [0, 1, 2])
    """
    rising = row if row.step > 0 else row[::-1]
    skipped = max(0, -(rising.start // rising.step))
    return [*range(rising.start + skipped * rising.step, min(rising.stop, universe), rising.step)]


def _entries(row: Any) -> list[Any]:
    """Return what is in one transaction: of a collection its entries, else the thing itself; nothing if it raises."""
    if issubclass(type(row), np.ndarray):
        # Dates and durations would become whole numbers.
        is_flat = np.ndarray.ndim.__get__(row) == 1 and np.ndarray.dtype.__get__(row).kind not in "mMV"
        # A view that repeats one cell may be as long as it likes, and an item counts once.
        return raw_set(row) if is_flat else []
    entries = raw_entries(row)
    return [row] if entries is None else entries


def _number(entry: Any) -> int:
    """Return an entry as an integer; -1, which is not an item, if it is not an integer."""
    if type(entry) is int:
        return entry
    try:
        if issubclass(type(entry), int):
            return int.__index__(entry)
        # NumPy counts a duration as an integer.
        if issubclass(type(entry), _WHOLE) and not issubclass(type(entry), np.timedelta64):
            return int(np.generic.item(entry))
    except KeyboardInterrupt:
        raise
    except BaseException:  # its own words might show the entry
        return -1
    return -1

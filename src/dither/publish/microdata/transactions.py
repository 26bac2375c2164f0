"""Released sets of items: which sets occurred, and about how often. Post-processing only."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter


@dataclass(frozen=True)
class ItemSets:
    """Sets of items in order, each with a noisy count.

    Args:
        items: the names of all items; public.
        sets: the numbers of the items of each set, in increasing order.
        counts: how often each occurs, noisy; at least 1.

    >>> found = ItemSets(("bread", "milk", "tea"), ((0, 1), (1,)), (3, 2))
    >>> found.support(["milk"]), found.support(["bread", "milk"]), found.named()[0]
    (5, 3, (('bread', 'milk'), 3))

    """

    items: tuple[str, ...]
    sets: tuple[tuple[int, ...], ...]
    counts: tuple[int, ...]

    @property
    def total(self) -> int:
        """The estimated number of transactions."""
        return sum(self.counts)

    def named(self) -> list[tuple[tuple[str, ...], int]]:
        """Return each set by the names of its items, with its noisy count."""
        pairs = zip(self.sets, self.counts, strict=True)
        return [(tuple(self.items[item] for item in items), count) for items, count in pairs]

    def support(self, names: Iterable[str]) -> int:
        """Return how many released transactions contain all of these items."""
        wanted = list(names)
        if unknown := [name for name in wanted if name not in self.items]:
            raise InvalidParameter("names", unknown, "names of items")
        numbers = {self.items.index(name) for name in wanted}
        return sum(count for items, count in zip(self.sets, self.counts, strict=True) if numbers <= set(items))

    def records(self) -> NDArray[np.int64]:
        """Return transactions, a row for each, with a column of 0 or 1 per item."""
        rows = np.zeros((len(self.sets), len(self.items)), dtype=np.int64)
        for number, items in enumerate(self.sets):
            rows[number, list(items)] = 1
        return np.repeat(rows, np.array(self.counts, dtype=np.int64), axis=0)

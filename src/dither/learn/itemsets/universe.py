"""All sets of up to ``longest`` items, by index: candidates that need not be listed.

Smaller sets come first; among sets of one size the one whose largest item is smaller (the combinatorial number system).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb

from dither.errors import InvalidParameter
from dither.exact import whole
from dither.mechanisms.floored_choice import MOST_CANDIDATES

Itemset = tuple[int, ...]


@dataclass(frozen=True)
class Universe:
    """The sets of 1 to ``longest`` of the items 0 to ``items`` - 1.

    >>> small = Universe(4, 2)
    >>> small.size, small.rank((1, 3)), small.itemset(8)
    (10, 8, (1, 3))

    """

    items: int
    longest: int

    def __post_init__(self) -> None:
        whole("items", self.items, least=1)
        whole("longest", self.longest, least=1)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The index of the first set of each size from 1 on, and the number of all sets."""
        found = [0]
        for size in range(1, min(self.longest, self.items) + 1):
            found.append(found[-1] + comb(self.items, size))
        return tuple(found)

    @property
    def size(self) -> int:
        """The number of sets."""
        return self.starts[-1]

    def check(self) -> None:
        """Raise if there are too many sets to choose among."""
        if self.size > MOST_CANDIDATES:
            raise InvalidParameter("longest", self.longest, "small enough for at most 2^512 sets of items")

    def rank(self, itemset: Itemset) -> int:
        """Return the index of a set whose items are in increasing order."""
        return self.starts[len(itemset) - 1] + sum(comb(item, place + 1) for place, item in enumerate(itemset))

    def itemset(self, rank: int) -> Itemset:
        """Return the set with this index."""
        size = next(size for size in range(1, len(self.starts)) if rank < self.starts[size])
        left, found, limit = rank - self.starts[size - 1], [], self.items
        for place in range(size, 0, -1):
            low, high = place - 1, limit
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if comb(middle, place) <= left else (low, middle)
            found.append(low)
            left -= comb(low, place)
            limit = low
        return tuple(reversed(found))

    def listed(self) -> list[Itemset]:
        """Return all sets, in the order of their indices."""
        every: list[Itemset] = []
        for size in range(1, len(self.starts)):
            every += sorted(combinations(range(self.items), size), key=lambda itemset: itemset[::-1])
        return every

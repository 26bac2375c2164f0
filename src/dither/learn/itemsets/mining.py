"""Exact supports of itemsets: the private input of mining methods, and the truth that they are measured against.

Transactions are turned on their side: one bit for each transaction and item. The support of a set is the number of
bits that its items share. Everything here is private until it has gone through a runner.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from dither.learn.itemsets.transactions import Integers, Transactions
from dither.learn.itemsets.universe import Itemset, Universe

_WORD = 64
#: Bits that are unpacked at a time, and pairs that are counted at a time.
_CHUNK = 2**26
_PAIRS = 2**23


class Miner:
    """Supports of sets of items in transactions."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions
        self._rows: dict[int, NDArray[np.uint64]] = {}

    @cached_property
    def item_counts(self) -> Integers:
        """The number of transactions that contain each item."""
        return np.bincount(self._transactions.values, minlength=self._transactions.items).astype(np.int64)

    @cached_property
    def _by_item(self) -> tuple[Integers, Integers]:
        """The indices of the transactions of each item, and where those of each item begin."""
        order = np.argsort(self._transactions.values, kind="stable")
        starts = np.concatenate([[0], np.cumsum(self.item_counts)])
        return self._transactions.owners[order], starts

    def holders(self, item: int) -> Integers:
        """Return the indices of the transactions with this item."""
        owners, starts = self._by_item
        return owners[starts[item] : starts[item + 1]]

    def supports(self, sets: Sequence[Itemset]) -> Integers:
        """Return the number of transactions that contain each set of at least one item."""
        found = np.empty(len(sets), dtype=np.int64)
        order = sorted(range(len(sets)), key=lambda number: sets[number])
        width = max(1, _CHUNK // max(len(self._transactions), 1))
        for prefix, group in groupby(order, key=lambda number: sets[number][:-1]):
            numbers = list(group)
            shared = np.bitwise_and.reduce([self._row(item) for item in prefix]) if prefix else None
            for start in range(0, len(numbers), width):
                some = numbers[start : start + width]
                rows = np.stack([self._row(sets[number][-1]) for number in some])
                found[some] = _ones(rows if shared is None else rows & shared)
        return found

    def every(self, universe: Universe) -> Integers:
        """Return the support of every set of a universe that is small enough to be listed, by index."""
        items = np.arange(universe.items)
        found = [self.item_counts]
        if universe.longest > 1 and universe.items > 1:
            table = self.pair_counts(items)
            found.append(table.T[np.tril_indices(universe.items, -1)])
        longer = universe.listed()[sum(part.size for part in found) :]
        return np.concatenate([*found, self.supports(longer)]) if longer else np.concatenate(found)

    def patterns(self, items: Itemset) -> Integers:
        """Return the number of transactions with each combination of items: bit i of an index stands for item i."""
        places = np.zeros(len(self._transactions), dtype=np.int64)
        for number, item in enumerate(items):
            places[self.holders(item)] |= 1 << number
        return np.bincount(places, minlength=1 << len(items)).astype(np.int64)

    def _row(self, item: int) -> NDArray[np.uint64]:
        """Return the bits of one item; cached, because searches ask for the same items again."""
        if item not in self._rows:
            self._rows[item] = self.bits(np.array([item]))[0]
        return self._rows[item]

    def pair_counts(self, items: Integers) -> Integers:
        """Return a square table: above the diagonal, the number of transactions that contain both items."""
        few = self._transactions.restricted(items)
        width = few.items
        table = np.zeros(width * width, dtype=np.int64)
        values, owners = few.values, few.owners
        waiting: list[Integers] = []
        for apart in range(1, int(few.lengths.max(initial=0))):
            same = owners[apart:] == owners[:-apart]
            waiting.append(values[:-apart][same] * width + values[apart:][same])
            if sum(part.size for part in waiting) > _PAIRS:
                table += np.bincount(np.concatenate(waiting), minlength=table.size)
                waiting = []
        if waiting:
            table += np.bincount(np.concatenate(waiting), minlength=table.size)
        return table.reshape(width, width)

    def bits(self, items: Integers) -> NDArray[np.uint64]:
        """Return a row for each of these items, with a bit for each transaction."""
        count = len(self._transactions)
        words = -(-count // _WORD)
        rows = np.zeros((len(items), words), dtype=np.uint64)
        step = max(1, _CHUNK // max(words * _WORD, 1))
        for start in range(0, len(items), step):
            some = items[start : start + step].tolist()
            marks = np.zeros((len(some), words * _WORD), dtype=bool)
            for place, item in enumerate(some):
                marks[place, self.holders(item)] = True
            rows[start : start + step] = np.packbits(marks, axis=1).view(np.uint64)
        return rows

    def top(self, count: int, longest: int, least: int = 0) -> list[tuple[Itemset, int]]:
        """Return the ``count`` sets of largest support, best first, of at most ``longest`` items each.

        Only sets whose support is above ``least``. A set is never in fewer transactions than a larger set that holds
        it, so a search that always takes the best set at hand finds them in order.
        """
        counts = self.item_counts
        order = np.argsort(-counts, kind="stable")[:count]
        order = order[counts[order] > least]
        if not order.size:
            return []
        # Sets of many items are held by the places of their items in ``order``.
        heap: list[tuple[int, int, Itemset, Itemset]] = [
            (-int(counts[item]), 1, (place,), ()) for place, item in enumerate(order.tolist())
        ]
        pairs = self.pair_counts(order) if longest > 1 else None
        bound = least + 1 if pairs is None else _bound(counts[order], pairs, count, least)
        bits = self.bits(order) if longest > 2 else None
        heapq.heapify(heap)
        found: list[tuple[Itemset, int]] = []
        while heap and len(found) < count:
            negative, size, places, tail = heapq.heappop(heap)
            found.append((tuple(sorted(int(order[place]) for place in places)), -negative))
            if size == longest or pairs is None:
                continue
            for child in self._children(places, tail, pairs, bits, bound):
                heapq.heappush(heap, child)
        return found

    def _children(
        self, places: Itemset, tail: Itemset, pairs: Integers, bits: NDArray[np.uint64] | None, bound: int
    ) -> Iterator[tuple[int, int, Itemset, Itemset]]:
        """Return the sets that have one more item, later in the order, and enough support."""
        if len(places) == 1:
            last = places[0]
            later = np.flatnonzero(pairs[last] >= bound)
            supports = pairs[last][later]
        else:
            if not tail or bits is None:
                return
            later = np.array(tail)
            later = later[pairs[places[-1]][later] >= bound]
            shared = _shared(bits, list(places))
            supports = _ones(bits[later] & shared) if shared is not None else np.zeros(0, dtype=np.int64)
            enough = supports >= bound
            later, supports = later[enough], supports[enough]
        kept = later.tolist()
        for number, (place, support) in enumerate(zip(kept, supports.tolist(), strict=True)):
            yield -support, len(places) + 1, (*places, place), tuple(kept[number + 1 :])


def _bound(singles: Integers, pairs: Integers, count: int, least: int) -> int:
    """Return a support that each of the ``count`` best sets has at least, from sets of one and two items alone."""
    seen = np.concatenate([singles, pairs[pairs > least]])
    if seen.size <= count:
        return least + 1
    return max(least + 1, int(np.partition(seen, seen.size - count)[seen.size - count]))


def _shared(bits: NDArray[np.uint64], rows: Iterable[int]) -> NDArray[np.uint64] | None:
    chosen = list(rows)
    return np.bitwise_and.reduce(bits[chosen], axis=0) if chosen else None


def _ones(rows: NDArray[np.uint64]) -> Integers:
    counts: Integers = np.bitwise_count(rows).sum(axis=1, dtype=np.int64)
    return counts

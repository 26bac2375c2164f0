"""Truncated transactions: cut to a length, so that one of them moves few counts, and counted level by level.

For short transactions, where few are cut. A transaction of at most l items is in at most C(l, i) sets of i items, and
that many noisy counts tell of it, in place of all candidates. Cost: one pass a level. How a transaction is cut depends
on that transaction and on released numbers alone, so cutting makes no two collections differ by more transactions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Final

import numpy as np

from dither.errors import InvalidParameter
from dither.exact import Maybe, Whole
from dither.learn.itemsets.candidates import joined
from dither.learn.itemsets.common import ItemsetMethod, Itemsets, counted
from dither.learn.itemsets.mining import Miner
from dither.learn.itemsets.transactions import Integers, Transactions
from dither.learn.itemsets.universe import Itemset
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.privacy import ZCDP, Plan, PureDP, Within

#: The share for finding the limit, where it is paid for, and the share of transactions that it should leave whole.
_FINDING: Final = Fraction(1, 20)
_WHOLE: Final = 0.85
_LONGEST_TRANSACTION: Final = 2**12
#: Candidates of a level: more could not be counted in memory.
_MOST_CANDIDATES: Final = 2**18
_MIX: Final = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9)


def _examples() -> Iterator[Example]:
    rows = [(0, 1), (0, 1, 2), (2,), (0,)]
    yield Example(TruncatedApriori(items=2, chosen=2, longest=2, budget=PureDP(2), limit=1), rows)
    yield Example(TruncatedApriori(items=5, chosen=4, longest=2, budget=ZCDP(8), tallest=3), [*rows, (4, 3, 2, 1, 0)])


@register(
    examples=_examples,
    source="On Differentially Private Frequent Itemset Mining (Zeng, Naughton, Cai 2012)",
)
@dataclass(frozen=True, kw_only=True)
class TruncatedApriori(ItemsetMethod):
    """Cut transactions to a length; count items, then pairs of frequent items, and so on; and keep the best.

    Guarantee: transactions of which ``d_in`` come or go lose ``budget`` for each.

    Args:
        limit: the length that transactions are cut to; public, or None for one found with a twentieth of the budget.
        tallest: the longest length that is told apart when it is found; longer transactions count as that long.

    >>> TruncatedApriori(items=100, chosen=20, budget=PureDP(1), limit=5).loss(1).epsilon
    Fraction(1, 1)

    """

    name: ClassVar[str] = "truncated-apriori"

    limit: Maybe = Maybe(Whole(least=1, most=_LONGEST_TRANSACTION))
    tallest: Whole = Whole(64, least=1, most=_LONGEST_TRANSACTION)

    def __post_init__(self) -> None:
        if self.items > 2**20:
            raise InvalidParameter("items", self.items, "at most 2^20: each gets a noisy count")

    def plan(self) -> Plan:
        """Return one budget for all levels: the number of counts of a level follows from the level before."""
        return Within(self.purse.loss, (Geometric, DiscreteGaussian))

    @cached_property
    def _level(self) -> Purse:
        """The budget of each level."""
        rest = 1 if self.limit is not None else 1 - _FINDING
        return self.purse.share(rest / Fraction(self.longest))

    def release(self, data: Any, run: Runner) -> Itemsets:
        """Return the best sets of all levels."""
        transactions, _ = self.read(data)
        within = run.within()
        limit = self.limit or self._found(transactions, within)
        short = truncated(transactions, limit, hashed_order(transactions))
        noisy = counted(within, self._level, Miner(short).item_counts, min(limit, self.items))
        known: dict[Itemset, float] = {(item,): support for item, support in enumerate(noisy)}
        importance = np.argsort(np.argsort(-np.array(noisy), kind="stable"), kind="stable")
        for size in range(2, self.longest + 1):
            candidates = joined(self._kept(known, size - 1), _MOST_CANDIDATES)
            if not candidates:
                break
            # Items outside all candidates can be dropped; of the others the frequent ones are kept.
            useful = np.zeros(self.items, dtype=bool)
            useful[[item for itemset in candidates for item in itemset]] = True
            left = transactions.kept(useful[transactions.values])
            short = truncated(left, limit, importance[left.values])
            supports = Miner(short).supports(candidates)
            touched = min(math.comb(limit, size), len(candidates))
            if touched:
                known |= zip(candidates, counted(within, self._level, supports, touched), strict=True)
        return Itemsets.ranked(list(known), known.values(), self.chosen)

    def _kept(self, known: dict[Itemset, float], size: int) -> list[Itemset]:
        """Return the sets of one size among the best so far."""
        best = Itemsets.ranked(list(known), known.values(), self.chosen)
        return [itemset for itemset in best.sets if len(itemset) == size]

    def _found(self, transactions: Transactions, run: Runner) -> int:
        """Return a length that most transactions do not exceed, from a noisy histogram of lengths."""
        lengths = np.clip(transactions.lengths, 1, self.tallest)
        histogram = np.bincount(lengths - 1, minlength=self.tallest)
        noisy = np.cumsum(np.maximum(counted(run, self.purse.share(_FINDING), histogram, 1), 0.0))
        return 1 + int(np.searchsorted(noisy, _WHOLE * noisy[-1]))


def truncated(transactions: Transactions, limit: int, order: Integers) -> Transactions:
    """Return the first ``limit`` items of each transaction, in an order given value by value."""
    owners = transactions.owners
    by_order = np.lexsort((order, owners))
    rank = np.empty(owners.size, dtype=np.int64)
    rank[by_order] = np.arange(owners.size) - transactions.offsets[owners[by_order]]
    return transactions.kept(rank < limit)


def hashed_order(transactions: Transactions) -> Integers:
    """Return a pseudo-random order of the items of each transaction, which depends on its own items alone."""
    first, second = (np.uint64(factor) for factor in _MIX)
    mixed = (transactions.values.astype(np.uint64) + np.uint64(1)) * first
    mixed = (mixed ^ (mixed >> np.uint64(31))) * second
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(mixed)])
    # The sum over a transaction wraps around alike wherever it stands among the others.
    own = sums[transactions.offsets[1:]] - sums[transactions.offsets[:-1]]
    joint = (mixed ^ own[transactions.owners]) * first
    order: Integers = ((joint ^ (joint >> np.uint64(29))) >> np.uint64(1)).astype(np.int64)
    return order

"""What methods that mine itemsets share: their public parameters, their releases, and their draws.

Under transactions added or removed all supports move the same way, by 0 or 1 each, so a choice by
support costs half of what arbitrary scores would (``one_way``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar, Self

from dither.exact import Whole
from dither.learn.cell_noise import Moves, noisy_cells
from dither.learn.itemsets.mining import Miner
from dither.learn.itemsets.transactions import MOST_ITEMS, Integers, Transactions
from dither.learn.itemsets.universe import Itemset
from dither.lift.stored import keep
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.purse import Purse, Spending
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.core.spec import Codec
from dither.mechanisms.top_k import TopK
from dither.privacy import ROW, Loss, Unit

#: The longest set that may be asked for, and the most sets.
LONGEST = 32
MOST_CHOSEN = 2**14


@dataclass(frozen=True)
class Itemsets:
    """Sets of items and their noisy supports, the best first.

    >>> Itemsets(((0,), (0, 3)), (9.5, 4.0)).named(["tea", "milk", "bread", "jam"])
    {('tea',): 9.5, ('tea', 'jam'): 4.0}
    """

    sets: tuple[Itemset, ...]
    supports: tuple[float, ...]

    @classmethod
    def ranked(cls, sets: Sequence[Itemset], supports: Iterable[float], most: int | None = None) -> Itemsets:
        """Return sets in decreasing order of support; among equal ones the shorter first."""
        pairs = sorted(zip(sets, map(float, supports), strict=True), key=lambda one: (-one[1], len(one[0]), one[0]))
        return cls(tuple(itemset for itemset, _ in pairs[:most]), tuple(support for _, support in pairs[:most]))

    def __len__(self) -> int:
        return len(self.sets)

    def named(self, names: Sequence[Any]) -> dict[tuple[Any, ...], float]:
        """Return the supports, keyed by the names of items."""
        return {
            tuple(names[item] for item in itemset): support
            for itemset, support in zip(self.sets, self.supports, strict=True)
        }

    def consistent(self) -> Itemsets:
        """Return the same sets, none with more support than a subset of it; post-processing."""
        known = dict(zip(self.sets, self.supports, strict=True))
        for itemset in sorted(known, key=len):
            parts = (known.get(part) for part in combinations(itemset, len(itemset) - 1))
            known[itemset] = min([known[itemset], *(support for support in parts if support is not None)])
        return Itemsets.ranked(list(known), known.values())


def _write(found: Itemsets) -> Any:
    return [[*map(list, found.sets)], [*map(float, found.supports)]]


def _read(record: Any) -> Itemsets:
    sets, supports = record
    return Itemsets(tuple(map(tuple, sets)), tuple(map(float, supports)))


keep("itemsets", Codec(Itemsets, _write, _read))


def moves(touched: int) -> Moves:
    """Return how far the counts move when a transaction moves ``touched`` of them by 1 each."""
    return Moves(touched, touched)


def counted(run: Runner, purse: Purse, counts: Integers, touched: int) -> list[float]:
    """Return counts with noise for the whole purse; one transaction moves at most ``touched`` of them by 1 each."""
    if not counts.size:
        return []
    node = moves(touched).noise(purse)
    return list(map(float, noisy_cells(run, node, counts, moves(touched).stability(node))))


def best_of(run: Runner, purse: Purse, scores: Integers, chosen: int) -> list[int]:
    """Return the indices of ``chosen`` candidates, by scores that one transaction moves one way, by 0 or 1."""
    most = min(chosen, scores.size)
    if not most:
        return []
    part = TopK(candidates=scores.size, chosen=most, scale=(purse / most).choice(one_way=True), one_way=True)
    return [int(number) for number in run(part, scores)]


@dataclass(frozen=True, kw_only=True)
class ItemsetMethod(Composed[Any, Itemsets]):
    """Mines frequent itemsets; the unit is one transaction added or removed.

    Args:
        items: the number of items, numbered from 0; public.
        chosen: the number of sets to release.
        longest: the largest number of items of a set.
        budget: the largest loss of one transaction, pure or in rho.

    """

    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "which sets are found depends on the differences between their supports"
    no_interval_because: ClassVar[str] = (
        "supports of sets that were chosen for being large have an error that depends on the data"
    )

    items: Whole = Whole(least=1, most=MOST_ITEMS)
    chosen: Whole = Whole(least=1, most=MOST_CHOSEN)
    longest: Whole = Whole(3, least=1, most=LONGEST)
    budget: Spending = Spending()

    @classmethod
    def calibrated(cls, within: Loss, *, items: int, chosen: int, **parameters: Any) -> Self:
        """Return the method within ``within`` for one transaction.

        Args:
            within: the loss not to exceed; a pure one gives geometric noise, any other Gaussian noise.
            items: the number of items.
            chosen: the number of sets to release.
            parameters: the other fields.

        """
        return cls(items=items, chosen=chosen, budget=Purse.within(within).loss, **parameters)

    @property
    def distance(self) -> Unit:
        """Transactions added or removed."""
        return ROW

    @cached_property
    def purse(self) -> Purse:
        """The whole loss there is to spend."""
        return Purse.of(self.budget)

    def read(self, data: Any) -> tuple[Transactions, Miner]:
        """Return private transactions, and the miner that counts them."""
        transactions = Transactions.of(self.items, data)
        return transactions, Miner(transactions)

"""PrivBasis: items and pairs are chosen first and grouped into bases; then every set within a base is counted at once.

For dense data whose frequent sets are made of few items: a dozen items have 4096 patterns, one noisy histogram of which
gives the supports of all their sets. Cost: one exact search, one pass over the transactions for each base. Every
stage is paid: how many items matter, which, which pairs, and the counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any, ClassVar, Final

import numpy as np

from dither.exact import Whole
from dither.learn.itemsets.bases import bases_of
from dither.learn.itemsets.common import ItemsetMethod, Itemsets, best_of, counted
from dither.learn.itemsets.mining import Miner
from dither.learn.itemsets.patterns import supports_of
from dither.learn.itemsets.universe import Itemset
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.exponential import Exponential
from dither.mechanisms.geometric import Geometric
from dither.mechanisms.top_k import TopK
from dither.privacy import ZCDP, Plan, PureDP, Within

#: Shares for how many items matter, for choosing items and pairs, and for counting.
_ITEMS_THAT_MATTER: Final = "1/10"
_CHOOSING: Final = "2/5"
_COUNTING: Final = "1/2"
#: So many more sets than wanted are looked for, since the last ones are the most uncertain.
_MORE: Final = 1.1


def _examples() -> Iterator[Example]:
    rows = [(0, 1), (0, 1, 2), (2,), (0,)]
    yield Example(PrivBasis(items=2, chosen=2, longest=2, budget=PureDP(2)), rows)
    yield Example(PrivBasis(items=6, chosen=4, longest=2, budget=ZCDP(8), widest=2), [*rows, (3, 4), (3, 4, 5)])


@register(
    examples=_examples,
    source="PrivBasis: Frequent Itemset Mining with Differential Privacy (Li, Qardaji, Su, Cao 2012)",
)
@dataclass(frozen=True, kw_only=True)
class PrivBasis(ItemsetMethod):
    """Choose items and pairs, group them into bases, count the patterns of each base, and add up.

    Guarantee: transactions of which ``d_in`` come or go lose ``budget`` for each: a tenth for how many items matter,
    two fifths for choosing items and pairs, half for counting.

    Args:
        widest: the largest number of items of a base.

    >>> PrivBasis(items=100, chosen=20, longest=4, budget=PureDP(1)).loss(1).epsilon
    Fraction(1, 1)

    """

    name: ClassVar[str] = "priv-basis"

    widest: Whole = Whole(12, least=1, most=16)

    @property
    def _sought(self) -> int:
        """The number of sets that are looked for."""
        return math.ceil(_MORE * self.chosen)

    def plan(self) -> Plan:
        """Return one budget for all steps: what is chosen and counted follows from earlier choices."""
        return Within(self.purse.loss, (Exponential, TopK, Geometric, DiscreteGaussian))

    def release(self, data: Any, run: Runner) -> Itemsets:
        """Return the best sets within the bases."""
        _, miner = self.read(data)
        within = run.within()
        items, pairs = self._chosen(miner, self._matter(miner, within), within)
        groups = (
            [tuple(items)]
            if len(items) <= self.widest
            else bases_of(items, pairs, self.widest, power=2 if self.purse.is_pure else 1)
        )
        tables = [miner.patterns(group) for group in groups]
        noisy = counted(within, self.purse.share(_COUNTING), np.concatenate(tables), len(groups))
        pieces = np.split(np.array(noisy), np.cumsum([table.size for table in tables])[:-1])
        found = supports_of(groups, pieces, self.longest)
        return Itemsets.ranked(list(found), (support for support, _ in found.values()), self.chosen)

    def _matter(self, miner: Miner, run: Runner) -> int:
        """Return the number of items that the sets consist of: the rank of the item as frequent as the last set."""
        most = min(self.items, self._sought)
        best = miner.top(self._sought, self.longest)
        last = best[-1][1] if len(best) == self._sought else 0
        by_rank = np.sort(miner.item_counts)[::-1][:most]
        # Both move the same way by 0 or 1, so their distance moves by at most 1, either way.
        scale = self.purse.share(_ITEMS_THAT_MATTER).choice()
        return 1 + int(run(Exponential(candidates=most, scale=scale), -np.abs(by_rank - last)))

    def _chosen(self, miner: Miner, matter: int, run: Runner) -> tuple[list[int], list[Itemset]]:
        """Return chosen items and, where one base cannot hold them, chosen pairs of them."""
        purse = self.purse.share(_CHOOSING)
        if matter <= self.widest:
            return sorted(best_of(run, purse, miner.item_counts, matter)), []
        sought = max(self._sought - matter, 1)
        items = sorted(best_of(run, _part(purse, matter, sought), miner.item_counts, matter))
        every = list(combinations(items, 2))
        table = miner.pair_counts(np.array(items))[np.triu_indices(len(items), 1)]
        return items, [every[number] for number in best_of(run, _part(purse, sought, matter), table, sought)]


def _part(purse: Purse, some: int, others: int) -> Purse:
    """Return a share in proportion to the number of candidates chosen."""
    return purse.share(Fraction(some, some + others))

"""Best-first search: k sets chosen one after the other, each among those whose smaller parts were already chosen.

The method to take unless something speaks for another. A set is never in more transactions than its parts, so the k
best sets can be found by always taking the best set at hand, and only sets one item longer than what was taken need to
be looked at. Here each step is taken by the exponential mechanism: k choices, among as many candidates as there are
items and a few more, in place of all sets. Cost: one pass over the candidates a choice, and supports of new candidates.
Under rho the noise of k choices grows with the root of k.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from dither.exact import Positive
from dither.learn.itemsets.common import ItemsetMethod, Itemsets, moves
from dither.learn.itemsets.mining import Miner
from dither.learn.itemsets.universe import Itemset, Universe
from dither.mechanisms.core.purse import CountNoise
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.exponential import Exponential
from dither.privacy import ZCDP, InOrder, Plan, PureDP, Use, Within

#: Of a budget; a smaller one buys nothing.
_SMALLEST_SHARE = Fraction(1, 2**40)


def _examples() -> Iterator[Example]:
    rows = [(0, 1), (0, 1, 2), (2,), (0,)]
    yield Example(BestFirstItemsets(items=2, chosen=2, longest=2, budget=PureDP(2)), rows)
    yield Example(BestFirstItemsets(items=9, chosen=3, longest=2, budget=ZCDP(8)), rows)


@register(
    examples=_examples,
    source="Practical Differentially Private Top-k Selection (Durfee, Rogers 2019), section 4; levels as in Fast "
    "Algorithms for Mining Association Rules (Agrawal, Srikant 1994), section 2.1",
)
@dataclass(frozen=True, kw_only=True)
class BestFirstItemsets(ItemsetMethod):
    """Choose the k best sets one after the other, subsets before supersets, and count them with noise.

    Guarantee: transactions of which ``d_in`` come or go lose ``budget`` for each.

    Args:
        counting: the share of the budget for counting; the rest is for choosing.

    >>> from dither.privacy import ApproxDP
    >>> method = BestFirstItemsets.calibrated(ApproxDP(1, "1e-8"), items=10_000, chosen=100)
    >>> method.loss(1).to_approx("1e-8").epsilon <= 1, round(method.scale)
    (True, 30)

    """

    name: ClassVar[str] = "best-first-itemsets"

    counting: Positive = Positive("1/5", least=_SMALLEST_SHARE, most=1 - _SMALLEST_SHARE)

    @cached_property
    def _most(self) -> int:
        return min(self.chosen, Universe(self.items, self.longest).size)

    @cached_property
    def scale(self) -> Fraction:
        """The scale of a choice: the extra support that makes a set e times as likely."""
        return (self.purse.share(1 - self.counting) / self._most).choice(one_way=True)

    @cached_property
    def counter(self) -> CountNoise:
        """The noise of the chosen sets."""
        return replace(moves(self._most).noise(self.purse.share(self.counting)), shape=(self._most,))

    def plan(self) -> Plan:
        """Choose among candidates that follow from earlier choices, then count; a transaction may be in all sets."""
        choices = Within(self.purse.share(1 - self.counting).loss, (Exponential,))
        return InOrder.of(choices, Use(self.counter, moves(self._most).stability(self.counter)))

    def release(self, data: Any, run: Runner) -> Itemsets:
        """Return the chosen sets with their noisy supports; no set has more support than its subsets."""
        _, miner = self.read(data)
        chosen = self._search(miner, run.within())
        noisy = run(self.counter, miner.supports(chosen), stability=moves(self._most).stability(self.counter))
        return Itemsets.ranked(chosen, noisy).consistent()

    def _search(self, miner: Miner, run: Runner) -> list[Itemset]:
        candidates: list[Itemset] = [(item,) for item in range(self.items)]
        scores = miner.item_counts.copy()
        chosen: dict[Itemset, None] = {}
        while len(chosen) < self._most:
            chooser = Exponential(candidates=len(candidates), scale=self.scale, one_way=True)
            number = int(run(chooser, scores))
            taken = candidates.pop(number)
            scores = np.delete(scores, number)
            chosen[taken] = None
            more = successors(taken, chosen) if len(taken) < self.longest else []
            if more:
                candidates += more
                scores = np.concatenate([scores, miner.supports(more)])
        return list(chosen)


def successors(taken: Itemset, chosen: dict[Itemset, None]) -> list[Itemset]:
    """Return the sets one item longer than ``taken`` that become candidates because ``taken`` was chosen.

    >>> successors((1,), dict.fromkeys([(0,), (3,), (1,)]))
    [(0, 1), (1, 3)]
    """
    found = []
    for single in sorted(itemset for itemset in chosen if len(itemset) == 1):
        if single[0] not in taken:
            longer = tuple(sorted((*taken, *single)))
            if all(part in chosen for part in combinations(longer, len(taken))):
                found.append(longer)
    return found

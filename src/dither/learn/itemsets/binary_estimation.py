"""Binary estimation: the number of frequent sets of each size is found by binary search, and then that many are chosen.

For a public threshold on supports. The support of the m-th best candidate falls with m, so a handful of noisy looks
find where it crosses the threshold; the sparse vector would pay for each set above it. Cost: the supports of the
candidates of each size, and a pass over them for each set chosen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Final

import numpy as np

from dither.exact import Whole
from dither.learn.itemsets.candidates import joined
from dither.learn.itemsets.common import ItemsetMethod, Itemsets, best_of, counted
from dither.learn.itemsets.transactions import Integers
from dither.learn.itemsets.universe import Itemset
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.mechanisms.top_k import TopK
from dither.privacy import ZCDP, Plan, PureDP, Within

#: Shares for the searches, for choosing and for counting.
_SEARCHING: Final = Fraction(1, 5)
_CHOOSING: Final = Fraction(1, 2)
_COUNTING: Final = Fraction(3, 10)
_MOST_CANDIDATES: Final = 2**18


def _examples() -> Iterator[Example]:
    rows = [(0, 1), (0, 1, 2), (2,), (0,)]
    yield Example(BinaryEstimation(items=2, chosen=2, longest=2, budget=PureDP(2), threshold=2), rows)
    yield Example(BinaryEstimation(items=4, chosen=3, longest=3, budget=ZCDP(8), threshold=1), rows)


@register(
    examples=_examples,
    source="Differentially Private Frequent Subgraph Mining (Xu, Su, Xiong, Cheng, Xiao 2016), on itemsets",
    made_for={"threshold": 1},
)
@dataclass(frozen=True, kw_only=True)
class BinaryEstimation(ItemsetMethod):
    """Find the number of sets of each size that reach a threshold, choose that many, and count all of them with noise.

    Guarantee: transactions of which ``d_in`` come or go lose ``budget`` for each: a fifth for the searches, half for
    choosing, the rest for counting.

    ``chosen`` is the most sets of each size that are looked for.

    Args:
        threshold: the public support from which a set is frequent.

    >>> method = BinaryEstimation(items=100, chosen=20, budget=PureDP(1), threshold=50)
    >>> method.loss(1).epsilon, method.looks
    (Fraction(1, 1), 5)

    """

    name: ClassVar[str] = "binary-estimation"

    threshold: Whole = Whole(least=1, most=2**60)

    @property
    def looks(self) -> int:
        """The largest number of noisy comparisons that a search makes: it tells 0 to ``chosen`` apart."""
        return self.chosen.bit_length()

    def plan(self) -> Plan:
        """Return one budget for all steps: what is chosen and counted follows from the searches."""
        return Within(self.purse.loss, (TopK, Geometric, DiscreteGaussian))

    @cached_property
    def _look(self) -> Purse:
        return self.purse.share(_SEARCHING / (self.longest * self.looks))

    def release(self, data: Any, run: Runner) -> Itemsets:
        """Return the chosen sets of all sizes; no set has more noisy support than one of its subsets."""
        _, miner = self.read(data)
        within = run.within()
        found: list[Itemset] = []
        candidates: list[Itemset] = [(item,) for item in range(self.items)]
        for size in range(1, self.longest + 1):
            supports = miner.item_counts if size == 1 else miner.supports(candidates)
            frequent = self._frequent(supports, within)
            if not frequent:
                break
            numbers = best_of(within, self.purse.share(_CHOOSING / self.longest), supports, frequent)
            level = [candidates[number] for number in numbers]
            found += level
            candidates = joined(level, _MOST_CANDIDATES)
            if not candidates:
                break
        noisy = counted(within, self.purse.share(_COUNTING), miner.supports(found), len(found))
        return Itemsets.ranked(found, noisy).consistent()

    def _frequent(self, supports: Integers, run: Runner) -> int:
        """Return the approximate number of supports that reach the threshold."""
        by_rank = np.sort(supports)[::-1]
        low, high = 0, min(self.chosen, supports.size)
        while low < high:
            middle = (low + high + 1) // 2
            (seen,) = counted(run, self._look, by_rank[middle - 1 : middle], 1)
            low, high = (middle, high) if seen >= self.threshold else (low, middle - 1)
        return low

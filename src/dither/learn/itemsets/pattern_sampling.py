"""Exact sampling of patterns: the k best of all sets, by the exponential mechanism over the full list.

For universes small enough to list. It is the law that a Markov chain over the lattice of patterns has in the limit; a
chain that is stopped has another one, whose loss has no bound. Cost: the supports of all sets, and a pass over them
for each set chosen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Final

from dither.errors import InvalidParameter
from dither.learn.itemsets.common import ItemsetMethod, Itemsets, moves
from dither.learn.itemsets.universe import Universe
from dither.mechanisms.core.purse import CountNoise, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.top_k import TopK
from dither.privacy import ZCDP, InOrder, Plan, PureDP, Use

#: Sets that are listed, and of which each has a weight.
MOST_PATTERNS: Final = 2**20


def _examples() -> Iterator[Example]:
    rows = [(0, 1), (0, 1, 2), (2,), (0,)]
    yield Example(PatternSampling(items=2, chosen=2, longest=2, budget=PureDP(2)), rows)
    yield Example(PatternSampling(items=4, chosen=1, longest=3, budget=ZCDP("1/8")), rows)


@register(
    examples=_examples,
    source="Mining Frequent Graph Patterns with Differential Privacy (Shen, Yu 2013), at stationarity, on itemsets",
    reference=True,
)
@dataclass(frozen=True, kw_only=True)
class PatternSampling(ItemsetMethod):
    """Choose sets by their supports from the full list of sets, and count the chosen ones with noise.

    Guarantee: transactions of which ``d_in`` come or go lose ``budget`` for each, half of it for choosing and half for
    counting.

    >>> method = PatternSampling(items=100, chosen=10, longest=2, budget=PureDP(1))
    >>> method.loss(1).epsilon, method.chooser.candidates
    (Fraction(1, 1), 5050)
    """

    name: ClassVar[str] = "pattern-sampling"

    def __post_init__(self) -> None:
        if self.universe.size > MOST_PATTERNS:
            rule = f"small enough for at most {MOST_PATTERNS} sets (truncated-frequency does not list them)"
            raise InvalidParameter("longest", self.longest, rule)

    @cached_property
    def universe(self) -> Universe:
        """The candidates."""
        return Universe(self.items, self.longest)

    @cached_property
    def _half(self) -> Purse:
        return self.purse.share("1/2")

    @cached_property
    def chooser(self) -> TopK:
        """The choice among all sets."""
        most = min(self.chosen, self.universe.size)
        return TopK(
            candidates=self.universe.size, chosen=most, scale=(self._half / most).choice(one_way=True), one_way=True
        )

    @cached_property
    def counter(self) -> CountNoise:
        """The noise of the chosen sets."""
        return replace(moves(self.chooser.chosen).noise(self._half), shape=(self.chooser.chosen,))

    def plan(self) -> Plan:
        """Choose, then count; a transaction may be in all chosen sets."""
        return InOrder.of(Use(self.chooser), Use(self.counter, moves(self.chooser.chosen).stability(self.counter)))

    def release(self, data: Any, run: Runner) -> Itemsets:
        """Return the chosen sets with their noisy supports."""
        _, miner = self.read(data)
        supports = miner.every(self.universe)
        ranks = run(self.chooser, supports)
        sets = [self.universe.itemset(int(rank)) for rank in ranks]
        noisy = run(self.counter, supports[ranks], stability=moves(self.chooser.chosen).stability(self.counter))
        return Itemsets.ranked(sets, noisy)

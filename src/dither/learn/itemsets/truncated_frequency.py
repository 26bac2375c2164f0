"""Truncated frequency: the k best of all sets up to a length, where those below a floor are drawn as one.

For a few short sets among many items. Supports below a private floor are raised to it, and the sets there need never
be listed: there may be 10^30 of them. Cost: one exact search for the best sets and a pass over those above the floor
for each set chosen. Correction: the floor moves with the data, and scores raised to it still move by 1 only because
both move the same way; and where the floor would lie below 0, in print the end of the method, a limit on how many sets
are listed takes its place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from dither.exact import Whole
from dither.learn.itemsets.common import MOST_CHOSEN, ItemsetMethod, Itemsets, moves
from dither.learn.itemsets.floored import floored, margin_of
from dither.learn.itemsets.universe import Universe
from dither.mechanisms.core.purse import CountNoise, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.floored_choice import FlooredTopK
from dither.privacy import ZCDP, InOrder, Plan, PureDP, Use


def _examples() -> Iterator[Example]:
    rows = [(0, 1), (0, 1, 2), (2,), (0,)]
    yield Example(TruncatedFrequency(items=3, chosen=2, longest=2, budget=PureDP(2), listed=2), rows)
    yield Example(TruncatedFrequency(items=40, chosen=1, longest=3, budget=ZCDP("1/8")), [*rows, (7, 39, 3)])


@register(
    examples=_examples,
    source="Discovering Frequent Patterns in Sensitive Data (Bhaskar, Laxman, Smith, Thakurta 2010)",
)
@dataclass(frozen=True, kw_only=True)
class TruncatedFrequency(ItemsetMethod):
    """Choose sets by their supports, raised to a floor, and count the chosen ones with noise.

    Guarantee: transactions of which ``d_in`` come or go lose ``budget`` for each, half of it for choosing and half for
    counting.

    Args:
        listed: the largest number of sets that are told apart; all others are at the floor.

    >>> method = TruncatedFrequency(items=1000, chosen=10, budget=PureDP(1))
    >>> method.loss(1).epsilon, method.chooser.candidates
    (Fraction(1, 1), 166667500)

    """

    name: ClassVar[str] = "truncated-frequency"

    listed: Whole = Whole(1000, least=1, most=MOST_CHOSEN)

    def __post_init__(self) -> None:
        self.universe.check()

    @cached_property
    def universe(self) -> Universe:
        """The candidates."""
        return Universe(self.items, self.longest)

    @cached_property
    def _half(self) -> Purse:
        return self.purse.share("1/2")

    @cached_property
    def chooser(self) -> FlooredTopK:
        """The choice among all sets."""
        most = min(self.chosen, self.universe.size)
        return FlooredTopK(candidates=self.universe.size, chosen=most, scale=(self._half / most).choice(one_way=True))

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
        most = self.chooser.chosen
        margin = margin_of(self.chooser.scale, self.universe, most)
        ranks = run(self.chooser, floored(miner, self.universe, most, margin, self.listed))
        sets = [self.universe.itemset(int(rank)) for rank in ranks]
        noisy = run(self.counter, miner.supports(sets), stability=moves(most).stability(self.counter))
        return Itemsets.ranked(sets, noisy)

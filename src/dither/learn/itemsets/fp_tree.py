"""Private FP-tree: frequent sets found by a sparse vector or a top-k choice, then counted in trees of their items.

For a public threshold with the sparse vector, where only yes-answers cost; for the best sets with the choice, which is
better whenever all supports are at hand. Items that occur together in found sets form a tree whose paths are the
combinations of its items; every transaction ends on one path of each tree. Cost: a question a candidate, a pass a tree.
Correction: the sparse vector printed for this purpose has noise that does not grow with the number of positives, and
is not private at its stated price; this one is the sound form.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Final, Self

import numpy as np

from dither.exact import Maybe, Whole
from dither.learn.itemsets.candidates import joined
from dither.learn.itemsets.common import MOST_CHOSEN, ItemsetMethod, Itemsets, counted
from dither.learn.itemsets.floored import floored, margin_of
from dither.learn.itemsets.mining import Miner
from dither.learn.itemsets.patterns import superset_sums
from dither.learn.itemsets.universe import Itemset, Universe
from dither.mechanisms.above_threshold import AboveThreshold
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.floored_choice import FlooredTopK
from dither.mechanisms.geometric import Geometric
from dither.privacy import ZCDP, ApproxDP, InOrder, Loss, Plan, PureDP, Use, Within
from dither.privacy.losses import states_rho

_FINDING: Final = Fraction(1, 2)


def _examples() -> Iterator[Example]:
    rows = [(0, 1), (0, 1, 2), (2,), (0,)]
    yield Example(PrivateTree(items=2, chosen=1, longest=2, budget=PureDP(2), threshold=2), rows)
    yield Example(PrivateTree(items=4, chosen=3, longest=2, budget=ZCDP(8), deepest=2), rows)


@register(
    examples=_examples,
    source="Top-k Frequent Itemsets via Differentially Private FP-trees (Lee, Clifton 2014), with the sparse vector of "
    "Lyu, Su and Li 2017",
    reference=True,
)
@dataclass(frozen=True, kw_only=True)
class PrivateTree(ItemsetMethod):
    """Find frequent sets by a sparse vector or a choice, and count them in trees of items that occur together.

    Guarantee: transactions of which ``d_in`` come or go lose ``budget`` for each, half of it for finding and half for
    counting.

    Args:
        threshold: the public support above which sets are sought, by the sparse vector; None to choose the best sets.
        deepest: the largest number of items of a tree; sets of more connected items are counted one by one.
        listed: the number of sets that are told apart when the best are chosen.

    >>> PrivateTree(items=100, chosen=20, budget=PureDP(1), threshold=50).loss(1).epsilon
    Fraction(1, 1)

    """

    name: ClassVar[str] = "private-fp-tree"

    threshold: Maybe = Maybe(Whole(least=1, most=2**60))
    deepest: Whole = Whole(10, least=1, most=16)
    listed: Whole = Whole(1000, least=1, most=MOST_CHOSEN)

    def __post_init__(self) -> None:
        self.universe.check()

    @classmethod
    def calibrated(cls, within: Loss, *, items: int, chosen: int, **parameters: Any) -> Self:
        """Return the method within ``within`` for one transaction.

        The sparse vector is pure: of an (epsilon, delta) target it takes the epsilon, which goes farther than the rho
        that both would allow.

        Args:
            within: the loss not to exceed.
            items: the number of items.
            chosen: the number of sets to release.
            parameters: the other fields.

        """
        if parameters.get("threshold") is not None and isinstance(within, ApproxDP) and not states_rho(within):
            within = PureDP(within.epsilon)
        return super().calibrated(within, items=items, chosen=chosen, **parameters)

    @cached_property
    def universe(self) -> Universe:
        """The candidates."""
        return Universe(self.items, self.longest)

    @cached_property
    def _finding(self) -> Purse:
        return self.purse.share(_FINDING)

    @cached_property
    def finder(self) -> AboveThreshold | FlooredTopK:
        """The part that finds the sets: the sparse vector, or the choice among all."""
        most = min(self.chosen, self.universe.size)
        if self.threshold is None:
            return FlooredTopK(
                candidates=self.universe.size, chosen=most, scale=(self._finding / most).choice(one_way=True)
            )
        return AboveThreshold.calibrated(
            self._finding.loss, threshold=self.threshold, sensitivity=1, positives=most, one_way=True
        )

    def plan(self) -> Plan:
        """Find, then count; the number of counts follows from what was found."""
        rest = self.purse.share(1 - _FINDING).loss
        return InOrder.of(Use(self.finder), Within(rest, (Geometric, DiscreteGaussian)))

    def release(self, data: Any, run: Runner) -> Itemsets:
        """Return the found sets with their noisy supports."""
        _, miner = self.read(data)
        finder = self.finder
        found = (
            self._asked(miner, run, finder) if isinstance(finder, AboveThreshold) else self._best(miner, run, finder)
        )
        trees, alone = forest(found, self.deepest)
        tables = [miner.patterns(tree) for tree in trees]
        counts = np.concatenate([*tables, miner.supports(alone)]).astype(np.int64)
        # A transaction ends on one path of each tree, and is in each of the sets that stand alone at most.
        noisy = np.array(counted(run.within(), self.purse.share(1 - _FINDING), counts, len(trees) + len(alone)))
        pieces = np.split(noisy, np.cumsum([table.size for table in tables])) if tables else [noisy]
        known = dict(zip(alone, pieces[-1].tolist(), strict=True))
        for tree, piece in zip(trees, pieces[:-1], strict=True):
            sums = superset_sums(piece)
            inside = (itemset for itemset in found if set(itemset) <= set(tree))
            known |= {itemset: float(sums[_mask(itemset, tree)]) for itemset in inside}
        return Itemsets.ranked(list(known), known.values())

    def _asked(self, miner: Miner, run: Runner, finder: AboveThreshold) -> list[Itemset]:
        """Ask for items, then for sets all of whose subsets were above the threshold, until the budget is used up."""
        handle = run.open(finder)
        found: list[Itemset] = []
        level: list[Itemset] = [(item,) for item in range(self.items)]
        while level and not handle.is_over:
            above: list[Itemset] = []
            for itemset, support in zip(level, miner.supports(level).tolist(), strict=True):
                if not handle.is_over and handle.ask(support):
                    above.append(itemset)
            found += above
            level = joined(above, MOST_CHOSEN) if len(level[0]) < self.longest else []
        return found

    def _best(self, miner: Miner, run: Runner, finder: FlooredTopK) -> list[Itemset]:
        """Choose the best sets."""
        most = finder.chosen
        margin = margin_of(finder.scale, self.universe, most)
        ranks = run(finder, floored(miner, self.universe, most, margin, self.listed))
        return [self.universe.itemset(int(rank)) for rank in ranks]


def forest(found: list[Itemset], deepest: int) -> tuple[list[Itemset], list[Itemset]]:
    """Return the items of each tree, and the sets that are counted alone because too many items are connected.

    >>> forest([(0, 1), (1, 2), (5,), (3, 4)], 2)
    ([(3, 4), (5,)], [(0, 1), (1, 2)])
    """
    parts: list[set[int]] = []
    for itemset in found:
        touching = [part for part in parts if part & set(itemset)]
        parts = [part for part in parts if part not in touching] + [set(itemset).union(*touching)]
    trees = sorted(tuple(sorted(part)) for part in parts if len(part) <= deepest)
    covered = {item for tree in trees for item in tree}
    return trees, [itemset for itemset in found if not set(itemset) <= covered]


def _mask(itemset: Itemset, tree: Itemset) -> int:
    return sum(1 << tree.index(item) for item in itemset)

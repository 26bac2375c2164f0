"""Baskets that nobody is found in by m items: items become kinds of items until each combination is frequent.

Source: Terrovitis, Mamoulis, Kalnis, Privacy-preserving Anonymization of Set-valued Data (2008): Apriori anonymisation.
Combinations of one item, then of two, up to m, are counted under the labels reached so far. Of each that is in a
basket, but in fewer than k of them, one item goes a level up, with everything below the same node: the one that adds
least to the penalty for the rare combinations that it is part of. Then they are counted again. Labels of larger
combinations keep those of smaller ones, since a label is in every basket that had one of its items.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

from dither.disguise.checkers import km_anonymity
from dither.disguise.contract import WARNING
from dither.disguise.hierarchies import Hierarchy
from dither.errors import InvalidParameter
from dither.exact import whole


@dataclass(frozen=True, eq=False)
class LabelledBaskets:
    """Baskets of labels, what was done, and what was measured. They carry no loss.

    Args:
        baskets: in the order in which they came.
        labels: what each item became.
        done: what was done, a sentence each.
        smallest: baskets that contain the rarest combination of at most m labels.
        penalty: the width of a label, on average over all items of all baskets, from 0 to 1.

    """

    baskets: tuple[frozenset[str], ...]
    labels: dict[str, str]
    done: tuple[str, ...]
    smallest: int
    penalty: float

    warning: ClassVar[str] = WARNING

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the baskets as plain data."""
        return {
            "disguise": Apriori.name,
            "warning": self.warning,
            "done": list(self.done),
            "labels": self.labels,
            "smallest": self.smallest,
            "penalty": self.penalty,
        }

    def to_json(self) -> str:
        """Return everything but the baskets as JSON."""
        return json.dumps(self.to_dict(), indent=2)


@dataclass(frozen=True)
class Apriori:
    """Labels for items, such that at most m known items of a basket are in k baskets or in none.

    Args:
        k: baskets, at least.
        m: items that somebody may know of a basket.
        hierarchy: of the items; kept or given up as a whole, if there is none.

    >>> tree = Hierarchy.tree({"fruit": ["apple", "pear"], "bread": ["roll", "loaf"]})
    >>> made = Apriori(2, 2, tree).apply([{"apple", "roll"}, {"pear", "roll"}, {"roll"}])
    >>> [sorted(one) for one in made.baskets]
    [['fruit', 'roll'], ['fruit', 'roll'], ['roll']]

    """

    k: int
    m: int = 2
    hierarchy: Hierarchy | None = None

    name: ClassVar[str] = "apriori"
    source: ClassVar[str] = "Privacy-preserving Anonymization of Set-valued Data (Terrovitis et al. 2008)"
    attacks: ClassVar[tuple[str, ...]] = ("background", "linkage")

    def __post_init__(self) -> None:
        whole("k", self.k, least=1)
        whole("m", self.m, least=1)

    def apply(self, baskets: Iterable[Iterable[Hashable]]) -> LabelledBaskets:
        """Return baskets of labels.

        Args:
            baskets: of items, one for each person; an empty one is in no combination.

        """
        given = [frozenset(map(str, basket)) for basket in baskets]
        items = sorted(set().union(*given)) if given else []
        if not items:
            raise InvalidParameter("baskets", len(given), "one or more, with one or more items")
        filled = sum(1 for basket in given if basket)
        if filled < self.k:
            raise InvalidParameter("k", self.k, f"at most the number of baskets with items, {filled}")
        tree = Hierarchy.flat(items) if self.hierarchy is None else self.hierarchy
        lacking = [item for item in items if item not in tree.labels]
        if lacking:
            raise InvalidParameter("item", lacking[0], "one that the hierarchy has a line for")
        cut = _Cut(tree, Counter(itertools.chain.from_iterable(given)))
        for size in range(1, self.m + 1):
            while rare := _rare(cut.written(given), size, self.k):
                cut.lift(rare)
        made = cut.written(given)
        smallest = km_anonymity(made, self.m)
        if smallest < self.k:
            raise RuntimeError(f"a combination of {self.m} labels is in {smallest} baskets only")
        labels = {item: cut.label(item) for item in items}
        moved = sum(label != item for item, label in labels.items())
        done = (f"{moved:,} of {len(items):,} items became kinds of items, {len(set(labels.values())):,} are left.",)
        return LabelledBaskets(tuple(made), labels, done, smallest, cut.penalty())


def _rare(baskets: Sequence[frozenset[str]], size: int, k: int) -> list[tuple[str, ...]]:
    """Return combinations of labels that are in a basket, and in fewer than k."""
    seen: Counter[tuple[str, ...]] = Counter()
    for basket in baskets:
        seen.update(itertools.combinations(sorted(basket), size))
    return [some for some, count in seen.items() if count < k]


class _Cut:
    """The level of every item: all items below a node are on its level, or none of them is."""

    def __init__(self, tree: Hierarchy, held: Counter[str]) -> None:
        self._tree, self._held = tree, held
        self._level = dict.fromkeys(tree.labels, 0)
        self._most = max(len(tree.labels) - 1, 1)
        # A label may stand on several levels; what it stands for is then one set of items only by level.
        self._below: list[dict[str, list[str]]] = []
        for level in range(tree.height + 1):
            nodes: dict[str, list[str]] = {}
            for item in tree.labels:
                nodes.setdefault(tree.label(item, level), []).append(item)
            self._below.append(nodes)

    def label(self, item: str) -> str:
        return self._tree.label(item, self._level[item])

    def written(self, baskets: Sequence[frozenset[str]]) -> list[frozenset[str]]:
        shown = {item: self.label(item) for item in self._held}
        return [frozenset(shown[item] for item in basket) for basket in baskets]

    def _above(self, item: str) -> list[str]:
        """Return the items below the node above an item's."""
        level = self._level[item] + 1
        return self._below[level][self._tree.label(item, level)] if level <= self._tree.height else []

    def _wide(self, item: str) -> float:
        return self._width(self._below[self._level[item]][self.label(item)])

    def _width(self, items: Sequence[str]) -> float:
        return (len(items) - 1) / self._most

    def lift(self, rare: Sequence[tuple[str, ...]]) -> None:
        """Let one label of each rare combination go up: the one that costs least for each of those that it is in.

        A combination of which a label has gone up already is counted again before it is looked at.
        """
        of_label: dict[str, str] = {}
        for item in self._held:
            of_label.setdefault(self.label(item), item)
        often = Counter(itertools.chain.from_iterable(rare))
        costs: dict[str, float] = {}
        for label, times in often.items():
            above = self._above(of_label[label])
            if above:
                now = sum(self._held[item] * self._wide(item) for item in above)
                more = sum(self._held[item] for item in above) * self._width(above) - now
                costs[label] = more / times
        moved: set[str] = set()
        for some in sorted(rare, key=lambda one: (min((costs.get(label, inf) for label in one), default=inf), one)):
            if any(of_label[label] in moved for label in some):
                continue
            best = min(some, key=lambda label: (costs.get(label, inf), label))
            if best not in costs:
                raise RuntimeError("a combination of one label for all items is rare")
            level = self._level[of_label[best]] + 1
            for item in self._above(of_label[best]):
                self._level[item] = level
                moved.add(item)

    def penalty(self) -> float:
        total = sum(self._held.values())
        return sum(count * self._wide(item) for item, count in self._held.items()) / total

"""DiffPart: find sets of items top-down along a taxonomy of the items, only where there are enough transactions.

For transactions, each a set of items out of a public universe: baskets, diagnoses, pages visited. A group of
transactions is described by nodes of the taxonomy, such as {drinks, bread}: some item below each of these nodes, and no
other item. A group is divided by which children of its nodes occur; groups whose noisy count stays below a threshold
are given up. Sets of items that survive are counted. Cost: a pass over the transactions of each group for each step.

Corrections: the source draws how many empty groups pass from a binomial law and takes their chances as floats; here
empty groups that pass are found by exact coins (``mechanisms.filtered_counts``). All groups of a step are drawn
together, so that disjointness is seen by the plan and not only claimed, and several nodes are divided in one step, so
that there are few steps to pay for.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from operator import itemgetter
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter, InvalidValue
from dither.exact import Of, Positive, Whole
from dither.exact.search import least_where
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.purse import PureSpending, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.filtered_counts import LARGEST_CHANCE, MOST_THRESHOLD, FilteredCounts, chance_of_passing
from dither.mechanisms.geometric import Geometric
from dither.privacy import RECORDS, Loss, Metric, Plan, PureDP, Within
from dither.publish.histograms.common import Share, with_largest_epsilon
from dither.publish.microdata.taxonomy import Taxonomy
from dither.publish.microdata.transactions import ItemSets

Cut = tuple[int, ...]
#: More children of one node have more subsets than a step could take.
_MOST_CHILDREN: Final = 16
_USUAL_WIDTH: Final = 2**20
_EXTRA_STEPS: Final = 16
#: With less for finding groups, thresholds would be beyond every count.
_LEAST_GUIDE: Final = Fraction(1, 2**30)


_ITEMS: Final = f"a Taxonomy whose leaves are the items, at most {_MOST_CHILDREN} children to a node"


def _is_of_items(tree: Taxonomy) -> bool:
    return bool(tree.inner) and tree.fan_out <= _MOST_CHILDREN


def _examples() -> Iterator[Example]:
    tree = Taxonomy.balanced(["a", "b", "c"])
    rows = np.array([[1, 0, 1], [0, 0, 0], [1, 1, 0], [7, -7, 1], [1, 1, 0]])
    pairs = ((rows, rows[1:], 1), (rows[:0], rows[:1], 1), (rows, rows[:3], 2))
    yield Example(DiffPart(taxonomy=tree, budget=PureDP(4)), rows, pairs)
    yield Example(DiffPart(taxonomy=tree, budget=PureDP(2), width=3, share="1/4"), rows, pairs)


@register(
    examples=_examples,
    source="Publishing Set-Valued Data via Differential Privacy (Chen, Mohammed, Fung, Desai, Xiong 2011); "
    "Differential Privacy and Applications (Zhu et al. 2017), section 5.3",
)
@dataclass(frozen=True, kw_only=True)
class DiffPart(Composed[Any, ItemSets]):
    """Divide transactions top-down along a taxonomy of their items where there are enough, and count the sets found.

    Guarantee: collections of transactions 1 apart, one transaction being in one of them and not in the other, lose
    ``budget``; ``d_in`` apart, d_in times that.

    Data: an array of integers, a row for each transaction and a column for each item, above 0 where the
    transaction has the item. Transactions without any item are not counted.

    Args:
        taxonomy: a public tree whose leaves are the items.
        budget: what is spent.
        share: the part of the budget that pays for finding groups; the rest, and what is not needed, for counts.
        width: into how many groups one group may be divided in one step; a step divides one node at least.
        false_groups: how many empty groups may pass in each step, on average.

    >>> tree = Taxonomy.balanced([f"item {number}" for number in range(16)], fan_out=4)
    >>> diffpart = DiffPart.calibrated(PureDP(1), taxonomy=tree)
    >>> diffpart.loss(1), len(tree.inner), diffpart.expected_steps((0,)), diffpart.worst_steps((0,))
    (PureDP('1'), 5, 2, 2)

    """

    name: ClassVar[str] = "diffpart"
    version: ClassVar[int] = 2
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "how many transactions are given up on the way depends on the transactions"
    no_interval_because: ClassVar[str] = "a set that is not released may have been given up at any step"

    taxonomy: Of[Taxonomy] = Of(Taxonomy, where=_is_of_items, rule=_ITEMS)
    budget: PureSpending = PureSpending()
    share: Share = Share(Fraction(1, 2))
    width: Whole = Whole(_USUAL_WIDTH, least=1, most=2**20)
    false_groups: Positive = Positive(1, least=Fraction(1, 2**40))

    def __post_init__(self) -> None:
        if self.share * Purse.of(self.budget).amount < _LEAST_GUIDE:
            raise InvalidParameter("budget", self.budget, "an epsilon to spend of which the share is at least 2^-30")

    @classmethod
    def calibrated(cls, within: Loss, *, taxonomy: Taxonomy, **parameters: Any) -> Self:
        """Return the method whose loss for collections 1 apart is within ``within``.

        Args:
            within: the loss not to exceed.
            taxonomy: a public tree whose leaves are the items.
            parameters: the other fields: ``share``, ``width``, ``false_groups``.

        """
        return with_largest_epsilon(
            within, lambda epsilon: cls(taxonomy=taxonomy, budget=PureDP(epsilon), **parameters)
        )

    @property
    def distance(self) -> Metric:
        """Transactions in one collection and not in the other."""
        return RECORDS

    @cached_property
    def heights(self) -> tuple[int, ...]:
        """The number of levels below each node; 0 for items."""
        found = [0] * len(self.taxonomy.labels)
        for node in range(len(found) - 1, 0, -1):
            parent = self.taxonomy.parents[node]
            found[parent] = max(found[parent], found[node] + 1)
        return tuple(found)

    def height(self, cut: Cut) -> int:
        """Return the number of levels below a group; 0 for a set of items."""
        return max(self.heights[node] for node in cut)

    def due(self, cut: Cut) -> Cut:
        """Return the nodes of a group that its next step divides: as many of the highest ones as ``width`` allows."""
        highest = [node for node in cut if self.heights[node] == self.height(cut)]
        return tuple(highest[: self._fitting(highest)])

    def _fitting(self, nodes: Sequence[int]) -> int:
        """Return how many of the first nodes together divide into at most ``width`` groups; at least one."""
        groups = 1
        for number, node in enumerate(nodes):
            groups *= 2 ** len(self.taxonomy.children(node)) - 1
            if groups > self.width:
                return max(number, 1)
        return len(nodes)

    def _steps_for(self, nodes: Sequence[int]) -> int:
        """Return how many steps divide all of these nodes."""
        steps, left = 0, list(nodes)
        while left:
            steps, left = steps + 1, left[self._fitting(left) :]
        return steps

    def expected_steps(self, cut: Cut) -> int:
        """Return how many steps a group needs if every level below its highest nodes takes one step."""
        height = self.height(cut)
        return height - 1 + self._steps_for([node for node in cut if self.heights[node] == height])

    @cached_property
    def _levels(self) -> tuple[tuple[int, ...], ...]:
        """For each height from 1 on, all nodes of that height."""
        inner = self.taxonomy.inner
        levels = range(1, self.heights[0] + 1)
        return tuple(tuple(node for node in inner if self.heights[node] == height) for height in levels)

    def worst_steps(self, cut: Cut) -> int:
        """Return the most steps a group can need: as if it had all items below its nodes."""
        parents, below = self.taxonomy.parents, set(cut)
        # Parents come before their children.
        for node in self.taxonomy.inner:
            if parents[node] in below:
                below.add(node)
        return sum(self._steps_for([node for node in level if node in below]) for level in self._levels)

    @property
    def most_steps(self) -> int:
        """The number of steps after which groups that are not yet sets of items are dropped."""
        return self.heights[0] + _EXTRA_STEPS

    def plan(self) -> Plan:
        """Divide all groups repeatedly, then count sets of items; the number of groups is not fixed in advance."""
        return Within(self.budget, (FilteredCounts, Geometric))

    def threshold(self, cells: int, scale: Fraction) -> int:
        """Return the least threshold that, on average, at most ``false_groups`` of ``cells`` empty groups pass."""

        def is_enough(threshold: int) -> bool:
            chance = chance_of_passing(scale, threshold, sampled=False)[1]
            return chance <= LARGEST_CHANCE and cells * chance <= self.false_groups

        return min(least_where(is_enough), MOST_THRESHOLD)

    def release(self, data: Any, run: Runner) -> ItemSets:
        """Return the sets of items that were found, with noisy counts."""
        groups = Groups(self, self._items(data))
        inner, left = run.within(), Purse.of(self.budget).amount
        guide = self.share * left
        active: list[Cut] = [(0,)]
        found: list[Cut] = []
        for _ in range(self.most_steps):
            if not active or not guide:
                break
            # Which groups there are is public. One step more than expected is kept in reserve, unless it cannot be
            # needed; what is not needed in the end goes to the counts.
            each = guide / min(max(map(self.worst_steps, active)), max(map(self.expected_steps, active)) + 1)
            cells = groups.divide(active)
            part = FilteredCounts(cells=cells, scale=1 / each, threshold=self.threshold(cells, 1 / each))
            passed = inner(part, groups.counts())
            guide, left = guide - each, left - each
            reached = groups.keep(sorted(passed))
            found += [cut for cut in reached if not self.height(cut)]
            active = [cut for cut in reached if self.height(cut)]
        sets = sorted(tuple(self.taxonomy.values(node)[0] for node in cut) for cut in found)
        counts = self._counted(inner, left, sets, groups)
        kept = [(items, count) for items, count in zip(sets, counts, strict=True) if count >= 1]
        names = tuple(self.taxonomy.label(leaf) for leaf in self.taxonomy.leaves)
        return ItemSets(names, tuple(items for items, _ in kept), tuple(count for _, count in kept))

    def _counted(self, run: Runner, amount: Fraction, sets: list[tuple[int, ...]], groups: Groups) -> list[int]:
        if not sets:
            return []
        noisy = run(Geometric(scale=1 / amount, shape=(len(sets),)), groups.occurrences(sets))
        return [int(count) for count in noisy]

    def _items(self, data: Any) -> NDArray[np.bool_]:
        """Return which items each transaction has; type and width are public and checked, content never raises."""
        rule = f"an array of integers, a row for each transaction, {self.taxonomy.size} columns"
        if not isinstance(data, np.ndarray) or data.dtype.kind not in "biu" or data.shape[1:] != (self.taxonomy.size,):
            raise InvalidValue("data", data, rule)
        return np.asarray(data > 0)


class Groups:
    """Transactions by group. Which groups exist is public; which transactions are in them is private."""

    def __init__(self, method: DiffPart, items: NDArray[np.bool_]) -> None:
        tree = method.taxonomy
        self._method, self._tree, self._items = method, tree, items
        #: Whether a transaction has an item below a node.
        self._has = np.zeros((items.shape[0], len(tree.labels)), dtype=bool)
        self._has[:, list(tree.leaves)] = items
        for node in range(len(tree.labels) - 1, 0, -1):
            self._has[:, tree.parents[node]] |= self._has[:, node]
        #: The number of the group of each transaction; -1 where it was given up.
        self._places = np.where(self._has[:, 0], 0, -1).astype(np.int64)
        self._cells = np.full(items.shape[0], -1, dtype=np.int64)
        self._divided: list[tuple[int, Cut, Cut]] = []

    def divide(self, cuts: list[Cut]) -> int:
        """Divide all groups, the i-th along these nodes, and return the number of possible new groups."""
        self._cells[:] = -1
        self._divided, start = [], 0
        order = np.argsort(self._places, kind="stable")
        ends = np.searchsorted(self._places[order], np.arange(len(cuts) + 1))
        for place, cut in enumerate(cuts):
            nodes = self._method.due(cut)
            inside = order[ends[place] : ends[place + 1]]
            numbers = np.zeros(inside.size, dtype=np.int64)
            for node in nodes:
                children = self._tree.children(node)
                bits = self._has[np.ix_(inside, np.array(children))] @ (1 << np.arange(len(children), dtype=np.int64))
                # Some child has an item, since the node has one.
                numbers = numbers * (2 ** len(children) - 1) + bits - 1
            self._cells[inside] = start + numbers
            self._divided.append((start, cut, nodes))
            start += self._size(nodes)
        return start

    def _size(self, nodes: Cut) -> int:
        size = 1
        for node in nodes:
            size *= 2 ** len(self._tree.children(node)) - 1
        return size

    def counts(self) -> Counter[int]:
        """Return the number of transactions in each non-empty new group. Private."""
        cells, counts = np.unique(self._cells[self._cells >= 0], return_counts=True)
        return Counter(dict(zip(cells.tolist(), counts.tolist(), strict=True)))

    def keep(self, passed: list[int]) -> list[Cut]:
        """Continue with the groups that passed, in this order, without single sets; return all of them."""
        reached = [self._cut_of(cell) for cell in passed]
        going = [cell for cell, cut in zip(passed, reached, strict=True) if self._method.height(cut)]
        kept = np.array(going, dtype=np.int64)
        places = np.searchsorted(kept, self._cells)
        inside = np.minimum(places, max(kept.size - 1, 0))
        is_kept = (kept[inside] == self._cells) if kept.size else np.zeros(self._cells.size, dtype=bool)
        self._places = np.where(is_kept, places, -1)
        return reached

    def _cut_of(self, cell: int) -> Cut:
        """Return the nodes of a new group. Public."""
        start, cut, nodes = self._divided[bisect_right(self._divided, cell, key=itemgetter(0)) - 1]
        number, new = cell - start, [node for node in cut if node not in nodes]
        for node in reversed(nodes):
            children = self._tree.children(node)
            number, subset = divmod(number, 2 ** len(children) - 1)
            new += [child for place, child in enumerate(children) if (subset + 1) >> place & 1]
        return tuple(sorted(new))

    def occurrences(self, sets: list[tuple[int, ...]]) -> NDArray[np.int64]:
        """Return how many transactions equal each of these sets. Private."""
        wanted = np.zeros((len(sets), self._tree.size), dtype=bool)
        for number, items in enumerate(sets):
            wanted[number, list(items)] = True
        numbers = {row.tobytes(): number for number, row in enumerate(np.packbits(wanted, axis=1))}
        found = np.zeros(len(sets), dtype=np.int64)
        rows, counts = np.unique(np.packbits(self._items, axis=1), axis=0, return_counts=True)
        for row, count in zip(rows, counts.tolist(), strict=True):
            place = numbers.get(row.tobytes())
            if place is not None:
                found[place] = count
        return found

"""What methods that mine itemsets share: their public parameters, what they release, and how a budget is divided.

A budget is spent in amounts: of epsilon where it is pure, of rho otherwise. An amount buys noise for counts or a
number of choices. Under transactions added or removed all supports move the same way, by 0 or 1 each, so a choice by
support costs half of what arbitrary scores would (``one_way``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar, Self

import numpy as np

from dither.errors import InvalidParameter
from dither.exact import Field, Whole, sqrt_up
from dither.learn.itemsets.mining import Miner
from dither.learn.itemsets.transactions import MOST_ITEMS, Integers, Transactions
from dither.learn.itemsets.universe import Itemset
from dither.mechanisms.core import Composed, Numerics
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.mechanisms.runner import Runner
from dither.mechanisms.top_k import TopK
from dither.privacy import ROW, ZCDP, ApproxDP, Loss, PureDP, Unit, zcdp_rho
from dither.privacy.calibration import check_target, laplace_scale
from dither.privacy.losses import states_rho

Node = Geometric | DiscreteGaussian

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
        """Return sets in the order of their supports; of equal ones the shorter first."""
        pairs = sorted(zip(sets, map(float, supports), strict=True), key=lambda one: (-one[1], len(one[0]), one[0]))
        return cls(tuple(itemset for itemset, _ in pairs[:most]), tuple(support for _, support in pairs[:most]))

    def __len__(self) -> int:
        return len(self.sets)

    def named(self, names: Sequence[Any]) -> dict[tuple[Any, ...], float]:
        """Return the supports by names of items."""
        return {
            tuple(names[item] for item in itemset): support
            for itemset, support in zip(self.sets, self.supports, strict=True)
        }

    def consistent(self) -> Itemsets:
        """Return the same sets, none with more support than a set that it contains; post-processing."""
        known = dict(zip(self.sets, self.supports, strict=True))
        for itemset in sorted(known, key=len):
            parts = (known.get(part) for part in combinations(itemset, len(itemset) - 1))
            known[itemset] = min([known[itemset], *(support for support in parts if support is not None)])
        return Itemsets.ranked(list(known), known.values())


class BudgetField(Field[Loss, Loss]):
    """A budget: pure, or in rho alone."""

    def convert(self, name: str, value: Loss) -> Loss:
        """Return the budget."""
        if not isinstance(value, PureDP | ZCDP) or value.delta or not (value.pure or value.rho):
            raise InvalidParameter(name, value, "PureDP or ZCDP above 0")
        return value


@dataclass(frozen=True)
class Purse:
    """An amount of epsilon or of rho, and what it buys.

    >>> Purse(Fraction(1), is_pure=True).share("1/4").noise().scale
    Fraction(4, 1)
    """

    amount: Fraction
    is_pure: bool

    @classmethod
    def of(cls, budget: Loss) -> Purse:
        """Return all of a budget."""
        return cls(budget.rho, False) if budget.pure is None else cls(budget.pure, True)

    def share(self, part: Fraction | str | int) -> Purse:
        """Return a part of it."""
        return replace(self, amount=self.amount * Fraction(part))

    @property
    def loss(self) -> Loss:
        """What spending all of it loses."""
        return PureDP(self.amount) if self.is_pure else ZCDP(self.amount)

    def noise(self, touched: int = 1) -> Node:
        """Return the noise of a count when one transaction moves at most ``touched`` counts, by 1 each."""
        if self.is_pure:
            return Geometric(scale=touched / self.amount)
        # From the length that is declared, which is rounded up: what is drawn then never costs more than the amount.
        return DiscreteGaussian(sigma=sqrt_up(sqrt_up(Fraction(touched)) ** 2 / (2 * self.amount)))

    def scale(self, choices: int = 1, *, one_way: bool = True) -> Fraction:
        """Return the scale of so many choices, together, by scores that move by 1."""
        each = self.amount / choices
        # A choice of scale s loses epsilon = 1 / s, or 2 / s for scores that move both ways, and rho = epsilon^2 / 8.
        return (1 if one_way else 2) * (1 / each if self.is_pure else sqrt_up(1 / (8 * each)))


def budget_within(target: Loss) -> Loss:
    """Return what a target allows to be spent: its epsilon where it is pure, its rho otherwise.

    >>> budget_within(PureDP(1)), budget_within(ApproxDP(1, "1e-9")).rho > 0
    (PureDP('1'), True)
    """
    check_target(target)
    if isinstance(target, PureDP):
        return PureDP(1 / laplace_scale(target, 1))
    if isinstance(target, ApproxDP) and not states_rho(target):
        return ZCDP(zcdp_rho(target.epsilon, target.delta)) if target.delta else PureDP(target.epsilon)
    return ZCDP(target.rho)


def reach(node: Node, touched: int) -> Fraction:
    """Return how far counts move, in the distance of their noise, when a transaction moves ``touched`` by 1 each."""
    return Fraction(touched) if isinstance(node, Geometric) else sqrt_up(Fraction(touched))


def counted(run: Runner, purse: Purse, counts: Integers, touched: int) -> list[float]:
    """Return noisy counts for all of the purse, of which one transaction moves at most ``touched``, by 1 each."""
    if not counts.size:
        return []
    node = purse.noise(touched)
    drawn = run(replace(node, shape=(counts.size,)), counts, stability=reach(node, touched))
    return [float(number) for number in np.asarray(drawn)]


def best_of(run: Runner, purse: Purse, scores: Integers, chosen: int) -> list[int]:
    """Return the numbers of so many candidates, chosen by scores that one transaction moves one way, by 0 or 1."""
    most = min(chosen, scores.size)
    if not most:
        return []
    part = TopK(candidates=scores.size, chosen=most, scale=purse.scale(most), one_way=True)
    return [int(number) for number in run(part, scores)]


@dataclass(frozen=True, kw_only=True)
class ItemsetMethod(Composed[Any, Itemsets]):
    """Mines sets of items, in transactions that may come or go.

    Args:
        items: how many items there are, numbered from 0; public.
        chosen: how many sets to release.
        longest: of how many items a set may be.
        budget: what one transaction loses at most, pure or in rho.

    """

    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "which sets are found depends on how far apart their supports are"
    no_interval_because: ClassVar[str] = (
        "supports of sets that were chosen for being large are off by what nobody knows"
    )

    items: Whole = Whole(least=1, most=MOST_ITEMS)
    chosen: Whole = Whole(least=1, most=MOST_CHOSEN)
    longest: Whole = Whole(3, least=1, most=LONGEST)
    budget: BudgetField = BudgetField()

    @classmethod
    def calibrated(cls, target: Loss, *, items: int, chosen: int, **parameters: Any) -> Self:
        """Return the method within ``target`` for one transaction.

        Args:
            target: the loss not to exceed; a pure one gives geometric noise, any other Gaussian noise.
            items: how many items there are.
            chosen: how many sets to release.
            parameters: the other fields.

        """
        return cls(items=items, chosen=chosen, budget=budget_within(target), **parameters)

    @property
    def distance(self) -> Unit:
        """Transactions added or removed."""
        return ROW

    @cached_property
    def purse(self) -> Purse:
        """All there is to spend."""
        return Purse.of(self.budget)

    def read(self, data: Any) -> tuple[Transactions, Miner]:
        """Return private transactions, and what counts them."""
        transactions = Transactions.of(self.items, data)
        return transactions, Miner(transactions)

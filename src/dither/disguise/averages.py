"""Optimal microaggregation of one column of numbers: of all groups of k rows or more, those with the least variance.

Source: Hansen and Mukherjee (2003). Some best grouping consists of runs of the sorted numbers, each of k to 2k - 1
rows: rows of two groups that overlap can be exchanged without loss, and a run of 2k or more can be cut without loss.
The best grouping of the first j numbers ends with such a run, which gives the dynamic programme below. Time grows with
n times k.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dither.disguise.classes import Figures
from dither.disguise.contract import Disguise, Recoded, disguise
from dither.disguise.microaggregation import averaged, numbers_of, scaled_of
from dither.disguise.roles import Roles
from dither.disguise.rules import Rules, Trial
from dither.disguise.table import Codes, Table
from dither.errors import InvalidParameter


@disguise
@dataclass(frozen=True)
class OptimalAverages(Disguise):
    """Averages of groups of k rows or more with the least variance within groups; one quasi-identifier, of numbers.

    With rules on sensitive values, groups that do not fulfil them join others, and the optimum is that of k alone.

    Args:
        roles: of the columns.
        rules: that every class fulfils.

    >>> made = OptimalAverages(Roles(("age",)), Rules(k=2)).apply({"age": [20, 60, 22, 64, 63]})
    >>> made.frame()["age"]
    [21.0, 62.333333, 21.0, 62.333333, 62.333333]

    """

    name: ClassVar[str] = "averages"
    source: ClassVar[str] = "Hansen, Mukherjee (2003)"
    attacks: ClassVar[tuple[str, ...]] = ("homogeneity", "background", "skewness", "similarity")

    roles: Roles
    rules: Rules

    def __post_init__(self) -> None:
        if len(self.roles.quasi) != 1:
            raise InvalidParameter("quasi", list(self.roles.quasi), "one column: take microaggregation for several")

    def recode(self, table: Table, trial: Trial) -> Recoded:
        """Return the averages."""
        points = numbers_of(table, self.roles.quasi[0])[:, None]
        groups = best_groups(scaled_of(points)[:, 0], self.rules.k)
        return averaged(table, self.roles.quasi, points, groups, trial)

    @classmethod
    def example(cls, table: Table, roles: Roles, rules: Rules) -> OptimalAverages:
        """Return the method for the first quasi-identifier that is a number."""
        first = next(name for name in roles.quasi if table[name].numbers() is not None)
        return cls(Roles((first,), roles.sensitive, roles.identifiers, roles.others), rules)


def best_groups(numbers: Figures, k: int) -> Codes:
    """Return the group of each number, such that the squared distances from averages have the smallest sum.

    Args:
        numbers: at least k of them.
        k: the size of groups, at least.

    >>> best_groups(np.array([1.0, 9.0, 2.0, 8.0, 7.0]), 2).tolist()
    [0, 1, 0, 1, 1]

    """
    count = len(numbers)
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order] - numbers.mean()
    sums = np.concatenate([[0.0], np.cumsum(ordered)])
    squares = np.concatenate([[0.0], np.cumsum(ordered**2)])
    best = np.full(count + 1, np.inf)
    best[0] = 0.0
    start = np.zeros(count + 1, dtype=np.int64)
    sizes = np.arange(k, 2 * k)
    # The best of the first j numbers rests on bests at least k earlier, so k of them are found at once.
    for block in range(k, count + 1, k):
        ends = np.arange(block, min(block + k, count + 1))
        starts = ends[:, None] - sizes
        inside = np.maximum(starts, 0)
        within = squares[ends][:, None] - squares[inside] - (sums[ends][:, None] - sums[inside]) ** 2 / sizes
        costs = np.where(starts >= 0, best[inside] + np.maximum(within, 0), np.inf)
        chosen = costs.argmin(axis=1)
        best[ends] = costs[np.arange(len(ends)), chosen]
        start[ends] = starts[np.arange(len(ends)), chosen]
    firsts = np.zeros(count, dtype=np.int64)
    end = count
    while end > 0:
        end = int(start[end])
        firsts[end] = 1
    of_row = np.empty(count, dtype=np.int64)
    of_row[order] = np.cumsum(firsts) - 1
    return of_row
